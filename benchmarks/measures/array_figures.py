"""How fast arrays are summed that lie otherwise or elsewhere than flat on the GPU."""

import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import interface_overhead
import numpy as np
from measures.call_figures import peers
from measures.figure import Figure, figure, terabytes
from measures.timing import cores

import gred
from gred.cli import options

# Rates beside that of the same bytes, or the same array, read flat.
TRANSPOSED_TARGET = 0.97
EVERY_SECOND_TARGET = 0.45
MATRIX_ROWS = 1 << 15
HOST_ROWS = 1 << 14
HOST_TURNS = 15
# GB/s of 1 GiB float32 on the host, summed on the GPU; an H200's bus carries 55.
PAGEABLE_TARGET, PINNED_TARGET = 45.0, 50.0
FIVE_BILLION = 5 * 10**9
PATTERN_SIZE = 10**6


def measure_arrays() -> Iterator[Figure]:
    """Measure arrays of other layouts, places and sizes than a flat one on the GPU."""
    cupy, _ = peers()
    device = options.resolve_device("cuda").name
    yield from measure_layouts(cupy)
    yield from measure_five_billion(cupy)
    cupy.get_default_memory_pool().free_all_blocks()
    pinned = import_module("cupyx").empty_pinned((HOST_ROWS, HOST_ROWS), "float32")
    matrix = host_matrix(HOST_ROWS)
    pinned[...] = matrix
    what = "1 GiB float32 on the host, summed on the GPU"
    yield from measure_transposed(what, matrix, device, PAGEABLE_TARGET)
    yield from measure_transposed(f"{what}, pinned", pinned, device, PINNED_TARGET)
    yield from measure_overhead()


def rates_beside(flat: Any, timed: Any) -> list[float]:
    """Divide the rate of useful bytes by the flat array's median one."""
    rate = flat.nbytes / float(np.median(flat.seconds))
    return [float(timed.nbytes / second / rate) for second in timed.seconds]


def measure_layouts(cupy: Any) -> Iterator[Figure]:
    """Measure views of a random 4 GiB matrix against the whole of it."""
    matrix = cupy.random.random((MATRIX_ROWS, MATRIX_ROWS), dtype=cupy.float32)
    layouts = {
        "transposed": (matrix.T, TRANSPOSED_TARGET),
        "every second column": (matrix[:, ::2], EVERY_SECOND_TARGET),
        "every second row": (matrix[::2], None),
        "all columns but one": (matrix[:, :-1], None),
        "reversed": (matrix[::-1, ::-1], None),
    }
    flat = gred.kernel_time(matrix)
    yield figure("4 GiB float32, flat", terabytes(flat, flat.seconds), "TB/s")
    for name, (view, target) in layouts.items():
        timed = gred.kernel_time(view)
        expected = float(view.sum(dtype=cupy.float64))
        if abs(float(timed.result) - expected) > 1e-5 * expected:
            raise SystemExit(f"{name}: {timed.result}, where CuPy has {expected}")
        what = f"4 GiB float32, {name}: useful bytes, rate over flat"
        yield figure(what, rates_beside(flat, timed), "x", at_least=target)


def measure_five_billion(cupy: Any) -> Iterator[Figure]:
    pattern = np.random.default_rng(0).integers(-100, 100, PATTERN_SIZE, np.int8)
    repeats = FIVE_BILLION // PATTERN_SIZE
    array = cupy.tile(cupy.asarray(pattern), repeats)
    for method in ("auto", "unroll8"):
        timed = gred.kernel_time(array, method=method)
        if timed.result != int(pattern.sum(dtype=np.int64)) * repeats:
            raise SystemExit(f"{method}: {timed.result} is not the sum of 5 * 10^9 int8")
        what = f"{method}, 5 * 10^9 int8"
        yield figure(what, terabytes(timed, timed.seconds), "TB/s")


def measure_overhead() -> Iterator[Figure]:
    """Measure what parsing an array costs, for each library that is here."""
    rows, _ = interface_overhead.measure_all()
    for row in rows:
        what = f"parsing an array: {row.name}, over an empty function"
        microseconds = [1e6 * second for second in row.seconds]
        yield figure(what, microseconds, "us", at_most=row.goal)


def host_matrix(rows: int) -> Any:
    return np.random.default_rng(0).random((rows, rows), np.float32)


def measure_transposed(
    what: str, matrix: Any, device: str, target: float | None = None
) -> Iterator[Figure]:
    """Measure whole calls on a host matrix, to reach a target, and on its transpose, turn about."""
    seconds: dict[str, list[float]] = {"flat": [], "transposed": []}
    views = {"flat": matrix, "transposed": matrix.T}
    for turn in range(HOST_TURNS + 1):
        for name in views if turn % 2 else reversed(views):
            start = time.perf_counter()
            gred.sum(views[name], device=device)
            if turn:
                seconds[name].append(time.perf_counter() - start)
    flat = float(np.median(seconds["flat"]))
    rates = [matrix.nbytes / second * 1e-9 for second in seconds["flat"]]
    ratios = [flat / second for second in seconds["transposed"]]
    yield figure(f"{what}, flat", rates, "GB/s", at_least=target)
    yield figure(f"{what}, transposed: rate over flat", ratios, "x", at_least=TRANSPOSED_TARGET)


def measure_transposed_on_host() -> Iterator[Figure]:
    """Measure a transposed array beside a flat one, held to two cores."""
    with cores(2):
        what = "256 MiB float32 on the host, 2 cores"
        matrix = host_matrix(HOST_ROWS // 2)
        yield from measure_transposed(what, matrix, "host")
