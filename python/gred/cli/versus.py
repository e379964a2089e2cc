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
import statistics
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from gred.cli import cases, libraries, options, output, record, units
from gred.cli.cases import LAYOUTS, Case, Series, series_text
from gred.cli.console import Cell, Column, Console, Table
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
    found = outcomes(rows)
    _show_outcomes(console, kept, found)
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


# ---- the outcome: for each case, the best library and gred's ratio to it ----


class Outcome(NamedTuple):
    """A case's rows, the slower of gred's, and the fastest `peer` with a right answer."""

    rows: tuple[Record, ...]
    gred: Record | None
    peer: Record | None

    @property
    def case(self) -> Record:
        return self.rows[0]

    @property
    def wrong(self) -> bool:
        return self.gred is not None and not self.gred["right"]

    @property
    def ratio(self) -> float | None:
        """The peer's time divided by gred's; None if either is missing or gred is wrong."""
        if self.gred is None or self.peer is None or self.wrong:
            return None
        return float(self.peer["median_ns"] / self.gred["median_ns"])

    @property
    def share(self) -> float | None:
        return self.gred["gb_per_s"] / self.gred["limit_gb_per_s"] if self.gred else None

    def row(self, library: str) -> Record | None:
        return next((row for row in self.rows if row["library"] == library), None)

    def __str__(self) -> str:
        return _case_text(self.case)


def series(row: Record) -> Series:
    return row["reduction"], row["dtype"], row["layout"]


def _case_text(row: Record) -> str:
    return f"{series_text(series(row))}, {row['extent']}"


def outcomes(rows: Iterable[Record]) -> list[Outcome]:
    """Group rows by case, in order; of gred's rows a wrong one takes precedence."""
    cases: dict[str, list[Record]] = {}
    for row in rows:
        cases.setdefault(_case_text(row), []).append(row)
    found = []
    for mine in cases.values():
        ours = [row for row in mine if row["ours"] and row["median_ns"]]
        peers = [row for row in mine if not row["ours"] and row["median_ns"] and row["right"]]
        worst = max(ours, key=lambda row: (not row["right"], row["median_ns"]), default=None)
        best = min(peers, key=lambda row: row["median_ns"], default=None)
        found.append(Outcome(tuple(mine), worst, best))
    return found


def mean_ratio(found: Iterable[Outcome]) -> float | None:
    """Return the geometric mean of the known ratios; None without any."""
    ratios = [outcome.ratio for outcome in found if outcome.ratio]
    return statistics.geometric_mean(ratios) if ratios else None


def time_text(row: Record | None) -> str:
    if row is None or row["median_ns"] is None:
        return "-"
    return units.time_text(row["median_ns"] * 1e-9) + ("" if row["right"] else ", wrong")


def _show_outcomes(console: Console, kept: Record, found: Sequence[Outcome]) -> None:
    run = kept["run"]
    titles = {key: library["title"] for key, library in run["libraries"].items()}

    def times_of(key: str, rank: int) -> Column:
        return Column(titles[key], lambda o: time_text(o.row(key)), style="dim", rank=rank)

    columns = [
        Column("reduction", lambda o: o.case["reduction"], right=False, style="bold"),
        Column("type", lambda o: o.case["dtype"], right=False),
        Column("layout", lambda o: LAYOUTS[o.case["layout"]].text, right=False),
        Column("size", lambda o: o.case["extent"]),
        Column("gred", lambda o: time_text(o.gred)),
        Column("best peer", lambda o: o.peer and titles[o.peer["library"]], right=False),
        Column("time", lambda o: time_text(o.peer)),
        Column("ratio", _ratio),
        Column("GB/s", lambda o: o.gred and units.gigabytes_text(o.gred["gb_per_s"] * 1e9), rank=2),
        Column("of limit", _share, rank=1),
        *(times_of(key, 3 + k) for k, key in enumerate(key for key in titles if key != "gred")),
    ]
    console.table(Table.of(columns, found))
    console.text("times: medians of whole calls, until the answer is on the host", "dim")
    limits = "of limit: share of the device's read limit"
    console.text(f"ratio: the best peer's time divided by gred's; {limits}", "dim")
    latency = f"{units.time_text(run['floor_ns'] * 1e-9)}: " if run["floor_ns"] else ""
    console.text(f"latency floor: {latency}{run['floor']}", "dim")
    console.line()
    _show_lacking_and_wrong(console, titles, [row for one in found for row in one.rows])
    _show_verdict(console, titles, [one for one in found if one.ratio is not None])


def _ratio(one: Outcome) -> Cell:
    if one.wrong:
        return Cell("WRONG", "bold red")
    if one.ratio is None:
        return Cell("no peer" if one.gred else "missing", "dim")
    return Cell(units.speedup_text(one.ratio), "green" if one.ratio >= 1 else "red")


def _share(one: Outcome) -> str:
    has_share = one.share is not None and one.case["cold"]
    return units.percent_text(one.share or 0) if has_share else "cached"


def _show_lacking_and_wrong(console: Console, titles: dict[str, str], rows: list[Record]) -> None:
    """Print what libraries lack, once per reason, and every wrong answer, gred's in capitals."""
    reasons: dict[tuple[str, str], list[Record]] = {}
    for row in rows:
        if row["missing"]:
            reasons.setdefault((row["library"], row["missing"]), []).append(row)
    for (library, reason), lacking in reasons.items():
        what = series_text(series(lacking[0]))
        if len(lacking) > 1:
            names = ", ".join(dict.fromkeys(row["reduction"] for row in lacking))
            what = f"{names} in {len(lacking)} cases"
        console.text(f"{titles[library]} lacks {what}: {reason}", "dim")
    for row in rows:
        if row["median_ns"] and not row["right"]:
            told = f"{_case_text(row)}: {row['answer']} instead of {row['expected']}"
            mark, style = ("WRONG", "bold red") if row["ours"] else ("wrong", "yellow")
            console.line(f"{mark}: {titles[row['library']]}, {told}", style)


def _show_verdict(console: Console, titles: dict[str, str], found: Sequence[Outcome]) -> None:
    if not found:
        console.line("no case has answers of both gred and a peer", "yellow")
        return
    least = min(found, key=lambda one: one.ratio or 0)
    behind = sum((one.ratio or 0) < 1 for one in found)
    ahead, mean = len(found) - behind, units.speedup_text(mean_ratio(found) or 0)
    text = f"gred is faster in {ahead} of {len(found)} cases, {mean} on geometric average"
    console.line(text, "yellow" if behind else "green")
    if behind and least.peer:
        peer = titles[least.peer["library"]]
        text = f"lowest in {least}: {units.speedup_text(least.ratio or 0)}, compared with {peer}"
        console.line(text, "red")
