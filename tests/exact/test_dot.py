"""`gred.dot`: NumPy's answers, types and refusals, on the host and on devices.

Threads of devices run in another order for every test.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from drawn import misaligned
from exact_truths import any_floats, exact_parts, exact_products, nearest, same
from exactly import EVERY, INTEGERS, WIDE, added, both_methods, drawn, norm, quiet, root, typed
from hypothesis import given, settings
from reference import BFLOAT16, COMPLEX
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


def test_no_number_of_threads_changes_a_bit(threads_as_before):
    a, b = pair(1_000_003, 2)
    apart, made = np.repeat(b, 2)[::2], set()  # which each thread brings together
    for threads in (1, 2, 3, 16):
        gred.threads(threads)
        made |= {float(gred.dot(a, x)) for x in (b, *[apart] * 10)}
    assert len(made) == 1


@both_methods
def test_no_order_of_threads_changes_a_bit(device, how):
    a, b = (there(x, device) for x in pair(100_003, 2))
    made = set()
    for order in (("forwards",), ("backwards",), ("shuffled", 1), ("shuffled", 2)):
        with gred.thread_order(*order):
            made.add(float(gred.dot(a, b, method=how)))
    assert len(made) == 1


@quiet
@settings(deadline=None)
@given(any_floats(WIDE), any_floats(WIDE))
def test_what_is_not_finite_is_as_numpy_has_it(a, b):
    a, b = a[: len(b)], b[: len(a)]
    if not np.isfinite(a * b).all():
        expected = (a * b).sum()
        assert same(gred.dot(a, b), expected) or not np.isfinite(gred.dot(a, b))
        assert math.isnan(gred.dot(a, b)) or not math.isnan(expected)


def is_near(got, right, how, error=1e-9):
    """Tell whether a product is right: to the last bit, if it is to be exact."""
    return (
        same(got, nearest(right, got.dtype)) if how == "exact" else abs(got - float(right)) < error
    )


@both_methods
def test_any_layout_is_read(device, how):
    a, b = pair(20_001, 2)
    for view in (lambda x: x[::2], lambda x: x[::-1], lambda x: x[1::3], lambda x: x[5:-7]):
        x, y = view(a), view(b)[::-1]
        there_x, there_y = there(a, device, view), there(b, device, lambda x, v=view: v(x)[::-1])
        pairs = [(there_x, there_y), (there_y, there_x), (there(x.copy(), device), there_y)]
        for one, other in (*pairs, (x, y), (x.astype(">f8"), y)):
            lies = {"device": device} if isinstance(one, np.ndarray) else {}
            got = gred.dot(one, other, method=how, **lies)
            assert is_near(got, exact_products(x, y), how)
    matrices = [np.arange(60.0).reshape(4, 15).T, np.arange(60.0).reshape(15, 4)]
    assert added(device, *matrices) == exact_products(*matrices)


@both_methods
def test_any_layout_makes_the_same_bits_on_the_host(how):
    a, b = pair(20_001, 2)
    expected = gred.dot(a, b, method=how)
    twice = np.repeat(a, 2)[::2]
    for x in (twice, a.astype(">f8"), a.tolist(), memoryview(a), misaligned(a)):
        assert same(gred.dot(x, b, method=how), expected)
        assert same(gred.dot(b, x, method=how), expected)
    assert gred.dot(np.broadcast_to(2.0, 7), np.arange(7.0), method=how) == 42


@both_methods
def test_pieces_make_the_same_bits(device, how):
    a, b = drawn(np.float32, 24_000, 30)
    right = exact_products(a, b)
    strided = there(np.repeat(a, 2), device, lambda x: x[::2])
    arrays = [(a, b), (there(a, device), there(b, device)), (a[::-1], b[::-1])]
    with gred.workspace_limit(1):
        for x, y in (*arrays, (strided, there(b, device))):
            lies = {"device": device} if isinstance(x, np.ndarray) else {}
            assert is_near(gred.dot(x, y, method=how, **lies), right, how, 1e-4 * abs(right))
        both, other = a + 1j * b, b - 2j * a
        real, imag = exact_parts(both, other)
        got = gred.dot(there(both, device), there(other, device), method="exact")
        assert same(got.real, nearest(real, np.float32))
        assert same(got.imag, nearest(imag, np.float32))
        out = element_there(np.float64, device)
        norm(strided, dtype=np.float64, out=out)
        assert same(fetched(out, device), root(a))


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


@both_methods
def test_inputs_are_never_written(device, how):
    a = np.arange(5.0)
    a.flags.writeable = False
    x, y = there(a, device), there(a, device)
    assert gred.dot(x, y, method=how) == 30
    for view in (x, y):
        whole = view.host() if device == "cuda" else view if device == "host" else view.get()
        assert np.array_equal(whole.ravel(), np.arange(5.0))


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
    ((X, X), {"method": "exacd"}, ValueError, "method 'exacd' does not exist"),
    ((X, np.array(["a"] * 3)), {}, TypeError, "b: element type"),
    ((np.ma.masked_array(X, [True, False, False]), X), {}, TypeError, "masked"),
    ((X, X), {"out": X}, TypeError, "out of dot can be ... alone"),
    ((X, X), {"keepdims": True}, TypeError, "no keyword argument 'keepdims'"),
    ((X,), {}, TypeError, "takes 2"),
    ((X, X), {"device": "gpu"}, ValueError, "device must be"),
    ((X, X), {"stream": "new"}, TypeError, "stream"),
]


@pytest.mark.parametrize(("vectors", "options", "error", "words"), REFUSED)
def test_what_is_wrong_is_named(device, vectors, options, error, words):
    plain = all(type(x) is np.ndarray and x.dtype == float for x in vectors)
    placed = [there(x, device) for x in vectors] if plain else vectors
    with pytest.raises(error, match=words):
        gred.dot(*placed, **({} if plain else {"device": device}) | options)
