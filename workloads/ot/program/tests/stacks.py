"""Writes stacks as tifffile and NumPy users do.

Usage: stacks.py FOLDER. Prints a line for each case: name, channel, z-slice and time axis (or -),
then either = for the frames in NAME.CASE.npy (time, height, width) or a part of the error.
"""

import sys
from pathlib import Path

import numpy as np
import tifffile

FOLDER = Path(sys.argv[1])
RNG = np.random.default_rng(11)
N_CASES = 0


def case(name, frames=None, error=None, channel=None, z=None, time=None):
    global N_CASES
    if frames is not None:
        np.save(FOLDER / f"{name}.{N_CASES}.npy", np.asarray(frames, dtype=np.float64))
    texts = ["-" if value is None else str(value) for value in (channel, z, time)]
    print(name, *texts, "=" if error is None else error, N_CASES, sep="\t")
    N_CASES += 1


def stack(*shape):
    return RNG.integers(0, 60000, (*shape, 21, 34)).astype("u2")


def write(name, data, axes=None, **how):
    metadata = how.pop("metadata", {})
    if axes:
        metadata = {**metadata, "axes": axes}
    tifffile.imwrite(FOLDER / name, data, photometric="minisblack", metadata=metadata, **how)


for kind in ["imagej", "ome"]:
    for compression in [None, "zlib"]:
        name = f"{kind}-{compression}"
        how = {kind: True, "compression": compression}
        data = stack(4, 3, 2)
        write(f"{name}-tzc.tif", data, "TZCYX", **how)
        case(f"{name}-tzc.tif", data[:, 2, 1], channel=1, z=2)
        case(f"{name}-tzc.tif", error="4 time steps (T), 3 slices (Z), 2 channels (C)")
        case(f"{name}-tzc.tif", error="--channel 0 to 1", z=0)
        case(f"{name}-tzc.tif", error="--z-slice 0 to 2", channel=0)
        case(f"{name}-tzc.tif", error="no number 2 along 2 channels", channel=2, z=0)
        data = stack(5)
        write(f"{name}-t.tif", data, "TYX", **how)
        case(f"{name}-t.tif", data)
        write(f"{name}-z.tif", data, "ZYX", **how)
        case(f"{name}-z.tif", error="5 slices (Z)")
        case(f"{name}-z.tif", data, time="Z")
        data = stack(5, 2)
        write(f"{name}-tc.tif", data, "TCYX", **how)
        case(f"{name}-tc.tif", data[:, 0], channel=0)
        case(f"{name}-tc.tif", error="2 channels (C)")
data = stack(2, 5)
write("ome-ct.tif", data, "CTYX", ome=True)
case("ome-ct.tif", data[1], channel=1)

# tifffile's own shape.
data = stack(6)
write("shape.tif", data)
case("shape.tif", data)
data = stack(6, 2)
write("shape-tc.tif", data, "TCYX")
case("shape-tc.tif", data[:, 1], channel=1)
write("shape-two.tif", data)
case("shape-two.tif", error="which axis is time")
case("shape-two.tif", data[:, 1], channel=1, time=0)
case("shape-two.tif", data[3], channel=3, time=1)
case("shape-two.tif", error="no axis 2", channel=1, time=2)
data = RNG.integers(0, 255, (4, 21, 34, 3)).astype("u1")
tifffile.imwrite(FOLDER / "rgb.tif", data, photometric="rgb")
case("rgb.tif", data[..., 2], channel=2)

# Only the first page described.
data = stack(7)
write("truncated.tif", data, truncate=True)
case("truncated.tif", data)

# Pages without any metadata, one by one, and two arrays in a file.
tifffile.imwrite(FOLDER / "bare.tif", data, photometric="minisblack", metadata=None)
case("bare.tif", data)
with tifffile.TiffWriter(FOLDER / "one-by-one.tif") as file:
    for frame in data:
        file.write(frame, contiguous=False)
case("one-by-one.tif", data)
with tifffile.TiffWriter(FOLDER / "two-arrays.tif") as file:
    file.write(stack(3), photometric="minisblack")
    file.write(stack(2), photometric="minisblack")
case("two-arrays.tif", error="3 images; the file has 5 pages")

# Files that end early.
for name in ["imagej-None-t.tif", "ome-zlib-t.tif", "shape.tif", "bare.tif", "truncated.tif"]:
    whole = (FOLDER / name).read_bytes()
    (FOLDER / f"cut-{name}").write_bytes(whole[: len(whole) * 2 // 3])
    case(f"cut-{name}", error="cut off")

# Arrays.
data = stack(5)
np.save(FOLDER / "stack.npy", data)
case("stack.npy", data)
np.save(FOLDER / "fortran.npy", np.asfortranarray(data))
case("fortran.npy", data)
data = stack(5, 3)
np.save(FOLDER / "four.npy", data)
case("four.npy", error="which axis is time")
case("four.npy", data[:, 1], channel=1, time=0)
np.savez(FOLDER / "stack.npz", frames=data[:, 0])
case("stack.npz", data[:, 0])
np.savez_compressed(FOLDER / "packed.npz", frames=data[:, 1])
case("packed.npz", data[:, 1])
np.savez(FOLDER / "many.npz", **{f"t{t}": data[t % 5, 0] for t in range(11)})
case("many.npz", [data[t % 5, 0] for t in range(11)])
