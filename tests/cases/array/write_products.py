"""Writes operands of many shapes and what numpy.matmul makes of them, for the products to be compared with.

The elements are small whole numbers, so that every sum is exact in whatever order it is computed.
"""

import pathlib
import sys

import numpy as np

folder = pathlib.Path(sys.argv[1])
random = np.random.default_rng(7)


def extents(n):
    return [int(extent) for extent in random.integers(0, 6, n)]


def shapes():
    """Operands that fit together: vectors, matrices, stacks with axes that are repeated."""
    inner = extents(1)[0]
    stack = extents(int(random.integers(0, 4)))
    left, right = stack.copy(), stack.copy()
    for axis in range(len(stack)):
        which = random.integers(0, 4)
        if which == 0:
            left[axis] = 1
        if which == 1:
            right[axis] = 1
    left, right = left[random.integers(0, len(left) + 1) :], right[random.integers(0, len(right) + 1) :]
    left = [inner] if random.random() < 0.2 else left + extents(1) + [inner]
    right = [inner] if random.random() < 0.2 else right + [inner] + extents(1)
    return left, right


def array(shape):
    dtype = random.choice(["float32", "float64"])
    return random.integers(-9, 10, shape).astype(dtype)


left, right, expected = {}, {}, {}
while len(expected) < 400:
    name = f"item{len(expected)}"
    a, b = (array(shape) for shape in shapes())
    expected[name] = np.asarray(np.matmul(a, b))
    left[name], right[name] = a, b
np.savez(folder / "left.npz", **left)
np.savez(folder / "right.npz", **right)
np.savez(folder / "expected.npz", **expected)
