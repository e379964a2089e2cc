"""Counts of arrays too long to be counted element by element, from those of short ones.

A grid repeats itself. Where blocks take so many elements each, every block more counts the same;
where the grid is as large as the device, so does every iteration of its threads, and every
multiprocessor. So two short arrays with the same tail tell what any longer one has: exactly, but
for an iteration of such a grid, by which multiprocessors' shares differ.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gred.counting import WARP, Counts, Line, counters, counts_of, merged
from gred.records import Method

# Up to here nothing is scaled.
WHOLE = 1 << 12
# Elements a thread of a growing grid has at most.
_PER_THREAD = 8
# Elements that a load takes at most. What is left over of an array is not left over of each share.
_VECTOR = 4


class _Stride(NamedTuple):
    """A rung whose grid is as large as the device: elements a thread takes at a time, and at least.

    With ``chunk``, bytes that a block takes at a time, by a single copy. ``for_grid`` is how many
    elements it takes, for each thread of one block, until the grid grows; ``unit``, by how many
    multiprocessors it does.
    """

    per_iteration: int
    at_least: int
    chunk: int = 0
    for_grid: int = 0
    unit: int = 1

    def of(self, launch: Launch) -> _Stride:
        """Tell how many elements a chunk has for each thread of a block."""
        if not self.chunk:
            return self
        per_iteration = self.chunk // (launch.dtype.itemsize * launch.block_size)
        at_least = max(self.at_least, 2 * per_iteration)
        return self._replace(per_iteration=per_iteration, at_least=at_least)


_PAIRS, _VECTORS = _Stride(2, 8), _Stride(16, 32)
_STRIDES = {
    **dict.fromkeys(("shared_grid_stride", "shuffle"), _PAIRS),
    **dict.fromkeys(("shuffle_vector", "atomic", "last_block", "cooperative"), _VECTORS),
    "bulk": _Stride(0, 32, chunk=16 << 10),
    "cluster": _Stride(16, 32, for_grid=80 * 16, unit=2),
}
_FOLD_PARTIALS = {"last_block", "cooperative", "bulk", "cluster"}
_ONE_PASS = {"atomic", *_FOLD_PARTIALS}


class Launch(NamedTuple):
    """A rung, launched on elements that are added up in their own type."""

    method: Method
    block_size: int
    dtype: np.dtype
    multiprocessors: int


def _count_first_pass(launch: Launch, size: int, multiprocessors: int | None = None) -> Counts:
    """Count the first pass, element by element."""
    method, block_size, dtype, whole = launch
    options: dict[str, Any] = {"method": method.name, "block_size": block_size, "dtype": dtype}
    counted = counters(np.ones(size, dtype), **options, multiprocessors=multiprocessors or whole)
    first: Counts = counted.passes[0]
    return first


# Arrays of all lengths are counted by the same few short ones.
_first_pass = functools.lru_cache(maxsize=256)(_count_first_pass)


def passes(launch: Launch, size: int) -> list[tuple[int, Counts]]:
    """Count all passes over so many elements; beside each, how many it takes in."""
    found: list[tuple[int, Counts]] = []
    halves = launch.method.number == 0
    while size > 1 or not (found or halves):
        counts = _pass(launch, size)
        found.append((size, counts))
        size = size - size // 2 if halves else counts.blocks
        if launch.method.name in _ONE_PASS:
            break
    return found


def _pass(launch: Launch, size: int) -> Counts:
    if size <= WHOLE:
        return _first_pass(launch, size)
    stride = _STRIDES.get(launch.method.name)
    if stride:
        stride = stride.of(launch)
        grown = stride.for_grid * launch.block_size
        resident = _first_pass(launch, max(1 << 16, grown), stride.unit).threads
        least = max(stride.at_least * resident, grown)
        share = size // (launch.multiprocessors // stride.unit) // _VECTOR * _VECTOR
        if share > least:
            return _of_share(launch, share, stride.per_iteration * resident, least, stride.unit)
    if stride and stride is not _PAIRS:  # which loads are in flight together depends on the grid
        return _first_pass(launch, size)
    period = _PER_THREAD * launch.block_size
    return _extrapolated(functools.partial(_first_pass, launch), size, period, period)


def _of_share(launch: Launch, share: int, period: int, least: int, unit: int) -> Counts:
    """Count the share of a unit of multiprocessors, times all; and what one block does for all."""
    units = launch.multiprocessors // unit
    one = _extrapolated(lambda size: _first_pass(launch, size, unit), share, period, least)
    parts = [(units, one)]
    if launch.method.name in _FOLD_PARTIALS:
        short = _first_pass(launch, least, unit)
        parts += [(1, _of_grid(launch, least, unit)), (-units, short)]
    return _mixed(parts)


def _of_grid(launch: Launch, share: int, unit: int) -> Counts:
    """Count a short share of each; their partials are taken in by whole warps."""

    def count(more: int) -> Counts:
        return _first_pass(launch, (1 + more) * share, (1 + more) * unit)

    partials = count(1).atomic_lanes // 2  # of a unit; a single block draws no ticket
    period = WARP // math.gcd(WARP, partials)
    return _extrapolated(count, launch.multiprocessors // unit - 1, period, 0)


def _extrapolated(count: Callable[[int], Counts], size: int, period: int, least: int) -> Counts:
    """Count two short arrays, a period apart, and go on along the line through them."""
    short = size % period + least
    if size <= short + period:
        return count(size)
    periods = (size - short) // period
    one, other = count(short), count(short + period)
    return _mixed([(1 - periods, one), (periods, other)])


def _mixed(parts: list[tuple[int, Counts]]) -> Counts:
    """Add counts up, each so many times."""
    lines = merged(
        Line(*line[:3], *(factor * number for number in line[3:]))
        for factor, counts in parts
        for line in counts.lines
    )
    blocks = sum(factor * counts.blocks for factor, counts in parts)
    block_size = parts[0][1].threads // parts[0][1].blocks
    return counts_of(blocks, block_size, tuple(line for line in lines if any(line[3:])))
