"""Grid programs in the ARC DSL: every program on every task, with the results of the Python reference.

>>> library = Library.from_text('''
... def solve_flip(I):
...     O = hmirror(I)
...     return O
... ''')
>>> library["solve_flip"](((1, 2), (3, 4)))
((3, 4), (1, 2))
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _swathe
from ._errors import Failure, SolveError, check_names
from ._progress import progress_callback
from .ot import _ENGINE

__all__ = ["Batt", "Function", "Library", "Results", "call"]

Grid = Any


class _OrderedSet(frozenset):
    """A frozenset that iterates as the one of the Python reference does, where a new one would not:
    the order of a set depends on how it was made. Functions of this module know its hash table."""

    __slots__ = ("_order", "_table")
    _order: tuple[Any, ...]
    _table: tuple[int, bytes, bool]
    """How many slots the table has, the slots of the elements (four bytes each), whether elements
    were discarded from it."""

    def __new__(cls, items: Iterable[Any], table: tuple[int, bytes, bool]) -> _OrderedSet:
        items = tuple(items)
        made = super().__new__(cls, items)
        made._order, made._table = items, table
        return made

    def __iter__(self) -> Iterator[Any]:
        return iter(self._order)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_OrderedSet, (self._order, self._table))


class Library(Mapping[str, Callable[[Grid], Any]]):
    """Programs by name. Calling one gives exact Python values, or raises what Python would raise."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._names: list[str] = raw.names

    @classmethod
    def from_file(cls, path: str | Path) -> Library:
        """The programs of a Python file: functions of one grid, lines that call primitives."""
        return cls(_swathe.arc.RawLibrary(str(path), Path(path).read_text(encoding="utf-8")))

    @classmethod
    def from_text(cls, text: str) -> Library:
        """The programs of a text."""
        return cls(_swathe.arc.RawLibrary("<text>", text))

    @property
    def rejected(self) -> list[str]:
        """Programs that cannot be used, with the place that is wrong."""
        return self._raw.rejected

    def __getitem__(self, name: str) -> Callable[[Grid], Any]:
        if name not in self._names:
            raise KeyError(name)
        return lambda grid: self._raw.call(name, grid, _OrderedSet)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def run(
        self,
        tasks: Mapping[str, Any],
        *,
        pairing: str = "all",
        progress: bool | Callable[[int, int], object] = False,
        **engine: Any,
    ) -> Results:
        """Run every program on every sample of every task (``pairing="own"``: ``solve_<task>`` on
        its own task). Tasks are dicts as Kaggle has them: ``{"train": [{"input", "output"}, …],
        "test": […]}`` by name. ``threads``, ``memory`` and ``time_limit`` as for transport."""
        check_names(engine, ("pairing", "progress", *_ENGINE))
        callback, close = progress_callback(progress, "arc")
        text = json.dumps(tasks, default=lambda value: value.tolist())
        try:
            found = self._raw.run(text, pairing, engine, callback)
        finally:
            close()
        return Results(self, *found)

    def __repr__(self) -> str:
        return f"Library({len(self)} programs, {len(self.rejected)} rejected)"


class Results:
    """What every program made of every sample, as columns."""

    def __init__(
        self,
        library: Library,
        tasks: list[tuple[str, int, int]],
        columns: tuple[NDArray[Any], ...],
        outputs: list[str],
        rejected: list[tuple[str, str]],
        report: str,
    ) -> None:
        self._library = library
        self.tasks = [name for name, _, _ in tasks]
        self._n_train = np.array([n for _, n, _ in tasks], dtype=np.int64)
        self._n_test = [n for _, _, n in tasks]
        names = ["program", "task", "is_test", "sample", "outcome", "equal", "score", "output"]
        self.columns = dict(zip(names, columns))
        self.outputs = outputs
        self.rejected_tasks = rejected
        """Tasks that cannot be used: name and reason."""
        self.report: dict[str, Any] = json.loads(report)

    def __len__(self) -> int:
        return len(self.columns["program"])

    @property
    def solved(self) -> dict[str, list[str]]:
        """For each task that some program fits, the programs that get all demonstrations right, the
        best first. Whether the best of them gets the tests right too, ``print_stats`` counts."""
        n_right, _ = self._standings()
        solved = {}
        for number, task in enumerate(self.tasks):
            ranked = self._ranked(number)
            n_train = self._n_train[number]
            right = [name for name, k in ranked if n_train and n_right[number, k] == n_train]
            if right:
                solved[task] = right
        return solved

    def print_stats(self) -> None:
        """Print how many tasks are solved, how many fit their demonstrations, and how calls ended."""
        columns, fitting = self.columns, self.solved
        n_tested = n_solved = 0
        for number, task in enumerate(self.tasks):
            ranked = self._ranked(number)
            if not ranked:
                continue
            is_of_best = (columns["task"] == number) & (columns["program"] == ranked[0][1])
            equal = columns["equal"][is_of_best & columns["is_test"]]
            is_known = len(equal) > 0 and (equal >= 0).all()
            n_tested += is_known
            n_solved += is_known and task in fitting and (equal == 1).all()
        counted = f"of {len(self.tasks)} task{'' if len(self.tasks) == 1 else 's'}"
        fit = "fits its demonstrations" if len(fitting) == 1 else "fit their demonstrations"
        if n_tested:
            print(f"{n_solved} {counted} solved, {len(fitting)} {fit}")
        else:
            print(f"{len(fitting)} {counted} {fit}")
        n_right = int((columns["equal"] == 1).sum())
        print(f"{len(self)} calls, {n_right} gave the expected output")

    def to_pandas(self) -> Any:
        """A row for every call: program, task, split, sample, outcome, error_kind, equal, score,
        output."""
        import pandas as pd

        columns = self.columns
        names = list(self._library)
        faults = ["", *self._library._raw.fault_names()]
        kinds = np.array(["ok", *["error"] * (len(faults) - 1)], dtype=object)
        for at, name in enumerate(faults):
            if name in ("timeout", "memory"):
                kinds[at] = name
        outcome = columns["outcome"]
        is_error = kinds[outcome] == "error"
        error_kind = np.where(is_error, np.array(faults, dtype=object)[outcome], None)
        equal = np.array([False, True, None], dtype=object)[columns["equal"]]
        outputs = np.array([*self.outputs, None], dtype=object)
        return pd.DataFrame(
            {
                "program": pd.Categorical.from_codes(columns["program"].astype(np.int64), names),
                "task": pd.Categorical.from_codes(columns["task"].astype(np.int64), self.tasks),
                "split": np.where(columns["is_test"], "test", "train"),
                "sample": columns["sample"],
                "outcome": kinds[outcome],
                "error_kind": error_kind,
                "equal": equal,
                "score": columns["score"],
                "output": outputs[columns["output"]],
            }
        )

    def submission(self) -> dict[str, list[dict[str, Grid]]]:
        """Two attempts for every test, by the best programs, as the ARC Prize has them."""
        columns = self.columns
        is_wanted = columns["is_test"] & (columns["output"] >= 0)
        by_test: dict[tuple[int, int], dict[int, int]] = {}
        for at in np.flatnonzero(is_wanted):
            key = (int(columns["task"][at]), int(columns["sample"][at]))
            by_test.setdefault(key, {})[int(columns["program"][at])] = int(columns["output"][at])
        submission: dict[str, list[dict[str, Grid]]] = {}
        for number, task in sorted(enumerate(self.tasks), key=lambda item: item[1]):
            if not self._n_test[number]:
                continue
            ranked = [k for _, k in self._ranked(number)]
            tests = []
            for sample in range(self._n_test[number]):
                attempts = self._attempts(ranked, by_test.get((number, sample), {}))
                tests.append({"attempt_1": attempts[0], "attempt_2": attempts[-1]})
            submission[task] = tests
        return submission

    def _attempts(self, ranked: list[int], outputs: dict[int, int]) -> list[Grid]:
        found: list[Grid] = []
        for program in ranked:
            if program not in outputs:
                continue
            grid = _valid_grid(self.outputs[outputs[program]])
            if grid is not None and grid not in found:
                found.append(grid)
                if len(found) == 2:
                    break
        return found or [[[0]]]

    def _standings(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """For each task and program the demonstrations that it gets right, and its scores' sum."""
        columns, shape = self.columns, (len(self.tasks), len(self._library))
        is_train = ~columns["is_test"]
        at = (columns["task"][is_train], columns["program"][is_train])
        n_right, score = np.zeros(shape, dtype=np.int64), np.zeros(shape)
        np.add.at(n_right, at, columns["equal"][is_train] == 1)
        np.add.at(score, at, np.nan_to_num(columns["score"][is_train]))
        return n_right, score

    def _ranked(self, task: int) -> list[tuple[str, int]]:
        """The programs that ran on a task, the best first: demonstrations solved, score, fewer
        statements, name."""
        if not hasattr(self, "_standing"):
            self._standing = self._standings()
            ran = np.zeros((len(self.tasks), len(self._library)), dtype=bool)
            ran[self.columns["task"], self.columns["program"]] = True
            self._ran = ran
        n_right, score = self._standing
        names, n_statements = list(self._library), self._library._raw.n_statements
        programs = [int(k) for k in np.flatnonzero(self._ran[task])]
        programs.sort(key=lambda k: (-n_right[task, k], -score[task, k], n_statements[k], names[k]))
        return [(names[k], k) for k in programs]

    def __repr__(self) -> str:
        return f"Results({len(self)} calls, {len(self._library)} programs, {len(self.tasks)} tasks)"


class Function(str):
    """A function as a value: its text. Rows of a ``batt`` function can hold one; Python cannot call
    it."""


CandidateRow = tuple[int, bool, str, Any]
"""A row of ``o``: number of the line, whether it was altered, task, value."""
DifferRow = tuple[int, str, str, Any]
"""A row of ``s``: number of the line, task or ``"None"``, differ, value."""


class Batt:
    """The function ``batt(task_id, S, I, C, log_path)`` of a generated file, for many samples at
    once.

    >>> batt = Batt.from_text('''
    ... def batt(task_id, S, I, C, log_path):
    ...     s = []
    ...     o = []
    ...     t1 = mir_rot_t(I, R2)
    ...     o.append((1, False, '67a3c6ac', t1))
    ...     t2 = equality(t1, C)
    ...     s.append((2, '67a3c6ac', 'differ_same', t2))
    ...     return o, s
    ... ''')
    >>> S = ((((1, 2),), ((2, 1),)),)
    >>> batt.batch(["67a3c6ac"], [S], [((3, 4),)], [((4, 3),)])
    [([(1, False, '67a3c6ac', ((4, 3),))], [(2, '67a3c6ac', 'differ_same', True)])]
    """

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    @classmethod
    def from_file(cls, path: str | Path) -> Batt:
        """The function of a Python file. Its imports are not needed: the functions of the DSL are
        built in."""
        return cls(_swathe.arc.RawBatt(str(path), Path(path).read_text(encoding="utf-8")))

    @classmethod
    def from_text(cls, text: str) -> Batt:
        """The function of a text."""
        return cls(_swathe.arc.RawBatt("<text>", text))

    @property
    def rejected(self) -> list[str]:
        """Rows that cannot be used, with the place that is wrong."""
        return self._raw.rejected

    def batch(
        self,
        task_ids: Sequence[str],
        S_list: Sequence[Sequence[tuple[Grid, Grid]]],
        I_list: Sequence[Grid],
        C_list: Sequence[Grid | None],
        *,
        threads: int = 0,
        on_error: str = "empty",
    ) -> list[tuple[list[CandidateRow], list[DifferRow]] | None]:
        """What the function returns for each sample: ``(o, s)``, rows as in the file, with exact
        Python values.

        ``S_list`` has the demonstrations of each sample's task as pairs of grids, ``I_list`` the
        inputs, ``C_list`` the expected outputs or None. Samples of one task that stand together and
        share one object in ``S_list`` are fastest. ``task_ids`` only counts: no generated file reads
        it. ``threads`` 0 takes all cores.

        A sample on which the function would end with an exception, or uses up its limits of work and
        memory, has two empty lists, as in the original, and a ``RuntimeWarning`` says why. With
        ``on_error="raise"`` a :class:`swathe.SolveError` names all of them; with
        ``on_error="return"`` they give None.
        A value that is a function is a :class:`Function`.
        """
        if on_error not in ("empty", "raise", "return"):
            raise ValueError(f"on_error is {on_error!r}; it is 'empty', 'raise' or 'return'")
        sizes = {len(task_ids), len(S_list), len(I_list), len(C_list)}
        if len(sizes) > 1:
            raise ValueError(f"task_ids, S_list, I_list and C_list have different lengths: {sorted(sizes)}")
        arguments = list(zip(S_list, I_list, C_list))
        n_threads = threads or os.cpu_count() or 1
        returned, failed = self._raw.batch(arguments, n_threads, _OrderedSet, Function)
        if failed and on_error != "return":
            error = SolveError("sample", [Failure(*failure) for failure in failed])
            if on_error == "raise":
                raise error
            warnings.warn(f"samples without rows: {error}", RuntimeWarning, stacklevel=2)
            returned = [([], []) if lists is None else lists for lists in returned]
        return returned

    def __repr__(self) -> str:
        return f"Batt({len(self.rejected)} rows rejected)"


def call(name: str, grids: Iterable[Grid], *arguments: Any) -> list[Any]:
    """One primitive of the DSL, called with each of many grids and the same further arguments.

    Each call has the limits of a program: the first that fails raises the exception of the Python
    reference, ``TimeoutError`` or ``MemoryError``, with the number of its grid. Sets go in and come
    out with their order: that of CPython's hash tables, which primitives can see.

    >>> call("vmirror", [((1, 2),), ((3, 4),)])
    [((2, 1),), ((4, 3),)]
    """
    return _swathe.arc.call_primitive(name, grids, arguments, _OrderedSet)


def _valid_grid(text: str) -> Grid | None:
    """The rows of an encoded output that is a grid of colours, at most 30 x 30."""
    if not text.startswith('{"grid":') or len(text) > 30 * 62 + 11:
        return None
    grid = json.loads(text)["grid"]
    if not 1 <= len(grid) <= 30 or not 1 <= len(grid[0]) <= 30:
        return None
    if any(not 0 <= cell <= 9 for row in grid for cell in row):
        return None
    return grid
