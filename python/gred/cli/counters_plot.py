"""The drawing of what rungs do to memory: bytes moved, shared memory's wavefronts, active lanes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gred.cli import units
from gred.cli.plots import GRID, LIMIT, STYLE
from gred.cli.record import Record, rows_of

_WARP, _SECTOR_NBYTES = 32, 32


class Part(NamedTuple):
    """One part of every bar."""

    label: str
    colour: str
    values: list[float]


def counters_figure(record: Record) -> Figure:
    """Draw three bars a rung, in climbing order, in a panel each."""
    rows = rows_of(record)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(11, 1.9 + 0.24 * len(rows)), layout="constrained")
        panels = figure.subplots(1, 3, sharey=True)
        _draw(panels[0], "global memory: bytes moved, over the array's", _moved(record))
        _draw(panels[1], "shared memory: wavefronts for 32 elements", _wavefronts(record))
        _draw(panels[2], "active lanes of 32", _lanes(record))
        panels[2].set_xlim(0, _WARP)
        panels[2].set_xticks(range(0, _WARP + 1, 8))
        panels[0].set_yticks(range(len(rows)), [f"{row['number']} {row['method']}" for row in rows])
        panels[0].set_ylim(len(rows) - 0.4, -0.6)
        figure.suptitle(_title(record), x=0.01, ha="left", fontsize=11)
    return figure


def _title(record: Record) -> str:
    run = record["run"]
    array = f"{run['op']} of {units.size_text(run['size'])} {run['dtype']}"
    grids = f"grids as on {run['multiprocessors']} multiprocessors"
    return f"What the rungs do to memory\n{array}, blocks of {run['block_size']}, {grids}"


def _draw(axes: Axes, title: str, parts: Sequence[Part]) -> None:
    """Draw the parts of each bar one after the other."""
    before = np.zeros(len(parts[0].values))
    for part in parts:
        places = range(len(part.values))
        axes.barh(
            places, part.values, left=before, label=part.label, color=part.colour, height=0.74
        )
        before = before + part.values
    axes.set_title(title, fontsize=9)
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    if len(parts) > 1:
        axes.legend(frameon=False, fontsize=8, loc="lower right")


def _totals(record: Record, name: str) -> list[float]:
    return [row["total"][name] or 0 for row in rows_of(record)]


def _moved(record: Record) -> list[Part]:
    run = record["run"]
    share = _SECTOR_NBYTES / (run["size"] * np.dtype(run["dtype"]).itemsize)
    kinds = (
        ("loads", "#4d77cf", "global_load_sectors"),
        ("stores", "#e8963c", "global_store_sectors"),
        ("bulk copies", "#1b7c83", "bulk_copy_sectors"),
    )
    parts = [Part(kind, colour, _totals(record, name)) for kind, colour, name in kinds]
    return [part._replace(values=[n * share for n in part.values]) for part in parts]


def _wavefronts(record: Record) -> list[Part]:
    warps = record["run"]["size"] / _WARP
    both = [
        [a + b for a, b in zip(*(_totals(record, name) for name in names), strict=True)]
        for names in (
            ("shared_load_wavefronts", "shared_store_wavefronts"),
            ("shared_load_conflicts", "shared_store_conflicts"),
        )
    ]
    free = [(all_of - conflicts) / warps for all_of, conflicts in zip(*both, strict=True)]
    return [
        Part("without a conflict", "#8c8c8c", free),
        Part("bank conflicts", LIMIT, [conflicts / warps for conflicts in both[1]]),
    ]


def _lanes(record: Record) -> list[Part]:
    return [Part("lanes", "#4a9c5d", _totals(record, "active_lanes"))]
