"""Quantiles and medians: exact order statistics, found by selection and not by sorting."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import ArrayLike

from gred import _core
from gred.checks import array_of, brought, cast, is_tensor, library_of, on_device, takes_other_names

__all__ = ["median", "nanmedian", "nanquantile", "quantile"]

_Axis = int | tuple[int, ...] | None

# Where a quantile of n numbers lies among their ranks, from 0 on. Those of Hyndman and Fan (1996),
# "Sample quantiles in statistical packages", with alpha and beta are at
# n q + alpha + q (1 - alpha - beta) - 1; the three first of all are elements.
_ALPHAS_AND_BETAS = {
    "linear": (1, 1),
    "lower": (1, 1),
    "higher": (1, 1),
    "nearest": (1, 1),
    "midpoint": (1, 1),
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "weibull": (0, 0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
_SORTED_FROM = 64  # quantiles of one array
_CHOOSING = ("lower", "higher", "nearest")


@takes_other_names
def quantile(
    a: ArrayLike | Any,
    q: ArrayLike,
    axis: _Axis = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
) -> Any:
    """Compute quantiles: elements that a share q of all is below, or what lies between two.

    Ranks are found by selection, in a pass or two over the memory, and exactly: of any number of
    elements, of every real type. What lies between two is computed in float64.

    Parameters
    ----------
    a : array_like of real numbers, of any shape
        On the host; or CuPy's, PyTorch's or JAX's on a device.
    q : float or array_like of float
        From 0 to 1.
    axis : int or tuple of int, optional
        Along which quantiles are taken; by default of all elements.
    method : str, default 'linear'
        What a quantile between two elements is: 'linear', 'lower', 'higher', 'nearest',
        'midpoint', 'interpolated_inverted_cdf', 'hazen', 'weibull', 'median_unbiased' or
        'normal_unbiased', as numpy.quantile has them.
    keepdims : bool, default False
        Whether axes that are reduced stay, with length 1.

    Returns
    -------
    scalar or array, with the dimensions of `q` in front
        Of the elements' type where that is floating or an element is chosen, else float64; in the
        library of `a`. NaN where an element is NaN.

    Raises
    ------
    ValueError
        If q is not from 0 to 1, there is no such method, or there are no elements.
    TypeError
        If elements are complex, or the array has no library that sorts it.

    Examples
    --------
    >>> import gred
    >>> gred.quantile([4.0, 1.0, 3.0, 2.0], [0.25, 0.5])
    array([1.75, 2.5 ])

    """
    return _quantile(a, q, axis, method, keepdims, leaves_out=False)


@takes_other_names
def median(a: ArrayLike | Any, axis: _Axis = None, *, keepdims: bool = False) -> Any:
    """Compute the median: the element in the middle, or the mean of two.

    Parameters
    ----------
    a, axis, keepdims
        As for `quantile`.

    Returns
    -------
    scalar or array
        The quantile of q = 0.5.

    Examples
    --------
    >>> import gred
    >>> gred.median([5.0, 1.0, 3.0])
    np.float64(3.0)

    """
    return _quantile(a, 0.5, axis, "linear", keepdims, leaves_out=False)


@takes_other_names
def nanquantile(
    a: ArrayLike | Any,
    q: ArrayLike,
    axis: _Axis = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
) -> Any:
    """Compute quantiles of elements that are not NaN.

    Parameters
    ----------
    a, q, axis, method, keepdims
        As for `quantile`.

    Returns
    -------
    scalar or array
        As of `quantile`; NaN where all elements are NaN.

    Examples
    --------
    >>> import gred
    >>> gred.nanquantile([4.0, float("nan"), 3.0], 0.5)
    np.float64(3.5)

    """
    return _quantile(a, q, axis, method, keepdims, leaves_out=True)


@takes_other_names
def nanmedian(a: ArrayLike | Any, axis: _Axis = None, *, keepdims: bool = False) -> Any:
    """Compute the median of elements that are not NaN.

    Parameters
    ----------
    a, axis, keepdims
        As for `quantile`.

    Returns
    -------
    scalar or array
        As of `nanquantile`.

    Examples
    --------
    >>> import gred
    >>> gred.nanmedian([5.0, float("nan"), 3.0, 1.0])
    np.float64(3.0)

    """
    return _quantile(a, 0.5, axis, "linear", keepdims, leaves_out=True)


class _Rows(NamedTuple):
    """An array as blocks of n elements of each of some results side by side."""

    blocks: Any  # of shape (outer, n, inner)
    shape: tuple[int, ...]  # of the results

    @property
    def n(self) -> int:
        return int(self.blocks.shape[1])


def _quantile(
    a: Any, q: ArrayLike, axis: _Axis, method: str, keepdims: bool, *, leaves_out: bool
) -> Any:
    array, shares = array_of(a), np.asarray(q, np.float64)
    if method not in _ALPHAS_AND_BETAS:
        names = ", ".join(_ALPHAS_AND_BETAS)
        raise ValueError(f"method must be one of {names}; got {method!r}")
    element = _core.element(array)
    if element.startswith("complex"):
        raise TypeError(f"complex numbers have no quantiles; got {element}")
    if is_tensor(array) and not on_device(array) and element != "bfloat16":
        there = array.resolve_neg().numpy()
        found = _quantile(there, q, axis, method, keepdims, leaves_out=leaves_out)
        return brought(np.asarray(found), array)
    xp = library_of(array)
    if xp is None:
        raise TypeError(
            f"quantiles of arrays on a device are for those of CuPy, PyTorch and JAX; copy "
            f"a {type(a).__name__} to the host, or to one of these"
        )
    rows = _rows(xp, array, axis, keepdims)
    if rows.n == 0:
        raise ValueError("there are no elements to take a quantile of")
    find = _on_device if xp is not np else _selected if shares.size <= _SORTED_FROM else _sorted
    order = np.argsort(shares, axis=None, kind="stable")  # neighbours are found together
    asked = tuple(shares.ravel()[order].tolist())
    below, above, parts = find(xp, rows, asked, method, leaves_out and "float" in element)
    found = _between(xp, below, above, parts, element, method)
    if (np.diff(order) < 0).any():
        found = found[brought(np.argsort(order), found)]
    found = found.reshape((*shares.shape, *rows.shape))
    return found[()] if xp is np else found


def _rows(xp: Any, array: Any, axis: _Axis, keepdims: bool) -> _Rows:
    shape = tuple(array.shape)
    if xp is np and not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if axis is None:
        return _Rows(array.reshape((1, math.prod(shape), 1)), (1,) * (len(shape) * bool(keepdims)))
    dims = normalize_axis_tuple(axis, len(shape), "axis")
    kept = [k for k in range(len(shape)) if k not in dims]
    results = tuple(
        1 if k in dims else length for k, length in enumerate(shape) if k not in dims or keepdims
    )
    n = math.prod(shape[k] for k in dims)
    if len(dims) == 1:
        (dim,) = dims
        before, after = math.prod(shape[:dim]), math.prod(shape[dim + 1 :])
        return _Rows(array.reshape((before, n, after)), results)
    moved = xp.permute(array, (*kept, *dims)) if xp.__name__ == "torch" else None
    moved = xp.transpose(array, (*kept, *dims)) if moved is None else moved
    return _Rows(moved.reshape((math.prod(shape[k] for k in kept), n, 1)), results)


# ---- ranks ----


def _places(asked: tuple[float, ...], n: Any, method: str) -> tuple[Any, Any]:
    """Find ranks of quantiles of n numbers, and of the next elements, and how far on they are.

    `n` is an array, of each result's; a rank is -1 where there are none.
    """
    shares = np.array(asked)[:, None]
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError("q must be from 0 to 1")
    alpha, beta = _ALPHAS_AND_BETAS[method]
    most = n - 1
    linear = (alpha, beta) == (1, 1)
    place = most * shares if linear else n * shares + (alpha + shares * (1 - alpha - beta)) - 1
    place = np.clip(place, 0, np.maximum(most, 0))
    rounds: dict[str, Any] = {"higher": np.ceil, "nearest": np.round}
    whole = rounds.get(method, np.floor)(place)
    part = place - whole
    if method in _CHOOSING:
        part = np.zeros_like(part)
    elif method == "midpoint":
        part = np.where(part > 0, 0.5, 0.0)
    rank = np.where(most < 0, -1, whole).astype(np.int64)
    ranks = np.stack([rank, np.minimum(rank + (part > 0), most)], axis=1)
    return np.ascontiguousarray(ranks.reshape(2 * len(asked), len(n))), part


# Not a decorator: type checkers' stubs and what it makes of a signature differ.
_often = lru_cache(256)(lambda asked, n, method: _places(asked, np.full(1, n), method))


def _of_all(asked: tuple[float, ...], n: int, method: str) -> tuple[Any, Any]:
    """Find the same where all have n; what is asked for often is remembered, if it is short."""
    return _often(asked, n, method) if len(asked) <= 8 else _places(asked, np.full(1, n), method)


def _selected(
    xp: Any, rows: _Rows, asked: tuple[float, ...], method: str, leaves_out: bool
) -> tuple[Any, Any, Any]:
    """Select on the host: elements of the ranks, and of the next ones."""
    values, results = rows.blocks, math.prod(rows.shape)
    if leaves_out:
        shown = np.asarray(_core.count_nonzero(values == values, axis=1)).reshape(-1)
        ranks, parts = _places(asked, shown, method)
    else:
        ranks, parts = _of_all(asked, rows.n, method)
    out, nans = np.empty((len(ranks), results), values.dtype), np.zeros(results, np.int64)
    _core.select(values, ranks, out, nans)
    if not leaves_out and nans.any():
        out[:, nans > 0] = np.nan
    return out[0::2], out[1::2], parts


def _on_device(
    xp: Any, rows: _Rows, asked: tuple[float, ...], method: str, leaves_out: bool
) -> tuple[Any, Any, Any]:
    """Select by a block of threads for each row, or have the array's library sort."""
    results = math.prod(rows.shape)
    if not leaves_out and _are_for_blocks(results, rows.n, len(asked)):
        ranks, parts = _of_all(asked, rows.n, method)
        flat = xp.moveaxis(rows.blocks, 1, 2).reshape(-1)
        found = _core.select_rows(flat, results, np.ascontiguousarray(ranks[:, 0]))
        if found is not NotImplemented:
            found = found.reshape((len(ranks), results))
            return found[0::2], found[1::2], parts
    return _sorted(xp, rows, asked, method, leaves_out)


def _are_for_blocks(results: int, n: int, asked: int) -> bool:
    """Tell whether blocks are better than a sort: of few ranks, on an H200 (part `statistics`)."""
    return asked <= 8 and (n <= 1 << 12 or (results >= 32 and n <= 1 << 20))


def _sorted(
    xp: Any, rows: _Rows, asked: tuple[float, ...], method: str, leaves_out: bool
) -> tuple[Any, Any, Any]:
    """Have a library sort, NaN last, and take elements of the ranks."""
    torch, results = xp.__name__ == "torch", math.prod(rows.shape)
    flat = xp.moveaxis(rows.blocks, 1, 2).reshape((-1,) if results == 1 else (results, rows.n))
    ordered = (xp.sort(flat).values if torch else xp.sort(flat)).reshape((results, rows.n))
    if leaves_out:
        numbers = np.empty(results, np.int64)
        _core.count_nonzero(ordered == ordered, axis=1, out=numbers)
        ranks, parts = _places(asked, numbers, method)
        ranks = np.ascontiguousarray(np.where(ranks < 0, rows.n - 1, ranks).T)
        take = xp.take_along_dim if torch else xp.take_along_axis
        found = take(ordered, brought(ranks, flat), 1)
    else:
        ranks, parts = _of_all(asked, rows.n, method)
        found, last = ordered[:, brought(ranks[:, 0], flat)], ordered[:, -1:]
        found = xp.where(last == last, found, last)
    return found.T[0::2], found.T[1::2], parts


# ---- between two elements ----


def _between(xp: Any, below: Any, above: Any, parts: Any, element: str, method: str) -> Any:
    """Interpolate in float64, from the nearer end, as numpy.quantile does; `parts` is NumPy's."""
    if method in _CHOOSING:
        return below
    low, kind = cast(below, xp.float64), below.dtype if "float" in element else xp.float64
    if not parts.any():
        return cast(low, kind)
    high, parts = cast(above, xp.float64), brought(np.ascontiguousarray(parts), below)
    with np.errstate(invalid="ignore", over="ignore"):
        apart, rest = high - low, 1 - parts
        found = xp.where(parts < 0.5, low + apart * parts, high - apart * rest)
        if not xp.isfinite(found).all():
            found = xp.where(abs(apart) < np.inf, found, low * rest + high * parts)
            found = xp.where((low == high) | (parts == 0), low, found)
        return cast(found, kind)
