"""Where a call of `python -m gred` comes in: picks the job and turns what went wrong into a status.

0: every answer right. 1: an answer wrong. 2: asked for what cannot be. 130: interrupted. 141: the
reader of standard output has gone, which ends the command as SIGPIPE ends others: without a word.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
import warnings
from collections.abc import Sequence
from typing import Any, TextIO, cast

from gred.cli import counters, explain, lab, ladder, options, roofline, show, sweep, versus
from gred.cli.console import Console, make_console
from gred.cli.options import UsageError
from gred.cli.streams import OutputError, open_what_is_closed

PROGRAM = "python -m gred"

# The jobs that are named; with no name it is the ladder's.
_JOBS: dict[str, Any] = {
    "counters": counters,
    "explain": explain,
    "lab": lab,
    "roofline": roofline,
    "show": show,
    "sweep": sweep,
    "versus": versus,
}

_RIGHT, _REFUSED, _INTERRUPTED, _UNREAD = 0, 2, 130, 141

# Characters of a word, and of an error, that are shown whole.
_WORD, _LINE = 256, 1000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with `arguments`, by default the process's own; the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    open_what_is_closed()
    console = make_console()
    try:
        status = _run(given, console)
        console.stdout.flush()
        return status
    except KeyboardInterrupt:
        console.note("interrupted")
        return _INTERRUPTED
    except OutputError as lost:
        if isinstance(lost.__cause__, BrokenPipeError):
            return _UNREAD
        console.note(f"gred: standard output: {_one_line(lost.__cause__ or lost)}", "red")
    except (UsageError, ValueError, TypeError, RuntimeError, MemoryError, OSError) as error:
        console.note(f"gred: {_one_line(error)}", "red")
    return _REFUSED


def _run(given: Sequence[str], console: Console) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("always", RuntimeWarning)
        warnings.showwarning = _note_warnings(console)
        try:
            named = _job_named(given)
            job = _JOBS[named[0]] if named else ladder
            parser = job.parser(" ".join((PROGRAM, *named)))
            status: int = job.run(_parse(parser, given[len(named) :], console), console)
            return status
        except SystemExit:  # argparse has shown its help
            return _RIGHT


def _job_named(given: Sequence[str]) -> list[str]:
    """Tell which job is named, if one is: the ladder's own arguments are options alone."""
    named = [name for name in given[:1] if not name.startswith("-")]
    for name in named:
        options.check_name(name, _JOBS, "job", f"there are {', '.join(_JOBS)}")
    return named


def _parse(
    parser: argparse.ArgumentParser, given: Sequence[str], console: Console
) -> argparse.Namespace:
    """Parse, and let help go where a lost reader is noticed: argparse itself ignores it."""
    with contextlib.redirect_stdout(cast(TextIO, console.stdout)):
        return parser.parse_args(given)


def _note_warnings(console: Console) -> Any:
    """Show a warning at once: it may say that the next result takes a while."""

    def show(message: Warning | str, *_: Any) -> None:
        console.note(f"gred: {message}")

    return show


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    text = re.sub(rf"\S{{{_WORD + 1},}}", lambda word: _cut(word[0], 60, 20), text)
    return _cut(text, 500, 300) if len(text) > _LINE else text


def _cut(text: str, first: int, last: int) -> str:
    return f"{text[:first]}... ({len(text)} characters) ...{text[-last:]}"
