"""How fast every rung of the ladder is, the best ones on 4 GiB, and what the device can read."""

from collections.abc import Iterator
from typing import Any

from measures.figure import Figure, figure, terabytes

import gred
from gred.cli import options
from gred.cli.data import numpy_answer, random_array
from gred.cli.ladder import choose_methods
from gred.cli.measure import accumulator

# TB/s of the first kernel on an H200, 2^28 int32 in int32, measured from plain re-implementations.
# A rung has to come within a tenth of it.
FIRST_KERNEL = {
    "neighbored": 0.32,
    "neighbored_less": 0.62,
    "interleaved": 0.73,
    "unroll2": 1.33,
    "unroll4": 2.35,
    "unroll8": 3.52,
    "unroll_warps2": 1.23,
    "unroll_warps8": 3.29,
    "template_unroll8": 3.39,
    "shared_modulo": 0.92,
    "shared_strided": 0.74,
    "shared_sequential": 0.96,
    "shared_first_add": 1.78,
    "shared_last_warp": 2.33,
    "shared_complete": 2.43,
    "shared_grid_stride": 3.66,
    "cub": 4.38,
}
READ_LIMITS = {1 << 28: 4.45, 1 << 30: 4.52, 1 << 32: None}
LARGE_METHODS = ("shuffle_vector", "last_block", "bulk")
LARGE_TARGET = 4.2


def measure_gpu() -> Iterator[Figure]:
    device = options.resolve_device("cuda").name
    for nbytes, published in READ_LIMITS.items():
        limit = gred.read_limit(device, nbytes)
        what = f"read limit, {nbytes >> 20} MiB"
        yield figure(what, terabytes(limit, limit.seconds), "TB/s", published=published)
    yield from measure_rungs(device)
    for dtype in ("float32", "int32"):
        yield from measure_large(device, dtype)


def measure_rungs(device: str) -> Iterator[Figure]:
    """Sum 2^28 int32 in int32, block 512 for rungs 0 to 10 and 256 for the others."""
    array = random_array(1 << 28, "int32")
    answer = numpy_answer(array, "sum")
    for method in choose_methods(None, options.resolve_device(device), host_too=False):
        block = None
        if method.block_sizes:
            block = 512 if method.number <= 10 else 256
        timed = timed_sum(array, answer, method.name, device, block)
        published = FIRST_KERNEL.get(method.name)
        name = f"{method.name}, block {block}" if block else method.name
        yield figure(
            f"{name}: first kernel",
            terabytes(timed, timed.first_pass),
            "TB/s",
            published=published,
            at_least=round(0.9 * published, 3) if published and method.number is not None else None,
        )
        yield figure(f"{name}: all passes", terabytes(timed, timed.seconds), "TB/s")


def measure_large(device: str, dtype: str) -> Iterator[Figure]:
    """Measure the rungs that have to come near the limit, on 4 GiB."""
    array = random_array(1 << 30, dtype)
    answer = numpy_answer(array, "sum")
    there = choose_methods(None, options.resolve_device(device), host_too=False)
    for name in (method.name for method in there if method.name in LARGE_METHODS):
        timed = timed_sum(array, answer, name, device, None)
        rates = terabytes(timed, timed.seconds)
        yield figure(f"{name}, 4 GiB {dtype}", rates, "TB/s", at_least=LARGE_TARGET)


def timed_sum(array: Any, answer: Any, method: str, device: str, block: int | None) -> Any:
    """Measure a sum, and leave if its result is wrong."""
    timed = gred.kernel_time(
        array,
        method=method,
        block_size=block,
        dtype=accumulator("sum", array.dtype.name),
        device=device,
    )
    if not answer.accepts(timed.result, timed.grid, timed.block_size):
        raise SystemExit(f"{method}: {timed.result}, where NumPy has {answer.value}")
    return timed
