"""The report of the ladder: every method, on which machine, and its plots."""

from __future__ import annotations

from kept_results import Results
from report_plots import plots_of
from report_text import NOTHING, machine_text, markdown_table, sentence

import gred
from gred.cli import record, units
from gred.cli.record import Record


def ladder_part(results: Results) -> str:
    """Show the ladder as a table: what each method's idea is, and what it brought."""
    folder = results.shown()
    kept = results.read(folder, "ladder.json") if folder else None
    if not kept:
        return NOTHING
    run, rows = kept["run"], {row["method"]: row for row in record.rows_of(kept)}
    limit = run["limit_gb_per_s"]
    first = next((row for row in rows.values() if row["number"] is not None), None)
    table = []
    for method in gred.methods():
        row = rows.get(method.name)
        names = " or ".join(f"`{name}`" for name in (method.name, *method.aliases))
        number = "" if method.number is None else str(method.number)
        table.append(
            [number, names, f"{method.title}: {method.idea}", *_measured(row, first, limit)]
        )
    head = ["#", "method", "the idea", "time", "GB/s", "of the read limit", "speed-up"]
    what = f"{run['op']} of {units.size_text(run['size'])} {run['dtype']}"
    below = (
        f"{sentence(what)} in {run['dtype']} on one {record.title(kept['machine'])}, all "
        f"passes, medians. The read limit, {units.bandwidth_text(limit * 1e9)}, is the fastest "
        "that kernels which only read were in the same run; the speed-up is over "
        f"`{first['method'] if first else ''}`."
    )
    return markdown_table(head, "rllrrrr", table) + "\n\n" + below


def _measured(row: Record | None, first: Record | None, limit: float) -> list[str]:
    if row is None or first is None:
        return ["-"] * 4
    here = row["device"] == first["device"]
    return [
        units.time_text(row["median_ns"] * 1e-9),
        units.gigabytes_text(row["gb_per_s"] * 1e9),
        units.percent_text(row["gb_per_s"] / limit) if here else "-",
        units.speedup_text(first["median_ns"] / row["median_ns"]) if here else "on the host",
    ]


def machine_part(results: Results) -> str:
    """Describe the machine that the ladder was climbed on."""
    folder = results.shown()
    kept = results.read(folder, "ladder.json") if folder else None
    return machine_text(kept["machine"]) if kept else NOTHING


def plots_part(results: Results) -> str:
    """Show the plots of the machine whose ladder is shown."""
    folder = results.shown()
    if not folder:
        return NOTHING
    sources = [name for name in ("ladder.json", "sweep.json") if (folder / name).exists()]
    return "\n\n".join(plots_of(results, folder, source) for source in sources)
