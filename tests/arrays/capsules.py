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

# What may be wrong in the description of an array of float32, and what that raises.
WRONG = {
    "a negative extent": ({"shape": (-1,)}, ValueError),
    "a negative extent beside 0": ({"shape": (0, -1)}, ValueError),
    "too many elements": ({"shape": (2**40, 2**40), "strides": (0, 0)}, ValueError),
    "too many bytes": ({"shape": (2**61,), "strides": None}, ValueError),
    "far strides": ({"shape": (3,), "strides": (2**61,)}, ValueError),
    "wild strides": ({"shape": (3,), "strides": (2**63 - 1,)}, ValueError),
    "strides below 0": ({"shape": (3,), "strides": (-(2**61),)}, ValueError),
    "no data": ({"data": None}, ValueError),
    "no shape": ({"shape": None, "ndim": 3}, ValueError),
    "negative dimensions": ({"ndim": -1}, ValueError),
    "many dimensions": ({"ndim": 65, "shape": (1,) * 65, "strides": None}, ValueError),
    "most dimensions": ({"ndim": 2**31 - 1}, ValueError),
    "an offset to nowhere": ({"byte_offset": 2**64 - 1}, ValueError),
    "an opaque type": ({"code": 3}, TypeError),
    "an unknown type": ({"code": 99}, TypeError),
    "a float of 8 bits": ({"bits": 8}, TypeError),
    "a float of 80 bits": ({"bits": 80}, TypeError),
    "a float of 128 bits": ({"bits": 128}, TypeError),
    "a float of no bits": ({"bits": 0}, TypeError),
    "an integer of 4 bits": ({"code": 0, "bits": 4}, TypeError),
    "a bool of 1 bit": ({"code": 6, "bits": 1}, TypeError),
    "a vector": ({"lanes": 4}, TypeError),
    "no lanes": ({"lanes": 0}, TypeError),
}


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
    """Describe a NumPy array, and keep it."""
    assert all(stride % array.itemsize == 0 for stride in array.strides)
    description = {
        "shape": array.shape,
        "strides": [stride // array.itemsize for stride in array.strides],
        "data": array.ctypes.data,
        "code": CODES[array.dtype.kind],
        "bits": 8 * array.itemsize,
    }
    capsule = Capsule(name, **description | changes)
    capsule.array = array
    return capsule


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
