"""Bad input gets a clear error: the argument's name, what was given, what is accepted.

After every one the process is as it was: the next call is right and nothing has leaked.
"""

import itertools
import warnings

import level
import ml_dtypes
import numpy as np
import pytest
from inputs import OPS, reduce, shown
from reference import EVERY_TYPE

import gred

NO_GPU = not any(device.name.startswith("cuda") for device in gred.devices())
ARRAY = np.arange(1, 1001)
NAMES = [method.name for method in gred.methods()]


@pytest.fixture(autouse=True)
def the_next_call_is_right():
    yield
    assert gred.sum(ARRAY) == 500500
    assert gred.max(ARRAY, method="interleaved", device="simulated") == 1000


def fails(error, *words, **options):
    """Check that a sum raises exactly this error, with all the words in its message."""
    a = options.pop("a", ARRAY)
    with pytest.raises(error) as caught:
        gred.sum(a, **options)
    assert caught.type is error
    message = str(caught.value)
    for word in words:
        assert word in message, f"{word!r} is not in {message}"
    assert not message.rstrip().endswith(","), message
    return message


# ---- what an argument cannot be ----

BLOCK_SIZES = ("block_size", "power of two", "32", "1024")
DEVICES = ("device", "'host'", "'simulated'", "'cuda'", "'cuda:N'")
SUPPORTED = tuple(map(str, EVERY_TYPE))
BLOCKS = {"method": "unroll8", "device": "simulated"}
NO_BLOCK_SIZES = [0, 1, 16, 31, 33, 48, 1023, 2048, -1, -32, 2**31, 2**63, 2**64 + 256, -(10**30)]
NO_DEVICES = ["tpu", "gpu", "", "host:0", "CUDA", "cuda0", "cuda:", "cuda:x", "cuda:-1", "cuda: 0"]
NO_DEVICES += ["cuda:0 ", "cuda:99999999999999999999", "simulated\0", "cuda:0\0", "\ud800"]
UNSUPPORTED = ["g", "G", "O", "S3", "U3", "V4", "V2", "T", "M8[s]", "m8[s]", "i4,f4", "(2,)i4,f4"]
UNSUPPORTED += [ml_dtypes.float8_e4m3fn, ml_dtypes.int4]
NO_NUMBERS = [None, "text", b"bytes", object(), {1, 2}, {"a": 1}, ["1"], [None], len, 2**64]


def refusals():
    """Give the error, what its message has in it, and the options that are wrong."""
    for name in ("unroll8\0", "\0", "\ud800", "unroll8\udcff", "u" * 10_000, "é", "🙂"):
        yield ValueError, ("method",), {"method": name}
    for name in (None, 3, b"unroll8", ["unroll8"], {}, np.str_, ARRAY):
        yield TypeError, ("method", "str", type(name).__name__), {"method": name}
    for method in gred.methods():
        if "host" not in method.devices:
            words = ("method", repr(method.name), "host", *method.devices)
            yield ValueError, words, {"method": method.name, "device": "host"}
    for name in ("recursive", "cub"):
        words = ("method", repr(name), "simulated")
        yield ValueError, words, {"method": name, "device": "simulated"}
    for size, method in itertools.product(NO_BLOCK_SIZES, ("unroll8", "shuffle", "last_block")):
        words = (*BLOCK_SIZES, str(size))
        yield ValueError, words, {"block_size": size, **BLOCKS, "method": method}
    for size in ("big", "256", 2.5, 256.0, True, False, [256], b"256", 1j):
        yield TypeError, (*BLOCK_SIZES, repr(size)), {"block_size": size, **BLOCKS}
    for options in ({}, {"method": "recursive"}, {"device": "host"}):
        yield ValueError, ("block_size", "256"), {"block_size": 256, **options}
    for name in (*NO_DEVICES, "h" * 10_000):
        yield ValueError, (*DEVICES, repr(name)), {"device": name}
    for name in (3, 0, b"host", ["host"], True, object):
        yield TypeError, (*DEVICES, repr(name)), {"device": name}
    for dtype in map(np.dtype, UNSUPPORTED):
        yield TypeError, ("dtype", str(dtype), *SUPPORTED), {"dtype": dtype}
        for shape, options in itertools.product((3, 0, ()), ({}, {"dtype": np.float64})):
            yield (
                TypeError,
                ("a:", str(dtype), *SUPPORTED),
                {"a": np.zeros(shape, dtype), **options},
            )
    for dtype in ("float33", "", 3, [], object(), b"\xff", "\ud800", str, object):
        yield TypeError, ("dtype",), {"dtype": dtype}
    for a in NO_NUMBERS:
        yield TypeError, ("a:", *SUPPORTED), {"a": a}
    errors = (ValueError, TypeError, TypeError, OverflowError)
    for error, initial in zip(errors, ("x", [1, 2], 1j, 2**80), strict=True):
        what = f"got {initial!r} ({type(initial).__name__})"
        words = ("initial must be a number for results of int64", what)
        yield error, words, {"initial": initial}


REFUSALS = list(refusals())
NAMED = [
    ", ".join(f"{name} {shown(value)}" for name, value in case[2].items()) for case in REFUSALS
]


@pytest.mark.parametrize(("error", "words", "options"), REFUSALS, ids=NAMED)
def test_a_wrong_argument_is_named_with_what_is_accepted(error, words, options):
    fails(error, *words, **options)


# ---- method ----


@pytest.mark.parametrize(
    ("method", "nearest"),
    [
        ("unrol8", "unroll8"),
        ("UNROLL8", None),
        ("neigbored", "neighbored"),
        ("shared_sequental", "shared_sequential"),
        ("shufle", "shuffle"),
        ("reduce6", "reduce5"),
        ("cube", "cub"),
        ("exat", "exact"),
        ("aut", "auto"),
        ("zzzzzzzzzz", None),
        ("", None),
        (" unroll8", "unroll8"),
    ],
)
def test_an_unknown_method_gets_the_list_and_the_nearest_name(method, nearest):
    message = fails(ValueError, "method", repr(method), *NAMES, method=method)
    if nearest:
        assert f"did you mean '{nearest}'?" in message


def test_the_list_of_methods_begins_with_those_that_are_no_rungs():
    fails(ValueError, "the methods are auto, exact, recursive, ", method="zzzzzzzzzz")


def test_a_kind_of_text_is_a_method():
    class Text(str):
        __slots__ = ()

        def __eq__(self, other):
            raise ZeroDivisionError

        __hash__ = None

    assert gred.sum(ARRAY, method=Text("unroll8"), device=Text("simulated")) == 500500
    assert gred.sum(ARRAY, method=np.str_("recursive")) == 500500


# ---- block_size ----


@pytest.mark.parametrize("block_size", [np.int64(256), np.uint8(64), np.array(128)])
def test_any_integer_is_a_block_size(block_size):
    assert gred.sum(ARRAY, method="unroll8", block_size=block_size, device="simulated") == 500500


def test_an_integer_that_raises_is_heard():
    class Hostile:
        def __index__(self):
            raise ZeroDivisionError("no")

    with pytest.raises(ZeroDivisionError, match="no"):
        gred.sum(ARRAY, method="unroll8", block_size=Hostile(), device="simulated")


# ---- device ----


@pytest.mark.skipif(not NO_GPU, reason="there is a GPU here")
@pytest.mark.parametrize("name", ["cuda", "cuda:0", "cuda:99"])
def test_without_a_gpu_cuda_is_refused(name):
    fails(RuntimeError, "device", repr(name), "GPU", device=name)
    fails(RuntimeError, "device", repr(name), "GPU", device=name, method="unroll8")


@pytest.mark.skipif(not NO_GPU, reason="there is a GPU here")
def test_without_a_gpu_cub_is_refused():
    fails(RuntimeError, "cub", "GPU", method="cub")


@pytest.mark.gpu
def test_a_gpu_that_is_not_there_is_refused():
    fails(ValueError, "device", "'cuda:99'", "cuda:0", device="cuda:99")


@pytest.mark.gpu
def test_the_hosts_recursion_does_not_run_on_a_gpu():
    fails(ValueError, "method", "'recursive'", "host", method="recursive", device="cuda")


# ---- element types ----


@pytest.mark.parametrize("mask", [np.ma.nomask, True, [True, False, True]], ids=shown)
def test_a_masked_array_is_refused(mask):
    """All its elements would be summed, also those that are not there; it says what to do."""
    masked = np.ma.array([1, 2, 3], mask=mask)
    for op in OPS:
        with pytest.raises(TypeError, match=r"a: .*masked.*compressed"):
            reduce(op, masked)
    with pytest.raises(TypeError, match=r"where: .*masked.* where\.filled\(value\)"):
        gred.sum([1, 2, 3], where=np.ma.array([1, 0, 1], dtype=bool))


def test_a_ragged_sequence_is_refused():
    with pytest.raises(ValueError, match="inhomogeneous"):
        gred.sum([[1, 2], [3]])


# ---- nothing ----


@pytest.mark.parametrize("op", ["min", "max"])
@pytest.mark.parametrize("shape", [0, (3, 0), (0, 2**31)])
def test_the_extremes_of_nothing_are_refused(op, shape):
    for options in ({}, {"method": "shuffle", "device": "simulated"}):
        with pytest.raises(ValueError, match=f"{op}.*empty"):
            reduce(op, np.empty(shape), **options)


def test_a_warning_may_be_an_error():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="empty"):
            gred.mean([])


# ---- calls ----


@pytest.mark.parametrize("op", OPS)
def test_a_wrong_call_is_refused(op):
    function = getattr(gred, op)
    for arguments, options, words in (
        ((), {}, (op, "0")),
        ((ARRAY,), {"a": ARRAY}, (op, "'a'")),
        ((ARRAY, "unroll8"), {}, ("axis", "'unroll8'")),
        ((ARRAY,) * 9, {}, (op, "9")),
        ((ARRAY,), {"blocksize": 0}, (op, "'blocksize'")),
        ((ARRAY,), {"\ud800": 0}, (op,)),
    ):
        with pytest.raises(TypeError) as caught:
            function(*arguments, **options)
        for word in words:
            assert word in str(caught.value)


class Hostile:
    """An object whose attribute raises when somebody looks."""

    def __init__(self, name, error):
        self.name, self.error = name, error

    def __getattr__(self, name):
        if name == self.__dict__["name"]:
            raise self.__dict__["error"]
        raise AttributeError(name)


@pytest.mark.parametrize("name", ["__cuda_array_interface__", "__array_interface__"])
def test_an_attribute_that_raises_is_heard(name):
    with pytest.raises(ZeroDivisionError, match="look away"):
        gred.sum(Hostile(name, ZeroDivisionError("look away")))


def test_a_conversion_that_raises_is_heard():
    class Inconvertible:
        def __array__(self, dtype=None, copy=None):
            raise ZeroDivisionError("not today")

    with pytest.raises(ZeroDivisionError, match="not today"):
        gred.sum(Inconvertible())


def test_a_sequence_that_raises_is_heard():
    class Broken(list):
        def __getitem__(self, index):
            raise ZeroDivisionError

        def __len__(self):
            return 3

        def __iter__(self):
            raise ZeroDivisionError

    with pytest.raises((ZeroDivisionError, TypeError)):
        gred.sum([Broken(), 1])


# ---- no harm done ----


FAILING = [
    {"method": "unrol8"},
    {"method": 3},
    {"method": "unroll8", "block_size": 48, "device": "simulated"},
    {"method": "unroll8", "block_size": "big", "device": "simulated"},
    {"device": "tpu"},
    {"device": 3},
    {"method": "recursive", "device": "simulated"},
    {"dtype": object},
    {"dtype": "float33"},
    {"axis": 1},
    {"axis": "x"},
    {"axis": (0, 0)},
    {"keepdims": None},
    {"keepdims": True, "out": np.zeros(2)},
]


def test_errors_leave_references_and_memory_flat():
    unsupported = np.zeros(3, np.longdouble)
    others = [(gred.sum, unsupported), (gred.min, np.empty(0))]
    others += [(gred.sum, Hostile("__array__", OSError()))]

    def fail_all():
        for options in FAILING:
            level.fails(gred.sum, ARRAY, **options)
        for function, a in others:
            level.fails(function, a)

    watched = (ARRAY, unsupported, unsupported.dtype, ARRAY.dtype, None, "unrol8", 48)
    level.stays_level(fail_all, watched, slack=20)


# ---- numbers and places of arguments ----


def test_an_array_is_no_axis():
    """As in a call that takes two arrays for two summands."""
    fails(TypeError, "axis must be None, an int or a tuple of ints", "ndarray", axis=ARRAY)
    assert gred.sum([[1, 2]], axis=np.array(1)) == 3


def test_long_values_are_not_shown_whole():
    assert len(fails(ValueError, "initial", initial="x" * 10_000)) < 400
    assert len(fails(TypeError, "axis", axis="x" * 10_000)) < 400


@pytest.mark.parametrize("count", [0, 8])
def test_how_many_positional_arguments_there_may_be_is_said(count):
    with pytest.raises(TypeError, match=rf"sum\(\) takes 1 to 7 .* arguments; got {count}$"):
        gred.sum(*[ARRAY][:count], *[None] * (count - 1))
