"""Runs on a Ray cluster of two nodes, all on loopback, of which any part may die."""

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import swathe

ray = pytest.importorskip("ray")
pytest.importorskip("ray.data")

# Ray replaces 127.0.0.1 by another address of the machine, but no other address of loopback.
HEAD, SECOND = "127.0.0.2", "127.0.0.3"
N_ITEMS = 40


@pytest.fixture(scope="module")
def cluster():
    """Two nodes with room for two actors each, so that one node alone can finish."""
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    made = Cluster()
    made.add_node(num_cpus=2, node_ip_address=HEAD, include_dashboard=False)
    made.add_node(num_cpus=2, node_ip_address=SECOND)
    ray.init(address=made.address, _node_ip_address=HEAD, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()


def items():
    return [np.full(k % 5 + 1, float(k)) for k in range(N_ITEMS)]


def total(batch):
    return batch.arrays.sum(axis=1)


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """The same items solved in this process."""
    out = tmp_path_factory.mktemp("local") / "RUN"
    return swathe.run(items(), total, out=out, ids=[str(k) for k in range(N_ITEMS)])


def check_whole(run, local):
    """Every id stands once, with the values of the local run."""
    assert run.is_complete and len(run.failures) == 0
    assert list(run.table["id"]) == [str(k) for k in range(N_ITEMS)]
    assert run.info["values_hash"] == local.info["values_hash"]


def ledger(out):
    lines = (out / "shards" / "blocks.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


class Trap:
    """Solves, but kills something the first time it meets item 33."""

    def __init__(self, mark, kill):
        self.mark, self.kill = mark, kill

    def __call__(self, batch):
        if 33.0 in batch.arrays[:, 0] and not os.path.exists(self.mark):
            with open(self.mark, "w"):
                pass
            self.kill()
            time.sleep(600)
        return batch.arrays.sum(axis=1)


def kill_self():
    os.kill(os.getpid(), signal.SIGKILL)


def test_no_fault(cluster, local, tmp_path):
    run = swathe.ray.solve(items(), tmp_path / "RUN", total, blocks=6)
    check_whole(run, local)
    committed = [line for line in ledger(run.path) if line["event"] == "committed"]
    assert sorted(line["block"] for line in committed) == [1, 2, 3, 4, 5, 6]
    places = run.report["places"]
    assert sum(place["n_problems"] for place in places) == N_ITEMS
    assert all(place["busy_ms"] > 0 and place["n_lost"] == 0 for place in places)
    assert "Machines" in (run.path / "report.html").read_text()
    # A run that is complete is left as it is, and is not another one.
    assert swathe.ray.solve(items(), tmp_path / "RUN", total).info == run.info
    assert len(ledger(run.path)) == 12
    with pytest.raises(ValueError, match="begun with another input"):
        swathe.ray.solve(items()[1:], tmp_path / "RUN", total)
    with pytest.raises(FileExistsError, match="resume=True"):
        swathe.ray.solve(items(), tmp_path / "RUN", total, resume=False)


def test_functions_are_checked_as_on_a_laptop(cluster, tmp_path):
    def scaled(factor):
        return lambda batch: np.stack([batch.arrays * factor] * 3, -1)

    run = swathe.ray.solve(items(), tmp_path / "RUN", scaled(2), blocks=4)
    for value, item in zip(run.values, items()):
        np.testing.assert_array_equal(value, np.stack([item * 2] * 3, -1))
    swathe.ray.solve(items(), tmp_path / "RUN", scaled(2))
    with pytest.raises(ValueError, match="another workload: {'closure factor': '2'} then, .* '3'"):
        swathe.ray.solve(items(), tmp_path / "RUN", scaled(3))
    leaking = swathe.ray.solve(
        items(), tmp_path / "LEAK", lambda batch: batch.arrays.mean(axis=1), blocks=2
    )
    assert len(leaking.failures) == N_ITEMS
    assert leaking.failures["message"].str.contains("must not depend on padding").all()
    with pytest.raises(TypeError, match="item 1: some of its elements are masked"):
        swathe.ray.solve([np.ones(2), np.ma.array([1.0, 2.0], mask=[0, 1])], tmp_path / "M", total)
    with pytest.raises(TypeError, match="has no argument 'windows'"):
        swathe.ray.solve(items(), tmp_path / "X", total, windows=3)


def test_a_block_of_another_run_is_refused(cluster, tmp_path):
    one, other = tmp_path / "ONE", tmp_path / "OTHER"
    runs = [swathe.ray.solve(items(), out, total, blocks=2) for out in (one, other)]
    assert runs[0].info["run_id"] != runs[1].info["run_id"]
    block = "shards/1-of-2"
    shutil.rmtree(one / block / "parts")
    shutil.copytree(other / block / "parts", one / block / "parts")
    shutil.copy(other / block / "manifest.jsonl", one / block)
    # The blocks are complete, and are merged again.
    (one / "run.json").unlink()
    with pytest.raises(RuntimeError, match="1-of-2/manifest.jsonl is of another run"):
        swathe.ray.solve(items(), one, total, blocks=2)


def test_warnings_of_blocks_are_issued(cluster, tmp_path):
    """What the command warns of on a laptop is issued once the blocks are merged."""
    y, x = np.ogrid[:60, :80]
    lines = ["pair_id,src,tgt"]
    for k in range(4):
        for name in ("a", "b"):
            # One of two bodies vanishes.
            frame = (y - 30) ** 2 + (x - 30 - k) ** 2 <= 64
            frame |= (name == "a") & ((y - 45) ** 2 + (x - 65) ** 2 <= 25)
            np.save(tmp_path / f"{name}{k}.npy", frame)
        lines.append(f"{k},a{k}.npy,b{k}.npy")
    (tmp_path / "pairs.csv").write_text("\n".join(lines) + "\n")
    with pytest.warns(UserWarning, match="of the pairs change their total mass") as told:
        run = swathe.ray.solve(tmp_path / "pairs.csv", tmp_path / "RUN", "ot", blocks=2)
    # Ray itself warns the first time that it is used.
    told = [one for one in told if one.category is UserWarning]
    assert all(one.filename == __file__ for one in told)
    assert any("2 of 2 pairs is in doubt" in str(one.message) for one in told)
    assert set(run.table["motion_doubt"].str.startswith("a body vanished")) == {True}
    by_call = swathe.ot.auto_epsilon(
        [(np.load(tmp_path / f"a{k}.npy"), np.load(tmp_path / f"b{k}.npy")) for k in range(4)]
    )
    assert set(run.table["epsilon"]) == {by_call}


def test_a_killed_actor_is_replaced(cluster, local, tmp_path):
    run = swathe.ray.solve(
        items(), tmp_path / "RUN", Trap(str(tmp_path / "mark"), kill_self), blocks=6
    )
    assert (tmp_path / "mark").exists()
    check_whole(run, local)
    assert sum(place["n_lost"] for place in run.report["places"]) == 1
    assert any("begun again" in warning for warning in run.report["warnings"])


def test_a_block_that_always_fails_is_named(cluster, local, tmp_path):
    def solve(batch):
        if 33.0 in batch.arrays[:, 0]:
            kill_self()
        return batch.arrays.sum(axis=1)

    run = swathe.ray.solve(items(), tmp_path / "RUN", solve, blocks=8, attempts=2)
    assert run.is_complete
    solved, failed = list(run.table["id"]), list(run.failures["id"])
    # The block of item 33 is the seventh of eight.
    assert failed == [str(k) for k in range(30, 35)]
    assert sorted(solved + failed, key=int) == [str(k) for k in range(N_ITEMS)]
    assert all("given up after 2 attempts" in text for text in run.failures["message"])
    values = dict(zip(local.table["id"], local.values))
    for name, value in zip(run.table["id"], [v for v in run.values if v is not None]):
        assert value == values[name]


def test_items_that_raise_fail_alone(cluster, tmp_path):
    def solve(item):
        if item == 5:
            raise KeyError("five")
        return item + 1

    run = swathe.ray.solve(list(range(9)), tmp_path / "RUN", solve, blocks=3, batched=False)
    assert list(run.failures["id"]) == ["5"] and "five" in run.failures["message"][0]
    assert [v for v in run.values if v is not None] == [1, 2, 3, 4, 5, 7, 8, 9]


def test_an_id_that_occurs_twice_is_solved_once(cluster, tmp_path):
    rows = [{"key": f"k{k}", "x": float(k)} for k in range(10)]
    again = ray.data.from_items([*rows, rows[3]])

    def solve(row):
        return row["x"] * 2

    arguments = {"id_column": "key", "batched": False, "blocks": 3}
    with pytest.warns(UserWarning, match="'k3'"):
        run = swathe.ray.solve(again, tmp_path / "RUN", solve, **arguments)
    assert list(run.table["id"]) == [row["key"] for row in rows]
    other = swathe.run(
        [{"x": row["x"]} for row in rows],
        solve,
        batched=False,
        out=tmp_path / "LOCAL",
        ids=[row["key"] for row in rows],
    )
    assert run.info["values_hash"] == other.info["values_hash"]
    differs = ray.data.from_items([*rows, {"key": "k3", "x": -1.0}])
    with pytest.raises(ValueError, match="'k3' names two rows that differ"):
        swathe.ray.solve(differs, tmp_path / "OTHER", solve, **arguments)
    with pytest.raises(ValueError, match="id_column is missing"):
        swathe.ray.solve(differs, tmp_path / "THIRD", solve)


def test_a_command_on_two_nodes(cluster, tmp_path):
    np.savez(tmp_path / "in.npz", **{f"a{k:02}": np.arange(k + 1.0) for k in range(20)})
    words = [sys.executable, "-m", "swathe", "-q", "array", "map", "exp", "in.npz", "--out", "L"]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    run = swathe.ray.solve(
        tmp_path / "in.npz", tmp_path / "RUN", "array", operation="map exp", blocks=4
    )
    local = swathe.open_run(tmp_path / "L")
    assert run.info["values_hash"] == local.info["values_hash"]
    assert list(run.table["name"]) == list(local.table["name"])
    with pytest.raises(ValueError, match="invalid value .unheard."):
        swathe.ray.solve(tmp_path / "in.npz", tmp_path / "X", "array", operation="map unheard")


def test_blocks_in_an_object_store(cluster, local):
    server = pytest.importorskip("moto.server").ThreadedMotoServer(
        ip_address="127.0.0.1", port=0, verbose=False
    )
    from pyarrow import fs

    server.start()
    try:
        _, port = server.get_host_and_port()
        store = fs.S3FileSystem(
            access_key="testing",
            secret_key="testing",
            region="us-east-1",
            scheme="http",
            endpoint_override=f"127.0.0.1:{port}",
            allow_bucket_creation=True,
        )
        store.create_dir("bucket")
        run = swathe.ray.solve(items(), "bucket/RUN", total, filesystem=store, blocks=5)
        check_whole(run, local)
        there = store.get_file_info(fs.FileSelector("bucket/RUN", recursive=True))
        names = {one.path.removeprefix("bucket/RUN/") for one in there}
        assert {"run.json", "values.parquet", "report.html"} <= names
        blocks = [name for name in names if name.endswith("-of-5.tar")]
        assert len(blocks) == 5
        # A block that is lost is solved again, and no other.
        store.delete_file(f"bucket/RUN/{sorted(blocks)[2]}")
        again = swathe.ray.solve(items(), "bucket/RUN", total, filesystem=store)
        check_whole(again, local)
        assert sum(one["event"] == "committed" for one in ledger(again.path)) == 6
    finally:
        server.stop()


class Hanging:
    """Never ends at item 33 as long as a file is there."""

    def __init__(self, mark):
        self.mark = mark

    def __call__(self, batch):
        if 33.0 in batch.arrays[:, 0] and os.path.exists(self.mark):
            time.sleep(600)
        return batch.arrays.sum(axis=1)


DRIVER = """
import sys, ray, swathe, test_ray
ray.init(address=sys.argv[1], _node_ip_address=sys.argv[2], log_to_driver=False)
solve = test_ray.Hanging(sys.argv[4])
swathe.ray.solve(test_ray.items(), sys.argv[3], solve, blocks=8, concurrency=2)
"""


def test_a_killed_driver_goes_on(cluster, local, tmp_path):
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    out, mark = tmp_path / "RUN", tmp_path / "mark"
    mark.touch()
    words = [sys.executable, str(script), cluster.address, HEAD, str(out), str(mark)]
    paths = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths}
    driver = subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    lines = out / "shards" / "blocks.jsonl"
    since = time.monotonic()
    # Block 7 hangs; some of the others are complete.
    while not (
        lines.exists() and any(one["block"] == 7 for one in ledger(out) if one["event"] == "begin")
    ):
        assert driver.poll() is None and time.monotonic() - since < 120
        time.sleep(0.1)
    driver.kill()
    driver.wait()
    assert not (out / "run.json").exists()
    # A line that was being written is ignored.
    with open(lines, "a") as file:
        file.write('{"event": "beg')
    before = list(map_whole(lines))
    n_before = sum(one["event"] == "committed" for one in before)
    with open(lines, "a") as file:
        file.write("\n")
    mark.unlink()
    with pytest.raises(ValueError, match="begun with another workload: .*total"):
        swathe.ray.solve(items(), out, total)
    run = swathe.ray.solve(items(), out, Hanging(str(mark)))
    check_whole(run, local)
    assert n_before >= 1
    committed = [one["block"] for one in map_whole(lines) if one["event"] == "committed"]
    # An actor may end between storing its block and noting that.
    unsure = {one["block"] for one in before} - set(committed) - {7}
    assert 7 in committed and len(committed) == len(set(committed)) == 8 - len(unsure)


def map_whole(lines):
    for line in lines.read_text().splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            continue


def test_a_killed_node_is_done_without(cluster, local, tmp_path):
    """The last test: the second node is gone after it."""
    out, mark = tmp_path / "RUN", tmp_path / "mark"

    def slow(batch):
        time.sleep(0.2)
        return batch.arrays.sum(axis=1)

    import threading

    def kill_when_busy():
        since = time.monotonic()
        while time.monotonic() - since < 120:
            lines = out / "shards" / "blocks.jsonl"
            begun = list(map_whole(lines)) if lines.exists() else []
            if any(one["node"].startswith(SECOND) for one in begun):
                cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
                mark.touch()
                return
            time.sleep(0.05)

    killer = threading.Thread(target=kill_when_busy)
    killer.start()
    run = swathe.ray.solve(items(), out, slow, blocks=20, concurrency=4)
    killer.join()
    assert mark.exists()
    check_whole(run, local)


def test_without_ray_the_extra_is_named(tmp_path):
    code = textwrap.dedent(
        """
        import sys
        sys.modules["ray"] = None
        import numpy as np, swathe
        assert swathe.array.matmul([np.eye(2)], [np.ones((2, 2))])[0].sum() == 4
        try:
            swathe.ray.solve([1], "RUN", print)
        except ImportError as error:
            print(error)
        """
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert 'pip install "ray[data]>=2.60,<3" pandas pyarrow' in ended.stdout, ended.stderr
    assert not (tmp_path / "RUN").exists()
