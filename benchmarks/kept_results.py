"""The results that are kept: a folder a machine, a file of it a kind of measurement."""

from __future__ import annotations

import os
from pathlib import Path

from gred.cli import record
from gred.cli.record import Record


class Results:
    """The kept results: a folder a machine."""

    def __init__(self, folder: Path, page: Path) -> None:
        self.page = page
        self.folders = sorted(path for path in folder.glob("*") if path.is_dir())

    def read(self, folder: Path, name: str) -> Record | None:
        """Read one file of one machine, or one part of its figures, if it is kept."""
        name, _, part = name.partition("/")
        path = folder / name
        kept = record.read_json(path) if path.exists() else None
        return _only(kept, part) if kept and part else kept

    def shown(self) -> Path | None:
        """Find the machine whose ladder is shown: one with a GPU before any other."""
        ladders = [(f, self.read(f, "ladder.json")) for f in self.folders]
        found = [(f, kept) for f, kept in ladders if kept]
        found.sort(key=lambda pair: not pair[1]["machine"]["device"]["name"].startswith("cuda"))
        return found[0][0] if found else None

    def link(self, path: Path) -> str:
        """Name `path` as a link on the page does."""
        return Path(os.path.relpath(path, self.page.parent)).as_posix()


def _only(kept: Record, part: str) -> Record | None:
    """Take a part of the figures, all its pieces together."""
    rows = [row for row in record.rows_of(kept) if part_of(row) == part]
    return {"machine": kept["machines"][part], "rows": rows} if rows else None


def part_of(row: Record) -> str:
    return str(row["part"]).partition("/")[0]
