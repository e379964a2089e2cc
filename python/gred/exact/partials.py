"""Exact sums of many results at once, on their way to each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import DTypeLike

from gred import _core
from gred.checks import array_of, indexable, on_device
from gred.exact.sums import COUNTS, WORDS, ExactSum, Words, exact_words, normalised, of_words

_AT_ONCE = 1024  # results, whose words are made whole

MOMENTS = (1, 2)  # powers: of elements, and of their squares


@dataclass(frozen=True)
class Partials:
    """Exact sums of powers of elements, of results that lie in a shape.

    Of complex numbers each power has two parts. ``counts``, of shape (parts, results, 4), are how
    many elements, NaNs and infinities of both signs there were; ``digits``, of shape (parts,
    results, n), the words' digits from the one at ``first`` on. Digits that no result has are left
    out: those in front, and those at the end. As words have bits to spare for 2**30 parts, merging
    is adding.
    """

    shape: tuple[int, ...]
    counts: Words
    digits: Words
    first: int
    is_complex: bool = False

    def _words(self, places: Any = slice(None)) -> Words:
        """Make the words of some results' parts whole."""
        counts, digits = self.counts[:, places], self.digits[:, places]
        words = np.zeros((*counts.shape[:-1], WORDS), np.int64)
        words[..., :COUNTS] = counts
        words[..., COUNTS + self.first :][..., : digits.shape[-1]] = digits
        return normalised(words)

    def sums(self) -> Iterator[list[ExactSum]]:
        """Give the sums of each result's parts."""
        for k in range(self.counts.shape[1]):
            yield [of_words(row, ExactSum) for row in self._words(k)]

    def taken(self, places: Words) -> Partials:
        """Take results in another order."""
        return replace(self, counts=self.counts[:, places], digits=self.digits[:, places])

    def normalised(self) -> Partials:
        """Hand carries on, so that equal sums are equal partials."""
        return replace(_of_words(self._words(), self.is_complex), shape=self.shape)


def _of_words(words: Words, is_complex: bool) -> Partials:
    """Leave out digits that are 0 everywhere, but for one."""
    used = np.flatnonzero(words[..., COUNTS:].any(axis=(0, 1)))
    first, last = (int(used[0]), int(used[-1])) if len(used) else (0, 0)
    digits = words[..., COUNTS + first : COUNTS + last + 1].copy()
    return Partials((words.shape[1],), words[..., :COUNTS].copy(), digits, first, is_complex)


# ---- adding up ----


def is_complex(array: Any) -> bool:
    """Tell complex elements, whose sums have two parts."""
    return _core.element(array).startswith("complex")


def pieces_along(array: Any, axes: tuple[int, ...], mask: Any = None) -> Iterator[Any]:
    """Give the elements of each result along axes, those that a mask of the library's shows."""
    kept = [k for k in range(array.ndim) if k not in axes]
    rows: Any
    rows, shown = (
        x if x is None else getattr(x, "permute", x.transpose)(*kept, *axes) for x in (array, mask)
    )
    for place in np.ndindex(*(array.shape[k] for k in kept)):
        at = (*place, ...)
        yield rows[at] if shown is None else rows[at][shown[at]]


def pieces_by_key(keys: Any, values: Any, count: int) -> Iterator[Any]:
    """Give the values of each key from 0 on, below `count`, of each place along other axes."""
    order = np.argsort(keys, kind="stable")
    ends = np.searchsorted(keys[order], np.arange(count + 1))
    ordered = values[order]
    for begin, end in pairwise(ends):
        for place in np.ndindex(*values.shape[1:]):
            yield ordered[(slice(begin, end), *place)]


def words_of(pieces: Sequence[Any], of_two: bool, powers: tuple[int, ...] = (1,)) -> Words:
    """Add up each piece, of which a result is made: words of shape (parts, results, 138)."""
    pieces = [indexable(piece) for piece in pieces] if of_two else pieces
    parts = [[x.real for x in pieces], [x.imag for x in pieces]] if of_two else [pieces]
    words = [
        [exact_words(x) if power == 1 else exact_words(x, x) for x in part]
        for power in powers
        for part in parts
    ]
    return np.array(words, np.int64).reshape(len(words), len(pieces), WORDS)


def sums_of(
    array: Any,
    axes: tuple[int, ...] | None = None,
    mask: Any = None,
    powers: tuple[int, ...] = (1,),
    skips_nans: bool = False,
) -> Partials:
    """Add an array's elements up along distinct axes from 0 on, which stay with length 1.

    Without axes there is one result, of shape (). A mask, of bool and the array's shape and
    library, says which elements take part; NaN does not if `skips_nans`.
    """
    shape: tuple[int, ...] = ()
    pieces = iter([array if mask is None else array[mask]])
    if axes is not None:
        pieces = pieces_along(array, axes, mask)
        shape = tuple(1 if k in axes else n for k, n in enumerate(array.shape))
    return _summed(pieces, is_complex(array), shape, powers, skips_nans)


def sums_by_key(
    keys: Any, values: Any, count: int, powers: tuple[int, ...] = (1,), skips_nans: bool = False
) -> Partials:
    """Add values up along their first axis, those of each key from 0 on, below `count`.

    They are on the host. Values of other keys are left out.
    """
    pieces, shape = pieces_by_key(keys, values, count), (count, *values.shape[1:])
    return _summed(pieces, is_complex(values), shape, powers, skips_nans)


def moments_of(
    a: Any, axis: Any, keepdims: bool, where: Any, skips_nans: bool = False
) -> tuple[Any, tuple[int, ...] | None, Partials]:
    """Read what reductions are given: the array, its axes, None if it is one, and the sums."""
    whole = axis is None and not keepdims
    array = array_of(a) if whole and where is True else indexable(a)
    axes = None
    if not whole:
        axes = normalize_axis_tuple(range(array.ndim) if axis is None else axis, array.ndim)
    shown = None
    if where is not True:
        shown = np.asarray(where)
        if on_device(array) or shown.dtype != bool:
            raise TypeError(
                "where of exact variances has to be of bool, and is for arrays on the host"
            )
        shown = np.broadcast_to(shown, tuple(array.shape))
    return array, axes, sums_of(array, axes, shown, MOMENTS, skips_nans)


def of_sums(sums: Sequence[ExactSum]) -> Partials:
    """Take one result's exact sum, or those of its two parts."""
    return _of_words(np.array([[total._words] for total in sums]), len(sums) > 1)


def _summed(
    pieces: Iterator[Any],
    of_two: bool,
    shape: tuple[int, ...],
    powers: tuple[int, ...],
    skips_nans: bool,
) -> Partials:
    if of_two and skips_nans:
        pieces = (piece[piece == piece] for piece in pieces)
    tiles = iter(lambda: list(islice(pieces, _AT_ONCE)), [])
    made = [_of_words(words_of(tile, of_two, powers), of_two) for tile in tiles]
    found = concatenated(made or [_of_words(words_of([], of_two, powers), of_two)], shape)
    return _without_nans(found) if skips_nans and not of_two else found


def _without_nans(partials: Partials) -> Partials:
    """Forget NaNs, which leave no digits."""
    counts = partials.counts.copy()
    counts[..., 0] -= counts[..., 1]
    counts[..., 1] = 0
    return replace(partials, counts=counts)


# ---- merging ----


def _aligned(partials: Sequence[Partials]) -> tuple[list[Words], list[Words], int]:
    """Give counts, digits that begin and end at the same place, and that place."""
    first = min(one.first for one in partials)
    end = max(one.first + one.digits.shape[-1] for one in partials)
    digits = []
    for one in partials:
        begin = one.first - first
        added = begin, end - first - begin - one.digits.shape[-1]
        digits.append(np.pad(one.digits, ((0, 0), (0, 0), added)))
    return [one.counts for one in partials], digits, first


def concatenated(tiles: Sequence[Partials], shape: tuple[int, ...]) -> Partials:
    """Put tiles of results one after the other."""
    counts, digits, first = _aligned(tiles)
    joined = np.concatenate(counts, axis=1), np.concatenate(digits, axis=1)
    return Partials(shape, *joined, first, tiles[0].is_complex)


def merged(partials: Sequence[Partials]) -> Partials:
    """Add up sums of the same results: at least one, and less than 2**30 in all that ever are."""
    counts, digits, first = _aligned(partials)
    return replace(
        partials[0], counts=reduce(np.add, counts), digits=reduce(np.add, digits), first=first
    )


# ---- rounding ----


def rounded(partials: Partials, dtype: DTypeLike, *, divided: bool) -> npt.NDArray[Any]:
    """Round sums, or means if `divided`, once; those of two parts to a complex type."""
    whole = np.zeros(partials.counts.shape[1], dtype)
    parts = [whole.real, whole.imag] if partials.is_complex else [whole.real]
    for k, sums in enumerate(partials.sums()):
        for values, total in zip(parts, sums, strict=False):
            values[k] = total.mean(values.dtype) if divided else total.value(values.dtype)
    return whole.reshape(partials.shape)
