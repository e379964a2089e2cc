"""Exact sums of numbers, and of products, where windows move, end and are full, on every device.

The truth is `math.fsum` or fractions. Threads of devices run in another order for every test.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from exact_truths import exact_products, nearest, of_exponents, same
from exactly import NARROW, WIDE, added, drawn, exact, norm, root
from reference import BFLOAT16, REALS
from samples import there
from thin import chosen

import gred

STRETCH = 1_000_000  # numbers: more than all warps take before they choose windows anew
MANY = 600_000  # products, likewise
FIRST = 32_768  # elements: no fewer than those by which all warps choose them first
# How much greater products may then be, in bits.
ROOM = {np.float64: 8, np.float32: 9, np.float16: 5}
summed = pytest.mark.parametrize("factors", [1, 2], ids=["numbers", "products"])
of_two_types = pytest.mark.parametrize("dtype", [np.float64, np.float32])
narrow = pytest.mark.parametrize("dtype", [dtype for dtype in REALS if dtype != WIDE], ids=str)
both_signs = pytest.mark.parametrize("sign", [1, -1])
pytestmark = pytest.mark.usefixtures("shuffled")


def is_exact(device, x, *factor, **options):
    """Tell whether a sum of a device's numbers, as a float64, or of products is right.

    Of bfloat16, which only hosts' arrays have, it is brought there.
    """
    if factor:
        return added(device, x, *factor) == exact_products(x, *factor)
    lies = {"device": device} if x.dtype == BFLOAT16 else {}
    options = {} if device == "host" else options  # the host has no blocks
    got = exact("sum", x if lies else there(x, device), dtype=WIDE, **lies, **options)
    return got == math.fsum(x.astype(WIDE).tolist())


@summed
@pytest.mark.parametrize("spread", [0, 20, 60, 250, 2000])
def test_every_length_is_exact(device, spread, factors):
    """Around warps, tiles, blocks, and boundaries of 16 bytes; in windows and beside them."""
    lengths = (1, 2, 5, 31, 129, 511, 512, 513, 2047, 2048, 2049, 4111, 16385, 70_001)
    for dtype, n in itertools.product((np.float64, np.float32, np.float16), lengths):
        limits = np.finfo(dtype)
        a, b = drawn(dtype, n, min(spread, limits.maxexp - limits.minexp))
        for sums in ((a,), (a[1:],)) if factors == 1 else ((a, b), (a, a)):
            assert is_exact(device, *sums), (dtype, n)


@pytest.mark.parametrize("block_size", [32, 64, 256, 1024])
def test_blocks_of_any_size_make_the_same_bits(device, block_size):
    blocks = {} if device == "host" else {"block_size": block_size}  # the host has none
    for dtype, spread in itertools.product((np.float64, np.float32, np.complex128), (6, 80, 240)):
        x = next(drawn(np.float32, 20_000, spread)).astype(dtype)
        got = norm(x, device=device, **blocks)
        assert same(got, root(x, got.dtype))
        assert dtype == np.complex128 or is_exact(device, x, **blocks)


def steps(n, far, peak):
    """Give exponents that change on the way: up, down, now and then, or by levels."""
    now_and_then = np.arange(n) % 50_021 == 50_020
    yield np.linspace(-far, far, n)
    yield np.linspace(far, -far, n)
    yield now_and_then * peak
    yield now_and_then * -peak
    yield np.repeat([0, 0.6, -0.6, 0, 1, -1], n // 6) * max(far, peak)


@of_two_types
@summed
def test_windows_are_chosen_anew_where_numbers_have_changed(device, dtype, factors):
    """Stretches that are greater, or less, than those before them, or both at once."""
    n, far, peak = (3 * STRETCH, 90, 100) if factors == 1 else (MANY, 50, 40)
    for exponents in chosen(steps(n, far, peak), dtype, factors):
        sums = of_exponents(exponents.astype(int), dtype), of_exponents(np.zeros(n, int), dtype, 2)
        assert is_exact(device, *sums[:factors], block_size=32)


@of_two_types
def test_numbers_that_need_one_window_more_are_added(device, dtype):
    """Small ones among others that add up to nothing, by which windows are chosen."""
    great = of_exponents(np.zeros(15_000, int), dtype)
    for exponent in (-14, -20, -30, -40):
        small = of_exponents(np.full(50, exponent), dtype, seed=2)
        x = np.insert(np.concatenate([great, -great]), np.arange(50) * 601 + 300, small)
        assert is_exact(device, x, block_size=32), exponent


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_windows_of_numbers_that_are_full_to_their_limit_are_exact(device, dtype):
    """As many of the greatest numbers of one sign as a window takes, and more."""
    greatest = 2 - np.finfo(dtype).eps
    for value in chosen((greatest, -greatest, 1.0, -1.0), dtype):
        x = np.full(2 * STRETCH, value, dtype)
        assert is_exact(device, x, block_size=32)
    x[::3] = 2.0**-10 * greatest
    assert is_exact(device, x, block_size=32)


@pytest.mark.parametrize(
    ("dtype", "higher"),
    [(kind, room + more) for kind, room in ROOM.items() for more in (-3, -1, 0, 1)],
)
def test_windows_of_products_that_are_full_to_their_limit_are_exact(device, dtype, higher):
    """As many of the greatest products of one sign as a window takes, and more."""
    greatest, n = dtype(2 - np.finfo(dtype).eps), 2_200_000
    for sign in chosen((1, -1), dtype, higher):
        a, b = np.full(n, greatest, dtype), np.full(n, sign * greatest, dtype)
        a[FIRST:] *= dtype(2) ** (higher // 2)
        b[FIRST:] *= dtype(2) ** (higher - higher // 2)
        square, times = Fraction(float(greatest)) ** 2, FIRST + (n - FIRST) * 2**higher
        assert added(device, a, b) == sign * square * times


@both_signs
@summed
def test_lower_windows_that_are_full_to_their_limit_are_exact(device, sign, factors):
    """The first windows leave as much of every part as they can, wherever they lie."""
    blocks = {} if device == "host" else {"block_size": 32}
    for bit in (26, 27, 28) if factors == 1 else (24, 25, 26, 27, 28, 40, 50):
        a = np.full(2 * STRETCH if factors == 1 else MANY, sign * (1 + 2.0**-bit - 2.0**-52))
        if factors == 1:
            assert exact("sum", there(a, device), **blocks) == nearest(
                a.size * Fraction(a[0]), WIDE
            )
        else:
            b = np.full(MANY, 1 + 2.0**-bit)
            assert added(device, a, b) == MANY * Fraction(a[0]) * Fraction(b[0]), bit


def test_a_number_that_leads_out_of_a_window_and_back_is_seen(device):
    """Each thread's sum would leave its window's range within a tile, and be back at its end."""
    for exponent in (9, 10, 11, 12, 30, 52, 53, 54, 60, 900):
        x = of_exponents(np.zeros(1 << 15, int), WIDE)
        middle = len(x) // 2 * 2 - 64
        x[middle : middle + 2] = 2.0**exponent, -(2.0**exponent)
        x[100:102] = 1.5 * 2.0**exponent, -1.5 * 2.0**exponent
        assert is_exact(device, x), exponent


@narrow
def test_no_bit_is_lost_of_narrow_numbers_that_reach_below_a_window(device, dtype):
    """All bits of a few are 1, and among numbers that cancel they begin ever farther below."""
    ones, places = float(np.nextafter(dtype.type(2), dtype.type(0))), np.arange(50) * 301 + 200
    for exponent, others in itertools.product(range(-40, -12), ([1.0, -1.0], [0.0, 0.0])):
        x = np.tile(others, 8000)
        x[places], x[places + 1] = ones * 2.0**exponent, 0
        assert is_exact(device, x.astype(dtype), block_size=32), exponent


@narrow
@both_signs
def test_narrow_numbers_that_grow_up_to_a_windows_end_are_exact(device, dtype, sign):
    """From some device on they are as great as a window takes, or somewhat greater, all alike."""
    for exponent, first in ((7, 5000), (8, 5000), (8, 40_000), (9, 40_000), (14, 5000)):
        x = np.full(STRETCH, sign, dtype)
        x[first:] = sign * np.nextafter(dtype.type(2.0 ** (exponent + 1)), dtype.type(0))
        assert is_exact(device, x, block_size=32), (exponent, first)


@pytest.mark.parametrize("dtype", [NARROW, BFLOAT16], ids=str)
@both_signs
def test_great_numbers_leave_room_for_those_that_a_window_takes_whole(device, dtype, sign):
    """Now and then there is one that nearly fills a window, whatever its room, all of one sign."""
    for exponent, least in chosen(itertools.product(range(8, 24), (3, 8)), dtype, sign):
        x = np.full(STRETCH // 4, 1.75 * sign)
        x[5000:] = sign * 2.0**least * 1.75
        x[5000::997] = sign * 1.9375 * 2.0**exponent
        assert is_exact(device, x.astype(dtype), block_size=32), (exponent, least)


ODD = [
    (2.0**-600, 2.0**-474 + 2.0**-526, None),
    (2.0**-560 + 2.0**-612, 2.0**-480 + 2.0**-532, None),
    (2.0**-1074, 2.0**-1074, None),
    (math.inf, 1.0, math.inf),
    (-math.inf, 1.0, -math.inf),
    (math.inf, 0.0, math.nan),
    (math.inf, 2.0**-1074, math.inf),
    (math.nan, 0.0, math.nan),
    (1e300, -1e300, None),
    (2.0**1000, 2.0**-900, None),
    (-0.0, 2.0**-1074, None),
]


@pytest.mark.parametrize(("x", "y", "expected"), ODD)
def test_one_odd_product_is_right_anywhere(device, x, y, expected):
    """Too small, too large, or no number: beside ones that lie within windows."""
    n = 70_001 if device == "host" else 20_001
    for spot in (0, 1, 700, 4095, 4096, n - 1):
        a, b = np.full(n, 1.5), np.full(n, 0.5)
        a[spot], b[spot] = x, y
        if expected is None:
            assert added(device, a, b) == (n - 1) * Fraction(3, 4) + Fraction(x) * Fraction(y)
        else:
            got = gred.ExactSum()
            got.add_products(there(a, device), there(b, device))
            assert same(got.value(), np.float64(expected))


@pytest.mark.parametrize(
    "exponent",
    [
        *[-900, -950, -960, -968, -970, -975, -990, -1020, -1060],
        *[900, 960, 1000, 1010, 1015, 1020, 1022],
    ],
)
def test_products_near_the_least_and_the_greatest_floats_are_exact(device, exponent):
    """All of them, or half: what small ones lose is just a float, or no longer one."""
    a, b = drawn(np.float64, 20_000, 4)
    a, b = a * 2.0 ** (exponent // 2), b * 2.0 ** (exponent - exponent // 2)
    assert added(device, a, b) == exact_products(a, b)
    a[::2] *= 2.0**40 if exponent < 0 else 2.0**-40
    assert added(device, a, b) == exact_products(a, b)


def test_ties_are_decided_by_far_bits(device):
    for far, sign in itertools.product((-60, -1074, -2148), (1, 0, -1)):
        a, b = np.zeros((2, 10_000))
        a[7], b[7], a[4321], b[4321] = 1.0, 1.0, 2.0**-26, 2.0**-27
        a[9999], b[9999] = sign * 2.0 ** (far // 2), 2.0 ** (far - far // 2)
        right = 1 + (2.0**-52 if sign > 0 else 0)
        assert gred.dot(there(a, device), there(b, device), method="exact") == right
        assert far < -1074 or exact("sum", there(a * b, device)) == right


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_zeros_among_others_change_nothing(device, dtype):
    a, b = drawn(dtype, 9000, 8)
    a[::3], b[::5], a[1::7], b[2::7] = 0, -0.0, -0.0, 0
    assert is_exact(device, a, b)
    a[:8000] = 0
    assert is_exact(device, a, b)
