"""`weights=`, beside numpy.average and what fractions make of it."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from devices import each_library, placed_by, to_host
from reference import BFLOAT16

import gred

AXES = (None, 0, 1, -1, (0, 2), (2, 0))


def drawn(dtype="f8", seed=1):
    random = np.random.default_rng(seed)
    x = random.normal(size=(6, 5, 40)) * 10
    return x.astype(dtype), random.random((6, 5, 40)).astype("f8" if dtype != "f4" else "f4")


def spread(x, w, axis, ddof):
    mean = np.average(x, axis, w, keepdims=True)
    return (w * abs(x - mean) ** 2).sum(axis) / (w.sum(axis) - ddof)


@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "c16"])
def test_they_are_numpys(axis, dtype):
    x, w = drawn(dtype)
    near = 1e-5 if dtype == "f4" else 1e-13
    for keepdims in (False, True):
        got = gred.mean(x, axis, weights=w, keepdims=keepdims)
        want = np.average(x, axis, w, keepdims=keepdims)
        assert got.shape == want.shape
        assert got.dtype == want.dtype
        assert np.allclose(got, want, near)
    for ddof in (0, 0.25):
        got = gred.var(x, axis, weights=w, ddof=ddof)
        assert np.allclose(got, spread(x, w, axis, ddof), near)
        assert np.allclose(gred.std(x, axis, weights=w, ddof=ddof), got**0.5, near)


def test_weights_of_the_axes_alone():
    x, _ = drawn()
    random = np.random.default_rng(2)
    for axis, shape in ((1, (5,)), ((0, 2), (6, 40)), ((2, 0), (40, 6))):
        w = random.random(shape)
        assert np.allclose(gred.mean(x, axis, weights=w), np.average(x, axis, w), 1e-13)
    ints = random.integers(0, 9, 5)
    repeated = np.repeat(x, ints, 1)
    assert np.allclose(gred.var(x, 1, weights=ints, ddof=1), repeated.var(1, ddof=1), 1e-12)


def test_nan_and_masks():
    x, w = drawn()
    x[np.random.default_rng(3).random(x.shape) < 0.2] = np.nan
    mask = np.random.default_rng(4).random(x.shape) < 0.7
    shown = mask & ~np.isnan(x)
    with np.errstate(invalid="ignore"):
        want = np.where(shown, x * w, 0).sum(1) / np.where(shown, w, 0).sum(1)
    assert np.allclose(gred.nanmean(x, 1, weights=w, where=mask), want, 1e-12, equal_nan=True)
    assert np.isnan(gred.mean(x, weights=w))


def test_narrow_floats_are_multiplied_in_float32():
    x = np.full(3000, 300, "f2")
    assert gred.mean(x, weights=x) == np.float16(300)  # 300 * 300 is beyond a float16
    assert gred.mean(x, weights=x).dtype == np.float16
    y = np.array([1, 2, 3], BFLOAT16)
    assert gred.mean(y, weights=y) == BFLOAT16.type(14 / 6)
    assert gred.mean(x, weights=x, dtype="f8").dtype == np.float64


def test_exact_means_are_rounded_once():
    random = np.random.default_rng(5)
    x, w = random.normal(size=300) * 2.0 ** random.integers(-400, 400, 300), random.random(300)
    pairs = [(Fraction(a), Fraction(b)) for a, b in zip(x, w, strict=True)]
    want = sum(a * b for a, b in pairs) / sum(b for _, b in pairs)
    assert gred.mean(x, weights=w, method="exact") == float(want)
    assert gred.mean(x[::-1], weights=w[::-1], method="exact") == float(want)
    rows, shown = np.array([[1.0, 9.0, 2.0]] * 2, "f4"), [True, False, True]
    assert gred.mean(rows, weights=rows, where=shown, method="exact") == np.float32(10 / 6)
    assert np.isnan(gred.mean([1.0, np.nan], weights=[1.0, 1.0], method="exact"))
    assert gred.mean([1.0, np.inf], weights=[1.0, 1.0], method="exact") == np.inf


def by_key(op, values, keys=None, **options):
    return gred.by_key(op, [0] * len(values), values, keys, **options)


@pytest.mark.parametrize(
    ("call", "words", "right"),
    [
        *(
            (lambda m=method: gred.mean([1.0, 2.0], weights=[0, 0], method=m), "to zero", np.nan)
            for method in ("auto", "exact")
        ),
        (lambda: gred.mean(np.zeros((0, 2)), 0, weights=np.zeros(0)), "to zero", [np.nan] * 2),
        (lambda: gred.var([1.0, 2.0], weights=[1, 1], ddof=5), "no more than ddof", np.inf),
        (lambda: gred.std([1.0, 2.0], weights=[1, 1], ddof=5), "no more than ddof", np.inf),
        (lambda: by_key("var", [1.0, 2.0], ddof=3, weights=[1.0, 1.0]), None, [np.inf]),
        (lambda: by_key("var", [1.0, 2.0], keys=[3], weights=[1, 1]), None, [0.25, np.nan, np.nan]),
        (lambda: by_key("std", [1.0], keys=0, outside="drop", weights=[1.0]), None, []),
        # Products of narrow types are those of wide ones.
        (lambda: by_key("sum", np.int8([100, 100]), weights=np.int8([2, 1])), None, [300]),
        (
            lambda: by_key("mean", np.float16([60000, 2]), weights=np.float16([10, 1])),
            None,
            np.float16([600002 / 11]),
        ),
    ],
)
def test_weights_that_sum_to_little_and_products_that_are_great(call, words, right):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        got = call()
    assert [words in str(one.message) for one in told] == [True] * bool(words)
    assert np.array_equal(got, right, equal_nan=True)
    assert not isinstance(right, np.ndarray) or got.dtype == right.dtype


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: gred.mean([1.0, 2.0], weights=[1.0]), ValueError, "weights must have the shape"),
        (lambda: gred.mean([1.0], weights=[1j]), TypeError, "weights must be real"),
        (lambda: gred.mean([1.0], weights=[1.0], out=np.zeros(())), TypeError, "no out"),
        (lambda: gred.mean([1], weights=[1], dtype=int), TypeError, "float or complex"),
        (lambda: gred.var([1.0], weights=[1.0], method="exact"), TypeError, "for means"),
        (lambda: gred.sum([1.0], weights=[1.0]), TypeError, "no keyword argument 'weights'"),
        (lambda: gred.by_key("mean", [0], [1.0], weights=[1j]), TypeError, "weights must be real"),
        (lambda: gred.mean([1], weights=[1], method="unroll8"), ValueError, "'auto' or 'exact'"),
        (lambda: gred.mean([1], weights=[1], dtype="longdouble"), TypeError, "float or complex"),
        (lambda: gred.mean([1], weights=[1], dtype=int, method="exact"), TypeError, "float or"),
        (lambda: gred.by_key("max", [0], [1.0], weights=[1.0]), ValueError, "weights are for"),
    ],
)
def test_what_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("axis", [0, 1])
def test_by_key(axis):
    random = np.random.default_rng(6)
    x, w = random.normal(size=(50, 60)), random.random((50, 60))
    keys = random.integers(0, 4, x.shape[axis])
    for op, of in (
        ("sum", lambda a, b: (a * b).sum(axis)),
        ("mean", lambda a, b: np.average(a, axis, b)),
        ("var", lambda a, b: spread(a, b, axis, 0.5)),
        ("std", lambda a, b: spread(a, b, axis, 0.5) ** 0.5),
    ):
        got = gred.by_key(op, keys, x, weights=w, axis=axis, ddof=0.5)
        for key in range(4):
            shown = np.flatnonzero(keys == key)
            want = of(x.take(shown, axis), w.take(shown, axis))
            assert np.allclose(got.take(key, axis), want, 1e-13)
    one = random.random(x.shape[axis])
    wide = np.broadcast_to(one[:, None] if axis == 0 else one, x.shape)
    got = gred.by_key("mean", keys, x, weights=one, axis=axis)
    assert np.array_equal(got, gred.by_key("mean", keys, x, weights=wide, axis=axis))


@each_library
def test_in_the_libraries_of_devices(library_name):
    x, w = drawn("f4")
    there, weights, keys = (placed_by(library_name, a) for a in (x, w, np.arange(6) % 3))
    for axis in AXES[1:]:
        got = gred.mean(there, axis, weights=weights)
        assert type(got) is type(there)
        assert np.allclose(to_host(got), np.average(x, axis, w), 1e-5)
        got = to_host(gred.std(there, axis, weights=weights))
        assert np.allclose(got, spread(x, w, axis, 0) ** 0.5, 1e-4)
    got = to_host(gred.by_key("mean", keys, there, weights=weights))
    for key in range(3):
        assert np.allclose(got[key], np.average(x[key::3], 0, w[key::3]), 1e-5)
