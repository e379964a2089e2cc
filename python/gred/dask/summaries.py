"""Summaries, and reductions by key."""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

import numpy as np

import gred.keys
from gred.checks import import_extra
from gred.dask.engine import Axis, Reduction, array, axes_of, flat, library, reduced
from gred.dask.sums import core_reduction, finishing
from gred.exact.partials import Partials, concatenated, merged, sums_by_key
from gred.segments import reduction_named
from gred.statistics import summary
from gred.statistics.summary import Summary


def _described(
    block: Any, mask: Any = True, *, axes: tuple[int, ...], ddof: float, dtype: Any
) -> Summary:
    # Without axes, extremes of integers are integers with any mask.
    along: dict[str, Any] = {"axis": axes, "keepdims": True} if len(axes) < block.ndim else {}
    return summary.describe(block, ddof, method="exact", dtype=dtype, where=mask, **along)


def _merged(parts: list[Summary]) -> Summary:
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
    how = Reduction(partial(_described, **options), _merged)
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
        return Reduction(partial(_by_key, **rest, **options), _merged), np.dtype(object)
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
