"""A heat map of reductions along axes: color for the best peer, a number for the limit."""

import math
import re
from typing import Any, NamedTuple

import matplotlib
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from measures.axes_figures import OPS, TYPES

from gred.cli.record import Record, rows_of, title

WHAT = re.compile(r"(\w+) (\w+) (\(.*), ([\d.]+ [KMG]iB): (of the limit|.*'s time over gred's)")
ALONE = "#d9d9d9"
# Ratios of the greenest and the reddest color.
NORM = LogNorm(1 / 4, 4, clip=True)


class Cell(NamedTuple):
    """A case: the speed relative to the best peer, and the share of the limit."""

    ratio: float
    share: float


def cells(kept: Record) -> dict[tuple[str, tuple[str, str, str]], Cell]:
    """Return the cases, by shape and by size, type and reduction."""
    found: dict[tuple[str, tuple[str, str, str]], Cell] = {}
    for row in rows_of(kept):
        if match := WHAT.match(row["what"]):
            op, dtype, shape, size, what = match.groups()
            place = shape, (size, dtype, op)
            cell = found.get(place, Cell(math.nan, math.nan))
            changed = "share" if what == "of the limit" else "ratio"
            found[place] = cell._replace(**{changed: row["value"]})
    return found


def heat_figure(kept: Record) -> Figure:
    """Draw shapes as rows, and sizes, types and reductions as columns."""
    found = cells(kept)
    shapes = list(dict.fromkeys(shape for shape, _ in found))
    across = sorted({column for _, column in found}, key=_order)
    grid = [[found.get((shape, column)) for column in across] for shape in shapes]
    figure = Figure(
        figsize=(2.6 + 0.36 * max(16, len(across)), 1.9 + 0.19 * len(shapes)), layout="constrained"
    )
    axes = figure.add_subplot()
    ratios = [[cell.ratio if cell else math.nan for cell in row] for row in grid]
    colours = matplotlib.colormaps["RdYlGn"].with_extremes(bad=ALONE)
    axes.imshow(ratios or [[math.nan]], cmap=colours, norm=NORM, aspect="auto")
    for y, row in enumerate(grid):
        for x, cell in enumerate(row):
            _write(axes, x, y, cell)
    names = [" ".join((dtype, op)) for _, dtype, op in across]
    axes.set_xticks(range(len(across)), names, rotation=90, fontsize=7)
    axes.set_yticks(range(len(shapes)), shapes, fontsize=7)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    sizes = " and ".join(dict.fromkeys(size for size, _, _ in across))
    axes.set_title(
        f"Along axes, {sizes}, {title(kept['machine'])}\n"
        "green: ahead of the best peer; red: behind; grey: no peer within 20 ms\n"
        "the number: percent of what could be read and written in the time"
    )
    return figure


def _order(column: tuple[str, str, str]) -> tuple[bool, int, int]:
    size, dtype, op = column
    return size.endswith("GiB"), TYPES.index(dtype), OPS.index(op)


def _write(axes: Any, x: int, y: int, cell: Cell | None) -> None:
    if cell and not math.isnan(cell.share):
        ahead = 0.5 if math.isnan(cell.ratio) else float(NORM(cell.ratio))
        ink = "black" if 0.12 < ahead < 0.88 else "white"
        percent = f"{100 * cell.share:.0f}"
        axes.text(x, y, percent, ha="center", va="center", fontsize=5.5, color=ink)
