"""Simulated device arrays, for tests on machines without a GPU."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gred import _core

__all__ = ["SimulatedArray"]

_LEGACY_DEFAULT_STREAM = 1


def _plain(a: ArrayLike, dtype: DTypeLike | None) -> np.ndarray[Any, Any]:
    """Convert `a` to an array of plain bytes; raise TypeError for masked and object arrays."""
    if isinstance(a, np.ma.MaskedArray):
        raise TypeError(
            "a: masked arrays are not supported; a.compressed() drops masked elements, "
            "a.filled(value) replaces them"
        )
    array = np.asarray(a, dtype)
    if array.dtype.hasobject:
        raise TypeError(
            f"a: elements of type {array.dtype} are references, which have no meaning in "
            "device memory; pass an array of numbers"
        )
    return array


class SimulatedArray:
    """An array in the simulated device's memory, with ``__cuda_array_interface__``.

    gred reduces it on the simulated device, and checks its pointer as the CUDA runtime would. Other
    libraries cannot use it.

    Parameters
    ----------
    a : array_like
        Array to copy to the device, in C order. Masked arrays are not supported.
    dtype : data-type, optional
        Element type, by default that of `a`; object types and StringDType are not supported.

    Raises
    ------
    TypeError
        If the elements hold references, or `a` is a masked array.
    MemoryError
        If there is not enough memory.

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
        self.memory = _core.simulated_memory(array.nbytes)
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
        """Tuple of array dimensions."""
        return self._view.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Tuple of bytes to step in each dimension."""
        return self._view.strides

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        return self._view.dtype

    @property
    def T(self) -> SimulatedArray:  # noqa: N802
        """The transposed array, a view."""
        return self._like(self._view.T, self._changes)

    def __getitem__(self, index: Any) -> SimulatedArray:
        """Return a view by basic indexing; raise IndexError if the index needs a copy."""
        indices = index if isinstance(index, tuple) else (index,)
        if not any(one is Ellipsis for one in indices):
            indices = (*indices, Ellipsis)  # a single element is a 0-d array
        part = self._view[indices]
        if not np.may_share_memory(part, self._view) and part.size:
            raise IndexError("an index of a SimulatedArray must give a view")
        return self._like(part, self._changes)

    def __setitem__(self, index: Any, value: ArrayLike) -> None:
        """Assign to elements, as to a NumPy array's."""
        self._view[index] = value

    def get(self) -> np.ndarray[Any, Any]:
        """Copy the array to the host."""
        return self._view.copy()

    def described(self, **changes: Any) -> SimulatedArray:
        """Return a view with entries of its interface replaced, or removed if given as ``...``."""
        return self._like(self._view, {**self._changes, **changes})

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The CUDA Array Interface, version 3, on the legacy default stream."""
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
