"""The report of reductions along axes."""

from __future__ import annotations

from figures_part import groups_table
from kept_results import Results
from report_plots import plots_of

from gred.cli import record


def axes_part(results: Results) -> str:
    """Show reductions along axes beside the limit and other libraries, if they are measured."""
    parts = []
    for folder in results.folders:
        kept = results.read(folder, "figures.json/axes")
        if kept:
            rows = record.rows_of(kept)
            with_target = [row for row in rows if row["met"] is not None]
            held = sum(row["met"] for row in with_target)
            said = (
                f"Device time on one {record.title(kept['machine'])}, beside the time in which its "
                "memory could be read and written, and beside CuPy, PyTorch and, for some sums, "
                "JAX, all in the same run; of small arrays whole calls. Targets met: "
                f"{held} of {len(with_target)}."
            )
            grouped = [row for row in rows if row["group"]]
            parts += [said, groups_table(grouped), plots_of(results, folder, "figures.json/axes")]
    return "\n\n".join(["## Along axes", *parts]) if parts else ""
