"""The exercise sheet: rungs with a hole each, and what a right one has to do besides."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from gred.counting import Counts, Line
from gred.records import Records

# What is missed, and the line that it is most missed in; None where nothing is.
_Missed = tuple[str, Line | None] | None
_Goal = Callable[[Counts, int], "_Missed"]


class Exercise(NamedTuple):
    """A rung with a hole; ``source`` is the text of the file, whose first comment is the task."""

    number: int
    name: str
    title: str
    source: str
    missed: _Goal

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the file, which is to be completed, unless there is one.

        Raises FileExistsError if there is: it may hold somebody's answer.
        """
        target = Path(path)
        with target.open("x", encoding="utf-8") as file:
            file.write(self.source)
        return target


class Exercises(Records):
    """What `exercises` returns."""

    __slots__ = ()

    columns = ("#", "kernel", "what it is about")

    def cells(self, record: Exercise) -> list[str]:
        """Give number, name and title."""
        return [str(record.number), record.name, record.title]


# ---- what is asked for besides the right answer ----


def _nothing(_total: Counts, _size: int) -> _Missed:
    return None


def _worst(total: Counts, events: tuple[str, ...], cost: Callable[[Line], int]) -> Line | None:
    """Find the line that costs most, among those of some events."""
    return max((line for line in total.lines if line.event in events), key=cost, default=None)


def _busy_lanes(total: Counts, _size: int) -> _Missed:
    lanes = total.active_lanes or 0
    if lanes >= 12:
        return None
    text = f"of a warp's 32 lanes {lanes:.1f} are active in a step of arithmetic; 12 are asked for"
    return text, _worst(total, ("merge",), lambda line: 32 * line.requests - line.lanes)


def _no_conflicts(total: Counts, _size: int) -> _Missed:
    conflicts = total.shared_load_conflicts + total.shared_store_conflicts
    if not conflicts:
        return None
    worst = _worst(total, ("shared_load", "shared_store"), lambda line: line.conflicts)
    return f"there are {conflicts:,} bank conflicts; none is asked for", worst


def _few_barriers(total: Counts, _size: int) -> _Missed:
    most = 4 * total.blocks
    if total.block_barriers <= most:
        return None
    each = total.block_barriers / total.blocks
    text = f"a block of 256 waits at {each:.0f} barriers of all its threads; 4 are enough"
    return text, _worst(total, ("block_barrier",), lambda line: line.requests)


def _shuffles(total: Counts, _size: int) -> _Missed:
    if total.shuffle_requests and total.block_barriers <= total.blocks:
        return None
    text = "it is to be done by shuffles, with one barrier of the block"
    return text, _worst(total, ("block_barrier",), lambda line: line.requests)


_SHEET: tuple[tuple[str, str, _Goal], ...] = (
    ("tail", "the end of the array: no load past it", _nothing),
    ("barriers", "a tree in shared memory: who waits for whom, and when", _nothing),
    ("packed_threads", "divergence: the same pairs, by threads that are neighbours", _busy_lanes),
    ("banks", "bank conflicts: the same tree, by other pairs", _no_conflicts),
    ("first_add", "no thread idles at first: two elements while loading", _nothing),
    ("last_warp", "the last warp by itself: fewer barriers, none too few", _few_barriers),
    ("lanes", "warp shuffles: from one warp to the whole block", _shuffles),
)


def exercises() -> Exercises:
    """List the exercise sheet.

    Returns
    -------
    Exercises
        Seven of them, as `exercise` gives one; it prints as a table.

    """
    return Exercises(exercise(number) for number in range(1, len(_SHEET) + 1))


def exercise(number: int) -> Exercise:
    """Give one exercise: a rung with a hole, to be saved, completed, and checked.

    Parameters
    ----------
    number : int
        From 1 to 7.

    Returns
    -------
    Exercise
        ``source`` is the file's text, the task in its first comment; ``save(path)`` writes it. A
        kernel of the exercise's name is checked for what the exercise asks for, too.

    Raises
    ------
    ValueError
        If there is no such exercise.

    """
    if not isinstance(number, int) or not 1 <= number <= len(_SHEET):
        raise ValueError(f"exercises are numbered from 1 to {len(_SHEET)}; got {number!r}")
    name, title, goal = _SHEET[number - 1]
    path = resources.files("gred").joinpath(f"exercises/{number}_{name}.cuh")
    return Exercise(number, name, title, path.read_text(encoding="utf-8"), goal)


def named(name: str) -> Exercise | None:
    """Find the exercise of a kernel, by its name."""
    numbers = (k for k, (own, _, _) in enumerate(_SHEET, 1) if own == name)
    number = next(numbers, None)
    return None if number is None else exercise(number)
