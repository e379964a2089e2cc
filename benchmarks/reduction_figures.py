"""What the reductions beside the ladder's cost, and what two GPUs give."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from figure import Figure, figure

import gred
from gred.cli.data import random_array

GIB = 1 << 30
# Of the time that the sum of the same array takes.
OVER_SUM = {
    "var": 1.1,
    "std": None,
    "argmin": None,
    "argmax": 1.1,
    "norm": 1.1,
    "count_nonzero": 1.1,
    "any": None,
    "all": None,
    "nansum": 1.1,
    "nanmean": None,
    "nanmax": None,
    "ptp": None,
    "minmax": None,
    "describe": None,
}
DESCRIBE = {"float32": 1.15}
TWO_GPUS = 1.95
SUMS = 60


def measure_reductions() -> Iterator[Figure]:
    """Measure 1 GiB of the types of 4 and 8 bytes: all reductions of an array beside its sum."""
    for dtype in ("float32", "float64", "int32", "int64"):
        array = on_gpu(random_array(GIB // np.dtype(dtype).itemsize, dtype))
        beside = gred.kernel_time(array, "sum").seconds
        yield figure("reductions", f"sum, 1 GiB {dtype}", 1e6 * beside, "us")
        for op, target in OVER_SUM.items():
            seconds = gred.kernel_time(array, op).seconds / np.median(beside)
            bound = DESCRIBE.get(dtype) if op == "describe" else target
            what = f"{op}, 1 GiB {dtype}: time over that of sum"
            yield figure("reductions", what, seconds, "x", at_most=bound)


def on_gpu(array: Any) -> Any:
    """Copy an array to the GPU, with CuPy."""
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
    alone = [rate_together(arrays[:1]) for _ in range(7)]
    together = [rate_together(arrays) / np.median(alone) for _ in range(7)]
    yield figure("gpus", "one thread on one GPU, 1 GiB float32 sums", alone, "TB/s")
    what = "two threads on two GPUs: rate over that of one"
    yield figure("gpus", what, together, "x", at_least=TWO_GPUS)


def rate_together(arrays: list[Any]) -> float:
    """Sum each array many times in a thread of its own: the TB/s of all together."""
    start = threading.Barrier(len(arrays) + 1)

    def work(array: Any) -> None:
        gred.sum(array)
        start.wait()
        for _ in range(SUMS):
            gred.sum(array)

    threads = [threading.Thread(target=work, args=(array,)) for array in arrays]
    for thread in threads:
        thread.start()
    start.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    return sum(array.nbytes for array in arrays) * SUMS / (time.perf_counter() - began) * 1e-12
