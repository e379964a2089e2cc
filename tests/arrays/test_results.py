"""Results along axes of arrays on a device stay there: in the caller's library, or in gred's own.

The simulated device's memory stands for a GPU's, and pretended libraries for those of GPU arrays.
"""

import ctypes
import gc
import operator
import sys
import types
import weakref

import numpy as np
import pytest
from capsules import BFLOAT, CODES, Tensor, Versioned, python
from devices import to_host
from reference import BFLOAT16

import gred
from gred import _core
from gred.testing import SimulatedArray

EXTERNAL = 12  # DLPack's device type for devices that it does not know
X = np.arange(1, 61, dtype=np.float32).reshape(3, 4, 5) % 23


def check(result, expected):
    assert isinstance(result, gred.DeviceArray)
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(to_host(result), expected)


# ---- gred's own arrays ----


WIDE = X.astype(np.float64)
CALLS = [
    (op, WIDE if op in ("sum", "prod", "mean") else X, {"axis": axis})
    for op in ("sum", "prod", "min", "max", "mean", "any", "argmax", "ptp")
    for axis in (0, 1, -1)
]
CALLS += [
    ("max", X, {"axis": axis, "keepdims": kept})
    for axis in ((0, 1), (0, 2), (2, 1), (1,))
    for kept in (False, True)
]
CALLS += [("sum", np.zeros(shape), {"axis": axis}) for shape in ((0, 3), (3, 0)) for axis in (0, 1)]


@pytest.mark.parametrize(("op", "x", "options"), CALLS)
def test_results_of_an_array_on_a_device_stay_there(op, x, options):
    check(getattr(gred, op)(SimulatedArray(x), **options), getattr(np, op)(x, **options))


def test_results_are_records_scalars_and_arrays_that_go_in_again():
    """And on the host where the array lies there."""
    least, greatest = gred.minmax(SimulatedArray(X), 1)
    check(least, X.min(1))
    check(greatest, X.max(1))
    for axis in (None, (0, 1, 2)):
        assert type(gred.sum(SimulatedArray(X), axis)) is np.float32
    rows = gred.sum(SimulatedArray(X), 2)
    assert gred.sum(rows) == X.sum()
    check(gred.sum(rows, 0), X.sum((0, 2)))
    result = gred.sum(X, 1, device="simulated")
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, X.sum(1))


# ---- the array itself ----


def test_it_tells_what_it_is():
    result = gred.sum(SimulatedArray(X), 0)
    assert (result.ndim, result.size, result.nbytes, len(result)) == (2, 20, 80, 4)
    assert result.device == "simulated"
    assert repr(gred.sum(SimulatedArray(np.ones((2, 3))), 0)) == (
        "DeviceArray([2., 2., 2.], dtype=float64, device='simulated')"
    )
    np.testing.assert_array_equal(np.asarray(result), X.sum(0))
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
    """An array of a library of its own, which knows nothing of gred's."""

    def __init__(self, values):
        self.values = values

    def __array_namespace__(self):
        return types.SimpleNamespace(from_dlpack=lambda given: Foreign(to_host(given)))

    __add__, __sub__, __mul__, __truediv__ = map(foreign, OPERATORS)


@every_operator
def test_arithmetic_is_the_other_operands_librarys(operate):
    """That with NumPy's arrays is on the host."""
    result, x = gred.sum(SimulatedArray(X), 0), X[1] + 1
    for other in (Foreign(x), x, np.float32(3)):
        values = getattr(other, "values", other)
        for got, expected in (
            (operate(result, other), operate(X.sum(0), values)),
            (operate(other, result), operate(values, X.sum(0))),
        ):
            assert isinstance(got, Foreign) == isinstance(other, Foreign)
            np.testing.assert_array_equal(getattr(got, "values", got), expected)


@every_operator
@pytest.mark.parametrize("other", [2.0, [1.0], SimulatedArray(X[0]), None])
def test_arithmetic_without_a_library_says_what_to_do(operate, other):
    result = gred.sum(SimulatedArray(X), 0)
    for operands in ((result, other), (other, result), (result, result)):
        with pytest.raises(TypeError, match=r"no arithmetic of its own.*from_dlpack.*to_numpy\(\)"):
            operate(*operands)


def test_its_memory_is_not_made_by_hand_and_read_whole():
    with pytest.raises(TypeError):
        _core.DeviceMemory()
    memory = gred.sum(SimulatedArray(X), 0)._memory
    for size in (0, 79, 81):
        with pytest.raises(ValueError, match="80 bytes"):
            memory.read(bytearray(size))
    with pytest.raises((TypeError, BufferError)):
        memory.read(bytes(80))


def test_its_interface_is_version_3():
    result = gred.sum(SimulatedArray(X), 0)
    interface = dict(result.__cuda_array_interface__)
    address, read_only = interface.pop("data")
    expected = {"shape": (4, 5), "typestr": "<f4", "version": 3, "stream": None}
    assert expected.items() <= interface.items()
    assert not read_only
    found = np.frombuffer((ctypes.c_ubyte * 80).from_address(address), np.float32)
    np.testing.assert_array_equal(found.reshape(4, 5), X.sum(0))


get = python.PyCapsule_GetPointer
get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 3)], ids=str)
def test_it_lends_its_memory_by_dlpack(version):
    result = gred.sum(SimulatedArray(X), 0)
    capsule = result.__dlpack__(max_version=version, dl_device=(EXTERNAL, 0), copy=False)
    if version and version[0] >= 1:
        managed = Versioned.from_address(get(capsule, b"dltensor_versioned"))
        assert (managed.major, managed.flags) == (1, 0)
        tensor = managed.tensor
    else:
        tensor = Tensor.from_address(get(capsule, b"dltensor"))
    assert (tensor.device_type, tensor.device) == result.__dlpack_device__() == (EXTERNAL, 0)
    assert (tensor.code, tensor.bits, tensor.lanes) == (CODES["f"], 32, 1)
    assert list((ctypes.c_int64 * 2).from_address(tensor.shape)) == [4, 5]
    assert list((ctypes.c_int64 * 2).from_address(tensor.strides)) == [5, 1]
    assert tensor.data == result.__cuda_array_interface__["data"][0]


def test_who_reads_by_dlpack_keeps_the_memory():
    """Taken or not, and however the two go."""
    release = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
    for taken in (False, True):
        result = gred.sum(SimulatedArray(X), 0)
        memory, before = result._memory, sys.getrefcount(result._memory)
        capsule = result.__dlpack__(max_version=(1, 0))
        assert sys.getrefcount(memory) == before + 1
        address = get(capsule, b"dltensor_versioned")
        if taken:
            name = b"used_dltensor_versioned"
            ctypes.pythonapi.PyCapsule_SetName(ctypes.py_object(capsule), name)
        del capsule
        assert sys.getrefcount(memory) == before + taken
        if taken:
            release(Versioned.from_address(address).deleter)(address)
        assert sys.getrefcount(memory) == before


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"copy": True}, BufferError),
        ({"dl_device": (1, 0)}, BufferError),
        ({"dl_device": (EXTERNAL, 1)}, BufferError),
        ({"stream": 0}, ValueError),
        ({"stream": 12345}, ValueError),
        ({"stream": 2**64}, OverflowError),
        ({"stream": "1"}, TypeError),
    ],
    ids=str,
)
def test_what_it_does_not_lend_it_says(options, error):
    with pytest.raises(error):
        gred.sum(SimulatedArray(X), 0).__dlpack__(**options)


def test_bfloat16_stays_bfloat16():
    result = gred.max(SimulatedArray(X.astype(BFLOAT16)), 0)
    check(result, X.max(0).astype(BFLOAT16))
    managed = Versioned.from_address(
        get(capsule := result.__dlpack__(max_version=(1, 0)), b"dltensor_versioned")
    )
    assert (managed.tensor.code, managed.tensor.bits) == (BFLOAT, 16)
    del capsule
    assert gred.max(result) == X.max()


# ---- memory ----


def test_nothing_is_kept_of_a_result():
    result = gred.sum(SimulatedArray(X), 0)
    gone = weakref.ref(result)
    del result
    gc.collect()
    assert gone() is None


# ---- `out=` on a device: of any strides and type, and over what is read ----


@pytest.mark.parametrize("order", ["forwards", "backwards", "shuffled"])
def test_out_may_lie_where_other_results_elements_do(order):
    """They are all read before any is written over."""
    x = np.arange(4096.0 * 8)
    memory = SimulatedArray(x)
    with gred.thread_order(order):
        gred.sum(memory.described(shape=(4096, 8)), 1, out=memory[16000:20096])
    np.testing.assert_array_equal(memory[16000:20096].get(), x.reshape(4096, 8).sum(1))


def test_positions_go_to_integers_alone():
    out = SimulatedArray(np.zeros((3, 5), np.int32))
    gred.argmax(SimulatedArray(X), 1, out=out)
    np.testing.assert_array_equal(out.get(), X.argmax(1))
    with pytest.raises(TypeError, match="integers"):
        gred.argmax(SimulatedArray(X), 1, out=SimulatedArray(np.zeros((3, 5), np.float32)))
