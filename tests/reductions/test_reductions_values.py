"""Reductions that are not on the ladder: special values, and accuracy on difficult data.

The bounds for variances and norms are those of Chan's formula and of scaled squares; truths.py
derives them. Naive formulas fail on the data: a small spread about a large mean, an outlier at the
start, trends, squares outside the type's range.
"""

import itertools
import warnings
from fractions import Fraction
from functools import partial

import ml_dtypes
import numpy as np
import pytest
from along import OF_HALVES, SPREAD
from devices import laid_out
from exact_truths import root
from reference import COMPLEX, EVERY_TYPE, INTEGERS, PARTS, REALS, agrees
from samples import all_right, options_of, silenced, takes, wrong, wrong_result
from thin import chosen
from truths import NAMES, ORDERS, SPREADS, WITHOUT_NAN, answer, has_no_place

import gred

LENGTHS = (2, 3, 33, 257, 1025, 4097, 20_011)
OF_SPREADS = (*SPREADS, "describe")


def test_the_truth_is_that_of_fractions_and_allows_no_more_than_it_has_to():
    random = np.random.default_rng(1)
    many = random.normal(size=50) * 10.0 ** random.integers(-150, 150, 50)
    for x in (many, np.array([1.0, 2, 4])):
        fractions = list(map(Fraction, x.tolist()))
        mean = sum(fractions) / len(fractions)
        right = answer("var", x)
        assert right.value == sum((f - mean) ** 2 for f in fractions) / len(fractions)
        assert right.error <= 1e-11 * right.value
    for number in (Fraction(9, 4), Fraction(2), Fraction(1, 3), Fraction(10) ** 400):
        assert abs(root(number) ** 2 / number - 1) < Fraction(1, 2**150)
    assert agrees(np.float64(14 / 9), right)
    for off in (np.float64(14 / 9 + 1e-12), np.float32(14 / 9)):
        assert not agrees(off, right)


@pytest.mark.parametrize("data", SPREAD)
@pytest.mark.parametrize("name", OF_SPREADS)
def test_variances_are_within_chans_bound(data, name, device):
    """The variance of complex numbers is real: the sum of both parts' variances.

    With a mean of 1000, a running sum of halves in their own type would stall; a shift by an
    outlier, the first element or a masked one, would lose all digits.
    """
    lengths = LENGTHS[:-1] if device == "simulated" else LENGTHS
    types = (*REALS, *COMPLEX) if data in OF_HALVES else (*REALS[2:], *COMPLEX)
    random = np.random.default_rng(3)
    for n, dtype, masked in chosen(itertools.product(lengths, types, (False, True)), data, device):
        x = SPREAD[data](n, random)
        x = (x + 1j * SPREAD[data](n, random)[::-1] if dtype in COMPLEX else x).astype(dtype)
        options = {"ddof": 1} if n % 4 == 1 else {}
        found = wrong(name, x, x, device=device, **options)
        if masked:
            mask = np.arange(n) % 41 != 0 if n > 2 else np.ones(n, bool)
            with silenced():
                x[~mask] = 1e9
            found += wrong(name, laid_out(x, device), x, where=mask, mask=laid_out(mask, device))
        assert not found


def test_dtype_says_what_a_variance_is_taken_in(device):
    whole = np.random.default_rng(8).integers(-100, 100, 3001)
    every = (whole, whole.astype(np.float32) / 3, whole.astype(np.float16), whole.astype(np.int8))
    for x, dtype, name in itertools.product(every, REALS, SPREADS):
        assert not wrong(name, x, x, device=device, dtype=dtype)
    beyond = np.array([3e38, -3e38], np.float32)
    assert gred.var(beyond, device=device) == np.inf
    assert gred.var(beyond, device=device, dtype=np.float64) == pytest.approx(9e76, rel=1e-6)


DDOFS = (0, 1, 2, -1, -10, 0.5, 1.5, 0.999, True, np.int8(1), np.float32(1.5), np.float64(2))
NO_DDOFS = ("1", "a", b"1", [], {}, object(), 1j, [1, 2], np.array([1, 2]), None)


@pytest.mark.parametrize("name", OF_SPREADS)
def test_ddof_is_what_is_taken_from_the_count(name, device):
    """Under both of its names, where it has two; anything but a number is refused."""
    x = np.random.default_rng(9).normal(size=40)
    function = partial(getattr(gred, name), device=device)
    for keyword in ("ddof", "correction") if name in SPREADS else ("ddof",):
        for ddof in DDOFS:
            got = function(x, **{keyword: ddof})
            assert not wrong_result(name, got, x, ddof=Fraction(float(ddof)))
        for ddof in NO_DDOFS:
            with pytest.raises((TypeError, ValueError), match=r"ddof|correction"):
                function(x, **{keyword: ddof})
    assert not wrong(name, x, x, device=device, ddof=1.5, where=x > 0)
    if name in SPREADS:
        with silenced():
            assert np.isnan(function(x, ddof=np.nan))
        with pytest.raises(ValueError, match=r"ddof.*correction"):
            function(x, ddof=1, correction=1)


HARD = {
    "f8": ([1e200, 1e200], [1e200, 1.0, 1e-200], [5e-324] * 4, [1e-200] * 3, [1e-320, 1e-310]),
    "f4": ([3e38, 1e38], [1e30] * 3, [1e-45] * 4, [1e-30] * 5, [1e-40, 3e-39], [3e38, 1e-45]),
    "f2": ([60000.0, 1.0], [6e-8] * 4, [300.0] * 9, [60000.0, 20000.0]),
    "c8": ([3e38, 1e38j], [1e-45 + 1e-45j] * 2, [1e30 + 1e30j] * 2),
    "c16": ([1e200 + 1e200j, 1.0], [5e-324j] * 4, [1e-200 + 1e-250j] * 3),
}
INF, NAN = np.inf, np.nan
INFINITE = ([INF], [INF, 1], [INF, -INF], [-INF, 0], [1e4, INF, 5])


@pytest.mark.parametrize("dtype", HARD)
def test_a_norm_neither_overflows_nor_underflows_on_the_way(dtype, device):
    for values in (*HARD[dtype], *(v[::-1] for v in HARD[dtype])):
        x = np.array(values, dtype)
        zeros = np.zeros(4097, dtype)
        zeros[5 : 5 + 400 * x.size : 400] = x
        all_right(wrong("norm", x, x, device=device, ord=order) for order in ORDERS[:-1])
        assert not wrong("norm", zeros, zeros, device=device)
    for values, repeats in itertools.product(INFINITE, (1, 300)):
        x = np.array(values * repeats, dtype)
        assert {gred.norm(x, o, device=device) for o in (None, 1, 2, np.inf)} == {np.inf}
        assert np.isnan(gred.norm(np.append(x, np.nan).real, device=device))


def test_many_great_and_many_tiny_elements_have_a_norm(device):
    for n in (1027, 4097):
        x = np.logspace(-320, 300, n)
        every = [x, x[::-1], np.random.default_rng(0).permutation(x)]
        every += [np.full(n, v) for v in (1e300, 1e-300, 5e-324, 2.0**-1022, 1e154, 1e-154, 1e-162)]
        all_right(wrong("norm", a, a, device=device) for a in every)
    x = np.full(4, np.finfo(np.float64).max)
    assert gred.norm(x, device=device) == np.inf
    assert gred.norm(x / 2, device=device) == np.finfo(np.float64).max
    assert gred.norm(np.array([3e38] * 4, np.float32), device=device) == np.inf
    assert gred.norm(np.full(4097, 1e30, np.float32), dtype=np.float64, device=device) > 6e31


# By result, the orders for the norm of 3, -4 and 0.
OF_ORDERS = {5: (2.0, np.int8(2), np.float32(2), np.int64(2), None), 7: (1.0, True, np.uint8(1))}
OF_ORDERS |= {4: (INF, np.float32(INF)), 0: (-INF,), 2: (0.0, -0.0, np.int8(0))}
NO_ORDERS = [3, 0.5, -1, -2, "fro", "nuc", "2", np.nan, 1j, [2], object(), b""]


def test_orders_may_be_any_kind_of_number_and_no_others(device):
    for right, orders in OF_ORDERS.items():
        for order in orders:  # all elements are one vector
            assert gred.norm([[3.0, -4.0], [0.0, 0.0]], order, device=device) == right
            assert gred.norm([3.0, 0.0, -4.0], ord=order, device=device) == right
    for order in NO_ORDERS:
        with pytest.raises((ValueError, TypeError), match="ord"):
            gred.norm([3.0, 4.0], order, device=device)


# ---- special values ----


@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_the_norm_of_one_element_is_its_magnitude_to_the_last_bit(dtype, device):
    x = np.append(np.random.default_rng(1).normal(size=257), [0.1, -3, np.inf]).astype(dtype)
    got = gred.norm(x[:, np.newaxis], axis=1, device=device)
    assert got.dtype == dtype
    assert np.array_equal(got, np.abs(x), equal_nan=True)


def special_arrays(dtype: np.dtype):
    """Yield short and long arrays of equal elements and of the type's special values."""
    yield np.resize([1, 0, 2, 2, 0, 1, 2], 1027).astype(dtype)
    if dtype in INTEGERS:
        ends = (False, True) if dtype == np.bool_ else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        short = [[ends[0]], [ends[1]], [*ends], [*ends[::-1]], [0], [0, 0], [1, 0, ends[0]]]
        yield from (np.array(values, dtype) for values in (*short, [*ends] * 600))
        return
    numbers, info = (0.0, -0.0, 1.0, NAN, INF, -INF), ml_dtypes.finfo(dtype)
    tiny, most = float(info.smallest_subnormal), float(info.max)
    short = [[a] for a in (*numbers, tiny, most)] + [*itertools.product(numbers, repeat=2)]
    short += [[tiny] * 4, [tiny, -tiny], [-most, most], [most, most], [most, 1.0], [tiny, 1.0]]
    short += [[1.0, NAN, 3.0], [NAN, NAN, 5.0], [NAN] * 3, [INF, NAN, -INF]]
    short += [[-INF, 1.0, INF], [INF, INF, 2.0], [0.1, -1000.3, 999.7, 3.14159]]
    with np.errstate(all="ignore"):
        for values in short:
            if dtype not in COMPLEX:
                yield np.array(values, dtype)
            elif np.isfinite(values).all():
                parts = np.array(values, PARTS[dtype])
                yield (parts + 1j * parts[::-1]).astype(dtype)
                yield parts.astype(dtype)
            else:
                yield np.array([complex(value, 1) for value in values], dtype)
    unlike = (NAN, -NAN, INF, -INF)
    if dtype in COMPLEX:
        yield np.array([1 + 1j, complex(NAN, 1), complex(1, NAN), 3j], dtype)
        unlike = (NAN, complex(0, NAN), complex(NAN, INF))
    for n, value in itertools.product((33, 1027, 4097), unlike):
        for places in (0, n - 1, 256 % n, slice(0, None, 2), slice(n // 2, None), slice(1, None)):
            x = np.arange(n).astype(dtype)
            x[places] = value
            yield x
    for values in ([NAN], [0.1], [-0.0], [0.0, -0.0, 0.0], [-0.0, 0.0], [1, -INF, NAN, INF]):
        yield np.resize(values, 1027).astype(dtype)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("limit", [512, 2**40])
def test_special_values_are_numpys(name, device, limit):
    """Also in pieces; norms have five orders and descriptions nine fields."""
    step = (5 if name in ("norm", "describe") else 2) if device == "simulated" else 1
    with gred.workspace_limit(limit):
        all_right(
            wrong(name, x, x, device=device, **options)
            for dtype in EVERY_TYPE
            if takes(name, dtype)
            for x in itertools.islice(special_arrays(dtype), 0, None, step)
            if not has_no_place(name, x)
            for options in options_of(name)
            if options.get("ddof", 0) < x.size
        )


def test_of_an_answer_there_is_no_warning(device):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for dtype, name in itertools.product(EVERY_TYPE, NAMES):
            x = np.arange(4).astype(dtype)
            if dtype not in INTEGERS and name in (*WITHOUT_NAN, "describe"):
                x[::3] = np.nan
            if dtype not in INTEGERS and name in ("nansum", "nanprod"):
                x[:] = np.nan
            if takes(name, dtype):
                getattr(gred, name)(x, device=device)
