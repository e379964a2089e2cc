"""The job `lab`: a rung of the user's own, checked, counted, timed, and beside the ladder's."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import gred
from gred.cli import counters, explain, files, ladder, measure, opening, options, record, units
from gred.cli.answer import numpy_answer
from gred.cli.console import Column, Console, Table
from gred.cli.data import random_array
from gred.cli.measure import Sampling
from gred.gpus import H200
from gred.prediction import predict_counted

DESCRIPTION = """\
Compiles a rung of your own, a kernel in ordinary CUDA or in the ladder's form, by the host's C++
compiler, and by nvcc for a GPU; checks it at every edge, in every order of threads, access by
access; counts what it does to memory, beside the ladder's rungs, and predicts what it takes on an
H200; and times it on a GPU, if there is one. It runs in a process of its own.
"""

EPILOG = """\
How it is launched says the file, in a comment (launched like unroll8), or --like. Exit status: 0
right, 1 something is wrong with it, 2 it cannot be compiled, or other bad arguments, 130
interrupted, 141 broken pipe.

The exercise sheet: python -m gred lab --exercise 1 --out mine.cuh; python -m gred lab mine.cuh"""

_SIZE, _TIMED_SIZE = 1 << 20, 1 << 26
_SAMPLING = Sampling(20, 2)
_DRAWN_BLOCK = 32
_WRONG = 1
_Drawing = Callable[[Path], None]


def parser(prog: str) -> argparse.ArgumentParser:
    """Make the options of `python -m gred lab`."""
    parser = options.parser(prog, DESCRIPTION, EPILOG)
    parser.add_argument("file", metavar="FILE", type=Path, nargs="?", help="your rung's file")
    parser.add_argument("--like", metavar="METHOD", help="the rung that it is launched like")
    parser.add_argument(
        "--data-blocks", metavar="N", type=int, help="elements that a thread should get at least"
    )
    options.add_methods(parser, "the one that it is launched like, and around")
    counted, timed = _SIZE.bit_length() - 1, _TIMED_SIZE.bit_length() - 1
    counters.add_common(parser, f"2**{counted}, and on a GPU, to be timed, 2**{timed}")
    parser.set_defaults(size=None)
    options.add_seed(parser)
    ladder.add_time(parser)
    parser.add_argument(
        "--device",
        metavar="NAME",
        help="cuda, cuda:1 or simulated (default: a GPU too, if there is one, and nvcc)",
    )
    files.add_place(parser, "--plot", "draw times on the GPU, or else what is counted (.svg, ...)")
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
        options_given = {name: getattr(given, name) for name in ("like", "data_blocks", "device")}
        rung = gred.lab.compile(given.file, **options_given)
    except gred.lab.CompileError as refused:
        console.line("it does not compile:", "red")
        for line in str(refused).splitlines():
            console.line(line)
        return 2
    own = {"dtype": rung.dtype, "block_size": rung.block_size}
    only = {name: value for name, value in own.items() if value}
    return _show(argparse.Namespace(**{**vars(given), **only}), rung, console)


def _check(given: argparse.Namespace) -> None:
    if given.exercise is not None and given.file is not None:
        raise options.UsageError("give a FILE of your own, or --exercise, and not both")
    if given.out is not None and given.exercise is None:
        raise options.UsageError("--out is where an exercise is written to: give --exercise, too")
    files.check_apart({"--picture": given.picture, "--plot": given.plot})
    options.check_plot("--plot", given.plot)
    for name in ("picture", "plot"):
        files.check_file(f"--{name}", getattr(given, name))


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
    also = f"; every edge on {rung.gpu}" if rung.gpu else ""
    text = f"nothing is wrong: every edge, every order of threads, every access{also}"
    console.line(text, "green")
    console.line()
    near = _near(given, rung)
    drawn = _show_counts(given, rung, near, console)
    if rung.gpu:
        drawn = _show_climb(given, rung, near, console)
    elif given.time:
        console.pairs(_times(given, rung))
    if given.plot:
        drawn(given.plot)
    if given.picture:
        given.picture.write_text(_picture(given, rung), encoding="utf-8")
    for path in filter(None, (given.plot, given.picture)):
        console.line(f"wrote {path}")
    return 0


def _picture(given: argparse.Namespace, rung: gred.lab.Rung) -> str:
    """Draw one small block's steps, on digits that are easy to add up."""
    size = _DRAWN_BLOCK * rung.data_blocks
    digits = np.random.default_rng(0).integers(1, 10, size).astype(given.dtype)
    return rung.accesses(digits, block_size=_DRAWN_BLOCK, dtype=given.dtype).svg()


def _near(given: argparse.Namespace, rung: gred.lab.Rung) -> tuple[Any, ...]:
    """Choose the rungs to be compared with."""
    number = _like(rung).number
    near = [m for m in gred.methods() if m.number is not None and abs(m.number - number) <= 2]
    return given.methods or tuple(m for m in near if m.number <= counters.LATEST)


def _like(rung: gred.lab.Rung) -> Any:
    return next(method for method in gred.methods() if method.name == rung.like)


def _with_own(rows: Sequence[Any], own: Any, rung: gred.lab.Rung) -> list[Any]:
    """Put your own after the one that it is launched like."""
    place = sum(row.number <= _like(rung).number for row in rows)
    return [*rows[:place], own, *rows[place:]]


# ---- counted ----


def _show_counts(
    given: argparse.Namespace, rung: gred.lab.Rung, near: tuple[Any, ...], console: Console
) -> _Drawing:
    counted = argparse.Namespace(**{**vars(given), "size": given.size or _SIZE})
    settings = counters.settings_of(counted, near)
    own = rung.counters(
        np.ones(settings.size, settings.dtype),
        block_size=settings.block_size,
        dtype=settings.dtype,
        multiprocessors=settings.multiprocessors,
    )
    rows = _with_own(counters.count(settings, console), counters.Row("*", own), rung)
    counters.show_rows(console, settings, rows, _predicted(rows, rung))

    def draw(path: Path) -> None:
        machine = record.describe_machine(options.resolve_device("simulated"))
        kept = counters.counters_record(machine, settings, rows)
        opening.draw(counters.figure, path, kept)

    return draw


def _predicted(rows: Sequence[counters.Row], rung: gred.lab.Rung) -> Table:
    """Predict your own, as what it is launched like, and the others; and say what limits each."""
    times, notes = [], []
    for number, one in rows:
        launched = one._replace(method=rung.like) if number == "*" else one
        gpu = H200._replace(multiprocessors=one.multiprocessors)
        times.append(units.time_text(predict_counted(launched, gpu).seconds))
        notes.append(", ".join([*explain.limits(one)][:2]) or explain.FREE)
    column = Column("predicted", style="bold", about="for an H200")
    return Table([column], [[time] for time in times], notes)


# ---- timed ----


def _show_climb(
    given: argparse.Namespace, rung: gred.lab.Rung, near: tuple[Any, ...], console: Console
) -> _Drawing:
    """Time it on the GPU as the ladder is, each on the same random array."""
    settings = ladder.Settings(
        device=options.resolve_device(rung.gpu),
        methods=near,
        size=given.size or _TIMED_SIZE,
        dtype=given.dtype,
        op="sum",
        block_size=given.block_size,
        seed=given.seed,
        sampling=_SAMPLING,
    )
    options.check_memory(settings.device, settings.size, settings.dtype)
    limit, rows = ladder.climb(settings, console)
    rows = _with_own(rows, _own_row(settings, rung, limit), rung)
    ladder.show(console, settings, limit, rows)

    def draw(path: Path) -> None:
        machine = record.describe_machine(settings.device)
        kept = ladder.record_of(machine, settings, limit, rows)
        opening.draw(ladder.figure, path, kept)

    return draw


def _own_row(settings: ladder.Settings, rung: gred.lab.Rung, limit: float) -> measure.Row:
    array = random_array(settings.size, settings.dtype, settings.op, settings.seed)
    timed = rung.kernel_time(
        array,
        block_size=settings.block_size,
        dtype=measure.accumulator(settings.op, settings.dtype),
        samples=settings.sampling.samples,
    )
    named = _like(rung)._replace(number=None, name=rung.name)
    return measure.row_of(timed, named, array, numpy_answer(array, settings.op), limit)


def _times(given: argparse.Namespace, rung: gred.lab.Rung) -> list[tuple[str, str]]:
    """Time both on the simulated device, where only one compared with the other means anything."""
    array = np.ones(given.size or _SIZE, given.dtype)
    settings = {"block_size": given.block_size, "dtype": given.dtype, "samples": 5}
    own = float(np.median(rung.kernel_time(array, **settings).seconds))
    timed = gred.kernel_time(array, method=rung.like, device="simulated", **settings)
    other = float(np.median(timed.seconds))
    text = f"{units.time_text(own)}; {rung.like} takes {units.time_text(other)}"
    return [("simulated", text), *ladder.SIMULATED_TIMES]
