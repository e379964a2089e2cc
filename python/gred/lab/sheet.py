"""The exercise sheet: rungs with a hole each, and what a right one has to do besides."""

import os
from collections.abc import Callable, Iterable
from importlib import resources
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from gred.counting import Counts, Line, bank_conflicts
from gred.records import Records


class Goal(NamedTuple):
    """What an exercise asks for besides the right answer, and which lines' cost misses it."""

    is_reached: Callable[[Counts], bool]
    text: Callable[[Counts], str]
    events: tuple[str, ...]
    cost: Callable[[Line], int] = attrgetter("requests")

    def line(self, lines: Iterable[Line]) -> Line | None:
        """Find the line that costs most."""
        return max((x for x in lines if x.event in self.events), key=self.cost, default=None)


class Exercise(NamedTuple):
    """A rung with a hole; ``source`` is the text of the file, whose first comment is the task."""

    number: int
    name: str
    title: str
    source: str
    goal: Goal | None

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

    columns = (("#", "number"), ("kernel", "name"), ("what it is about", "title"))


_BUSY_LANES = Goal(
    lambda total: (total.active_lanes or 0) >= 12,
    lambda total: (
        f"of a warp's 32 lanes {total.active_lanes or 0:.1f} are active in a step of "
        "arithmetic; 12 are asked for"
    ),
    ("merge",),
    lambda line: 32 * line.requests - line.lanes,
)
_NO_CONFLICTS = Goal(
    lambda total: not bank_conflicts(total),
    lambda total: f"there are {bank_conflicts(total):,} bank conflicts; none is asked for",
    ("shared_load", "shared_store"),
    attrgetter("conflicts"),
)
_FEW_BARRIERS = Goal(
    lambda total: total.block_barriers <= 4 * total.blocks,
    lambda total: (
        f"a block of 256 waits at {total.block_barriers / total.blocks:.0f} barriers of "
        "all its threads; 4 are enough"
    ),
    ("block_barrier",),
)
_SHUFFLES = Goal(
    lambda total: bool(total.shuffle_requests) and total.block_barriers <= total.blocks,
    lambda total: "it is to be done by shuffles, with one barrier of the block",
    ("block_barrier",),
)
_SHEET: tuple[tuple[str, str, Goal | None], ...] = (
    ("tail", "the end of the array: no load past it", None),
    ("barriers", "a tree in shared memory: who waits for whom, and when", None),
    ("packed_threads", "divergence: the same pairs, by threads that are neighbours", _BUSY_LANES),
    ("banks", "bank conflicts: the same tree, by other pairs", _NO_CONFLICTS),
    ("first_add", "no thread idles at first: two elements while loading", None),
    ("last_warp", "the last warp by itself: fewer barriers, none too few", _FEW_BARRIERS),
    ("lanes", "warp shuffles: from one warp to the whole block", _SHUFFLES),
)
# What is asked for of kernels of the exercises' names.
GOALS = {name: goal for name, _, goal in _SHEET}


def exercises() -> Exercises:
    """List the exercise sheet: seven, as `exercise` gives one; they print as a table."""
    return Exercises(exercise(number) for number in range(1, len(_SHEET) + 1))


def exercise(number: int) -> Exercise:
    """Give one exercise, from 1 to 7: a rung with a hole, to be saved, completed, and checked.

    ``source`` is the file's text, the task in its first comment; ``save(path)`` writes it. A kernel
    of the exercise's name is checked for what the exercise asks for, too. ValueError is raised if
    there is no such exercise.
    """
    if not isinstance(number, int) or not 1 <= number <= len(_SHEET):
        raise ValueError(f"exercises are numbered from 1 to {len(_SHEET)}; got {number!r}")
    name, title, goal = _SHEET[number - 1]
    path = resources.files("gred").joinpath(f"exercises/{number}_{name}.cuh")
    return Exercise(number, name, title, path.read_text(encoding="utf-8"), goal)
