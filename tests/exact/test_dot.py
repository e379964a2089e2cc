"""`gred.dot` and norms: NumPy's answers, types and refusals, and exact ones, on every device.

The truth of exact ones is fractions, rounded once. Threads of devices run in another order for
every test.
"""

import math
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
    same,
)
from exactly import EVERY, INTEGERS, WIDE, added, both_methods, drawn, norm, quiet, root, typed
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import BFLOAT16, COMPLEX, EXPONENTS, MANTISSA_BITS
from samples import element_there, fetched, there

import gred
from gred.testing import SimulatedArray

pytestmark = pytest.mark.usefixtures("shuffled")


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@both_methods
def test_integers_are_multiplied_in_64_bits(device, dtype, how):
    info = np.iinfo(dtype)
    for n in (1, 15, 16, 17, 4095, 4097, 70_001 if device == "host" else 40_001):
        random = np.random.default_rng(n)
        a, b = (random.integers(info.min, info.max, n, dtype, endpoint=True) for _ in "ab")
        for part in (slice(None), slice(n // 3, None)):
            got = gred.dot(there(a, device)[part], there(b, device)[part], method=how)
            assert got.dtype == (np.int64 if dtype.kind == "i" else np.uint64)
            right = (a[part].astype(object) * b[part].astype(object)).sum()
            assert (int(got) - int(right)) % 2**64 == 0


def test_truth_values_are_counted(device):
    a, b = (np.random.default_rng(k).random(10_001) < 0.5 for k in range(2))
    got = gred.dot(there(a, device), there(b, device))
    assert (got, got.dtype) == ((a & b).sum(), np.int64)
    assert gred.dot(a, b.astype(np.int8), device=device) == (a & b).sum()
    any_byte = np.full(5, 7, np.uint8).view(bool)
    assert gred.dot(any_byte, any_byte, device=device) == 5


def pair(n, seed, dtype=np.float64):
    """Draw two vectors of normal numbers."""
    random = np.random.default_rng(seed)
    parts = [random.normal(size=n) for _ in range(4)]
    if np.dtype(dtype) in COMPLEX:
        return (parts[0] + 1j * parts[1]).astype(dtype), (parts[2] + 1j * parts[3]).astype(dtype)
    return parts[0].astype(dtype), parts[1].astype(dtype)


@typed
@pytest.mark.parametrize("n", [1, 15, 17, 4097, 70_001])
def test_fast_dot_products_are_as_good_as_trees(device, dtype, n):
    a, b = pair(n, n, dtype)
    magnitudes = float(exact_products(np.abs(a), np.abs(b)))
    got = gred.dot(a, b, device=device)
    assert got.dtype == dtype
    error = abs(float(Fraction(float(got)) - exact_products(a, b)))
    rounding = abs(float(got)) * float(np.finfo(dtype).eps if dtype != BFLOAT16 else 2.0**-8)
    additions = (12 if device == "host" else 24) + math.log2(n)
    assert error <= magnitudes * 2.0**-53 * additions + rounding


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_fast_complex_dot_products_are_numpys(device, dtype):
    a, b = pair(9001, 1, dtype)
    got = gred.dot(there(a, device), there(b, device))
    assert got.dtype == dtype
    expected = np.dot(a.astype(complex), b.astype(complex))
    assert abs(got - expected) < 1e-10 + abs(expected) * np.finfo(dtype).eps


@quiet
@settings(deadline=None)
@given(any_floats(WIDE), any_floats(WIDE))
def test_what_is_not_finite_is_as_numpy_has_it(a, b):
    a, b = a[: len(b)], b[: len(a)]
    if not np.isfinite(a * b).all():
        expected = (a * b).sum()
        assert same(gred.dot(a, b), expected) or not np.isfinite(gred.dot(a, b))
        assert math.isnan(gred.dot(a, b)) or not math.isnan(expected)


def test_arrays_larger_than_a_piece_are_brought_in_turn(device):
    n = (16 << 20) // 8 * 2 + 4321
    a, b = np.ones(n), np.full(n, 2.0**-30)
    a[-1] = 2.0**40
    assert gred.dot(a, b, method="exact", device=device) == (n - 1) * 2.0**-30 + 2.0**10


@both_methods
@pytest.mark.parametrize("a", EVERY, ids=str)
def test_types_are_promoted_as_numpy_does(device, a, how):
    for b in EVERY:
        got = gred.dot(np.array([1, 0, 1], a), np.ones(3, b), device=device, method=how)
        assert got == 2
        assert got.dtype == gred.dot(np.ones(3, a), np.ones(3, b)).dtype
        if BFLOAT16 not in (a, b):
            expected = np.result_type(a, b)
            wide = {"b": np.int64, "i": np.int64, "u": np.uint64}
            assert got.dtype == wide.get(expected.kind, expected)


@both_methods
def test_the_dot_product_of_nothing_is_zero_and_zeros_are_positive(device, how):
    for dtype in (np.float32, np.int8, np.complex64):
        x = np.ones(0, dtype)
        for a, b in ((there(x, device), there(x, device)), (there(x, device), x), (x, x)):
            got = gred.dot(a, b, method=how)
            assert (got, got.dtype) == (0, np.int64 if dtype is np.int8 else dtype)
    assert added(device, np.ones(0), np.ones(0)) == 0
    for n in (1, 5000):
        got = gred.dot([-0.0] * n, [1.0] * n, method=how, device=device)
        assert same(got, np.float64(0.0))
    tiny = gred.dot([2.0**-1074], [-(2.0**-1074)], method="exact", device=device)
    assert same(tiny, np.float64(-0.0))


def test_arrays_that_lie_apart_are_refused(device):
    if device == "host":
        pytest.skip("arrays of the host go to any device")
    x = np.ones(3)
    for a, b in ((there(x, device), x), (x, there(x, device))):
        with pytest.raises(ValueError, match=r"a lies on '.*' and b on '.*'; both have to lie on"):
            gred.dot(a, b)
        with pytest.raises(ValueError, match="both have to lie on one device"):
            gred.ExactSum().add_products(a, b)
    if device == "cuda":
        with pytest.raises(ValueError, match="both have to lie on one device"):
            gred.dot(there(x, device), SimulatedArray(x))
    with pytest.raises(ValueError, match="device 'host': a lies on"):
        gred.dot(there(x, device), there(x, device), device="host")


X = np.ones(3)
OF_ANOTHER_LENGTH = r"vectors of one length; got shapes \(.*\) and \("
REFUSED = [
    (([1.0], [1.0, 2.0]), {}, ValueError, OF_ANOTHER_LENGTH),
    ((np.ones((2, 2)), np.ones((2, 2))), {}, ValueError, OF_ANOTHER_LENGTH),
    ((1.0, 2.0), {}, ValueError, OF_ANOTHER_LENGTH),
    (([1], 1), {}, ValueError, OF_ANOTHER_LENGTH),
    ((X, X), {"method": "unroll8"}, ValueError, "'auto' or 'exact'; got 'unroll8'"),
    ((X, X), {"method": "last_block"}, ValueError, "method of dot must be 'auto' or 'exact'"),
    ((X, np.array(["a"] * 3)), {}, TypeError, "b: element type"),
    ((X, X), {"out": X}, TypeError, "out of dot can be ... alone"),
    ((X, X), {"keepdims": True}, TypeError, "no keyword argument 'keepdims'"),
    ((X,), {}, TypeError, "takes 2"),
    ((X, X), {"stream": "new"}, TypeError, "stream"),
]


@pytest.mark.parametrize(("vectors", "options", "error", "words"), REFUSED)
def test_what_is_wrong_is_named(device, vectors, options, error, words):
    plain = all(type(x) is np.ndarray and x.dtype == float for x in vectors)
    placed = [there(x, device) for x in vectors] if plain else vectors
    with pytest.raises(error, match=words):
        gred.dot(*placed, **({} if plain else {"device": device}) | options)


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
