"""Files to write, folders and standard output (`-`): refused before any work if it would be lost.

What was measured is written before it is shown, whatever happens to the screen.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gred.cli.options import UsageError
from gred.cli.streams import Stream

STANDARD_OUTPUT = Path("-")


class Job(NamedTuple):
    """A file, and what writes it."""

    path: Path
    write: Callable[[], None]


def parse_place(text: str) -> Path:
    """Read the name of a file or folder; `-` alone is standard output, and `./-` a file."""
    path = Path(text)
    return path.absolute() if path == STANDARD_OUTPUT and text != "-" else path


def add_place(parser: ArgumentParser, option: str, what: str) -> None:
    """Add an option that names a file to be written."""
    parser.add_argument(option, metavar="FILE", type=parse_place, help=what)


def check_apart(places: Mapping[str, Path | None]) -> None:
    """Refuse two results in one file. The keys are the options that name the places."""
    first: dict[Path, str] = {}
    for option, path in places.items():
        if path and first.setdefault(path, option) != option:
            where = "standard output" if path == STANDARD_OUTPUT else str(path)
            raise UsageError(f"{first[path]} and {option} both write to {where}")


def check_file(option: str, path: Path | None) -> None:
    """Refuse a file that cannot be written."""
    if path is None or path == STANDARD_OUTPUT:
        return
    try:
        if path.is_dir():
            raise UsageError(f"{option} {path}: this is a folder; name a file")
        if not path.parent.is_dir():
            raise UsageError(f"{option} {path}: there is no folder {path.parent}")
        _try_to_write(path)
    except OSError as error:
        raise UsageError(f"{option} {path}: cannot be written: {error.strerror}") from None


def check_folder(option: str, path: Path | None) -> None:
    """Refuse a folder to make that is a file, or standard output."""
    if path == STANDARD_OUTPUT:
        raise UsageError(f"{option} -: standard output is no folder; name one")
    if path is not None and path.exists() and not path.is_dir():
        raise UsageError(f"{option} {path}: this is a file; name a folder")


def make_folder(option: str, path: Path) -> None:
    """Make the folder and those above it, unless it is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{option} {path}: cannot be made: {error.strerror}") from None


def _try_to_write(path: Path) -> None:
    """Open the file, which changes nothing in it; pipes and devices are only asked for."""
    new = not os.path.lexists(path)
    if path.exists() and not path.is_file():
        if not os.access(path, os.W_OK):
            raise PermissionError(0, "permission denied")
        return
    with path.open("ab"):
        pass
    if new:
        path.unlink()


def text_job(path: Path, text: Callable[[], str], stdout: Stream) -> Job:
    """Make a job of what `text` returns."""

    def write() -> None:
        if path == STANDARD_OUTPUT:
            stdout.write(text())
        else:
            path.write_text(text(), encoding="utf-8", newline="")

    return Job(path, write)


def write_all(jobs: Sequence[Job]) -> tuple[list[Path], OSError | None]:
    """Write file after file: those that were written, and why the next one was not."""
    written: list[Path] = []
    for path, write in jobs:
        try:
            write()
        except OSError as error:
            return written, OSError(f"{path}: {error.strerror or error}")
        written.append(path)
    return written, None
