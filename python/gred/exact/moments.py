"""Exact moments: of means, variances and covariances nothing is rounded but the result, once."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import ArrayLike, DTypeLike

from gred import _core
from gred.checks import array_of
from gred.device_array import dtype_named
from gred.exact.rationals import nearest, root
from gred.exact.sums import ExactSum

_FLOAT64 = np.dtype(np.float64)
_NO_FREEDOM = "Degrees of freedom <= 0 for slice"  # NumPy's words


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

    __slots__ = ("_products", "_sums")

    def __init__(self, *variables: ArrayLike | Any) -> None:
        self._sums: list[ExactSum] = []
        self._products: list[ExactSum] = []  # of variables 0 and 0, 0 and 1, ..., 1 and 1, ...
        if variables:
            self.add(*variables)

    def add(self, *variables: ArrayLike | Any) -> None:
        """Add values: an array of each variable, all of one shape, as `ExactSum.add` takes them.

        Errors are those of `ExactSum.add_products`, and ValueError if there are as many variables
        as before; then nothing is added.
        """
        if not variables:
            raise ValueError("there has to be a variable at least")
        pairs = combinations_with_replacement(variables, 2)
        self._merge([ExactSum(a) for a in variables], [_of_products(a, b) for a, b in pairs])

    def _merge(self, sums: Sequence[ExactSum], products: Sequence[ExactSum]) -> None:
        if self._sums and len(self._sums) != len(sums):
            raise ValueError(f"there are {len(self._sums)} variables, and {len(sums)} are given")
        mine, theirs = [*self._sums, *self._products], [*sums, *products]
        merged = [a + b for a, b in zip(mine or [ExactSum()] * len(theirs), theirs, strict=True)]
        self._sums, self._products = merged[: len(sums)], merged[len(sums) :]

    def __iadd__(self, other: ExactMoments | int) -> ExactMoments:
        """Add in place what another one has been given; 0, by which `sum` begins, is nothing."""
        if isinstance(other, ExactMoments):
            if other._sums:
                self._merge(other._sums, other._products)
        elif type(other) is not int or other != 0:
            return NotImplemented
        return self

    def __add__(self, other: ExactMoments | int) -> ExactMoments:
        """Make a new one, of all that both have been given."""
        return _made(self._sums, self._products).__iadd__(other)

    __radd__ = __add__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExactMoments):
            return NotImplemented
        return (self._sums, self._products) == (other._sums, other._products)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<ExactMoments of {self.count} values of {len(self._sums)} variables>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (self._sums, self._products)

    @property
    def count(self) -> int:
        """How many values each variable has been given."""
        return self._sums[0].count if self._sums else 0

    # ---- as words ----

    @property
    def words(self) -> npt.NDArray[np.int64]:
        """All sums as one array of int64, of shape (k (k + 3) / 2, 140) of k variables.

        They add up as `ExactSum.words` do, and are sent, or reduced by MPI or NCCL, in one message.
        """
        parts = [part.words for part in (*self._sums, *self._products)]
        return np.stack(parts) if parts else np.empty((0, ExactSum().words.size), np.int64)

    @classmethod
    def from_words(cls, words: ArrayLike) -> ExactMoments:
        """Make moments of words, or of up to 2**20 ones' that were added up; else ValueError."""
        rows = np.asarray(words)
        k = next((k for k in range(len(rows) + 1) if k * (k + 3) // 2 == len(rows)), None)
        if rows.ndim != 2 or k is None:
            raise ValueError(f"words of shape {rows.shape} are not those of moments")
        parts = [ExactSum.from_words(row) for row in rows]
        return _made(parts[:k], parts[k:])

    # ---- moments ----

    def _comoment(self, i: int, j: int) -> Fraction | None:
        """Sum the products of deviations; None if a value was not finite, or there is none."""
        i, j = sorted((i, j))
        k, n = len(self._sums), self.count
        product = self._products[i * k - i * (i - 1) // 2 + j - i]
        try:
            of_both = self._sums[i].fraction() * self._sums[j].fraction()
            return product.fraction() - of_both / n if n else None
        except (ValueError, OverflowError):
            return None

    def _made_of(
        self, ddof: float, dtype: np.dtype[Any], rounded: Callable[..., Any], pairs: Iterable[Any]
    ) -> list[Any]:
        freedom = self.count - Fraction(ddof)
        if freedom <= 0:
            warnings.warn(_NO_FREEDOM, RuntimeWarning, stacklevel=3)
        found = [self._comoment(i, j) if freedom > 0 else None for i, j in pairs]
        return [_nan(dtype) if x is None else rounded(x / freedom, dtype) for x in found]

    def mean(self, dtype: DTypeLike = np.float64) -> Any:
        """Give each variable's mean, or, of one, a scalar; of nothing NaN."""
        return _joined([total.mean(dtype) for total in self._sums])

    def var(self, ddof: float = 0, dtype: DTypeLike = np.float64) -> Any:
        """Give each variable's variance, divided by ``count - ddof``; NaN unless positive."""
        pairs = ((k, k) for k in range(len(self._sums)))
        return _joined(self._made_of(ddof, np.dtype(dtype), nearest, pairs))

    def std(self, ddof: float = 0, dtype: DTypeLike = np.float64) -> Any:
        """Give the roots of variances, rounded once."""
        pairs = ((k, k) for k in range(len(self._sums)))
        return _joined(self._made_of(ddof, np.dtype(dtype), root, pairs))

    def cov(self, ddof: float = 1, dtype: DTypeLike = np.float64) -> Any:
        """Give the matrix of covariances, divided by ``count - ddof``."""
        k = len(self._sums)
        found = self._made_of(ddof, np.dtype(dtype), nearest, np.ndindex(k, k))
        return np.array(found, dtype).reshape(k, k)

    def corrcoef(self, dtype: DTypeLike = np.float64) -> Any:
        """Give the matrix of Pearson's coefficients: each is the exact one, rounded once."""
        k, dtype = len(self._sums), np.dtype(dtype)
        found = [_correlation(self._comoment, i, j, dtype) for i, j in np.ndindex(k, k)]
        return np.array(found, dtype).reshape(k, k)


def _made(sums: Iterable[ExactSum], products: Iterable[ExactSum]) -> ExactMoments:
    made = ExactMoments()
    made._sums, made._products = list(sums), list(products)
    return made


def _of_products(a: Any, b: Any) -> ExactSum:
    total = ExactSum()
    total.add_products(a, b)
    return total


def _nan(dtype: np.dtype[Any]) -> Any:
    return dtype.type(np.nan)


def _joined(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else np.array(values)


def _correlation(comoment: Callable[..., Any], i: int, j: int, dtype: np.dtype[Any]) -> Any:
    """Take the root of the squared coefficient, which is a fraction."""
    both, of_i, of_j = comoment(i, j), comoment(i, i), comoment(j, j)
    if both is None or not of_i or not of_j:
        return _nan(dtype)
    value = root(both * both / (of_i * of_j), dtype)
    return -value if both < 0 else value


# ---- as NumPy has them ----


def _variables(m: Any, y: Any, rowvar: bool) -> list[Any]:
    """Take an array's rows, or columns, as variables."""
    found = []
    for given in (m,) if y is None else (m, y):
        array = array_of(given)
        if array.ndim > 2:
            raise ValueError(f"m and y must have at most 2 dimensions; got {array.ndim}")
        if array.ndim < 2:
            array = array.reshape(1, -1)
        elif not rowvar and array.shape[0] != 1:
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
    """Correlate variables: each of Pearson's coefficients is the exact one, rounded once.

    Parameters
    ----------
    x, y, rowvar, dtype
        As for `cov`.

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


# ---- gred.var and gred.std ----


def spread(
    name: str, a: Any, axis: Any, dtype: Any, ddof: float, keepdims: bool, where: Any
) -> Any:
    """Make exact variances, or their roots: of an array, or of a list of a device's as of one."""
    if isinstance(a, list | tuple) and any(hasattr(one, "__cuda_array_interface__") for one in a):
        parts = [sum(of_part) for of_part in zip(*map(moments_of, a), strict=True)]
        return spread_of(name, parts, ddof, _type(a[0], dtype))
    array = array_of(a)
    rounded, shown = _type(array, dtype), _shown(array, where)
    if axis is None and not keepdims:
        return spread_of(name, moments_of(array if shown is None else array[shown]), ddof, rounded)
    reduced = normalize_axis_tuple(range(array.ndim) if axis is None else axis, array.ndim)
    found = np.empty([1 if k in reduced else n for k, n in enumerate(array.shape)], rounded)
    for place in np.ndindex(found.shape):
        at = tuple(slice(None) if k in reduced else place[k] for k in range(array.ndim))
        part = array[at] if shown is None else array[at][shown[at]]
        found[place] = spread_of(name, moments_of(part), ddof, rounded)
    return _like(array, found if keepdims else found.squeeze(reduced))


def _type(array: Any, dtype: Any) -> np.dtype[Any]:
    """Find the type of a result: the elements' own, or its parts', and float64 of integers."""
    if dtype is None:
        name = _core.element(array)
        name = {"complex64": "float32", "complex128": "float64"}.get(name, name)
        dtype = name if name.startswith(("float", "bfloat")) else np.float64
    found: np.dtype[Any] = dtype_named(dtype) if isinstance(dtype, str) else np.dtype(dtype)
    return found


def moments_of(array: Any) -> list[ExactMoments]:
    """Take the parts of complex numbers as two, whose variances are added up."""
    is_complex = _core.element(array).startswith("complex")
    return [ExactMoments(part) for part in ((array.real, array.imag) if is_complex else (array,))]


def _shown(array: Any, where: Any) -> Any:
    """Broadcast a mask; None if there is none."""
    if where is True:
        return None
    mask = np.asarray(where)
    if not isinstance(array, np.ndarray) or mask.dtype != bool:
        raise TypeError("where of exact variances has to be of bool, and is for arrays of NumPy's")
    return np.broadcast_to(mask, array.shape)


def spread_of(name: str, parts: Sequence[Any], ddof: float, dtype: np.dtype[Any]) -> Any:
    """Round the variance that parts of complex numbers have together, or its root."""
    freedom = parts[0].count - Fraction(ddof)
    if freedom <= 0:
        warnings.warn(_NO_FREEDOM, RuntimeWarning, stacklevel=4)
        return _nan(dtype)
    found = [part._comoment(0, 0) for part in parts]
    if any(x is None for x in found):
        return _nan(dtype)
    return (root if name == "std" else nearest)(sum(found, Fraction()) / freedom, dtype)


def _like(array: Any, found: Any) -> Any:
    """Bring results along axes to the library of an array on a device."""
    if found.ndim == 0:
        return found[()]
    library = type(array).__module__.split(".")[0]
    if library == "torch":
        return importlib.import_module("torch").as_tensor(found, device=array.device)
    if library in ("cupy", "jax", "jaxlib"):
        name = "cupy" if library == "cupy" else "jax.numpy"
        return importlib.import_module(name).asarray(found)
    return found
