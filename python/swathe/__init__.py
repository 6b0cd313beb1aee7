"""swathe: thousands of small problems of different shapes in one sweep.

>>> import numpy as np, swathe
>>> swathe.array.matmul([np.eye(2), np.ones((1, 3))], [np.ones((2, 2)), np.ones((3, 1))])[1]
array([[3.]])
"""

from __future__ import annotations

from . import arc, array, lattice, ot, own, ray
from ._errors import SolveError
from ._swathe import __version__, devices
from .lattice import Lattice
from .own import Batch, run, stream, submit
from .runs import open_run

__all__ = [
    "Batch",
    "Lattice",
    "SolveError",
    "__version__",
    "arc",
    "array",
    "devices",
    "lattice",
    "open_run",
    "ot",
    "own",
    "ray",
    "run",
    "stream",
    "submit",
]
