"""The results that are kept, a folder a machine, and what pages and plots are made of them with.

A plot holds the digest of the data it shows, so a check needs no drawing.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from gred.cli import record, units
from gred.cli.record import Record

RESULTS = Path(__file__).resolve().parent / "results"
NOTHING = "*No results are kept yet.*"
# Results file, or a part of the figures' file: the plots of it, by module and name of the function
# that draws them.
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
        """Read one file of one machine, or one part of its figures, all pieces, if it is kept."""
        name, _, part = name.partition("/")
        path = folder / name
        kept = record.read_json(path) if path.exists() else None
        if not kept or not part:
            return kept
        rows = [row for row in record.rows_of(kept) if part_of(row) == part]
        return {"machine": kept["machines"][part], "rows": rows} if rows else None

    def each(self, name: str) -> Iterator[tuple[Path, Record]]:
        """Read one file, or one part of the figures, of every machine that has it."""
        read = ((folder, self.read(folder, name)) for folder in self.folders)
        return ((folder, kept) for folder, kept in read if kept)

    def shown(self) -> tuple[Path, Record] | None:
        """Find the machine whose ladder is shown, and that: one with a GPU before any other."""

        def is_no_gpu(pair: tuple[Path, Record]) -> bool:
            return not pair[1]["machine"]["device"]["name"].startswith("cuda")

        return min(self.each("ladder.json"), key=is_no_gpu, default=None)

    def link(self, path: Path) -> str:
        return Path(os.path.relpath(path, self.page.parent)).as_posix()


def place_of(folder: Path, machine: Record, name: str) -> Path:
    """Give the place of a machine's file, in a folder that is made if need be."""
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
    """Find plots that are missing or show other data: where, drawn by what, from what."""
    for folder in results.folders:
        for source, names in PLOTS.items():
            kept = results.read(folder, source)
            for name, function in names.items() if kept else ():
                path = folder / "plots" / f"{name}.svg"
                mark = record.digest(kept).encode()
                if not path.exists() or mark not in path.read_bytes():
                    yield path, function, kept


def markdown_table(head: Sequence[str], aligned: str, rows: Sequence[Sequence[str]]) -> str:
    """Write a table; `aligned` has a letter a column, l or r."""
    rule = ["---:" if side == "r" else "---" for side in aligned]
    lines = [head, rule, *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def machine_text(machine: Record) -> str:
    """Describe a machine, its device and what it runs."""
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
