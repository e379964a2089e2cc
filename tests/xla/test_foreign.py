"""Calls through the C interface make the same bits as Python's, on every device."""

import ctypes
from concurrent.futures import ThreadPoolExecutor
from ctypes import POINTER, c_bool, c_char_p, c_int64, c_size_t, c_void_p
from functools import partial

import numpy as np
import pytest
from capsules import held_by, structure
from devices import laid_out, to_host
from refusals import refused_by

import gred
from gred import _core

NAMES = ("reduction", "input", "elements", "result")
Call = structure(  # as in csrc/python/foreign.h
    "Call",
    **dict.fromkeys(NAMES, c_char_p),
    **{"exact": c_bool, "batch_invariant": c_bool, "ddof": ctypes.c_double, "data": c_void_p},
    **{"factors": c_void_p, "dimensions": ctypes.c_uint, "shape": POINTER(c_int64)},
    **{"axes": ctypes.c_uint64, "results": c_void_p, "data_bytes": c_size_t},
    **{"results_bytes": c_size_t, "on_device": c_bool, "stream": c_size_t},
)
# Called without the GIL, as XLA does.
REDUCE = ctypes.CFUNCTYPE(c_bool, c_void_p, POINTER(Call), c_char_p, c_size_t)
Foreign = structure("Foreign", state=c_void_p, reduce=REDUCE)


def address(array):
    """Return an array's address, wherever it is."""
    interface = getattr(array, "__cuda_array_interface__", None)
    return (interface or array.__array_interface__)["data"][0]


def made(x, op, place, options, factors=None, **changes):
    """Call with gred's own settings and these changes; return the results or raise the error."""
    like = np.broadcast_to(np.zeros((), x.dtype), x.shape)
    given = {"axis": None, "dtype": None, "ord": None, "ddof": 0, "method": "auto"} | options
    bits, *names, exact, invariant = _core.settle(like, op, *given.values())
    names = [name.encode() for name in (names[0], x.dtype.name, *names[1:])]
    fields = dict(zip(NAMES, names, strict=True)) | changes
    left = [length for k, length in enumerate(x.shape) if not bits >> k & 1]
    blank = np.full(left, 7, fields["result"].decode())
    there, out = laid_out(x, place), laid_out(blank, place)
    if factors is not None:
        factors = laid_out(factors, place)
        fields["factors"] = address(factors)
    shape = (c_int64 * max(x.ndim, 1))(*x.shape)
    memory = {"data": address(there), "results": address(out), "data_bytes": x.nbytes}
    memory |= {"results_bytes": blank.nbytes, "on_device": place != "host"}
    memory |= {"dimensions": x.ndim, "shape": shape, "axes": bits, "stream": int(place == "cuda")}
    how = {"exact": exact, "batch_invariant": invariant, "ddof": given["ddof"]}
    call = Call(**memory | how | fields)
    core = Foreign.from_address(held_by(_core._foreign, b"gred._core._foreign"))
    why = ctypes.create_string_buffer(512)
    if not core.reduce(core.state, ctypes.byref(call), why, len(why)):
        raise RuntimeError(why.value.decode())
    return to_host(out)


RANDOM = np.random.default_rng(31)
X = RANDOM.normal(size=(6, 50, 7)) * np.exp2(RANDOM.integers(-40, 40, (6, 50, 7)))
TYPES = ["bool", "int8", "int32", "uint64", "float16", "float32", "float64", "complex64"]
CALLS = [(op, {}) for op in ("sum", "max", "std", "all", "argmin")]
CALLS += [(op, {"axis": 0}) for op in ("prod", "count_nonzero")]
CALLS += [(op, {"axis": 1}) for op in ("logsumexp", "any", "argmax")]
CALLS += [(op, {"method": "exact"}) for op in ("sum", "mean", "norm")]
CALLS += [("mean", {"axis": (0, 1)}), ("min", {"axis": -1})]
CALLS += [("var", {"axis": 1, "ddof": 1}), ("norm", {"axis": 0, "ord": 1})]
CALLS += [("sum", {"axis": 1, "method": "exact"}), ("sum", {"axis": 2, "dtype": "float64"})]
CALLS += [("sum", {"axis": (0, 2), "method": "batch_invariant"}), ("sum", {"axis": ()})]


def elements(dtype):
    values = X if dtype != "uint64" else np.abs(X)
    return (values > 0) if dtype == "bool" else np.nan_to_num(values).clip(-100, 100).astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("op", "options"), CALLS)
@pytest.mark.filterwarnings("ignore:Casting complex")
def test_a_call_of_others_makes_the_bits_of_pythons(op, options, dtype, device):
    """Results of whole arrays stay on the device; two vectors are compared with dot."""
    x = elements(dtype)
    got, there = made(x, op, device, options), laid_out(x, device)
    stays = device != "host" and "axis" not in options
    out = {"out": laid_out(np.zeros((), got.dtype), device)} if stays else {}
    expected = to_host(getattr(gred, op)(there, **options, **out))
    pairs = [(got, expected)]
    if op == "sum" and "axis" not in options and dtype != "bool":
        a, b = x[0].ravel().copy(), x[1].ravel().copy()
        expected = gred.dot(*(laid_out(one, device) for one in (a, b)), **options)
        pairs.append((made(a, op, device, options, b, elements=dtype.encode()), expected))
    for got, expected in pairs:
        assert got.dtype == expected.dtype
        assert got.tobytes() == np.asarray(expected).tobytes()


def test_there_may_be_nothing(device):
    for shape, axis in (((0,), None), ((0, 3), 0), ((3, 0), 0), ((2, 0), 1)):
        x = np.zeros(shape)
        np.testing.assert_array_equal(made(x, "sum", device, {"axis": axis}), x.sum(axis))
        assert np.isnan(made(x, "mean", device, {"axis": axis})).all()
    nothing = np.zeros(0)
    assert made(nothing, "sum", device, {}, nothing, elements=b"float64") == 0


NARROW = [("argmax", "float32", "int32"), ("count_nonzero", "bool", "int32")]
NARROW += [("sum", "int64", "int32"), ("prod", "int8", "int32"), ("sum", "uint64", "uint32")]
NARROW += [("mean", "int8", "float32"), ("var", "int64", "float32")]


@pytest.mark.parametrize("axis", [None, 0, 1, 2])
@pytest.mark.parametrize(("op", "dtype", "narrow"), NARROW)
def test_results_may_be_narrower_than_gred_makes_them(op, dtype, narrow, axis, device):
    """Integers wrap, and floats are rounded from 64 bits."""
    x = elements(dtype)
    got = made(x, op, device, {"axis": axis}, result=narrow.encode())
    assert got.dtype == narrow
    wide = np.asarray(getattr(np, op)(x, axis))
    got = got.reshape(wide.shape)
    if narrow == "float32":
        np.testing.assert_allclose(got, wide, rtol=2**-24 * (1 + 1e-6))
    else:
        np.testing.assert_array_equal(got, wide.astype(narrow))


NO_MEDIAN = "no median of float64 as float64 to float64; another version"
test_what_cannot_be_is_refused_in_words = refused_by(
    partial(made, X, "sum", "host", {}),
    ((), {"reduction": b"median"}, RuntimeError, NO_MEDIAN),
    ((), {"elements": b"float8"}, RuntimeError, "no sum of float64 as float8"),
    ((), {"data_bytes": 9}, RuntimeError, "do not fill"),
    ((), {"results_bytes": 4}, RuntimeError, "1 results of float64, which do not fill 4 bytes"),
    ((), {"dimensions": 65}, RuntimeError, "too many dimensions, which are 65"),
    ((), {"on_device": True, "data": 64, "results": 64}, RuntimeError, None),
)


def test_threads_may_call_at_the_same_time():
    expected = gred.sum(X, 1).tobytes()

    def several(_):
        return {made(X, "sum", "host", {"axis": 1}).tobytes() for _ in range(50)}

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(several, range(4))) == [{expected}] * 4
