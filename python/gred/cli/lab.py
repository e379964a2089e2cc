"""The job `lab`: a rung of the user's own, checked, counted, timed, and beside the ladder's."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import gred
from gred.cli import counters, files, options, units
from gred.cli.console import Console
from gred.cli.counters import Row

DESCRIPTION = """\
Compiles a rung of your own, a kernel in the form of the ladder's, by the host's C++ compiler;
checks it at every edge, in every order of threads, access by access; counts what it does to memory,
beside the ladder's rungs; and times it. It runs on the simulated device, in a process of its own.
"""

EPILOG = """\
How it is launched says the file, in a comment (launched like unroll8), or --like. Exit status: 0
right, 1 something is wrong with it, 2 it cannot be compiled, or other bad arguments, 130
interrupted, 141 nobody reads.

The exercise sheet: python -m gred lab --exercise 1 --out mine.cuh; python -m gred lab mine.cuh"""

_SIZE = 1 << 16
_DRAWN_BLOCK = 32
_WRONG = 1


def parser(prog: str) -> argparse.ArgumentParser:
    """Make the options of `python -m gred lab`."""
    parser = options.parser(prog, DESCRIPTION, EPILOG)
    parser.add_argument("file", metavar="FILE", type=Path, nargs="?", help="your rung's file")
    parser.add_argument("--like", metavar="METHOD", help="the rung that it is launched like")
    parser.add_argument(
        "--data-blocks", metavar="N", type=int, help="elements that a thread should get at least"
    )
    options.add_methods(parser, "the one that it is launched like, and around")
    counters.add_common(parser, f"2**{_SIZE.bit_length() - 1}")
    parser.set_defaults(size=_SIZE)
    parser.add_argument(
        "--picture", metavar="FILE", type=Path, help="draw the steps of a few blocks (.svg)"
    )
    parser.add_argument("--exercise", metavar="K", type=int, help="give this exercise, from 1 to 7")
    parser.add_argument("--out", metavar="FILE", type=Path, help="write the exercise to a new file")
    return parser


def run(given: argparse.Namespace, console: Console) -> int:
    """Give an exercise, or check and show a rung; the exit status."""
    _check(given)
    if given.exercise is not None:
        return _give(given, console)
    if given.file is None:
        _list(console)
        return 0
    try:
        rung = gred.lab.compile(given.file, like=given.like, data_blocks=given.data_blocks)
    except gred.lab.CompileError as refused:
        console.line("it does not compile:", "red")
        for line in str(refused).splitlines():
            console.line(line)
        return 2
    return _show(given, rung, console)


def _check(given: argparse.Namespace) -> None:
    if given.exercise is not None and given.file is not None:
        raise options.UsageError("give a FILE of your own, or --exercise, and not both")
    if given.out is not None and given.exercise is None:
        raise options.UsageError("--out is where an exercise is written to: give --exercise, too")
    files.check_file("--picture", given.picture)


def _list(console: Console) -> None:
    console.line("no FILE is given; there are these exercises:")
    for exercise in gred.lab.exercises():
        console.line(f"{exercise.number}  {exercise.title}")


def _give(given: argparse.Namespace, console: Console) -> int:
    exercise = gred.lab.exercise(given.exercise)
    if given.out is None:
        for line in exercise.source.splitlines():
            console.line(line)
    else:
        console.line(f"wrote {exercise.save(given.out)}: {exercise.title}")
    return 0


def _show(given: argparse.Namespace, rung: gred.lab.Rung, console: Console) -> int:
    blocks = "1 data block" if rung.data_blocks == 1 else f"{rung.data_blocks} data blocks"
    console.title(f"{rung.name}, launched like {rung.like}, {blocks}")
    report = rung.check()
    for finding in report:
        console.line(str(finding), "red")
    if not report.right:
        return _WRONG
    console.line("nothing is wrong: every edge, every order of threads, every access", "green")
    console.line()
    array = np.ones(given.size, given.dtype)
    rows = _rows(given, rung, array, console)
    counters.show_rows(console, counters.settings_of(given, given.methods), rows)
    console.pairs(_times(given, rung, array))
    if given.picture:
        given.picture.write_text(_picture(given, rung), encoding="utf-8")
        console.line(f"wrote {given.picture}")
    return 0


def _picture(given: argparse.Namespace, rung: gred.lab.Rung) -> str:
    """Draw one small block's steps, on digits that are easy to add up."""
    size = _DRAWN_BLOCK * rung.data_blocks
    digits = np.random.default_rng(0).integers(1, 10, size).astype(given.dtype)
    return rung.accesses(digits, block_size=_DRAWN_BLOCK, dtype=given.dtype).svg()


def _rows(
    given: argparse.Namespace, rung: gred.lab.Rung, array: Any, console: Console
) -> list[Row]:
    """Count the rungs to be compared with, and your own behind the one that it is like."""
    like = next(m for m in gred.methods() if m.name == rung.like)
    near = [m for m in gred.methods() if m.number is not None and abs(m.number - like.number) <= 2]
    wanted = given.methods or tuple(m for m in near if m.number <= counters.LATEST)
    rows = counters.count(counters.settings_of(given, wanted), console)
    own = rung.counters(
        array,
        block_size=given.block_size,
        dtype=given.dtype,
        multiprocessors=given.multiprocessors,
    )
    place = sum(row.number <= like.number for row in rows)
    return [*rows[:place], Row("*", own), *rows[place:]]


def _times(given: argparse.Namespace, rung: gred.lab.Rung, array: Any) -> list[tuple[str, str]]:
    """Time both on the simulated device, where only one compared with the other means anything."""
    settings = {"block_size": given.block_size, "dtype": given.dtype, "samples": 5}
    own = float(np.median(rung.kernel_time(array, **settings).seconds))
    timed = gred.kernel_time(array, method=rung.like, device="simulated", **settings)
    other = float(np.median(timed.seconds))
    text = f"{units.time_text(own)}; {rung.like} takes {units.time_text(other)}"
    return [("simulated", text)]
