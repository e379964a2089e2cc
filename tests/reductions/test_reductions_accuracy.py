"""Variances and norms are as near to the truth as Chan's formula and scaled squares allow.

The data is what naive formulas fail on: a small spread about a great mean, an outlier to begin
with, trends, squares beyond the range of the type. truths.py has the bounds and derives them.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from inputs import shown
from reference import BFLOAT16, COMPLEX, agrees
from samples import all_right, silenced, there, wrong
from truths import SPREADS, answer, exact_square_sum, exact_sum, root

import gred

FLOATS = tuple(map(np.dtype, (np.float32, np.float64)))
HALVES = (np.dtype(np.float16), BFLOAT16)
LENGTHS = (2, 3, 33, 257, 1025, 4097, 20_011)


# ---- the truth itself ----


def test_the_truth_is_that_of_fractions():
    """What truths.py adds up in pieces is what Fraction adds up one by one."""
    random = np.random.default_rng(1)
    for x in (
        random.normal(size=50) * 10.0 ** random.integers(-150, 150, 50),
        np.array([5e-324, -5e-324, 5e-324]),
        np.array([1e200, 1.0, -1e200, 2.0**-1000]),
        np.full(7, np.finfo(np.float64).max),
        np.zeros(3),
    ):
        fractions = list(map(Fraction, x.tolist()))
        assert exact_sum(x) == sum(fractions)
        assert exact_square_sum(x) == sum(f * f for f in fractions)
        mean = sum(fractions) / len(fractions)
        if abs(x).max() < 1e150:
            variance = sum((f - mean) ** 2 for f in fractions) / len(fractions)
            right = answer("var", x)
            assert right.value == variance
            assert right.error <= 1e-11 * max(right.value, 1)
    for number in (Fraction(9, 4), Fraction(2), Fraction(1, 3), Fraction(10) ** 400):
        assert abs(root(number) ** 2 / number - 1) < Fraction(1, 2**150)
    assert root(Fraction(9, 4)) == Fraction(3, 2)


# ---- variances ----

DATA = {
    "normal": lambda n, r: r.normal(size=n),
    "a great mean": lambda n, r: 1e3 + r.normal(size=n),
    "a very great mean": lambda n, r: 1e9 + r.normal(size=n),
    "a great mean below 0": lambda n, r: -1e6 + r.uniform(size=n),
    "an outlier first": lambda n, r: np.r_[1e9, 1 + r.normal(size=n - 1) / 8],
    "an outlier last": lambda n, r: np.r_[1 + r.normal(size=n - 1) / 8, -1e9],
    "a trend": lambda n, r: np.arange(n) * 1e3,
    "a trend down": lambda n, r: 1e6 - np.arange(n) / 7,
    "steps": lambda n, r: 1e5 * (np.arange(n) // 256) + r.normal(size=n),
    "two values": lambda n, r: 1e7 + (np.arange(n) % 2),
    "one value": lambda n, r: np.full(n, 0.1),
    "many magnitudes": lambda n, r: r.normal(size=n) * 10 ** r.uniform(-6, 6, n),
    "alternating": lambda n, r: np.where(np.arange(n) % 2, 1e8, -1e8) + r.normal(size=n),
}


@pytest.mark.parametrize(
    ("data", "dtypes"),
    itertools.product(DATA.values(), (FLOATS, COMPLEX)),
    ids=[f"{data}, {kind}" for data in DATA for kind in ("real", "complex")],
)
def test_variances_are_within_chans_bound(data, dtypes, device):
    """The variance of complex numbers is that of both parts together, and real."""
    lengths = LENGTHS[:-1] if device == "simulated" else LENGTHS
    random = np.random.default_rng(3)
    all_right(
        wrong(name, x, x, device=device, ddof=ddof)
        for n in (lengths if dtypes == FLOATS else (2, 257, 4097))
        for real in [data(n, random)]
        for drawn in [real if dtypes == FLOATS else real + 1j * data(n, random)[::-1]]
        for dtype in dtypes
        for x in [drawn.astype(dtype)]
        for name, ddof in (("var", 0), ("std", 1))
    )


def test_variances_of_halves_are_rounded_once(device):
    """In their own type a mean of 1000 would stop the sums."""
    random = np.random.default_rng(5)
    all_right(
        wrong(name, x, x, device=device)
        for dtype, n, mean in itertools.product(HALVES, (2, 33, 4097), (0, 10, 1000))
        for x in [random.normal(mean, 3, n).astype(dtype)]
        for name in SPREADS
    )


def test_an_outlier_behind_the_mask_is_not_there(device):
    """A shift by the first element, or by one that is hidden, would cost all the digits."""
    random = np.random.default_rng(6)
    for dtype in FLOATS:
        x = (1 + random.normal(size=4099) / 8).astype(dtype)
        x[::41] = 1e9
        mask = np.arange(x.size) % 41 != 0
        a, hidden = there(x, device), there(mask, device)
        for name in (*SPREADS, "describe"):
            assert not wrong(name, a, x, where=mask, mask=hidden)


def test_an_outlier_that_is_first_in_every_lane_costs_no_digits(device):
    x = 1 + np.random.default_rng(7).normal(size=8192) / 8
    for step in (8, 32, 256, 1024, 4096):
        y = x.copy()
        y[::step] += 1e6
        assert not wrong("var", y, y, device=device)


def test_integers_have_the_variance_of_their_float64(device):
    top = 2**62
    for x in (
        np.array([top, top + 2**12, top - 2**12]),
        np.array([-(2**63), 2**63 - 1]),
        np.full(1000, 2**63 - 1),
        np.array([2**64 - 1, 0, 1], np.uint64),
        10**9 + np.arange(5000) % 7,
        np.array([127, -128] * 999, np.int8),
        np.array([True, False, True] * 333),
    ):
        for name in (*SPREADS, "describe"):
            assert not wrong(name, x, x, device=device)


def test_dtype_says_what_a_variance_is_taken_in(device):
    random = np.random.default_rng(8)
    whole = random.integers(-100, 100, 3001)
    for x in (whole, whole.astype(np.float32) / 3, whole.astype(np.float16), whole.astype(np.int8)):
        for dtype in map(np.dtype, (np.float16, np.float32, np.float64, BFLOAT16)):
            for name in SPREADS:
                assert not wrong(name, x, x, device=device, dtype=dtype)
    beyond = np.array([3e38, -3e38], np.float32)
    assert gred.var(beyond, device=device) == np.inf
    assert gred.var(beyond, device=device, dtype=np.float64) == pytest.approx(9e76, rel=1e-6)


def test_deviations_that_overflow_or_vanish_are_numpys(device):
    with silenced():
        for x in ([1e200, -1e200], [1e-200, -1e-200], [0.0, 5e-324]):
            got = gred.var(np.array(x), device=device)
            assert got == np.var(x) or (np.isnan(got) and not math.isfinite(np.var(x)))
        for x in ([np.inf], [np.inf, np.inf], [np.inf, 1.0], [1.0, -np.inf], [np.nan, 1.0]):
            for dtype in (*FLOATS, *HALVES, *COMPLEX):
                assert np.isnan(gred.var(np.array(x).astype(dtype), device=device))
                assert np.isnan(gred.std(np.array(x * 400).astype(dtype), device=device))


# ---- degrees of freedom ----

DDOFS = (0, 1, 2, -1, -10, 0.5, 1.5, 0.999, True, np.int8(1), np.float32(1.5), np.float64(2))


def test_ddof_is_what_is_taken_from_the_count(device):
    x = np.random.default_rng(9).normal(size=40)
    for ddof, name in itertools.product((*DDOFS, np.array(1), Fraction(3, 2)), SPREADS):
        try:
            getattr(np, name)(x, ddof=ddof)
        except TypeError:
            continue
        right = answer(name, x, ddof=Fraction(float(ddof)))
        assert agrees(getattr(gred, name)(x, ddof=ddof, device=device), right), (name, ddof)
        if ddof in DDOFS:
            got = getattr(gred, name)(x, correction=ddof, device=device)
            assert agrees(got, right), (name, ddof)
    mask = x > 0
    got = gred.var(x, ddof=1.5, where=mask, device=device)
    assert agrees(got, answer("var", x[mask], ddof=Fraction(3, 2)))


@pytest.mark.parametrize("name", SPREADS)
def test_no_degrees_of_freedom_are_warned_of_as_in_numpy(name, device):
    for values in ([1.0], [1.0, 2.0], [3.0, 3.0], [1 + 1j, 2.0], [1, 2, 3]):
        x = np.array(values)
        for ddof in (x.size, x.size + 1, x.size + 0.5, 100, np.inf):
            with silenced():
                right = getattr(np, name)(x, ddof=ddof)
            with pytest.warns(RuntimeWarning, match="Degrees of freedom <= 0"):
                got = getattr(gred, name)(x, ddof=ddof, device=device)
            assert got.dtype == right.dtype
            np.testing.assert_array_equal(got, right, f"{values}, ddof {ddof}")
        mask = np.arange(x.size) == 0
        with pytest.warns(RuntimeWarning, match="Degrees of freedom <= 0"):
            assert np.isnan(getattr(gred, name)(x, ddof=1, where=mask, device=device))


NO_DDOFS = ("1", "a", b"1", [], {}, object(), 1j, [1, 2], np.array([1, 2]), None)


@pytest.mark.parametrize("name", SPREADS)
def test_what_is_no_number_of_degrees_is_refused(name, device):
    for ddof in NO_DDOFS:
        for keyword in ("ddof", "correction"):
            with pytest.raises((TypeError, ValueError)) as caught:
                getattr(gred, name)([1.0, 2.0], device=device, **{keyword: ddof})
            assert "ddof" in str(caught.value) or "correction" in str(caught.value)
    assert np.isnan(getattr(gred, name)([1.0, 2.0], ddof=np.nan, device=device))
    with pytest.raises(ValueError, match=r"ddof.*correction"):
        getattr(gred, name)([1.0, 2.0], ddof=1, correction=1, device=device)


# ---- norms ----


def test_norms_are_within_their_bounds(device):
    random = np.random.default_rng(10)
    for n in (1, 2, 33, 257, 4097):
        spread = random.normal(size=n) * 10 ** random.uniform(-6, 6, n)
        for dtype in (*FLOATS, *COMPLEX, BFLOAT16, np.dtype(np.float16), np.dtype(np.int32)):
            x = spread + 1j * spread[::-1] if dtype in COMPLEX else spread
            x = (x.clip(-100, 100) if dtype == np.float16 else x).astype(dtype)
            all_right(
                wrong("norm", x, x, device=device, ord=order)
                for order in (None, 1, 2, np.inf, -np.inf, 0)
            )


HARD = {
    np.float64: ([1e200, 1e200], [1e200, 1.0, 1e-200], [5e-324] * 4, [1e-200] * 3),
    np.float32: ([3e38, 1e38], [1e30] * 3, [1e-45] * 4, [1e-30] * 5, [1e-40, 3e-39], [3e38, 1e-45]),
    np.float16: ([60000.0, 1.0], [6e-8] * 4, [300.0] * 9, [60000.0, 20000.0]),
    np.complex64: ([3e38, 1e38j], [1e-45 + 1e-45j] * 2, [1e30 + 1e30j] * 2),
    np.complex128: ([1e200 + 1e200j, 1.0], [5e-324j] * 4, [1e-200 + 1e-250j] * 3),
}
HARD[np.float64] += ([1e-320, 1e-310],)


@pytest.mark.parametrize("dtype", HARD, ids=lambda t: t.__name__)
def test_a_norm_neither_overflows_nor_underflows_on_the_way(dtype, device):
    for values in (*HARD[dtype], *(v[::-1] for v in HARD[dtype])):
        x = np.array(values, dtype)
        for order in (None, 1, 2, np.inf, -np.inf):
            assert not wrong("norm", x, x, device=device, ord=order)
        zeros = np.zeros(4097, dtype)
        zeros[5 : 5 + 400 * x.size : 400] = x
        assert not wrong("norm", zeros, zeros, device=device)


def test_many_great_and_many_tiny_elements_have_a_norm(device):
    for n in (1027, 4097):
        for value in (1e300, 1e-300, 5e-324, 2.0**-1022, 1e154, 1e-154, 1e-162):
            x = np.full(n, value)
            assert not wrong("norm", x, x, device=device)
        x = np.logspace(-320, 300, n)
        for a in (x, x[::-1], np.random.default_rng(0).permutation(x)):
            assert not wrong("norm", a, a, device=device)
    x = np.full(4, np.finfo(np.float64).max)
    assert gred.norm(x, device=device) == np.inf
    assert gred.norm(x / 2, device=device) == np.finfo(np.float64).max
    assert gred.norm(np.array([3e38] * 4, np.float32), device=device) == np.inf
    assert gred.norm(np.full(4097, 1e30, np.float32), dtype=np.float64, device=device) > 6e31


NO_ORDERS = [3, 0.5, -1, -2, "fro", "nuc", "2", np.nan, 1j, [2], object(), b""]


@pytest.mark.parametrize("order", NO_ORDERS, ids=shown)
def test_another_order_is_refused(order, device):
    with pytest.raises((ValueError, TypeError), match="ord"):
        gred.norm([3.0, 4.0], order, device=device)


def test_orders_may_be_any_kind_of_number(device):
    inf = float("inf")
    for orders, right in (
        ((2.0, np.int8(2), np.float32(2), np.int64(2), None), 5),
        ((1.0, True, np.uint8(1)), 7),
        ((inf, np.float32(np.inf), math.inf), 4),
        ((-inf,), 0),
        ((0.0, -0.0, np.int8(0)), 2),
    ):
        for order in orders:  # of all elements as one vector
            assert gred.norm([[3.0, -4.0], [0.0, 0.0]], order, device=device) == right
            assert gred.norm([3.0, 0.0, -4.0], ord=order, device=device) == right


def test_infinities_have_an_infinite_norm(device):
    for dtype in HARD:
        for values in ([np.inf], [np.inf, 1], [np.inf, -np.inf], [-np.inf, 0], [1e4, np.inf, 5]):
            for repeats in (1, 300):
                x = np.array(values * repeats, dtype)
                for order in (None, 1, 2, np.inf):
                    assert gred.norm(x, order, device=device) == np.inf
                assert np.isnan(gred.norm(np.append(x, np.nan).real, device=device))
