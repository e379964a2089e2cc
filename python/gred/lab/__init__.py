"""The laboratory: a rung of your own, compiled, checked, counted and timed, without a GPU.

>>> import gred
>>> exercise = gred.lab.exercise(2)
>>> path = exercise.save("my_barriers.cuh")              # doctest: +SKIP
>>> gred.lab.compile(path).check()                       # doctest: +SKIP
my_barriers.cuh:25: a race: thread 0 of block 0 loads ...

A kernel runs in a process of its own: whatever it does, Python goes on.
"""

from gred.lab.building import CompileError
from gred.lab.checking import Finding, Report
from gred.lab.rung import Rung, compile
from gred.lab.sheet import Exercise, exercise, exercises
from gred.lab.table import Ladder, LadderRow, ladder

__all__ = [
    "CompileError",
    "Exercise",
    "Finding",
    "Ladder",
    "LadderRow",
    "Report",
    "Rung",
    "compile",
    "exercise",
    "exercises",
    "ladder",
]
