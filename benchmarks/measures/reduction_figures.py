"""What the reductions beside the ladder's cost, and what two GPUs give."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from measures.figure import Figure, figure
from measures.timing import rate_together

import gred
from gred.cli.data import random_array

GIB = 1 << 30
OPS = ("var", "std", "argmin", "argmax", "norm", "count_nonzero", "any", "all")
OPS += ("nansum", "nanmean", "nanmax", "ptp", "minmax", "describe")
# Of the time that the sum of the same array takes.
OVER_SUM = dict.fromkeys(("var", "argmax", "norm", "count_nonzero", "nansum"), 1.1)
DESCRIBE = {"float32": 1.15}
TWO_GPUS = 1.95
SUMS = 60


def measure_reductions() -> Iterator[Figure]:
    """Measure 1 GiB of the types of 4 and 8 bytes: all reductions of an array beside its sum."""
    for dtype in ("float32", "float64", "int32", "int64"):
        array = on_gpu(random_array(GIB // np.dtype(dtype).itemsize, dtype))
        beside = gred.kernel_time(array, "sum").seconds
        yield figure(f"sum, 1 GiB {dtype}", 1e6 * beside, "us")
        for op in OPS:
            seconds = gred.kernel_time(array, op).seconds / np.median(beside)
            bound = DESCRIBE.get(dtype) if op == "describe" else OVER_SUM.get(op)
            what = f"{op}, 1 GiB {dtype}: time over that of sum"
            yield figure(what, seconds, "x", at_most=bound)


def on_gpu(array: Any) -> Any:
    try:
        import cupy
    except ImportError:
        raise SystemExit("arrays on a GPU need CuPy") from None
    return cupy.asarray(array)


def measure_gpus() -> Iterator[Figure]:
    """Let two threads sum 1 GiB each on two GPUs, beside one thread on one."""
    import cupy

    arrays = []
    for device in range(2):
        with cupy.cuda.Device(device):
            arrays.append(cupy.random.random(GIB // 4, dtype=cupy.float32))
            cupy.cuda.Device(device).synchronize()
    alone = [1e-12 * rate_together(arrays[:1], SUMS) for _ in range(7)]
    together = [1e-12 * rate_together(arrays, SUMS) / np.median(alone) for _ in range(7)]
    yield figure("one thread on one GPU, 1 GiB float32 sums", alone, "TB/s")
    what = "two threads on two GPUs: rate over that of one"
    yield figure(what, together, "x", at_least=TWO_GPUS)
    what = "a list of two arrays on two GPUs: rate over that of one array"
    yield figure(what, [2 * rate for rate in ratios_of_list(arrays)], "x")


def ratios_of_list(arrays: list[Any]) -> Iterator[float]:
    """Sum the first array, and all of them in one call, by turns: how their times compare."""
    for _ in range(SUMS):
        seconds = []
        for what in (arrays[0], arrays):
            start = time.perf_counter()
            gred.sum(what)
            seconds.append(time.perf_counter() - start)
        yield seconds[0] / seconds[1]
