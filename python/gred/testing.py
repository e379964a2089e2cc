"""Stand-ins for arrays on a GPU, for tests on machines without one."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gred import _core

__all__ = ["SimulatedArray"]

_LEGACY_DEFAULT_STREAM = 1


def _plain(a: ArrayLike, dtype: DTypeLike | None) -> np.ndarray[Any, Any]:
    """Take `a` as an array whose elements are what their bytes are, or refuse it."""
    if isinstance(a, np.ma.MaskedArray):
        raise TypeError(
            "a: masked arrays are not supported; a.compressed() drops masked elements, "
            "a.filled(value) replaces them"
        )
    array = np.asarray(a, dtype)
    if array.dtype.hasobject:
        raise TypeError(
            f"a: elements of type {array.dtype} are references, which have no meaning in a "
            "device's memory; give an array of numbers"
        )
    return array


class SimulatedArray:
    """An array in the simulated device's memory, which offers ``__cuda_array_interface__``.

    gred reduces it there, and checks its pointer as the CUDA runtime would; no other library can
    use it.

    Parameters
    ----------
    a : array_like
        What is copied into the device's memory, in C order. Masked arrays have no place for their
        mask there.
    dtype : data-type, optional
        The element type, of plain bytes: no objects, no StringDType. By default that of `a`.

    Raises
    ------
    TypeError
        If the elements hold references, or `a` is a masked array.
    MemoryError
        If there is no memory for it.

    Examples
    --------
    >>> import gred, numpy as np
    >>> from gred.testing import SimulatedArray
    >>> a = SimulatedArray(np.arange(12.0).reshape(3, 4))
    >>> gred.sum(a)
    np.float64(66.0)
    >>> gred.sum(a.T[::2])
    np.float64(30.0)
    """

    def __init__(self, a: ArrayLike, dtype: DTypeLike | None = None) -> None:
        array = _plain(a, dtype)
        self.memory = _core.SimulatedMemory(array.nbytes)
        flat = np.frombuffer(cast(Any, self.memory), np.uint8)
        self._view = np.ndarray(array.shape, array.dtype, flat)
        self._view[...] = array
        self._changes: dict[str, Any] = {}

    def _like(self, view: np.ndarray[Any, Any], changes: dict[str, Any]) -> SimulatedArray:
        other = SimulatedArray.__new__(SimulatedArray)
        other.memory, other._view, other._changes = self.memory, view, changes
        return other

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the dimensions."""
        return self._view.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """The bytes from an element to the next, for each dimension."""
        return self._view.strides

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        return self._view.dtype

    @property
    def T(self) -> SimulatedArray:  # noqa: N802
        """The transposed array, in the same memory."""
        return self._like(self._view.T, self._changes)

    def __getitem__(self, index: Any) -> SimulatedArray:
        """Take a part, in the same memory where NumPy's basic indexing does so."""
        indices = index if isinstance(index, tuple) else (index,)
        if not any(one is Ellipsis for one in indices):
            indices = (*indices, Ellipsis)  # so that a single element is an array, too
        part = self._view[indices]
        if not np.may_share_memory(part, self._view) and part.size:
            raise IndexError("a part of a SimulatedArray has to share its memory")
        return self._like(part, self._changes)

    def __setitem__(self, index: Any, value: ArrayLike) -> None:
        """Write elements, as to a NumPy array."""
        self._view[index] = value

    def get(self) -> np.ndarray[Any, Any]:
        """Copy it to the host."""
        return self._view.copy()

    def described(self, **changes: Any) -> SimulatedArray:
        """Replace entries of the interface, or remove those that are given as ``...``."""
        return self._like(self._view, {**self._changes, **changes})

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3 of the interface, on the legacy default stream."""
        view = self._view
        interface: dict[str, Any] = {
            "shape": view.shape,
            "typestr": view.dtype.str,
            "descr": view.dtype.descr,
            "data": (view.ctypes.data if view.size else 0, not view.flags.writeable),
            "strides": None if view.flags.c_contiguous else view.strides,
            "stream": _LEGACY_DEFAULT_STREAM,
            "version": 3,
        }
        changed = interface | self._changes
        return {key: value for key, value in changed.items() if value is not ...}
