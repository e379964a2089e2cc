"""A result for each segment of an array, such as a sparse matrix's row, or each array of a list."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

import gred._core as _core
from gred.checks import array_of, on_device
from gred.statistics.summary import made

# What NumPy calls its ufuncs, and gred its reductions.
_UFUNCS = {"add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max"}
_UFUNCS |= {"logaddexp": "logsumexp", "logical_or": "any", "logical_and": "all"}

# DLPack's device types: CUDA's memory, and memory that it manages.
_OF_CUDA = ((2,), (13,))

# Reductions of one value, of which each segment has one.
_OPS = (
    *("sum", "prod", "min", "max", "any", "all", "mean", "var", "std", "norm", "argmin", "argmax"),
    *("count_nonzero", "nansum", "nanprod", "nanmin", "nanmax", "nanmean", "nanvar", "nanstd"),
    *("nanargmin", "nanargmax", "logsumexp"),
)


def reduction_named(op: Any) -> str:
    """Name the reduction that a name of gred's or NumPy's stands for, or a ufunc."""
    name = op.__name__ if isinstance(op, np.ufunc) else op
    if not isinstance(name, str):
        raise TypeError(f"op must be a name or a ufunc of NumPy's, not {type(op).__name__}")
    found = _UFUNCS.get(name, name)
    if found not in _OPS:
        raise ValueError(f"op must be one of {', '.join([*_OPS, *_UFUNCS])}; got {name!r}")
    return found


def _offsets(offsets: Any) -> Any:
    """Make what NumPy takes for indices int64, one after the other; a device does it itself."""
    if on_device(offsets):
        return offsets
    where = getattr(offsets, "__dlpack_device__", None)
    if where is not None and tuple(where() or ())[:1] in _OF_CUDA:
        return offsets
    array = np.asarray(array_of(offsets, "offsets"))
    if array.size == 0 and not hasattr(offsets, "dtype"):
        array = array.astype(np.int64)
    if array.ndim != 1:
        raise ValueError(f"offsets must have one dimension; they have {array.ndim}")
    if array.dtype == np.uint64:  # what int64 does not hold is outside any array
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
    """Reduce segments of an array, each to a result, as ``ufunc.reduceat`` does.

    Segment k begins at ``offsets[k]`` and ends where the next begins; the last ends with the array.

    Parameters
    ----------
    op : str or numpy.ufunc
        A reduction of one value, such as 'sum', 'mean', 'var', 'max', 'argmin' or 'norm', or
        NumPy's ufunc, or its name, for one. Positions count from a segment's first element.
    values : array_like of shape (n,) or (..., n, ...)
        Of any type and stride that `gred.sum` takes, with segments along `axis`. Never written.
    offsets : array_like of int, shape (m,)
        From 0 to n - 1, in any order; `values` on the host are copied to where the offsets lie.
    axis, dtype, device, stream, ord, ddof, out
        As for the reduction itself; `out` may overlap the inputs.
    empty : {'element', 'identity'}, default 'element'
        What a segment gives that does not end after its beginning: the element at its offset, as in
        NumPy, or the neutral element (of a minimum infinity or the type's largest value, of a mean
        or variance NaN, of a position -1). Then offsets may be n: ``indptr[:-1]`` for CSR rows.
    method : {'auto', 'exact'}, default 'auto'
        'exact' rounds nothing but each result, as for `gred.sum`.

    Returns
    -------
    array of shape (m,) or (..., m, ...), of the reduction's type
        NumPy's, PyTorch's of tensors, or that of the library of `values` on a device, not waited
        for. Its bits are the same in every run, for any number of threads.

    Raises
    ------
    TypeError, ValueError, IndexError, MemoryError
        As NumPy, or if offsets and values lie on two devices. Where both and the results are on a
        device, an offset outside gives the neutral element; nothing outside is ever read.

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
    """Reduce segments of each row along an axis, as those of one array that has all rows."""
    if not hasattr(values, "ndim"):
        values = array_of(values, "values")
    dimensions = getattr(values, "ndim", 1)
    if dimensions == 0 or (dimensions == 1 and axis in (0, -1)):
        return _core.reduceat(name, values, starts, *rest)
    if not -values.ndim <= axis < values.ndim:
        raise np.exceptions.AxisError(axis, values.ndim)
    if rest[1] is not None:
        raise TypeError("reduceat along an axis of several takes no out")
    if on_device(starts):
        raise TypeError("offsets along an axis of several must be on the host")
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
    # A row's last segment ends where the next row's first, which is left out, begins.
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
    """Reduce each array of a list to a result, as ``torch._foreach_norm``: on a device at once.

    Parameters
    ----------
    op : str
        The name of a reduction: 'sum', 'norm', 'max'; `gred.reductions` lists them.
    arrays : iterable of n array_like
        Of any shapes and types, on the host or on one device. Elements become the type that NumPy
        promotes all arrays' to. They are never written.
    dtype, out, ord, ddof, initial, method, stream
        As for the reduction itself; `out` has n elements, and `method` is 'auto' or 'exact'.

    Returns
    -------
    array of shape (n,), of the reduction's type
        As of `reduceat`; of 'minmax' two, and of 'describe' a `Summary`. A result's bits depend on
        its own array and the device alone, if all arrays are contiguous and of one type.

    Raises
    ------
    TypeError, ValueError, MemoryError
        As the reduction, or if arrays lie in several places.

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
    return made(results, ddof) if op == "describe" else results
