"""Where the blocks of a run on a cluster are kept: a folder that all nodes see, or an object store.

A block is a shard of a run (``shards/3-of-64``). In a shared folder, actors write the shard where it
belongs; its ``run.json`` says when it is complete, and its lock keeps two actors apart. Into an
object store an actor puts the finished shard as one object, so that it is there as a whole or not
at all.
"""

from __future__ import annotations

import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ._own_files import read_own

__all__ = ["ObjectStore", "SharedFolder", "storage_of"]


def storage_of(out: str | os.PathLike[str], filesystem: Any) -> SharedFolder | ObjectStore:
    """The storage that ``out`` names: a path, or an address such as ``s3://bucket/run``."""
    text = os.fspath(out)
    if filesystem is None and "://" not in text:
        return SharedFolder(os.path.abspath(text))
    from pyarrow import fs

    if filesystem is None:
        filesystem, text = fs.FileSystem.from_uri(text)
    elif not isinstance(filesystem, fs.FileSystem):
        filesystem = fs.PyFileSystem(fs.FSSpecHandler(filesystem))
    if isinstance(filesystem, fs.LocalFileSystem):
        return SharedFolder(os.path.abspath(text))
    return ObjectStore(filesystem, text.rstrip("/"))


def shard_name(block: int, n_blocks: int) -> str:
    """The name of a block's folder."""
    return f"{block}-of-{n_blocks}"


class SharedFolder:
    """A folder that all nodes see under the same path."""

    def __init__(self, run: str) -> None:
        self.run = run

    def __str__(self) -> str:
        return self.run

    def open(self) -> Path:
        """Where the driver works: the run folder itself."""
        (Path(self.run) / "shards").mkdir(parents=True, exist_ok=True)
        return Path(self.run)

    def is_used(self) -> bool:
        """Whether a run was begun here."""
        run = Path(self.run)
        return (run / "run.json").exists() or (run / "shards").exists()

    def read(self, name: str) -> bytes | None:
        """A small file beside the blocks."""
        try:
            return read_own(Path(self.run) / "shards" / name)
        except FileNotFoundError:
            return None

    def write(self, name: str, contents: bytes) -> None:
        """Write a small file beside the blocks, as a whole or not at all."""
        path = Path(self.run) / "shards" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{name}.{os.getpid()}")
        with open(beside, "wb") as file:
            file.write(contents)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)

    def write_file(self, name: str, made: Path) -> None:
        """Move a file that was made locally to its place beside the blocks."""
        target = Path(self.run) / "shards" / name
        beside = target.with_name(f".{name}.{os.getpid()}")
        shutil.copyfile(made, beside)
        os.replace(beside, target)

    def local_file(self, name: str) -> str:
        """A path at which this process can read a file beside the blocks."""
        return os.path.join(self.run, "shards", name)

    @contextmanager
    def workplace(self, _name: str) -> Iterator[str]:
        """Where an actor writes a block, and what it does when the block is complete: nothing."""
        yield self.run

    def finished(self, _name: str, n_blocks: int) -> set[int]:
        """The blocks that are complete."""
        blocks = range(1, n_blocks + 1)
        return {block for block in blocks if is_complete(self.run, block, n_blocks)}

    def collect(self, run: Path, name: str, n_blocks: int) -> None:
        """Bring all blocks to where the driver merges them: they are there."""

    def publish(self, run: Path) -> None:
        """Make the merged run available: it is."""


class ObjectStore:
    """An object store: what is there is whole, and cannot be appended to."""

    def __init__(self, filesystem: Any, base: str) -> None:
        self.filesystem, self.base = filesystem, base
        self.local: str | None = None

    def __str__(self) -> str:
        return f"{self.filesystem.type_name}:{self.base}"

    def __getstate__(self) -> dict[str, Any]:
        return {"filesystem": self.filesystem, "base": self.base, "local": None}

    def open(self) -> Path:
        if self.local is None:
            self.local = tempfile.mkdtemp(prefix="swathe-run-")
            (Path(self.local) / "shards").mkdir()
        return Path(self.local)

    def is_used(self) -> bool:
        from pyarrow import fs

        chosen = fs.FileSelector(self.base, allow_not_found=True)
        return len(self.filesystem.get_file_info(chosen)) > 0

    def read(self, name: str) -> bytes | None:
        from pyarrow import fs

        path = f"{self.base}/blocks/{name}"
        if self.filesystem.get_file_info(path).type != fs.FileType.File:
            return None
        with self.filesystem.open_input_stream(path) as stream:
            return bytes(stream.read())

    def write(self, name: str, contents: bytes) -> None:
        self.filesystem.create_dir(f"{self.base}/blocks", recursive=True)
        with self.filesystem.open_output_stream(f"{self.base}/blocks/{name}") as stream:
            stream.write(contents)

    def write_file(self, name: str, made: Path) -> None:
        self.filesystem.create_dir(f"{self.base}/blocks", recursive=True)
        self._put(f"{self.base}/blocks/{name}", made)

    def local_file(self, name: str) -> str:
        path = self.open() / "shards" / name
        if not path.exists():
            self._get(f"{self.base}/blocks/{name}", path)
        return str(path)

    @contextmanager
    def workplace(self, name: str) -> Iterator[str]:
        with tempfile.TemporaryDirectory(prefix="swathe-block-") as folder:
            run = os.path.join(folder, "run")
            yield run
            packed = Path(folder) / "block.tar"
            with tarfile.open(packed, "w") as tar:
                tar.add(run, arcname=".")
            self.write_file(f"{name}.tar", packed)

    def finished(self, name: str, n_blocks: int) -> set[int]:
        from pyarrow import fs

        chosen = fs.FileSelector(f"{self.base}/blocks", allow_not_found=True)
        there = {os.path.basename(one.path) for one in self.filesystem.get_file_info(chosen)}
        blocks = range(1, n_blocks + 1)
        return {b for b in blocks if f"{name}-{shard_name(b, n_blocks)}.tar" in there}

    def collect(self, run: Path, name: str, n_blocks: int) -> None:
        packed = run / "shards" / "block.tar"
        for block in range(1, n_blocks + 1):
            if is_complete(str(run), block, n_blocks):
                continue
            self._get(f"{self.base}/blocks/{name}-{shard_name(block, n_blocks)}.tar", packed)
            with tarfile.open(packed) as tar:
                tar.extractall(run, filter="data")
        packed.unlink(missing_ok=True)

    def publish(self, run: Path) -> None:
        for path in sorted(run.rglob("*")):
            inner = path.relative_to(run).as_posix()
            # The blocks are there already; run.json comes last and says that the run is complete.
            if path.is_file() and not inner.startswith("shards/") and inner != "run.json":
                self._put(f"{self.base}/{inner}", path)
        self._put(f"{self.base}/run.json", run / "run.json")

    def _put(self, to: str, path: Path) -> None:
        with open(path, "rb") as file, self.filesystem.open_output_stream(to) as stream:
            shutil.copyfileobj(file, stream, 8 << 20)

    def _get(self, of: str, path: Path) -> None:
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        with self.filesystem.open_input_stream(of) as stream, open(beside, "wb") as file:
            shutil.copyfileobj(stream, file, 8 << 20)
        os.replace(beside, path)


def is_complete(run: str, block: int, n_blocks: int) -> bool:
    """Whether the folder of a block holds all its outcomes. A half-written one does not count."""
    path = Path(run) / "shards" / shard_name(block, n_blocks) / "run.json"
    try:
        return bool(json.loads(read_own(path))["state"] == "complete")
    except (FileNotFoundError, json.JSONDecodeError):
        return False
