"""Where a call of `python -m gred` comes in: picks the job and turns what went wrong into a status.

0: every answer right. 1: an answer wrong. 2: asked for what cannot be. 130: interrupted. 141: the
reader of standard output has gone, which ends the command as SIGPIPE ends others: without a word.
"""

import contextlib
import re
import sys
import warnings
from collections.abc import Sequence
from typing import Any, TextIO, cast

from gred.cli import counters, doctor, explain, lab, ladder, options, roofline, show, sweep, versus
from gred.cli.console import Console, OutputError, make_console
from gred.cli.options import UsageError

# The jobs that are named; with no name it is the ladder's.
_NAMED = (counters, doctor, explain, lab, roofline, show, sweep, versus)
_JOBS: dict[str, Any] = {job.__name__.rpartition(".")[2]: job for job in _NAMED}

_REFUSED, _INTERRUPTED, _UNREAD = 2, 130, 141

# Characters of a word, and of an error, that are shown whole.
_WORD, _LINE = 256, 1000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with `arguments`, by default the process's own; the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
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


def _run(given: list[str], console: Console) -> int:
    """Run the job that is named, if one is: the ladder's own arguments are options alone."""
    named = [name for name in given[:1] if not name.startswith("-")]
    with warnings.catch_warnings():
        warnings.simplefilter("always", RuntimeWarning)
        # At once: a warning may say that the next result takes a while.
        warnings.showwarning = lambda message, *_, **__: console.note(f"gred: {message}")
        for name in named:
            options.check_name(name, _JOBS, "job", f"there are {', '.join(_JOBS)}")
        job = _JOBS[named[0]] if named else ladder
        parser = options.parser(" ".join(("python -m gred", *named)), job)
        try:
            # Help goes where a lost reader is noticed: argparse itself ignores it.
            with contextlib.redirect_stdout(cast(TextIO, console.stdout)):
                parsed = parser.parse_args(given[len(named) :])
        except SystemExit:  # argparse has shown its help
            return 0
        status: int = job.run(parsed, console)
        return status


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    text = re.sub(rf"\S{{{_WORD + 1},}}", lambda word: _cut(word[0], 60, 20), text)
    return _cut(text, 500, 300) if len(text) > _LINE else text


def _cut(text: str, first: int, last: int) -> str:
    return f"{text[:first]}... ({len(text)} characters) ...{text[-last:]}"
