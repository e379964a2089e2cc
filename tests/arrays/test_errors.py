"""Bad input gets a clear error: the argument's name, what was given, what is accepted.

What every function refuses is asked in tests/reductions/test_every_call.py.
"""

import itertools

import ml_dtypes
import numpy as np
import pytest
from devices import GPU_IS_HERE
from inputs import OPS, shown
from reference import EVERY_TYPE

import gred

pytestmark = pytest.mark.usefixtures("the_next_call_is_right")
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


def of_methods():
    for name, nearest in NEAREST.items():
        words = [f"did you mean '{nearest}'?"] if nearest else []
        words += ["he methods are auto, exact, batch_invariant, recursive, "]  # which are no rungs
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


def of_devices():
    for name in NO_DEVICES:
        yield ValueError, (*DEVICES, repr(name)), {"device": name}
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


def of_arrays():
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


def of_others():
    for error, initial in ((ValueError, "x"), (TypeError, [1, 2]), (TypeError, 1j)):
        given = f"got {initial!r} ({type(initial).__name__})"
        yield error, ("initial must be a number for results of int64", given), {"initial": initial}
    yield OverflowError, ("initial", str(2**80), "int64"), {"initial": 2**80}
    yield TypeError, ("initial",), {"op": "mean", "initial": 1}
    # As in a call that takes two arrays for two summands.
    yield TypeError, ("axis must be None, an int or a tuple of ints", "ndarray"), {"axis": ARRAY}
    yield TypeError, ("where must be an array of bool or a bool; got None",), {"where": None}
    for op in ("minmax", "describe"):
        yield TypeError, ("out",), {"op": op, "out": np.zeros(2)}


REFUSALS = [*of_methods(), *of_devices(), *of_arrays(), *of_others()]
IDS = [", ".join(f"{name} {shown(value)}" for name, value in case[2].items()) for case in REFUSALS]


@pytest.mark.parametrize(("error", "words", "options"), REFUSALS, ids=IDS)
def test_a_wrong_argument_is_named_with_what_is_accepted(error, words, options):
    """And nothing is written."""
    options = {"a": ARRAY, "op": "sum"} | options
    op, a, out = options.pop("op"), options.pop("a"), np.full((), 9)
    with pytest.raises(error) as caught:
        getattr(gred, op)(a, **({"out": out} if op in OPS else {}) | options)
    assert caught.type is error
    message = str(caught.value)
    for word in words:
        assert word in message, f"{word!r} is not in {message}"
    assert not message.rstrip().endswith(","), message
    assert out == 9


@pytest.mark.skipif(bool(gred.build_info()["cuda"]), reason="there are kernels for GPUs")
def test_without_kernels_for_gpus_an_array_on_one_is_told_how_to_get_them():
    on_gpu = type("OnGpu", (), {"__cuda_array_interface__": ARRAY.__array_interface__})
    for call in (lambda: gred.sum(on_gpu()), lambda: gred.sum(ARRAY, device="cuda")):
        with pytest.raises(RuntimeError, match=r"without nvcc.* pip install 'gred\[cuda13\]'"):
            call()


def test_long_values_are_not_shown_whole():
    for error, name in ((ValueError, "initial"), (TypeError, "axis")):
        with pytest.raises(error, match=name) as caught:
            gred.sum(ARRAY, **{name: "x" * 10_000})
        assert len(str(caught.value)) < 400


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
    class Text(str):
        __slots__ = ()

        def __eq__(self, other):
            raise ZeroDivisionError

        __hash__ = None

    assert gred.sum(ARRAY, method=Text("unroll8"), device=Text("simulated")) == 500500
    assert gred.sum(ARRAY, method=np.str_("recursive")) == 500500
    for size in (np.int64(256), np.uint8(64), np.array(128)):
        assert gred.sum(ARRAY, block_size=size, **BLOCKS) == 500500
    assert gred.sum([[1, 2]], axis=np.array(1)) == 3
