"""The command `swathe ot check` on answers of POT and OTT-JAX, against `swathe.ot.check`."""

import json
import subprocess
import sys

import numpy as np
import pytest
import swathe
from conftest import disc

EPSILON, RHO = 5e-3, 0.5
SHAPE = (14, 18)
SETTINGS = ["--epsilon", str(EPSILON), "--relaxation", str(RHO)]


@pytest.fixture
def frames(tmp_path):
    a, b = disc(SHAPE, (6, 6), 3), disc(SHAPE, (7, 9), 3)
    a[6, 6], b[8, 9] = 2.0, 3.0
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    return a, b


def judge(folder, *words):
    """What the command says."""
    command = [sys.executable, "-m", "swathe", "ot", "check", "a.npy", "b.npy", "--json"]
    ended = subprocess.run(
        [*command, *SETTINGS, *words], cwd=folder, check=True, capture_output=True
    )
    return json.loads(ended.stdout)


def points(frame):
    y, x = np.nonzero(frame)
    return np.stack([y, x], axis=1) / max(SHAPE), frame[y, x] / frame.sum()


def test_plans_of_pot(frames, tmp_path):
    ot = pytest.importorskip("ot")
    sparse = pytest.importorskip("scipy.sparse")
    a, b = frames
    (xa, p), (xb, q) = points(a), points(b)
    cost = ((xa[:, None] - xb) ** 2).sum(-1)

    def plan_of(n_max):
        return ot.unbalanced.sinkhorn_unbalanced(
            p, q, cost, EPSILON, RHO, reg_type="kl", c=np.outer(p, q),
            numItermax=n_max, stopThr=1e-14,
        )

    plan = plan_of(100_000)
    whole = np.zeros((a.size, b.size))
    whole[np.ix_(np.flatnonzero(a), np.flatnonzero(b))] = plan
    settings = {"epsilon": EPSILON, "relaxation": RHO}
    expected = swathe.ot.check(a, b, plan=whole, **settings)
    assert expected["cost"] == pytest.approx((plan * cost).sum(), rel=1e-9)
    assert expected["residual_src"] < 1e-4 and expected["gap"] < 1e-6
    # Over all pixels and over those with mass, in all formats.
    assert swathe.ot.check(a, b, plan=plan, **settings) == expected
    for name, matrix in [("whole", whole), ("live", plan)]:
        np.save(tmp_path / f"{name}.npy", matrix)
        assert judge(tmp_path, "--plan", f"{name}.npy") == expected
        for form in ("csr", "csc", "coo"):
            path = f"{name}_{form}.npz"
            sparse.save_npz(tmp_path / path, sparse.coo_matrix(matrix).asformat(form))
            assert judge(tmp_path, "--plan", path) == expected
    # Few iterations: the plan looks like one, and is not the minimum.
    np.save(tmp_path / "early.npy", plan_of(2))
    early = judge(tmp_path, "--plan", "early.npy")
    assert early["residual_src"] + early["residual_tgt"] > 1e-3
    assert early["gap"] > 10 * expected["gap"]


def test_potentials_of_ott(frames, tmp_path):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    from ott.geometry import pointcloud
    from ott.problems.linear import linear_problem
    from ott.solvers.linear import sinkhorn

    a, b = frames
    (xa, p), (xb, q) = points(a), points(b)
    geometry = pointcloud.PointCloud(xa, xb, epsilon=EPSILON)
    tau = RHO / (RHO + EPSILON)
    problem = linear_problem.LinearProblem(geometry, a=p, b=q, tau_a=tau, tau_b=tau)

    def potentials(n_max):
        solver = sinkhorn.Sinkhorn(threshold=1e-12, max_iterations=n_max, lse_mode=True)
        out = solver(problem)
        return np.asarray(out.f), np.asarray(out.g)

    f, g = potentials(20_000)
    np.save(tmp_path / "f.npy", f)
    np.save(tmp_path / "g.npy", g)
    words = ["--reference", "counting"]
    found = judge(tmp_path, "--potentials", "f.npy", "g.npy", *words)
    assert found["residual_src"] < 1e-6 and found["residual_tgt"] < 1e-6
    assert found["gap"] < 1e-8
    whole_f, whole_g = np.full(SHAPE, np.nan), np.full(SHAPE, np.nan)
    whole_f[a > 0], whole_g[b > 0] = f, g
    settings = {"epsilon": EPSILON, "relaxation": RHO, "reference": "counting"}
    assert swathe.ot.check(a, b, whole_f, whole_g, **settings) == found
    np.savez(tmp_path / "both.npz", f=whole_f, g=whole_g)
    assert judge(tmp_path, "--potentials", "both.npz", *words) == found
    early_f, early_g = potentials(10)
    np.savez(tmp_path / "early.npz", f=early_f, g=early_g)
    early = judge(tmp_path, "--potentials", "early.npz", *words)
    assert early["residual_src"] + early["residual_tgt"] > 1e-3
    assert early["gap"] > 100 * found["gap"]
