"""Shows a rung of the ladder: its source, with the memory accesses of every line.

It also says what limits the rung, and how it differs from the rungs before and after it. The kernel
runs on the simulated device, where every access is counted; no GPU is needed.

All passes are counted together.

All rungs in one table: python -m gred counters --help
A rung drawn step by step: python -m gred show --help
Predicted times of all: python -m gred roofline --help
"""

import argparse
import re
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Any

import numpy as np

import gred
from gred.cli import counters, options, output, record, units
from gred.cli.console import Column, Console, Table
from gred.cli.counters import Settings
from gred.cli.options import option
from gred.counting import Line
from gred.drawing.showing import REQUESTS

# Text for a rung that only the memory's bandwidth limits.
FREE = "every byte is read once"

# Elements of the predicted sum: enough that launches do not matter.
PREDICTED = 1 << 28

# Event -> plural name; memory requests are also counted in sectors or wavefronts.
_EVENTS = {
    **REQUESTS,
    "shuffle": "shuffles",
    "merge": "additions",
    "block_barrier": "warp arrivals at a block barrier",
    "warp_barrier": "warp barriers",
    "grid_barrier": "warp arrivals at a grid barrier",
    "dependent_global_load": "dependent global loads",
    "mbarrier_wait": "warp waits at an mbarrier",
    "cluster_barrier": "warp arrivals at a cluster barrier",
}

# Counts that are compared between rungs, in addition to launches, and names for some of them.
_COMPARED = """
blocks global_load_requests global_load_sectors dependent_global_loads global_store_sectors
shared_load_wavefronts shared_store_wavefronts bank_conflicts merge_requests active_lanes
shuffle_requests atomic_requests block_barriers warp_barriers bulk_copy_sectors mbarrier_waits
cluster_barriers
"""
_CALLED = {"merge_requests": "warp-level additions", "active_lanes": "active lanes per addition"}
_CALLED |= {"shuffle_requests": "shuffles", "atomic_requests": "atomics"}

# A definition ends with a brace in the first column, where clang-format puts it.
_FUNCTION = re.compile(
    r"^(?:template|__global__|__device__|struct|inline)(?:.*\n)+?\};?$", re.MULTILINE
)

OPTIONS = (option("method"), *counters.COMMON, option("--json", "write the counts"))


def run(given: argparse.Namespace, console: Console) -> int:
    method = given.method
    settings = counters.settings_of(given, "explained", methods=(method,))
    files = output.file_outputs(given, console)
    machine = record.describe_machine(options.resolve_device("simulated"))
    near = range(method.number - 1, method.number + 2)
    neighbours = tuple(m for m in gred.methods() if m.number in near)
    rows = counters.count(settings._replace(methods=neighbours), console)
    files.write(counters.record_of(machine, settings, rows))
    _show(console, settings, method, [row.counters for row in rows])
    return files.end()


def limits(counted: gred.Counters) -> Iterator[str]:
    """Yield the reasons why a rung does not reach the memory's bandwidth, the worst first."""
    total, launches = counted.total, len(counted.passes)
    nbytes = counted.size * np.dtype(counted.dtype).itemsize
    moved, used = counters.traffic(total), counters.used(total)
    wavefronts, conflicts = counters.wavefronts(total), total.bank_conflicts
    if moved > 1.2 * nbytes:
        yield f"global memory traffic is {moved / nbytes:.1f} times the array"
    if used is not None and used < 0.5:
        yield f"{units.percent_text(used)} of the loaded bytes are used"
    if conflicts > 0.25 * wavefronts:
        share = units.percent_text(conflicts / wavefronts)
        yield f"{share} of shared-memory wavefronts are bank conflicts"
    if total.active_lanes is not None and total.active_lanes < 16:
        yield f"divergence leaves {total.active_lanes:.1f} of 32 lanes active"
    if counted.size < 256 * total.block_barriers:
        yield f"a block barrier every {counted.size / total.block_barriers:.0f} elements"
    if launches > 4:
        yield f"{launches} dependent launches"
    if total.bulk_copy_requests:
        return
    if wavefronts > 2 * total.global_load_requests:
        times = wavefronts / total.global_load_requests
        yield f"{times:.1f} shared-memory wavefronts per global load request"
    flight = total.global_load_nbytes / (total.dependent_global_loads or 1)
    if flight < 500:
        yield f"loads of {flight:.0f} bytes in flight per warp"


def limit(counted: gred.Counters, predicted: gred.Roofline) -> str:
    cause = next(limits(counted), FREE)
    if predicted.limit == "launches":
        launches = len(counted.passes)
        cause = "a short array" if launches == 1 else f"{launches} dependent launches"
    return f"limited by {predicted.why()}: {cause}"


def _show(console: Console, settings: Settings, method: Any, counted: list[gred.Counters]) -> None:
    own = next(one for one in counted if one.method == method.name)
    console.title(f"{method.number} {method.name}: {method.title}")
    first, *others = list(limits(own)) or [f"memory bandwidth: {FREE}"]
    how: dict[str, Any] = {"block_size": settings.block_size, "dtype": settings.dtype}
    long = gred.roofline(PREDICTED, method=method.name, **how)
    elements = f"{units.size_text(PREDICTED)} elements on one {long.gpu.title}"
    predicted = f"{units.time_text(long.seconds)} for {elements}, bound by {long.why()}"
    console.pairs(
        ("idea", method.idea),
        settings.array,
        ("blocks", f"of {settings.block_size} threads"),
        ("limits", first),
        *(("", text) for text in others),
        ("predicted", predicted),
    )
    for file, lines in listings(method.name, own.total.lines):
        console.line(f"kernels/{file}", "bold")
        console.line()
        for number, text in lines:
            events = [x for x in own.total.lines if (x.file, x.number) == (file, number)]
            console.line(f"{number:>4}  {text}", "" if events else "dim")
            for line in events:
                console.line(f"   ->  {told(line)}", "red" if line.conflicts else "cyan")
        console.line()
    rows = [["launches", *(str(len(one.passes)) for one in counted)]]
    for named in _COMPARED.split():
        figures = [float(getattr(one.total, named) or 0) for one in counted]
        if any(figures):
            texts = (f"{x:,.0f}" if x == int(x) else f"{x:,.1f}" for x in figures)
            rows.append([_CALLED.get(named, named.replace("_", " ")), *texts])
    columns = [Column("all passes", right=False)]
    columns += [Column(one.method, style="bold" if one is own else "dim") for one in counted]
    console.table(Table(columns, rows))
    console.text(f"drawn step by step: python -m gred show {method.name}", "dim")
    console.line()


def listings(rung: str, counted: Sequence[Line]) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """Yield numbered source lines of a rung's file, and of functions in other files it calls."""
    kernels = resources.files("gred").joinpath("kernels")
    names = [entry.name for entry in kernels.joinpath("ladder").iterdir()]
    own = next(f"ladder/{name}" for name in names if name.partition("_")[2] == f"{rung}.cuh")
    for file in dict.fromkeys([own, *(line.file for line in counted)]):
        text = kernels.joinpath(file).read_text(encoding="utf-8")
        numbers = {line.number for line in counted if line.file == file}
        spans = [(0, len(text))] if file == own else [f.span() for f in _FUNCTION.finditer(text)]
        for start, end in spans:
            lines = list(enumerate(text[start:end].splitlines(), text.count("\n", 0, start) + 1))
            if file == own or numbers.intersection(number for number, _ in lines):
                yield file, lines


def told(line: Line) -> str:
    text = f"{line.requests:,} {_EVENTS[line.event]}"
    if line.event in REQUESTS:
        transfers = "wavefronts" if line.event.startswith("shared") else "sectors"
        text += f" in {line.transfers:,} {transfers}"
    if line.conflicts:
        text += f", {line.conflicts:,} of them conflicts"
    return f"{text}; {line.lanes / line.requests:.1f} lanes"
