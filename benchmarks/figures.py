"""Measures what the project promises in figures, and says which promises are kept.

    python benchmarks/figures.py [--part gpu,simulated,import,build,tests] [--out DIR]

Results go to DIR/<machine>/figures.json (benchmarks/results unless said otherwise), where parts
measured earlier on the same machine stay. Exit status 1 if a promise is broken.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import gred
from gred.cli import options, record
from gred.cli.answer import numpy_answer
from gred.cli.data import random_array
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
LARGE_METHODS = ("shuffle_vector", "last_block")
LARGE_TARGET = 4.2
SIMULATED_TARGETS = {"shared_modulo": 0.5, "shuffle": 0.1}
IMPORT_TARGET = 0.030
IMPORT_RUNS = 31
BUILD_TARGET = 180.0
TESTS_TARGET = 300.0

Figure = dict[str, Any]


def figure(
    part: str,
    what: str,
    samples: Sequence[float],
    unit: str,
    *,
    published: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Figure:
    """Make a row: the samples' median and spread, and whether a promise, if it is one, is kept."""
    low, value, high = (float(f"{p:.5g}") for p in np.percentile(samples, (16, 50, 84)))
    kept = None
    if at_least is not None:
        kept = value >= at_least
    if at_most is not None:
        kept = value <= at_most
    return {
        "part": part,
        "what": what,
        "value": value,
        "low": low,
        "high": high,
        "samples": len(samples),
        "unit": unit,
        "published": published,
        "at_least": at_least,
        "at_most": at_most,
        "kept": kept,
    }


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
    for method in (m for m in gred.methods() if "cuda" in m.devices):
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
    for name in LARGE_METHODS:
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


def measure_simulated() -> Iterator[Figure]:
    """Measure the wall time of a whole call on the simulated device, held to two cores."""
    with two_cores():
        worker = [sys.executable, __file__, "--worker"]
        answer = subprocess.run(worker, check=True, capture_output=True, text=True)
    for method, seconds in json.loads(answer.stdout).items():
        what = f"gred.sum, {method} simulated, 2^20 float32, block 256, 2 cores"
        yield figure("simulated", what, seconds, "s", at_most=SIMULATED_TARGETS[method])


def work_simulated() -> None:
    """Do measure_simulated's work: the seconds go to standard output."""
    array = random_array(1 << 20, "float32")
    seconds: dict[str, list[float]] = {}
    for method in SIMULATED_TARGETS:
        gred.sum(array, method=method, block_size=256, device="simulated")
        for _ in range(9):
            start = time.perf_counter()
            gred.sum(array, method=method, block_size=256, device="simulated")
            seconds.setdefault(method, []).append(time.perf_counter() - start)
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


def measure_build() -> Iterator[Figure]:
    """Build a wheel from a clean copy on two cores, for what GRED_CUDA_ARCHS names.

    Without build isolation, so that no download is timed: setuptools and NumPy have to be there.
    """
    options_of_pip = ("--quiet", "--no-deps", "--no-cache-dir", "--no-build-isolation")
    left_behind = shutil.ignore_patterns(".*", "build", "dist", "*.so", "*.egg-info", "__pycache__")
    with tempfile.TemporaryDirectory() as folder, two_cores():
        source = shutil.copytree(ROOT, Path(folder, "source"), ignore=left_behind)
        command = [sys.executable, "-m", "pip", "wheel", *options_of_pip, "-w", folder, source]
        start = time.perf_counter()
        subprocess.run(command, check=True)
        seconds = time.perf_counter() - start
    architectures = os.environ.get("GRED_CUDA_ARCHS", "chosen by setup.py")
    what = f"build, architectures {architectures}, 2 cores"
    yield figure("build", what, [seconds], "s", at_most=BUILD_TARGET)


def measure_tests() -> Iterator[Figure]:
    """Run all tests on two cores."""
    with two_cores():
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=ROOT, check=True)
        seconds = time.perf_counter() - start
    yield figure("tests", "pytest, 2 cores", [seconds], "s", at_most=TESTS_TARGET)


PARTS: dict[str, Callable[[], Iterator[Figure]]] = {
    "gpu": measure_gpu,
    "simulated": measure_simulated,
    "import": measure_import,
    "build": measure_build,
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


def parse_parts(text: str) -> list[str]:
    """List the parts named; `cpu` is short for those that need no GPU and take seconds."""
    parts = []
    for name in text.split(","):
        parts += ["simulated", "import"] if name == "cpu" else [name]
    for name in parts:
        if name not in PARTS:
            raise argparse.ArgumentTypeError(f"{name!r} is not one of cpu, {', '.join(PARTS)}")
    return parts


def write(folder: Path, machine: record.Record, parts: Sequence[str], rows: list[Figure]) -> Path:
    """Put the parts measured now into the machine's file, beside those measured before."""
    path = folder / record.slug(machine) / "figures.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    known: record.Record = {"machines": {}, "rows": []}
    if path.exists():
        known = record.read_json(path)
    kept = [row for row in known["rows"] if row["part"] not in parts]
    order = list(PARTS)
    merged = sorted(kept + rows, key=lambda row: order.index(row["part"]))
    machines = {**known["machines"], **dict.fromkeys(parts, machine)}
    machines = {part: machines[part] for part in order if part in machines}
    record.write_json(path, {"kind": "figures", "machines": machines, "rows": merged})
    return path


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--part", type=parse_parts, help=f"cpu, or from: {', '.join(PARTS)}")
    parser.add_argument("--out", type=Path, default=RESULTS, help="results folder")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work_simulated()
        return 0
    parts = given.part or [*(["gpu"] if has_gpu() else []), "simulated", "import"]
    rows: list[Figure] = []
    for part in parts:
        for row in PARTS[part]():
            rows.append(row)
            promise = row["at_least"] or row["at_most"]
            verdict = {None: "", True: "kept", False: "BROKEN"}[row["kept"]]
            beside = f"  promised {promise:g}  {verdict}" if promise else ""
            print(f"{row['what']:<62} {row['value']:>9.4g} {row['unit']}{beside}", flush=True)
    machine = record.describe_machine(options.resolve_device(None))
    print(f"wrote {write(given.out, machine, parts, rows)}")
    return 1 if any(row["kept"] is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
