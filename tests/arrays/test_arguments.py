"""Arguments of every reduction: NumPy's answers and errors, on the host and on devices.

An error names the argument, the given value and the accepted ones. tests/axes/test_rows.py tests
masks of every layout and place; tests/reductions/test_every_call.py tests outs of every type and
layout, and what every function refuses.
"""

import ctypes
import itertools
import math
import warnings

import ml_dtypes
import numpy as np
import pytest
from devices import GPU_IS_HERE
from drawn import converts
from hostile import Text, offering, streaming
from inputs import OPS, shown
from processes import printed
from reference import BFLOAT16, EVERY_TYPE, agrees, truth
from samples import quietly, silenced, wrong
from truths import NAMES, PLACES

import gred

pytestmark = pytest.mark.usefixtures("the_next_call_is_right")

# ---- compared with NumPy's functions, on the host and on the simulated device ----

WHERE = [{"device": "host"}, {"method": "unroll2", "device": "simulated"}]
everywhere = pytest.mark.parametrize("where", WHERE, ids=["host", "simulated"])
A = np.array([[3, 1, 2], [9, 8, 7]])
FLOATS = A / 4
SMALL = A.astype(np.uint8)


def outcome(function, *arguments, **options):
    """Return a call's result with its types, or the type of the exception it raises."""
    with silenced():
        try:
            result = function(*arguments, **options)
        except Exception as error:
            return type(error)
    return repr(result), type(result), result.dtype


def as_in_numpy(op, a, place, **options):
    """Compare a call with NumPy's; ours raises a standard base class of NumPy's exception."""
    ours, expected = getattr(gred, op), outcome(getattr(np, op), a, **options)
    if isinstance(expected, type):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            ours(a, **place, **options)
        allowed = next(t for t in (OverflowError, TypeError, ValueError) if issubclass(expected, t))
        assert isinstance(caught.value, allowed), f"{caught.value!r}, not {expected}"
    else:
        assert outcome(ours, a, **place, **options) == expected


# ---- initial= and dtype= ----

WITH_NAN = np.array([1.75, np.nan, -2.5, 3.875, np.nan, 0.5])
INITIALS = [5, -5, 2.5, True, np.float32(1.5), np.uint8(200), np.int64(-1), np.array(4), 10**9]
INITIALS += ["2", "x", [1], [1, 2], (), {}, object(), b"3", 1j, np.complex64(2), 2**63, 2**70]
INITIALS += [np.nan, np.inf, np.array([3]), np.array([1, 2]), 300, -129, np.bool_(False), 1e300]
INITIALS += [-(2**63), None, np._NoValue]


@everywhere
@pytest.mark.parametrize("initial", INITIALS, ids=shown)
def test_initial_is_converted_as_numpys(initial, where):
    """None is not an identity; np._NoValue, NumPy's default, is accepted."""
    for op in ("sum", "prod", "min", "max"):
        for a in (A, FLOATS, SMALL, FLOATS.astype(np.float32), A > 2, A[:0]):
            as_in_numpy(op, a, where, initial=initial)
            if initial is None or initial is np._NoValue:
                for mask in (a > 1, True, np._NoValue):
                    as_in_numpy(op, a, where, initial=initial, where=mask)
        if isinstance(initial, int | float):
            if op != "prod" or math.isfinite(initial):
                as_in_numpy(op, A * (1 + 2j), {}, initial=initial)
            for dtype in (np.int8, np.float64, np.uint16, bool) if op in ("sum", "prod") else ():
                as_in_numpy(op, A, where, initial=initial, dtype=dtype)
            several = () if op == "prod" and initial == 1e300 else (WITH_NAN,)  # rounded
            for x in (*several, WITH_NAN[:0], WITH_NAN[1:2], WITH_NAN[:1]):
                as_in_numpy(f"nan{op}", x, {"device": where["device"]}, initial=initial)


@everywhere
def test_initial_counts_once_whatever_the_length_and_decides_the_sign_of_zero(where):
    for n in (0, 1, 33, 255, 257, 4097, 100_003):
        a, zeros = np.arange(n), np.full(n, -0.0)
        assert gred.sum(a, initial=7, **where) == a.sum() + 7
        assert gred.prod(np.ones(n), initial=-3, **where) == -3
        assert gred.max(a, initial=10**6, **where) == 10**6
        for options in ({}, {"initial": -0.0}, {"initial": 0.0}):
            got = gred.sum(zeros, **where, **options)
            assert (got, np.signbit(got)) == (0, np.signbit(np.sum(zeros, **options)))


DTYPES = [int, float, bool, complex, "f2", "i1", "bfloat16", ml_dtypes.bfloat16, np.uint16, "=i4"]
DTYPES += [np.dtype("<f8"), np.half, np.intp, np.longlong, np.ulonglong, "|i1", ">i1", "int32"]


def test_any_name_of_a_type_is_a_dtype():
    for dtype in DTYPES:
        assert agrees(gred.sum(A, dtype=dtype), truth("sum", A, dtype))


@everywhere
def test_a_dropped_imaginary_part_is_warned_of(where):
    z = A * (1 + 2j)
    for dtype in (np.float64, np.int32, np.float16):
        with pytest.warns(np.exceptions.ComplexWarning, match="imaginary"):
            assert gred.sum(z, dtype=dtype, **where) == 30
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gred.sum(z, dtype=bool) == np.True_
        assert gred.sum(z, dtype=np.complex64) == 30 + 60j
        with pytest.raises(np.exceptions.ComplexWarning):
            gred.sum(z, dtype=float, **where)


@pytest.mark.parametrize("mask", [None, [True, True, False, True, False, False]])
@pytest.mark.parametrize("to", ["i1", "i8", "u8", "?", "f8", "c8"])
@pytest.mark.parametrize("x", [WITH_NAN, WITH_NAN.astype(">f4"), WITH_NAN + 1j])
@pytest.mark.parametrize("name", ["nansum", "nanprod", "nanmean"])
def test_nan_is_left_out_before_it_is_cut_off(name, x, to, mask, device):
    options = {"dtype": to} | ({} if mask is None else {"where": mask})
    if name == "nanmean" and to in ("i1", "i8", "u8", "?"):
        with pytest.raises(TypeError, match="dtype"), silenced():
            gred.nanmean(x, **options, device=device)
        return
    for axis in (None, 0):
        with silenced():
            right = getattr(np, name)(x, axis=axis, **options)
        got = quietly(name, x, axis=axis, **options, device=device)
        assert (got, got.dtype) == (right, right.dtype)
    with silenced():
        assert gred.explain(x, name, **options, device=device).size == len(WITH_NAN)


def test_minmax_and_norms_have_a_dtype(device):
    x, whole = np.array([1.75, -2.5, 300.25]), np.arange(-50, 50, dtype=np.int16)
    for dtype in map(np.dtype, (np.float32, np.float16, np.int32)):
        assert not wrong("minmax", x, x, device=device, dtype=dtype)
    for dtype in map(np.dtype, (np.float32, np.float16, np.float64, BFLOAT16)):
        assert not wrong("norm", x, x, device=device, dtype=dtype)
        assert not wrong("norm", whole, whole, device=device, dtype=dtype)


def test_all_arguments_go_together():
    out = np.zeros((), np.float32)
    options = {"method": "shuffle", "block_size": 64, "device": "simulated", "dtype": np.float64}
    assert gred.sum(A, initial=0.5, where=A > 2, out=out, stream=1, **options) is out
    assert out == A[A > 2].sum() + 0.5


# ---- where= ----

MASKS = [True, False, np.True_, np.False_, [True, False, True], [[True], [False]], A > 2]
MASKS += [A.T[:, :1].T > 0, A != A, np.zeros((), bool), np.ones((1, 1), bool), [[False] * 3] * 2]
MASKS += [np._NoValue]  # NumPy's default
NO_MASKS = [A, FLOATS, [True, False], np.ones((2, 2), bool), [], [[True, False]], [[True], [1, 0]]]
NO_MASKS += [np.ones(shape, bool) for shape in ((2, 2, 3), 6, (3, 2), (0, 3))]
DOUBTFUL = [1, 0, [1, 0, 1], 1.5, None, "yes", object(), np.zeros(3, "M8[s]")]
DOUBTFUL += [[None, True, False]]


@everywhere
@pytest.mark.parametrize("mask", [*MASKS, *NO_MASKS], ids=shown)
def test_where_selects_and_is_refused_as_in_numpy(mask, where):
    """A mask never broadcasts the array to a larger shape."""
    smaller = (A[0], A[:, :1], A[:1], np.int64(3))
    arrays = (A, FLOATS, SMALL, A[:, ::-1], *smaller * (getattr(mask, "dtype", None) == np.bool_))
    for a, op in itertools.product(arrays, OPS):
        for options in ({}, {"initial": 4})[: 1 + (op != "mean")]:
            as_in_numpy(op, a, where, where=mask, **options)


@pytest.mark.parametrize("name", [*OPS, *NAMES])
def test_what_is_true_enough_for_numpy_is_a_mask_for_all_or_refused_by_all(name, device):
    for mask in (*NO_MASKS, *DOUBTFUL):
        try:
            assert gred.sum(A, where=mask, device=device) == np.sum(A, where=mask)
        except (TypeError, ValueError) as error:
            if isinstance(error, TypeError):
                assert "where" in str(error) or "bool" in str(error)  # noqa: PT017
            with pytest.raises(type(error)):
                getattr(gred, name)(A, where=mask, device=device)
        else:
            hides_all = not np.broadcast_to(mask, A.shape).astype(bool).any()
            if not (hides_all and name in (*PLACES, "ptp", "minmax")):
                begun = {"initial": 1} if name.removeprefix("nan") in ("min", "max") else {}
                quietly(name, A, where=mask, device=device, **begun)


# ---- out= ----


VALUES = [1, 0.5, 100.5, 16, 2], [2**24, 1], [1024, 12]
INTO_EVERY_OUT = f"""
import sys
if sys.argv[1] == "hidden":
    sys.modules["ml_dtypes"] = None
import numpy as np
from capsules import BFLOAT, Producer, capsule_of
import gred

for values in {VALUES}:
    bits = (np.array(values, np.float32).view(np.uint32) >> 16).astype(np.int16)
    for name in sys.argv[2:]:
        for op in ("sum", "min", "max", "mean"):
            out = np.zeros((), name)
            getattr(gred, op)(Producer(capsule_of(bits, code=BFLOAT)), out=out)
            print(op, name, out.item())
"""


@pytest.mark.parametrize("is_there", ["installed", "hidden"])
def test_bfloat16_goes_into_every_out(is_there):
    """It is promoted like float32; 1036 has nine bits, one more than bfloat16."""
    names = [np.dtype(t).name for t in EVERY_TYPE if t != BFLOAT16]
    lines = printed(INTO_EVERY_OUT, arguments=(is_there, *names), path=True).splitlines()
    cases = itertools.product(VALUES, names, ("sum", "min", "max", "mean"))
    for line, (values, name, op) in zip(lines, cases, strict=True):
        result = np.asarray(getattr(np, op)(np.array(values, np.promote_types("f4", name))))
        if converts(result, np.dtype(name)):
            with np.errstate(over="ignore"):
                assert line == f"{op} {name} {result.astype(name).item()}"


# ---- stream=: any object that holds a stream handle, on any device ----


def raising(_):
    raise ZeroDivisionError("no stream today")


STREAMS = [1, 2, 12345, 2**64 - 1, np.int64(2), None, streaming((0, 1)), streaming((0, 7))]
# CuPy's ptr, PyTorch's cuda_stream and Numba's handle are 0 for their default stream; 0 is refused.
STREAMS += [streaming((0, 0)), offering(handle=2), offering(handle=ctypes.c_void_p(2))]
STREAMS += [offering(**{name: handle}) for name in ("ptr", "cuda_stream") for handle in (0, 2)]
INDEX = offering(__index__=raising)
NO_NUMBERS = [0, -1, 2**64, -(2**70), streaming((0, -1)), streaming((0, 2**64))]
NO_NUMBERS += [offering(cuda_stream=-5), offering(ptr=2**65)]
NO_HANDLES = [True, 1.0, "1", [1], object(), offering(ptr="x"), offering(handle=object())]
NO_HANDLES += [streaming(answer) for answer in (None, 1, (), (0,), (0, 1, 2), (0, "1"))]
NO_HANDLES += [offering(handle=None)]
RAISING = [INDEX, streaming((0, INDEX)), offering(__cuda_stream__=raising)]
RAISING += [offering(cuda_stream=property(raising))]


@everywhere
@pytest.mark.parametrize("stream", STREAMS, ids=lambda s: type(s).__name__)
def test_a_stream_is_taken_and_means_nothing_without_a_gpu(stream, where):
    assert gred.sum(A, stream=stream, **where) == A.sum()


# ---- error messages ----

ARRAY = np.arange(1, 1001)
SIMULATED = {"device": "simulated"}
BLOCKS = {"method": "unroll8", **SIMULATED}
BLOCK_SIZES = ("block_size", "power of two", "32", "1024")
DEVICES = ("device", "'host'", "'simulated'", "'cuda'", "'cuda:N'")
METHODS = tuple(method.name for method in gred.methods())
SUPPORTED = tuple(map(str, EVERY_TYPE))
NO_BLOCK_SIZES = [0, 1, 16, 31, 33, 48, 1023, 2048, -1, -32, 2**31, 2**63, 2**64 + 256, -(10**30)]
NO_DEVICES = ["tpu", "gpu", "", "host:0", "CUDA", "cuda0", "cuda:", "cuda:x", "cuda:-1", "cuda: 0"]
NO_DEVICES += ["cuda:0 ", "cuda:99999999999999999999", "simulated\0", "cuda:0\0", "\ud800"]
NO_DEVICES += ["h" * 10_000]
UNSUPPORTED = ["g", "G", "O", "S3", "U3", "V4", "V2", "T", "M8[s]", "m8[s]", "i4,f4", "(2,)i4,f4"]
UNSUPPORTED += [ml_dtypes.float8_e4m3fn, ml_dtypes.int4]
NEAREST = {"unrol8": "unroll8", "neigbored": "neighbored", "shared_sequental": "shared_sequential"}
NEAREST |= {"shufle": "shuffle", "reduce6": "reduce5", "cube": "cub", "exat": "exact"}
NEAREST |= {"aut": "auto", " unroll8": "unroll8", "UNROLL8": None, "zzzzzzzzzz": None, "": None}


def of_methods_and_devices():
    for name, nearest in NEAREST.items():
        words = [f"did you mean '{nearest}'?"] if nearest else []
        words += ["he methods are auto, exact, batch_invariant, recursive, "]  # these are not rungs
        yield ValueError, ("method", repr(name), *METHODS, *words), {"method": name}
    for name in ("unroll8\0", "\0", "\ud800", "unroll8\udcff", "u" * 10_000, "é", "🙂"):
        yield ValueError, ("method",), {"method": name}
    for name in (None, 3, b"unroll8", ["unroll8"], {}, np.str_, ARRAY):
        yield TypeError, ("method", "str", type(name).__name__), {"method": name}
    for method in gred.methods():
        words = ("method", repr(method.name), *method.devices)
        for device in sorted({"host", "simulated"}.difference(method.devices)):
            yield ValueError, (*words, device), {"method": method.name, "device": device}
    for size, method in itertools.product(NO_BLOCK_SIZES, ("unroll8", "shuffle", "last_block")):
        yield ValueError, (*BLOCK_SIZES, str(size)), BLOCKS | {"block_size": size, "method": method}
    for size in ("big", "256", 2.5, 256.0, True, False, [256], b"256", 1j):
        yield TypeError, (*BLOCK_SIZES, repr(size)), {"block_size": size, **BLOCKS}
    for options in ({}, {"method": "recursive"}, {"device": "host"}):
        yield ValueError, ("block_size", "256"), {"block_size": 256, **options}
    for name in NO_DEVICES:
        yield ValueError, (*DEVICES, repr(name)[:200]), {"device": name}
    for name in (3, 0, b"host", ["host"], True, object):
        yield TypeError, (*DEVICES, repr(name)), {"device": name}
    if GPU_IS_HERE:
        yield ValueError, ("device", "'cuda:99'", "cuda:0"), {"device": "cuda:99"}
        words = ("method", "'recursive'", "host")
        yield ValueError, words, {"method": "recursive", "device": "cuda"}
        return
    yield RuntimeError, ("cub", "GPU"), {"method": "cub"}
    for name, options in itertools.product(("cuda", "cuda:99"), ({}, {"method": "unroll8"})):
        yield RuntimeError, ("device", repr(name), "GPU"), {"device": name, **options}


def of_arrays_and_others():
    for dtype in map(np.dtype, UNSUPPORTED):
        yield TypeError, ("dtype", str(dtype), *SUPPORTED), {"dtype": dtype}
        for shape, options in itertools.product((3, 0, ()), ({}, {"dtype": np.float64})):
            words = ("a:", str(dtype), *SUPPORTED)
            yield TypeError, words, {"a": np.zeros(shape, dtype), **options}
    for dtype in (">f8", ">i4", ">c16", ">u2", ">f2"):
        yield TypeError, ("dtype", "byte order"), {"dtype": dtype}
    for dtype in ("float33", "", 3, [], object(), b"\xff", "\ud800", str, object):
        yield TypeError, ("dtype",), {"dtype": dtype}
    for a in (None, "text", b"bytes", object(), {1, 2}, {"a": 1}, ["1"], [None], len, 2**64):
        yield TypeError, ("a:", *SUPPORTED), {"a": a}
    words = ("where: ", "masked", "where.filled(value)")
    yield TypeError, words, {"a": [1, 2, 3], "where": np.ma.array([1, 0, 1], dtype=bool)}
    yield ValueError, ("inhomogeneous",), {"a": [[1, 2], [3]]}
    for op, shape in itertools.product(("min", "max"), (0, (3, 0), (0, 2**31))):
        for options in ({}, {"method": "shuffle", **SIMULATED}):
            yield ValueError, (op, "empty"), {"a": np.empty(shape), "op": op, **options}
    for a, options in itertools.product((ARRAY > 5, [True]), ({}, SIMULATED)):
        yield TypeError, ("bool",), {"a": a, "op": "ptp", **options}
    wrong = {ValueError: NO_NUMBERS, TypeError: NO_HANDLES, ZeroDivisionError: RAISING}
    for error, options in itertools.product(wrong, ({}, BLOCKS)):
        yield from ((error, ("stream",), {"stream": one, **options}) for one in wrong[error])
    for error, initial in ((ValueError, "x"), (TypeError, [1, 2]), (TypeError, 1j)):
        given = f"got {initial!r} ({type(initial).__name__})"
        yield error, ("initial must be a number for results of int64", given), {"initial": initial}
    yield OverflowError, ("initial", str(2**80), "int64"), {"initial": 2**80}
    yield ValueError, ("initial",), {"initial": "x" * 10_000}
    yield TypeError, ("initial",), {"op": "mean", "initial": 1}
    # As in gred.sum(a, b), a common mistake for adding two arrays.
    for axis, shown_as in ((ARRAY, "ndarray"), ("x" * 10_000, "str")):
        yield TypeError, ("axis must be None, an int or a tuple of ints", shown_as), {"axis": axis}
    yield TypeError, ("where must be an array of bool or a bool; got None",), {"where": None}
    for op in ("minmax", "describe"):
        yield TypeError, ("out",), {"op": op, "out": np.zeros(2)}


REFUSALS = [*of_methods_and_devices(), *of_arrays_and_others()]
IDS = [", ".join(f"{name} {shown(value)}" for name, value in case[2].items()) for case in REFUSALS]


@pytest.mark.parametrize(("error", "words", "options"), REFUSALS, ids=IDS)
def test_a_wrong_argument_is_named_with_what_is_accepted(error, words, options):
    """A refused call writes nothing, and its message truncates long values."""
    options = {"a": ARRAY, "op": "sum"} | options
    op, a, out = options.pop("op"), options.pop("a"), np.full((), 9)
    with pytest.raises(error) as caught:
        getattr(gred, op)(a, **({"out": out} if op in OPS else {}) | options)
    assert caught.type is error
    message = str(caught.value)
    for word in words:
        assert word in message, f"{word!r} is not in {message}"
    assert not message.rstrip().endswith(","), message
    assert len(message) < (800 if "method" in options else 400)  # lists all methods
    assert out == 9


@pytest.mark.skipif(bool(gred.build_info()["cuda"]), reason="there are kernels for GPUs")
def test_without_kernels_for_gpus_an_array_on_one_is_told_how_to_get_them():
    on_gpu = offering(__cuda_array_interface__=ARRAY.__array_interface__)
    for call in (lambda: gred.sum(on_gpu), lambda: gred.sum(ARRAY, device="cuda")):
        with pytest.raises(RuntimeError, match=r"without CUDA.* pip install 'gred\[cuda13\]'"):
            call()


@pytest.mark.parametrize("op", OPS)
def test_a_wrong_call_is_refused(op):
    most = "7" if op == "sum" else ""
    for arguments, options, words in (
        ((), {}, rf"{op}\(\) takes 1 to .* arguments; got 0$"),
        ((ARRAY,) * 9, {}, rf"{op}\(\) takes 1 to {most}.* arguments; got 9$"),
        ((ARRAY,), {"a": ARRAY}, rf"(?s)(?=.*{op}).*'a'"),
        ((ARRAY, "unroll8"), {}, "(?s)(?=.*axis).*'unroll8'"),
        ((ARRAY,), {"blocksize": 0}, rf"(?s)(?=.*{op}).*'blocksize'"),
        ((ARRAY,), {"\ud800": 0}, op),
    ):
        with pytest.raises(TypeError, match=words):
            getattr(gred, op)(*arguments, **options)


def test_what_is_text_or_an_integer_in_all_but_type_is_taken():
    assert gred.sum(ARRAY, method=Text("unroll8"), device=Text("simulated")) == 500500
    assert gred.sum(ARRAY, method=np.str_("recursive")) == 500500
    for size in (np.int64(256), np.uint8(64), np.array(128)):
        assert gred.sum(ARRAY, block_size=size, **BLOCKS) == 500500
    assert gred.sum([[1, 2]], axis=np.array(1)) == 3
