"""Reductions of an array's segments: the rows of a sparse matrix, say."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

import gred._core as _core

__all__ = ["reduceat"]

# What NumPy calls its ufuncs, and gred its reductions.
_OPS = {
    "add": "sum",
    "multiply": "prod",
    "minimum": "min",
    "maximum": "max",
    "logical_or": "any",
    "logical_and": "all",
}
_EMPTY = ("element", "identity")


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


def _lies_on_a_device(array: Any) -> bool:
    if hasattr(array, "__cuda_array_interface__"):
        return True
    where = getattr(array, "__dlpack_device__", None)
    return where is not None and tuple(where() or ())[:1] in _OF_CUDA


def _offsets(offsets: Any) -> Any:
    """Make what NumPy takes for indices int64, one after the other; a device does it itself."""
    if _lies_on_a_device(offsets):
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
    out: Any = None,
    empty: str = "element",
    device: str | None = None,
    stream: Any = None,
) -> Any:
    """Reduce segments of an array, each to a result, as ``ufunc.reduceat`` does.

    Segment k begins at ``offsets[k]`` and ends where the next begins; the last ends with the array.
    On devices the work is divided by elements if offsets rise, else a segment gets a few threads.

    Parameters
    ----------
    op : str or numpy.ufunc
        'sum', 'prod', 'min', 'max', 'any' or 'all', or NumPy's name or ufunc: 'add', 'multiply',
        'minimum', 'maximum', 'logical_or' or 'logical_and'.
    values : array_like of shape (n,)
        Of any type and stride that `gred.sum` takes. It is never written.
    offsets : array_like of int, shape (m,)
        Where segments begin: from 0 to n - 1, in any order. They lie on the host or where `values`
        do, which are copied to where the offsets are if they lie on the host.
    dtype : data-type, optional
        As for the reduction itself.
    out : array of shape (m,), optional
        Where the results go, converted to its type: on the host or the device that does the work.
        It may overlap with `values` and `offsets`.
    empty : {'element', 'identity'}, default 'element'
        What a segment is that does not end after its beginning: the one element at its offset, as
        in NumPy; or empty, with the reduction's neutral element for a result (of a minimum
        infinity, or the largest value of the type). Then offsets may be n, too: the rows of a
        sparse matrix in CSR form are ``reduceat("sum", data, indptr[:-1], empty="identity")``.
    device, stream
        As for the reduction itself.

    Returns
    -------
    array of shape (m,)
        Of the type that the reduction of `values` has: NumPy's, or, if `values` lie on a device, an
        array there, of their library, which the call does not wait for. The same bits in every run,
        on the host for any number of threads; sums of floats are as accurate as NumPy's, or more.

    Raises
    ------
    TypeError
        If `op` is nothing of the kind, or offsets are no integers that int64 holds.
    ValueError
        If there is no such `op` or `empty`, a shape does not fit, or offsets and values lie on two
        devices.
    IndexError
        If an offset is not in the array. Of offsets on a device only calls whose results come to
        the host raise; others leave the neutral element. Nothing outside the array is ever read.
    MemoryError
        If the device's memory does not hold all that is copied there or converted.

    Examples
    --------
    >>> import gred, numpy as np
    >>> gred.reduceat("sum", [1, 2, 3, 4, 5], [0, 3])
    array([6, 9])
    >>> gred.reduceat(np.maximum, [1.5, 2.5, 0.5], [1, 0, 2])
    array([2.5, 2.5, 0.5])
    >>> gred.reduceat("prod", [2, 3, 4], [0, 2, 2, 3], empty="identity")
    array([6, 1, 4, 1])

    """
    if empty not in _EMPTY:
        raise ValueError(f"empty must be 'element' or 'identity'; got {empty!r}")
    may_be_empty, starts = empty == "identity", _offsets(offsets)
    return _core.reduceat(_reduction(op), values, starts, dtype, out, may_be_empty, device, stream)
