"""A result for each segment of an array, such as a sparse matrix's row, or each array of a list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

import gred._core as _core
from gred.summary import Summary

__all__ = ["each", "reduceat"]

# What NumPy calls its ufuncs, and gred its reductions.
_OPS = {
    "add": "sum",
    "multiply": "prod",
    "minimum": "min",
    "maximum": "max",
    "logical_or": "any",
    "logical_and": "all",
}


def _reduction(op: Any) -> str:
    """Name the reduction that a name of gred's or NumPy's stands for, or a ufunc."""
    name = op.__name__ if isinstance(op, np.ufunc) else op
    if isinstance(name, str):
        found = _OPS.get(name, name)
        if found in _OPS.values():
            return found
        names = ", ".join([*_OPS.values(), *_OPS])
        raise ValueError(f"op must be one of {names}; got {name!r}")
    raise TypeError(f"op must be a name or a ufunc of NumPy's, not {type(op).__name__}")


# DLPack's device types: CUDA's memory, and memory that it manages.
_OF_CUDA = ((2,), (13,))


def _offsets(offsets: Any) -> Any:
    """Make what NumPy takes for indices int64, one after the other; a device does it itself."""
    if hasattr(offsets, "__cuda_array_interface__"):
        return offsets
    where = getattr(offsets, "__dlpack_device__", None)
    if where is not None and tuple(where() or ())[:1] in _OF_CUDA:
        return offsets
    array = np.asarray(offsets)
    if array.size == 0 and not hasattr(offsets, "dtype"):
        array = array.astype(np.int64)
    if array.ndim != 1:
        raise ValueError(f"offsets must have one dimension; they have {array.ndim}")
    return np.ascontiguousarray(array.astype(np.int64, casting="safe", copy=False))


def reduceat(
    op: Any,
    values: ArrayLike | Any,
    offsets: ArrayLike | Any,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    stream: Any = None,
    out: Any = None,
    empty: str = "element",
) -> Any:
    """Reduce segments of an array, each to a result, as ``ufunc.reduceat`` does.

    Segment k begins at ``offsets[k]`` and ends where the next begins; the last ends with the array.

    Parameters
    ----------
    op : str or numpy.ufunc
        'sum', 'prod', 'min', 'max', 'any', 'all', or NumPy's ufunc, or its name, for one of them.
    values : array_like of shape (n,)
        Of any type and stride that `gred.sum` takes. It is never written.
    offsets : array_like of int, shape (m,)
        From 0 to n - 1, in any order; `values` on the host are copied to where the offsets lie.
    dtype, device, stream
        As for the reduction itself.
    out : array of shape (m,), optional
        Where results go, in its type: on the host or the working device; may overlap the inputs.
    empty : {'element', 'identity'}, default 'element'
        What a segment gives that does not end after its beginning: the element at its offset, as in
        NumPy, or the neutral element (of a minimum infinity, or the type's largest value). Then
        offsets may be n: ``reduceat("sum", data, indptr[:-1], empty="identity")`` for CSR rows.

    Returns
    -------
    array of shape (m,), of the reduction's type
        NumPy's, or that of the library of `values` on a device, not waited for. Its bits are the
        same in every run, for any number of threads; float sums are as accurate as NumPy's or more.

    Raises
    ------
    TypeError, ValueError, MemoryError
        If there is no such `op` or `empty`, offsets are no integers that int64 holds, a shape does
        not fit, offsets and values lie on two devices, or a device has no memory for copies.
    IndexError
        If an offset is not in the array, but for offsets and results on a device: there the neutral
        element is left. Nothing outside the array is ever read.

    Examples
    --------
    >>> import gred, numpy as np
    >>> gred.reduceat(np.maximum, [1.5, 2.5, 0.5], [1, 0, 2])
    array([2.5, 2.5, 0.5])
    >>> gred.reduceat("prod", [2, 3, 4], [0, 2, 2, 3], empty="identity")
    array([6, 1, 4, 1])

    """
    if empty not in ("element", "identity"):
        raise ValueError(f"empty must be 'element' or 'identity'; got {empty!r}")
    name, starts = _reduction(op), _offsets(offsets)
    return _core.reduceat(name, values, starts, dtype, out, empty == "identity", device, stream)


def each(
    op: str,
    arrays: Iterable[Any],
    *,
    dtype: DTypeLike | None = None,
    out: Any = None,
    ord: float | None = None,
    ddof: float = 0,
    initial: Any = ...,
    method: str = "auto",
    stream: Any = None,
) -> Any:
    """Reduce each array of a list to a result: on a device, in one launch.

    As ``torch._foreach_norm``, and of any reduction.

    Parameters
    ----------
    op : str
        The name of a reduction: 'sum', 'norm', 'max'; `gred.reductions` lists them.
    arrays : iterable of n array_like
        Of any shapes and types, on the host or on one device. Elements become the type that NumPy
        promotes all arrays' to. They are never written.
    dtype, out, ord, ddof, initial
        As for the reduction itself; `out` has n elements.
    method : {'auto', 'exact'}, default 'auto'
        'exact' rounds nothing but the result, as for `gred.sum`.
    stream
        As for the reduction itself.

    Returns
    -------
    array of shape (n,), of the reduction's type
        NumPy's, or that of the library of the first array on a device, not waited for; of 'minmax'
        two, and of 'describe' a `Summary`. A result's bits depend on its own array and the device
        alone, if all arrays are contiguous and of one type.

    Raises
    ------
    TypeError, ValueError, MemoryError
        As the reduction, or if arrays lie in several places.

    Examples
    --------
    >>> import gred, numpy as np
    >>> gred.each("norm", [[3.0, 4.0], np.ones((5, 5))])
    array([5., 5.])
    >>> gred.each("argmax", (row for row in ([1, 3, 2], [5, 4])))
    array([1, 0])

    """
    listed = tuple(arrays)
    if not listed:
        return np.empty(0)
    results = _core.each(op, listed, dtype, out, ord, ddof, initial, method, stream)
    return Summary(*results) if op == "describe" else results
