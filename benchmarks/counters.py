"""Compares the memory accesses of rungs, counted by a profiler on a GPU, with gred.counters.

    python benchmarks/counters.py [--seconds 600] [--method NAME ...] [--ncu PROGRAM] [--out DIR]

Needs Nsight Compute. The cases are all rungs with counters, or those named, in blocks of 32 to 1024
threads, for lengths with tails, int32, float32 and float64; as many as fit into the time, the most
informative first. Results go to DIR/<machine>/counters.json (default: benchmarks/results), which
tests compare with the simulated device; those of other rungs stay there. The exit status is 0 if
all differences are known ones, else 1.
"""

import argparse
import csv
import itertools
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from kept_results import RESULTS, place_of

import gred
from gred.cli import record

LATEST = 22
BLOCKS = (256, 32, 64, 128, 512, 1024)
DTYPES = ("int32", "float64", "float32")
SIZES = (2**16 + 3, 1003)
WHOLE = 2**20

# Nsight Compute's names of the counters.
METRICS = {
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_load_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "shared_store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "shared_store_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
}

# Known differences: arbitration adds wavefronts to shared loads, by a share of them or, if they are
# few, by a number; and blocks waiting at a grid barrier poll any number of times.
NOISE, FEW, POLLS = 0.02, 4, 0.05


class Case(NamedTuple):
    """One call, which sums elements in their own type."""

    method: str
    dtype: str
    size: int
    block_size: int


def rungs() -> list[str]:
    return [m.name for m in gred.methods() if m.number is not None and m.number <= LATEST]


def cases(methods: list[str]) -> Iterator[Case]:
    """Yield the cases, the most informative first."""
    for rung in methods:
        yield Case(rung, "int32", WHOLE, 256)
    for dtype, size, block in itertools.product(DTYPES, SIZES, BLOCKS):
        for rung in methods:
            yield Case(rung, dtype, size, block)


# ---- under the profiler ----


def run_cases(methods: list[str], seconds: float, kept: Path) -> None:
    """Run cases until the time is over, and record each with its number of passes."""
    end = time.monotonic() + seconds
    with kept.open("w", encoding="utf-8") as lines:
        for case in cases(methods):
            if time.monotonic() > end:
                return
            x = np.ones(case.size, case.dtype)
            options: dict[str, Any] = {"method": case.method, "block_size": case.block_size}
            timed = gred.kernel_time(
                x, **options, dtype=x.dtype, device="cuda", samples=1, warmup=0, cold=False
            )
            lines.write(json.dumps([*case, timed.passes]) + "\n")


def profiled(
    ncu: str, methods: list[str], seconds: float
) -> tuple[list[tuple[Case, int]], list[dict[str, str]], str]:
    """Return the cases with their passes, the counts of each pass, and the profiler's name."""
    version = subprocess.run([ncu, "--version"], capture_output=True, text=True, check=True).stdout
    version = re.sub(r".*Version (\S+).*", r"Nsight Compute \1", version, flags=re.DOTALL)
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder, "cases")
        words = [ncu, "--csv", "--page", "raw", "--print-units", "base"]
        words += ["--clock-control", "none", "--cache-control", "none"]  # nothing is timed
        words += ["--metrics", ",".join(METRICS.values())]
        words += ["--kernel-name-base", "function"]
        words += ["--kernel-name", f"regex:^({'|'.join(methods)})$"]
        words += [sys.executable, __file__, "--seconds", str(seconds), "--cases", str(kept)]
        words += ["--method", *methods]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()
        first = next((k for k, line in enumerate(lines) if line.startswith('"ID"')), None)
        if done.returncode or first is None:
            sys.exit(f"{' '.join(words)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        ran = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
        rows = list(csv.DictReader(lines[first:]))[1:]  # the first row has units
    return [(Case(*case), passes) for *case, passes in ran], rows, version


def counted(launches: list[dict[str, str]], ran: list[tuple[Case, int]]) -> list[dict[str, Any]]:
    """Assign launches, which are in order, to the cases' passes."""
    if len(launches) != sum(passes for _, passes in ran):
        sys.exit(f"{len(launches)} launches were counted, {sum(p for _, p in ran)} were made")
    rows, rest = [], iter(launches)
    for case, passes in ran:
        for number in range(1, passes + 1):
            launch = next(rest)
            texts = {name: launch[metric].replace(",", "") for name, metric in METRICS.items()}
            numbers = {name: round(float(text)) for name, text in texts.items()}
            rows.append({**case._asdict(), "pass": number, **numbers})
    return rows


# ---- comparison with the simulated device ----


def vectorised(case: Case) -> int:
    """Count the wavefronts a block saves where nvcc knows the stride from the block size."""
    if (case.method, case.block_size) != ("shared_strided", 256):
        return 0
    warps = case.block_size // 2 // 32
    return warps * np.dtype(case.dtype).itemsize // 2


def stored_twice(case: Case) -> int:
    """Count the stores a block of 32 saves, as nvcc knows that it starts with the last levels."""
    if case.block_size != 32 or case.method not in ("shared_complete", "shared_grid_stride"):
        return 0
    return np.dtype(case.dtype).itemsize // 4


def jostled(case: Case) -> int:
    """Count a block's 8-byte stores, by one lane per warp, that the hardware may count twice."""
    return 32 if (case.dtype, case.block_size) == ("float64", 1024) else 0


def differing(counts: gred.Counts, row: dict[str, Any], case: Case) -> Iterator[str]:
    """Yield the counters with unexplained differences between simulator and profiler."""
    polls = (POLLS * row["global_load_requests"] + counts.blocks) * (case.method == "cooperative")
    spared = vectorised(case) * counts.blocks
    noise = row["shared_load_wavefronts"] - (counts.shared_load_wavefronts - spared)
    stores = -stored_twice(case) * counts.blocks
    jostling = row["shared_store_wavefronts"] - (counts.shared_store_wavefronts + stores)
    for name in METRICS:
        more = row[name] - getattr(counts, name)
        if name.startswith("global_load"):
            fine = 0 <= more <= polls
        elif name.startswith("shared_load"):
            most = max(FEW, NOISE * row["shared_load_wavefronts"])
            fine = 0 <= noise <= most and more + spared == noise
        elif name.startswith("shared_store"):
            most = jostled(case) * counts.blocks
            fine = 0 <= jostling <= most and more - stores * name.endswith("wavefronts") == jostling
        else:
            fine = more == 0
        if not fine:
            yield name


def differences(rows: list[dict[str, Any]], multiprocessors: int) -> Iterator[str]:
    """Compare pass by pass; yield a line for each unexplained difference."""
    for case, group in itertools.groupby(rows, lambda row: Case(*list(row.values())[:4])):
        x = np.ones(case.size, case.dtype)
        options: dict[str, Any] = {"method": case.method, "block_size": case.block_size}
        options |= {"dtype": x.dtype, "multiprocessors": multiprocessors}
        passes = gred.counters(x, **options).passes
        for row in group:
            counts = passes[row["pass"] - 1]
            for name in differing(counts, row, case):
                both = f"{getattr(counts, name):,}, on the GPU {row[name]:,}"
                yield f"{', '.join(map(str, case))}, pass {row['pass']}: {name} {both}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--seconds", type=float, default=600, help="time limit for the cases under ncu"
    )
    parser.add_argument("--method", nargs="+", choices=rungs(), help="default: all with counters")
    parser.add_argument("--ncu", default="ncu", help="Nsight Compute's program")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of results")
    parser.add_argument("--cases", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.cases:
        run_cases(given.method or rungs(), given.seconds, given.cases)
        return 0
    device = next((d for d in gred.devices() if d.name == "cuda:0"), None)
    if device is None:
        sys.exit("there is no GPU here")
    methods = given.method or rungs()
    ran, launches, profiler = profiled(given.ncu, methods, given.seconds)
    rows = counted(launches, ran)
    machine = {**record.describe_machine(device), "profiler": profiler}
    file = place_of(given.out, machine, "counters.json")
    before = record.rows_of(record.read_json(file)) if file.exists() else []
    others = [row for row in before if row["method"] not in methods]
    kept = record.in_columns("counters", machine, {}, [*others, *rows])
    kept["run"] = {"op": "sum", "accumulator": "the elements' own type"}
    record.write_json(file, kept)
    wrong = list(differences(rows, device.units))
    print(*wrong, sep="\n")
    print(f"{len(ran)} cases, {len(rows)} launches, {len(wrong)} figures differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
