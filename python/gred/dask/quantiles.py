"""Quantiles: exact order statistics, digit by digit, through counts that Dask merges.

A pass counts, of the elements that begin as the one that is looked for does, how many go on with
each digit, and so finds its next one. Elements are taken as unsigned integers in the same order.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from gred import _core
from gred.checks import array_of, needed
from gred.dask.engine import Axis, Reduction, array, axes_of, blocks_of, flat, reduced
from gred.statistics import quantiles as selection

_DIGIT = 16  # bits of a digit, at most
_COUNTED = 21  # bits of how many counts there may be in a pass, some 8 MiB of them


class _Search(NamedTuple):
    """How far elements of some ranks are known."""

    prefixes: npt.NDArray[np.uint64]  # their digits so far
    ranks: npt.NDArray[np.int64]  # among the elements that begin so
    parts: list[float]  # how far quantiles are from the first of two elements on
    is_nan: bool  # which is what all are


class _Pass(NamedTuple):
    """Which digit is counted, from a bit on, of so many bits."""

    dtype: np.dtype[Any]
    low: int
    bits: int


# How often each digit follows on each prefix, of shape (prefixes, digits), how many NaNs there are,
# and what is counted for.
_Counted = tuple[npt.NDArray[np.int64], int, _Search | None]


def _sign(dtype: np.dtype[Any]) -> Any:
    """Give the highest bit, of the unsigned type of that size."""
    return np.dtype(f"u{dtype.itemsize}").type(1 << (8 * dtype.itemsize - 1))


def _is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "fV"  # V is that of bfloat16


def _ordered(values: Any) -> Any:
    """Take elements as unsigned integers in their order: of floats signs are turned round."""
    bits, sign = values.view(f"u{values.itemsize}"), _sign(values.dtype)
    if _is_float(values.dtype):
        return np.where(bits & sign, ~bits, bits ^ sign)
    return bits ^ sign if values.dtype.kind == "i" else bits


def _elements(ordered: Any, dtype: np.dtype[Any]) -> Any:
    """Take them back."""
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


def _begun(counts: Any, nans: int, asked: selection.Asked) -> _Search:
    """Find ranks, once it is known how many elements there are."""
    n = int(counts.sum())
    if n + nans == 0:
        raise ValueError("there are no elements to take a quantile of")
    # gred.quantile's rule, and whichever elements it takes.
    places = _core.quantile_places(asked, max(n, 1))
    ranks = np.array([rank for *both, _ in places for rank in both], np.int64)
    is_nan = n == 0 or (nans > 0 and not asked.leaves_out)
    return _Search(np.zeros(len(ranks), np.uint64), ranks, [part for *_, part in places], is_nan)


def _narrowed(counted: _Counted, *, at: _Pass, asked: selection.Asked) -> _Search:
    """Find the next digit of each element."""
    counts, nans, search = counted
    search = search or _begun(counts, nans, asked)
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
    # Of two elements it is the part itself that says where a quantile is.
    method = "lower" if method in selection.CHOOSING else "linear"
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
    """Compute quantiles of a Dask array, or its median, or those of what is not NaN."""
    shares, axes = np.asarray(q, np.float64), axes_of(array(x), axis)
    leaves_out = name.startswith("nan")
    take = partial(selection.nanquantile if leaves_out else selection.quantile, method=method)
    # gred's own answer says of what type it is, and refuses what it cannot do.
    dtype = take(np.zeros(1, x.dtype), shares).dtype
    if len(axes) == x.ndim:
        asked = selection.Asked(shares.ravel(), method, leaves_out, False)
        found = _of_all(x, shares, axes, dtype, asked, split_every)
    else:  # a block has all elements of a result
        whole = x.rechunk({k: -1 if k in axes else "auto" for k in range(x.ndim)})
        along = partial(take, q=shares, axis=axes, keepdims=True)
        found = blocks_of(whole, along, shares, axes, dtype)
    return found if keepdims else found.squeeze(tuple(shares.ndim + k for k in axes))


def _of_all(
    x: Any,
    q: Any,
    axes: tuple[int, ...],
    dtype: np.dtype[Any],
    asked: selection.Asked,
    split: int | None,
) -> Any:
    """Find elements in passes, each of which computes x once more, rather than keep it."""
    bind = needed("dask.graph_manipulation", "dask").bind
    native = x.dtype.newbyteorder("=")
    bits = max(min(_DIGIT, _COUNTED - (2 * q.size).bit_length()), 1)
    low, search = 8 * native.itemsize, None  # what is known so far, of all above a bit
    while low > 0:
        at = _Pass(native, max(low - bits, 0), min(bits, low))
        how = Reduction(partial(_count, at=at), _merge, partial(_narrowed, at=at, asked=asked))
        again = x if search is None else bind(x, search)
        beside = () if search is None else (("search", search, axes),)
        search = reduced(again, how, np.uint64, axes, True, beside=beside, split_every=split)
        low = at.low
    shape = (*q.shape, *[1] * x.ndim)
    finish = partial(_found, dtype=native, shape=shape, method=asked.method)
    return blocks_of(search, finish, q, (), dtype)
