"""Grid graphs of 1 to 10 dimensions with blocked vertices: structure, shortest paths, distances."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from . import _swathe
from ._errors import Failure, SolveError, check_on_error, check_unmasked

__all__ = ["Analysis", "Lattice", "Layers", "batch"]

Vertex = Union[int, Sequence[int]]


@dataclass(frozen=True)
class Analysis:
    """The figures of a lattice; blocked vertices do not count."""

    n_vertices: int
    n_edges: int
    connected: bool
    diameter: int | None
    average_degree: float
    clustering_coefficient: float
    density: float


@dataclass(frozen=True)
class Layers:
    """How many vertices lie at each distance from one."""

    counts: list[int]
    n_unreachable: int
    distances: NDArray[np.uint32] | None

    @property
    def eccentricity(self) -> int:
        """The distance of the farthest vertex that can be reached."""
        return len(self.counts) - 1


class Lattice:
    """A lattice with ``sizes`` vertices along each axis, some of them blocked.

    Vertices are ids (row-major numbers) or coordinates.

    >>> lattice = Lattice((10, 10), blocked=[(0, 1), (1, 1)])
    >>> len(lattice.path((0, 0), (0, 2)))
    7
    """

    def __init__(self, sizes: Sequence[int], blocked: Iterable[Vertex] = ()) -> None:
        sizes = [int(size) for size in sizes]
        blocked = list(blocked)
        check_unmasked("blocked", blocked, "leave them out: arr.compressed()")
        plain = _swathe.lattice.RawLattice(sizes, [])
        ids = [_vertex(plain, vertex) for vertex in blocked]
        self._raw = _swathe.lattice.RawLattice(sizes, ids) if ids else plain

    @property
    def sizes(self) -> tuple[int, ...]:
        """Vertices along each axis."""
        return tuple(self._raw.sizes)

    @property
    def n_vertices(self) -> int:
        """All vertices, blocked ones too."""
        return self._raw.n_vertices

    def vertex(self, coordinates: Sequence[int]) -> int:
        """The id of the vertex at these coordinates."""
        return self._raw.vertex_at(list(coordinates))

    def coordinates(self, vertex: int) -> tuple[int, ...]:
        """The coordinates of a vertex."""
        return tuple(self._raw.coordinates_of(vertex))

    def analyze(self) -> Analysis:
        """Counts, connectedness and diameter."""
        return batch([self]).analyze()[0]

    def path(self, a: Vertex, b: Vertex) -> list[int] | None:
        """The ids along a shortest path, both ends included; ``None`` if there is no path."""
        return batch([self]).path([(a, b)])[0]

    def layers(self, a: Vertex, *, distances: bool = False) -> Layers:
        """How many vertices lie at each distance from ``a``, and the distance of each on request."""
        (layers,) = batch([self]).layers([a], distances=distances)
        assert layers is not None, "a question that fails raises"
        return layers

    def __repr__(self) -> str:
        sizes = "x".join(str(size) for size in self.sizes)
        return f"Lattice({sizes}, {self._raw.n_blocked} blocked)"


class batch:
    """Questions to many lattices at once, on all cores.

    >>> maze = Lattice((3, 3), blocked=[4])
    >>> batch([maze, Lattice((2, 2))]).path([(0, 8), (0, 3)])
    [[0, 1, 2, 5, 8], [0, 2, 3]]
    """

    def __init__(self, lattices: Iterable[Lattice], *, threads: int = 0) -> None:
        self._lattices = list(lattices)
        self._threads = threads

    def analyze(self) -> list[Analysis]:
        """The figures of every lattice."""
        answers = self._ask("analyze", [(0, 0)] * len(self._lattices))
        return [Analysis(**answer) for answer in answers if answer is not None]

    def path(
        self, ends: Iterable[tuple[Vertex, Vertex]], *, on_error: str = "raise"
    ) -> list[list[int] | None]:
        """A shortest path in every lattice, between the ends of the same place."""
        ids = [
            (_vertex(lattice._raw, a), _vertex(lattice._raw, b))
            for lattice, (a, b) in self._paired(ends)
        ]
        answers = self._ask("path", ids, on_error)
        return [None if answer is None else answer["path"] for answer in answers]

    def layers(
        self, centres: Iterable[Vertex], *, distances: bool = False, on_error: str = "raise"
    ) -> list[Layers | None]:
        """The layers around a vertex of every lattice; ``None`` where that failed."""
        ids = [(_vertex(lattice._raw, a), 0) for lattice, a in self._paired(centres)]
        op = "distances" if distances else "layers"
        layers: list[Layers | None] = []
        for answer in self._ask(op, ids, on_error):
            if answer is None:
                layers.append(None)
                continue
            if answer["distances"] is not None:
                answer["distances"] = np.array(answer["distances"], dtype=np.uint32)
            layers.append(Layers(**answer))
        return layers

    def _paired(self, asked: Iterable[Any]) -> list[tuple[Lattice, Any]]:
        asked = list(asked)
        if len(asked) != len(self._lattices):
            raise ValueError(
                f"there are {len(self._lattices)} lattices and {len(asked)} questions"
            )
        return list(zip(self._lattices, asked))

    def _ask(
        self, op: str, ends: list[tuple[int, int]], on_error: str = "raise"
    ) -> list[dict[str, Any] | None]:
        check_on_error(on_error)
        raw = [lattice._raw for lattice in self._lattices]
        answers = _swathe.lattice.answers(op, raw, ends, self._threads)
        failures = [
            Failure(index, "failed", message)
            for index, (_, message) in enumerate(answers)
            if message is not None
        ]
        if failures and on_error == "raise":
            raise SolveError("question", failures)
        return [answer for answer, _ in answers]


def _vertex(raw: _swathe.lattice.RawLattice, vertex: Vertex) -> int:
    if isinstance(vertex, (int, np.integer)):
        return int(vertex)
    return raw.vertex_at([int(coordinate) for coordinate in vertex])
