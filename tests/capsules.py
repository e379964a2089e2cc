"""DLPack capsules of any content, by ctypes: of both forms, with whatever is wrong in them.

https://dmlc.github.io/dlpack/latest/c_api.html. Deleters only count how often they are called; a
`Capsule` owns what its capsule points to, and has to outlive it.
"""

import ctypes
from collections import Counter

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
INT, UINT, FLOAT, BFLOAT, COMPLEX, BOOL = 0, 1, 2, 4, 5, 6
CODES = {"i": INT, "u": UINT, "f": FLOAT, "c": COMPLEX, "b": BOOL, "V": BFLOAT}
READ_ONLY, COPIED = 1, 2
OLD, NEW = b"dltensor", b"dltensor_versioned"
MOST_DIMENSIONS = 80


class Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


class Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


deletions: Counter = Counter()
python = ctypes.pythonapi
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
python.PyCapsule_GetName.restype = ctypes.c_char_p
python.PyCapsule_GetName.argtypes = (ctypes.py_object,)
valid = ctypes.pythonapi["PyCapsule_IsValid"]
valid.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
pointer = ctypes.pythonapi["PyCapsule_GetPointer"]
pointer.restype = ctypes.c_void_p
pointer.argtypes = (ctypes.c_void_p, ctypes.c_char_p)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def deleter(managed):
    """Count; the structure holds nothing that would have to be freed."""
    deletions[managed] += 1


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def destructor(capsule):
    """Release a tensor that nobody has taken, as a producer's capsule does."""
    for name in (OLD, NEW):
        if valid(capsule, name):
            deletions[pointer(capsule, name)] += 1


DELETER = ctypes.cast(deleter, ctypes.c_void_p)
DESTRUCTOR = ctypes.cast(destructor, ctypes.c_void_p)


class Capsule:
    """A capsule to be, with everything that it points to."""

    def __init__(
        self,
        name: bytes = NEW,
        *,
        shape=(),
        strides=None,
        version=(1, 0),
        flags: int = 0,
        with_deleter: bool = True,
        **tensor,
    ):
        self.name = name
        self.shape = self.strides = None
        if shape is not None:
            self.shape = (ctypes.c_int64 * MOST_DIMENSIONS)(*shape)
            tensor["shape"] = ctypes.addressof(self.shape)
        if strides is not None:
            self.strides = (ctypes.c_int64 * MOST_DIMENSIONS)(*strides)
            tensor["strides"] = ctypes.addressof(self.strides)
        tensor = {"ndim": len(shape or ()), "device_type": CPU, "lanes": 1} | tensor
        deleter = DELETER if with_deleter else None
        if name == NEW:
            self.managed = Versioned(*version, None, deleter, flags, Tensor(**tensor))
        else:
            self.managed = Managed(Tensor(**tensor), None, deleter)
        self.address = ctypes.addressof(self.managed)
        deletions[self.address] = 0

    @property
    def deletions(self) -> int:
        """How often the tensor was released."""
        return deletions[self.address]

    def make(self):
        """Make the capsule itself."""
        return python.PyCapsule_New(self.address, self.name, DESTRUCTOR)


def capsule_of(array, name: bytes = NEW, **changes) -> Capsule:
    """Describe a NumPy array."""
    assert all(stride % array.itemsize == 0 for stride in array.strides)
    description = {
        "shape": array.shape,
        "strides": [stride // array.itemsize for stride in array.strides],
        "data": array.ctypes.data,
        "code": CODES[array.dtype.kind],
        "bits": 8 * array.itemsize,
    }
    return Capsule(name, **description | changes)


class Producer:
    """An object that offers a capsule, and says where its memory is."""

    def __init__(self, capsule, device=(CPU, 0)):
        self.capsule, self.device = capsule, device
        self.calls = []

    def __dlpack__(self, **options):
        self.calls.append(options)
        return self.capsule.make() if isinstance(self.capsule, Capsule) else self.capsule

    def __dlpack_device__(self):
        return self.device
