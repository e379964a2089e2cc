"""The laboratory: a rung of your own, compiled, checked, counted and timed, without a GPU or on it.

`compile` makes a `Rung` of a file, `Rung.check` names what is wrong with it, and `ladder` puts it
beside the others; `exercise` has something to begin with. A kernel runs in a process of its own:
whatever it does, Python goes on.
"""

from gred.lab.building import CompileError
from gred.lab.checking import Exercise, Finding, Report, exercise, exercises
from gred.lab.rung import Rung, compile
from gred.lab.table import Ladder, LadderRow, ladder

__all__ = ["CompileError", "Exercise", "Finding", "Ladder", "LadderRow", "Report", "Rung"]
__all__ += ["compile", "exercise", "exercises", "ladder"]
