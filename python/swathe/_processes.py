"""Processes that solve batches and can be ended."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["Processes"]


class Processes:
    """A process for every thread that calls, started when it is first needed and again after it had
    to be ended."""

    def __init__(self, solve: Callable[..., Any], time_limit: float | None) -> None:
        self._solve, self._time_limit = solve, time_limit
        self._context = multiprocessing.get_context("spawn")
        self._by_thread: dict[int, tuple[Any, Any]] = {}

    def call(self, argument: Any) -> Any:
        thread = threading.get_ident()
        if thread not in self._by_thread:
            ours, theirs = self._context.Pipe()
            process = self._context.Process(target=_work, args=(theirs, self._solve), daemon=True)
            process.start()
            theirs.close()
            self._by_thread[thread] = (process, ours)
        process, pipe = self._by_thread[thread]
        try:
            pipe.send(argument)
            # Starting a process takes longer than many a batch; the limit is that of the work.
            pipe.recv()
            if not pipe.poll(self._time_limit):
                self._end_one(thread)
                raise TimeoutError(f"not finished after {self._time_limit} s")
            is_good, answer = pipe.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self._end_one(thread)
            raise RuntimeError("the process that solved it died") from None
        if is_good:
            return answer
        raise answer

    def _end_one(self, thread: int) -> None:
        process, pipe = self._by_thread.pop(thread)
        pipe.close()
        process.kill()
        process.join()

    def end(self) -> None:
        for thread in list(self._by_thread):
            self._end_one(thread)


def _work(pipe: Any, solve: Callable[..., Any]) -> None:
    """What a process does until its pipe is closed."""
    while True:
        try:
            argument = pipe.recv()
        except EOFError:
            return
        pipe.send("begun")
        try:
            answer = (True, solve(argument))
        except Exception as error:
            answer = (False, error)
        try:
            pipe.send(answer)
        except Exception as error:  # what cannot be sent back is told as text
            pipe.send((False, RuntimeError(f"{type(error).__name__}: {error}")))
