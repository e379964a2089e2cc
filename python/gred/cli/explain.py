"""The job `explain`: a rung's source with its counts, what limits it, and how its neighbours do."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np

import gred
from gred.cli import counters, files, options, record, units
from gred.cli.console import Column, Console, Table
from gred.cli.counters import Settings
from gred.cli.ladder import tell_written
from gred.cli.source import Listing, listings
from gred.counting import Line
from gred.prediction import LATEST

DESCRIPTION = """\
Shows a rung of the ladder: its source, with what every line does to memory, what limits the rung,
and what differs from the rungs before and after it. The kernel runs on the simulated device, where
every access is counted; no GPU is needed."""

EPILOG = """\
All passes are counted together. Exit status: 0 shown, 2 bad arguments, 130 interrupted, 141 nobody
reads.

All rungs in one table: python -m gred counters --help
A rung drawn step by step: python -m gred show --help
What all should take on a GPU: python -m gred roofline --help"""

# From where on something is a rung's limit.
_POOR, _OFTEN, _DIVERGENT, _CONFLICTS = 0.5, 1.5, 16, 0.25

# Elements that the prediction is for: enough that launching does not count.
PREDICTED = 1 << 28

# What requests are of, and what they are made in.
_EVENTS = {
    "global_load": ("loads", "sectors"),
    "global_store": ("stores", "sectors"),
    "shared_load": ("shared loads", "wavefronts"),
    "shared_store": ("shared stores", "wavefronts"),
    "atomic": ("atomics", "sectors"),
    "shuffle": ("shuffles", ""),
    "merge": ("merges", ""),
    "block_barrier": ("warps at a barrier of the block", ""),
    "warp_barrier": ("barriers of a warp", ""),
    "grid_barrier": ("warps at the grid's barrier", ""),
    "global_load_trip": ("trips to global memory", ""),
    "bulk_copy": ("bulk copies", "sectors"),
    "mbarrier_wait": ("warps that wait at an mbarrier", ""),
    "cluster_barrier": ("warps at a cluster's barrier", ""),
}

# What is compared between rungs, and what it is called.
_COMPARED = {
    "passes": "launches",
    "blocks": "blocks",
    "global_load_requests": "requests of global loads",
    "global_load_sectors": "sectors of global loads",
    "global_load_trips": "trips for these",
    "global_store_sectors": "sectors of global stores",
    "shared_load_wavefronts": "wavefronts of shared loads",
    "shared_store_wavefronts": "wavefronts of shared stores",
    "conflicts": "bank conflicts",
    "merge_requests": "steps of arithmetic, of warps",
    "active_lanes": "active lanes in these",
    "shuffle_requests": "shuffles",
    "atomic_requests": "atomics",
    "block_barriers": "barriers of blocks",
    "warp_barriers": "barriers of warps",
    "bulk_copy_sectors": "sectors of bulk copies",
    "mbarrier_waits": "mbarrier waits",
    "cluster_barriers": "barriers of clusters",
}


def parser(prog: str) -> argparse.ArgumentParser:
    """Make the options of `python -m gred explain`."""
    parser = options.parser(prog, DESCRIPTION, EPILOG)
    options.add_method(parser)
    counters.add_common(parser)
    files.add_place(parser, "--json", "write what was counted; - is standard output")
    return parser


def run(given: argparse.Namespace, console: Console) -> int:
    """Count the rung and its neighbours, print, write; the exit status."""
    settings = counters.settings_of(given, (given.method,), "explained")
    files.check_file("--json", given.json)
    if given.json == files.STANDARD_OUTPUT:
        console.leave_stdout()
    machine = record.describe_machine(options.resolve_device("simulated"))
    with console.files_first(bool(given.json)):
        rows = counters.count(settings._replace(methods=_neighbours(given.method)), console)
        kept = counters.counters_record(machine, settings, rows)
        written, failure = files.write_all(counters.json_jobs(given.json, kept, console))
    _print(console, settings, given.method, [row.counters for row in rows])
    tell_written(console, written, failure)
    return 0


def _neighbours(method: Any) -> tuple[Any, ...]:
    """List the rung before, the rung and the one after it, as far as they have counters."""
    near = range(method.number - 1, min(method.number + 1, counters.LATEST) + 1)
    return tuple(m for m in gred.methods() if m.number in near)


# ---- what limits it ----


def limits(counted: gred.Counters) -> Iterator[str]:
    """Say what keeps a rung from running at the memory's pace, the worst first."""
    total = counted.total
    nbytes = counted.size * np.dtype(counted.dtype).itemsize
    loaded = total.global_load_sectors + total.bulk_copy_sectors
    moved = 32 * (loaded + total.global_store_sectors)
    wavefronts = total.shared_load_wavefronts + total.shared_store_wavefronts
    conflicts = total.shared_load_conflicts + total.shared_store_conflicts
    used = total.global_load_efficiency
    if moved > _OFTEN * nbytes:
        yield f"global memory moves {moved / nbytes:.1f} times the array's bytes"
    if used is not None and used < _POOR:
        yield f"of a loaded sector {units.percent_text(used)} are used: lanes' elements lie apart"
    if conflicts > _CONFLICTS * wavefronts:
        share = units.percent_text(conflicts / wavefronts)
        yield f"{share} of shared memory's wavefronts are bank conflicts"
    if total.active_lanes is not None and total.active_lanes < _DIVERGENT:
        yield f"{total.active_lanes:.1f} of 32 lanes are active in a step of arithmetic: divergence"
    if wavefronts > 2 * total.global_load_requests and not total.bulk_copy_requests:
        times = wavefronts / total.global_load_requests
        yield f"shared memory is asked {times:.1f} times for each request of a global load"
    if len(counted.passes) > 4:
        yield f"{len(counted.passes)} launches, each of which waits for the one before it"


# ---- shown ----


def _print(console: Console, settings: Settings, method: Any, counted: list[gred.Counters]) -> None:
    own = next(one for one in counted if one.method == method.name)
    console.title(f"{method.number} {method.name}: {method.title}")
    nbytes = units.bytes_text(settings.size * np.dtype(settings.dtype).itemsize)
    reasons = list(limits(own)) or ["the memory itself: each byte is read about once"]
    console.pairs(
        [
            ("idea", method.idea),
            ("array", f"{settings.size:,} {settings.dtype} ({nbytes}), summed in {settings.dtype}"),
            ("blocks", f"of {settings.block_size} threads"),
            *(("limits" if k == 0 else "", text) for k, text in enumerate(reasons)),
            *_predicted(settings, method),
        ]
    )
    for listing in listings(method.name, own.total.lines):
        _print_listing(console, listing)
    _print_neighbours(console, method, counted)
    console.line(f"drawn step by step: python -m gred show {method.name}", "dim")
    console.line()


def _predicted(settings: Settings, method: Any) -> Iterator[tuple[str, str]]:
    """Say how long an array as long as benchmarks take keeps a GPU, and what binds it."""
    if method.number > LATEST:
        return
    told = gred.roofline(
        PREDICTED, method=method.name, block_size=settings.block_size, dtype=settings.dtype
    )
    time = units.time_text(told.seconds)
    size = units.size_text(PREDICTED)
    text = f"{time} for {size} elements on one {told.gpu.title}, bound by {told.why()}"
    yield "should take", text


def _print_listing(console: Console, listing: Listing) -> None:
    console.line(f"kernels/{listing.file}", "bold")
    console.line()
    for number, text, counted in listing.lines:
        console.line(f"{number:>4}  {text}", "" if counted else "dim")
        for line in counted:
            console.line(f"   ->  {told(line)}", "red" if line.conflicts else "cyan")
    console.line()


def told(line: Line) -> str:
    """Say what a line does: 4,096 shared loads in 8,192 wavefronts, 4,096 conflicts; 32.0 lanes."""
    event, transfers = _EVENTS[line.event]
    text = f"{line.requests:,} {event}"
    if transfers:
        text += f" in {line.transfers:,} {transfers}"
    if line.conflicts:
        text += f", {line.conflicts:,} of them conflicts"
    return f"{text}; {line.lanes / line.requests:.1f} lanes"


def _print_neighbours(console: Console, method: Any, counted: list[gred.Counters]) -> None:
    rows = []
    for name, what in _COMPARED.items():
        figures = [_figure(one, name) for one in counted]
        if any(figures):
            rows.append([what, *map(_figure_text, figures)])
    columns = [
        Column(one.method, style="bold" if one.method == method.name else "dim") for one in counted
    ]
    console.table(Table([Column("all passes", right=False), *columns], rows))


def _figure(counted: gred.Counters, name: str) -> float:
    total = counted.total
    if name == "passes":
        return len(counted.passes)
    if name == "conflicts":
        return total.shared_load_conflicts + total.shared_store_conflicts
    return float(getattr(total, name) or 0)


def _figure_text(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"
