"""Exact moments: of means, variances and covariances nothing is rounded but the result, once."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gred.exact.rationals import divisor_of, float_type, nearest, quotient, root
from gred.exact.sums import HEAD, WORDS, ExactSum, Mergeable, Words, exact_words, of_words

NO_FREEDOM = "Degrees of freedom <= 0 for slice"  # NumPy's words

Rounding: TypeAlias = Callable[[Fraction, np.dtype[Any]], Any]


class ExactMoments(Mergeable):
    """Exact sums of variables, and of the products of each two, of which all moments are made.

    The same values make the same moments to the last bit, in any order, from parts that were made
    anywhere: ``a + b``, ``a += b`` and ``sum(parts)`` are those of all values. Variances do not
    overflow or cancel: a result is the exact one, rounded once, to nearest, ties to even.

    Parameters
    ----------
    *variables : array_like of real numbers, all of one shape
        Values to begin with, as for `add`. Of how many variables there are is settled by the first.

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
    def _named(cls, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]] | None:
        k = _variables(range(shape[0] if shape else 0))
        return ("moments", (k,)) if shape == (k * (k + 3) // 2,) else None

    def __init__(self, *variables: ArrayLike | Any) -> None:
        # A row of each variable, and of the products of 0 and 0, 0 and 1, ..., 1 and 1, ...
        self._words: Words = np.empty((0, WORDS), np.int64)
        if variables:
            self.add(*variables)

    def add(self, *variables: ArrayLike | Any) -> None:
        """Add values: an array of each variable, all of one shape, as `ExactSum.add` takes them.

        Errors are those of `ExactSum.add_products`, and ValueError unless there are as many
        variables as before; then nothing is added.
        """
        if not variables:
            raise ValueError("there has to be a variable at least")
        pairs = combinations_with_replacement(variables, 2)
        rows = [exact_words(a) for a in variables]
        self._merge(np.array(rows + [exact_words(a, b) for a, b in pairs]))

    def _begun(self, given: Words) -> Words:
        mine = self._words if len(self._words) else np.zeros_like(given)
        if len(mine) != len(given):
            counts = f"{_variables(mine)} variables, and {_variables(given)} are given"
            raise ValueError(f"there are {counts}")
        return mine

    def _merge(self, given: Words, sign: int = 1) -> None:
        if len(given):
            super()._merge(given, sign)

    def _sums(self) -> list[ExactSum]:
        return [of_words(row, ExactSum) for row in self._words]

    def __repr__(self) -> str:
        k = _variables(self._words)
        return f"<ExactMoments of {self.count} values of {k} variables>"

    @property
    def count(self) -> int:
        """How many values each variable has been given."""
        return int(self._words[:1, 0].sum())

    # ---- moments ----

    def _made_of(self, ddof: float, dtype: DTypeLike, rounded: Rounding, square: bool) -> Any:
        """Round the variances, or, as a matrix, all covariances."""
        sums, result = self._sums(), float_type(dtype)
        divisor, k = divisor_of(sums[0].count if sums else 0, ddof), _variables(sums)
        if not divisor:
            warnings.warn(NO_FREEDOM, RuntimeWarning, stacklevel=3)
        places = np.ndindex(k, k) if square else ((i, i) for i in range(k))
        return [quotient(rounded, _comoment(sums, i, j), divisor, result) for i, j in places]

    def mean(self, dtype: DTypeLike = np.float64) -> Any:
        """Give each variable's mean, or, of one, a scalar; of nothing NaN."""
        sums = self._sums()
        return _joined([total.mean(dtype) for total in sums[: _variables(sums)]])

    def var(self, ddof: float = 0, dtype: DTypeLike = np.float64) -> Any:
        """Give each variable's variance, divided by ``count - ddof``.

        Where that is not positive there is a RuntimeWarning, and an infinity, or NaN of 0.
        """
        return _joined(self._made_of(ddof, dtype, nearest, False))

    def std(self, ddof: float = 0, dtype: DTypeLike = np.float64) -> Any:
        """Give the roots of variances, rounded once."""
        return _joined(self._made_of(ddof, dtype, root, False))

    def cov(self, ddof: float = 1, dtype: DTypeLike = np.float64) -> Any:
        """Give the matrix of covariances, divided by ``count - ddof``, as `var` does."""
        found = self._made_of(ddof, dtype, nearest, True)
        k = math.isqrt(len(found))
        return np.array(found, dtype).reshape(k, k)

    def corrcoef(self, dtype: DTypeLike = np.float64) -> Any:
        """Give the matrix of Pearson's coefficients: each is the exact one, rounded once."""
        sums, result = self._sums(), float_type(dtype)
        k = _variables(sums)
        found = [_correlation(sums, i, j, result) for i, j in np.ndindex(k, k)]
        return np.array(found, result).reshape(k, k)


def _variables(rows: Sequence[Any] | Words) -> int:
    """Tell of how many variables these are the sums."""
    return (math.isqrt(9 + 8 * len(rows)) - 3) // 2


def comoment(x: ExactSum, y: ExactSum, product: ExactSum) -> Fraction | None:
    """Sum the products of deviations; None if a value was not finite, or there is none."""
    try:
        of_both = x.fraction() * y.fraction()
        return product.fraction() - of_both / x.count if x.count else None
    except (ValueError, OverflowError):
        return None


def _comoment(sums: Sequence[ExactSum], i: int, j: int) -> Fraction | None:
    (i, j), k = sorted((i, j)), _variables(sums)
    return comoment(sums[i], sums[j], sums[k:][i * k - i * (i - 1) // 2 + j - i])


def _joined(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else np.array(values)


def _correlation(sums: Sequence[ExactSum], i: int, j: int, dtype: np.dtype[Any]) -> Any:
    """Take the root of the squared coefficient, which is a fraction."""
    both, of_i, of_j = (_comoment(sums, *pair) for pair in ((i, j), (i, i), (j, j)))
    if both is None or not of_i or not of_j:
        return dtype.type(np.nan)
    value = root(both * both / (of_i * of_j), dtype)
    return -value if both < 0 else value
