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

    Parameters
    ----------
    op : str or numpy.ufunc
        'sum', 'prod', 'min', 'max', 'any' or 'all', or what NumPy calls them: 'add', 'multiply',
        'minimum', 'maximum', 'logical_or', 'logical_and', or one of those ufuncs.
    values : array_like of shape (n,)
        The elements, of any type and stride that `gred.sum` takes, on the host or on a device. It
        is never written.
    offsets : array_like of int, shape (m,)
        Where segments begin: from 0 to n - 1, in any order. They may lie on the host or where
        `values` do; if these lie on the host, they are copied to where the offsets are.
    dtype : data-type, optional
        The type that elements are converted to first, as for the reduction itself.
    out : array of shape (m,), optional
        Where the results go, converted to its type: on the host or the device that does the work.
        It may overlap with `values` and `offsets`.
    empty : {'element', 'identity'}, default 'element'
        What a segment is that does not end after its beginning: 'element': the one element at its
        offset, as in NumPy; 'identity': empty, and its result what the reduction has of nothing: 0,
        1, False or True; of a minimum the largest value of the type, or infinity, and of a maximum
        the smallest. Then offsets may be n, too: the rows of a sparse matrix in CSR form are
        ``reduceat("sum", data, indptr[:-1], empty="identity")``.
    device : str, optional
        Where arrays of the host are reduced, as for `gred.sum`. What lies on a device is reduced
        there.
    stream
        As for `gred.sum`.

    Returns
    -------
    array of shape (m,)
        Of the type that the reduction of `values` has: NumPy's, or, if `values` lie on a device, an
        array there, of the library that they are of, which the call does not wait for. The same
        bits in every run; on the host for any number of threads, with sums of floats added
        pairwise, at least as accurately as NumPy's.

    Raises
    ------
    TypeError
        If `op` is nothing of the kind, or offsets are no integers that int64 holds.
    ValueError
        If there is no such `op` or `empty`, or a shape does not fit.
        Or offsets lie on another device than values.
    IndexError
        If an offset is not in the array. Where offsets lie on a device, it is found out there, so
        that only calls whose results come to the host raise. Others leave, of a segment that begins
        or ends outside of the array, what the reduction has of nothing, as for `empty`; nothing
        outside is ever read.
    MemoryError
        If the device's memory does not suffice for what has to be copied there or converted, all of
        which is at a time.

    Notes
    -----
    On devices, offsets that rise are the fast case: whatever the segments' lengths are, the work is
    divided by elements. Others take a way of their own, a few threads a segment.

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
    return _core.reduceat(
        _reduction(op), values, _offsets(offsets), dtype, out, empty == "identity", device, stream
    )
