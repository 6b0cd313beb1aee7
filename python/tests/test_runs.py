"""Run folders of the command, opened."""

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
