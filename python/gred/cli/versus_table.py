"""A comparison as a table, and in words: what is missing, what is wrong, who is ahead."""

from __future__ import annotations

from collections.abc import Sequence

from gred.cli import cases, outcome, record, units
from gred.cli.console import Cell, Column, Console, Table
from gred.cli.outcome import Outcome


def show(console: Console, kept: record.Record, found: Sequence[Outcome]) -> None:
    """Show a kept comparison, and the outcomes of its rows."""
    titles = {key: library["title"] for key, library in kept["run"]["libraries"].items()}
    others = [key for key in titles if key != "gred"]
    columns = [
        Column("reduction", right=False, style="bold"),
        Column("type", right=False),
        Column("layout", right=False),
        Column("size"),
        Column("gred"),
        Column("best peer", right=False),
        Column("time"),
        Column("ratio"),
        Column("GB/s", rank=2),
        Column("of limit", rank=1),
        *(Column(titles[key], style="dim", rank=3 + k) for k, key in enumerate(others)),
    ]
    console.table(Table(columns, [_line(one, titles, others) for one in found]))
    _show_words(console, kept["run"])
    rows = [row for one in found for row in one.rows]
    console.line()
    _show_lacking(console, titles, rows)
    _show_wrong(console, titles, rows)
    _show_verdict(console, titles, found)


def _line(one: Outcome, titles: dict[str, str], others: Sequence[str]) -> list[str | Cell]:
    case, gred, peer = one.case, one.gred, one.peer
    return [
        case["reduction"],
        case["dtype"],
        cases.LAYOUTS[case["layout"]].text,
        case["extent"],
        _time(gred),
        titles[peer["library"]] if peer else "-",
        _time(peer),
        _ratio(one),
        units.gigabytes_text(gred["gb_per_s"] * 1e9) if gred else "-",
        units.percent_text(one.share) if one.share is not None and case["cold"] else "cached",
        *(_time(one.row(key)) for key in others),
    ]


def _time(row: record.Record | None) -> str:
    if row is None or row["median_ns"] is None:
        return "-"
    return units.time_text(row["median_ns"] * 1e-9) + ("" if row["right"] else ", wrong")


def _ratio(one: Outcome) -> Cell:
    if one.wrong:
        return Cell("WRONG", "bold red")
    if one.ratio is None:
        return Cell("alone" if one.gred else "missing", "dim")
    return Cell(units.speedup_text(one.ratio), "green" if one.ratio >= 1 else "red")


def _show_words(console: Console, run: record.Record) -> None:
    latency = f"{units.time_text(run['floor_ns'] * 1e-9)}: " if run["floor_ns"] else ""
    for text in (
        "times: medians of whole calls, until the answer is on the host",
        "ratio: the best peer's time over gred's; of limit: of what the device reads at best",
        f"latency floor: {latency}{run['floor']}",
    ):
        console.text(text, "dim")


def _show_lacking(console: Console, titles: dict[str, str], rows: Sequence[record.Record]) -> None:
    """Say which library lacks what, and why, once for each reason."""
    for (library, reason), lacking in outcome.reasons(rows).items():
        if len(lacking) == 1:
            what = outcome.series_text(outcome.series(lacking[0]))
        else:
            names = ", ".join(dict.fromkeys(row["reduction"] for row in lacking))
            what = f"{names} in {len(lacking)} cases"
        console.text(f"{titles[library]} lacks {what}: {reason}", "dim")


def _show_wrong(console: Console, titles: dict[str, str], rows: Sequence[record.Record]) -> None:
    """Say every wrong answer, gred's in capitals."""
    for row in rows:
        if row["median_ns"] and not row["right"]:
            console.line(
                f"{'WRONG' if row['ours'] else 'wrong'}: {titles[row['library']]}, "
                f"{outcome.series_text(outcome.series(row))}, {row['extent']}: {row['answer']}, "
                f"where NumPy has {row['expected']}",
                "bold red" if row["ours"] else "yellow",
            )


def _show_verdict(console: Console, titles: dict[str, str], found: Sequence[Outcome]) -> None:
    """Sum up: ahead or behind in how many cases, by how much, and where most."""
    ratios = {str(one): (one.ratio, one) for one in found if one.ratio is not None}
    behind = sum(ratio < 1 for ratio, _ in ratios.values())
    if not ratios:
        console.line("no case has both an answer of gred's and a peer's", "yellow")
        return
    console.line(
        f"gred is ahead in {len(ratios) - behind} of {len(ratios)} cases, "
        f"{units.speedup_text(outcome.mean_ratio(found) or 0)} on geometric average",
        "yellow" if behind else "green",
    )
    if behind:
        least, worst = min(ratios.values(), key=lambda pair: pair[0])
        peer = titles[worst.peer["library"]] if worst.peer else "-"
        console.line(f"least in {worst}: {units.speedup_text(least)}, beside {peer}", "red")
