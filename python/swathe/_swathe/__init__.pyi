"""The compiled module. The package wraps its functions; call those of the package."""

from collections.abc import Callable
from typing import Any

from . import arc as arc
from . import array as array
from . import lattice as lattice
from . import ot as ot

__version__: str

def command(words: list[str]) -> int: ...

class StopHandle:
    def cancel(self) -> None: ...

def shape_buckets(shapes: list[list[int]], n: int) -> list[list[int]]: ...
def run_callable(
    solve: Callable[[list[int]], list[Any]],
    shapes: list[list[int]],
    bytes: list[int],
    is_batched: bool,
    engine: dict[str, Any],
    progress: Callable[[int, int], object] | None,
    stop: StopHandle,
) -> tuple[list[Any], list[tuple[int, str, str]], list[float], str]: ...
