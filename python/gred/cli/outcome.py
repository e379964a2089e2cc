"""Evaluate a comparison from its rows: for each case, the best library and gred's ratio to it.

A row is one library's result in one case, as gred.cli.contest records it.
"""

import statistics
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gred.cli import units
from gred.cli.cases import LAYOUTS, Series, series_text
from gred.cli.console import Cell, Column, Console, Table
from gred.cli.record import Record


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


def show(console: Console, kept: Record, found: Sequence[Outcome]) -> None:
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
