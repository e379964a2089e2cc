"""`dtype=`, `initial=`, `where=`, `out=` and `stream=`: NumPy's answers, and NumPy's refusals."""

import ctypes
import itertools
import math
import os
import subprocess
import sys
import warnings
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from drawn import converts
from inputs import OPS, reduce, shown
from reference import BFLOAT16, COMPLEX, EVERY_TYPE, INTEGERS, agrees, result_type, truth

import gred
from gred.testing import SimulatedArray

PLACES = [{"device": "host"}, {"method": "unroll2", "device": "simulated"}]
everywhere = pytest.mark.parametrize("where", PLACES, ids=["host", "simulated"])
A = np.array([[3, 1, 2], [9, 8, 7]])
FLOATS = A / 4
SMALL = A.astype(np.uint8)


@pytest.fixture(autouse=True)
def the_next_call_is_right():
    yield
    assert gred.sum(A) == 30
    assert gred.max(A, method="interleaved", device="simulated") == 9


def outcome(function, *arguments, **options):
    """Tell what a call returns, with its type, or the type of what it raises."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = function(*arguments, **options)
        except Exception as error:
            return type(error)
    return repr(result), type(result), result.dtype


def as_in_numpy(op, a, place, **options):
    """Hold a call against NumPy's; an exception of NumPy's may be of a class of its own."""
    expected = outcome(getattr(np, op), a, **options)
    if isinstance(expected, type):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            reduce(op, a, **place, **options)
        accepted = next(
            t for t in (OverflowError, TypeError, ValueError) if issubclass(expected, t)
        )
        assert isinstance(caught.value, accepted), f"{caught.value!r}, not {expected}"
    else:
        assert outcome(reduce, op, a, **place, **options) == expected


# ---- initial ----

INITIALS = [5, -5, 2.5, True, np.float32(1.5), np.uint8(200), np.int64(-1), np.array(4), 10**9]
INITIALS += [
    "2",
    "x",
    [1],
    [1, 2],
    (),
    {},
    object(),
    b"3",
    1j,
    np.complex64(2),
    2**63,
    2**70,
    -(2**63),
]
INITIALS += [np.nan, np.inf, np.array([3]), np.array([1, 2]), 300, -129, np.bool_(False), 1e300]


@everywhere
@pytest.mark.parametrize("initial", INITIALS, ids=shown)
@pytest.mark.parametrize("op", ["sum", "prod", "min", "max"])
def test_initial_is_converted_as_numpys(op, initial, where):
    for a in (A, FLOATS, SMALL, FLOATS.astype(np.float32), A > 2, A[:0]):
        as_in_numpy(op, a, where, initial=initial)
    if isinstance(initial, int | float):
        if op != "prod" or math.isfinite(initial):
            as_in_numpy(op, A * (1 + 2j), {}, initial=initial)
        for dtype in (np.int8, np.float64, np.uint16, bool):
            if op in ("sum", "prod"):
                as_in_numpy(op, A, where, initial=initial, dtype=dtype)


@everywhere
@pytest.mark.parametrize("op", ["sum", "prod", "min", "max"])
def test_initial_none_is_no_identity(op, where):
    for a in (A, A[:0], FLOATS, A > 1):
        as_in_numpy(op, a, where, initial=None)
        as_in_numpy(op, a, where, initial=None, where=a > 1)
        as_in_numpy(op, a, where, initial=None, where=True)


@everywhere
def test_initial_counts_once_whatever_the_length(where):
    for n in (0, 1, 2, 33, 255, 256, 257, 513, 4097, 100003):
        a = np.arange(n)
        assert gred.sum(a, initial=7, **where) == a.sum() + 7
        assert gred.prod(np.ones(n), initial=-3, **where) == -3
        assert gred.max(a, initial=10**6, **where) == 10**6
        assert gred.min(a, initial=-4, **where) == -4


@everywhere
def test_a_sum_of_negative_zeros_has_the_sign_of_its_initial(where):
    for n in (0, 1, 5, 300):
        a = np.full(n, -0.0)
        for initial in (-0.0, 0.0):
            got = gred.sum(a, initial=initial, **where)
            assert got == 0
            assert np.signbit(got) == np.signbit(np.sum(a, initial=initial))
        assert np.signbit(gred.sum(a, **where)) == np.signbit(np.sum(a))


@everywhere
@pytest.mark.parametrize("op", ["sum", "prod", "min", "max"])
def test_an_initial_of_no_value_is_left_out(op, where):
    """NumPy passes its own mark on, for what its caller left out."""
    for a in (A, A[:0], FLOATS):
        as_in_numpy(op, a, where, initial=np._NoValue)
        as_in_numpy(op, a, where, initial=np._NoValue, where=np._NoValue)


@everywhere
def test_nan_as_initial_wins(where):
    for op in ("min", "max", "sum", "prod"):
        assert np.isnan(reduce(op, FLOATS, initial=np.nan, **where))


def test_the_mean_has_no_initial():
    with pytest.raises(TypeError, match="initial"):
        gred.mean(A, initial=3)


def test_a_conversion_that_raises_is_heard():
    class Hostile:
        def __int__(self):
            raise ZeroDivisionError("no number")

        __float__ = __index__ = __int__

    with pytest.raises(ZeroDivisionError, match="no number"):
        gred.sum(A, initial=Hostile())


# ---- where ----


@everywhere
def test_a_mask_of_no_value_is_left_out(where):
    """NumPy passes its own mark on, for what its caller left out."""
    for op in OPS:
        for a in (A, FLOATS):
            as_in_numpy(op, a, where, where=np._NoValue)


MASKS = [
    True,
    False,
    np.True_,
    np.False_,
    [True, False, True],
    [[True], [False]],
    A > 2,
    A.T[:, :1].T > 0,
]
MASKS += [A != A, np.zeros((), bool), np.ones((1, 1), bool), [[False] * 3] * 2]
NO_MASKS = [
    A,
    FLOATS,
    [True, False],
    np.ones((2, 2), bool),
    [],
    [[True, False]],
    [[True], [True, False]],
]
NO_MASKS += [
    np.ones((2, 2, 3), bool),
    np.ones(6, bool),
    np.ones((3, 2), bool),
    np.ones((0, 3), bool),
]


@everywhere
@pytest.mark.parametrize("mask", MASKS, ids=shown)
def test_where_selects_as_in_numpy(mask, where):
    for a in (A, FLOATS, SMALL, A[:, ::-1]):
        for op in OPS:
            as_in_numpy(op, a, where, where=mask)
            if op != "mean":
                as_in_numpy(op, a, where, where=mask, initial=4)


@everywhere
@pytest.mark.parametrize("mask", NO_MASKS, ids=shown)
@pytest.mark.parametrize("op", ["sum", "mean"])
def test_what_is_no_mask_is_refused_as_in_numpy(op, mask, where):
    as_in_numpy(op, A, where, where=mask)


@everywhere
@pytest.mark.parametrize("mask", [1, 0, [1, 0, 1], 1.5, None, "yes", object()], ids=shown)
def test_what_is_true_enough_for_numpy_is_a_mask_or_refused(mask, where):
    try:
        got = gred.sum(A, where=mask, **where)
    except TypeError as error:
        assert "where" in str(error) or "bool" in str(error)  # noqa: PT017
    else:
        assert got == np.sum(A, where=mask)


@everywhere
def test_a_mask_is_never_broadcast_the_other_way_round(where):
    for a, mask in ((A[0], A > 2), (A[:, :1], A > 2), (np.int64(3), [True]), (A[:1], A > 2)):
        for op in OPS:
            initial = {} if op == "mean" else {"initial": 1}
            with pytest.raises(ValueError, match="where"):
                reduce(op, a, where=mask, **initial, **where)


@everywhere
def test_extremes_behind_a_mask_need_an_initial(where):
    for op in ("min", "max"):
        with pytest.raises(ValueError, match="initial"):
            reduce(op, A, where=A > 2, **where)
        assert reduce(op, A, where=True, **where) == reduce(op, A, **where)


@everywhere
def test_a_masked_mean_divides_by_what_is_left(where):
    assert gred.mean(A, where=A > 2, **where) == A[A > 2].mean()
    assert gred.mean(A, where=[[True], [False]], **where) == 2
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
        assert np.isnan(gred.mean(A, where=False, **where))


@everywhere
def test_a_masked_element_is_not_looked_at(where):
    """NaN behind the mask is not there, and neither are the product's zeros."""
    a = np.array([1.0, np.nan, 2.0, 0.0, np.inf] * 300)
    mask = np.isfinite(a) & (a != 0)
    assert gred.sum(a, where=mask, **where) == 900
    assert gred.prod(a, where=mask & (np.arange(a.size) < 50), **where) == 2.0**10
    assert gred.max(a, where=mask, initial=-1, **where) == 2
    assert gred.mean(a, where=mask, **where) == 1.5


@everywhere
def test_a_mask_may_be_of_any_layout(where):
    x = np.arange(120).reshape(4, 5, 6)
    mask = x % 7 < 3
    expected = x[mask].sum()
    layouts = (
        mask,
        np.asfortranarray(mask),
        mask[::-1][::-1],
        np.repeat(mask, 2, axis=2)[..., ::2],
    )
    for layout in layouts:
        assert gred.sum(x, where=layout, **where) == expected
        assert gred.sum(np.asfortranarray(x), where=layout, **where) == expected
        assert gred.sum(x[::-1], where=layout[::-1], **where) == expected
        assert gred.sum(x.T, where=layout.T, **where) == expected


def test_any_byte_that_is_not_zero_lets_through():
    mask = np.array([0, 1, 2, 255, 128, 0], np.uint8).view(bool)
    for place in PLACES:
        assert gred.sum(np.array([1, 2, 4, 8, 16, 32]), where=mask, **place) == 30
        assert gred.sum(mask, **place) == 4
        assert gred.sum(mask, dtype=bool, **place) == np.True_


# ---- dtype ----


@everywhere
def test_results_have_numpys_type(where):
    for dtype in EVERY_TYPE:
        place = {} if dtype in COMPLEX else where
        for op in OPS:
            a = np.ones(3, dtype)
            got = reduce(op, a, **place)
            assert got.dtype == result_type(op, dtype)
            if dtype != BFLOAT16:
                expected = getattr(np, op)(a)
                assert type(got) is type(expected)
                assert got == expected


DTYPES = [int, float, bool, complex, "f2", "i1", "bfloat16", ml_dtypes.bfloat16, np.uint16, "=i4"]
DTYPES += [np.dtype("<f8"), np.half, np.intp, np.longlong, np.ulonglong, "|i1", ">i1"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_any_name_of_a_type_is_a_dtype(dtype):
    got = gred.sum(A, dtype=dtype)
    assert got.dtype == np.dtype(dtype)
    assert agrees(got, truth("sum", A, np.dtype(dtype)))


@pytest.mark.parametrize("dtype", [">f8", ">i4", ">c16", ">u2", ">f2"])
def test_a_dtype_in_the_other_byte_order_is_refused(dtype):
    with pytest.raises(TypeError):
        np.sum(A, dtype=dtype)
    with pytest.raises(TypeError, match=r"dtype.*byte order"):
        gred.sum(A, dtype=dtype)


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


@everywhere
def test_bools_are_added_as_any_and_multiplied_as_all(where):
    for values in ([True, False], [True] * 300, [False] * 300, [], [False] * 299 + [True]):
        a = np.array(values, bool)
        assert gred.sum(a, dtype=bool, **where) == any(values)
        assert gred.prod(a, dtype=bool, **where) == all(values)
        assert gred.sum(a, dtype=bool, **where).dtype == bool
        assert gred.sum(a, **where) == values.count(True)


@everywhere
def test_halves_are_rounded_once(where):
    """4096 ones and one: a float16 that grew by ones would stop at 2048, and bfloat16 at 256."""
    for dtype in (np.float16, ml_dtypes.bfloat16):
        a = np.ones(4096, dtype)
        assert gred.sum(a, **where) == 4096
        assert gred.mean(a, **where) == 1
    a = np.array([60000, 60000, -60000, -59000], np.float16)
    assert gred.sum(a, **where) == np.float16(60000) - np.float16(59000)
    assert np.isposinf(gred.sum(np.full(2, 60000, np.float16), **where))


# ---- out ----


@everywhere
@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (1,) * 5])
def test_out_is_filled_and_returned(shape, where):
    for op in OPS:
        out = np.full(shape, -1.0)
        assert reduce(op, FLOATS, out=out, **where) is out
        assert out.ravel()[0] == getattr(np, op)(FLOATS)


@everywhere
def test_with_out_elements_become_what_both_types_promote_to(where):
    """So does NumPy: half and half are 1 in an integer, but small integers wrap as `out` does."""
    for given in (np.uint8, np.int16, np.float32, np.float64, np.bool_):
        a = np.array([1, 0.5, 100.75, 27, 0.5]).astype(given)
        for dtype in (t for t in EVERY_TYPE if t not in COMPLEX and t != BFLOAT16):
            for op in ("sum", "prod", "min", "max"):
                out = np.zeros((), dtype)
                assert reduce(op, a, out=out, **where) is out
                kind = np.promote_types(given, dtype)
                right, theirs = np.asarray(reduce(op, a, dtype=kind)), np.zeros((), dtype)
                if not converts(right, dtype):
                    continue
                getattr(np, op)(a, out=theirs)
                assert out == right.astype(dtype), f"{op} of {a.dtype} into {out!r}"
                if np.float16 not in (given, dtype):
                    assert out == theirs, f"{op} of {a.dtype} into {out!r}"


def test_the_bytes_of_out_are_of_its_own_type():
    for dtype in EVERY_TYPE:
        for op in OPS:
            a, out = np.ones(3, dtype), np.zeros((), dtype)
            reduce(op, a, out=out)
            assert out == (3 if op == "sum" and dtype != np.bool_ else 1)


INTO_EVERY_OUT = """
import sys
if sys.argv[1] == "hidden":
    sys.modules["ml_dtypes"] = None
import numpy as np
from capsules import BFLOAT, Producer, capsule_of
import gred

for values in ([1, 0.5, 100.5, 16, 2], [2**24, 1], [1024, 12]):
    bits = (np.array(values, np.float32).view(np.uint32) >> 16).astype(np.int16)
    for name in sys.argv[2:]:
        for op in ("sum", "min", "max", "mean"):
            out = np.zeros((), name)
            getattr(gred, op)(Producer(capsule_of(bits, code=BFLOAT)), out=out)
            print(op, name, out.item())
"""


@pytest.mark.parametrize("ml_dtypes", ["installed", "hidden"])
def test_bfloat16_goes_into_every_out(ml_dtypes):
    """It is converted as float32 is, which holds it: with long integers it becomes float64.

    1036 has nine bits, one more than bfloat16.
    """
    names = [np.dtype(t).name for t in EVERY_TYPE if t != BFLOAT16]
    here = str(Path(__file__).parent)
    printed = subprocess.run(
        [sys.executable, "-c", INTO_EVERY_OUT, ml_dtypes, *names],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([here, *sys.path])},
    )
    assert printed.returncode == 0, printed.stderr
    lines = iter(printed.stdout.splitlines())
    for values in ([1, 0.5, 100.5, 16, 2], [2**24, 1], [1024, 12]):
        for name, op in itertools.product(names, ("sum", "min", "max", "mean")):
            a = np.array(values, np.promote_types(np.float32, name))
            line, result = next(lines), np.asarray(getattr(np, op)(a))
            if converts(result, np.dtype(name)):
                with np.errstate(over="ignore"):
                    assert line == f"{op} {name} {result.astype(name).item()}"


def test_mean_with_out_is_numpys():
    for a in (A, FLOATS, FLOATS.astype(np.float32), FLOATS.astype(np.float16)):
        for dtype in (np.float64, np.float32, np.complex128):
            out, theirs = np.zeros((), dtype), np.zeros((), dtype)
            np.mean(a, out=theirs)
            assert gred.mean(a, out=out) is out
            np.testing.assert_allclose(out, theirs, rtol=1e-6)
    out = np.zeros((), np.int64)
    assert gred.mean(A, out=out) is out
    assert out == 5


def test_out_may_lie_anywhere_in_memory():
    columns = np.zeros((3, 4), np.int64)
    gred.sum(A, out=columns[1:2, 2])
    shifted = np.zeros(9, np.uint8)[1:].view(np.int64)
    gred.sum(A, out=shifted)
    swapped = np.zeros((), ">i8")
    gred.sum(A, out=swapped)
    assert columns[1, 2] == shifted[0] == swapped == 30
    assert columns.sum() == 30


def test_out_may_be_part_of_the_array():
    a = np.arange(10.0)
    gred.sum(a, out=a[3:4])
    assert a[3] == 45


@everywhere
def test_a_wrong_out_is_refused(where):
    read_only = np.zeros(())
    read_only.setflags(write=False)
    for out, error in (
        (read_only, ValueError),
        (np.zeros(2), ValueError),
        (np.zeros(0), ValueError),
        (np.zeros((2, 1)), ValueError),
        (3, TypeError),
        (3.5, TypeError),
        ([0.0], TypeError),
        ("out", TypeError),
        (np.float64(1), TypeError),
        (object(), TypeError),
        (bytearray(8), TypeError),
        ((np.zeros(()), np.zeros(())), TypeError),
        (np.zeros((), object), TypeError),
        (np.zeros((), "S8"), TypeError),
        (np.zeros((), "M8[s]"), TypeError),
        (np.zeros((), np.longdouble), TypeError),
        (np.zeros((), "i4,f4"), TypeError),
        (np.ma.zeros(()), TypeError),
        (SimulatedArray, TypeError),
    ):
        with pytest.raises(error, match="out"):
            gred.sum(FLOATS, out=out, **where)
    assert read_only == 0


def test_out_is_left_alone_by_an_error():
    for options in ({"method": "unrol8"}, {"where": A}, {"initial": "x"}, {"device": "tpu"}):
        out = np.full((), 9.0)
        with pytest.raises((TypeError, ValueError)):
            gred.sum(FLOATS, out=out, **options)
        assert out == 9
    out = np.full((), 9.0)
    with pytest.raises(ValueError, match="empty"):
        gred.max([], out=out)
    assert out == 9


def test_out_none_is_no_out():
    assert gred.sum(A, out=None) == 30


def test_out_may_lie_on_the_simulated_device():
    for host in (np.zeros((), np.float64), np.zeros(1, np.float32), np.zeros((1, 1), np.int64)):
        for a in (FLOATS, SimulatedArray(FLOATS)):
            for op in OPS:
                out = SimulatedArray(host)
                assert reduce(op, a, out=out) is out
                if not (op == "mean" and host.dtype in INTEGERS):
                    expected = np.zeros((), host.dtype)
                    getattr(np, op)(FLOATS, out=expected)
                    assert out.get() == expected


def test_a_wrong_out_on_the_simulated_device_is_refused():
    good = np.zeros(1)
    for out, error in (
        (SimulatedArray(np.zeros(2)), ValueError),
        (SimulatedArray(np.zeros(0)), ValueError),
        (SimulatedArray(good).described(data=(8, False)), (ValueError, RuntimeError)),
        (SimulatedArray(good).described(typestr="|O8"), TypeError),
        (SimulatedArray(good).described(shape=(2,)), ValueError),
        (SimulatedArray(good).described(mask=object()), ValueError),
    ):
        with pytest.raises(error):
            gred.sum(FLOATS, out=out)
    out = SimulatedArray(good)
    address = out.__cuda_array_interface__["data"][0]
    with pytest.raises(ValueError, match=r"read-only|read_only|written"):
        gred.sum(FLOATS, out=out.described(data=(address, True)))
    assert out.get() == 0


# ---- stream ----


class CudaStream:
    """An object of the CUDA stream protocol."""

    def __init__(self, answer):
        self.answer = answer

    def __cuda_stream__(self):
        return self.answer


def with_attribute(name, value):
    """Make a stream as a library has it: CuPy's ptr, PyTorch's cuda_stream, Numba's handle."""
    return type("Stream", (), {name: value})()


STREAMS = [1, 2, 12345, 2**64 - 1, np.int64(2), None, CudaStream((0, 1)), CudaStream((0, 7))]
STREAMS += [with_attribute(name, 2) for name in ("ptr", "cuda_stream", "handle")]
# Libraries' own default streams have the handle 0, which is no number for a person to write.
STREAMS += [CudaStream((0, 0)), with_attribute("ptr", 0), with_attribute("cuda_stream", 0)]
STREAMS += [with_attribute("handle", ctypes.c_void_p(2))]


@everywhere
@pytest.mark.parametrize("stream", STREAMS, ids=lambda s: type(s).__name__)
def test_a_stream_is_taken_and_means_nothing_without_a_gpu(stream, where):
    for op in OPS:
        assert reduce(op, A, stream=stream, **where) == reduce(op, A)


NO_STREAMS = [
    (0, ValueError),
    (-1, ValueError),
    (2**64, ValueError),
    (-(2**70), ValueError),
    (True, TypeError),
    (1.0, TypeError),
    ("1", TypeError),
    ([1], TypeError),
    (object(), TypeError),
    (CudaStream(None), TypeError),
    (CudaStream(1), TypeError),
    (CudaStream(()), TypeError),
    (CudaStream((0,)), TypeError),
    (CudaStream((0, 1, 2)), TypeError),
    (CudaStream((0, "1")), TypeError),
    (CudaStream((0, -1)), ValueError),
    (CudaStream((0, 2**64)), ValueError),
    (with_attribute("cuda_stream", -5), ValueError),
    (with_attribute("ptr", 2**65), ValueError),
    (with_attribute("ptr", "x"), TypeError),
    (with_attribute("handle", None), (TypeError, ValueError)),
    (with_attribute("handle", object()), TypeError),
]


@everywhere
@pytest.mark.parametrize(("stream", "error"), NO_STREAMS, ids=shown)
def test_what_is_no_stream_is_refused(stream, error, where):
    with pytest.raises(error, match="stream"):
        gred.sum(A, stream=stream, **where)


def test_a_stream_that_raises_is_heard():
    class Raising:
        def __cuda_stream__(self):
            raise ZeroDivisionError("no stream today")

    class Broken:
        @property
        def cuda_stream(self):
            raise ZeroDivisionError("no stream today")

    class Index:
        def __index__(self):
            raise ZeroDivisionError("no stream today")

    for stream in (Raising(), Broken(), Index(), CudaStream((0, Index()))):
        with pytest.raises(ZeroDivisionError, match="no stream today"):
            gred.sum(A, stream=stream)


# ---- calls ----


@pytest.mark.parametrize("op", OPS)
def test_every_argument_has_a_name_and_only_one(op):
    function = getattr(gred, op)
    assert function(a=A) == function(A)
    for name in ("a", "out_", "streams", "overwrite_input"):
        with pytest.raises(TypeError, match=name):
            function(A, **{name: None})
    for count in (2, 3, 9):
        with pytest.raises(TypeError):
            function(*[A] * count)


def test_all_arguments_go_together():
    out = np.zeros((), np.float32)
    options = {"method": "shuffle", "block_size": 64, "device": "simulated", "dtype": np.float64}
    got = gred.sum(A, initial=0.5, where=A > 2, out=out, stream=1, **options)
    assert got is out
    assert out == A[A > 2].sum() + 0.5


def test_arguments_keep_their_references():
    mask, initial, out = A > 2, np.float64(1.5), np.zeros(())
    stream = CudaStream((0, 1))
    watched = (A, mask, initial, out, stream, out.dtype)
    before = [sys.getrefcount(o) for o in watched]
    for _ in range(100):
        gred.sum(A, where=mask, initial=initial, out=out, stream=stream)
    after = [sys.getrefcount(o) for o in watched]
    assert max(abs(a - b) for a, b in zip(before, after, strict=True)) < 10
