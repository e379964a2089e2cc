"""Quantiles: exact order statistics by a radix select, with histograms that Dask merges.

Elements are mapped to unsigned integers in the same order. A pass counts the next digits of the
elements that share the known prefix of the wanted one, and so finds its next digit.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from gred import _core
from gred.checks import array_of, import_extra
from gred.dask.engine import Axis, Reduction, array, axes_of, blocks_of, flat, reduced
from gred.statistics import quantiles as selection

_DIGIT = 16  # most bits of a digit
_COUNTED = 21  # log2 of the most counts in a pass, about 8 MiB


class _Search(NamedTuple):
    """State of the search for elements of given ranks."""

    prefixes: npt.NDArray[np.uint64]  # digits found so far
    ranks: npt.NDArray[np.int64]  # among the elements with that prefix
    parts: list[float]  # interpolation weights of the second of two elements
    is_nan: bool  # all results are NaN


class _Pass(NamedTuple):
    """The digit that a pass counts: its lowest bit and its number of bits."""

    dtype: np.dtype[Any]
    low: int
    bits: int


# Histograms of digits, of shape (prefixes, digits), the number of NaNs, and the search.
_Counted = tuple[npt.NDArray[np.int64], int, _Search | None]


def _sign(dtype: np.dtype[Any]) -> Any:
    """Return the sign bit, as an unsigned integer of the type's size."""
    return np.dtype(f"u{dtype.itemsize}").type(1 << (8 * dtype.itemsize - 1))


def _is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "fV"  # V is bfloat16


def _ordered(values: Any) -> Any:
    """Map elements to unsigned integers in the same order; the inverse of `_elements`."""
    bits, sign = values.view(f"u{values.itemsize}"), _sign(values.dtype)
    if _is_float(values.dtype):
        return np.where(bits & sign, ~bits, bits ^ sign)
    return bits ^ sign if values.dtype.kind == "i" else bits


def _elements(ordered: Any, dtype: np.dtype[Any]) -> Any:
    """Map unsigned integers back to elements."""
    bits, sign = ordered.astype(f"u{dtype.itemsize}"), _sign(dtype)
    if _is_float(dtype):
        bits = np.where(bits & sign, bits ^ sign, ~bits)
    return (bits ^ sign if dtype.kind == "i" else bits).view(dtype)


def _count(
    block: Any, search: _Search | None = None, *, axes: tuple[int, ...], at: _Pass
) -> _Counted:
    values = np.ascontiguousarray(array_of(block).reshape(-1), at.dtype)
    numbers = values[values == values] if _is_float(at.dtype) else values
    keys, low, width = _ordered(numbers), at.low, 1 << at.bits
    prefixes, places = np.zeros(1), 0
    if search is not None:
        prefixes = np.unique(search.prefixes).astype(keys.dtype)
        begins = keys >> keys.dtype.type(low + at.bits)
        fits = np.isin(begins, prefixes)
        keys, places = keys[fits], np.searchsorted(prefixes, begins[fits])
    digits = (keys >> keys.dtype.type(low)) & keys.dtype.type(width - 1)
    codes = digits.astype(np.int64) + places * width
    counts = np.bincount(codes, minlength=len(prefixes) * width).reshape(-1, width)
    return counts, len(values) - len(numbers), search


def _merge(parts: list[_Counted]) -> _Counted:
    counts, nans, searches = zip(*parts, strict=True)
    return np.add.reduce(counts), sum(nans), searches[0]


def _start_search(counts: Any, nans: int, asked: selection.Selection) -> _Search:
    """Compute the ranks from the number of elements."""
    n = int(counts.sum())
    if n + nans == 0:
        raise ValueError("quantiles of an empty array are not defined")
    # The same elements as gred.quantile interpolates.
    places = _core.quantile_places(asked, max(n, 1))
    ranks = np.array([rank for *both, _ in places for rank in both], np.int64)
    is_nan = n == 0 or (nans > 0 and not asked.skips_nan)
    return _Search(np.zeros(len(ranks), np.uint64), ranks, [part for *_, part in places], is_nan)


def _next_digits(counted: _Counted, *, at: _Pass, asked: selection.Selection) -> _Search:
    """Find the next digit of each element."""
    counts, nans, search = counted
    search = search or _start_search(counts, nans, asked)
    rows = np.searchsorted(np.unique(search.prefixes), search.prefixes)
    up_to = np.cumsum(counts, axis=1)[rows]
    digits = np.minimum((up_to <= search.ranks[:, None]).sum(axis=1), up_to.shape[1] - 1)
    ranks = search.ranks - np.where(digits > 0, up_to[np.arange(len(rows)), digits - 1], 0)
    prefixes = (search.prefixes << np.uint64(at.bits)) | digits.astype(np.uint64)
    return search._replace(prefixes=prefixes, ranks=ranks)


def _found(blocks: Any, *, dtype: np.dtype[Any], shape: tuple[int, ...], method: str) -> Any:
    """Interpolate between two elements, as gred.quantile does."""
    (search,) = flat(blocks)
    pairs = _elements(search.prefixes, dtype).reshape(-1, 2)
    # For a pair of elements the interpolation weight is the quantile's q.
    method = "lower" if method in selection.ELEMENT_METHODS else "linear"
    each = map(partial(selection.quantile, method=method), pairs, search.parts)
    found = np.array(list(each)).reshape(shape)
    return np.full_like(found, np.nan) if search.is_nan else found


# ---- the graph ----


def quantile(
    name: str,
    x: Any,
    axis: Axis,
    keepdims: bool,
    split_every: int | None,
    q: ArrayLike = 0.5,
    method: str = "linear",
) -> Any:
    """Compute quantiles or the median of a Dask array, skipping NaN if the name says so."""
    shares, axes = np.asarray(q, np.float64), axes_of(array(x), axis)
    skips_nan = name.startswith("nan")
    take = partial(selection.nanquantile if skips_nan else selection.quantile, method=method)
    # gred's function for one element gives the type, and raises for unsupported arguments.
    dtype = take(np.zeros(1, x.dtype), shares).dtype
    if len(axes) == x.ndim:
        asked = selection.Selection(shares.ravel(), method, skips_nan, False)
        found = _quantile_of_all(x, shares, axes, dtype, asked, split_every)
    else:  # rechunk, so that a block has all elements of a result
        whole = x.rechunk({k: -1 if k in axes else "auto" for k in range(x.ndim)})
        along = partial(take, q=shares, axis=axes, keepdims=True)
        found = blocks_of(whole, along, shares, axes, dtype)
    return found if keepdims else found.squeeze(tuple(shares.ndim + k for k in axes))


def _quantile_of_all(
    x: Any,
    q: Any,
    axes: tuple[int, ...],
    dtype: np.dtype[Any],
    asked: selection.Selection,
    split: int | None,
) -> Any:
    """Find elements in passes, each of which recomputes x instead of keeping it in memory."""
    bind = import_extra("dask.graph_manipulation", "dask").bind
    native = x.dtype.newbyteorder("=")
    bits = max(min(_DIGIT, _COUNTED - (2 * q.size).bit_length()), 1)
    low, search = 8 * native.itemsize, None  # digits above bit `low` are known
    while low > 0:
        at = _Pass(native, max(low - bits, 0), min(bits, low))
        how = Reduction(partial(_count, at=at), _merge, partial(_next_digits, at=at, asked=asked))
        again = x if search is None else bind(x, search)
        operands = () if search is None else (("search", search, axes),)
        search = reduced(again, how, np.uint64, axes, True, operands=operands, split_every=split)
        low = at.low
    shape = (*q.shape, *[1] * x.ndim)
    finish = partial(_found, dtype=native, shape=shape, method=asked.method)
    return blocks_of(search, finish, q, (), dtype)
