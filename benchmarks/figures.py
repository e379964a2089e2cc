"""Measures what the project promises in figures, and says which promises are kept.

    python benchmarks/figures.py [--part gpu,arrays,...] [--out DIR]

`--help` lists the parts; some are divided, and `--part host-types/sum` or `host-types/sum/16MiB` is
such a piece. Results go to DIR/<machine>/figures.json (benchmarks/results unless said
otherwise), where parts measured earlier on the same machine stay. Exit status 1 if a promise is
broken, or if a rung is slower than in the results that are kept.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import axes_figures
import call_figures
import exact_figures
import host_figures
import interface_overhead
import numpy as np
import reduction_figures
import type_figures
from figure import Figure, figure

import gred
from gred.cli import options, record
from gred.cli.answer import numpy_answer
from gred.cli.data import random_array
from gred.cli.ladder import choose_methods
from gred.cli.measure import accumulator

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"

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
NO_SLOWER_THAN = 0.97
COUNTED = 22  # the last rung with counters
SIMULATED_TARGETS = {
    "gred.sum, shared_modulo simulated, 2^20 float32, block 256, 2 cores": 0.5,
    "gred.sum, shuffle simulated, 2^20 float32, block 256, 2 cores": 0.1,
    "gred.counters, shared_modulo, 2^20 float32, block 256, 2 cores": 2.0,
    "gred.counters, rungs 0 to 22 together, 2^16 float32, block 256, 2 cores": 5.0,
    "python -m gred show neighbored --out, 2 cores": 1.0,
}
IMPORT_TARGET = 0.030
IMPORT_RUNS = 31
# GRED_CUDA_ARCHS and seconds: without CUDA, for one architecture, and for every major one.
BUILDS = {"none": ("none", 60.0), "one": ("90", 40.0), "all": ("", 120.0)}
TESTS_TARGET = 300.0
Pieces = dict[str, Callable[[], Iterator[Figure]]]


def terabytes(timed: Any, seconds: Any) -> list[float]:
    """Turn samples into TB/s."""
    return [float(timed.nbytes / second * 1e-12) for second in seconds]


def measure_gpu() -> Iterator[Figure]:
    """Measure every rung, the best on 4 GiB, and what the device can read."""
    device = options.resolve_device("cuda").name
    for nbytes, published in READ_LIMITS.items():
        limit = gred.read_limit(device, nbytes)
        what = f"read limit, {nbytes >> 20} MiB"
        yield figure("gpu", what, terabytes(limit, limit.seconds), "TB/s", published=published)
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
            "gpu",
            f"{name}: first kernel",
            terabytes(timed, timed.first_pass),
            "TB/s",
            published=published,
            at_least=round(0.9 * published, 3) if published and method.number is not None else None,
        )
        yield figure("gpu", f"{name}: all passes", terabytes(timed, timed.seconds), "TB/s")


def measure_large(device: str, dtype: str) -> Iterator[Figure]:
    """Measure the rungs that have to come near the limit, on 4 GiB."""
    array = random_array(1 << 30, dtype)
    answer = numpy_answer(array, "sum")
    there = choose_methods(None, options.resolve_device(device), host_too=False)
    for name in (method.name for method in there if method.name in LARGE_METHODS):
        timed = timed_sum(array, answer, name, device, None)
        rates = terabytes(timed, timed.seconds)
        yield figure("gpu", f"{name}, 4 GiB {dtype}", rates, "TB/s", at_least=LARGE_TARGET)


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


def measure_arrays() -> Iterator[Figure]:
    """Measure arrays of other layouts, places and sizes than a flat one on the GPU."""
    try:
        import cupy
        import cupyx
    except ImportError:
        raise SystemExit("the part 'arrays' needs CuPy") from None
    device = options.resolve_device("cuda").name
    yield from measure_layouts(cupy)
    yield from measure_five_billion(cupy)
    cupy.get_default_memory_pool().free_all_blocks()
    matrix, pinned = host_matrix(HOST_ROWS), cupyx.empty_pinned((HOST_ROWS, HOST_ROWS), "float32")
    pinned[...] = matrix
    what = "1 GiB float32 on the host, summed on the GPU"
    yield from measure_transposed("arrays", what, matrix, device, PAGEABLE_TARGET)
    yield from measure_transposed("arrays", f"{what}, pinned", pinned, device, PINNED_TARGET)
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
    yield figure("arrays", "4 GiB float32, flat", terabytes(flat, flat.seconds), "TB/s")
    for name, (view, target) in layouts.items():
        timed = gred.kernel_time(view)
        expected = float(view.sum(dtype=cupy.float64))
        if abs(float(timed.result) - expected) > 1e-5 * expected:
            raise SystemExit(f"{name}: {timed.result}, where CuPy has {expected}")
        what = f"4 GiB float32, {name}: useful bytes, rate over flat"
        yield figure("arrays", what, rates_beside(flat, timed), "x", at_least=target)


def measure_five_billion(cupy: Any) -> Iterator[Figure]:
    """Sum 5 * 10^9 int8."""
    pattern = np.random.default_rng(0).integers(-100, 100, PATTERN_SIZE, np.int8)
    repeats = FIVE_BILLION // PATTERN_SIZE
    array = cupy.tile(cupy.asarray(pattern), repeats)
    for method in ("auto", "unroll8"):
        timed = gred.kernel_time(array, method=method)
        if timed.result != int(pattern.sum(dtype=np.int64)) * repeats:
            raise SystemExit(f"{method}: {timed.result} is not the sum of 5 * 10^9 int8")
        what = f"{method}, 5 * 10^9 int8"
        yield figure("arrays", what, terabytes(timed, timed.seconds), "TB/s")


def measure_overhead() -> Iterator[Figure]:
    """Measure what parsing an array costs, for each library that is here."""
    rows, _ = interface_overhead.measure_all()
    for row in rows:
        what = f"parsing an array: {row.name}, over an empty function"
        microseconds = [1e6 * second for second in row.seconds]
        yield figure("arrays", what, microseconds, "us", at_most=row.goal)


def host_matrix(rows: int) -> Any:
    """Draw a random matrix on the host."""
    return np.random.default_rng(0).random((rows, rows), np.float32)


def measure_transposed(
    part: str, what: str, matrix: Any, device: str, target: float | None = None
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
    yield figure(part, f"{what}, flat", rates, "GB/s", at_least=target)
    yield figure(
        part, f"{what}, transposed: rate over flat", ratios, "x", at_least=TRANSPOSED_TARGET
    )


def measure_transposed_on_host() -> Iterator[Figure]:
    """Measure a transposed array beside a flat one, held to two cores."""
    with two_cores():
        what = "256 MiB float32 on the host, 2 cores"
        matrix = host_matrix(HOST_ROWS // 2)
        yield from measure_transposed("host-transposed", what, matrix, "host")


def measure_simulated() -> Iterator[Figure]:
    """Measure the wall time of a whole call on the simulated device, held to two cores."""
    with two_cores():
        worker = [sys.executable, __file__, "--worker"]
        answer = subprocess.run(worker, check=True, capture_output=True, text=True)
    for what, seconds in json.loads(answer.stdout).items():
        yield figure("simulated", what, seconds, "s", at_most=SIMULATED_TARGETS[what])


def simulated_calls(folder: Path) -> tuple[Callable[[], Any], ...]:
    """List what is timed, in the order of SIMULATED_TARGETS."""
    array = random_array(1 << 20, "float32")
    some = array[: 1 << 16]
    rungs = [m.name for m in gred.methods() if m.number is not None and m.number <= COUNTED]
    on = {"block_size": 256, "device": "simulated"}
    picture = str(folder / "neighbored.svg")
    show = [sys.executable, "-m", "gred", "show", "neighbored", "--out", picture]
    return (
        lambda: gred.sum(array, method="shared_modulo", **on),
        lambda: gred.sum(array, method="shuffle", **on),
        lambda: gred.counters(array, method="shared_modulo", block_size=256),
        lambda: [gred.counters(some, method=rung, block_size=256) for rung in rungs],
        lambda: subprocess.run(show, check=True, capture_output=True),
    )


def work_simulated() -> None:
    """Do measure_simulated's work: the seconds go to standard output."""
    seconds: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        calls = simulated_calls(Path(folder))
        for what, call in zip(SIMULATED_TARGETS, calls, strict=True):
            call()
            for _ in range(9):
                start = time.perf_counter()
                call()
                seconds.setdefault(what, []).append(time.perf_counter() - start)
    print(json.dumps(seconds))


def measure_import() -> Iterator[Figure]:
    """Measure `import gred` over `import numpy`: fresh processes, turn about."""
    taken: dict[str, list[float]] = {"numpy": [], "gred": []}
    for run in range(IMPORT_RUNS + 1):
        for module in ("numpy", "gred") if run % 2 else ("gred", "numpy"):
            code = f"import time; t = time.perf_counter(); import {module}; "
            code += "print(time.perf_counter() - t)"
            command = [sys.executable, "-c", code]
            answer = subprocess.run(command, check=True, capture_output=True, text=True)
            if run:
                taken[module].append(float(answer.stdout))
    base = float(np.median(taken["numpy"]))
    over = [seconds - base for seconds in taken["gred"]]
    yield figure("import", "import numpy", taken["numpy"], "s")
    yield figure("import", "import gred, over import numpy", over, "s", at_most=IMPORT_TARGET)


def measure_build(architectures: str, target: float) -> Iterator[Figure]:
    """Build a wheel from a clean copy on two cores.

    Without build isolation, so that no download is timed: setuptools and NumPy have to be there.
    """
    shown = architectures or "every major one"
    what = f"build, architectures: {shown}, 2 cores"
    yield figure("build", what, [build_seconds(architectures)], "s", at_most=target)


def build_seconds(architectures: str) -> float:
    """Build once; with none named, setup.py chooses, which needs a machine without a GPU."""
    options_of_pip = ("--quiet", "--no-deps", "--no-cache-dir", "--no-build-isolation")
    left_behind = shutil.ignore_patterns(".*", "build", "dist", "*.so", "*.egg-info", "__pycache__")
    environment = {**os.environ, "GRED_CUDA_ARCHS": architectures}
    with tempfile.TemporaryDirectory() as folder, two_cores():
        source = shutil.copytree(ROOT, Path(folder, "source"), ignore=left_behind)
        command = [sys.executable, "-m", "pip", "wheel", *options_of_pip, "-w", folder, source]
        start = time.perf_counter()
        subprocess.run(command, check=True, env=environment)
        return time.perf_counter() - start


def measure_tests() -> Iterator[Figure]:
    """Run all tests on two cores."""
    with two_cores():
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=ROOT, check=True)
        seconds = time.perf_counter() - start
    yield figure("tests", "pytest, 2 cores", [seconds], "s", at_most=TESTS_TARGET)


GROUPS = {
    "cpu": ("simulated", "import"),
    "gpu": ("gpu", "arrays", "reductions", "calls", "types", "axes", "exact"),
    "host": (
        *dict.fromkeys(f"host-{name.split('/')[0]}" for name in host_figures.WORK),
        "host-transposed",
    ),
}


def measure_piece(part: str, measure: Callable[[], Iterator[Figure]]) -> Iterator[Figure]:
    """Measure a piece, and name it in its rows."""
    for row in measure():
        yield {**row, "part": part}


def pieces(part: str, measured: Pieces) -> Pieces:
    """Name the pieces of a part."""
    named = ((f"{part}/{piece}", measure) for piece, measure in measured.items())
    return {name: partial(measure_piece, name, measure) for name, measure in named}


PARTS: Pieces = {
    "gpu": measure_gpu,
    "arrays": measure_arrays,
    "reductions": reduction_figures.measure_reductions,
    "calls": call_figures.measure_calls,
    "types": type_figures.measure_types,
    **pieces("axes", axes_figures.PIECES),
    **pieces("exact", exact_figures.PIECES),
    "gpus": reduction_figures.measure_gpus,
    "simulated": measure_simulated,
    "import": measure_import,
    **{f"host-{name}": partial(host_figures.measure, name) for name in host_figures.WORK},
    "host-transposed": measure_transposed_on_host,
    **pieces("build", {name: partial(measure_build, *built) for name, built in BUILDS.items()}),
    "tests": measure_tests,
}


@contextmanager
def two_cores() -> Iterator[None]:
    """Keep the processes that are started inside to two cores of the machine."""
    if not hasattr(os, "sched_setaffinity"):
        raise SystemExit("this system cannot keep a process to two cores")
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(allowed)[:2])
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def has_gpu() -> bool:
    """Tell whether there is a GPU here."""
    return any(device.name.startswith("cuda") for device in gred.devices())


def whole(part: str) -> str:
    """Name the part that a piece belongs to."""
    return part.partition("/")[0]


NAMES = tuple(dict.fromkeys((*GROUPS, *map(whole, PARTS))))


def parse_parts(text: str) -> list[str]:
    """List the parts named, and the pieces of those that are divided.

    `cpu` is short for those that need no GPU and take seconds, `gpu` stands for all that need one,
    `host` for all of calls on the host.
    """
    parts: list[str] = []
    for name in text.split(","):
        for member in GROUPS.get(name, (name,)):
            found = [part for part in PARTS if f"{part}/".startswith(f"{member}/")]
            if not found:
                raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(NAMES)}")
            parts += [part for part in found if part not in parts]
    return parts


def kept_rungs(machine: record.Record) -> dict[str, float]:
    """Read how fast the rungs are in the results that are kept of the same machine."""
    path = RESULTS / record.slug(machine) / "figures.json"
    known = record.read_json(path)["rows"] if path.exists() else []
    return {row["what"]: row["value"] for row in known if row["part"] == "gpu"}


def slower_rungs(before: dict[str, float], rows: Sequence[Figure]) -> Iterator[str]:
    """Say which rungs are slower than before."""
    for row in rows:
        was = before.get(row["what"], 0) if row["part"] == "gpu" else 0
        if row["value"] < NO_SLOWER_THAN * was:
            yield f"{row['what']}: {row['value']:.4g} {row['unit']}, and was {was:.4g}"


def write(folder: Path, machine: record.Record, part: str, rows: list[Figure]) -> Path:
    """Put a part measured now into the machine's file, beside those measured before."""
    path = folder / record.slug(machine) / "figures.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    known: record.Record = {"machines": {}, "rows": []}
    if path.exists():
        known = record.read_json(path)
    kept = [row for row in known["rows"] if row["part"] != part]
    order = list(PARTS)
    merged = sorted(kept + rows, key=lambda row: order.index(row["part"]))
    machines = {**known["machines"], whole(part): machine}
    machines = {name: machines[name] for name in NAMES if name in machines}
    record.write_json(path, {"kind": "figures", "machines": machines, "rows": merged})
    return path


def measured(part: str) -> Iterator[Figure]:
    """Measure a part, and print every row as it comes, and how long it all took."""
    start = time.perf_counter()
    for row in PARTS[part]():
        verdict = {None: "", True: "  kept", False: "  BROKEN"}[row["kept"]]
        print(f"{shown(row)}{verdict}", flush=True)
        yield row
    print(f"{part}: {time.perf_counter() - start:.0f} s", flush=True)


def shown(row: Figure) -> str:
    """Write a row: what was measured, and what is promised."""
    promise = row["at_least"] or row["at_most"]
    beside = f"  promised {promise:g}" if promise else ""
    return f"{row['what']:<62} {row['value']:>9.4g} {row['unit']}{beside}"


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--part", type=parse_parts, help=f"from: {', '.join(NAMES)}")
    parser.add_argument("--out", type=Path, default=RESULTS, help="results folder")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work_simulated()
        return 0
    parts = given.part or parse_parts("gpu,cpu" if has_gpu() else "cpu")
    machine = record.describe_machine(options.resolve_device(None))
    before = kept_rungs(machine)
    rows: list[Figure] = []
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever ran out of time sends it
    for part in parts:
        mine: list[Figure] = []
        try:
            mine.extend(measured(part))
        finally:  # what was measured before an error is worth keeping
            written = write(given.out, machine, part, mine)
        rows += mine
    print(f"wrote {written}")
    slower = list(slower_rungs(before, rows))
    for line in slower:
        print(f"SLOWER  {line}")
    broken = [row for row in rows if row["kept"] is False]
    print(f"{len(broken)} of {sum(row['kept'] is not None for row in rows)} promises broken")
    for row in broken:
        print(f"BROKEN  {shown(row)}")
    return 1 if slower or broken else 0


if __name__ == "__main__":
    sys.exit(main())
