"""Where a call of `python -m gred` comes in: picks the job and turns what went wrong into a status.

0: every answer right. 1: an answer wrong. 2: asked for what cannot be. 130: interrupted.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

from gred.cli import ladder, sweep
from gred.cli.console import Console, make_console
from gred.cli.options import UsageError

PROGRAM = "python -m gred"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with `arguments`, by default the process's own; the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    console = make_console()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", RuntimeWarning)
            warnings.showwarning = _note_warnings(console)
            if given[:1] == ["sweep"]:
                return sweep.run(sweep.parser(f"{PROGRAM} sweep").parse_args(given[1:]), console)
            return ladder.run(ladder.parser(PROGRAM).parse_args(given), console)
    except KeyboardInterrupt:
        console.note("interrupted")
        return 130
    except UsageError as error:
        console.note(f"gred: {error}", "red")
    except (ValueError, TypeError, RuntimeError, MemoryError, OSError) as error:
        console.note(f"gred: {_one_line(error)}", "red")
    return 2


def _note_warnings(console: Console) -> Any:
    """Show a warning at once: it may say that the next result takes a while."""

    def show(message: Warning | str, *_: Any) -> None:
        console.note(f"gred: {message}")

    return show


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
