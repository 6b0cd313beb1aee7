"""What Ray costs: start-up, a block, throughput beside one process, bytes through the object store.

    python benches/cluster.py [n_pairs]

Both ways use two threads on this machine: one process with two, and two actors with one each. They
take turns three times; the best of each counts. The pairs are synthetic frames of 256 x 512.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

import pyarrow as pa
import ray
import swathe

COMMAND = [sys.executable, "-m", "swathe", "-q"]


def timed(work):
    since = time.monotonic()
    done = work()
    return time.monotonic() - since, done


def busy(item):
    """About ten milliseconds of one core."""
    total, until = 0, time.process_time() + 0.01
    while time.process_time() < until:
        total += 1
    return item


def stored_bytes(run, n_problems):
    """What goes through the object store: the number of a block and an empty text back, for each
    block. The plan goes to every actor once; frames and results stay in files."""
    blocks = pa.table({"block": [1]}).nbytes + pa.table({"block": [1], "wrong": [""]}).nbytes
    n_blocks = len(list((run.path / "shards").glob("*-of-*")))
    return blocks * n_blocks / n_problems


def main():
    n_pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 320
    folder = Path(tempfile.mkdtemp())
    frames = max(2, n_pairs // 10 + 1)
    synth = ["ot", "synth", "--series", "10", "--frames", str(frames), "--shape", "256x512"]
    subprocess.run([*COMMAND, *synth, "--out", str(folder / "in")], check=True, capture_output=True)
    table = folder / "in" / "pairs.csv"
    n_pairs = len(table.read_text().splitlines()) - 1

    started, _ = timed(lambda: ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False))
    print(f"ray.init: {started:.1f} s")
    first, _ = timed(lambda: swathe.ray.solve([1], folder / "first", busy, batched=False, blocks=1))
    print(f"one item in one block, actor started for it, merged: {first:.1f} s")
    second, _ = timed(lambda: swathe.ray.solve([1], folder / "second", busy, batched=False, blocks=1))
    print(f"the same again: {second:.1f} s")

    def cluster(number):
        return lambda: swathe.ray.solve(
            table, folder / f"ray{number}", "ot", num_cpus=1, concurrency=2, blocks=8, epsilon=1e-4
        )

    def process(number):
        words = ["ot", str(table), "--epsilon", "1e-4", "--threads", "2", "--device", "cpu"]
        words += ["--out", str(folder / f"local{number}")]
        return lambda: subprocess.run([*COMMAND, *words], check=True, capture_output=True)

    best = {"process": 1e9, "ray": 1e9}
    for number in range(3):
        best["process"] = min(best["process"], timed(process(number))[0])
        took, run = timed(cluster(number))
        best["ray"] = min(best["ray"], took)
    same = swathe.open_run(folder / "local0").info["values_hash"] == run.info["values_hash"]
    print(f"{n_pairs} pairs: {best['process']:.2f} s in a process, {best['ray']:.2f} s on Ray with")
    print(f"  8 blocks, its start-up included: {best['process'] / best['ray']:.0%}; same values: {same}")
    busy_s = sum(place["busy_ms"] for place in run.report["places"]) / 1e3 / 2
    print(f"  blocks alone: {busy_s:.2f} s on two actors: {best['process'] / busy_s:.0%}")
    print(f"  through the object store: {stored_bytes(run, n_pairs):.1f} bytes a pair")

    items = list(range(1000))
    took, run = timed(
        lambda: swathe.ray.solve(items, folder / "items", busy, batched=False, blocks=8)
    )
    busy_s = sum(place["busy_ms"] for place in run.report["places"]) / 1e3 / 2
    print(f"1,000 callables of 10 ms: {took:.2f} s, blocks alone {busy_s:.2f} s, ideal 5.00 s")

    few, _ = timed(lambda: swathe.ray.solve(items[:64], folder / "b2", busy, batched=False, blocks=2))
    many, _ = timed(lambda: swathe.ray.solve(items[:64], folder / "b64", busy, batched=False, blocks=64))
    print(f"a block: {(many - few) / 62 * 1e3:.0f} ms (64 blocks against 2, 64 items, merge included)")


if __name__ == "__main__":
    main()
