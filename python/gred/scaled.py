"""Operation counts for long arrays, extrapolated from counts for short ones.

Counts are periodic: with a fixed number of elements per block, every additional block adds the same
counts; with a grid that fills the device, so does every iteration of its threads, on every
multiprocessor. Two short arrays with the same tail therefore determine the counts of any longer
one, exactly but for one iteration of a device-filling grid, in which multiprocessors differ.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gred.counting import WARP, Counts, Line, counters, counts_of, merged
from gred.records import Method

# Arrays of up to this many elements are counted in full.
WHOLE = 1 << 12
# Most elements per thread of a grid that grows with the array.
_PER_THREAD = 8
# Most elements per load. A multiprocessor's share is a multiple of it; only the array has a tail.
_VECTOR = 4


class _Stride(NamedTuple):
    """Elements per iteration, and at least, per thread of a rung whose grid fills the device.

    ``chunk``: bytes per iteration and block, if a single copy loads them. ``for_grid``: elements
    per thread of one block from which on the grid grows; ``unit``: multiprocessors by which it
    grows.
    """

    per_iteration: int
    at_least: int
    chunk: int = 0
    for_grid: int = 0
    unit: int = 1

    def of(self, launch: Launch) -> _Stride:
        """Compute the elements per thread from the chunk size, if there is one."""
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
    """Launch parameters of a rung that sums elements in their own type."""

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


# All array lengths are extrapolated from the same few short arrays.
_first_pass = functools.lru_cache(maxsize=256)(_count_first_pass)


def passes(launch: Launch, size: int) -> list[tuple[int, Counts]]:
    """Count all passes over `size` elements; return the input size and the counts of each."""
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
            return _share_counts(launch, share, stride.per_iteration * resident, least, stride.unit)
    if stride and stride is not _PAIRS:  # the loads in flight together depend on the grid
        return _first_pass(launch, size)
    period = _PER_THREAD * launch.block_size
    return _extrapolated(functools.partial(_first_pass, launch), size, period, period)


def _share_counts(launch: Launch, share: int, period: int, least: int, unit: int) -> Counts:
    """Count one unit's share times the number of units, and the merge of partials by one block."""
    units = launch.multiprocessors // unit
    one = _extrapolated(lambda size: _first_pass(launch, size, unit), share, period, least)
    parts = [(units, one)]
    if launch.method.name in _FOLD_PARTIALS:
        short = _first_pass(launch, least, unit)
        parts += [(1, _grid_counts(launch, least, unit)), (-units, short)]
    return _mixed(parts)


def _grid_counts(launch: Launch, share: int, unit: int) -> Counts:
    """Count short shares of all units; whole warps merge the partials of all of them."""

    def count(more: int) -> Counts:
        return _first_pass(launch, (1 + more) * share, (1 + more) * unit)

    partials = count(1).atomic_lanes // 2  # per unit; a single block takes no ticket
    period = WARP // math.gcd(WARP, partials)
    return _extrapolated(count, launch.multiprocessors // unit - 1, period, 0)


def _extrapolated(count: Callable[[int], Counts], size: int, period: int, least: int) -> Counts:
    """Extrapolate linearly from two short arrays whose lengths differ by one period."""
    short = size % period + least
    if size <= short + period:
        return count(size)
    periods = (size - short) // period
    one, other = count(short), count(short + period)
    return _mixed([(1 - periods, one), (periods, other)])


def _mixed(parts: list[tuple[int, Counts]]) -> Counts:
    """Add counts, each multiplied by its factor."""
    lines = merged(
        Line(*line[:3], *(factor * number for number in line[3:]))
        for factor, counts in parts
        for line in counts.lines
    )
    blocks = sum(factor * counts.blocks for factor, counts in parts)
    block_size = parts[0][1].threads // parts[0][1].blocks
    return counts_of(blocks, block_size, tuple(line for line in lines if any(line[3:])))
