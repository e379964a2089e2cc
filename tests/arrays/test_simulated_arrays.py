"""Arrays in the simulated device's memory are read in place, as arrays on a GPU are.

Results along axes stay on the device, in gred's own array if the library has none. Arrays offer
`__cuda_array_interface__`, so that all of this is tested on any machine.
"""

import ctypes
import gc
import itertools
import operator
import sys
import types
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from capsules import BFLOAT, CODES, Tensor, Versioned, held_by, python
from devices import GPU_IS_HERE, everywhere, laid_out, on, to_host
from hostile import Offer, Refuses, offering, when_asked
from inputs import reduce, shown
from numpy.lib.stride_tricks import sliding_window_view
from reference import BFLOAT16, agrees, truth
from segments import same

import gred
from gred import _core
from gred.testing import SimulatedArray

pytestmark = pytest.mark.usefixtures("the_next_call_is_right")
X = np.arange(1, 61, dtype=np.float32).reshape(3, 4, 5) % 23
FLAT = X.ravel()
REFUSED = (ValueError, RuntimeError)


def bytes_at(address, n):
    return Offer({"shape": (n,), "typestr": "|u1", "data": (address, False), "version": 3})


def refused(a, error=REFUSED, match=None, functions=(gred.sum,), **options):
    for function in functions:
        with pytest.raises(error, match=match):
            function(a, **options)


# ---- the simulated array ----


def test_simulated_memory_is_a_writable_buffer_of_some_size():
    memory = _core.simulated_memory(64)
    assert memory.nbytes == len(memoryview(memory).cast("B")) == 64
    bytes_of_it = np.frombuffer(memory, np.uint8)
    assert bytes_of_it.ctypes.data == memory.address
    bytes_of_it[:] = 3
    assert gred.sum(bytes_at(memory.address, 64)) == 192
    for nbytes in (-1, 2**62, 2**64, -(2**70), "8", 1.5, None):
        with pytest.raises((TypeError, ValueError, OverflowError, MemoryError)):
            _core.simulated_memory(nbytes)


WITH_REFERENCES = [[None], np.array([1, "two"], object), SimulatedArray(X), np.zeros(0, object)]
WITH_REFERENCES += [np.zeros(3, [("x", "f4"), ("y", object)]), np.array(["a", "b" * 100], "T")]


def test_what_holds_references_or_a_mask_is_refused_before_memory_is_allocated(monkeypatch):
    monkeypatch.setattr(_core, "simulated_memory", None)
    for a in WITH_REFERENCES:
        refused(a, TypeError, r"a: .*references", [SimulatedArray])
    refused([1, 2], TypeError, r"a: .*object.*references", [SimulatedArray], dtype=object)
    for mask in (False, True, [True, False]):
        masked = np.ma.array([1, 2], mask=mask)
        refused(masked, TypeError, r"a: masked arrays .*compressed", [gred.sum, SimulatedArray])
    monkeypatch.undo()


@everywhere
def test_an_array_on_a_device_is_reduced_there(place):
    array, own = laid_out(X, place), on(place)["device"]
    assert gred.kernel_time(array, samples=1, warmup=0, cold=False).device == own
    for named in (None, own, own.removesuffix(":0")):
        assert gred.sum(array, device=named) == X.sum()
        assert gred.sum(array, device=named, method="unroll8") == X.sum()
    for device in {"host", "simulated", "cuda:1"} - {own}:
        refused(array, match="device", device=device)
    refused(array, match="recursive", method="recursive")


# ---- valid entries; test_hostile.py tests those that point outside the memory ----

ARRAY = SimulatedArray(X)
START = ARRAY.__cuda_array_interface__["data"][0]
LAST = START + X.nbytes - 4


def at(*shape, strides=None, **more):
    return {"shape": shape, "strides": strides, **more}


WELL_FORMED = {
    "as it is": ({}, X),
    "version 2": ({"version": 2, "stream": ...}, X),
    "a later version": ({"version": 99}, X),
    "no strides": ({"strides": ...}, X),
    **{f"stream {stream}": ({"stream": stream}, X) for stream in (..., None, 1, 2, 2**64 - 1)},
    "descr": ({"descr": [("", "<f4")]}, X),
    "an unknown entry": ({"colour": "blue"}, X),
    "native byte order": ({"typestr": "=f4"}, X),
    "read-only": ({"data": (START, True)}, X),
    "NumPy's integers": (at(*map(np.int64, X.shape)), X),
    "no dimensions": (at(), X[0, 0, 0]),
    "transposed": (at(5, 4, 3, strides=(4, 20, 80)), X),
    "backwards": (at(60, strides=(-4,), data=(LAST, False)), X),
    "rows many times": (at(9, 60, strides=(0, 4)), np.tile(FLAT, 9)),
    "overlapping windows": (at(56, 5, strides=(4, 4)), sliding_window_view(FLAT, 5)),
    "extents of 1": (at(1, 60, 1, strides=(2**60, 4, -8)), X),
    "nothing nowhere": (at(0, data=(0, False)), X[:0]),
    "nothing far away": (at(3, 0, strides=(2**40, 4), data=(8, False)), X[:0]),
    "bytes in any order": (at(240, typestr=">i1"), FLAT.view("i1")),
    "other elements": (at(30, typestr="<i8"), FLAT.view("i8")),
}


@pytest.mark.parametrize(("changes", "elements"), WELL_FORMED.values(), ids=WELL_FORMED.keys())
def test_what_is_well_formed_is_read(changes, elements):
    offer = ARRAY.described(**{"descr": ...} | changes)
    for op in ("sum", "max")[: 1 + bool(elements.size)]:
        assert agrees(reduce(op, offer), truth(op, elements))


def test_bfloat16_is_known_by_its_dtype():
    array = SimulatedArray(np.arange(5).astype(BFLOAT16))
    assert array.__cuda_array_interface__["typestr"] == "<V2"
    assert gred.sum(array).dtype == BFLOAT16
    nameless = Offer(array.__cuda_array_interface__)
    refused(nameless, TypeError, "bfloat16")
    nameless.dtype = "bfloat16"
    assert gred.sum(nameless) == 10


def test_the_bounds_are_those_of_one_memory():
    """Adjacent allocations are still separate."""
    memories = sorted((_core.simulated_memory(64) for _ in range(50)), key=lambda m: m.address)
    for first, second in itertools.pairwise(memories):
        span = second.address + 64 - first.address
        assert span >= 128
        for nbytes in (span, 65, 128):
            refused(bytes_at(first.address, nbytes))
        gred.sum(bytes_at(first.address, 64))


def test_freed_memory_is_refused_and_views_keep_it():
    kept, array = [SimulatedArray(np.ones(1000))], SimulatedArray(np.ones(10_000))
    vanishing = property(lambda _: kept.pop().__cuda_array_interface__)
    offer = Offer(array.__cuda_array_interface__)
    assert gred.sum(offer) == 10_000
    view = SimulatedArray(X)[1:, ::2].T
    del array
    gc.collect()
    refused(offer)
    refused(offering(__cuda_array_interface__=vanishing))
    assert not kept
    assert gred.sum(view) == X[1:, ::2].sum()


def test_memory_stays_from_when_it_was_read_until_it_is_reduced():
    """The array is dropped while the mask is read, and other arrays may reuse its memory."""
    kept = [SimulatedArray(np.ones(50_000))]

    def drop():
        kept[:] = (SimulatedArray(np.zeros(50_000)) for _ in range(9))
        gc.collect()

    offer = Offer(kept[0].__cuda_array_interface__)
    assert gred.sum(offer, where=when_asked(drop, SimulatedArray(np.ones(50_000, bool)))) == 50_000
    assert len(kept) == 9


def test_memory_may_be_freed_from_any_thread():
    def work(_):
        return all(gred.sum(SimulatedArray(np.ones(n))) == n for n in range(1, 60))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


# ---- results ----

EXTERNAL = 12  # kDLExtDev, DLPack's type for extension devices


def check(result, expected):
    assert isinstance(result, gred.DeviceArray)
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(to_host(result), expected)


@pytest.fixture
def result():
    return gred.sum(SimulatedArray(X), 0)


def test_results_along_axes_of_an_array_on_a_device_stay_there_and_go_in_again():
    """Scalars and results of host arrays are NumPy's."""
    for op, axis in itertools.product(("sum", "mean", "any", "argmax", "ptp"), (0, 1, -1)):
        check(getattr(gred, op)(SimulatedArray(X), axis), getattr(np, op)(X, axis))
    for axis, kept in itertools.product(((0, 1), (2, 1), (1,)), (False, True)):
        got = gred.minmax(SimulatedArray(X), axis, keepdims=kept)
        for found, op in zip(got, (np.min, np.max), strict=True):
            check(found, op(X, axis, keepdims=kept))
    check(gred.sum(SimulatedArray(X[:0]), 0), np.zeros((4, 5), X.dtype))
    rows = gred.sum(SimulatedArray(X), 2)
    assert gred.sum(rows) == X.sum()
    check(gred.sum(rows, 0), X.sum((0, 2)))
    for axis in (None, (0, 1, 2)):
        assert type(gred.sum(SimulatedArray(X), axis)) is np.float32
    same(gred.sum(X, 1, device="simulated"), X.sum(1))


# ---- gred's device array ----


def test_it_tells_what_it_is(result):
    assert (result.ndim, result.size, result.nbytes, len(result)) == (2, 20, 80, 4)
    assert result.device == "simulated"
    assert repr(gred.sum(SimulatedArray(np.ones((2, 3))), 0)) == (
        "DeviceArray([2., 2., 2.], dtype=float64, device='simulated')"
    )
    assert np.asarray(result, np.int64).dtype == np.int64
    with pytest.raises(ValueError, match="without a copy"):
        np.array(result, copy=False)


OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv]
every_operator = pytest.mark.parametrize("operate", OPERATORS, ids=lambda one: one.__name__)


def foreign(operate):
    def method(self, other):
        is_foreign = isinstance(other, Foreign)
        return Foreign(operate(self.values, other.values)) if is_foreign else NotImplemented

    return method


class Foreign:
    """An array of a library that knows nothing of gred."""

    def __init__(self, values):
        self.values = values

    def __array_namespace__(self):
        return types.SimpleNamespace(from_dlpack=lambda given: Foreign(to_host(given)))

    __add__, __sub__, __mul__, __truediv__ = map(foreign, OPERATORS)


@every_operator
def test_arithmetic_is_the_other_operands_librarys(operate, result):
    """With NumPy arrays it runs on the host; without a library, the error says what to do."""
    for other in (Foreign(X[1] + 1), X[1] + 1, np.float32(3)):
        values = getattr(other, "values", other)
        for got, expected in (
            (operate(result, other), operate(X.sum(0), values)),
            (operate(other, result), operate(values, X.sum(0))),
        ):
            assert isinstance(got, Foreign) == isinstance(other, Foreign)
            np.testing.assert_array_equal(getattr(got, "values", got), expected)
    for other in (2.0, [1.0], SimulatedArray(X[0]), None, result):
        for operands in ((result, other), (other, result)):
            with pytest.raises(TypeError, match=r"not support arithmetic.*dlpack.*to_numpy"):
                operate(*operands)


def test_its_memory_is_not_made_by_hand_and_read_whole(result):
    with pytest.raises(TypeError):
        _core.DeviceMemory()
    for buffer in (bytearray(0), bytearray(79), bytearray(81)):
        with pytest.raises(ValueError, match="80 bytes"):
            result._memory.read(buffer)
    with pytest.raises((TypeError, BufferError)):
        result._memory.read(bytes(80))


def test_its_interface_is_version_3(result):
    interface = result.__cuda_array_interface__
    address, read_only = interface["data"]
    expected = {"shape": (4, 5), "typestr": "<f4", "version": 3, "stream": None}
    assert expected.items() <= interface.items()
    assert not read_only
    found = (ctypes.c_float * 20).from_address(address)
    np.testing.assert_array_equal(np.reshape(found, (4, 5)), X.sum(0))


def tensor_of(capsule):
    managed = Versioned.from_address(held_by(capsule, b"dltensor_versioned"))
    assert (managed.major, managed.flags) == (1, 0)
    return managed.tensor


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 3)], ids=str)
def test_it_lends_its_memory_by_dlpack(version, result):
    capsule = result.__dlpack__(max_version=version, dl_device=(EXTERNAL, 0), copy=False)
    is_new = version and version[0] >= 1
    tensor = tensor_of(capsule) if is_new else Tensor.from_address(held_by(capsule, b"dltensor"))
    assert (tensor.device_type, tensor.device) == result.__dlpack_device__() == (EXTERNAL, 0)
    assert (tensor.code, tensor.bits, tensor.lanes) == (CODES["f"], 32, 1)
    for pointer, numbers in ((tensor.shape, [4, 5]), (tensor.strides, [5, 1])):
        assert list((ctypes.c_int64 * 2).from_address(pointer)) == numbers
    assert tensor.data == result.__cuda_array_interface__["data"][0]


@pytest.mark.parametrize("taken", [False, True])
def test_who_reads_by_dlpack_keeps_the_memory(taken, result):
    """Whether or not the capsule is consumed."""
    memory, before = result._memory, sys.getrefcount(result._memory)
    capsule = result.__dlpack__(max_version=(1, 0))
    assert sys.getrefcount(memory) == before + 1
    address = held_by(capsule, b"dltensor_versioned")
    if taken:
        python.PyCapsule_SetName(ctypes.py_object(capsule), b"used_dltensor_versioned")
    del capsule
    assert sys.getrefcount(memory) == before + taken
    if taken:
        ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(Versioned.from_address(address).deleter)(address)
    assert sys.getrefcount(memory) == before


def test_what_it_does_not_lend_it_says(result):
    for options, error in (
        ({"copy": True}, BufferError),
        *(({"dl_device": device}, BufferError) for device in ((1, 0), (EXTERNAL, 1))),
        *(({"stream": stream}, ValueError) for stream in (0, 12345)),
        ({"stream": 2**64}, OverflowError),
        ({"stream": "1"}, TypeError),
    ):
        with pytest.raises(error):
            result.__dlpack__(**options)


def test_bfloat16_stays_bfloat16():
    result = gred.max(SimulatedArray(X.astype(BFLOAT16)), 0)
    check(result, X.max(0).astype(BFLOAT16))
    tensor = tensor_of(result.__dlpack__(max_version=(1, 0)))
    assert (tensor.code, tensor.bits) == (BFLOAT, 16)
    assert gred.max(result) == X.max()


# ---- malformed interfaces ----

HOST_MEMORY = np.arange(3, dtype=np.float32)
ADDRESS = HOST_MEMORY.ctypes.data
GOOD = {"shape": (3,), "typestr": "<f4", "data": (ADDRESS, False), "version": 3}


def changed(**changes):
    return Offer({key: value for key, value in (GOOD | changes).items() if value is not ...})


NO_SHAPES = [(-1,), (3, -(2**63)), (0, -1), (2**63,), (2**40, 2**40), (2**62, 4), (1,) * 1000]
NO_TYPES = [4, None, b"<f4", "f" * 1000, "\ud800", "<f4\0", "", "x", "|O8", "|V4", "<V2", "<M8[s]"]
NO_TYPES += ["<f16", "<c32", "<f1", "<i3", "|S3", "<U3", ">f4", ">i8", ">c16", ">f2"]
NO_PAIRS = [1024, None, (), (1024,), (1024, False, 3), [1024, False], ("1024", False)]
NO_PAIRS += [(10.5, False), (None, False)]
MALFORMED = [
    (key, value, error)
    for key, error, values in (
        ("shape", ValueError, NO_SHAPES),
        ("shape", TypeError, [3, None, [3], "3", (2.5,), ("3",), (None,)]),
        ("typestr", TypeError, NO_TYPES),
        ("data", ValueError, [(0, False), (-1, False), (2**64, False), (4098, False)]),
        ("data", TypeError, NO_PAIRS),
        ("version", ValueError, [1, 0, -(10**30)]),
        ("version", TypeError, ["3", None, 2.0]),
        ("strides", ValueError, [(4, 4), (), (2**63,)]),
        ("strides", TypeError, [4, [4], ("4",)]),
        ("stream", ValueError, [0, -1, 2**64]),
        ("stream", TypeError, ["1", 1.0, True]),
        ("mask", ValueError, [Offer(GOOD), True, np.ones(3, bool)]),
        ("descr", TypeError, [[("x", "<f4"), ("y", "<f4")], [("", "<i4")], "f4"]),
    )
    for value in values
]


@pytest.mark.parametrize(("key", "value", "error"), MALFORMED, ids=shown)
def test_a_malformed_entry_is_refused_by_its_name(key, value, error):
    for op in (gred.sum, gred.max, gred.mean, gred.kernel_time):
        with pytest.raises(error, match="a: ") as caught:
            op(changed(**{key: value}))
        assert caught.type is error
        about_its_type = key == "typestr" and "element" in str(caught.value)
        assert key in str(caught.value) or about_its_type


def test_an_interface_that_is_no_dict_lacks_entries_or_raises_is_refused():
    for interface in (None, 3, "shape", [("shape", (3,))], (), object()):
        with pytest.raises(TypeError, match=f"a: .*dict.*{type(interface).__name__}"):
            gred.sum(Offer(interface))
    for missing in (*([key] for key in GOOD), list(GOOD)):
        with pytest.raises(ValueError, match=".*".join(missing)):
            gred.sum(changed(**dict.fromkeys(missing, ...)))
    raising = type("Raising", (), {"__cuda_array_interface__": property(Refuses.__index__)})
    for offer in (raising(), changed(shape=(Refuses(),))):
        with pytest.raises(ZeroDivisionError):
            gred.sum(offer)


# Entries that describe host memory and name no stream.
IN_NO_MEMORY = [one for one, _ in WELL_FORMED.values() if not {"data", "stream"} & {*one}]
REFUSAL = "not a pointer to memory that a GPU can read" if GPU_IS_HERE else "GPU"


@pytest.mark.parametrize("changes", IN_NO_MEMORY)
def test_what_is_well_formed_and_in_no_gpus_memory_is_refused(changes):
    """Without a GPU, it is not taken for the simulated device's memory either."""
    with pytest.raises((RuntimeError, ValueError), match=REFUSAL):
        gred.sum(changed(**changes))
