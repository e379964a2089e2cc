"""The report of targets and what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kept_results import Results, part_of
from report_text import NOTHING, markdown_table

from gred.cli import record
from gred.cli.record import Record


def figures_part(results: Results) -> str:
    """List targets and what was measured, machine by machine."""
    parts = []
    for folder in results.folders:
        kept = results.read(folder, "figures.json")
        if kept:
            machine = next(iter(kept["machines"].values()))
            rows = [row for row in record.rows_of(kept) if part_of(row) != "axes"]
            single = [row for row in rows if not row.get("group")]
            grouped = [row for row in rows if row.get("group")]
            parts.append(f"{record.title(machine)}, {machine['cores']} cores:")
            parts += [_figures(single), *(_groups(grouped) if grouped else ())]
    return "\n\n".join(parts) or NOTHING


def _figures(rows: Sequence[Record]) -> str:
    table = []
    for row in rows:
        if row["met"] is None and row["published"] is None:
            continue
        published = "-" if row["published"] is None else f"{row['published']:.3g}"
        verdict = {None: "-", True: "yes", False: "**no**"}[row["met"]]
        table.append([row["what"], shown_value(row), published, shown_target(row), verdict])
    return markdown_table(["what", "measured", "to compare", "target", "met"], "lrrrl", table)


def shown_value(row: Record) -> str:
    """Write what was measured."""
    return f"{row['value']:.3g} {row['unit']}"


def shown_target(row: Record) -> str:
    """Write the target."""
    if row["at_least"] is not None:
        return f"at least {row['at_least']:.3g}"
    return "-" if row["at_most"] is None else f"at most {row['at_most']:.3g}"


def _groups(rows: Sequence[Record]) -> Iterator[str]:
    """Sum up targets of many cases each, then list every case that misses its own."""
    yield groups_table(rows)
    short = [row for row in rows if row["met"] is False]
    if short:
        listed = [[row["what"], shown_value(row), shown_target(row)] for row in short]
        yield f"Targets not met: {len(short)} case{'s' * (len(short) > 1)}:"
        yield markdown_table(["what", "measured", "target"], "lrr", listed)


def groups_table(rows: Sequence[Record]) -> str:
    """Sum up every group by its worst case, and how many are met."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for row in rows:
        groups.setdefault((row["group"], shown_target(row)), []).append(row)
    table = []
    for (name, target), mine in groups.items():
        worst = max if target.startswith("at most") else min
        found = worst(mine, key=lambda row: row["value"])
        kept = sum(row["met"] is True for row in mine)
        verdict = "all" if kept == len(mine) else f"**{kept} of {len(mine)}**"
        where = f"{shown_value(found)}: {found['what'].rpartition(': ')[0]}"
        table.append([name, str(len(mine)), target, where, verdict if target != "-" else "-"])
    return markdown_table(["what", "cases", "target", "worst", "met"], "lrrll", table)
