"""`gred.vecdot`: NumPy's answers along axes, and exact ones, rounded once."""

import itertools
import math

import numpy as np
import pytest
from devices import each_library, placed_by, to_host
from exact_loops import kinds
from exact_truths import any_floats, dot, exact_parts, exact_products, nearest, same, same_bits
from exactly import INTEGERS, both_methods, quiet, typed
from hypothesis import given, settings
from reference import BFLOAT16, COMPLEX, REALS

import gred
from gred import _core
from gred.statistics import products

EPS = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}
EPS |= {"complex64": 2.0**-24, "complex128": 2.0**-53}
# Shapes and an axis: rows and columns, short and long, some, many and few, broadcast, of nothing.
CASES = [
    ((9,), (9,), -1),
    ((5, 3), (5, 3), 1),
    ((300, 3), (3,), -1),
    ((7, 64), (7, 64), 1),
    ((6, 9001), (9001,), -1),
    ((9001, 11), (9001, 11), 0),
    ((70, 300), (70, 300), 0),
    ((300, 7), (300,), 0),
    ((4, 1, 40), (3, 40), -1),
    ((40,), (5, 4, 40), -1),
    ((2, 30, 1, 9), (30, 8, 1), -3),
    ((3, 0), (3, 0), 1),
    ((0, 3), (3,), -1),
]
cases = pytest.mark.parametrize(("of_a", "of_b", "axis"), CASES, ids=str)


def drawn(dtype, shape, seed):
    """Draw numbers in memory of the next shape that has every other place of the last axis."""
    random, dtype = np.random.default_rng(seed), np.dtype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return random.integers(info.min, info.max, shape, dtype, endpoint=True)
    if dtype.kind == "b":
        return random.random(shape) < 0.5
    x = random.normal(size=shape) + (1j * random.normal(size=shape) if dtype.kind == "c" else 0)
    return x.astype(dtype)


def vectors(a, b, axis):
    """Move vectors last, as NumPy does, and repeat them for all results; and give their shape."""
    a, b = np.moveaxis(a, axis, -1), np.moveaxis(b, axis, -1)
    shape = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    return *(np.broadcast_to(x, (*shape, x.shape[-1])) for x in (a, b)), shape


def right(a, b, axis, dtype):
    """Round each exact sum of products once."""
    a, b, shape = vectors(a, b, axis)
    found = np.empty(shape, dtype)
    for at in np.ndindex(shape):
        if found.dtype.kind == "c":
            real, imag = exact_parts(a[at].conj(), b[at])
            found.real[at], found.imag[at] = (nearest(x, found.real.dtype) for x in (real, imag))
        else:
            found[at] = nearest(exact_products(a[at], b[at]), dtype)
    return found


@cases
@pytest.mark.parametrize("dtype", [*REALS, *COMPLEX], ids=str)
def test_floats_are_multiplied_and_added_along_any_axis(of_a, of_b, axis, dtype):
    a, b = drawn(dtype, of_a, 1), drawn(dtype, of_b, 2)
    got, want = gred.vecdot(a, b, axis), right(a, b, axis, dtype)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    one, other, _ = vectors(a, b, axis)
    size = (np.abs(one.astype("c16")) * np.abs(other.astype("c16"))).sum(-1)
    bound = np.abs(want.astype("c16")) * EPS[dtype.name] + size * 300 * 2.0**-53
    assert (np.abs(got.astype("c16") - want.astype("c16")) <= 2 * bound).all()
    assert same_bits(gred.vecdot(a, b, axis, method="exact"), want)


@cases
@pytest.mark.parametrize("dtype", [*INTEGERS, np.dtype(bool)], ids=str)
@both_methods
def test_integers_wrap_around_in_64_bits(of_a, of_b, axis, dtype, how):
    a, b = drawn(dtype, of_a, 1), drawn(dtype, of_b, 2)
    wide = np.uint64 if dtype.kind == "u" else np.int64
    want = np.vecdot(a.astype(wide), b.astype(wide), axis=axis)
    assert same_bits(gred.vecdot(a, b, axis, method=how), want)


@typed
@pytest.mark.parametrize("n", [5, 16, 64, 65, 4099])
@quiet
def test_numbers_of_every_kind_are_added_exactly(dtype, n):
    for x, y in zip(kinds(dtype, n, n), reversed(list(kinds(dtype, n, n + 1))), strict=True):
        a, b = np.stack([x, x[::-1], x, y]), np.stack([x[::-1], y, -x[::-1], np.zeros_like(x)])
        for one, other in ((a, b), (np.asfortranarray(a), b[:, ::-1][:, ::-1])):
            got = gred.vecdot(one, other, method="exact")
            assert all(same(got[k], dot(a[k], b[k], dtype)) for k in range(4))
        columns = gred.vecdot(np.tile(a.T, 8), np.tile(b.T, 8), axis=0, method="exact")
        assert same_bits(columns, np.tile(got, 8))


@quiet
@settings(deadline=None)
@given(any_floats(np.dtype("f4")), any_floats(np.dtype("f4")))
def test_what_is_not_finite_is_as_numpy_has_it(a, b):
    a, b = a[: len(b)], b[: len(a)]
    want = (a.astype("f8") * b.astype("f8")).sum()
    for n in (1, 20):
        for x, y, axis in (
            ([a] * n, [b] * n, 1),
            (np.transpose([a] * n), np.transpose([b] * n), 0),
        ):
            got = gred.vecdot(x, y, axis, dtype="f8")
            assert np.isfinite(want) or np.array_equal(got, np.repeat(want, n), equal_nan=True)
            assert np.isfinite(got).all() == np.isfinite(want)


@quiet
@pytest.mark.parametrize("place", ["host", "simulated"])
def test_neither_overflow_nor_underflow_nor_cancellation_matters(place):
    tiny, most = 2.0**-1074, np.finfo("f8").max
    rows = [
        ([1e200, 1e200, 0], [1e200, -1e200, 5], 0.0),
        ([1e200, 1.0, -1e200], [1e200, 3.0, 1e200], 3.0),
        ([tiny, tiny, 0], [tiny, -tiny, 0], 0.0),
        ([tiny, 2.0**-600, 0], [0.5, 2.0**-475, 0], tiny),  # halves, and ties to even
        ([tiny, 0, 0], [0.5, 0, 0], 0.0),
        ([2.0**-600, 2.0**-1074, 0], [2.0**-600, 2.0**100, 0], 2.0**-974),
        ([2.0**53, 1, 0], [1, 1, 0], 2.0**53),  # a tie
        ([2.0**53, 1, tiny], [1, 1, tiny], 2.0**53 + 2),  # and a little more
        ([most, most, -most], [1, 1, 1], most),
        ([most, most, 0], [1, 1, 0], np.inf),
        ([np.inf, 1, 0], [2, 1, 0], np.inf),
        ([np.inf, 1, 0], [0, 1, 0], np.nan),
        ([np.inf, np.inf, 0], [1, -1, 0], np.nan),
        ([np.nan, 1, 0], [1, 1, 0], np.nan),
        ([-0.0, -0.0, 0], [1, 1, -0.0], 0.0),
    ]
    a, b, want = (np.array(column, "f8") for column in zip(*rows, strict=True))
    for one, other in ((a, b), (np.tile(a, 20), np.tile(b, 20) * ([1] * 3 + [0] * 57))):
        if one is not a and place != "host":
            continue
        finite = np.isfinite(a).all(-1) if one is not a else slice(None)
        got = gred.vecdot(one, other, method="exact", device=place)
        assert same_bits(got[finite] + 0.0, want[finite] + 0.0)
        assert not np.signbit(got[want == 0]).any()


def test_results_of_narrow_types_are_rounded_once():
    # Half way between two floats, which float64s and float32s are on either side of.
    for dtype, half in (("f4", 2.0**-24), ("f2", 2.0**-11), (BFLOAT16, 2.0**-8)):
        for more in (2.0**-30, 2.0**-60, 2.0**-90, 0.0, -(2.0**-90), -(2.0**-60), -(2.0**-30)):
            a = np.array([[1, half, more, 0]])
            got = gred.vecdot(a, np.ones(4), dtype=dtype, method="exact")
            assert got.dtype == dtype
            assert float(got[0]) == (1 + 2 * half if more > 0 else 1)


def test_what_was_lost_on_the_way_is_found_again():
    # The third number is lost beside the second, and decides on which side of a tie the sum is.
    for numbers, dtype, want in (
        (
            [2.0**60, 2.0**-10, 2.0**-70, -(2.0**-10), -(2.0**60), 1, 2.0**-53, -(2.0**-90)],
            "f8",
            53,
        ),
        ([2.0**80, 2.0**20, 2.0**-40, -(2.0**20), -(2.0**80), 1, 2.0**-24, -(2.0**-45)], "f4", 24),
    ):
        got = gred.vecdot([numbers] * 2, np.ones(8), dtype=dtype, method="exact")
        assert got.tolist() == [1 + 2 * 2.0**-want] * 2


@both_methods
@pytest.mark.parametrize(
    "kinds",
    [("f4", "f8"), ("f2", BFLOAT16), ("i4", "f4"), ("u1", "i8"), ("i8", "f8"), ("f4", "c8")],
)
def test_types_are_mixed_as_in_gred_dot(kinds, how):
    a = (drawn("f8", (4, 50), 1) * 9).astype(kinds[0])
    b = (drawn("f8", (4, 50), 2) * 9).astype(kinds[1])
    got = gred.vecdot(a, b, method=how)
    for k in range(4):
        one = gred.dot(a[k].conj(), b[k], method=how)
        assert one.dtype == got.dtype
        assert one == got[k] if how == "exact" else abs(one - got[k]) <= 1e-6 * abs(one) + 1e-2


@both_methods
def test_long_integers_keep_their_bits_beside_floats(how):
    a, b = np.full((3, 2), 2**62 + 1), np.array([[1.0, 0.0], [1.0, -1.0], [1.0, 1.0]])
    got = gred.vecdot(a, b, method=how, dtype="f8")
    assert got.tolist() == [2.0**62, 0.0, 2.0**63]
    a = np.array([[2**53 + 1, -(2**53)]])
    assert gred.vecdot(a, np.array([1.0, 1.0]), method="exact")[0] == 1
    assert gred.vecdot(a, np.array([1, 1]), method="exact", dtype="f4")[0] == 1
    assert gred.vecdot(a, np.array([1.0, 1.0]), method="exact", device="simulated")[0] == 1


@pytest.mark.parametrize("conjugates", [True, False])
@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
@pytest.mark.parametrize("place", ["host", "simulated"])
def test_the_first_factor_is_conjugated_but_by_dot(conjugates, dtype, place):
    for of_a, of_b in (((6, 40), (6, 40)), ((6, 40), (40,)), ((40,), (6, 40)), ((40,), (40,))):
        a, b = drawn(dtype, of_a, 1), drawn(dtype, of_b, 2)
        ours = gred.vecdot if conjugates else gred.dot
        want = right(a if conjugates else a.conj(), b, -1, dtype)
        for swapped in (a, a.astype(a.dtype.newbyteorder())):
            assert same_bits(ours(swapped, b, axis=-1, method="exact", device=place), want)
        got = ours(a, b, axis=-1, device=place)
        assert np.allclose(got, want, 0, 1e-4 if dtype == "c8" else 1e-12)


@both_methods
def test_few_long_vectors_are_taken_one_by_one(monkeypatch, how):
    monkeypatch.setattr(products, "_LONG", 100)
    a, b = drawn("f4", (3, 150), 1), drawn("f4", (150,), 2)
    monkeypatch.setattr(_core, "dots", None)
    got = gred.vecdot(a, b, method=how)
    assert np.allclose(got, right(a, b, -1, "f4"), 1e-6, 1e-6)
    assert how == "auto" or same_bits(got, right(a, b, -1, "f4"))
    whole = gred.vecdot(a, b, method="exact", dtype="f8")
    assert same_bits(whole, right(a, b, -1, "f8"))


def test_devices_make_the_same_exact_results():
    for dtype in ("f2", BFLOAT16, "f4", "f8", "i4"):
        a, b = drawn(dtype, (5, 60), 1), drawn(dtype, (60,), 2)
        want = gred.vecdot(a, b, method="exact")
        assert same_bits(gred.vecdot(a, b, method="exact", device="simulated"), want)
        got = gred.vecdot(a, b, device="simulated")
        assert got.dtype == want.dtype
        assert np.allclose(got.astype("f8"), want.astype("f8"), 0.01)
    hard = np.array([[1e200, 1.0, -1e200], [2.0**-600, 1, 2]])
    got = gred.vecdot(hard, [1e200, 3.0, 1e200], method="exact", device="simulated")
    assert got[0] == 3


@both_methods
def test_dimensions_and_out(how):
    a, b = drawn("f4", (3, 40, 5), 1), drawn("f4", (3, 40, 5), 2)
    want = gred.vecdot(a, b, 1, method=how)
    assert same_bits(gred.vecdot(a, b, 1, method=how, keepdims=True), want[:, None])
    assert same_bits(gred.dot(a, b, axis=1, method=how), want)
    wide = gred.vecdot(a, b, 1, method=how, dtype="f8")  # what out has, rounded once
    for reduce in (gred.vecdot, gred.dot):
        out = np.full((3, 10), np.nan)[:, ::2]
        assert reduce(a, b, axis=1, method=how, out=out) is out
        assert np.array_equal(out, wide if how == "exact" else want)
        if how == "exact":
            for kind, out in ((1.0, np.zeros(1, "f4")), (1 + 0j, np.zeros(1, "c8"))):
                x = np.full((1, 3), kind)
                got = reduce(x, [1, 2.0**-24, 2.0**-60], axis=-1, method=how, out=out)
                assert got is out
                assert out[0].real == np.float32(1 + 2.0**-23)
    assert gred.vecdot(a[0, :, 0], b[0, :, 0], keepdims=True, method=how).shape == (1,)
    assert isinstance(gred.vecdot([1, 2], (3, 4), method=how), np.int64)


X, M = np.arange(3.0), np.ones((2, 3))
WRONG = [
    ((X, np.ones(4)), {}, ValueError, r"one length along axis -1; got shapes \(3,\) and \(4,\)"),
    ((M, np.ones(1)), {}, ValueError, "one length along axis"),
    ((M, X), {"axis": 2}, ValueError, "out of bounds"),
    ((M, X), {"axis": 0}, ValueError, "one length along axis 0"),
    ((1.0, X), {}, ValueError, "at least one dimension"),
    ((M, M), {"axis": (0, 1)}, TypeError, "axis must be an integer"),
    ((M, M), {"axis": True}, TypeError, "axis must be an integer"),
    ((M, np.ones((4, 3))), {}, ValueError, r"shapes \(2, 3\) and \(4, 3\), do not fit"),
    ((M, X), {"method": "last_block"}, ValueError, "'auto' or 'exact'; got 'last_block'"),
    ((M, X), {"dtype": int}, TypeError, "dtype must be float16, bfloat16, float32, float64, or"),
    ((M, X), {"dtype": "c16"}, TypeError, "dtype must be"),
    ((M + 0j, X), {"dtype": "f8"}, TypeError, "dtype must be complex64, complex128,"),
    ((M.astype(int), X.astype(int)), {"dtype": "i4"}, TypeError, "or be left out; got 'i4'"),
    ((M, X), {"dtype": int, "device": "simulated"}, TypeError, "dtype must be"),
    ((M, X), {"out": np.zeros(3)}, ValueError, r"the results, \(2,\); it has \(3,\)"),
    ((M, X), {"out": np.zeros(2, int)}, TypeError, "float64 cannot be cast to out"),
    ((M, X), {"out": [0, 0]}, TypeError, "out must be an array; got list"),
    ((M.astype(object), X), {}, TypeError, "object"),
    ((np.ma.masked_array(M, M > 0), X), {}, TypeError, "mask"),
    (("ab", X), {}, TypeError, "a"),
    ((M, X), {"device": "nowhere"}, ValueError, "nowhere"),
]


@pytest.mark.parametrize(("arrays", "options", "error", "says"), WRONG, ids=str)
def test_what_is_wrong_is_said(arrays, options, error, says):
    with pytest.raises(error, match=says):
        gred.vecdot(*arrays, **options)


def test_arrays_of_pytorch_on_the_host():
    torch = pytest.importorskip("torch")
    a, b = drawn("f4", (4, 50), 1), drawn("f4", (50,), 2)
    assert same_bits(gred.vecdot(torch.asarray(a), b), gred.vecdot(a, b))
    z, w = torch.asarray(a + 1j * a[::-1]), torch.asarray(b + 0j)
    for x in (z, z.conj()):
        got = gred.vecdot(x, w, method="exact")
        assert same_bits(got, gred.vecdot(x.resolve_conj().numpy(), w.numpy(), method="exact"))
    half = torch.asarray(a).to(torch.bfloat16)
    got, whole = gred.vecdot(half, half, method="exact", dtype="f4"), half.double().numpy()
    assert same_bits(got, right(whole, whole, -1, "f4"))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", "i4", "u1"])
@pytest.mark.parametrize("module", ["torch", "jax.numpy"])
def test_libraries_multiply_what_a_device_adds(module, dtype):
    xp = pytest.importorskip(module)
    if module == "jax.numpy" and dtype != "f4":
        pytest.skip("of 32 bits, unless JAX is told otherwise")
    for (of_a, of_b, axis), device in itertools.product(CASES, (None, "simulated")):
        a, b = drawn(dtype, of_a, 1), drawn(dtype, of_b, 2)
        if device and module != "torch":
            continue
        want = gred.vecdot(a, b, axis, method="exact")
        x, y = xp.asarray(a), xp.asarray(b)
        assert same_bits(gred.vecdot(x, y, axis, method="exact", device=device), want)
        assert np.allclose(gred.vecdot(x, y, axis, device=device), want, 2.0**-9, 0.1)


@each_library
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", "i4", "u1"])
def test_in_the_libraries_of_devices(library_name, dtype):
    if library_name == "jax.numpy" and dtype in ("f8", "c16", "i4", "u1"):
        pytest.skip("of 32 bits, unless JAX is told otherwise")
    for of_a, of_b, axis in CASES:
        a, b = drawn(dtype, of_a, 1), drawn(dtype, of_b, 2)
        want = gred.vecdot(a, b, axis, method="exact")
        x, y = placed_by(library_name, a), placed_by(library_name, b)
        for how in ("auto", "exact"):
            got = gred.vecdot(x, y, axis, method=how)
            assert want.shape == () or type(got) is type(x)
            if how == "exact" or want.dtype.kind in "iu":
                assert same_bits(to_host(got), want)
            else:
                assert np.allclose(to_host(got), want, 2.0**-9, 0.1)
    if dtype == "f8":
        hard = [[1e200, 1.0, -1e200], [2.0**-600, 2.0**-1074, 0.0], [math.inf, 1.0, 0.0]]
        x, y = (placed_by(library_name, np.array(one)) for one in (hard, [1e200, 3.0, 1e200]))
        got = to_host(gred.vecdot(x, y, method="exact"))
        assert same_bits(got, gred.vecdot(hard, [1e200, 3.0, 1e200], method="exact"))


@pytest.mark.parametrize("n", [3, 1 << 18])
@pytest.mark.parametrize("dtype", ["i4", "f4", "?", "c8"])
def test_types_of_no_results(dtype, n):
    a, b = np.zeros((0, n), dtype), np.zeros(n, dtype)
    for method in ("auto", "exact"):
        got = gred.vecdot(a, b, method=method)
        assert got.shape == (0,)
        assert got.dtype == gred.dot(b, b).dtype


def test_pytorchs_names_and_tensors():
    torch = pytest.importorskip("torch")
    x = torch.arange(6.0).reshape(2, 3)
    for y in (x, x.bfloat16()):
        got = gred.vecdot(y, y, dim=1, keepdim=True)
        assert got.dtype == y.dtype
        assert torch.equal(got, (y.double() * y.double()).sum(1, keepdim=True).to(y.dtype))
    assert isinstance(gred.vecdot(x, x.numpy()), torch.Tensor)
    assert isinstance(gred.vecdot(x[0], x[0], out=...), torch.Tensor)
    with pytest.raises(RuntimeError, match="grad"):
        gred.vecdot(x, x, out=torch.zeros(2, requires_grad=True))
