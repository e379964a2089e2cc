"""What the command says and how: with rich where it is installed, in plain text where it is not.

Results go to standard output, unless a file does; progress, notes and errors to standard error.
"""

from __future__ import annotations

import io
import itertools
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from gred.cli.streams import Stream

_INDENT = "  "
_GAP = "  "
# Columns that prose gets in the narrowest terminal.
_LEAST_ROOM = 20

Step = Callable[[str], None]


class Column(NamedTuple):
    """A table's column. `style` is rich's; plain text has none. `about` is told below the table.

    Where there is no room, the columns of the highest rank are left out, and those of rank 0 never.
    """

    title: str
    right: bool = True
    style: str = ""
    rank: int = 0
    about: str = ""


class Cell(NamedTuple):
    """A table's entry that needs a style of its own."""

    text: str
    style: str = ""


def make_console() -> Console:
    """Choose the best console there is."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        import rich  # noqa: F401
    except ImportError:
        return Console()
    return RichConsole()


def bar(share: float, width: int, characters: str) -> str:
    """Draw a bar of `width` columns, `share` of it filled; the last character is a full column."""
    steps = len(characters) - 1
    filled = round(max(0.0, min(share, 1.0)) * width * steps)
    whole, rest = divmod(filled, steps)
    return (characters[-1] * whole + (characters[rest] if rest else "")).ljust(width)


def _text(cell: str | Cell) -> str:
    return cell if isinstance(cell, str) else cell.text


class Table(NamedTuple):
    """Rows under a head; `notes` are of the rows, each to be written below its own."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str | Cell]]
    notes: Sequence[str] = ()

    def widths(self) -> list[int]:
        """Measure the widest entry of each column."""
        lines = [[column.title for column in self.columns]]
        lines += [[_text(cell) for cell in row] for row in self.rows]
        return [max(map(len, entries)) for entries in zip(*lines, strict=True)]

    def fitted(self, width: int) -> Table | None:
        """Leave out what has no room in `width` columns; None if the rest has no room either."""
        table = self
        while not table._fits(width):
            worst = max(column.rank for column in table.columns)
            if worst == 0:
                return None
            table = table._where([column.rank != worst for column in table.columns])
        return table

    def _fits(self, width: int) -> bool:
        gaps = len(_GAP) * (len(self.columns) - 1)
        return len(_INDENT) + sum(self.widths()) + gaps <= width

    def essential(self) -> Table:
        """Keep what is never left out."""
        return self._where([column.rank == 0 for column in self.columns])

    def beside(self, other: Table) -> Table:
        """Put another table's columns after these, row by row, and take its notes."""
        rows = [[*mine, *theirs] for mine, theirs in zip(self.rows, other.rows, strict=True)]
        return Table([*self.columns, *other.columns], rows, other.notes)

    def without(self, titles: Sequence[str]) -> Table:
        """Leave out the columns of these titles."""
        return self._where([column.title not in titles for column in self.columns])

    def _where(self, kept: Sequence[bool]) -> Table:
        rows = [list(itertools.compress(row, kept)) for row in self.rows]
        return Table(list(itertools.compress(self.columns, kept)), rows, self.notes)

    def legend(self) -> str:
        """Say what the columns are that say so."""
        return "; ".join(
            f"{column.title}: {column.about}" for column in self.columns if column.about
        )


class _Streams:
    """Where a console writes."""

    def __init__(self) -> None:
        self.stdout = Stream(sys.stdout)
        self.stderr = Stream(sys.stderr, patient=True)
        self._show_on(self.stdout)

    def leave_stdout(self) -> None:
        """Show everything on standard error, because standard output is where a file goes."""
        self._show_on(self.stderr)

    @contextmanager
    def files_first(self, files: bool) -> Iterator[None]:
        """Let `files` be written even if nobody reads what is shown; that is raised thereafter."""
        self.stdout.patient = files
        try:
            yield
        finally:
            self.stdout.patient = False
        self.stdout.flush()

    def _show_on(self, stream: Stream) -> None:
        self._shown = stream
        self.width = stream.columns()


class Console(_Streams):
    """Aligned text, no colour; the progress bar rewrites its line where there is a terminal."""

    bar_characters = " #"
    lane_characters = "#o.rw~!"
    rule = "-"

    def title(self, text: str) -> None:
        """Write the first line."""
        self._write()
        self._write(Cell(text, "bold"))
        self._write()

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Write names and what they are, in two columns."""
        width = max(len(name) for name, _ in pairs)
        for name, value in pairs:
            for line in self._broken(value, width + len(_GAP)):
                self.parts([Cell(f"{name:<{width}}{_GAP}", "cyan"), Cell(line)])
                name = ""
        self.line()

    def table(self, table: Table) -> None:
        """Write rows under a head, columns as wide as they need to be, and what the columns are."""
        fitted = table.fitted(self.width)
        if fitted:
            self._columns(fitted)
        else:
            fitted = table.essential()
            self._entries(fitted)
        self.line()
        self.text(fitted.legend(), "dim")

    def _columns(self, table: Table) -> None:
        widths = table.widths()
        heads = [Cell(column.title, "bold") for column in table.columns]
        self._row(table, widths, heads)
        self.line(self.rule * (sum(widths) + len(_GAP) * (len(widths) - 1)), "dim")
        for row, note in itertools.zip_longest(table.rows, table.notes, fillvalue=""):
            self._row(table, widths, row)
            self.text(note, "dim", _GAP + _GAP)

    def _row(self, table: Table, widths: Sequence[int], row: Sequence[str | Cell]) -> None:
        parts = []
        for width, column, cell in zip(widths, table.columns, row, strict=True):
            style = cell.style if isinstance(cell, Cell) else column.style
            text = _text(cell)
            parts.append(Cell(text.rjust(width) if column.right else text.ljust(width), style))
            parts.append(Cell(_GAP))
        self.parts(parts)

    def _entries(self, table: Table) -> None:
        """Write a line an entry, of columns that have no room beside each other."""
        first = next((place for place, column in enumerate(table.columns) if not column.right), 0)
        for row, note in itertools.zip_longest(table.rows, table.notes, fillvalue=""):
            self.line(_text(row[first]), table.columns[first].style)
            for place, (column, cell) in enumerate(zip(table.columns, row, strict=True)):
                if place != first:
                    style = cell.style if isinstance(cell, Cell) else ""
                    self.line(f"{_INDENT}{column.title} {_text(cell)}", style)
            self.text(note, "dim", _INDENT)

    def line(self, text: str = "", style: str = "") -> None:
        """Write a line among the results."""
        self.parts([Cell(text, style)])

    def text(self, text: str, style: str = "", indent: str = "") -> None:
        """Write prose, broken between words; nothing if there is none."""
        for line in self._broken(text, len(indent)):
            self.line(indent + line, style)

    def _broken(self, text: str, taken: int) -> list[str]:
        room = max(self.width - len(_INDENT) - taken, _LEAST_ROOM)
        return textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)

    def parts(self, parts: Sequence[Cell]) -> None:
        """Write a line that is made of pieces, each with its own style."""
        while parts and not parts[-1].text.strip():
            parts = parts[:-1]
        if parts:
            parts = [Cell(_INDENT), *parts[:-1], parts[-1]._replace(text=parts[-1].text.rstrip())]
        self._write(*parts)

    def _write(self, *parts: Cell) -> None:
        print("".join(part.text for part in parts), file=self._shown)

    def note(self, text: str, style: str = "yellow") -> None:
        """Write a line beside the results."""
        print(text, file=self.stderr, flush=True)

    @contextmanager
    def progress(self, total: int) -> Iterator[Step]:
        """Yield a function to call with what is done next; a terminal shows it in one line."""
        start, done, live = time.monotonic(), 0, self.stderr.isatty()
        room = self.stderr.columns() - 1

        def draw(text: str) -> None:
            if live:
                print(f"\r{text[:room]:<{min(80, room)}}\r", end="", file=self.stderr, flush=True)

        def step(label: str) -> None:
            nonlocal done
            left = (time.monotonic() - start) / done * (total - done) if done else None
            text = f"{done:>4}/{total} {label}" + (f", {_clock(left)} left" if left else "")
            draw(f"[{bar(done / total, 24, self.bar_characters)}] {text:<52.52}")
            done += 1

        try:
            yield step
        finally:
            draw("")


class RichConsole(Console):
    """The same with rich."""

    bar_characters = " ▏▎▍▌▋▊▉█"
    lane_characters = "●○·□■~✖"
    rule = "─"

    def __init__(self) -> None:
        super().__init__()
        self._err = _terminal(self.stderr)

    def _show_on(self, stream: Stream) -> None:
        super()._show_on(stream)
        self._out = _terminal(stream, self.width)

    def _write(self, *parts: Cell) -> None:
        from rich.text import Text

        line = Text.assemble(*((part.text, part.style) for part in parts))
        self._out.print(line, soft_wrap=True)

    def note(self, text: str, style: str = "yellow") -> None:
        """Write a line beside the results."""
        self._err.print(text, style=style, markup=False, soft_wrap=True)


def _terminal(stream: Stream, width: int | None = None) -> Any:
    from rich.console import Console as Terminal

    file: Any = stream
    return Terminal(file=file, width=width, highlight=False)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"
