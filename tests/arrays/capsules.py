"""DLPack capsules with arbitrary content, old and versioned, valid or not, built with ctypes.

https://dmlc.github.io/dlpack/latest/c_api.html. Deleters only count their calls. A `Capsule` owns
the memory that the DLPack capsule points to, and must outlive it.
"""

import ctypes
from collections import Counter
from ctypes import c_int32, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
BFLOAT = 4
CODES = {"i": 0, "u": 1, "f": 2, "V": BFLOAT, "c": 5, "b": 6}
READ_ONLY, COPIED = 1, 2
OLD, NEW = b"dltensor", b"dltensor_versioned"
MOST_DIMENSIONS = 80

# Faults in the description of a float32 array, and the errors they raise.
WRONG = {
    "a negative extent": ({"shape": (-1,)}, ValueError),
    "too many elements": ({"shape": (2**40, 2**40), "strides": (0, 0)}, ValueError),
    "too many bytes": ({"shape": (2**61,), "strides": None}, ValueError),
    "wild strides": ({"shape": (3,), "strides": (2**63 - 1,)}, ValueError),
    "no data": ({"data": None}, ValueError),
    "no shape": ({"shape": None, "ndim": 3}, ValueError),
    "negative dimensions": ({"ndim": -1}, ValueError),
    "many dimensions": ({"ndim": 65, "shape": (1,) * 65, "strides": None}, ValueError),
    "an offset to nowhere": ({"byte_offset": 2**64 - 1}, ValueError),
    "an opaque type": ({"code": 3}, TypeError),
    **{f"a float of {bits} bits": ({"bits": bits}, TypeError) for bits in (0, 80)},
    "an integer of 4 bits": ({"code": 0, "bits": 4}, TypeError),
    "a bool of 1 bit": ({"code": 6, "bits": 1}, TypeError),
    "a vector": ({"lanes": 4}, TypeError),
}


def structure(name: str, **fields) -> type:
    """Define a C struct."""
    return type(name, (ctypes.Structure,), {"_fields_": list(fields.items())})


_type = {"code": c_uint8, "bits": c_uint8, "lanes": c_uint16}
_device = {"device_type": c_int32, "device": c_int32, "ndim": c_int32}
_layout = {"shape": c_void_p, "strides": c_void_p, "byte_offset": c_uint64}
_owner = {"context": c_void_p, "deleter": c_void_p}
_version = {"major": c_uint32, "minor": c_uint32, **_owner, "flags": c_uint64}
Tensor = structure("DLTensor", data=c_void_p, **_device, **_type, **_layout)
Managed = structure("DLManagedTensor", tensor=Tensor, **_owner)
Versioned = structure("DLManagedTensorVersioned", **_version, tensor=Tensor)

deletions: Counter = Counter()
python = ctypes.pythonapi
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = (c_void_p, ctypes.c_char_p, c_void_p)
# These take a capsule that is being destroyed, which is no longer a Python object.
valid, pointer = python["PyCapsule_IsValid"], python["PyCapsule_GetPointer"]
valid.argtypes = pointer.argtypes = (c_void_p, ctypes.c_char_p)
held_by = python.PyCapsule_GetPointer
held_by.argtypes = (ctypes.py_object, ctypes.c_char_p)
pointer.restype = held_by.restype = c_void_p


@ctypes.PYFUNCTYPE(None, c_void_p)
def deleter(managed):
    """Count the deletion; the structure owns nothing that needs to be freed."""
    deletions[managed] += 1


@ctypes.PYFUNCTYPE(None, c_void_p)
def destructor(capsule):
    """Release a tensor that was not consumed, as a producer's capsule does."""
    for name in (OLD, NEW):
        if valid(capsule, name):
            deletions[pointer(capsule, name)] += 1


class Capsule:
    """The content of a DLPack capsule, and all the memory it points to."""

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
        self.name, self.kept = name, []
        for field, numbers in (("shape", shape), ("strides", strides)):
            if numbers is not None:
                self.kept.append((ctypes.c_int64 * MOST_DIMENSIONS)(*numbers))
                tensor[field] = ctypes.addressof(self.kept[-1])
        tensor = {"ndim": len(shape or ()), "device_type": CPU, "lanes": 1} | tensor
        release = ctypes.cast(deleter, c_void_p) if with_deleter else None
        if name == NEW:
            self.managed = Versioned(*version, None, release, flags, Tensor(**tensor))
        else:
            self.managed = Managed(Tensor(**tensor), None, release)
        self.address = ctypes.addressof(self.managed)
        deletions[self.address] = 0

    @property
    def deletions(self) -> int:
        """Number of times the tensor was released."""
        return deletions[self.address]

    def make(self):
        """Create the DLPack capsule."""
        return python.PyCapsule_New(self.address, self.name, ctypes.cast(destructor, c_void_p))


def capsule_of(array, name: bytes = NEW, **changes) -> Capsule:
    """Describe a NumPy array, and keep it alive."""
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
    """An object that exports a capsule and reports its device; it records how it is called."""

    def __init__(self, capsule, device=(CPU, 0)):
        self.capsule, self.device = capsule, device
        self.calls, self.functions = [], []  # Python protocol calls, C exchange calls

    def __dlpack__(self, **options):
        self.calls.append(options)
        return self.capsule.make() if isinstance(self.capsule, Capsule) else self.capsule

    def __dlpack_device__(self):
        return self.device
