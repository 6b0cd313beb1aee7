"""XOR, matrix products and element-wise maps over many arrays of different shapes.

Lists in, lists out; results are the same bits whatever the machine, the threads and the order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _swathe
from ._errors import Failure, SolveError, check_on_error

__all__ = ["map", "matmul", "xor"]


def matmul(
    a: Iterable[ArrayLike], b: Iterable[ArrayLike], *, on_error: str = "raise"
) -> list[NDArray[Any]]:
    """The product of every pair of arrays, by the rules of ``numpy.matmul``.

    ``b`` may be a list of one array, which then serves for all of ``a``. With
    ``on_error="return"`` a pair that does not fit together gives ``None``.

    >>> import numpy as np
    >>> [product.shape for product in matmul([np.ones((2, 3)), np.ones(4)], [np.ones((3, 5)), np.ones(4)])]
    [(2, 5), ()]
    """
    return _results("pair", _swathe.array.products(_many(a), _many(b)), on_error)


def xor(
    items: Iterable[ArrayLike],
    *,
    key: Sequence[int] | None = None,
    seed: int | None = None,
    on_error: str = "raise",
) -> list[NDArray[Any]]:
    """Every array of integers XORed with a key that repeats, or with the stream of a seed.

    The same call restores the arrays bit for bit.

    >>> import numpy as np
    >>> data = [np.arange(5), np.array([[1, 2]], dtype=np.uint8)]
    >>> [back.tolist() for back in xor(xor(data, seed=42), seed=42)]
    [[0, 1, 2, 3, 4], [[1, 2]]]
    """
    if (key is None) == (seed is None):
        raise ValueError("give either key or seed")
    numbers = None if key is None else [int(number) for number in key]
    return _results("item", _swathe.array.hidden(_many(items), numbers, seed), on_error)


def map(
    name: str,
    items: Iterable[ArrayLike],
    operand: float | Iterable[ArrayLike] | None = None,
    *,
    on_error: str = "raise",
) -> list[NDArray[Any]]:
    """Every element of float arrays, mapped by ``add``, ``multiply`` (with an operand: a number, or
    a list of arrays), ``square``, ``sqrt``, ``exp``, ``log``, ``abs`` or ``negate``.

    >>> import numpy as np
    >>> map("square", [np.array([1.0, 2.0]), np.array([[3.0]])])[1]
    array([[9.]])
    """
    number, arrays = None, None
    if operand is not None:
        if np.isscalar(operand):
            number = float(operand)  # type: ignore[arg-type]
        else:
            arrays = _many(operand)  # type: ignore[arg-type]
    return _results("item", _swathe.array.mapped(name, _many(items), number, arrays), on_error)


def _many(items: Iterable[ArrayLike]) -> Iterable[ArrayLike]:
    if isinstance(items, np.ndarray) and items.ndim == 0:
        raise TypeError("a list of arrays is expected, not one number")
    return items


def _results(
    what: str,
    answer: tuple[list[NDArray[Any] | None], list[tuple[int, str]]],
    on_error: str,
) -> list[NDArray[Any]]:
    check_on_error(on_error)
    arrays, failed = answer
    if failed and on_error == "raise":
        raise SolveError(what, [Failure(index, "failed", text) for index, text in failed])
    return arrays  # type: ignore[return-value]
