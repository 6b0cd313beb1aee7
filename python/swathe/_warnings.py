"""Warnings of a call, at the line that called the package."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def warn(texts: Iterable[str]) -> None:
    """Issue each text as a ``UserWarning``, named for the first caller outside of the package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame, level = frame.f_back, level + 1
    for text in texts:
        warnings.warn(text, UserWarning, stacklevel=level)
