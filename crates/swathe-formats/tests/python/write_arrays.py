"""Writes arrays in every form that NumPy has for them, for the reader to be compared with.

Element i of each array, counted row-major, is (i * 37 + 11) % 127.
"""

import pathlib
import sys

import numpy as np

folder = pathlib.Path(sys.argv[1])
members = {}
for shape_text in sys.argv[2:]:
    shape = tuple(int(n) for n in shape_text.split("x") if n)
    count = int(np.prod(shape, dtype=int))
    values = (np.arange(count) * 37 + 11) % 127
    for dtype in ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f4", "f8"]:
        plain = values.reshape(shape).astype("<" + dtype)
        name = f"{dtype}_{shape_text}"
        np.save(folder / f"{name}.npy", plain)
        np.save(folder / f"{name}.fortran.npy", np.array(plain, order="F"))
        np.save(folder / f"{name}.big.npy", plain.astype(">" + dtype))
        for version in [(2, 0), (3, 0)]:
            with open(folder / f"{name}.v{version[0]}.npy", "wb") as file:
                np.lib.format.write_array(file, plain, version=version)
        members[name] = plain
        members[f"{name}.fortran"] = np.array(plain, order="F")
np.savez(folder / "stored.npz", **members)
np.savez_compressed(folder / "deflated.npz", **members)
