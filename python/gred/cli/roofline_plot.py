"""The drawing of predictions: the classical roofline, and each rung's time beside its measured one.

A rung's point lies at its additions for a byte of memory. The roof is what memory and the adders
allow; how far a point lies below it is what a rung does beside adding: requests, barriers, waiting.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from gred.cli import plots, units
from gred.cli.plots import GRID, LIMIT, STYLE
from gred.cli.record import Record, rows_of

# Additions of an H200's multiprocessor in a cycle; an integer of 64 bits takes two.
_ADDITIONS = {"int32": 64, "int64": 32, "uint64": 32, "float32": 128, "float64": 64}
COLOURS = {
    "memory": "#4d77cf",
    "blocks": "#8c6bb1",
    "work": "#e8963c",
    "waiting": "#4a9c5d",
    "atomics": "#c0182b",
    "launches": "#8c8c8c",
}


def roofline_figure(record: Record) -> Figure:
    """Draw the roof with a point a rung, and beside it a bar a rung."""
    rows = rows_of(record)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(12, 2.2 + 0.24 * len(rows)), layout="constrained")
        roof, bars = figure.subplots(1, 2, width_ratios=(1, 1.25))
        _draw_roof(roof, record)
        _draw_bars(bars, rows)
        figure.suptitle(_title(record), x=0.01, ha="left", fontsize=11)
    return figure


def _title(record: Record) -> str:
    run = record["run"]
    array = f"{run['op']} of {units.size_text(run['size'])} {run['dtype']}"
    return f"What the rungs should take, and take\n{array} on one {record['gpu']['title']}"


# ---- the roof ----


def _draw_roof(axes: Axes, record: Record) -> None:
    gpu, rows = record["gpu"], rows_of(record)
    additions = _ADDITIONS[record["run"]["dtype"]]
    peak = gpu["multiprocessors"] * gpu["clock"] * additions
    intensities = np.geomspace(1 / 32, 16, 100)
    axes.plot(intensities, np.minimum(peak, intensities * gpu["bandwidth"]), color=LIMIT)
    for row in rows:
        _draw_point(axes, row, gpu["bandwidth"])
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("additions for a byte of memory, each read or written once")
    axes.set_ylabel("additions a second")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: _fraction(x)))
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    bandwidth = units.bandwidth_text(gpu["bandwidth"])
    axes.annotate(f"{bandwidth} of memory", (0.9, gpu["bandwidth"]), color=LIMIT, ha="right")
    axes.annotate(
        f"{additions} additions a cycle", (peak / gpu["bandwidth"], 1.15 * peak), color=LIMIT
    )
    axes.set_title("the roof; dots measured, rings predicted", fontsize=9)


def _draw_point(axes: Axes, row: Record, bandwidth: float) -> None:
    moved = bandwidth * row["terms_ns"]["memory"] * 1e-9
    intensity, colour = (row["size"] - 1) / moved, COLOURS[row["limit"]]
    predicted = (row["size"] - 1) / (row["predicted_ns"] * 1e-9)
    axes.plot(intensity, predicted, "o", markerfacecolor="none", color=colour, markersize=7)
    if row["measured_ns"] is not None:
        axes.plot(intensity, (row["size"] - 1) / (row["measured_ns"] * 1e-9), "o", color=colour,
                  markersize=3.5)  # fmt: skip


def _fraction(value: float) -> str:
    return f"{value:g}" if value >= 1 else f"1/{1 / value:.0f}"


# ---- the bars ----


def _draw_bars(axes: Axes, rows: Sequence[Record]) -> None:
    """Draw the prediction, coloured by what binds it, and the measured time as a line across."""
    for limit, colour in COLOURS.items():
        own = [
            (k, row["predicted_ns"] * 1e-3) for k, row in enumerate(rows) if row["limit"] == limit
        ]
        if own:
            places, times = zip(*own, strict=True)
            axes.barh(places, times, color=colour, height=0.62, label=f"bound by {limit}")
    found = [
        (k, row["measured_ns"]) for k, row in enumerate(rows) if row["measured_ns"] is not None
    ]
    if found:
        at, measured = np.array(found).T
        axes.vlines(measured * 1e-3, at - 0.42, at + 0.42, color="black", linewidth=1.6,
                    label="measured")  # fmt: skip
    axes.set_yticks(range(len(rows)), [f"{row['number']} {row['method']}" for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda us, _: plots.shortened(units.time_text(us * 1e-6)))
    )
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_title("time of all passes", fontsize=9)
    axes.legend(frameon=False, fontsize=8, loc="lower right")
