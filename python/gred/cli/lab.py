"""Compiles your own rung, a kernel in ordinary CUDA or in the ladder's form, and checks it.

It is compiled by the host's C++ compiler, and by nvcc for a GPU. It is checked at edge cases, in
several thread orders, with every access observed; its memory accesses are counted and compared with
the ladder's rungs; its time on an H200 is predicted; and it is timed on a GPU, if there is one. It
runs in a separate process.

The launch is given in the file, in a comment (launched like unroll8), or by --like. A file that
does not compile gives the exit status for bad arguments.

The exercises: python -m gred lab --exercise 1 --out mine.cuh; python -m gred lab mine.cuh
"""

import argparse
from operator import itemgetter
from pathlib import Path

import numpy as np

import gred
from gred.cli import counters, explain, ladder, options, output, units
from gred.cli.console import Column, Console
from gred.cli.data import numpy_answer, random_array
from gred.cli.measure import Plan, Sampling, measure_all, row_of
from gred.cli.options import option
from gred.cli.record import Record, describe_machine
from gred.prediction import H200, predict
from gred.records import inserted_after_like, method_named

_SIZE, _TIMED_SIZE = 1 << 20, 1 << 26

OPTIONS = (
    option("file", "your rung's file", Path, "FILE", nargs="?"),
    option("--like", "launch it like this rung", None, "METHOD"),
    option("--data-blocks", "minimum number of elements per thread", int, "N"),
    option("--methods", "the --like rung and its neighbors"),
    option("--size", "2**20 to count, 2**26 to time on a GPU"),
    *counters.COMMON[1:],
    option("--seed"),
    option("--time"),
    option("--device", "cuda, cuda:1 or simulated (default: also a GPU, if nvcc is available)"),
    option("--plot", "times on the GPU, or else the counts (.svg, ...)"),
    option("--picture", "draw the steps of a few blocks (.svg)", Path, "FILE"),
    option("--exercise", "print this exercise, from 1 to 7", int, "K"),
    option("--out", "write the exercise to a new file", Path, "FILE"),
)


def run(given: argparse.Namespace, console: Console) -> int:
    if given.exercise is not None and given.file is not None:
        raise options.UsageError("pass either FILE or --exercise, not both")
    if given.out is not None and given.exercise is None:
        raise options.UsageError("--out names the file of an exercise; pass --exercise, too")
    output.check_paths({"--picture": given.picture, "--plot": given.plot})
    if given.file is not None:
        return _compile_and_show(given, console)
    if given.exercise is None:
        said = ["no FILE given; the exercises are:"]
        said += [f"{exercise.number}  {exercise.title}" for exercise in gred.lab.exercises()]
    else:
        exercise = gred.lab.exercise(given.exercise)
        said = exercise.source.splitlines()
        if given.out:
            said = [f"wrote {exercise.save(given.out)}: {exercise.title}"]
    for line in said:
        console.line(line)
    return 0


def _compile_and_show(given: argparse.Namespace, console: Console) -> int:
    """Check a rung, compare its counts and times with its neighbors, and draw requested plots."""
    try:
        compiled_as = {name: getattr(given, name) for name in ("like", "data_blocks", "device")}
        rung = gred.lab.compile(given.file, **compiled_as)
    except gred.lab.CompileError as refused:
        console.line("compilation failed:", "red")
        for line in str(refused).splitlines():
            console.line(line)
        return 2
    given.dtype = rung.dtype or given.dtype
    given.block_size = rung.block_size or given.block_size
    blocks = "1 data block" if rung.data_blocks == 1 else f"{rung.data_blocks} data blocks"
    console.title(f"{rung.name}, launched like {rung.like}, {blocks}")
    report = rung.check()
    for finding in report:
        console.line(str(finding), "red")
    if not report.right:
        return 1
    also = f"; all edge cases on {rung.gpu}" if rung.gpu else ""
    text = f"no errors found in all edge cases, thread orders and accesses{also}"
    console.line(text, "green")
    console.line()
    number = method_named(rung.like).number
    rungs = counters.countable(None)
    given.methods = given.methods or tuple(m for m in rungs if abs(m.number - number) <= 2)
    figure, recorded = counters.FIGURE, _show_counts(given, rung, console)
    if rung.gpu:
        figure, recorded = ladder.FIGURE, _show_times(given, rung, console)
    elif given.time:  # on the simulated device, where times can only be compared
        array = np.ones(given.size or _SIZE, given.dtype)
        how = {"block_size": given.block_size, "dtype": given.dtype, "samples": 5}
        own = rung.kernel_time(array, **how)
        other = gred.kernel_time(array, method=rung.like, device="simulated", **how)
        mine, theirs = (units.time_text(float(np.median(one.seconds))) for one in (own, other))
        console.pairs(("simulated", f"{mine}; {rung.like} takes {theirs}"), *ladder.SIMULATED_TIMES)
    if given.plot:
        output.draw(given.plot, figure, recorded)
    if given.picture:  # the steps of one small block, with digits, which are easy to add
        digits = np.random.default_rng(0).integers(1, 10, 32 * rung.data_blocks)
        drawn = rung.accesses(digits.astype(given.dtype), block_size=32, dtype=given.dtype)
        given.picture.write_text(drawn.svg(), encoding="utf-8")
    for path in filter(None, (given.plot, given.picture)):
        console.line(f"wrote {path}")
    return 0


def _show_counts(given: argparse.Namespace, rung: gred.lab.Rung, console: Console) -> Record:
    settings = counters.settings_of(given, size=given.size or _SIZE)
    own = rung.counters(np.ones(settings.size, settings.dtype), **settings.launch)
    rows = inserted_after_like(counters.count(settings, console), counters.Row("*", own), rung.like)

    def predicted(row: counters.Row) -> str:
        like = rung.like if row.number == "*" else row.counters.method
        gpu = H200._replace(multiprocessors=row.counters.multiprocessors)
        return units.time_text(predict(row.counters._replace(method=like), gpu).seconds)

    notes = [", ".join([*explain.limits(one)][:2]) or explain.FREE for _, one in rows]
    column = Column("predicted", predicted, style="bold", about="for an H200")
    counters.show(console, settings, rows, column, notes=notes)
    machine = describe_machine(options.resolve_device("simulated"))
    return counters.record_of(machine, settings, rows)


def _show_times(given: argparse.Namespace, rung: gred.lab.Rung, console: Console) -> Record:
    """Time the rung and the ladder's on the GPU, all with the same random array."""
    size, dtype, sampling = given.size or _TIMED_SIZE, given.dtype, Sampling(20, 2)
    device = options.resolve_device(rung.gpu)
    options.check_memory(device, size, dtype)
    cases = [(method, given.block_size) for method in given.methods]
    plan = Plan(device, cases, (size,), dtype, "sum", given.seed, sampling)
    others, _ = measure_all(plan, console)
    array = random_array(size, dtype, plan.op, plan.seed)
    how = {"block_size": given.block_size, "dtype": dtype, "samples": sampling.samples}
    timed = rung.kernel_time(array, **how)
    named = method_named(rung.like)._replace(number=None, name=rung.name)
    limit = ladder.limit_of(device, others)
    own = row_of(timed, named, numpy_answer(array, plan.op), limit)
    rows = inserted_after_like(others, own, rung.like, itemgetter("number"))
    ladder.show(console, plan, rows)
    return ladder.record_of(describe_machine(device), plan, rows)
