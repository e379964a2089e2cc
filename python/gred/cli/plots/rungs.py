"""Plots of the rungs' memory accesses, and of their predicted times: the classical roofline.

A rung's point is at its additions per byte of memory traffic. The roof is the limit of memory and
adders; the distance below it is due to other work: requests, barriers, waiting.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from gred.cli import plots, units
from gred.cli.plots import LIMIT
from gred.cli.record import Record, rows_of
from gred.counting import SECTOR_NBYTES, WARP

# Additions per cycle of an H200's multiprocessor; a 64-bit integer takes two.
_ADDITIONS = {"int32": 64, "int64": 32, "uint64": 32, "float32": 128, "float64": 64}
COLOURS = {"memory": "#4d77cf", "blocks": "#8c6bb1", "work": "#e8963c"}
COLOURS |= {"waiting": "#4a9c5d", "atomics": "#c0182b", "launches": "#8c8c8c"}
# Each part of the bars: a label, a color and the lengths.
_Parts = Sequence[tuple[str, str, Any]]


def _head(figure: Figure, what: str, run: Record, more: str) -> None:
    array = f"{run['op']} of {units.size_text(run['size'])} {run['dtype']}"
    figure.suptitle(f"{what}\n{array}{more}", x=0.01, ha="left", fontsize=11)


def counters_figure(record: Record) -> Figure:
    """Draw three panels with one bar per rung, in the ladder's order."""
    rows, run = rows_of(record), record["run"]
    names = rows[0]["total"]
    totals = {name: np.array([row["total"][name] or 0 for row in rows], float) for name in names}
    share = SECTOR_NBYTES / (run["size"] * np.dtype(run["dtype"]).itemsize)
    moved = [
        ("loads", "#4d77cf", totals["global_load_sectors"] * share),
        ("stores", "#e8963c", totals["global_store_sectors"] * share),
        ("bulk copies", "#1b7c83", totals["bulk_copy_sectors"] * share),
    ]
    warps = run["size"] / WARP
    every = totals["shared_load_wavefronts"] + totals["shared_store_wavefronts"]
    conflicts = totals["shared_load_conflicts"] + totals["shared_store_conflicts"]
    wavefronts = [
        ("without a conflict", "#8c8c8c", (every - conflicts) / warps),
        ("bank conflicts", LIMIT, conflicts / warps),
    ]
    figure = Figure(figsize=(11, 1.9 + 0.24 * len(rows)), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    _draw_parts(panels[0], "global memory: bytes moved / array bytes", moved)
    _draw_parts(panels[1], "shared memory: wavefronts per 32 elements", wavefronts)
    lanes = [("lanes", "#4a9c5d", totals["active_lanes"])]
    _draw_parts(panels[2], "active lanes of 32", lanes)
    panels[2].set_xlim(0, WARP)
    panels[2].set_xticks(range(0, WARP + 1, 8))
    plots.name_rows(panels[0], rows)
    grids = f"grids as on {run['multiprocessors']} multiprocessors"
    what = "Memory accesses of the rungs"
    _head(figure, what, run, f", blocks of {run['block_size']}, {grids}")
    return figure


def _draw_parts(axes: Axes, title: str, parts: _Parts) -> None:
    before = np.zeros(len(parts[0][2]))
    for label, colour, lengths in parts:
        axes.barh(range(len(lengths)), lengths, left=before, label=label, color=colour, height=0.74)
        before = before + lengths
    axes.set_title(title, fontsize=9)
    plots.grid(axes, "x")
    axes.tick_params(axis="y", length=0)
    if len(parts) > 1:
        axes.legend(frameon=False, fontsize=8, loc="lower right")


def roofline_figure(record: Record) -> Figure:
    """Draw the roof with one point per rung, and a panel with one bar per rung."""
    rows = rows_of(record)
    figure = Figure(figsize=(12, 2.2 + 0.24 * len(rows)), layout="constrained")
    roof, bars = figure.subplots(1, 2, width_ratios=(1, 1.25))
    _draw_roof(roof, record)
    _draw_bars(bars, rows)
    on = f" on one {record['gpu']['title']}"
    _head(figure, "Predicted and measured times of the rungs", record["run"], on)
    return figure


def _draw_roof(axes: Axes, record: Record) -> None:
    gpu, rows = record["gpu"], rows_of(record)
    bandwidth, additions = gpu["bandwidth"], _ADDITIONS[record["run"]["dtype"]]
    peak = gpu["multiprocessors"] * gpu["clock"] * additions
    intensities = np.geomspace(1 / 32, 16, 100)
    axes.plot(intensities, np.minimum(peak, intensities * bandwidth), color=LIMIT)
    for row in rows:
        count, colour = row["size"] - 1, COLOURS[row["limit"]]
        intensity = count / (bandwidth * row["terms_ns"]["memory"] * 1e-9)
        predicted = count / (row["predicted_ns"] * 1e-9)
        axes.plot(intensity, predicted, "o", markerfacecolor="none", color=colour, markersize=7)
        if row["measured_ns"] is not None:
            measured = count / (row["measured_ns"] * 1e-9)
            axes.plot(intensity, measured, "o", color=colour, markersize=3.5)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("additions per byte of memory traffic")
    axes.set_ylabel("additions per second")
    shares = FuncFormatter(lambda x, _: f"{x:g}" if x >= 1 else f"1/{1 / x:.0f}")
    axes.xaxis.set_major_formatter(shares)
    plots.grid(axes)
    text = f"{units.bandwidth_text(bandwidth)} of memory"
    axes.annotate(text, (0.9, bandwidth), color=LIMIT, ha="right")
    axes.annotate(f"{additions} additions per cycle", (peak / bandwidth, 1.15 * peak), color=LIMIT)
    axes.set_title("the roof; dots measured, rings predicted", fontsize=9)


def _draw_bars(axes: Axes, rows: Sequence[Record]) -> None:
    """Draw predictions, colored by their limit, and measured times as lines across the bars."""
    for limit, colour in COLOURS.items():
        places = [k for k, row in enumerate(rows) if row["limit"] == limit]
        if places:
            times = [rows[k]["predicted_ns"] * 1e-3 for k in places]
            axes.barh(places, times, color=colour, height=0.62, label=f"bound by {limit}")
    at = np.array([k for k, row in enumerate(rows) if row["measured_ns"] is not None])
    if at.size:
        measured = np.array([rows[k]["measured_ns"] for k in at]) * 1e-3
        how: Any = {"color": "black", "linewidth": 1.6, "label": "measured"}
        axes.vlines(measured, at - 0.42, at + 0.42, **how)
    plots.name_rows(axes, rows)
    axes.xaxis.set_major_formatter(plots.time_ticks(1e-6))
    plots.grid(axes, "x")
    axes.set_title("time of all passes", fontsize=9)
    axes.legend(frameon=False, fontsize=8, loc="lower right")
