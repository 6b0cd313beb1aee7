"""Wrote the Parquet files in tests/list_column_files, with pyarrow 26."""

import pathlib
import sys

import numpy as np
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
# Few bytes that are much data: equal values are encoded as one run, also beside short rows.
zeros = np.zeros(200_000_000, np.uint8)
many = pa.ListArray.from_arrays(pa.array([0, len(zeros)], pa.int32()), pa.array(zeros))
pq.write_table(pa.table({"values": many}), folder / "zeros.parquet")
for name, version in [("long", "1.0"), ("long2", "2.0")]:
    # Rows of 0 to 4 elements, one of a million, and 500 more; a null among them.
    lengths = [k % 5 for k in range(700)] + [1_000_000] + [k % 3 for k in range(500)]
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    values = pa.array(np.arange(ends[-1]) // 500_000, pa.int32())
    mixed = pa.ListArray.from_arrays(pa.array(ends), values)
    mixed = pa.concat_arrays([mixed, pa.array([None, [7]], mixed.type)])
    table = pa.table({"values": mixed})
    pq.write_table(table, folder / f"{name}.parquet", data_page_version=version)
