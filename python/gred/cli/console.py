"""What the command says and how: with rich where it is installed, in plain text where it is not.

Results go to standard output, unless a file does; progress, notes and errors to standard error.
"""

from __future__ import annotations

import io
import itertools
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from gred.cli.streams import Stream

_INDENT = "  "
_GAP = "  "

Step = Callable[[str], None]


class Column(NamedTuple):
    """A table's column. `style` is rich's; plain text has none.

    Where there is no room, the columns of the highest rank are left out, and those of rank 0 never.
    """

    title: str
    right: bool = True
    style: str = ""
    rank: int = 0


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
        return PlainConsole()
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
    """Rows under a head."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str | Cell]]

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
            table = table._without(worst)
        return table

    def _fits(self, width: int) -> bool:
        gaps = len(_GAP) * (len(self.columns) - 1)
        return len(_INDENT) + sum(self.widths()) + gaps <= width

    def _without(self, rank: int) -> Table:
        kept = [column.rank != rank for column in self.columns]
        return Table(
            list(itertools.compress(self.columns, kept)),
            [list(itertools.compress(row, kept)) for row in self.rows],
        )

    def entries(self) -> Iterator[tuple[str, Cell]]:
        """Yield a line an entry, for columns that have no room beside each other."""
        first = next((place for place, column in enumerate(self.columns) if not column.right), 0)
        for row in self.rows:
            yield _INDENT, Cell(_text(row[first]), self.columns[first].style)
            for place, (column, cell) in enumerate(zip(self.columns, row, strict=True)):
                if column.rank == 0 and place != first:
                    style = "" if isinstance(cell, str) else cell.style
                    yield 2 * _INDENT, Cell(f"{column.title} {_text(cell)}", style)


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


class PlainConsole(_Streams):
    """Aligned text, no colour; the progress bar rewrites its line where there is a terminal."""

    bar_characters = " #"
    lane_characters = "#o.rw~!"

    def title(self, text: str) -> None:
        """Write the first line."""
        self._print(f"\n{text}\n")

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Write names and what they are, in two columns."""
        width = max(len(name) for name, _ in pairs)
        for name, value in pairs:
            self._print(f"  {name:<{width}}  {value}")
        self._print()

    def table(self, table: Table) -> None:
        """Write rows under a head, columns as wide as they need to be."""
        fitted = table.fitted(self.width)
        if fitted:
            self._columns(fitted)
        else:
            for indent, cell in table.entries():
                self._print(indent + cell.text)
        self._print()

    def _columns(self, table: Table) -> None:
        widths = table.widths()
        lines = [[column.title for column in table.columns], ["-" * width for width in widths]]
        lines += [[_text(cell) for cell in row] for row in table.rows]
        for line in lines:
            entries = (
                text.rjust(width) if column.right else text.ljust(width)
                for text, width, column in zip(line, widths, table.columns, strict=True)
            )
            self._print(_INDENT + _GAP.join(entries).rstrip())

    def line(self, text: str = "", style: str = "") -> None:
        """Write a line among the results."""
        self._print(f"  {text}".rstrip())

    def parts(self, parts: Sequence[Cell]) -> None:
        """Write a line that is made of pieces, each with its own style."""
        self._print(_INDENT + "".join(part.text for part in parts).rstrip())

    def note(self, text: str, style: str = "yellow") -> None:
        """Write a line beside the results."""
        print(text, file=self.stderr, flush=True)

    def _print(self, text: str = "") -> None:
        print(text, file=self._shown)

    @contextmanager
    def progress(self, total: int) -> Iterator[Step]:
        """Yield a function to call with what is done next."""
        start, done, live = time.monotonic(), 0, self.stderr.isatty()
        room = self.stderr.columns() - 1

        def step(label: str) -> None:
            nonlocal done
            left = (time.monotonic() - start) / done * (total - done) if done else None
            text = f"{done:>4}/{total} {label}" + (f", {_clock(left)} left" if left else "")
            if live:
                drawn = f"[{bar(done / total, 24, self.bar_characters)}] {text:<52.52}"
                print(f"\r{drawn[:room]}", end="", file=self.stderr, flush=True)
            elif done * 10 // total != (done - 1) * 10 // total:
                print(text, file=self.stderr, flush=True)
            done += 1

        try:
            yield step
        finally:
            if live:
                print("\r" + " " * min(80, room) + "\r", end="", file=self.stderr, flush=True)


class RichConsole(_Streams):
    """The same with rich."""

    bar_characters = " ▏▎▍▌▋▊▉█"
    lane_characters = "●○·□■~✖"

    def __init__(self) -> None:
        super().__init__()
        self._err = _terminal(self.stderr)

    def _show_on(self, stream: Stream) -> None:
        super()._show_on(stream)
        self._out = _terminal(stream, self.width)

    def title(self, text: str) -> None:
        """Write the first line."""
        self._out.print(f"\n{text}\n", style="bold", markup=False)

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Write names and what they are, in two columns."""
        from rich.text import Text

        width = max(len(name) for name, _ in pairs)
        for name, value in pairs:
            self._out.print(Text.assemble((f"  {name:<{width}}  ", "cyan"), value), soft_wrap=True)
        self._out.print()

    def table(self, table: Table) -> None:
        """Write rows under a head, columns as wide as they need to be."""
        fitted = table.fitted(self.width)
        if fitted:
            self._columns(fitted)
        else:
            for indent, cell in table.entries():
                self._out.print(indent, _styled(cell), sep="", soft_wrap=True)
        self._out.print()

    def _columns(self, table: Table) -> None:
        from rich import box, padding
        from rich.table import Table as Grid

        grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
        for column in table.columns:
            justify: Any = "right" if column.right else "left"
            grid.add_column(column.title, justify=justify, style=column.style, no_wrap=True)
        for row in table.rows:
            grid.add_row(*map(_styled, row))
        self._out.print(padding.Padding(grid, (0, 0, 0, len(_INDENT)), expand=False))

    def line(self, text: str = "", style: str = "") -> None:
        """Write a line among the results."""
        self._out.print(f"  {text}".rstrip(), style=style, markup=False, soft_wrap=True)

    def parts(self, parts: Sequence[Cell]) -> None:
        """Write a line that is made of pieces, each with its own style."""
        self._out.print(_INDENT, *map(_styled, parts), sep="", soft_wrap=True)

    def note(self, text: str, style: str = "yellow") -> None:
        """Write a line beside the results."""
        self._err.print(text, style=style, markup=False, soft_wrap=True)

    @contextmanager
    def progress(self, total: int) -> Iterator[Step]:
        """Yield a function to call with what is done next."""
        from rich import progress

        columns = (
            progress.TextColumn(" "),
            progress.BarColumn(bar_width=32),
            progress.MofNCompleteColumn(),
            progress.TextColumn("{task.description}"),
            progress.TimeRemainingColumn(compact=True),
            progress.TextColumn("left"),
        )
        with progress.Progress(*columns, console=self._err, transient=True) as display:
            task = display.add_task("", total=total)
            started = False

            def step(label: str) -> None:
                nonlocal started
                display.update(task, description=f"{label:<30}", advance=1 if started else 0)
                started = True

            yield step


Console: TypeAlias = PlainConsole | RichConsole


def _terminal(stream: Stream, width: int | None = None) -> Any:
    from rich.console import Console as Terminal

    file: Any = stream
    return Terminal(file=file, width=width, highlight=False)


def _styled(cell: str | Cell) -> Any:
    from rich.text import Text

    return Text(cell) if isinstance(cell, str) else Text(cell.text, style=cell.style)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"
