"""Entry point of `python -m gred`: selects the job and converts errors to an exit status.

0: all answers right. 1: a wrong answer. 2: bad arguments or a missing dependency. 130: interrupted.
141: the reader of standard output has closed it; as with SIGPIPE, the command ends silently.
"""

import contextlib
import sys
import warnings
from collections.abc import Sequence
from typing import Any, TextIO, cast

from gred.cli import counters, doctor, explain, lab, ladder, options, roofline, show, sweep, versus
from gred.cli.console import Console, OutputError, make_console
from gred.cli.options import UsageError

# Named jobs; without a name the ladder is run.
_NAMED = (counters, doctor, explain, lab, roofline, show, sweep, versus)
_JOBS: dict[str, Any] = {job.__name__.rpartition(".")[2]: job for job in _NAMED}

_REFUSED, _INTERRUPTED, _UNREAD = 2, 130, 141

# Most characters of an error that are printed in full.
_LINE = 1000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with `arguments`, by default the process's; return the exit status."""
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
    """Run the named job, or the ladder, which has no positional arguments."""
    named = [name for name in given[:1] if not name.startswith("-")]
    with warnings.catch_warnings():
        warnings.simplefilter("always", RuntimeWarning)
        # Print warnings immediately: one may say that the next result takes a while.
        warnings.showwarning = lambda message, *_, **__: console.note(f"gred: {message}")
        for name in named:
            options.check_name(name, _JOBS, "command", f"choose from {', '.join(_JOBS)}")
        job = _JOBS[named[0]] if named else ladder
        parser = options.parser(" ".join(("python -m gred", *named)), job)
        try:
            # Help goes through our stream, which notices a closed pipe; argparse ignores it.
            with contextlib.redirect_stdout(cast(TextIO, console.stdout)):
                parsed = parser.parse_args(given[len(named) :])
        except SystemExit:  # argparse has printed its help
            return 0
        status: int = job.run(parsed, console)
        return status


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    if len(text) > _LINE:
        text = f"{text[:500]}... ({len(text)} characters) ...{text[-300:]}"
    return text
