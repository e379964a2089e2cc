"""`method="exact"` on devices: the kernels round once, whatever the order in which threads run.

The truth is `math.fsum`, fractions, or integers; nothing of it comes from gred.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from drawn import examples
from exact_truths import any_floats, exact_sum, mixed, same, total, truth
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import BFLOAT16, COMPLEX, REALS
from samples import element_there, fetched, there
from test_exact_method import exact
from thin import chosen

import gred

NAMES = ("sum", "mean", "nansum", "nanmean")
WIDE = np.dtype(np.float64)
NARROW = np.dtype(np.float32)
STRETCH = 1_000_000  # elements: more than all warps take before they choose windows anew
places = pytest.mark.parametrize(
    "place", ["simulated", pytest.param("cuda", marks=pytest.mark.gpu)]
)
typed = pytest.mark.parametrize("dtype", REALS, ids=str)
pytestmark = [places, pytest.mark.usefixtures("shuffled")]


def is_exact(place, x, **options):
    """Tell whether the sum of a device's array, as a float64, is Python's."""
    got = exact("sum", there(x, place), dtype=np.float64, **options)
    return got == math.fsum(x.astype(np.float64).tolist())


def of_exponents(exponents, dtype, seed=1):
    """Draw numbers of these exponents, of either sign, with all bits of their type."""
    random = np.random.default_rng(seed)
    x = np.ldexp(random.random(len(exponents)) + 1, exponents) * random.choice(
        [1, -1], len(exponents)
    )
    return x.astype(dtype)


# ---- values ----


@typed
@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=examples(40))
@given(data=st.data())
def test_floats_of_any_type_are_rounded_once(place, name, dtype, data):
    x = data.draw(any_floats(dtype))
    assert same(exact(name, x, device=place), truth(name, x))
    for result in REALS:
        assert same(exact(name, x, dtype=result, device=place), truth(name, x, result))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("spread", [0, 20, 60, 250, 1900])
def test_every_length_is_exact(place, dtype, spread):
    """Around warps, tiles, blocks, and boundaries of 16 bytes; in windows and beside them."""
    limits = np.finfo(dtype)
    spread = min(spread, (limits.maxexp - limits.minexp) // 2)
    for n in (1, 2, 5, 31, 129, 512, 2047, 2048, 2049, 4111, 16385, 70_001):
        exponents = np.random.default_rng(n).integers(-spread // 2, spread // 2 + 1, n)
        x = of_exponents(exponents, dtype)
        x = np.clip(x, -float(limits.max) / n, float(limits.max) / n).astype(dtype)
        assert is_exact(place, x), n
        assert is_exact(place, x[1:]), n


@pytest.mark.parametrize("block_size", [32, 64, 256, 1024])
def test_blocks_of_any_size_make_the_same_bits(place, block_size):
    for dtype in (np.float64, np.float32):
        for spread in (3, 40, 120):
            exponents = np.random.default_rng(7).integers(-spread, spread, 50_000)
            assert is_exact(place, of_exponents(exponents, dtype), block_size=block_size)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_windows_are_chosen_anew_where_numbers_have_changed(place, dtype):
    """Stretches that are greater, or less, than those before them, or both at once."""
    steps = {
        "up": np.linspace(-90, 90, 3 * STRETCH),
        "down": np.linspace(90, -90, 3 * STRETCH),
        "a peak": np.where(np.arange(3 * STRETCH) % 50_021 == 50_020, 100, 0),
        "a hole": np.where(np.arange(3 * STRETCH) % 50_021 == 50_020, -100, 0),
        "levels": np.repeat([0, 60, -60, 0, 100, -100], STRETCH // 2),
    }
    for name in chosen(steps, dtype):
        x = of_exponents(steps[name].astype(int), dtype)
        assert is_exact(place, x, block_size=32), name


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numbers_that_need_one_window_more_are_added(place, dtype):
    """Small ones among others that add up to nothing, by which windows are chosen."""
    great = of_exponents(np.zeros(15_000, int), dtype)
    for exponent in (-14, -20, -30, -40):
        small = of_exponents(np.full(50, exponent), dtype, seed=2)
        x = np.insert(np.concatenate([great, -great]), np.arange(50) * 601 + 300, small)
        assert is_exact(place, x, block_size=32), exponent


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_windows_that_are_full_to_their_limit_are_exact(place, dtype):
    """As many of the greatest numbers of one sign as a window takes, and more."""
    greatest = 2 - np.finfo(dtype).eps
    for value in chosen((greatest, -greatest, 1.0, -1.0), dtype):
        x = np.full(2 * STRETCH, value, dtype)
        assert is_exact(place, x, block_size=32)
    x[::3] = 2.0**-10 * greatest
    assert is_exact(place, x, block_size=32)


def test_lower_windows_that_are_full_to_their_limit_are_exact(place):
    """The first window leaves as much of every number as it can, wherever it lies."""
    for bit in (26, 27, 28):
        for sign in (1, -1):
            x = np.full(2 * STRETCH, sign * (1 + 2.0**-bit - 2.0**-52))
            assert is_exact(place, x, block_size=32)


def test_a_number_that_leads_out_of_a_window_and_back_is_seen(place):
    """Each thread's sum would leave its window's range within a tile, and be back at its end."""
    for exponent in (9, 10, 11, 12, 30, 52, 53, 54, 60, 900):
        x = of_exponents(np.zeros(1 << 15, int), WIDE)
        middle = len(x) // 2 * 2 - 64
        x[middle : middle + 2] = 2.0**exponent, -(2.0**exponent)
        x[100:102] = 1.5 * 2.0**exponent, -1.5 * 2.0**exponent
        assert is_exact(place, x), exponent


def sum_of_narrow(place, x, **options):
    """Sum what may be of a type that only hosts' arrays have."""
    return exact("sum", x, dtype=np.float64, device=place, **options)


@pytest.mark.parametrize("dtype", [dtype for dtype in REALS if dtype != WIDE], ids=str)
def test_no_bit_is_lost_of_narrow_numbers_that_reach_below_a_window(place, dtype):
    """All bits of a few are 1, and among numbers that cancel they begin ever farther below."""
    ones = float(np.nextafter(dtype.type(2), dtype.type(0)))
    for exponent in range(-40, -12):
        for others in ([1.0, -1.0], [0.0, 0.0]):
            x = np.tile(others, 8000)
            x[np.arange(50) * 301 + 200] = 0
            x[np.arange(50) * 301 + 201] = 0
            x[np.arange(50) * 301 + 200] = ones * 2.0**exponent
            x = x.astype(dtype)
            expected = math.fsum(x.astype(WIDE).tolist())
            assert sum_of_narrow(place, x, block_size=32) == expected, exponent


@pytest.mark.parametrize("dtype", [dtype for dtype in REALS if dtype != WIDE], ids=str)
@pytest.mark.parametrize("sign", [1, -1])
def test_narrow_numbers_that_grow_up_to_a_windows_end_are_exact(place, dtype, sign):
    """From some place on they are as great as a window takes, or somewhat greater, all alike."""
    for exponent, first in ((7, 5000), (8, 5000), (8, 40_000), (9, 40_000), (14, 5000)):
        x = np.full(STRETCH, sign, dtype)
        x[first:] = sign * np.nextafter(dtype.type(2.0 ** (exponent + 1)), dtype.type(0))
        expected = math.fsum(x.astype(WIDE).tolist())
        assert sum_of_narrow(place, x, block_size=32) == expected, (exponent, first)


@pytest.mark.parametrize("dtype", [NARROW, BFLOAT16], ids=str)
@pytest.mark.parametrize("sign", [1, -1])
def test_great_numbers_leave_room_for_those_that_a_window_takes_whole(place, dtype, sign):
    """Now and then there is one that nearly fills a window, whatever its room, all of one sign."""
    for exponent, least in chosen(itertools.product(range(8, 24), (3, 8)), dtype, sign):
        x = np.full(STRETCH // 4, 1.75 * sign)
        x[5000:] = sign * 2.0**least * 1.75
        x[5000::997] = sign * 1.9375 * 2.0**exponent
        x = x.astype(dtype)
        expected = math.fsum(x.astype(WIDE).tolist())
        assert sum_of_narrow(place, x, block_size=32) == expected, (exponent, least)


def test_few_elements_are_as_exact_as_many(place):
    """Around the number up to which each is added by itself, with all that may be asked."""
    for dtype in (np.float64, np.float32, np.complex128):
        for n in (1, 2, 31, 32, 33, 63, 64, 65, 128):
            x = of_exponents(np.random.default_rng(n).integers(-60, 60, n), np.float32)
            x = (x if dtype is not np.complex128 else x + 1j * x[::-1]).astype(dtype)
            x[n // 2] = np.nan
            for name in ("nansum", "nanmean"):
                got = exact(name, there(x, place), block_size=32)
                assert same(got.real, truth(name, x.real)), (name, n)
            x[n // 2] = 3
            for layout in (slice(None), slice(1, None)):
                got = exact("sum", there(x, place)[layout] if n > 1 else there(x, place))
                assert same(got.real, truth("sum", (x[layout] if n > 1 else x).real)), n
        zeros = there(np.full(64, -0.0, dtype), place)
        assert math.copysign(1, exact("sum", zeros).real) == math.copysign(
            1, np.sum(np.full(64, -0.0, dtype)).real
        )


def test_ties_are_decided_by_far_bits(place):
    for far in (-60, -1074):
        for sign in (1, 0, -1):
            x = np.zeros(10_000)
            x[7], x[4321], x[9999] = 1.0, 2.0**-53, sign * 2.0**far
            assert exact("sum", there(x, place)) == 1 + (2.0**-52 if sign > 0 else 0)


def test_sums_overflow_only_if_they_are_too_great(place):
    for dtype in (np.float64, np.float32, np.float16):
        greatest = np.finfo(dtype).max
        x = np.tile(np.array([greatest, greatest, -greatest], dtype), 1000)
        x[:2997] *= np.tile(np.array([1, -1, 0], dtype), 999)
        assert exact("sum", there(x, place)) == greatest
        assert exact("sum", there(np.full(5000, greatest, dtype), place)) == math.inf
        assert exact("mean", there(np.full(5000, greatest, dtype), place)) == greatest


def test_subnormal_numbers_are_added(place):
    for dtype in (np.float64, np.float32, np.float16):
        least = np.finfo(dtype).smallest_subnormal
        for n in (3, 5000):
            assert exact("sum", there(np.full(n, least, dtype), place)) == least * dtype(n)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_finite_is_seen_anywhere(place, name):
    for dtype in (np.float64, np.float32, np.float16, np.complex64):
        for value in (math.nan, math.inf, -math.inf):
            for spot in chosen((0, 1, 4095, 40_000), name, dtype, value):
                x = np.ones(40_001, dtype)
                x[spot] = value
                got, kept = exact(name, there(x, place)), x[~np.isnan(x)] if "nan" in name else x
                with np.errstate(invalid="ignore"):
                    expected = kept.astype(np.complex128).sum() / (
                        len(kept) if "mean" in name else 1
                    )
                assert np.array_equal(got.real, expected.real, equal_nan=True)
                x[-1 - spot] = -value
                if "nan" not in name:
                    assert math.isnan(exact(name, there(x, place)).real)


def test_many_nans_are_left_out(place):
    for dtype in (np.float64, np.float32, np.float16):
        x = (np.arange(200_000) % 7).astype(dtype)
        x[np.random.default_rng(2).random(len(x)) < 0.3] = np.nan
        kept = x[~np.isnan(x)]
        assert exact("nansum", there(x, place), dtype=float) == math.fsum(kept.tolist())
        mean = exact("nanmean", there(x, place), dtype=np.float64)
        assert same(mean, truth("mean", kept, WIDE))


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_parts_of_complex_numbers_are_added_apart(place, dtype):
    for spread in (0, 30, 100):
        exponents = np.random.default_rng(3).integers(-spread, spread + 1, 60_002)
        x = of_exponents(exponents, np.float32).astype(f"f{dtype.itemsize // 2}").view(dtype)
        x = (x.real + 1j * 2.0**-20 * x.imag).astype(dtype)
        for name in ("sum", "mean"):
            got = exact(name, there(x, place))
            assert got.dtype == dtype
            assert same(got.real, truth(name, x.real))
            assert same(got.imag, truth(name, x.imag))
    x = np.array([1 + 2j, math.nan + 8j, 16 + 1j * math.nan, 3 + 5j] * 3000, dtype)
    assert exact("nanmean", there(x, place)) == 2 + 3.5j


def test_integers_are_added_exactly(place):
    random = np.random.default_rng(5)
    for dtype in (np.int64, np.uint64, np.int8, np.uint32, bool):
        low, high = (0, 2) if dtype is bool else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        x = random.integers(low, high, 30_001, np.int64 if dtype is bool else dtype).astype(dtype)
        expected = Fraction(sum(map(int, x)))
        for result in (WIDE, NARROW):
            got = exact("mean", there(x, place), dtype=result)
            assert same(got, total([expected], result, divisor=len(x)))
            assert same(exact("sum", there(x, place), dtype=result), total([expected], result))


# ---- arguments ----


@typed
def test_any_layout_is_exact(place, dtype):
    x = np.clip(mixed(6000)[:5400], -60000, 60000).astype(dtype).reshape(20, 27, 10)
    views = [x[::2, ::-3, 1:9], x.T, x[:, 3], np.broadcast_to(x, (3, *x.shape)), x[0, 0, 0]]
    for view in views:
        expected = total(np.ravel(view).astype(dtype), dtype)
        assert same(exact("sum", view, device=place), expected)
    layouts = (lambda x: x[::2, ::-3, 1:9], lambda x: x.T, lambda x: x[:, 3], lambda x: x[3:, :, 0])
    for layout in layouts if dtype.kind == "f" else ():
        expected = total(np.ravel(layout(x)), dtype)
        assert same(exact("sum", there(x, place, layout)), expected)


@pytest.mark.parametrize("name", NAMES)
def test_where_chooses_what_is_added(place, name):
    for dtype in (np.float64, np.float32, np.complex128):
        x = (np.random.default_rng(1).normal(size=12_000) * 100).astype(dtype)
        x[:40] = np.nan
        for where in (np.arange(12_000) % 3 == 1, x.real > 0, np.zeros(12_000, bool)):
            kept = x[where].real
            expected = truth(name, kept)
            for mask in (where, there(where, place)):
                assert same(exact(name, there(x, place), where=mask).real, expected)
            assert same(exact(name, x, where=where, device=place).real, expected)


def test_pieces_make_the_same_bits(place):
    x = of_exponents(np.random.default_rng(1).integers(-80, 80, 60_000), NARROW)
    with gred.workspace_limit(1):
        assert is_exact(place, x)
        assert exact("sum", x, dtype=float, device=place) == math.fsum(x.tolist())
        got = exact("sum", x[::-2], dtype=float, device=place)
        assert got == math.fsum(x[::-2].tolist())
        strided = there(x, place, lambda x: x[::2])
        assert exact("sum", strided, dtype=float) == math.fsum(x[::2].tolist())
        out = element_there(WIDE, place)
        gred.mean(strided, method="exact", out=out)
        assert same(fetched(out, place), truth("mean", x[::2], WIDE))


def test_initial_is_a_part_of_the_sum(place):
    for x, initial in (([1e100, 1.0], -1e100), ([1e100, 1.0, math.nan], -1e100)):
        assert exact("nansum", there(np.array(x), place), initial=initial) == 1.0
    x = there(np.float32([1e20, 3]), place)
    assert exact("sum", x, initial=-1e20, dtype=np.float64) == math.fsum(
        [np.float32(1e20), 3, -1e20]
    )
    assert exact("sum", there(np.array([1e20 + 1j]), place), initial=-1e20 + 1j) == 2j


def test_zeros_have_numpys_signs(place):
    for x in ([-0.0], [-0.0, 0.0], [1.0, -1.0], [-0.0] * 50_000, [-0.0] * 4999 + [0.0]):
        for dtype in (np.float64, np.float16, np.complex64):
            for options in ({}, {"initial": -0.0}, {"initial": 0.0}, {"initial": None}):
                values = np.array(x, dtype)
                if options.get("initial", 0) is None:
                    expected = np.add.reduce(values, initial=None)
                else:
                    expected = np.sum(values, **options)
                got = exact("sum", there(values, place), **options)
                assert same(got.real, expected.real), (x[:2], dtype, options)


@pytest.mark.parametrize("result", [np.float32, np.float64, np.int64, np.complex64])
def test_results_stay_on_the_device(place, result):
    """A float32 is rounded to once; by way of float64 it would be a tie."""
    values = [1.0, 2.0**-24, 2.0**-60]
    expected = math.fsum(values) if result == np.float64 else 1 + 2.0**-23
    for name in ("sum", "nansum"):
        out = element_there(result, place)
        exact(name, there(np.array(values), place), out=out)
        assert fetched(out, place) == result(expected)


def test_results_of_zeros_and_of_nothing_stay_on_the_device(place):
    out = element_there(WIDE, place)
    gred.sum(there(np.full(5, -0.0), place), method="exact", initial=None, out=out)
    assert same(fetched(out, place), WIDE.type(-0.0))
    exact("mean", there(np.zeros(0), place), out=out)
    assert math.isnan(fetched(out, place))


def test_accumulators_take_arrays_of_devices(place):
    for dtype in (np.float64, np.float32):
        x = of_exponents(np.random.default_rng(1).integers(-100, 100, 30_000), dtype)
        sum_of_x = gred.ExactSum(there(x, place))
        assert sum_of_x.fraction() == exact_sum(x)
        assert sum_of_x.count == len(x)
        assert sum_of_x == gred.ExactSum(x)


def test_it_is_told_and_measured(place):
    x = there(np.ones(3000), place)
    assert gred.explain(x, method="exact").method == "exact"
    assert gred.kernel_time(x, method="exact", samples=2).method == "exact"
