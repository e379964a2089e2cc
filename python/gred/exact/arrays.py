"""Exact sums of many results in one object: along axes, or by key."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import ArrayLike, DTypeLike

from gred.checks import indexable
from gred.exact.partials import Partials, sums_by_key, sums_of
from gred.exact.sums import HEAD, WORDS, ExactSum, Mergeable, Words, of_words, rounded
from gred.keys import by_key

_REAL, _COMPLEX = 1, 2  # parts of a number


class ExactSums(Mergeable):
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

    __slots__ = ()

    _shape = f"(..., 1, {HEAD + WORDS}), or 2 of complex numbers"

    @classmethod
    def _named(cls, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]] | None:
        kinds = {_REAL: "sums", _COMPLEX: "complex sums"}
        return (kinds[shape[-1]], shape[:-1]) if shape and shape[-1] in kinds else None

    def __init__(self, a: ArrayLike | Any, axis: int | tuple[int, ...] | None = None) -> None:
        array = indexable(a)
        axes = normalize_axis_tuple(range(array.ndim) if axis is None else axis, array.ndim)
        kept = tuple(length for k, length in enumerate(array.shape) if k not in axes)
        self._words = _words_of(sums_of(array, axes), kept)

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
        count = len(by_key("count", keys, value, num_keys))
        return of_words(_words_of(sums_by_key(np.asarray(keys), value, count), (count,)), cls)

    @property
    def _parts(self) -> int:
        return int(self._words.shape[-2])

    @property
    def shape(self) -> tuple[int, ...]:
        """As many sums there are along each axis that stays."""
        return self._words.shape[:-2]

    @property
    def count(self) -> Words:
        """How many elements each has been given, less those taken away."""
        return self._words[..., 0, 0].copy()

    def __getitem__(self, place: Any) -> ExactSum | ExactSums:
        """Take some, or, of real numbers, one as an `ExactSum`."""
        numbers = np.arange(math.prod(self.shape)).reshape(self.shape)[place]
        words = self._words.reshape(-1, self._parts, WORDS)[numbers]
        is_one = np.ndim(numbers) == 0 and self._parts == _REAL
        return of_words(words[0], ExactSum) if is_one else of_words(words, ExactSums)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("sums of shape () have no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[ExactSum | ExactSums]:
        """Go through the first dimension."""
        return (self[k] for k in range(len(self)))

    def value(self, dtype: DTypeLike | None = None) -> npt.NDArray[Any]:
        """Round each sum once, to float64, or, of complex numbers, complex128, or another type."""
        return self._rounded(dtype, False)

    def mean(self, dtype: DTypeLike | None = None) -> npt.NDArray[Any]:
        """Divide each by its count, and round the quotient once; of nothing NaN."""
        return self._rounded(dtype, True)

    def _rounded(self, dtype: Any, divides: bool) -> npt.NDArray[Any]:
        words, of_two = self._words, self._parts == _COMPLEX
        default = np.complex128 if of_two else np.float64
        found = np.empty(self.shape, default if dtype is None else dtype)
        if (found.dtype.kind == "c") != of_two:
            raise TypeError(f"sums of {self._parts} parts are not rounded to {found.dtype}")
        for part, values in enumerate((found.real, found.imag)[: self._parts]):
            rows = words[..., part, :].reshape(-1, WORDS)
            values[...] = rounded(rows, values.dtype, divides).reshape(self.shape)
        return found

    def __repr__(self) -> str:
        return f"<ExactSums of shape {self.shape}>"


def _words_of(sums: Partials, shape: tuple[int, ...]) -> Words:
    """Put the parts of a result side by side."""
    words = np.ascontiguousarray(sums.words().swapaxes(0, 1))
    return words.reshape(*shape, words.shape[1], WORDS)
