"""What the command says and how: with rich where it is installed, in plain text where it is not.

Results go to standard output; progress, notes and errors go to standard error.
"""

from __future__ import annotations

import io
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

_WIDTH = 100

Step = Callable[[str], None]


class Column(NamedTuple):
    """A table's column. `style` is rich's; plain text has none."""

    title: str
    right: bool = True
    style: str = ""


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


def terminal_width() -> int:
    """Count the columns to write in: the terminal's, and 100 where the output is no terminal."""
    return shutil.get_terminal_size((_WIDTH, 24)).columns if sys.stdout.isatty() else _WIDTH


def _text(cell: str | Cell) -> str:
    return cell if isinstance(cell, str) else cell.text


class PlainConsole:
    """Aligned text, no colour; the progress bar rewrites its line where there is a terminal."""

    bar_characters = " #"

    def __init__(self) -> None:
        self.width = terminal_width()

    def title(self, text: str) -> None:
        """Write the first line."""
        print(f"\n{text}\n")

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Write names and what they are, in two columns."""
        width = max(len(name) for name, _ in pairs)
        for name, value in pairs:
            print(f"  {name:<{width}}  {value}")
        print()

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[str | Cell]]) -> None:
        """Write rows under a head, columns as wide as they need to be."""
        lines = [[column.title for column in columns], *([_text(c) for c in row] for row in rows)]
        widths = [max(map(len, entries)) for entries in zip(*lines, strict=True)]
        lines.insert(1, ["-" * width for width in widths])
        for line in lines:
            entries = (
                text.rjust(width) if column.right else text.ljust(width)
                for text, width, column in zip(line, widths, columns, strict=True)
            )
            print("  " + "  ".join(entries).rstrip())
        print()

    def line(self, text: str = "", style: str = "") -> None:
        """Write a line among the results."""
        print(f"  {text}".rstrip())

    def note(self, text: str, style: str = "yellow") -> None:
        """Write a line beside the results."""
        print(text, file=sys.stderr, flush=True)

    @contextmanager
    def progress(self, total: int) -> Iterator[Step]:
        """Yield a function to call with what is done next."""
        start, done, live = time.monotonic(), 0, sys.stderr.isatty()

        def step(label: str) -> None:
            nonlocal done
            left = (time.monotonic() - start) / done * (total - done) if done else None
            text = f"{done:>4}/{total} {label}" + (f", {_clock(left)} left" if left else "")
            if live:
                drawn = bar(done / total, 24, self.bar_characters)
                print(f"\r[{drawn}] {text:<52.52}", end="", file=sys.stderr, flush=True)
            elif done * 10 // total != (done - 1) * 10 // total:
                print(text, file=sys.stderr, flush=True)
            done += 1

        try:
            yield step
        finally:
            if live:
                print("\r" + " " * 80 + "\r", end="", file=sys.stderr, flush=True)


class RichConsole:
    """The same with rich."""

    bar_characters = " ▏▎▍▌▋▊▉█"

    def __init__(self) -> None:
        from rich.console import Console as Terminal

        self.width = terminal_width()
        self._out = Terminal(width=self.width, highlight=False)
        self._err = Terminal(stderr=True, highlight=False)

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

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[str | Cell]]) -> None:
        """Write rows under a head, columns as wide as they need to be."""
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
        for column in columns:
            justify: Any = "right" if column.right else "left"
            table.add_column(column.title, justify=justify, style=column.style, no_wrap=True)
        for row in rows:
            table.add_row(*map(_styled, row))
        from rich.padding import Padding

        self._out.print(Padding(table, (0, 0, 0, 2), expand=False))
        self._out.print()

    def line(self, text: str = "", style: str = "") -> None:
        """Write a line among the results."""
        self._out.print(f"  {text}".rstrip(), style=style, markup=False, soft_wrap=True)

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


def _styled(cell: str | Cell) -> Any:
    from rich.text import Text

    return Text(cell) if isinstance(cell, str) else Text(cell.text, style=cell.style)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"
