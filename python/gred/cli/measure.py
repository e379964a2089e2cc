"""Methods timed and checked on arrays: the rows that the ladder and the sweep are made of."""

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

# Enough for a spread on a device that takes seconds for a run; a GPU gets what was asked for.
_FEWEST_SAMPLES = 3
# Bytes; gred.read_limit reads no less.
_LEAST_READ = 1024
_LIMITS: dict[tuple[str, int, int], float] = {}
# The share of its time in which a task should have done what can be cut short.
_IN_TIME = 0.8
# Seconds for a size are the mean of about so many tasks before.
_MEMORY = 8


class Sampling(NamedTuple):
    """How often to run: `samples` times after `warmup`, or fewer to stay within `seconds`."""

    samples: int
    warmup: int
    seconds: float | None = None


class Plan(NamedTuple):
    """What to measure, on which device and arrays, and in what time altogether.

    A case is a method and the size of its blocks: None is its own, or nothing.
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
    """Let sums and products accumulate in the array's own type, as published ladders do."""
    return dtype if op in ("sum", "prod") else None


def device_for(method: Any, device: str) -> str:
    return "host" if method.devices == ("host",) else device


def measure_all(plan: Plan, console: Console) -> tuple[list[Record], str]:
    """Measure every case at every size, as far as there is time; and what was left out.

    A size has one array, and a row stands beside what its device reads at best of so much.
    """
    clock, whole = Clock(plan.seconds), len(plan.cases)
    rows: list[Record] = []
    left_out = []
    with console.progress(len(plan.sizes) * (whole + 1)) as step:
        for size in plan.sizes:
            name, done = units.size_text(size), len(rows)
            step(f"{name} random elements")
            if begins := clock.affords("array", size):
                with clock.timing("array", size):
                    array, answer, limits = _array_of(plan, size)
            for method, block_size in plan.cases:
                what = f"{method.name} {block_size or ''}".rstrip()
                step(f"{name} {what if begins else 'left out'}")
                if begins and clock.affords(what, size):
                    with clock.timing(what, size):
                        rows.append(_row(plan, method, block_size, array, answer, limits))
            if skipped := whole - (len(rows) - done):
                some = "" if skipped == whole else f" ({skipped} of {whole} rows)"
                left_out.append(name + some)
    return rows, ", ".join(left_out)


def _array_of(plan: Plan, size: int) -> tuple[Array, Answer, dict[str, float]]:
    """Make a size's array, and find its answer and what each device reads at best of so much."""
    array = random_array(size, plan.dtype, plan.op, plan.seed)
    places = sorted({device_for(method, plan.device.name) for method, _ in plan.cases})
    limits = {at: read_limit(at, array.nbytes, plan.sampling.samples) for at in places}
    return array, numpy_answer(array, plan.op), limits


def _row(
    plan: Plan,
    method: Any,
    block_size: int | None,
    array: Array,
    answer: Answer,
    limits: dict[str, float],
) -> Record:
    device = device_for(method, plan.device.name)
    timed = _time(
        array,
        plan.op,
        plan.sampling,
        method=method.name,
        device=device,
        dtype=accumulator(plan.op, plan.dtype),
        block_size=block_size if method.block_sizes else None,
    )
    return row_of(timed, method, answer, limits[device])


def row_of(timed: gred.KernelTime, method: Any, answer: Answer, limit: float) -> Record:
    """Compare what was timed with `answer`; samples are of at least a nanosecond, in order."""
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
        # Not for files:
        "bound": answer.bound(*launch),
        "limit": limit,
    }


def noise(row: Record) -> float:
    """Half of the spread, over the median."""
    return float((row["high_ns"] - row["low_ns"]) / 2 / row["median_ns"])


def read_limit(device: str, nbytes: int, samples: int) -> float:
    """Measure the bytes per second that `device` reads at best from `nbytes`, once a process."""
    key = device, max(nbytes, _LEAST_READ), samples
    if key not in _LIMITS:
        measured = gred.read_limit(*key[:2], samples=samples)
        _LIMITS[key] = float(measured.nbytes / np.median(measured.seconds))
    return _LIMITS[key]


def _time(array: Array, op: str, sampling: Sampling, **options: Any) -> gred.KernelTime:
    """Call gred.kernel_time for all samples, or as many as a first run says fit in the seconds."""
    samples, warmup, seconds = sampling
    if seconds is not None:
        start = time.perf_counter()
        gred.kernel_time(array, op, samples=1, warmup=0, **options)
        affordable = int(seconds / max(time.perf_counter() - start, 1e-9)) - 1
        samples, warmup = min(samples, max(affordable, _FEWEST_SAMPLES)), 0
    return gred.kernel_time(array, op, samples=samples, warmup=warmup, **options)


class Clock:
    """Shares a time out among tasks, by their sizes, and says which to leave out.

    From how long the same took at a smaller size it knows what would not end in time. Should tasks
    take longer than their shares, as many as there is time for are done, evenly spread.
    """

    def __init__(self, seconds: float | None) -> None:
        self._end = math.inf if seconds is None else time.monotonic() + seconds
        self._last: dict[str, tuple[int, float]] = {}
        self._pace = self._due = 0.0

    def affords(self, what: str, size: int) -> bool:
        """Tell whether `what` at `size`, should its time grow with the size, ends in time."""
        known_size, seconds = self._last.get(what, (size, 0.0))
        return time.monotonic() + seconds * size / known_size < self._end

    def admits(self, left: int) -> bool:
        """Tell whether to do the next task, where `left` is the size of all that are left."""
        allowed = max(0.0, self._end - time.monotonic()) / left
        if self._pace <= allowed:
            return True
        self._due += allowed / self._pace
        is_due = self._due >= 1
        self._due -= is_due
        return is_due

    def deadline(self, size: int, left: int) -> float:
        """Say by when, in time.monotonic's seconds, a task of `size` of all `left` should end."""
        now = time.monotonic()
        return now + _IN_TIME * (self._end - now) * size / left

    @contextmanager
    def timing(self, what: str, size: int) -> Iterator[None]:
        """Time what is done inside, and remember it for `what` at `size`."""
        start = time.monotonic()
        yield
        taken = time.monotonic() - start
        self._last[what] = (size, taken)
        self._pace += (taken / size - self._pace) / _MEMORY
