"""Exact sums of numbers and products where windows move, end and are full, on every device."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from devices import laid_out
from exact_truths import exact_products, exact_sum, kinds, nearest, of_exponents, same, truth
from exactly import FLOATS, WIDE, added, drawn, exact, of_products
from reference import BFLOAT16, COMPLEX, REALS
from thin import chosen

import gred

STRETCH = 1_000_000  # numbers: more than all warps add before they choose new windows
MANY = 600_000  # products, likewise
FIRST = 32_768  # elements: at least as many as all warps choose the first windows from
LENGTHS = (1, 2, 5, 31, 129, 511, 512, 513, 2047, 2048, 2049, 4111, 16385, 70_001)
SIGNS = (1, -1)
pytestmark = pytest.mark.usefixtures("shuffled")


# ---- numbers ----


def any_exponents():
    """Too far apart for windows; the host uses one large superaccumulator, or several."""
    lengths = itertools.product(FLOATS[:2], (16383, 16384, 70_001))
    for dtype, n in (*lengths, (np.float64, 1_500_001)):
        x = next(kinds(np.dtype(dtype), n, n))
        yield x
        tiny = np.arange(n) % 3 == 0
        x[tiny] = np.copysign(np.finfo(dtype).smallest_subnormal * 5, x[tiny])
        x[1::5] = 0
        yield x[::-1]


def many_of_an_exponent():
    """More than a bucket takes before it is flushed, all with the largest significand."""
    for dtype in FLOATS[:2]:
        x = next(kinds(np.dtype(dtype), 60_000, 1))
        for value in (1, -1, np.finfo(dtype).max, -np.finfo(dtype).tiny):
            x[10_000:40_000] = np.nextafter(dtype(value), dtype(0))
            yield x


def steps(n, far, peak):
    """Yield exponents that change: rising, falling, with rare peaks, or in levels."""
    now_and_then = np.arange(n) % 50_021 == 50_020
    yield np.linspace(-far, far, n).astype(int)
    yield np.linspace(far, -far, n).astype(int)
    yield now_and_then * peak
    yield now_and_then * -peak
    yield (np.repeat([0, 0.6, -0.6, 0, 1, -1], n // 6) * max(far, peak)).astype(int)


def windows_move():
    """Stretches that are larger or smaller than those before, or both."""
    for dtype in FLOATS[:2]:
        for exponents in chosen(steps(3 * STRETCH, 90, 100), dtype):
            yield of_exponents(exponents, dtype)


def windows_end():
    """Windows move up, down and beyond their limits, or are tried again."""
    random, ends = np.random.default_rng(1), [-1022, -1074, 900, 1013, 1014, 1023, -1074]
    for exponents in ([0, 300, -300, 0], ends, [1023, -1074]):
        yield np.concatenate([np.ldexp(random.random(4096) - 0.5, e) for e in exponents])
    near, far = random.normal(size=50_000), next(kinds(WIDE, 30_000, 1))
    yield np.concatenate([far, near, far[:9000], near])


def full_windows():
    """As many of the largest numbers of one sign as a window takes, and more."""
    for dtype in FLOATS:
        greatest = dtype(2 - np.finfo(dtype).eps)
        for value in chosen((greatest, -greatest, dtype(1), dtype(-1)), dtype):
            yield np.full(2 * STRETCH, value)
        x = np.full(2 * STRETCH, value)
        x[::3] = dtype(2.0**-10) * greatest
        yield x
    for n, power, bit, sign in itertools.product((4096, 4095, 8192), (0, 5, 10), (43, 999), SIGNS):
        x = np.full(n, sign * (2.0**power - 2.0 ** (power - bit)))
        x[-1] = sign * 2.0**10
        yield x
    # The first windows leave the largest remainder of every number, wherever they are.
    for bit, sign in chosen(itertools.product((26, 27, 28), SIGNS)):
        yield np.full(2 * STRETCH, sign * (1 + 2.0**-bit - 2.0**-52))


def out_and_back():
    """Each thread's sum would leave its window's range within a tile, and return by its end."""
    for exponent in (9, 10, 11, 12, 30, 52, 53, 54, 60, 900):
        x = of_exponents(np.zeros(1 << 15, int), WIDE)
        middle = len(x) // 2 * 2 - 64
        x[middle : middle + 2] = 2.0**exponent, -(2.0**exponent)
        x[100:102] = 1.5 * 2.0**exponent, -1.5 * 2.0**exponent
        yield x


def below_a_window():
    """A few numbers of only ones, ever further below others that may cancel."""
    others = ([1.0, -1.0], [0.0, 0.0], [1.0, 1.0])
    for dtype, exponent, other in chosen(itertools.product(REALS, range(-60, 1), others)):
        x, places = np.tile(other, 8000), np.arange(50) * 301 + 200
        ones = float(np.nextafter(dtype.type(2), dtype.type(0)))
        x[places], x[places + 1] = ones * 2.0**exponent, 0
        yield x.astype(dtype)


def room_for_whole_ones():
    """Now and then a number nearly fills a window, whatever its headroom, all of one sign."""
    every = itertools.product((REALS[2], BFLOAT16), SIGNS, range(7, 24), (3, 8))
    for dtype, sign, exponent, least in chosen(every):
        x = np.full(STRETCH // 4, 1.75 * sign)
        x[5000:] = sign * 2.0**least * 1.75
        x[5000::997] = sign * 1.9375 * 2.0**exponent
        yield x.astype(dtype)


NUMBERS = (any_exponents, many_of_an_exponent, windows_move, windows_end, full_windows)
NUMBERS += (out_and_back, below_a_window, room_for_whole_ones)


@pytest.mark.parametrize("numbers", NUMBERS)
def test_numbers_are_added_exactly(device, numbers):
    for x in numbers():
        right, told = exact_sum(x), (x.dtype, x[:3], x.size)
        assert gred.ExactSum(laid_out(x, device)).fraction() == right, told
        if device != "host":
            got = exact("sum", laid_out(x, device), dtype=WIDE, block_size=32)
            assert same(got, nearest(right, WIDE)), told


@pytest.mark.parametrize("block_size", [32, 64, 256, 1024])
def test_blocks_of_any_size_make_the_same_bits(device, block_size):
    options = {} if device == "host" else {"block_size": block_size}  # the host has no blocks
    for dtype, spread in itertools.product((*FLOATS[:2], COMPLEX[1]), (6, 80, 240)):
        x = drawn(np.float32, 20_000, spread)[0].astype(dtype)
        for name in ("sum", "norm"):
            assert same(exact(name, laid_out(x, device), **options), truth(name, x))


# ---- products, and numbers of the same spread ----


@pytest.mark.parametrize("spread", [0, 20, 60, 250, 2000])
def test_every_length_is_exact(device, spread):
    """Around warps, tiles, blocks and boundaries of 16 bytes; inside and outside windows."""
    for dtype, n in itertools.product(FLOATS, LENGTHS):
        limits = np.finfo(dtype)
        a, b = drawn(dtype, n, min(spread, limits.maxexp - limits.minexp))
        for x in (a, a[1:]):
            assert gred.ExactSum(laid_out(x, device)).fraction() == exact_sum(x), (dtype, n)
        for x, y in ((a, b), (a, a)):
            assert added(device, x, y) == exact_products(x, y), (dtype, n)


def products_windows_move():
    for dtype in FLOATS[:2]:
        for exponents in chosen(steps(MANY, 50, 40), dtype):
            yield of_exponents(exponents, dtype), of_exponents(0 * exponents, dtype, 2), None


def full_windows_of_products():
    """As many of the largest products of one sign as a window takes, and more."""
    room, n = dict(zip(FLOATS, (8, 9, 5), strict=True)), 2_200_000  # headroom, in bits
    for (dtype, bits), more, sign in chosen(itertools.product(room.items(), (-3, -1, 0, 1), SIGNS)):
        greatest, higher = dtype(2 - np.finfo(dtype).eps), bits + more
        a, b = np.full(n, greatest, dtype), np.full(n, sign * greatest, dtype)
        a[FIRST:] *= dtype(2) ** (higher // 2)
        b[FIRST:] *= dtype(2) ** (higher - higher // 2)
        times = FIRST + (n - FIRST) * 2**higher
        yield a, b, sign * times * Fraction(float(greatest)) ** 2
    # The first windows leave remainders of one sign of all products.
    for bit, sign in itertools.product((24, 25, 26, 27, 28, 40, 50), SIGNS):
        a = np.full(MANY, sign * (1 + 2.0**-bit - 2.0**-52))
        b = np.full(MANY, 1 + 2.0**-bit)
        yield a, b, MANY * Fraction(a[0]) * Fraction(b[0])


def of_any_exponents():
    """Including products that are too large, too small, or zero."""
    random = np.random.default_rng(3)
    for dtype, n, share in itertools.product(FLOATS[:2], (16384, 70_001), (0.01, 0.2, 0.97)):
        most = int(np.finfo(dtype).maxexp * share)
        x = np.ldexp(random.normal(size=(2, n)), random.integers(-most, most, (2, n)))
        a, b = x.astype(dtype)
        a[::7], b[1::9] = 0, np.finfo(dtype).smallest_subnormal
        yield a, b, None


def near_the_least_and_the_greatest():
    """All or half of them: what small products lose is just a float, or no longer one."""
    small = (-900, -950, -960, -968, -970, -975, -990, -1020, -1060)
    for exponent in (*small, 900, 960, 1000, 1010, 1015, 1020, 1022):
        a, b = drawn(np.float64, 20_000, 4)
        a, b = a * 2.0 ** (exponent // 2), b * 2.0 ** (exponent - exponent // 2)
        yield a, b, None
        a[::2] *= 2.0**40 if exponent < 0 else 2.0**-40
        yield a, b, None


def with_zeros_and_beyond_floats():
    for dtype in FLOATS:
        a, b = drawn(dtype, 9000, 8)
        a[::3], b[::5], a[1::7], b[2::7] = 0, -0.0, -0.0, 0
        yield a, b, None
        a[:8000] = 0
        yield a, b, None
    a = np.tile([1e200, 1.0, -1e200, 1e-200, 3e-320], 1000)
    yield a, np.tile([1e200, 3.0, 1e200, 1e-200, 1e-5], 1000), None


def odd_ones():
    """One product that is too small or too large, anywhere among products inside windows."""
    odd = [(2.0**-600, 2.0**-474 + 2.0**-526), (2.0**-560 + 2.0**-612, 2.0**-480 + 2.0**-532)]
    odd += [(2.0**-1074, 2.0**-1074), (1e300, -1e300), (2.0**1000, 2.0**-900), (-0.0, 2.0**-1074)]
    n = 20_001
    for (x, y), spot in itertools.product(odd, (0, 1, 700, 4095, 4096, n - 1)):
        a, b = np.full(n, 1.5), np.full(n, 0.5)
        a[spot], b[spot] = x, y
        yield a, b, (n - 1) * Fraction(3, 4) + Fraction(x) * Fraction(y)


def far_bits_beside_ties():
    for far, sign in itertools.product((-60, -1074, -2148), (1, 0, -1)):
        a, b = np.zeros((2, 10_000))
        a[7], b[7], a[4321], b[4321] = 1.0, 1.0, 2.0**-26, 2.0**-27
        a[9999], b[9999] = sign * 2.0 ** (far // 2), 2.0 ** (far - far // 2)
        yield a, b, 1 + Fraction(1, 2**53) + sign * Fraction(2) ** far


PRODUCTS = (of_any_exponents, products_windows_move, full_windows_of_products, odd_ones)
PRODUCTS += (near_the_least_and_the_greatest, with_zeros_and_beyond_floats, far_bits_beside_ties)


@pytest.mark.parametrize("products", PRODUCTS)
def test_products_are_added_exactly(device, products):
    for a, b, known in products():
        right = exact_products(a, b) if known is None else known
        assert added(device, a, b) == right, (a.dtype, a[:3], b[:3], a.size)


@pytest.mark.parametrize("x", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("y", [1.0, 0.0, 2.0**-1074])
def test_one_product_that_is_not_finite_is_seen_anywhere(device, x, y):
    for spot in (0, 1, 700, 4095, 4096, 20_000):
        a, b = np.full(20_001, 1.5), np.full(20_001, 0.5)
        a[spot], b[spot] = x, y
        got = of_products(a, b, device)
        with np.errstate(invalid="ignore"):
            assert same(got.value(), np.float64(x) * np.float64(y))
