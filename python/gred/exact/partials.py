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

from gred import _core, checks
from gred.exact import sums as exact
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

    def words(self, places: Any = slice(None)) -> Words:
        """Make the words of some results' parts whole."""
        counts, digits = self.counts[:, places], self.digits[:, places]
        words = np.zeros((*counts.shape[:-1], WORDS), np.int64)
        words[..., :COUNTS] = counts
        words[..., COUNTS + self.first :][..., : digits.shape[-1]] = digits
        return normalised(words)

    def sums(self) -> Iterator[list[ExactSum]]:
        """Give the sums of each result's parts."""
        for k in range(self.counts.shape[1]):
            yield [of_words(row, ExactSum) for row in self.words(k)]

    def taken(self, places: Words) -> Partials:
        """Take results in another order."""
        return replace(self, counts=self.counts[:, places], digits=self.digits[:, places])

    def normalised(self) -> Partials:
        """Hand carries on, so that equal sums are equal partials."""
        return replace(_of_words(self.words(), self.is_complex), shape=self.shape)


def _of_words(words: Words, is_complex: bool) -> Partials:
    """Leave out digits that are 0 everywhere, but for one."""
    used = np.flatnonzero(words[..., COUNTS:].any(axis=(0, 1)))
    first, last = (int(used[0]), int(used[-1])) if len(used) else (0, 0)
    digits = words[..., COUNTS + first : COUNTS + last + 1].copy()
    return Partials((words.shape[1],), words[..., :COUNTS].copy(), digits, first, is_complex)


def of_sums(sums: Sequence[ExactSum]) -> Partials:
    """Take one result's exact sum, or those of its two parts."""
    return _of_words(np.array([[total._words] for total in sums]), len(sums) > 1)


# ---- adding up ----


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
    """Add values up along their first axis, those of each key from 0 on, below `count`.

    They are on the host. Values of other keys are left out.
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
    """Read what reductions are given: the array, its axes, None if it is one, and the sums."""
    whole = axis is None and not keepdims
    array = checks.array_of(a) if whole and where is True else checks.indexable(a)
    axes, shown = None, None
    if not whole:
        axes = normalize_axis_tuple(range(array.ndim) if axis is None else axis, array.ndim)
    if where is not True:
        shown = np.asarray(where)
        if checks.on_device(array) or shown.dtype != bool:
            raise TypeError(
                "where of exact variances has to be of bool, and is for arrays on the host"
            )
        shown = np.broadcast_to(shown, tuple(array.shape))
    return array, axes, sums_of(array, axes, shown, MOMENTS, skips_nans)


def _summed(
    pieces: Iterator[Any],
    array: Any,
    shape: tuple[int, ...],
    powers: tuple[int, ...],
    skips_nans: bool,
) -> Partials:
    """Add up each piece of an array, of which a result is made."""
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
    if skips_nans and not of_two:  # NaNs leave no digits
        found.counts[..., 0] -= found.counts[..., 1]
        found.counts[..., 1] = 0
    return found


# ---- merging, and rounding ----


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
    added = reduce(np.add, counts), reduce(np.add, digits)
    return Partials(partials[0].shape, *added, first, partials[0].is_complex)


def rounded(partials: Partials, dtype: DTypeLike, *, divided: bool) -> npt.NDArray[Any]:
    """Round sums, or means if `divided`, once; those of two parts to a complex type."""
    results = range(partials.counts.shape[1])
    whole = np.zeros(len(results), dtype)
    for part, values in enumerate((whole.real, whole.imag)[: 1 + partials.is_complex]):
        one = replace(partials, counts=partials.counts[[part]], digits=partials.digits[[part]])
        rows = (one.words(k)[0] for k in results)
        values[...] = exact.rounded(rows, values.dtype, divided)
    return whole.reshape(partials.shape)
