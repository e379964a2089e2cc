"""Types that offer DLPack's C exchange API with arbitrary content, valid or not, using ctypes.

https://dmlc.github.io/dlpack/latest/c_api.html. An object of such a type lends its capsule's tensor
and records which functions are called.
"""

import ctypes
from ctypes import POINTER, PYFUNCTYPE, c_int, c_int32, c_uint32, c_void_p, py_object

from capsules import CUDA, Producer, Tensor, capsule_of, python, structure

import gred
from gred.testing import SimulatedArray

ATTRIBUTE = "__dlpack_c_exchange_api__"
ALLOCATE = "managed_tensor_allocator"
GIVE, TAKE = "managed_tensor_from_py_object_no_sync", "managed_tensor_to_py_object_no_sync"
SHOW, STREAM = "dltensor_from_py_object_no_sync", "current_work_stream"
Exchange = structure(
    "DLPackExchangeAPI",
    **{"major": c_uint32, "minor": c_uint32, "prev_api": c_void_p},
    **dict.fromkeys((ALLOCATE, GIVE, TAKE, SHOW, STREAM), c_void_p),
)


@PYFUNCTYPE(c_int, py_object, POINTER(c_void_p))
def give(producer, out):
    """Hand over the tensor, which the receiver releases."""
    producer.functions.append("give")
    out[0] = producer.capsule.address
    return 0


@PYFUNCTYPE(c_int, py_object, POINTER(Tensor))
def show(producer, out):
    """Describe the tensor, which the receiver does not own."""
    producer.functions.append("show")
    out[0] = producer.capsule.managed.tensor
    return 0


asked: list = []  # devices whose stream was requested
offered: list = []  # tables and names; must live as long as the process
refusals: list = []  # objects whose refusing methods were called


@PYFUNCTYPE(c_int, c_int32, c_int32, POINTER(c_void_p))
def current_stream(device_type, device, out):
    """Return the default stream, and record the device."""
    asked.append((device_type, device))
    out[0] = None
    return 0


# Functions that fail without an error, and that succeed without a result.
_of_pointers = PYFUNCTYPE(c_int, c_void_p, c_void_p)
fail, do_nothing = _of_pointers(lambda *_: -1), _of_pointers(lambda *_: 0)
fail_stream = PYFUNCTYPE(c_int, c_int32, c_int32, c_void_p)(lambda *_: -1)
# A Python API function that returns -1 with the error that the object's `__len__` raises, and one
# that sets a TypeError and returns 0.
RAISE, SET_ERROR = python.PyObject_Size, python.PyErr_BadArgument
FUNCTIONS = {ALLOCATE: do_nothing, GIVE: give, TAKE: do_nothing, SHOW: show, STREAM: current_stream}


def exchange(version=(1, 3), older: Exchange | None = None, **functions) -> Exchange:
    """Build a table; a function that is None becomes a null pointer."""
    pointers = {
        name: ctypes.cast(function, c_void_p) if function else None
        for name, function in (FUNCTIONS | functions).items()
    }
    table = Exchange(*version, ctypes.addressof(older) if older else None, **pointers)
    table.kept = older
    return table


def offer(table: Exchange | None = None, name: bytes = b"dlpack_exchange_api"):
    """Create the capsule that a type exposes."""
    table = table or exchange()
    offered.append((table, name))
    return python.PyCapsule_New(ctypes.addressof(table), name, None)


class Untold(Producer):
    """An object that may only be read through the C exchange API."""

    def refuse(self, *_arguments, **_options):
        refusals.append(self)
        raise AssertionError("there was no need to ask Python")

    __dlpack__ = __dlpack_device__ = __array__ = __len__ = __getitem__ = refuse
    __cuda_array_interface__ = property(refuse)


def simulated(x, view=lambda x: x, **changes):
    """Describe a view of an array in the simulated device's memory; the capsule keeps it alive."""
    array = SimulatedArray(x)
    capsule = capsule_of(view(array._view), **{"device_type": CUDA} | changes)
    capsule.array = array
    return capsule


def observed():
    """Fixture: no refusing method is called, and the next call is right."""
    asked.clear()
    refusals.clear()
    yield
    assert not refusals
    assert gred.sum([1, 2, 3]) == 6


def lender(value, base=Producer) -> type:
    """Create a type that offers this value; its base provides the other protocols."""
    return type("Offering", (base,), {ATTRIBUTE: value})


EXCHANGING = lender(offer())
ONLY_EXCHANGING = lender(offer(), Untold)
