"""Helpers for the tests of gred.lab."""

import shutil
from pathlib import Path

import pytest

import gred
from gred.lab import checking, processes

LADDER = Path(gred.__file__).parent / "kernels/ladder"
RUNGS = Path(__file__).parents[1] / "rungs"
PAGE = Path(__file__).parents[2] / "docs/your-own-rung.md"
HAS_COMPILER = any(map(shutil.which, ("c++", "g++", "clang++")))
needs_compiler = pytest.mark.skipif(not HAS_COMPILER, reason="there is no C++ compiler here")
LAB = [pytest.mark.unsanitized, pytest.mark.usefixtures("patient_lab"), needs_compiler]


def found(rung, *jobs, seconds=600.0, kind="counting"):
    """Run the jobs in one process, and return what is found in each."""
    build = rung._build
    answers = processes.answers({**build.asked(kind), "jobs": jobs}, seconds)
    return [checking._finding_of(build, *pair) for pair in zip(jobs, answers, strict=False)]


def saved(folder, text, name="mine.cuh"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def compile_error(path, **options):
    with pytest.raises(gred.lab.CompileError) as caught:
        gred.lab.compile(path, **options)
    return str(caught.value)


def line_of(path, text):
    lines = path.read_text(encoding="utf-8").splitlines()
    (number,) = (k for k, line in enumerate(lines, 1) if line.endswith(f"// {text}"))
    return number
