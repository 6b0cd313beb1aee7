"""Solvers of one's own: an in-order loop is the oracle."""

import asyncio
import functools
import math
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import swathe

RNG = np.random.default_rng(11)


def items(n=200):
    return [RNG.random(tuple(RNG.integers(1, 20, 2))) for _ in range(n)]


def test_batches_are_padded_and_cut():
    data, seen = items(), []

    def double(batch):
        seen.append(batch)
        assert batch.arrays.shape == batch.mask.shape
        assert not batch.arrays[: len(batch)][~batch.mask[: len(batch)]].any()
        return batch.arrays * 2

    result = swathe.run(data, double)
    for value, item in zip(result.values, data):
        np.testing.assert_array_equal(value, item * 2)
    n_lanes = {len(batch.arrays) for batch in seen}
    assert all(n & (n - 1) == 0 for n in n_lanes), n_lanes
    shapes = {batch.arrays.shape[1:] for batch in seen}
    assert len(shapes) <= 8
    assert result.report["n_compiled_max"] <= len(shapes) * len(n_lanes)
    assert not result.failures and len(result.times_ms) == len(data)


def test_reductions_use_the_mask():
    data = items()
    result = swathe.run(data, lambda batch: (batch.arrays * batch.mask).sum(axis=(1, 2)))
    np.testing.assert_allclose(result.values, [item.sum() for item in data])


@pytest.mark.parametrize("buckets", ["exact", 3, [(20, 20)], [(10, 10), (20, 20)]])
def test_buckets(buckets):
    data = items(60)
    result = swathe.run(data, lambda batch: batch.arrays + 1, buckets=buckets)
    for value, item in zip(result.values, data):
        np.testing.assert_array_equal(value, item + 1)


def test_out_of_memory_halves_the_batch():
    data, refused = [np.ones(4)] * 64, []

    def small_only(batch):
        if len(batch.arrays) > 8:
            refused.append(len(batch.arrays))
            raise MemoryError
        return batch.arrays.sum(axis=1)

    result = swathe.run(data, small_only, batch_size=64)
    assert result.values == [4.0] * 64 and refused
    assert result.report["n_setbacks"] >= 1

    class OutOfMemoryError(RuntimeError):
        """As torch names it."""

    def as_torch(batch):
        if len(batch.arrays) > 4:
            raise OutOfMemoryError("CUDA out of memory")
        return batch.arrays.sum(axis=1)

    assert swathe.run(data, as_torch, batch_size=64).values == [4.0] * 64


def test_a_bad_item_fails_alone():
    data = [np.full(3, k) for k in range(50)]

    def refuse_17(batch):
        if 17 in batch.rows:
            raise ArithmeticError("seventeen")
        return batch.arrays[:, 0]

    result = swathe.run(data, refuse_17, on_error="return")
    assert [failure.index for failure in result.failures] == [17]
    assert "ArithmeticError: seventeen" in result.failures[0].message
    assert [value for value in result.values if value is not None] == [k for k in range(50) if k != 17]
    with pytest.raises(swathe.SolveError, match="item 17: ArithmeticError: seventeen"):
        swathe.run(data, refuse_17)


def test_any_callable_of_one_item():
    result = swathe.run(["a", "bb", "ccc"], len, batched=False)
    assert result.values == [1, 2, 3]


def test_an_item_is_tried_again():
    tried = []

    def fails_twice(item):
        tried.append(item)
        if tried.count(item) < 3:
            raise OSError("busy")
        return item

    assert swathe.run([7], fails_twice, batched=False, retries=2).values == [7]
    assert swathe.run([8], fails_twice, batched=False, retries=1, on_error="return").failures


def _square(item):
    return item * item


def _sleepy(item):
    if item == 3:
        time.sleep(60)
    return item


def test_processes_can_be_ended():
    assert swathe.run(range(6), _square, batched=False, workers="process").values == [
        k * k for k in range(6)
    ]
    started = time.monotonic()
    result = swathe.run(
        range(6), _sleepy, batched=False, workers="process", time_limit=2.0, on_error="return"
    )
    assert [failure.index for failure in result.failures] == [3]
    assert "TimeoutError" in result.failures[0].message
    assert time.monotonic() - started < 40
    with pytest.raises(ValueError, match="needs workers='process'"):
        swathe.run([1], _square, batched=False, time_limit=1.0)


class _SlowToStart:
    """A process takes longer to load it than the time limit of a batch."""

    def __reduce__(self):
        return _start_slowly, ()

    def __call__(self, batch):
        if 5.0 in batch.arrays[:, 0]:
            time.sleep(60)
        return batch.arrays[:, 0]


def _start_slowly():
    time.sleep(1.5)
    return _SlowToStart()


def test_a_time_limit_is_that_of_the_work():
    """Healthy items are not late because their process starts slowly, or beside one that is late."""
    items = [np.array([float(k)]) for k in range(64)]
    limits = {"workers": "process", "time_limit": 1.0, "on_error": "return", "batch_size": 4}
    result = swathe.run(items, _SlowToStart(), **limits)
    assert [failure.index for failure in result.failures] == [5]
    assert "TimeoutError: not finished after 1.0 s" in result.failures[0].message
    assert [v for v in result.values if v is not None] == [k for k in range(64) if k != 5]
    healthy = swathe.run(items[6:], _SlowToStart(), **limits)
    assert healthy.values == list(range(6, 64)) and not healthy.failures


def test_streams_and_handles():
    got = list(swathe.stream(iter(range(10)), _square, batched=False, window=3))
    assert got == [(k, k * k) for k in range(10)]
    handle = swathe.submit(range(5), _square, batched=False)
    assert handle.result(30).values == [0, 1, 4, 9, 16] and handle.done()

    async def wait():
        return await swathe.submit(range(3), _square, batched=False)

    assert asyncio.run(wait()).values == [0, 1, 4]
    slow = swathe.submit(
        range(1000), lambda item: time.sleep(0.05), batched=False, on_error="return"
    )
    time.sleep(0.3)
    slow.cancel()
    assert len(slow.result(20)) == 1000


def test_wrong_arguments():
    for arguments, error, text in [
        ({"buckets": "some"}, ValueError, "buckets"),
        ({"buckets": [(2, 2)]}, ValueError, "item 0: no bucket holds"),
        ({"workers": "gpu"}, ValueError, "workers"),
        ({"batch_size": "big"}, TypeError, "batch_size"),
        ({"batch_size_max": 0}, ValueError, "batch_size_max"),
        ({"memory_margin": 1.5}, ValueError, "memory_margin"),
    ]:
        with pytest.raises(error, match=text):
            swathe.run([np.ones((3, 3))], lambda batch: batch.arrays, **arguments)
    with pytest.raises(TypeError, match="item 0: it is no array of numbers"):
        swathe.run([object()], lambda batch: batch.arrays)
    for call in (swathe.run, swathe.stream, swathe.submit):
        with pytest.raises(TypeError, match="'windows'"):
            call([np.ones(3)], lambda batch: batch.arrays, windows=3)
    with pytest.raises(TypeError, match=r"stream\(\) has no argument 'out'"):
        swathe.stream([np.ones(3)], lambda batch: batch.arrays, out="RUN")
    with pytest.raises(TypeError, match="check is 'no'"):
        swathe.run([np.ones(3)], lambda batch: batch.arrays, check="no")
    with pytest.raises(swathe.SolveError, match="returned 1 results"):
        swathe.run([np.ones(2)] * 4, lambda batch: [1], batch_size=4)
    assert math.isfinite(swathe.run([1.0], lambda b: b.arrays).report["wall_ms"])


def test_shapes_that_no_batch_holds_are_refused():
    deep = np.ones((1,) * 50)
    for arguments in ({}, {"batched": False, "shape": np.shape}):
        with pytest.raises(ValueError, match="item 1: its shape has 50 axes, and at most 4"):
            swathe.run([np.ones(3), deep], lambda batch: batch.arrays, **arguments)
    for extents in ((-1,), (1 << 32,)):
        with pytest.raises(ValueError, match="item 0: its shape is"):
            swathe.run([0], lambda item: item, batched=False, shape=lambda item: extents)
    assert swathe.run([deep], np.shape, batched=False).values == [deep.shape]


def test_axes_that_grow_with_the_padding_are_cut():
    """And no others: not features whose number is an extent of the padding."""
    data = items()
    largest = tuple(np.max([item.shape for item in data], axis=0))
    square = [RNG.random((n, n)) for n in RNG.integers(1, 9, 40)]
    for solve, expected in [
        (lambda b: np.stack([b.arrays] * 3, -1), lambda x: np.stack([x] * 3, -1)),
        (lambda b: np.stack([b.arrays] * 19, 1), lambda x: np.stack([x] * 19)),
        (lambda b: b.arrays.transpose(0, 2, 1), np.transpose),
        (lambda b: b.arrays.sum(axis=1), lambda x: x.sum(axis=0)),
        (lambda b: np.ones((len(b.arrays), *largest)), lambda x: np.ones(largest)),
        (lambda b: [b.arrays[k] for k in range(len(b))], lambda x: x),
        (lambda b: [b.arrays[k, :h, :w] for k, (h, w) in enumerate(b.shapes)], lambda x: x),
    ]:
        for given in (data, square, data[:1], data[:2], [np.ones((4, 4))] * 9):
            for value, item in zip(swathe.run(given, solve).values, given):
                assert value.shape == expected(item).shape
                np.testing.assert_allclose(value, expected(item))
    both = swathe.run(data, lambda b: [{"x": a, "n": (a.sum(), a.T)} for a in b.arrays])
    for value, item in zip(both.values, data):
        np.testing.assert_array_equal(value["x"], item)
        np.testing.assert_array_equal(value["n"][1], item.T)
    assert swathe.run([2.0, 3.0], lambda b: b.arrays**2).values == [4.0, 9.0]
    # Windows of a stream share the check, and square ones do not tell axes apart.
    got = dict(swathe.stream([*square, *data], lambda b: b.arrays.transpose(0, 2, 1), window=20))
    assert all(np.array_equal(got[k], x.T) for k, x in enumerate([*square, *data]))
    # Items of other axes are checked where they begin, and named by their number in the whole.
    flat = [*[np.ones(2)] * 3, np.ones((2, 3))]
    with pytest.raises(swathe.SolveError, match="item 3: .*item 3 was solved at lane 0"):
        means = {2: lambda x: x.sum(axis=1), 3: lambda x: x.mean(axis=(1, 2))}
        list(swathe.stream(flat, lambda b: means[b.arrays.ndim](b.arrays), window=3))


def _sums(batch):
    return batch.arrays.sum(axis=(1, 2))


WRONG = {
    "mean of the padding": (lambda b: b.arrays.mean(axis=(1, 2)), "the result is .* and"),
    "scaled by neighbours": (lambda b: b.arrays / b.arrays.max(), "they differ first at"),
    "lanes reversed": (lambda b: _sums(b)[::-1], "the result is .* and"),
    "the first lane's": (lambda b: [_sums(b)[0]] * len(b.arrays), "the result is .* and"),
    "the last lane's": (lambda b: [_sums(b)[-1]] * len(b.arrays), "the result is .* and"),
    "random": (lambda b: RNG.random(len(b.arrays)), "the result is .* and"),
    "flat": (lambda b: b.arrays.reshape(len(b.arrays), -1), "axis 0 of the result is .* long"),
    "half an axis": (lambda b: np.fft.rfft(b.arrays), "axis 1 of the result is .* long"),
    "every other cell": (lambda b: b.arrays[:, :, ::2], "axis 1 of the result is .* long"),
    "lists": (lambda b: b.arrays.tolist(), "parts; only arrays are cut"),
    "types": (lambda b: [b.arrays.shape[1] % 2 or None] * len(b), "is a NoneType|is a int"),
    "transposed": (lambda b: b.arrays.T, "results for a batch of"),
    "many": (lambda b: np.zeros(5000), "returned 5000 results for a batch of"),
    "a dict": (lambda b: {k: 0 for k in range(len(b))}, "returned a dict"),
    "a str": (lambda b: "converged after 3 iterations", "returned a str"),
    "a number": (lambda b: 3.0, "returned a float"),
}


@pytest.mark.parametrize("name", WRONG)
def test_results_that_depend_on_more_than_the_item_are_refused(name, tmp_path):
    solve, text = WRONG[name]
    alike = [RNG.random((3, 6)) for _ in range(20)]
    # One item has no neighbours, and buckets may be odd or even alike.
    has_lanes = name in ("scaled by neighbours", "lanes reversed", "the first lane's", "the last lane's")
    for given in (alike, items(60) if name != "types" else alike, alike[:1] if not has_lanes else alike[:9]):
        with pytest.raises(swathe.SolveError, match=text) as refused:
            swathe.run(given, solve)
        assert len(refused.value.failures) == len(given)
        with pytest.raises(swathe.SolveError, match=text):
            list(swathe.stream(given, solve))
        with pytest.raises(swathe.SolveError, match=text):
            swathe.submit(given, solve).result(30)
    pytest.importorskip("pandas")
    run = swathe.run(alike, solve, out=tmp_path / "RUN")
    assert run.failures["message"].str.contains(text).all() and len(run.failures) == 20


def test_the_check_compiles_nothing_and_can_be_left_out():
    data = [np.ones((n, n + 1)) for n in (3, 8) for _ in range(40)]
    seen = {True: [], False: []}
    for check in (True, False):

        def double(batch):
            seen[check].append(batch.arrays.shape)
            return batch.arrays * 2

        swathe.run(data, double, check=check, batch_size=8)
    (n_first, *_), (n_again, *again) = seen[True][:2]
    assert again == [8, 9] and n_again == max(n_first, 4)
    padded = [{shape[1:] for shape in seen[check]} for check in (True, False)]
    assert padded[0] == padded[1]
    noise = swathe.run(data, lambda b: RNG.random(len(b.arrays)), check=False)
    assert len(set(noise.values)) == 80
    # Without a check the padded shape alone is cut.
    one = swathe.run([np.ones(2), np.ones(3)], lambda b: b.arrays, check=False, buckets=1).values
    assert [value.shape for value in one] == [(2,), (3,)]

    def of_one_shape(batch):
        if batch.arrays.shape != (1, 8):
            raise RuntimeError("only 1x8")
        return batch.arrays

    fixed = {"buckets": [(8,)], "batch_size": 1}
    assert len(swathe.run([np.ones(2)], of_one_shape, check=False, **fixed).values[0]) == 2
    with pytest.raises(swathe.SolveError, match="again with .13,., for a check .*only 1x8. check=False"):
        swathe.run([np.ones(2)], of_one_shape, **fixed)


def test_the_check_needs_no_more_memory_than_a_batch():
    """Where a batch is as large as memory allows, the check has fewer lanes."""
    data, seen = [np.ones(1 << 17) for _ in range(32)], []

    def double(batch):
        seen.append(batch.arrays.shape)
        if batch.arrays.nbytes > 4 << 20:
            raise MemoryError
        return batch.arrays * 2

    result = swathe.run(data, double, batch_size=8)
    assert all((value == 2).all() for value in result.values)
    assert {n_lanes for n_lanes, extent in seen if extent > 1 << 17} == {4, 2}
    seen.clear()
    swathe.run(data, double, batch_size=8, memory="40MiB", memory_margin=0)
    assert all(n * extent * 24 <= 20 << 20 for n, extent in seen)


def test_a_batch_holds_one_dtype():
    large = 2**53 + 1
    data = [np.array([large, 1]), np.array([0.5, 1.5]), np.array([1.5, 2], np.float32), np.array([True, False])]
    result = swathe.run(data, lambda batch: batch.arrays, batch_size=4)
    for value, item in zip(result.values, data):
        assert value.dtype == item.dtype
        np.testing.assert_array_equal(value, item)
    assert int(result.values[0][0]) == large


def test_masked_items_are_refused():
    masked = np.ma.array([[1.0, 2.0]], mask=[[False, True]])
    for item in (masked, [masked[0], masked[0]]):
        for call in (
            lambda *a: swathe.run(*a),
            lambda *a: list(swathe.stream(*a)),
            lambda *a: swathe.submit(*a).result(30),
        ):
            with pytest.raises(TypeError, match="item 1: some of its elements are masked.*filled"):
                call([np.ones((1, 2)), item], lambda batch: batch.arrays)
    # Nothing is lost where nothing is masked, or where the function gets the array itself.
    plain = np.ma.array([1.0, 2.0], mask=False)
    assert swathe.run([plain], lambda b: b.arrays.sum(axis=1)).values == [3.0]
    assert swathe.run([masked], lambda item: item.sum(), batched=False).values == [1.0]


SCALE = 2.0


def _scaled(item):
    return item * SCALE


def _power(item, exponent=2, *, scale=1.0):
    return scale * item**exponent


class _Scaling:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, item):
        return item * self.scale

    def method(self, item):
        return self(item) + 1


def _closed_over(value):
    return lambda item: (item, type(value).__name__)


def test_a_run_is_not_resumed_with_another_function(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    array = np.arange(3)

    def go(solve, name):
        return swathe.run([1, 2, 3], solve, batched=False, out=tmp_path / name, resume=True).values

    pairs = [
        (lambda x: x + 1, lambda x: x + 2, "code"),
        (lambda x: x + 1, lambda x: x - 1, "code"),
        (lambda x: [y + 1 for y in [x]], lambda x: [y + 2 for y in [x]], "code"),
        (lambda x: x in {1, 2}, lambda x: x in {1, 3}, "code"),
        (_closed_over(0.5), _closed_over(0.7), "closure value: .0.5. then, .0.7. now"),
        (_closed_over(array), _closed_over(array[::-1]), "closure value"),
        (_closed_over({"a": {1, 2}}), _closed_over({"a": {1, 3}}), "closure value"),
        (_closed_over(_Scaling(1)), _closed_over(_Scaling(2)), "closure value"),
        (_closed_over(_closed_over(1)), _closed_over(_closed_over(2)), "closure value"),
        (_closed_over([1]), _closed_over((1,)), "closure value"),
        (lambda x, n=1: x + n, lambda x, n=2: x + n, "default n"),
        (functools.partial(_power, scale=2), functools.partial(_power, scale=3), "argument scale"),
        (_Scaling(2), _Scaling(3), "object"),
        (_Scaling(2).method, _Scaling(3).method, "self"),
        (functools.lru_cache(_closed_over(1)), functools.lru_cache(_closed_over(2)), "object"),
        (np.sqrt, np.exp, "solve: "),
    ]
    for number, (before, after, text) in enumerate(pairs):
        kept = go(before, str(number))
        assert repr(go(before, str(number))) == repr(kept)
        with pytest.raises(ValueError, match=f"(?s)other settings or inputs.*{text}"):
            go(after, str(number))
    assert go(_scaled, "global") == [2.0, 4.0, 6.0]
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    with pytest.raises(ValueError, match="global SCALE: .2.0. then, .3.0. now"):
        go(_scaled, "global")
    lock = threading.Lock()
    with pytest.warns(UserWarning, match="cannot be resumed: closure value .*lock") as told:
        go(_closed_over(lock), "lock")
    assert told[0].filename == __file__
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="closure value"):
        go(_closed_over(lock), "lock")


FINGERPRINT = """
import dataclasses, enum, functools, sys
import numpy as np
from swathe._function import fingerprint_of

class Mode(enum.Enum):
    FAST, EXACT = "fast", "exact"

@dataclasses.dataclass
class Settings:
    names: frozenset = frozenset({"a", "b", "c", "d"})
    mode: Mode = Mode.FAST

def helper(x):
    return x in {"one", "two", "three"} or table.get(x)

table = {"k": {"x", "y", "z"}, "rng": np.random.default_rng(3)}

class Model:
    kinds = {"p", "q", "r"}

    def __init__(self):
        self.weights, self.settings, self.me = np.arange(5), Settings(), self

    def __call__(self, x):
        return helper(x), self.kinds, super().__hash__()

def solve(x, model=Model(), *, names={"u", "v", "w"}):
    return [model(y) for y in x if y not in names]

for one in (solve, Model(), Model().__call__, functools.partial(solve, 1), lambda x: solve(x)):
    made = fingerprint_of(one)
    assert not made.unknown, made
    print(made.parts)
"""


def test_a_fingerprint_is_the_same_in_every_process(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(FINGERPRINT)
    told = set()
    for seed in ("0", "1", "2"):
        words = [sys.executable, str(script)]
        ended = subprocess.run(
            words, capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": seed}
        )
        assert ended.returncode == 0, ended.stderr
        told.add(ended.stdout)
    assert len(told) == 1
    script.write_text(FINGERPRINT.replace('"two"', '"four"'))
    other = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    lines = zip(told.pop().splitlines(), other.stdout.splitlines())
    assert all(before != after for before, after in lines)
