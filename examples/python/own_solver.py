"""A solver of your own over many shapes: padded, batched, and resumed after a crash.

    python own_solver.py [OUT]

The solver is the heat equation: 50 steps of diffusion on each grid. With JAX it is compiled, at most
once for every bucket and batch size; without JAX it is NumPy.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import swathe

try:
    import jax
    import jax.numpy as xp
except ImportError:
    jax, xp = None, np

N_STEPS = 50


def step(heat, mask):
    """One step; nothing flows through the border of an item, which the mask shows."""
    flow = xp.zeros_like(heat)
    for axis in (1, 2):
        for shift in (1, -1):
            neighbour, inside = xp.roll(heat, shift, axis), xp.roll(mask, shift, axis)
            edge = [slice(None)] * 3
            edge[axis] = slice(0, 1) if shift == 1 else slice(-1, None)
            open_border = np.ones(heat.shape, dtype=bool)
            open_border[tuple(edge)] = False
            flow = flow + xp.where(inside & mask & open_border, neighbour - heat, 0)
    return heat + 0.1 * flow


def diffuse(heat, mask):
    for _ in range(N_STEPS):
        heat = step(heat, mask)
    return heat


if jax is not None:
    # A loop that is unrolled would take minutes to compile.
    diffuse = jax.jit(
        lambda heat, mask: jax.lax.fori_loop(0, N_STEPS, lambda _, heat: step(heat, mask), heat)
    )


def solve(batch):
    return np.asarray(diffuse(batch.arrays, batch.mask))


def main(out=None):
    out = out or Path(tempfile.mkdtemp(prefix="own-", dir=".")) / "RUN"
    rng = np.random.default_rng(7)
    grids = [rng.random((int(h), int(w)), dtype=np.float32) for h, w in rng.integers(8, 64, (300, 2))]

    result = swathe.run(grids, solve)
    result.print_stats()
    print(f"at most {result.report['n_compiled_max']} shapes were compiled")
    for grid, value in zip(grids, result.values):
        assert value.shape == grid.shape
        np.testing.assert_allclose(value.sum(), grid.sum(), rtol=1e-4)

    run = swathe.run(grids, solve, out=out)
    again = swathe.run(grids, solve, out=out, resume=True)  # finds everything done
    assert all(np.array_equal(a, b) for a, b in zip(run.values, again.values))
    print(run.path)


if __name__ == "__main__":
    main(*sys.argv[1:])
