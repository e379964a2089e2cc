"""One method timed and checked on one array: the row that the ladder and the sweep are made of."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

import gred
from gred.cli.data import Answer, Array
from gred.cli.record import Record, digits

# Enough for a spread on a device that takes seconds for a run; a GPU gets what was asked for.
_FEWEST_SAMPLES = 3
# Bytes; gred.read_limit reads no less.
_LEAST_READ = 1024
# The share of its time in which a task should have done what can be cut short.
_IN_TIME = 0.8
# Seconds for a size are the mean of about so many tasks before.
_MEMORY = 8


class Sampling(NamedTuple):
    """How often to run: `samples` times after `warmup`, or fewer to stay within `seconds`."""

    samples: int
    warmup: int
    seconds: float | None = None


class Row(NamedTuple):
    """A method's samples on one array, whole nanoseconds in the order taken."""

    number: int | None
    method: str
    device: str
    size: int
    nbytes: int
    block_size: int | None
    grid: int
    passes: int
    samples: tuple[int, ...]
    first_pass: tuple[int, ...]
    limit: float
    right: bool
    result: str
    expected: str
    bound: float

    @property
    def seconds(self) -> float:
        return float(np.median(self.samples)) * 1e-9

    @property
    def spread(self) -> tuple[float, float]:
        """The 16th and 84th percentile in seconds: two thirds of the samples lie between."""
        low, high = np.percentile(self.samples, (16, 84)) * 1e-9
        return float(low), float(high)

    @property
    def noise(self) -> float:
        """Half of the spread over the median."""
        low, high = self.spread
        return (high - low) / 2 / self.seconds

    @property
    def bandwidth(self) -> float:
        return self.nbytes / self.seconds

    def summary(self) -> Record:
        """Make what is written down, but for the single samples."""
        low, high = self.spread
        return {
            **dict(zip(self._fields[:8], self, strict=False)),
            "median_ns": digits(self.seconds * 1e9),
            "low_ns": digits(low * 1e9),
            "high_ns": digits(high * 1e9),
            "first_pass_ns": digits(float(np.median(self.first_pass))),
            "gb_per_s": digits(self.bandwidth * 1e-9),
            "limit_gb_per_s": digits(self.limit * 1e-9),
            "right": self.right,
        }


def accumulator(op: str, dtype: str) -> str | None:
    """Let sums and products accumulate in the array's own type, as published ladders do."""
    return dtype if op in ("sum", "prod") else None


def device_for(method: Any, device: str) -> str:
    """Choose `device`, or the host for a method that only the host has."""
    return "host" if method.devices == ("host",) else device


def measure(
    method: Any,
    block_size: int | None,
    device: str,
    array: Array,
    answer: Answer,
    sampling: Sampling,
    limit: float,
) -> Row:
    """Run `method` on `array`, compare its last result with `answer`, and keep every sample."""
    how: dict[str, Any] = {"method": method.name, "device": device}
    how["block_size"] = block_size if method.block_sizes else None
    how["dtype"] = accumulator(answer.op, array.dtype.name)
    timed = _time(array, answer.op, sampling, **how)
    return row_of(timed, method, array, answer, limit)


def row_of(timed: gred.KernelTime, method: Any, array: Array, answer: Answer, limit: float) -> Row:
    """Compare what was timed with `answer`, and keep every sample."""
    launch = (timed.grid, timed.block_size)
    return Row(
        number=method.number,
        method=method.name,
        device=timed.device,
        size=array.size,
        nbytes=timed.nbytes,
        block_size=timed.block_size if method.block_sizes else None,
        grid=timed.grid,
        passes=timed.passes,
        samples=_nanoseconds(timed.seconds),
        first_pass=_nanoseconds(timed.first_pass),
        limit=limit,
        right=answer.accepts(timed.result, *launch),
        result=str(timed.result),
        expected=str(answer.value),
        bound=answer.bound(*launch),
    )


def read_limit(device: str, nbytes: int, samples: int) -> float:
    """Measure the bytes per second that `device` reads at best from `nbytes`."""
    measured = gred.read_limit(device, max(nbytes, _LEAST_READ), samples=samples)
    return float(measured.nbytes / np.median(measured.seconds))


def _time(array: Array, op: str, sampling: Sampling, **options: Any) -> gred.KernelTime:
    """Call gred.kernel_time for all samples, or as many as a first run says fit in the seconds."""
    samples, warmup, seconds = sampling
    if seconds is None:
        return gred.kernel_time(array, op, samples=samples, warmup=warmup, **options)
    start = time.perf_counter()
    first = gred.kernel_time(array, op, samples=1, warmup=0, **options)
    affordable = int(seconds / max(time.perf_counter() - start, 1e-9))
    if affordable > _FEWEST_SAMPLES:
        samples = min(samples, affordable - 1)
        return gred.kernel_time(array, op, samples=samples, warmup=0, **options)
    rest = gred.kernel_time(array, op, samples=_FEWEST_SAMPLES - 1, warmup=0, **options)
    return rest._replace(
        seconds=np.concatenate((first.seconds, rest.seconds)),
        first_pass=np.concatenate((first.first_pass, rest.first_pass)),
    )


def _nanoseconds(seconds: Any) -> tuple[int, ...]:
    """Round to whole nanoseconds, and at least one: a clock may be coarser than a tiny run."""
    return tuple(max(1, round(float(second) * 1e9)) for second in seconds)


class Clock:
    """Shares a time out among tasks, by their sizes, and says which to leave out.

    From how long the same took at a smaller size it knows what would not end in time. Should tasks
    take longer than their shares, as many as there is time for are done, evenly spread.
    """

    def __init__(self, seconds: float | None) -> None:
        self._end = math.inf if seconds is None else time.monotonic() + seconds
        self._last: dict[str, tuple[int, float]] = {}
        self._pace = 0.0
        self._due = 0.0

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
        if self._due < 1:
            return False
        self._due -= 1
        return True

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
