"""Which axes of a function's results are padding: found by solving an item twice.

The first batch of a call is believed only after one of its items was solved again, at another lane
and with another padding. Axes of the result that changed with the padding are padding; whatever else
changed depends on more than the item.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = [
    "Differs",
    "Probe",
    "alike_axes",
    "alike_text",
    "cut",
    "cut_alike",
    "layout_of",
    "of_whole_batch",
    "on_host",
]

Layout = Any
"""For an array the item's axis by which each of its axes is cut, or ``None``; for a container the
layouts of its parts; ``None`` for what has no axes."""


class Probe:
    """What the batches of a call, or of several calls of one function, know of its results."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.layouts: dict[tuple[int, ...], Layout] = {}
        """By the axes of the items, as :func:`alike_axes` tells them."""
        self.wrong: str | None = None
        """Why no result of the function can be believed."""
        self.first = 0
        """The number of the first item of the call."""

    def refuse(self) -> None:
        """Raise if no result of the function can be believed."""
        if self.wrong is not None:
            raise of_whole_batch(ValueError(self.wrong))


def of_whole_batch(error: Exception) -> Exception:
    """No item of the batch is to blame, so that halving would only hide it."""
    error._swathe_whole_batch = True  # type: ignore[attr-defined]
    return error


class Differs(Exception):
    """Two results of one item are not the same."""


def alike_axes(shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """For each axis the first one that has the same extents in all of these shapes. Buckets need
    not tell such axes apart."""
    columns = list(zip(*shapes))
    return tuple(columns.index(column) for column in columns)


def layout_of(
    first: Any, second: Any, padded: Sequence[int], again: Sequence[int], place: str = "result"
) -> Layout:
    """The axes of a result that are padding, from two results of one item: with its axes padded to
    ``padded``, and to ``again``."""
    if type(first) is not type(second):
        raise Differs(f"the {place} is a {type(first).__name__} and a {type(second).__name__}")
    if _is_array(first):
        if first.dtype != second.dtype or len(first.shape) != len(second.shape):
            raise Differs(f"the {place} is {_described(first)} and {_described(second)}")
        extents = list(zip(padded, again))
        axes: list[int | None] = []
        for axis, pair in enumerate(zip(first.shape, second.shape)):
            if pair[0] == pair[1]:
                axes.append(None)
            elif pair in extents:
                axes.append(extents.index(pair))
            else:
                raise Differs(
                    f"axis {axis} of the {place} is {pair[0]} long and {pair[1]} long: it grows with "
                    "the padding and is none of the padded axes, so that no rule says how to cut it"
                )
        return tuple(axes)
    if isinstance(first, dict):
        if list(first) != list(second):
            raise Differs(f"the {place} has the keys {list(first)} and {list(second)}")
        return {
            key: layout_of(first[key], second[key], padded, again, f"{place}[{key!r}]")
            for key in first
        }
    if isinstance(first, (list, tuple)):
        if len(first) != len(second):
            raise Differs(
                f"the {place} has {len(first)} and {len(second)} parts; only arrays are cut"
            )
        parts = enumerate(zip(first, second))
        return [layout_of(a, b, padded, again, f"{place}[{n}]") for n, (a, b) in parts]
    if _has_fields(first):
        layout = layout_of(vars(first), vars(second), padded, again, place)
        if _cuts(layout):
            name = type(first).__name__
            raise Differs(f"the {place} is a {name} with padding in it; return arrays")
    return None


def cut(result: Any, layout: Layout, padded: Sequence[int], shape: Sequence[int]) -> Any:
    """A result without the padding of its axes."""
    if not _cuts(layout):
        return result
    if isinstance(layout, dict):
        return {key: cut(result[key], inner, padded, shape) for key, inner in layout.items()}
    if isinstance(layout, list):
        if not isinstance(result, (list, tuple)) or len(result) != len(layout):
            raise ValueError(f"its result is {_shown(result)}; that of the first batch had other parts")
        parts = [cut(part, inner, padded, shape) for part, inner in zip(result, layout)]
        if hasattr(result, "_make"):
            return result._make(parts)
        return type(result)(parts)
    expected = [None if axis is None else padded[axis] for axis in layout]
    found = tuple(getattr(result, "shape", ()))
    if len(found) != len(layout) or any(b not in (None, a) for a, b in zip(found, expected)):
        raise ValueError(
            f"its result has the shape {found}; by that of the first batch it is "
            f"({', '.join('any' if n is None else str(n) for n in expected)})"
        )
    if list(padded) == list(shape):
        return result
    return result[tuple(slice(None if axis is None else shape[axis]) for axis in layout)]


def cut_alike(result: Any, padded: Sequence[int], shape: Sequence[int]) -> Any:
    """A result of exactly the padded shape, cut to the item's: the rule without a check."""
    if getattr(result, "shape", None) == tuple(padded) and list(padded) != list(shape):
        return result[tuple(slice(0, extent) for extent in shape)]
    return result


def alike_text(first: Any, second: Any, place: str = "result") -> str | None:
    """How two results without padding differ by more than rounding; ``None`` if they do not."""
    if _is_array(first):
        return _arrays_text(on_host(first), on_host(second), place)
    if isinstance(first, dict):
        texts = (alike_text(first[key], second[key], f"{place}[{key!r}]") for key in first)
        return next((text for text in texts if text is not None), None)
    if isinstance(first, (list, tuple)):
        pairs = enumerate(zip(first, second))
        texts = (alike_text(a, b, f"{place}[{n}]") for n, (a, b) in pairs)
        return next((text for text in texts if text is not None), None)
    if isinstance(first, (float, complex)):
        return _arrays_text(np.asarray(first), np.asarray(second), place)
    if _has_fields(first):
        return alike_text(vars(first), vars(second), place)
    if type(first).__eq__ is object.__eq__ or first is second:
        return None
    return None if first == second else f"the {place} is {_shown(first)} and {_shown(second)}"


def _arrays_text(first: Any, second: Any, place: str) -> str | None:
    if first.shape != second.shape:
        return f"the {place} is {_described(first)} and {_described(second)}"
    if first.dtype == object:
        return alike_text(first.ravel().tolist(), second.ravel().tolist(), place)
    if first.dtype.kind in "fc":
        # Half of the digits: the order of sums may change with the padding.
        tolerance = float(np.finfo(first.dtype).eps) ** 0.5
        sizes = np.abs(first[np.isfinite(first)])
        scale = float(sizes.max()) if sizes.size else 0.0
        with np.errstate(invalid="ignore", over="ignore"):
            good = np.isclose(first, second, tolerance, tolerance * scale, equal_nan=True)
    elif first.dtype.kind in "mM":
        good = (first == second) | (np.isnat(first) & np.isnat(second))
    else:
        good = first == second
    if np.all(good):
        return None
    if first.ndim == 0:
        return f"the {place} is {first[()]} and {second[()]}"
    at = tuple(int(n) for n in np.argwhere(~np.asarray(good))[0])
    return (
        f"the {place} is {_shown(first)} and {_shown(second)}; they differ first at "
        f"{list(at)}: {first[at]} and {second[at]}"
    )


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _has_fields(value: Any) -> bool:
    return hasattr(value, "__dict__") and not isinstance(value, type) and not callable(value)


def _cuts(layout: Layout) -> bool:
    if isinstance(layout, dict):
        return any(_cuts(inner) for inner in layout.values())
    if isinstance(layout, list):
        return any(_cuts(inner) for inner in layout)
    return layout is not None and any(axis is not None for axis in layout)


def on_host(array: Any) -> Any:
    """An array of torch, CuPy, JAX or NumPy as one of NumPy, in a type that NumPy can compare."""
    if hasattr(array, "detach"):
        array = array.detach().cpu()
        array = array.float() if "bfloat16" in str(array.dtype) else array
    elif hasattr(array, "get") and hasattr(array, "device"):
        array = array.get()
    array = np.asarray(array)
    return array.astype(np.float32) if "bfloat16" in str(array.dtype) else array


def _described(array: Any) -> str:
    return f"an array of {array.dtype} of the shape {tuple(array.shape)}"


def _shown(value: Any) -> str:
    """A result in at most a line."""
    if _is_array(value):
        with np.printoptions(threshold=8, edgeitems=2, precision=6):
            return " ".join(str(on_host(value)).split())
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
