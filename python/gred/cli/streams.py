"""The standard streams as a command finds them: open, closed from the start, or lost on the way."""

from __future__ import annotations

import os
import sys
from typing import Any, TextIO

_WIDTH = 100


class OutputError(Exception):
    """Standard output takes no more; the cause is the system's error."""


class Stream:
    """A stream whose reader may go: what is written from then on goes nowhere.

    A patient one keeps that to itself, and another one raises OutputError.
    """

    def __init__(self, stream: TextIO, patient: bool = False) -> None:
        self._stream = stream
        self._error: OSError | None = None
        self.patient = patient

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write `text`, if there is still where to."""
        self._attempt(self._stream.write, text)
        return len(text)

    def flush(self) -> None:
        """Pass on what is kept back."""
        self._attempt(self._stream.flush)

    def columns(self) -> int:
        """Count the columns to write in: COLUMNS, or the terminal's; 100 where there is neither."""
        given = os.environ.get("COLUMNS", "")
        if given.isdecimal() and int(given[:9]) > 0:
            return int(given[:9])
        if not self.isatty():
            return _WIDTH
        try:
            return os.get_terminal_size(self.fileno()).columns or _WIDTH
        except (OSError, ValueError):
            return _WIDTH

    def _attempt(self, act: Any, *arguments: Any) -> None:
        if self._error is None:
            try:
                act(*arguments)
            except OSError as error:
                self._error = error
                self._divert()
        if self._error is not None and not self.patient:
            raise OutputError from self._error

    def _divert(self) -> None:
        """Have what is still kept back go nowhere, so that the interpreter's end is quiet, too."""
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
        except (OSError, ValueError):
            pass


def open_what_is_closed() -> None:
    """Give streams that were closed from the start a place, before a file takes their number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
