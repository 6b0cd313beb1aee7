"""Lists of arrays and of lattices, in one call each.

    python arrays_and_lattices.py
"""

import numpy as np
import swathe


def arrays():
    data = [np.array([i, i + 1, i + 2]) for i in range(10)]
    hidden = swathe.array.xor(data, seed=42)
    restored = swathe.array.xor(hidden, seed=42)
    assert all(np.array_equal(a, b) for a, b in zip(data, restored))

    rng = np.random.default_rng(0)
    a = [rng.standard_normal((128, 128)) for _ in range(10)]
    b = [rng.standard_normal((128, 128)) for _ in range(10)]
    products = swathe.array.matmul(a, b)
    assert np.allclose(products[3], a[3] @ b[3])

    squares = swathe.array.map("square", [rng.standard_normal(1000) for _ in range(10)])
    print(f"{len(restored)} restored, {len(products)} products, {len(squares)} squares")


def lattices():
    grid = swathe.Lattice((10, 10, 10, 10))
    print(grid.analyze())
    batch = swathe.lattice.batch([grid] * 3)
    for target, answer in zip((100, 200, 300), batch.path([(0, 100), (0, 200), (0, 300)])):
        print(f"from 0 to {target}: {answer}")


def own_operations():
    """Any function of a lattice, in parallel, with its time."""
    grids = [swathe.Lattice((n, n)) for n in range(2, 12)]
    result = swathe.run(
        grids,
        lambda grid: grid.analyze(),
        batched=False,
        memory_margin=0.2,
        batch_size_min=2,
        batch_size_max=32,
    )
    for value, took_ms in list(zip(result.values, result.times_ms))[:3]:
        print(f"{value} in {took_ms:.3f} ms")
    result.print_stats()


if __name__ == "__main__":
    arrays()
    lattices()
    own_operations()
