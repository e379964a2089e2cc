"""The kept results, one folder per machine, and helpers for the pages and plots made from them.

A plot contains the digest of its data, so that it can be checked without drawing.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from gred.cli import record, units
from gred.cli.record import Record

RESULTS = Path(__file__).resolve().parent / "results"
NOTHING = "*No results are kept yet.*"
# By results file, or part of the figures' file: its plots, with the functions that draw them.
PLOTS = {
    "ladder.json": {"ladder": "gred.cli.plots.ladder_figure"},
    "sweep.json": {
        "bandwidth": "gred.cli.plots.bandwidth_figure",
        "block_size": "gred.cli.plots.block_size_figure",
        "time": "gred.cli.plots.time_figure",
    },
    "roofline.json": {"roofline": "gred.cli.plots.rungs.roofline_figure"},
    "curve.json": {"cost": "curve.cost_figure"},
    "versus.json": {
        "versus_time": "gred.cli.plots.versus.time_figure",
        "versus_ratio": "gred.cli.plots.versus.ratio_figure",
    },
    "figures.json/axes": {"axes": "axes_plot.heat_figure"},
    "figures.json/exact": {"exact": "exact_plot.speed_figure"},
}
CAPTIONS = {
    "ladder": "The ladder: bandwidth of every method, and the read limit",
    "bandwidth": "Bandwidth over array size",
    "block_size": "Bandwidth over block size",
    "time": "Kernel time over array size",
    "roofline": "The roofline, and predicted and measured time of every rung",
    "cost": "Time of a sum over its size: points, fits and the best plain read",
    "versus_time": "Time of a whole call over array size, every library",
    "versus_ratio": "Speed-up over the best peer, every case",
    "axes": "Along axes: speed-up over the best peer, and share of the limit",
    "exact": "Bandwidth of whole calls over array size: exact and fast sums, and other libraries",
}


class Results:
    def __init__(self, folder: Path, page: Path) -> None:
        self.page = page
        self.folders = sorted(path for path in folder.glob("*") if path.is_dir())

    def read(self, folder: Path, name: str) -> Record | None:
        """Read a machine's file, or a part of its figures with all pieces, if it exists."""
        name, _, part = name.partition("/")
        path = folder / name
        kept = record.read_json(path) if path.exists() else None
        if not kept or not part:
            return kept
        rows = [row for row in record.rows_of(kept) if part_of(row) == part]
        return {"machine": kept["machines"][part], "rows": rows} if rows else None

    def each(self, name: str) -> Iterator[tuple[Path, Record]]:
        """Yield a file, or a part of the figures, of every machine that has it."""
        read = ((folder, self.read(folder, name)) for folder in self.folders)
        return ((folder, kept) for folder, kept in read if kept)

    def shown(self) -> tuple[Path, Record] | None:
        """Return the ladder to show and its folder, preferably of a machine with a GPU."""

        def is_no_gpu(pair: tuple[Path, Record]) -> bool:
            return not pair[1]["machine"]["device"]["name"].startswith("cuda")

        return min(self.each("ladder.json"), key=is_no_gpu, default=None)

    def link(self, path: Path) -> str:
        return Path(os.path.relpath(path, self.page.parent)).as_posix()


def place_of(folder: Path, machine: Record, name: str) -> Path:
    """Return the path of a machine's file, and create its folder."""
    path = folder / record.slug(machine) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def part_of(row: Record) -> str:
    return str(row["part"]).partition("/")[0]


def plots_of(results: Results, folder: Path, source: str) -> str:
    lines = [
        f"![{CAPTIONS[name]}]({results.link(folder / 'plots' / f'{name}.svg')})"
        for name in PLOTS[source]
    ]
    return "\n\n".join(lines)


def stale_plots(results: Results) -> Iterator[tuple[Path, str, Record]]:
    """Yield plots that are missing or outdated: the path, the drawing function, and the data."""
    for folder in results.folders:
        for source, names in PLOTS.items():
            kept = results.read(folder, source)
            for name, function in names.items() if kept else ():
                path = folder / "plots" / f"{name}.svg"
                mark = record.digest(kept).encode()
                if not path.exists() or mark not in path.read_bytes():
                    yield path, function, kept


def markdown_table(head: Sequence[str], aligned: str, rows: Sequence[Sequence[str]]) -> str:
    """Format a table; `aligned` has a letter per column, l or r."""
    rule = ["---:" if side == "r" else "---" for side in aligned]
    lines = [head, rule, *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def machine_text(machine: Record) -> str:
    """Describe a machine, its device and its software."""
    device = machine["device"]
    words = [f"**{record.title(machine)}**"]
    if device["compute_capability"]:
        words.append(f"compute capability {device['compute_capability']}")
        words.append(f"{device['units']} multiprocessors")
        words.append(units.bytes_text(device["memory"]))
    if device["l2_cache"]:
        words.append(f"{units.bytes_text(device['l2_cache'])} of L2 cache")
    if device["bandwidth"]:
        words.append(f"{units.bandwidth_text(device['bandwidth'])} in theory")
    if device["name"].startswith("cuda"):
        words.append(f"in a machine with {machine['cores']} cores of {machine['processor']}")
    else:
        words.append(f"{machine['cores']} cores")
    versions = [f"{name} {machine[name.lower()]}" for name in ("Python", "NumPy")]
    versions.insert(0, machine["system"])
    if machine["cuda"]:
        versions.append(f"CUDA {machine['cuda']}")
    if machine["driver"]:
        versions.append(f"driver {machine['driver']}")
    return f"{', '.join(words)}; {', '.join(versions)}; measured {machine['date'][:10]}."
