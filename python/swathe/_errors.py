"""What a call raises when problems of a batch fail."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


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


def check_names(given: Iterable[str], known: Sequence[str]) -> None:
    """Raise for the first keyword argument that does not exist."""
    for name in given:
        if name not in known:
            nearest = difflib.get_close_matches(name, known, 1)
            hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
            raise TypeError(f"there is no argument {name!r}; there are {', '.join(known)}.{hint}")
