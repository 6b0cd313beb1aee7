"""The command ``swathe``, as the wheel installs it."""

from __future__ import annotations

import sys

from . import _swathe


def main() -> int:
    """Run the command with the arguments of this process and return its exit status."""
    return _swathe.command(["swathe", *sys.argv[1:]])
