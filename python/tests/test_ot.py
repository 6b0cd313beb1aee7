"""Transport: the numbers of the command, independent solutions, arguments, manners."""

import csv
import gc
import math
import multiprocessing
import re
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
import swathe
from conftest import disc, process_of


def dense(a, b, epsilon, rho, n_sweeps=20_000):
    """The plan of a small pair by plain sweeps over the whole matrix, in f64 and in logarithms."""
    scale = 1 / max(a.shape)
    ya, xa = np.nonzero(a)
    yb, xb = np.nonzero(b)
    p, q = a[ya, xa] / a.sum(), b[yb, xb] / b.sum()
    cost = scale**2 * ((ya[:, None] - yb) ** 2 + (xa[:, None] - xb) ** 2)
    f, g, tau = np.zeros(len(p)), np.zeros(len(q)), rho / (rho + epsilon)
    for _ in range(n_sweeps):
        old = f
        f = -tau * epsilon * np.log(np.exp((g - cost) / epsilon) @ q)
        g = -tau * epsilon * np.log(p @ np.exp((f[:, None] - cost) / epsilon))
        if np.abs(f - old).max() < 1e-13:
            break
    plan = p[:, None] * q * np.exp((f[:, None] + g - cost) / epsilon)
    velocity = np.stack(
        [(plan @ yb) / plan.sum(1) - ya, (plan @ xb) / plan.sum(1) - xa], axis=-1
    )
    return plan, (plan * cost).sum(), velocity, (ya, xa)


@pytest.mark.parametrize("rho", [0.05, 1.0])
def test_a_small_pair_is_the_dense_solution(rho):
    a, b = disc((18, 24), (8, 9), 4), disc((18, 24), (9, 12), 4)
    a[8, 9] = 2.5
    plan, cost, velocity, (ys, xs) = dense(a, b, 5e-3, rho)
    solution = swathe.ot.solve(a, b, epsilon=5e-3, relaxation=rho, tolerance=1e-9, precision="f64")
    assert solution.converged
    assert solution.cost == pytest.approx(cost, rel=1e-6)
    assert solution.mass_transported == pytest.approx(plan.sum(), rel=1e-6)
    np.testing.assert_allclose(solution.velocity_raw[ys, xs], velocity, atol=1e-5)
    assert np.isnan(solution.velocity[a == 0]).all()
    coupling = solution.coupling(threshold=1e-12)
    assert coupling.sum() == pytest.approx(plan.sum(), rel=1e-6)
    assert solution.destroyed[ys, xs] == pytest.approx(a[ys, xs] / a.sum() - plan.sum(1), abs=1e-8)


def test_batches_have_the_bits_of_single_solves(pairs):
    batch = swathe.ot.solve_batch(pairs, fields=True, threads=2)
    again = swathe.ot.solve_batch(pairs, fields=True, mode="sequential")
    assert len(batch) == len(pairs) and not batch.failures and batch.report is not None
    for (a, b), one, other in zip(pairs, batch, again):
        alone = swathe.ot.solve(a, b)
        assert one.figures() == other.figures() == alone.figures()
        np.testing.assert_array_equal(one.velocity, alone.velocity)
        np.testing.assert_array_equal(one.created, alone.created)


def test_results_are_those_of_the_command(pairs, tmp_path):
    with open(tmp_path / "pairs.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["pair_id", "src", "tgt"])
        for k, (a, b) in enumerate(pairs):
            np.save(tmp_path / f"a{k}.npy", a)
            np.save(tmp_path / f"b{k}.npy", b)
            table.writerow([f"p{k}", f"a{k}.npy", f"b{k}.npy"])
    command = [sys.executable, "-m", "swathe", "ot", "pairs.csv", "--out", "RUN", "--device", "cpu"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(tmp_path / "RUN" / "pairs.parquet").to_pylist()
    solutions = swathe.ot.solve_batch(pairs)
    names = ["cost", "objective", "residual", "mass_transported", "displacement_p50_px"]
    for row, figures in zip(table, solutions.rows()):
        assert [row[name] for name in names] == [figures[name] for name in names]


def test_any_layout_is_read_where_it_is():
    a, b = disc((30, 40), (12, 12), 5), disc((30, 40), (13, 15), 5)
    expected = swathe.ot.solve(a, b).figures()
    for make in [
        np.asfortranarray,
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        lambda x: np.flip(np.flip(x).copy()),
        lambda x: x.astype(np.int16),
        lambda x: x.astype(bool),
        memoryview,
        lambda x: x.tolist(),
    ]:
        assert swathe.ot.solve(make(a), make(b)).figures() == expected

    class Foreign:
        def __init__(self, array):
            self.array = array

        def __array__(self, dtype=None, copy=None):
            return self.array

    class Capsule:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **arguments):
            return self.array.__dlpack__(**arguments)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    assert swathe.ot.solve(Foreign(a), Capsule(b)).figures() == expected


def test_masks_cut_mass_off():
    a, b = disc((30, 40), (12, 12), 5), disc((30, 40), (13, 15), 5)
    noise = np.full((30, 40), 0.25)
    masked = swathe.ot.solve_batch([(a + noise, b + noise, a > 0, b > 0)])[0]
    plain = swathe.ot.solve_batch([((a + noise) * a, (b + noise) * b)])[0]
    assert masked.figures() == plain.figures()


def test_tau_is_the_relaxation_of_ott():
    a, b = disc((30, 40), (12, 12), 5), disc((30, 40), (13, 15), 5)
    by_tau = swathe.ot.solve(a, b, epsilon=1e-2, tau=0.9)
    by_rho = swathe.ot.solve(a, b, epsilon=1e-2, relaxation=1e-2 * 0.9 / (1 - 0.9))
    assert by_tau.cost == by_rho.cost
    with pytest.raises(ValueError, match="pass it as relaxation"):
        swathe.ot.solve(a, b, tau=10.0)
    with pytest.raises(ValueError, match="either tau or relaxation"):
        swathe.ot.solve(a, b, tau=0.5, relaxation=1.0)


def test_units_of_the_input():
    a, b = 3 * disc((30, 40), (12, 12), 5), 3 * disc((30, 40), (13, 15), 5)
    problem, given = swathe.ot.solve(a, b), swathe.ot.solve(a, b, units="input")
    assert given.mass_transported == pytest.approx(problem.mass_transported * a.sum())
    assert given.cost == pytest.approx(problem.cost * a.sum())


@pytest.mark.parametrize(
    ("bad", "error", "text"),
    [
        (np.ones((3, 4, 5)), ValueError, "pair 1, source: its shape is"),
        (np.ones((0, 5)), ValueError, "pair 1, source: its shape is"),
        (np.ones((20, 20), dtype=complex), TypeError, "pair 1, source: dtype complex128"),
        (np.ones((20, 20), dtype=">f4"), TypeError, "byte order"),
        (np.ones((20, 20), dtype=object), TypeError, "pair 1, source: dtype object"),
        ("frame.png", (TypeError, ValueError), "pair 1, source"),
        (np.ones((20, 21)), swathe.SolveError, "pair 1: source is 20x21, target is 20x20"),
        (np.full((20, 20), np.nan), swathe.SolveError, "pair 1: source pixel"),
        (np.full((20, 20), -1.0), swathe.SolveError, "pair 1: source pixel"),
    ],
)
def test_a_bad_frame_is_named(bad, error, text):
    good = disc((20, 20), (9, 9), 4)
    with pytest.raises(error, match=text):
        swathe.ot.solve_batch([(good, good), (bad, good)])
    lenient = swathe.ot.solve_batch([(good, good), (bad, good)], on_error="return")
    assert lenient[0] is not None and lenient[1] is None
    assert [failure.index for failure in lenient.failures] == [1]


def test_wrong_arguments_are_told():
    good = disc((20, 20), (9, 9), 4)
    for arguments, error, text in [
        ({"epsilom": 1}, TypeError, "epsilom"),
        ({"epsilon": -1}, ValueError, "epsilon"),
        ({"epsilon": "small"}, ValueError, "epsilon is 'small', which is not a number"),
        ({"epsilon": {}}, TypeError, "epsilon is {}; it is a number"),
        ({"crop": "tight"}, ValueError, "crop is 'tight', .*write union, fixed or bucketed"),
        ({"fields": ["speed"]}, ValueError, "speed"),
        ({"mode": "fast"}, ValueError, "mode"),
        ({"on_error": "ignore"}, ValueError, "on_error"),
        ({"memory": "5 bananas"}, ValueError, "memory"),
        ({"device": "tpu"}, ValueError, "device"),
        ({"device": "gpu:97"}, ValueError, "^device asks for "),
        ({"device": "gpu:0,97"}, ValueError, "^device asks for "),
        ({"time_limit": 0}, ValueError, "time_limit"),
    ]:
        with pytest.raises(error, match=text):
            swathe.ot.solve_batch([(good, good), (good, good)], **arguments)
    with pytest.raises(ValueError, match="maps were not kept"):
        _ = swathe.ot.solve_batch([(good, good)])[0].velocity


def test_geometry_goes_there_and_back():
    a, b = disc((50, 70), (20, 30), 6), disc((50, 70), (22, 33), 6)
    shapes = swathe.ot.buckets([(10, 12), (30, 40), (64, 64)], n=2)
    assert len(shapes) == 2
    for policy, pool in [("union", 1), ("fixed", 1), ("bucketed", 1), ("union", 3)]:
        geometry = swathe.ot.pair_geometry(a, b, policy, padding=4, pool=pool, buckets=shapes)
        work = geometry.pad(a)
        assert work.shape == geometry.work and work.sum() == a.sum()
        if pool == 1:
            np.testing.assert_array_equal(np.nan_to_num(geometry.unpad(work, a.shape)), a)
    assert geometry.unpad(work, a.shape).shape == a.shape


def test_another_thread_goes_on_meanwhile():
    pairs = [(disc((96, 128), (40, 50), 20), disc((96, 128), (42, 55), 21))] * 20
    counted, is_over = [0], threading.Event()

    def count():
        while not is_over.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    swathe.ot.solve_batch(pairs, epsilon=1e-4, relaxation=10)
    during = counted[0] - before
    is_over.set()
    thread.join()
    assert during > 10


def test_two_threads_may_call_at_once(pairs):
    expected = [s.figures() for s in swathe.ot.solve_batch(pairs)]
    found = [None, None]

    def call(k):
        found[k] = [s.figures() for s in swathe.ot.solve_batch(pairs)]

    threads = [threading.Thread(target=call, args=(k,)) for k in range(2)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert found == [expected, expected]


def _solve_in_child(pairs):
    return [s.cost for s in swathe.ot.solve_batch(pairs)]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_worker_processes_work(pairs, method):
    expected = _solve_in_child(pairs)
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(_solve_in_child, [pairs, pairs]) == [expected, expected]


def test_nothing_leaks():
    resource = pytest.importorskip("resource")
    pair = (disc((32, 32), (15, 15), 5), disc((32, 32), (16, 16), 5))
    references = sys.getrefcount(pair[0])

    def calls(n):
        for _ in range(n):
            swathe.ot.solve_batch([pair, pair], fields=True)[0].velocity.sum()
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = calls(200)
    after = calls(800)
    # What a worker thread released last is released in Python by the next call.
    time.sleep(0.3)
    swathe.ot.buckets([(1, 1)])
    now = sys.getrefcount(pair[0])
    assert now == references
    assert after - before < 16 << 10, f"{after - before} KiB more"


def test_progress_is_told_and_its_error_ends_the_call(pairs):
    told = []
    swathe.ot.solve_batch(pairs, progress=lambda done, n: told.append((done, n)))
    assert told[-1] == (12, 12)

    def fail(done, n):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        swathe.ot.solve_batch(pairs, progress=fail)


def test_interrupts_act_soon():
    code = (
        "import numpy as np, swathe, sys, time\n"
        "y, x = np.ogrid[:400, :400]\n"
        "a = ((y - 200) ** 2 + (x - 180) ** 2 < 150 ** 2) * 1.0\n"
        "b = ((y - 190) ** 2 + (x - 210) ** 2 < 140 ** 2) * 1.0\n"
        "print('ready', flush=True)\n"
        "try:\n"
        f"    swathe.ot.solve_batch([(a, b)] * N, epsilon=1e-5, tolerance=1e-9)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', flush=True)\n"
    )
    for n in [1, 40]:
        with process_of(code.replace("* N", f"* {n}")) as child:
            time.sleep(0.5)
            child.send_signal(signal.SIGINT)
            assert child.stdout.readline() == "interrupted\n"
            assert child.wait(10) == 0


@pytest.mark.parametrize("settings", ["epsilon=1e-4", "", "out=sys.argv[1]", "memory='1000GiB'"])
@pytest.mark.parametrize("n", [1, 2])
def test_interrupts_act_while_frames_are_read(settings, n, tmp_path):
    """All pixels of a frame of zeros are read, which takes long."""
    code = (
        "import numpy as np, swathe, sys, time\n"
        "frame = np.broadcast_to(np.float32(0), (200_000, 200_000))\n"
        "print('ready', flush=True)\n"
        "try:\n"
        f"    swathe.ot.solve_batch([(frame, frame)] * {n}, {settings})\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', flush=True)\n"
    )
    with process_of(code, str(tmp_path / "RUN")) as child:
        time.sleep(0.5)
        begun = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n"
        assert time.monotonic() - begun < 2
        assert child.wait(10) == 0


def test_potentials_give_the_plan():
    a, b = disc((18, 24), (8, 9), 4), disc((18, 24), (9, 12), 4)
    epsilon = 5e-3
    solution = swathe.ot.solve(a, b, epsilon=epsilon, relaxation=1.0, potentials=True, tolerance=1e-8)
    f, g = solution.potentials
    ya, xa = np.nonzero(a)
    yb, xb = np.nonzero(b)
    cost = ((ya[:, None] - yb) ** 2 + (xa[:, None] - xb) ** 2) / 24**2
    plan = np.exp((f[ya, xa][:, None] + g[yb, xb] - cost) / epsilon) / a.sum() / b.sum()
    assert plan.sum() == pytest.approx(solution.mass_transported, rel=1e-5)


def test_empty_frames_are_answers():
    a, nothing = disc((20, 20), (9, 9), 4), np.zeros((20, 20))
    batch = swathe.ot.solve_batch([(a, nothing), (nothing, a), (nothing, nothing)])
    assert [s.status for s in batch] == ["empty_target", "empty_source", "both_empty"]
    assert batch[0].mass_destroyed == pytest.approx(1.0)
    assert len(swathe.ot.solve_batch([])) == 0
    assert math.isnan(swathe.ot.solve(nothing, nothing).velocity[0, 0, 0])


def test_the_pull_of_entropy_is_taken_out():
    """A disc that moves by a known way: the plan's own displacement points inward."""
    a, b = disc((60, 90), (30, 35), 10), disc((60, 90), (32, 39), 10)
    solution = swathe.ot.solve(a, b, epsilon=1e-3)
    error, raw_error = (
        np.nanmean(np.hypot(*np.moveaxis(velocity - [2, 4], 2, 0)))
        for velocity in (solution.velocity, solution.velocity_raw)
    )
    assert error < 0.05 and 5 * error < raw_error
    assert error <= solution.displacement_err_px
    raw = swathe.ot.solve(a, b, epsilon=1e-3, raw_velocity=True)
    np.testing.assert_array_equal(raw.velocity, solution.velocity_raw)
    assert raw.displacement_err_px is None and raw.sinkhorn_divergence is None
    assert solution.sinkhorn_divergence > 0 and 0 <= solution.gap < 1e-4
    same = swathe.ot.solve(a, a)
    assert abs(same.sinkhorn_divergence) < 1e-6


def test_epsilon_is_chosen_for_the_call(pairs):
    # Neighbours that move in opposite directions want a small one.
    a = disc((80, 96), (40, 30), 8) + disc((80, 96), (40, 48), 8)
    near = [(a, disc((80, 96), (43, 30), 8) + disc((80, 96), (37, 48), 8))] * 2
    assert swathe.ot.auto_epsilon(near) < 1e-3
    for chosen_for in (pairs, near):
        epsilon = swathe.ot.auto_epsilon(chosen_for)
        assert epsilon in (1e-3, 3e-4, 1e-4, 3e-5)
        given = [one.cost for one in swathe.ot.solve_batch(chosen_for, epsilon=epsilon)]
        for arguments in ({}, {"epsilon": None}, {"epsilon": "auto"}, {"mode": "sequential"}):
            chosen = swathe.ot.solve_batch(iter(chosen_for), **arguments)
            assert [one.cost for one in chosen] == given
        assert [one.cost for _, one in sorted(swathe.ot.stream(chosen_for))] == given
    # A stream knows its first window.
    first = swathe.ot.auto_epsilon(near[:1])
    solved = dict(swathe.ot.stream(near[:1] + pairs[:2], window=1))
    assert {one.figures()["epsilon"] for one in solved.values()} == {first}
    alone = swathe.ot.solve(*near[0], tau=0.9)
    assert alone.figures()["epsilon"] == first
    assert alone.figures()["relaxation"] == pytest.approx(9 * first)
    # What was chosen is explained, not called worse than another.
    told = warned(lambda: swathe.ot.solve_batch(near))
    assert any("because no smaller value that it tries" in text for text in told), told
    assert not any("is better" in text for text in told)


def warned(call):
    """The warnings of a call, and the files that they name."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert all(one.filename == __file__ for one in caught)
    return [str(one.message) for one in caught]


def test_warnings_are_the_commands(tmp_path):
    a, b = disc((60, 80), (30, 30), 8), disc((60, 80), (31, 33), 10)
    many = [(a, b), (a, b)]
    camera = [(a + 0.1, a + 0.1), (a, a)]
    # One of two bodies vanishes.
    gone = [(a, a), (a + disc((60, 80), (40, 60), 8), np.roll(a, 2, axis=1))]
    doubt = "the motion of 1 of 2 pairs is in doubt (for example pair 1: a body vanished (50 % of the mass))"
    for pairs, settings, words in [
        (gone, {}, doubt),
        (gone, {"normalize": False}, doubt),
        (many, {}, "2 of the pairs change their total mass by more than 5 %"),
        (camera, {}, "1 of the pairs have mass on more than 75 % of their pixels"),
        (many, {"max_iterations": 1}, "2 of the pairs stopped at max_iterations=1 before"),
        (many, {"epsilon": 1e-2, "raw_velocity": True}, "which raw_velocity=True does not take out"),
    ]:
        told = warned(lambda: swathe.ot.solve_batch(pairs, **settings))
        assert any(words in text for text in told), (words, told)
        assert not any("--" in text for text in told)
        assert warned(lambda: list(swathe.ot.stream(pairs, window=1, **settings))) == told
        assert warned(lambda: swathe.ot.solve_batch(pairs, mode="sequential", **settings)) == told
        out = tmp_path / str(len(list(tmp_path.iterdir())))
        assert warned(lambda: swathe.ot.solve_batch(pairs, out=out, **settings)) == told
    assert any("change their total mass" in text for text in warned(lambda: swathe.ot.solve(a, b)))
    assert warned(lambda: swathe.ot.solve(a, np.roll(a, 2, axis=1), epsilon=3e-4)) == []
    rows = swathe.ot.solve_batch(gone).rows()
    assert [row["motion_doubt"] for row in rows] == [None, "a body vanished (50 % of the mass)"]
    assert swathe.ot.solve(*gone[1]).motion_doubt == "a body vanished (50 % of the mass)"
    assert swathe.ot.solve(*gone[0]).motion_doubt is None


def test_an_epsilon_outside_of_the_range_is_refused(tmp_path):
    a, b = disc((80, 96), (40, 30), 8), disc((80, 96), (43, 30), 8)
    f = np.zeros((80, 96))
    for settings, words in [
        ({"epsilon": 1e-9}, "epsilon is 1e-9, which blurs by far less than a pixel"),
        ({"epsilon": 0.5}, "epsilon=5e-1 is a blur of 67.88 px on frames of 80x96, outside of the "),
        ({"epsilon": 1e-2, "coord_scale": 1}, "what 1.09e-6 is with coord_scale=\"auto\""),
    ]:
        for call in (
            lambda: swathe.ot.solve(a, b, **settings),
            lambda: swathe.ot.solve_batch([(a, b)] * 2, **settings),
            lambda: swathe.ot.solve_batch([(a, b)], out=tmp_path / "RUN", **settings),
            lambda: list(swathe.ot.stream([(a, b)], **settings)),
        ):
            with pytest.raises(ValueError, match=re.escape(words)):
                call()
        with pytest.raises(ValueError, match="a blur of|blurs by"):
            swathe.ot.check(a, b, f, f, **settings)
    assert not (tmp_path / "RUN").exists()
    small = disc((10, 10), (5, 5), 2)
    told = warned(lambda: swathe.ot.solve_batch([(a, b), (small, small)], epsilon=0.5))
    assert any(text.startswith("1 of the pairs: epsilon=5e-1 is a blur") for text in told)
    with pytest.raises(ValueError, match="the epsilon that the answer was computed with"):
        swathe.ot.check(a, b, f, f)


def test_a_frame_that_does_not_fit_is_refused_at_once():
    side = 20_000
    frame = np.broadcast_to(np.float32(1), (side, side))
    for call in (
        lambda: swathe.ot.solve(frame, frame, memory="1GiB"),
        lambda: swathe.ot.solve(frame, frame, memory="1GiB", epsilon=1e-4),
        lambda: swathe.ot.solve_batch([(frame, frame)] * 2, memory="1GiB"),
    ):
        begun = time.monotonic()
        with pytest.raises(swathe.SolveError, match="bytes of memory and the budget is 1073741824"):
            call()
        assert time.monotonic() - begun < 2


def test_pairs_without_mass_are_counted_apart(pairs, capsys):
    nothing = np.zeros((20, 20))
    batch = swathe.ot.solve_batch([*pairs[:3], (nothing, nothing), (disc((20, 20), (9, 9), 4), nothing)])
    batch.print_stats()
    assert capsys.readouterr().out.startswith("3 of 5 pairs solved, 2 without mass, 0 failed\n")


def test_prices_apart(pairs):
    """Growth without loss: nothing of the source is destroyed."""
    a, b = disc((40, 50), (20, 25), 6), disc((40, 50), (20, 25), 8)
    apart = swathe.ot.solve(a, b, relaxation=(math.inf, 0.05), normalize=False)
    assert abs(apart.mass_destroyed) < 1e-3 * a.sum() and apart.mass_created > 0.5 * (b - a).sum()


def test_answers_of_others_are_judged():
    a, b = disc((14, 18), (6, 7), 4), disc((14, 18), (7, 9), 4)
    settings = {"epsilon": 5e-3, "relaxation": 1, "reference": "counting"}
    solution = swathe.ot.solve(a, b, potentials=True, **settings)
    f, g = solution.potentials
    good = swathe.ot.check(a, b, f, g, **settings)
    assert good["residual_src"] < 1e-4 and good["residual_tgt"] < 1e-4 and good["gap"] < 1e-5
    assert abs(good["cost"] - solution.cost) < 1e-6
    bad = swathe.ot.check(a, b, f + 0.05, g, **settings)
    assert bad["residual_src"] > 0.01 and bad["gap"] > good["gap"]
    plan, cost, _, (ys, xs) = dense(a / a.sum(), b / b.sum(), 5e-3, 1)
    whole = np.zeros((a.size, b.size))
    yb, xb = np.nonzero(b)
    whole[np.ix_(ys * 18 + xs, yb * 18 + xb)] = plan
    judged = swathe.ot.check(a, b, plan=whole, epsilon=5e-3, relaxation=1)
    assert abs(judged["cost"] - cost) < 1e-9 and judged["gap"] < 1e-4
    with pytest.raises(ValueError, match="either f and g, or plan"):
        swathe.ot.check(a, b)
    with pytest.raises(ValueError, match="potential f: its shape"):
        swathe.ot.check(a, b, f[:3], g, **settings)


def test_masks_of_numpy_are_refused(pairs):
    """They say what to leave out, and reading would ignore them."""
    a, b = pairs[0]
    masked = np.ma.array(a, mask=a > 0.5)
    for what, call in [
        ("pair 0, source", lambda: swathe.ot.solve(masked, b)),
        ("pair 0, target", lambda: swathe.ot.solve(a, masked)),
        ("pair 1, source", lambda: swathe.ot.solve_batch([(a, b), (masked, b)])),
        ("pair 0, source mask", lambda: swathe.ot.solve_batch([(a, b, masked, masked)])),
        ("pair 0, source", lambda: list(swathe.ot.stream([(masked, b)]))),
        ("pair 0, target", lambda: swathe.ot.auto_epsilon([(a, masked)])),
        ("pair 0, source", lambda: swathe.ot.pair_geometry(masked, b)),
        ("frame", lambda: swathe.ot.pad(masked, swathe.ot.pair_geometry(a, b))),
        ("work", lambda: swathe.ot.unpad(masked, swathe.ot.pair_geometry(a, b), a.shape)),
        ("potential f", lambda: swathe.ot.check(a, b, masked, a, epsilon=1e-3)),
        ("plan", lambda: swathe.ot.check(a, b, plan=masked, epsilon=1e-3)),
    ]:
        with pytest.raises(TypeError, match=f"{what}: some of its elements are masked.*filled"):
            call()
    # Filled, with the mask beside it, it is the frame; so it is where nothing is masked.
    inside = ~np.ma.getmaskarray(masked)
    filled = swathe.ot.solve_batch([(masked.filled(0) + b, b, inside, np.ones_like(inside))])[0]
    np.testing.assert_equal(
        filled.figures()["cost"], swathe.ot.solve_batch([(np.where(inside, b, 0), b)])[0].figures()["cost"]
    )
    assert swathe.ot.solve(np.ma.array(a), b).cost == swathe.ot.solve(a, b).cost
