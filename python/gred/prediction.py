"""Predict a rung's time on a GPU from its operation counts.

A pass is bound by its slowest part: memory bandwidth, block starts, a multiprocessor's pipelines,
waiting for loads and barriers, or atomics on one address. The launch, and the work of the last
block after all others have ended, are added to the longest of these.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from gred import counting, scaled
from gred.checks import number_from
from gred.counting import ELEMENT_TYPES, SECTOR_NBYTES, WARP, Counters, Counts, Line
from gred.measure import kernel_time, read_limit
from gred.records import Records, devices, method_named

# Bulk copies in flight per block: RING_STAGES of csrc/common/kernels.h.
_STAGES = 2
# A load by fewer warps than 1/16 of the number of blocks is taken to be the last block's.
_ALONE = 16
_GRID_MOST = 2**31 - 1


class Gpu(NamedTuple):
    """Parameters of a GPU, by default an H200: seconds, bytes per second, and clock cycles."""

    title: str = "NVIDIA H200"
    # ---- specified by the vendor ----
    multiprocessors: int = 132
    clock: float = 1.98e9  # maximum clock rate in Hz
    threads: int = 2048  # resident threads per multiprocessor
    blocks: int = 32  # resident blocks per multiprocessor
    sector_cycles: float = 0.25  # per sector: L1 moves 128 bytes per cycle
    wavefront_cycles: float = 1.0  # per wavefront of shared memory
    barrier_cycles: float = 2.0  # per warp: 16 of its 32 lanes per cycle
    atomic_cycles: float = 1.0  # per atomic, all on one address
    # ---- measured by gred.read_limit ----
    bandwidth: float = 4.54e12  # of memory, for a kernel that only reads
    # ---- fitted by benchmarks/roofline.py ----
    start: float = 3.94e-6  # overhead of the measurement's events, once per call
    launch: float = 1.08e-6  # per pass, in a sequence of passes
    block_interval: float = 0.602e-9  # between the starts of two blocks, on the whole GPU
    block_life: float = 472e-9  # overhead of starting and ending a block
    memory_latency: float = 533e-9  # of a load from memory, under load
    cache_latency: float = 238e-9  # of a load from L2
    request_cycles: float = 4.34  # per warp's global access, with the instructions around it
    arrival: float = 2.15e-9  # per warp arriving at a barrier, while the rest of its block waits


H200 = Gpu()


class Terms(NamedTuple):
    """The time of a pass, in seconds, if only one limit applied; described in `_LIMIT_TEXTS`."""

    memory: float
    blocks: float
    work: float
    waiting: float
    atomics: float


# Descriptions of the limits of a call: the terms, and the launches.
_LIMIT_TEXTS = {
    "memory": "memory bandwidth",
    "blocks": "the rate at which blocks start",
    "work": "multiprocessor throughput",
    "waiting": "waiting for loads and barriers",
    "atomics": "atomics on one address",
    "launches": "launch overhead",
}


class PassTime(NamedTuple):
    """The predicted time of one launch; ``alone`` is its last block's work after all others."""

    blocks: int
    terms: Terms
    launch: float
    alone: float

    @property
    def limit(self) -> str:
        """The name of the longest term."""
        return max(Terms._fields, key=lambda name: getattr(self.terms, name))

    @property
    def seconds(self) -> float:
        """The sum of the launch, the longest term and the last block's work."""
        return self.launch + max(self.terms) + self.alone


def microseconds(seconds: float) -> str:
    """Format a time in microseconds, without the unit."""
    return f"{1e6 * seconds:,.1f}"


class PassTimes(Records):
    """The predicted times of a call's launches, in microseconds."""

    columns = (
        ("blocks", lambda p: f"{p.blocks:,}"),
        ("time", lambda p: microseconds(p.seconds)),
        *((name, lambda p, k=k: microseconds(p.terms[k])) for k, name in enumerate(Terms._fields)),
        ("launch", lambda p: microseconds(p.launch)),
        ("alone", lambda p: microseconds(p.alone)),
        ("limit", "limit"),
    )


class Roofline(NamedTuple):
    """Result of `roofline`, in seconds; prints as text and a table."""

    method: str
    block_size: int
    dtype: str
    size: int
    gpu: Gpu
    passes: PassTimes
    seconds: float
    measured: float | None

    @property
    def limit(self) -> str:
        """The limit that accounts for most of the time: the name of a term, or 'launches'."""
        bound = dict.fromkeys(Terms._fields, 0.0)
        for one in self.passes:
            bound[one.limit] += max(one.terms)
        bound["launches"] = self.seconds - sum(bound.values())
        return max(bound, key=lambda name: bound[name])

    @property
    def error(self) -> float | None:
        """Relative error of the prediction; None without a measured time."""
        return None if self.measured is None else self.seconds / self.measured - 1

    def why(self) -> str:
        """Describe the limit in words."""
        return _LIMIT_TEXTS[self.limit]

    def _fact(self) -> str:
        fact = f"sum of {self.size:,} {self.dtype} by {self.method}, blocks of {self.block_size}"
        fact += f": predicted {microseconds(self.seconds)} us on one {self.gpu.title}"
        if self.measured is not None:
            fact += f", measured {microseconds(self.measured)} us ({self.error:+.0%})"
        return f"{fact}, bound by {self.why()}"

    def __repr__(self) -> str:
        return f"{self._fact()}\n\nmicroseconds\n{self.passes!r}"

    def _repr_html_(self) -> str:
        return f"<p>{self._fact()}; microseconds:</p>{self.passes._repr_html_()}"


def pass_time(gpu: Gpu, counts: Counts, read: int, number: int) -> PassTime:
    """Predict the time of pass `number`, counted from 0, that reads `read` bytes of elements."""
    blocks, threads = counts.blocks, counts.threads // counts.blocks
    warps, busiest = threads // WARP, max(1.0, blocks / gpu.multiprocessors)
    # Warps' arrivals at barriers, per block.
    arrivals = warps * (counts.block_barriers + counts.cluster_barriers) / blocks
    # A block occupies a multiprocessor's pipelines for these cycles.
    cycles = gpu.request_cycles * (counts.global_load_requests + counts.global_store_requests)
    cycles += gpu.sector_cycles * (counts.global_load_sectors + counts.global_store_sectors)
    cycles += gpu.wavefront_cycles * (
        counts.shared_load_wavefronts + counts.shared_store_wavefronts
    )
    cycles = cycles / blocks + gpu.barrier_cycles * arrivals
    # Resident blocks wait concurrently. Only the first pass reads from memory, the others from L2.
    rounds = max(1.0, blocks / (gpu.multiprocessors * min(gpu.blocks, gpu.threads // threads)))
    latency = gpu.cache_latency if number else gpu.memory_latency
    waits = gpu.block_life + _loads(counts, read, warps) * latency + arrivals * gpu.arrival
    # No sector is read from or written to memory twice, since caches hold a block's share.
    sectors = read / SECTOR_NBYTES
    moved = min(counts.global_load_sectors + counts.bulk_copy_sectors, sectors)
    moved += min(counts.global_store_sectors, sectors)
    terms = Terms(
        memory=SECTOR_NBYTES * moved / gpu.bandwidth,
        blocks=blocks * gpu.block_interval,
        work=busiest * cycles / gpu.clock,
        waiting=rounds * waits,
        atomics=counts.atomic_lanes * gpu.atomic_cycles / gpu.clock,
    )
    return PassTime(blocks, terms, gpu.launch, _last_loads(counts, warps) * gpu.cache_latency)


def _dependent(counts: Counts) -> list[Line]:
    return [line for line in counts.lines if line.event == "dependent_global_load"]


def _loads(counts: Counts, read: int, warps: int) -> float:
    """Count a warp's dependent loads on the line that loads most; bulk copies overlap."""
    if counts.bulk_copy_requests:
        return max(1.0, counts.mbarrier_waits / counts.blocks / _STAGES)
    loads = {line[:2]: line for line in counts.lines if line.event == "global_load"}
    if not loads:
        return 1.0
    most = max(loads.values(), key=lambda line: line.transfers)
    fresh = min(1.0, read / SECTOR_NBYTES / most.transfers)
    dependent = sum(line.requests for line in _dependent(counts) if line[:2] == most[:2])
    return max(1.0, dependent * fresh / (warps * counts.blocks))


def _last_loads(counts: Counts, warps: int) -> int:
    """Count the dependent loads of the block that took the last ticket, plus the ticket itself."""
    alone = [x.requests for x in _dependent(counts) if x.requests * _ALONE <= counts.blocks]
    if not counts.atomic_requests or not alone:
        return 0
    return 1 + sum(math.ceil(requests / warps) for requests in alone)


def predict(counted: Counters, gpu: Gpu) -> Roofline:
    """Predict the time of a sum from the counts of its passes."""
    method, block, size = counted.method, counted.block_size, counted.size
    if counted.passes and counted.passes[0].blocks > _GRID_MOST:
        raise ValueError(
            f"{method} of {size} elements in blocks of {block} needs more blocks than a grid can "
            "have; choose a larger block_size"
        )
    times, left, itemsize = [], size, np.dtype(counted.dtype).itemsize
    for number, counts in enumerate(counted.passes):
        times.append(pass_time(gpu, counts, left * itemsize, number))
        left = left - left // 2 if method == "halving" else counts.blocks
    seconds = gpu.start + sum(one.seconds for one in times)
    return Roofline(method, block, counted.dtype, size, gpu, PassTimes(times), seconds, None)


def counted(method: str, block_size: int | None, dtype: DTypeLike, size: int, gpu: Gpu) -> Counters:
    """Count a sum of `size` elements; a one-element sum gives the method and block size."""
    name, found = "last_block" if method == "auto" else method, np.dtype(dtype)
    if found.name not in ELEMENT_TYPES:
        *some, last = ELEMENT_TYPES
        raise ValueError(f"dtype must be {', '.join(some)} or {last}; got {dtype!r}")
    told = counting.counters(np.ones(1, found), method=name, block_size=block_size, dtype=found)
    launch = scaled.Launch(method_named(told.method), told.block_size, found, gpu.multiprocessors)
    call = (*told[:4], size, told.accumulator, gpu.multiprocessors)
    return counting.counters_of(call, None, [counts for _, counts in scaled.passes(launch, size)])


def _gpu_here(device: str) -> Gpu:
    """Describe an available GPU: its multiprocessors and read limit; all else is an H200's."""
    gpus = (one for one in devices() if one.compute_capability)
    found = next((one for one in gpus if device in (one.name, "cuda")), None)
    if found is None:
        raise ValueError(
            f"device must be an available GPU; got {device!r}. gred.devices() lists them; without "
            "device= the prediction is for an H200"
        )
    limit = read_limit(found.name)
    here = H200._replace(bandwidth=limit.nbytes / float(np.median(limit.seconds)))
    if found.title == H200.title:
        return here
    interval = H200.block_interval * H200.multiprocessors / found.units
    return here._replace(title=found.title, multiprocessors=found.units, block_interval=interval)


def roofline(
    size: int,
    *,
    method: str = "auto",
    block_size: int | None = None,
    dtype: DTypeLike = "float32",
    device: str | None = None,
) -> Roofline:
    """Predict the time a rung takes to sum an array on a GPU, and what limits it.

    Counts from the simulated device give the time under each limit; the longest is the prediction.
    See the documentation's page on the laboratory.

    Parameters
    ----------
    size : int
        Number of elements, from 1 to 2**40.
    method, block_size
        As for `gred.counters`; 'auto' is 'last_block'.
    dtype : dtype, default 'float32'
        Type of elements and accumulators: int32, int64, uint64, float32 or float64.
    device : str, optional
        An available GPU, such as 'cuda:0', whose read limit and time are measured; by default an
        H200, which need not be available.

    Returns
    -------
    Roofline
        ``seconds``: of all passes, with cold caches; ``limit``: 'memory', 'blocks', 'work',
        'waiting', 'atomics' or 'launches', whichever accounts for most of the time; ``why()``: the
        limit in words; ``measured`` and ``error``, if `device` was given; and the arguments as they
        were interpreted. Each of ``passes`` has ``blocks``; ``terms``: the time under each limit;
        ``launch``: of the launch; and ``alone``: of the last block after all others.

    Raises
    ------
    ValueError, TypeError, RuntimeError, CudaError
        If there are no counters for these, `device` is no available GPU, or as `gred.kernel_time`.

    References
    ----------
    S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for
    multicore architectures", Communications of the ACM 52 (4), 2009.

    Examples
    --------
    >>> import gred
    >>> gred.roofline(2**28, method="shuffle_vector").limit
    'memory'
    >>> gred.roofline(2**28, method="neighbored").limit
    'work'
    """
    gpu = H200 if device is None else _gpu_here(device)
    number = number_from(size, "size", 2**40, 1, "2**40")
    found = predict(counted(method, block_size, dtype, number, gpu), gpu)
    if device is None:
        return found
    how: Any = {name: getattr(found, name) for name in ("method", "block_size", "dtype")}
    timed = kernel_time(np.ones(found.size, found.dtype), **how, device=device)
    return found._replace(measured=float(np.median(timed.seconds)))
