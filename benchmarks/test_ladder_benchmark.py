"""The ladder for pytest-benchmark: methods over array sizes and block sizes, on the best device.

    pytest benchmarks/ --benchmark-only

The times are the kernels' own, from gred.kernel_time; each case also says its GB/s and read limit.
"""

import functools

import numpy as np
import pytest

import gred
from gred.cli.data import Answer, Array, numpy_answer, random_array
from gred.cli.ladder import choose_methods
from gred.cli.measure import accumulator, device_for, read_limit
from gred.cli.options import resolve_device
from gred.cli.units import size_text

DEVICE = resolve_device(None).name
ON_GPU = DEVICE.startswith("cuda")
SIZES = (1 << 16, 1 << 22, 1 << 28) if ON_GPU else (1 << 10, 1 << 14)
BLOCK_SIZES = (128, 256, 512) if ON_GPU else (64, 256)
ROUNDS = 20 if ON_GPU else 3
METHODS = choose_methods(None, resolve_device(None), host_too=True)
CASES = [
    pytest.param(size, method, block, id=f"{size_text(size)}-{method.name}-{block or 'any'}")
    for size in SIZES
    for method in METHODS
    for block in (BLOCK_SIZES if method.block_sizes else (None,))
]


class KernelClock:
    """A clock that stands still but while a kernel runs, so that pytest-benchmark times kernels."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


CLOCK = KernelClock()


@functools.lru_cache(maxsize=1)
def data_of(size: int) -> tuple[Array, Answer, dict[str, float]]:
    """Make the array of that size, its sum and the read limits, once for all its cases."""
    array = random_array(size, "int32")
    limits = {name: read_limit(name, array.nbytes, ROUNDS) for name in {DEVICE, "host"}}
    return array, numpy_answer(array, "sum"), limits


@pytest.mark.benchmark(timer=CLOCK)
@pytest.mark.parametrize(("size", "method", "block_size"), CASES)
def test_sum(benchmark, size, method, block_size):
    """Take `ROUNDS` kernel times of one method at one block size on one array."""
    array, answer, limits = data_of(size)
    device = device_for(method, DEVICE)
    timed = gred.kernel_time(
        array,
        method=method.name,
        block_size=block_size,
        dtype=accumulator("sum", "int32"),
        device=device,
        samples=ROUNDS,
        warmup=1,
    )
    assert answer.accepts(timed.result)
    samples = iter(timed.seconds)

    def let_pass():
        CLOCK.now += next(samples)

    benchmark.group = f"sum of {size_text(size)} int32, {DEVICE}"
    benchmark.pedantic(let_pass, rounds=ROUNDS, iterations=1, warmup_rounds=0)
    bandwidth = timed.nbytes / float(np.median(timed.seconds))
    benchmark.extra_info.update(
        device=timed.device,
        nbytes=timed.nbytes,
        grid=timed.grid,
        passes=timed.passes,
        block_size=timed.block_size,
        gb_per_s=round(bandwidth * 1e-9, 3),
        limit_gb_per_s=round(limits[device] * 1e-9, 3),
    )
