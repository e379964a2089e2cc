"""Reductions by key (group-by): one result per key, of values in any order."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.typing import ArrayLike, DTypeLike

import gred._core as _core
from gred.checks import array_of, cast, dtype_name, library_of, match_library, on_device, to_library
from gred.segments import reduceat, reduction_named
from gred.statistics.summary import Summary, apply_sums, make_summary, on_host
from gred.statistics.weights import library_type, real, typed, weighted


class _Rest(NamedTuple):
    """Options that are passed on unchanged."""

    drops: bool
    dtype: DTypeLike | None
    ddof: float
    method: str


def by_key(
    op: Any,
    keys: ArrayLike | tuple[ArrayLike, ...] | Any,
    values: ArrayLike | Any,
    num_keys: int | Sequence[int] | None = None,
    *,
    axis: SupportsIndex = 0,
    outside: str = "error",
    dtype: DTypeLike | None = None,
    ddof: float = 0,
    method: str = "auto",
    weights: ArrayLike | Any | None = None,
) -> Any:
    """Reduce the values of each key, as ``np.bincount`` and a ``groupby`` do.

    Parameters
    ----------
    op : str or numpy.ufunc
        'count', 'describe' (along axis 0), or as for `gred.reduceat`: 'sum', 'argmin', np.maximum.
    keys : array_like of int, shape (n,), or tuple of such arrays
        Keys from 0 to num_keys - 1, in any order. Each key array is a dimension of the results.
    values : array_like of shape (..., n, ...)
        On the device of the keys. GPU arrays of libraries other than CuPy, PyTorch and JAX: 1-d.
    num_keys : int, or tuple of int with one per key array, optional
        Number of results; by default one more than the largest key.
    axis : int, default 0
        Axis of `values` along which there is one key per position.
    outside : {'error', 'drop'}, default 'error'
        Whether keys that are negative or not less than num_keys raise, or their values are dropped.
    dtype, ddof, method
        As for `gred.reduceat`.
    weights : array_like of the shape of `values` or of the keys, optional
        Weights as for `gred.mean`, for 'sum', 'mean', 'var' and 'std' by one key.

    Returns
    -------
    array of shape (..., num_keys, ...), of the reduction's type
        The bits are the same in every run, and with 'exact' for any order and device. A key without
        values gives the identity (0, 1, infinity or the type's limits), NaN for a mean, -1 for a
        position along `axis`. 'describe' gives a `Summary`, with 'exact' on the host only.

    Raises
    ------
    TypeError, ValueError, IndexError, MemoryError
        If keys are not integers, not as many as values, or out of bounds, or `op` does not exist.

    Examples
    --------
    >>> import gred
    >>> gred.by_key("sum", [1, 0, 1, 3], [1.5, 2.0, 3.0, 4.0])
    array([2. , 4.5, 0. , 4. ])
    """
    array, rest = _array(values, "values"), _Rest(drops(outside), dtype, ddof, method)
    name = op if isinstance(op, str) and op in ("count", "describe") else reduction_named(op)
    axis = operator.index(axis)
    if name == "describe":
        return _described(keys, array, num_keys, axis, weights, rest)
    if weights is None:
        return _reduced(name, keys, array, num_keys, axis, rest)
    return _weighted(name, keys, array, num_keys, axis, rest, _array(weights, "weights"))


def _reduced(name: str, keys: Any, values: Any, num_keys: Any, axis: int, rest: _Rest) -> Any:
    shape = _shape(values)
    xp, dim = library_of(values), normalize_axis_index(axis, len(shape))
    code, counts = _code_of(keys, num_keys, xp, values, shape[dim])
    if math.prod(counts) == 0 < shape[dim] and not rest.drops:
        raise IndexError("a key is not in [0, 0)")
    reduce = _on_device if on_device(values) else _reduce_on_host
    if len(counts) == len(shape) == 1:
        return reduce(name, code, values, counts[0], rest)
    _check_library(xp, values)
    front = xp.moveaxis(values, dim, 0)
    results = reduce(name, code, front, math.prod(counts), rest)
    dimensions = tuple(range(len(counts)))
    there = tuple(dim + k for k in dimensions)
    return xp.moveaxis(results.reshape((*counts, *front.shape[1:])), dimensions, there)


def _weighted(
    name: str, keys: Any, values: Any, num_keys: Any, axis: Any, rest: _Rest, weights: Any
) -> Any:
    """Compute weighted sums, means, variances and standard deviations by key."""
    if name not in ("sum", "mean", "var", "std") or isinstance(keys, tuple):
        raise ValueError(f"weights support 'sum', 'mean', 'var' and 'std' by one key, not {name!r}")
    if rest.method != "auto":
        raise ValueError("by_key with weights supports only method 'auto'")
    xp, key, weights = library_of(values), _keys(keys), match_library(weights, values)
    _check_library(xp if library_of(weights) is xp else None, values)
    axis = normalize_axis_index(axis, values.ndim)
    if weights.ndim == 1 < values.ndim:
        weights = weights.reshape([-1 if k == axis else 1 for k in range(values.ndim)])
    count = _counts([key], num_keys)[0]
    weights = xp.broadcast_to(weights, values.shape)
    (array, weight), kind = typed(xp, values, weights, rest.dtype)

    def added(x: Any) -> Any:
        return _reduced("sum", key, x, count, axis, rest._replace(dtype=None))

    def own(mean: Any) -> Any:
        places = xp.clip(_wide(xp, to_library(key, array), count), 0, max(count - 1, 0))
        return mean[(slice(None),) * axis + (places,)] if count else 0

    found, _ = weighted(name, xp, (array, weight), rest.ddof, added, own)
    return cast(found, library_type(xp, values, real(kind) if name in ("var", "std") else kind))


def _described(
    keys: Any, values: Any, num_keys: Any, axis: int, weights: Any, rest: _Rest
) -> Summary:
    """Describe the values of each key; variances give NaN the weight zero."""
    from gred.exact.partials import MOMENTS, sums_by_key  # imports this module

    xp, (drops, dtype, ddof, method) = library_of(values), rest
    if axis or weights is not None:
        raise ValueError("describe by key supports only axis 0, and no weights")
    if method == "exact" and xp is not np:
        raise TypeError(
            f"describe by key with method 'exact' takes NumPy arrays; got a {type(values).__name__}"
        )
    _check_library(xp, values)
    if method not in ("auto", "exact"):
        raise ValueError(f"describe by key takes method 'auto' or 'exact', not {method!r}")
    if values.ndim == 0:
        raise ValueError("values must have at least one dimension")
    if dtype is not None:
        values = cast(values, library_type(xp, values, _core.element(np.empty(0, dtype))))
    code, counts = _code_of(keys, num_keys, xp, values, values.shape[0])
    total, numbers, element = math.prod(counts), values == values, _core.element(values)
    is_float = element.startswith(("float", "bfloat", "complex"))

    def of(op: str, x: Any, **more: Any) -> Any:
        return by_key(op, code, x, total, outside="drop" if drops else "error", **more)

    def end(op: str) -> Any:
        found = of(op, values)
        found = found if is_float else cast(found, xp.float64)
        return xp.where(count > 0, found, xp.full_like(found, np.nan))

    count = of("count_nonzero", numbers)
    weights = cast(numbers, library_type(xp, values, real(element) if is_float else "float64"))
    known = xp.where(numbers, values, xp.zeros_like(values))
    fields = (
        *(count, of("count_nonzero", ~numbers), end("nanmin"), end("nanmax")),
        *(of("nanmean", values), of("var", known, weights=weights, ddof=ddof)),
        of("nansum", values),
    )
    summary = make_summary(fields, ddof)
    if method == "exact":
        summary = apply_sums(summary, [sums_by_key(code, values, total, MOMENTS, skips_nans=True)])
    shape = (*counts, *values.shape[1:])
    return make_summary((field.reshape(shape) for field in summary), ddof, summary.sums)


def _code_of(keys: Any, num_keys: Any, xp: Any, values: Any, n: int) -> tuple[Any, tuple[int, ...]]:
    """Check the keys of n values; return them as one key array, and the number of keys of each."""
    codes = [_keys(key) for key in (keys if isinstance(keys, tuple) else (keys,))]
    for shape in map(_shape, codes):
        if len(shape) != 1:
            raise ValueError(f"keys must have one dimension; got {len(shape)}")
        if shape[0] != n:
            raise ValueError(f"got {shape[0]} keys for {n} values along the axis")
    here = not on_device(values)
    if here and any(map(on_device, codes)):
        raise TypeError("keys and values must be in one place, on the host or on one device")
    counts = _counts(codes, num_keys)
    if len(codes) == 1:
        return codes[0], counts
    _check_library(xp, values)
    return _joined(np if here else xp, codes, counts), counts


def drops(outside: str) -> bool:
    """Return whether `outside` requests that values with an out-of-bounds key are dropped."""
    if outside not in ("error", "drop"):
        raise ValueError(f"outside must be 'error' or 'drop'; got {outside!r}")
    return outside == "drop"


def _array(given: Any, name: str) -> Any:
    """Return `array_of` the argument; an empty list becomes an int64 array."""
    array = array_of(given, name)
    is_empty = isinstance(array, np.ndarray) and array.size == 0 and not hasattr(given, "dtype")
    return array.astype(np.int64) if is_empty else array


def _keys(given: Any) -> Any:
    """Return integer keys as a device array or a NumPy array."""
    key = _array(given, "keys")
    key = key if isinstance(key, np.ndarray) or on_device(key) else np.asarray(key)
    kind = _core.element(key, "keys")
    if not kind.startswith(("int", "uint", "bool")):
        raise TypeError(f"keys must be integers, not {kind}")
    return key


def _shape(array: Any) -> tuple[int, ...]:
    """Return an array's shape, from `__cuda_array_interface__` if it has no attribute."""
    shape = getattr(array, "shape", None)
    return tuple(array.__cuda_array_interface__["shape"] if shape is None else shape)


def _counts(codes: Sequence[Any], num_keys: Any) -> tuple[int, ...]:
    if num_keys is None:
        return tuple(max(int(_core.max(key)) + 1, 0) if _shape(key)[0] else 0 for key in codes)
    given = num_keys if isinstance(num_keys, (tuple, list)) else (num_keys,)
    counts = tuple(operator.index(count) for count in given)
    if len(counts) != len(codes):
        raise ValueError(f"num_keys has {len(counts)} numbers for {len(codes)} keys")
    if min(counts, default=0) < 0:
        raise ValueError(f"num_keys must not be negative; got {min(counts)}")
    return counts


def _joined(xp: Any, codes: Sequence[Any], counts: Sequence[int]) -> Any:
    """Combine several keys into one, in C order; -1 where any of them is out of bounds."""
    joined, outside = 0, False
    for given, count in zip(codes, counts, strict=True):
        key, bad = _wide(xp, given, math.prod(counts)), _is_outside(given, count)
        joined = joined * count + xp.where(bad, xp.zeros_like(key), key)
        outside = bad | outside
    return xp.where(outside, xp.zeros_like(joined) - 1, joined)


def _is_outside(key: Any, count: int) -> Any:
    """Return where keys are out of bounds; `count` may exceed the range of their type."""
    return (key < 0) | (key > count - 1) if count else key == key


def _wide(xp: Any, key: Any, count: int) -> Any:
    """Convert keys to int64, or the library's widest integer; large uint64 keys become negative."""
    wide = cast(key, xp.int64)
    if count > np.iinfo(dtype_name(wide.dtype)).max:
        raise OverflowError(f"{count} keys exceed the range of {wide.dtype}")
    return wide


def _reduce_on_host(name: str, keys: Any, values: Any, count: int, rest: _Rest) -> Any:
    """Reduce on the host in one call, with separate keys for each column."""
    if name == "count":
        xp = library_of(values)
        name, values = "count_nonzero", xp.broadcast_to(xp.asarray(True), values.shape)
    width = math.prod(values.shape[1:])
    if width != 1:
        outside = _is_outside(keys, count)
        if outside.any() and not rest.drops:
            raise IndexError(f"a key is not in [0, {count})")
        keys = np.where(outside, 0, keys.astype(np.int64))[:, None] * width + np.arange(width)
        keys[outside] = -1
    results = _core.by_key(name, keys.ravel(), values.reshape(-1), count * width, *rest)
    return results // width if "arg" in name and width > 1 else results


_SUMS = ("sum", "mean", "nansum", "nanmean")
_BY_KERNELS = (*_SUMS, "count_nonzero", "min", "max", "nanmin", "nanmax")


def _check_library(xp: Any, values: Any) -> None:
    if xp is None:
        raise TypeError(
            f"by_key supports a {type(values).__name__} only for sums, means and extremes of one "
            f"dimension by one key; copy keys and values to the host, or to CuPy, PyTorch or JAX"
        )


def _on_device(name: str, keys: Any, values: Any, count: int, rest: _Rest) -> Any:
    """Use the core's kernels for sums, means, counts and extremes if it has them; else sort."""
    xp, width = library_of(values), 1
    if xp and name == "count":
        truth = xp.bool if xp.__name__ == "torch" else np.bool_
        name, values = "count_nonzero", xp.ones_like(values, dtype=truth)
    if xp and name == "any":
        return _on_device("count_nonzero", keys, values, count, rest) != 0
    if xp and name == "all":
        return _on_device("count_nonzero", keys, values == 0, count, rest) == 0
    flat = values
    if xp and values.ndim > 1:
        width, flat = math.prod(values.shape[1:]), values.reshape(-1)
    if name in _BY_KERNELS:
        exact = name in _SUMS and rest.method == "auto"
        options = rest._replace(method="exact") if exact else rest
        found = _core.by_key(name, keys, flat, count * width, *options)
        if found is not NotImplemented:
            return found
    _check_library(xp, values)
    return _sorted(name, keys, values, count, rest)


def _sorted(name: str, keys: Any, values: Any, count: int, rest: _Rest) -> Any:
    """Reduce by key on a device: a stable sort by key, then a reduction of segments."""
    xp = library_of(values)
    if library_of(keys) is not xp:
        raise TypeError("keys and values must be arrays of the same library, on the same device")
    keys, is_torch = _wide(xp, keys, count), xp.__name__ == "torch"
    order = xp.argsort(keys, **({"stable": True} if is_torch else {}))
    place = {"device": keys.device} if is_torch else {}
    bounds = xp.searchsorted(keys[order], xp.arange(count + 1, dtype=keys.dtype, **place))
    ends = on_host(bounds).astype(np.int64)
    if not rest.drops and (ends[0] > 0 or ends[-1] < keys.shape[0]):
        raise IndexError(f"a key is not in [0, {count})")
    order, starts = order[int(ends[0]) : int(ends[-1])], ends[:-1] - ends[0]
    options = rest._asdict() | {"empty": "identity"}
    del options["drops"]
    results = reduceat(name, values[order], starts, **options)
    if "arg" not in name:
        return results
    first = (bounds[:-1] - int(ends[0])).reshape((-1, *[1] * (values.ndim - 1)))
    found = xp.where(results < 0, xp.zeros_like(results), results + first)
    return xp.where(results < 0, results, order[found])
