"""The kernels' sources, with what was counted beside their lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import NamedTuple

from gred.counting import Line

# Where clang-format puts the ends of what belongs together.
_BEGINS, _ENDS = re.compile(r"template|__global__|__device__|struct|inline"), re.compile(r"\};?$")


class Listed(NamedTuple):
    """A line of a source, and what was counted of it."""

    number: int
    text: str
    counted: tuple[Line, ...]


class Listing(NamedTuple):
    """Neighbouring lines of one file."""

    file: str
    lines: tuple[Listed, ...]


def listings(rung: str, counted: Sequence[Line]) -> Iterator[Listing]:
    """Give the file of a rung as a whole, and the functions of others that were counted."""
    own = next(name for name in _rungs() if name.partition("_")[2] == f"{rung}.cuh")
    files = dict.fromkeys([f"ladder/{own}", *(line.file for line in counted)])
    for file in files:
        texts = _read(file)
        of_file = [line for line in counted if line.file == file]
        if file == f"ladder/{own}":
            yield _listing(file, texts, of_file, 1, len(texts))
            continue
        for first, last in _functions(texts):
            if any(first <= line.number <= last for line in of_file):
                yield _listing(file, texts, of_file, first, last)


def _rungs() -> list[str]:
    folder = resources.files("gred").joinpath("kernels/ladder")
    return sorted(entry.name for entry in folder.iterdir())


def _read(file: str) -> list[str]:
    path = resources.files("gred").joinpath("kernels", file)
    return path.read_text(encoding="utf-8").splitlines()


def _listing(
    file: str, texts: Sequence[str], counted: Sequence[Line], first: int, last: int
) -> Listing:
    numbers = range(first, last + 1)
    of_lines = ((n, tuple(line for line in counted if line.number == n)) for n in numbers)
    return Listing(file, tuple(Listed(n, texts[n - 1], lines) for n, lines in of_lines))


def _functions(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Give the first and the last line of what begins and ends in the first column."""
    first = None
    for number, text in enumerate(texts, 1):
        if first is None and _BEGINS.match(text):
            first = number
        elif first is not None and _ENDS.match(text):
            yield first, number
            first = None
