"""Sums, means, variances, norms and dot products: exact sums, which are rounded once."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from gred import _core
from gred.dask.engine import Axis, Reduction, array, mask_beside, reduced
from gred.dask.extremes import folded, folding
from gred.exact import ExactSum
from gred.exact.partials import MOMENTS, Partials, merged, of_sums, rounded, sums_of
from gred.exact.variances import norms, type_of, variances


def _exact_sums(
    block: Any, mask: Any = None, *, axes: tuple[int, ...], powers: tuple[int, ...], skips: bool
) -> Partials:
    shown = None if mask is None else np.broadcast_to(mask, block.shape)
    return sums_of(block, axes, shown, powers, skips)


def finishing(name: str, x: Any, dtype: DTypeLike | None, ddof: float = 0) -> tuple[Any, Any, Any]:
    """Give the powers that a reduction needs, what makes results of their sums, and their type."""
    result = _result(name, x, dtype)
    if name in ("var", "std"):
        return MOMENTS, partial(variances, name, ddof=ddof, dtype=result), result
    if name == "norm":
        return (2,), partial(norms, dtype=result), result
    return (1,), partial(rounded, dtype=result, divided=name == "mean"), result


def _result(name: str, x: Any, dtype: DTypeLike | None) -> np.dtype[Any]:
    """Take the type of gred's own result, which refuses elements, and types that it has not."""
    sample = np.zeros(1, x.dtype)
    if name in ("var", "std"):
        return type_of([sample], dtype)
    kind = None if dtype is None else np.dtype(dtype).kind
    if (kind is not None and kind in "biu" and name == "mean") or (
        kind not in (None, "c") and x.dtype.kind == "c" and name != "norm"
    ):
        wanted = "complex" if x.dtype.kind == "c" else "a float's"
        raise TypeError(f"dtype of a {name} of {x.dtype} must be {wanted}; got {np.dtype(dtype)}")
    result: np.dtype[Any] = np.asarray(getattr(_core, name)(sample, dtype=dtype)).dtype
    return result


def _reduced(
    name: str,
    x: Any,
    axis: Axis,
    dtype: DTypeLike | None,
    keepdims: bool,
    where: Any = True,
    split_every: int | None = None,
    ddof: float = 0,
) -> Any:
    plain = name.removeprefix("nan")
    powers, finish, result = finishing(plain, array(x), dtype, ddof)
    if result.kind in "biu":
        return folded(plain, x, result, axis, keepdims, where, split_every)
    chunk = partial(_exact_sums, powers=powers, skips=plain != name)
    beside = mask_beside(x, where)
    how = Reduction(chunk, merged, finish)
    return reduced(x, how, result, axis, keepdims, beside=beside, split_every=split_every)


def sum(
    x: Any,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    *,
    where: Any = True,
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
        That of the result, as for `gred.sum`; the exact sum is rounded to a float's or a complex
        one. By default that of the elements, and int64 or uint64 of integers and bools.
    keepdims : bool, default False
        Whether axes that are reduced stay, with length 1.
    where : array_like of bool, of Dask's or NumPy's, optional
        Which elements take part; broadcast to x.
    split_every : int, optional
        How many partials are merged at once, as for `dask.array.sum`. It changes no bit.

    Returns
    -------
    dask.array.Array
        Lazy, and of NumPy's arrays. Sums of integers wrap around; others are the exact sum, rounded
        to nearest, ties to even. A sum of 0 is positive.

    Raises
    ------
    TypeError
        If x is no Dask array, the type is not right for it, or `where` is not of bool.
    ValueError
        If `where` does not fit, or has other chunks than x where their lengths are unknown.

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
    return _reduced("sum", x, axis, dtype, keepdims, where, split_every)


def nansum(
    x: Any,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    **options: Any,
) -> Any:
    """Add up what is not NaN, and round once; all else, `where` and `split_every`, as for `sum`.

    Examples
    --------
    >>> import dask.array as da, gred.dask
    >>> float(gred.dask.nansum(da.from_array([1e100, float("nan"), 1.0, -1e100], chunks=1)))
    1.0

    """
    return _reduced("nansum", x, axis, dtype, keepdims, **options)


def mean(
    x: Any,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    *,
    where: Any = True,
    split_every: int | None = None,
) -> Any:
    """Average all elements of a Dask array, or those along axes, and round once.

    Parameters
    ----------
    x, axis, keepdims, where, split_every
        As for `sum`.
    dtype : data-type, optional
        A float's or a complex one; by default that of the elements, and float64 of integers and
        bools.

    Returns
    -------
    dask.array.Array
        Lazy, and of NumPy's arrays: the exact sums, also of integers, divided by how many elements
        there are, and then rounded. The mean of nothing is NaN.

    Raises
    ------
    TypeError, ValueError
        As `sum`.

    Examples
    --------
    >>> import dask.array as da, gred.dask
    >>> float(gred.dask.mean(da.from_array([1e308, 1e308, 1e308], chunks=1)))
    1e+308

    """
    return _reduced("mean", x, axis, dtype, keepdims, where, split_every)


def nanmean(
    x: Any,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    **options: Any,
) -> Any:
    """Average what is not NaN, and round once; all else, `where` and `split_every`, as for `mean`.

    Examples
    --------
    >>> import dask.array as da, gred.dask
    >>> float(gred.dask.nanmean(da.from_array([2.0, float("nan"), 3.0], chunks=2)))
    2.5

    """
    return _reduced("nanmean", x, axis, dtype, keepdims, **options)


# ---- of squares ----


def var(
    x: Any,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    split_every: int | None = None,
) -> Any:
    """Make the variance of all elements of a Dask array, or along axes: the exact, rounded once.

    Parameters
    ----------
    x, axis, keepdims, where, split_every
        As for `sum`.
    dtype : data-type, optional
        A float's type; by default that of the elements, or of their parts, and float64 of integers.
    ddof : float, default 0
        What is taken from the number of elements for the divisor.

    Returns
    -------
    dask.array.Array
        Lazy. What `gred.var` with ``method="exact"`` is of the whole array.

    Raises
    ------
    TypeError, ValueError
        As `sum`.

    Examples
    --------
    >>> import dask.array as da, gred.dask
    >>> float(gred.dask.var(da.from_array([1e8, 1e8 + 1, 1e8 + 2], chunks=1), ddof=1))
    1.0

    """
    return _reduced("var", x, axis, dtype, keepdims, where, split_every, ddof)


def std(
    x: Any,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    **options: Any,
) -> Any:
    """Make the standard deviation, rounded once; all as for `var`."""
    return _reduced("std", x, axis, dtype, keepdims, ddof=ddof, **options)


def nanvar(
    x: Any,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    **options: Any,
) -> Any:
    """Make the variance of what is not NaN; all as for `var`."""
    return _reduced("nanvar", x, axis, dtype, keepdims, ddof=ddof, **options)


def nanstd(
    x: Any,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    ddof: float = 0,
    keepdims: bool = False,
    **options: Any,
) -> Any:
    """Make the standard deviation of what is not NaN; all as for `var`."""
    return _reduced("nanstd", x, axis, dtype, keepdims, ddof=ddof, **options)


def norm(
    x: Any,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    **options: Any,
) -> Any:
    """Make the root of the sum of squares, of vectors of any dimensions, rounded once.

    Parameters
    ----------
    x, axis, keepdims, **options
        As for `sum`, with `where` and `split_every`.
    dtype : data-type, optional
        As for `gred.norm`.

    Returns
    -------
    dask.array.Array
        Lazy. What `gred.norm` with ``method="exact"`` is of the whole array: no square overflows.

    Examples
    --------
    >>> import dask.array as da, gred.dask
    >>> float(gred.dask.norm(da.from_array([3.0, 4.0], chunks=1) * 2.0**600)) / 2.0**600
    5.0

    """
    return _reduced("norm", x, axis, dtype, keepdims, **options)


# ---- dot products ----


def _products(a: Any, b: Any, *, axes: tuple[int, ...], result: np.dtype[Any]) -> Partials:
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


def _integer_products(a: Any, b: Any, *, axes: tuple[int, ...], result: np.dtype[Any]) -> Any:
    return np.asarray(_core.dot(a, b)).astype(result).reshape(1)


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
        If they are not vectors of one length, or of as many chunks where lengths are unknown.

    Examples
    --------
    >>> import dask.array as da, gred.dask
    >>> a = da.from_array([1e200, 1.0, -1e200], chunks=2)
    >>> b = da.from_array([1e200, 3.0, 1e200], chunks=1)
    >>> float(gred.dask.dot(a, b))
    3.0

    """
    known = not np.isnan([*array(a, "a").shape, *array(b, "b").shape]).any()
    if a.ndim != 1 or b.ndim != 1 or (known and len(a) != len(b)):
        shapes = f"{a.shape} and {b.shape}"
        raise ValueError(f"a and b must be vectors of one length; got shapes {shapes}")
    # gred's own answer says of what type it is, and refuses what it cannot multiply.
    result = np.asarray(_core.dot(np.empty(0, a.dtype), np.empty(0, b.dtype))).dtype
    how = Reduction(
        partial(_products, result=result), merged, partial(rounded, dtype=result, divided=False)
    )
    if result.kind in "biu":
        how = folding("sum", dtype=result)._replace(
            partial=partial(_integer_products, result=result)
        )
    return reduced(a, how, result, beside=[("b", b, (0,))], split_every=split_every)
