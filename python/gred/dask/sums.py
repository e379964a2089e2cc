"""Reductions by exact sums or by merging own results, summaries, and reductions by key."""

import operator
import warnings
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

import gred.keys
from gred import _core
from gred.checks import import_extra, values_and_not_nan
from gred.dask.engine import Axis, Reduction, array, axes_of, flat, library, reduced
from gred.exact import ExactSum
from gred.exact.moments import norms, type_of, variances
from gred.exact.partials import (
    MOMENTS,
    Partials,
    concatenated,
    merged,
    of_sums,
    rounded,
    sums_by_key,
    sums_of,
)
from gred.segments import reduction_named
from gred.statistics import summary
from gred.statistics.summary import Summary

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
    neutral = gred.keys.by_key(name, np.empty(0, np.int64), np.empty(0, block.dtype), 1)[0]
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


# ---- summaries ----


def _described(
    block: Any, mask: Any = True, *, axes: tuple[int, ...], ddof: float, dtype: Any
) -> Summary:
    # Without axes, extremes of integers are integers with any mask.
    along: dict[str, Any] = {"axis": axes, "keepdims": True} if len(axes) < block.ndim else {}
    return summary.describe(block, ddof, method="exact", dtype=dtype, where=mask, **along)


def _merged_summaries(parts: list[Summary]) -> Summary:
    return parts[0].merge(*parts[1:])


def _whole(blocks: Any, axes: tuple[int, ...]) -> Summary:
    """Join the nested list of blocks' summaries into one, and remove axes."""
    listed = flat(blocks)
    begins = iter(np.cumsum([0, *(one.count.size for one in listed)]).tolist())

    def numbered(block: Any) -> Any:
        """Assign consecutive numbers to the results of all blocks."""
        if isinstance(block, list):
            return [numbered(one) for one in block]
        return next(begins) + np.arange(block.count.size).reshape(block.count.shape)

    places = np.block(numbered(blocks))
    each = zip(*listed, strict=True)
    fields = (np.concatenate([np.ravel(x) for x in parts])[places] for parts in each)
    sums = concatenated([one.sums for one in listed], places.shape).taken(places.ravel())
    return summary.make_summary((np.squeeze(x, axes)[()] for x in fields), listed[0].ddof, sums)


def _by_key(block: Any, keys: Any, *, axes: tuple[int, ...], op: str, **options: Any) -> Any:
    return gred.keys.by_key(op, keys, block, **options)


def _sums_by_key(
    block: Any, keys: Any, *, axes: tuple[int, ...], num_keys: int, outside: str, powers: Any
) -> Partials:
    gred.keys.by_key("count", keys, keys, num_keys, outside=outside)  # checks keys
    return sums_by_key(keys, block, num_keys, powers)


def describe(
    name: str, x: Any, axis: Axis, keepdims: bool, ddof: float, dtype: Any, **rest: Any
) -> Any:
    """Describe a Dask array."""
    options = {"ddof": ddof, "dtype": dtype}
    _described(np.zeros(1, array(x).dtype), axes=(0,), **options)  # raises for unsupported types
    how = Reduction(partial(_described, **options), _merged_summaries)
    found = reduced(x, how, object, axis, True, **rest)
    return _delayed(found, () if keepdims else axes_of(x, axis))


def _delayed(found: Any, axes: tuple[int, ...]) -> Any:
    return import_extra("dask", "dask").delayed(_whole)(found.to_delayed().tolist(), axes)


def by_key(name: str, op: Any, keys: Any, values: Any, num_keys: int, **options: Any) -> Any:
    """Reduce the values of each key of Dask arrays."""
    keys, count = _keys(keys, array(values, "values")), operator.index(num_keys)
    if count < 0:
        raise ValueError(f"num_keys must not be negative; got {count}")
    gred.keys.drops(options["outside"])  # raises if it is invalid
    split_every = options.pop("split_every")
    how, result = _reduction_by_key(op, values, num_keys=count, **options)
    more: dict[str, Any] = {"operands": [("keys", keys, (0,))], "split_every": split_every}
    found = reduced(values, how, result, 0, True, size=count, **more)
    return _delayed(found, ()) if result.kind == "O" else found


def _keys(keys: Any, values: Any) -> Any:
    keys = library().asanyarray(keys)
    if values.ndim == 0 or keys.ndim != 1:
        raise ValueError(f"keys must have one dimension, and values one or more; got {keys.ndim}")
    if keys.dtype.kind not in "biu":
        raise TypeError(f"keys must be integers, not {keys.dtype}")
    return keys


_FOLDED = ("min", "max", "any", "all", "count", "count_nonzero")


def _reduction_by_key(
    op: Any, values: Any, dtype: Any, ddof: float, **options: Any
) -> tuple[Reduction, np.dtype[Any]]:
    """Return the reduction of blocks by key, and the results' type, taken from gred's own."""
    name = op if isinstance(op, str) and op in ("count", "describe") else reduction_named(op)
    sample = np.zeros(1, values.dtype)
    if name == "describe":
        rest = {"op": name, "dtype": dtype, "ddof": ddof, "method": "exact"}
        _by_key(sample, [0], axes=(0,), num_keys=1, **rest)  # raises for unsupported types
        return Reduction(partial(_by_key, **rest, **options), _merged_summaries), np.dtype(object)
    if name in ("sum", "mean", "var", "std", "norm"):
        powers, finish, result = finishing(name, values, dtype, ddof)
        if result.kind not in "biu":
            chunk = partial(_sums_by_key, powers=powers, **options)
            return Reduction(chunk, merged, finish), result
    elif name not in _FOLDED:
        names = ", ".join(["sum", "mean", "var", "std", "norm", *_FOLDED, "describe"])
        raise ValueError(f"op must be one of {names}; got {name!r}")
    result = gred.keys.by_key(name, [0], sample, 1, dtype=dtype).dtype
    chunk = partial(_by_key, op=name, dtype=dtype, **options)
    merging = core_reduction(name, **({"dtype": result} if name == "sum" else {}))
    return merging._replace(partial=chunk), result
