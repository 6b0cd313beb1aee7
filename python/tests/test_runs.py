"""Run folders of the command, opened."""

import json
import subprocess
import sys

import numpy as np
import pytest
import swathe
from conftest import disc

pytest.importorskip("pyarrow")
pytest.importorskip("pandas")


@pytest.fixture
def run(tmp_path):
    np.save(tmp_path / "a.npy", disc((30, 40), (12, 12), 5))
    np.save(tmp_path / "b.npy", disc((30, 40), (13, 15), 5))
    np.save(tmp_path / "bad.npy", np.full((30, 40), -1.0))
    (tmp_path / "pairs.csv").write_text("pair_id,src,tgt\nmoves,a.npy,b.npy\nfails,bad.npy,b.npy\n")
    words = [sys.executable, "-m", "swathe", "ot", "pairs.csv", "--out", "FLOW", "--fields", "npz"]
    ended = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 1 and ended.stdout == "FLOW\n", ended.stderr
    return swathe.open_run(tmp_path / "FLOW")


def test_tables_maps_and_failures(run):
    assert run.is_complete and "ot" in repr(run)
    assert list(run.table["pair_id"]) == ["moves"] and run.units["displacement_p50_px"] == "px"
    assert list(run.failures["id"]) == ["fails"]
    maps = run.fields("moves")
    a = disc((30, 40), (12, 12), 5)
    np.testing.assert_allclose(
        maps["velocity_yx"], swathe.ot.solve(a, disc((30, 40), (13, 15), 5)).velocity, rtol=1e-6
    )
    with pytest.raises(KeyError):
        run.fields("nothing")
    assert run.report["report"]["counts"]["n_solved"] == 1
    assert run.report._repr_html_().startswith("<iframe")


def test_a_pair_is_drawn(run, tmp_path):
    path = run.show("moves", tmp_path / "pair.png", input=tmp_path / "pairs.csv")
    assert path.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="cannot be drawn"):
        run.show("nothing", tmp_path / "none.png")


def test_what_is_no_run_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match="is no run folder"):
        swathe.open_run(tmp_path)


def test_a_run_json_without_an_end_is_refused_at_once(run):
    import os

    os.remove(run.path / "run.json")
    os.mkfifo(run.path / "run.json")
    with pytest.raises(ValueError, match="run.json: it is a FIFO"):
        swathe.open_run(run.path)
    os.remove(run.path / "run.json")
    with open(run.path / "run.json", "wb") as file:
        file.truncate(3 << 30)
    with pytest.raises(ValueError, match="run.json: it has 3221225472 bytes"):
        swathe.open_run(run.path)


def test_tables_and_parts_of_another_run_are_refused(run, tmp_path):
    import shutil

    def total(batch):
        return batch.arrays.sum(axis=1)

    items = [np.ones(k) for k in (1, 2, 3)]
    one, other = (
        swathe.run([times * item for item in items], total, out=tmp_path / f"R{times}").path
        for times in (1, 2)
    )
    assert swathe.open_run(one).values == [1, 2, 3]
    shutil.copy(other / "values.parquet", one)
    with pytest.raises(ValueError, match="values.parquet is of another run"):
        swathe.open_run(one).values
    shutil.rmtree(one / "parts")
    shutil.copytree(other / "parts", one / "parts")
    shutil.copy(other / "manifest.jsonl", one)
    with pytest.raises(ValueError, match="manifest.jsonl is of another run.*another folder"):
        swathe.run(items, total, out=one, resume=True)
    # A folder of an earlier version has no ids, and can be read.
    info = json.loads((run.path / "run.json").read_text())
    del info["run_id"]
    (run.path / "run.json").write_text(json.dumps(info))
    from pyarrow import parquet

    table = parquet.read_table(run.path / "pairs.parquet")
    metadata = {key: text for key, text in table.schema.metadata.items() if key != b"swathe.run"}
    parquet.write_table(table.replace_schema_metadata(metadata), run.path / "pairs.parquet")
    assert list(swathe.open_run(run.path).table["pair_id"]) == ["moves"]
