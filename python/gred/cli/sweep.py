"""Measures methods over array sizes and block sizes, and compares them with the read limit.

The read limit is measured in the same run at every size; every answer is checked against NumPy.
Without a GPU it shows times predicted for an H200, and nothing is timed or written.

A range consists of powers of two, both ends included: 2**10:2**28. Times are medians over the
samples, with the spread from the 16th to the 84th percentile; JSON has every sample. Without an
output option, timed results go to the folder gred-sweep. Drawing needs matplotlib.
"""

import argparse
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import numpy as np

import gred
from gred.cli import counters, ladder, options, output, record, roofline, units
from gred.cli.console import RIGHT, Cell, Column, Console, Table
from gred.cli.measure import Plan, Sampling, measure_all
from gred.cli.options import option
from gred.cli.record import Record
from gred.prediction import H200

_QUICK_SECONDS = 45.0
# (GPU, --quick) -> sizes, block sizes and samples.
_SCALES = {
    (True, False): ("2**10:2**28", "32:1024", 20),
    (True, True): ("2**12,2**16,2**20,2**24,2**28", "128,256,512", 7),
    (False, False): ("2**10:2**20", "32:1024", 7),
    (False, True): ("2**10,2**12,2**14,2**16,2**18", "64,256,1024", 3),
}

# Fields of a row that only the ladder's file has.
_LADDERS = ("result", "expected", "first_pass_samples_ns", "bound", "limit")

FIGURES = {name: f"gred.cli.plots.{name}_figure" for name in ("bandwidth", "block_size", "time")}
OPTIONS = (
    option(
        "--sizes",
        "array sizes, 2**10:2**28 or 1000,2**20 (default: up to 2**28, or to 2**20 when "
        "timing the simulated device)",
        options.parse_sizes,
        "A:B",
    ),
    option(
        "--block-sizes",
        "threads per block, 128,256 or 32:1024 (default: 32:1024, or 64,256,1024 when "
        "nothing is timed)",
        options.parse_block_sizes,
        "A:B",
    ),
    *ladder.COMMON,
    option("--samples", "timed runs of each, after warm-up (default: 20 on a GPU, else 7)"),
    option("--quick", "few sizes and block sizes, done within a minute", action="store_true"),
    option("--time"),
    *options.PLACES,
)


def run(given: argparse.Namespace, console: Console) -> int:
    device = options.resolve_device(given.device)
    if not ladder.is_timed(given, device):
        return _forecast(given, device, console)
    fast = device.name.startswith("cuda")
    sizes_text, blocks_text, samples = _SCALES[fast, given.quick]
    sizes = given.sizes or options.parse_sizes(sizes_text)
    options.check_memory(device, max(sizes), given.dtype)
    methods = ladder.choose_methods(given.methods, device, host_too=False)
    blocks = given.block_sizes or options.parse_block_sizes(blocks_text)
    cases = [
        (method, block)
        for method in methods
        for block in (blocks if method.block_sizes else (None,))
        if block is None or block in method.block_sizes
    ]
    sampling = Sampling(given.samples or samples, 2 if fast else 1)
    seconds = _QUICK_SECONDS if given.quick else None
    plan = Plan(device, cases, sizes, given.dtype, given.op, given.seed, sampling, seconds)
    files = output.folder_outputs(given, console, "sweep", FIGURES)
    machine = output.introduce(console, device, "a sweep over array sizes and block sizes")
    _show_plan(console, plan, blocks)
    rows, left_out = measure_all(plan, console)
    how = {"sizes": sizes, "block_sizes": blocks}
    how |= {name: getattr(plan, name) for name in ("dtype", "op", "seed")}
    how |= {"samples": sampling.samples, "warmup": sampling.warmup, "left_out": left_out}
    kept = [{name: one for name, one in row.items() if name not in _LADDERS} for row in rows]
    files.write(record.in_columns("sweep", machine, how, kept))
    _show_best(console, device, rows)
    if left_out:
        console.text(f"skipped to end in time: {left_out}", "yellow")
    wrong = [row for row in rows if not row["right"]]
    for row in wrong:
        block = f", block {row['block_size']}" if row["block_size"] else ""
        told = f"{row['result']} instead of {row['expected']}"
        console.line(f"WRONG: {row['method']}, {row['size']} elements{block}: {told}", "bold red")
    return files.end(1 if wrong else 0)


def _show_plan(console: Console, plan: Plan, block_sizes: Sequence[int]) -> None:
    sizes = [units.size_text(size) for size in plan.sizes]
    span = ", ".join(sizes) if len(sizes) < 8 else f"{sizes[0]} to {sizes[-1]}, {len(sizes)} sizes"
    rows = len(plan.cases) * len(plan.sizes)
    blocks = ", ".join(map(str, block_sizes))
    quick = f", none started after {plan.seconds:.0f} s" if plan.seconds else ""
    console.pairs(
        ("arrays", f"{span}; random {plan.dtype}, seed {plan.seed}"),
        ("op", f"{plan.op} on {plan.device.name}, block sizes {blocks}"),
        ("rows", f"{rows} of {plan.sampling.samples} samples after warm-up{quick}"),
        *(ladder.SIMULATED_TIMES if plan.device.name == "simulated" else ()),
    )


def _show_best(console: Console, device: Any, rows: Sequence[Record]) -> None:
    """Print each method's best block size at the largest array it was measured on."""
    names = dict.fromkeys(row["method"] for row in rows)
    mine = ([row for row in rows if row["method"] == name] for name in names)
    best = [min(some, key=lambda row: (-row["size"], row["median_ns"])) for some in mine]

    def answers(best: Record) -> Cell:
        right = [row["right"] for row in rows if row["method"] == best["method"]]
        wrong = right.count(False)
        return Cell(f"{wrong} of {len(right)} WRONG", "bold red") if wrong else RIGHT

    columns = [
        Column("#", itemgetter("number"), style="dim", rank=7),
        Column("method", itemgetter("method"), right=False, style="bold"),
        Column("elements", lambda r: units.size_text(r["size"]), rank=5),
        Column("best block", itemgetter("block_size"), rank=3),
        *ladder.TIMES,
        Column("read limit", lambda r: units.gigabytes_text(r["limit"]), rank=4),
        Column("share", lambda r: units.percent_text(r["gb_per_s"] * 1e9 / r["limit"]), rank=2),
        Column("answers", answers, right=False),
    ]
    console.table(Table.of(ladder.columns_for(columns, device), best))


# ---- untimed sweeps ----


def _forecast(given: argparse.Namespace, device: Any, console: Console) -> int:
    """Print times predicted for an H200, if there is no GPU to time."""
    methods = counters.countable(given.methods, "predicted")
    sizes = given.sizes or options.parse_sizes(_SCALES[True, True][0])
    blocks = given.block_sizes or options.parse_block_sizes(_SCALES[False, True][1])
    output.introduce(console, device, "a sweep over array sizes and block sizes, predicted")

    def forecast(method: Any) -> list[str]:
        cells, own = [str(method.number), method.name], {*blocks}.intersection(method.block_sizes)
        if not own:
            return cells + ["-"] * (len(sizes) + 3)
        how: dict[str, Any] = {"method": method.name, "dtype": given.dtype}
        for size in sizes:
            told = (gred.roofline(size, block_size=block, **how) for block in sorted(own))
            best, *others = sorted(told, key=lambda one: one.seconds)
            pace = size * np.dtype(given.dtype).itemsize / best.seconds
            cells.append(units.gigabytes_text(pace))
        worst = "-"
        if others:
            slower = units.speedup_text(others[-1].seconds / best.seconds)
            worst = f"{others[-1].block_size}, {slower}"
        return [*cells, str(best.block_size), worst, best.why()]

    rows = console.each(methods, forecast)
    console.pairs(
        ("arrays", f"{given.dtype}, summed in {given.dtype}"),
        ("blocks", ", ".join(map(str, blocks))),
        ("GPU", f"{roofline.gpu_text(H200)}; predicted, not measured"),
        ("shown", "GB/s by array size, each at its best block size"),
    )
    texts, order = [units.size_text(size) for size in sizes], len(sizes)
    columns = [
        Column("#", style="dim", rank=order + 2),
        Column("method", right=False, style="bold"),
        *(Column(text, rank=order - place) for place, text in enumerate(texts[:-1], 1)),
        Column(texts[-1], style="bold"),
        Column("best", about=f"block size at {texts[-1]} elements"),
        Column("worst", rank=order + 1, about="slowest block size, and its slowdown"),
        Column("limited by", right=False, about="at the best block size"),
    ]
    console.table(Table(columns, rows))
    console.text("Times of the simulated device itself: python -m gred sweep --time", "dim")
    return 0
