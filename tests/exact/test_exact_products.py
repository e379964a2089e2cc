"""Sums of products and norms by `method="exact"`, and `ExactSum.add_products`, on every device.

The truth is fractions, rounded once, or integers; nothing of it comes from gred. Threads of devices
run in another order for every test.
"""

import itertools
import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from drawn import examples
from exact_truths import (
    any_floats,
    dot,
    exact_parts,
    exact_products,
    finite_floats,
    mixed,
    nearest,
    of_exponents,
    same,
)
from exactly import added, drawn, norm, root, steps
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import BFLOAT16, COMPLEX, EXPONENTS, MANTISSA_BITS, REALS
from samples import element_there, fetched, there
from thin import chosen

import gred

FLOAT64 = np.dtype(np.float64)
MANY = 600_000  # float64s: more than all warps take before they choose windows anew
FIRST = 32_768  # elements: no fewer than those by which all warps choose them first
# How much greater others may then be, in bits.
ROOM = {np.float64: 8, np.float32: 9, np.float16: 5}
typed = pytest.mark.parametrize("dtype", REALS, ids=str)
of_numpys_floats = pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
quiet = pytest.mark.filterwarnings("ignore::RuntimeWarning")
pytestmark = pytest.mark.usefixtures("shuffled")


@quiet
@typed
@settings(deadline=None, max_examples=examples(60))
@given(data=st.data())
def test_an_exact_dot_product_is_the_nearest_float(device, dtype, data):
    a, b = data.draw(any_floats(dtype)), data.draw(any_floats(dtype))
    a, b = a[: len(b)], b[: len(a)]
    assert same(gred.dot(a, b, method="exact", device=device), dot(a, b, dtype))


@typed
@settings(deadline=None, max_examples=examples(60))
@given(data=st.data())
def test_an_exact_norm_is_the_nearest_float(device, dtype, data):
    x = data.draw(finite_floats(dtype))
    assert same(norm(x, device=device), root(x, dtype))


@pytest.mark.parametrize("spread", [0, 20, 60, 120, 2000])
def test_every_length_is_exact(device, spread):
    """Around warps, tiles, blocks, and boundaries of 16 bytes; in windows and beside them."""
    lengths = (1, 2, 5, 31, 129, 511, 512, 513, 2047, 2048, 2049, 4111, 16385, 40_001)
    for dtype, n in itertools.product((np.float64, np.float32, np.float16), lengths):
        limits = np.finfo(dtype)
        a, b = drawn(dtype, n, min(spread, limits.maxexp - limits.minexp))
        assert added(device, a, b) == exact_products(a, b), (dtype, n)
        assert added(device, a, a) == exact_products(a, a), (dtype, n)


def is_exact(x, y, a, b):
    """Tell whether both parts of an exact dot product are right, of arrays that lie anywhere."""
    got, part = gred.dot(x, y, method="exact"), a.real.dtype
    real, imag = (nearest(sum_of_part, part) for sum_of_part in exact_parts(a, b))
    return got.dtype == a.dtype and same(got.real, real) and same(got.imag, imag)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.complex64])
def test_arrays_aligned_in_different_ways_are_exact(device, dtype):
    parts = [x.astype(dtype) for x in drawn(np.float32, 5000, 12)]
    a, b = parts if dtype != np.complex64 else (x + 1j * x[::-1] for x in parts)
    for first, second in ((0, 1), (1, 0), (1, 1), (1, 2), (3, 1), (8, 5)):
        i, j = slice(first, first + 4980), slice(second, second + 4980)
        x, y = there(a, device)[i], there(b, device)[j]
        assert is_exact(x, y, a[i], b[j])
        fast, right = gred.dot(x, y), complex(*map(float, exact_parts(a[i], b[j])))
        assert abs(fast - right) <= abs(fast) * 1e-2 + 0.1


@pytest.mark.parametrize("n", [1, 2, 100, 5000, 30_001])
@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_complex_numbers_have_two_exact_sums(device, dtype, n):
    random = np.random.default_rng(n)
    a, b = ((random.normal(size=n) + 2.0**-20j * random.normal(size=n)).astype(dtype) for _ in "ab")
    assert is_exact(there(a, device), there(b, device), a, b)
    assert same(norm(there(a, device)), root(a, a.real.dtype))


@quiet
def test_infinite_parts_are_added_with_their_signs(device):
    upwards, downwards = complex(0, math.inf), complex(0, -math.inf)
    for a, b in (([upwards], [1j]), ([math.inf], [1.0 + 0j]), ([1j], [downwards])):
        a, b = np.array(a, complex), np.array(b, complex)
        real = a.real * b.real - a.imag * b.imag
        for how in ("auto", "exact"):
            assert same(gred.dot(a, b, method=how, device=device).real, real[0])


def test_products_too_large_and_too_small_for_floats_are_right(device):
    a = np.tile([1e200, 1.0, -1e200, 1e-200, 3e-320], 1000)
    b = np.tile([1e200, 3.0, 1e200, 1e-200, 1e-5], 1000)
    assert added(device, a, b) == exact_products(a, b)
    assert gred.dot(there(a, device), there(b, device), method="exact") == 3000
    for dtype in (np.float64, np.float32, np.float16):
        greatest = np.finfo(dtype).max
        x = np.array([greatest, greatest], dtype)
        assert gred.dot(x, dtype([2, -1]), method="exact", device=device) == greatest
        assert gred.dot(x, dtype([2, 1]), method="exact", device=device) == math.inf
    assert np.finfo(float).max == sys.float_info.max


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


@of_numpys_floats
def test_zeros_among_others_change_nothing(device, dtype):
    a, b = drawn(dtype, 9000, 8)
    a[::3], b[::5], a[1::7], b[2::7] = 0, -0.0, -0.0, 0
    assert added(device, a, b) == exact_products(a, b)
    a[:8000] = 0
    assert added(device, a, b) == exact_products(a, b)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_windows_are_chosen_anew_where_products_have_changed(device, dtype):
    """Stretches that are greater, or less, than those before them, or both at once."""
    for name, exponents in chosen(steps(MANY, 50, 40).items(), dtype):
        a = of_exponents(exponents, dtype)
        b = of_exponents(np.zeros(MANY, int), dtype, seed=2)
        assert added(device, a, b) == exact_products(a, b), name


@pytest.mark.parametrize(
    ("dtype", "higher"),
    [(kind, room + more) for kind, room in ROOM.items() for more in (-3, -1, 0, 1)],
)
def test_windows_that_are_full_to_their_limit_are_exact(device, dtype, higher):
    """As many of the greatest products of one sign as a window takes, and more."""
    greatest, n = dtype(2 - np.finfo(dtype).eps), 2_200_000
    for sign in chosen((1, -1), dtype, higher):
        a, b = np.full(n, greatest, dtype), np.full(n, sign * greatest, dtype)
        a[FIRST:] *= dtype(2) ** (higher // 2)
        b[FIRST:] *= dtype(2) ** (higher - higher // 2)
        square, times = Fraction(float(greatest)) ** 2, FIRST + (n - FIRST) * 2**higher
        assert added(device, a, b) == sign * square * times


def test_lower_windows_that_are_full_to_their_limit_are_exact(device):
    """The first windows leave as much of every part as they can, wherever they lie."""
    for bit in (24, 25, 26, 27, 28, 40, 50):
        for sign in (1, -1):
            a, b = np.full(MANY, 1 + 2.0**-bit - 2.0**-52), np.full(MANY, sign * (1 + 2.0**-bit))
            assert added(device, a, b) == MANY * Fraction(float(a[0])) * Fraction(float(b[0]))


def test_ties_are_decided_by_far_bits(device):
    for far in (-60, -1074, -2148):
        for sign in (1, 0, -1):
            a, b = np.zeros(10_000), np.zeros(10_000)
            a[7], b[7], a[4321], b[4321] = 1.0, 1.0, 2.0**-26, 2.0**-27
            a[9999], b[9999] = sign * 2.0 ** (far // 2), 2.0 ** (far - far // 2)
            got = gred.dot(there(a, device), there(b, device), method="exact")
            assert got == 1 + (2.0**-52 if sign > 0 else 0)


@quiet
@typed
def test_any_bits_are_exact(device, dtype):
    random = np.random.default_rng(4)
    a, b = (random.integers(0, 256, 4000 * dtype.itemsize, np.uint8).view(dtype) for _ in "ab")
    finite = np.isfinite(a.astype(np.float64)) & np.isfinite(b.astype(np.float64))
    right = dot(a[finite], b[finite], dtype)
    assert same(gred.dot(a[finite], b[finite], method="exact", device=device), right)


def test_types_that_mix_are_multiplied_as_they_are(device):
    a = np.array([2**63 - 1, -(2**62) - 1, 3] * 2000)
    b = np.array([1.0, 2.0, 2.0**-70] * 2000)
    expected = nearest(exact_products(a, b), np.float64)
    assert same(gred.dot(there(a, device), there(b, device), method="exact"), expected)
    assert same(gred.dot(there(b, device), there(a, device), method="exact"), expected)
    unsigned = np.array([2**64 - 1, 2**63 + 1, 7] * 1000, np.uint64)
    small = np.arange(-100, 100, dtype=np.int16)
    for x, y in ((unsigned, unsigned), (unsigned, a[:3000]), (small, small), (small > 0, small)):
        assert added(device, x, y) == exact_products(x, y)
    half = np.linspace(-1, 1, 200).astype(np.float16)
    expected = nearest(exact_products(small, half), np.float32)
    assert same(gred.dot(there(small, device), there(half, device), method="exact"), expected)
    assert gred.dot(np.ones(3, BFLOAT16), np.ones(3, np.float16), device=device).dtype == "f4"


@pytest.mark.parametrize("exponent", [-1074, -1060, -1022, -600, -500, -1, 0, 1, 500, 1000])
def test_roots_of_squares_at_all_magnitudes_are_right(exponent):
    random = np.random.default_rng(exponent + 2000)
    for n in (1, 2, 3, 10) * 50:
        significands = random.integers(1, 2 ** random.integers(1, min(54, 1024 - exponent)), n)
        x = np.ldexp(significands.astype(float), exponent)
        assert same(norm(x), root(x))


@typed
def test_a_far_off_bit_decides_a_norms_tie(dtype):
    """5 k is half way between two floats, and 3 k and 4 k are floats."""
    limit = 2 ** MANTISSA_BITS[dtype]
    for k in range(limit // 5 + 1 | 1, limit // 4, max(2, limit // 512 & ~1)):
        ends = np.array([3 * k, 4 * k]).astype(dtype)
        assert [int(x) for x in ends] == [3 * k, 4 * k]
        even = 5 * k + 1 if (5 * k + 1) % 4 == 0 else 5 * k - 1
        assert norm(np.append(ends, dtype.type(0))) == even
        for x in (2.0 ** -EXPONENTS[dtype], 2.0**-11):
            assert norm(np.append(ends, dtype.type(x))) == 5 * k + 1


def test_exact_norms_take_what_other_norms_take(device):
    x = mixed(4000)[:3000].reshape(30, 100)
    mask = np.random.default_rng(1).random(x.shape) < 0.5
    view = x[::2, ::-3]
    assert same(norm(there(x, device, lambda x: x[::2, ::-3])), root(view))
    assert same(norm(view, device=device), root(view))
    for where in (mask, there(mask, device)):
        assert same(norm(there(x, device), where=where), root(x[mask]))
    assert same(norm(x, where=mask, device=device), root(x[mask]))
    ints = np.array([2**62 + 1, -3, 2**63 - 1])
    arrays = [ints.astype(dtype) for dtype in (np.int64, np.uint64, np.int32, np.int8)]
    arrays += [np.repeat(y, 2)[::2] for y in arrays]
    for y in (*arrays, np.zeros(0), np.array([-0.0, 0.0])):
        assert same(norm(y, device=device), root(y))
    assert same(norm(np.float32([3, 2.0**-30]), dtype=float, device=device), np.float64(3.0))
    assert norm([1.0, -math.inf], device=device) == math.inf
    assert math.isnan(norm([math.nan, math.inf], device=device))
    with pytest.raises(ValueError, match="norm of order 2; not for"):
        norm(x, ord=1, device=device)


@pytest.mark.parametrize("result", [np.float32, np.float64])
def test_exact_norms_go_to_an_element_of_the_device(device, result):
    """A float32 is rounded to once."""
    x = np.random.default_rng(1).normal(size=5001)
    out = element_there(result, device)
    for y in (x, x[:0], np.exp(1j * x), np.array([3.0, 4.0])):
        norm(there(y, device), out=out)
        assert same(fetched(out, device), root(y, result))


@pytest.mark.parametrize("dtype", [*REALS, *COMPLEX], ids=str)
def test_exact_norms_along_an_axis_are_those_of_its_rows(device, dtype):
    x = mixed(1000)[:600].reshape(4, 30, 5) * 2.0**-60
    x = np.clip(x, -100, 100) if dtype.itemsize == 2 else np.clip(x, -1e9, 1e9)
    x = (x + 1j * x[::-1] if dtype in COMPLEX else x).astype(dtype)
    for axis in range(3):
        got = norm(x, axis=axis, device=device)
        rows = np.moveaxis(x, axis, -1)
        for index in np.ndindex(got.shape):
            assert same(np.asarray(got)[index], root(rows[index], got.dtype))


@pytest.mark.parametrize("block_size", [32, 64, 256, 1024])
def test_blocks_of_any_size_make_the_same_bits(device, block_size):
    blocks = {} if device == "host" else {"block_size": block_size}  # the host has none
    for dtype, spread in itertools.product((np.float64, np.float32, np.complex128), (3, 40, 120)):
        x = next(drawn(np.float32, 20_000, spread)).astype(dtype)
        got = norm(x, device=device, **blocks)
        assert same(got, root(x, got.dtype))
