"""Exact moments: means, variances, norms and covariances, rounded once."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gred import _core
from gred.checks import indexable, to_library, values_and_validity
from gred.exact.partials import MOMENTS, Partials, merged, moments_of, sums_of
from gred.exact.rationals import divisor_of, float_type, nearest, quotient, root
from gred.exact.sums import HEAD, WORDS, ExactSum, Mergeable, Words, exact_words, of_words
from gred.several import common_type
from gred.statistics.weights import real

_NO_FREEDOM = "Degrees of freedom <= 0 for slice"  # NumPy's words

_Rounding: TypeAlias = Callable[[Fraction, np.dtype[Any]], Any]
_Comoments: TypeAlias = dict[tuple[int, int], Fraction | None]


class ExactMoments(Mergeable):
    """Exact sums of variables, and of the products of each pair, from which moments are computed.

    Moments do not depend on the order of the values or on how they are split into parts, to the
    last bit: ``a + b``, ``a += b`` and ``sum(parts)`` are those of all values. Variances do not
    overflow or cancel: results are exact values rounded once, to nearest, ties to even.

    Parameters
    ----------
    *variables : array_like of real numbers, all of one shape
        Initial values, as for `add`. The first call with values sets the number of variables.

    Examples
    --------
    >>> import gred
    >>> part = gred.ExactMoments([1e8, 1e8 + 1], [2.0, 4.0])
    >>> part += gred.ExactMoments([1e8 + 2], [9.0])
    >>> part.count, part.mean(), part.var()
    (3, array([1.00000001e+08, 5.00000000e+00]), array([0.66666667, 8.66666667]))
    >>> part.cov()
    array([[ 1. ,  3.5],
           [ 3.5, 13. ]])
    """

    __slots__ = ()

    _shape = f"(k (k + 3) / 2, {HEAD + WORDS})"

    @classmethod
    def _kind_and_shape(cls, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]] | None:
        k = _variables_of(shape[0] if shape else 0)
        return ("moments", (k,)) if shape == (k * (k + 3) // 2,) else None

    def __init__(self, *variables: ArrayLike | Any) -> None:
        # Rows: the sum of each variable, then of products of pairs (0, 0), (0, 1), ..., (1, 1), ...
        self._words: Words = np.empty((0, WORDS), np.int64)
        if variables:
            self.add(*variables)

    def add(self, *variables: ArrayLike | Any) -> None:
        """Add values: one array per variable, all of one shape, as for `ExactSum.add`.

        Errors are those of `ExactSum.add_products`, and ValueError if the number of variables
        differs from before; nothing is added then.
        """
        if not variables:
            raise ValueError("at least one variable is required")
        pairs = combinations_with_replacement(variables, 2)
        rows = [exact_words(a) for a in variables]
        self._merge(np.array(rows + [exact_words(a, b) for a, b in pairs]))

    def _addable_words(self, given: Words) -> Words:
        mine = self._words if len(self._words) else np.zeros_like(given)
        if len(mine) != len(given):
            counts = f"{_variables_of(len(mine))} variables; got {_variables_of(len(given))}"
            raise ValueError(f"there must be {counts}")
        return mine

    def _merge(self, given: Words, sign: int = 1) -> None:
        if len(given):
            super()._merge(given, sign)

    def __repr__(self) -> str:
        k = _variables_of(len(self._words))
        return f"<ExactMoments of {self.count} values of {k} variables>"

    @property
    def count(self) -> int:
        """Number of values of each variable."""
        return int(self._words[:1, 0].sum())

    def mean(self, dtype: DTypeLike = np.float64) -> Any:
        """Return the mean of each variable, a scalar for one variable; NaN without values."""
        words = self._words
        rows = words[: _variables_of(len(words))]
        return _joined(of_words(row, ExactSum).mean(dtype) for row in rows)

    def var(self, ddof: float = 0, dtype: DTypeLike = np.float64) -> Any:
        """Return the variance of each variable, with the divisor ``count - ddof``.

        If the divisor is not positive, the result is infinity, or NaN for 0 / 0, with a
        RuntimeWarning.
        """
        return _joined(self._divided(ddof, dtype, nearest, False))

    def std(self, ddof: float = 0, dtype: DTypeLike = np.float64) -> Any:
        """Return the standard deviations, rounded once."""
        return _joined(self._divided(ddof, dtype, root, False))

    def cov(self, ddof: float = 1, dtype: DTypeLike = np.float64) -> Any:
        """Return the covariance matrix, with the divisor ``count - ddof``, as for `var`."""
        return _matrix(self._divided(ddof, dtype, nearest, True), dtype)

    def corrcoef(self, dtype: DTypeLike = np.float64) -> Any:
        """Return the matrix of Pearson correlation coefficients, each rounded once."""
        found, result = _comoments(self._words, True), float_type(dtype)
        return _matrix([_correlation(found, i, j, result) for i, j in sorted(found)], result)

    def _divided(self, ddof: float, dtype: DTypeLike, how: _Rounding, square: bool) -> list[Any]:
        """Compute variances, or all covariances, by rounding each quotient once."""
        words, result = self._words, float_type(dtype)
        divisor = divisor_of(int(words[:1, 0].sum()), ddof)
        if not divisor:
            warnings.warn(_NO_FREEDOM, RuntimeWarning, stacklevel=3)
        found = _comoments(words, square)
        return [quotient(how, found[pair], divisor, result) for pair in sorted(found)]


def _variables_of(rows: int) -> int:
    """Return the number of variables k that have k (k + 3) / 2 rows of sums."""
    return (math.isqrt(9 + 8 * rows) - 3) // 2


def _comoment(x: ExactSum, y: ExactSum, product: ExactSum) -> Fraction | None:
    """Return the sum of products of deviations; None for nonfinite values or no values."""
    try:
        of_both = x.fraction() * y.fraction()
        return product.fraction() - of_both / x.count if x.count else None
    except (ValueError, OverflowError):
        return None


def _comoments(words: Words, square: bool) -> _Comoments:
    """Return the comoments of all pairs of variables, or only of each with itself."""
    sums, k = [of_words(row, ExactSum) for row in words], _variables_of(len(words))
    found: _Comoments = {}
    pairs = combinations_with_replacement(range(k), 2)
    for (i, j), product in zip(pairs, sums[k:], strict=True):
        if square or i == j:
            found[i, j] = found[j, i] = _comoment(sums[i], sums[j], product)
    return found


def _correlation(found: _Comoments, i: int, j: int, dtype: np.dtype[Any]) -> Any:
    """Compute a correlation coefficient as the root of its square, which is a fraction."""
    both, of_i, of_j = found[i, j], found[i, i], found[j, j]
    if both is None or not of_i or not of_j:
        return dtype.type(np.nan)
    value = root(both * both / (of_i * of_j), dtype)
    return -value if both < 0 else value


def _joined(values: Iterable[Any]) -> Any:
    found = list(values)
    return found[0] if len(found) == 1 else np.array(found)


def _matrix(values: list[Any], dtype: DTypeLike) -> Any:
    k = math.isqrt(len(values))
    return np.array(values, dtype).reshape(k, k)


# ---- variances and norms from exact sums of elements and of squares ----


def reduced(
    name: str,
    a: Any,
    arrays: Sequence[Any] | None,
    axis: Any,
    dtype: Any,
    ddof: float,
    keepdims: bool,
    where: Any,
    _method: Any,
) -> Any:
    """Compute exact variances or standard deviations of an array, or of a list of arrays as one."""
    skips = name.startswith("nan")
    if arrays is not None:
        if axis is not None or keepdims or where is not True:
            raise TypeError(f"{name} of a list of arrays does not take axis, keepdims or where")
        sums = merged([sums_of(x, powers=MOMENTS, skips_nans=skips) for x in arrays])
        return variances(name, sums, ddof, type_of(arrays, dtype), 3)[()]
    if skips:
        a, shown = values_and_validity(a, "a")
        where = where if shown is None else shown & np.asarray(where)
    array, axes, sums = moments_of(a, axis, keepdims, where, skips_nans=skips)
    found = variances(name, sums, ddof, type_of([array], dtype), 3)
    found = found if keepdims else found.squeeze(axes)
    return to_library(found, array) if found.ndim else found[()]


def variances(
    name: str, partials: Partials, ddof: float, dtype: np.dtype[Any], stacklevel: int = 2
) -> Any:
    """Compute variances or standard deviations from sums of elements and of squares, rounded once.

    The variance of complex numbers is the sum of those of their parts.
    """
    divisors = [divisor_of(count, ddof) for count in partials.counts[0, :, 0].tolist()]
    if stacklevel and not all(divisors):
        warnings.warn(_NO_FREEDOM, RuntimeWarning, stacklevel=stacklevel)
    rounded, found = root if name.endswith("std") else nearest, []
    for sums, divisor in zip(partials.sums(), divisors, strict=True):
        half = len(sums) // 2
        of_parts = [_comoment(x, x, xx) for x, xx in zip(sums[:half], sums[half:], strict=True)]
        known = [x for x in of_parts if x is not None]
        whole = sum(known, Fraction()) if len(known) == half else None
        found.append(quotient(rounded, whole, divisor, dtype))
    return np.array(found, dtype).reshape(partials.shape)


def norms(partials: Partials, dtype: np.dtype[Any]) -> Any:
    """Compute square roots of sums of squares, rounded once; complex parts are added first."""

    def norm(total: ExactSum) -> Any:
        try:
            return root(total.fraction(), dtype)
        except (ValueError, OverflowError):
            return total.value(dtype)  # infinity, or NaN

    found = [norm(sum(sums, ExactSum())) for sums in partials.sums()]
    return np.array(found, dtype).reshape(partials.shape)


def type_of(arrays: Sequence[Any], dtype: Any) -> np.dtype[Any]:
    """Return the results' type: the elements' or their parts' type, float64 for integers."""
    if dtype is not None:
        return float_type(dtype)
    names = [real(name) for name in map(_core.element, arrays)]
    return common_type([name if "float" in name else "float64" for name in names])


# ---- NumPy's functions ----


def _variables(m: Any, y: Any, rowvar: bool) -> ExactMoments:
    """Take rows or columns as variables; as in NumPy, a `y` of one row is not transposed."""
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
    return ExactMoments(*found)


def cov(
    m: ArrayLike | Any,
    y: ArrayLike | Any | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: float | None = None,
    *,
    dtype: DTypeLike = np.float64,
) -> Any:
    """Estimate the exact covariance matrix, rounded once, with the same bits everywhere.

    Parameters
    ----------
    m, y : array_like of real numbers, of one or two dimensions
        Variables and their values: each row is a variable, or each column if not `rowvar`. On the
        host, or of CuPy, PyTorch or JAX on a device.
    rowvar, bias, ddof
        As for `numpy.cov`: the divisor is n - 1, or n if `bias`, or n - `ddof`.
    dtype : float16, bfloat16, float32 or float64
        Type of the result.

    Returns
    -------
    NumPy array of shape (k, k) for k variables, or scalar for one variable

    Raises
    ------
    TypeError, ValueError
        If values are complex, arrays have more dimensions, or variables differ in length.

    Examples
    --------
    >>> import gred
    >>> gred.cov([1e8, 1e8 + 1, 1e8 + 2], [2.0, 4.0, 9.0])
    array([[ 1. ,  3.5],
           [ 3.5, 13. ]])
    """
    if ddof is None:
        ddof = 0 if bias else 1
    return _variables(m, y, rowvar).cov(ddof, dtype).squeeze()[()]


def corrcoef(
    x: ArrayLike | Any,
    y: ArrayLike | Any | None = None,
    rowvar: bool = True,
    *,
    dtype: DTypeLike = np.float64,
) -> Any:
    """Compute exact Pearson correlation coefficients, rounded once; parameters are as for `cov`.

    Returns
    -------
    NumPy array of shape (k, k) for k variables, or scalar for one variable
        NaN where a variable is constant.

    Examples
    --------
    >>> import gred
    >>> gred.corrcoef([1.0, 2.0, 3.0], [2.0, 4.0, 6.5])
    array([[1.        , 0.99794872],
           [0.99794872, 1.        ]])
    """
    return _variables(x, y, rowvar).corrcoef(dtype).squeeze()[()]
