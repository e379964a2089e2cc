"""Counts the memory accesses of every rung of the ladder, as a profiler does on a GPU.

It counts warp-level memory requests and the sectors that they transfer, wavefronts of shared memory
and bank conflicts, barriers, and active lanes. The rungs' own kernels run on the simulated device;
no GPU is needed.

All passes of a rung are counted together. Grids are those of a GPU with --multiprocessors, by
default an H200's.
"""

import argparse
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

import gred
from gred.cli import options, output, record, units
from gred.cli.console import Column, Console, Table
from gred.cli.options import option
from gred.counting import SECTOR_NBYTES

SIZE, BLOCK_SIZE = 1 << 20, 256
LATEST = 24
FIGURE = "gred.cli.plots.rungs.counters_figure"

MULTIPROCESSORS = option(
    "--multiprocessors",
    "multiprocessors of the GPU to count for (default: 132, an H200's)",
    options.whole(1, 1024),
    "N",
    default=132,
)
COMMON = (
    option("--size", "2**20", default=SIZE),
    option("--dtype"),
    option("--block-size", f"{BLOCK_SIZE}", default=BLOCK_SIZE),
    MULTIPROCESSORS,
)
OPTIONS = (
    option("--methods", f"all rungs up to {LATEST}"),
    *COMMON,
    option("--json", "write all counts"),
    option("--plot", "the counts (.svg, .png, .pdf)"),
)


class Settings(NamedTuple):
    """What to count or predict: sums in the element type, by each of the methods."""

    methods: tuple[Any, ...]
    size: int
    dtype: str
    block_size: int | None
    multiprocessors: int = 132
    device: str | None = None

    @property
    def nbytes(self) -> int:
        return self.size * np.dtype(self.dtype).itemsize

    @property
    def launch(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("block_size", "dtype", "multiprocessors")}

    @property
    def array(self) -> tuple[str, str]:
        array = f"{self.size:,} {self.dtype} ({units.bytes_text(self.nbytes)})"
        return "array", f"{array}, summed in {self.dtype}"


class Row(NamedTuple):
    """The counts of a rung; a user's own has "*" for its number."""

    number: int | str
    counters: gred.Counters


def run(given: argparse.Namespace, console: Console) -> int:
    files = output.file_outputs(given, console, FIGURE)
    settings = settings_of(given)
    device = options.resolve_device("simulated")
    machine = output.introduce(console, device, "memory accesses of the rungs")
    rows = count(settings, console)
    files.write(record_of(machine, settings, rows))
    show(console, settings, rows)
    return files.end()


def settings_of(given: argparse.Namespace, done: str = "counted", **other: Any) -> Settings:
    """Return the checked settings from arguments, overridden by `other`; `done` is for errors."""
    names = ("methods", "size", "dtype", "block_size", "multiprocessors")
    settings = Settings(*({**vars(given), **other}[name] for name in names))
    options.check_memory(options.resolve_device("simulated"), settings.size, settings.dtype)
    return settings._replace(methods=countable(settings.methods, done))


def countable(wanted: tuple[Any, ...] | None, done: str = "counted") -> tuple[Any, ...]:
    for method in wanted or ():
        if method.number is None:
            raise options.UsageError(f"{method.name!r} cannot be {done}; rungs 0 to {LATEST} can")
    return wanted or tuple(m for m in gred.methods() if m.number is not None)


def count(settings: Settings, console: Console) -> list[Row]:
    """Count every rung on an array of ones: counts do not depend on the elements."""
    array, how = np.ones(settings.size, settings.dtype), settings.launch
    counted = console.each(settings.methods, lambda m: gred.counters(array, method=m.name, **how))
    return [Row(m.number, one) for m, one in zip(settings.methods, counted, strict=True)]


def _load_sectors(total: gred.Counts) -> int:
    return total.global_load_sectors + total.bulk_copy_sectors


def used(total: gred.Counts) -> float | None:
    """Return the requested share of the loaded bytes; None without loads."""
    moved = SECTOR_NBYTES * _load_sectors(total)
    return (total.global_load_nbytes + total.bulk_copy_nbytes) / moved if moved else None


def traffic(total: gred.Counts) -> int:
    return SECTOR_NBYTES * (_load_sectors(total) + total.global_store_sectors)


def wavefronts(total: gred.Counts) -> int:
    return total.shared_load_wavefronts + total.shared_store_wavefronts


def lanes_text(total: gred.Counts) -> str:
    return units.optional("{:.1f}".format, total.active_lanes)


def _total(title: str, rank: int, named: Any, about: str) -> Column:

    def write(row: Row) -> str:
        found = named(row.counters.total)
        return found if isinstance(found, str) else f"{found:,}"

    return Column(title, write, style="" if rank else "bold", rank=rank, about=about)


_COLUMNS = (
    Column("#", lambda row: row.number, style="dim", rank=2),
    Column("method", lambda row: row.counters.method, right=False, style="bold"),
    Column("passes", lambda row: len(row.counters.passes), style="dim", rank=9),
    _total(
        *("loads", 5, lambda total: total.global_load_requests + total.bulk_copy_requests),
        "warp-level global load requests, and bulk copies",
    ),
    _total("load sectors", 0, _load_sectors, "32-byte sectors moved by global loads"),
    _total(
        *("used", 1, lambda total: units.optional(units.percent_text, used(total))),
        "requested bytes, divided by bytes moved by loads",
    ),
    _total("stores", 7, attrgetter("global_store_requests"), "warp-level global store requests"),
    _total("store sectors", 4, attrgetter("global_store_sectors"), "moved by global stores"),
    _total("shared", 3, wavefronts, "shared-memory wavefronts of loads and stores"),
    _total("conflicts", 0, attrgetter("bank_conflicts"), "wavefronts due to bank conflicts"),
    _total("atomics", 11, attrgetter("atomic_requests"), "warp-level atomic requests"),
    _total("shuffles", 10, attrgetter("shuffle_requests"), "warp-level shuffles"),
    _total("barriers", 6, attrgetter("block_barriers"), "block barriers"),
    _total("lanes", 1, lanes_text, "active lanes per warp in an arithmetic step, on average"),
)


def show(
    console: Console, settings: Settings, rows: Sequence[Row], *more: Column, notes: Any = ()
) -> None:
    console.pairs(
        settings.array,
        ("blocks", f"of {settings.block_size} threads"),
        ("grids", f"as on {settings.multiprocessors} multiprocessors"),
    )
    console.table(Table.of((*_COLUMNS, *more), rows, notes))
    console.line()


def record_of(machine: record.Record, settings: Settings, rows: Sequence[Row]) -> record.Record:
    """Build the record: one object per rung, with its passes, their total, and its lines."""
    ratios = ("global_load_efficiency", "global_store_efficiency", "active_lanes")

    def numbers(counts: gred.Counts) -> record.Record:
        return {name: getattr(counts, name) for name in (*gred.Counts._fields[:-1], *ratios)}

    run = {"size": settings.size, "dtype": settings.dtype, "op": "sum"}
    run |= {"block_size": settings.block_size, "multiprocessors": settings.multiprocessors}
    objects = [
        {
            "number": row.number,
            "method": row.counters.method,
            "passes": list(map(numbers, row.counters.passes)),
            "total": numbers(row.counters.total),
            "lines": [line._asdict() for line in row.counters.total.lines],
        }
        for row in rows
    ]
    return record.make("counters", machine, run, objects)
