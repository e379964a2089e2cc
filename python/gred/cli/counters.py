"""The job `counters`: what every rung does to memory, counted on the simulated device."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import gred
from gred.cli import files, options, record, units
from gred.cli.console import Column, Console, Table
from gred.cli.opening import check_places, introduce, tell_written, write
from gred.counting import SECTOR_NBYTES

DESCRIPTION = """\
Counts what every rung of the ladder does to memory, as a profiler does on a GPU: warp-level memory
requests and the sectors that they move, wavefronts of shared memory and bank conflicts, barriers,
active lanes. The rungs' own kernels run on the simulated device; no GPU is needed."""

EPILOG = """\
All passes of a rung are counted together. Grids are those of a GPU with --multiprocessors, by
default an H200's. Exit status: 0 counted, 2 bad arguments, 130 interrupted, 141 broken pipe."""

SIZE, BLOCK_SIZE = 1 << 20, 256
LATEST = 24


class Settings(NamedTuple):
    """What to count."""

    methods: tuple[Any, ...]
    size: int
    dtype: str
    block_size: int
    multiprocessors: int


class Row(NamedTuple):
    """What was counted of a rung; one of the user's own has no number, but a sign."""

    number: int | str
    counters: gred.Counters


def parser(prog: str) -> argparse.ArgumentParser:
    """Make the options of `python -m gred counters`."""
    parser = options.parser(prog, DESCRIPTION, EPILOG)
    options.add_methods(parser, f"all rungs up to {LATEST}")
    add_common(parser)
    files.add_place(parser, "--json", "write everything counted; - is standard output")
    files.add_place(parser, "--plot", "draw it (.svg, .png, .pdf)")
    return parser


def add_common(
    parser: argparse.ArgumentParser, size: str = "2**20", block_size: str = f"{BLOCK_SIZE}"
) -> None:
    """Add the options of all that counts, with what help says of two defaults."""
    options.add_size(parser, size, SIZE)
    options.add_dtype(parser)
    options.add_block_size(parser, block_size, BLOCK_SIZE)
    parser.add_argument(
        "--multiprocessors",
        metavar="N",
        type=options.argument(_parse_multiprocessors),
        default=132,
        help="of the GPU that is counted for (default: 132, an H200's)",
    )


def _parse_multiprocessors(text: str) -> int:
    if not text.isdecimal() or len(text) > 4 or not 1 <= int(text) <= 1024:
        raise options.UsageError(f"{text!r} is not a whole number from 1 to 1024")
    return int(text)


def run(given: argparse.Namespace, console: Console) -> int:
    """Count, print, write; the exit status."""
    check_places(given, console)
    settings = settings_of(given, given.methods)
    machine = record.describe_machine(options.resolve_device("simulated"))
    with console.files_first(bool(given.json or given.plot)):
        introduce(console, machine, "what the rungs do to memory, counted")
        rows = count(settings, console)
        kept = counters_record(machine, settings, rows)
        written, failure = write(given, kept, console, figure)
    show_rows(console, settings, rows)
    tell_written(console, written, failure)
    return 0


def settings_of(
    given: argparse.Namespace, wanted: tuple[Any, ...] | None, done: str = "counted"
) -> Settings:
    """Check what is to be counted: the methods that are wanted, by default all that can be.

    `done` is what the user asked for.
    """
    methods = countable(wanted, done)
    options.check_memory(options.resolve_device("simulated"), given.size, given.dtype)
    return Settings(methods, given.size, given.dtype, given.block_size, given.multiprocessors)


def countable(wanted: tuple[Any, ...] | None, done: str = "counted") -> tuple[Any, ...]:
    """Check that the methods are rungs; by default all, which can be `done`."""
    for method in wanted or ():
        if method.number is None:
            raise options.UsageError(f"{method.name!r} cannot be {done}; rungs 0 to {LATEST} can")
    return wanted or tuple(m for m in gred.methods() if m.number is not None)


def count(settings: Settings, console: Console) -> list[Row]:
    """Run every rung on an array of ones: what is counted does not depend on the elements."""
    rows = []
    with console.progress(len(settings.methods)) as step:
        array = np.ones(settings.size, settings.dtype)
        for method in settings.methods:
            step(method.name)
            counted = gred.counters(
                array,
                method=method.name,
                block_size=settings.block_size,
                dtype=array.dtype,
                multiprocessors=settings.multiprocessors,
            )
            rows.append(Row(method.number, counted))
    return rows


# ---- shown ----

_COLUMNS = (
    Column("#", style="dim", rank=2),
    Column("method", right=False, style="bold"),
    Column("passes", style="dim", rank=9),
    Column("loads", rank=5, about="warp-level global load requests, and bulk copies"),
    Column("load sectors", style="bold", about="of 32 bytes, that global loads move"),
    Column("used", rank=1, about="bytes that lanes ask for, over bytes that loads move"),
    Column("stores", rank=7, about="warp-level global store requests"),
    Column("store sectors", rank=4, about="that global stores move"),
    Column("shared", rank=3, about="wavefronts of shared memory, loads and stores"),
    Column("conflicts", style="bold", about="wavefronts that are bank conflicts"),
    Column("atomics", rank=11, about="warp-level atomic requests"),
    Column("shuffles", rank=10, about="warp-level shuffles"),
    Column("barriers", rank=6, about="barriers of a block"),
    Column("lanes", rank=1, about="of a warp's 32, active in a step of arithmetic on average"),
)


def loads(total: gred.Counts) -> tuple[int, int, float | None]:
    """Count what is loaded, bulk copies too: requests, sectors, and the share of them in use."""
    sectors = total.global_load_sectors + total.bulk_copy_sectors
    asked = total.global_load_nbytes + total.bulk_copy_nbytes
    requests = total.global_load_requests + total.bulk_copy_requests
    return requests, sectors, asked / (SECTOR_NBYTES * sectors) if sectors else None


def _cells(row: Row) -> list[str]:
    total, lanes = row.counters.total, row.counters.total.active_lanes
    requests, sectors, used = loads(total)
    return [
        str(row.number),
        row.counters.method,
        str(len(row.counters.passes)),
        f"{requests:,}",
        f"{sectors:,}",
        "-" if used is None else units.percent_text(used),
        f"{total.global_store_requests:,}",
        f"{total.global_store_sectors:,}",
        f"{total.shared_load_wavefronts + total.shared_store_wavefronts:,}",
        f"{total.shared_load_conflicts + total.shared_store_conflicts:,}",
        f"{total.atomic_requests:,}",
        f"{total.shuffle_requests:,}",
        f"{total.block_barriers:,}",
        "-" if lanes is None else f"{lanes:.1f}",
    ]


def show_rows(
    console: Console, settings: Settings, rows: Sequence[Row], more: Table | None = None
) -> None:
    """Show what was counted, and of which array; `more` is to stand beside it."""
    nbytes = units.bytes_text(settings.size * np.dtype(settings.dtype).itemsize)
    console.pairs(
        [
            ("array", f"{settings.size:,} {settings.dtype} ({nbytes}), summed in {settings.dtype}"),
            ("blocks", f"of {settings.block_size} threads"),
            ("grids", f"as on {settings.multiprocessors} multiprocessors"),
        ]
    )
    table = Table(_COLUMNS, [_cells(row) for row in rows])
    console.table(table.beside(more) if more else table)
    console.line()


# ---- written ----


def counters_record(
    machine: record.Record, settings: Settings, rows: Sequence[Row]
) -> record.Record:
    """Make the file: one object a rung, with each pass, their total, and its lines."""
    return {
        "kind": "counters",
        "machine": machine,
        "run": {
            "size": settings.size,
            "dtype": settings.dtype,
            "op": "sum",
            "block_size": settings.block_size,
            "multiprocessors": settings.multiprocessors,
        },
        "rows": [_row_record(row) for row in rows],
    }


def _row_record(row: Row) -> record.Record:
    def numbers(counts: gred.Counts) -> record.Record:
        own = {name: getattr(counts, name) for name in counts._fields if name != "lines"}
        ratios = ("global_load_efficiency", "global_store_efficiency", "active_lanes")
        return own | {name: getattr(counts, name) for name in ratios}

    return {
        "number": row.number,
        "method": row.counters.method,
        "passes": [numbers(counts) for counts in row.counters.passes],
        "total": numbers(row.counters.total),
        "lines": [line._asdict() for line in row.counters.total.lines],
    }


def figure() -> Any:
    """Find what draws the record."""
    from gred.cli import counters_plot

    return counters_plot.counters_figure
