"""Exact moments: of means, variances and covariances nothing is rounded but the result, once."""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike, DTypeLike

from gred.exact.rationals import divisor_of, float_type, nearest, quotient, root
from gred.exact.sums import (
    HEAD,
    WORDS,
    ExactSum,
    check_counts,
    of_words,
    opened,
    salt_of,
    sealed,
)

NO_FREEDOM = "Degrees of freedom <= 0 for slice"  # NumPy's words

# Of each variable, and of the products of variables 0 and 0, 0 and 1, ..., 1 and 1, ...
_State: TypeAlias = tuple[tuple[ExactSum, ...], tuple[ExactSum, ...]]
Rounding: TypeAlias = Callable[[Fraction, np.dtype[Any]], Any]


class ExactMoments:
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

    __slots__ = ("__weakref__", "_lock", "_state")

    def __init__(self, *variables: ArrayLike | Any) -> None:
        self._lock = threading.Lock()
        self._state: _State = ((), ())  # replaced, never written
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
        sums = tuple(ExactSum(a) for a in variables)
        self._merge((sums, tuple(_of_products(a, b) for a, b in pairs)))

    def _merge(self, given: _State) -> None:
        with self._lock:
            sums, products = self._state
            if sums and len(sums) != len(given[0]):
                raise ValueError(f"there are {len(sums)} variables, and {len(given[0])} are given")
            mine, theirs = (*sums, *products), (*given[0], *given[1])
            mine = mine or (ExactSum(),) * len(theirs)
            merged = tuple(a + b for a, b in zip(mine, theirs, strict=True))
            self._state = merged[: len(given[0])], merged[len(given[0]) :]

    def __iadd__(self, other: ExactMoments | int) -> ExactMoments:
        """Add in place what another one has been given; 0, by which `sum` begins, is nothing."""
        if isinstance(other, ExactMoments):
            if other._state[0]:
                self._merge(other._state)
        elif type(other) is not int or other != 0:
            return NotImplemented
        return self

    def __add__(self, other: ExactMoments | int) -> ExactMoments:
        """Make a new one, of all that both have been given."""
        return _made(*self._state).__iadd__(other)

    __radd__ = __add__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExactMoments):
            return NotImplemented
        return self._state == other._state

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<ExactMoments of {self.count} values of {len(self._state[0])} variables>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, self._state

    @property
    def count(self) -> int:
        """How many values each variable has been given."""
        return _count(self._state)

    # ---- as words ----

    @property
    def words(self) -> npt.NDArray[np.int64]:
        """All sums as one array of int64, of shape (k (k + 3) / 2, 140) of k variables.

        They add up as `ExactSum.words` do, and are sent, or reduced by MPI or NCCL, in one message.
        """
        sums, products = self._state
        parts = [check_counts(part._words) for part in (*sums, *products)]
        rows = [sealed(row, _salt(len(sums), k)) for k, row in enumerate(parts)]
        return np.stack(rows) if rows else np.empty((0, HEAD + WORDS), np.int64)

    @classmethod
    def from_words(cls, words: ArrayLike) -> ExactMoments:
        """Make moments of words, or of up to 2**20 ones' that were added up; else ValueError."""
        rows = np.asarray(words)
        k = (math.isqrt(9 + 8 * len(np.atleast_1d(rows))) - 3) // 2
        if rows.shape != (k * (k + 3) // 2, HEAD + WORDS) or rows.dtype != np.int64:
            raise ValueError(
                f"words of shape {rows.shape} of {rows.dtype} are not those of moments"
            )
        parts = [of_words(opened(row, _salt(k, place))) for place, row in enumerate(rows)]
        return _made(parts[:k], parts[k:])

    # ---- moments ----

    def _made_of(self, ddof: float, dtype: DTypeLike, rounded: Rounding, square: bool) -> Any:
        """Round the variances, or, as a matrix, all covariances."""
        state, result = self._state, float_type(dtype)
        divisor, k = divisor_of(_count(state), ddof), len(state[0])
        if not divisor:
            warnings.warn(NO_FREEDOM, RuntimeWarning, stacklevel=3)
        places = np.ndindex(k, k) if square else ((i, i) for i in range(k))
        return [quotient(rounded, comoment(state, i, j), divisor, result) for i, j in places]

    def mean(self, dtype: DTypeLike = np.float64) -> Any:
        """Give each variable's mean, or, of one, a scalar; of nothing NaN."""
        return _joined([total.mean(dtype) for total in self._state[0]])

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
        state, result = self._state, float_type(dtype)
        k = len(state[0])
        found = [_correlation(state, i, j, result) for i, j in np.ndindex(k, k)]
        return np.array(found, result).reshape(k, k)


def _count(state: _State) -> int:
    return state[0][0].count if state[0] else 0


def _salt(k: int, row: int) -> int:
    return salt_of("moments", (k,), row)


def comoment(state: _State, i: int, j: int) -> Fraction | None:
    """Sum the products of deviations; None if a value was not finite, or there is none."""
    i, j = sorted((i, j))
    (sums, products), n = state, _count(state)
    k = len(sums)
    product = products[i * k - i * (i - 1) // 2 + j - i]
    try:
        of_both = sums[i].fraction() * sums[j].fraction()
        return product.fraction() - of_both / n if n else None
    except (ValueError, OverflowError):
        return None


def _made(sums: Iterable[ExactSum], products: Iterable[ExactSum]) -> ExactMoments:
    made = ExactMoments()
    made._state = tuple(sums), tuple(products)
    return made


def _of_products(a: Any, b: Any) -> ExactSum:
    total = ExactSum()
    total.add_products(a, b)
    return total


def _joined(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else np.array(values)


def _correlation(state: _State, i: int, j: int, dtype: np.dtype[Any]) -> Any:
    """Take the root of the squared coefficient, which is a fraction."""
    both, of_i, of_j = comoment(state, i, j), comoment(state, i, i), comoment(state, j, j)
    if both is None or not of_i or not of_j:
        return dtype.type(np.nan)
    value = root(both * both / (of_i * of_j), dtype)
    return -value if both < 0 else value
