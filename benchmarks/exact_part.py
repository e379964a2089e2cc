"""The report of exact sums: what others make of the same numbers, and how fast they all are."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import exact_figures
from figures_part import groups_table, shown_target, shown_value
from kept_results import Results
from report_plots import plots_of
from report_text import markdown_table

from gred.cli import record, units
from gred.cli.record import Record


def exact_part(results: Results) -> str:
    """Show what sums other libraries make, and how fast exact ones are, if they are measured."""
    parts = []
    for folder in results.folders:
        kept = results.read(folder, "figures.json/exact")
        if kept:
            said = (
                f"On one {record.title(kept['machine'])}: the same numbers, most of which cancel, "
                "in eight orders. The exact sum is that of Python's fractions; errors are in units "
                "in the last place of what it rounds to. "
                f"{_of_cub(record.rows_of(kept))}"
            )
            plots = plots_of(results, folder, "figures.json/exact")
            parts += [said, _orders(record.rows_of(kept)), plots]
    return "\n\n".join(["## Exactly right", *parts, *_exactness_of_auto(results)]) if parts else ""


def _of_cub(rows: Sequence[Record]) -> str:
    """Say what CUB's sums are, if they were there."""
    if any(exact_figures.CUB in row["what"] for row in rows):
        return (
            "CUB's sums are its reproducible ones, `gpu_to_gpu`: rounded, but alike on every GPU."
        )
    return "CUB's reproducible sums, `gpu_to_gpu`, were not at hand."


def _exactness_of_auto(results: Results) -> Iterator[str]:
    """Say whether whole arrays' sums are exact by themselves, and what keeps them from it."""
    rows = [row for folder in results.folders for row in _exact_targets(results, folder)]
    short = [row for row in rows if not row["met"]]
    held = f"{len(rows) - len(short)} of {len(rows)} are met"
    if short:
        farthest = min(short, key=_share_of_target)
        yield (
            '`method="auto"` adds floats of whole arrays exactly once all targets of '
            "exact sums are met, on the GPU and on the host. "
            f"Of these figures {held}, so it stays fast. "
            f"The farthest from its target, at {units.percent_text(_share_of_target(farthest))} "
            f"of it, is: {farthest['what']}, {shown_value(farthest)} of {shown_target(farthest)}."
        )
    else:
        yield f"Of the targets of exact sums, on the GPU and on the host, {held}."
    yield groups_table(rows)


def _exact_targets(results: Results, folder: Path) -> Iterator[Record]:
    """List the targets of exact sums and what was measured; what stands alone is a group of one."""
    kept = results.read(folder, "figures.json")
    for row in record.rows_of(kept) if kept else ():
        group = row.get("group") or row["what"]
        if row["met"] is not None and "exact sum" in group:
            yield {**row, "group": group}


def _share_of_target(row: Record) -> float:
    """Say what share of its target a figure reaches: 1 where it is just met."""
    if row["at_least"] is not None:
        return float(row["value"] / row["at_least"])
    return float(row["at_most"] / row["value"])


def _orders(rows: Sequence[Record]) -> str:
    """Make the table of different sums and errors, a line for everybody who adds."""
    measured = {row["what"]: row["value"] for row in rows}
    head, lines = ["who adds"], {who: [who] for who in (*exact_figures.WHO.values(), "NumPy")}
    for dtype, (kind, short) in itertools.product(exact_figures.TYPES, exact_figures.ORDERS_TOLD):
        head.append(f"{dtype}: {short}")
        for who, line in lines.items():
            value = measured.get(f"{dtype} that cancel: {who}: {kind}")
            line.append("-" if value is None else f"{value:.3g}")
    told = [line for line in lines.values() if {*line[1:]} != {"-"}]
    return markdown_table(head, "l" + "r" * (len(head) - 1), told)
