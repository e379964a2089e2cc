"""What it costs that a result's bits follow from its own elements alone."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from measures.call_figures import peers
from measures.device_times import DeviceTimes
from measures.figure import Figure, figure
from measures.timing import medians_in_turns

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


def price(
    op: str, shape: tuple[int, ...], axis: int, dtype: str, where: str, taken: dict[str, float]
) -> Figure:
    """Compare with the default method, and say what each took."""
    beside = ", ".join(f"{name} {1e6 * seconds:.1f} us" for name, seconds in taken.items())
    what = f"batch_invariant {op}, {shape} axis {axis} {dtype}, {where}, {beside}: of auto's pace"
    group = f"batch_invariant, {dtype}, {where}: of auto's pace"
    return figure(what, [taken["gred"] / taken["batch_invariant"]], "x", group=group)


def measure_invariant() -> Iterator[Figure]:
    """Measure device times on a GPU, by turns with the default method, and PyTorch's."""
    cupy, torch = peers()
    times = DeviceTimes(cupy, torch)
    for dtype in TYPES:
        for shape, axis in SHAPES:
            x = torch.randn(shape, device="cuda").to(getattr(torch, dtype))
            for op in OPS:
                yield on_gpu(torch, times, op, x, axis)


def on_gpu(torch: Any, times: DeviceTimes, op: str, x: Any, axis: int) -> Figure:
    ours, theirs = getattr(gred, op), getattr(torch, op)
    with times.current():
        calls = {
            "gred": lambda: ours(x, axis=axis),
            "batch_invariant": lambda: ours(x, axis=axis, method="batch_invariant"),
            "PyTorch": lambda: theirs(x, axis),
        }
        taken = times.medians(times.able(calls, 1.0))
    dtype = str(x.dtype).removeprefix("torch.")
    return price(op, tuple(x.shape), axis, dtype, "device time", taken)


def measure_invariant_on_host() -> Iterator[Figure]:
    """Measure whole calls of NumPy arrays by turns with the default method."""
    random = np.random.default_rng(1)
    for shape, axis in SHAPES:
        if np.prod(shape) > OF_HOST:
            continue
        x = random.standard_normal(shape, "f4")
        for op in OPS:
            ours = getattr(gred, op)
            calls = {
                "gred": lambda ours=ours, x=x, axis=axis: ours(x, axis=axis),
                "batch_invariant": lambda ours=ours, x=x, axis=axis: ours(
                    x, axis=axis, method="batch_invariant"
                ),
            }
            yield price(op, shape, axis, "float32", "host", medians_in_turns(calls, CALLS))
