"""How long a rung takes on a GPU, predicted from its counts: the slowest of what goes on at once.

A pass is bound by what takes it longest: the memory's bandwidth, the start of its blocks, the work
of a multiprocessor's pipelines, waiting, or atomics on one address. To the longest of these come
its launch, and what one block does alone when all others have ended.
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

# Bulk copies that a block has in flight: RING_STAGES of csrc/common/kernels.h.
_STAGES = 2
# Loads that fewer warps make than a sixteenth of the blocks are of one block alone.
_ALONE = 16
_GRID_MOST = 2**31 - 1


class Gpu(NamedTuple):
    """What a GPU is to the model; seconds, bytes a second, cycles of a multiprocessor's clock.

    By default it is an H200.
    """

    title: str = "NVIDIA H200"
    # ---- by the vendor ----
    multiprocessors: int = 132
    clock: float = 1.98e9  # cycles a second, at most
    threads: int = 2048  # that a multiprocessor holds
    blocks: int = 32  # that a multiprocessor holds
    sector_cycles: float = 0.25  # L1 moves 128 bytes a cycle
    wavefront_cycles: float = 1.0  # shared memory serves one a cycle
    barrier_cycles: float = 2.0  # of a warp: 16 of its 32 lanes a cycle
    atomic_cycles: float = 1.0  # one a cycle, all on one address
    # ---- by gred.read_limit ----
    bandwidth: float = 4.54e12  # of the memory, read by a kernel that does nothing else
    # ---- fitted by benchmarks/roofline.py ----
    start: float = 3.94e-6  # of the measurement: its events, once
    launch: float = 1.08e-6  # of a pass, in a row of passes
    block_interval: float = 0.602e-9  # from a block's start to the next one's, on the whole GPU
    block_life: float = 472e-9  # what a block takes to begin and to end
    memory_latency: float = 533e-9  # of a load from memory, among many
    cache_latency: float = 238e-9  # of a load from L2
    request_cycles: float = 4.34  # of a warp to global memory, with the instructions around it
    arrival: float = 2.15e-9  # of a warp at a barrier, while the rest of its block waits


H200 = Gpu()


class Terms(NamedTuple):
    """What a pass would take, in seconds, if one thing alone bound it; `_WORDS` names them."""

    memory: float
    blocks: float
    work: float
    waiting: float
    atomics: float


# What limits a call: a term, or the launches.
_WORDS = {
    "memory": "memory bandwidth",
    "blocks": "the rate at which blocks start",
    "work": "multiprocessor throughput",
    "waiting": "waiting for loads and barriers",
    "atomics": "atomics on one address",
    "launches": "launch overhead",
}


class PassTime(NamedTuple):
    """The predicted time of one launch; ``alone`` is what its last block does after all others."""

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
        """Launch, longest term, and what comes after it."""
        return self.launch + max(self.terms) + self.alone


def microseconds(seconds: float) -> str:
    """Write a time in microseconds, without the unit."""
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
    """What `roofline` returns, in seconds; it prints as a text and a table."""

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
        """What limits the passes for longest: the name of a term, or 'launches'."""
        bound = dict.fromkeys(Terms._fields, 0.0)
        for one in self.passes:
            bound[one.limit] += max(one.terms)
        bound["launches"] = self.seconds - sum(bound.values())
        return max(bound, key=lambda name: bound[name])

    @property
    def error(self) -> float | None:
        """How far the prediction is from the measured time, as a share of that; None without."""
        return None if self.measured is None else self.seconds / self.measured - 1

    def why(self) -> str:
        """Say what limits the rung, in words."""
        return _WORDS[self.limit]

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
    """Predict a pass, the `number`-th from 0, over elements of `read` bytes."""
    blocks, threads = counts.blocks, counts.threads // counts.blocks
    warps, busiest = threads // WARP, max(1.0, blocks / gpu.multiprocessors)
    # Of warps at barriers, in a block.
    arrivals = warps * (counts.block_barriers + counts.cluster_barriers) / blocks
    # A block occupies a multiprocessor's pipelines ...
    cycles = gpu.request_cycles * (counts.global_load_requests + counts.global_store_requests)
    cycles += gpu.sector_cycles * (counts.global_load_sectors + counts.global_store_sectors)
    cycles += gpu.wavefront_cycles * (
        counts.shared_load_wavefronts + counts.shared_store_wavefronts
    )
    cycles = cycles / blocks + gpu.barrier_cycles * arrivals
    # ... and waits, as many at a time as it holds; only a first pass reads from memory itself.
    rounds = max(1.0, blocks / (gpu.multiprocessors * min(gpu.blocks, gpu.threads // threads)))
    latency = gpu.cache_latency if number else gpu.memory_latency
    waits = gpu.block_life + _loads(counts, read, warps) * latency + arrivals * gpu.arrival
    # Nothing comes from memory, or goes there, twice, for caches hold a block's share.
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
    """Count a warp's dependent loads, by the line that loads most; bulk copies overlap."""
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
    """Count the dependent loads of the block that drew the last ticket, and the ticket."""
    alone = [x.requests for x in _dependent(counts) if x.requests * _ALONE <= counts.blocks]
    if not counts.atomic_requests or not alone:
        return 0
    return 1 + sum(math.ceil(requests / warps) for requests in alone)


def predict(counted: Counters, gpu: Gpu) -> Roofline:
    """Predict a sum from the counts of its passes, which are launched as the method's are."""
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
    """Count a sum of `size` elements, without its result; a single one says what is launched."""
    name, found = "last_block" if method == "auto" else method, np.dtype(dtype)
    if found.name not in ELEMENT_TYPES:
        *some, last = ELEMENT_TYPES
        raise ValueError(f"dtype must be {', '.join(some)} or {last}; got {dtype!r}")
    told = counting.counters(np.ones(1, found), method=name, block_size=block_size, dtype=found)
    launch = scaled.Launch(method_named(told.method), told.block_size, found, gpu.multiprocessors)
    call = (*told[:4], size, told.accumulator, gpu.multiprocessors)
    return counting.counters_of(call, None, [counts for _, counts in scaled.passes(launch, size)])


def _gpu_here(device: str) -> Gpu:
    """Describe a GPU that is here: its multiprocessors and what it reads; the rest is an H200's."""
    gpus = (one for one in devices() if one.compute_capability)
    found = next((one for one in gpus if device in (one.name, "cuda")), None)
    if found is None:
        raise ValueError(
            f"device must be a GPU that is here; got {device!r}. gred.devices() lists which are "
            "here; without device= the prediction is an H200's"
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
    """Predict how long a rung takes to sum an array on a GPU, and what limits it.

    From counts of the simulated device follows what it would take if one thing alone bound it; the
    longest of these is the prediction. The documentation's page on the laboratory tells more.

    Parameters
    ----------
    size : int
        Number of elements, from 1 to 2**40.
    method, block_size
        As for `gred.counters`; 'auto' stands for 'last_block'.
    dtype : dtype, default 'float32'
        Of the elements, which are added up in it: int32, int64, uint64, float32 or float64.
    device : str, optional
        A GPU that is here, such as 'cuda:0', whose read limit and time are measured; by default an
        H200 that need not be here.

    Returns
    -------
    Roofline
        ``seconds`` of all passes, caches cold; ``limit``: 'memory', 'blocks', 'work', 'waiting',
        'atomics' or 'launches', whichever limits it for longest; ``why()``: that in words;
        ``measured`` and ``error``, where there is a GPU; and what was asked for, as it was taken.
        Each of ``passes`` has its ``blocks``; ``terms``, by each limit alone; ``launch``, what
        launching it takes; and ``alone``, what its last block does after all others.

    Raises
    ------
    ValueError, TypeError, RuntimeError, CudaError
        For what has no counters, a device that is no GPU here; and as `gred.kernel_time`.

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
