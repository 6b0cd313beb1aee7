from collections.abc import Callable, Iterable
from typing import Any

from numpy.typing import NDArray

class RawLibrary:
    names: list[str]
    rejected: list[str]
    n_statements: list[int]
    def __init__(self, file: str, text: str) -> None: ...
    @staticmethod
    def fault_names() -> list[str]: ...
    def call(self, name: str, input: Any, ordered: Callable[..., Any]) -> Any: ...
    def run(
        self,
        tasks: str,
        pairing: str,
        engine: dict[str, Any],
        progress: Callable[[int, int], object] | None,
    ) -> tuple[
        list[tuple[str, int, int]],
        tuple[NDArray[Any], ...],
        list[str],
        list[tuple[str, str]],
        str,
    ]: ...

class RawBatt:
    rejected: list[str]
    def __init__(self, file: str, text: str) -> None: ...
    def batch(
        self,
        arguments: list[tuple[Any, Any, Any]],
        n_threads: int,
        ordered: Callable[..., Any],
        function: Callable[[str], Any],
    ) -> tuple[
        list[tuple[list[tuple[int, bool, str, Any]], list[tuple[int, str, str, Any]]] | None],
        list[tuple[int, str, str]],
    ]: ...

def call_primitive(
    name: str, firsts: Iterable[Any], rest: tuple[Any, ...], ordered: Callable[..., Any]
) -> list[Any]: ...
