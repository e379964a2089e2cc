"""Count a rung's memory accesses on the simulated device, as a profiler does on a GPU."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from posixpath import normpath
from typing import Any, NamedTuple

from numpy.typing import ArrayLike, DTypeLike

from gred import _core
from gred.checks import number_from
from gred.records import Records

# Element types for which the rungs are compiled.
ELEMENT_TYPES = ("int32", "int64", "uint64", "float32", "float64")
WARP = 32
SECTOR_NBYTES = 32
H200_MULTIPROCESSORS = 132


class Line(NamedTuple):
    """Counts of one kind of access on one line of a kernel's source.

    ``requests`` are per warp; ``lanes`` are the active lanes of all requests; ``transfers`` are
    sectors of global memory or wavefronts of shared memory; ``conflicts`` are the additional
    wavefronts due to bank conflicts.
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
    """Memory accesses of one or several launches.

    ``requests`` are per warp; ``sectors`` are 32 bytes of global memory; ``nbytes`` are the bytes
    requested by lanes; ``lanes`` are the active lanes of all requests. Consecutive
    ``dependent_global_loads`` count as one. ``bulk_copy_requests`` are asynchronous copies to
    shared memory, not counted as loads; ``mbarrier_waits`` are the blocks' waits for them.
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
        """Requested bytes divided by transferred bytes of global loads; None without loads."""
        return _share(self.global_load_nbytes, SECTOR_NBYTES * self.global_load_sectors)

    @property
    def global_store_efficiency(self) -> float | None:
        """Requested bytes divided by transferred bytes of global stores; None without stores."""
        return _share(self.global_store_nbytes, SECTOR_NBYTES * self.global_store_sectors)

    @property
    def active_lanes(self) -> float | None:
        """Average number of active lanes per warp in an arithmetic step; None without any."""
        return _share(self.merge_lanes, self.merge_requests)

    @property
    def bank_conflicts(self) -> int:
        """Additional wavefronts of shared memory due to bank conflicts."""
        return self.shared_load_conflicts + self.shared_store_conflicts


class Passes(Records):
    """The counts of a call's launches; printed with a profiler's columns."""

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
    """Result of `counters`; prints as text and a table."""

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


# Kinds of access, in the order of the fields of Counts.
_EVENTS = [
    name.removesuffix("_requests").removesuffix("s")
    for name in Counts._fields
    if name.endswith(("_requests", "_barriers", "_waits", "_loads"))
]


def rel_path(path: str) -> str:
    """Return a source's path relative to the kernels folder."""
    return normpath(path).rpartition("kernels/")[2]


def merged(lines: Iterable[Line]) -> tuple[Line, ...]:
    """Merge entries of the same line and event, and sort them in source order."""
    totals: dict[tuple[str, int, int], Line] = {}
    for line in lines:
        key = (line.file, line.number, _EVENTS.index(line.event))
        if key in totals:
            line = Line(*line[:3], *map(operator.add, line[3:], totals[key][3:]))
        totals[key] = line
    return tuple(totals[key] for key in sorted(totals))


def counts_of(blocks: int, block_size: int, lines: tuple[Line, ...]) -> Counts:
    """Sum lines by event; barriers count once per block or grid, not once per warp."""
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
    """Convert a launch's tallies from C to counts."""
    grid, block_size, tallies, *_ = launch
    lines = [
        Line(rel_path(path), number, event, requests, lanes, lanes * nbytes, transfers, conflicts)
        for path, number, event, nbytes, requests, lanes, transfers, conflicts in tallies
    ]
    return counts_of(grid, block_size, merged(lines))


def counters_of(call: Sequence[Any], result: Any, counts: Iterable[Counts]) -> Counters:
    """Build the record of a call from its parameters, its result and the counts of its launches."""
    passes = Passes(counts)
    rows = [Counts()[:-1], *(one[:-1] for one in passes)]
    lines = merged(line for one in passes for line in one.lines)
    total = Counts._make([*map(sum, zip(*rows, strict=True)), lines])
    return Counters._make([*call, passes, total, result])


def count_run(a: Any, op: str, room: int, multiprocessors: Any, **options: Any) -> tuple[Any, ...]:
    """Run a rung, counting accesses and recording up to `room`; return call, result, launches."""
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
    """Count a rung's memory accesses: requests, sectors, wavefronts, bank conflicts, barriers.

    The rung's own kernels run on the simulated device, where every access is observed. Accesses of
    a warp's lanes form one request if they are on the same line in the same iteration since the
    warp's last barrier. The counts depend neither on the elements nor on the order of threads, and
    match Nsight Compute on an H200, but for differences that the documentation's page on the
    laboratory lists.

    Parameters
    ----------
    a : array_like of any shape
        Input array of int32, int64, uint64, float32 or float64. A host array is counted as a
        contiguous one at the start of an allocation; a `gred.testing.SimulatedArray`, which must
        be contiguous, at its own address.
    op : {'sum', 'mean'}
        Name of the reduction.
    method, block_size, dtype
        As for `gred.sum`: any rung; and the element type, or int64 for int32.
    multiprocessors : int, default 132
        Number of multiprocessors to count for, by default an H200's; some grids depend on it.

    Returns
    -------
    Counters
        ``passes``: the `Counts` of each launch, except that of a working copy; ``total``: their
        sum; ``result``: of the reduction; and the arguments as they were interpreted.

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
    call, result, launches = count_run(a, op, 0, multiprocessors, **options)
    return counters_of(call, result, map(counts_of_launch, launches))
