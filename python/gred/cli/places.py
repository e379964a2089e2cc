"""Where a command with many rows writes: JSON, CSV and a folder of plots, or a folder of all three.

With no place named, that is a folder of the command's own.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gred.cli import files, options, record
from gred.cli.console import Console

Figures = Callable[[], Mapping[str, Callable[[record.Record], Any]]]


class Places(NamedTuple):
    """Where the results go, None being nowhere; and what is drawn, by the drawings' names."""

    json: Path | None
    csv: Path | None
    plots: Path | None
    figures: Figures

    def drawings(self) -> dict[Path, Callable[[record.Record], Any]]:
        """Name the drawings' files and the functions that make them."""
        if self.plots is None:
            return {}
        return {self.plots / f"{name}.svg": figure for name, figure in self.figures().items()}

    def jobs(
        self, kept: record.Record, csv: Callable[[], str], console: Console
    ) -> list[files.Job]:
        """Make the jobs of writing it all."""

        def drawing(path: Path, figure: Callable[[record.Record], Any]) -> files.Job:
            from gred.cli import plots

            return files.Job(path, lambda: plots.save(figure(kept), path, kept))

        jobs = []
        if self.json:
            jobs.append(files.text_job(self.json, lambda: record.json_text(kept), console.stdout))
        if self.csv:
            jobs.append(files.text_job(self.csv, csv, console.stdout))
        return jobs + [drawing(path, figure) for path, figure in self.drawings().items()]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the places."""
    for names, metavar, what in (
        (("--out",), "DIR", "write JSON, CSV and plots here"),
        (("--json",), "FILE", "write every sample; - is standard output"),
        (("--csv",), "FILE", "write a line a row; - is standard output"),
        (("--plots", "--plot"), "DIR", "draw here (SVG)"),
    ):
        parser.add_argument(*names, metavar=metavar, type=files.parse_place, help=what)


def choose(given: argparse.Namespace, command: str, figures: Figures) -> Places:
    """Check where to write, before anything is measured."""
    files.check_apart({"--json": given.json, "--csv": given.csv})
    for option, path in (("--out", given.out), ("--plots", given.plots)):
        files.check_folder(option, path)
    out = given.out
    if not (out or given.json or given.csv or given.plots):
        out = Path(f"gred-{command}")
        files.check_folder("--out", out)
    places = Places(
        given.json or (out and out / f"{command}.json"),
        given.csv or (out and out / f"{command}.csv"),
        given.plots or (out and out / "plots"),
        figures,
    )
    if places.plots:
        options.require_matplotlib("--plots" if given.plots else "--out")
    for option, path in (("--json", given.json), ("--csv", given.csv)):
        files.check_file(option, path)
    for option, folder in (("--out", out), ("--plots" if given.plots else "--out", places.plots)):
        if folder:
            files.make_folder(option, folder)
    _check_inside(given, places)
    return places


def _check_inside(given: argparse.Namespace, places: Places) -> None:
    """Check the files of the folders, which are there by now."""
    if not given.json:
        files.check_file("--out", places.json)
    if not given.csv:
        files.check_file("--out", places.csv)
    for path in places.drawings():
        files.check_file("--plots" if given.plots else "--out", path)
