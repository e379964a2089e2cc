"""Exact sums negated, scaled, compared, and rounded down or up, against fractions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from exact_truths import exact_sum
from exactly import typed
from hypothesis import given
from hypothesis import strategies as st

import gred

finite = st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=20)
factors = st.integers(-(2**70), 2**70) | st.integers(-3, 3)


@given(finite, factors)
def test_scaling_is_of_the_exact_sum(x, k):
    total = gred.ExactSum(np.array(x))
    for scaled in (total * k, k * total):
        assert scaled.fraction() == k * total.fraction()
        assert scaled.count == len(x)
    assert (-total).fraction() == -total.fraction()
    assert -total * -1 == total
    assert -total == gred.ExactSum(-np.array(x))
    assert (total + -total).fraction() == 0
    assert total.count == len(x)


def test_scaled_sums_are_ordinary_ones():
    total = gred.ExactSum([0.1, 1e300]) * 3
    assert gred.ExactSum.from_bytes(total.to_bytes()) == total
    merged = gred.ExactSum.from_words(total.words + gred.ExactSum([1.0]).words)
    assert merged.fraction() == 3 * (Fraction(0.1) + Fraction(1e300)) + 1
    assert (np.int64(5) * gred.ExactSum([2.0])).value() == 10
    assert (gred.ExactSum([1.5, 2.5]) * -2).mean() == -4


def test_infinities_and_nan_are_scaled_as_ieee_754_has_them():
    for value, k in itertools.product((math.inf, -math.inf, math.nan), (-2, -1, 0, 1, 7)):
        got, want = (gred.ExactSum([value, 1.0]) * k).value(), (value + 1) * k
        assert got == want or (math.isnan(got) and math.isnan(want)), (value, k)
    both = gred.ExactSum([np.inf, 2.0]) + -gred.ExactSum([np.inf, 1.0])
    assert math.isnan(both.value())


def test_what_is_beyond_the_digits_is_refused():
    large = gred.ExactSum([np.finfo(float).max])
    assert (large * 2**1000).fraction() == large.fraction() * 2**1000
    for k in (2**1200, -(2**1200)):
        with pytest.raises(OverflowError, match="beyond"):
            large * k
    for wrong in (1.5, "2", None, np.float64(2)):
        with pytest.raises(TypeError):
            large * wrong


@given(finite, finite)
def test_sums_are_compared_as_fractions_are(x, y):
    a, b = gred.ExactSum(np.array(x)), gred.ExactSum(np.array(y))
    first, second = sum(map(Fraction, x)), sum(map(Fraction, y))
    for other, value in ((b, second), (second, second), (a, first)):
        assert (a < other) == (first < value)
        assert (a <= other) == (first <= value)
        assert (a > other) == (first > value)
        assert (a >= other) == (first >= value)


def test_sums_are_compared_with_numbers_of_any_kind():
    total = gred.ExactSum([1e100, 2.0**-60, -1e100, 1.0])
    for one in (1, 1.0, np.float32(1), np.int8(1), True, Fraction(1), np.longdouble(1)):
        assert total > one
        assert not total <= one
    assert total < 1 + Fraction(1, 2**59)
    assert total < math.inf
    assert total > -np.inf
    for nan in (math.nan, gred.ExactSum([np.nan])):
        assert not any((total < nan, total <= nan, total > nan, total >= nan))
    assert gred.ExactSum([np.inf]) > total
    assert gred.ExactSum([-np.inf]) < -(10**400)
    assert sorted([total, gred.ExactSum([0.5])])[0].value() == 0.5
    for wrong in ("1", None, [1]):
        with pytest.raises(TypeError):
            total < wrong  # noqa: B015


@typed
def test_an_interval_holds_the_sum_and_nothing_between_its_ends(dtype):
    for seed in range(40):
        random = np.random.default_rng(seed)
        x = (random.normal(size=9) * np.exp2(random.integers(-20, 9, 9))).astype(dtype)
        x = x.astype(np.float64) * (1 + 2.0**-30 * random.integers(0, 2, 9))
        total, exact = gred.ExactSum(x), exact_sum(x)
        down, up = (total.value(dtype, rounding) for rounding in ("down", "up"))
        assert down.dtype == up.dtype == dtype
        assert Fraction(float(down)) <= exact <= Fraction(float(up))
        assert down == up or np.nextafter(down, up) == up
        assert total.value(dtype) in (down, up)
    whole = gred.ExactSum([1.5, 2.0])
    assert {float(whole.value(dtype, how)) for how in ("down", "nearest", "up")} == {3.5}


def test_intervals_at_the_ends_of_float64():
    greatest, least = np.finfo(float).max, 5e-324
    beyond = gred.ExactSum([greatest, greatest])
    assert (beyond.value(), beyond.value(rounding="down")) == (np.inf, greatest)
    assert (-beyond).value(rounding="up") == -greatest
    assert (-beyond).value(rounding="down") == -np.inf
    tiny = gred.ExactSum()
    tiny.add_products([least], [0.25])
    assert (tiny.value(), tiny.value(rounding="down"), tiny.value(rounding="up")) == (0, 0, least)
    assert (-tiny).value(rounding="down") == -least
    for value in (np.inf, -np.inf, np.nan, 0.0):
        for how in ("down", "up"):
            got = gred.ExactSum([value]).value(rounding=how)
            assert got == value or math.isnan(value)
    for how in ("zero", None, 1):
        with pytest.raises(ValueError, match="rounding must be"):
            tiny.value(rounding=how)
