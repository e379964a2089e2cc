"""The report of what a sum costs over its size."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import curve
from kept_results import Results
from report_plots import plots_of
from report_text import NOTHING, machine_text, markdown_table

from gred.cli import record, units
from gred.cli.record import Record


def curve_part(results: Results) -> str:
    """Show what a sum costs over its size, machine by machine: the fits, and what is above them."""
    parts = []
    for folder in results.folders:
        kept = results.read(folder, "curve.json")
        if kept:
            shown = (
                machine_text(kept["machine"]),
                _fits(kept),
                plots_of(results, folder, "curve.json"),
            )
            parts += [*shown, _above_the_fits(kept), _beyond_reading(record.rows_of(kept))]
    return "\n\n".join(parts) or NOTHING


def _fits(kept: Record) -> str:
    rows = record.rows_of(kept)
    fits = "; ".join(
        f"{curve.KINDS[kind]} {curve.formula(fit)}" for kind, fit in curve.fits_of(rows).items()
    )
    return (
        f"Sum of n {kept['run']['dtype']}, n = 1, 2, 4, ... {units.size_text(rows[-1]['n'])}: "
        f"{fits}. Fitted with the least sum of relative errors; all measured in one run."
    )


def _above_the_fits(kept: Record) -> str:
    """List the points too far above their fit, beside how far reading alone is above its own."""
    rows = record.rows_of(kept)
    fits = curve.fits_of(rows)
    reading = fits.pop("limit_ns")
    table = []
    for kind, row in ((kind, row) for kind in fits for row in rows):
        excess = curve.excess(fits[kind], row, kind)
        share = excess / fits[kind].seconds(row["nbytes"])
        if share > curve.TOLERANCE:
            of_reading = max(0.0, curve.excess(reading, row, "limit_ns") / excess)
            point = f"{curve.KINDS[kind]}, {units.bytes_text(row['nbytes'])}"
            measured = units.time_text(row[kind] * 1e-9)
            shares = units.percent_text(share), units.percent_text(of_reading)
            table.append([point, f"{row['grid']:,}", measured, *shares])
    tolerance = units.percent_text(curve.TOLERANCE)
    if not table:
        return f"No point is more than {tolerance} above its fit."
    head = ["point", "blocks", "measured", "above its fit", "of which reading is above its own"]
    return f"Points more than {tolerance} above their fit:\n\n" + markdown_table(
        head, "lrrrr", table
    )


def _beyond_reading(rows: Sequence[Record]) -> str:
    """Tell what a device needs beside reading, in one block and in several."""
    needed: dict[bool, list[float]] = {True: [], False: []}
    for row in rows:
        needed[row["grid"] > 1].append((row["device_ns"] - row["limit_ns"]) * 1e-9)
    texts = [
        f"{units.time_text(max(0.0, statistics.median(seconds)))} where there {blocks}"
        for blocks, seconds in (("is one block", needed[False]), ("are several", needed[True]))
        if seconds
    ]
    return f"Device time beyond the best plain read's, medians: {', '.join(texts)}."
