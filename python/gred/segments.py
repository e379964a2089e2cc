"""Segmented reductions: one result per segment of an array, or per array of a list."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

import gred._core as _core
from gred.checks import array_of, on_device
from gred.statistics.summary import make_summary

# Name of a NumPy ufunc -> name of the reduction.
_UFUNCS = {"add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max"}
_UFUNCS |= {"logaddexp": "logsumexp", "logical_or": "any", "logical_and": "all"}

# DLPack device types kDLCUDA and kDLCUDAManaged.
_OF_CUDA = ((2,), (13,))

# Reductions with a single value per segment.
_OPS = tuple(
    name for name, _, is_record, _ in _core.reductions() if not is_record and name != "ptp"
)


def reduction_named(op: Any) -> str:
    """Return the reduction's name for a name of gred's or NumPy's, or a ufunc."""
    name = op.__name__ if isinstance(op, np.ufunc) else op
    if not isinstance(name, str):
        raise TypeError(f"op must be a name or a NumPy ufunc, not {type(op).__name__}")
    found = _UFUNCS.get(name, name)
    if found not in _OPS:
        raise ValueError(f"op must be one of {', '.join([*_OPS, *_UFUNCS])}; got {name!r}")
    return found


def _offsets(offsets: Any) -> Any:
    """Convert host offsets to a contiguous int64 array; device offsets are returned unchanged."""
    if on_device(offsets):
        return offsets
    where = getattr(offsets, "__dlpack_device__", None)
    if where is not None and tuple(where() or ())[:1] in _OF_CUDA:
        return offsets
    array = np.asarray(array_of(offsets, "offsets"))
    if array.size == 0 and not hasattr(offsets, "dtype"):
        array = array.astype(np.int64)
    if array.ndim != 1:
        raise ValueError(f"offsets must have one dimension; got {array.ndim}")
    if array.dtype == np.uint64:  # offsets beyond int64 are out of bounds anyway
        array = np.minimum(array, np.uint64(np.iinfo(np.int64).max)).astype(np.int64)
    return np.ascontiguousarray(array.astype(np.int64, casting="safe", copy=False))


def reduceat(
    op: Any,
    values: ArrayLike | Any,
    offsets: ArrayLike | Any,
    *,
    axis: SupportsIndex = 0,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    stream: Any = None,
    ord: float | None = None,
    ddof: float = 0,
    out: Any = None,
    empty: str = "element",
    method: str = "auto",
) -> Any:
    """Reduce segments of an array, one result each, as ``ufunc.reduceat`` does.

    Segment k is ``values[offsets[k]:offsets[k + 1]]``; the last one ends with the array.

    Parameters
    ----------
    op : str or numpy.ufunc
        Name of a reduction to a single value, such as 'sum', 'mean', 'var', 'max' or 'argmin', or
        a corresponding NumPy ufunc or its name. Positions are relative to the segment.
    values : array_like of shape (n,) or (..., n, ...)
        Input array as for `gred.sum`, segmented along `axis`. It is never modified.
    offsets : array_like of int, shape (m,)
        Starts from 0 to n - 1, in any order. Host `values` are copied to the offsets' device.
    axis, dtype, device, stream, ord, ddof, out
        As for the reduction itself; `out` may overlap the inputs.
    empty : {'element', 'identity'}, default 'element'
        Result of a segment that does not end after its start: the element at its offset, as in
        NumPy, or the identity (infinity or the type's largest value for a minimum, NaN for a mean
        or variance, -1 for a position). With 'identity' offsets may be n: ``indptr[:-1]`` for CSR.
    method : {'auto', 'exact'}, default 'auto'
        'exact' rounds each result once, as for `gred.sum`.

    Returns
    -------
    array of shape (m,) or (..., m, ...), of the reduction's type
        A NumPy array; a tensor for tensors; on a device an array of the library of `values`, for
        which the call does not wait. The bits are the same in every run, for any number of threads.

    Raises
    ------
    TypeError, ValueError, IndexError, MemoryError
        As in NumPy, or if offsets and values are on different devices. If both and the results are
        on a device, an out-of-bounds offset gives the identity; no memory out of bounds is read.

    Examples
    --------
    >>> import gred, numpy as np
    >>> gred.reduceat(np.maximum, [1.5, 2.5, 0.5], [1, 0, 2])
    array([2.5, 2.5, 0.5])
    """
    if empty not in ("element", "identity"):
        raise ValueError(f"empty must be 'element' or 'identity'; got {empty!r}")
    rest = (dtype, out, empty == "identity", device, stream, ord, ddof, method)
    return _along(reduction_named(op), values, _offsets(offsets), operator.index(axis), rest)


def _along(name: str, values: Any, starts: Any, axis: int, rest: tuple[Any, ...]) -> Any:
    """Reduce segments along an axis as segments of the flattened array."""
    if not hasattr(values, "ndim"):
        values = array_of(values, "values")
    dimensions = getattr(values, "ndim", 1)
    if dimensions == 0 or (dimensions == 1 and axis in (0, -1)):
        return _core.reduceat(name, values, starts, *rest)
    if not -values.ndim <= axis < values.ndim:
        raise np.exceptions.AxisError(axis, values.ndim)
    if rest[1] is not None:
        raise TypeError("reduceat of values with several dimensions does not take out")
    if on_device(starts):
        raise TypeError("offsets for values with several dimensions must be on the host")
    if hasattr(starts, "mask"):
        raise TypeError("offsets: masked arrays are not supported")
    rows = values.swapaxes(axis, -1)
    n, shape = rows.shape[-1], rows.shape[:-1]
    starts = np.asarray(starts)
    if starts.size == 0:
        nothing = _core.reduceat(name, rows.reshape(-1), starts, *rest)
        return nothing.reshape((*shape, 0)).swapaxes(axis, -1)
    if not 0 <= starts.min() <= starts.max() < n + rest[2]:
        raise IndexError(f"an offset is out-of-bounds in {name}.reduceat [0, {n})")
    # An extra segment at each row's start ends the previous row's last one; its result is dropped.
    begins = np.arange(math.prod(shape), dtype=np.int64)[:, None] * n
    every = np.concatenate([begins, begins + starts], axis=1).ravel()
    results = _core.reduceat(name, rows.reshape(-1), every, *rest)
    return results.reshape((*shape, 1 + len(starts)))[..., 1:].swapaxes(axis, -1)


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
    """Reduce each array of a list, as ``torch._foreach_norm`` does; on a device all together.

    Parameters
    ----------
    op : str
        Name of a reduction, such as 'sum', 'norm' or 'max'; see `gred.reductions`.
    arrays : iterable of n array_like
        Input arrays of any shapes and types, on the host or on one device. Elements are converted
        to the type to which NumPy promotes all of them. The arrays are never modified.
    dtype, out, ord, ddof, initial, method, stream
        As for the reduction itself; `out` has n elements, and `method` is 'auto' or 'exact'.

    Returns
    -------
    array of shape (n,), of the reduction's type
        As for `reduceat`; two arrays for 'minmax', and a `Summary` for 'describe'. If all arrays
        are contiguous and of one type, a result's bits depend only on its array and the device.

    Raises
    ------
    TypeError, ValueError, MemoryError
        As the reduction, or if the arrays are on different devices.

    Examples
    --------
    >>> import gred, numpy as np
    >>> gred.each("norm", [[3.0, 4.0], np.ones((5, 5))])
    array([5., 5.])
    """
    listed = tuple(arrays)
    if not listed:
        return np.empty(0)
    results = _core.each(op, listed, dtype, out, ord, ddof, initial, method, stream)
    return make_summary(results, ddof) if op == "describe" else results
