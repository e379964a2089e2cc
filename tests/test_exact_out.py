"""Exact results that stay on a device: a warp passes the carries on and rounds, as a host does.

The truth is fractions, rounded once; nothing of it comes from gred.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from exact_truths import TINY, as_floats, edges, nearest, same, total, truth
from exactly import exact, root, stored
from reference import REALS
from samples import there

WIDE = np.dtype(np.float64)
typed = pytest.mark.parametrize("dtype", REALS, ids=str)
pytestmark = pytest.mark.usefixtures("shuffled")


@typed
def test_every_edge_between_floats_is_seen(device, dtype):
    """Halves, and what is a bit beside them, of either sign; some bits are far below the rest."""
    for value in list(edges(dtype))[:: 7 if device == "simulated" else 1]:
        for exact_value in (value, -value):
            x = np.array(as_floats(exact_value) or [0.0])
            assert same(stored("sum", x, device, dtype), nearest(exact_value, dtype)), exact_value


@pytest.mark.parametrize("divisor", [2, 3, 5, 7, 1000, 4099])
def test_means_at_the_edges_are_rounded_once(device, divisor):
    """A quotient is half way between two floats, or a bit beside that."""
    for dtype in (np.dtype(np.float32), WIDE):
        for value in list(edges(dtype))[:: 41 if device == "simulated" else 5]:
            if abs(value * divisor) >= Fraction(2) ** 1020:
                continue
            parts = as_floats(value * divisor)
            if len(parts) > divisor:
                continue
            x = np.array(parts + [0.0] * (divisor - len(parts)))
            assert same(stored("mean", x, device, dtype), nearest(value, dtype)), value


@pytest.mark.parametrize("divisor", [1, 3, 7, 1023])
def test_a_tie_is_decided_by_a_bit_wherever_it_lies(device, divisor):
    """Beside those that are kept, further down, and in what a division leaves."""
    for far in [*range(-54, -200, -1), -1000]:
        for sign in (1, -1):
            tie = [divisor * 1.0, divisor * 2.0**-53, sign * 2.0**far]
            x = np.array(tie[: max(3, divisor)] + [0.0] * (divisor - 3))
            name = "mean" if divisor > 1 else "sum"
            assert same(stored(name, x, device), truth(name, x)), (far, sign)
            assert same(exact(name, x), truth(name, x)), (far, sign)


@pytest.mark.parametrize("count", [3, 2**16 + 1, 99_991])
def test_quotients_of_any_bits_are_rounded_once(device, count):
    """Digits that a first guess makes too great are among those of many."""
    random = np.random.default_rng(count)
    for _ in range(40 if count == 3 else 2):
        x = np.zeros(count)
        x[:3] = of_any_bits(random, 3)
        assert same(stored("mean", x, device), truth("mean", x)), x[:3]


def of_any_bits(random, n):
    """Draw float64s with exponents in the middle, of which many bits are 1."""
    bits = random.integers(0, 2**52, n, np.uint64) | random.integers(0, 2**52, n, np.uint64)
    return (bits | np.uint64(1000 << 52)).view(np.float64)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_carries_go_through_all_digits(device, dtype):
    """What is borrowed for a number far below comes from the topmost digit, and goes there."""
    kind = np.finfo(dtype)
    exponents = range(kind.minexp - kind.nmant, kind.maxexp, 97 if dtype == np.float64 else 13)
    for low in exponents:
        for high in exponents:
            for signs in ((1, -1), (-1, 1), (-1, -1)):
                x = np.ldexp(np.array(signs, dtype), [high, low]).astype(dtype)
                assert same(stored("sum", x, device), total(x, x.dtype)), (high, low, signs)


@typed
@pytest.mark.parametrize("n", [1, 31, 2049, 70_001])
def test_one_block_or_many_round_alike(device, dtype, n):
    random = np.random.default_rng(n)
    limit = 3 if dtype == np.float16 else 30
    x = np.ldexp(random.normal(size=n), random.integers(-limit, limit, n)).astype(dtype)
    with np.errstate(over="ignore"):
        assert same(stored("norm", x, device), root(x, dtype))
    for name, result in itertools.product(("sum", "mean"), (dtype, WIDE)):
        assert same(stored(name, x, device, result), truth(name, x, result))


def test_a_sum_may_begin_beyond_what_its_type_has_digits_for(device):
    for dtype in (np.float32, np.float16):
        x = np.array([1, 2, 3], dtype)
        for initial in (1e300, -1e300, 5e-324, np.inf, np.nan, -6.0):
            expected = total([1, 2, 3, initial], WIDE)
            assert same(stored("sum", x, device, WIDE, initial=initial), expected)
    x = np.array([1 + 2j, 3 - 4j], np.complex64)
    assert stored("sum", x, device, np.complex128, initial=1e200 + 2j) == 1e200 + 0j


def test_a_call_after_another_finds_nothing_of_it(device):
    x, y = (np.full(n, 0.1) for n in (100_000, 70_000))
    for _ in range(3):
        for values in (x, y):
            assert same(stored("sum", values, device), truth("sum", values))
            assert exact("sum", there(values, device)) == truth("sum", values)


def test_the_least_counts(device):
    x = np.array([1.0, float(TINY), -1.0])
    assert stored("sum", x, device) == float(TINY)
