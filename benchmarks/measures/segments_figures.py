"""Reductions of an array's segments on a GPU, beside the read limit, CUB, PyTorch and CuPy.

Device times, measured as those along axes are. CUB's is that of a program of one call, which nvcc
compiles where there is one.
"""

import ctypes
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from measures.axes_figures import PATIENCE, Gpu, beside_best
from measures.compiled import compiled
from measures.device_times import Call
from measures.figure import Figure, figure

import gred

SEGMENTS, MEAN = 10**6, 64
TYPE = "float32"
OF_LIMIT, OVER_BEST = 0.7, 1.1
# Of lengths by a power law: the more the exponent is above 1, the less do the longest have.
POWER = 1.3
CUB = r"""
#include <cub/device/device_segmented_reduce.cuh>

extern "C" int segmented_sum(void *workspace, size_t *bytes, const float *values, float *results,
                             int count, const long long *offsets, void *stream)
{
    return cub::DeviceSegmentedReduce::Sum(workspace, *bytes, values, results, count, offsets,
                                           offsets + 1, static_cast<cudaStream_t>(stream));
}
"""


def equal(segments: int) -> np.ndarray[Any, Any]:
    return np.full(segments, MEAN)


def uniform(segments: int) -> np.ndarray[Any, Any]:
    """Draw lengths from 1 on, each as often as any other."""
    return np.random.default_rng(0).integers(1, 2 * MEAN, segments)


def power_law(segments: int) -> np.ndarray[Any, Any]:
    """Draw lengths most of which are short, and a few very long."""
    drawn = np.random.default_rng(0).pareto(POWER, segments) + 1
    return np.floor(drawn * (MEAN / drawn.mean())).astype(np.int64)


LENGTHS: dict[str, Callable[[int], np.ndarray[Any, Any]]] = {
    "equal": equal,
    "uniform": uniform,
    "power-law": power_law,
}


class Segments(NamedTuple):
    """What is reduced, on the GPU: offsets end with the number of elements."""

    values: Any
    offsets: Any

    @property
    def moved(self) -> int:
        count = self.offsets.size - 1
        size = int(self.values.dtype.itemsize)
        return int(self.values.size) * size + count * (8 + size)


def draw(gpu: Gpu, lengths: np.ndarray[Any, Any]) -> Segments:
    ends = np.concatenate([[0], np.cumsum(lengths)])
    values = gpu.array(TYPE, int(ends[-1]) * np.dtype(TYPE).itemsize)
    return Segments(values, gpu.cupy.asarray(ends))


# ---- peers ----


def compiled_cub() -> Any:
    """Compile CUB's call; None where there is no nvcc, or it does not."""
    return compiled(CUB)


def call_of_cub(gpu: Gpu, library: Any, segments: Segments) -> Call:
    """Call CUB with the memory that it asks for."""
    count = segments.offsets.size - 1
    results = gpu.cupy.empty(count, TYPE)
    needed = ctypes.c_size_t(0)
    values, offsets, stream = (
        ctypes.c_void_p(at)
        for at in (segments.values.data.ptr, segments.offsets.data.ptr, gpu.times.stream.ptr)
    )

    def call(workspace: Any) -> None:
        at = ctypes.c_void_p(results.data.ptr)
        error = library.segmented_sum(
            workspace, ctypes.byref(needed), values, at, count, offsets, stream
        )
        if error:
            raise RuntimeError(f"CUB fails with {error}")

    call(None)
    memory = gpu.cupy.empty(max(needed.value, 1), np.uint8)
    return lambda: call(ctypes.c_void_p(memory.data.ptr))


def calls(gpu: Gpu, segments: Segments, cub: Any) -> dict[str, Call]:
    torch, stream = gpu.torch, gpu.times.stream
    values, offsets = segments.values, segments.offsets
    begins, out = offsets[:-1], gpu.cupy.empty(offsets.size - 1, TYPE)
    tensor, bounds = (torch.as_tensor(a, device="cuda") for a in (values, offsets))
    listed = {
        "gred": lambda: gred.reduceat(
            "sum", values, begins, empty="identity", out=out, stream=stream
        ),
        "PyTorch": lambda: torch.segment_reduce(tensor, "sum", offsets=bounds, unsafe=True),
        "CuPy": lambda: gpu.cupy.add.reduceat(values, begins),
    }
    if cub:
        listed["CUB"] = call_of_cub(gpu, cub, segments)
    return listed


def measure(
    gpu: Gpu | None = None, segments: int = SEGMENTS, cub: Callable[[], Any] = compiled_cub
) -> Iterator[Figure]:
    """Measure sums of segments of every kind of lengths."""
    gpu, library = gpu or Gpu(), cub()
    for kind, lengths in LENGTHS.items():
        drawn = draw(gpu, lengths(segments))
        with gpu.times.current():
            able = gpu.times.able(calls(gpu, drawn, library), PATIENCE)
            seconds = gpu.times.medians(able)
        yield from rows_of(gpu, f"{segments} segments, {kind}", drawn, seconds)


def rows_of(gpu: Gpu, what: str, segments: Segments, seconds: dict[str, float]) -> Iterator[Figure]:
    """Compare with the read limit, and with the best peer."""
    ours = seconds.pop("gred")
    what, group = f"reduceat sum {TYPE}, {what}", "reduceat"
    yield figure(
        f"{what}: of the limit", [segments.moved / gpu.limit(segments.moved) / ours], "x",
        at_least=OF_LIMIT, group=f"{group}: of the limit",
    )  # fmt: skip
    yield from beside_best(what, seconds, ours, OVER_BEST, group)
    for name, taken in seconds.items():
        yield figure(f"{what}: {name}'s time", [1e6 * taken], "us")


# Less than a minute and a half of an H200, most of it nvcc's.
PIECES: dict[str, Callable[[], Iterator[Figure]]] = {"segments": measure}
