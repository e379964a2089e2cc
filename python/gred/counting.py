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

    ``requests`` are of warps, ``lanes`` those that took part over all requests, ``transfers``
    sectors of global memory or wavefronts of shared memory; ``conflicts`` are the wavefronts that
    lanes cost by meeting in one bank.
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
    asked for, ``lanes`` the active ones over all requests. Of ``dependent_global_loads`` those with
    nothing in between count as one. ``bulk_copy_requests`` are asynchronous copies from global to
    shared memory, which are no loads; ``mbarrier_waits``, how often a block waited for such bytes.
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

    @property
    def bank_conflicts(self) -> int:
        """Wavefronts of shared memory that lanes cost by meeting in one bank."""
        return self.shared_load_conflicts + self.shared_store_conflicts


class Passes(Records):
    """The counts of a call's launches, as a profiler's table of a launch begins."""

    columns = (
        ("blocks", lambda c: f"{c.blocks:,}"),
        ("global loads: requests, sectors, efficiency", lambda c: _global(c, "load")),
        ("stores", lambda c: _global(c, "store")),
        ("shared loads: wavefronts, conflicts", lambda c: _shared(c, "load")),
        ("stores", lambda c: _shared(c, "store")),
        ("lanes", lambda c: None if c.active_lanes is None else f"{c.active_lanes:.1f}"),
    )


def _global(counts: Counts, what: str) -> str:
    requests, sectors, efficiency = (
        getattr(counts, f"global_{what}_{name}") for name in ("requests", "sectors", "efficiency")
    )
    share = "" if efficiency is None else f", {efficiency:.0%}"
    return f"{requests:,}, {sectors:,}{share}"


def _shared(counts: Counts, what: str) -> str:
    names = (f"shared_{what}_wavefronts", f"shared_{what}_conflicts")
    return ", ".join(f"{getattr(counts, name):,}" for name in names)


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


# In the order of what is counted of them.
_EVENTS = [
    name.removesuffix("_requests").removesuffix("s")
    for name in Counts._fields
    if name.endswith(("_requests", "_barriers", "_waits", "_loads"))
]


def place_of(path: str) -> str:
    """Give a source's path from the folder of kernels on."""
    return normpath(path).rpartition("kernels/")[2]


def merged(lines: Iterable[Line]) -> tuple[Line, ...]:
    """Add up what is of one line and one event, in the order of the source."""
    totals: dict[tuple[str, int, int], Line] = {}
    for line in lines:
        key = (line.file, line.number, _EVENTS.index(line.event))
        if key in totals:
            line = Line(*line[:3], *map(operator.add, line[3:], totals[key][3:]))
        totals[key] = line
    return tuple(totals[key] for key in sorted(totals))


def counts_of(blocks: int, block_size: int, lines: tuple[Line, ...]) -> Counts:
    """Sum the lines up by event; a barrier counts once for a block, or a grid, not a warp."""
    warps = block_size // WARP
    sums = dict.fromkeys(Counts._fields[2:-1], 0)
    for _, _, event, requests, lanes, nbytes, transfers, conflicts in lines:
        told = {"s": requests, "_requests": requests, "_lanes": lanes, "_nbytes": nbytes}
        told |= {"_sectors": transfers, "_wavefronts": transfers, "_conflicts": conflicts}
        for what, count in told.items():
            if event + what in sums:
                sums[event + what] += count
    for name in ("block_barriers", "mbarrier_waits", "cluster_barriers"):
        sums[name] //= warps
    sums["grid_barriers"] //= blocks * warps
    return Counts(blocks, blocks * block_size, **sums, lines=lines)


def counts_of_launch(launch: Sequence[Any]) -> Counts:
    """Make the counts of what C has counted of a launch."""
    grid, block_size, tallies, *_ = launch
    lines = [
        Line(place_of(path), number, event, requests, lanes, lanes * nbytes, transfers, conflicts)
        for path, number, event, nbytes, requests, lanes, transfers, conflicts in tallies
    ]
    return counts_of(grid, block_size, merged(lines))


def counters_of(call: Sequence[Any], result: Any, counts: Iterable[Counts]) -> Counters:
    """Make the record of a call, from its op to its multiprocessors, and what launches count."""
    passes = Passes(counts)
    rows = [Counts()[:-1], *(one[:-1] for one in passes)]
    lines = merged(line for one in passes for line in one.lines)
    total = Counts._make([*map(sum, zip(*rows, strict=True)), lines])
    return Counters._make([*call, passes, total, result])


def told_of(a: Any, op: str, room: int, multiprocessors: Any, **options: Any) -> tuple[Any, ...]:
    """Run a rung where accesses are counted, and so many recorded: call, result, launches."""
    number = number_from(multiprocessors, "multiprocessors", 1024)
    options |= {"device": "simulated", "multiprocessors": number, "room": room}
    *told, result, launches = _core.counters(a, op, **options)
    return (op, *told, number), result, launches


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
    a warp's lanes belong together when they come from the same line in the same iteration since the
    warp's last barrier. The counts depend neither on the elements nor on the order of threads, and
    are those of Nsight Compute on an H200, but for differences that the documentation's page on the
    laboratory lists.

    Parameters
    ----------
    a : array_like of any shape
        int32, int64, uint64, float32 or float64. An array on the host counts as one that lies where
        an allocation begins, without gaps; a `gred.testing.SimulatedArray`, which has to be without
        gaps, as it lies.
    op : {'sum', 'mean'}
        What to reduce by.
    method, block_size, dtype
        As for `gred.sum`: any rung; and the elements' own type, or int64 for int32.
    multiprocessors : int, default 132
        Of the GPU that is counted for, an H200 by default; some rungs' grids depend on it.

    Returns
    -------
    Counters
        ``passes``, the `Counts` of each launch, without that of a working copy, and ``total``,
        their sum; the reduction's ``result``; and what was asked for, as it was taken.

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
    call, result, launches = told_of(a, op, 0, multiprocessors, **options)
    return counters_of(call, result, map(counts_of_launch, launches))
