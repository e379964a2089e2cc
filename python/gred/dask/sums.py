"""Reductions by exact sums that are rounded once, and reductions that merge their own results."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from gred import _core
from gred.dask.engine import Axis, Reduction, array, reduced
from gred.exact import ExactSum
from gred.exact.partials import MOMENTS, Partials, merged, of_sums, rounded, sums_of
from gred.exact.variances import norms, type_of, variances
from gred.keys import by_key
from gred.statistics.nans import values_and_not_nan

# ---- extremes, truth, counts, and sums that wrap around ----

_MERGES = {"count": "sum", "count_nonzero": "sum"}  # others merge by the same reduction


def core_reduction(name: str, **options: Any) -> Reduction:
    """Return a reduction that applies gred's function to blocks and to their results."""
    again = partial(_reduce_partials, name=_MERGES.get(name, name), **options)
    return Reduction(partial(_reduce_block, name=name, **options), again, np.asarray)


def _reduce_block(
    block: Any, mask: Any = True, *, axes: tuple[int, ...], name: str, **options: Any
) -> Any:
    """Reduce a block, and copy results of a block on a GPU to the host."""
    found = getattr(_core, name)(block, axis=axes, keepdims=True, where=mask, **options)
    return np.asarray(found.get() if hasattr(found, "get") else found)


def _reduce_partials(parts: list[Any], *, name: str, **options: Any) -> Any:
    return np.asarray(getattr(_core, name)(np.stack(parts), axis=0, **options))


def _extremes(
    block: Any, mask: Any = True, *, axes: tuple[int, ...], name: str, skips: bool
) -> tuple[Any, Any]:
    """Return extremes, the identity where no elements are included, and whether any are."""
    shown = values_and_not_nan(block, mask)[1] if skips else mask
    neutral = by_key(name, np.empty(0, np.int64), np.empty(0, block.dtype), 1)[0]
    found = _reduce_block(block, shown, axes=axes, name=name, initial=neutral)
    of_any = np.broadcast_to(np.True_, block.shape)
    return found, _reduce_block(of_any, shown, axes=axes, name="any")


def _merged(parts: list[tuple[Any, Any]], *, name: str) -> tuple[Any, Any]:
    found, seen = zip(*parts, strict=True)
    return _reduce_partials(list(found), name=name), _reduce_partials(list(seen), name="any")


def _known(partials: tuple[Any, Any], *, name: str, skips: bool) -> Any:
    found, seen = partials
    if seen.all():
        return found
    if not skips or found.dtype.kind in "biu":
        raise ValueError(f"{name} of empty input has no value")
    warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=2)  # NumPy's words
    return np.where(seen, found, np.full_like(found, np.nan))


def extreme(name: str, x: Any, axis: Axis, **rest: Any) -> Any:
    """Compute the minimum or maximum of a Dask array."""
    plain = name.removeprefix("nan")
    _core.min(np.zeros(1, array(x).dtype))  # raises for unsupported elements
    chunk = partial(_extremes, name=plain, skips=plain != name)
    known = partial(_known, name=name, skips=plain != name)
    how = Reduction(chunk, partial(_merged, name=plain), known)
    return reduced(x, how, x.dtype.newbyteorder("="), axis, **rest)


def truth(name: str, x: Any, axis: Axis, **rest: Any) -> Any:
    """Compute any, all or count_nonzero of a Dask array."""
    dtype = np.asarray(getattr(_core, name)(np.zeros(1, array(x).dtype))).dtype
    return reduced(x, core_reduction(name), dtype, axis, **rest)


# ---- exact sums ----


def _exact_sums(
    block: Any, mask: Any = None, *, axes: tuple[int, ...], powers: tuple[int, ...], skips: bool
) -> Partials:
    shown = None if mask is None else np.broadcast_to(mask, block.shape)
    return sums_of(block, axes, shown, powers, skips)


def finishing(name: str, x: Any, dtype: DTypeLike | None, ddof: float = 0) -> tuple[Any, Any, Any]:
    """Return the powers that a reduction sums, the function that finishes sums, and the type.

    The type is that of gred's own result for one element, which raises for unsupported types.
    """
    sample, kind = np.zeros(1, x.dtype), "" if dtype is None else np.dtype(dtype).kind
    if name in ("var", "std"):
        result = type_of([sample], dtype)
        return MOMENTS, partial(variances, name, ddof=ddof, dtype=result), result
    loses_parts = kind not in ("", "c") and x.dtype.kind == "c" and name != "norm"
    if loses_parts or (kind and kind in "biu" and name == "mean"):
        wanted = "complex" if x.dtype.kind == "c" else "a float type"
        raise TypeError(f"dtype of a {name} of {x.dtype} must be {wanted}; got {np.dtype(dtype)}")
    result = np.asarray(getattr(_core, name)(sample, dtype=dtype)).dtype
    if name == "norm":
        return (2,), partial(norms, dtype=result), result
    return (1,), partial(rounded, dtype=result, divided=name == "mean"), result


def reduced_exactly(
    name: str, x: Any, axis: Axis, dtype: DTypeLike | None, ddof: float = 0, **rest: Any
) -> Any:
    """Reduce a Dask array by exact sums; integer sums wrap around."""
    plain = name.removeprefix("nan")
    powers, finish, result = finishing(plain, array(x), dtype, ddof)
    how = Reduction(partial(_exact_sums, powers=powers, skips=plain != name), merged, finish)
    if result.kind in "biu":
        how = core_reduction(plain, dtype=result)
    return reduced(x, how, result, axis, **rest)


def _products(a: Any, b: Any, *, axes: tuple[int, ...], result: np.dtype[Any]) -> Any:
    """Sum products exactly, complex ones as real products; a factor is negated to subtract one."""
    if result.kind in "biu":
        return np.asarray(_core.dot(a, b)).astype(result).reshape(1)
    parts = [[(a, b)]]
    if result.kind == "c":
        a, b = a.astype(result), b.astype(result)
        parts = [[(a.real, b.real), (a.imag, -b.imag)], [(a.real, b.imag), (a.imag, b.real)]]
    sums = [ExactSum() for _ in parts]
    for total, pairs in zip(sums, parts, strict=True):
        for pair in pairs:
            total.add_products(*pair)
    return of_sums(sums)


def dot(name: str, a: Any, b: Any, split_every: int | None) -> Any:
    """Compute the dot product of two Dask vectors, rounded once."""
    known = not np.isnan([*array(a, "a").shape, *array(b, "b").shape]).any()
    if a.ndim != 1 or b.ndim != 1 or (known and len(a) != len(b)):
        shapes = f"{a.shape} and {b.shape}"
        raise ValueError(f"a and b must be vectors of one length; got shapes {shapes}")
    # gred's function for empty vectors gives the type, and raises for unsupported ones.
    result = np.asarray(_core.dot(np.empty(0, a.dtype), np.empty(0, b.dtype))).dtype
    how = Reduction(_products, merged, partial(rounded, dtype=result, divided=False))
    how = core_reduction("sum", dtype=result) if result.kind in "biu" else how
    how = how._replace(partial=partial(_products, result=result))
    return reduced(a, how, result, operands=[("b", b, (0,))], split_every=split_every)
