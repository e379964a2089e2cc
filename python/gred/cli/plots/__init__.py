"""Plots of a record: the ladder as bars, the sweep over array size, block sizes as a heat map.

Each file's metadata has the digest of its data. Needs matplotlib, but no display.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

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
# Ranges of rungs that share a color, darker for later rungs: in global memory, unrolled in global
# memory, in shared memory, and later ones.
_SHADES = ((0, 3, "Purples"), (4, 10, "Oranges"), (11, 17, "Blues"), (18, 23, "Greens"))
# Inverts lightness and keeps hues.
DARK = "@media (prefers-color-scheme: dark) {svg{filter: invert(1) hue-rotate(180deg)}}"


def save(figure: Figure, path: Path, data: Any) -> None:
    """Write `figure`, in the format of the file name's suffix, with the digest of `data`."""
    ending, mark = path.suffix.lower(), digest(data)
    metadata: dict[str, dict[str, Any]] = {
        ".svg": {"Description": mark, "Date": None, "Creator": "gred"},
        ".png": {"Description": mark, "Software": "gred"},
        ".pdf": {"Subject": mark, "CreationDate": None},
    }
    is_svg = ending == ".svg"
    paper: Any = {"transparent": True} if is_svg else {"dpi": 144, "facecolor": "white"}
    figure.savefig(path, metadata=metadata.get(ending), **paper)
    if is_svg:
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("</style>", f"{DARK}</style>", 1), encoding="utf-8")


def ticks(write: Callable[[float], str]) -> FuncFormatter:
    """Return a formatter of ticks without trailing zeros: 2 TB/s."""

    def shortened(value: float, _: object) -> str:
        number, _, unit = write(value).partition(" ")
        return f"{float(number):g} {unit}" if float(number) else "0"

    return FuncFormatter(shortened)


def bandwidth_ticks() -> FuncFormatter:
    return ticks(lambda gigabytes: units.bandwidth_text(gigabytes * 1e9))


def time_ticks(unit: float = 1e-9) -> FuncFormatter:
    return ticks(lambda value: units.time_text(value * unit))


def grid(axes: Axes, axis: Any = "both") -> None:
    axes.grid(axis=axis, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)


def over_bytes(axes: Axes, heights: FuncFormatter) -> None:
    """Make both axes logarithmic: bytes, and heights with the given tick formatter."""
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: units.bytes_text(x)))
    axes.yaxis.set_major_formatter(heights)
    grid(axes)


def name_rows(axes: Axes, rows: Sequence[Record]) -> None:
    axes.set_yticks(range(len(rows)), [label(row) for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)


def label(row: Record) -> str:
    return str(row["method"] if row["number"] is None else f"{row['number']} {row['method']}")


def name_cells(axes: Axes, names: Sequence[str], columns: Sequence[str], **how: Any) -> None:
    axes.set_xticks(range(len(columns)), columns, **how)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _title(what: str, record: Record, note: str = "") -> str:
    run, where = record["run"], title(record["machine"])
    size = f"{units.size_text(run['size'])} " if "size" in run else ""
    return f"{what}\n{run['op']} of {size}{run['dtype']} on {where}" + (note and f"\n{note}")


def _on_device(record: Record) -> list[Record]:
    """Return the rows of the record's own device, which share its limit."""
    rows = rows_of(record)
    device = record["machine"]["device"]["name"]
    return [row for row in rows if row["device"] == device] or rows


def _spans_scales(values: Sequence[float]) -> bool:
    """Return whether most values would be too small to see on a linear scale."""
    return max(values) > 8 * sorted(values)[len(values) // 2]


def _colour(number: int | None) -> Any:
    """Return the rung's shade of its family's color; methods without a number are dark."""
    if number is None:
        return "#333333"
    first, last, colours = next((s for s in _SHADES if number <= s[1]), _SHADES[-1])
    place = (number - first) / (last - first)
    return matplotlib.colormaps[colours](0.5 + 0.45 * min(place, 1.0))


def ladder_figure(record: Record) -> Figure:
    """Draw one bar per method, in the ladder's order, and the device's read limit as a line."""
    rows = _on_device(record)
    limit, rates = record["run"]["limit_gb_per_s"], [row["gb_per_s"] for row in rows]
    figure = Figure(figsize=(8.5, 1.6 + 0.24 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    colours = [_colour(row["number"]) for row in rows]
    axes.barh(range(len(rows)), rates, color=colours, height=0.74)
    furthest = max(limit, *rates)
    if _spans_scales([furthest, *rates]):
        axes.set_xscale("log")
        axes.set_xlabel("logarithmic")
        axes.set_xlim(min(rates) / 4, furthest * 1.5)
    else:
        axes.set_xlim(0, furthest * 1.04)
    to_axes = axes.transData + axes.transAxes.inverted()
    for place, (row, value, colour) in enumerate(zip(rows, rates, colours, strict=True)):
        share = units.percent_text(value / limit)
        text = f"{units.bandwidth_text(value * 1e9)}, {share}{'' if row['right'] else ', WRONG'}"
        inside = to_axes.transform((value, place))[0] > 0.35
        red, green, blue = matplotlib.colors.to_rgb(colour)
        pale = 0.299 * red + 0.587 * green + 0.114 * blue > 0.55
        axes.annotate(
            text, (value, place), (-4 if inside else 4, 0), textcoords="offset points", fontsize=8,
            va="center", ha="right" if inside else "left",
            color="white" if inside and not pale else "black",
        )  # fmt: skip
    name_rows(axes, rows)
    axes.xaxis.set_major_formatter(bandwidth_ticks())
    axes.axvline(limit, color=LIMIT, linewidth=1.2)
    text = f"read limit {units.bandwidth_text(limit * 1e9)}"
    axes.annotate(
        text, (limit, 1), (0, 3), xycoords=("data", "axes fraction"), color=LIMIT,
        textcoords="offset points", ha="center", fontsize=8,
    )  # fmt: skip
    axes.set_title(_title("The ladder", record), pad=20)
    return figure


def bandwidth_figure(record: Record) -> Figure:
    limits = {row["size"]: row["limit_gb_per_s"] for row in _on_device(record)}
    return _over_size("Bandwidth over array size", record, "gb_per_s", limits)


def time_figure(record: Record) -> Figure:
    limits = {row["size"]: row["nbytes"] / row["limit_gb_per_s"] for row in _on_device(record)}
    return _over_size("Kernel time over array size", record, "median_ns", limits)


def block_size_figure(record: Record) -> Figure:
    """Draw a heat map of GB/s for every method and block size, at the largest array."""
    rows = [row for row in _on_device(record) if row["block_size"]]
    size = max((row["size"] for row in rows), default=0)
    cells = {(label(r), r["block_size"]): r["gb_per_s"] for r in rows if r["size"] == size}
    names = list(dict.fromkeys(name for name, _ in cells))
    blocks = sorted({block for _, block in cells})
    rates = [[cells.get((name, block), math.nan) for block in blocks] for name in names]
    figsize = (max(5.5, 3.4 + 0.75 * len(blocks)), 1.9 + 0.27 * len(names))
    figure = Figure(figsize=figsize, layout="constrained")
    axes = figure.add_subplot()
    if not cells:
        axes.set_title("no method with a block size was measured")
        return figure
    norm = "log" if _spans_scales(list(cells.values())) else "linear"
    image: Any = axes.imshow(rates, aspect="auto", cmap="viridis", norm=norm)
    for y, row in enumerate(rates):
        for x, value in enumerate(row):
            if not math.isnan(value):
                colour = "black" if image.norm(value) > 0.5 else "white"
                text = units.gigabytes_text(value * 1e9)
                axes.text(x, y, text, ha="center", va="center", color=colour, fontsize=8)
    name_cells(axes, names, [str(block) for block in blocks])
    axes.set_xlabel("block size, threads")
    colourbar: Any = figure.colorbar(image, ax=axes, shrink=0.6, aspect=30)
    colourbar.ax.yaxis.set_major_formatter(bandwidth_ticks())
    colourbar.outline.set_visible(False)
    limit = next(row["limit_gb_per_s"] for row in rows if row["size"] == size)
    note = f"GB/s; the read limit is {units.gigabytes_text(limit * 1e9)}"
    axes.set_title(_title(f"Block size, {units.size_text(size)} elements", record, note))
    return figure


def _over_size(what: str, record: Record, key: str, limits: dict[int, float]) -> Figure:
    """Draw one line per method, at its best block size, and the limit, labeled on the right."""
    figure = Figure(figsize=(10, 6.8))
    figure.subplots_adjust(left=0.085, right=0.8, top=0.87, bottom=0.08)
    axes = figure.add_subplot()
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: units.size_text(round(x))))
    axes.set_xlabel("array size, elements")
    grid(axes)
    # Each method's best row at each size, in the ladder's order.
    points: dict[str, dict[int, Record]] = {row["method"]: {} for row in rows_of(record)}
    for row in sorted(rows_of(record), key=lambda row: -row["median_ns"]):
        points[row["method"]][row["size"]] = row
    best = [[of[size] for size in sorted(of)] for of in points.values()]
    for rows in best:
        number = rows[0]["number"]
        axes.plot(
            [row["size"] for row in rows], [row[key] for row in rows], label=label(rows[0]),
            color=_colour(number), marker="D" if number is None else "osv^<>P"[number % 7],
            linestyle="-." if number is None else "-", markersize=3.5, linewidth=1.2,
        )  # fmt: skip
    axes.plot(
        sorted(limits), [limits[size] for size in sorted(limits)], label="read limit",
        color=LIMIT, linewidth=1.6, linestyle="--",
    )  # fmt: skip
    if key == "median_ns" or _spans_scales([limits[max(limits)], *(r[-1][key] for r in best)]):
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(time_ticks() if key == "median_ns" else bandwidth_ticks())
    axes.set_title(_title(what, record, "each method at its best block size"))
    _name_lines(figure, axes)
    return figure


def _name_lines(figure: Figure, axes: Axes) -> None:
    figure.draw_without_rendering()
    lines = axes.get_lines()
    ends = [tuple(np.asarray(line.get_data(), float)[:, -1]) for line in lines]
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = [float(to_axes.transform(end)[1]) for end in ends]
    points = axes.get_window_extent().height / figure.dpi * 72
    for line, end, place in zip(lines, ends, spread_apart(heights, 9.2 / points), strict=True):
        colour = line.get_color()
        axes.annotate(
            str(line.get_label()), end, (1.045, place), textcoords="axes fraction", va="center",
            fontsize=7.5, color=colour, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5, "alpha": 0.7,
                        "relpos": (0, 0.5), "shrinkA": 1, "shrinkB": 2},
        )  # fmt: skip


def spread_apart(wanted: Sequence[float], gap: float) -> list[float]:
    """Return positions near `wanted`, in the same order, at least `gap` apart, in about 0..1."""
    order, gaps = np.argsort(wanted, kind="stable"), gap * np.arange(len(wanted))
    loose = np.asarray(wanted, float)[order] - gaps
    up, down = np.maximum.accumulate(loose), np.minimum.accumulate(loose[::-1])[::-1]
    found = (up + down) / 2 + gaps
    found -= max(0.0, found[-1] - 1.04)
    places = np.empty(len(wanted))
    places[order] = np.maximum(found, gaps - 0.02)
    return [float(place) for place in places]
