"""Results on a device are arrays of the caller's library, made by it, on the array's device.

The simulated device's memory stands in for a GPU's, and fake modules for CuPy, Numba, PyTorch and
JAX. Some arrays of PyTorch and JAX must not be written.
"""

import contextlib
import ctypes
import sys
import weakref
from abc import ABCMeta
from ctypes import POINTER, PYFUNCTYPE, c_char_p, c_int, c_void_p, py_object
from types import ModuleType, SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from capsules import CODES, CUDA, NEW, OLD, Producer, Tensor, capsule_of
from exchanges import ALLOCATE, TAKE, exchange, lender, offer, simulated
from reference import BFLOAT16, EVERY_TYPE
from test_simulated_arrays import X, check

import gred
from gred.testing import SimulatedArray

# ---- libraries with DLPack's C exchange API ----

KINDS = {code: kind for kind, code in CODES.items()}
allocations: list = []  # requested (shape, code, bits, device type, device)
tensors: dict = {}  # tensors made, by address
plan: dict = {}  # faults of the next allocation, and where to list the tensors taken


@PYFUNCTYPE(c_int, POINTER(Tensor), POINTER(c_void_p), c_void_p, c_void_p)
def allocate(prototype, out, context, set_error):
    """Allocate a tensor in the simulated device's memory, or fail as planned."""
    tensor = prototype[0]
    shape = tuple((ctypes.c_int64 * tensor.ndim).from_address(tensor.shape))
    allocations.append((shape, tensor.code, tensor.bits, tensor.device_type, tensor.device))
    if "error" in plan:
        say = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_char_p)(set_error)
        say(context, *plan["error"]) if plan["error"] else None
        return -1
    if "nothing" in plan:
        return 0
    dtype = "?" if tensor.code == CODES["b"] else f"{KINDS[tensor.code]}{tensor.bits // 8}"
    x = np.zeros(plan.get("shape", shape), dtype)
    capsule = simulated(x, np.transpose if "transposed" in plan else lambda x: x)
    tensors[capsule.address] = capsule
    out[0] = capsule.address
    return 0


@PYFUNCTYPE(c_int, c_void_p, POINTER(py_object))
def take(address, out):
    if "untaken" in plan:
        return -1
    made = Library(tensors.pop(address))
    plan.get("seen", []).append(made.capsule.array.get())
    ctypes.pythonapi.Py_IncRef(py_object(made))
    ctypes.cast(out, POINTER(c_void_p))[0] = id(made)
    return 0


Library = lender(offer(exchange(**{ALLOCATE: allocate, TAKE: take})))


@pytest.fixture
def library():
    for kept in (allocations, tensors, plan):
        kept.clear()
    yield lambda x: Library(simulated(x), (CUDA, 0))
    plan.clear()


def holds(result, expected):
    assert type(result) is Library
    np.testing.assert_array_equal(result.capsule.array.get(), expected)


@pytest.mark.parametrize("dtype", [d for d in EVERY_TYPE if d != BFLOAT16], ids=str)
def test_a_library_with_an_exchange_makes_its_own(library, dtype):
    x = (X % 2).astype(dtype)
    holds(gred.max(library(x), 1), x.max(1))
    assert allocations == [((3, 5), CODES[x.dtype.kind], 8 * x.itemsize, CUDA, 0)]


def test_a_library_gets_its_tensors_once_the_launch_is_made(library):
    """The device may still be working then; the simulated one has finished."""
    plan["seen"] = seen = []
    ends = gred.minmax(library(X), 1, keepdims=True)
    for end, was, op in zip(ends, seen, (np.min, np.max), strict=True):
        np.testing.assert_array_equal(was, op(X, 1, keepdims=True))
        holds(end, op(X, 1, keepdims=True))
    allocations.clear()
    out = library(np.zeros((3, 5)))
    assert gred.sum(library(X), 1, out=out) is out
    holds(out, X.sum(1))
    assert not allocations


WAYS = [{"error": None}, {"nothing": True}, {"untaken": True}]
SHAPES = [{"shape": (5, 3)}, {"shape": (3, 5, 1)}, {"shape": (5, 3), "transposed": True}]
FAILURES = [({"error": (b"MemoryError", b"all gone")}, MemoryError, "all gone")]
FAILURES += [({"error": (b"BufferError", b"no such")}, RuntimeError, "no such")]
FAILURES += [(way, RuntimeError, "set no exception") for way in WAYS]
FAILURES += [(shape, RuntimeError, "of another type, shape or device") for shape in SHAPES]


@pytest.mark.parametrize(("wrong", "error", "words"), FAILURES, ids=str)
def test_an_allocator_that_fails_is_heard(library, wrong, error, words):
    array = library(X)
    plan.update(wrong)
    with pytest.raises(error, match=words):
        gred.sum(array, 1)
    assert "untaken" in wrong or all(capsule.deletions == 1 for capsule in tensors.values())
    plan.clear()
    holds(gred.sum(array, 1), X.sum(1))


@pytest.mark.parametrize("missing", [ALLOCATE, TAKE])
def test_one_that_makes_none_leaves_it_to_gred(missing):
    functions = {ALLOCATE: allocate, TAKE: take, missing: None}
    check(gred.sum(lender(offer(exchange(**functions)))(simulated(X), (CUDA, 0)), 1), X.sum(1))


# ---- libraries found by name ----

entered: list = []  # devices made current; None marks the end
made: list = []  # arrays that a library made


@contextlib.contextmanager
def current(number):
    entered.append(number)
    yield
    entered.append(None)


@pytest.fixture
def pretended(monkeypatch):
    """Install fake library modules, each with an array class."""
    entered.clear()
    made.clear()

    def pretend(name, base=SimulatedArray, **content):
        module = ModuleType(name)
        names = {"__module__": f"{name}.core", "__init__": SimulatedArray.__init__}
        vars(module).update(content, array=type("array", (base,), names))
        monkeypatch.setitem(sys.modules, name, module)
        return module

    return pretend


def keep(array, **attributes):
    """Set an array's attributes, and list it as made."""
    vars(array).update(attributes)
    made.append(array)
    return array


@pytest.fixture
def cupy(pretended):
    """Fake the names of CuPy that gred uses; `ndarray` is a class or a function."""

    def pretend(number=0, is_class=True, seen=lambda memory: None):
        def alloc(nbytes):
            memory = SimulatedArray(np.zeros(nbytes, np.uint8))
            return SimpleNamespace(memory=memory, ptr=memory.memory.address, device_id=number)

        class Ndarray(SimulatedArray):
            __module__ = "cupy"

            def __init__(self, shape, dtype, pointer=None):
                nbytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
                pointer = pointer or module.cuda.alloc(nbytes)
                seen(pointer.memory)
                view = pointer.memory._view.view(dtype).reshape(shape)
                keep(self, data=pointer, memory=pointer.memory.memory, _changes={}, _view=view)

        def ndarray(shape, dtype):
            array = module.array(np.zeros(shape, dtype))
            return keep(array, data=SimpleNamespace(ptr=array.memory.address))

        cuda = SimpleNamespace(Device=current, alloc=alloc)
        cuda.runtime = SimpleNamespace(getDevice=lambda: number)
        base, make = (Ndarray, Ndarray) if is_class else (SimulatedArray, ndarray)
        module = pretended("cupy", base, ndarray=make, cuda=cuda)
        return module

    return pretend


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("op", ["sum", "argmax", "any"])
@pytest.mark.parametrize("is_class", [True, False])
def test_cupys_arrays_come_back_on_their_own_device(cupy, monkeypatch, op, number, is_class):
    """CuPy's class is called directly, after the launch, when the simulated device has finished."""
    seen, detour = [], Mock(side_effect=AssertionError("Python was asked"))
    module = cupy(number, is_class, lambda memory: seen.append(memory.get()))
    if number == 0 and is_class:
        monkeypatch.setattr("gred.device_array.empty_like", detour)
    result, expected = getattr(gred, op)(module.array(X), 1), getattr(np, op)(X, 1)
    assert result is made.pop()
    assert entered == [0, None] * number
    np.testing.assert_array_equal(result.get(), expected, strict=True)
    if number == 0 and is_class:
        np.testing.assert_array_equal(seen.pop().view(expected.dtype).reshape(3, 5), expected)


def test_memory_of_no_number_or_that_another_device_lacks_is_not_taken(cupy):
    """If the current device has no memory left, the array's own device provides it."""
    for number in (0, 1):
        module = cupy(number)
        allocate = module.cuda.alloc

        def alloc(nbytes, number=number, allocate=allocate):
            if number and entered[-1:] != [0]:
                raise MemoryError("none of the current GPU's is left")
            pointer = allocate(nbytes)
            pointer.device_id = pointer.device_id if number else -1
            return pointer

        module.cuda.alloc = alloc
        result = gred.sum(module.array(X), 1)
        assert result is made.pop()
        np.testing.assert_array_equal(result.get(), X.sum(1))
    assert entered == [0, None]


BROKEN = [(name, 0, ArithmeticError) for name in ("alloc", "device_id", "ptr", "ndarray")]
BROKEN += [("alloc", 0, MemoryError), ("function", 0, MemoryError)]
BROKEN += [("alloc", 1, KeyboardInterrupt), ("getDevice", 1, MemoryError)]


@pytest.mark.parametrize(("broken", "number", "error"), BROKEN)
def test_what_goes_wrong_in_cupy_is_raised_and_keeps_no_memory(cupy, broken, number, error):
    """Including MemoryError, unless the array is known to be on another device."""
    left, at = [], 1 if broken == "getDevice" else 2  # which of the two results' allocations fails

    def fail(*_):
        raise error(broken)

    class Pointer(SimpleNamespace):
        pass

    def alloc(nbytes):
        pointer = Pointer(**vars(allocate(nbytes)))
        left.append(weakref.ref(pointer))
        if len(left) == at and broken in ("alloc", "getDevice"):
            fail()
        elif len(left) == at:
            vars(pointer).pop(broken, None)
            setattr(Pointer, broken, property(fail))
        return pointer

    module = cupy(number, broken != "function", *[fail] * (broken == "ndarray"))
    allocate, module.cuda.alloc = module.cuda.alloc, alloc
    if broken == "getDevice":
        module.cuda.runtime.getDevice = lambda: 1 / 0
    elif broken == "function":
        module.ndarray = fail
    with pytest.raises(error, match=broken):
        gred.minmax(module.array(X), 1)
    assert len(left) == at or broken == "function"
    assert not any(pointer() for pointer in left)


def test_numbas_arrays_come_back_on_the_same_stream(pretended):
    def device_array(shape, dtype, stream):
        return keep(numba.array(np.zeros(shape, dtype)), stream=stream)

    numba = pretended("numba")
    numba.cuda = pretended("numba.cuda", device_array=device_array, gpus=[current(0)])
    array = numba.array(X)
    array.stream = object()
    result = gred.argmax(array, -1)
    assert result is made.pop()
    assert result.stream is array.stream
    np.testing.assert_array_equal(result.get(), X.argmax(-1))


def test_jax_takes_greds_array_by_dlpack_once_it_is_made(pretended):
    """JAX arrays are immutable, so that they must be complete when handed over."""
    take = Mock(side_effect=lambda array: check(array, X.sum(1)) or "taken")
    jax = pretended("jax", dlpack=SimpleNamespace(from_dlpack=take))
    assert gred.sum(jax.array(X), 1) == "taken"
    take.assert_called_once()


# ---- what PyTorch and JAX forbid; neither needs to be installed ----

FOUR = np.arange(1, 5, dtype=np.float32)


class TorchTensor(Producer):
    """The parts of a tensor that gred uses; NumPy conversion and DLPack may decline."""

    requires_grad = False

    def resolve_conj(self):
        return self

    resolve_neg = resolve_conj

    def detach(self):
        return TorchTensor(self.capsule)

    def __dlpack__(self, **options):
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return super().__dlpack__(**options)

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


def test_a_tensor_that_requires_grad_is_neither_read_nor_written(pretended, monkeypatch):
    pretended("torch", Tensor=TorchTensor)
    memory = np.full(1, 9.0, np.float32)
    out = TorchTensor(capsule_of(memory))
    out.requires_grad = True
    with pytest.raises(ValueError, match=r"out .*requires grad.*detach\(\)"):
        gred.sum(FOUR, out=out)
    assert memory == 9
    detached = out.detach()
    assert gred.sum(FOUR, out=detached) is detached
    assert memory == 10
    with pytest.raises((RuntimeError, ValueError), match="requires grad"):
        gred.sum(out)
    assert gred.sum(detached) == 10
    broken = property(Mock(side_effect=ZeroDivisionError("no answer today")))
    monkeypatch.setattr(TorchTensor, "requires_grad", broken)
    with pytest.raises(ZeroDivisionError, match="no answer today"):
        gred.sum(FOUR, out=detached)
    assert gred.sum(FOUR) == 10


class Immutable(Producer):
    """A JAX array that exports a capsule."""


@pytest.mark.parametrize("name", [OLD, NEW], ids=["old", "new"])
def test_an_array_of_jax_is_never_written(pretended, name):
    """JAX's GPU arrays export old capsules, which cannot be marked read-only."""
    jax = pretended("jax", Array=ABCMeta("Array", (), {}))
    jax.Array.register(Immutable)  # a virtual subclass
    memory = np.full(1, 9.0, np.float32)
    with pytest.raises(ValueError, match=r"out .*JAX"):
        gred.sum(FOUR, out=Immutable(capsule_of(memory, name)))
    assert memory == 9
    assert gred.sum(Immutable(capsule_of(FOUR, name))) == 10
    assert gred.sum(FOUR, out=Producer(capsule_of(memory))).calls
    assert memory == 10


def test_jaxs_own_arrays_are_never_written(monkeypatch):
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    numpy = pytest.importorskip("jax.numpy")
    for dtype in (numpy.float32, numpy.bfloat16):
        out = numpy.full((1,), 9, dtype)
        with pytest.raises(ValueError, match=r"out .*JAX"):
            gred.sum(FOUR, out=out)
        assert float(out[0]) == gred.sum(out) == 9
