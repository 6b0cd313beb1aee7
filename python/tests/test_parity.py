"""OTT-JAX and POT on small pairs, in f64: the same plans, velocities and costs."""

import numpy as np
import pytest
import swathe
from conftest import disc

EPSILON, RHO = 5e-3, 0.5
SHAPE = (14, 18)


def frames():
    a, b = disc(SHAPE, (6, 6), 3), disc(SHAPE, (7, 9), 3)
    a[6, 6], b[8, 9] = 2.0, 3.0
    return a / a.sum(), b / b.sum()


def pixels(frame):
    """Coordinates in cost units, and masses, of the pixels with mass."""
    y, x = np.nonzero(frame)
    return np.stack([y, x], axis=1) / max(SHAPE), frame[y, x]


def compare(plan, reference):
    """A plan over the pixels with mass against ours."""
    a, b = frames()
    (xa, p), (xb, q) = pixels(a), pixels(b)
    cost = ((xa[:, None] - xb) ** 2).sum(-1)
    ours = swathe.ot.solve(
        a, b, epsilon=EPSILON, relaxation=RHO, reference=reference, tolerance=1e-10,
        precision="f64",
    )
    assert ours.converged
    assert ours.mass_transported == pytest.approx(plan.sum(), rel=1e-6)
    assert ours.cost == pytest.approx((plan * cost).sum(), rel=1e-6)
    ya, xs = np.nonzero(a)
    velocity = (plan @ xb / plan.sum(1, keepdims=True) - xa) * max(SHAPE)
    np.testing.assert_allclose(ours.velocity_raw[ya, xs], velocity, atol=1e-5)
    np.testing.assert_allclose(ours.destroyed[ya, xs], p - plan.sum(1), atol=1e-8)
    yb, xt = np.nonzero(b)
    np.testing.assert_allclose(ours.created[yb, xt], q - plan.sum(0), atol=1e-8)
    rows, columns = ya * SHAPE[1] + xs, yb * SHAPE[1] + xt
    dense = ours.coupling(threshold=1e-14).toarray()[np.ix_(rows, columns)]
    np.testing.assert_allclose(dense, plan, atol=1e-9)
    return ours, cost


@pytest.fixture(scope="module")
def jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return jax


def ott_solve(geometry, a, b):
    from ott.problems.linear import linear_problem
    from ott.solvers.linear import sinkhorn

    tau = RHO / (RHO + EPSILON)
    problem = linear_problem.LinearProblem(geometry, a=a, b=b, tau_a=tau, tau_b=tau)
    solver = sinkhorn.Sinkhorn(threshold=1e-12, max_iterations=100_000)
    out = solver(problem)
    assert out.converged
    return out


def test_ott_point_clouds(jax):
    pointcloud = pytest.importorskip("ott.geometry.pointcloud")
    a, b = frames()
    (xa, p), (xb, q) = pixels(a), pixels(b)
    out = ott_solve(pointcloud.PointCloud(xa, xb, epsilon=EPSILON), p, q)
    ours, cost = compare(np.asarray(out.matrix), "counting")
    # What tau says of rho is what we make of it.
    by_tau = swathe.ot.solve(
        a, b, epsilon=EPSILON, tau=RHO / (RHO + EPSILON), reference="counting", tolerance=1e-10,
        precision="f64",
    )
    assert by_tau.mass_transported == pytest.approx(ours.mass_transported, rel=1e-9)


def test_ott_regularised_cost(jax):
    """Ours is the minimised value. Theirs is the same for balanced transport with the product
    measure; with tau < 1 it is a dual value at potentials of another measure, which the plan gives."""
    pointcloud = pytest.importorskip("ott.geometry.pointcloud")
    a, b = frames()
    (xa, p), (xb, q) = pixels(a), pixels(b)
    out = ott_solve(pointcloud.PointCloud(xa, xb, epsilon=EPSILON), p, q)
    plan = np.asarray(out.matrix)
    ours, cost = compare(plan, "counting")

    def kl(x, y):
        return (x * np.log(x / y) - x + y).sum()

    entropy = (plan * np.log(plan) - plan + 1).sum()
    objective = (plan * cost).sum() + EPSILON * entropy
    objective += RHO * (kl(plan.sum(1), p) + kl(plan.sum(0), q))
    assert ours.objective == pytest.approx(objective, rel=1e-6)

    power = EPSILON / RHO
    theirs = RHO * (p - plan.sum(1) * p**power).sum() + RHO * (q - plan.sum(0) * q**power).sum()
    theirs += EPSILON * (1 - plan.sum())
    assert float(out.reg_ot_cost) == pytest.approx(theirs, rel=1e-9)

    from ott.problems.linear import linear_problem
    from ott.solvers.linear import sinkhorn

    geometry = pointcloud.PointCloud(xa, xb, epsilon=EPSILON)
    solver = sinkhorn.Sinkhorn(threshold=1e-12, max_iterations=100_000)
    balanced = solver(linear_problem.LinearProblem(geometry, a=p, b=q))
    ours = swathe.ot.solve(
        a, b, epsilon=EPSILON, relaxation=np.inf, tolerance=1e-10, precision="f64"
    )
    assert ours.objective == pytest.approx(float(balanced.reg_ot_cost), rel=1e-8)


def test_ott_grids(jax):
    grid = pytest.importorskip("ott.geometry.grid")
    a, b = frames()
    axes = [np.arange(n) / max(SHAPE) for n in SHAPE]
    # A grid has all pixels; those without mass get next to none.
    p, q = np.maximum(a, 1e-30).ravel(), np.maximum(b, 1e-30).ravel()
    out = ott_solve(grid.Grid(x=axes, epsilon=EPSILON), p, q)
    ours = swathe.ot.solve(
        a, b, epsilon=EPSILON, relaxation=RHO, reference="counting", tolerance=1e-10,
        precision="f64",
    )
    marginal = np.asarray(out.marginal(axis=1)).reshape(SHAPE)
    live = a > 0
    np.testing.assert_allclose(a[live] - marginal[live], ours.destroyed[live], atol=1e-7)


@pytest.mark.parametrize(("reg_type", "reference"), [("entropy", "counting"), ("kl", "product")])
def test_pot(reg_type, reference):
    unbalanced = pytest.importorskip("ot.unbalanced")
    a, b = frames()
    (xa, p), (xb, q) = pixels(a), pixels(b)
    cost = ((xa[:, None] - xb) ** 2).sum(-1)
    plan = unbalanced.sinkhorn_stabilized_unbalanced(
        p, q, cost, EPSILON, RHO, reg_type=reg_type, numItermax=200_000, stopThr=1e-14
    )
    compare(np.asarray(plan), reference)
