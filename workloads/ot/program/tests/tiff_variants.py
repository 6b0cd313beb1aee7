"""Writes TIFF files of many kinds, and what tifffile reads of each of their frames.

Usage: tiff_variants.py FOLDER. Prints a line for each frame: name, page, channel, height and width
of a pixel in µm (or -), kind of error expected (or -); the pixels stand in NAME.PAGE.CHANNEL.npy.
"""

import sys
from pathlib import Path

import numpy as np
import tifffile
from PIL import Image

FOLDER = Path(sys.argv[1])
RNG = np.random.default_rng(7)


def told(name, page=None, channel=None, pixels=None, um=None, error=None):
    texts = ["-" if value is None else str(value) for value in (page, channel)]
    if pixels is not None:
        np.save(FOLDER / f"{name}.{texts[0]}.{texts[1]}.npy", np.asarray(pixels, dtype=np.float64))
    size = "-" if um is None else f"{um[0]!r},{um[1]!r}"
    print(name, *texts, size, error or "-", sep="\t")


def frames(name, channels=None):
    """All pages as tifffile reads them, and all channels of each."""
    with tifffile.TiffFile(FOLDER / name) as file:
        for number, page in enumerate(file.pages):
            pixels = page.asarray()
            several = len(file.pages) > 1
            place = number if several else None
            if channels is None:
                told(name, place, None, pixels)
                continue
            for channel in range(pixels.shape[channels]):
                told(name, place, channel, np.take(pixels, channel, axis=channels))
            told(name, place, None, error="not_grey")


def image(dtype, shape=(37, 53)):
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return (RNG.random(shape) * 9).astype(dtype)
    top = min(np.iinfo(dtype).max, 2**50)
    return RNG.integers(0, top, shape, dtype=np.int64).astype(dtype)


def write(name, data, channels=None, **how):
    how.setdefault("photometric", "minisblack")
    tifffile.imwrite(FOLDER / name, data, **how)
    frames(name, channels)


# Types, in both byte orders, in strips and in tiles, classic and big.
for dtype in ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8"]:
    for order, sign in [("little", "<"), ("big", ">")]:
        write(f"{dtype}-{order}.tif", image(dtype), byteorder=sign, rowsperstrip=5)
    write(f"{dtype}-tiles.tif", image(dtype), tile=(16, 32), compression="zlib")
write("bigtiff.tif", image("u2"), bigtiff=True)
write("bigtiff-big.tif", image("f4"), bigtiff=True, byteorder=">", tile=(32, 16))

# Compressions, with and without predictors.
for method in ["zlib", "lzw", "packbits", "zstd"]:
    write(f"{method}.tif", image("u2"), compression=method, rowsperstrip=8)
    write(f"{method}-big.tif", image("u4"), compression=method, byteorder=">")
for method in ["zlib", "lzw", "zstd"]:
    for dtype in ["u1", "u2", "u4", "u8"]:
        write(f"{method}-{dtype}-predictor.tif", image(dtype), compression=method, predictor=2)
    for dtype in ["f2", "f4", "f8"]:
        write(f"{method}-{dtype}-predictor.tif", image(dtype), compression=method, predictor=3)
write("predictor-tiles.tif", image("f4"), compression="zlib", predictor=3, tile=(16, 16))
write("predictor-tiles-big.tif", image("u2"), compression="zlib", predictor=2, tile=(16, 16), byteorder=">")
write("grey-jpeg.tif", image("u1"), compression="jpeg")

# Packed bits.
mask = RNG.random((37, 53)) > 0.6
for method in [None, "zlib", "packbits", "lzw", "zstd"]:
    write(f"bits-{method}.tif", mask, compression=method, rowsperstrip=10)
write("bits-white.tif", mask, photometric="miniswhite")
write("bits-tiles.tif", mask, tile=(16, 32))
for n in [2, 4, 6, 10, 12, 14]:
    data = RNG.integers(0, 2**n, (37, 53)).astype("u1" if n <= 8 else "u2")
    write(f"packed-{n}.tif", data, bitspersample=n)
Image.fromarray(mask).save(FOLDER / "group4.tif", compression="group4")
frames("group4.tif")
Image.fromarray(mask).save(FOLDER / "pillow-bits.tif")
frames("pillow-bits.tif")

# Meanings of the values: they are not changed.
write("white-u1.tif", image("u1"), photometric="miniswhite")
write("white-u2.tif", image("u2"), photometric="miniswhite", compression="lzw")
write("palette.tif", image("u1"), photometric="palette", colormap=RNG.integers(0, 2**16, (3, 256)).astype("u2"))
Image.fromarray(image("u1")).convert("P").save(FOLDER / "pillow-palette.tif")
frames("pillow-palette.tif")
Image.fromarray(image("u1") % 16).quantize(16).save(FOLDER / "pillow-palette-zip.tif", compression="tiff_adobe_deflate")
frames("pillow-palette-zip.tif")

# Several samples, side by side and plane by plane.
rgb = image("u1", (37, 53, 3))
write("rgb.tif", rgb, channels=2, photometric="rgb")
write("rgb-predictor.tif", rgb, channels=2, photometric="rgb", compression="zlib", predictor=2)
write("rgb-planar.tif", np.moveaxis(rgb, 2, 0), channels=0, photometric="rgb", planarconfig="separate")
write("rgb-planar-tiles.tif", np.moveaxis(rgb, 2, 0), channels=0, photometric="rgb", planarconfig="separate", tile=(16, 16), compression="zlib")
write("rgba16.tif", image("u2", (37, 53, 4)), channels=2, photometric="rgb", extrasamples=["unassalpha"])
write("planar5.tif", image("f4", (5, 37, 53)), channels=0, planarconfig="separate", compression="zlib", predictor=3)
write("contig5.tif", image("u2", (37, 53, 5)), channels=2, planarconfig="contig", tile=(16, 32), byteorder=">")

# Pages.
write("pages.tif", image("u2", (4, 37, 53)))
write("pages-zstd.tif", image("f4", (4, 37, 53)), compression="zstd")
with tifffile.TiffWriter(FOLDER / "one-by-one.tif") as file:
    for _ in range(3):
        file.write(image("u1"), contiguous=False)
frames("one-by-one.tif")
Image.fromarray(image("u1")).save(FOLDER / "pillow-pages.tif", save_all=True, append_images=[Image.fromarray(image("u1"))])
frames("pillow-pages.tif")

# What is not supported is told as that.
for method in ["lzma", "jpeg2000"]:
    tifffile.imwrite(FOLDER / f"{method}.tif", image("u1"), compression=method, photometric="minisblack")
    told(f"{method}.tif", error="unsupported_frame")
tifffile.imwrite(FOLDER / "complex.tif", image("f4").astype("c8"), photometric="minisblack")
told("complex.tif", error="unsupported_frame")

# Sizes of pixels.
um = 0.325
ij = {"photometric": "minisblack", "imagej": True, "resolution": (1 / um, 1 / um)}
for number, unit in enumerate(["micron", "um", "\\u00B5m", "latin-1"]):
    name = f"imagej-{number}.tif"
    tifffile.imwrite(FOLDER / name, image("u1"), metadata={"unit": unit.replace("latin-1", "um")}, **ij)
    if unit == "latin-1":
        whole = (FOLDER / name).read_bytes()
        (FOLDER / name).write_bytes(whole.replace(b"unit=um", b"unit=\xb5m"))
    told(name, None, None, tifffile.imread(FOLDER / name), um=(um, um))
tifffile.imwrite(FOLDER / "imagej-nm.tif", image("u1"), photometric="minisblack", imagej=True, resolution=(1 / 325, 1 / 325), metadata={"unit": "nm"})
told("imagej-nm.tif", None, None, tifffile.imread(FOLDER / "imagej-nm.tif"), um=(um, um))
for name, x, unit in [("ome-um", um, "µm"), ("ome-nm", 325.0, "nm")]:
    size = {"PhysicalSizeX": x, "PhysicalSizeXUnit": unit, "PhysicalSizeY": 2 * x, "PhysicalSizeYUnit": unit}
    tifffile.imwrite(FOLDER / f"{name}.tif", image("u1"), ome=True, photometric="minisblack", metadata=size)
    told(f"{name}.tif", None, None, tifffile.imread(FOLDER / f"{name}.tif"), um=(2 * um, um))
