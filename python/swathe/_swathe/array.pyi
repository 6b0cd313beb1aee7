from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike, NDArray

_Results = tuple[list[NDArray[Any] | None], list[tuple[int, str]]]

def products(first: Iterable[ArrayLike], second: Iterable[ArrayLike]) -> _Results: ...
def hidden(items: Iterable[ArrayLike], key: list[int] | None, seed: int | None) -> _Results: ...
def mapped(
    name: str,
    items: Iterable[ArrayLike],
    operand: float | None,
    second: Iterable[ArrayLike] | None,
) -> _Results: ...
