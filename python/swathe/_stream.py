"""Results of a call in the background, yielded as they come."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any


class _Closed(BaseException):
    """The one who takes results has stopped taking them."""


def streamed(work: Callable[[Callable[[Any], None]], None], n_waiting: int) -> Iterator[Any]:
    """Call ``work(put)`` on a thread of its own and yield what it puts. At most ``n_waiting`` results
    wait: then ``put`` blocks, and with it the call. An exception of ``work`` is raised here, after
    what was put before it; closing the iterator ends ``work`` at its next ``put``."""
    waiting: queue.Queue[tuple[bool, Any]] = queue.Queue(max(n_waiting, 1))
    is_closed = threading.Event()

    def put(what: Any, is_end: bool = False) -> None:
        while not is_closed.is_set():
            try:
                return waiting.put((is_end, what), timeout=0.05)
            except queue.Full:
                continue
        raise _Closed

    def run() -> None:
        error: BaseException | None = None
        try:
            work(put)
        except BaseException as raised:  # raised again where the results are taken
            error = raised
        try:
            put(error, is_end=True)
        except _Closed:
            pass

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        while True:
            is_end, what = waiting.get()
            if not is_end:
                yield what
            elif what is not None:
                raise what
            else:
                return
    finally:
        is_closed.set()
        thread.join()
