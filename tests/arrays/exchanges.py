"""Types that offer DLPack's C exchange interface, by ctypes: of any content, right or wrong.

https://dmlc.github.io/dlpack/latest/c_api.html. An object of such a type lends the tensor of its
`Capsule`, and notes which functions are called.
"""

import ctypes

from capsules import CPU, Capsule, Producer, Tensor, python

import gred

NAME = b"dlpack_exchange_api"
ATTRIBUTE = "__dlpack_c_exchange_api__"
GIVE, SHOW = "managed_tensor_from_py_object_no_sync", "dltensor_from_py_object_no_sync"
STREAM = "current_work_stream"


class Exchange(ctypes.Structure):
    """DLPackExchangeAPI."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("prev_api", ctypes.c_void_p),
        ("managed_tensor_allocator", ctypes.c_void_p),
        ("managed_tensor_from_py_object_no_sync", ctypes.c_void_p),
        ("managed_tensor_to_py_object_no_sync", ctypes.c_void_p),
        ("dltensor_from_py_object_no_sync", ctypes.c_void_p),
        ("current_work_stream", ctypes.c_void_p),
    )


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
def give(producer, out):
    """Hand over the tensor, which the receiver releases."""
    producer.functions.append("give")
    out[0] = producer.capsule.address
    return 0


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))
def show(producer, out):
    """Describe the tensor, which the receiver does not own."""
    producer.functions.append("show")
    out[0] = producer.capsule.managed.tensor
    return 0


asked: list = []


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
def current_stream(device_type, device, out):
    """Answer with the default stream, and note the device."""
    asked.append((device_type, device))
    out[0] = None
    return 0


# They fail and do not say why; and succeed, but hand over nothing.
_of_pointers = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
fail, do_nothing = _of_pointers(lambda *_: -1), _of_pointers(lambda *_: 0)
_of_device = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p)
fail_stream = _of_device(lambda *_: -1)


FUNCTIONS = {
    "managed_tensor_allocator": do_nothing,
    "managed_tensor_from_py_object_no_sync": give,
    "managed_tensor_to_py_object_no_sync": do_nothing,
    "dltensor_from_py_object_no_sync": show,
    "current_work_stream": current_stream,
}
# A function of Python's own that returns -1 with whatever the object's `__len__` raises, and one
# that sets a TypeError and returns 0.
RAISE, SET_ERROR = python.PyObject_Size, python.PyErr_BadArgument


def exchange(version=(1, 3), older: Exchange | None = None, **functions) -> Exchange:
    """Make a table; a function that is None is a null pointer."""
    pointers = {
        name: ctypes.cast(function, ctypes.c_void_p) if function else None
        for name, function in (FUNCTIONS | functions).items()
    }
    table = Exchange(*version, ctypes.addressof(older) if older else None, **pointers)
    table.kept = older
    return table


offered: list = []  # tables and names; they have to stay for as long as the process does


def offer(table: Exchange | None = None, name: bytes = NAME):
    """Make the capsule that a type has."""
    table = table or exchange()
    offered.append((table, name))
    return python.PyCapsule_New(ctypes.addressof(table), name, None)


class Lender(Producer):
    """An object whose type may offer an exchange; what it has of Python's protocols is counted."""

    def __init__(self, capsule: Capsule, device=(CPU, 0)):
        super().__init__(capsule, device)
        self.functions: list = []


refusals: list = []  # who was asked for what it refuses


def observed():
    """As a fixture: nobody may be asked for what it refuses, and the next call is right."""
    asked.clear()
    refusals.clear()
    yield
    assert not refusals
    assert gred.sum([1, 2, 3]) == 6


class Untold(Lender):
    """One that must not be asked in any other way."""

    def refuse(self, *_arguments, **_options):
        refusals.append(self)
        raise AssertionError("there was no need to ask Python")

    __dlpack__ = __dlpack_device__ = __array__ = __len__ = __getitem__ = refuse
    __cuda_array_interface__ = property(refuse)


def lender(value, base=Lender) -> type:
    """Make a type that offers this, and behind it the protocols of its base."""
    return type("Offering", (base,), {ATTRIBUTE: value})


EXCHANGING = lender(offer())
ONLY_EXCHANGING = lender(offer(), Untold)
