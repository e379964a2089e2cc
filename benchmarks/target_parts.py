"""Report parts: targets and measurements, reductions along axes, and exact sums."""

import itertools
from collections.abc import Iterator, Sequence

from kept_results import NOTHING, Results, markdown_table, part_of, plots_of
from measures import exact_figures

from gred.cli import record, units
from gred.cli.record import Record


def figures_part(results: Results) -> str:
    parts = []
    for _, kept in results.each("figures.json"):
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
    return f"{row['value']:.3g} {row['unit']}"


def shown_target(row: Record) -> str:
    if row["at_least"] is not None:
        return f"at least {row['at_least']:.3g}"
    return "-" if row["at_most"] is None else f"at most {row['at_most']:.3g}"


def _groups(rows: Sequence[Record]) -> Iterator[str]:
    """Summarize targets with many cases, then list every case that misses its target."""
    yield groups_table(rows)
    short = [row for row in rows if row["met"] is False]
    if short:
        listed = [[row["what"], shown_value(row), shown_target(row)] for row in short]
        yield f"Targets not met: {len(short)} case{'s' * (len(short) > 1)}:"
        yield markdown_table(["what", "measured", "target"], "lrr", listed)


def groups_table(rows: Sequence[Record]) -> str:
    """Summarize every group by its worst case and the number of targets met."""
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


def axes_slice(results: Results) -> str:
    """Compare reductions along axes with the limit and other libraries, where measured."""
    parts = []
    for folder, kept in results.each("figures.json/axes"):
        rows = record.rows_of(kept)
        with_target = [row for row in rows if row["met"] is not None]
        held = sum(row["met"] for row in with_target)
        said = (
            f"Device time on one {record.title(kept['machine'])}, compared in the same run with "
            "the time to read and write its memory, and with CuPy, PyTorch and (some sums) JAX. "
            "For small arrays the time is that of whole calls. Targets met: "
            f"{held} of {len(with_target)}."
        )
        grouped = [row for row in rows if row["group"]]
        parts += [said, groups_table(grouped), plots_of(results, folder, "figures.json/axes")]
    return "\n\n".join(["## Along axes", *parts]) if parts else ""


def exact_part(results: Results) -> str:
    """Show other libraries' sums, and the speed of exact ones, where measured."""
    parts = []
    for folder, kept in results.each("figures.json/exact"):
        rows = record.rows_of(kept)
        of_cub = "CUB's reproducible sums, `gpu_to_gpu`, were not available."
        if any(exact_figures.CUB in row["what"] for row in rows):
            alike = "rounded, but equal on every GPU"
            of_cub = f"CUB's sums are its reproducible ones, `gpu_to_gpu`: {alike}."
        said = (
            f"On one {record.title(kept['machine'])}: sums of the same numbers, most of which "
            "cancel, in eight orders. The exact sum is computed with Python's fractions; errors "
            f"are in units in the last place of its rounded value. {of_cub}"
        )
        parts += [said, _orders(rows), plots_of(results, folder, "figures.json/exact")]
    return "\n\n".join(["## Exactly right", *parts, *_exactness_of_auto(results)]) if parts else ""


def _exactness_of_auto(results: Results) -> Iterator[str]:
    """Report whether sums of whole arrays are exact by default, and what prevents it."""
    rows = []
    for _, kept in results.each("figures.json"):
        for row in record.rows_of(kept):
            group = row.get("group") or row["what"]  # a single row is its own group
            if row["met"] is not None and "exact sum" in group:
                rows.append({**row, "group": group})
    short = [row for row in rows if not row["met"]]
    held = f"{len(rows) - len(short)} of {len(rows)} are met"
    if short:
        farthest = min(short, key=_share_of_target)
        yield (
            '`method="auto"` does not sum floats of whole arrays exactly until all targets of '
            f"exact sums are met, on the GPU and on the host; {held}. "
            f"The farthest from its target, at {units.percent_text(_share_of_target(farthest))} "
            f"of it: {farthest['what']}, {shown_value(farthest)} of {shown_target(farthest)}."
        )
    else:
        yield f"Targets of exact sums, on the GPU and on the host: {held}."
    yield groups_table(rows)


def _share_of_target(row: Record) -> float:
    """Return the share of its target that a figure reaches: 1 if it is just met."""
    if row["at_least"] is not None:
        return float(row["value"] / row["at_least"])
    return float(row["at_most"] / row["value"])


def _orders(rows: Sequence[Record]) -> str:
    """Make the table of distinct sums and errors, one line per library."""
    measured = {row["what"]: row["value"] for row in rows}
    head, lines = ["library"], {who: [who] for who in (*exact_figures.WHO.values(), "NumPy")}
    for dtype, (kind, short) in itertools.product(exact_figures.TYPES, exact_figures.ORDERS_TOLD):
        head.append(f"{dtype}: {short}")
        for who, line in lines.items():
            value = measured.get(f"{dtype} that cancel: {who}: {kind}")
            line.append("-" if value is None else f"{value:.3g}")
    told = [line for line in lines.values() if {*line[1:]} != {"-"}]
    return markdown_table(head, "l" + "r" * (len(head) - 1), told)
