"""Covariances and correlations as NumPy has them, of exact moments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gred.checks import indexable
from gred.exact.moments import ExactMoments


def _variables(m: Any, y: Any, rowvar: bool) -> list[Any]:
    """Take arrays' rows, or columns, as variables; NumPy leaves a second array of one row alone."""
    found = []
    for given, is_first in ((m, True), (y, False)):
        if given is None:
            continue
        array = indexable(given)
        if array.ndim > 2:
            raise ValueError(f"m and y must have at most 2 dimensions; got {array.ndim}")
        if array.ndim < 2:
            array = array.reshape(1, -1)
        elif not rowvar and (is_first or array.shape[0] != 1):
            array = array.T
        found += [array[k] for k in range(array.shape[0])]
    return found


def cov(
    m: ArrayLike | Any,
    y: ArrayLike | Any | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: float | None = None,
    *,
    dtype: DTypeLike = np.float64,
) -> Any:
    """Estimate covariances: each is the exact one, rounded once, and has the same bits everywhere.

    Parameters
    ----------
    m, y : array_like of real numbers, of one or two dimensions
        Variables and their values, in rows, or, without `rowvar`, in columns; on the host, or on a
        device in a library that takes rows of it: CuPy, PyTorch, JAX.
    rowvar, bias, ddof
        As for `numpy.cov`: sums are divided by n - 1, or n if `bias`, or n - `ddof`.
    dtype : float16, bfloat16, float32 or float64
        What each is rounded to.

    Returns
    -------
    array of NumPy's, of shape (k, k) of k variables, or a scalar of one

    Raises
    ------
    TypeError, ValueError
        If numbers are complex, dimensions more, or variables not of one length.

    Examples
    --------
    >>> import gred
    >>> gred.cov([1e8, 1e8 + 1, 1e8 + 2], [2.0, 4.0, 9.0])
    array([[ 1. ,  3.5],
           [ 3.5, 13. ]])
    """
    if ddof is None:
        ddof = 0 if bias else 1
    return ExactMoments(*_variables(m, y, rowvar)).cov(ddof, dtype).squeeze()[()]


def corrcoef(
    x: ArrayLike | Any,
    y: ArrayLike | Any | None = None,
    rowvar: bool = True,
    *,
    dtype: DTypeLike = np.float64,
) -> Any:
    """Correlate variables, as `cov` takes them: Pearson's coefficients, exact and rounded once.

    Returns
    -------
    array of NumPy's, of shape (k, k) of k variables, or a scalar of one
        NaN where a variable is constant.

    Examples
    --------
    >>> import gred
    >>> gred.corrcoef([1.0, 2.0, 3.0], [2.0, 4.0, 6.5])
    array([[1.        , 0.99794872],
           [0.99794872, 1.        ]])
    """
    return ExactMoments(*_variables(x, y, rowvar)).corrcoef(dtype).squeeze()[()]
