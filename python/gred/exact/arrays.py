"""Exact sums of many results in one object: along axes, or by key."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import ArrayLike, DTypeLike

from gred import _core
from gred.checks import indexable
from gred.exact.sums import (
    COUNTS,
    HEAD,
    WORDS,
    ExactSum,
    check_counts,
    normalised,
    of_words,
    opened,
    salt_of,
    sealed,
)
from gred.keys import by_key

_Words = npt.NDArray[np.int64]
_REAL, _COMPLEX = 1, 2  # parts of a number


class ExactSums:
    """Exact sums in a shape, that are added to without rounding, and rounded when asked.

    They are what an array of `ExactSum` would be, in one array of words: merged by ``+`` and
    ``+=``, taken away by ``-``, pickled, and sent by MPI, NCCL or Dask in one message. Complex
    numbers have two sums each.

    Parameters
    ----------
    a : array_like
        Of any shape and type, on the host, or of CuPy or PyTorch; added up exactly.
    axis : int or tuple of int, optional
        What is added up; the axes that stay give the shape. All, by default.

    Examples
    --------
    >>> import gred, numpy as np
    >>> months = [np.array([[1e100, 1.0], [2.0, 0.1]]), np.array([[-1e100, 1.0], [2.0, 0.2]])]
    >>> total = sum(gred.ExactSums(month, axis=0) for month in months)
    >>> total.shape, total.value()
    ((2,), array([4. , 2.3]))
    >>> total[0]
    <ExactSum of 4 elements: 4.0>

    """

    __slots__ = ("__weakref__", "_lock", "_parts", "_shape", "_words")

    def __init__(self, a: ArrayLike | Any, axis: int | tuple[int, ...] | None = None) -> None:
        array = indexable(a)
        reduced = normalize_axis_tuple(range(array.ndim) if axis is None else axis, array.ndim)
        kept = [k for k in range(array.ndim) if k not in reduced]
        rows = getattr(array, "permute", array.transpose)(*kept, *reduced)
        self._lock = threading.Lock()
        self._shape = tuple(array.shape[k] for k in kept)
        self._parts = _COMPLEX if _core.element(array).startswith("complex") else _REAL
        self._words = _added([rows[place] for place in np.ndindex(*self._shape)], self._parts)

    @classmethod
    def by_key(cls, keys: ArrayLike, values: ArrayLike, num_keys: int | None = None) -> ExactSums:
        """Add up the values of each key, of one dimension, on the host.

        Keys and errors are as of `gred.by_key`: integers from 0 on, below `num_keys`.
        """
        if isinstance(keys, tuple):
            raise TypeError("keys of one kind are taken; join several to one first")
        value = indexable(values)
        if value.ndim != 1:
            raise ValueError(f"values must have one dimension; they have {value.ndim}")
        count, key = len(by_key("count", keys, value, num_keys)), np.asarray(keys)
        order = np.argsort(key, kind="stable")
        ends, ordered = np.searchsorted(key[order], np.arange(count + 1)), value[order]
        parts = _COMPLEX if _core.element(value).startswith("complex") else _REAL
        pieces = [ordered[begin:end] for begin, end in pairwise(ends)]
        return _made((count,), parts, _added(pieces, parts))

    @property
    def shape(self) -> tuple[int, ...]:
        """As many sums there are along each axis that stays."""
        return self._shape

    @property
    def count(self) -> npt.NDArray[np.int64]:
        """How many elements each has been given, less those taken away."""
        return self._words[:: self._parts, 0].copy().reshape(self._shape)

    def __getitem__(self, place: Any) -> ExactSum | ExactSums:
        """Take some, or, of real numbers, one as an `ExactSum`."""
        numbers = np.arange(math.prod(self._shape)).reshape(self._shape)[place]
        rows = self._words.reshape(-1, self._parts, WORDS)[numbers]
        if np.ndim(numbers) == 0 and self._parts == _REAL:
            return of_words(rows[0])
        return _made(np.shape(numbers), self._parts, rows.reshape(-1, WORDS))

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("sums of shape () have no length")
        return int(self._shape[0])

    def __iter__(self) -> Iterator[ExactSum | ExactSums]:
        """Go through the first dimension."""
        return (self[k] for k in range(len(self)))

    # ---- merging ----

    def __iadd__(self, other: ExactSums | int) -> ExactSums:
        """Add in place what others have been given; 0, by which `sum` begins, is nothing."""
        if isinstance(other, ExactSums):
            self._merge(other, 1)
        elif type(other) is not int or other != 0:
            return NotImplemented
        return self

    def __isub__(self, other: ExactSums) -> ExactSums:
        """Take away what others have been given."""
        if not isinstance(other, ExactSums):
            return NotImplemented
        self._merge(other, -1)
        return self

    def __add__(self, other: ExactSums | int) -> ExactSums:
        """Make new ones, of all that both have been given."""
        return _made(self._shape, self._parts, self._words).__iadd__(other)

    __radd__ = __add__

    def __sub__(self, other: ExactSums) -> ExactSums:
        """Make new ones, of what these have been given and the others have not."""
        return _made(self._shape, self._parts, self._words).__isub__(other)

    def _merge(self, other: ExactSums, sign: int) -> None:
        """Words are replaced, never written."""
        if (self._shape, self._parts) != (other._shape, other._parts):
            raise ValueError(
                f"sums of shapes {self._shape} and {other._shape}, or of real and complex numbers, "
                f"do not add up"
            )
        theirs = other._words
        with self._lock:
            mine = self._words
            if any(np.abs(one[:, :COUNTS]).max(initial=0) >= 2**62 for one in (mine, theirs)):
                raise OverflowError("more than 2**62 elements")
            self._words = _each(lambda row, _: normalised(row), mine + sign * theirs, WORDS)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExactSums):
            return NotImplemented
        same = (self._shape, self._parts) == (other._shape, other._parts)
        return same and bool(np.array_equal(self._words, other._words))

    __hash__ = None  # type: ignore[assignment]

    # ---- results ----

    def value(self, dtype: DTypeLike | None = None) -> npt.NDArray[Any]:
        """Round each sum once, to float64, or, of complex numbers, complex128, or another type."""
        return self._rounded(dtype, False)

    def mean(self, dtype: DTypeLike | None = None) -> npt.NDArray[Any]:
        """Divide each by its count, and round the quotient once; of nothing NaN."""
        return self._rounded(dtype, True)

    def _rounded(self, dtype: Any, divides: bool) -> npt.NDArray[Any]:
        all_words = self._words
        default = np.complex128 if self._parts == _COMPLEX else np.float64
        found = np.empty(self._shape, default if dtype is None else dtype)
        if (found.dtype.kind == "c") != (self._parts == _COMPLEX):
            raise TypeError(f"sums of {self._parts} parts are not rounded to {found.dtype}")
        for part, values in enumerate((found.real, found.imag)[: self._parts]):
            rounded = [
                _core.exact_rounded(words, int(words[0]) if divides else 1, values.dtype)
                for words in all_words[part :: self._parts]
            ]
            values[...] = np.array(rounded, values.dtype).reshape(self._shape)
        return found

    def __repr__(self) -> str:
        return f"<ExactSums of shape {self._shape}>"

    # ---- as words ----

    @property
    def words(self) -> _Words:
        """All sums as one array of int64, of shape (..., 1, 140); of complex ones 2.

        They add up as `ExactSum.words` do, whose errors these are.
        """
        rows = _each(self._salted(sealed), check_counts(self._words), HEAD + WORDS)
        return rows.reshape(*self._shape, self._parts, HEAD + WORDS)

    @classmethod
    def from_words(cls, words: ArrayLike) -> ExactSums:
        """Make sums of words, or of up to 2**20 ones' that were added up; else ValueError."""
        given = np.asarray(words)
        if given.ndim < 2 or given.dtype != np.int64 or given.shape[-1] != HEAD + WORDS:
            raise ValueError(f"words of shape {given.shape} of {given.dtype} are not those of sums")
        *shape, parts, length = given.shape
        if parts not in (_REAL, _COMPLEX):
            raise ValueError(f"numbers have 1 part or 2; got words of {parts}")
        made = _made(tuple(shape), parts, np.empty((0, WORDS), np.int64))
        made._words = _each(made._salted(opened), given.reshape(-1, length), WORDS)
        return made

    def _salted(self, change: Callable[..., _Words]) -> Callable[[_Words, int], _Words]:
        kind = "complex sums" if self._parts == _COMPLEX else "sums"
        return lambda row, k: change(row, salt_of(kind, self._shape, k))

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (self._shape, self._parts, self._words)


def _made(shape: tuple[int, ...], parts: int, words: _Words) -> ExactSums:
    made = ExactSums.__new__(ExactSums)
    made._lock = threading.Lock()
    made._shape, made._parts, made._words = tuple(shape), parts, words
    return made


def _each(change: Callable[[_Words, int], _Words], rows: _Words, length: int) -> _Words:
    changed = [change(np.ascontiguousarray(row), k) for k, row in enumerate(rows)]
    return np.array(changed, np.int64).reshape(len(rows), length)


def _added(pieces: Sequence[Any], parts: int) -> _Words:
    """Add up each piece, or its real and its imaginary part, in turn."""
    numbers = [
        part
        for piece in pieces
        for part in ((piece.real, piece.imag) if parts == _COMPLEX else (piece,))
    ]
    words = [np.frombuffer(_core.exact_sum(one), np.int64) for one in numbers]
    return np.array(words, np.int64).reshape(-1, WORDS)
