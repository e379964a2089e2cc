"""Exact sums of many results at once, on their way to each other: what clusters merge."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import DTypeLike

from gred import _core
from gred.exact import ExactSum

# As csrc/common/exact.h has them.
_COUNTS = 4
_WORDS = 138
_AT_ONCE = 1024  # results, whose words are made whole


@dataclass(frozen=True)
class Partials:
    """The exact sums of results that lie in a shape, or of the parts of complex ones.

    Digits that no result has are left out: those in front of the first, and those after the last
    one. As words have bits to spare for 2**30 parts, merging is adding.

    Attributes
    ----------
    shape : tuple of int
        Of the results.
    counts : ndarray of int64, of shape (parts, results, 4)
        How many elements, NaNs and infinities of both signs there were.
    digits : ndarray of int64, of shape (parts, results, n)
        The words' digits from the first one on.
    first : int
        The place of the first digit.

    """

    shape: tuple[int, ...]
    counts: npt.NDArray[np.int64]
    digits: npt.NDArray[np.int64]
    first: int


def _without_zeros(words: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], int]:
    """Leave out digits that are 0 everywhere, but for one."""
    used = np.flatnonzero(words[..., _COUNTS:].any(axis=(0, 1)))
    first, last = (int(used[0]), int(used[-1])) if len(used) else (0, 0)
    return words[..., _COUNTS + first : _COUNTS + last + 1], first


def _of_words(shape: tuple[int, ...], words: npt.NDArray[np.int64]) -> Partials:
    digits, first = _without_zeros(words)
    return Partials(shape, words[..., :_COUNTS].copy(), digits.copy(), first)


def _slabs(n: int) -> Iterator[range]:
    return (range(k, min(k + _AT_ONCE, n)) for k in range(0, n, _AT_ONCE))


def _parts_of(array: Any) -> list[Any]:
    return [array.real, array.imag] if array.dtype.kind == "c" else [array]


def sums_of(array: Any, axes: tuple[int, ...]) -> Partials:
    """Add an array's elements up along axes, where it lies.

    Parameters
    ----------
    array : array of NumPy's or CuPy's
        Of any type that `gred.ExactSum.add` takes, or complex.
    axes : tuple of int
        Not negative, each once.

    Returns
    -------
    Partials
        Of the array's shape, but that reduced axes have length 1.

    """
    kept = [k for k in range(array.ndim) if k not in axes]
    shape = tuple(1 if k in axes else n for k, n in enumerate(array.shape))
    lengths = [array.shape[k] for k in kept]
    parts = [part.transpose(*kept, *axes) for part in _parts_of(array)]
    slabs = [
        _of_words(
            (len(slab),),
            np.array(
                [[_words_of(part[np.unravel_index(k, lengths)]) for k in slab] for part in parts]
            ),
        )
        for slab in _slabs(math.prod(lengths))
    ]
    return _side_by_side(slabs, shape, len(parts))


def _words_of(array: Any) -> npt.NDArray[np.int64]:
    return np.frombuffer(_core.exact_sum(array), np.int64)


def of_sums(sums: Sequence[ExactSum]) -> Partials:
    """Take one result's exact sum, or those of its two parts.

    Parameters
    ----------
    sums : sequence of ExactSum
        One, or two.

    Returns
    -------
    Partials
        Of shape (1,).

    """
    return _of_words((1,), np.array([[total._words] for total in sums]))


def _span(partials: Sequence[Partials]) -> tuple[int, int]:
    return (
        min(one.first for one in partials),
        max(one.first + one.digits.shape[-1] for one in partials),
    )


def _side_by_side(slabs: Sequence[Partials], shape: tuple[int, ...], parts: int) -> Partials:
    """Put slabs of results one after the other."""
    if not slabs:
        nothing = np.zeros((parts, 0, _COUNTS), np.int64)
        return Partials(shape, nothing, nothing[..., :1], 0)
    first, end = _span(slabs)
    counts = np.concatenate([one.counts for one in slabs], axis=1)
    digits = np.zeros((*counts.shape[:2], end - first), np.int64)
    at = 0
    for one in slabs:
        begin, (_, n, length) = one.first - first, one.digits.shape
        digits[:, at : at + n, begin : begin + length] = one.digits
        at += n
    return Partials(shape, counts, digits, first)


def merged(partials: Sequence[Partials]) -> Partials:
    """Add up the sums of the same results.

    Parameters
    ----------
    partials : sequence of Partials
        At least one, and less than 2**30 in all that ever are merged.

    Returns
    -------
    Partials

    """
    first, end = _span(partials)
    counts = np.add.reduce([one.counts for one in partials])
    digits = np.zeros((*counts.shape[:2], end - first), np.int64)
    for one in partials:
        begin = one.first - first
        digits[..., begin : begin + one.digits.shape[-1]] += one.digits
    return Partials(partials[0].shape, counts, digits, first)


def rounded(partials: Partials, dtype: DTypeLike, *, divided: bool) -> npt.NDArray[Any]:
    """Round every sum, or mean, once.

    Parameters
    ----------
    partials : Partials
        The sums.
    dtype : data-type
        A float's, or a complex number's where there are two parts.
    divided : bool
        Whether by the counts.

    Returns
    -------
    ndarray of that type and the partials' shape

    """
    dtype = np.dtype(dtype)
    part = np.empty(0, dtype).real.dtype if dtype.kind == "c" else dtype
    words = np.zeros(_WORDS, np.int64)
    made = []
    for counts, digits in zip(partials.counts, partials.digits, strict=True):
        values = np.empty(len(counts), part)
        for k in range(len(counts)):
            words[:_COUNTS] = counts[k]
            words[_COUNTS + partials.first :][: digits.shape[-1]] = digits[k]
            divisor = int(counts[k, 0]) if divided else 1
            values[k] = _core.exact_rounded(words, divisor, part)
        made.append(values)
    return _together(made, dtype).reshape(partials.shape)


def _together(parts: list[npt.NDArray[Any]], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    if len(parts) == 1:
        return parts[0].astype(dtype, copy=False)
    whole = np.empty(len(parts[0]), dtype)
    whole.real, whole.imag = parts
    return whole
