"""The laboratory: compile, check, count and time your own kernel, with or without a GPU.

`compile` makes a `Rung` from a file, `Rung.check` finds its errors, and `ladder` compares it with
the other rungs; `exercise` gives starting points. Kernels run in separate processes, so that no
kernel can crash or block Python.
"""

from gred.lab.building import CompileError
from gred.lab.checking import Exercise, Finding, Report, exercise, exercises
from gred.lab.rung import Ladder, LadderRow, Rung, compile, ladder

__all__ = ["CompileError", "Exercise", "Finding", "Ladder", "LadderRow", "Report", "Rung"]
__all__ += ["compile", "exercise", "exercises", "ladder"]
