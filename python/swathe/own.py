"""Your own solver, batched: padding, memory, halving, isolation and figures for any callable.

>>> import numpy as np
>>> result = run([np.ones(3), np.ones(5), np.ones(4)], lambda batch: batch.arrays.sum(axis=1))
>>> [float(value) for value in result.values]
[3.0, 5.0, 4.0]
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from . import _swathe
from ._errors import Failure, SolveError, check_arguments, check_on_error, check_unmasked
from ._function import Function, fingerprint_of
from ._probe import (
    Differs,
    Probe,
    alike_axes,
    alike_text,
    cut,
    cut_alike,
    layout_of,
    of_whole_batch,
)
from ._processes import Processes
from ._progress import progress_callback
from ._stream import streamed
from ._warnings import warn
from .runs import Run, open_run

__all__ = ["Batch", "Handle", "Result", "run", "stream", "submit"]


@dataclass(frozen=True)
class Batch:
    """Items padded alike. The first axis is the item's; lanes at the end may be there only to fill
    the batch up to a power of two, and have no row."""

    arrays: NDArray[Any]
    """The items, padded with zeros to one shape: (lanes, …)."""
    mask: NDArray[np.bool_]
    """True where an element is an item's own: (lanes, …)."""
    shapes: list[tuple[int, ...]]
    """The shape of each item, without padding."""
    rows: list[int]
    """The number of each item in the input."""

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Result:
    """What became of all items, in their order."""

    values: list[Any]
    """The result of each item; ``None`` where it failed."""
    failures: list[Failure]
    """The items without a result."""
    times_ms: NDArray[np.float64]
    """What each item took; those of a batch share its time."""
    report: dict[str, Any]
    """The figures of the run. ``n_compiled_max`` bounds the shapes that a JIT saw."""

    def __len__(self) -> int:
        return len(self.values)

    def print_stats(self) -> None:
        """Print how many items were solved, how long it took and what went wrong."""
        n_failed = len(self.failures)
        seconds = self.report["wall_ms"] / 1e3
        print(f"{len(self) - n_failed} of {len(self)} items solved, {n_failed} failed")
        print(f"{seconds:.3g} s, {len(self) / max(seconds, 1e-9):.4g} a second")
        if self.report["n_setbacks"]:
            print(f"{self.report['n_setbacks']} batches were split or moved")
        for failure in self.failures[:5]:
            print(f"item {failure.index}: {failure.message}")


@overload
def run(
    items: Iterable[Any], solve: Callable[..., Any], *, out: None = None, **arguments: Any
) -> Result: ...
@overload
def run(
    items: Iterable[Any],
    solve: Callable[..., Any],
    *,
    out: str | os.PathLike[str],
    **arguments: Any,
) -> Run: ...
def run(  # type: ignore[misc]  # the overloads only say what out does to the result
    items: Iterable[Any],
    solve: Callable[..., Any],
    *,
    shape: Callable[[Any], Sequence[int]] | None = None,
    bytes: Callable[[Any], int] | None = None,
    batched: bool = True,
    buckets: str | int | Sequence[Sequence[int]] = "auto",
    memory: str | int | None = None,
    memory_margin: float = 0.2,
    batch_size: str | int = "auto",
    batch_size_min: int = 1,
    batch_size_max: int = 1024,
    time_limit: float | None = None,
    retries: int = 0,
    workers: str = "thread",
    threads: int | None = None,
    check: bool = True,
    on_error: str = "raise",
    progress: bool | Callable[[int, int], object] = False,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    ids: Sequence[str] | None = None,
    _stop: Any = None,
    _deliver: Any = None,
    _block: _Block | None = None,
    _probe: Probe | None = None,
) -> Result | Run:
    """Solve items with a function of your own (NumPy, torch, JAX, CuPy …).

    ``solve`` gets a :class:`Batch` and returns a result for each lane: an array whose first axis is
    the lane's, or a list. With ``batched=False`` it gets one item and returns its result.

    An item of the first batch is solved again, at another lane and with another padding: that of
    another bucket that holds it, so that a JIT compiles nothing for it, or of a few cells more where
    none tells the axes apart. Axes of its result that changed with the padding are cut to the item's,
    in the results of all items, and no other axes. Where the type, the number of parts or a value (by
    more than half of a float's digits) differs, the results depend on padding, lane or neighbours: an
    error shows both. With ``check=False`` nothing is solved again, a result of exactly the padded
    shape is cut to the item's, and any other is taken as it is: for functions that are meant to differ
    (random numbers, a batch that converges together) or that take no other shapes than those of
    ``buckets``.

    A batch holds items of one dtype, and none with masked elements. Items of similar shapes are padded
    to one of few (``buckets``: ``"auto"`` for at most eight, a number, a list of shapes, or
    ``"exact"``; for every dtype and number of axes, of which there are at most four). Batches have a
    power of two of lanes, so that a JIT compiles at most buckets × sizes times, and once more where
    the check finds no other bucket. A batch that raises ``MemoryError`` or the out-of-memory error of
    torch, CuPy or JAX is halved; one that raises anything else is halved until the item that does it
    is alone, which then fails alone. ``bytes`` says what an item takes (three times its padded array
    by default).

    ``workers="process"`` solves in processes of their own: then ``time_limit`` (seconds a batch, from
    when the process has received it) can end what never returns; the others of its batch are solved.
    ``retries`` tries an item that fails so many times again.

    ``out="RUN"`` writes a run folder instead, and returns it as :func:`swathe.open_run` does: its
    ``values`` are the results, read back. Finished items survive a crash, and the same call with
    ``resume=True`` goes on. It is refused if the function is another one: its code, constants,
    defaults and closure, the global variables that it reads (installed packages by their version), a
    partial's arguments and an object's attributes are compared. Where one of these cannot be compared
    (a lock, an open file) the call warns that it cannot be resumed. Results must be what ``pickle``
    takes; items that fail stand in its ``failures``, whatever ``on_error`` says. ``ids`` names the
    items there; otherwise an item is named by its number.
    """
    check_on_error(on_error)
    if not isinstance(check, bool):
        raise TypeError(f"check is {check!r}; it is True or False")
    items = list(items)
    if ids is not None:
        ids = _checked_ids(ids, len(items), out)
    if workers not in ("thread", "process"):
        raise ValueError(f"workers is {workers!r}; it is 'thread' or 'process'")
    if time_limit is not None and workers == "thread":
        raise ValueError(
            "time_limit needs workers='process': a thread of Python cannot be ended from outside"
        )
    if batch_size != "auto" and not isinstance(batch_size, int):
        raise TypeError(f"batch_size is {batch_size!r}; it is 'auto' or a number")
    dtypes = [dtype_of(item, number) if batched else "" for number, item in enumerate(items)]
    shapes = [_shape_of(item, number, shape, batched) for number, item in enumerate(items)]
    known = {dtype: number for number, dtype in enumerate(dict.fromkeys(dtypes))}
    classes = [known[dtype] for dtype in dtypes]
    padded = _padded_shapes(shapes, classes, buckets) if batched else shapes
    needs = [_bytes_of(item, extents, bytes) for item, extents in zip(items, padded)]
    batch_size_max = _power_of_two_below(batch_size_max)
    if threads is None:
        # A function that holds the interpreter gains nothing from a second thread.
        threads = 1 if workers == "thread" else (multiprocessing.cpu_count() or 1)
    engine = {
        "memory": memory,
        "memory_margin": memory_margin,
        "batch_size": batch_size,
        "batch_size_max": batch_size_max,
        "time_limit": 10 * 365 * 86400.0,
        "threads": threads,
    }
    caller = _Caller(items, shapes, padded, classes, solve, batched, batch_size_min, retries)
    if batched and check:
        _probe = _probe or Probe()
        sized = batch_size_max if isinstance(batch_size, str) else min(batch_size, batch_size_max)
        bytes_max = _swathe.batch_bytes_max(engine)
        names = ids or range(_probe.first, _probe.first + len(items))
        caller.check(_probe, needs, names, sized, bytes_max)
    if workers == "process":
        caller.start_processes(time_limit)
    callback, close = progress_callback(progress, "run")
    stop = _stop if _stop is not None else _swathe.StopHandle()
    if out is not None:
        try:
            function = fingerprint_of(solve) if _block is None else _block.function
            if _block is None:
                warn(function.warnings("a run that is interrupted cannot be resumed"))
            _swathe.run_callable_into(
                caller,
                padded,
                classes,
                needs,
                batched,
                engine,
                callback,
                stop,
                out=os.fspath(out),
                resume=resume,
                recorded={**function.parts, "batched": str(batched), "check": str(check)},
                items=_fingerprint(items, ids) if _block is None else _block.items,
                ids=ids,
                shard=None if _block is None else _block.shard,
                gives_up=None if _block is None else _block.gives_up,
            )
        finally:
            close()
            caller.end_processes()
        return open_run(out if _block is None else _block.folder(out))
    try:
        values, failed, times_ms, report = _swathe.run_callable(
            caller, padded, classes, needs, batched, engine, callback, stop, _deliver
        )
    finally:
        close()
        caller.end_processes()
    figures = json.loads(report)
    figures["n_compiled_max"] = len(caller.compiled)
    failures = [Failure(*failure) for failure in failed]
    if failures and on_error == "raise":
        raise SolveError("item", failures)
    return Result(values, failures, np.array(times_ms), figures)


def stream(
    items: Iterable[Any],
    solve: Callable[..., Any],
    *,
    window: int = 1024,
    on_error: str = "raise",
    **arguments: Any,
) -> Iterator[tuple[int, Any]]:
    """Solve items from an iterator and yield ``(index, value)`` as they come.

    ``window`` items are taken at a time, and at most so many results wait to be yielded. With
    ``on_error="return"`` an item that fails gives ``None``.
    """
    check_on_error(on_error)
    if window < 1:
        raise ValueError(f"window is {window}; it is 1 or more")
    check_arguments("stream", run, arguments, without=("out", "resume", "ids", "progress"))
    probe = Probe()

    def work(put: Callable[[Any], None]) -> None:
        source, first = iter(items), 0
        while chunk := list(itertools.islice(source, window)):

            def deliver(number: int, value: Any, failed: tuple[str, str] | None) -> None:
                if failed is not None and on_error == "raise":
                    raise SolveError("item", [Failure(first + number, *failed)])
                put((first + number, value))

            probe.first = first
            run(chunk, solve, on_error="return", _deliver=deliver, _probe=probe, **arguments)
            first += len(chunk)

    return streamed(work, window)


@dataclass(frozen=True)
class _Block:
    """The shard of a run that a call solves: its items are those of the shard alone."""

    number: int
    n_blocks: int
    n_items: int
    items: _swathe.Fingerprint
    """The fingerprint of the items of all shards."""
    function: Function
    """The fingerprint of the function, made where the run began."""
    gives_up: str | None = None
    """Solve nothing: the items without an outcome fail with this reason."""

    @property
    def shard(self) -> tuple[int, int, int]:
        return self.number, self.n_blocks, self.n_items

    def folder(self, out: str | os.PathLike[str]) -> str:
        return os.path.join(out, "shards", f"{self.number}-of-{self.n_blocks}")


def _checked_ids(ids: Sequence[str], n: int, out: object) -> list[str]:
    ids = [str(one) for one in ids]
    if out is None:
        raise ValueError("ids go with out: without a folder, results are in the order of the items")
    if len(ids) != n:
        raise ValueError(f"there are {len(ids)} ids for {n} items")
    if len(set(ids)) < n:
        seen: set[str] = set()
        twice = next(one for one in ids if one in seen or seen.add(one))  # type: ignore[func-returns-value]
        raise ValueError(f"the id {twice!r} names two items")
    return ids


def _fingerprint(items: list[Any], ids: Sequence[str] | None) -> _swathe.Fingerprint:
    """The hash of all items: arrays by their elements, anything else pickled."""
    fingerprint = _swathe.Fingerprint()
    for number, item in enumerate(items):
        add_to_fingerprint(fingerprint, number, item, None if ids is None else ids[number])
    return fingerprint


def add_to_fingerprint(
    fingerprint: _swathe.Fingerprint, number: int, item: Any, name: str | None
) -> None:
    """Add an item and its id to the hash of all items."""
    if name is not None:
        fingerprint.update(name.encode())
    # The bytes of a masked array have no mask, and those of objects are addresses.
    is_plain = isinstance(item, np.ndarray) and not isinstance(item, np.ma.MaskedArray)
    if is_plain and not item.dtype.hasobject:
        fingerprint.update(f"{item.dtype.str}{item.shape}".encode())
        fingerprint.update(item.tobytes())
        return
    try:
        fingerprint.update(pickle.dumps(item, 5))
    except Exception as error:
        raise TypeError(f"item {number}: it cannot be pickled, which out needs: {error}") from None


class Handle:
    """A call of :func:`run` in the background. It can be awaited."""

    def __init__(self, items: Iterable[Any], solve: Callable[..., Any], arguments: Any) -> None:
        self._stop = _swathe.StopHandle()
        self._result: Result | Run | None = None
        self._error: BaseException | None = None

        def work() -> None:
            try:
                self._result = run(items, solve, _stop=self._stop, **arguments)
            except BaseException as error:  # told to the one who waits
                self._error = error

        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """End the call; items that were not solved are failures."""
        self._stop.cancel()

    def done(self) -> bool:
        """Whether the call has ended."""
        return not self._thread.is_alive()

    def result(self, timeout: float | None = None) -> Result | Run:
        """Wait for the result, or for the exception of the call."""
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise TimeoutError(f"the call goes on after {timeout} s")
        if self._error is not None:
            raise self._error
        assert self._result is not None
        return self._result

    def __await__(self) -> Generator[Any, None, Result | Run]:
        return asyncio.get_running_loop().run_in_executor(None, self.result).__await__()


def submit(items: Iterable[Any], solve: Callable[..., Any], **arguments: Any) -> Handle:
    """As :func:`run`, in the background: returns a handle with ``cancel`` that can be awaited."""
    check_arguments("submit", run, arguments)
    return Handle(items, solve, arguments)


class _Caller:
    """Makes batches of numbers and calls the user's function. The engine calls it from threads."""

    def __init__(
        self,
        items: list[Any],
        shapes: list[list[int]],
        padded: list[list[int]],
        classes: list[int],
        solve: Callable[..., Any],
        batched: bool,
        n_min: int,
        retries: int,
    ) -> None:
        self.items, self.shapes, self.padded, self.classes = items, shapes, padded, classes
        self.solve, self.batched, self.n_min, self.retries = solve, batched, n_min, retries
        self.compiled: set[tuple[Any, ...]] = set()
        self.processes: Processes | None = None
        self.probe: Probe | None = None

    def start_processes(self, time_limit: float | None) -> None:
        self.processes = Processes(self.solve, time_limit)

    def end_processes(self) -> None:
        if self.processes is not None:
            self.processes.end()

    def check(
        self, probe: Probe, needs: list[int], names: Sequence[Any], n_max: int, bytes_max: int
    ) -> None:
        """Solve an item of the first batch again, in a batch of at most so many lanes and bytes."""
        self.probe, self.needs, self.names = probe, needs, names
        self.n_max, self.bytes_max = n_max, bytes_max
        by_rank: dict[int, list[tuple[int, ...]]] = {}
        for extents in dict.fromkeys(map(tuple, self.shapes)):
            by_rank.setdefault(len(extents), []).append(extents)
        self.alike = {rank: alike_axes(shapes) for rank, shapes in by_rank.items()}

    def __call__(self, numbers: list[int]) -> list[Any]:
        for attempt in itertools.count():
            try:
                return self._solve(numbers)
            except BaseException as error:
                if _is_out_of_memory(error):
                    error._swathe_out_of_memory = True  # type: ignore[attr-defined]
                    raise
                # A batch is halved first; the item itself is tried again.
                is_last = attempt >= self.retries or hasattr(error, "_swathe_whole_batch")
                if len(numbers) > 1 or is_last or not isinstance(error, Exception):
                    raise
        raise AssertionError("the loop ends by return or raise")

    def _solve(self, numbers: list[int]) -> list[Any]:
        if not self.batched:
            return [self._call(self.items[number]) for number in numbers]
        probe = self.probe
        if probe is not None:
            probe.refuse()
        padded = self.padded[numbers[0]]
        n_lanes = max(self.n_min, _power_of_two_from(len(numbers)))
        results = self._results(self._batch(numbers, padded, n_lanes))
        lanes = enumerate(numbers)
        if probe is None:
            return [cut_alike(results[lane], padded, self.shapes[n]) for lane, n in lanes]
        alike = self.alike[len(padded)]
        with probe.lock:
            probe.refuse()
            if alike not in probe.layouts:
                probe.layouts[alike] = self._layout(probe, numbers, n_lanes, results)
            layout = probe.layouts[alike]
        return [cut(results[lane], layout, padded, self.shapes[n]) for lane, n in lanes]

    def _results(self, batch: Batch) -> Any:
        """A result for each lane, or at least for each of those with an item."""
        results = self._call(batch)
        is_list = isinstance(results, (list, tuple)) or getattr(results, "shape", ()) != ()
        if not is_list:
            raise of_whole_batch(
                TypeError(
                    f"the function returned a {type(results).__name__}; it returns an array whose "
                    "first axis is the lane's, or a list with a result for each lane"
                )
            )
        if len(results) not in (len(batch), len(batch.arrays)):
            raise of_whole_batch(
                ValueError(
                    f"the function returned {len(results)} results for a batch of "
                    f"{len(batch.arrays)} lanes"
                )
            )
        return results

    def _layout(self, probe: Probe, numbers: list[int], n_lanes: int, results: Any) -> Any:
        """What is padding in the results of a batch: one of its items is solved again."""
        number, again = self._elsewhere(numbers)
        lane, padded, shape = numbers.index(number), self.padded[number], self.shapes[number]
        other = self._other(number, numbers, again)
        n_lanes = max(min(max(n_lanes, 4), _power_of_two_from(self.n_max)), self.n_min)
        lane_bytes = self.needs[number] * np.prod(again, dtype=float) / max(np.prod(padded), 1)
        while n_lanes > max(self.n_min, 1) and n_lanes * lane_bytes > self.bytes_max:
            n_lanes //= 2
        while True:
            # The last row fills further lanes up. Beside another one of the same batch it is the item
            # itself: else a function that mixes lanes up could give it the same result twice.
            rows = [other, number, number if other in numbers else other][:n_lanes]
            if n_lanes == 2 and lane == 1:
                rows.reverse()
            elif n_lanes == 1:
                rows = [number]
            lanes = [k for k, row in enumerate(rows) if row == number]
            to = next((k for k in lanes if k != lane), lanes[0])
            try:
                seconds = self._results(self._batch(rows, again, n_lanes))
                break
            except Exception as error:
                is_large = isinstance(error, TimeoutError) or _is_out_of_memory(error)
                if is_large and n_lanes > max(self.n_min, 1):
                    n_lanes //= 2
                elif not is_large and other not in numbers:
                    # An item of another batch may be one that fails.
                    other = next((k for k in reversed(numbers) if k != number), number)
                else:
                    raise of_whole_batch(
                        ValueError(
                            f"item {self.names[number]} was solved with the padding {tuple(padded)}; "
                            f"again with {tuple(again)}, for a check of the function, it raises "
                            f"{type(error).__name__}: {error}. check=False checks nothing"
                        )
                    ) from error
        first, second = results[lane], seconds[to]
        try:
            layout = layout_of(first, second, padded, again)
            first, second = cut(first, layout, padded, shape), cut(second, layout, again, shape)
            difference = alike_text(first, second)
        except Differs as error:
            difference = str(error)
        if difference is None:
            return layout
        probe.wrong = (
            f"item {self.names[number]} was solved at lane {lane}, padded to {tuple(padded)}, and again "
            f"at lane {to}, padded to {tuple(again)}, and {difference}. Results must not depend on "
            "padding, lane or neighbours: use batch.mask or batch.shapes, or take them unchecked with "
            "check=False"
        )
        return probe.refuse()

    def _elsewhere(self, numbers: list[int]) -> tuple[int, list[int]]:
        """An item of a batch and another padding for it, of which all axes differ: that of a bucket
        which holds the item, or else a few cells more."""
        padded, of_class = self.padded[numbers[0]], self.classes[numbers[0]]
        alike = self.alike[len(padded)]

        def tells_apart(extents: tuple[int, ...]) -> bool:
            """Whether the lengths of a result's axis say which of the item's axes it is, and whether
            half of one cannot be taken for another."""
            pairs = itertools.combinations(sorted(set(alike)), 2)
            is_same = any(padded[a] * extents[b] == padded[b] * extents[a] for a, b in pairs)
            return not is_same and all(a != b for a, b in zip(padded, extents))

        held = {
            tuple(extents)
            for extents, its in zip(self.padded, self.classes)
            if its == of_class and len(extents) == len(padded)
        }
        buckets = sorted(filter(tells_apart, held), key=lambda extents: np.prod(extents))
        # Small values show best what neighbours add, and zeros show nothing; the last item may be the
        # other one.
        chosen = sorted(numbers[:-1] or numbers, key=lambda n: self._largest_value(n) or np.inf)
        for number in chosen:
            for extents in buckets:
                if all(a <= b for a, b in zip(self.shapes[number], extents)):
                    return number, list(extents)
        # No half, double or neighbour of these numbers is another one of them.
        return chosen[0], [extent + 5 + axis for axis, extent in enumerate(padded)]

    def _largest_value(self, number: int) -> float:
        array = np.asarray(self.items[number])
        if array.dtype.kind not in "iufc" or array.size == 0:
            return 0.0
        return float(np.nan_to_num(np.abs(array).max(), nan=np.inf))

    def _other(self, number: int, numbers: list[int], extents: list[int]) -> int:
        """An item beside which another one is solved again: if possible one of another batch."""
        batch = set(numbers)
        elsewhere = (other for other in range(len(self.items)) if other not in batch)
        for other in itertools.chain(elsewhere, reversed(numbers)):
            shape = self.shapes[other]
            fits = len(shape) == len(extents) and all(a <= b for a, b in zip(shape, extents))
            if fits and other != number and self.classes[other] == self.classes[number]:
                return other
        return number

    def _call(self, argument: Any) -> Any:
        if self.processes is not None:
            return self.processes.call(argument)
        return self.solve(argument)

    def _batch(self, numbers: list[int], padded: list[int], n_lanes: int) -> Batch:
        arrays = [np.asarray(self.items[number]) for number in numbers]
        stacked = np.zeros((n_lanes, *padded), dtype=arrays[0].dtype)
        mask = np.zeros((n_lanes, *padded), dtype=bool)
        for lane, array in enumerate(arrays):
            own: Any = (lane, *(slice(0, extent) for extent in array.shape))
            stacked[own] = array
            mask[own] = True
        # Lanes that only fill the batch up repeat the last item: zeros may be no problem at all.
        stacked[len(numbers) :] = stacked[len(numbers) - 1]
        self.compiled.add((n_lanes, *padded, stacked.dtype.str))
        shapes = [tuple(self.shapes[number]) for number in numbers]
        return Batch(stacked, mask, shapes, list(numbers))


def dtype_of(item: Any, name: object) -> str:
    """The dtype of an item of a batch, as text."""
    hint = (
        "make the mask a part of the item: np.stack([arr.filled(0), ~np.ma.getmaskarray(arr)]), or "
        "pass batched=False"
    )
    check_unmasked(f"item {name}", item, hint)
    try:
        found = np.asarray(item)
    except ValueError as error:
        raise ValueError(f"item {name}: it is no array: {error}") from None
    if found.dtype == object:
        raise TypeError(f"item {name}: it is no array of numbers; pass batched=False")
    return found.dtype.str


def _shape_of(
    item: Any, number: int, shape: Callable[[Any], Sequence[int]] | None, batched: bool
) -> list[int]:
    if shape is None and not batched:
        return []
    found = np.asarray(item).shape if shape is None else shape(item)
    extents = [int(extent) for extent in found]
    if len(extents) > _swathe.n_axes_max():
        raise ValueError(
            f"item {number}: its shape has {len(extents)} axes, and at most {_swathe.n_axes_max()} are "
            "possible; fold some with arr.reshape, or pass batched=False"
        )
    if extents and (min(extents) < 0 or max(extents) >= 1 << 32):
        raise ValueError(f"item {number}: its shape is {tuple(extents)}; extents are 0 to 2^32 - 1")
    return extents


def _padded_shapes(
    shapes: list[list[int]], classes: list[int], buckets: str | int | Sequence[Sequence[int]]
) -> list[list[int]]:
    if buckets == "exact":
        return shapes
    if buckets == "auto" or isinstance(buckets, int):
        return _swathe.shape_buckets(shapes, classes, 8 if buckets == "auto" else int(buckets))
    if isinstance(buckets, str):
        raise ValueError(f"buckets is {buckets!r}; it is 'auto', 'exact', a number or a list")
    listed = sorted(([int(n) for n in bucket] for bucket in buckets), key=lambda b: np.prod(b))
    padded = []
    for number, extents in enumerate(shapes):
        fits = [
            bucket
            for bucket in listed
            if len(bucket) == len(extents) and all(a <= b for a, b in zip(extents, bucket))
        ]
        if not fits:
            raise ValueError(f"item {number}: no bucket holds its shape {tuple(extents)}")
        padded.append(fits[0])
    return padded


def _bytes_of(item: Any, padded: list[int], bytes: Callable[[Any], int] | None) -> int:
    if bytes is not None:
        return int(bytes(item))
    itemsize = getattr(getattr(item, "dtype", None), "itemsize", 8)
    # The padded item, its mask, and a result of the same size.
    return min(3 * math.prod(padded) * itemsize + 64, 1 << 62)


def _power_of_two_below(n: int) -> int:
    if n < 1:
        raise ValueError(f"batch_size_max is {n}; it is 1 or more")
    return 1 << (n.bit_length() - 1)


def _power_of_two_from(n: int) -> int:
    return 1 << (n - 1).bit_length()


def _is_out_of_memory(error: BaseException) -> bool:
    """Python's, torch's, CuPy's and JAX's ways to say it."""
    if isinstance(error, MemoryError):
        return True
    name = type(error).__name__
    if name in ("OutOfMemoryError", "CUDAOutOfMemoryError"):
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and (
        "RESOURCE_EXHAUSTED" in text or "out of memory" in text.lower()
    )
