"""Time and check methods on arrays: the rows of the ladder and the sweep."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

import gred
from gred.cli import units
from gred.cli.console import Console
from gred.cli.data import Answer, Array, numpy_answer, random_array
from gred.cli.record import Record, digits

# Least samples on a device that takes seconds per run; a GPU gets the requested number.
_FEWEST_SAMPLES = 3
# The least number of bytes that gred.read_limit reads.
_LEAST_READ = 1024
_LIMITS: dict[tuple[str, int, int], float] = {}
# Share of a task's time after which its optional work is cut short.
_IN_TIME = 0.8
# The time per size is a moving average over about this many tasks.
_MEMORY = 8


class Sampling(NamedTuple):
    """Number of runs: `samples` after `warmup`, or fewer to stay within `seconds`."""

    samples: int
    warmup: int
    seconds: float | None = None


class Plan(NamedTuple):
    """What to measure, on which device and arrays, and in what total time.

    A case is a method and its block size; None is the method's default, or no block size.
    """

    device: Any
    cases: Sequence[tuple[Any, int | None]]
    sizes: tuple[int, ...]
    dtype: str
    op: str
    seed: int
    sampling: Sampling
    seconds: float | None = None


def accumulator(op: str, dtype: str) -> str | None:
    """Return the accumulator type: for sums and products the array's, as in published ladders."""
    return dtype if op in ("sum", "prod") else None


def device_for(method: Any, device: str) -> str:
    return "host" if method.devices == ("host",) else device


def measure_all(plan: Plan, console: Console) -> tuple[list[Record], str]:
    """Measure every case at every size, while time remains; return rows and what was left out.

    All cases of a size share an array; each row has its device's read limit for that size.
    """
    clock, whole = Clock(plan.seconds), len(plan.cases)
    places = sorted({device_for(method, plan.device.name) for method, _ in plan.cases})
    rows: list[Record] = []
    left_out = []
    with console.progress(len(plan.sizes) * (whole + 1)) as step:
        for size in plan.sizes:
            name, done = units.size_text(size), len(rows)
            step(f"{name} random elements")
            if begins := clock.affords("array", size):
                with clock.timing("array", size):
                    array = random_array(size, plan.dtype, plan.op, plan.seed)
                    answer, samples = numpy_answer(array, plan.op), plan.sampling.samples
                    limits = {at: read_limit(at, array.nbytes, samples) for at in places}
            for method, block_size in plan.cases:
                what = f"{method.name} {block_size or ''}".rstrip()
                step(f"{name} {what if begins else 'skipped'}")
                if begins and clock.affords(what, size):
                    how = {"method": method.name, "device": device_for(method, plan.device.name)}
                    how |= {"dtype": accumulator(plan.op, plan.dtype)}
                    how |= {"block_size": block_size if method.block_sizes else None}
                    with clock.timing(what, size):
                        timed = _time(array, plan.op, plan.sampling, **how)
                        rows.append(row_of(timed, method, answer, limits[how["device"]]))
            if skipped := whole - (len(rows) - done):
                some = "" if skipped == whole else f" ({skipped} of {whole} rows)"
                left_out.append(name + some)
    return rows, ", ".join(left_out)


def row_of(timed: gred.KernelTime, method: Any, answer: Answer, limit: float) -> Record:
    """Build the row of a timing, checked against `answer`; samples are at least 1 ns, in order."""
    launch = (timed.grid, timed.block_size)
    samples, first_pass = (
        np.maximum(1, np.rint(seconds * 1e9)).astype(int).tolist()
        for seconds in (timed.seconds, timed.first_pass)
    )
    low, median, high = np.percentile(samples, (16, 50, 84))
    return {
        "number": method.number,
        "method": method.name,
        "device": timed.device,
        "size": answer.size,
        "nbytes": timed.nbytes,
        "block_size": timed.block_size if method.block_sizes else None,
        "grid": timed.grid,
        "passes": timed.passes,
        "median_ns": digits(median),
        "low_ns": digits(low),
        "high_ns": digits(high),
        "first_pass_ns": digits(float(np.median(first_pass))),
        "gb_per_s": digits(timed.nbytes / median),
        "limit_gb_per_s": digits(limit * 1e-9),
        "right": answer.accepts(timed.result, *launch),
        "result": str(timed.result),
        "expected": str(answer.value),
        "samples_ns": samples,
        "first_pass_samples_ns": first_pass,
        # Not written to files:
        "bound": answer.bound(*launch),
        "limit": limit,
    }


def noise(row: Record) -> float:
    """Return half of the spread, divided by the median."""
    return float((row["high_ns"] - row["low_ns"]) / 2 / row["median_ns"])


def read_limit(device: str, nbytes: int, samples: int) -> float:
    """Measure a device's read limit in bytes per second for `nbytes`, once per process."""
    key = device, max(nbytes, _LEAST_READ), samples
    if key not in _LIMITS:
        measured = gred.read_limit(*key[:2], samples=samples)
        _LIMITS[key] = float(measured.nbytes / np.median(measured.seconds))
    return _LIMITS[key]


def _time(array: Array, op: str, sampling: Sampling, **options: Any) -> gred.KernelTime:
    """Call gred.kernel_time for all samples, or for as many as fit in the time by a first run."""
    samples, warmup, seconds = sampling
    if seconds is not None:
        start = time.perf_counter()
        gred.kernel_time(array, op, samples=1, warmup=0, **options)
        affordable = int(seconds / max(time.perf_counter() - start, 1e-9)) - 1
        samples, warmup = min(samples, max(affordable, _FEWEST_SAMPLES)), 0
    return gred.kernel_time(array, op, samples=samples, warmup=warmup, **options)


class Clock:
    """Distributes a time among tasks by their sizes, and decides which ones to skip.

    Times at smaller sizes predict which tasks would not end in time. If tasks exceed their shares,
    an evenly spread subset is run.
    """

    def __init__(self, seconds: float | None) -> None:
        self._end = math.inf if seconds is None else time.monotonic() + seconds
        self._last: dict[str, tuple[int, float]] = {}
        self._pace = self._due = 0.0

    def affords(self, what: str, size: int) -> bool:
        """Return whether `what` at `size` ends in time, if its time is proportional to the size."""
        known_size, seconds = self._last.get(what, (size, 0.0))
        return time.monotonic() + seconds * size / known_size < self._end

    def admits(self, left: int) -> bool:
        """Return whether to run the next task; `left` is the total size of the remaining ones."""
        allowed = max(0.0, self._end - time.monotonic()) / left
        if self._pace <= allowed:
            return True
        self._due += allowed / self._pace
        is_due = self._due >= 1
        self._due -= is_due
        return is_due

    def deadline(self, size: int, left: int) -> float:
        """Return the deadline, as time.monotonic(), of a task of `size` out of `left`."""
        now = time.monotonic()
        return now + _IN_TIME * (self._end - now) * size / left

    @contextmanager
    def timing(self, what: str, size: int) -> Iterator[None]:
        """Time the body, and record it for `what` at `size`."""
        start = time.monotonic()
        yield
        taken = time.monotonic() - start
        self._last[what] = (size, taken)
        self._pace += (taken / size - self._pace) / _MEMORY
