"""Calls that write run folders, and streams."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
import swathe
from conftest import disc, process_of

parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("pandas")


def test_a_folder_has_what_the_call_returns(pairs, tmp_path):
    settings = {"relaxation": 10, "um_per_px": 0.5}
    run = swathe.ot.solve_batch(pairs, out=tmp_path / "FLOW", fields=True, **settings)
    solutions = swathe.ot.solve_batch(pairs, fields=True, **settings)
    assert run.is_complete and len(run.failures) == 0
    table = parquet.read_table(tmp_path / "FLOW" / "pairs.parquet").to_pylist()
    for row, solution in enumerate(solutions):
        assert table[row]["pair_id"] == run.table["pair_id"][row] == str(row)
        figures = solution.figures()
        of_one, of_runs = {"iterations_coarse", "used_f64"}, {"row", "pair_id", "fields_path", "coupling_path"}
        assert figures.keys() - of_one == table[row].keys() - of_runs
        for name in figures.keys() - of_one:
            assert table[row][name] == figures[name], name
        assert figures["displacement_p50_um"] == figures["displacement_p50_px"] / 2
        maps = run.fields(str(row))
        np.testing.assert_allclose(maps["velocity_yx"], solution.velocity, rtol=1e-6)
    assert (tmp_path / "FLOW" / "report.html").stat().st_size > 1000


def test_a_folder_is_the_commands(pairs, tmp_path):
    lines = ["pair_id,src,tgt"]
    for row, (a, b) in enumerate(pairs):
        np.save(tmp_path / f"{row}a.npy", a)
        np.save(tmp_path / f"{row}b.npy", b)
        lines.append(f"{row},{row}a.npy,{row}b.npy")
    (tmp_path / "pairs.csv").write_text("\n".join(lines) + "\n")
    words = [sys.executable, "-m", "swathe", "-q", "ot", "pairs.csv", "--out", "COMMAND"]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    ours = swathe.ot.solve_batch(pairs, out=tmp_path / "PYTHON")
    commands = swathe.open_run(tmp_path / "COMMAND")
    assert ours.info["values_hash"] == commands.info["values_hash"]


def test_folders_are_guarded(pairs, tmp_path):
    out = tmp_path / "FLOW"
    swathe.ot.solve_batch(pairs[:3], out=out, ids=["a", "b", "c"])
    with pytest.raises(FileExistsError, match="open_run"):
        swathe.ot.solve_batch(pairs[:3], out=out)
    # A finished run that is resumed is left as it is.
    again = swathe.ot.solve_batch(pairs[:3], out=out, ids=["a", "b", "c"], resume=True)
    assert list(again.table["pair_id"]) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="epsilon"):
        swathe.ot.solve_batch(pairs[:3], out=out, resume=True, epsilon=2e-3)
    with pytest.raises(ValueError, match="contents"):
        swathe.ot.solve_batch(pairs[3:6], out=out, resume=True)
    with pytest.raises(ValueError, match="names two pairs"):
        swathe.ot.solve_batch(pairs[:2], out=tmp_path / "X", ids=["a", "a"])
    with pytest.raises(ValueError, match="2 ids for 3 pairs"):
        swathe.ot.solve_batch(pairs[:3], out=tmp_path / "X", ids=["a", "b"])
    with pytest.raises(ValueError, match="resume and ids go with out"):
        swathe.ot.solve_batch(pairs[:3], ids=["a", "b", "c"])
    assert not (tmp_path / "X").exists()
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError):
        swathe.ot.solve_batch(pairs[:3], out=tmp_path / "file")


def test_bad_pairs_stand_in_the_failures(pairs, tmp_path):
    bad = np.full((40, 60), np.nan)
    run = swathe.ot.solve_batch([pairs[0], (bad, bad)], out=tmp_path / "FLOW")
    assert list(run.failures["id"]) == ["1"] and "NaN" in run.failures["message"][0]
    assert list(run.table["row"]) == [0]


KILLED = """
import sys, time, numpy as np, swathe
def solve(batch):
    if 7 in batch.rows and sys.argv[2] == "hang":
        time.sleep(3600)
    return batch.arrays.sum(axis=1)
items = [np.full(5, float(k)) for k in range(12)]
resume = sys.argv[2] != "hang"
run = swathe.run(items, solve, out=sys.argv[1], batch_size=1, resume=resume)
print([float(value) for value in run.values])
"""


def test_a_killed_run_goes_on(tmp_path):
    script, out = tmp_path / "killed.py", tmp_path / "RUN"
    script.write_text(KILLED)
    process = subprocess.Popen([sys.executable, script, out, "hang"])
    manifest = out / "manifest.jsonl"
    ended = time.monotonic() + 60
    while not (manifest.exists() and manifest.read_text()):
        assert time.monotonic() < ended and process.poll() is None
        time.sleep(0.1)
    process.kill()
    process.wait()
    assert not swathe.open_run(out).is_complete
    words = [sys.executable, script, out, "go on"]
    ended = subprocess.run(words, capture_output=True, text=True)
    assert ended.stdout == f"{[5.0 * k for k in range(12)]}\n", ended.stderr
    assert ended.stderr == ""


def test_results_of_any_kind_come_back(tmp_path):
    def solve(item):
        if item == 3:
            raise KeyError("three")
        return {"item": item, "array": np.arange(item)}

    run = swathe.run(range(6), solve, batched=False, out=tmp_path / "RUN")
    values = run.values
    assert values[3] is None and values[4]["item"] == 4 and len(values[5]["array"]) == 5
    assert list(run.failures["id"]) == ["3"] and "three" in run.failures["message"][0]
    with pytest.raises(ValueError, match="(?s)other settings or inputs"):
        swathe.run(range(7), solve, batched=False, out=tmp_path / "RUN", resume=True)
    with pytest.raises(TypeError, match="item 0: it cannot be pickled"):
        swathe.run([threading.Lock()], solve, batched=False, out=tmp_path / "OTHER")


def test_streams_yield_as_they_come(pairs):
    """The first solution is there long before the iterator ends."""
    n_pulled = 0

    def endless():
        nonlocal n_pulled
        while True:
            n_pulled += 1
            yield pairs[n_pulled % len(pairs)]

    stream = swathe.ot.stream(endless(), window=8)
    taken = [next(stream) for _ in range(20)]
    assert sorted(index for index, _ in taken[:8]) == list(range(8))
    assert all(solution.converged for _, solution in taken)
    stream.close()
    # Two windows at most were pulled beyond what was taken, and closing ended it.
    assert n_pulled <= 20 + 3 * 8
    pulled = n_pulled
    time.sleep(0.2)
    assert n_pulled == pulled


def test_streams_equal_batches(pairs):
    batch = swathe.ot.solve_batch(pairs, fields=True)
    for mode in ("batch", "sequential"):
        streamed = dict(swathe.ot.stream(iter(pairs), window=5, fields=True, mode=mode))
        assert sorted(streamed) == list(range(len(pairs)))
        for index, solution in streamed.items():
            assert solution.cost == batch[index].cost
            np.testing.assert_array_equal(solution.velocity, batch[index].velocity)


def test_streams_name_the_pair_that_fails(pairs):
    nan = np.full((40, 60), np.nan)
    bad = [*pairs[:7], (nan, nan)]
    with pytest.raises(swathe.SolveError, match="pair 7"):
        list(swathe.ot.stream(bad, window=3))
    with pytest.raises(ValueError, match="pair 7"):
        list(swathe.ot.stream([*pairs[:7], (np.ones(3), np.ones(3))], window=3))
    assert dict(swathe.ot.stream(bad, window=3, on_error="return"))[7] is None

    def broken():
        yield pairs[0]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        list(swathe.ot.stream(broken()))
    with pytest.raises(ValueError, match="window is 0"):
        swathe.ot.stream(pairs, window=0)


def test_streams_of_own_solvers():
    items = [np.full(k % 5 + 1, float(k)) for k in range(50)]

    def double(batch):
        if 33 in [int(x) for x in batch.arrays[:, 0]]:
            raise RuntimeError("not this one")
        return batch.arrays * 2

    got = dict(swathe.stream(iter(items), double, window=16, on_error="return"))
    assert sorted(got) == list(range(50)) and got[33] is None
    for index, value in got.items():
        assert index == 33 or np.array_equal(value, items[index] * 2)
    with pytest.raises(swathe.SolveError, match="item 33"):
        list(swathe.stream(iter(items), double, window=16))


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_ends_a_stream_and_a_folder(tmp_path):
    code = textwrap.dedent(
        """
        import sys, numpy as np, swathe
        a = np.random.default_rng(0).random((200, 200))
        pairs = ((a, a[::-1].copy()) for _ in iter(int, 1))
        print("ready", flush=True)
        try:
            if sys.argv[1] == "stream":
                for _ in swathe.ot.stream(pairs, epsilon=1e-4, relaxation=10):
                    pass
            else:
                few = [(a, a[::-1].copy()) for _ in range(3000)]
                swathe.ot.solve_batch(few, epsilon=1e-4, relaxation=10, out=sys.argv[1])
        except KeyboardInterrupt:
            print("interrupted")
        """
    )
    for word in ("stream", str(tmp_path / "FLOW")):
        with process_of(code, word) as process:
            since = time.monotonic()
            # A folder is begun once all frames are hashed.
            while word != "stream" and not (tmp_path / "FLOW" / "run.json").exists():
                assert process.poll() is None and time.monotonic() - since < 120
                time.sleep(0.1)
            time.sleep(2)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
            assert out == "interrupted\n"
    run = swathe.open_run(tmp_path / "FLOW")
    assert run.info["state"] == "interrupted"


def test_devices_are_listed():
    devices = swathe.devices()
    assert devices[0]["device"] == "cpu" and devices[0]["threads"] >= 1
    for device in devices[1:]:
        assert (device["device"] is None) == ("refused" in device)


def test_discs_are_pairs_too(tmp_path):
    """Frames that many pairs share are hashed and read where they are."""
    a, b = disc((30, 40), (12, 12), 5), disc((30, 40), (13, 15), 5)
    run = swathe.ot.solve_batch([(a, b)] * 5, out=tmp_path / "FLOW")
    assert run.table["cost"].nunique() == 1
