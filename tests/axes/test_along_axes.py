"""Along any axes every reduction gives NumPy's answer, in an array of NumPy's shape and type.

Values are held against the truth about each result's own elements, which NumPy's indexing selects;
shapes, types and errors against NumPy's own functions. On devices that is asked in
test_axes_on_devices.py, too, of every way in which threads share the work.
"""

import itertools
import warnings

import numpy as np
import pytest
from along import NAMES, calls, check_call
from drawn import often
from hypothesis import given

import gred

every_name = pytest.mark.parametrize("name", NAMES)


@often(300)
@given(call=calls())
def test_answers_and_refusals_are_numpys(call):
    check_call(call)


@pytest.mark.parametrize("axis", [0, 1])
def test_sums_of_floats_are_no_less_accurate_than_numpys_along_the_last_axis(axis):
    """As mean squares of many results of many lengths, since each has some luck."""
    random = np.random.default_rng(8)
    ours = numpys = 0.0
    for n in (700, 1000, 3000, 5000, 30_000, 50_000, 100_000):
        rows = random.random((64, n), np.float32)
        exact = rows.astype(np.float64).sum(axis=1)
        x = rows if axis else np.ascontiguousarray(rows.T)
        ours += np.mean(((gred.sum(x, axis) - exact) / exact) ** 2)
        numpys += np.mean(((rows.sum(axis=1) - exact) / exact) ** 2)
    assert ours <= 1.1 * numpys


def test_a_result_does_not_depend_on_its_neighbours():
    """The same bits for columns of many and for two by themselves."""
    x = np.random.default_rng(5).normal(size=(3000, 700)).astype(np.float32)
    together = gred.sum(x, 0)
    for k in (0, 1, 255, 698):
        assert gred.sum(x[:, k : k + 2], 0)[0] == together[k]


def test_many_dimensions_are_taken(device):
    shape = (2, 1, 1, 3) + (1,) * 58 + (2, 2)
    x = np.arange(24.0).reshape(shape)
    every = (0, 63, (0, 3), (62, 63), tuple(range(64)), tuple(range(0, 64, 2)), ())
    for axis, keepdims in itertools.product(every, (False, True)):
        got = gred.sum(x, axis, keepdims=keepdims, device=device)
        np.testing.assert_array_equal(got, x.sum(axis, keepdims=keepdims))
    x = np.arange(2.0**12).reshape((2,) * 12).transpose([*range(0, 12, 2), *range(1, 12, 2)])
    for axis in (0, (1, 5, 11), tuple(range(6)), (11,)):
        np.testing.assert_array_equal(gred.sum(x, axis, device=device), x.sum(axis))


def test_minmax_gives_two_arrays(device):
    x = np.random.default_rng(6).normal(size=(5, 6, 7))
    for axis, keepdims in (((0, 2), False), (1, True)):
        ends = gred.minmax(x, axis, keepdims=keepdims, device=device)
        right = x.min(axis, keepdims=keepdims), x.max(axis, keepdims=keepdims)
        np.testing.assert_array_equal(ends, right, strict=True)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_of_negative_zeros_alone_the_sign_is_numpys(name, dtype, device):
    for shape in [(300, n) for n in (1, 2, 3, 8, 31, 64, 200)] + [(2, 300), (8, 300), (3, 5000)]:
        x = np.full(shape, -0.0).astype(dtype)
        for axis in (0, 1):
            got, right = getattr(gred, name)(x, axis, device=device), getattr(np, name)(x, axis)
            assert np.signbit(got.real).tolist() == np.signbit(right.real).tolist()


def test_methods_are_for_whole_arrays(device):
    x = np.ones((2, 3))
    for method in ("unroll8", "recursive", "last_block"):
        for options in ({"axis": 0}, {"keepdims": True}, {"axis": (0, 1)}):
            with pytest.raises(ValueError, match="'auto'"):
                gred.sum(x, method=method, device=device, **options)
    np.testing.assert_array_equal(gred.sum(x, 0, method="auto", device=device), [2, 2, 2])
    with pytest.raises(ValueError, match="does not exist"):
        gred.sum(x, 0, method="unrol8", device=device)


TOO_LITTLE = [
    ("mean", np.zeros((4, 0)), 1, {}, "Mean of empty slice"),
    ("var", np.zeros((5, 1)), 1, {"ddof": 1}, "Degrees of freedom"),
    ("nanmax", np.full((3, 4), np.nan), 0, {}, "All-NaN slice"),
    ("nanmean", np.full((3, 4), np.nan), 0, {}, "Mean of empty slice"),
    ("mean", np.ones((2, 2)), 0, {"where": [True, False]}, "Mean of empty slice"),
]


def test_warnings_are_numpys_and_come_once(device):
    for name, x, axis, options, words in TOO_LITTLE:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            got = getattr(gred, name)(x, axis, device=device, **options)
        assert [words in str(warning.message) for warning in caught] == [True]
        assert caught[0].filename == __file__
        assert np.isnan(got).any()


def test_a_place_of_nothing_is_refused(device):
    for name in ("argmin", "argmax", "ptp", "minmax"):
        with pytest.raises(ValueError, match="hides"):
            getattr(gred, name)(np.ones((2, 2)), 0, where=[True, False], device=device)
