"""The plots that the report shows: which there are, of what, and which of them are out of date.

A plot holds the digest of the data it shows, so a check needs no drawing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kept_results import Results

from gred.cli import record
from gred.cli.record import Record

# Results file, or a part of the figures' file: the plots of it, by module and name of the function
# that draws them.
PLOTS = {
    "ladder.json": {"ladder": "gred.cli.plots.ladder_figure"},
    "sweep.json": {
        "bandwidth": "gred.cli.plots.bandwidth_figure",
        "block_size": "gred.cli.plots.block_size_figure",
        "time": "gred.cli.plots.time_figure",
    },
    "roofline.json": {"roofline": "gred.cli.rung_plots.roofline_figure"},
    "curve.json": {"cost": "curve.cost_figure"},
    "versus.json": {
        "versus_time": "gred.cli.versus_plots.time_figure",
        "versus_ratio": "gred.cli.versus_plots.ratio_figure",
    },
    "figures.json/axes": {"axes": "axes_plot.heat_figure"},
    "figures.json/exact": {"exact": "exact_plot.speed_figure"},
}
CAPTIONS = {
    "ladder": "The ladder: bandwidth of every method, beside the read limit",
    "bandwidth": "Bandwidth over array size",
    "block_size": "Bandwidth over block size",
    "time": "Kernel time over array size",
    "roofline": "The roofline, and every rung's predicted time beside its measured one",
    "cost": "What a sum costs over its size: points, fits and the best plain read",
    "versus_time": "Time of a whole call over array size, every library",
    "versus_ratio": "How many times faster than the best peer, every case",
    "axes": "Along axes: how many times faster than the best peer, and what share of the limit",
    "exact": "Bandwidth of whole calls over array size: exact sums, fast ones and other libraries",
}


def plots_of(results: Results, folder: Path, source: str) -> str:
    """Show the plots of a file of results."""
    lines = [
        f"![{CAPTIONS[name]}]({results.link(folder / 'plots' / f'{name}.svg')})"
        for name in PLOTS[source]
    ]
    return "\n\n".join(lines)


def stale_plots(results: Results) -> Iterator[tuple[Path, str, Record]]:
    """Find plots that are missing or show other data: where, drawn by what, from what."""
    for folder in results.folders:
        for source, names in PLOTS.items():
            kept = results.read(folder, source)
            for name, function in names.items() if kept else ():
                path = folder / "plots" / f"{name}.svg"
                mark = record.digest(kept).encode()
                if not path.exists() or mark not in path.read_bytes():
                    yield path, function, kept
