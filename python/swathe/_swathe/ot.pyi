from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

class RawSolution:
    geometry: tuple[tuple[int, int, int, int], tuple[int, int], tuple[int, int], int]
    has_fields: bool
    shape: tuple[int, int]
    def figures(self, um_per_px: float | None) -> dict[str, Any]: ...
    def fields(self) -> tuple[NDArray[np.float64], ...]: ...
    def potentials(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def coupling(
        self, top_k: int | None, threshold: float | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]: ...

class Notes:
    def __init__(self, ot: dict[str, Any], is_epsilon_auto: bool) -> None: ...
    def texts(self) -> list[str]: ...

def solve_pairs(
    pairs: Iterable[Sequence[ArrayLike | None]],
    engine: dict[str, Any],
    keeps_fields: bool,
    is_sequential: bool,
    is_lenient: bool,
    progress: Callable[[int, int], object] | None,
    notes: Notes,
    deliver: Callable[[int, RawSolution | None, tuple[str, str] | None], object] | None = None,
    first: int = 0,
) -> tuple[list[RawSolution | None], list[tuple[int, str, str]], str | None]: ...
def solve_into(
    pairs: Iterable[Sequence[ArrayLike | None]],
    engine: dict[str, Any],
    keeps_fields: bool,
    progress: Callable[[int, int], object] | None,
    notes: Notes,
    *,
    out: str,
    resume: bool,
    ids: list[str] | None,
    um_per_px: float | None,
) -> list[str]: ...
def auto_epsilon(
    pairs: Iterable[Sequence[ArrayLike | None]],
    ot: dict[str, Any],
    engine: dict[str, Any],
    is_sequential: bool,
    is_lenient: bool,
) -> float: ...
def check(
    pair: tuple[ArrayLike, ArrayLike],
    ot: dict[str, Any],
    potentials: tuple[ArrayLike, ArrayLike] | None,
    plan: tuple[list[int], list[int], list[float]] | None,
) -> dict[str, float]: ...
def setting_names() -> list[str]: ...
def buckets(shapes: list[tuple[int, int]], n: int) -> list[tuple[int, int]]: ...
def pair_geometry(
    pair: tuple[ArrayLike, ArrayLike],
    policy: str,
    padding: int,
    pool: int,
    buckets: list[tuple[int, int]],
) -> tuple[tuple[int, int, int, int], tuple[int, int], tuple[int, int]]: ...
