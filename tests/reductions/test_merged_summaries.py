"""Summaries of parts, merged, are those of the whole, beside fractions of all elements."""

import itertools
import pickle
from fractions import Fraction

import numpy as np
import pytest
from reference import EVERY_TYPE

import gred

EPSILON = np.finfo(np.float64).eps


def parts_of(x, *cuts):
    return [gred.describe(part) for part in np.split(x, cuts)]


def close(got, want, rounds):
    """Compare fields: what is rounded so often may be off by as many half units."""
    assert got.ddof == want.ddof
    for name in ("count", "nans", "min", "max", "sum", "mean", "var"):
        a, b = np.asarray(getattr(got, name)), np.asarray(getattr(want, name))
        assert a.dtype == b.dtype, name
        assert a.shape == b.shape
        unit = np.finfo(a.dtype).eps if a.dtype.kind in "fc" else 0
        exact = name in ("count", "nans", "min", "max") or unit == 0
        a, b = (a.astype(complex), b.astype(complex)) if a.dtype.kind == "V" else (a, b)
        assert np.allclose(a, b, 0 if exact else rounds * unit, 0, equal_nan=True), name


@pytest.mark.parametrize("dtype", [one for one in EVERY_TYPE if one.kind in "biufc"], ids=str)
def test_any_parts_make_the_whole(dtype):
    x = np.random.default_rng(1).integers(0, 9, 300).astype(dtype)
    whole = gred.describe(x)
    for cuts in ([], [1], [100], [299], [1, 2, 150, 200], [0, 300], [7, 7]):
        first, *others = parts_of(x, *cuts)
        merged = first.merge(*others)
        close(merged, whole, 300 if dtype.itemsize > 2 or dtype.kind in "biu" else 8)
        close(sum(parts_of(x, *cuts)), merged, 0 if len(cuts) < 2 else 300)


@pytest.mark.parametrize("ddof", [0, 1, 2.5])
def test_variances_are_fractions(ddof):
    """Of deviations that are exact, and a mean that is far from 0."""
    x = np.random.default_rng(2).integers(-50, 50, 999) + 2.0**30
    fractions = [Fraction(value) for value in x.tolist()]
    mean = sum(fractions) / len(fractions)
    var = sum((value - mean) ** 2 for value in fractions) / (len(fractions) - Fraction(ddof))
    parts = [gred.describe(part, ddof=ddof) for part in np.split(x, [10, 500])]
    merged = parts[0] + parts[1] + parts[2]
    # Means are off by units of 2^30: so are deviations of parts, by 2^-22, of some 30.
    assert abs(Fraction(float(merged.mean)) - mean) <= 4 * Fraction(2.0**30 * EPSILON)
    assert abs(Fraction(float(merged.var)) / var - 1) < Fraction(1e-6)
    assert merged.ddof == ddof
    assert merged.std == np.sqrt(merged.var)


def test_nothing_and_nan_change_nothing():
    nothing, nans = gred.describe([]), gred.describe([np.nan, np.nan])
    some = gred.describe([1.0, 2.0, np.nan])
    for order in itertools.permutations((nothing, nans, some)):
        merged = order[0].merge(*order[1:])
        assert merged.nans == 3
        assert merged[:1] + merged[2:] == some[:1] + some[2:]
    empty = nothing + nothing
    assert (empty.count, empty.sum) == (0, 0)
    assert all(np.isnan(value) for value in empty[2:6])


@pytest.mark.parametrize(
    "values",
    [
        ([np.inf, 1.0], [2.0]),
        ([np.inf, 1.0], [np.inf, 2.0]),
        ([1.0], [np.inf]),
        ([np.inf], []),
        ([np.inf, 1.0], [-np.inf]),
        ([-np.inf], [-np.inf]),
    ],
)
def test_infinities_merge_as_they_are_described(values):
    for order in (values, values[::-1]):
        one, other = map(gred.describe, map(np.array, order))
        whole, merged = gred.describe(np.concatenate(values)), one + other
        assert np.array_equal(merged[2:], whole[2:], equal_nan=True)


@pytest.mark.parametrize("value", [200, 60000])
def test_float16_is_merged_in_more(value):
    parts = [np.full(4, sign * value, np.float16) for sign in (-1, 1)]
    merged = gred.describe(parts[0]) + gred.describe(parts[1])
    whole = gred.describe(np.concatenate(parts))
    assert merged.mean == 0
    assert merged.var == whole.var
    assert merged.var.dtype == np.float16


def test_a_variance_that_was_divided_by_nothing_is_lost():
    parts = [gred.describe(values, ddof=2) for values in ([1.0, 2.0], [3.0, 4.0, 5.0])]
    assert np.isnan(sum(parts).var)
    assert sum(parts).mean == 3


def test_a_single_element_has_no_spread_whatever_ddof_is():
    ones = [gred.describe([value], ddof=1) for value in (1.0, 4.0, 7.0)]
    assert sum(ones).var == 9.0
    assert sum(ones).count == 3


def test_along_axes_each_place_is_merged():
    x = np.random.default_rng(3).integers(-9, 9, (40, 6)).astype(float)
    x[:, 5] = np.nan
    merged = gred.describe(x[:13], axis=0) + gred.describe(x[13:], axis=0)
    close(merged, gred.describe(x, axis=0), 80)
    listed = gred.each("describe", [x[:7, 0], x[7:, 0]], ddof=1)
    assert listed.ddof == 1


def test_what_are_no_parts_of_one_whole_is_refused():
    one, other = gred.describe([1.0, 2.0]), gred.describe([1.0, 2.0], ddof=1)
    with pytest.raises(ValueError, match="ddof=0, another with 1"):
        one.merge(other)
    with pytest.raises(ValueError, match="different shapes"):
        one.merge(gred.describe(np.ones((2, 3)), axis=0))
    for wrong in (1, (1, 2), None, 0.0):
        with pytest.raises(TypeError):
            one + wrong
        with pytest.raises(TypeError):
            wrong + one


def test_summaries_travel():
    parts = [gred.describe([1.0, 2.0], ddof=1), gred.describe([5.0], ddof=1)]
    sent = [pickle.loads(pickle.dumps(part)) for part in parts]
    assert [part.ddof for part in sent] == [1, 1]
    assert sum(sent) == sum(parts)
    assert type(sent[0]) is gred.Summary
