"""What the classic documents get wrong, and every method must get right: one promise a test."""

import itertools
import time

import numpy as np
import pytest
from gpu_arrays import GpuArray, free_bytes
from inputs import (
    DATA_BLOCKS,
    FLOATS,
    KINDS,
    OPS,
    block_sizes,
    exact,
    reduce,
)
from reference import agrees
from thin import chosen

import gred

FLOAT32 = next(kind for kind in FLOATS if kind.given == np.float32)


# ---- length ----


def test_every_length_is_right(device, method):
    """All lengths up to more than two data blocks of the rung that takes eight at a time."""
    random = np.random.default_rng(1)
    array = random.integers(-(2**62), 2**62, 600)
    sums = np.concatenate([[0], np.cumsum(array)])
    block_size = block_sizes(method)[0]
    for n in range(len(array) + 1):
        got = gred.sum(array[:n], method=method, device=device, block_size=block_size)
        assert got == sums[n], f"n = {n}"


def test_the_tail_beyond_the_last_whole_data_block_counts(device, rung):
    """Only the tail is not zero: eight data blocks and one element, up to sixteen but one."""
    for block_size in block_sizes(rung):
        for tail in (1, block_size - 1, block_size + 1, 8 * block_size - 1):
            array = np.zeros(8 * block_size + tail, np.int32)
            array[8 * block_size :] = 1
            got = gred.sum(array, method=rung, device=device, block_size=block_size)
            assert got == tail, f"block_size {block_size}"


BIG, PERIOD = 2**32 + 12345, 1_000_003
GIANT_METHODS = ("halving", "interleaved", "unroll8", "shared_modulo", "shared_grid_stride")
GIANT_METHODS += ("shuffle_vector", "atomic", "last_block", "cooperative", "cub")


@pytest.fixture(scope="module")
def giant():
    """More than 2^32 int32 on the GPU: noise whose period shares no factor with a power of two."""
    needed = 4 * BIG
    if free_bytes() < 5 * needed:
        pytest.skip(f"the GPU has less than {5 * needed / 2**30:.0f} GiB free")
    noise = np.random.default_rng(2).integers(-(2**20), 2**20, PERIOD, np.int32)
    array = GpuArray.repeating(noise, BIG)
    repeats, rest = divmod(BIG, PERIOD)
    total = repeats * int(noise.sum(dtype=np.int64)) + int(noise[:rest].sum(dtype=np.int64))
    return array, noise, total


@pytest.mark.gpu
@pytest.mark.parametrize("method", GIANT_METHODS)
def test_more_than_2_to_the_32_elements_are_right(giant, method):
    array, noise, total = giant
    assert gred.sum(array, method=method) == total
    for position in (0, 2**31, 2**32 - 1, 2**32, BIG - 1):
        usual = noise[position % PERIOD]
        array[position] = 2**30
        try:
            assert gred.max(array, method=method, dtype=np.int32) == 2**30, position
        finally:
            array[position] = usual


# ---- barriers and warps ----


# ---- bounds ----


@pytest.mark.parametrize("op", OPS)
def test_nothing_beyond_the_array_is_read(device, method, op):
    """NaN lies before and behind the array, where that is memory that gred could read."""
    for kind, n in chosen(itertools.product(FLOATS, (1, 31, 257, 1000, 4097)), op, method):
        case = exact(op, kind, n)
        surrounded = np.full(n + 2 * 3000, np.nan, kind.given)
        surrounded[3000 : 3000 + n] = case.array
        array = surrounded[3000 : 3000 + n]
        if device == "cuda":
            array = GpuArray.of(surrounded)[3000 : 3000 + n]
        for block_size in block_sizes(method)[::5]:
            got = reduce(op, array, method=method, block_size=block_size, device=device)
            assert agrees(got, case.truth), f"n = {n}, block_size {block_size}"


# ---- the caller's data ----


# ---- the second stage ----

SINGLE_LAUNCH = ("atomic", "last_block", "cooperative", "bulk", "cluster")


def expected_passes(rung: str, n: int, block_size: int) -> int:
    """Count the launches until one partial is left."""
    passes = 0
    while n > 1 or not passes:
        n = n - n // 2 if rung == "halving" else -(-n // (block_size * DATA_BLOCKS[rung]))
        passes += 1
    return passes


def test_the_second_stage_is_on_the_device(device, rung):
    """Partials are folded by more launches of the same rung until one is left."""
    for n in (2, 1000, 40_000):
        case = exact("sum", FLOAT32, n)
        options = {"method": rung, "device": device, "block_size": 32, "samples": 1}
        timed = gred.kernel_time(case.array, "sum", **options)
        assert agrees(timed.result, case.truth)
        if rung in SINGLE_LAUNCH:
            assert timed.passes == 1
        elif rung == "halving" or rung in DATA_BLOCKS:
            assert timed.passes == expected_passes(rung, n, 32)
        else:
            assert timed.passes == (1 if timed.grid == 1 else 2)


# ---- the measured time ----


@pytest.mark.parametrize("cold", [False, True])
def test_the_measured_time_is_the_kernels_own_with_all_samples(device, method, cold):
    """All samples lie within the call, and begin with the same array though rungs change it."""
    case = exact("sum", KINDS[0], 4097)
    count = 2 if cold else 7
    options = {"method": method, "device": device, "samples": count, "warmup": 1, "cold": cold}
    began = time.perf_counter()
    timed = gred.kernel_time(case.array, "sum", **options)
    elapsed = time.perf_counter() - began
    for samples in (timed.seconds, timed.first_pass):
        assert samples.shape == (count,)
        assert samples.dtype == np.float64
        assert (samples > 0).all()
    assert (timed.first_pass <= timed.seconds).all()
    assert timed.seconds.sum() <= elapsed
    assert timed.nbytes == case.array.nbytes
    assert agrees(timed.result, case.truth)
