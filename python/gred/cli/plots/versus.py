"""Plots of a comparison: time over size, and a heat map of gred's ratio to the best peer."""

import math
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, LogNorm, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from gred.cli import plots, units
from gred.cli.cases import LAYOUTS, REDUCTIONS, TYPES, Series, series_text
from gred.cli.plots import LIMIT
from gred.cli.record import Record, rows_of, title
from gred.cli.versus import Outcome, outcomes, series

_COLOURS = {"gred": "#111111", "gred-torch": "#777777", "numpy": "#4d77cf"}
_COLOURS |= {"bottleneck": "#8c564b", "numexpr": "#17a2b8", "torch": "#ee6b2f", "jax": "#9b59b6"}
_COLOURS |= {"cupy": "#2ca02c", "cupy-cub": "#98c93c", "cub": "#d4a017"}
_ACROSS = 3
# Pale on both sides of 1, where the color changes.
_BEHIND_OR_AHEAD = ListedColormap(
    [
        *matplotlib.colormaps["Reds_r"](np.linspace(0.1, 0.85, 64)),
        *matplotlib.colormaps["Greens"](np.linspace(0.15, 0.9, 64)),
    ]
)
# Ratios beyond this range have the extreme colors; the cell's text has the number.
_NORM = LogNorm(1 / 8, 8, clip=True)
# Cells without a peer, without gred, and with a wrong answer of gred's.
_ALONE, _LACKING, _WRONG = "#d9d9d9", "#f4f4f4", "#000000"


def time_figure(record: Record) -> Figure:
    """Draw one panel, with every library's times, for each series measured at several sizes."""
    panels: dict[Series, list[Outcome]] = {}
    for one in outcomes(rows_of(record)):
        panels.setdefault(series(one.case), []).append(one)
    several = [pair for pair in panels.items() if len(pair[1]) > 1]
    panels = dict(sorted(several, key=lambda pair: -len(pair[1])))
    across = min(_ACROSS, len(panels)) or 1
    down = math.ceil(len(panels) / across) or 1
    figure = Figure(figsize=(3.9 * across + 2.6, 3.4 * down + 1.1), layout="constrained")
    head = f"Time of a whole call over the array's size\n{title(record['machine'])}"
    figure.suptitle(head, x=0.01, ha="left")
    if not panels:
        figure.add_subplot().set_title("nothing was measured at two sizes")
        return figure
    grid = figure.subplots(down, across, squeeze=False)
    for axes, (name, points) in zip(grid.flat, panels.items(), strict=False):
        _draw_times(axes, series_text(name), points, record)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    lines = {line.get_label(): line for axes in grid.flat for line in axes.get_lines()}
    figure.legend(lines.values(), lines.keys(), loc="outside right upper", frameon=False)
    return figure


def _draw_times(axes: Axes, name: str, points: Sequence[Outcome], record: Record) -> None:
    points = sorted(points, key=lambda one: one.case["nbytes"])
    sizes = [one.case["nbytes"] for one in points]
    for key, library in record["run"]["libraries"].items():
        rows = [row for one in points if (row := one.row(key)) and row["median_ns"]]
        if rows:
            axes.plot(
                [row["nbytes"] for row in rows], [row["median_ns"] for row in rows],
                label=library["title"], color=_COLOURS.get(key, "#444444"), marker="o",
                markersize=3, linewidth=2 if library["ours"] else 1.1,
                zorder=3 if library["ours"] else 2,
            )  # fmt: skip
    limits = [one.case["nbytes"] / one.case["limit_gb_per_s"] for one in points]
    label = "read limit, from memory"
    axes.plot(sizes, limits, color=LIMIT, linestyle="--", linewidth=1.2, label=label)
    if record["run"]["floor_ns"]:
        axes.axhline(
            record["run"]["floor_ns"], color=LIMIT, linestyle=":", linewidth=1.2,
            label="latency floor",
        )  # fmt: skip
    times = [row["median_ns"] for one in points for row in one.rows if row["median_ns"]]
    plots.over_bytes(axes, plots.time_ticks())
    axes.set_ylim(bottom=min(times, default=1) / 3)
    axes.tick_params(axis="x", labelrotation=30)
    axes.set_title(name)


def ratio_figure(record: Record) -> Figure:
    """Draw the best peer's time divided by gred's: rows are reductions, columns other variables."""
    found = outcomes(rows_of(record))
    maps = [
        [one for one in found if (one.case["layout"] == "flat") is flat] for flat in (True, False)
    ]
    maps = [mine for mine in maps if mine]
    high = [len({one.case["reduction"] for one in mine}) for mine in maps]
    wide = max((len({_across(one) for one in mine}) for mine in maps), default=0)
    figsize = (2.2 + 0.56 * max(12, wide), 1.2 + sum(1.5 + 0.31 * rows for rows in high))
    figure = Figure(figsize=figsize, layout="constrained")
    head = f"How many times faster than the best peer\n{title(record['machine'])}"
    below = "green: gred is faster; red: slower; below: the best peer"
    figure.suptitle(f"{head}\n{below}", x=0.01, ha="left")
    grid = figure.add_gridspec(len(maps) or 1, 1, height_ratios=high or [1])
    for place, mine in enumerate(maps):
        _draw_map(figure.add_subplot(grid[place]), mine, wide, record)
    return figure


def _draw_map(axes: Axes, found: Sequence[Outcome], wide: int, record: Record) -> None:
    """Draw one cell per case; there is room for `wide` columns, so all maps have equal cells."""
    rows = [name for name in REDUCTIONS if any(one.case["reduction"] == name for one in found)]
    columns = sorted({_across(one) for one in found})
    for one in found:
        x, y = columns.index(_across(one)), rows.index(one.case["reduction"])
        colour: Any = _WRONG
        if one.wrong:
            text = "WRONG"
        elif one.ratio is None or one.peer is None:
            text, colour = ("no peer", _ALONE) if one.gred else ("missing", _LACKING)
        else:
            peer = record["run"]["libraries"][one.peer["library"]]["title"]
            text = f"{units.speedup_text(one.ratio)}\n{peer}"
            colour = _BEHIND_OR_AHEAD(_NORM(one.ratio))
        ink = "black" if sum(to_rgb(colour)) > 1.3 else "white"
        axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor="white"))
        axes.text(x, y, text, ha="center", va="center", fontsize=5.5, color=ink, linespacing=1.0)
    axes.set_xlim(-0.5, wide - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    names = [name for *_, name in columns]
    plots.name_cells(axes, rows, names, rotation=55, ha="right", rotation_mode="anchor")


def _across(one: Outcome) -> tuple[int, int, int, str]:
    case = one.case
    layout, dtype = LAYOUTS[case["layout"]], TYPES[case["dtype"]]
    text = "" if layout.name == "flat" else f" {layout.text}"
    return (
        tuple(LAYOUTS).index(layout.name),
        case["size"] * dtype.itemsize,
        tuple(TYPES).index(dtype.name),
        f"{dtype.name}{text}, {case['extent']}",
    )
