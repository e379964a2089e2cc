"""Quantiles and medians: exact order statistics, found by selection instead of sorting."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import ArrayLike

from gred import _core
from gred.checks import array_of, cast, is_tensor, library_of, on_device, to_library, torch_aliases

_Axis = int | tuple[int, ...] | None

# Methods that return an element, not an interpolated value.
ELEMENT_METHODS = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")
# For more quantiles than this, the elements are sorted first.
_SELECTED_ON_HOST, _SELECTED_ON_DEVICE = 64, 8
_SHARES_MOST, _ROW_MOST = 16, 2**31 - 1  # limits of the selection kernel


@torch_aliases
def quantile(
    a: ArrayLike | Any,
    q: ArrayLike,
    axis: _Axis = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
) -> Any:
    """Compute the q-th quantiles of the elements along the given axes.

    Order statistics are found exactly, by selection in one or two passes over the memory, for any
    number of elements of every real type. Interpolation is in float64.

    Parameters
    ----------
    a : array_like of real numbers, of any shape
        Input array on the host, or of CuPy, PyTorch or JAX on a device.
    q : float or array_like of float
        Probabilities from 0 to 1.
    axis : int or tuple of int, optional
        Axis or axes along which to compute quantiles. By default all elements are used.
    method : str, default 'linear'
        Interpolation between elements: any method of numpy.quantile.
    keepdims : bool, default False
        If True, the reduced axes are kept, with length 1.

    Returns
    -------
    scalar or array, with the dimensions of `q` first
        Has the element type of `a` if that is floating or the method returns an element, otherwise
        float64; in the library of `a`. NaN where any element is NaN.

    Raises
    ------
    ValueError, TypeError
        If `q` is not from 0 to 1, the method does not exist, there are no elements, they are
        complex, or the array is on a device and not of CuPy, PyTorch or JAX.

    Examples
    --------
    >>> import gred
    >>> gred.quantile([4.0, 1.0, 3.0, 2.0], [0.25, 0.5])
    array([1.75, 2.5 ])
    """
    return _quantile(a, q, axis, method, keepdims, skips_nan=False)


@torch_aliases
def median(a: ArrayLike | Any, axis: _Axis = None, *, keepdims: bool = False) -> Any:
    """Compute the median; parameters and errors are those of `quantile`.

    Returns
    -------
    scalar or array
        The 0.5-th quantile: the middle element, or the mean of the two middle ones.

    Examples
    --------
    >>> import gred
    >>> gred.median([5.0, 1.0, 3.0])
    np.float64(3.0)
    """
    return _quantile(a, 0.5, axis, "linear", keepdims, skips_nan=False)


@torch_aliases
def nanquantile(
    a: ArrayLike | Any,
    q: ArrayLike,
    axis: _Axis = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
) -> Any:
    """Compute quantiles, skipping NaN; parameters and errors are those of `quantile`.

    Returns
    -------
    scalar or array
        As for `quantile`; NaN where all elements are NaN.

    Examples
    --------
    >>> import gred
    >>> gred.nanquantile([4.0, float("nan"), 3.0], 0.5)
    np.float64(3.5)
    """
    return _quantile(a, q, axis, method, keepdims, skips_nan=True)


@torch_aliases
def nanmedian(a: ArrayLike | Any, axis: _Axis = None, *, keepdims: bool = False) -> Any:
    """Compute the median, skipping NaN; parameters and errors are those of `nanquantile`.

    Returns
    -------
    scalar or array
        As for `nanquantile`.

    Examples
    --------
    >>> import gred
    >>> gred.nanmedian([5.0, float("nan"), 3.0, 1.0])
    np.float64(3.0)
    """
    return _quantile(a, 0.5, axis, "linear", keepdims, skips_nan=True)


class Selection(NamedTuple):
    """Arguments of the core's selection."""

    shares: Any  # float64, in ascending order
    method: str
    skips_nan: bool
    is_sorted: bool


def _quantile(
    a: Any, q: ArrayLike, axis: _Axis, method: str, keepdims: bool, *, skips_nan: bool
) -> Any:
    array, shares = array_of(a), np.asarray(q, np.float64)
    element = _core.element(array)
    if element.startswith("complex"):
        raise TypeError(f"quantiles of complex numbers are not defined; got {element}")
    if is_tensor(array) and not on_device(array):
        numbers = array.float() if element == "bfloat16" else array.resolve_neg()
        found = _quantile(numbers.numpy(), q, axis, method, keepdims, skips_nan=skips_nan)
        found = to_library(np.asarray(found), array)
        return cast(found, array.dtype) if element == "bfloat16" else found
    xp = library_of(array)
    if xp is None:
        raise TypeError(
            f"quantiles support device arrays of CuPy, PyTorch and JAX only; copy the "
            f"{type(a).__name__} to the host, or to one of these"
        )
    blocks, results = _blocks(xp, array, axis, keepdims)
    if blocks.shape[1] == 0:
        raise ValueError("quantiles of an empty array are not defined")
    flat = shares.ravel()
    order = np.argsort(flat, kind="stable") if flat.size > 1 else None
    ascending = flat if order is None else flat[order]  # close quantiles share a selection
    asked = Selection(ascending, method, skips_nan and "float" in element, False)
    kept = "float" in element or method in ELEMENT_METHODS
    find = _on_host if xp is np else _on_device
    found = find(xp, blocks, math.prod(results), asked, None if kept else "float64")
    if order is not None and (np.diff(order) < 0).any():
        found = found[to_library(np.argsort(order), found)]
    found = found.reshape((*shares.shape, *results))
    return found[()] if xp is np else found


def _blocks(xp: Any, array: Any, axis: _Axis, keepdims: bool) -> tuple[Any, tuple[int, ...]]:
    """Reshape an array to (outer, n, inner), n elements per result; return the results' shape."""
    shape = tuple(array.shape)
    if xp is np and not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    dims = range(len(shape)) if axis is None else normalize_axis_tuple(axis, len(shape), "axis")
    if len(dims) == 1:
        before, n, after = shape[: dims[0]], shape[dims[0]], shape[dims[0] + 1 :]
        results = (*before, 1, *after) if keepdims else before + after
        return array.reshape((math.prod(before), n, math.prod(after))), results
    kept = [k for k in range(len(shape)) if k not in dims]
    results = tuple(1 if k in dims else shape[k] for k in (range(len(shape)) if keepdims else kept))
    n = math.prod(shape[k] for k in dims)
    if not kept:
        return array.reshape((1, n, 1)), results
    moved = getattr(array, "permute", array.transpose)(*kept, *dims)
    return moved.reshape((math.prod(shape[k] for k in kept), n, 1)), results


def _on_host(xp: Any, blocks: Any, results: int, asked: Selection, dtype: str | None) -> Any:
    values = blocks
    if len(asked.shares) > _SELECTED_ON_HOST:
        # NumPy does not sort the NaN of ml_dtypes to the end.
        wider = values if values.dtype.kind != "V" else values.astype(np.float32)
        values, asked = np.sort(wider, axis=1), asked._replace(is_sorted=True)
    out = np.empty((len(asked.shares), results), dtype or blocks.dtype)
    _core.select(values, asked, out)
    return out


def _on_device(xp: Any, blocks: Any, results: int, asked: Selection, dtype: str | None) -> Any:
    if results == 0:
        nothing = blocks.reshape((len(asked.shares), 0))
        return nothing if dtype is None else to_library(np.empty(nothing.shape), nothing)
    n, inner = map(int, blocks.shape[1:])
    # One thread sorts a short row, of any stride: SELECT_SORTED of csrc/common/kernel_arguments.h.
    is_short = n <= (64 if blocks.itemsize > 4 else 128)
    if inner > 1 and not is_short:
        blocks, inner = xp.moveaxis(blocks, 1, 2), 1
    flat = blocks.reshape(-1)  # may be a strided view, except in JAX
    if xp.__name__ == "cupy":
        flat = xp.ascontiguousarray(flat)
    elif xp.__name__ == "torch":
        flat = flat.contiguous()
    if not is_short and (len(asked.shares) > _SELECTED_ON_DEVICE or n > _ROW_MOST):
        ordered = xp.sort(flat.reshape((results, n)))
        flat = (ordered.values if xp.__name__ == "torch" else ordered).reshape(-1)
        asked = asked._replace(is_sorted=True)
    found = [
        _core.select_rows(flat, results, inner, asked._replace(shares=shares), dtype)
        for shares in np.split(asked.shares, range(_SHARES_MOST, len(asked.shares), _SHARES_MOST))
    ]
    return found[0] if len(found) == 1 else xp.concatenate(found)
