"""The compiled module. The package wraps its functions; call those of the package."""

from collections.abc import Callable
from typing import Any

from . import arc as arc
from . import array as array
from . import lattice as lattice
from . import ot as ot

__version__: str

def command(words: list[str]) -> int: ...
def quiet_command(words: list[str]) -> tuple[int, str]: ...
def stay_warm() -> None: ...
def devices() -> list[dict[str, Any]]: ...
def engine_names() -> list[str]: ...

class StopHandle:
    def cancel(self) -> None: ...

def n_axes_max() -> int: ...
def batch_bytes_max(engine: dict[str, Any]) -> int: ...
def shape_buckets(
    shapes: list[list[int]], classes: list[int], n: int
) -> list[list[int]]: ...
def run_callable(
    solve: Callable[[list[int]], list[Any]],
    shapes: list[list[int]],
    classes: list[int],
    bytes: list[int],
    is_batched: bool,
    engine: dict[str, Any],
    progress: Callable[[int, int], object] | None,
    stop: StopHandle,
    deliver: Callable[[int, Any, tuple[str, str] | None], object] | None = None,
) -> tuple[list[Any], list[tuple[int, str, str]], list[float], str]: ...
def run_callable_into(
    solve: Callable[[list[int]], list[Any]],
    shapes: list[list[int]],
    classes: list[int],
    bytes: list[int],
    is_batched: bool,
    engine: dict[str, Any],
    progress: Callable[[int, int], object] | None,
    stop: StopHandle,
    *,
    out: str,
    resume: bool,
    recorded: dict[str, str],
    items: Fingerprint,
    ids: list[str] | None,
    shard: tuple[int, int, int] | None,
    gives_up: str | None,
) -> None: ...

class Fingerprint:
    @staticmethod
    def known(n_bytes: int, blake3: str) -> Fingerprint: ...
    def digest(self) -> tuple[int, str]: ...
    def update(self, bytes: bytes) -> None: ...
