"""Calls of gred._core that do not come from Python, as csrc/python/foreign.h has them."""

import ctypes

import numpy as np

from gred import _core

TEXT, SIZE = ctypes.c_char_p, ctypes.c_size_t


class Call(ctypes.Structure):
    _fields_ = (
        *((name, TEXT) for name in ("reduction", "input", "elements", "result")),
        *((name, ctypes.c_bool) for name in ("exact", "batch_invariant")),
        ("ddof", ctypes.c_double),
        ("data", ctypes.c_void_p),
        ("factors", ctypes.c_void_p),
        ("dimensions", ctypes.c_uint),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("axes", ctypes.c_uint64),
        ("results", ctypes.c_void_p),
        ("data_bytes", SIZE),
        ("results_bytes", SIZE),
        ("on_device", ctypes.c_bool),
        ("stream", ctypes.c_size_t),
    )


# Without the GIL, as XLA calls it.
REDUCE = ctypes.CFUNCTYPE(
    ctypes.c_bool, ctypes.c_void_p, ctypes.POINTER(Call), ctypes.c_char_p, SIZE
)


class Foreign(ctypes.Structure):
    _fields_ = (("state", ctypes.c_void_p), ("reduce", REDUCE))


def interface():
    """Take it out of its capsule."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = pointer(_core._foreign, b"gred._core._foreign")
    return ctypes.cast(address, ctypes.POINTER(Foreign)).contents


def settled(x, op, axis=None, dtype=None, method="auto", *, ddof=0, ord=None, **changes):
    """Make a call of what gred says it is, but for where arrays lie."""
    like = np.broadcast_to(np.zeros((), x.dtype), x.shape)
    bits, *names, exact, invariant = _core.settle(like, op, axis, dtype, ord, ddof, method)
    reduction, elements, result = (name.encode() for name in names)
    call = Call(reduction, x.dtype.name.encode(), elements, result, exact, invariant, ddof)
    call.dimensions, call.axes = x.ndim, bits
    call.shape = (ctypes.c_int64 * max(x.ndim, 1))(*x.shape)
    call.data_bytes = x.nbytes
    for name, value in changes.items():
        setattr(call, name, value)
    return call


def left(x, call):
    """Give the shape of the results."""
    return tuple(length for k, length in enumerate(x.shape) if not call.axes >> k & 1)


def run(call):
    """Make it; raise a RuntimeError with what it says."""
    core, why = interface(), ctypes.create_string_buffer(512)
    if not core.reduce(core.state, ctypes.byref(call), why, len(why)):
        raise RuntimeError(why.value.decode())
