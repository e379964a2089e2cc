"""The rungs for later GPUs: bulk copies through a ring of stages, and clusters of blocks.

They are also in the tests for all rungs; these cover what only they do.
"""

import itertools

import numpy as np
import pytest
from devices import everywhere
from gpu_arrays import GpuArray, call
from inputs import methods_on

import gred

STAGE_BYTES = 2**14  # of each stage of the ring
ORDERS = [("forwards", 0), ("backwards", 0), *(("shuffled", seed) for seed in range(5))]


def summed(x, method, block_size, place):
    if method not in methods_on(place):
        pytest.skip(f"{method} needs a later GPU")
    return gred.sum(x, method=method, block_size=block_size, device=place)


def numbers(n, dtype, first=0):
    """Return numbers whose sum shows a lost or duplicated one; the array may be misaligned."""
    return (np.arange(n + first, dtype=dtype) % 1009 + 1)[first:]


@everywhere
@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_a_ring_is_filled_to_the_last_byte(place, dtype):
    stage = STAGE_BYTES // np.dtype(dtype).itemsize
    for stages, more, first in itertools.product((1, 2, 3, 5), (-5, -1, 0, 1, 5), (0, 1, 3)):
        x = numbers(stages * stage + more, dtype, first)
        got = [summed(x, "bulk", block_size, place) for block_size in (32, 1024)]
        assert got == [x.sum()] * 2, (stages, more, first)


@pytest.mark.parametrize(("order", "seed"), ORDERS)
def test_blocks_wait_for_one_another_and_for_copies(order, seed):
    """The ring is filled many times, while copies take any time."""
    for method, n, dtype, sizes in (
        ("bulk", 2**20 + 7, np.float64, (256, 1024)),
        ("cluster", 2**16 + 7, np.int64, (32, 512)),
    ):
        x = numbers(n, dtype, 1)
        with gred.thread_order(order, seed):
            assert [summed(x, method, size, "simulated") for size in sizes] == [x.sum()] * 2


@pytest.mark.gpu
def test_a_stage_is_awaited_and_not_filled_before_it_was_read_on_a_gpu_and_auto_is_bulk():
    x = numbers(2**28, np.int32)
    part, right = x[1 : 2**26 + 8], x[1 : 2**26 + 8].sum(dtype=np.int64)
    for block_size in (32, 256, 1024):
        for _ in range(10):
            assert summed(part, "bulk", block_size, "cuda") == right
    a, out = GpuArray.of(x), GpuArray.of(np.zeros(1, np.int64))
    assert gred.explain(a).method == gred.kernel_time(a, samples=1).method == "bulk"
    assert gred.explain(a[:-1]).method == "last_block"
    assert gred.explain(a, block_size=512).method == "last_block"
    gred.sum(a, out=out)
    call("cuCtxSynchronize")
    assert gred.sum(a) == out.host()[0] == x.sum(dtype=np.int64)


@everywhere
def test_clusters_of_every_size_are_right(place):
    """One cluster of up to 8 blocks, and then pairs; the last block may have no work."""
    seen = set()
    for blocks, more in itertools.product((*range(1, 10), 63, 64, 65, 100), (-1, 0)):
        x = numbers(blocks * 32 * 8 + more, np.int64)
        options = {"method": "cluster", "block_size": 32, "device": place}
        assert summed(x, "cluster", 32, place) == x.sum()
        assert gred.max(x, **options) == x.max()
        (step,) = gred.explain(x, **options).steps
        seen.add((step.grid, step.cluster_size))
    assert {(size, size) for size in range(1, 9)} <= seen
    assert any(size == 2 < grid for grid, size in seen)
