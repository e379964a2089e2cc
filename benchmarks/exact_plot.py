"""The speed of exact sums over size, compared with fast sums and other libraries."""

import re
from typing import Any

from matplotlib.figure import Figure
from measures.exact_figures import WHO

from gred.cli import plots, units
from gred.cli.record import Record, rows_of, title

WHAT = re.compile(r"a call, (\w+), ([\d.]+) (\w+): (.*)")
BYTES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
COLOURS = dict(
    zip(WHO.values(), ("#c0182b", "#111111", "#2ca02c", "#ee6b2f", "#76448a"), strict=True)
)


def points(kept: Record) -> dict[str, dict[str, dict[float, float]]]:
    """Return bytes and bytes per second, by type and library."""
    found: dict[str, dict[str, dict[float, float]]] = {}
    for row in rows_of(kept):
        if match := WHAT.fullmatch(row["what"]):
            dtype, count, unit, who = match.groups()
            lines = found.setdefault(dtype, {}).setdefault(who, {})
            lines[float(count) * BYTES[unit]] = 1e9 * row["value"]
    return found


def speed_figure(kept: Record) -> Figure:
    figure = Figure(figsize=(10, 4.6), layout="constrained")
    where = title(kept["machine"])
    what = f"A sum's whole call, until the answer is on the host, {where}"
    figure.suptitle(what, x=0.01, ha="left")
    found = points(kept)
    if not found:
        figure.add_subplot().set_title("nothing is measured yet")
        return figure
    panels = figure.subplots(1, len(found), sharey=True, squeeze=False)[0]
    for axes, (dtype, lines) in zip(panels, found.items(), strict=True):
        _draw(axes, dtype, lines)
    panels[0].legend(frameon=False)
    return figure


def _draw(axes: Any, dtype: str, lines: dict[str, dict[float, float]]) -> None:
    for who, colour in COLOURS.items():
        rates = lines.get(who)
        if not rates:
            continue
        axes.plot(
            list(rates), list(rates.values()), label=who, color=colour, marker="o", markersize=3,
            linewidth=1.6 if who.startswith("gred") else 1.1,
        )  # fmt: skip
    plots.over_bytes(axes, plots.ticks(units.bandwidth_text))
    axes.set_title(dtype)
