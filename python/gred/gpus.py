"""What a GPU is to the model that predicts times: a few numbers, committed for the H200."""

from __future__ import annotations

from typing import NamedTuple


class Gpu(NamedTuple):
    """One GPU; seconds, bytes a second, cycles of a multiprocessor's clock."""

    title: str
    # ---- by the vendor ----
    multiprocessors: int
    clock: float  # cycles a second, at most
    threads: int  # that a multiprocessor holds
    blocks: int  # that a multiprocessor holds
    sector_cycles: float  # L1 moves 128 bytes a cycle
    wavefront_cycles: float  # shared memory serves one a cycle
    barrier_cycles: float  # of a warp: 16 of its 32 lanes a cycle
    atomic_cycles: float  # one a cycle, all on one address
    # ---- by gred.read_limit ----
    bandwidth: float  # of the memory, read by a kernel that does nothing else
    # ---- fitted by benchmarks/roofline.py ----
    start: float  # of the measurement: its events, once
    launch: float  # of a pass, in a row of passes
    block_interval: float  # from the start of a block to the next one's, on the whole GPU
    block_life: float  # what a block takes to begin and to end
    memory_latency: float  # of a load from memory, among many
    cache_latency: float  # of a load from L2
    request_cycles: float  # of a warp to global memory, with the instructions around it
    arrival: float  # of a warp at a barrier, while the rest of its block waits


H200 = Gpu(
    title="NVIDIA H200",
    multiprocessors=132,
    clock=1.98e9,
    threads=2048,
    blocks=32,
    sector_cycles=0.25,
    wavefront_cycles=1.0,
    barrier_cycles=2.0,
    atomic_cycles=1.0,
    bandwidth=4.54e12,
    start=3.94e-6,
    launch=1.08e-6,
    block_interval=0.602e-9,
    block_life=472e-9,
    memory_latency=533e-9,
    cache_latency=238e-9,
    request_cycles=4.34,
    arrival=2.15e-9,
)
