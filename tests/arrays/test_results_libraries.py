"""Results on a device are arrays of the caller's library, made by it, on the array's device.

The simulated device's memory stands for a GPU's, and pretended libraries for those of GPU arrays.
"""

import contextlib
import ctypes
import sys
import types
import weakref

import numpy as np
import pytest
from capsules import CODES, CUDA, Tensor, capsule_of
from devices import to_host
from exchanges import exchange, lender, offer
from reference import BFLOAT16, EVERY_TYPE
from test_results import X, check

import gred
from gred.testing import SimulatedArray

# ---- libraries with DLPack's C exchange interface ----

allocations: list = []  # (shape, code, bits, device) of what was asked for
tensors: dict = {}  # what was made, by its address
plan: dict = {}  # what the next allocation does wrong
SET_ERROR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}


POINTER = ctypes.c_void_p


def lent(x, view=lambda x: x):
    """Give a capsule of an array in the simulated device's memory, which it keeps."""
    array = SimulatedArray(x)
    capsule = capsule_of(view(array._view), device_type=CUDA)
    capsule.array = array
    return capsule


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.POINTER(Tensor), ctypes.POINTER(POINTER), POINTER, POINTER)
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
    capsule = lent(np.zeros(shape, dtype), np.transpose if "transposed" in plan else lambda x: x)
    tensors[capsule.address] = capsule
    out[0] = capsule.address
    return 0


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.py_object))
def take(address, out):
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
    for kept in (allocations, tensors, plan):
        kept.clear()
    yield lambda x: Library(lent(x), (CUDA, 0))
    plan.clear()


def holds(result, expected):
    np.testing.assert_array_equal(result.capsule.array.get(), expected)


@pytest.mark.parametrize("dtype", [d for d in EVERY_TYPE if d != BFLOAT16], ids=str)
def test_a_library_with_an_exchange_makes_its_own(library, dtype):
    x = (X % 2).astype(dtype)
    result = gred.max(library(x), 1)
    assert type(result) is Library
    holds(result, x.max(1))
    assert allocations == [((3, 5), CODES[x.dtype.kind], 8 * x.itemsize, CUDA, 0)]


def test_a_library_gets_its_tensors_once_the_launch_is_made(library):
    """The device works meanwhile; the simulated one has done so by then."""
    plan["seen"] = seen = []
    ends = gred.minmax(library(X), 1, keepdims=True)
    for end, was, name in zip(ends, seen, ("min", "max"), strict=True):
        right = getattr(X, name)(1, keepdims=True)
        np.testing.assert_array_equal(was, right)
        holds(end, right)
    allocations.clear()
    out = library(np.zeros((3, 5)))
    assert gred.sum(library(X), 1, out=out) is out
    holds(out, X.sum(1))
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
    holds(gred.sum(array, 1), X.sum(1))


@pytest.mark.parametrize("missing", ["allocator", "to_py_object_no_sync"])
def test_one_that_makes_none_leaves_it_to_gred(missing):
    functions = {"allocator": allocate, "to_py_object_no_sync": take, missing: None}
    named = {f"managed_tensor_{name}": function for name, function in functions.items()}
    check(gred.sum(lender(offer(exchange(**named)))(lent(X), (CUDA, 0)), 1), X.sum(1))


# ---- libraries by name ----

entered: list = []  # devices that were made current, and None where that ended


@contextlib.contextmanager
def current(number):
    entered.append(number)
    yield
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


def pretended_cupy(monkeypatch, make, number=0):
    """CuPy's names that gred uses; `make` stands for its class."""

    def alloc(nbytes):
        memory = SimulatedArray(np.zeros(nbytes, np.uint8))
        address = memory.__cuda_array_interface__["data"][0]
        return types.SimpleNamespace(memory=memory, ptr=address, device_id=number)

    runtime = types.SimpleNamespace(getDevice=lambda: number)
    cuda = types.SimpleNamespace(Device=current, alloc=alloc, runtime=runtime)
    return pretended("cupy", monkeypatch, ndarray=make, cuda=cuda)


@pytest.mark.parametrize("number", [0, 1])
def test_cupys_arrays_come_back_on_their_own_device(monkeypatch, number):
    entered.clear()
    made = []

    def make(shape, dtype):
        array = cupy.array(np.zeros(shape, dtype))
        address = array.__cuda_array_interface__["data"][0]
        array.data = types.SimpleNamespace(ptr=address)
        made.append(array)
        return array

    cupy = pretended_cupy(monkeypatch, make, number)
    result = gred.sum(cupy.array(X), 1)
    assert result is made.pop()
    np.testing.assert_array_equal(result.get(), X.sum(1))
    assert result.dtype == np.float32
    assert entered == [0, None] * number


def pretended_cupys_class(monkeypatch, number, seen=lambda memory: None):
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
    cupy = pretended_cupy(monkeypatch, Ndarray, number)
    array = type("derived", (Ndarray,), {"__init__": SimulatedArray.__init__})
    return made, array, cupy


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("op", ["sum", "argmax", "any"])
def test_cupys_class_is_called_without_a_detour(monkeypatch, op, number):
    """On the array's device, and once the launch is made; the simulated one is done by then."""

    def detour(*_):
        raise AssertionError("Python was asked")

    entered.clear()
    seen = []
    made, array, _ = pretended_cupys_class(
        monkeypatch, number, lambda memory: seen.append(memory.get())
    )
    if number == 0:
        monkeypatch.setattr("gred.device_array.made_like", detour)
    result, expected = getattr(gred, op)(array(X), 1), getattr(np, op)(X, 1)
    assert result is made.pop()
    assert entered == [0, None] * number
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(result.get(), expected)
    if number == 0:
        np.testing.assert_array_equal(seen.pop().view(expected.dtype).reshape(3, 5), expected)


@pytest.mark.parametrize("lacking", [True, False])
def test_memory_that_another_device_lacks_or_of_no_number_is_not_taken(monkeypatch, lacking):
    """The first is then taken from the array's own device."""
    entered.clear()
    made, array, cupy = pretended_cupys_class(monkeypatch, int(lacking))
    allocate = cupy.cuda.alloc

    def alloc(nbytes):
        if lacking and entered[-1:] != [0]:
            raise MemoryError("none of the current GPU's is left")
        pointer = allocate(nbytes)
        pointer.device_id = pointer.device_id if lacking else -1
        return pointer

    cupy.cuda.alloc = alloc
    result = gred.sum(array(X), 1)
    assert result is made.pop()
    np.testing.assert_array_equal(result.get(), X.sum(1))
    assert not lacking or entered == [0, None]


@pytest.mark.parametrize(
    ("number", "known", "error"),
    [(0, True, MemoryError), (1, False, MemoryError), (1, True, KeyboardInterrupt)],
)
def test_an_allocators_error_is_raised_unless_the_array_is_elsewhere(
    monkeypatch, number, known, error
):
    asked = []

    def fail(nbytes):
        asked.append(nbytes)
        raise error("none of the GPU's is left")

    def unknown():
        raise ArithmeticError("no device")

    _, array, cupy = pretended_cupys_class(monkeypatch, number)
    cupy.cuda.alloc = fail
    if not known:
        cupy.cuda.runtime.getDevice = unknown
    with pytest.raises(error, match="GPU's"):
        gred.sum(array(X), 1)
    assert asked == [X.sum(1).nbytes]


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
    cuda = pretended("numba.cuda", monkeypatch, device_array=device_array, gpus=[current(0)])
    numba.cuda = cuda
    array = numba.array(X)
    array.stream = object()
    result = gred.argmax(array, -1)
    assert result is made.pop()
    assert result.stream is array.stream
    np.testing.assert_array_equal(result.get(), X.argmax(-1))


def test_jax_takes_greds_array_by_dlpack_once_it_is_made(monkeypatch):
    """JAX's arrays never change, so that they have to be whole."""
    seen = []

    def from_dlpack(array):
        seen.append(to_host(array))
        return ("taken", array)

    holder = types.SimpleNamespace(from_dlpack=from_dlpack)
    library = pretended("jax", monkeypatch, dlpack=holder)
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
