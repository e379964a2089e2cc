"""What a rung does to memory, counted on the simulated device as a profiler counts on a GPU."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from posixpath import normpath
from typing import Any, NamedTuple

from numpy.typing import ArrayLike, DTypeLike

from gred import _core
from gred.checks import number_from
from gred.records import Records

# Of elements that rungs are compiled for.
ELEMENT_TYPES = ("int32", "int64", "uint64", "float32", "float64")
WARP = 32
SECTOR_NBYTES = 32
H200_MULTIPROCESSORS = 132


class Line(NamedTuple):
    """What one line of a kernel's source does, one kind of access at a time.

    ``requests`` are of warps; ``lanes`` are the lanes that took part, over all requests;
    ``transfers`` are sectors of global memory, or wavefronts of shared memory; ``conflicts`` are
    the wavefronts that lanes cost by meeting in one bank.
    """

    file: str
    number: int
    event: str
    requests: int
    lanes: int
    nbytes: int
    transfers: int
    conflicts: int


class Counts(NamedTuple):
    """What one launch, or several, did to memory.

    ``requests`` are warp-level, ``sectors`` 32 bytes of global memory, ``nbytes`` those that lanes
    asked for. ``lanes`` are the active lanes over all requests. ``dependent_global_loads`` are
    dependent global loads: those with nothing in between are in flight together, and count as one.
    ``bulk_copy_requests`` are asynchronous copies from global to shared memory, which are no loads;
    ``mbarrier_waits`` are how often a block waited for the bytes of such copies.
    """

    blocks: int = 0
    threads: int = 0
    global_load_requests: int = 0
    global_load_sectors: int = 0
    global_load_lanes: int = 0
    global_load_nbytes: int = 0
    global_store_requests: int = 0
    global_store_sectors: int = 0
    global_store_lanes: int = 0
    global_store_nbytes: int = 0
    shared_load_requests: int = 0
    shared_load_wavefronts: int = 0
    shared_load_conflicts: int = 0
    shared_load_lanes: int = 0
    shared_load_nbytes: int = 0
    shared_store_requests: int = 0
    shared_store_wavefronts: int = 0
    shared_store_conflicts: int = 0
    shared_store_lanes: int = 0
    shared_store_nbytes: int = 0
    atomic_requests: int = 0
    atomic_lanes: int = 0
    shuffle_requests: int = 0
    shuffle_lanes: int = 0
    merge_requests: int = 0
    merge_lanes: int = 0
    block_barriers: int = 0
    warp_barriers: int = 0
    grid_barriers: int = 0
    dependent_global_loads: int = 0
    bulk_copy_requests: int = 0
    bulk_copy_sectors: int = 0
    bulk_copy_lanes: int = 0
    bulk_copy_nbytes: int = 0
    mbarrier_waits: int = 0
    cluster_barriers: int = 0
    lines: tuple[Line, ...] = ()

    @property
    def global_load_efficiency(self) -> float | None:
        """Bytes asked for over bytes moved by global loads; None where there are none."""
        return _share(self.global_load_nbytes, SECTOR_NBYTES * self.global_load_sectors)

    @property
    def global_store_efficiency(self) -> float | None:
        """Bytes asked for over bytes moved by global stores; None where there are none."""
        return _share(self.global_store_nbytes, SECTOR_NBYTES * self.global_store_sectors)

    @property
    def active_lanes(self) -> float | None:
        """Lanes of a warp that are active in a step of arithmetic, on average; None without any."""
        return _share(self.merge_lanes, self.merge_requests)


class Passes(Records):
    """The counts of a call's launches."""

    __slots__ = ()

    columns = (
        "blocks",
        "global loads: requests, sectors, efficiency",
        "stores",
        "shared loads: wavefronts, conflicts",
        "stores",
        "lanes",
    )

    def cells(self, record: Counts) -> list[str]:
        """Give what a profiler's table of a launch begins with."""
        return [
            f"{record.blocks:,}",
            _global(record.global_load_requests, record.global_load_sectors)
            + _percent(record.global_load_efficiency),
            _global(record.global_store_requests, record.global_store_sectors)
            + _percent(record.global_store_efficiency),
            f"{record.shared_load_wavefronts:,}, {record.shared_load_conflicts:,}",
            f"{record.shared_store_wavefronts:,}, {record.shared_store_conflicts:,}",
            "" if record.active_lanes is None else f"{record.active_lanes:.1f}",
        ]


class Counters(NamedTuple):
    """What `counters` returns; it prints as a text and a table."""

    op: str
    method: str
    block_size: int
    dtype: str
    size: int
    accumulator: str
    multiprocessors: int
    passes: Passes
    total: Counts
    result: Any

    def _fact(self) -> str:
        call = f"{self.op} of {self.size:,} {self.dtype}, as {self.accumulator}"
        launched = f"{self.method}, blocks of {self.block_size}"
        return f"{call}, by {launched}, as on {self.multiprocessors} multiprocessors"

    def __repr__(self) -> str:
        return f"{self._fact()}\n\n{self.passes!r}"

    def _repr_html_(self) -> str:
        return f"<p>{self._fact()}</p>{self.passes._repr_html_()}"


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _percent(share: float | None) -> str:
    return "" if share is None else f", {share:.0%}"


def _global(requests: int, sectors: int) -> str:
    return f"{requests:,}, {sectors:,}"


# ---- from what C counted ----

_EVENTS = (
    "global_load",
    "global_store",
    "shared_load",
    "shared_store",
    "atomic",
    "shuffle",
    "merge",
    "block_barrier",
    "warp_barrier",
    "grid_barrier",
    "dependent_global_load",
    "bulk_copy",
    "mbarrier_wait",
    "cluster_barrier",
)
# Of these the requests alone are told.
_ALONE = {e for e in _EVENTS if e.endswith(("barrier", "wait")) or e.startswith("dependent")}
_TRANSFERS = {
    "global_load": "sectors",
    "global_store": "sectors",
    "shared_load": "wavefronts",
    "shared_store": "wavefronts",
    "bulk_copy": "sectors",
}


def place_of(path: str) -> str:
    """Give a source's path from the folder of kernels on."""
    return normpath(path).rpartition("kernels/")[2]


def _line(tally: tuple[Any, ...]) -> Line:
    path, number, event, of_lane, requests, lanes, transfers, conflicts = tally
    nbytes = lanes * of_lane
    return Line(place_of(path), number, event, requests, lanes, nbytes, transfers, conflicts)


def merged(lines: Iterable[Line]) -> tuple[Line, ...]:
    """Add up what is of one line and one event, in the order of the source."""
    totals: dict[tuple[str, int, int], Line] = {}
    for line in lines:
        key = (line.file, line.number, _EVENTS.index(line.event))
        other = totals.get(key)
        more = line if other is None else map(operator.add, line[3:], other[3:])
        totals[key] = line if other is None else Line(*line[:3], *more)
    return tuple(totals[key] for key in sorted(totals))


def counts_of(blocks: int, block_size: int, lines: tuple[Line, ...]) -> Counts:
    """Sum the lines up, event by event."""
    sums: dict[str, int] = dict.fromkeys(Counts._fields[2:-1], 0)
    for line in lines:
        if line.event in _ALONE:
            sums[line.event + "s"] += line.requests
            continue
        sums[f"{line.event}_requests"] += line.requests
        sums[f"{line.event}_lanes"] += line.lanes
        if line.event in _TRANSFERS:
            sums[f"{line.event}_{_TRANSFERS[line.event]}"] += line.transfers
            sums[f"{line.event}_nbytes"] += line.nbytes
        if line.event.startswith("shared"):
            sums[f"{line.event}_conflicts"] += line.conflicts
    counts = Counts._make([blocks, blocks * block_size, *sums.values(), lines])
    return _barriers_of_all(counts, block_size)


def _barriers_of_all(counts: Counts, block_size: int) -> Counts:
    """Count a barrier once for all warps of a block, or of a grid, which come to it one by one."""
    warps = counts.threads // WARP
    return counts._replace(
        block_barriers=counts.block_barriers // (block_size // WARP),
        mbarrier_waits=counts.mbarrier_waits // (block_size // WARP),
        cluster_barriers=counts.cluster_barriers // (block_size // WARP),
        grid_barriers=counts.grid_barriers // warps,
    )


def _pass(launch: tuple[Any, ...]) -> Counts:
    grid, block_size, tallies, *_ = launch
    return counts_of(grid, block_size, merged(map(_line, tallies)))


def _total(passes: Iterable[Counts]) -> Counts:
    rows = [Counts()[:-1], *(one[:-1] for one in passes)]
    lines = merged(line for one in passes for line in one.lines)
    return Counts._make([*map(sum, zip(*rows, strict=True)), lines])


def counters_from(
    op: str, told: Sequence[Any], multiprocessors: int, result: Any, launches: Iterable[Any]
) -> Counters:
    """Make the record of what C has told and counted."""
    return counters_of(op, told, multiprocessors, result, map(_pass, launches))


def counters_of(
    op: str, told: Sequence[Any], multiprocessors: int, result: Any, counts: Iterable[Counts]
) -> Counters:
    """Make the record of what each launch counts."""
    passes = Passes(counts)
    return Counters._make([op, *told, multiprocessors, passes, _total(passes), result])


def counters(
    a: ArrayLike | Any,
    op: str = "sum",
    /,
    *,
    method: str = "auto",
    block_size: int | None = None,
    dtype: DTypeLike | None = None,
    multiprocessors: int = H200_MULTIPROCESSORS,
) -> Counters:
    """Count what a rung does to memory: requests, sectors, wavefronts, bank conflicts, barriers.

    The rung's own kernels run on the simulated device, where every access is looked at. Accesses of
    a warp's lanes belong together when they come from the same line in the same iteration, counted
    from the warp's last barrier on. The counts do not depend on the elements, nor on the order of
    threads, and are those of Nsight Compute on an H200, but for a few differences that the
    documentation's page on the laboratory lists.

    Parameters
    ----------
    a : array_like of any shape
        int32, int64, uint64, float32 or float64. An array on the host counts as one that lies on
        the device one element after the other, where an allocation begins; a
        `gred.testing.SimulatedArray` as one that lies as it does, which has to be without gaps.
    op : {'sum', 'mean'}
        What to reduce by.
    method, block_size, dtype
        As for `gred.sum`: any rung; and the elements' own type, or int64 for int32.
    multiprocessors : int, default 132
        Of the GPU that is counted for, an H200 by default: grids of rungs from
        'shared_grid_stride' on depend on it.

    Returns
    -------
    Counters
        ``passes``, the `Counts` of each launch, and ``total``, their sum; ``op``, ``method``,
        ``block_size``, ``dtype``, ``size``, ``accumulator``, ``multiprocessors``; and the
        reduction's ``result``. Making a working copy is no pass, and is not counted.

    Raises
    ------
    ValueError, TypeError, RuntimeError, MemoryError
        As `gred.sum`, and for a reduction, method, type, layout or empty array without counters.

    Examples
    --------
    >>> import gred, numpy as np
    >>> counted = gred.counters(np.ones(2**16, np.float32), method="neighbored", block_size=256)
    >>> first = counted.passes[0]
    >>> first.global_load_requests // first.blocks, first.global_load_efficiency
    (95, 0.25...)

    """
    options: dict[str, Any] = {"method": method, "block_size": block_size, "dtype": dtype}
    number = number_from(multiprocessors, "multiprocessors", 1024)
    row = _core.counters(a, op, **options, device="simulated", multiprocessors=number, room=0)
    *told, result, launches = row
    return counters_from(op, told, number, result, launches)
