"""What the Python package costs beside what it computes, and against plain loops.

    pip install . && python benches/peers/python_calls.py [TASKS.json PROGRAMS.py]

Every figure is the best of several, and compared ones are taken in turn.
"""

import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import swathe


def best(function, n=7):
    """The shortest of n calls, in seconds."""
    times = []
    for _ in range(n):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def in_turn(*functions, n=7):
    """The shortest of n calls of each, taken in turn."""
    times = [[] for _ in functions]
    for _ in range(n):
        for function, own in zip(functions, times):
            start = time.perf_counter()
            function()
            own.append(time.perf_counter() - start)
    return [min(own) for own in times]


def imports():
    code = "import time, numpy; t = time.perf_counter(); import swathe; print(time.perf_counter() - t)"
    times = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5)]
    print(f"import swathe, after numpy: {min(times) * 1e3:.1f} ms")


def tiny_pairs():
    a, b = np.zeros((8, 8)), np.zeros((8, 8))
    a[3, 3], b[4, 4] = 1, 1
    one = best(lambda: [swathe.ot.solve_batch([(a, b)]) for _ in range(200)]) / 200
    # A batch of one by one: what is left for each pair is the solve.
    many = best(lambda: swathe.ot.solve_batch([(a, b)] * 2000, mode="sequential")) / 2000
    print(f"solve_batch of one tiny pair: {one * 1e6:.0f} µs, of which a solve {many * 1e6:.0f} µs")


def arrays_in():
    frame = np.zeros((256, 512), dtype=np.uint8)
    rows = [(frame, frame)] * 20_000
    raw = swathe._swathe.ot
    # Geometry of one pair scans it; taking views alone is what an argument error leaves.
    bad = rows + [(frame, None)]

    def views():
        try:
            raw.solve_pairs(bad, {}, {}, False, True, False, None)
        except Exception:
            pass

    print(f"taking in an array: {best(views, 5) / (2 * len(rows)) * 1e6:.2f} µs")


def products():
    left = [np.random.rand(16, 16).astype(np.float32) for _ in range(1000)]
    right = [np.random.rand(16, 16).astype(np.float32) for _ in range(1000)]
    functions = [
        lambda: swathe.array.matmul(left, right),
        lambda: [np.matmul(a, b) for a, b in zip(left, right)],
    ]
    names = ["swathe", "np.matmul in a loop"]
    try:
        import torch

        lt, rt = [torch.from_numpy(a) for a in left], [torch.from_numpy(b) for b in right]
        functions.append(lambda: torch.bmm(torch.stack(lt), torch.stack(rt)).unbind(0))
        names.append("torch stack-bmm-unbind")
    except ImportError:
        pass
    for name, seconds in zip(names, in_turn(*functions, n=30)):
        print(f"1,000 products of 16x16, {name}: {seconds * 1e3:.2f} ms")


def callables():
    items = list(range(100_000))
    double = lambda item: item * 2  # noqa: E731
    arrays = [np.float64(k) for k in items]

    def pool():
        with ThreadPoolExecutor() as executor:
            list(executor.map(double, items))

    seconds = in_turn(
        lambda: swathe.run(items, double, batched=False),
        lambda: swathe.run(arrays, lambda batch: batch.arrays * 2),
        lambda: [double(item) for item in items],
        pool,
        n=3,
    )
    names = ["swathe.run, one by one", "swathe.run, batched", "a loop", "ThreadPoolExecutor.map"]
    for name, own in zip(names, seconds):
        print(f"100,000 trivial callables, {name}: {own * 1e3:.0f} ms")


def grid_programs(tasks, programs):
    library = swathe.arc.Library.from_file(programs)
    with open(tasks) as file:
        loaded = json.load(file)
    with tempfile.TemporaryDirectory() as folder:

        def command():
            out = str(Path(folder) / str(time.perf_counter_ns()))
            words = ["arc", "--programs", programs, "--tasks", tasks, "--out", out, "-q"]
            subprocess.run([sys.executable, "-m", "swathe", *words], stdout=subprocess.DEVNULL)

        ours, theirs = in_turn(lambda: library.run(loaded), command, n=3)
    print(f"all programs on all tasks: library.run {ours:.2f} s, the command {theirs:.2f} s")


if __name__ == "__main__":
    imports()
    tiny_pairs()
    arrays_in()
    products()
    callables()
    if len(sys.argv) == 3:
        grid_programs(*sys.argv[1:])
