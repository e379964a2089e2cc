"""Compares gred with all other installed libraries.

It measures whole calls, for arrays that are already on the device, until the answer is on the host,
with all libraries in turn. Every answer is checked.

A size is a number of elements, 1000 or 2**20, or of bytes, 64KiB; ranges consist of powers of two,
1KiB:1GiB. Given sizes, types, reductions or layouts replace those of the standard grid and are
combined with the rest of it. Arrays are in memory, not in the cache, unless they are so small that
they would be cached in use; the file says which. The ratio is the time of the best peer with a
right answer divided by gred's, the slower one if gred was given arrays of two libraries. Without an
output option, results go to the folder gred-versus. Drawing needs matplotlib. A peer's wrong answer
is printed, but does not change the exit status.
"""

import argparse
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

from gred.cli import cases, libraries, options, outcome, output, record
from gred.cli.cases import Case
from gred.cli.console import Console
from gred.cli.contest import Stage, compete, compile_ahead, latency_floor, stage_key
from gred.cli.libraries import Field
from gred.cli.measure import Clock, Sampling
from gred.cli.options import option
from gred.cli.record import Record

# Time of a quick comparison.
_QUICK_SECONDS = 60.0
# Most seconds, and largest share, of a limited time that are reserved for imports and drawing.
_RESERVED_SECONDS, _RESERVED_SHARE = 20.0, 1 / 3
# Overhead of a case, expressed in bytes that take as long.
_CASE_OVERHEAD_NBYTES = 1 << 28
# (kind of device, --quick) -> sampling.
_SAMPLINGS = {
    ("cuda", False): Sampling(25, 2, 0.5),
    ("cuda", True): Sampling(11, 2, 0.1),
    ("host", False): Sampling(15, 1, 0.25),
    ("host", True): Sampling(7, 1, 0.1),
}

FIGURES = {f"versus_{name}": f"gred.cli.plots.versus.{name}_figure" for name in ("time", "ratio")}


def _names(name: str, known: Collection[str], noun: str) -> options.Option:
    reads = partial(options.parse_names, known=known, noun=noun)
    return option(name, f"any of {', '.join(known)}", reads, "A,B")


OPTIONS = (
    option("--device", "cuda, cuda:1 or host (default: a GPU if there is one, else host)"),
    option("--sizes", "array sizes: 4B,64KiB:1GiB or 1000,2**20", options.parse_extents, "A,B:C"),
    _names("--types", cases.TYPES, "element type"),
    _names("--reductions", cases.REDUCTIONS, "reduction"),
    _names("--layouts", cases.LAYOUTS, "layout"),
    _names("--peers", libraries.PEERS, "peer"),
    option("--samples", "samples per library, fewer if it is slow (default: 25 on a GPU, else 15)"),
    option("--seed"),
    option("--quick", "few cases, done within a minute", action="store_true"),
    option(
        "--seconds",
        "time limit, including files: each case gets a share of it, with fewer samples; if "
        "that is not enough, cases are skipped evenly",
        *(options.parse_seconds, "N"),
    ),
    *options.PLACES,
)


class Plan(NamedTuple):
    """What to compare; `left_out` describes what cannot be."""

    device: Any
    cases: tuple[Case, ...]
    seed: int
    sampling: Sampling
    left_out: tuple[str, ...]


def run(given: argparse.Namespace, console: Console) -> int:
    seconds = given.seconds or (_QUICK_SECONDS if given.quick else None)
    clock = Clock(seconds and seconds - min(_RESERVED_SECONDS, _RESERVED_SHARE * seconds))
    plan = _plan(given)
    files = output.folder_outputs(given, console, "versus", FIGURES)
    field = _field(plan, given.peers)
    machine = output.introduce(console, plan.device, "comparison with other libraries")
    _show_plan(console, plan, field)
    floor, rows, left_out = _measure_all(plan, field, clock, console)
    run = {
        "seed": plan.seed,
        **plan.sampling._asdict(),
        **floor,
        "libraries": {
            one.key: {name: getattr(one, name) for name in ("title", "version", "ours")}
            for one in field.libraries
        },
        "absent": field.absent,
        "left_out": [*plan.left_out, *left_out],
    }
    kept = record.in_columns("versus", machine, run, rows)
    files.write(kept)
    found = outcome.outcomes(rows)
    outcome.show(console, kept, found)
    if left_out:
        console.line(f"skipped to end in time: {len(left_out)} cases from {left_out[0]}", "yellow")
    return files.end(1 if any(one.wrong for one in found) else 0)


def _plan(given: argparse.Namespace) -> Plan:
    device = options.resolve_device(given.device)
    if given.device is None and device.name == "simulated":
        device = options.resolve_device("host")
    kind = device.name.partition(":")[0]
    if kind not in ("host", "cuda"):
        raise options.UsageError(f"no other library runs on {device.name}; choose host or cuda")
    there = libraries.peers_on(device.name)
    if lacking := [peer for peer in given.peers or () if peer not in there]:
        others = f"on {device.name}; choose from {', '.join(there)}"
        raise options.UsageError(f"{lacking[0]!r} does not run {others}")
    grid = cases.GRIDS[kind, given.quick]
    sides = {name: getattr(given, name) for name in ("reductions", "types", "layouts")}
    crossed = cases.cases(grid, **sides, extents=given.sizes)
    known = [case for case in crossed if case.type.known()]
    if not known:
        why = "bfloat16 needs ml_dtypes" if crossed else "no reduction takes such arrays"
        raise options.UsageError(f"there is nothing to compare: {why}")
    sampling = _SAMPLINGS[kind, given.quick]
    sampling = sampling._replace(samples=given.samples or sampling.samples)
    left_out = () if len(known) == len(crossed) else ("bfloat16, which needs ml_dtypes",)
    return Plan(device, tuple(known), given.seed, sampling, left_out)


def _field(plan: Plan, asked: Sequence[str] | None) -> Field:
    """Find the libraries to compare; those requested by name must be available."""
    name = plan.device.name
    try:
        field = libraries.assemble(name, asked or libraries.peers_on(name))
    except libraries.LackingError as missing:
        raise options.UsageError(str(missing)) from None
    if lacking := [peer for peer in asked or () if peer in field.absent]:
        raise options.UsageError(f"--peers {lacking[0]}: {field.absent[lacking[0]]}")
    largest = max(plan.cases, key=lambda case: case.nbytes)
    kinds = len({library.pool for library in field.libraries})
    copies = {"host": largest.nbytes}
    copies[name] = copies.get(name, 0) + kinds * largest.nbytes
    options.check_room(f"{largest}: {kinds + 1} copies", copies)
    return field


def _measure_all(
    plan: Plan, field: Field, clock: Clock, console: Console
) -> tuple[Record, list[Record], list[str]]:
    measured: list[tuple[Case, list[Record]]] = []
    left_out: list[str] = []
    stage: Stage | None = None
    with console.progress(len(plan.cases) + 2) as step:
        step("compiling the libraries' kernels")
        for library in field.libraries:
            if library.compiles:
                compile_ahead(library, plan.cases)
        step("the latency floor")
        floor = latency_floor(plan.device)
        left = sum(case.nbytes + _CASE_OVERHEAD_NBYTES for case in plan.cases)
        for case in plan.cases:
            step(str(case))
            what, size = " ".join(case.series), case.nbytes + _CASE_OVERHEAD_NBYTES
            if clock.affords(what, size) and clock.admits(left):
                deadline = clock.deadline(size, left)
                with clock.timing(what, size):
                    if stage is None or stage.key != stage_key(case):
                        if stage:
                            stage.close()
                        stage = Stage(case, field.libraries, plan.device, plan.seed)
                    rows = compete(case, stage, plan.sampling, deadline)
                measured.append((case, rows))
            else:
                left_out.append(str(case))
            left -= size
    if stage:
        stage.close()
    measured.sort(key=lambda pair: cases.table_order(pair[0]))
    return floor, [row for _, rows in measured for row in rows], left_out


def _show_plan(console: Console, plan: Plan, field: Field) -> None:
    peers = [f"{lib.title} {lib.version}" for lib in field.libraries if not lib.ours]
    ours = " and ".join(carrier.title for carrier in field.carriers)
    absent = [f"{libraries.PEERS[key].title} ({reason})" for key, reason in field.absent.items()]
    samples = f"{plan.sampling.samples} samples, fewer for slow libraries"
    pairs = {
        "device": f"{plan.device.name}, arrays of {ours}",
        "peers": ", ".join(peers) or "none",
        "not available": "; ".join(absent),
        "cases": f"{len(plan.cases)}, {samples}",
        "skipped": ", ".join(plan.left_out),
    }
    console.pairs(*(pair for pair in pairs.items() if pair[1]))
