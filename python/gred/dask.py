"""Sums, means, variances and dot products of Dask's arrays: exactly, whatever their chunks are.

>>> import dask.array as da, gred.dask
>>> x = da.from_array([1e100, 1.0, -1e100, 2.0], chunks=1)
>>> float(gred.dask.sum(x)), float(x.sum())
(3.0, 2.0)

Every block is added up where it lies, and what goes to other workers are exact sums, which Dask
merges as a tree. They are rounded once, in the end: the bits are the same for every chunking, every
scheduler, and every number of workers.
"""

from __future__ import annotations

import builtins
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from gred import _core
from gred.checks import needed
from gred.exact import WORDS, ExactMoments, ExactSum
from gred.exact.partials import Partials, merged, of_sums, rounded, sums_of
from gred.exact.variances import moments_of, variance_of

__all__ = ["dot", "mean", "std", "sum", "var"]


def __dir__() -> list[str]:
    return __all__


_Axis = int | tuple[int, ...] | None


# ---- what runs on workers ----


def _axes(axis: _Axis, dimensions: int) -> tuple[int, ...]:
    return tuple(range(dimensions)) if axis is None else tuple(np.atleast_1d(axis).tolist())


def _add(block: Any, axis: _Axis, keepdims: bool, computing_meta: bool = False) -> Any:
    """Dask looks at what a chunk becomes, and has no idea but arrays."""
    return block if computing_meta else sums_of(block, _axes(axis, block.ndim))


def _flat(blocks: Any) -> list[Partials]:
    """Dask nests lists as deep as there are axes."""
    return (
        [one for block in blocks for one in _flat(block)] if isinstance(blocks, list) else [blocks]
    )


def _combine(blocks: Any, axis: _Axis, keepdims: bool) -> Partials:
    return merged(_flat(blocks))


def _finish(blocks: Any, axis: _Axis, keepdims: bool, result: DTypeLike, divided: bool) -> Any:
    values = rounded(_combine(blocks, axis, keepdims), result, divided=divided)
    return values if keepdims else np.squeeze(values, _axes(axis, values.ndim))[()]


def _wrap(block: Any, axis: _Axis, keepdims: bool, result: DTypeLike, is_last: bool = False) -> Any:
    """Add integers up, which wrap around in any order; in the end to a scalar, as NumPy does."""
    wrapped = np.asarray(_core.sum(block, axis=axis, keepdims=keepdims, dtype=result))
    return wrapped[()] if is_last else wrapped


def _products(a: Any, b: Any, result: np.dtype[Any]) -> Partials:
    """Products are added as real numbers; where it is subtracted, a factor changes its sign."""
    parts = [[(a, b)]]
    if "c" in (a.dtype.kind, b.dtype.kind):
        a, b = a.astype(result), b.astype(result)
        parts = [[(a.real, b.real), (a.imag, -b.imag)], [(a.real, b.imag), (a.imag, b.real)]]
    sums = [ExactSum() for _ in parts]
    for total, pairs in zip(sums, parts, strict=True):
        for pair in pairs:
            total.add_products(*pair)
    return of_sums(sums)


def _integer_products(a: Any, b: Any, result: DTypeLike) -> Any:
    return np.asarray(_core.dot(a, b)).astype(result).reshape(1)


def _as_it_is(block: Any, axis: _Axis, keepdims: bool) -> Any:
    return block


def _dask() -> Any:
    return needed("dask.array", "dask")


def _reduction(
    x: Any, result: np.dtype[Any], axis: _Axis = None, keepdims: bool = False, **options: Any
) -> Any:
    """Tell Dask by an empty array of what type and how many dimensions results are."""
    dimensions = x.ndim if keepdims else x.ndim - len(_axes(axis, x.ndim))
    options |= {"axis": axis, "keepdims": keepdims, "dtype": result}
    return _dask().reduction(x, meta=np.empty((0,) * dimensions, result), **options)


def _reduced(x: Any, chunk: Any, result: np.dtype[Any], divided: bool, **options: Any) -> Any:
    options |= {"chunk": chunk, "combine": _combine, "concatenate": False}
    finish = partial(_finish, result=result, divided=divided)
    return _reduction(x, result, aggregate=finish, **options)


def _wrapping(x: Any, result: np.dtype[Any], **options: Any) -> Any:
    wrap = partial(_wrap, result=result)
    last = partial(wrap, is_last=True)
    return _reduction(x, result, chunk=wrap, combine=wrap, aggregate=last, **options)


def _array(x: Any, name: str) -> Any:
    if not isinstance(x, _dask().Array):
        raise TypeError(f"{name} must be an array of Dask's, not {type(x).__name__}")
    return x


def _is_integer(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "biu"


def _checked(dtype: DTypeLike | None, default: np.dtype[Any], is_complex: bool) -> np.dtype[Any]:
    """Take the type of the result, once gred has it, and that of the elements."""
    result = (default if dtype is None else np.dtype(dtype)).newbyteorder("=")
    if (result.kind == "c") != is_complex or _is_integer(result):
        kind = "a complex one" if is_complex else "a float's"
        raise TypeError(f"dtype must be {kind} here; got {result}")
    _core.exact_sum(np.empty(0, default).real)
    _core.exact_rounded(np.zeros(WORDS, np.int64), 1, np.empty(0, result).real.dtype)
    return result


def sum(
    x: Any,
    axis: _Axis = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    *,
    split_every: int | None = None,
) -> Any:
    """Add up all elements of a Dask array, or those along axes, and round once.

    Parameters
    ----------
    x : dask.array.Array
        Of any of gred's types. Its blocks are NumPy's, or CuPy's where gred adds those exactly.
    axis : int or tuple of ints, optional
        As for `numpy.sum`.
    dtype : data-type, optional
        A float's type for the result, or a complex one's of complex elements, to which the exact
        sum is rounded. By default that of the elements. Of integers there is no choice.
    keepdims : bool, default False
        Whether axes that are reduced stay, with length 1.
    split_every : int, optional
        How many sums are merged at once, as for `dask.array.sum`. It changes no bit.

    Returns
    -------
    dask.array.Array
        Lazy, and of NumPy's arrays. The sum of integers and bools is an int64 or uint64, and wraps
        around; other sums are the exact sum, rounded to nearest, ties to even. A sum of 0 is
        positive.

    Raises
    ------
    TypeError
        If x is no Dask array, or the type is not right for it.

    References
    ----------
    R. M. Neal, "Fast exact summation using small and large superaccumulators", arXiv:1505.05571,
    2015; M. Rocklin, "Dask: parallel computation with blocked algorithms and task scheduling",
    SciPy 2015.

    Examples
    --------
    >>> import dask.array as da, gred.dask
    >>> x = da.full((1000, 8), 0.1, chunks=(300, 3))
    >>> gred.dask.sum(x, axis=0).compute()[:2]
    array([100., 100.])

    """
    options = {"axis": axis, "keepdims": keepdims, "split_every": split_every}
    if _is_integer(_array(x, "x").dtype):
        wide = np.dtype(np.uint64 if x.dtype.kind == "u" else np.int64)
        if dtype is not None and np.dtype(dtype) != wide:
            raise TypeError(f"sums of {x.dtype} are {wide}; leave dtype out")
        return _wrapping(x, wide, **options)
    result = _checked(dtype, x.dtype, x.dtype.kind == "c")
    return _reduced(x, _add, result, divided=False, **options)


def mean(
    x: Any,
    axis: _Axis = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    *,
    split_every: int | None = None,
) -> Any:
    """Average all elements of a Dask array, or those along axes, and round once.

    Parameters
    ----------
    x, axis, keepdims, split_every
        As for `sum`.
    dtype : data-type, optional
        As for `sum`; by default float64 of integers and bools.

    Returns
    -------
    dask.array.Array
        Lazy, and of NumPy's arrays: the exact sums, also of integers, divided by how many elements
        there are, and then rounded. The mean of nothing is NaN.

    Raises
    ------
    TypeError
        As `sum`.

    Examples
    --------
    >>> import dask.array as da, gred.dask
    >>> float(gred.dask.mean(da.from_array([1e308, 1e308, 1e308], chunks=1)))
    1e+308

    """
    options = {"axis": axis, "keepdims": keepdims, "split_every": split_every}
    kind = _array(x, "x").dtype
    default = np.dtype(np.float64) if _is_integer(kind) else kind
    result = _checked(dtype, default, kind.kind == "c")
    return _reduced(x, _add, result, divided=True, **options)


# ---- variances ----


def _moments(
    block: Any, axis: _Axis, keepdims: bool, computing_meta: bool = False
) -> list[ExactMoments] | Any:
    return block if computing_meta else list(moments_of(block))


def _merge(blocks: Any, axis: _Axis, keepdims: bool) -> list[Any]:
    return [builtins.sum(of_part) for of_part in zip(*_leaves(blocks), strict=True)]


def _leaves(blocks: Any) -> list[list[ExactMoments]]:
    """Take Dask's nested lists apart, down to one block's moments, which are a list, too."""
    if isinstance(blocks[0], ExactMoments):
        return [blocks]
    return [one for block in blocks for one in _leaves(block)]


def _finish_spread(
    blocks: Any, axis: _Axis, keepdims: bool, name: str, ddof: float, result: np.dtype[Any]
) -> Any:
    return variance_of(name, _merge(blocks, axis, keepdims), ddof, result)


def _spread(x: Any, name: str, dtype: Any, ddof: float, split_every: int | None) -> Any:
    kind = _array(x, "x").dtype
    default = np.empty(0, np.float64 if _is_integer(kind) else kind).real.dtype
    result = _checked(dtype, default, False)

    finish = partial(_finish_spread, name=name, ddof=ddof, result=result)
    options: dict[str, Any] = {"chunk": _moments, "combine": _merge, "concatenate": False}
    return _reduction(x, result, aggregate=finish, split_every=split_every, **options)


def var(
    x: Any, dtype: DTypeLike | None = None, ddof: float = 0, *, split_every: int | None = None
) -> Any:
    """Make the variance of all elements of a Dask array: the exact one, rounded once.

    Parameters
    ----------
    x, split_every
        As for `sum`.
    dtype : data-type, optional
        A float's type; by default that of the elements, or of their parts, and float64 of integers.
    ddof : float, default 0
        What is taken from the number of elements for the divisor.

    Returns
    -------
    dask.array.Array of shape ()
        Lazy. What `gred.var` with ``method="exact"`` is of the whole array.

    Raises
    ------
    TypeError
        As `sum`.

    Examples
    --------
    >>> import dask.array as da, gred.dask
    >>> float(gred.dask.var(da.from_array([1e8, 1e8 + 1, 1e8 + 2], chunks=1), ddof=1))
    1.0

    """
    return _spread(x, "var", dtype, ddof, split_every)


def std(
    x: Any, dtype: DTypeLike | None = None, ddof: float = 0, *, split_every: int | None = None
) -> Any:
    """Make the standard deviation of all elements of a Dask array; all as for `var`."""
    return _spread(x, "std", dtype, ddof, split_every)


# ---- dot products ----


def _are_vectors(a: Any, b: Any) -> bool:
    """Refuse what are no vectors of one length; whether lengths of all chunks are known."""
    known = not np.isnan([*a.shape, *b.shape]).any()
    if a.ndim != 1 or b.ndim != 1 or (known and len(a) != len(b)):
        shapes = f"{a.shape} and {b.shape}"
        raise ValueError(f"a and b must be vectors of one length; got shapes {shapes}")
    if not known and a.numblocks != b.numblocks:
        raise ValueError(
            "a and b must have as many chunks where their lengths are unknown; got "
            f"{a.numblocks[0]} and {b.numblocks[0]}"
        )
    return known


def dot(a: Any, b: Any, *, split_every: int | None = None) -> Any:
    """Multiply two vectors of Dask's, element by element, add the products up, and round once.

    Parameters
    ----------
    a, b : dask.array.Array of shape (n,)
        Of any of gred's types; their chunks need not be the same.
    split_every : int, optional
        As for `sum`.

    Returns
    -------
    dask.array.Array of shape ()
        Lazy. What `gred.dot` with ``method="exact"`` is of the whole vectors.

    Raises
    ------
    TypeError
        If one of them is no Dask array.
    ValueError
        If they are not vectors of one length.

    Examples
    --------
    >>> import dask.array as da, gred.dask
    >>> a = da.from_array([1e200, 1.0, -1e200], chunks=2)
    >>> b = da.from_array([1e200, 3.0, 1e200], chunks=1)
    >>> float(gred.dask.dot(a, b))
    3.0

    """
    known = _are_vectors(_array(a, "a"), _array(b, "b"))
    # gred's own answer says of what type it is, and refuses what it cannot multiply.
    result = np.asarray(_core.dot(np.empty(0, a.dtype), np.empty(0, b.dtype))).dtype
    wraps = _is_integer(result)
    multiply = partial(_integer_products if wraps else _products, result=result)
    options = {"dtype": result, "meta": np.empty(0, result), "align_arrays": known}
    sums = _dask().blockwise(multiply, *("i", a, "i", b, "i"), adjust_chunks={"i": 1}, **options)
    if wraps:
        return _wrapping(sums, result, split_every=split_every)
    return _reduced(sums, _as_it_is, result, divided=False, split_every=split_every)
