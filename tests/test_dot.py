"""`gred.dot`, and norms by `method="exact"`: against NumPy, and against fractions bit for bit."""

import math
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from exact_truths import (
    any_floats,
    bits_of,
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
from reference import BFLOAT16, COMPLEX, EXPONENTS, MANTISSA_BITS, REALS
from test_host_loops import check_instructions

import gred

PROGRAM = Path(__file__).parent / "dot_loops.py"
FLOAT64 = np.dtype(np.float64)
INTEGERS = [np.dtype(kind + str(size)) for kind in "iu" for size in (1, 2, 4, 8)]
typed = pytest.mark.parametrize("dtype", REALS, ids=str)


def quiet():
    return np.errstate(all="ignore")


def of_one_length(a, b):
    return a[: len(b)], b[: len(a)]


# ---- exact ----


@typed
@settings(deadline=None)
@given(data=st.data())
def test_an_exact_dot_product_is_the_nearest_float(dtype, data):
    a, b = of_one_length(data.draw(any_floats(dtype)), data.draw(any_floats(dtype)))
    with quiet():
        assert same(gred.dot(a, b, method="exact"), dot(a, b, dtype))


@typed
@settings(deadline=None)
@given(data=st.data())
def test_an_exact_norm_is_the_nearest_float(dtype, data):
    x = data.draw(finite_floats(dtype))
    assert same(gred.norm(x, method="exact"), nearest_root(exact_products(x, x), dtype))


def test_loops_of_all_instructions_are_exact_and_make_the_same_bits():
    """With any number of threads, around every length, in windows and beside them."""
    check_instructions(PROGRAM)


@pytest.mark.parametrize("n", [1, 2, 100, 5000, 30_001])
@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_complex_numbers_have_two_exact_sums(dtype, n):
    random = np.random.default_rng(n)
    a, b = ((random.normal(size=n) + 2.0**-20j * random.normal(size=n)).astype(dtype) for _ in "ab")
    real = exact_products(a.real, b.real) - exact_products(a.imag, b.imag)
    imag = exact_products(a.real, b.imag) + exact_products(a.imag, b.real)
    got = gred.dot(a, b, method="exact")
    assert got.dtype == dtype
    assert same(got.real, nearest(real, a.real.dtype))
    assert same(got.imag, nearest(imag, a.real.dtype))
    squares = exact_products(a.real, a.real) + exact_products(a.imag, a.imag)
    assert same(gred.norm(a, method="exact"), nearest_root(squares, a.real.dtype))


def test_infinite_parts_are_added_with_their_signs():
    with quiet():
        upwards, downwards = complex(0, math.inf), complex(0, -math.inf)
        for a, b in (([upwards], [1j]), ([math.inf], [1.0 + 0j]), ([1j], [downwards])):
            a, b = np.array(a, complex), np.array(b, complex)
            real = a.real * b.real - a.imag * b.imag
            assert same(gred.dot(a, b, method="exact").real, real[0])
            assert same(gred.dot(a, b).real, real[0])


def test_products_too_large_and_too_small_for_floats_are_right():
    a = np.array([1e200, 1.0, -1e200, 1e-200, 3e-320])
    b = np.array([1e200, 3.0, 1e200, 1e-200, 1e-5])
    got = gred.ExactSum()
    got.add_products(np.tile(a, 1000), np.tile(b, 1000))
    assert got.fraction() == 1000 * exact_products(a, b)
    assert gred.dot(a, b, method="exact") == 3.0
    greatest = sys.float_info.max
    assert gred.dot([greatest, greatest], [2.0, -1.0], method="exact") == greatest
    assert gred.dot([greatest, greatest], [2.0, 1.0], method="exact") == math.inf


@pytest.mark.parametrize("place", [0, 4095, 4096, 70_000])
@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        (2.0**-600, 2.0**-474 + 2.0**-526, None),
        (math.inf, 1.0, math.inf),
        (math.inf, 0.0, math.nan),
        (math.nan, 0.0, math.nan),
        (1e300, -1e300, None),
        (2.0**1000, 2.0**-900, None),
    ],
)
def test_one_odd_product_is_right_anywhere(x, y, expected, place):
    """Too small, too large, or no number: beside ones that lie within windows."""
    a, b = np.full(70_001, 1.5), np.full(70_001, 0.5)
    a[place], b[place] = x, y
    got = gred.ExactSum()
    got.add_products(a, b)
    if expected is None:
        assert got.fraction() == 70_000 * Fraction(3, 4) + Fraction(x) * Fraction(y)
    else:
        assert same(got.value(), np.float64(expected))


def test_any_order_makes_the_same_exact_bits():
    random = np.random.default_rng(3)
    a, b = random.lognormal(0, 20, 50_000), random.normal(size=50_000)
    sums = set()
    for _ in range(8):
        order = random.permutation(len(a))
        sums.add(float(gred.dot(a[order], b[order], method="exact")))
    assert sums == {float(nearest(exact_products(a, b), FLOAT64))}


def test_types_that_mix_are_multiplied_as_they_are():
    a = np.array([2**63 - 1, -(2**62) - 1, 3])
    b = np.array([1.0, 2.0, 2.0**-70])
    assert same(gred.dot(a, b, method="exact"), nearest(exact_products(a, b), FLOAT64))
    small = np.arange(-100, 100, dtype=np.int16)
    half = np.linspace(-1, 1, 200).astype(np.float16)
    expected = nearest(exact_products(small, half), np.float32)
    assert same(gred.dot(small, half, method="exact"), expected)
    assert gred.dot(np.ones(3, BFLOAT16), np.ones(3, np.float16)).dtype == np.float32


@pytest.mark.parametrize("exponent", [-1074, -1060, -1022, -600, -500, -1, 0, 1, 500, 1000])
def test_roots_of_squares_at_all_magnitudes_are_right(exponent):
    random = np.random.default_rng(exponent + 2000)
    for n in (1, 2, 3, 10):
        for _ in range(50):
            significands = random.integers(1, 2 ** random.integers(1, min(54, 1024 - exponent)), n)
            x = np.ldexp(significands.astype(float), exponent)
            expected = nearest_root(exact_products(x, x), FLOAT64)
            assert same(gred.norm(x, method="exact"), expected)


def test_exact_norms_take_what_other_norms_take():
    x = mixed(4000)[:3000].reshape(30, 100)
    chosen = np.random.default_rng(1).random(x.shape) < 0.5
    assert same(
        gred.norm(x[::2, ::-3], method="exact"),
        nearest_root(exact_products(x[::2, ::-3], x[::2, ::-3]), FLOAT64),
    )
    assert same(
        gred.norm(x, where=chosen, method="exact"),
        nearest_root(exact_products(x[chosen], x[chosen]), FLOAT64),
    )
    ints = np.array([2**62 + 1, -3, 2**63 - 1])
    assert same(gred.norm(ints, method="exact"), nearest_root(exact_products(ints, ints), FLOAT64))
    out = np.zeros((), np.float32)
    gred.norm([3.0, 4.0], out=out, method="exact")
    assert out == 5
    assert same(gred.norm([], method="exact"), np.float64(0.0))
    assert same(gred.norm([-0.0, 0.0], method="exact"), np.float64(0.0))
    assert gred.norm([1.0, -math.inf], method="exact") == math.inf
    assert math.isnan(gred.norm([math.nan, math.inf], method="exact"))
    with pytest.raises(ValueError, match="norm of order 2; not for"):
        gred.norm(x, 1, method="exact")


@pytest.mark.parametrize("dtype", [*REALS, *COMPLEX], ids=str)
def test_exact_norms_along_an_axis_are_those_of_its_rows(dtype):
    x = mixed(1000)[:600].reshape(4, 30, 5) * 2.0**-60
    x = np.clip(x, -100, 100) if dtype.itemsize == 2 else np.clip(x, -1e9, 1e9)
    x = (x + 1j * x[::-1] if dtype in COMPLEX else x).astype(dtype)
    for axis in range(3):
        got = gred.norm(x, axis=axis, method="exact")
        rows = np.moveaxis(x, axis, -1)
        for index in np.ndindex(got.shape):
            row = rows[index]
            parts = (row.real, row.imag) if dtype in COMPLEX else (row,)
            square = sum(exact_products(part, part) for part in parts)
            assert same(got[index], nearest_root(square, got.dtype))


@typed
def test_a_far_off_bit_decides_a_norms_tie(dtype):
    """5 k is half way between two floats, and 3 k and 4 k are floats."""
    limit = 2 ** MANTISSA_BITS[dtype]
    for k in range(limit // 5 + 1 | 1, limit // 4, max(2, limit // 512 & ~1)):
        ends = np.array([3 * k, 4 * k]).astype(dtype)
        assert [int(x) for x in ends] == [3 * k, 4 * k]
        tie = [*ends, dtype.type(0)]
        above = [[*ends, dtype.type(x)] for x in (2.0 ** -EXPONENTS[dtype], 2.0**-11)]
        even = 5 * k + 1 if (5 * k + 1) % 4 == 0 else 5 * k - 1
        assert gred.norm(np.array(tie, dtype), method="exact") == even
        for x in above:
            assert gred.norm(np.array(x, dtype), method="exact") == 5 * k + 1


# ---- fast ----


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("n", [1, 15, 16, 17, 4095, 4097, 70_001])
def test_integers_are_multiplied_in_64_bits(dtype, n):
    info, random = np.iinfo(dtype), np.random.default_rng(n)
    a, b = (random.integers(info.min, info.max, n, dtype, endpoint=True) for _ in "ab")
    wide = np.int64 if dtype.kind == "i" else np.uint64
    for method in ("auto", "exact"):
        got = gred.dot(a, b, method=method)
        assert got.dtype == wide
        assert (int(got) - int((a.astype(object) * b.astype(object)).sum())) % 2**64 == 0


def test_truth_values_are_counted():
    a, b = (np.random.default_rng(k).random(10_001) < 0.5 for k in range(2))
    assert gred.dot(a, b) == (a & b).sum()
    assert gred.dot(a, b).dtype == np.int64
    assert gred.dot(a, b.astype(np.int8)) == (a & b).sum()
    any_byte = np.full(5, 7, np.uint8).view(bool)
    assert gred.dot(any_byte, any_byte) == 5


@typed
@pytest.mark.parametrize("n", [1, 15, 17, 4097, 70_001])
def test_fast_dot_products_are_as_good_as_trees(dtype, n):
    random = np.random.default_rng(n)
    a, b = (random.normal(size=n).astype(dtype) for _ in "ab")
    truth = exact_products(a, b)
    magnitudes = float(exact_products(np.abs(a), np.abs(b)))
    got = gred.dot(a, b)
    assert got.dtype == dtype
    error = abs(float(Fraction(float(got)) - truth))
    rounding = abs(float(got)) * float(np.finfo(dtype).eps if dtype != BFLOAT16 else 2.0**-8)
    assert error <= magnitudes * 2.0**-53 * (12 + math.log2(n)) + rounding


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_fast_complex_dot_products_are_numpys(dtype):
    random = np.random.default_rng(1)
    a, b = ((random.normal(size=9001) + 1j * random.normal(size=9001)).astype(dtype) for _ in "ab")
    got = gred.dot(a, b)
    assert got.dtype == dtype
    expected = np.dot(a.astype(complex), b.astype(complex))
    assert abs(got - expected) < 1e-10 + abs(expected) * np.finfo(dtype).eps


def test_no_number_of_threads_changes_a_bit():
    random = np.random.default_rng(2)
    a, b = (random.normal(size=1_000_003) for _ in "ab")
    apart = np.repeat(b, 2)[::2]  # which each thread brings together
    before = gred.threads()
    try:
        made = set()
        for threads in (1, 2, 3, 16):
            gred.threads(threads)
            made |= {float(gred.dot(a, x)) for x in (b, *[apart] * 10)}
    finally:
        gred.threads(before)
    assert len(made) == 1


def test_any_layout_makes_the_same_bits():
    random = np.random.default_rng(2)
    a, b = (random.normal(size=20_001) for _ in "ab")
    twice = np.repeat(a, 2)[::2]
    for method in ("auto", "exact"):
        expected = gred.dot(a, b, method=method)
        for x in (twice, a[::-1][::-1], a.astype(">f8"), a.tolist(), memoryview(a)):
            assert same(gred.dot(x, b, method=method), expected)
            assert same(gred.dot(b, x, method=method), expected)
    shifted = np.zeros(8 * len(a) + 1, np.uint8)[1:].view(np.float64)
    shifted[:] = a
    assert same(gred.dot(shifted, b), gred.dot(a, b))
    assert same(gred.dot(a[::-1], b[::-1], method="exact"), gred.dot(a, b, method="exact"))
    assert gred.dot(np.broadcast_to(2.0, 7), np.arange(7.0)) == 42


@pytest.mark.parametrize("a", [*REALS, *COMPLEX, *INTEGERS, np.dtype(bool)], ids=str)
@pytest.mark.parametrize("b", [*REALS, *COMPLEX, *INTEGERS, np.dtype(bool)], ids=str)
def test_types_are_promoted_as_numpy_does(a, b):
    x, y = np.array([1, 0, 1], a), np.array([1, 1, 1], b)
    got = gred.dot(x, y)
    assert got == 2
    if BFLOAT16 not in (a, b):
        expected = np.result_type(a, b)
        if expected.kind in "bi":
            expected = np.dtype(np.int64)
        assert got.dtype == (np.dtype(np.uint64) if expected.kind == "u" else expected)


@settings(deadline=None)
@given(any_floats(FLOAT64), any_floats(FLOAT64))
def test_what_is_not_finite_is_as_numpy_has_it(a, b):
    a, b = of_one_length(a, b)
    with quiet():
        if not np.isfinite(a * b).all():
            expected = (a * b).sum()
            assert same(gred.dot(a, b), expected) or not np.isfinite(gred.dot(a, b))
            assert math.isnan(gred.dot(a, b)) or not math.isnan(expected)


def test_the_dot_product_of_nothing_is_zero():
    for dtype in (np.float32, np.int8, np.complex64):
        for method in ("auto", "exact"):
            got = gred.dot(np.ones(0, dtype), np.ones(0, dtype), method=method)
            assert got == 0
            assert got.dtype == (np.int64 if dtype is np.int8 else dtype)


def test_zeros_are_positive():
    for method in ("auto", "exact"):
        assert bits_of([gred.dot([-0.0], [1.0], method=method)]) == bits_of([0.0])
    assert same(gred.dot([2.0**-1074], [-(2.0**-1074)], method="exact"), np.float64(-0.0))


# ---- what is refused ----


def test_anything_but_two_vectors_of_one_length_is_refused():
    for a, b in (([1.0], [1.0, 2.0]), (np.ones((2, 2)), np.ones((2, 2))), (1.0, 2.0), ([1], 1)):
        with pytest.raises(ValueError, match=r"vectors of one length; got shapes \(.*\) and \("):
            gred.dot(a, b)


def test_other_methods_types_and_arguments_are_refused():
    x = np.ones(3)
    with pytest.raises(ValueError, match="'auto' or 'exact'; got 'unroll8'"):
        gred.dot(x, x, method="unroll8")
    with pytest.raises(ValueError, match="method 'exacd' does not exist"):
        gred.dot(x, x, method="exacd")
    with pytest.raises(TypeError, match="b: element type"):
        gred.dot(x, np.array(["a"] * 3))
    with pytest.raises(TypeError, match="masked"):
        gred.dot(np.ma.masked_array(x, [True, False, False]), x)
    with pytest.raises(TypeError, match="no keyword argument 'axis'"):
        gred.dot(x, x, axis=0)
    with pytest.raises(TypeError, match="takes 2"):
        gred.dot(x)


def test_inputs_are_never_written():
    a, b = np.arange(5.0), np.arange(5.0)
    for x in (a, b):
        x.flags.writeable = False
    assert gred.dot(a, b) == gred.dot(a, b, method="exact") == 30
