"""Results that stay on a device, as arrays of the caller's library or as `DeviceArray`."""

from __future__ import annotations

import importlib
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from gred.checks import library_of

_VERSION = 3  # of the CUDA Array Interface
_Shape = tuple[int, ...]

# A lookup takes a third of the time of np.dtype(name).
_DTYPES: dict[str, np.dtype[Any]] = {
    np.dtype(code).name: np.dtype(code) for code in "?bhilBHILefdFD"
}


def dtype_named(name: str) -> np.dtype[Any]:
    """Return the NumPy dtype of an element type; bfloat16 is that of ml_dtypes."""
    if name in _DTYPES:
        return _DTYPES[name]
    dtype: np.dtype[Any] = np.dtype(importlib.import_module("ml_dtypes").bfloat16)
    return dtype


def _operator_of_other(name: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    """Create an operator that is computed by the other operand's library."""

    def operate(self: DeviceArray, other: Any) -> Any:
        if isinstance(other, (np.ndarray, np.generic)):
            return NotImplemented  # NumPy copies to the host
        space = getattr(other, "__array_namespace__", None)
        library = space() if space else library_of(other)
        if library is None:
            raise TypeError(
                "a gred.DeviceArray does not support arithmetic; convert it to CuPy, PyTorch or "
                "JAX with from_dlpack, or to NumPy with to_numpy()"
            )
        own = library.from_dlpack(self)
        return getattr(operator, name)(*((other, own) if reflected else (own, other)))

    return operate


class DeviceArray:
    """Results along axes on a GPU, for input arrays of a library that gred cannot allocate from.

    Other libraries and gred's functions read it without a copy by ``__cuda_array_interface__`` or
    DLPack. Arithmetic with an array of another library is computed by that library. Instances are
    created by gred only.

    Attributes
    ----------
    shape : tuple of int
        Tuple of array dimensions.
    dtype : numpy.dtype
        Element type.
    device : str
        Device, as for ``device=``: 'cuda:0'.

    Notes
    -----
    The work that computes it may still be pending on the GPU: readers through an interface are
    ordered after that work, and ``to_numpy()`` waits for it. Its memory is reused once the array
    has been deleted and its DLPack readers on other streams have finished.
    """

    __slots__ = ("__weakref__", "_memory", "_type", "dtype", "shape")

    def __init__(self, memory: Any, shape: tuple[int, ...], type_name: str) -> None:
        self._memory, self._type = memory, type_name
        self.shape = shape
        self.dtype = dtype_named(type_name)

    __add__, __radd__ = _operator_of_other("add"), _operator_of_other("add", True)
    __sub__, __rsub__ = _operator_of_other("sub"), _operator_of_other("sub", True)
    __mul__, __rmul__ = _operator_of_other("mul"), _operator_of_other("mul", True)
    __truediv__, __rtruediv__ = _operator_of_other("truediv"), _operator_of_other("truediv", True)

    @property
    def device(self) -> str:
        """Name of the device."""
        return str(self._memory.device)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.nbytes // self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Total bytes of the elements."""
        return int(self._memory.nbytes)

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """Copy the array to a new host array, after the pending work that computes it."""
        array = np.empty(self.shape, self.dtype)
        self._memory.read(array.reshape(-1).view(np.uint8))
        return array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """Copy the array to the host for NumPy; ``copy=False`` raises ValueError."""
        if copy is False:
            raise ValueError("a device array cannot be converted to NumPy without a copy")
        return self.to_numpy().astype(dtype or self.dtype, copy=False)

    def __len__(self) -> int:
        """Return the length of the first dimension."""
        if not self.shape:
            raise TypeError("len() of a 0-d array")
        return self.shape[0]

    def __repr__(self) -> str:
        """Format the elements as NumPy does, with dtype and device."""
        text = np.array2string(self.to_numpy(), separator=", ", prefix="DeviceArray(")
        return f"DeviceArray({text}, dtype={self.dtype}, device='{self.device}')"

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The CUDA Array Interface, version 3."""
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._memory.address, False),
            "strides": None,
            "stream": self._memory.stream,
            "version": _VERSION,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's device type and device number."""
        device: tuple[int, int] = self._memory.dl_device
        return device

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Export the memory as a DLPack capsule of at most version `max_version`.

        `stream` is the handle of the consumer's stream, which waits for the array to be computed: 1
        (the default) is the legacy default stream, 2 the per-thread one; -1 disables the wait.
        Raises ValueError if it is 0 or invalid, BufferError for a copy or another device.
        """
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError("a gred.DeviceArray is exported on its own device, without a copy")
        if stream == 0:
            raise ValueError("stream 0 is ambiguous: 1 is the legacy default, 2 the per-thread one")
        reader = 1 if stream is None else 0 if stream == -1 else stream
        versioned = max_version is not None and max_version[0] >= 1
        return self._memory.capsule(self.shape, self._type, reader, versioned)


# ---- arrays of other libraries, allocated for the extension ----


def _cupy_array(like: Any, shape: _Shape, dtype: str, device: int) -> tuple[Any, int]:
    cupy = sys.modules["cupy"]
    if cupy.cuda.runtime.getDevice() == device:
        array = cupy.ndarray(shape, dtype_named(dtype))
    else:
        with cupy.cuda.Device(device):
            array = cupy.ndarray(shape, dtype_named(dtype))
    return array, array.data.ptr


def _numba_array(like: Any, shape: _Shape, dtype: str, device: int) -> tuple[Any, int]:
    cuda = importlib.import_module("numba.cuda")
    with cuda.gpus[device]:
        array = cuda.device_array(shape, dtype_named(dtype), stream=like.stream)
    return array, array.__cuda_array_interface__["data"][0]


def _torch_array(like: Any, shape: _Shape, dtype: str, device: int) -> tuple[Any, int]:
    torch = sys.modules["torch"]
    array = torch.empty(shape, dtype=getattr(torch, dtype), device=like.device)
    return array, array.data_ptr()


_MAKERS = {"cupy": _cupy_array, "numba": _numba_array, "torch": _torch_array}
_LIBRARIES = {*_MAKERS, "jax", "jaxlib"}


def _library(array: Any) -> str:
    """Return the package of an array's type, or the first known one among its base classes."""
    names = [base.__module__.partition(".")[0] for base in type(array).__mro__]
    return next((name for name in names if name in _LIBRARIES), names[0])


def empty_like(like: Any, shape: _Shape, type_name: str, device: int) -> tuple[Any, int] | None:
    """Allocate an uninitialized array of the library of `like`; return it and its address."""
    make = _MAKERS.get(_library(like))
    return make and make(like, shape, type_name, device)


def as_jax_array(own: DeviceArray, like: Any) -> Any:
    """Convert gred's own array to a JAX array by DLPack if `like` is one."""
    if _library(like) in ("jax", "jaxlib"):
        return importlib.import_module("jax").dlpack.from_dlpack(own)
    return own
