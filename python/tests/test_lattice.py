"""Lattices: a plain search is the oracle."""

import random
import signal
import textwrap
import time
from collections import deque

import numpy as np
import pytest
import swathe
from conftest import process_of


def distance(sizes, blocked, a, b):
    """The distance by a breadth-first search, or None."""
    width = sizes[1]
    seen, queue = {a: 0}, deque([a])
    while queue:
        vertex = queue.popleft()
        y, x = divmod(vertex, width)
        for dy, dx in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            if 0 <= y + dy < sizes[0] and 0 <= x + dx < width:
                other = (y + dy) * width + x + dx
                if other not in seen and other not in blocked:
                    seen[other] = seen[vertex] + 1
                    queue.append(other)
    return seen.get(b), seen


def test_paths_are_as_short_as_a_search_finds_them():
    chance = random.Random(3)
    lattices, ends, expected = [], [], []
    for _ in range(60):
        sizes = (chance.randint(2, 9), chance.randint(2, 9))
        n = sizes[0] * sizes[1]
        a, b = chance.randrange(n), chance.randrange(n)
        blocked = {v for v in chance.sample(range(n), n // 4) if v not in (a, b)}
        lattices.append(swathe.Lattice(sizes, blocked))
        ends.append((a, b))
        expected.append(distance(sizes, blocked, a, b))
    for path, (length, _), (a, b) in zip(swathe.lattice.batch(lattices).path(ends), expected, ends):
        if length is None:
            assert path is None
        else:
            assert len(path) == length + 1 and path[0] == a and path[-1] == b
    layers = swathe.lattice.batch(lattices).layers([a for a, _ in ends], distances=True)
    for found, (_, seen) in zip(layers, expected):
        assert found.eccentricity == max(seen.values())
        assert sum(found.counts) == len(seen)
        assert all(found.distances[v] == d for v, d in seen.items())


def test_one_lattice():
    lattice = swathe.Lattice((3, 3), blocked=[(1, 1)])
    analysis = lattice.analyze()
    assert (analysis.n_vertices, analysis.n_edges, analysis.connected) == (8, 8, True)
    assert lattice.path((0, 0), (2, 2)) in ([0, 1, 2, 5, 8], [0, 3, 6, 7, 8])
    assert lattice.layers(0).counts == [1, 2, 2, 2, 1]
    assert lattice.vertex((2, 1)) == 7 and lattice.coordinates(7) == (2, 1)
    assert swathe.Lattice([100] * 10).analyze().n_edges == 990 * 10**18


def test_errors():
    with pytest.raises(ValueError, match="axis"):
        swathe.Lattice((3, 1))
    with pytest.raises(ValueError):
        swathe.Lattice((3, 3), blocked=[(3, 0)])
    lattice = swathe.Lattice((3, 3), blocked=[4])
    with pytest.raises(swathe.SolveError, match="question 1"):
        swathe.lattice.batch([lattice] * 2).path([(0, 8), (0, 4)])
    with pytest.raises(ValueError, match="2 lattices and 1 questions"):
        swathe.lattice.batch([lattice] * 2).path([(0, 8)])


def test_ctrl_c_ends_a_batch():
    """All these searches together would take minutes."""
    code = textwrap.dedent(
        """
        import swathe
        maze = swathe.Lattice((2000, 2000), blocked=[(5, 5)])
        print("ready", flush=True)
        try:
            swathe.lattice.batch([maze] * 5000).layers([(0, 0)] * 5000)
        except KeyboardInterrupt:
            print("interrupted")
        """
    )
    with process_of(code) as process:
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        assert out == "interrupted\n"


def test_masked_vertices_are_refused():
    for blocked in (np.ma.array([3, 4], mask=[0, 1]), np.ma.array([[3, 4]], mask=[[0, 1]])):
        with pytest.raises(TypeError, match="blocked: some of its elements are masked"):
            swathe.Lattice((5, 5), blocked)
