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
from gred.cli.opening import check_places, tell_written, write
from gred.cli.source import Listing, listings
from gred.counting import Line

DESCRIPTION = """\
Shows a rung of the ladder: its source, with what every line does to memory, what limits the rung,
and what differs from the rungs before and after it. The kernel runs on the simulated device, where
every access is counted; no GPU is needed."""

EPILOG = """\
All passes are counted together. Exit status: 0 shown, 2 bad arguments, 130 interrupted, 141 broken
pipe.

All rungs in one table: python -m gred counters --help
A rung drawn step by step: python -m gred show --help
Predicted times of all: python -m gred roofline --help"""

# From where on something is a rung's limit.
_POOR, _OFTEN, _DIVERGENT, _CONFLICTS, _LAUNCHES = 0.5, 1.2, 16, 0.25, 4
# Elements for each barrier of a block, and bytes that a warp's loads have in flight.
_BARRIER, _IN_FLIGHT = 256, 500

# What is said of a rung that nothing else limits.
FREE = "every byte is read once"

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
    "merge": ("additions", ""),
    "block_barrier": ("arrivals of warps at a block barrier", ""),
    "warp_barrier": ("warp barriers", ""),
    "grid_barrier": ("arrivals of warps at a grid barrier", ""),
    "dependent_global_load": ("dependent global loads", ""),
    "bulk_copy": ("bulk copies", "sectors"),
    "mbarrier_wait": ("waits of warps at an mbarrier", ""),
    "cluster_barrier": ("arrivals of warps at a cluster barrier", ""),
}

# What is compared between rungs, and what it is called.
_COMPARED = {
    "passes": "launches",
    "blocks": "blocks",
    "global_load_requests": "global load requests",
    "global_load_sectors": "global load sectors",
    "dependent_global_loads": "dependent global loads",
    "global_store_sectors": "global store sectors",
    "shared_load_wavefronts": "shared load wavefronts",
    "shared_store_wavefronts": "shared store wavefronts",
    "conflicts": "bank conflicts",
    "merge_requests": "warp-level additions",
    "active_lanes": "active lanes in these",
    "shuffle_requests": "shuffles",
    "atomic_requests": "atomics",
    "block_barriers": "block barriers",
    "warp_barriers": "warp barriers",
    "bulk_copy_sectors": "bulk copy sectors",
    "mbarrier_waits": "mbarrier waits",
    "cluster_barriers": "cluster barriers",
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
    check_places(given, console)
    machine = record.describe_machine(options.resolve_device("simulated"))
    with console.files_first(bool(given.json)):
        rows = counters.count(settings._replace(methods=_neighbours(given.method)), console)
        kept = counters.counters_record(machine, settings, rows)
        written, failure = write(given, kept, console)
    _print(console, settings, given.method, [row.counters for row in rows])
    tell_written(console, written, failure)
    return 0


def _neighbours(method: Any) -> tuple[Any, ...]:
    """List the rung before, the rung and the one after it, as far as they have counters."""
    near = range(method.number - 1, min(method.number + 1, counters.LATEST) + 1)
    return tuple(m for m in gred.methods() if m.number in near)


# ---- what limits it ----


def limits(counted: gred.Counters) -> Iterator[str]:
    """Say what keeps a rung from running at the memory's bandwidth, the worst first."""
    total, launches = counted.total, len(counted.passes)
    nbytes = counted.size * np.dtype(counted.dtype).itemsize
    requests, loaded, used = counters.loads(total)
    moved = 32 * (loaded + total.global_store_sectors)
    wavefronts = total.shared_load_wavefronts + total.shared_store_wavefronts
    conflicts = total.shared_load_conflicts + total.shared_store_conflicts
    if moved > _OFTEN * nbytes:
        yield f"global memory traffic is {moved / nbytes:.1f} times the array"
    if used is not None and used < _POOR:
        yield f"{units.percent_text(used)} of the loaded bytes are used"
    if conflicts > _CONFLICTS * wavefronts:
        share = units.percent_text(conflicts / wavefronts)
        yield f"{share} of shared-memory wavefronts are bank conflicts"
    if total.active_lanes is not None and total.active_lanes < _DIVERGENT:
        yield f"divergence leaves {total.active_lanes:.1f} of 32 lanes active"
    if counted.size < _BARRIER * total.block_barriers:
        yield f"a block barrier every {counted.size / total.block_barriers:.0f} elements"
    if launches > _LAUNCHES:
        yield f"{launches} dependent launches"
    if wavefronts > 2 * requests and not total.bulk_copy_requests:
        times = wavefronts / requests
        yield f"{times:.1f} shared-memory wavefronts per global load request"
    flight = total.global_load_nbytes / (total.dependent_global_loads or 1)
    if flight < _IN_FLIGHT and not total.bulk_copy_requests:
        yield f"loads of {flight:.0f} bytes in flight per warp"


def limit(counted: gred.Counters, predicted: gred.Roofline) -> str:
    """Say in a sentence what limits a rung."""
    cause = next(limits(counted), FREE)
    if predicted.limit == "launches":
        launches = len(counted.passes)
        cause = "a short array" if launches == 1 else f"{launches} dependent launches"
    return f"limited by {predicted.why()}: {cause}"


# ---- shown ----


def _print(console: Console, settings: Settings, method: Any, counted: list[gred.Counters]) -> None:
    own = next(one for one in counted if one.method == method.name)
    console.title(f"{method.number} {method.name}: {method.title}")
    nbytes = units.bytes_text(settings.size * np.dtype(settings.dtype).itemsize)
    reasons = list(limits(own)) or [f"memory bandwidth: {FREE}"]
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
    console.text(f"drawn step by step: python -m gred show {method.name}", "dim")
    console.line()


def _predicted(settings: Settings, method: Any) -> Iterator[tuple[str, str]]:
    """Say how long an array as long as benchmarks take keeps a GPU, and what limits it."""
    told = gred.roofline(
        PREDICTED, method=method.name, block_size=settings.block_size, dtype=settings.dtype
    )
    time = units.time_text(told.seconds)
    size = units.size_text(PREDICTED)
    text = f"{time} for {size} elements on one {told.gpu.title}, bound by {told.why()}"
    yield "predicted", text


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
