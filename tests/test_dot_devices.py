"""`gred.dot`, exact norms and `ExactSum.add_products` on devices, whatever the threads' order.


The truth is fractions, rounded once, or integers; nothing of it comes from gred.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from drawn import examples
from exact_truths import (
    any_floats,
    dot,
    exact_products,
    finite_floats,
    mixed,
    nearest,
    nearest_root,
    same,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import BFLOAT16, COMPLEX, REALS
from samples import element_there, fetched, there
from test_exact_devices import of_exponents, places, typed
from thin import chosen

import gred
from gred.testing import SimulatedArray

INTEGERS = [np.dtype(kind + str(size)) for kind in "iu" for size in (1, 2, 4, 8)]
MANY = 600_000  # float64s: more than all warps take before they choose windows anew
FIRST = 32_768  # elements: no fewer than those by which all warps choose them first
# How much greater others may then be, in bits.
ROOM = {np.float64: 8, np.float32: 9, np.float16: 5}
both_methods = pytest.mark.parametrize("method", ["auto", "exact"])
pytestmark = [places, pytest.mark.usefixtures("shuffled")]


def quiet():
    return np.errstate(all="ignore")


def added(place, a, b):
    """Add the products of a device's arrays, without any rounding."""
    products = gred.ExactSum()
    products.add_products(there(a, place), there(b, place))
    assert products.count == np.size(a)
    return products.fraction()


def drawn(dtype, n, spread, seed=1):
    """Draw two factors whose products' exponents are spread so far, with all bits of their type."""
    random = np.random.default_rng([n, seed])
    return (
        of_exponents(random.integers(-spread // 4, spread // 4 + 1, n), dtype, seed + k)
        for k in range(2)
    )


def parts_of_dot(a, b):
    """Give both exact sums of a complex dot product."""
    real = exact_products(a.real, b.real) - exact_products(a.imag, b.imag)
    return real, exact_products(a.real, b.imag) + exact_products(a.imag, b.real)


# ---- exact ----


@typed
@settings(deadline=None, max_examples=examples(60))
@given(data=st.data())
def test_an_exact_dot_product_is_the_nearest_float(place, dtype, data):
    a, b = data.draw(any_floats(dtype)), data.draw(any_floats(dtype))
    a, b = a[: len(b)], b[: len(a)]
    with quiet():
        assert same(gred.dot(a, b, method="exact", device=place), dot(a, b, dtype))


@typed
@settings(deadline=None, max_examples=examples(60))
@given(data=st.data())
def test_an_exact_norm_is_the_nearest_float(place, dtype, data):
    x = data.draw(finite_floats(dtype))
    got = gred.norm(x, method="exact", device=place)
    assert same(got, nearest_root(exact_products(x, x), dtype))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("spread", [0, 20, 60, 120, 2000])
def test_every_length_is_exact(place, dtype, spread):
    """Around warps, tiles, blocks, and boundaries of 16 bytes; in windows and beside them."""
    limits = np.finfo(dtype)
    spread = min(spread, limits.maxexp - limits.minexp)
    for n in (1, 2, 5, 31, 129, 511, 512, 513, 2047, 2048, 2049, 4111, 16385, 40_001):
        a, b = drawn(dtype, n, spread)
        assert added(place, a, b) == exact_products(a, b), n
        assert added(place, a, a) == exact_products(a, a), n


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.complex64])
def test_arrays_aligned_in_different_ways_are_exact(place, dtype):
    parts = [x.astype(dtype) for x in drawn(np.float32, 5000, 12)]
    a, b = parts if dtype != np.complex64 else (x + 1j * x[::-1] for x in parts)
    for first, second in ((0, 1), (1, 0), (1, 1), (1, 2), (3, 1), (8, 5)):
        n = 4980
        x, y = there(a, place)[first : first + n], there(b, place)[second : second + n]
        real, imag = a[first : first + n], b[second : second + n]
        expected = parts_of_dot(real, imag)
        got = gred.dot(x, y, method="exact")
        assert same(got.real, nearest(expected[0], real.real.dtype))
        assert same(got.imag, nearest(expected[1], real.real.dtype))
        fast = gred.dot(x, y)
        assert abs(fast - complex(*map(float, expected))) <= abs(fast) * 1e-2 + 0.1


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
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
    ],
)
def test_one_odd_product_is_right_anywhere(place, x, y, expected):
    """Too small, too large, or no number: beside ones that lie within windows."""
    for spot in (0, 1, 700, 4096, 20_000):
        a, b = np.full(20_001, 1.5), np.full(20_001, 0.5)
        a[spot], b[spot] = x, y
        if expected is None:
            assert added(place, a, b) == 20_000 * Fraction(3, 4) + Fraction(x) * Fraction(y)
        else:
            got = gred.ExactSum()
            got.add_products(there(a, place), there(b, place))
            assert same(got.value(), np.float64(expected))


def test_products_too_large_and_too_small_for_floats_are_right(place):
    a = np.tile([1e200, 1.0, -1e200, 1e-200, 3e-320], 1000)
    b = np.tile([1e200, 3.0, 1e200, 1e-200, 1e-5], 1000)
    assert added(place, a, b) == exact_products(a, b)
    assert gred.dot(there(a, place), there(b, place), method="exact") == 3000
    for dtype in (np.float64, np.float32, np.float16):
        greatest = np.finfo(dtype).max
        x = np.array([greatest, greatest], dtype)
        assert gred.dot(x, dtype([2, -1]), method="exact", device=place) == greatest
        assert gred.dot(x, dtype([2, 1]), method="exact", device=place) == math.inf


@pytest.mark.parametrize("exponent", [-900, -950, -960, -968, -970, -975, -990, -1020, -1060])
def test_products_near_the_least_floats_are_exact(place, exponent):
    """All of them: what they lose is just a float, or no longer one."""
    a, b = drawn(np.float64, 20_000, 4)
    a, b = a * 2.0 ** (exponent // 2), b * 2.0 ** (exponent - exponent // 2)
    assert added(place, a, b) == exact_products(a, b)
    a[::2] *= 2.0**40
    assert added(place, a, b) == exact_products(a, b)


@pytest.mark.parametrize("exponent", [900, 960, 1000, 1010, 1015, 1020, 1022])
def test_products_near_the_greatest_floats_are_exact(place, exponent):
    a, b = drawn(np.float64, 20_000, 4)
    a, b = a * 2.0 ** (exponent // 2), b * 2.0 ** (exponent - exponent // 2)
    assert added(place, a, b) == exact_products(a, b)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_zeros_among_others_change_nothing(place, dtype):
    a, b = drawn(dtype, 9000, 8)
    a[::3], b[::5], a[1::7], b[2::7] = 0, -0.0, -0.0, 0
    assert added(place, a, b) == exact_products(a, b)
    a[:8000] = 0
    assert added(place, a, b) == exact_products(a, b)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_windows_are_chosen_anew_where_products_have_changed(place, dtype):
    """Stretches that are greater, or less, than those before them, or both at once."""
    steps = {
        "up": np.linspace(-50, 50, MANY),
        "down": np.linspace(50, -50, MANY),
        "a peak": np.where(np.arange(MANY) % 50_021 == 50_020, 40, 0),
        "a hole": np.where(np.arange(MANY) % 50_021 == 50_020, -40, 0),
        "levels": np.repeat([0, 30, -30, 0, 50, -50], MANY // 6),
    }
    for name in chosen(steps, dtype):
        a = of_exponents(steps[name].astype(int), dtype)
        b = of_exponents(np.zeros(len(a), int), dtype, seed=2)
        assert added(place, a, b) == exact_products(a, b), name


@pytest.mark.parametrize(
    ("dtype", "higher"),
    [(kind, room + more) for kind, room in ROOM.items() for more in (-3, -1, 0, 1)],
)
def test_windows_that_are_full_to_their_limit_are_exact(place, dtype, higher):
    """As many of the greatest products of one sign as a window takes, and more."""
    greatest, n = dtype(2 - np.finfo(dtype).eps), 2_200_000
    for sign in chosen((1, -1), dtype, higher):
        a = np.full(n, greatest, dtype)
        b = np.full(n, sign * greatest, dtype)
        a[FIRST:] *= dtype(2) ** (higher // 2)
        b[FIRST:] *= dtype(2) ** (higher - higher // 2)
        square, times = Fraction(float(greatest)) ** 2, FIRST + (n - FIRST) * 2**higher
        assert added(place, a, b) == sign * square * times


def test_lower_windows_that_are_full_to_their_limit_are_exact(place):
    """The first windows leave as much of every part as they can, wherever they lie."""
    for bit in (24, 25, 26, 27, 28, 40, 50):
        for sign in (1, -1):
            a, b = np.full(MANY, 1 + 2.0**-bit - 2.0**-52), np.full(MANY, sign * (1 + 2.0**-bit))
            one = Fraction(float(a[0])) * Fraction(float(b[0]))
            assert added(place, a, b) == MANY * one


def test_ties_are_decided_by_far_bits(place):
    for far in (-60, -1074, -2148):
        for sign in (1, 0, -1):
            a, b = np.zeros(10_000), np.zeros(10_000)
            a[7], b[7], a[4321], b[4321] = 1.0, 1.0, 2.0**-26, 2.0**-27
            a[9999], b[9999] = sign * 2.0 ** (far // 2), 2.0 ** (far - far // 2)
            got = gred.dot(there(a, place), there(b, place), method="exact")
            assert got == 1 + (2.0**-52 if sign > 0 else 0)


@typed
def test_any_bits_are_exact(place, dtype):
    random = np.random.default_rng(4)
    a, b = (random.integers(0, 256, 4000 * dtype.itemsize, np.uint8).view(dtype) for _ in "ab")
    with quiet():
        finite = np.isfinite(a.astype(np.float64)) & np.isfinite(b.astype(np.float64))
        a, b = a[finite], b[finite]
        expected = dot(a, b, dtype)
    assert same(gred.dot(a, b, method="exact", device=place), expected)


@pytest.mark.parametrize("n", [1, 2, 100, 5000, 30_001])
@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_complex_numbers_have_two_exact_sums(place, dtype, n):
    random = np.random.default_rng(n)
    a, b = ((random.normal(size=n) + 2.0**-20j * random.normal(size=n)).astype(dtype) for _ in "ab")
    real, imag = parts_of_dot(a, b)
    got = gred.dot(there(a, place), there(b, place), method="exact")
    assert got.dtype == dtype
    assert same(got.real, nearest(real, a.real.dtype))
    assert same(got.imag, nearest(imag, a.real.dtype))
    squares = exact_products(a.real, a.real) + exact_products(a.imag, a.imag)
    assert same(gred.norm(there(a, place), method="exact"), nearest_root(squares, a.real.dtype))


def test_infinite_parts_are_added_with_their_signs(place):
    with quiet():
        upwards, downwards = complex(0, math.inf), complex(0, -math.inf)
        for a, b in (([upwards], [1j]), ([math.inf], [1.0 + 0j]), ([1j], [downwards])):
            a, b = np.array(a, complex), np.array(b, complex)
            real = a.real * b.real - a.imag * b.imag
            assert same(gred.dot(a, b, method="exact", device=place).real, real[0])
            assert same(gred.dot(a, b, device=place).real, real[0])


def test_types_that_mix_are_multiplied_as_they_are(place):
    a = np.array([2**63 - 1, -(2**62) - 1, 3] * 2000)
    b = np.array([1.0, 2.0, 2.0**-70] * 2000)
    expected = nearest(exact_products(a, b), np.float64)
    assert same(gred.dot(there(a, place), there(b, place), method="exact"), expected)
    assert same(gred.dot(there(b, place), there(a, place), method="exact"), expected)
    unsigned = np.array([2**64 - 1, 2**63 + 1, 7] * 1000, np.uint64)
    assert added(place, unsigned, unsigned) == exact_products(unsigned, unsigned)
    assert added(place, unsigned, a[:3000]) == exact_products(unsigned, a[:3000])
    small = np.arange(-100, 100, dtype=np.int16)
    half = np.linspace(-1, 1, 200).astype(np.float16)
    expected = nearest(exact_products(small, half), np.float32)
    assert same(gred.dot(there(small, place), there(half, place), method="exact"), expected)
    assert added(place, small, small) == exact_products(small, small)
    assert added(place, small > 0, small) == exact_products(small > 0, small)


# ---- exact norms ----


def test_exact_norms_take_what_other_norms_take(place):
    x = mixed(4000)[:3000].reshape(30, 100)
    chosen = np.random.default_rng(1).random(x.shape) < 0.5

    def norm(x, **options):
        return gred.norm(x, method="exact", **options)

    def expected(x, dtype=np.float64):
        return nearest_root(exact_products(x, x), dtype)

    view = x[::2, ::-3]
    assert same(norm(there(x, place, lambda x: x[::2, ::-3])), expected(view))
    assert same(norm(view, device=place), expected(view))
    for mask in (chosen, there(chosen, place)):
        assert same(norm(there(x, place), where=mask), expected(x[chosen]))
    assert same(norm(x, where=chosen, device=place), expected(x[chosen]))
    ints = np.array([2**62 + 1, -3, 2**63 - 1])
    for dtype in (np.int64, np.uint64, np.int32, np.int8):
        for y in (ints.astype(dtype), np.repeat(ints.astype(dtype), 2)[::2]):
            assert same(norm(y, device=place), expected(y))
    assert same(norm(np.float32([3, 2.0**-30]), dtype=float, device=place), np.float64(3.0))
    assert norm([1.0, -math.inf], device=place) == math.inf
    assert math.isnan(norm([math.nan, math.inf], device=place))


@pytest.mark.parametrize("result", [np.float32, np.float64])
def test_exact_norms_stay_on_the_device(place, result):
    """A float32 is rounded to once."""
    x = np.random.default_rng(1).normal(size=5001)
    out = element_there(result, place)
    gred.norm(there(x, place), method="exact", out=out)
    assert same(fetched(out, place), nearest_root(exact_products(x, x), result))
    gred.norm(there(x[:0], place), method="exact", out=out)
    assert fetched(out, place) == 0
    y = np.exp(1j * x)
    gred.norm(there(y, place), method="exact", out=out)
    squares = exact_products(y.real, y.real) + exact_products(y.imag, y.imag)
    assert same(fetched(out, place), nearest_root(squares, result))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_exact_norms_along_an_axis_are_those_of_its_rows(place, dtype):
    random = np.random.default_rng(1)
    x = random.normal(size=(4, 30, 5)).astype(dtype)
    if np.dtype(dtype).kind == "c":
        x.imag = random.normal(size=x.shape) * 2.0**-9
    for axis in range(3):
        got = gred.norm(x, axis=axis, method="exact", device=place)
        rows = np.moveaxis(x, axis, -1)
        for index in np.ndindex(got.shape):
            row = rows[index]
            square = exact_products(row.real, row.real) + exact_products(row.imag, row.imag)
            assert same(np.asarray(got)[index], nearest_root(square, got.dtype))


def test_exact_norms_are_told_and_measured(place):
    x = there(np.ones(3000), place)
    assert gred.explain(x, "norm", method="exact").method == "exact"
    assert gred.kernel_time(x, "norm", method="exact", samples=2).method == "exact"


@pytest.mark.parametrize("block_size", [32, 64, 256, 1024])
def test_blocks_of_any_size_make_the_same_bits(place, block_size):
    for dtype in (np.float64, np.float32, np.complex128):
        for spread in (3, 40, 120):
            x = next(drawn(np.float32, 20_000, spread)).astype(dtype)
            got = gred.norm(x, method="exact", device=place, block_size=block_size)
            assert same(got, nearest_root(exact_products(x.real, x.real), got.dtype))


# ---- fast ----


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@both_methods
def test_integers_are_multiplied_in_64_bits(place, dtype, method):
    info = np.iinfo(dtype)
    for n in (1, 15, 16, 17, 4095, 4097, 40_001):
        random = np.random.default_rng(n)
        a, b = (random.integers(info.min, info.max, n, dtype, endpoint=True) for _ in "ab")
        got = gred.dot(there(a, place), there(b, place), method=method)
        assert got.dtype == (np.int64 if dtype.kind == "i" else np.uint64)
        assert (int(got) - int((a.astype(object) * b.astype(object)).sum())) % 2**64 == 0
        got = gred.dot(there(a, place)[n // 3 :], there(b, place)[n // 3 :], method=method)
        a, b = a[n // 3 :], b[n // 3 :]
        assert (int(got) - int((a.astype(object) * b.astype(object)).sum())) % 2**64 == 0


def test_truth_values_are_counted(place):
    a, b = (np.random.default_rng(k).random(10_001) < 0.5 for k in range(2))
    got = gred.dot(there(a, place), there(b, place))
    assert same(got.astype(float), np.float64((a & b).sum()))
    assert got.dtype == np.int64
    assert gred.dot(a, b.astype(np.int8), device=place) == (a & b).sum()
    any_byte = np.full(5, 7, np.uint8).view(bool)
    assert gred.dot(any_byte, any_byte, device=place) == 5


@typed
@pytest.mark.parametrize("n", [1, 15, 17, 4097, 70_001])
def test_fast_dot_products_are_as_good_as_trees(place, dtype, n):
    random = np.random.default_rng(n)
    a, b = (random.normal(size=n).astype(dtype) for _ in "ab")
    truth = exact_products(a, b)
    magnitudes = float(exact_products(np.abs(a), np.abs(b)))
    got = gred.dot(a, b, device=place)
    assert got.dtype == dtype
    error = abs(float(Fraction(float(got)) - truth))
    rounding = abs(float(got)) * float(np.finfo(dtype).eps if dtype != BFLOAT16 else 2.0**-8)
    assert error <= magnitudes * 2.0**-53 * (24 + math.log2(n)) + rounding


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_fast_complex_dot_products_are_numpys(place, dtype):
    random = np.random.default_rng(1)
    a, b = ((random.normal(size=9001) + 1j * random.normal(size=9001)).astype(dtype) for _ in "ab")
    got = gred.dot(there(a, place), there(b, place))
    assert got.dtype == dtype
    expected = np.dot(a.astype(complex), b.astype(complex))
    assert abs(got - expected) < 1e-10 + abs(expected) * np.finfo(dtype).eps


@both_methods
def test_no_order_of_threads_changes_a_bit(place, method):
    random = np.random.default_rng(2)
    a, b = (there(random.normal(size=100_003), place) for _ in "ab")
    made = set()
    for order, seed in (("forwards", 0), ("backwards", 0), ("shuffled", 1), ("shuffled", 2)):
        with gred.thread_order(order, **({"seed": seed} if order == "shuffled" else {})):
            made.add(float(gred.dot(a, b, method=method)))
    assert len(made) == 1


# ---- arguments ----


@both_methods
def test_any_layout_is_read(place, method):
    random = np.random.default_rng(2)
    a, b = (random.normal(size=20_001) for _ in "ab")
    views = (lambda x: x[::2], lambda x: x[::-1], lambda x: x[1::3], lambda x: x[5:-7])
    for view in views:
        x, y = view(a), view(b)[::-1]
        right = exact_products(x, y)

        def is_right(got, right=right):
            if method == "exact":
                return same(got, nearest(right, np.float64))
            return abs(got - float(right)) < 1e-9

        there_x, there_y = there(a, place, view), there(b, place, lambda x, v=view: v(x)[::-1])
        assert is_right(gred.dot(there_x, there_y, method=method))
        assert is_right(gred.dot(there_y, there_x, method=method))
        assert is_right(gred.dot(there(x.copy(), place), there_y, method=method))
        assert is_right(gred.dot(x, y, method=method, device=place))
        assert is_right(gred.dot(x.astype(">f8"), y, method=method, device=place))
    matrices = [np.arange(60.0).reshape(4, 15).T, np.arange(60.0).reshape(15, 4)]
    assert added(place, *matrices) == exact_products(*matrices)


@both_methods
def test_pieces_make_the_same_bits(place, method):
    a, b = drawn(np.float32, 60_000, 30)
    expected = nearest(exact_products(a, b), np.float32)

    def is_right(got):
        return same(got, expected) or (method == "auto" and abs(got / expected - 1) < 1e-4)

    with gred.workspace_limit(1):
        assert is_right(gred.dot(a, b, method=method, device=place))
        assert is_right(gred.dot(there(a, place), there(b, place), method=method))
        assert is_right(gred.dot(a[::-1], b[::-1], method=method, device=place))
        strided = there(np.repeat(a, 2), place, lambda x: x[::2])
        assert is_right(gred.dot(strided, there(b, place), method=method))
        both, turned = a + 1j * b, b - 2j * a
        real, imag = parts_of_dot(both, turned)
        got = gred.dot(there(both, place), there(turned, place), method="exact")
        assert same(got.real, nearest(real, np.float32))
        assert same(got.imag, nearest(imag, np.float32))
        out = element_there(np.float64, place)
        gred.norm(strided, method="exact", dtype=np.float64, out=out)
        assert same(fetched(out, place), nearest_root(exact_products(a, a), np.float64))


def test_arrays_larger_than_a_piece_are_brought_in_turn(place):
    n = (16 << 20) // 8 * 2 + 4321
    a, b = np.ones(n), np.full(n, 2.0**-30)
    a[-1] = 2.0**40
    assert gred.dot(a, b, method="exact", device=place) == (n - 1) * 2.0**-30 + 2.0**10


@pytest.mark.parametrize("a", [*REALS, *COMPLEX, *INTEGERS, np.dtype(bool)], ids=str)
def test_types_are_promoted_as_numpy_does(place, a):
    for b in (*REALS, *COMPLEX, *INTEGERS, np.dtype(bool)):
        x, y = np.array([1, 0, 1], a), np.array([1, 1, 1], b)
        for method in ("auto", "exact"):
            got = gred.dot(x, y, device=place, method=method)
            assert got == 2
            assert got.dtype == gred.dot(x, y).dtype


@both_methods
def test_the_dot_product_of_nothing_is_zero(place, method):
    for dtype in (np.float32, np.int8, np.complex64):
        x = np.ones(0, dtype)
        for a, b in ((there(x, place), there(x, place)), (there(x, place), x), (x, x)):
            got = gred.dot(a, b, method=method)
            assert got == 0
            assert got.dtype == (np.int64 if dtype is np.int8 else dtype)
    assert added(place, np.ones(0), np.ones(0)) == 0


@both_methods
def test_zeros_are_positive(place, method):
    for x, y in (([-0.0], [1.0]), ([-0.0] * 5000, [1.0] * 5000)):
        assert same(gred.dot(x, y, method=method, device=place), np.float64(0.0))
    tiny = gred.dot([2.0**-1074], [-(2.0**-1074)], method="exact", device=place)
    assert same(tiny, np.float64(-0.0))


def test_inputs_are_never_written(place):
    a, b = np.arange(5.0), np.arange(5.0)
    x, y = there(a, place), there(b, place)
    assert gred.dot(x, y) == gred.dot(x, y, method="exact") == 30
    for view in (x, y):
        whole = view.host() if place == "cuda" else view.get()
        assert np.array_equal(whole.ravel(), a)


def test_arrays_that_lie_apart_are_refused(place):
    x = np.ones(3)
    for a, b in ((there(x, place), x), (x, there(x, place))):
        with pytest.raises(ValueError, match=r"a lies on '.*' and b on '.*'; both have to lie on"):
            gred.dot(a, b)
        with pytest.raises(ValueError, match="both have to lie on one device"):
            gred.ExactSum().add_products(a, b)
    if place == "cuda":
        with pytest.raises(ValueError, match="both have to lie on one device"):
            gred.dot(there(x, place), SimulatedArray(x))
    with pytest.raises(ValueError, match="device 'host': a lies on"):
        gred.dot(there(x, place), there(x, place), device="host")


def test_other_devices_and_streams_are_refused(place):
    x = np.ones(3)
    with pytest.raises(ValueError, match="device must be"):
        gred.dot(x, x, device="gpu")
    with pytest.raises(TypeError, match="stream"):
        gred.dot(there(x, place), there(x, place), stream="new")
    with pytest.raises(ValueError, match="method of dot must be 'auto' or 'exact'"):
        gred.dot(there(x, place), there(x, place), method="last_block")


def test_the_host_can_be_asked_for(place):
    del place
    assert gred.dot([1.0, 2.0], [3.0, 4.0], device="host") == 11
    assert gred.dot([1.0, 2.0], [3.0, 4.0], device="host", method="exact") == 11
