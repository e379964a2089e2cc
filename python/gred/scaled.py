"""Counts of arrays too long to be counted element by element, from those of short ones.

A grid repeats itself. Where blocks take so many elements each, every block more counts the same;
where the grid is as large as the device, so does every turn more of its threads, and every
multiprocessor. So two short arrays with the same tail tell what any longer one has.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gred.counting import WARP, Counts, Line, counters, counts_of
from gred.records import Method

# Up to here nothing is scaled.
WHOLE = 1 << 14
# Elements a thread of a growing grid has at most, and of two neighbours that pair up.
_A_THREAD = 16


class _Stride(NamedTuple):
    """A rung whose grid is as large as the device: elements a thread takes a turn, and at least."""

    a_turn: int
    at_least: int


_PAIRS, _VECTORS = _Stride(2, 8), _Stride(16, 32)
_STRIDES = {
    "shared_grid_stride": _PAIRS,
    "shuffle": _PAIRS,
    "shuffle_vector": _VECTORS,
    "atomic": _VECTORS,
    "last_block": _VECTORS,
    "cooperative": _VECTORS,
}
_ONE_PASS = {"atomic", "last_block", "cooperative"}
# One block folds the partials of all, a warp of them at a time.
_PARTIALS = {"last_block": WARP, "cooperative": WARP}


class Launch(NamedTuple):
    """A rung, launched on elements that are added up in their own type."""

    method: Method
    block_size: int
    dtype: np.dtype
    multiprocessors: int

    def first_pass(self, size: int, multiprocessors: int | None = None) -> Counts:
        """Count the first pass, element by element."""
        return counters(
            np.ones(size, self.dtype),
            method=self.method.name,
            block_size=self.block_size,
            dtype=self.dtype,
            multiprocessors=multiprocessors or self.multiprocessors,
        ).passes[0]


def passes(launch: Launch, size: int) -> list[tuple[int, Counts]]:
    """Count all passes over so many elements; beside each, how many it takes in."""
    found = []
    while True:
        counts = _pass(launch, size)
        found.append((size, counts))
        size = size - size // 2 if launch.method.number == 0 else counts.blocks
        if size == 1 or launch.method.name in _ONE_PASS:
            return found


def _pass(launch: Launch, size: int) -> Counts:
    if size <= WHOLE:
        return launch.first_pass(size)
    stride = _STRIDES.get(launch.method.name)
    if stride is None:
        period = _A_THREAD * launch.block_size
        return _extrapolated(launch.first_pass, size, period, period)
    resident = _threads(launch)
    share = size // launch.multiprocessors
    if share > stride.at_least * resident:
        return _of_share(launch, share, stride, resident)
    period = stride.at_least * launch.block_size * _PARTIALS.get(launch.method.name, 1)
    return _extrapolated(launch.first_pass, size, period, period)


def _threads(launch: Launch) -> int:
    """Tell how many threads a multiprocessor has where the grid is as large as the device."""
    return launch.first_pass(1 << 16, 1).threads


def _of_share(launch: Launch, share: int, stride: _Stride, resident: int) -> Counts:
    period, least = stride.a_turn * resident, stride.at_least * resident
    one = _extrapolated(lambda size: launch.first_pass(size, 1), share, period, least)
    return _times(one, launch.multiprocessors)


def _extrapolated(
    count: Callable[[int], Counts], size: int, period: int, least: int
) -> Counts:
    """Count two short arrays, a period apart, and go on along the line through them."""
    short = size % period + least
    if size <= short + period:
        return count(size)
    one, other = count(short), count(short + period)
    periods = (size - short) // period
    before = {line[:3]: line for line in one.lines}
    lines = []
    for line in other.lines:
        of_short = before.get(line[:3], Line(*line[:3], 0, 0, 0, 0, 0))
        numbers = (a + periods * (b - a) for a, b in zip(of_short[3:], line[3:], strict=True))
        lines.append(Line(*line[:3], *numbers))
    blocks = one.blocks + periods * (other.blocks - one.blocks)
    return counts_of(blocks, one.threads // one.blocks, tuple(lines))


def _times(counts: Counts, factor: int) -> Counts:
    lines = tuple(
        Line(*line[:3], *(factor * number for number in line[3:])) for line in counts.lines
    )
    return counts_of(factor * counts.blocks, counts.threads // counts.blocks, lines)
