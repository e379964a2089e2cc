"""The report of what is promised in figures and what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kept_results import Results, part_of
from report_text import NOTHING, markdown_table

from gred.cli import record
from gred.cli.record import Record


def figures_part(results: Results) -> str:
    """List what was promised in figures and what was measured, machine by machine."""
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
        if row["kept"] is None and row["published"] is None:
            continue
        published = "-" if row["published"] is None else f"{row['published']:.3g}"
        verdict = {None: "-", True: "yes", False: "**no**"}[row["kept"]]
        table.append([row["what"], shown_value(row), published, shown_promise(row), verdict])
    return markdown_table(["what", "measured", "to compare", "promised", "kept"], "lrrrl", table)


def shown_value(row: Record) -> str:
    """Write what was measured."""
    return f"{row['value']:.3g} {row['unit']}"


def shown_promise(row: Record) -> str:
    """Write what was promised."""
    if row["at_least"] is not None:
        return f"at least {row['at_least']:.3g}"
    return "-" if row["at_most"] is None else f"at most {row['at_most']:.3g}"


def _groups(rows: Sequence[Record]) -> Iterator[str]:
    """Tell promises that hold for many cases each, then every case that falls short of its own."""
    yield groups_table(rows)
    short = [row for row in rows if row["kept"] is False]
    if short:
        listed = [[row["what"], shown_value(row), shown_promise(row)] for row in short]
        yield f"Short of their promise, {len(short)} case{'s' * (len(short) > 1)}:"
        yield markdown_table(["what", "measured", "promised"], "lrr", listed)


def groups_table(rows: Sequence[Record]) -> str:
    """Tell every group by its worst case, and how many are kept."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for row in rows:
        groups.setdefault((row["group"], shown_promise(row)), []).append(row)
    table = []
    for (name, promise), mine in groups.items():
        worst = max if promise.startswith("at most") else min
        found = worst(mine, key=lambda row: row["value"])
        kept = sum(row["kept"] is True for row in mine)
        verdict = "all" if kept == len(mine) else f"**{kept} of {len(mine)}**"
        where = f"{shown_value(found)}: {found['what'].rpartition(': ')[0]}"
        table.append([name, str(len(mine)), promise, where, verdict if promise != "-" else "-"])
    return markdown_table(["what", "cases", "promised", "worst", "kept"], "lrrll", table)
