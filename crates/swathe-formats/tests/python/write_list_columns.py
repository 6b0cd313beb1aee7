"""Wrote the Parquet files in tests/list_column_files, with pyarrow 26."""

import pathlib
import sys

import pyarrow as pa
import pyarrow.parquet as pq

folder = pathlib.Path(sys.argv[1])
floats = [[1.5, 2.5], [], [3.0], None, [4.0, None, float("inf")]]
table = pa.table(
    {
        "other": pa.array([1, 2, 3, 4, 5], pa.int64()),
        "id": pa.array(["a", "b", None, "d", "e"]),
        "values": pa.array(floats, pa.list_(pa.float32())),
    }
)
pq.write_table(table, folder / "floats.parquet", row_group_size=2, compression="snappy")
table = pa.table(
    {
        "name": pa.array([30, 10, 20], pa.int16()),
        "words": pa.array([[1, 2**64 - 1], [3, 4], [5, 6]], pa.list_(pa.uint64(), 2)),
    }
)
pq.write_table(table, folder / "fixed.parquet", compression="zstd")
rows = [list(range(n)) for n in range(5)]
table = pa.table({"bytes": pa.array(rows, pa.large_list(pa.uint8()))})
pq.write_table(table, folder / "large.parquet", compression="none")
# The codecs that other programs choose, in one row group.
table = pa.table({"x": pa.array([list(range(n % 5)) for n in range(300)], pa.list_(pa.int16()))})
for codec in ["gzip", "lz4", "brotli"]:
    pq.write_table(table, folder / f"{codec}.parquet", compression=codec)
nested = pa.list_(pa.list_(pa.list_(pa.float32(), 2), 3))
matrices = [[[[k, 1], [2, 3], [4, 5]]] * n for k, n in enumerate([2, 1, 0])] + [None]
ragged = [[[1.0], [2.0, 3.0]], [[1.0, 2.0]]]
table = pa.table({"name": ["a", "b", "c", "d"], "tensors": pa.array(matrices, nested)})
pq.write_table(table, folder / "nested.parquet")
pq.write_table(pa.table({"x": pa.array(ragged)}), folder / "ragged.parquet")
