"""Weighted means, reductions that skip NaN, and `logsumexp`, checked by NumPy and fractions."""

import itertools
import warnings
from fractions import Fraction

import numpy as np
import pytest
from devices import everywhere, flat_there, laid_out, to_host
from gpu_libraries import Cupy, Jax, Torch, of
from reference import BFLOAT16
from refusals import refused
from samples import silenced

import gred

# ---- weights ----

AXES = (None, 0, 1, -1, (0, 2), (2, 0))
WEIGHTED = ("mean", "var", "std")


def drawn(dtype="f8"):
    random = np.random.default_rng(1)
    x = random.normal(size=(6, 5, 40)) * 10
    return x.astype(dtype), random.random((6, 5, 40)).astype("f8" if dtype != "f4" else "f4")


def weighted(name, x, w, axis=None, ddof=0, keepdims=False):
    """Compute weighted means and spreads as NumPy does; a skipped NaN has no weight."""
    if name == "sum":
        return (x * w).sum(axis, keepdims=keepdims)
    mean = np.average(x, axis, w, keepdims=True)
    var = (w * abs(x - mean) ** 2).sum(axis, keepdims=True)
    var = var / (w.sum(axis, keepdims=True) - ddof)
    result = {"mean": mean, "var": var, "std": var**0.5}[name]
    return result if keepdims else result.reshape(result.sum(axis).shape)


@pytest.mark.parametrize("name", WEIGHTED)
@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "c16"])
def test_weighted_means_and_spreads_are_numpys(name, axis, dtype):
    x, w = drawn(dtype)
    for keepdims, ddof in itertools.product((False, True), (0, 0.25) if name != "mean" else (0,)):
        options = {"keepdims": keepdims, **({"ddof": ddof} if ddof else {})}
        got = getattr(gred, name)(x, axis, weights=w, **options)
        want = weighted(name, x, w, axis, **options)
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        assert np.allclose(got, want, 1e-5 if dtype == "f4" else 1e-13)


def test_weights_of_the_axes_alone_and_of_what_is_shown():
    x, w = drawn()
    for axis, own in ((1, w[0, :, 0]), ((0, 2), w[:, 0]), ((2, 0), w[:, 0].T)):
        assert np.allclose(gred.mean(x, axis, weights=own), np.average(x, axis, own), 1e-13)
    counts = np.array([0, 3, 1, 8, 2])
    repeated = np.repeat(x, counts, 1)
    assert np.allclose(gred.var(x, 1, weights=counts, ddof=1), repeated.var(1, ddof=1), 1e-12)
    x[w < 0.2] = np.nan
    mask = np.random.default_rng(4).random(x.shape) < 0.7
    shown = np.where(mask & ~np.isnan(x), w, 0)
    with silenced():
        got = gred.nanmean(x, 1, weights=w, where=mask)
        want = np.nansum(x * shown, 1) / shown.sum(1)
    assert np.allclose(got, want, 1e-12, equal_nan=True)
    assert np.isnan(gred.mean(x, weights=w))


def test_exact_means_are_rounded_once():
    random = np.random.default_rng(5)
    x, w = random.normal(size=300) * 2.0 ** random.integers(-400, 400, 300), random.random(300)
    pairs = [(Fraction(a), Fraction(b)) for a, b in zip(x, w, strict=True)]
    want = sum(a * b for a, b in pairs) / sum(b for _, b in pairs)
    assert gred.mean(x, weights=w, method="exact") == float(want)
    assert gred.mean(x[::-1], weights=w[::-1], method="exact") == float(want)


def by_key(op, values, weights, num_keys=None, **options):
    return gred.by_key(op, [0] * len(values), values, num_keys, weights=weights, **options)


def mean_by_itself(x, **options):
    return gred.mean(x, weights=x, **options)


ONE_TWO, ONES, EXACTLY = [1.0, 2.0], [1, 1], {"method": "exact"}
ROWS, SHOWN = np.array([[1.0, 9.0, 2.0]] * 2, "f4"), [True, False, True]
HALF, SOME_300, NARROW = np.float16, np.full(3000, 300, "f2"), np.array([1, np.nan, 4], BFLOAT16)
# Calls, the warning of each, and its result.
FEW = [
    (lambda: gred.mean(ONE_TWO, weights=[0, 0]), "to zero", np.nan),
    (lambda: gred.mean(ONE_TWO, weights=[0, 0], **EXACTLY), "to zero", np.nan),
    (lambda: gred.mean([1.0, np.nan], weights=ONES, **EXACTLY), None, np.nan),
    (lambda: gred.mean([1.0, np.inf], weights=ONES, **EXACTLY), None, np.inf),
    (lambda: mean_by_itself(ROWS, where=SHOWN, **EXACTLY), None, np.float32(10 / 6)),
    (lambda: gred.mean(np.zeros((0, 2)), 0, weights=np.zeros(0)), "to zero", [np.nan] * 2),
    (lambda: gred.var(ONE_TWO, weights=ONES, ddof=5), "no more than ddof", np.inf),
    (lambda: gred.std(ONE_TWO, weights=ONES, ddof=5), "no more than ddof", np.inf),
    (lambda: by_key("var", ONE_TWO, ONES, ddof=3), None, [np.inf]),
    (lambda: by_key("var", ONE_TWO, ONES, [3]), None, [0.25, np.nan, np.nan]),
    (lambda: by_key("std", [1.0], [1.0], 0, outside="drop"), None, []),
    (lambda: gred.nanvar([np.nan]), "Degrees of freedom", np.nan),
    (lambda: gred.nanvar(NARROW), None, BFLOAT16.type(2.25)),
    (lambda: gred.nanargmax(NARROW), None, 2),
    # Products of narrow types are taken in a wider type: 300 * 300 overflows float16.
    (lambda: mean_by_itself(SOME_300), None, HALF(300)),
    (lambda: mean_by_itself(SOME_300, dtype="f8"), None, np.float64(300)),
    (lambda: mean_by_itself(np.array([1, 2, 3], BFLOAT16)), None, BFLOAT16.type(14 / 6)),
    (lambda: by_key("sum", np.int8([100, 100]), np.int8([2, 1])), None, [300]),
    (lambda: by_key("mean", HALF([60000, 2]), HALF([10, 1])), None, HALF([600002 / 11])),
]


@pytest.mark.parametrize(("call", "words", "right"), FEW, ids=range(len(FEW)))
def test_little_weights_great_products_and_narrow_floats_are_right(call, words, right):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        got = call()
    assert [words in str(one.message) for one in told] == [True] * bool(words)
    assert np.array_equal(got, right, equal_nan=True)
    assert not isinstance(right, np.ndarray | np.generic) or got.dtype == right.dtype


test_weights_that_cannot_be_and_places_of_nothing_but_nan_are_refused = refused(
    (lambda: gred.mean([1.0, 2.0], weights=[1.0]), ValueError, "weights must have the shape"),
    (lambda: gred.mean([1.0], weights=[1j]), TypeError, "weights must be real"),
    (lambda: gred.mean([1.0], weights=[1.0], out=np.zeros(())), TypeError, "no out"),
    (lambda: gred.mean([1], weights=[1], dtype=int), TypeError, "float or complex"),
    (lambda: gred.var([1.0], weights=[1.0], method="exact"), TypeError, "only means"),
    (lambda: gred.sum([1.0], weights=[1.0]), TypeError, "unexpected keyword argument 'weights'"),
    (lambda: gred.by_key("mean", [0], [1.0], weights=[1j]), TypeError, "weights must be real"),
    (lambda: gred.mean([1], weights=[1], method="unroll8"), ValueError, "'auto' or 'exact'"),
    (lambda: gred.mean([1], weights=[1], dtype="longdouble"), TypeError, "float or complex"),
    (lambda: gred.mean([1], weights=[1], dtype=int, method="exact"), TypeError, "float or"),
    (lambda: gred.by_key("max", [0], [1.0], weights=[1.0]), ValueError, "weights support"),
    (lambda: gred.nanargmin([np.nan, np.nan]), ValueError, "has no value"),
    (lambda: gred.nanargmin([]), ValueError, "has no value"),
    (lambda: gred.nanargmin([[np.nan, np.nan], [1, 2]], 1), ValueError, "has no value"),
)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("op", ["sum", *WEIGHTED])
def test_by_key_each_key_has_its_weights(axis, op):
    random = np.random.default_rng(6)
    x, w, one = random.normal(size=(50, 60)), random.random((50, 60)), random.random((50, 60)[axis])
    keys = random.integers(0, 4, x.shape[axis])
    wide = np.broadcast_to(one[:, None] if axis == 0 else one, x.shape)
    for given, weights in ((w, w), (one, wide)):
        got = gred.by_key(op, keys, x, weights=given, axis=axis, ddof=0.5)
        for key in range(4):
            of_key = (a.compress(keys == key, axis) for a in (x, weights))
            assert np.allclose(got.take(key, axis), weighted(op, *of_key, axis, 0.5), 1e-13)


@pytest.mark.gpu
@of(Cupy, Torch, Jax)
def test_weights_in_the_libraries_of_devices(library):
    x, w = drawn("f4")
    there, weights, keys = map(library.make, (x, w, np.arange(6) % 3))
    for axis, (name, near) in itertools.product(AXES[1:], (("mean", 1e-5), ("std", 1e-4))):
        got = getattr(gred, name)(there, axis, weights=weights)
        assert type(got) is type(there)
        assert np.allclose(to_host(got), weighted(name, x, w, axis), near)
    got = to_host(gred.by_key("mean", keys, there, weights=weights))
    assert np.allclose(got, [np.average(x[k::3], 0, w[k::3]) for k in range(3)], 1e-5)


# ---- reductions that skip NaN ----

every_name = pytest.mark.parametrize("name", ["nanvar", "nanstd", "nanargmin", "nanargmax"])


def with_nans(dtype):
    random = np.random.default_rng(1)
    x = random.integers(-9, 10, (6, 5, 7)).astype(dtype)
    if x.dtype.kind in "fcV":
        x[random.random(x.shape) < 0.3] = np.nan
    return x


@every_name
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i4", "u1", "?"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_what_leaves_nan_out_is_numpys(name, dtype, axis):
    x = with_nans(dtype)
    more = {} if "arg" in name else {"ddof": 1}
    near = 0 if "arg" in name else 40 * np.finfo(gred.nanvar(x).dtype).eps
    for y, options in ((x, {}), (x.T, more), (x[::2], {"keepdims": True})):
        with silenced():
            got = getattr(gred, name)(y, axis, **options)
            want = getattr(np, name)(y, axis, **options)
        # Squares of small integers are exact; means and quotients are rounded.
        np.testing.assert_allclose(got, want, near, near)
    if dtype == "f8":
        mask = np.random.default_rng(5).random(x.shape) < 0.8
        got, want = getattr(gred, name)(x, 0, where=mask), np.where(mask, x, np.nan)
        assert np.allclose(got, getattr(np, name)(want, 0), 1e-14)


def test_variances_take_what_var_takes():
    x, out = with_nans("f8"), np.zeros(5)
    kept = x[~np.isnan(x)]
    assert gred.nanstd(x, method="exact") == gred.std(kept, method="exact")
    assert gred.nanvar(x, (0, 2), out=out) is out
    assert np.allclose(out, np.nanvar(x, (0, 2)), 1e-14)


@everywhere
def test_arrays_that_cannot_be_compared_lose_their_nan(place):
    x = flat_there(np.array([1.0, np.nan, 4.0]), place)
    for method in "auto", "exact":
        assert to_host(gred.nanvar(x, method=method)) == 2.25


@pytest.mark.gpu
@of(Cupy, Torch)
@every_name
def test_a_librarys_own_arrays_stay_there(name, library):
    x = with_nans("f8")
    there = library.make(x)
    got = getattr(gred, name)(there, 1)
    assert type(got) is type(there)
    assert np.allclose(to_host(got), getattr(np, name)(x, 1), 1e-14)


SPECIAL = list(itertools.product((np.inf, -np.inf, np.nan), (1, -np.inf, np.nan)))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("scale", [1e-3, 1, 30, 1e4, 1e30])
def test_logarithms_are_those_of_any_numbers(device, dtype, scale):
    """Exponentials overflow, and so do some differences; infinities are included."""
    x = np.random.default_rng(1).normal(size=(70, 300)) * scale
    for row, some in zip(x, SPECIAL, strict=False):
        row[:] = np.resize(some, 300)
    with silenced():
        x = x.astype(dtype)
        rights = np.logaddexp.reduce(x.astype(np.longdouble), 1)
    for axis, rows in ((1, x), (0, x.T)):
        got = to_host(gred.logsumexp(laid_out(rows, device), axis))
        near = 40 * np.finfo(dtype).eps
        np.testing.assert_allclose(got, rights.astype(dtype), near, near)
    assert to_host(gred.logsumexp(laid_out(x[:0], device), 0)).tolist() == [-np.inf] * 300


def test_of_integers_it_is_a_float(device):
    with pytest.raises(TypeError, match="must be a float or complex type"):
        gred.logsumexp(laid_out(np.arange(3), device), dtype=int)
