"""The job `roofline`: what every rung's time should be on a GPU, beside what it was."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import gred
from gred.cli import counters, files, options, record, units
from gred.cli.console import Column, Console, Table
from gred.cli.ladder import introduce, tell_written
from gred.gpus import Gpu
from gred.prediction import LATEST, Terms, checked_size

DESCRIPTION = """\
Predicts how long every rung of the ladder takes on a GPU, from its counts and a few numbers of the
GPU, and says what binds it: the memory's bandwidth, the start of its blocks, the multiprocessors'
pipelines, waiting, or launching. Without a GPU it does so for an H200."""

EPILOG = """\
With --device every rung is measured, too; --measured takes the times from a file that
`python -m gred --json FILE` has written. Exit status: 0 predicted, 2 bad arguments, 130
interrupted, 141 nobody reads.

What is counted: python -m gred counters --help"""

SIZE = 1 << 28

LEGEND = (
    "all columns: us, over all passes; each is the time if nothing else bound the rung",
    "memory: its bandwidth; blocks: to start them; work: of the multiprocessors' pipelines",
    "waiting: for loads and barriers; launches: of passes, and what one block does alone",
)


class Settings(NamedTuple):
    """What to predict."""

    methods: tuple[Any, ...]
    size: int
    dtype: str
    block_size: int | None
    device: str | None


def parser(prog: str) -> argparse.ArgumentParser:
    """Make the options of `python -m gred roofline`."""
    parser = options.parser(prog, DESCRIPTION, EPILOG)
    options.add_methods(parser, f"all rungs up to {LATEST}")
    options.add_size(parser, "2**28", SIZE)
    options.add_dtype(parser)
    options.add_block_size(parser, "each method's own")
    parser.add_argument("--device", metavar="NAME", help="a GPU that is here: cuda, cuda:1")
    parser.add_argument("--measured", type=Path, metavar="FILE", help="of `python -m gred --json`")
    files.add_place(parser, "--json", "write everything predicted; - is standard output")
    files.add_place(parser, "--plot", "draw it (.svg, .png, .pdf)")
    return parser


def run(given: argparse.Namespace, console: Console) -> int:
    """Predict, print, write; the exit status."""
    files.check_apart({"--json": given.json, "--plot": given.plot})
    options.check_plot("--plot", given.plot)
    if given.measured and given.device:
        raise options.UsageError("--measured and --device both say what was measured; give one")
    settings = _settings(given)
    measured = _measured(given.measured, settings)
    files.check_file("--json", given.json)
    files.check_file("--plot", given.plot)
    if given.json == files.STANDARD_OUTPUT:
        console.leave_stdout()
    machine = record.describe_machine(options.resolve_device(given.device or "simulated"))
    with console.files_first(bool(given.json or given.plot)):
        told = predict(settings, measured, console)
        introduce(console, machine, "what the rungs should take, predicted")
        kept = roofline_record(machine, settings, told)
        written, failure = files.write_all(_jobs(given, kept, console))
    _print(console, settings, told)
    tell_written(console, written, failure)
    return 0


def _settings(given: argparse.Namespace) -> Settings:
    """Check what is to be predicted."""
    methods = counters.countable(given.methods, "predicted", LATEST)
    device = None
    if given.device is not None:
        device = options.resolve_device(given.device)
        if device.compute_capability is None:
            raise options.UsageError(f"--device {given.device}: only a GPU has a roofline")
        options.check_memory(device, given.size, given.dtype)
    name = device.name if device else None
    return Settings(methods, checked_size(given.size), given.dtype, given.block_size, name)


def _measured(path: Path | None, settings: Settings) -> dict[str, float]:
    """Read how long each method took, of the same call, from a file of the ladder."""
    if path is None:
        return {}
    try:
        kept = record.read_json(path)
        run = (kept["kind"], kept["run"]["size"], kept["run"]["dtype"], kept["run"]["op"])
        rows = [row for row in record.rows_of(kept) if row["number"] is not None]
        found = {(row["method"], row["block_size"]): row["median_ns"] * 1e-9 for row in rows}
    except (OSError, ValueError) as error:
        raise options.UsageError(f"--measured {path}: {error}") from None
    except (KeyError, TypeError):
        run, found = None, {}
    if run != ("ladder", settings.size, settings.dtype, "sum"):
        raise options.UsageError(
            f"--measured {path}: not a ladder's sums of {settings.size} {settings.dtype}"
        )
    sizes = {m.name: settings.block_size or m.default_block_size for m in settings.methods}
    taken = {name: found[name, size] for name, size in sizes.items() if (name, size) in found}
    if not taken:
        raise options.UsageError(f"--measured {path}: none of these methods in these blocks")
    return taken


def predict(
    settings: Settings, measured: dict[str, float], console: Console
) -> list[gred.Roofline]:
    """Predict every rung; what was measured stands beside it."""
    told = []
    with console.progress(len(settings.methods)) as step:
        for method in settings.methods:
            step(method.name)
            one = gred.roofline(
                settings.size,
                method=method.name,
                block_size=settings.block_size,
                dtype=settings.dtype,
                device=settings.device,
            )
            told.append(one._replace(measured=measured.get(method.name, one.measured)))
    return told


# ---- shown ----

_COLUMNS = (
    Column("method", right=False, style="bold"),
    Column("block", style="dim", rank=3),
    Column("memory", rank=1),
    Column("blocks", rank=2),
    Column("work", rank=1),
    Column("waiting", rank=1),
    Column("launches", rank=2),
    Column("predicted", style="bold"),
    Column("measured"),
    Column("error"),
    Column("bound by", right=False),
)


def _cells(told: gred.Roofline) -> list[str]:
    terms = [total(told, name) for name in ("memory", "blocks", "work", "waiting")]
    launches = told.seconds - sum(max(one.terms) for one in told.passes)
    measured = "-" if told.measured is None else _microseconds(told.measured)
    error = "-" if told.error is None else f"{100 * told.error:+.0f} %"
    times = map(_microseconds, (*terms, launches, told.seconds))
    return [told.method, str(told.block_size), *times, measured, error, told.limit]


def total(told: gred.Roofline, name: str) -> float:
    """Sum a term over all passes."""
    return float(sum(getattr(one.terms, name) for one in told.passes))


def _microseconds(seconds: float) -> str:
    return f"{1e6 * seconds:,.1f}"


def _print(console: Console, settings: Settings, told: Sequence[gred.Roofline]) -> None:
    nbytes = units.bytes_text(settings.size * np.dtype(settings.dtype).itemsize)
    gpu = told[0].gpu
    console.pairs(
        [
            ("array", f"{settings.size:,} {settings.dtype} ({nbytes}), summed in {settings.dtype}"),
            ("predicted for", _gpu_text(gpu)),
        ]
    )
    console.table(Table(_COLUMNS, [_cells(one) for one in told]))
    for text in LEGEND:
        console.line(text, "dim")
    errors = [abs(one.error) for one in told if one.error is not None]
    if errors:
        middle, most = (units.percent_text(f(errors)) for f in (np.median, max))
        console.line(f"errors: median {middle}, at most {most}", "dim")
    console.line()


def _gpu_text(gpu: Gpu) -> str:
    bandwidth = units.bandwidth_text(gpu.bandwidth)
    return f"one {gpu.title}: {gpu.multiprocessors} multiprocessors, reads {bandwidth}"


# ---- written ----


def roofline_record(
    machine: record.Record, settings: Settings, told: Sequence[gred.Roofline]
) -> record.Record:
    """Make the file: one object a rung, with its terms, and the GPU's numbers."""
    return {
        "kind": "roofline",
        "machine": machine,
        "run": {"size": settings.size, "dtype": settings.dtype, "op": "sum"},
        "gpu": told[0].gpu._asdict(),
        "rows": [row_record(one) for one in told],
    }


def row_record(told: gred.Roofline) -> record.Record:
    """Make a rung's object; times are in nanoseconds."""
    number = next(m.number for m in gred.methods() if m.name == told.method)
    return {
        "number": number,
        "method": told.method,
        "block_size": told.block_size,
        "size": told.size,
        "passes": len(told.passes),
        "predicted_ns": record.digits(1e9 * told.seconds),
        "measured_ns": None if told.measured is None else record.digits(1e9 * told.measured),
        "limit": told.limit,
        "terms_ns": {name: record.digits(1e9 * total(told, name)) for name in Terms._fields},
    }


def _jobs(given: argparse.Namespace, kept: record.Record, console: Console) -> list[files.Job]:
    def draw() -> None:
        from gred.cli import plots, roofline_plot

        plots.save(roofline_plot.roofline_figure(kept), given.plot, kept)

    jobs = counters.json_jobs(given.json, kept, console)
    return [*jobs, files.Job(given.plot, draw)] if given.plot else jobs
