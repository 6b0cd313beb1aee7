"""The jobs of workloads/array/solver/benches/kernels.rs, done by NumPy and PyTorch on one thread.

usage: python benches/peers/arrays.py [NAME...]     (needs numpy and torch)

Prints `name,shape,count,value,unit` lines: the least time of many repetitions, as there. The
jobs whose names contain one of the words are run.
"""

import os
import sys
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
import torch

torch.set_num_threads(1)
RNG = np.random.default_rng(0)


def main():
    words = sys.argv[1:]

    def is_wanted(name):
        return not words or any(word in name for word in words)

    print(f"# numpy {np.__version__}, torch {torch.__version__}")
    print("name,shape,count,value,unit")
    with torch.no_grad():
        if is_wanted("matmul"):
            squares()
        if is_wanted("ragged"):
            ragged()
        if is_wanted("map"):
            for count, n_elements in ((10, 1000), (1000, 1000), (10, 100_000), (10, 1_000_000)):
                maps(count, n_elements)
        if is_wanted("xor"):
            xors()


def best(job):
    """Seconds of the quickest run: other work on the machine only ever adds to it."""
    job()
    end = time.perf_counter() + 0.35
    least, n_done = float("inf"), 0
    while n_done < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        job()
        least = min(least, time.perf_counter() - start)
        n_done += 1
    return least


def report(name, shape, count, amount, job, unit):
    print(f"{name},{shape},{count},{amount / best(job) / 1e9:.2f},{unit}", flush=True)


def squares():
    sizes = ((16, (10, 100, 1000)), (64, (10, 100, 1000)), (128, (1, 10, 100)), (256, (1, 10, 100)), (512, (1, 10)))
    for n, counts in sizes:
        for count in counts:
            a = RNG.standard_normal((count, n, n), dtype=np.float32)
            b = RNG.standard_normal((count, n, n), dtype=np.float32)
            rows_a, rows_b = list(a), list(b)
            torch_a, torch_b = torch.from_numpy(a), torch.from_numpy(b)
            job = (f"n={n}", count, 2.0 * n**3 * count)
            report("matmul_f32 numpy one by one", *job, lambda: [x @ y for x, y in zip(rows_a, rows_b)], "GFLOP/s")
            report("matmul_f32 numpy batched", *job, lambda: a @ b, "GFLOP/s")
            report("matmul_f32 torch.bmm", *job, lambda: torch.bmm(torch_a, torch_b), "GFLOP/s")
            report("matmul_f32 stack+bmm+split", *job, lambda: stack_bmm_split(rows_a, rows_b), "GFLOP/s")


def stack_bmm_split(left, right):
    a, b = torch.from_numpy(np.stack(left)), torch.from_numpy(np.stack(right))
    return list(torch.bmm(a, b).numpy())


def ragged():
    """A thousand products with n log-uniform in 16-128; operations are counted without padding."""
    sizes = np.rint(16.0 * 8.0 ** RNG.random(1000)).astype(int)
    left = [RNG.standard_normal((n, n), dtype=np.float32) for n in sizes]
    right = [RNG.standard_normal((n, n), dtype=np.float32) for n in sizes]
    job = ("n=16..128", 1000, float(2 * (sizes**3).sum()))
    report("ragged_f32 pad to the largest", *job, lambda: padded(left, right, int(sizes.max())), "GFLOP/s")
    report("ragged_f32 numpy one by one", *job, lambda: [x @ y for x, y in zip(left, right)], "GFLOP/s")


def padded(left, right, n_max):
    a = torch.zeros((len(left), n_max, n_max))
    b = torch.zeros((len(left), n_max, n_max))
    for i, (x, y) in enumerate(zip(left, right)):
        a[i, : x.shape[0], : x.shape[1]] = torch.from_numpy(x)
        b[i, : y.shape[0], : y.shape[1]] = torch.from_numpy(y)
    c = torch.bmm(a, b).numpy()
    return [c[i, : x.shape[0], : x.shape[1]].copy() for i, x in enumerate(left)]


def maps(count, n_elements):
    x = np.abs(RNG.standard_normal((count, n_elements), dtype=np.float32)) + np.float32(1e-3)
    out = np.empty_like(x)
    torch_x, torch_out = torch.from_numpy(x), torch.empty(x.shape)
    half = np.float32(1.5)
    jobs = (
        ("add", lambda: np.add(x, half, out=out), lambda: torch.add(torch_x, 1.5, out=torch_out)),
        ("multiply", lambda: np.multiply(x, half, out=out), lambda: torch.mul(torch_x, 1.5, out=torch_out)),
        ("square", lambda: np.square(x, out=out), lambda: torch.square(torch_x, out=torch_out)),
        ("sqrt", lambda: np.sqrt(x, out=out), lambda: torch.sqrt(torch_x, out=torch_out)),
        ("exp", lambda: np.exp(x, out=out), lambda: torch.exp(torch_x, out=torch_out)),
        ("log", lambda: np.log(x, out=out), lambda: torch.log(torch_x, out=torch_out)),
    )
    for name, by_numpy, by_torch in jobs:
        job = (f"len={n_elements}", count, x.nbytes * 2.0)
        report(f"map_f32_{name} numpy stacked", *job, by_numpy, "GB/s")
        report(f"map_f32_{name} torch stacked", *job, by_torch, "GB/s")


def xors():
    for count, n_elements in ((1000, 1000), (100, 100_000), (4, 64_000_000)):
        x = RNG.integers(0, 256, (count, n_elements), dtype=np.uint8)
        key = RNG.integers(0, 256, (count, n_elements), dtype=np.uint8)
        shape = f"len={n_elements}"
        report("memcpy_u8 numpy", shape, count, 2.0 * x.size, lambda: np.copyto(x, key), "GB/s")
        report("xor_u8_array numpy", shape, count, 3.0 * x.size, lambda: np.bitwise_xor(x, key, out=x), "GB/s")


if __name__ == "__main__":
    main()
