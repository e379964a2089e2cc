"""`python -m gred sweep`: methods over array sizes and block sizes, each row beside the read limit.

One array and one NumPy answer a size; results as JSON, CSV and plots.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gred.cli import files, forecast, ladder, opening, options, places, record, units
from gred.cli.answer import numpy_answer
from gred.cli.clock import Clock
from gred.cli.console import Cell, Column, Console, Step, Table
from gred.cli.data import random_array
from gred.cli.measure import Row, Sampling, device_for, measure, read_limit

DESCRIPTION = """\
Measures methods over array sizes and block sizes. The device's own read limit is measured in the
same run at every size; every answer is checked against NumPy. Without a GPU it shows what an H200
is predicted to take, and nothing is timed or written."""

EPILOG = """\
A range is of powers of two, both ends included: 2**10:2**28. Times are medians over the samples
kept, their spread is from the 16th to the 84th percentile; JSON has every sample. With no place to
write to, all that is timed goes to the folder gred-sweep. Drawing needs matplotlib."""

_QUICK_SECONDS = 45.0


class Scale(NamedTuple):
    """What a device gets through in reasonable time; each entry whole, then quick."""

    sizes: tuple[str, str]
    block_sizes: tuple[str, str]
    samples: tuple[int, int]


_FAST = Scale(("2**10:2**28", "2**12,2**16,2**20,2**24,2**28"), ("32:1024", "128,256,512"), (20, 7))
_SLOW = Scale(("2**10:2**20", "2**10,2**12,2**14,2**16,2**18"), ("32:1024", "64,256,1024"), (7, 3))


class Plan(NamedTuple):
    """What to measure. `seconds` is the time after which a quick sweep starts nothing new."""

    device: Any
    methods: tuple[Any, ...]
    sizes: tuple[int, ...]
    block_sizes: tuple[int, ...]
    dtype: str
    op: str
    seed: int
    sampling: Sampling
    seconds: float | None

    def blocks_of(self, method: Any) -> tuple[int | None, ...]:
        """List the plan's block sizes that `method` accepts; one None where they mean nothing."""
        if not method.block_sizes:
            return (None,)
        return tuple(block for block in self.block_sizes if block in method.block_sizes)

    def rows_a_size(self) -> int:
        """Count the measurements that one array size takes."""
        return sum(len(self.blocks_of(method)) for method in self.methods)


def parser(prog: str) -> argparse.ArgumentParser:
    """Make the options of `python -m gred sweep`."""
    parser = options.parser(prog, DESCRIPTION, EPILOG)
    parser.add_argument(
        "--sizes",
        metavar="A:B",
        type=options.argument(options.parse_sizes),
        help="array sizes, 2**10:2**28 or 1000,2**20 (default: to 2**28, or 2**20 where the "
        "simulated device is timed)",
    )
    parser.add_argument(
        "--block-sizes",
        metavar="A:B",
        type=options.argument(options.parse_block_sizes),
        help="threads in a block, 128,256 or 32:1024 (default: 32:1024, or 64,256,1024 where "
        "nothing is timed)",
    )
    ladder.add_common(parser)
    parser.add_argument(
        "--samples",
        metavar="N",
        type=options.argument(options.parse_samples),
        help="runs of each kept, after warm-up (default: 20 on a GPU, else 7)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="few sizes and blocks, and an end within a minute"
    )
    ladder.add_time(parser)
    places.add_options(parser)
    return parser


def run(given: argparse.Namespace, console: Console) -> int:
    """Measure, print, write; the exit status."""
    device = options.resolve_device(given.device)
    if not ladder.is_timed(given, device, any((given.out, given.json, given.csv, given.plots))):
        return _forecast(given, device, console)
    plan = _plan(given, device)
    where = places.choose(given, "sweep", _figures)
    if files.STANDARD_OUTPUT in where:
        console.leave_stdout()
    machine = record.describe_machine(plan.device)
    with console.files_first(True):
        opening.introduce(console, machine, "a sweep over array sizes and block sizes")
        _print_plan(console, plan)
        rows, left_out = _measure_all(plan, console)
        kept = record.sweep_record(machine, _run_record(plan, left_out), rows)
        written, failure = files.write_all(where.jobs(kept, lambda: record.csv_text(rows), console))
    _print_best(console, plan, rows)
    if left_out:
        console.text(f"left out to end in time: {left_out}", "yellow")
    for row in (row for row in rows if not row.right):
        block = f", block {row.block_size}" if row.block_size else ""
        console.line(
            f"WRONG: {row.method}, {row.size} elements{block}: {row.result}, "
            f"where NumPy has {row.expected}",
            "bold red",
        )
    opening.tell_written(console, written, failure)
    return 0 if all(row.right for row in rows) else 1


def _forecast(given: argparse.Namespace, device: Any, console: Console) -> int:
    """Show what an H200 is predicted to take, where the times of this machine mean nothing."""
    plan = forecast.plan_of(
        given.methods,
        given.sizes or options.parse_sizes(_FAST.sizes[1]),
        given.block_sizes or options.parse_block_sizes(_SLOW.block_sizes[1]),
        given.dtype,
    )
    machine = record.describe_machine(device)
    opening.introduce(console, machine, "a sweep over array sizes and block sizes, predicted")
    forecast.run(plan, console)
    console.text("What the simulated device itself takes: python -m gred sweep --time", "dim")
    return 0


def _figures() -> Any:
    from gred.cli import plots

    return plots.SWEEP_FIGURES


def _plan(given: argparse.Namespace, device: Any) -> Plan:
    fast = device.name.startswith("cuda")
    scale, quick = (_FAST if fast else _SLOW), int(given.quick)
    sizes = given.sizes or options.parse_sizes(scale.sizes[quick])
    options.check_memory(device, max(sizes), given.dtype)
    return Plan(
        device=device,
        methods=ladder.choose_methods(given.methods, device, host_too=False),
        sizes=sizes,
        block_sizes=given.block_sizes or options.parse_block_sizes(scale.block_sizes[quick]),
        dtype=given.dtype,
        op=given.op,
        seed=given.seed,
        sampling=Sampling(given.samples or scale.samples[quick], 2 if fast else 1),
        seconds=_QUICK_SECONDS if given.quick else None,
    )


def _measure_all(plan: Plan, console: Console) -> tuple[list[Row], str]:
    """Measure all rows that fit into the plan's time; what did not fit is said in words."""
    clock = Clock(plan.seconds)
    rows: list[Row] = []
    skipped: dict[int, int] = {}
    with console.progress(len(plan.sizes) * (plan.rows_a_size() + 1)) as step:
        for size in plan.sizes:
            measured = list(_measure_size(plan, size, clock, step))
            skipped[size] = plan.rows_a_size() - len(measured)
            rows += measured
    return rows, _in_words(skipped, plan)


def _measure_size(plan: Plan, size: int, clock: Clock, step: Step) -> Iterator[Row]:
    """Measure the rows of one array size, in climbing order."""
    name = units.size_text(size)
    step(f"{name} random elements")
    if not clock.affords("array", size):
        for _ in range(plan.rows_a_size()):
            step(f"{name} left out")
        return
    with clock.timing("array", size):
        array = random_array(size, plan.dtype, plan.op, plan.seed)
        answer = numpy_answer(array, plan.op)
        limits = _limits(plan, array.nbytes)
    for method, block in _cases(plan):
        what = f"{method.name} {block or ''}".rstrip()
        step(f"{name} {what}")
        if not clock.affords(what, size):
            continue
        device = device_for(method, plan.device.name)
        with clock.timing(what, size):
            row = measure(
                method,
                array,
                answer,
                device=device,
                block_size=block,
                sampling=plan.sampling,
                limit=limits[device],
            )
        yield row


def _in_words(skipped: dict[int, int], plan: Plan) -> str:
    whole = plan.rows_a_size()
    parts = [
        units.size_text(size) + ("" if count == whole else f" ({count} of {whole} rows)")
        for size, count in skipped.items()
        if count
    ]
    return ", ".join(parts)


def _cases(plan: Plan) -> Iterator[tuple[Any, int | None]]:
    for method in plan.methods:
        for block in plan.blocks_of(method):
            yield method, block


def _limits(plan: Plan, nbytes: int) -> dict[str, float]:
    """Measure the read limit of every device that a method of the plan runs on."""
    names = {device_for(method, plan.device.name) for method in plan.methods}
    return {name: read_limit(name, nbytes, plan.sampling.samples) for name in sorted(names)}


def _print_plan(console: Console, plan: Plan) -> None:
    sizes = [units.size_text(size) for size in plan.sizes]
    span = ", ".join(sizes) if len(sizes) < 8 else f"{sizes[0]} to {sizes[-1]}, {len(sizes)} sizes"
    rows = plan.rows_a_size() * len(plan.sizes)
    blocks = ", ".join(map(str, plan.block_sizes))
    quick = f", none begun after {plan.seconds:.0f} s" if plan.seconds else ""
    console.pairs(
        [
            ("arrays", f"{span}; random {plan.dtype}, seed {plan.seed}"),
            ("op", f"{plan.op} on {plan.device.name}, block sizes {blocks}"),
            ("rows", f"{rows} of {plan.sampling.samples} samples after warm-up{quick}"),
            *(ladder.SIMULATED_TIMES if plan.device.name == "simulated" else ()),
        ]
    )


def _print_best(console: Console, plan: Plan, rows: Sequence[Row]) -> None:
    """Show each method's best block size at the largest array that it was measured on."""
    columns = [
        Column("#", style="dim", rank=7),
        Column("method", right=False, style="bold"),
        Column("elements", rank=5),
        Column("best block", rank=3),
        Column("time"),
        Column("±", style="dim", rank=6),
        Column("GB/s", style="bold", rank=1),
        Column("read limit", rank=4),
        Column("share", rank=2),
        Column("answers", right=False),
    ]
    mine = ([row for row in rows if row.method == method.name] for method in plan.methods)
    table = Table(columns, [_best(some) for some in mine if some])
    console.table(table.without(ladder.OF_A_GPU if plan.device.name == "simulated" else ()))


def _best(rows: Sequence[Row]) -> list[str | Cell]:
    size = max(row.size for row in rows)
    best = min((row for row in rows if row.size == size), key=lambda row: row.seconds)
    wrong = sum(not row.right for row in rows)
    return [
        "-" if best.number is None else str(best.number),
        best.method,
        units.size_text(size),
        str(best.block_size or "-"),
        units.time_text(best.seconds),
        units.percent_text(best.noise),
        units.gigabytes_text(best.bandwidth),
        units.gigabytes_text(best.limit),
        units.percent_text(best.bandwidth / best.limit),
        Cell(f"{wrong} of {len(rows)} WRONG", "bold red") if wrong else Cell("right", "green"),
    ]


def _run_record(plan: Plan, left_out: str) -> record.Record:
    return {
        "sizes": list(plan.sizes),
        "block_sizes": list(plan.block_sizes),
        "dtype": plan.dtype,
        "op": plan.op,
        "seed": plan.seed,
        "samples": plan.sampling.samples,
        "warmup": plan.sampling.warmup,
        "left_out": left_out,
    }
