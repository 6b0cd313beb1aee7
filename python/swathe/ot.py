"""Unbalanced optimal transport between frames: how mass moved, appeared and vanished.

Frames are NumPy arrays, or whatever NumPy can look at (``__array__``, ``__dlpack__``, buffers), of
booleans, integers or floats. They are read where they are: do not change them during a call.

>>> import numpy as np
>>> a = np.zeros((16, 32)); a[6:9, 10] = 1
>>> solution = solve(a, np.roll(a, 2, axis=1), relaxation=10)
>>> solution.converged, round(float(np.nanmean(solution.velocity[..., 1])), 2)
(True, 2.0)
"""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _swathe
from ._errors import Failure, SolveError, check_names, check_on_error, check_unmasked
from ._progress import progress_callback
from ._stream import streamed
from ._warnings import warn
from .runs import Run, open_run

__all__ = [
    "Geometry",
    "Solution",
    "Solutions",
    "auto_epsilon",
    "buckets",
    "check",
    "pad",
    "pair_geometry",
    "solve",
    "solve_batch",
    "stream",
    "unpad",
]

_FIELDS = ("velocity", "created", "destroyed", "cost", "velocity_raw")
_SETTINGS = tuple(_swathe.ot.setting_names())
_ENGINE = tuple(_swathe.engine_names())


class Geometry(NamedTuple):
    """Where the work grid of a pair lies in its frames."""

    crop: tuple[int, int, int, int]
    """``(y0, x0, height, width)`` of the box that is cut out."""
    work: tuple[int, int]
    """Height and width of the work grid: the crop, pooled and padded to its bucket."""
    offset: tuple[int, int]
    """Where the crop lies in the work grid."""
    pool: int
    """Side of the squares of pixels that are summed into one."""

    def pad(self, frame: ArrayLike) -> NDArray[Any]:
        """The frame cut, pooled and padded with zeros to the work grid."""
        return pad(frame, self)

    def unpad(self, work: ArrayLike, shape: tuple[int, int], fill: float = math.nan) -> NDArray[Any]:
        """A map over the work grid, back on a frame of this shape."""
        return unpad(work, self, shape, fill)


class Solution:
    """The solution of a pair. Figures are floats; maps are arrays on the frame, NaN off the mask."""

    __slots__ = ("_fields", "_figures", "_raw", "_scale")

    def __init__(self, raw: Any, units: str, um_per_px: float | None) -> None:
        self._raw = raw
        self._figures: dict[str, Any] = raw.figures(um_per_px)
        self._fields: tuple[NDArray[Any], ...] | None = None
        # In the input's units a mass is one of the source frame.
        self._scale = self._figures["mass_src"] if units == "input" else 1.0

    @property
    def cost(self) -> float:
        """Transport cost of the plan, in units of (pixels x coord_scale) squared x mass."""
        return self._figures["cost"] * self._scale

    @property
    def objective(self) -> float:
        """The minimised value: cost, entropy and the price of created and destroyed mass."""
        return self._figures["objective"] * self._scale

    @property
    def mass_transported(self) -> float:
        """Mass of the plan."""
        return self._figures["mass_transported"] * self._scale

    @property
    def mass_created(self) -> float:
        """Mass of the target that the plan does not bring, signed."""
        return self._figures["mass_created"] * self._scale

    @property
    def mass_destroyed(self) -> float:
        """Mass of the source that the plan does not take along, signed."""
        return self._figures["mass_destroyed"] * self._scale

    @property
    def status(self) -> str:
        """``converged``, ``max_iterations``, ``empty_source``, ``empty_target`` or ``both_empty``."""
        return self._figures["status"]

    @property
    def converged(self) -> bool:
        """Whether the residual of both marginals is below the tolerance."""
        return self.status != "max_iterations"

    @property
    def residual(self) -> float:
        """L1 residual of both marginals, as a share of the mass."""
        return self._figures["residual"]

    @property
    def iterations(self) -> int:
        """Sweeps at full resolution."""
        return self._figures["iterations"]

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the frames."""
        return self._raw.shape

    @property
    def geometry(self) -> Geometry:
        """Where the work grid lies in the frames."""
        return Geometry(*self._raw.geometry)

    @property
    def velocity(self) -> NDArray[np.float64]:
        """Displacement (y, x) of the mass of each source pixel, in px: (height, width, 2). The pull
        of entropy towards the middle of neighbours is taken out (unless ``raw_velocity=True``)."""
        return self._map(0)

    @property
    def velocity_raw(self) -> NDArray[np.float64]:
        """The plan's mean displacement of each source pixel, as other programs report it."""
        return self._map(4)

    @property
    def displacement_err_px(self) -> float | None:
        """The error bar of the displacement, in px; ``None`` with ``raw_velocity=True``. It does not
        cover mass that changes in one place (:attr:`motion_doubt`), turning and shearing."""
        return self._figures["displacement_err_px"]

    @property
    def motion_doubt(self) -> str | None:
        """In words, why the motion may be wrong: mass changes in one place and not everywhere.
        ``None`` if no reason was found."""
        return self._figures["motion_doubt"]

    @property
    def sinkhorn_divergence(self) -> float | None:
        """OT(a, b) - OT(a, a) / 2 - OT(b, b) / 2: 0 for equal frames."""
        divergence = self._figures["sinkhorn_divergence"]
        return None if divergence is None else divergence * self._scale

    @property
    def gap(self) -> float:
        """How far the objective can be above the minimum, in cost units."""
        return self._figures["gap"] * self._scale

    @property
    def created(self) -> NDArray[np.float64]:
        """Mass created at each target pixel, signed; NaN off the target."""
        return self._map(1) * self._scale

    @property
    def destroyed(self) -> NDArray[np.float64]:
        """Mass destroyed at each source pixel, signed; NaN off the source."""
        return self._map(2) * self._scale

    @property
    def cost_map(self) -> NDArray[np.float64]:
        """Transport cost of the mass of each source pixel."""
        return self._map(3) * self._scale

    @property
    def potentials(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The dual potentials f and g on the frame, in cost units, NaN off the support
        (``potentials=True`` keeps them)."""
        return self._raw.potentials()

    def coupling(self, *, top_k: int | None = None, threshold: float | None = None) -> Any:
        """Entries of the plan as a SciPy sparse matrix over flattened pixels: the ``top_k`` largest
        of each source pixel, or all of at least ``threshold`` (1e-9 if neither is given)."""
        from scipy.sparse import coo_array

        if top_k is None and threshold is None:
            threshold = 1e-9
        rows, columns, masses = self._raw.coupling(top_k, threshold)
        n_px = self.shape[0] * self.shape[1]
        return coo_array((masses * self._scale, (rows, columns)), shape=(n_px, n_px)).tocsr()

    def figures(self) -> dict[str, Any]:
        """All figures by name, as the table of a run has them (masses and costs in problem units),
        ``None`` where this solution has none: those in µm without ``um_per_px``, for example."""
        return dict(self._figures)

    def plot(self, axes: Any = None, *, step: int | None = None) -> Any:
        """Draw the velocity as arrows over the mass that moved; returns the matplotlib axes."""
        from ._plot import plot_solution

        return plot_solution(self, axes, step)

    def _map(self, which: int) -> NDArray[np.float64]:
        if self._fields is None:
            self._fields = self._raw.fields()
        return self._fields[which]

    def __repr__(self) -> str:
        return (
            f"Solution({self.shape[0]}x{self.shape[1]}, {self.status}, cost {self.cost:.6g}, "
            f"transported {self.mass_transported:.6g}, residual {self.residual:.2g})"
        )


@dataclass(frozen=True)
class Solutions(Sequence[Any]):
    """Solutions in the order of their pairs; ``None`` where a pair failed."""

    _solutions: list[Solution | None]
    failures: list[Failure]
    """The pairs without a solution."""
    report: dict[str, Any] | None
    """The figures of the run; ``None`` where the pairs were solved one by one."""

    def __len__(self) -> int:
        return len(self._solutions)

    def __getitem__(self, index: Any) -> Any:
        return self._solutions[index]

    def __iter__(self) -> Iterator[Solution | None]:
        return iter(self._solutions)

    def rows(self) -> list[dict[str, Any]]:
        """A row of figures for every pair that has a solution."""
        return [
            {"row": row, **solution.figures()}
            for row, solution in enumerate(self._solutions)
            if solution is not None
        ]

    def to_pandas(self) -> Any:
        """The figures as a pandas table, a row for every pair that has a solution."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def to_arrow(self) -> Any:
        """The figures as an Arrow table, a row for every pair that has a solution."""
        import pyarrow as pa

        return pa.Table.from_pylist(self.rows())

    def print_stats(self) -> None:
        """Print how many pairs were solved and how long it took. A pair with a frame of zeros has a
        row with the status ``empty_source``, ``empty_target`` or ``both_empty``, but is not counted
        as solved: there was nothing to solve."""
        answered = [solution for solution in self._solutions if solution is not None]
        n_solved = sum("empty" not in solution.status for solution in answered)
        n_without = len(answered) - n_solved
        without = f"{n_without} without mass, " if n_without else ""
        print(f"{n_solved} of {len(self)} pairs solved, {without}{len(self.failures)} failed")
        if self.report is not None:
            seconds = self.report["wall_ms"] / 1e3
            print(f"{seconds:.3g} s, {len(answered) / max(seconds, 1e-9):.4g} a second")

    def __repr__(self) -> str:
        return f"Solutions({len(self)} pairs, {len(self.failures)} failed)"


def solve(
    src: ArrayLike,
    tgt: ArrayLike,
    *,
    src_mask: ArrayLike | None = None,
    tgt_mask: ArrayLike | None = None,
    potentials: bool = False,
    units: str = "problem",
    um_per_px: float | None = None,
    **settings: Any,
) -> Solution:
    """Solve one pair of frames of the same shape.

    Settings: ``epsilon`` (entropic blur; ``"auto"``, the default, chooses it as :func:`auto_epsilon`
    does, one for the whole call; one outside of the range that was proved for the frames is refused),
    ``relaxation`` (price of creating and destroying mass, 10; ``inf`` is balanced; ``(a, b)`` sets
    source and target apart) or ``tau`` instead of it as in OTT-JAX, ``raw_velocity`` (False),
    ``reference`` (``"product"`` or ``"counting"``), ``coord_scale`` (``"auto"``: 1 / longer side),
    ``normalize`` (True), ``crop`` (``"union"``, ``"fixed"``, ``"bucketed"``), ``padding``,
    ``buckets``, ``pool``, ``tolerance`` (1e-5), ``max_iterations``, ``precision``.

    ``units="input"`` gives masses and costs times the source's mass, as other programs report them.

    What the command warns of at the end of a run (an epsilon that is too large, motion in doubt
    because mass changes, frames that look like a background, sweeps that ran out) is issued as ``UserWarning``.
    """
    pair = (src, tgt, src_mask, tgt_mask)
    solutions = solve_batch(
        [pair],
        fields=True,
        potentials=potentials,
        units=units,
        um_per_px=um_per_px,
        mode="sequential",
        **settings,
    )
    return solutions[0]


@overload
def solve_batch(
    problems: Iterable[Sequence[ArrayLike | None]], *, out: None = None, **arguments: Any
) -> Solutions: ...
@overload
def solve_batch(
    problems: Iterable[Sequence[ArrayLike | None]],
    *,
    out: str | os.PathLike[str],
    **arguments: Any,
) -> Run: ...
def solve_batch(
    problems: Iterable[Sequence[ArrayLike | None]],
    *,
    mode: str = "batch",
    fields: bool | Sequence[str] = (),
    potentials: bool = False,
    units: str = "problem",
    um_per_px: float | None = None,
    on_error: str = "raise",
    progress: bool | Callable[[int, int], object] = False,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    ids: Sequence[str] | None = None,
    **settings: Any,
) -> Solutions | Run:
    """Solve many pairs, of any shapes, on all cores (and on graphics processors with ``device``).

    A problem is ``(source, target)`` or ``(source, target, source mask, target mask)``. Besides the
    settings of :func:`solve` (``epsilon="auto"`` is decided once, on a sample of all pairs): ``threads``, ``memory`` (``"2GiB"``), ``batch_size``, ``device``,
    ``time_limit`` (seconds a pair), ``verify``, ``seed``. ``mode="sequential"`` solves one by one in
    order, with the same bits.

    Maps are kept only on request: ``fields=True`` or some of ``"velocity"``, ``"velocity_raw"``,
    ``"created"``, ``"destroyed"``, ``"cost"``. With ``on_error="return"`` a pair that fails gives ``None`` and
    stands in ``failures``.

    ``out="RUN"`` writes a run folder instead, with its table and page, and returns it as
    :func:`swathe.open_run` does: nothing is kept in memory, finished pairs survive a crash, and the
    same call with ``resume=True`` goes on. ``ids`` names the pairs there. Pairs that fail stand in
    its ``failures``.
    """
    keeps = _check(mode, fields, units, on_error)
    problems, is_auto = _chosen_epsilon(problems, settings, mode, on_error == "return")
    ot, engine = _split(settings)
    if out is not None:
        if potentials or mode == "sequential" or units == "input":
            raise ValueError(
                "out does not go with potentials, mode='sequential' or units='input': "
                "a run folder has what the command writes"
            )
        return _solve_into(
            problems, _swathe.ot.Notes(ot, is_auto), engine, keeps, progress, out, resume, ids, um_per_px
        )
    if resume or ids is not None:
        raise ValueError("resume and ids go with out, the folder of a run")
    ot["potentials"] = potentials
    notes = _swathe.ot.Notes(ot, is_auto)
    callback, close = progress_callback(progress, "ot")
    try:
        raw, failed, report = _swathe.ot.solve_pairs(
            problems, engine, keeps, mode == "sequential", on_error == "return", callback, notes
        )
    finally:
        close()
    warn(notes.texts())
    failures = [Failure(*failure) for failure in failed]
    if failures and on_error == "raise":
        raise SolveError("pair", failures)
    solutions = [None if one is None else Solution(one, units, um_per_px) for one in raw]
    return Solutions(solutions, failures, None if report is None else json.loads(report))


def auto_epsilon(
    problems: Iterable[Sequence[ArrayLike | None]], *, seed: int = 0, **settings: Any
) -> float:
    """The ``epsilon`` that suits some pairs: the largest of 1e-3, 3e-4, 1e-4 and 3e-5 from which the
    next smaller one hardly changes the displacement, on a sample of at most eight of the pairs that
    ``seed`` chooses. It is what a call with ``epsilon="auto"`` takes."""
    ot, engine = _split(settings)
    ot.pop("epsilon", None)
    return _swathe.ot.auto_epsilon(problems, ot, {**engine, "seed": seed}, False, False)


def _is_auto(epsilon: Any) -> bool:
    return epsilon is None or (isinstance(epsilon, str) and epsilon == "auto")


def _chosen_epsilon(
    problems: Iterable[Any], settings: dict[str, Any], mode: str, is_lenient: bool
) -> tuple[Iterable[Any], bool]:
    """Replace ``epsilon="auto"``, the default, by the number. Returns the pairs, which an iterator
    gives only once, and whether the number was chosen."""
    if not _is_auto(settings.get("epsilon")):
        return problems, False
    problems = list(problems)
    # The price that tau stands for depends on the number.
    others = {name: value for name, value in settings.items() if name not in ("epsilon", "tau")}
    ot, engine = _split(others)
    settings["epsilon"] = _swathe.ot.auto_epsilon(
        problems, ot, engine, mode == "sequential", is_lenient
    )
    return problems, True


def check(
    src: ArrayLike,
    tgt: ArrayLike,
    f: ArrayLike | None = None,
    g: ArrayLike | None = None,
    *,
    plan: Any = None,
    **settings: Any,
) -> dict[str, float]:
    """Check another program's solution: residuals of both marginals, gap and true cost.

    The answer is potentials ``f`` and ``g`` on the frame in cost units (OTT-JAX's are, with
    ``reference="counting"``; values off the support do not matter), or a ``plan``: a SciPy sparse
    matrix or an array over all flattened pixels, or over those with mass, in problem units.
    Settings as for :func:`solve`; ``epsilon`` is the one that the answer was computed with. The
    command ``swathe ot check`` gives the same figures.

    >>> import numpy as np
    >>> a = np.zeros((8, 12)); a[3:5, 3:6] = 1
    >>> b = np.roll(a, 2, axis=1)
    >>> solution = solve(a, b, epsilon=1e-2, potentials=True)
    >>> f, g = solution.potentials
    >>> good, bad = (check(a, b, k * f, k * g, epsilon=1e-2) for k in (1, 0))
    >>> good["gap"] < 1e-6 < bad["gap"]
    True
    """
    if (plan is None) == (f is None or g is None):
        raise ValueError("give either f and g, or plan")
    if _is_auto(settings.get("epsilon")):
        raise ValueError(
            "epsilon is 'auto', which is not a number; "
            "give the epsilon that the answer was computed with"
        )
    ot, _ = _split(settings)
    if plan is None:
        assert f is not None and g is not None
        return _swathe.ot.check((src, tgt), ot, (f, g), None)
    if not hasattr(plan, "tocoo"):
        from scipy.sparse import coo_array

        check_unmasked("plan", plan)
        plan = coo_array(np.asarray(plan))
    entries = plan.tocoo()
    rows, columns = entries.row, entries.col
    pixels = np.flatnonzero(np.asarray(src)), np.flatnonzero(np.asarray(tgt))
    if entries.shape == (pixels[0].size, pixels[1].size):
        rows, columns = pixels[0][rows], pixels[1][columns]
    elif entries.shape != (np.size(src), np.size(tgt)):
        raise ValueError(
            f"the plan is {entries.shape}, and the frames have {np.size(src)} and {np.size(tgt)} "
            f"pixels, {pixels[0].size} and {pixels[1].size} with mass"
        )
    rows, columns = rows.tolist(), columns.tolist()
    return _swathe.ot.check((src, tgt), ot, None, (rows, columns, entries.data.tolist()))


def _solve_into(
    problems: Iterable[Sequence[ArrayLike | None]],
    notes: _swathe.ot.Notes,
    engine: dict[str, Any],
    keeps: bool,
    progress: bool | Callable[[int, int], object],
    out: str | os.PathLike[str],
    resume: bool,
    ids: Sequence[str] | None,
    um_per_px: float | None,
) -> Run:
    names = None if ids is None else [str(name) for name in ids]
    callback, close = progress_callback(progress, "ot")
    try:
        texts = _swathe.ot.solve_into(
            problems,
            engine,
            keeps,
            callback,
            notes,
            out=os.fspath(out),
            resume=resume,
            ids=names,
            um_per_px=um_per_px,
        )
    finally:
        close()
    warn(texts)
    return open_run(out)


def stream(
    problems: Iterable[Sequence[ArrayLike | None]],
    *,
    window: int = 256,
    mode: str = "batch",
    fields: bool | Sequence[str] = (),
    potentials: bool = False,
    units: str = "problem",
    um_per_px: float | None = None,
    on_error: str = "raise",
    **settings: Any,
) -> Iterator[tuple[int, Solution | None]]:
    """Solve pairs from an iterator and yield ``(index, solution)`` as they come.

    ``window`` pairs are taken from the iterator at a time, and at most so many solutions wait to be
    yielded, so that memory does not grow with the input. Within a window solutions come in the order
    in which they are finished. Arguments as for :func:`solve_batch`.

    ``epsilon="auto"``, the default, is decided on the first window, by a sample of its pairs, and
    kept for all that follow: the pairs that come later are not known yet. Warnings are issued once,
    at the end.
    """
    if window < 1:
        raise ValueError(f"window is {window}; it is 1 or more")
    keeps = _check(mode, fields, units, on_error)
    is_auto = _is_auto(settings.get("epsilon"))
    # A wrong argument is told before the first pair is taken.
    _split(settings)
    collected: list[Any] = []

    def work(put: Callable[[Any], None]) -> None:
        source, first = iter(problems), 0
        chunk = list(itertools.islice(source, window))
        chosen = dict(settings)
        _chosen_epsilon(chunk, chosen, mode, on_error == "return")
        ot, engine = _split(chosen)
        ot["potentials"] = potentials
        notes = _swathe.ot.Notes(ot, is_auto)
        collected.append(notes)
        while chunk:

            def deliver(number: int, raw: Any, failed: tuple[str, str] | None) -> None:
                if failed is not None and on_error == "raise":
                    raise SolveError("pair", [Failure(number, *failed)])
                put((number, None if raw is None else Solution(raw, units, um_per_px)))

            _swathe.ot.solve_pairs(
                chunk,
                engine,
                keeps,
                mode == "sequential",
                on_error == "return",
                None,
                notes,
                deliver,
                first,
            )
            first += len(chunk)
            chunk = list(itertools.islice(source, window))

    def told() -> Iterator[tuple[int, Solution | None]]:
        yield from streamed(work, window)
        for notes in collected:
            warn(notes.texts())

    return told()


def buckets(shapes: Iterable[tuple[int, int]], n: int = 8) -> list[tuple[int, int]]:
    """At most ``n`` shapes to which all of ``shapes`` can be padded with the least waste.

    >>> buckets([(10, 10), (11, 10), (100, 90)], n=2)
    [(11, 10), (100, 90)]
    """
    return _swathe.ot.buckets([(int(h), int(w)) for h, w in shapes], n)


def pair_geometry(
    src: ArrayLike,
    tgt: ArrayLike,
    policy: str = "union",
    *,
    padding: int = 16,
    pool: int = 1,
    buckets: Sequence[tuple[int, int]] = (),
) -> Geometry:
    """Where the work grid of a pair lies: ``union`` (the box around both masses), ``fixed`` (the
    whole frame) or ``bucketed`` (the box, padded to the smallest of ``buckets``)."""
    placed = _swathe.ot.pair_geometry((src, tgt), policy, padding, pool, list(buckets))
    return Geometry(*placed, pool)


def pad(frame: ArrayLike, geometry: Geometry) -> NDArray[Any]:
    """A frame cut, pooled and padded with zeros to the work grid of a geometry."""
    check_unmasked("frame", frame)
    y0, x0, height, width = geometry.crop
    cut = np.asarray(frame)[y0 : y0 + height, x0 : x0 + width]
    if geometry.pool > 1:
        p = geometry.pool
        fill = [(0, -height % p), (0, -width % p)]
        cut = np.pad(cut, fill)
        cut = cut.reshape(cut.shape[0] // p, p, cut.shape[1] // p, p).sum(axis=(1, 3))
    work = np.zeros(geometry.work, dtype=cut.dtype)
    y, x = geometry.offset
    work[y : y + cut.shape[0], x : x + cut.shape[1]] = cut
    return work


def unpad(
    work: ArrayLike, geometry: Geometry, shape: tuple[int, int], fill: float = math.nan
) -> NDArray[Any]:
    """A map over the work grid, back on a frame of this shape; ``fill`` outside of the crop. The
    value of a pooled cell stands at each of its pixels."""
    check_unmasked("work", work)
    work = np.asarray(work)
    y0, x0, height, width = geometry.crop
    y, x = geometry.offset
    p = geometry.pool
    cut = work[y : y + -(-height // p), x : x + -(-width // p)]
    cut = np.repeat(np.repeat(cut, p, axis=0), p, axis=1)[:height, :width]
    whole = np.full((*shape, *work.shape[2:]), fill, dtype=np.result_type(work, np.float32))
    whole[y0 : y0 + height, x0 : x0 + width] = cut
    return whole


def _split(settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The solver's and the engine's settings."""
    settings = dict(settings)
    tau = settings.pop("tau", None)
    if tau is not None:
        if settings.get("relaxation") is not None:
            raise ValueError("give either tau or relaxation")
        epsilon: Any = settings.get("epsilon")
        # Without a number yet, tau is only checked: the settings are split again once it is chosen.
        number = 1e-3 if _is_auto(epsilon) else float(epsilon)
        settings["relaxation"] = _relaxation(float(tau), number)
    if _is_auto(settings.get("epsilon")):
        settings.pop("epsilon", None)
    ot = {name: settings.pop(name) for name in _SETTINGS if name in settings}
    engine = {name: settings.pop(name) for name in _ENGINE if name in settings}
    check_names(settings, ["tau", *_SETTINGS, *_ENGINE])
    return ot, engine


def _relaxation(tau: float, epsilon: float) -> float:
    """The price of mass that OTT-JAX's tau stands for: tau = rho / (rho + epsilon)."""
    if tau == 1:
        return math.inf
    if not 0 < tau < 1:
        raise ValueError(
            f"tau is {tau}; it lies between 0 and 1 (tau = rho / (rho + epsilon)). "
            "If this is the price of mass itself, pass it as relaxation"
        )
    return epsilon * tau / (1 - tau)


def _check(mode: str, fields: bool | Sequence[str], units: str, on_error: str) -> bool:
    """Raise for words that mean nothing; whether maps are kept."""
    check_on_error(on_error)
    if mode not in ("batch", "sequential"):
        raise ValueError(f"mode is {mode!r}; it is 'batch' or 'sequential'")
    if units not in ("problem", "input"):
        raise ValueError(f"units is {units!r}; it is 'problem' or 'input'")
    if isinstance(fields, bool):
        return fields
    if isinstance(fields, str):
        fields = (fields,)
    for name in fields:
        if name not in _FIELDS:
            raise ValueError(f"fields names {name!r}; there are {', '.join(_FIELDS)}")
    return len(fields) > 0
