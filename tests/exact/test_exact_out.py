"""Exact results that go where they are wanted, on a device and along axes, rounded once.

A warp passes the carries on and rounds, as a host does. Along axes results are made one by one
where memory is short. The truth is fractions.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from devices import to_host
from exact_truths import as_floats, edges, nearest, same, same_bits, total, truth
from exactly import NAMES, WIDE, exact, root, stored, typed
from reference import REALS
from samples import there
from test_exact_along import check, on_devices, wanted
from thin import chosen

import gred

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
    for far in [*range(-54, -200, -3 if device == "simulated" else -1), -1000]:
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
    step = (97 if dtype == np.float64 else 13) * (2 if device == "simulated" else 1)
    exponents = range(kind.minexp - kind.nmant, kind.maxexp, step)
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


# ---- along axes ----


# Results that blocks share, for which they need memory.
SHARED = [((1300, 33), 0), ((3, 40_000), 1), ((2, 1300, 40), 1)]


@on_devices
@typed
@pytest.mark.parametrize("out_type", [*REALS, np.dtype(np.int32)], ids=str)
def test_what_is_written_to_out_is_rounded_once(place, dtype, out_type):
    """To out's type or to what makes integers."""
    x = (np.random.default_rng(8).normal(size=(3, 4, 140)) * 9).astype(dtype)
    rounded = out_type if out_type in REALS else np.float64
    for axis, name in chosen(itertools.product(range(3), ("sum", "mean")), dtype, out_type):
        out = there(np.zeros(np.delete(x.shape, axis), out_type), place)
        getattr(gred, name)(there(x, place), axis, method="exact", out=out)
        want = wanted(name, x, axis, rounded).astype(out_type)
        assert same_bits(to_host(out).reshape(want.shape), want)


@on_devices
@pytest.mark.parametrize(("shape", "axis"), SHARED)
def test_results_are_made_one_by_one_where_memory_is_short(place, shape, axis):
    x = there(np.ones(shape, np.float32), place)
    whole = gred.explain(x, axis=axis, method="exact")
    assert whole.at_once == whole.results > 1
    assert whole.workspace_nbytes > 0
    for less, at_once in ((0, whole.results), (1, 1)):
        with gred.workspace_limit(whole.workspace_nbytes - less):
            assert gred.explain(x, axis=axis, method="exact").at_once == at_once


@on_devices
@typed
@pytest.mark.parametrize(("shape", "axis"), SHARED)
@pytest.mark.parametrize("name", NAMES)
def test_results_made_one_by_one_are_added_exactly(place, dtype, shape, axis, name):
    x = np.random.default_rng(10).normal(size=shape)
    x = (x * np.exp2(np.random.default_rng(11).integers(-12, 12, shape))).astype(dtype)
    by_results = np.moveaxis(x, axis, -1)
    by_results[..., 1, 5], by_results[..., 0, ::9] = np.inf, np.nan
    with gred.workspace_limit(1):
        check(place, name, x, axis)
        check(place, name, x, axis, lambda x: x[..., ::-1])
