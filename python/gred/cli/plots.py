"""Drawings of a record: the ladder as bars, the sweep over array size, block sizes as a heat map.

Each says in its file's metadata which data it shows. Needs matplotlib; no display.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import matplotlib.colors
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from gred.cli import units
from gred.cli.record import Record, digest, rows_of, title

STYLE: Any = {
    "font.size": 9,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.titlepad": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "gred",
}
LIMIT = "#c0182b"
GRID = "#dddddd"


class Family(NamedTuple):
    """Rungs that share a colour, which darkens as they climb."""

    name: str
    first: int
    last: int
    colours: str


FAMILIES = (
    Family("global memory", 0, 3, "Purples"),
    Family("global memory, unrolled", 4, 10, "Oranges"),
    Family("shared memory", 11, 17, "Blues"),
    Family("beyond", 18, 23, "Greens"),
)


class Line(NamedTuple):
    """A method's points and how they are drawn."""

    label: str
    colour: Any
    marker: str
    dashes: str
    sizes: list[int]
    rows: list[Record]


# Turns black into white, and keeps hues.
DARK = "@media (prefers-color-scheme: dark) {svg{filter: invert(1) hue-rotate(180deg)}}"


def save(figure: Figure, path: Path, data: Any) -> None:
    """Write `figure`, in the format that the name's ending says, with the digest of `data`."""
    ending = path.suffix.lower()
    mark = digest(data)
    metadata: dict[str, dict[str, Any]] = {
        ".svg": {"Description": mark, "Date": None, "Creator": "gred"},
        ".png": {"Description": mark, "Software": "gred"},
        ".pdf": {"Subject": mark, "CreationDate": None},
    }
    with matplotlib.rc_context(STYLE):
        if ending != ".svg":
            figure.savefig(path, metadata=metadata.get(ending), dpi=144, facecolor="white")
            return
        figure.savefig(path, metadata=metadata[ending], transparent=True)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("</style>", f"{DARK}</style>", 1), encoding="utf-8")


def ladder_figure(record: Record) -> Figure:
    """Draw a bar a method in climbing order, the device's read limit as a line."""
    rows = [row for row in rows_of(record) if row["device"] == record["machine"]["device"]["name"]]
    rows = rows or rows_of(record)
    limit = record["run"]["limit_gb_per_s"]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8.5, 1.6 + 0.24 * len(rows)), layout="constrained")
        axes = figure.add_subplot()
        places = range(len(rows))
        colours = [_colour(row["number"]) for row in rows]
        axes.barh(places, [row["gb_per_s"] for row in rows], color=colours, height=0.74)
        furthest = max(limit, *(row["gb_per_s"] for row in rows))
        if _spans_scales([furthest, *(row["gb_per_s"] for row in rows)]):
            axes.set_xscale("log")
            axes.set_xlabel("logarithmic")
            axes.set_xlim(min(row["gb_per_s"] for row in rows) / 4, furthest * 1.5)
        else:
            axes.set_xlim(0, furthest * 1.04)
        for place, row, colour in zip(places, rows, colours, strict=True):
            _name_bar(axes, place, row, limit, colour)
        axes.set_yticks(places, [_label(row) for row in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_formatter(_bandwidth_ticks())
        axes.axvline(limit, color=LIMIT, linewidth=1.2)
        text = f"read limit {units.bandwidth_text(limit * 1e9)}"
        axes.annotate(
            text, (limit, 1), (0, 3), xycoords=("data", "axes fraction"), color=LIMIT,
            textcoords="offset points", ha="center", fontsize=8,
        )  # fmt: skip
        axes.set_title(_title("The ladder", record), pad=20)
    return figure


def _name_bar(axes: Axes, place: int, row: Record, limit: float, colour: Any) -> None:
    """Write a bar's figure: inside where it fits, else beside it."""
    value = row["gb_per_s"]
    share = units.percent_text(value / limit)
    text = f"{units.bandwidth_text(value * 1e9)}, {share}{'' if row['right'] else ', WRONG'}"
    to_axes = axes.transData + axes.transAxes.inverted()
    inside = to_axes.transform((value, place))[0] > 0.35
    red, green, blue = matplotlib.colors.to_rgb(colour)
    pale = 0.299 * red + 0.587 * green + 0.114 * blue > 0.55
    axes.annotate(
        text, (value, place), (-4 if inside else 4, 0), textcoords="offset points", fontsize=8,
        va="center", ha="right" if inside else "left",
        color="white" if inside and not pale else "black",
    )  # fmt: skip


def bandwidth_figure(record: Record) -> Figure:
    """Draw GB/s over array size: a line a method at its best block size, and the read limit."""
    limits = {row["size"]: row["limit_gb_per_s"] for row in _on_device(record)}
    figure = _over_size("Bandwidth over array size", record, "gb_per_s", limits, _bandwidth_ticks())
    axes = figure.axes[0]
    ends = [line.rows[-1]["gb_per_s"] for line in _lines(record)]
    if _spans_scales([limits[max(limits)], *ends]):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(_bandwidth_ticks())
    else:
        axes.set_ylim(bottom=0)
    _name_lines(axes)
    return figure


def time_figure(record: Record) -> Figure:
    """Draw kernel time over array size: each method at its best block size, and the limit."""
    limits = {row["size"]: row["nbytes"] / row["limit_gb_per_s"] for row in _on_device(record)}
    ticks = FuncFormatter(lambda y, _: shortened(units.time_text(y * 1e-9)))
    figure = _over_size("Kernel time over array size", record, "median_ns", limits, ticks)
    figure.axes[0].set_yscale("log")
    figure.axes[0].yaxis.set_major_formatter(ticks)
    _name_lines(figure.axes[0])
    return figure


def block_size_figure(record: Record) -> Figure:
    """Draw GB/s of every method at every block size, at the largest array, as a heat map."""
    rows = [row for row in _on_device(record) if row["block_size"]]
    size = max((row["size"] for row in rows), default=0)
    cells = {(_label(r), r["block_size"]): r["gb_per_s"] for r in rows if r["size"] == size}
    names = list(dict.fromkeys(name for name, _ in cells))
    blocks = sorted({block for _, block in cells})
    grid = [[cells.get((name, block), math.nan) for block in blocks] for name in names]
    with matplotlib.rc_context(STYLE):
        figure = Figure(
            figsize=(max(5.5, 3.4 + 0.75 * len(blocks)), 1.9 + 0.27 * len(names)),
            layout="constrained",
        )
        axes = figure.add_subplot()
        if not cells:
            axes.set_title("no method with a block size was measured")
            return figure
        values = list(cells.values())
        norm = "log" if _spans_scales(values) else "linear"
        image = axes.imshow(grid, aspect="auto", cmap="viridis", norm=norm)
        _write_cells(axes, grid, image.norm)
        axes.set_xticks(range(len(blocks)), [str(block) for block in blocks])
        axes.set_yticks(range(len(names)), names)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set_xlabel("block size, threads")
        colourbar = figure.colorbar(image, ax=axes, shrink=0.6, aspect=30)
        colourbar.ax.yaxis.set_major_formatter(_bandwidth_ticks())
        colourbar.outline.set_visible(False)
        limit = next(row["limit_gb_per_s"] for row in rows if row["size"] == size)
        note = f"GB/s; the read limit is {units.gigabytes_text(limit * 1e9)}"
        axes.set_title(_title(f"Block size, {units.size_text(size)} elements", record, note))
    return figure


SWEEP_FIGURES = {
    "bandwidth": bandwidth_figure,
    "block_size": block_size_figure,
    "time": time_figure,
}


def _spans_scales(values: Sequence[float]) -> bool:
    """Tell whether most values would vanish beside the largest on a linear scale."""
    return max(values) > 8 * sorted(values)[len(values) // 2]


def _write_cells(axes: Axes, grid: Sequence[Sequence[float]], norm: Any) -> None:
    for y, row in enumerate(grid):
        for x, value in enumerate(row):
            if not math.isnan(value):
                colour = "black" if norm(value) > 0.5 else "white"
                text = units.gigabytes_text(value * 1e9)
                axes.text(x, y, text, ha="center", va="center", color=colour, fontsize=8)


def _over_size(
    what: str, record: Record, key: str, limits: dict[int, float], ticks: FuncFormatter
) -> Figure:
    """Draw a line a method, and the limit's; leave room for their names on the right."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10, 6.8))
        figure.subplots_adjust(left=0.085, right=0.8, top=0.87, bottom=0.08)
        axes = figure.add_subplot()
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: units.size_text(round(x))))
        axes.yaxis.set_major_formatter(ticks)
        axes.set_xlabel("array size, elements")
        axes.grid(color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)
        for line in _lines(record):
            axes.plot(
                line.sizes, [row[key] for row in line.rows], label=line.label, color=line.colour,
                marker=line.marker, linestyle=line.dashes, markersize=3.5, linewidth=1.2,
            )  # fmt: skip
        axes.plot(
            sorted(limits), [limits[size] for size in sorted(limits)], label="read limit",
            color=LIMIT, linewidth=1.6, linestyle="--",
        )  # fmt: skip
        axes.set_title(_title(what, record, "each method at its best block size"))
    return figure


def _on_device(record: Record) -> list[Record]:
    """List the rows that the record's own device ran: those share its limit."""
    rows = rows_of(record)
    device = record["machine"]["device"]["name"]
    return [row for row in rows if row["device"] == device] or rows


def _lines(record: Record) -> list[Line]:
    """Make a line a method, in climbing order, through its best row at each size."""
    best: dict[str, dict[int, Record]] = {}
    for row in rows_of(record):
        points = best.setdefault(row["method"], {})
        known = points.get(row["size"])
        if known is None or row["median_ns"] < known["median_ns"]:
            points[row["size"]] = row
    lines = []
    for points in best.values():
        sizes = sorted(points)
        row = points[sizes[0]]
        marker, dashes = _marker(row["number"]), "-" if row["number"] is not None else "-."
        rows = [points[size] for size in sizes]
        lines.append(Line(_label(row), _colour(row["number"]), marker, dashes, sizes, rows))
    return lines


def _name_lines(axes: Axes) -> None:
    """Write each line's label beside its end, pushed apart where ends crowd, with a thin leader."""
    figure: Any = axes.figure
    figure.draw_without_rendering()
    lines = axes.get_lines()
    ends = [tuple(np.asarray(line.get_data(), float)[:, -1]) for line in lines]
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = [float(to_axes.transform(end)[1]) for end in ends]
    points = axes.get_window_extent().height / figure.dpi * 72
    with matplotlib.rc_context(STYLE):
        for line, end, place in zip(lines, ends, spread_apart(heights, 9.2 / points), strict=True):
            colour = line.get_color()
            axes.annotate(
                str(line.get_label()), end, (1.045, place), textcoords="axes fraction", va="center",
                fontsize=7.5, color=colour, annotation_clip=False,
                arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5, "alpha": 0.7,
                            "relpos": (0, 0.5), "shrinkA": 1, "shrinkB": 2},
            )  # fmt: skip


def spread_apart(wanted: Sequence[float], gap: float) -> list[float]:
    """Find places near to `wanted`, in the same order, at least `gap` apart, about 0 to 1."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    groups: list[tuple[float, list[int]]] = []
    for i in order:
        centre, members = wanted[i], [i]
        while groups and centre - groups[-1][0] < gap * (len(members) + len(groups[-1][1])) / 2:
            before, fellows = groups.pop()
            total = before * len(fellows) + centre * len(members)
            members = fellows + members
            half = gap * (len(members) - 1) / 2
            centre = min(max(total / len(members), half - 0.02), 1.04 - half)
        groups.append((centre, members))
    places = [0.0] * len(wanted)
    for centre, members in groups:
        for k, i in enumerate(members):
            places[i] = centre + gap * (k - (len(members) - 1) / 2)
    return places


def _colour(number: int | None) -> Any:
    """Choose the rung's shade of its family's colour; a yardstick is dark."""
    if number is None:
        return "#333333"
    family = next((f for f in FAMILIES if number <= f.last), FAMILIES[-1])
    place = (number - family.first) / (family.last - family.first)
    return matplotlib.colormaps[family.colours](0.5 + 0.45 * min(place, 1.0))


def _marker(number: int | None) -> str:
    return "D" if number is None else "osv^<>P"[number % 7]


def _label(row: Record) -> str:
    number = "" if row["number"] is None else f"{row['number']} "
    return f"{number}{row['method']}"


def _bandwidth_ticks() -> FuncFormatter:
    return FuncFormatter(lambda gigabytes, _: shortened(units.bandwidth_text(gigabytes * 1e9)))


def shortened(text: str) -> str:
    """Strip the zeros that end a figure on an axis: 2 TB/s."""
    number, _, unit = text.partition(" ")
    return f"{float(number):g} {unit}" if float(number) else "0"


def _title(what: str, record: Record, note: str = "") -> str:
    run, where = record["run"], title(record["machine"])
    size = f"{units.size_text(run['size'])} " if "size" in run else ""
    lines = [what, f"{run['op']} of {size}{run['dtype']} on {where}", note]
    return "\n".join(filter(None, lines))
