"""The main job: every method on one array, checked against NumPy, in climbing order."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple

import gred
from gred.cli import files, lesson, options, record, roofline, units
from gred.cli.answer import numpy_answer
from gred.cli.console import Cell, Column, Console, Table, bar
from gred.cli.data import random_array
from gred.cli.measure import Row, Sampling, device_for, measure, read_limit
from gred.cli.opening import check_places, introduce, tell_written, write

DESCRIPTION = """\
Climbs the ladder of parallel reduction: runs every method on the same random array and checks each
answer against NumPy. On a GPU it shows how fast the kernels are beside what the memory allows.
Without one they run on the simulated device, and it shows what each rung does to memory, what that
takes on an H200, predicted and measured, and what limits it."""

EPILOG = """\
Sums and products accumulate in the array's own element type, int32 in int32, as the published
ladders do; gred.sum itself, like NumPy, adds int32 in int64. `recursive` always runs on the host,
`cub` only on a GPU. Exit status: 0 every answer right, 1 an answer wrong, 2 bad arguments,
130 interrupted, 141 broken pipe.

The same over many array sizes and block sizes, with plots: python -m gred sweep --help
Beside other libraries: python -m gred versus --help
What each does to memory: python -m gred counters --help, python -m gred explain --help
Each drawn step by step: python -m gred show --help
Predicted times: python -m gred roofline --help
A rung of your own: python -m gred lab --help"""

_NEXT = """\
A rung's source with its counters: python -m gred explain shared_strided. Drawn step by step:
python -m gred show shared_strided. What the simulated device itself takes: python -m gred --time"""

# Elements that are run where nothing is timed, and those that are counted and predicted.
_CHECKED, _COUNTED = 1 << 16, 1 << 28

# What is said of the simulated device's times, and the columns that they do not have.
SIMULATED_TIMES = (("times", "this processor's, which simulates the GPU's threads: no GPU's"),)
OF_A_GPU = ("GB/s", "share", "", "speed-up", "read limit")


class Settings(NamedTuple):
    """What to run, on what."""

    device: Any
    methods: tuple[Any, ...]
    size: int
    dtype: str
    op: str
    block_size: int | None
    seed: int
    sampling: Sampling


def parser(prog: str) -> argparse.ArgumentParser:
    """Make the options of `python -m gred`."""
    parser = options.parser(prog, DESCRIPTION, EPILOG)
    options.add_size(parser, "2**28; 2**20 to time the simulated device")
    add_common(parser)
    options.add_block_size(parser, "each method's own")
    add_time(parser)
    files.add_place(parser, "--json", "write everything measured; - is standard output")
    files.add_place(parser, "--plot", "draw it (.svg, .png, .pdf)")
    parser.add_argument(
        "--version",
        action="version",
        version=f"gred {gred.__version__}",
        help="show gred's version and leave",
    )
    return parser


def add_time(parser: argparse.ArgumentParser) -> None:
    """Add the option that asks for times which are no GPU's."""
    parser.add_argument(
        "--time",
        action="store_true",
        help="time the simulated device itself, as files do: this processor's seconds, no GPU's",
    )


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add the options that the ladder and the sweep share."""
    options.add_dtype(parser)
    parser.add_argument(
        "--op",
        choices=options.OPS,
        default="sum",
        metavar="OP",
        help=f"{', '.join(options.OPS)} (default: sum)",
    )
    options.add_methods(parser, "all that the device has")
    parser.add_argument(
        "--device",
        metavar="NAME",
        help="cuda, cuda:1, simulated or host (default: a GPU if there is one, else simulated)",
    )
    options.add_seed(parser)


def run(given: argparse.Namespace, console: Console) -> int:
    """Climb, print, write; the exit status."""
    check_places(given, console)
    settings, taught = _settings(given)
    machine = record.describe_machine(settings.device)
    with console.files_first(bool(given.json or given.plot)):
        introduce(console, machine, "the ladder of parallel reduction, climbed")
        limit, rows = climb(settings, console)
        lessons = lesson.learn(taught, console) if taught else []
        kept = record_of(machine, settings, limit, rows)
        written, failure = write(given, kept, console, figure)
    if taught:
        lesson.show(console, taught, lessons)
        _print_answers(console, rows, _checked(settings))
        console.text(_NEXT, "dim")
    else:
        show(console, settings, limit, rows)
    tell_written(console, written, failure)
    return 0 if all(row.right for row in rows) else 1


def figure() -> Any:
    """Find what draws the record."""
    from gred.cli import plots

    return plots.ladder_figure


def choose_methods(wanted: tuple[Any, ...] | None, device: Any, host_too: bool) -> tuple[Any, ...]:
    """List the methods asked for, if the device has them, or else all that it has."""
    kind = device.name.partition(":")[0]
    kinds = {kind, "host"} if host_too or wanted else {kind}
    for method in wanted or ():
        if kinds.isdisjoint(method.devices):
            raise options.UsageError(
                f"{method.name!r} does not run on {device.name}, only on "
                f"{' and '.join(method.devices)}"
            )
        if not is_able(device, method):
            raise options.UsageError(
                f"{method.name!r} needs a GPU of compute capability {method.compute_capability} "
                f"or later, and kernels for it; {device.name} has {device.compute_capability}"
            )
    there = (m for m in gred.methods() if not kinds.isdisjoint(m.devices) and is_able(device, m))
    return wanted or tuple(there)


def is_able(device: Any, method: Any) -> bool:
    """Tell whether a GPU is late enough for a method, and gred built for such."""
    needed, here = method.compute_capability, device.compute_capability
    if needed is None or here is None:
        return True
    built: Any = gred.build_info()["architectures"]
    latest = max(int(text.rstrip("af")) for text in built)
    return int(needed.replace(".", "")) <= min(latest, int(here.replace(".", "")))


def is_timed(given: argparse.Namespace, device: Any, files_named: bool) -> bool:
    """Tell whether times are asked for: the simulated device's are no GPU's, and not by default."""
    return device.name != "simulated" or given.time or files_named


def _settings(given: argparse.Namespace) -> tuple[Settings, roofline.Settings | None]:
    """Say what to run, and what to tell of it where it is not timed."""
    device = options.resolve_device(given.device)
    fast = device.name.startswith("cuda")
    timed = is_timed(given, device, bool(given.json or given.plot))
    size = given.size or (1 << 28 if fast else 1 << 20)
    options.check_memory(device, size, given.dtype)
    methods = choose_methods(given.methods, device, host_too=timed)
    rungs = tuple(method for method in methods if method.number is not None)
    counted = given.size or _COUNTED
    taught = roofline.Settings(rungs, counted, given.dtype, given.block_size, None)
    settings = Settings(
        device=device,
        methods=methods,
        size=size if timed else min(counted, _CHECKED),
        dtype=given.dtype,
        op=given.op,
        block_size=given.block_size,
        seed=given.seed,
        sampling=Sampling(20, 2, None if fast else 0.5) if timed else Sampling(1, 0),
    )
    return settings, None if timed or not rungs else taught


def climb(settings: Settings, console: Console) -> tuple[float, list[Row]]:
    """Measure the device's read limit and every method; bytes per second, and a row a method."""
    rows = []
    with console.progress(len(settings.methods) + 2) as step:
        step("random data, and NumPy's answer")
        array = random_array(settings.size, settings.dtype, settings.op, settings.seed)
        answer = numpy_answer(array, settings.op)
        step("the device's read limit")
        limit = read_limit(settings.device.name, array.nbytes, settings.sampling.samples)
        for method in settings.methods:
            step(method.name)
            rows.append(
                measure(
                    method,
                    array,
                    answer,
                    device=device_for(method, settings.device.name),
                    block_size=settings.block_size,
                    sampling=settings.sampling,
                    limit=limit,
                )
            )
    return limit, rows


def peak_of(device: Any, limit: float) -> tuple[float, str]:
    """Say what a share is of: the memory's own figure or, without one, the read limit."""
    if device.bandwidth:
        return float(device.bandwidth), "the memory's theoretical bandwidth"
    return limit, "the read limit measured in this run"


def show(console: Console, settings: Settings, limit: float, rows: Sequence[Row]) -> None:
    """Print what was measured of which array, and the verdict."""
    device, size = settings.device, settings.size
    peak, meaning = peak_of(device, limit)
    simulated, nbytes = device.name == "simulated", units.bytes_text(rows[0].nbytes)
    limits = (
        ("read limit", f"{units.bandwidth_text(limit)}, measured in this run"),
        ("share", f"of {units.bandwidth_text(peak)}, {meaning}"),
    )
    console.pairs(
        [
            ("array", f"{size:,} random {settings.dtype} ({nbytes}), seed {settings.seed}"),
            ("op", _op_text(settings)),
            ("device", device.name),
            *(SIMULATED_TIMES if simulated else limits),
        ]
    )
    first = next((row for row in rows if row.number is not None), rows[0])
    cells = [_entries(console, row, first, peak, device) for row in rows]
    console.table(Table(_COLUMNS, cells).without(OF_A_GPU if simulated else ()))
    few, many = min(len(r.samples) for r in rows), max(len(r.samples) for r in rows)
    samples = str(few) if few == many else f"{few} to {many}"
    console.text(
        f"time: median of {samples} samples, all passes; ±: half of the {record.SPREAD}, over the "
        f"median" + ("" if simulated else f"; speed-up: over {first.method}"),
        "dim",
    )
    _print_answers(console, rows)


def _checked(settings: Settings) -> str:
    return f": as NumPy's, for {settings.size:,} random {settings.dtype} on the simulated device"


def _op_text(settings: Settings) -> str:
    if settings.op not in ("sum", "prod"):
        return settings.op
    published = ", as in the published ladders" if settings.dtype == "int32" else ""
    return f"{settings.op}, accumulated in {settings.dtype}{published}"


_BAR = 18
_COLUMNS = (
    Column("#", style="dim", rank=5),
    Column("method", right=False, style="bold"),
    Column("block", style="dim", rank=6),
    Column("time"),
    Column("±", style="dim", rank=4),
    Column("GB/s", style="bold", rank=1),
    Column("share", rank=2),
    Column("", right=False, style="cyan", rank=7),
    Column("speed-up", rank=3),
    Column("answer", right=False),
)


def _entries(console: Console, row: Row, first: Row, peak: float, device: Any) -> list[str | Cell]:
    """Write a row. One that another device ran, the host's, has no share."""
    here = row.device == device.name
    share = row.bandwidth / peak
    return [
        "-" if row.number is None else str(row.number),
        row.method if here else f"{row.method} ({row.device})",
        str(row.block_size or "-"),
        units.time_text(row.seconds),
        units.percent_text(row.noise),
        units.gigabytes_text(row.bandwidth),
        units.percent_text(share) if here else "-",
        bar(share if here else 0, _BAR, console.bar_characters),
        units.speedup_text(first.seconds / row.seconds) if here else "-",
        Cell("right", "green") if row.right else Cell("WRONG", "bold red"),
    ]


def _print_answers(console: Console, rows: Sequence[Row], how: str = "") -> None:
    """Say the verdict, and for every wrong answer what it was and should have been."""
    wrong = [row for row in rows if not row.right]
    console.line()
    if not wrong:
        verdict = f"all {len(rows)} answers right" if len(rows) > 1 else "the answer is right"
        console.text(verdict + how, "green")
    for row in wrong:
        within = f" within {row.bound:.3g}" if row.bound else ""
        console.line(
            f"{row.method}: {row.result}, where NumPy has {row.expected}{within}", "bold red"
        )


def record_of(
    machine: record.Record, settings: Settings, limit: float, rows: Sequence[Row]
) -> record.Record:
    """Make the ladder's file, which its picture is drawn from."""
    peak, meaning = peak_of(settings.device, limit)
    run = {
        "size": settings.size,
        "dtype": settings.dtype,
        "op": settings.op,
        "seed": settings.seed,
        "limit_gb_per_s": round(limit * 1e-9, 3),
        "peak_gb_per_s": round(peak * 1e-9, 3),
        "peak": meaning,
    }
    return record.ladder_record(machine, run, rows)
