"""Reductions that are their own merge: extremes, truth, counts, and sums that wrap around."""

import warnings
from functools import partial
from typing import Any

import numpy as np

from gred import _core
from gred.dask.engine import Axis, Reduction, array, reduced
from gred.keys import by_key
from gred.statistics.nans import numbers_of

_MERGES = {"count": "sum", "count_nonzero": "sum"}  # others merge as they reduce


def folding(name: str, **options: Any) -> Reduction:
    """Reduce each block by gred, and what they become as well."""
    again = partial(_again, name=_MERGES.get(name, name), **options)
    return Reduction(partial(_folded, name=name, **options), again, np.asarray)


def _folded(
    block: Any, mask: Any = True, *, axes: tuple[int, ...], name: str, **options: Any
) -> Any:
    """Bring results to the host, of a block that lies on a GPU."""
    found = getattr(_core, name)(block, axis=axes, keepdims=True, where=mask, **options)
    return np.asarray(found.get() if hasattr(found, "get") else found)


def _again(parts: list[Any], *, name: str, **options: Any) -> Any:
    return np.asarray(getattr(_core, name)(np.stack(parts), axis=0, **options))


def _extremes(
    block: Any, mask: Any = True, *, axes: tuple[int, ...], name: str, skips: bool
) -> tuple[Any, Any]:
    """Find what is neutral where nothing takes part, and whether anything does."""
    shown = numbers_of(block, mask)[1] if skips else mask
    neutral = by_key(name, np.empty(0, np.int64), np.empty(0, block.dtype), 1)[0]
    found = _folded(block, shown, axes=axes, name=name, initial=neutral)
    of_any = np.broadcast_to(np.True_, block.shape)
    return found, _folded(of_any, shown, axes=axes, name="any")


def _merged(parts: list[tuple[Any, Any]], *, name: str) -> tuple[Any, Any]:
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


def extreme(name: str, x: Any, axis: Axis, **rest: Any) -> Any:
    """Find the least or greatest elements of a Dask array."""
    plain = name.removeprefix("nan")
    _core.min(np.zeros(1, array(x).dtype))  # refuses elements that gred has not
    chunk = partial(_extremes, name=plain, skips=plain != name)
    known = partial(_known, name=name, skips=plain != name)
    how = Reduction(chunk, partial(_merged, name=plain), known)
    return reduced(x, how, x.dtype.newbyteorder("="), axis, **rest)


def truth(name: str, x: Any, axis: Axis, **rest: Any) -> Any:
    """Tell which elements of a Dask array are not zero: any, all, or how many."""
    dtype = np.asarray(getattr(_core, name)(np.zeros(1, array(x).dtype))).dtype
    return reduced(x, folding(name), dtype, axis, **rest)
