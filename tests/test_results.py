"""Results along axes of arrays on a device stay there: in the caller's library, or in gred's own.

The simulated device's memory stands for a GPU's, and pretended libraries for those of GPU arrays.
"""

import ctypes
import gc
import os
import sys
import types
import weakref
from pathlib import Path

import numpy as np
import pytest
from capsules import BFLOAT, CODES, CUDA, Tensor, Versioned, capsule_of, python
from drawn import examples
from exchanges import exchange, lender, offer
from hypothesis import given, settings
from hypothesis import strategies as st
from level import stays_level
from reference import BFLOAT16, EVERY_TYPE

import gred
from gred import _core
from gred.testing import SimulatedArray

X = np.arange(1, 61, dtype=np.float32).reshape(3, 4, 5) % 23
EXTERNAL = 12  # DLPack's device type for devices that it does not know


def host(array) -> np.ndarray:
    """Bring a result to the host."""
    return array.to_numpy() if isinstance(array, gred.DeviceArray) else array.get()


def check(result, expected):
    """Hold a result on the device against NumPy's: kind, shape, type and values."""
    assert isinstance(result, gred.DeviceArray)
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(host(result), expected)


# ---- gred's own arrays ----


@pytest.mark.parametrize("op", ["sum", "prod", "min", "max", "mean", "any", "argmax", "ptp"])
@pytest.mark.parametrize("axis", [0, 1, -1], ids=str)
def test_results_of_an_array_on_a_device_stay_there(op, axis):
    x = X.astype(np.float64) if op in ("sum", "prod", "mean") else X
    check(getattr(gred, op)(SimulatedArray(x), axis), getattr(np, op)(x, axis))


@pytest.mark.parametrize("axis", [(0, 1), (0, 2), (2, 1), (1,)], ids=str)
@pytest.mark.parametrize("keepdims", [False, True], ids=["dropped", "kept"])
def test_several_axes_leave_numpys_shape(axis, keepdims):
    result = gred.max(SimulatedArray(X), axis, keepdims=keepdims)
    check(result, X.max(axis, keepdims=keepdims))


@pytest.mark.parametrize("dtype", EVERY_TYPE, ids=str)
def test_results_are_of_the_reductions_type(dtype):
    x = (np.arange(12).reshape(3, 4) % 2).astype(dtype)
    result = gred.max(SimulatedArray(x), 0)
    assert result.dtype == x.dtype
    np.testing.assert_array_equal(
        host(result).astype(complex), x[1].astype(complex) * 0 + [0, 1] * 2
    )


def test_a_record_along_axes_is_two_arrays_on_the_device():
    least, greatest = gred.minmax(SimulatedArray(X), 1)
    check(least, X.min(1))
    check(greatest, X.max(1))


def test_a_whole_array_is_numpys_scalar():
    for axis in (None, (0, 1, 2)):
        assert type(gred.sum(SimulatedArray(X), axis)) is np.float32


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)], ids=str)
@pytest.mark.parametrize("axis", [0, 1])
def test_nothing_leaves_the_identity_or_no_results(shape, axis):
    check(gred.sum(SimulatedArray(np.zeros(shape)), axis), np.zeros(shape).sum(axis))


def test_a_result_goes_in_again():
    rows = gred.sum(SimulatedArray(X), 2)
    assert gred.sum(rows) == X.sum()
    check(gred.sum(rows, 0), X.sum((0, 2)))
    check(gred.max(rows[...] if hasattr(rows, "__getitem__") else rows, 1), X.sum(2).max(1))


def test_an_array_on_the_host_has_results_there():
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


def test_its_memory_is_not_made_by_hand():
    with pytest.raises(TypeError):
        _core.DeviceMemory()


@pytest.mark.parametrize("size", [0, 79, 81])
def test_its_memory_is_read_whole(size):
    memory = gred.sum(SimulatedArray(X), 0)._memory
    with pytest.raises(ValueError, match="80 bytes"):
        memory.read(bytearray(size))
    with pytest.raises((TypeError, BufferError)):
        memory.read(bytes(80))


def test_its_interface_is_version_3():
    result = gred.sum(SimulatedArray(X), 0)
    interface = result.__cuda_array_interface__
    assert interface["shape"] == (4, 5)
    assert interface["typestr"] == "<f4"
    assert interface["version"] == 3
    assert interface["stream"] is None
    address, read_only = interface["data"]
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


@pytest.mark.skipif(BFLOAT16 is None, reason="ml_dtypes is not installed")
def test_bfloat16_stays_bfloat16():
    result = gred.max(SimulatedArray(X.astype(BFLOAT16)), 0)
    check(result, X.max(0).astype(BFLOAT16))
    managed = Versioned.from_address(
        get(capsule := result.__dlpack__(max_version=(1, 0)), b"dltensor_versioned")
    )
    assert (managed.tensor.code, managed.tensor.bits) == (BFLOAT, 16)
    del capsule
    assert gred.max(result) == X.max()


# ---- out= ----

LAYOUTS = {
    "as it is": lambda a: a,
    "transposed": lambda a: a.T,
    "backwards": lambda a: a[::-1, ::-1],
    "every other": lambda a: a[::2, 1::2],
    "between others": lambda a: a[1:-1, 2:-2],
}


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int16", "bool", "complex128"])
def test_out_on_the_device_has_any_strides_and_type(layout, dtype):
    """What lies between its elements stays as it was."""
    expected = X.sum(1)  # 3 by 5
    shape = {"transposed": (5, 3), "every other": (6, 11), "between others": (5, 9)}
    around = np.full(shape.get(layout, (3, 5)), 7, dtype)
    target, model = SimulatedArray(around), around.copy()
    out = LAYOUTS[layout](target)
    assert gred.sum(SimulatedArray(X), 1, out=out) is out
    np.copyto(LAYOUTS[layout](model), expected, casting="unsafe")
    np.testing.assert_array_equal(target.get(), model)


@pytest.mark.parametrize("kept", [False, True])
def test_out_on_the_device_has_the_shape_of_the_results(kept):
    out = SimulatedArray(np.zeros((3, 1, 5) if kept else (3, 5)))
    gred.sum(SimulatedArray(X), 1, out=out, keepdims=kept)
    np.testing.assert_array_equal(out.get(), X.sum(1, keepdims=kept))
    wrong = SimulatedArray(np.zeros((3, 5) if kept else (3, 1, 5)))
    with pytest.raises(ValueError, match="shape of the results"):
        gred.sum(SimulatedArray(X), 1, out=wrong, keepdims=kept)
    assert not wrong.get().any()


@pytest.mark.parametrize("part", [np.s_[0], np.s_[2], np.s_[0, ::-1]], ids=str)
def test_out_may_overlap_with_what_is_read(part):
    memory = SimulatedArray(X)
    gred.sum(memory, 0, out=memory[part])
    np.testing.assert_array_equal(memory[part].get(), X.sum(0))


@pytest.mark.parametrize("order", ["forwards", "backwards", "shuffled"])
def test_out_may_lie_where_other_results_elements_do(order):
    """They are all read before any is written over."""
    x = np.arange(4096.0 * 8)
    memory = SimulatedArray(x)
    with gred.thread_order(order):
        gred.sum(memory.described(shape=(4096, 8)), 1, out=memory[16000:20096])
    np.testing.assert_array_equal(memory[16000:20096].get(), x.reshape(4096, 8).sum(1))


def test_out_may_overlap_with_the_mask():
    mask = SimulatedArray(X[0] > 8)
    gred.any(SimulatedArray(X), 0, where=mask, out=mask)
    np.testing.assert_array_equal(mask.get(), X.any(0, where=X[0] > 8))


def test_out_and_array_may_lie_on_different_sides():
    there, here = SimulatedArray(np.zeros((3, 5))), np.zeros((5, 3), np.float32)
    assert gred.sum(X, 1, out=there) is there
    np.testing.assert_array_equal(there.get(), X.sum(1))
    out = here.T
    assert gred.sum(SimulatedArray(X), 1, out=out) is out
    np.testing.assert_array_equal(here.T, X.sum(1))


def test_positions_go_to_integers_alone():
    out = SimulatedArray(np.zeros((3, 5), np.int32))
    gred.argmax(SimulatedArray(X), 1, out=out)
    np.testing.assert_array_equal(out.get(), X.argmax(1))
    with pytest.raises(TypeError, match="integers"):
        gred.argmax(SimulatedArray(X), 1, out=SimulatedArray(np.zeros((3, 5), np.float32)))


@given(data=st.data())
@settings(max_examples=examples(30), deadline=None)
def test_out_of_any_layout_holds_what_numpy_says(data):
    shape = data.draw(st.lists(st.integers(1, 4), min_size=2, max_size=4))
    axis = data.draw(st.integers(0, len(shape) - 1))
    x = np.arange(np.prod(shape)).reshape(shape) % 11
    expected = x.sum(axis)
    order = data.draw(st.permutations(range(expected.ndim)))
    steps = [data.draw(st.sampled_from([1, -1, 2, -3])) for _ in order]
    around = np.full([expected.shape[k] * abs(steps[k]) for k in order], 99)
    index = tuple(slice(None, None, steps[k]) for k in order)
    back = np.argsort(order)
    target = SimulatedArray(around)
    out = target._like(target._view[index].transpose(back), {})
    gred.sum(SimulatedArray(x), axis, out=out)
    around[index].transpose(back)[...] = expected
    np.testing.assert_array_equal(target.get(), around)


# ---- libraries with DLPack's C exchange interface ----

allocations: list = []  # (shape, code, bits, device) of what was asked for
tensors: dict = {}  # what was made, by its address
plan: dict = {}  # what the next allocation does wrong
SET_ERROR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}


@ctypes.PYFUNCTYPE(
    ctypes.c_int,
    ctypes.POINTER(Tensor),
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.c_void_p,
    ctypes.c_void_p,
)
def allocate(prototype, out, context, set_error):
    """Make a tensor in the simulated device's memory, or what the test wants to go wrong."""
    tensor = prototype[0]
    shape = tuple((ctypes.c_int64 * tensor.ndim).from_address(tensor.shape))
    allocations.append((shape, tensor.code, tensor.bits, tensor.device_type, tensor.device))
    if "error" in plan:
        if plan["error"]:
            SET_ERROR(set_error)(context, *plan["error"])
        return -1
    if "nothing" in plan:
        return 0
    shape = plan.get("shape", shape)
    dtype = "?" if tensor.code == 6 else f"{KINDS[tensor.code]}{tensor.bits // 8}"
    array = SimulatedArray(np.zeros(shape, dtype))
    view = array._view.T if "transposed" in plan else array._view
    capsule = capsule_of(view, device_type=CUDA)
    capsule.array = array
    tensors[capsule.address] = capsule
    out[0] = capsule.address
    return 0


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.py_object))
def take(address, out):
    """Make the tensor an object of the library's."""
    if "untaken" in plan:
        return -1
    made = Library(tensors.pop(address))
    if "seen" in plan:
        plan["seen"].append(made.capsule.array.get())
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
    ctypes.cast(out, ctypes.POINTER(ctypes.c_void_p))[0] = id(made)
    return 0


table = exchange(managed_tensor_allocator=allocate, managed_tensor_to_py_object_no_sync=take)
Library = lender(offer(table))


@pytest.fixture
def library():
    allocations.clear()
    tensors.clear()
    plan.clear()

    def of(x):
        array = SimulatedArray(x)
        capsule = capsule_of(array._view, device_type=CUDA)
        capsule.array = array
        return Library(capsule, (CUDA, 0))

    yield of
    plan.clear()


@pytest.mark.parametrize("dtype", [d for d in EVERY_TYPE if d != BFLOAT16], ids=str)
def test_a_library_with_an_exchange_makes_its_own(library, dtype):
    x = (X % 2).astype(dtype)
    result = gred.max(library(x), 1)
    assert type(result) is Library
    np.testing.assert_array_equal(result.capsule.array.get(), x.max(1))
    assert allocations == [((3, 5), CODES[x.dtype.kind], 8 * x.itemsize, CUDA, 0)]


def test_a_library_gets_its_tensors_once_the_launch_is_made(library):
    """The device works meanwhile; the simulated one has done so by then."""
    x = library(X)
    plan["seen"] = seen = []
    gred.minmax(x, 1)
    least, greatest = seen
    np.testing.assert_array_equal(least, X.min(1))
    np.testing.assert_array_equal(greatest, X.max(1))


def test_its_records_are_two_of_its_arrays(library):
    least, greatest = gred.minmax(library(X), 1, keepdims=True)
    np.testing.assert_array_equal(least.capsule.array.get(), X.min(1, keepdims=True))
    np.testing.assert_array_equal(greatest.capsule.array.get(), X.max(1, keepdims=True))


def test_its_out_is_written_and_nothing_is_made(library):
    out = library(np.zeros((3, 5)))
    assert gred.sum(library(X), 1, out=out) is out
    np.testing.assert_array_equal(out.capsule.array.get(), X.sum(1))
    assert not allocations


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ({"error": (b"MemoryError", b"all gone")}, MemoryError, "all gone"),
        ({"error": (b"BufferError", b"no such")}, RuntimeError, "no such"),
        ({"error": None}, RuntimeError, "does not say why"),
        ({"nothing": True}, RuntimeError, "does not say why"),
        ({"untaken": True}, RuntimeError, "does not say why"),
        ({"shape": (5, 3)}, RuntimeError, "not what it was asked for"),
        ({"shape": (3, 5, 1)}, RuntimeError, "not what it was asked for"),
        ({"shape": (5, 3), "transposed": True}, RuntimeError, "not what it was asked for"),
    ],
    ids=str,
)
def test_an_allocator_that_fails_is_heard(library, wrong, error, words):
    array = library(X)
    plan.update(wrong)
    with pytest.raises(error, match=words):
        gred.sum(array, 1)
    made = [capsule for capsule in tensors.values() if "untaken" not in wrong]
    assert all(capsule.deletions == 1 for capsule in made)
    plan.clear()
    np.testing.assert_array_equal(gred.sum(array, 1).capsule.array.get(), X.sum(1))


@pytest.mark.parametrize(
    "missing", ["managed_tensor_allocator", "managed_tensor_to_py_object_no_sync"]
)
def test_one_that_makes_none_leaves_it_to_gred(missing):
    functions = {
        "managed_tensor_allocator": allocate,
        "managed_tensor_to_py_object_no_sync": take,
        missing: None,
    }
    array = SimulatedArray(X)
    capsule = capsule_of(array._view, device_type=CUDA)
    check(gred.sum(lender(offer(exchange(**functions)))(capsule, (CUDA, 0)), 1), X.sum(1))


# ---- libraries by name ----


entered: list = []  # devices that were made current, and None where that ended


class Current:
    """A library's device, made current."""

    def __init__(self, number):
        self.number = number

    def __enter__(self):
        entered.append(self.number)

    def __exit__(self, *_error):
        entered.append(None)


def pretended(name, monkeypatch, **content):
    """Put a module in the place of a library, with a class of arrays of its own."""

    def initialise(self, x, dtype=None):
        array = SimulatedArray(x, dtype)
        self.__dict__ |= array.__dict__

    array = type("array", (SimulatedArray,), {"__module__": f"{name}.core", "__init__": initialise})
    module = types.ModuleType(name)
    module.__dict__.update(content, array=array)
    monkeypatch.setitem(sys.modules, name, module)
    return module


def pretended_cupy(monkeypatch, make, current=0):
    """CuPy's names that gred uses; `make` stands for its class."""

    def alloc(nbytes):
        memory = SimulatedArray(np.zeros(nbytes, np.uint8))
        address = memory.__cuda_array_interface__["data"][0]
        return types.SimpleNamespace(memory=memory, ptr=address, device_id=current)

    runtime = types.SimpleNamespace(getDevice=lambda: current)
    cuda = types.SimpleNamespace(Device=Current, alloc=alloc, runtime=runtime)
    return pretended("cupy", monkeypatch, ndarray=make, cuda=cuda)


@pytest.mark.parametrize("current", [0, 1])
def test_cupys_arrays_come_back_on_their_own_device(monkeypatch, current):
    entered.clear()
    made = []

    def make(shape, dtype):
        array = cupy.array(np.zeros(shape, dtype))
        address = array.__cuda_array_interface__["data"][0]
        array.data = types.SimpleNamespace(ptr=address)
        made.append(array)
        return array

    cupy = pretended_cupy(monkeypatch, make, current)
    result = gred.sum(cupy.array(X), 1)
    assert result is made.pop()
    np.testing.assert_array_equal(result.get(), X.sum(1))
    assert result.dtype == np.float32
    assert entered == [0, None] * current


def pretended_cupys_class(monkeypatch, current, seen=lambda memory: None):
    """Put a class in the place of CuPy's; all that are made of a shape and a type are listed."""
    made = []

    class Ndarray(SimulatedArray):
        def __init__(self, shape, dtype, pointer=None):
            self.data = pointer or cupy.cuda.alloc(int(np.prod(shape)) * np.dtype(dtype).itemsize)
            seen(self.data.memory)
            flat = self.data.memory
            self.memory, self._changes = flat.memory, {}
            self._view = flat._view.view(dtype).reshape(shape)
            made.append(self)

    Ndarray.__module__ = "cupy"
    cupy = pretended_cupy(monkeypatch, Ndarray, current)
    array = type("derived", (Ndarray,), {"__init__": SimulatedArray.__init__})
    return made, array, cupy


@pytest.mark.parametrize("op", ["sum", "argmax", "any"])
def test_cupys_class_is_called_without_a_detour(monkeypatch, op):
    def detour(*_):
        raise AssertionError("Python was asked")

    made, array, _ = pretended_cupys_class(monkeypatch, 0)
    monkeypatch.setattr("gred.device_array.made_like", detour)
    result = getattr(gred, op)(array(X), 1, keepdims=True)
    expected = getattr(np, op)(X, 1, keepdims=True)
    assert result is made.pop()
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(result.get(), expected)


def test_cupys_class_is_called_once_the_launch_is_made(monkeypatch):
    """The device works meanwhile; the simulated one has done so by then."""
    seen = []
    _, array, _ = pretended_cupys_class(monkeypatch, 0, lambda memory: seen.append(memory.get()))
    gred.minmax(array(X), 1)
    least, greatest = (memory.view(X.dtype).reshape(3, 5) for memory in seen)
    np.testing.assert_array_equal(least, X.min(1))
    np.testing.assert_array_equal(greatest, X.max(1))


def test_cupys_class_is_called_on_the_arrays_device(monkeypatch):
    entered.clear()
    made, array, _ = pretended_cupys_class(monkeypatch, 1)
    assert gred.max(array(X), 0) is made.pop()
    assert entered == [0, None]


def test_memory_that_another_device_lacks_is_taken_from_the_arrays_own(monkeypatch):
    entered.clear()
    made, array, cupy = pretended_cupys_class(monkeypatch, 1)
    allocate = cupy.cuda.alloc

    def alloc(nbytes):
        if entered[-1:] != [0]:
            raise MemoryError("none of the current GPU's is left")
        return allocate(nbytes)

    cupy.cuda.alloc = alloc
    result = gred.sum(array(X), 1)
    assert result is made.pop()
    np.testing.assert_array_equal(result.get(), X.sum(1))
    assert entered == [0, None]


@pytest.mark.parametrize(
    ("current", "known", "error"),
    [(0, True, MemoryError), (1, False, MemoryError), (1, True, KeyboardInterrupt)],
)
def test_an_allocators_error_is_raised_unless_the_array_is_elsewhere(
    monkeypatch, current, known, error
):
    asked = []

    def fail(nbytes):
        asked.append(nbytes)
        raise error("none of the GPU's is left")

    def unknown():
        raise ArithmeticError("no device")

    _, array, cupy = pretended_cupys_class(monkeypatch, current)
    cupy.cuda.alloc = fail
    if not known:
        cupy.cuda.runtime.getDevice = unknown
    with pytest.raises(error, match="GPU's"):
        gred.sum(array(X), 1)
    assert asked == [X.sum(1).nbytes]


def test_memory_of_a_device_without_a_number_is_not_taken(monkeypatch):
    made, array, cupy = pretended_cupys_class(monkeypatch, 0)
    allocate = cupy.cuda.alloc

    def alloc(nbytes):
        pointer = allocate(nbytes)
        pointer.device_id = -1
        return pointer

    cupy.cuda.alloc = alloc
    result = gred.sum(array(X), 1)
    assert result is made.pop()
    np.testing.assert_array_equal(result.get(), X.sum(1))


@pytest.mark.parametrize("broken", ["alloc", "device_id", "ptr", "ndarray"])
def test_what_goes_wrong_in_cupy_is_raised_and_keeps_no_memory(monkeypatch, broken):
    def fail(*_):
        raise ArithmeticError(broken)

    class Pointer(types.SimpleNamespace):
        pass

    def alloc(nbytes):
        pointer = Pointer(**vars(allocate(nbytes)))
        left.append(weakref.ref(pointer))
        if broken != "alloc" and len(left) == 2:
            vars(pointer).pop(broken, None)
            setattr(Pointer, broken, property(fail))
        return pointer if broken != "alloc" or len(left) < 2 else fail()

    left = []
    _, array, cupy = pretended_cupys_class(monkeypatch, 0, *[fail] * (broken == "ndarray"))
    allocate, cupy.cuda.alloc = cupy.cuda.alloc, alloc
    with pytest.raises(ArithmeticError, match=broken):
        gred.minmax(array(X), 1)
    assert len(left) == 2
    assert not any(pointer() for pointer in left)


def test_numbas_arrays_come_back_on_the_same_stream(monkeypatch):
    made = []

    def device_array(shape, dtype, stream):
        array = numba.array(np.zeros(shape, dtype))
        array.stream = stream
        made.append(array)
        return array

    numba = pretended("numba", monkeypatch)
    cuda = pretended("numba.cuda", monkeypatch, device_array=device_array, gpus=[Current(0)])
    numba.cuda = cuda
    array = numba.array(X)
    array.stream = object()
    result = gred.argmax(array, -1)
    assert result is made.pop()
    assert result.stream is array.stream
    np.testing.assert_array_equal(result.get(), X.argmax(-1))


@pytest.mark.parametrize("name", ["jax", "torch"])
def test_others_take_greds_array_by_dlpack_once_it_is_made(name, monkeypatch):
    """JAX's arrays never change, so that they have to be whole."""
    seen = []

    def from_dlpack(array):
        seen.append(host(array))
        return ("taken", array)

    holder = types.SimpleNamespace(from_dlpack=from_dlpack)
    library = pretended(name, monkeypatch, dlpack=holder, from_dlpack=from_dlpack)
    taken, array = gred.sum(library.array(X), 1)
    assert taken == "taken"
    check(array, X.sum(1))
    np.testing.assert_array_equal(seen[0], X.sum(1))


def test_a_library_that_cannot_raises_its_own_error(monkeypatch):
    def make(_shape, _dtype):
        raise MemoryError("none of the GPU's is left")

    cupy = pretended_cupy(monkeypatch, make)
    with pytest.raises(MemoryError, match="GPU's"):
        gred.sum(cupy.array(X), 1)


# ---- memory ----


@pytest.mark.unsanitized
def test_memory_goes_with_the_array():
    """30 results of 1 MiB would show."""
    array = SimulatedArray(np.ones((1, 1 << 17)))

    def resident():
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGESIZE")

    gred.sum(array, 0)
    before = resident()
    for _ in range(30):
        gred.sum(array, 0)
    assert resident() - before < 16 << 20


def test_nothing_is_kept_of_a_result():
    result = gred.sum(SimulatedArray(X), 0)
    gone = weakref.ref(result)
    del result
    gc.collect()
    assert gone() is None


def test_references_stay_level():
    array, out = SimulatedArray(X), SimulatedArray(np.zeros((3, 5)))
    strided = SimulatedArray(np.zeros((5, 3))).T
    calls = (
        lambda: gred.sum(array, 1),
        lambda: gred.minmax(array, 1),
        lambda: gred.sum(array, 1, out=out),
        lambda: gred.sum(array, 1, out=strided),
    )
    objects = (array, out, strided, array.memory, gred.DeviceArray, _core.DeviceMemory)
    for call in calls:
        stays_level(call, objects, rounds=100)
