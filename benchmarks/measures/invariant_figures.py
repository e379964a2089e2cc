"""What it costs that a result's bits follow from its own elements alone."""

import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from measures.call_figures import peers
from measures.device_times import DeviceTimes
from measures.figure import Figure, figure
from measures.timing import Call, medians_in_turns

import gred

# A language model's rows and columns: of one request, and of many.
SHAPES = (
    ((1, 4096), 1),
    ((64, 4096), 1),
    ((8192, 4096), 1),
    ((16384, 768), 1),
    ((64, 50257), 1),
    ((2048, 50257), 1),
    ((1, 1 << 24), 1),
    ((4096, 4096), 0),
    ((64, 2048, 768), 1),
    ((16, 512, 768), 1),
)
OPS = ("sum", "var")
TYPES = ("float32", "bfloat16")
OF_HOST = 1 << 24  # elements at most
CALLS = 50


def ways(op: str, x: Any, axis: int) -> dict[str, Call]:
    """Reduce by the default method, and by the other."""
    default = partial(getattr(gred, op), x, axis=axis)
    return {"gred": default, "batch_invariant": partial(default, method="batch_invariant")}


def price(op: str, x: Any, axis: int, dtype: str, where: str, taken: dict[str, float]) -> Figure:
    """Compare with the default method, and say what each took."""
    shape, times = tuple(x.shape), (f"{name} {1e6 * s:.1f} us" for name, s in taken.items())
    what = f"batch_invariant {op}, {shape} axis {axis} {dtype}, {where}, {', '.join(times)}"
    group = f"batch_invariant, {dtype}, {where}: of auto's pace"
    ratio = taken["gred"] / taken["batch_invariant"]
    return figure(f"{what}: of auto's pace", [ratio], "x", group=group)


def measure_invariant() -> Iterator[Figure]:
    """Measure device times on a GPU, by turns with the default method, and PyTorch's."""
    cupy, torch = peers()
    times = DeviceTimes(cupy, torch)
    for dtype, (shape, axis) in itertools.product(TYPES, SHAPES):
        x = torch.randn(shape, device="cuda").to(getattr(torch, dtype))
        for op in OPS:
            with times.current():
                calls = ways(op, x, axis) | {"PyTorch": partial(getattr(torch, op), x, axis)}
                taken = times.medians(times.able(calls, 1.0))
            yield price(op, x, axis, dtype, "device time", taken)


def measure_invariant_on_host() -> Iterator[Figure]:
    """Measure whole calls of NumPy arrays by turns with the default method."""
    random = np.random.default_rng(1)
    for shape, axis in SHAPES:
        if np.prod(shape) > OF_HOST:
            continue
        x = random.standard_normal(shape, "f4")
        for op in OPS:
            taken = medians_in_turns(ways(op, x, axis), CALLS)
            yield price(op, x, axis, "float32", "host", taken)
