"""Arrays: NumPy is the oracle."""

import numpy as np
import pytest
import swathe

RNG = np.random.default_rng(7)


def test_products_are_numpys():
    shapes = [((3, 4), (4, 5)), ((4,), (4,)), ((2, 3, 4), (4, 2)), ((5, 1, 2, 3), (4, 3, 2)), ((7, 0), (0, 2))]
    for dtype in [np.float32, np.float64]:
        # Small integers: every order of summation gives the same bits.
        a = [RNG.integers(-8, 9, shape).astype(dtype) for shape, _ in shapes]
        b = [RNG.integers(-8, 9, shape).astype(dtype) for _, shape in shapes]
        for product, left, right in zip(swathe.array.matmul(a, b), a, b):
            expected = np.matmul(left, right)
            assert product.dtype == expected.dtype
            np.testing.assert_array_equal(product, expected)


def test_one_array_serves_for_all():
    a, b = [np.full((2, 2), float(k)) for k in range(3)], np.eye(2)
    np.testing.assert_array_equal(swathe.array.matmul(a, [b]), a)


def test_strided_operands_are_gathered():
    a, b = RNG.integers(0, 9, (6, 8)).astype(float), RNG.integers(0, 9, (8, 6)).astype(float)
    product = swathe.array.matmul([a[::2, ::-1]], [b[:, ::3]])[0]
    np.testing.assert_array_equal(product, a[::2, ::-1] @ b[:, ::3])


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8"])
def test_xor_twice_restores(dtype):
    info = np.iinfo(dtype)
    data = [RNG.integers(info.min, info.max, n, dtype=dtype, endpoint=True) for n in (0, 1, 1000)]
    for arguments in ({"seed": 42}, {"key": [1, 2, 255]}):
        hidden = swathe.array.xor(data, **arguments)
        assert hidden[2].dtype == np.dtype(dtype) and (hidden[2] != data[2]).any()
        for back, original in zip(swathe.array.xor(hidden, **arguments), data):
            np.testing.assert_array_equal(back, original)
    key = np.resize(np.array([1, 2, 255], dtype=np.uint64).astype(dtype), 1000)
    np.testing.assert_array_equal(swathe.array.xor(data, key=[1, 2, 255])[2], data[2] ^ key)


def test_maps():
    data = [RNG.random((3, 4)), RNG.random(5).astype(np.float32)]
    for name, function in [
        ("square", np.square), ("sqrt", np.sqrt), ("exp", np.exp), ("log", np.log),
        ("abs", np.abs), ("negate", np.negative),
    ]:
        for mapped, original in zip(swathe.array.map(name, data), data):
            assert mapped.dtype == original.dtype
            np.testing.assert_allclose(mapped, function(original), rtol=3e-7)
    np.testing.assert_array_equal(swathe.array.map("add", data, 2.0)[0], data[0] + 2)
    np.testing.assert_array_equal(swathe.array.map("multiply", data, data)[1], data[1] * data[1])


def test_errors_name_the_item():
    one = np.ones((2, 2))
    with pytest.raises(swathe.SolveError, match="pair 1: shapes"):
        swathe.array.matmul([one, one], [one, np.ones((3, 3))])
    kept = swathe.array.matmul([one, one], [one, np.ones((3, 3))], on_error="return")
    assert kept[0] is not None and kept[1] is None
    with pytest.raises(ValueError, match="2 arrays on the left and 3"):
        swathe.array.matmul([one] * 2, [one] * 3)
    with pytest.raises(TypeError, match="a 1: dtype"):
        swathe.array.matmul([one, one.astype(">f8")], [one, one])
    with pytest.raises(ValueError, match="there is no map 'cube'"):
        swathe.array.map("cube", [one])
    with pytest.raises(ValueError, match="either key or seed"):
        swathe.array.xor([np.arange(3)])
    with pytest.raises(swathe.SolveError, match="item 0"):
        swathe.array.xor([one], seed=1)
    with pytest.raises(swathe.SolveError, match="item 0"):
        swathe.array.map("sqrt", [np.arange(3)])


def test_small_products_are_those_of_single_calls():
    """Lists of dense matrices are multiplied in place; a list with anything else takes another way."""
    rng = np.random.default_rng(3)
    for dtype in (np.float32, np.float64):
        a = [rng.standard_normal((m, k)).astype(dtype) for m, k in rng.integers(0, 20, (300, 2))]
        b = [rng.standard_normal((x.shape[1], int(rng.integers(0, 20)))).astype(dtype) for x in a]
        quick = swathe.array.matmul(a, b)
        # A vector at the end makes the whole list go the general way.
        general = swathe.array.matmul([*a, np.ones(2, dtype)], [*b, np.ones(2, dtype)])
        for x, y, one, other in zip(a, b, quick, general):
            assert one.dtype == dtype and one.shape == (x.shape[0], y.shape[1])
            np.testing.assert_array_equal(one, other)
            np.testing.assert_allclose(one, x @ y, rtol=1e-3, atol=1e-5)
        strided = swathe.array.matmul([x.T for x in b], [x.T for x in a])
        for one, other in zip(strided, quick):
            np.testing.assert_allclose(one, other.T, rtol=1e-3, atol=1e-5)
        only = swathe.array.matmul([np.ones((3, 4), dtype)] * 5, [np.full((4, 2), 2, dtype)])
        assert all((product == 8).all() for product in only)
    with pytest.raises(swathe.SolveError, match="pair 1"):
        swathe.array.matmul([np.ones((2, 3)), np.ones((2, 3))], [np.ones((3, 2)), np.ones((4, 2))])
    with pytest.raises(ValueError, match="2 arrays on the left and 3"):
        swathe.array.matmul([np.ones((2, 2))] * 2, [np.ones((2, 2))] * 3)


def test_products_without_inner_extents_are_bounded_by_memory():
    wide, tall = np.zeros((10**6, 0)), np.zeros((0, 10**6))
    text = r"the result of shapes \[1000000, 0\] and \[0, 1000000\] takes 8000\d* bytes, and \d+ bytes"
    with pytest.raises(swathe.SolveError, match=f"pair 1: {text}"):
        swathe.array.matmul([wide, wide], [np.zeros((0, 3)), tall])
    kept = swathe.array.matmul([wide, wide, wide], [np.zeros((0, 3)), tall, np.zeros((0, 2))], on_error="return")
    assert [None if one is None else one.shape for one in kept] == [(10**6, 3), None, (10**6, 2)]
    assert not kept[0].any() and not kept[2].any()
    outer = np.ones((10**6, 1))
    for a, b in [(outer, outer.T), (np.zeros((2**31, 1, 0)), np.zeros((1, 0, 2**31)))]:
        with pytest.raises(swathe.SolveError, match="pair 0: the result of shapes"):
            swathe.array.matmul([a], [b])


def test_arrays_of_many_axes():
    for n in (5, 33, 50):
        deep = np.full((1,) * n, 2.0)
        assert swathe.array.map("square", [deep])[0].shape == deep.shape
        assert swathe.array.xor([deep.astype(int)], key=[1])[0].item() == 3
        np.testing.assert_array_equal(swathe.array.matmul([deep], [deep])[0], deep @ deep)


def test_masks_are_refused():
    masked = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, True], [False, False]])
    plain = np.eye(2)
    for what, call in [
        ("item 1", lambda: swathe.array.map("exp", [plain, masked])),
        ("item 0", lambda: swathe.array.map("exp", [[masked[0], masked[1]]])),
        ("item 0", lambda: swathe.array.map("exp", masked)),
        ("operand 1", lambda: swathe.array.map("add", [plain, plain], [plain, masked])),
        ("item 0", lambda: swathe.array.xor([masked.astype(int)], seed=1)),
        ("a 0", lambda: swathe.array.matmul([masked], [plain])),
        ("b 0", lambda: swathe.array.matmul([plain], [masked])),
    ]:
        with pytest.raises(TypeError, match=f"{what}: some of its elements are masked.*filled"):
            call()
    # Nothing is lost where nothing is masked, nor of other subclasses.
    for one in (np.ma.array(plain), np.matrix(plain)):
        np.testing.assert_array_equal(swathe.array.matmul([one], [masked.data])[0], masked.data)
