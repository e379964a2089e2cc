"""Console output: formatted by rich if it is installed, otherwise plain text.

Results go to standard output, unless a file is written there; progress, notes and errors go to
standard error. Either may be closed from the start, or lose its reader at any time.
"""

from __future__ import annotations

import io
import itertools
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TextIO, TypeVar

_INDENT = _GAP = "  "
# Columns of an output that is not a terminal, and the least number of columns for prose.
_WIDTH, _LEAST_ROOM = 100, 20

_Result = TypeVar("_Result")


class OutputError(Exception):
    """Raised when standard output cannot be written; the cause is the system's error."""


class Stream:
    """A stream that may lose its reader: a patient one then discards output, others raise."""

    def __init__(self, stream: TextIO, patient: bool = False) -> None:
        self._stream, self.patient = stream, patient
        self._error: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        self._attempt(self._stream.write, text)
        return len(text)

    def flush(self) -> None:
        self._attempt(self._stream.flush)

    def columns(self) -> int:
        """Return the width: COLUMNS, or the terminal's, or else 100."""
        return shutil.get_terminal_size((_WIDTH, 0)).columns

    def _attempt(self, act: Any, *arguments: Any) -> None:
        if self._error is None:
            try:
                act(*arguments)
            except OSError as error:
                self._error = error
                # Discard buffered output, so that the interpreter exits without an error, too.
                with suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
                    os.dup2(nowhere.fileno(), self._stream.fileno())
        if self._error is not None and not self.patient:
            raise OutputError from self._error


class Cell(NamedTuple):
    """A piece of a line, or an entry of a table with its own style."""

    text: str
    style: str = ""


RIGHT = Cell("right", "green")


class Column(NamedTuple):
    """A table's column: a title, and a function of a record that returns None for an empty cell.

    `style` is rich's, ignored in plain text. `about` is printed below the table. In a table that is
    too wide, columns are dropped in order of decreasing rank, except those of rank 0.
    """

    title: str
    of: Callable[[Any], object] = str
    right: bool = True
    style: str = ""
    rank: int = 0
    about: str = ""


class Table:
    """Rows under a head; each row's entry of `notes` is printed below it."""

    def __init__(
        self, columns: Sequence[Column], rows: Iterable[Sequence[object]], notes: Sequence[str] = ()
    ) -> None:
        self.columns = columns
        self.rows = [
            [e if isinstance(e, Cell) else Cell("-" if e is None else str(e)) for e in row]
            for row in rows
        ]
        self.notes = notes or [""] * len(self.rows)
        texts = [[c.title for c in columns], *([cell.text for cell in row] for row in self.rows)]
        self.widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
        self.width = sum(self.widths) + len(_GAP) * (len(columns) - 1)

    @classmethod
    def of(cls, columns: Sequence[Column], records: Iterable[Any], notes: Any = ()) -> Table:
        return cls(columns, [[column.of(one) for column in columns] for one in records], notes)

    def fitted(self, width: int) -> Table:
        """Drop columns until the table fits into `width`, or none is left to drop."""
        ranks = [column.rank for column in self.columns]
        if not any(ranks) or len(_INDENT) + self.width <= width:
            return self
        return self.where([rank < max(ranks) for rank in ranks]).fitted(width)

    def where(self, kept: Sequence[bool]) -> Table:
        rows = [list(itertools.compress(row, kept)) for row in self.rows]
        return Table(list(itertools.compress(self.columns, kept)), rows, self.notes)


class Console:
    """Aligned text without color; on a terminal, the progress bar rewrites its line."""

    bar_characters = " #"
    lane_characters = "#o.rw~!"
    rule = "-"

    def __init__(self) -> None:
        self.stdout = Stream(sys.stdout)
        self.stderr = Stream(sys.stderr, patient=True)
        self.show_on(self.stdout)

    def show_on(self, stream: Stream) -> None:
        self._shown, self.width = stream, stream.columns()

    def _print(self, stream: Stream, *parts: Cell) -> None:
        """Write a line without trailing white space."""
        text = "".join(part.text for part in parts).rstrip()
        print(text, file=stream, flush=stream is self.stderr)

    def parts(self, parts: Sequence[Cell]) -> None:
        self._print(self._shown, Cell(_INDENT), *parts)

    def line(self, text: str = "", style: str = "") -> None:
        self.parts([Cell(text, style)])

    def title(self, text: str) -> None:
        for parts in ((), (Cell(text, "bold"),), ()):
            self._print(self._shown, *parts)

    def text(self, text: str, style: str = "", indent: str = "") -> None:
        for line in self._broken(text, len(indent)):
            self.line(indent + line, style)

    def _broken(self, text: str, taken: int) -> list[str]:
        room = max(self.width - len(_INDENT) - taken, _LEAST_ROOM)
        return textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)

    def pairs(self, *pairs: tuple[str, str]) -> None:
        width = max(len(name) for name, _ in pairs)
        for name, value in pairs:
            for number, line in enumerate(self._broken(value, width + len(_GAP))):
                label = "" if number else name
                self.parts([Cell(f"{label:<{width}}{_GAP}", "cyan"), Cell(line)])
        self.line()

    def note(self, text: str, style: str = "yellow") -> None:
        self._print(self.stderr, Cell(text, style))

    def table(self, table: Table) -> None:
        """Write a table with aligned columns, and the columns' descriptions."""
        table = table.fitted(self.width)

        def write(row: Sequence[Cell]) -> None:
            parts = []
            for width, column, (text, style) in zip(table.widths, table.columns, row, strict=True):
                padded = text.rjust(width) if column.right else text.ljust(width)
                parts += [Cell(padded, style or column.style), Cell(_GAP)]
            self.parts(parts)

        write([Cell(column.title, "bold") for column in table.columns])
        self.line(self.rule * table.width, "dim")
        for row, note in zip(table.rows, table.notes, strict=True):
            write(row)
            self.text(note, "dim", _GAP + _GAP)
        self.line()
        told = [f"{column.title}: {column.about}" for column in table.columns if column.about]
        self.text("; ".join(told), "dim")

    @contextmanager
    def progress(self, total: int) -> Iterator[Callable[[str], None]]:
        """Yield a function to call with each step's label; a terminal shows one progress line."""
        start, done, live = time.monotonic(), 0, self.stderr.isatty()
        room = self.stderr.columns() - 1

        def draw(text: str) -> None:
            if live:
                print(f"\r{text[:room]:<{min(80, room)}}\r", end="", file=self.stderr, flush=True)

        def step(label: str) -> None:
            nonlocal done
            left = (time.monotonic() - start) / done * (total - done) if done else 0
            minutes, seconds = divmod(round(left), 60)
            text = f"{done:>4}/{total} {label}" + (f", {minutes}:{seconds:02} left" if left else "")
            draw(f"[{self.bar(done / total, 24)}] {text:<52.52}")
            done += 1

        try:
            yield step
        finally:
            draw("")

    def bar(self, share: float, width: int) -> str:
        full, steps = self.bar_characters[-1], len(self.bar_characters) - 1
        whole, rest = divmod(round(max(0.0, min(share, 1.0)) * width * steps), steps)
        return (full * whole + (self.bar_characters[rest] if rest else "")).ljust(width)

    def each(self, methods: Sequence[Any], act: Callable[[Any], _Result]) -> list[_Result]:
        """Call a function for each method, showing its name as progress; return the results."""
        results = []
        with self.progress(len(methods)) as step:
            for method in methods:
                step(method.name)
                results.append(act(method))
        return results


class RichConsole(Console):
    bar_characters = " ▏▎▍▌▋▊▉█"
    lane_characters = "●○·□■~✖"
    rule = "─"

    def _print(self, stream: Any, *parts: Cell) -> None:
        from rich.console import Console as Terminal
        from rich.text import Text

        text = Text.assemble(*parts)
        text.rstrip()
        Terminal(file=stream, highlight=False).print(text, soft_wrap=True)


def make_console() -> Console:
    """Choose the console, after opening the null device for standard streams that are closed."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        import rich  # noqa: F401
    except ImportError:
        return Console()
    return RichConsole()
