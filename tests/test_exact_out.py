"""Exact results that stay on a device: a warp passes the carries on and rounds, as a host does.

The truth is fractions, rounded once; nothing of it comes from gred.
"""

from fractions import Fraction

import numpy as np
import pytest
from drawn import examples
from exact_truths import (
    TINY,
    any_floats,
    as_floats,
    edges,
    exact_products,
    nearest,
    nearest_root,
    same,
    total,
    truth,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import COMPLEX, REALS
from samples import element_there, fetched, there
from test_exact_devices import places, typed
from test_exact_method import exact

import gred

WIDE = np.dtype(np.float64)
pytestmark = [places, pytest.mark.usefixtures("shuffled")]


def stored(name, x, place, dtype=None, **options):
    """Reduce on a device to one element there, and read it."""
    out = element_there(dtype or x.dtype, place)
    if dtype and np.dtype(dtype).kind in "fc" and "dtype" not in options:
        options["dtype"] = dtype
    assert exact(name, there(x, place), out=out, **options) is out
    return fetched(out, place)


@typed
@pytest.mark.parametrize("name", ["sum", "mean", "nansum", "nanmean"])
@settings(deadline=None, max_examples=examples(40))
@given(data=st.data())
def test_any_floats_are_rounded_once_where_they_are(place, name, dtype, data):
    x = data.draw(any_floats(dtype))
    for result in (dtype, *REALS):
        assert same(stored(name, x, place, result), truth(name, x, result))


@typed
def test_every_edge_between_floats_is_seen(place, dtype):
    """Halves, and what is a bit beside them, of either sign; some bits are far below the rest."""
    for value in list(edges(dtype))[:: 7 if place == "simulated" else 1]:
        for exact_value in (value, -value):
            x = np.array(as_floats(exact_value) or [0.0])
            assert same(stored("sum", x, place, dtype), nearest(exact_value, dtype)), exact_value


@pytest.mark.parametrize("divisor", [2, 3, 5, 7, 1000, 4099])
def test_means_at_the_edges_are_rounded_once(place, divisor):
    """A quotient is half way between two floats, or a bit beside that."""
    for dtype in (np.dtype(np.float32), WIDE):
        for value in list(edges(dtype))[:: 41 if place == "simulated" else 5]:
            if abs(value * divisor) >= Fraction(2) ** 1020:
                continue
            parts = as_floats(value * divisor)
            if len(parts) > divisor:
                continue
            x = np.array(parts + [0.0] * (divisor - len(parts)))
            assert same(stored("mean", x, place, dtype), nearest(value, dtype)), value


@pytest.mark.parametrize("divisor", [1, 3, 7, 1023])
def test_a_tie_is_decided_by_a_bit_wherever_it_lies(place, divisor):
    """Beside those that are kept, further down, and in what a division leaves."""
    for far in [*range(-54, -200, -1), -1000]:
        for sign in (1, -1):
            tie = [divisor * 1.0, divisor * 2.0**-53, sign * 2.0**far]
            x = np.array(tie[: max(3, divisor)] + [0.0] * (divisor - 3))
            name = "mean" if divisor > 1 else "sum"
            assert same(stored(name, x, place), truth(name, x)), (far, sign)
            assert same(exact(name, x), truth(name, x)), (far, sign)


@pytest.mark.parametrize("count", [3, 2**16 + 1, 99_991])
def test_quotients_of_any_bits_are_rounded_once(place, count):
    """Digits that a first guess makes too great are among those of many."""
    random = np.random.default_rng(count)
    for _ in range(40 if count == 3 else 2):
        x = np.zeros(count)
        x[:3] = of_any_bits(random, 3)
        assert same(stored("mean", x, place), truth("mean", x)), x[:3]


def of_any_bits(random, n):
    """Draw float64s with exponents in the middle, of which many bits are 1."""
    bits = random.integers(0, 2**52, n, np.uint64) | random.integers(0, 2**52, n, np.uint64)
    return (bits | np.uint64(1000 << 52)).view(np.float64)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_carries_go_through_all_digits(place, dtype):
    """What is borrowed for a number far below comes from the topmost digit, and goes there."""
    kind = np.finfo(dtype)
    exponents = range(kind.minexp - kind.nmant, kind.maxexp, 97 if dtype == np.float64 else 13)
    for low in exponents:
        for high in exponents:
            for signs in ((1, -1), (-1, 1), (-1, -1)):
                x = np.ldexp(np.array(signs, dtype), [high, low]).astype(dtype)
                assert same(stored("sum", x, place), total(x, x.dtype)), (high, low, signs)


@pytest.mark.parametrize("n", [1, 31, 2049, 70_001])
def test_one_block_or_many_round_alike(place, n):
    random = np.random.default_rng(n)
    for dtype in (np.float64, np.float32, np.float16):
        limit = 3 if dtype == np.float16 else 100
        x = np.ldexp(random.normal(size=n), random.integers(-limit, limit, n)).astype(dtype)
        for name in ("sum", "mean"):
            assert same(stored(name, x, place, WIDE), truth(name, x, WIDE))
            assert same(stored(name, x, place), truth(name, x))


@typed
@pytest.mark.parametrize("n", [1, 31, 2049, 70_001])
def test_norms_stay_on_the_device(place, dtype, n):
    random = np.random.default_rng(n)
    limit = 3 if dtype == np.float16 else 30
    x = np.ldexp(random.normal(size=n), random.integers(-limit, limit, n)).astype(dtype)
    with np.errstate(over="ignore"):
        assert same(stored("norm", x, place), nearest_root(exact_products(x, x), dtype))


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_parts_are_rounded_apart(place, dtype):
    random = np.random.default_rng(4)
    for n in (1, 4000, 60_002):
        x = (random.normal(size=n) * 1e5 + 1j * random.normal(size=n)).astype(dtype)
        for name in ("sum", "mean"):
            got = stored(name, x, place)
            assert got.dtype == dtype
            assert same(got.real, truth(name, x.real))
            assert same(got.imag, truth(name, x.imag))


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
@pytest.mark.parametrize("value", [complex(np.inf, 1), complex(1, -np.inf), complex(np.nan, 2)])
def test_what_is_not_finite_spoils_its_own_part_of_a_mean(place, dtype, value):
    x = np.array([value, 3 + 4j], dtype)
    with np.errstate(invalid="ignore"):
        expected = np.array([x.real.mean(), x.imag.mean()])
    for got in (stored("mean", x, place), exact("mean", there(x, place))):
        assert np.array_equal([got.real, got.imag], expected, equal_nan=True)


def test_a_sum_may_begin_beyond_what_its_type_has_digits_for(place):
    for dtype in (np.float32, np.float16):
        x = np.array([1, 2, 3], dtype)
        for initial in (1e300, -1e300, 5e-324, np.inf, np.nan, -6.0):
            expected = total([1, 2, 3, initial], WIDE)
            assert same(stored("sum", x, place, WIDE, initial=initial), expected)
    x = np.array([1 + 2j, 3 - 4j], np.complex64)
    assert stored("sum", x, place, np.complex128, initial=1e200 + 2j) == 1e200 + 0j


def test_zeros_keep_their_signs(place):
    for values in ([-0.0], [-0.0, 0.0], [1.0, -1.0], [-0.0] * 5000):
        for options in ({}, {"initial": None}, {"initial": -0.0}, {"initial": 0.0}):
            for dtype in (np.float64, np.float32, np.complex64):
                x = np.array(values, dtype)
                numpys = np.add.reduce(x, **options) if options else np.sum(x)
                got = stored("sum", x, place, **options)
                assert same(got.real, numpys.real), (values[:2], dtype, options)


@pytest.mark.parametrize("where", [np.zeros(900, bool), np.arange(900) % 3 == 1])
def test_masks_choose_what_is_stored(place, where):
    """A mask of the host's, too, which may hide all that there is."""
    x = np.random.default_rng(1).normal(size=900)
    for name in ("sum", "mean"):
        for mask in (where, there(where, place)):
            got = stored(name, x, place, where=mask)
            assert same(got, truth(name, x[where]))
        out = element_there(WIDE, place)
        exact(name, x, where=where, out=out, device=place)
        assert same(fetched(out, place), truth(name, x[where]))


def test_pieces_are_merged_and_rounded(place):
    random = np.random.default_rng(1)
    x = np.ldexp(random.normal(size=60_000), random.integers(-80, 80, 60_000))
    with gred.workspace_limit(1):
        for name in ("sum", "mean", "nansum"):
            out = element_there(WIDE, place)
            exact(name, x, out=out, device=place)
            assert same(fetched(out, place), truth(name, x))
            strided = there(x, place, lambda x: x[::2])
            out = element_there(np.float32, place)
            exact(name, strided, out=out, dtype=np.float32)
            assert same(fetched(out, place), truth(name, x[::2], np.dtype(np.float32)))


@pytest.mark.parametrize("result", [np.float16, np.float32, np.float64, np.complex64, np.int32])
def test_results_are_converted_to_where_they_go(place, result):
    """Rounded once to the sum's type, and then as any assignment goes."""
    x = np.array([1.0, 2.0**-30, 1000.0])
    out = element_there(result, place)
    exact("sum", there(x, place), out=out)
    assert fetched(out, place) == np.sum(x).astype(result)


def test_a_call_after_another_finds_nothing_of_it(place):
    x, y = (np.full(n, 0.1) for n in (100_000, 70_000))
    for _ in range(3):
        for values in (x, y):
            assert same(stored("sum", values, place), truth("sum", values))
            assert exact("sum", there(values, place)) == truth("sum", values)


def test_the_least_counts(place):
    x = np.array([1.0, float(TINY), -1.0])
    assert stored("sum", x, place) == float(TINY)
