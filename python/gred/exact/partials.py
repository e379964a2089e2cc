"""Exact sums of many results: partial sums to be merged, and `ExactSums`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import ArrayLike, DTypeLike

from gred import _core, checks
from gred.exact import sums as exact
from gred.exact.sums import (
    COUNTS,
    HEAD,
    WORDS,
    ExactSum,
    Mergeable,
    Words,
    exact_words,
    normalised,
    of_words,
)
from gred.keys import by_key

_AT_ONCE = 1024  # results that are summed together before unused digits are dropped

MOMENTS = (1, 2)  # powers: elements, and their squares


@dataclass(frozen=True)
class Partials:
    """Exact sums of powers of elements, for an array of results.

    For complex numbers each power has two parts. ``counts``, of shape (parts, results, 4), are the
    numbers of elements, NaNs, and infinities of both signs; ``digits``, of shape (parts, results,
    n), are the words' digits from digit ``first`` on. Leading and trailing digits that are 0 in all
    results are dropped. Merging is adding, since words have spare bits for 2**30 parts.
    """

    shape: tuple[int, ...]
    counts: Words
    digits: Words
    first: int
    is_complex: bool = False

    def words(self, places: Any = slice(None)) -> Words:
        """Return the complete, normalized words of the selected results."""
        counts, digits = self.counts[:, places], self.digits[:, places]
        words = np.zeros((*counts.shape[:-1], WORDS), np.int64)
        words[..., :COUNTS] = counts
        words[..., COUNTS + self.first :][..., : digits.shape[-1]] = digits
        return normalised(words)

    def sums(self) -> Iterator[list[ExactSum]]:
        """Yield the sums of each result's parts."""
        for k in range(self.counts.shape[1]):
            yield [of_words(row, ExactSum) for row in self.words(k)]

    def taken(self, places: Words) -> Partials:
        """Return the selected results, in the given order."""
        return replace(self, counts=self.counts[:, places], digits=self.digits[:, places])

    def normalised(self) -> Partials:
        """Propagate carries, so that equal sums have equal digits."""
        return replace(_of_words(self.words(), self.is_complex), shape=self.shape)


def _of_words(words: Words, is_complex: bool) -> Partials:
    """Build partials from words, dropping leading and trailing digits that are 0 in all rows."""
    used = np.flatnonzero(words[..., COUNTS:].any(axis=(0, 1)))
    first, last = (int(used[0]), int(used[-1])) if len(used) else (0, 0)
    digits = words[..., COUNTS + first : COUNTS + last + 1].copy()
    return Partials((words.shape[1],), words[..., :COUNTS].copy(), digits, first, is_complex)


def of_sums(sums: Sequence[ExactSum]) -> Partials:
    """Build partials of one result from its exact sum, or from those of its two parts."""
    return _of_words(np.array([[total._words] for total in sums]), len(sums) > 1)


# ---- summation ----


def sums_of(
    array: Any,
    axes: tuple[int, ...] | None = None,
    mask: Any = None,
    powers: tuple[int, ...] = (1,),
    skips_nans: bool = False,
) -> Partials:
    """Sum an array's elements along distinct nonnegative axes, which are kept with length 1.

    Without axes there is one result, of shape (). `mask` is a bool array of the array's shape and
    library that selects elements; NaN is skipped if `skips_nans`.
    """
    if axes is None:
        whole = iter([array if mask is None else array[mask]])
        return _summed(whole, array, (), powers, skips_nans)
    kept = [k for k in range(array.ndim) if k not in axes]

    def pieces() -> Iterator[Any]:
        rows: Any
        rows, shown = (
            x if x is None else getattr(x, "permute", x.transpose)(*kept, *axes)
            for x in (array, mask)
        )
        for place in np.ndindex(*(array.shape[k] for k in kept)):
            at = (*place, ...)
            yield rows[at] if shown is None else rows[at][shown[at]]

    shape = tuple(1 if k in axes else n for k, n in enumerate(array.shape))
    return _summed(pieces(), array, shape, powers, skips_nans)


def sums_by_key(
    keys: Any, values: Any, count: int, powers: tuple[int, ...] = (1,), skips_nans: bool = False
) -> Partials:
    """Sum host values along their first axis by key.

    Values with a key outside [0, `count`) are skipped.
    """
    order = np.argsort(keys, kind="stable")
    ends = np.searchsorted(keys[order], np.arange(count + 1))
    ordered, places = values[order], [*np.ndindex(*values.shape[1:])]
    pieces = (
        ordered[(slice(begin, end), *place)] for begin, end in pairwise(ends) for place in places
    )
    return _summed(pieces, values, (count, *values.shape[1:]), powers, skips_nans)


def moments_of(
    a: Any, axis: Any, keepdims: bool, where: Any, skips_nans: bool = False
) -> tuple[Any, tuple[int, ...] | None, Partials]:
    """Process a reduction's arguments: return the array, its axes (None for all), and the sums."""
    whole = axis is None and not keepdims
    array = checks.array_of(a) if whole and where is True else checks.indexable(a)
    axes, shown = None, None
    if not whole:
        axes = normalize_axis_tuple(range(array.ndim) if axis is None else axis, array.ndim)
    if where is not True:
        shown = np.asarray(where)
        if checks.on_device(array) or shown.dtype != bool:
            raise TypeError("exact variances take a bool where, and only with arrays on the host")
        shown = np.broadcast_to(shown, tuple(array.shape))
    return array, axes, sums_of(array, axes, shown, MOMENTS, skips_nans)


def _summed(
    pieces: Iterator[Any],
    array: Any,
    shape: tuple[int, ...],
    powers: tuple[int, ...],
    skips_nans: bool,
) -> Partials:
    """Sum each piece of an array to one result."""
    of_two = _core.element(array).startswith("complex")
    if of_two and skips_nans:
        pieces = (piece[piece == piece] for piece in pieces)

    def added(tile: list[Any]) -> Partials:
        tile = [checks.indexable(piece) for piece in tile] if of_two else tile
        parts = [[x.real for x in tile], [x.imag for x in tile]] if of_two else [tile]
        words = [[exact_words(*[x] * power) for x in part] for power in powers for part in parts]
        return _of_words(np.array(words, np.int64).reshape(len(words), len(tile), WORDS), of_two)

    tiles = iter(lambda: list(islice(pieces, _AT_ONCE)), [])
    found = concatenated([added(tile) for tile in tiles] or [added([])], shape)
    if skips_nans and not of_two:  # NaN adds nothing to the digits
        found.counts[..., 0] -= found.counts[..., 1]
        found.counts[..., 1] = 0
    return found


# ---- merging, and rounding ----


def _aligned(partials: Sequence[Partials]) -> tuple[list[Words], list[Words], int]:
    """Return counts, digits padded to a common range, and the first digit of that range."""
    first = min(one.first for one in partials)
    end = max(one.first + one.digits.shape[-1] for one in partials)
    digits = []
    for one in partials:
        begin = one.first - first
        added = begin, end - first - begin - one.digits.shape[-1]
        digits.append(np.pad(one.digits, ((0, 0), (0, 0), added)))
    return [one.counts for one in partials], digits, first


def concatenated(tiles: Sequence[Partials], shape: tuple[int, ...]) -> Partials:
    """Concatenate tiles of results."""
    counts, digits, first = _aligned(tiles)
    joined = np.concatenate(counts, axis=1), np.concatenate(digits, axis=1)
    return Partials(shape, *joined, first, tiles[0].is_complex)


def merged(partials: Sequence[Partials]) -> Partials:
    """Add partial sums of the same results: at least one, and fewer than 2**30 in total."""
    counts, digits, first = _aligned(partials)
    added = reduce(np.add, counts), reduce(np.add, digits)
    return Partials(partials[0].shape, *added, first, partials[0].is_complex)


def rounded(partials: Partials, dtype: DTypeLike, *, divided: bool) -> npt.NDArray[Any]:
    """Round sums, or means if `divided`, once; sums of two parts to a complex type."""
    results = range(partials.counts.shape[1])
    whole = np.zeros(len(results), dtype)
    for part, values in enumerate((whole.real, whole.imag)[: 1 + partials.is_complex]):
        one = replace(partials, counts=partials.counts[[part]], digits=partials.digits[[part]])
        rows = (one.words(k)[0] for k in results)
        values[...] = exact.rounded(rows, values.dtype, divided)
    return whole.reshape(partials.shape)


# ---- ExactSums ----

_REAL, _COMPLEX = 1, 2  # parts of a number


class ExactSums(Mergeable):
    """An array of exact sums, accumulated without rounding and rounded on request.

    Equivalent to an array of `ExactSum`, but stored in one array of words: it is merged by ``+``
    and ``+=``, subtracted by ``-``, pickled, and sent by MPI, NCCL or Dask in one message. Complex
    numbers have two sums each.

    Parameters
    ----------
    a : array_like
        Input array of any shape and type, on the host, or of CuPy or PyTorch.
    axis : int or tuple of int, optional
        Axis or axes along which to sum; the others give the shape. By default all.

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

    _shape = f"(..., 1, {HEAD + WORDS}), or (..., 2, {HEAD + WORDS}) for complex numbers"

    @classmethod
    def _kind_and_shape(cls, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]] | None:
        kinds = {_REAL: "sums", _COMPLEX: "complex sums"}
        return (kinds[shape[-1]], shape[:-1]) if shape and shape[-1] in kinds else None

    def __init__(self, a: ArrayLike | Any, axis: int | tuple[int, ...] | None = None) -> None:
        array = checks.indexable(a)
        axes = normalize_axis_tuple(range(array.ndim) if axis is None else axis, array.ndim)
        kept = tuple(length for k, length in enumerate(array.shape) if k not in axes)
        self._words = _words_of(sums_of(array, axes), kept)

    @classmethod
    def by_key(cls, keys: ArrayLike, values: ArrayLike, num_keys: int | None = None) -> ExactSums:
        """Sum 1-d host values by key.

        Keys and errors are those of `gred.by_key`: integers from 0 to `num_keys` - 1.
        """
        if isinstance(keys, tuple):
            raise TypeError("keys must be a single array; combine several into one first")
        value = checks.indexable(values)
        if value.ndim != 1:
            raise ValueError(f"values must have one dimension; got {value.ndim}")
        count = len(by_key("count", keys, value, num_keys))
        return of_words(_words_of(sums_by_key(np.asarray(keys), value, count), (count,)), cls)

    @property
    def _parts(self) -> int:
        return int(self._words.shape[-2])

    @property
    def shape(self) -> tuple[int, ...]:
        """Tuple of the dimensions of the array of sums."""
        return self._words.shape[:-2]

    @property
    def count(self) -> Words:
        """Number of elements added to each sum, minus those subtracted."""
        return self._words[..., 0, 0].copy()

    def __getitem__(self, place: Any) -> ExactSum | ExactSums:
        """Select sums; a single sum of real numbers is returned as an `ExactSum`."""
        numbers = np.arange(math.prod(self.shape)).reshape(self.shape)[place]
        words = self._words.reshape(-1, self._parts, WORDS)[numbers]
        is_one = np.ndim(numbers) == 0 and self._parts == _REAL
        return of_words(words[0], ExactSum) if is_one else of_words(words, ExactSums)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("sums of shape () have no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[ExactSum | ExactSums]:
        """Iterate over the first dimension."""
        return (self[k] for k in range(len(self)))

    def value(self, dtype: DTypeLike | None = None) -> npt.NDArray[Any]:
        """Round each sum once; by default to float64, or complex128 for complex numbers."""
        return self._rounded(dtype, False)

    def mean(self, dtype: DTypeLike | None = None) -> npt.NDArray[Any]:
        """Divide each sum by its count and round the quotient once; NaN without elements."""
        return self._rounded(dtype, True)

    def _rounded(self, dtype: Any, divides: bool) -> npt.NDArray[Any]:
        words, of_two = self._words, self._parts == _COMPLEX
        default = np.complex128 if of_two else np.float64
        found = np.empty(self.shape, default if dtype is None else dtype)
        if (found.dtype.kind == "c") != of_two:
            raise TypeError(f"sums of {default.__name__} cannot be rounded to {found.dtype}")
        for part, values in enumerate((found.real, found.imag)[: self._parts]):
            rows = words[..., part, :].reshape(-1, WORDS)
            values[...] = exact.rounded(rows, values.dtype, divides).reshape(self.shape)
        return found

    def __repr__(self) -> str:
        return f"<ExactSums of shape {self.shape}>"


def _words_of(sums: Partials, shape: tuple[int, ...]) -> Words:
    """Return words of the given shape, with the parts of a result adjacent."""
    words = np.ascontiguousarray(sums.words().swapaxes(0, 1))
    return words.reshape(*shape, words.shape[1], WORDS)
