"""Predicts the time of every rung of the ladder on a GPU, and says what limits it.

Predictions are computed from operation counts and a few parameters of the GPU, by default an H200.
Limits are memory bandwidth, the rate at which blocks start, multiprocessor throughput, latency, and
launch overhead.

With --device every rung is also measured; --measured reads times from a file that
`python -m gred --json FILE` has written, by default those that ship with gred, of an H200.

The counts: python -m gred counters --help
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import gred
from gred.cli import counters, options, output, record, units
from gred.cli.console import Column, Console, Table
from gred.cli.counters import Settings
from gred.cli.options import option
from gred.cli.record import Record
from gred.prediction import Gpu, Terms, microseconds
from gred.records import method_named

SIZE = 1 << 28

# Times of the ladder on an H200, extracted from results by benchmarks/ladder_times.py.
PACKAGED = Path(__file__).with_name("h200.json")

FIGURE = "gred.cli.plots.rungs.roofline_figure"
OPTIONS = (
    option("--methods", f"all rungs up to {counters.LATEST}"),
    option("--size", "2**28", default=SIZE),
    option("--dtype"),
    option("--block-size", "each method's own"),
    option("--device", "a GPU of this machine: cuda, cuda:1"),
    option("--measured", "file written by `python -m gred --json`", Path, "FILE"),
    option("--json", "write all predictions"),
    option("--plot", "the roofline (.svg, .png, .pdf)"),
)


def run(given: argparse.Namespace, console: Console) -> int:
    files = output.file_outputs(given, console, FIGURE)
    if given.measured and given.device:
        raise options.UsageError("--measured and --device both give measured times; pass only one")
    methods = counters.countable(given.methods, "predicted")
    device = options.resolve_device(given.device or "simulated")
    name = device.name if given.device else None
    if name:
        if device.compute_capability is None:
            raise options.UsageError(f"--device {given.device}: only a GPU has a roofline")
        options.check_memory(device, given.size, given.dtype)
    settings = Settings(methods, given.size, given.dtype, given.block_size, device=name)
    measured = _measured(given.measured, settings) if given.measured else packaged_times(settings)
    how: dict[str, Any] = {"block_size": given.block_size, "dtype": given.dtype, "device": name}

    def predicted(method: Any) -> gred.Roofline:
        found = gred.roofline(given.size, method=method.name, **how)
        return found._replace(measured=measured.get(method.name, found.measured))

    predictions = console.each(methods, predicted)
    machine = output.introduce(console, device, "predicted times of the rungs")
    files.write(record_of(machine, settings, predictions))
    console.pairs(settings.array, ("predicted for", gpu_text(predictions[0].gpu)))
    console.table(Table.of(_COLUMNS, predictions))
    console.text("times: us, over all passes", "dim")
    if errors := [abs(one.error) for one in predictions if one.error is not None]:
        middle, most = (units.percent_text(f(errors)) for f in (np.median, max))
        console.text(f"errors: median {middle}, at most {most}", "dim")
    console.line()
    return files.end()


def packaged_times(settings: Settings) -> dict[str, float]:
    try:
        return {} if settings.device else _measured(PACKAGED, settings)
    except options.UsageError:
        return {}


def _measured(path: Path, settings: Settings) -> dict[str, float]:
    """Read each method's time for the same call from a file of the ladder."""
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
        what = f"not a ladder of sums of {settings.size} {settings.dtype}"
        raise options.UsageError(f"--measured {path}: {what}")
    sizes = {m.name: settings.block_size or m.default_block_size for m in settings.methods}
    taken = {name: found[name, size] for name, size in sizes.items() if (name, size) in found}
    if not taken:
        raise options.UsageError(f"--measured {path}: has none of these methods and block sizes")
    return taken


def _term(name: str, rank: int, about: str) -> Column:
    return Column(name, lambda t: microseconds(total(t, name)), rank=rank, about=about)


def _launches(predicted: gred.Roofline) -> str:
    return microseconds(predicted.seconds - sum(max(one.terms) for one in predicted.passes))


_PREDICTED = "launches, plus the longest of the other times"
_COLUMNS = (
    Column("method", lambda t: t.method, right=False, style="bold"),
    Column("block", lambda t: t.block_size, style="dim", rank=6, about="threads per block"),
    _term("memory", 2, "if bound only by its bandwidth"),
    _term("blocks", 5, "if bound only by starting them"),
    _term("work", 1, "if bound only by the multiprocessors' pipelines"),
    _term("waiting", 3, "if bound only by the latency of loads and barriers"),
    Column("launches", _launches, rank=4, about="of passes, and the last block's work"),
    Column("predicted", lambda t: microseconds(t.seconds), style="bold", about=_PREDICTED),
    Column("measured", lambda t: units.optional(microseconds, t.measured)),
    Column("error", lambda t: units.optional("{:+.0%}".format, t.error).replace("%", " %")),
    Column("bound by", lambda t: t.limit, right=False),
)


def total(predicted: gred.Roofline, name: str) -> float:
    return float(sum(getattr(one.terms, name) for one in predicted.passes))


def gpu_text(gpu: Gpu) -> str:
    bandwidth = units.bandwidth_text(gpu.bandwidth)
    return f"one {gpu.title}: {gpu.multiprocessors} multiprocessors, reads {bandwidth}"


def record_of(machine: Record, settings: Settings, rows: Sequence[gred.Roofline]) -> Record:
    run, gpu = {"size": settings.size, "dtype": settings.dtype, "op": "sum"}, rows[0].gpu._asdict()
    return record.make("roofline", machine, run, list(map(row_record, rows)), gpu=gpu)


def row_record(predicted: gred.Roofline) -> Record:
    """Build a rung's object; times are in nanoseconds."""
    return {
        "number": method_named(predicted.method).number,
        "method": predicted.method,
        "block_size": predicted.block_size,
        "size": predicted.size,
        "passes": len(predicted.passes),
        "predicted_ns": record.digits(1e9 * predicted.seconds),
        "measured_ns": predicted.measured and record.digits(1e9 * predicted.measured),
        "limit": predicted.limit,
        "terms_ns": {name: record.digits(1e9 * total(predicted, name)) for name in Terms._fields},
    }
