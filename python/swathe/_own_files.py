"""Files of a run folder, which are read only if they can be what a run wrote."""

from __future__ import annotations

import os
import stat
from pathlib import Path

__all__ = ["read_own"]

N_BYTES_MAX = 1 << 30
"""The longest file of its kind that the command reads, too."""


def read_own(path: Path) -> bytes:
    """The contents of ``run.json`` or another small file of a run. A FIFO would have no end."""
    # Without the flag, opening a FIFO would wait for a writer.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            what = "a FIFO" if stat.S_ISFIFO(found.st_mode) else "no regular file"
            raise ValueError(f"cannot read {path}: it is {what}, and a run writes regular files")
        if found.st_size > N_BYTES_MAX:
            raise ValueError(
                f"cannot read {path}: it has {found.st_size} bytes, more than any file of its kind"
                " that a run writes"
            )
        return file.read()
