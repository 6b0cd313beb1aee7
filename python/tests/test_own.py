"""Solvers of one's own: an in-order loop is the oracle."""

import asyncio
import math
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
    with pytest.raises(swathe.SolveError, match="returned 1 results"):
        swathe.run([np.ones(2)] * 4, lambda batch: [1], batch_size=4)
    assert math.isfinite(swathe.run([1.0], lambda b: b.arrays).report["wall_ms"])
