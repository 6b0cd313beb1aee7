"""Progress of a long call: tqdm where it is installed, or a function of the caller's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def progress_callback(
    progress: bool | Callable[[int, int], object], what: str
) -> tuple[Callable[[int, int], object] | None, Callable[[], None]]:
    """A function of (done, all), and one that ends the display."""
    if progress is False or progress is None:
        return None, lambda: None
    if callable(progress):
        return progress, lambda: None
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError("progress=True needs tqdm; or pass a function of (done, all)") from error
    bar: Any = None

    def show(done: int, n_all: int) -> None:
        nonlocal bar
        if bar is None:
            bar = tqdm(total=n_all, desc=what)
        bar.update(done - bar.n)

    def close() -> None:
        if bar is not None:
            bar.close()

    return show, close
