"""The pairs of workloads/ot/solver/examples/bench.rs, solved by swathe, OTT-JAX and POT in turn.

usage: cargo build --release -p swathe-ot --example bench
       python benches/peers/ot.py target/release/examples/bench [SHAPE [PAIR...]]
       cargo build --release -p swathe-cli
       python benches/peers/ot.py --defaults target/release/swathe [SHAPE]
       (needs numpy, pillow, jax, ott-jax and pot; SHAPE 64x128 or 256x512, PAIR 0, 1, 2; SWATHE_PEERS=pot
       keeps the slow solvers whose names contain a word)

Prints `solver,shape,pair,cpu_ms,wall_ms,mass,cost,note` lines: one pair, epsilon 1e-3, rho 0.1, the
counting measure, which is what the peers solve. swathe and OTT-JAX's kernel mode run three times in
turn, the least counts; the slower ones run once. Compilation is left out. swathe stops at a residual of 1e-5 of both marginals, OTT-JAX at its
own threshold of 1e-4, POT at a change of 1e-6. cpu_ms counts all threads: swathe uses one per pair.

With --defaults, the whole command `swathe ot pairs.csv --out RUN` as it comes (files, debiasing, error
bar, table, page; epsilon auto, rho 10) on the 32 pairs of neighbours of `swathe ot synth --series 4
--frames 9` is set against OTT-JAX's solve alone, at the same epsilon and rho, of four of them, in turn.
"""

import csv
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import warnings

os.environ["POT_BACKEND_DISABLE_JAX"] = "1"
# Threads that wait in a loop would count as work.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
# POT's package has this file's name: look for it elsewhere than in this file's folder.
sys.path.pop(0)

import jax
import jax.numpy as jnp
import numpy as np
import ot
from PIL import Image
from ott.geometry import grid, pointcloud
from ott.problems.linear import linear_problem
from ott.solvers.linear import sinkhorn

EPSILON, RHO = 1e-3, 0.1
TAU = RHO / (RHO + EPSILON)
# OTT-JAX's Grid gives wrong marginals where weights are exactly zero.
FLOOR = 1e-12
N_TURNS = 3
N_PEER_PAIRS = 4


def main():
    if sys.argv[1] == "--defaults":
        return defaults(sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "256x512")
    bench = sys.argv[1]
    shape = sys.argv[2] if len(sys.argv) > 2 else "64x128"
    numbers = [int(n) for n in sys.argv[3:]] or [0, 1, 2]
    h, w = (int(n) for n in shape.split("x"))
    print("solver,shape,pair,cpu_ms,wall_ms,mass,cost,note")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([bench, "--only", "none", "--dump", folder], check=True, stdout=subprocess.DEVNULL)
        for number in numbers:
            a, b = (np.fromfile(f"{folder}/{side}_{h}_{number}.bin").reshape(h, w) for side in "ab")
            fast = {
                "swathe": lambda: swathe(bench, shape, number),
                "ott grid, kernel": ott_grid(a, b, lse_mode=False),
            }
            slow = {}
            if h * w <= 64 * 128:
                # Larger pairs would need a matrix of all pixels by all pixels.
                slow = {"pot": pot, "ott pointcloud": ott_points, "ott grid, lse": ott_grid}
            word = os.environ.get("SWATHE_PEERS", "")
            slow = {name: solver for name, solver in slow.items() if word in name}
            turns = [{name: solve() for name, solve in fast.items()} for _ in range(N_TURNS)]
            for name in fast:
                report(name, shape, number, min(turn[name] for turn in turns))
            for name, solver in slow.items():
                report(name, shape, number, solver(a, b)())


def defaults(program, shape):
    program = os.path.abspath(program)
    print("solver,shape,cpu_ms_per_pair,wall_ms_per_pair,note")
    with tempfile.TemporaryDirectory() as folder:
        series = [program, "ot", "synth", "--series", "4", "--frames", "9", "--shape", shape, "--out", "."]
        subprocess.run(series, cwd=folder, check=True, capture_output=True)
        with open(f"{folder}/pairs.csv") as file:
            pairs = [[row["src"], row["tgt"]] for row in csv.DictReader(file)]
        ours, theirs, peers = [], [], None
        for turn in range(N_TURNS):
            figures, epsilon, rho = whole_command(program, folder, turn, len(pairs))
            ours.append(figures)
            # Its compilation is left out, as everywhere.
            chosen = pairs[:: len(pairs) // N_PEER_PAIRS]
            peers = peers or [
                ott_grid(*(mass(f"{folder}/{frame}") for frame in pair), False, epsilon, rho) for pair in chosen
            ]
            theirs.append([solve() for solve in peers])
    cpu_ms, wall_ms = (min(turn[k] for turn in ours) for k in (0, 1))
    print(f"swathe ot,{shape},{cpu_ms:.1f},{wall_ms:.1f},epsilon {epsilon:g} rho {rho:g} {len(pairs)} pairs")
    for figures in zip(*theirs):
        least = min(figures)
        print(f"ott grid kernel,{shape},{least[0]:.1f},{least[1]:.1f},{least[4]}")
        print(f"ratio,{shape},{least[0] / cpu_ms:.1f},{least[1] / wall_ms:.1f},")


def mass(path):
    frame = np.asarray(Image.open(path), dtype=np.float64)
    return frame / frame.sum()


def whole_command(program, folder, turn, n_pairs):
    """Processor and wall time of a pair, and the settings that the run chose."""
    out = f"{folder}/run{turn}"
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [program, "ot", "pairs.csv", "--out", out, "--device", "cpu"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    wall_ms = (time.perf_counter() - start) * 1e3
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_ms = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3
    with open(f"{out}/run.json") as file:
        settings = json.load(file)["settings"]
    return (cpu_ms / n_pairs, wall_ms / n_pairs), float(settings["epsilon"]), float(settings["relaxation"])


def report(name, shape, number, figures):
    cpu_ms, wall_ms, mass, cost, note = figures
    print(f"{name},{shape},{number},{cpu_ms:.1f},{wall_ms:.1f},{mass:.5f},{cost:.5e},{note}", flush=True)


def swathe(bench, shape, number):
    label = f"{shape} pair {number} \u03b5 1e-3 \u03c1 0.1 Counting"
    # The scheduler counts processor time in ticks: short solves are measured many at a time.
    n_runs = "40" if shape == "64x128" else "5"
    run = subprocess.run([bench, "--only", label, "--runs", n_runs], check=True, capture_output=True, text=True)
    line = run.stdout.strip().splitlines()[-1]
    cpu_ms = float(re.search(r": ([0-9.]+) ms", line)[1])
    mass = float(re.search(r"mass ([0-9.]+)", line)[1])
    cost = float(re.search(r"cost ([0-9.e-]+)", line)[1])
    note = re.search(r"\d+ \+ \d+ sweeps", line)[0]
    return cpu_ms, cpu_ms, mass, cost, note


def timed(job):
    start, cpu = time.perf_counter(), time.process_time()
    answer = job()
    return (time.process_time() - cpu) * 1e3, (time.perf_counter() - start) * 1e3, answer


def ott_solver(lse_mode):
    return sinkhorn.Sinkhorn(max_iterations=2000, threshold=1e-4, lse_mode=lse_mode)


def ott_grid(a, b, lse_mode=True, epsilon=EPSILON, rho=RHO):
    h, w = a.shape
    tau = rho / (rho + epsilon)
    scale = 1.0 / max(h, w)
    axes = [jnp.arange(n, dtype=jnp.float32) * scale for n in (h, w)]
    weights = [jnp.asarray(np.maximum(m, FLOOR).ravel(), jnp.float32) for m in (a, b)]

    @jax.jit
    def solve(a, b):
        geometry = grid.Grid(x=axes, epsilon=epsilon)
        problem = linear_problem.LinearProblem(geometry, a=a, b=b, tau_a=tau, tau_b=tau)
        out = ott_solver(lse_mode)(problem)
        return out.marginal(1), out.n_iters, out.converged

    return ott_run(solve, weights)


def ott_points(a, b):
    scale = 1.0 / max(a.shape)
    points = [jnp.asarray(np.argwhere(m > 0) * scale, jnp.float32) for m in (a, b)]
    weights = [jnp.asarray(m[m > 0], jnp.float32) for m in (a, b)]

    @jax.jit
    def solve(x, y, a, b):
        geometry = pointcloud.PointCloud(x, y, epsilon=EPSILON)
        problem = linear_problem.LinearProblem(geometry, a=a, b=b, tau_a=TAU, tau_b=TAU)
        out = ott_solver(True)(problem)
        return out.marginal(1), out.n_iters, out.converged

    return ott_run(solve, points + weights)


def ott_run(solve, inputs):
    jax.block_until_ready(solve(*inputs))

    def run():
        cpu_ms, wall_ms, (marginal, n_iters, converged) = timed(lambda: jax.block_until_ready(solve(*inputs)))
        note = f"{int(n_iters)} iterations{'' if bool(converged) else '; not converged'}"
        return cpu_ms, wall_ms, float(np.sum(np.asarray(marginal, np.float64))), float("nan"), note

    return run


def pot(a, b):
    scale = 1.0 / max(a.shape)
    x, y = (np.argwhere(m > 0) * scale for m in (a, b))
    weights = a[a > 0], b[b > 0]

    def solve():
        costs = ot.dist(x, y, metric="sqeuclidean")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plan, log = ot.unbalanced.sinkhorn_knopp_unbalanced(
                *weights, costs, EPSILON, RHO, reg_type="entropy", numItermax=1000, stopThr=1e-6, log=True
            )
        return plan.sum(), (plan * costs).sum(), len(log["err"])

    def run():
        cpu_ms, wall_ms, (mass, cost, n_checks) = timed(solve)
        return cpu_ms, wall_ms, float(mass), float(cost), f"{n_checks} checks"

    return run


if __name__ == "__main__":
    main()
