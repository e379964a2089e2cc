"""`method="exact"` of whole arrays: rounded once, on each device, whatever the elements."""

import itertools
import math

import numpy as np
import pytest
from devices import laid_out
from drawn import examples
from exact_truths import any_floats, as_floats, edges, kinds, same, total, truth
from exactly import FLOATS, NAMES, NARROW, WIDE, check, exact, stored, typed
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import COMPLEX, EXPONENTS, INTEGERS, MANTISSA_BITS, REALS
from samples import fetched
from thin import chosen

import gred

pytestmark = pytest.mark.usefixtures("shuffled")


@typed
@pytest.mark.parametrize("name", [*NAMES, "norm"])
@settings(deadline=None, max_examples=examples(40))
@given(data=st.data())
def test_any_floats_are_rounded_once_to_any_type(device, name, dtype, data):
    x = data.draw(any_floats(dtype))
    for result in REALS:
        check(device, name, x, result)


# These yield arrays, reductions and result types; None is the default type.


def of_any_length():
    """Around the length up to which elements are added one by one; by one block and by several."""
    few = itertools.product((*FLOATS[:2], COMPLEX[1]), (1, 2, 31, 33, 63, 64, 65, 128))
    many = itertools.product((*REALS, *COMPLEX), (2049, 4000, 70_001))
    for dtype, n in (*few, *chosen(many)):
        random, limit = np.random.default_rng(n), 3 if dtype == np.float16 else 30
        x = random.normal(size=n) + (1j * random.normal(size=n) if dtype in COMPLEX else 0)
        x = (x * np.exp2(random.integers(-limit, limit, n))).astype(dtype)
        yield x, ("sum", "mean", "norm"), (None,) if dtype in COMPLEX else (None, WIDE)
        yield x[1:], ("sum",)
        x = x[::-2] if n > 999 else x.copy()
        x[random.random(x.size) < 0.3] = np.nan
        yield x, NAMES


def too_great_and_too_small():
    for dtype in FLOATS:
        greatest, least = np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal
        x = np.tile(np.array([1, -1, 0], dtype), 1000) * greatest
        x[-3:] = greatest, greatest, -greatest
        for y in (x, *(np.full(n, value) for n in (3, 5000) for value in (greatest, least))):
            yield y, ("sum", "mean")
    yield np.array([1e300 + 1j, 3e300 + 3j]), ("sum", "mean"), COMPLEX  # one part overflows


def not_finite():
    """Anywhere, and in one part of a complex number, where it does not affect the other."""
    spots = (0, 1, 4095, 4096, 40_000)
    values = (math.nan, math.inf, -math.inf)
    for dtype, value, spot in chosen(itertools.product((*REALS, COMPLEX[0]), values, spots)):
        x = np.ones(40_001, dtype)
        x[spot] = value
        yield x, (*NAMES, "norm")
        x = x.copy()
        x[-1 - spot] = -value
        yield x, (*NAMES, "norm")
    for dtype, value, spot in itertools.product(FLOATS[:2], values, (0, 20_000, 39_999)):
        x = next(kinds(np.dtype(dtype), 40_000, 1))  # of any exponents
        x[spot] = value
        yield x, ("sum", "nansum")
    ends = [(math.inf, 1), (1, math.inf), (math.nan, 1), (math.inf, math.nan), (1, -math.inf)]
    for dtype, end, other in itertools.product(COMPLEX, ends, (1, 2j, 3 + 4j)):
        yield np.array([complex(*end), other], dtype), NAMES


def integers():
    for dtype in INTEGERS:
        x = np.random.default_rng(5).integers(0, 256, 30_001 * dtype.itemsize, np.uint8)
        x = x > 99 if dtype.kind == "b" else x.view(dtype)
        yield x, ("sum", "mean"), (WIDE, NARROW)
        yield x[:999:-2], ("norm",)
    for dtype in (np.int64, np.uint64):
        yield np.array([2**62 + 1, 3, 2**63 - 1]).astype(dtype), ("norm",)


def every_edge():
    """Midpoints of adjacent floats, and values off by a bit, which may be far below the rest."""
    for dtype in REALS:
        for value, sign in chosen(itertools.product(edges(dtype), (1, -1)), dtype):
            yield np.array(as_floats(sign * value) or [0.0]), ("sum",), (dtype,)
    divisors = (2, 3, 5, 7, 1000, 4099)
    for dtype, divisor in itertools.product((NARROW, WIDE), divisors):
        for value in chosen(list(edges(dtype))[::5], dtype, divisor):
            parts = as_floats(value * divisor) if abs(value * divisor) < 2**1020 else [0] * divisor
            if len(parts) <= divisor:
                x = np.array(parts + [0.0] * (divisor - len(parts)))
                yield x, ("mean",), (dtype,)


def ties():
    """Decided by a bit next to those kept, further down, or in the remainder of a division."""
    every = itertools.product((1, 3, 7, 1023), (*range(-54, -200, -1), -1000), (1, -1))
    for divisor, far, sign in chosen(every):
        tie = [divisor * 1.0, divisor * 2.0**-53, sign * 2.0**far]
        yield np.array(tie + [0.0] * (divisor - 3)), ("mean" if divisor > 1 else "sum",)


def quotients():
    """Enough quotients for some to have digits that are estimated too large at first."""
    for count, times in ((3, 40), (2**16 + 1, 2), (99_991, 2)):
        random = np.random.default_rng(count)
        for _ in range(times):
            x = np.zeros(count)
            bits = np.bitwise_or(*random.integers(0, 2**52, (2, 3), np.uint64))
            x[:3] = (bits | np.uint64(1000 << 52)).view(np.float64)
            yield x, ("mean",)


def carries():
    """Through all digits: the borrow for a number far below comes from the topmost."""
    for dtype, step in ((np.float64, 97), (np.float32, 13)):
        kind = np.finfo(dtype)
        exponents = range(kind.minexp - kind.nmant, kind.maxexp, step)
        signs = ((1, -1), (-1, 1), (-1, -1))
        for low, high, both in chosen(itertools.product(exponents, exponents, signs), step):
            yield np.ldexp(np.array(both, dtype), [high, low]).astype(dtype), ("sum",)


def roots():
    """Roots of any magnitude; of 25 k^2, where 5 k is a midpoint of two floats, or next to it."""
    for exponent in (-1074, -1060, -1022, -600, -500, -1, 0, 1, 500, 1000):
        random = np.random.default_rng(exponent + 2000)
        for n in (1, 2, 3, 10) * 5:
            bits = random.integers(1, min(54, 1024 - exponent))
            yield np.ldexp(random.integers(1, 2**bits, n).astype(float), exponent), ("norm",)
    for dtype in REALS:
        limit = 2 ** MANTISSA_BITS[dtype]
        every = range(limit // 5 + 1 | 1, limit // 4, max(2, limit // 512 & ~1))
        for k, far in itertools.product(every, (0, 2.0 ** -EXPONENTS[dtype], 2.0**-11)):
            yield np.array([3.0 * k, 4.0 * k, far]).astype(dtype), ("norm",)


ARRAYS = (of_any_length, too_great_and_too_small, not_finite, integers, every_edge, ties)


@pytest.mark.parametrize("arrays", [*ARRAYS, quotients, carries, roots])
@pytest.mark.filterwarnings("ignore:(overflow|invalid):RuntimeWarning")
def test_whole_arrays_are_rounded_once(device, arrays):
    for x, names, *types in arrays():
        for name, dtype in itertools.product(names, *types or [(None,)]):
            check(device, name, x, dtype)


@pytest.mark.parametrize("name", [*NAMES, "norm"])
def test_where_chooses_what_is_added(device, name):
    """A mask on the host, too, and one that hides everything."""
    for dtype, n in itertools.product((*FLOATS[:2], COMPLEX[1]), (900, 12_000)):
        x = (np.random.default_rng(1).normal(size=n) * 100).astype(dtype)
        if name != "norm":
            x[: n // 300] = np.nan
        for where in (np.arange(n) % 3 == 1, x.real > 0, np.zeros(n, bool)):
            check(device, name, x, where=where)
            want = truth(name, x[where])
            assert same(exact(name, laid_out(x, device), where=where), want)
            assert same(stored(name, x, device, want.dtype, where=where), want)


@pytest.mark.parametrize("dtype", FLOATS[1:])
def test_a_sum_may_begin_beyond_what_its_type_has_digits_for(device, dtype):
    x = np.array([1, 2, 3, 60000, 60000], dtype)
    for initial in (1e300, -1e300, 5e-324, -60000, np.inf, np.nan, -6.0):
        expected = total([*x.tolist(), initial], WIDE)
        assert same(stored("sum", x, device, WIDE, initial=initial), expected)
        if not abs(initial) > 60000:
            narrow = total([*x.tolist(), dtype(initial)], dtype)
            assert same(exact("sum", laid_out(x, device), initial=initial), narrow)
            nans = laid_out(np.append(x, dtype(np.nan)), device)
            assert same(exact("nansum", nans, initial=initial), narrow)
    x = np.array([1 + 2j, 3 - 4j], np.complex64)
    assert stored("sum", x, device, np.complex128, initial=1e200 + 2j) == 1e200 + 0j


def test_zeros_have_numpys_signs(device):
    zeros = ([], [-0.0], [-0.0, 0.0], [1.0, -1.0], [-0.0] * 50_000, [-0.0] * 4999 + [0.0])
    for x, dtype in itertools.product(zeros, (*FLOATS, np.complex64)):
        values = np.array(x, dtype)
        for initial in ({}, {"initial": -0.0}, {"initial": 0.0}, {"initial": None}):
            if x or initial.get("initial", 0) is not None:
                numpys = np.add.reduce(values, **initial) if initial else np.sum(values)
                assert same(exact("sum", laid_out(values, device), **initial).real, numpys.real)
                assert same(stored("sum", values, device, **initial).real, numpys.real)
        for name in ("nansum", "mean") if x else ():
            assert same(exact(name, laid_out(values, device)).real, values.real.dtype.type(0))


@pytest.mark.parametrize("result", [*FLOATS, np.complex64, np.int32])
@pytest.mark.parametrize(
    "values", [[1.0, 2.0**-24, 2.0**-60], [1.0, 2.0**-30, 1000.0], [1.75, 2.75, 1.5]], ids=str
)
def test_an_element_of_any_type_is_rounded_to_once(device, values, result):
    """Through float64, the first would be a tie for a float32; integers are truncated last."""
    parts = np.dtype(np.float32 if result == np.complex64 else result)
    x, out = np.array(values), laid_out(np.zeros((), result), device)
    for name in ("sum", "mean", "nansum", "norm"):
        exact(name, laid_out(x, device), out=out)
        right = truth(name, x, WIDE if parts.kind == "i" else parts)
        assert fetched(out, device) == right.astype(result)
    if result == np.complex64:
        exact("sum", laid_out(x * (1 + 1j), device), out=out)
        assert fetched(out, device) == result(truth("sum", x, parts) * (1 + 1j))


@pytest.mark.parametrize("op", ["sum", "norm"])
def test_it_is_told_and_measured(device, op):
    x = laid_out(np.full(3000, 0.1), device)
    told = gred.explain(x, op, method="exact")
    assert told.method == "exact"
    assert device != "host" or "in chunks of 4,096" in told.array
    assert device != "host" or op == "norm" or "added directly" in told.array
    timed = gred.kernel_time(x, op, method="exact", samples=2, cold=False)
    assert timed.method == "exact"
    assert same(timed.result, truth(op, np.full(3000, 0.1)))
    timed = gred.kernel_time(np.arange(9), method="exact", samples=2, cold=False)
    assert timed.method == "auto"


def test_what_is_lost_is_warned_of(device):
    where = {"where": [False]}
    for name, x, options in (("mean", [], {}), ("mean", [1.0], where), ("nanmean", [math.nan], {})):
        with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
            assert math.isnan(getattr(gred, name)(x, method="exact", device=device, **options))
    x = laid_out(np.array([1e100 + 1j, 1, -1e100]), device)
    with pytest.warns(np.exceptions.ComplexWarning):
        assert gred.sum(x, dtype=float, method="exact") == 1.0


def test_other_reductions_and_orders_are_refused(device):
    x = laid_out(np.ones(1), device)
    for name in ("prod", "min", "max", "any", "ptp", "nanprod", "argmax"):
        with pytest.raises(ValueError, match=f"does not support {name} here"):
            getattr(gred, name)(x, method="exact")
    with pytest.raises(ValueError, match="does not support norm of order 1 here"):
        gred.norm(x, ord=1, method="exact")
    if device == "host":
        with pytest.raises(ValueError, match="block_size does not apply"):
            gred.sum([1.0], method="exact", block_size=64)
