"""What a run on a cluster solves, as a file that every actor can read a part of."""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import _swathe
from ._ray_storage import ObjectStore, SharedFolder
from .own import add_to_fingerprint, dtype_of

__all__ = ["Items", "is_dataset", "read_items", "write_items", "write_table"]

N_ROWS_A_GROUP = 256


@dataclass(frozen=True)
class Items:
    """A file beside the blocks, with the problems of all of them."""

    name: str
    n_items: int
    digest: tuple[int, str]
    """Bytes and hash of all items with their ids."""
    repeated: tuple[str, ...]
    """Ids that occur more than once, with the same contents."""

    def fingerprint(self) -> _swathe.Fingerprint:
        """What the folders of all blocks have in common."""
        return _swathe.Fingerprint.known(*self.digest)


def is_dataset(ray: Any, input: Any) -> bool:
    """Whether an input is a Dataset, or a folder of Parquet files."""
    if isinstance(input, ray.data.Dataset):
        return True
    if not isinstance(input, (str, os.PathLike)):
        return False
    path = Path(input)
    return path.is_dir() and any(path.rglob("*.parquet"))


def write_items(
    ray: Any,
    input: Any,
    id_column: str | None,
    column: str | None,
    storage: SharedFolder | ObjectStore,
    batched: bool,
) -> Items:
    """Write the items of a callable: those of a list, or the rows of a Dataset in the order of their
    ids. A row is a dictionary, or the value of ``column``. What no batch can hold is refused here,
    by its id."""
    if isinstance(input, (list, tuple)):
        named: Iterable[tuple[str, Any]] = ((str(n), item) for n, item in enumerate(input))
    else:
        named = _rows(ray, input, id_column, column)
    fingerprint, repeated = _swathe.Fingerprint(), _Repeated()

    def tables(schema: Any) -> Iterator[Any]:
        import pyarrow as pa

        ids: list[str] = []
        pickled: list[bytes] = []
        for name, item in named:
            if batched:
                dtype_of(item, name)
            packed = pickle.dumps(item, 5)
            if not repeated.is_first(name, packed):
                continue
            add_to_fingerprint(fingerprint, len(repeated.digests) - 1, item, name)
            ids.append(name)
            pickled.append(packed)
            if len(ids) == N_ROWS_A_GROUP:
                yield pa.table([ids, pickled], schema=schema)
                ids, pickled = [], []
        yield pa.table([ids, pickled], schema=schema)

    import pyarrow as pa

    schema = pa.schema([("id", pa.string()), ("item", pa.large_binary())])
    n_items = _write(storage, "items.parquet", schema, tables(schema))
    return Items("items.parquet", n_items, fingerprint.digest(), tuple(repeated.names))


def write_table(
    ray: Any, input: Any, id_column: str | None, renamed: str, storage: SharedFolder | ObjectStore
) -> Items:
    """Write the rows of a Dataset as the table that a command takes, in the order of their ids. The
    column of ids gets the name that the command expects; relative paths in ``src`` and ``tgt``
    become absolute."""
    import pyarrow as pa

    base = Path.cwd() if isinstance(input, ray.data.Dataset) else Path(input).absolute()
    dataset = _sorted(ray, input, id_column)
    repeated, digest = _Repeated(), hashlib.blake2b(digest_size=32)
    n_bytes = 0

    def tables() -> Iterator[Any]:
        nonlocal n_bytes
        for table in dataset.iter_batches(batch_size=4096, batch_format="pyarrow"):
            rows = table.to_pylist()
            kept = []
            for number, row in enumerate(rows):
                for side in ("src", "tgt"):
                    if isinstance(row.get(side), str):
                        row[side] = str(base / row[side])
                packed = pickle.dumps(sorted(row.items()), 5)
                if repeated.is_first(str(row[id_column]), packed):
                    kept.append(number)
                    digest.update(packed)
                    n_bytes += len(packed)
            columns = {
                renamed if name == id_column else name: (
                    pa.array([rows[number][name] for number in kept])
                    if name in ("src", "tgt")
                    else table.column(name).take(pa.array(kept, pa.int64()))
                )
                for name in table.column_names
            }
            columns[renamed] = columns[renamed].cast(pa.string())
            yield pa.table(columns)

    made = tables()
    try:
        first = next(made)
    except StopIteration:
        raise ValueError("the input has no rows") from None
    rest = (table.cast(first.schema) for table in made)
    n_items = _write(storage, "table.parquet", first.schema, _chained(first, rest))
    return Items("table.parquet", n_items, (n_bytes, digest.hexdigest()), tuple(repeated.names))


def read_items(path: str, first: int, end: int) -> tuple[list[str], list[Any]]:
    """The ids and items of the rows from ``first`` to ``end``. Only the groups of rows that hold
    them are read."""
    from pyarrow import parquet

    ids: list[str] = []
    items: list[Any] = []
    with parquet.ParquetFile(path) as file:
        at = 0
        for group in range(file.num_row_groups):
            n_rows = file.metadata.row_group(group).num_rows
            low, high = max(first - at, 0), min(end - at, n_rows)
            if low < high:
                table = file.read_row_group(group).slice(low, high - low)
                ids += table.column("id").to_pylist()
                items += [pickle.loads(item.as_py()) for item in table.column("item")]
            at += n_rows
    return ids, items


class _Repeated:
    """Lets every id through once. Rows that are equal in everything are one problem; two problems
    under one id are an error."""

    def __init__(self) -> None:
        self.digests: dict[str, bytes] = {}
        self.names: list[str] = []

    def is_first(self, name: str, packed: bytes) -> bool:
        digest = hashlib.blake2b(packed, digest_size=8).digest()
        before = self.digests.get(name)
        if before is None:
            self.digests[name] = digest
            return True
        if before != digest:
            raise ValueError(
                f"the id {name!r} names two rows that differ; every problem needs an id of its own"
            )
        self.names.append(name)
        return False


def _rows(
    ray: Any, input: Any, id_column: str | None, column: str | None
) -> Iterator[tuple[str, Any]]:
    dataset = _sorted(ray, input, id_column)
    for batch in dataset.iter_batches(batch_size=N_ROWS_A_GROUP, batch_format="numpy"):
        names = batch.pop(id_column)
        if column is not None and column not in batch:
            raise ValueError(f"there is no column {column!r}; there are {', '.join(batch)}")
        for row, name in enumerate(names):
            if column is not None:
                yield str(name), np.asarray(batch[column][row])
            else:
                yield str(name), {key: _plain(values[row]) for key, values in batch.items()}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _sorted(ray: Any, input: Any, id_column: str | None) -> Any:
    dataset = input
    if not isinstance(input, ray.data.Dataset):
        dataset = ray.data.read_parquet(str(input))
    names = dataset.schema().names
    if id_column is None:
        raise ValueError(f"id_column is missing: which of {', '.join(names)} names the problems?")
    if id_column not in names:
        raise ValueError(f"there is no column {id_column!r}; there are {', '.join(names)}")
    return dataset.sort(id_column)


def _write(
    storage: SharedFolder | ObjectStore, name: str, schema: Any, tables: Iterator[Any]
) -> int:
    from pyarrow import parquet

    n_rows = 0
    with tempfile.TemporaryDirectory(prefix="swathe-items-") as folder:
        made = Path(folder) / name
        with parquet.ParquetWriter(made, schema) as writer:
            for table in tables:
                if table.num_rows:
                    writer.write_table(table)
                n_rows += table.num_rows
        storage.write_file(name, made)
    return n_rows


def _chained(first: Any, rest: Iterable[Any]) -> Iterator[Any]:
    yield first
    yield from rest
