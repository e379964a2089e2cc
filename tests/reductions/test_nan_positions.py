"""Variances and positions that leave NaN out, beside NumPy's."""

import warnings

import numpy as np
import pytest
from devices import each_library, everywhere, flat_there, placed_by, to_host
from reference import BFLOAT16

import gred

NAMES = ("nanvar", "nanstd", "nanargmin", "nanargmax")
every_name = pytest.mark.parametrize("name", NAMES)


def with_nans(dtype, seed=1):
    random = np.random.default_rng(seed)
    x = random.integers(-9, 10, (6, 5, 7)).astype(dtype)
    if x.dtype.kind in "fcV":
        x[random.random(x.shape) < 0.3] = np.nan
    return x


@every_name
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i4", "u1", "?"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_they_are_numpys(name, dtype, axis):
    x = with_nans(dtype)
    for y, options in ((x, {}), (x.T, {}), (x[::2], {"keepdims": True})):
        got, want = getattr(gred, name)(y, axis, **options), getattr(np, name)(y, axis, **options)
        assert np.shape(got) == np.shape(want)
        if name.startswith("nanarg"):
            assert np.array_equal(got, want)
        else:  # squares of small integers: means and quotients are rounded
            assert np.allclose(got, want, 40 * np.finfo(got.dtype).eps)


@every_name
def test_masks_are_joined(name):
    x, mask = with_nans("f8"), np.random.default_rng(5).random((6, 5, 7)) < 0.8
    got = getattr(gred, name)(x, 0, where=mask)
    want = getattr(np, name)(np.where(mask, x, np.nan), 0)
    assert np.allclose(got, want, 1e-14)
    assert np.allclose(getattr(gred, name)(x, where=True), getattr(np, name)(x), 1e-14)


def test_variances_take_what_var_takes():
    x = with_nans("f8")
    assert np.allclose(gred.nanvar(x, ddof=1), np.nanvar(x, ddof=1), 1e-14)
    kept = x[~np.isnan(x)]
    assert gred.nanstd(x, method="exact") == gred.std(kept, method="exact")
    out = np.zeros(5)
    assert gred.nanvar(x, (0, 2), out=out) is out
    assert np.allclose(out, np.nanvar(x, (0, 2)), 1e-14)
    narrow = np.array([1, np.nan, 4], BFLOAT16)
    assert gred.nanvar(narrow) == BFLOAT16.type(2.25)
    assert gred.nanargmax(narrow) == 2


def test_nothing_but_nan_has_no_position_and_no_variance():
    for x in ([np.nan, np.nan], []):
        with pytest.raises(ValueError, match="has no value"):
            gred.nanargmin(np.array(x))
    with pytest.raises(ValueError, match="has no value"):
        gred.nanargmax(np.array([[np.nan, np.nan], [1, 2]]), axis=1)
    with pytest.warns(RuntimeWarning, match="Degrees of freedom"):
        assert np.isnan(gred.nanvar([np.nan]))


@everywhere
def test_arrays_that_cannot_be_compared_are_refused(place):
    with pytest.raises(TypeError, match="cannot be compared"):
        gred.nanvar(flat_there(np.ones(3), place))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gred.nanargmax([3, 5, 4]) == 1


@each_library
@every_name
def test_a_librarys_own_arrays_stay_there(name, library_name):
    if library_name == "jax.numpy":
        pytest.skip("of 32 bits, unless JAX is told otherwise")
    x = with_nans("f8")
    there = placed_by(library_name, x)
    got = getattr(gred, name)(there, 1)
    assert type(got) is type(there)
    assert np.allclose(to_host(got), getattr(np, name)(x, 1), 1e-14)
