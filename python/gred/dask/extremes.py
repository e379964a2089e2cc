"""Reductions that are their own merge: extremes, truth, counts, and sums that wrap around."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

from gred import _core
from gred.dask.engine import Axis, Reduction, array, mask_beside, reduced
from gred.keys import by_key
from gred.statistics.nans import numbers_of

_MERGES = {"count": "sum", "count_nonzero": "sum"}  # others merge as they reduce


def folding(name: str, **options: Any) -> Reduction:
    """Reduce each block by gred, and what they become as well."""
    again = partial(_again, name=_MERGES.get(name, name), **options)
    return Reduction(partial(_folded, name=name, **options), again, np.asarray)


def folded(
    name: str,
    x: Any,
    dtype: np.dtype[Any],
    axis: Axis,
    keepdims: bool,
    where: Any,
    split_every: int | None,
) -> Any:
    """Reduce a Dask array so; sums in the result's type."""
    how = folding(name, **({"dtype": dtype} if name == "sum" else {}))
    beside = mask_beside(x, where)
    return reduced(x, how, dtype, axis, keepdims, beside=beside, split_every=split_every)


def _here(found: Any) -> Any:
    """Bring results to the host, of a block that lies on a GPU."""
    return np.asarray(found.get() if hasattr(found, "get") else found)


def _folded(
    block: Any, mask: Any = True, *, axes: tuple[int, ...], name: str, **options: Any
) -> Any:
    return _here(getattr(_core, name)(block, axis=axes, keepdims=True, where=mask, **options))


def _again(parts: list[Any], *, name: str, **options: Any) -> Any:
    return np.asarray(getattr(_core, name)(np.stack(parts), axis=0, **options))


# ---- what has no value of nothing ----


def _extremes(
    block: Any, mask: Any = True, *, axes: tuple[int, ...], name: str, skips: bool
) -> tuple[Any, Any]:
    """Find what is neutral where nothing takes part, and whether anything does."""
    shown = numbers_of(block, mask)[1] if skips else mask
    neutral = by_key(name, np.empty(0, np.int64), np.empty(0, block.dtype), 1)[0]
    found = _folded(block, shown, axes=axes, name=name, initial=neutral)
    of_any = np.broadcast_to(np.True_, block.shape)
    return found, _here(_core.any(of_any, axis=axes, keepdims=True, where=shown))


def _merged_extremes(parts: list[tuple[Any, Any]], *, name: str) -> tuple[Any, Any]:
    found, seen = zip(*parts, strict=True)
    return _again(list(found), name=name), _again(list(seen), name="any")


def _known(partials: tuple[Any, Any], *, name: str, skips: bool) -> Any:
    found, seen = partials
    if seen.all():
        return found
    if not skips or found.dtype.kind in "biu":
        raise ValueError(f"{name} has no value where there are no elements")
    warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=2)  # NumPy's words
    return np.where(seen, found, np.full_like(found, np.nan))


def _extreme(
    name: str,
    x: Any,
    axis: Axis,
    keepdims: bool,
    where: Any = True,
    split_every: int | None = None,
) -> Any:
    plain = name.removeprefix("nan")
    skips = plain != name
    _core.min(np.zeros(1, array(x).dtype))  # refuses elements that gred has not
    how = Reduction(
        partial(_extremes, name=plain, skips=skips),
        partial(_merged_extremes, name=plain),
        partial(_known, name=name, skips=skips),
    )
    beside, dtype = mask_beside(x, where), x.dtype.newbyteorder("=")
    return reduced(x, how, dtype, axis, keepdims, beside=beside, split_every=split_every)


def min(
    x: Any,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    where: Any = True,
    split_every: int | None = None,
) -> Any:
    """Find the least element of a Dask array, or along axes; NaN if there is one.

    Parameters
    ----------
    x, axis, keepdims, where, split_every
        As for `sum`.

    Returns
    -------
    dask.array.Array
        Lazy, and of NumPy's arrays of the elements' type. Where there are no elements it raises
        ValueError as it is computed.

    Raises
    ------
    TypeError, ValueError
        As `sum`.

    Examples
    --------
    >>> import dask.array as da, gred.dask
    >>> x = da.from_array([[3, 1], [2, 5]], chunks=1)
    >>> gred.dask.min(x, axis=0).compute(), int(gred.dask.max(x, where=x < 3))
    (array([2, 1]), 2)

    """
    return _extreme("min", x, axis, keepdims, where, split_every)


def max(x: Any, axis: Axis = None, keepdims: bool = False, **options: Any) -> Any:
    """Find the greatest element; all as for `min`."""
    return _extreme("max", x, axis, keepdims, **options)


def nanmin(x: Any, axis: Axis = None, keepdims: bool = False, **options: Any) -> Any:
    """Find the least element that is not NaN; all as for `min`.

    Where all are NaN the result is, with a RuntimeWarning.

    Examples
    --------
    >>> import dask.array as da, gred.dask
    >>> float(gred.dask.nanmin(da.from_array([2.0, float("nan"), 1.0], chunks=1)))
    1.0

    """
    return _extreme("nanmin", x, axis, keepdims, **options)


def nanmax(x: Any, axis: Axis = None, keepdims: bool = False, **options: Any) -> Any:
    """Find the greatest element that is not NaN; all as for `nanmin`."""
    return _extreme("nanmax", x, axis, keepdims, **options)


# ---- truth and counts ----


def _truth(
    name: str,
    x: Any,
    axis: Axis,
    keepdims: bool,
    where: Any = True,
    split_every: int | None = None,
) -> Any:
    dtype = np.asarray(getattr(_core, name)(np.zeros(1, array(x).dtype))).dtype
    return folded(name, x, dtype, axis, keepdims, where, split_every)


def any(x: Any, axis: Axis = None, keepdims: bool = False, **options: Any) -> Any:
    """Tell whether any element is not zero; `where` and `split_every` as for `sum`.

    Examples
    --------
    >>> import dask.array as da, gred.dask
    >>> x = da.from_array([[0, 1], [2, 3]], chunks=1)
    >>> bool(gred.dask.any(x)), gred.dask.all(x, axis=0).compute()
    (True, array([False,  True]))

    """
    return _truth("any", x, axis, keepdims, **options)


def all(x: Any, axis: Axis = None, keepdims: bool = False, **options: Any) -> Any:
    """Tell whether all elements are not zero; all as for `any`."""
    return _truth("all", x, axis, keepdims, **options)


def count_nonzero(x: Any, axis: Axis = None, keepdims: bool = False, **options: Any) -> Any:
    """Count elements that are not zero, as int64; all as for `any`."""
    return _truth("count_nonzero", x, axis, keepdims, **options)
