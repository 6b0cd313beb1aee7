"""Run folders that the command, or a call with ``out``, wrote."""

from __future__ import annotations

import json
import os
import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _swathe
from ._own_files import read_own

__all__ = ["Report", "Run", "open_run"]


def open_run(path: str | os.PathLike[str]) -> Run:
    """Open a run folder: what ``--out`` of a command named."""
    return Run(path)


class Report:
    """The figures of a run. In a notebook it shows the run's page."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.figures: dict[str, Any] = json.loads(read_own(folder / "report.json"))

    def __getitem__(self, name: str) -> Any:
        return self.figures[name]

    def _repr_html_(self) -> str:
        page = (self._folder / "report.html").read_text()
        escaped = page.replace("&", "&amp;").replace('"', "&quot;")
        return f'<iframe srcdoc="{escaped}" style="width: 100%; height: 800px; border: 0"></iframe>'

    def __repr__(self) -> str:
        return f"Report({self._folder / 'report.html'})"


class Run:
    """A run folder. Tables are read when they are asked for."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self.info: dict[str, Any] = json.loads(read_own(self.path / "run.json"))
        except FileNotFoundError:
            raise FileNotFoundError(f"{self.path} is no run folder: it has no run.json") from None

    @property
    def is_complete(self) -> bool:
        """Whether the run is finished; otherwise the command goes on with ``--resume``."""
        return self.info["state"] == "complete"

    def arrow(self, name: str | None = None) -> Any:
        """A table of the run as Arrow, units and descriptions in its schema; the main one without a
        name."""
        from pyarrow import parquet

        if name is None:
            name = self.info.get("table")
        if name is None:
            raise ValueError(f"{self.path} is not finished: go on with its command and --resume")
        path = self.path / f"{name}.parquet"
        table = parquet.read_table(path)
        own = self.info.get("run_id")
        found = ((table.schema.metadata or {}).get(b"swathe.run") or b"").decode() or None
        # Only the tables of the run itself are certain to carry its id.
        if found != own and (found is not None or path.name in self.info.get("tables", {})):
            raise ValueError(
                f"{path} is of another run: it was written by run {found}, and run.json is that of "
                f"{own}; put the table of this run back, or run it anew"
            )
        return table

    @property
    def table(self) -> Any:
        """The main table as pandas; ``units`` tells the unit of each column."""
        return self.arrow().to_pandas()

    @property
    def units(self) -> dict[str, str]:
        """The unit of each column of the main table that has one."""
        units = {}
        for field in self.arrow().schema:
            unit = (field.metadata or {}).get(b"unit")
            if unit:
                units[field.name] = unit.decode()
        return units

    @property
    def failures(self) -> Any:
        """The problems without an answer, as pandas: row, id, kind, message."""
        return self.arrow("failures").to_pandas()

    @property
    def values(self) -> list[Any]:
        """The results of :func:`swathe.run`, in the order of the items; ``None`` where an item
        failed. They are pickled: read them only from folders that you trust."""
        table = self.arrow()
        if self.info.get("table") != "values":
            raise ValueError(f"{self.path} is no run of swathe.run: its results are in its table")
        values: list[Any] = [None] * self.info["n_problems"]
        for row, value in zip(table.column("row").to_pylist(), table.column("value")):
            values[row] = pickle.loads(value.as_py())
        return values

    @property
    def report(self) -> Report:
        """The figures of the run, and its page in a notebook."""
        return Report(self.path)

    def fields(self, pair_id: str) -> dict[str, NDArray[Any]]:
        """The maps of a pair of transport, by name (``--fields npz`` keeps them)."""
        table = self.arrow()
        if "fields_path" not in table.column_names:
            raise ValueError(f"{self.path} has no maps: run it with --fields npz")
        ids = table.column("pair_id").to_pylist()
        if pair_id not in ids:
            raise KeyError(pair_id)
        path = table.column("fields_path")[ids.index(pair_id)].as_py()
        if path is None or not path.endswith(".npz"):
            raise ValueError(f"pair {pair_id!r} has no maps in an .npz file: run with --fields npz")
        with np.load(self.path / path) as maps:
            return {name: maps[name] for name in maps.files}

    def show(
        self, pair_id: str, out: str | Path | None = None, *, input: str | Path | None = None
    ) -> Any:
        """Draw a pair of transport as the command does: the path of the picture, or in a notebook
        the picture itself where ``out`` is not given. The frames are read again; ``input`` says
        where the run's input is now, if it is not where it was."""
        path = Path(out) if out is not None else Path(tempfile.mkdtemp()) / "pair.png"
        words = ["swathe", "-q", "ot", "show", str(self.path), pair_id, "-o", str(path)]
        if input is not None:
            words += ["--input", str(input)]
        if _swathe.command(words) != 0:
            raise ValueError(f"pair {pair_id!r} of {self.path} cannot be drawn")
        if out is not None:
            return path
        try:
            from IPython.display import Image
        except ImportError:
            return path
        return Image(str(path))

    def __repr__(self) -> str:
        identity = self.info
        return f"Run({self.path}, {identity['workload']}, {identity['state']})"
