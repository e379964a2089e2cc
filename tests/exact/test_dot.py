"""`gred.dot` and `gred.vecdot`: NumPy's results, types and errors, or exact results."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from devices import everywhere, laid_out, to_host
from drawn import examples
from exact_truths import any_floats, dot, same
from exactly import EVERY, both_methods, quiet, typed
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import BFLOAT16, COMPLEX, INTEGERS, MANTISSA_BITS, PARTS
from refusals import refused_by

import gred
from gred import _core
from gred.statistics import products
from gred.testing import SimulatedArray

pytestmark = pytest.mark.usefixtures("shuffled")

# Shapes and an axis: vectors; rows and columns, short and long, few and many, broadcast, empty.
CASES = [((n,), (n,), -1) for n in (0, 1, 9, 15, 16, 17, 4095, 4097, 30_001, 70_001)]
ALONG = [((5, 3), (5, 3), 1), ((300, 3), (3,), -1), ((7, 64), (7, 64), 1), ((6, 9001), (9001,), -1)]
ALONG += [((9001, 11), (9001, 11), 0), ((70, 300), (70, 300), 0), ((300, 7), (300,), 0)]
ALONG += [((4, 1, 40), (3, 40), -1), ((40,), (5, 4, 40), -1), ((2, 30, 1, 9), (30, 8, 1), -3)]
ALONG += [((3, 0), (3, 0), 1), ((0, 3), (3,), -1)]
CASES += ALONG


def drawn(dtype, shape, seed, exponents=0):
    """Draw integers of the full range, or numbers around 0 whose exponents have this spread."""
    random, dtype = np.random.default_rng(seed), np.dtype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return random.integers(info.min, info.max, shape, dtype, endpoint=True)
    if dtype.kind == "b":
        return random.random(shape) < 0.5
    x = random.normal(size=shape) + (1j * random.normal(size=shape) if dtype.kind == "c" else 0)
    return (x * np.exp2(random.integers(-exponents, exponents + 1, shape))).astype(dtype)


def vectors(a, b, axis):
    """Move the vectors' axis last, as NumPy does, and broadcast them to all results."""
    a, b = np.moveaxis(a, axis, -1), np.moveaxis(b, axis, -1)
    shape = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    return [np.broadcast_to(x, (*shape, x.shape[-1])) for x in (a, b)]


def right(a, b, axis, dtype):
    """Compute every result, without conjugating the first factor."""
    a, b = vectors(a, b, axis)
    found = np.empty(a.shape[:-1], dtype)
    for at in np.ndindex(found.shape):
        found[at] = dot(a[at], b[at], dtype)
    return found


def multiplied(a, b, axis, device, **options):
    """Multiply two vectors in device memory, or arrays that are copied to the device."""
    if a.ndim == b.ndim == 1:
        return gred.dot(laid_out(a, device), laid_out(b, device), **options)
    return gred.vecdot(a.conj() if a.dtype in COMPLEX else a, b, axis, device=device, **options)


def bound(a, b, axis, want):
    """Bound the errors of a float64 sum, of a tree or in sequence, and of its final rounding."""
    magnitudes = [np.abs(x.astype("c16")) for x in vectors(a, b, axis)]
    additions = 24 + math.log2(a.size + 1) if a.ndim == b.ndim == 1 else 300
    dtype = PARTS.get(want.dtype, want.dtype)
    unit = 2.0 ** -MANTISSA_BITS[dtype]
    return 2 * (np.abs(want.astype("c16")) * unit + np.vecdot(*magnitudes) * additions * 2.0**-53)


@pytest.mark.parametrize(("of_a", "of_b", "axis"), CASES, ids=str)
@pytest.mark.parametrize("dtype", EVERY, ids=str)
def test_elements_are_multiplied_and_added_along_any_axis(device, of_a, of_b, axis, dtype):
    """Integers wrap in 64 bits, floats are added in float64 or exactly; vecdot conjugates."""
    a, b = drawn(dtype, of_a, 1), drawn(dtype, of_b, 2, 0 if dtype == "f2" else 6)
    if a.ndim == b.ndim == 1:  # each aligned to 16 bytes or not
        a, b = (np.pad(x, (first, 0))[first:] for x, first in ((a, a.size % 3), (b, a.size % 5)))
    wide = {"u": np.uint64, "i": np.int64, "b": np.int64}.get(dtype.kind, dtype)
    want = right(a, b, axis, wide)
    assert same(multiplied(a, b, axis, device, method="exact"), want)
    assert same(gred.dot(a, b, axis=axis, method="exact", device=device), want)
    got = multiplied(a, b, axis, device)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    if dtype in INTEGERS:
        assert same(got, want)
    else:
        assert (np.abs(got.astype("c16") - want.astype("c16")) <= bound(a, b, axis, want)).all()


@quiet
@typed
@settings(deadline=None, max_examples=examples(60))
@given(data=st.data())
def test_any_floats_are_multiplied_exactly(device, dtype, data):
    """As vectors, rows and columns; sums in float64 keep every infinity and NaN."""
    a, b = data.draw(any_floats(dtype)), data.draw(any_floats(dtype))
    a, b = a[: len(b)], b[: len(a)]
    want = dot(a, b, dtype)
    assert same(gred.dot(a, b, method="exact", device=device), want)
    if device != "host":
        return
    rows, columns = (np.stack([a] * 20), b, -1), (np.stack([a] * 20, -1), b, 0)
    for x, y, axis in (rows, columns):
        assert same(gred.vecdot(x, y, axis, method="exact"), np.repeat(want, 20))
    products = a.astype("f8") * b.astype("f8")
    special = products[~np.isfinite(products)]
    if dtype != "f8" or special.size:  # else partial sums may overflow in some orders only
        made = [gred.vecdot(x, y, axis, dtype="f8") for x, y, axis in (rows, columns)]
        for got in (*made, gred.dot(a.astype("f8"), b.astype("f8"))):
            assert np.isfinite(got).all() == (special.size == 0)
            assert np.isnan(got).all() or not np.isnan(special.sum())


TINY, MOST, INF = 2.0**-1074, np.finfo("f8").max, math.inf
ROWS = [
    ([1e200, 1e200, 0], [1e200, -1e200, 5], 0.0),
    ([1e200, 1.0, -1e200], [1e200, 3.0, 1e200], 3.0),
    ([TINY, 2.0**-600, 0], [0.5, 2.0**-475, 0], TINY),  # halves, and ties to even
    ([TINY, 0, 0], [0.5, 0, 0], 0.0),
    ([2.0**-600, 2.0**-1074, 0], [2.0**-600, 2.0**100, 0], 2.0**-974),
    ([2.0**53, 1, 0], [1, 1, 0], 2.0**53),  # a tie
    ([2.0**53, 1, TINY], [1, 1, TINY], 2.0**53 + 2),  # and slightly more
    ([MOST, MOST, -MOST], [1, 1, 1], MOST),
    ([MOST, MOST, 0], [1, 1, 0], INF),
    ([INF, 1, 0], [0, 1, 0], math.nan),
    ([INF, INF, 0], [1, -1, 0], math.nan),
    ([-0.0, -0.0, 0], [1, 1, -0.0], 0.0),
]
# Bits that rounding loses decide on which side of a tie the sum is.
LOST = [
    ("f8", [2.0**60, 2.0**-10, 2.0**-70, -(2.0**-10), -(2.0**60), 1, 2.0**-53, -(2.0**-90)]),
    ("f4", [2.0**80, 2.0**20, 2.0**-40, -(2.0**20), -(2.0**80), 1, 2.0**-24, -(2.0**-45)]),
]
LOST += [
    (dtype, [1, half, sign * 2.0**-far])
    for dtype, half in (("f4", 2.0**-24), ("f2", 2.0**-11), (BFLOAT16, 2.0**-8))
    for far, sign in itertools.product((30, 60, 90, 2000), (1, -1))
]


@quiet
@pytest.mark.parametrize("place", ["host", "simulated"])
def test_neither_overflow_nor_underflow_nor_cancellation_matters(place):
    a, b, want = (np.array(column, "f8") for column in zip(*ROWS, strict=True))
    got = gred.vecdot(a, b, method="exact", device=place)
    assert same(got + 0.0, want)
    assert not np.signbit(got[want == 0]).any()
    wide = gred.vecdot(np.tile(a, 20), np.tile(b, 20) * ([1] * 3 + [0] * 57), method="exact")
    finite = np.isfinite(a).all(-1)
    assert same(wide[finite] + 0.0, want[finite])
    for dtype, numbers in LOST:
        got = gred.vecdot([numbers] * 2, np.ones(len(numbers)), dtype=dtype, method="exact")
        assert same(got, np.repeat(dot(numbers, np.ones(len(numbers)), dtype), 2))


@quiet
@both_methods
def test_infinite_parts_are_added_with_their_signs(device, how):
    up, down = complex(0, math.inf), complex(0, -math.inf)
    for a, b in (([up], [1j]), ([math.inf], [1.0 + 0j]), ([1j], [down])):
        a, b = np.array(a, complex), np.array(b, complex)
        assert same(gred.dot(a, b, method=how, device=device).real, dot(a, b, complex).real)


def test_arrays_larger_than_a_piece_are_brought_in_turn(device):
    n = (16 << 20) // 8 * 2 + 4321
    a, b = np.ones(n), np.full(n, 2.0**-30)
    a[-1] = 2.0**40
    assert gred.dot(a, b, method="exact", device=device) == (n - 1) * 2.0**-30 + 2.0**10


@pytest.mark.parametrize("of_a", EVERY, ids=str)
def test_types_that_mix_are_promoted_as_numpy_does_and_multiplied_as_they_are(device, of_a):
    """Including integers that no float represents; complex results round these first."""
    wide = {"b": np.int64, "i": np.int64, "u": np.uint64}
    for of_b in EVERY:
        x, y = drawn(of_a, (4, 50), 1), (drawn("f8", (4, 50), 2) * 9).astype(of_b)
        got, fast = (gred.vecdot(x, y, method=how, device=device) for how in ("exact", "auto"))
        want = right(x.conj() if x.dtype in COMPLEX else x, y, -1, got.dtype)
        rounded = got.dtype in COMPLEX and {of_a, of_b} & {*INTEGERS[-1:], INTEGERS[4]}
        assert same(got, want) or rounded, of_b
        assert np.allclose(fast.astype("c16"), want.astype("c16"), 1e-2, 0.1)
        for how in ("auto", "exact"):
            one = gred.dot(laid_out(x[0], device), laid_out(y[0], device), method=how)
            assert one.dtype == got.dtype == fast.dtype
            assert one.dtype == gred.vecdot(x[:0], y[0], method=how).dtype
        if BFLOAT16 not in (of_a, of_b):
            expected = np.result_type(of_a, of_b)
            assert got.dtype == wide.get(expected.kind, expected)
    assert gred.dot(np.ones(3, BFLOAT16), np.ones(3, "f2"), device=device).dtype == "f4"


@both_methods
@pytest.mark.parametrize("place", ["host", "simulated"])
def test_any_nonzero_byte_is_true_and_long_integers_keep_their_bits(place, how):
    any_byte = np.full(5, 7, np.uint8).view(bool)
    assert gred.dot(any_byte, any_byte, device=place, method=how) == 5
    a, b = np.full((3, 2), 2**62 + 1), np.array([[1.0, 0.0], [1.0, -1.0], [1.0, 1.0]])
    got = gred.vecdot(a, b, method=how, dtype="f8", device=place)
    assert got.tolist() == [2.0**62, 0.0, 2.0**63]
    for dtype in (None, "f4"):
        got = gred.vecdot([[2**53 + 1, -(2**53)]], [1.0, 1.0], method="exact", dtype=dtype)
        assert got[0] == 1


@both_methods
def test_few_long_vectors_are_taken_one_by_one(monkeypatch, how):
    monkeypatch.setattr(products, "_LONG", 100)
    monkeypatch.setattr(_core, "dots", None)
    a, b = drawn("f4", (3, 150), 1), drawn("f4", (150,), 2)
    got, want = gred.vecdot(a, b, method=how), right(a, b, -1, "f4")
    assert np.allclose(got, want, 1e-6, 1e-6)
    assert how == "auto" or same(got, want)
    assert same(gred.vecdot(a, b, method="exact", dtype="f8"), right(a, b, -1, "f8"))


@both_methods
def test_the_dot_product_of_nothing_is_zero_and_zeros_are_positive(device, how):
    x = laid_out(np.ones(0, np.int8), device)
    for other in (x, np.ones(0, np.int8)):
        assert same(gred.dot(x, other, method=how), np.int64(0))
    for n in (1, 5000):
        got = gred.dot([-0.0] * n, [1.0] * n, method=how, device=device)
        assert same(got, np.float64(0.0))
    tiny = gred.dot([TINY], [-TINY], method="exact", device=device)
    assert same(tiny, np.float64(-0.0))


@both_methods
def test_dimensions_and_out(how):
    a, b = drawn("f4", (3, 40, 5), 1), drawn("f4", (3, 40, 5), 2)
    want = gred.vecdot(a, b, 1, method=how)
    assert same(gred.vecdot(a, b, 1, method=how, keepdims=True), want[:, None])
    assert same(gred.dot(a, b, axis=1, method=how), want)
    wide = gred.vecdot(a, b, 1, method=how, dtype="f8")  # rounded once to out's type
    out = np.full((3, 10), np.nan)[:, ::2]
    assert gred.dot(a, b, axis=1, method=how, out=out) is out
    assert np.array_equal(out, wide if how == "exact" else want)
    for kind, narrow in ((1.0, "f4"), (1 + 0j, "c8")) if how == "exact" else ():
        out = np.zeros(1, narrow)
        gred.vecdot(np.full((1, 3), kind), [1, 2.0**-24, 2.0**-60], method=how, out=out)
        assert out[0].real == np.float32(1 + 2.0**-23)
    assert gred.vecdot(a[0, :, 0], b[0, :, 0], keepdims=True, method=how).shape == (1,)
    assert isinstance(gred.vecdot([1, 2], (3, 4), method=how), np.int64)


# ---- errors ----

X, M = np.arange(3.0), np.ones((2, 3))
LENGTHS = r"vectors of one length; got shapes \(.*\) and \("
test_what_dot_refuses_is_said = refused_by(
    gred.dot,
    *((ab, {}, ValueError, LENGTHS) for ab in (([1.0], [1.0, 2.0]), (M, M), (1.0, 2.0), ([1], 1))),
    ((X, X), {"method": "unroll8"}, ValueError, "method of dot must be 'auto'"),
    ((X, np.array(["a"] * 3)), {}, TypeError, "b: element type"),
    ((X, X), {"out": X}, TypeError, "out of dot must be ..."),
    ((X, X), {"keepdims": True}, TypeError, "unexpected keyword argument 'keepdims'"),
    ((X,), {}, TypeError, "takes 2"),
    ((X, X), {"stream": "new"}, TypeError, "stream"),
)
test_what_vecdot_refuses_is_said = refused_by(
    gred.vecdot,
    ((M, X), {"dtype": int}, TypeError, "float16, bfloat16, float32, float64, or"),
    ((M, X), {"dtype": int, "device": "simulated"}, TypeError, "float32, float64, or"),
    ((X, np.ones(4)), {}, ValueError, r"axis -1; got shapes \(3,\) and \(4,\)"),
    ((M, X), {"axis": 2}, ValueError, "out of bounds"),
    ((M, X), {"axis": 0}, ValueError, "equal lengths along axis 0"),
    ((1.0, X), {}, ValueError, "at least one dimension"),
    ((M, M), {"axis": (0, 1)}, TypeError, "axis must be an integer"),
    ((M, M), {"axis": True}, TypeError, "axis must be an integer"),
    ((M, np.ones((4, 3))), {}, ValueError, r"\(2, 3\) and \(4, 3\) cannot be"),
    ((M, X), {"method": "last_block"}, ValueError, "'exact'; got 'last_block'"),
    ((M, X), {"dtype": "c16"}, TypeError, "dtype must be"),
    ((M + 0j, X), {"dtype": "f8"}, TypeError, "dtype must be complex64, complex128,"),
    ((M.astype(int), X.astype(int)), {"dtype": "i4"}, TypeError, "omitted; got 'i4'"),
    ((M, X), {"out": np.zeros(3)}, ValueError, r"the results, \(2,\); got \(3,\)"),
    ((M, X), {"out": np.zeros(2, int)}, TypeError, "float64 cannot be cast to out"),
)


@everywhere
def test_arrays_that_lie_apart_are_refused(place):
    x, y = X, laid_out(X, place)
    for a, b in ((y, x), (x, y), *[(y, SimulatedArray(x))] * (place == "cuda")):
        with pytest.raises(ValueError, match=r"a is on '.*' and b on '.*'; both must be on"):
            gred.dot(a, b)
        with pytest.raises(ValueError, match="both must be on the same device"):
            gred.ExactSum().add_products(a, b)
    with pytest.raises(ValueError, match="device 'host': a is on"):
        gred.dot(y, y, device="host")


# ---- other libraries' arrays ----

GPU = [pytest.param(name, "cuda", marks=pytest.mark.gpu) for name in ("cupy", "torch", "jax.numpy")]
LIBRARIES = [("torch", None), ("torch", "simulated"), ("jax.numpy", None), *GPU]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", "i4", "u1"])
@pytest.mark.parametrize(("module", "place"), LIBRARIES)
def test_in_other_libraries(module, place, dtype):
    """The library multiplies, and a given device adds; on a GPU results belong to the library."""
    xp = pytest.importorskip(module)
    if module == "jax.numpy" and dtype not in (("f2", "f4", "c8") if place else ("f4",)):
        pytest.skip("of 32 bits, unless JAX is told otherwise")
    on_gpu = {"device": "cuda"} if (module, place) == ("torch", "cuda") else {}
    put = partial(xp.asarray, **on_gpu)
    options = {"device": place} if place == "simulated" else {}
    for of_a, of_b, axis in ALONG:
        a, b = drawn(dtype, of_a, 1), drawn(dtype, of_b, 2)
        want = gred.vecdot(a, b, axis, method="exact")
        for how in ("auto", "exact"):
            x = put(a)
            got = gred.vecdot(x, put(b), axis, method=how, **options)
            assert want.shape == () or place != "cuda" or type(got) is type(x)
            got = to_host(got) if place == "cuda" else np.asarray(got)
            if how == "exact" or want.dtype.kind in "iu":
                assert same(got, want)
            else:
                assert np.allclose(got, want, 2.0**-9, 0.1)
    if dtype == "f8":
        hard = [[1e200, 1.0, -1e200], [2.0**-600, TINY, 0.0], [math.inf, 1.0, 0.0]]
        x, y = (put(np.array(one)) for one in (hard, [1e200, 3.0, 1e200]))
        got = to_host(gred.vecdot(x, y, method="exact", **options))
        assert same(got, gred.vecdot(hard, [1e200, 3.0, 1e200], method="exact"))


def test_pytorchs_names_and_tensors():
    torch = pytest.importorskip("torch")
    x = torch.arange(6.0).reshape(2, 3)
    for y in (x, x.bfloat16()):
        got = gred.vecdot(y, y, dim=1, keepdim=True)
        assert got.dtype == y.dtype
        assert torch.equal(got, (y.double() * y.double()).sum(1, keepdim=True).to(y.dtype))
    z = torch.complex(x, x.flip(0))
    for one in (z, z.conj()):
        got = gred.vecdot(one, z, method="exact")
        assert torch.equal(got, torch.linalg.vecdot(one.resolve_conj(), z))
    assert isinstance(gred.vecdot(x, x.numpy()), torch.Tensor)
    assert isinstance(gred.vecdot(x[0], x[0], out=...), torch.Tensor)
    with pytest.raises(RuntimeError, match="grad"):
        gred.vecdot(x, x, out=torch.zeros(2, requires_grad=True))
