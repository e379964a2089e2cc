"""Exact sums of many results at once, on their way to each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import DTypeLike

from gred import _core
from gred.exact.sums import COUNTS, WORDS, ExactSum

_AT_ONCE = 1024  # results, whose words are made whole


@dataclass(frozen=True)
class Partials:
    """The exact sums of results that lie in a shape, or of the parts of complex ones.

    ``counts``, of shape (parts, results, 4), are how many elements, NaNs and infinities of both
    signs there were; ``digits``, of shape (parts, results, n), the words' digits from the one at
    ``first`` on. Digits that no result has are left out: those in front, and those at the end. As
    words have bits to spare for 2**30 parts, merging is adding.
    """

    shape: tuple[int, ...]
    counts: npt.NDArray[np.int64]
    digits: npt.NDArray[np.int64]
    first: int


def _of_words(shape: tuple[int, ...], words: npt.NDArray[np.int64]) -> Partials:
    """Leave out digits that are 0 everywhere, but for one."""
    used = np.flatnonzero(words[..., COUNTS:].any(axis=(0, 1)))
    first, last = (int(used[0]), int(used[-1])) if len(used) else (0, 0)
    digits = words[..., COUNTS + first : COUNTS + last + 1].copy()
    return Partials(shape, words[..., :COUNTS].copy(), digits, first)


def sums_of(array: Any, axes: tuple[int, ...]) -> Partials:
    """Add a NumPy or CuPy array up along distinct axes from 0 on, which stay with length 1."""
    kept = [k for k in range(array.ndim) if k not in axes]
    shape = tuple(1 if k in axes else n for k, n in enumerate(array.shape))
    lengths = [array.shape[k] for k in kept]
    of_parts = [array.real, array.imag] if array.dtype.kind == "c" else [array]
    rows = [part.transpose(*kept, *axes) for part in of_parts]
    tiles = []
    results = range(math.prod(lengths))
    for tile in (results[k : k + _AT_ONCE] for k in results[::_AT_ONCE]):
        places = [np.unravel_index(k, lengths) for k in tile]
        sums = [[_core.exact_sum(row[place]) for place in places] for row in rows]
        words = [[np.frombuffer(one, np.int64) for one in of_row] for of_row in sums]
        tiles.append(_of_words((len(tile),), np.array(words)))
    return _concatenated(tiles, shape, len(rows))


def of_sums(sums: Sequence[ExactSum]) -> Partials:
    """Take one result's exact sum, or those of its two parts."""
    return _of_words((1,), np.array([[total._words] for total in sums]))


def _span(partials: Sequence[Partials]) -> tuple[int, int]:
    return (
        min(one.first for one in partials),
        max(one.first + one.digits.shape[-1] for one in partials),
    )


def _concatenated(tiles: Sequence[Partials], shape: tuple[int, ...], parts: int) -> Partials:
    """Put tiles of results one after the other."""
    if not tiles:
        nothing = np.zeros((parts, 0, COUNTS), np.int64)
        return Partials(shape, nothing, nothing[..., :1], 0)
    first, end = _span(tiles)
    counts = np.concatenate([one.counts for one in tiles], axis=1)
    digits = np.zeros((*counts.shape[:2], end - first), np.int64)
    at = 0
    for one in tiles:
        begin, (_, n, length) = one.first - first, one.digits.shape
        digits[:, at : at + n, begin : begin + length] = one.digits
        at += n
    return Partials(shape, counts, digits, first)


def merged(partials: Sequence[Partials]) -> Partials:
    """Add up sums of the same results: at least one, and less than 2**30 in all that ever are."""
    first, end = _span(partials)
    counts = np.add.reduce([one.counts for one in partials])
    digits = np.zeros((*counts.shape[:2], end - first), np.int64)
    for one in partials:
        begin = one.first - first
        digits[..., begin : begin + one.digits.shape[-1]] += one.digits
    return Partials(partials[0].shape, counts, digits, first)


def rounded(partials: Partials, dtype: DTypeLike, *, divided: bool) -> npt.NDArray[Any]:
    """Round every sum, or mean if `divided`, once; to a complex type those of two parts."""
    whole = np.empty(partials.counts.shape[1], dtype)
    parts = [whole.real, whole.imag] if whole.dtype.kind == "c" else [whole]
    words = np.zeros(WORDS, np.int64)
    for values, counts, digits in zip(parts, partials.counts, partials.digits, strict=True):
        for k in range(len(values)):
            words[:COUNTS] = counts[k]
            words[COUNTS + partials.first :][: digits.shape[-1]] = digits[k]
            divisor = int(counts[k, 0]) if divided else 1
            values[k] = _core.exact_rounded(words, divisor, values.dtype)
    return whole.reshape(partials.shape)
