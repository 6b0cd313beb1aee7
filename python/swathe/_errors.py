"""What a call raises when problems of a batch fail."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Failure:
    """A problem without an answer: its number in the input, the kind of failure and the message."""

    index: int
    kind: str
    message: str


class SolveError(ValueError):
    """Some problems of a batch have no answer. ``failures`` names all of them."""

    def __init__(self, what: str, failures: list[Failure]) -> None:
        self.failures = failures
        first = failures[0]
        more = f" ({len(failures) - 1} more failed)" if len(failures) > 1 else ""
        super().__init__(f"{what} {first.index}: {first.message}{more}")


def check_on_error(on_error: str) -> None:
    """Raise unless ``on_error`` is one of the two words."""
    if on_error not in ("raise", "return"):
        raise ValueError(f"on_error is {on_error!r}; it is 'raise' or 'return'")


def check_unmasked(what: str, value: Any, hint: str = "fill them with arr.filled(0)") -> None:
    """Raise if elements of a masked array, or of one in nested lists, are masked: NumPy's functions
    for arrays ignore the mask."""
    if _is_masked(value):
        raise TypeError(
            f"{what}: some of its elements are masked, and masks of numpy.ma are not read; {hint}"
        )


def _is_masked(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_is_masked, value))
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))


def check_arguments(
    call: str, of: Callable[..., Any], names: Iterable[str], without: Sequence[str] = ()
) -> None:
    """Raise where a call passes a keyword argument on to a function that has none of this name."""
    parameters = inspect.signature(of).parameters.values()
    named = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]
    known = [name for name in named if not name.startswith("_") and name not in without]
    check_names(names, known, f"{call}() has")


def check_names(names: Iterable[str], known: Sequence[str], start: str = "there is") -> None:
    """Raise for the first name that is no keyword argument."""
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
            raise TypeError(f"{start} no argument {name!r}; {hint}")
