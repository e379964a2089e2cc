"""Results along axes of arrays on a device stay there, where the library has none in gred's own.

The simulated device's memory stands for a GPU's.
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


@pytest.fixture
def result():
    return gred.sum(SimulatedArray(X), 0)


OPS = ("sum", "prod", "min", "max", "mean", "any", "argmax", "ptp")
CALLS = [(op, X.astype("f8"), {"axis": axis}) for op in OPS for axis in (0, 1, -1)]
CALLS += [
    ("max", X, {"axis": axis, "keepdims": kept})
    for axis in ((0, 1), (0, 2), (2, 1), (1,))
    for kept in (False, True)
]
CALLS += [("sum", np.zeros(shape), {"axis": axis}) for shape in ((0, 3), (3, 0)) for axis in (0, 1)]


def test_results_of_an_array_on_a_device_stay_there_and_go_in_again():
    for op, x, options in CALLS:
        check(getattr(gred, op)(SimulatedArray(x), **options), getattr(np, op)(x, **options))
    for found, op in zip(gred.minmax(SimulatedArray(X), 1), (np.min, np.max), strict=True):
        check(found, op(X, 1))
    rows = gred.sum(SimulatedArray(X), 2)
    assert gred.sum(rows) == X.sum()
    check(gred.sum(rows, 0), X.sum((0, 2)))


def test_results_of_whole_arrays_and_of_the_hosts_are_numpys():
    for axis in (None, (0, 1, 2)):
        assert type(gred.sum(SimulatedArray(X), axis)) is np.float32
    result = gred.sum(X, 1, device="simulated")
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, X.sum(1))


# ---- the array itself ----


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
    """An array of a library of its own, which knows nothing of gred's."""

    def __init__(self, values):
        self.values = values

    def __array_namespace__(self):
        return types.SimpleNamespace(from_dlpack=lambda given: Foreign(to_host(given)))

    __add__, __sub__, __mul__, __truediv__ = map(foreign, OPERATORS)


@every_operator
def test_arithmetic_is_the_other_operands_librarys(operate, result):
    """That with NumPy's arrays is on the host; without a library, one is told what to do."""
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
            with pytest.raises(TypeError, match=r"no arithmetic of its own.*from_dlpack.*to_numpy"):
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
def test_it_lends_its_memory_by_dlpack(version, result):
    capsule = result.__dlpack__(max_version=version, dl_device=(EXTERNAL, 0), copy=False)
    if version and version[0] >= 1:
        managed = Versioned.from_address(get(capsule, b"dltensor_versioned"))
        assert (managed.major, managed.flags) == (1, 0)
        tensor = managed.tensor
    else:
        tensor = Tensor.from_address(get(capsule, b"dltensor"))
    assert (tensor.device_type, tensor.device) == result.__dlpack_device__() == (EXTERNAL, 0)
    assert (tensor.code, tensor.bits, tensor.lanes) == (CODES["f"], 32, 1)
    for pointer, numbers in ((tensor.shape, [4, 5]), (tensor.strides, [5, 1])):
        assert list((ctypes.c_int64 * 2).from_address(pointer)) == numbers
    assert tensor.data == result.__cuda_array_interface__["data"][0]


@pytest.mark.parametrize("taken", [False, True])
def test_who_reads_by_dlpack_keeps_the_memory(taken, result):
    """Taken or not, and however the two go."""
    memory, before = result._memory, sys.getrefcount(result._memory)
    capsule = result.__dlpack__(max_version=(1, 0))
    assert sys.getrefcount(memory) == before + 1
    address = get(capsule, b"dltensor_versioned")
    if taken:
        python.PyCapsule_SetName(ctypes.py_object(capsule), b"used_dltensor_versioned")
    del capsule
    assert sys.getrefcount(memory) == before + taken
    if taken:
        ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(Versioned.from_address(address).deleter)(address)
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
def test_what_it_does_not_lend_it_says(options, error, result):
    with pytest.raises(error):
        result.__dlpack__(**options)


def test_bfloat16_stays_bfloat16():
    result = gred.max(SimulatedArray(X.astype(BFLOAT16)), 0)
    check(result, X.max(0).astype(BFLOAT16))
    capsule = result.__dlpack__(max_version=(1, 0))
    tensor = Versioned.from_address(get(capsule, b"dltensor_versioned")).tensor
    assert (tensor.code, tensor.bits) == (BFLOAT, 16)
    assert gred.max(result) == X.max()


def test_nothing_is_kept_of_a_result():
    gone = weakref.ref(gred.sum(SimulatedArray(X), 0))
    gc.collect()
    assert gone() is None
