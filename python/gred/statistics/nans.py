"""Variances and positions of what is not NaN: those of a mask, `where=` of gred's own."""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gred import _core
from gred.checks import array_of, nulls_apart, takes_other_names

__all__ = ["nanargmax", "nanargmin", "nanstd", "nanvar"]

_Axis = int | tuple[int, ...] | None


def numbers_of(a: Any, where: Any) -> tuple[Any, Any]:
    """Make a mask of what is a number, and let through by another, in the array's library."""
    values, present = nulls_apart(a, "a")
    array = array_of(values)
    if present is not None:
        where = present if where is True else present & np.asarray(where)
    if not _core.element(array).startswith(("float", "bfloat", "complex")):
        return array, where
    shown = array == array
    if isinstance(shown, bool):  # nobody has compared elements
        raise TypeError(
            f"arrays of {type(a).__name__} cannot be compared, to find what is NaN; copy it to the "
            f"host, or give where="
        )
    return array, shown if where is True else shown & where


@takes_other_names
def nanvar(
    a: ArrayLike | Any,
    axis: _Axis = None,
    dtype: DTypeLike | None = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """Compute the variance of elements that are not NaN.

    Parameters
    ----------
    a, axis, dtype, out, ddof, keepdims, where, **options
        As for `gred.var`, which is called with a mask; of an array on a device its own library,
        CuPy, PyTorch or JAX, finds NaN.

    Returns
    -------
    scalar or array
        As of `gred.var`, which has a RuntimeWarning where no more than `ddof` elements are left.

    Raises
    ------
    TypeError
        If the array has no library that finds NaN, or as `gred.var`.

    Examples
    --------
    >>> import gred
    >>> gred.nanvar([1.0, float("nan"), 3.0])
    np.float64(1.0)
    """
    array, shown = numbers_of(a, where)
    return _core.var(array, axis, dtype, out, ddof, keepdims, where=shown, **options)


@takes_other_names
def nanstd(
    a: ArrayLike | Any,
    axis: _Axis = None,
    dtype: DTypeLike | None = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """Compute the standard deviation of elements that are not NaN.

    Parameters
    ----------
    a, axis, dtype, out, ddof, keepdims, where, **options
        As for `nanvar`.

    Returns
    -------
    scalar or array
        The root of what `nanvar` returns.

    Examples
    --------
    >>> import gred
    >>> gred.nanstd([1.0, float("nan"), 5.0])
    np.float64(2.0)
    """
    array, shown = numbers_of(a, where)
    return _core.std(array, axis, dtype, out, ddof, keepdims, where=shown, **options)


@takes_other_names
def nanargmin(
    a: ArrayLike | Any,
    axis: SupportsIndex | None = None,
    out: Any = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """Find the position of the least element that is not NaN, the first of equals.

    Parameters
    ----------
    a, axis, out, where, **options
        As for `gred.argmin`, which is called with a mask; of an array on a device its own library,
        CuPy, PyTorch or JAX, finds NaN.

    Returns
    -------
    int64 or array of int64

    Raises
    ------
    ValueError
        If all elements are NaN.
    TypeError
        If the array has no library that finds NaN.

    Examples
    --------
    >>> import gred
    >>> gred.nanargmin([float("nan"), 3.0, 2.0])
    np.int64(2)
    """
    array, shown = numbers_of(a, where)
    return _core.argmin(array, axis, out, where=shown, **options)


@takes_other_names
def nanargmax(
    a: ArrayLike | Any,
    axis: SupportsIndex | None = None,
    out: Any = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """Find the position of the greatest element that is not NaN, the first of equals.

    Parameters
    ----------
    a, axis, out, where, **options
        As for `nanargmin`, and so are errors.

    Returns
    -------
    int64 or array of int64

    Examples
    --------
    >>> import gred
    >>> gred.nanargmax([float("nan"), 3.0, 2.0])
    np.int64(1)
    """
    array, shown = numbers_of(a, where)
    return _core.argmax(array, axis, out, where=shown, **options)
