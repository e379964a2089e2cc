"""Measure one case with every library in turn: whole calls, until the answer is on the host.

Libraries with the same kind of arrays cycle through the same copies, enough of them that a copy has
left the cache when it is used again. For smaller arrays there is one copy, which stays in the cache
as it would in use; the result says which.
"""

import functools
import gc
import itertools
import math
import multiprocessing
import random
import time
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

import gred
from gred.cli import cases
from gred.cli.cases import Case, Extent
from gred.cli.data import Truth, random_array, random_mask
from gred.cli.libraries import PEERS, Library, why
from gred.cli.measure import Sampling, read_limit
from gred.cli.record import Record, digits, usable_cores

# Size of all copies in multiples of the cache, most copies, and most of the memory they may use.
_OVER_CACHE, _MOST_COPIES, _SHARE = 4, 64, 0.5
# Pause in which the previous library's threads go to sleep; calls above _LONG_SECONDS need none.
_PAUSE_SECONDS = 1e-3
_LONG_SECONDS = 20e-3
# A sample is the mean of as many calls as take this long, since clocks are not exact.
_SAMPLE_SECONDS = 50e-6
# Least number of samples, however long a call takes; after the deadline calls above _LONG_SECONDS
# get only one.
_FEWEST_SAMPLES = 3


class Stage:
    """The arrays shared by cases with the same data, type and size, for all libraries."""

    def __init__(self, case: Case, libraries: Sequence[Library], device: Any, seed: int) -> None:
        self.key, self.seed = stage_key(case), seed
        self.libraries, self._device = libraries, device
        self.flat = random_array(case.size, case.type.dtype(), case.data, seed)
        self._placed: dict[tuple[str, bool], list[Any]] = {}
        # Per kind of arrays, counts the calls of all libraries.
        self.turns: dict[str, Iterator[int]] = defaultdict(itertools.count)

    def close(self) -> None:
        self._placed.clear()
        for library in self.libraries:
            library.release()

    @functools.cached_property
    def limit(self) -> float:
        return read_limit(self._device.name, self.flat.nbytes, 5)

    @functools.cached_property
    def mask(self) -> Any:
        return random_mask(self.flat.size, self.seed)

    def copies(self, nbytes: int) -> tuple[int, bool]:
        """Return the number of copies to cycle through, and whether they exceed the cache."""
        enough = _OVER_CACHE * self._device.l2_cache
        wanted = max(2, math.ceil(enough / nbytes))
        kinds = len({library.pool for library in self.libraries})
        room = _SHARE * self._device.memory / (kinds * self.flat.nbytes)
        copies = max(1, min(wanted, int(room)) if wanted <= _MOST_COPIES else 1)
        return copies, copies * nbytes >= enough

    def given(self, library: Library, case: Case, copies: int) -> list[tuple[Any, ...]]:
        """Return the arguments of the library's function, a tuple for each copy."""

        def copied(array: Any) -> list[Any]:
            placed = self._placed.setdefault((library.pool, array is not self.flat), [])
            while len(placed) < copies:
                placed.append(library.copy(placed[0]) if placed else library.place(array))
            return placed[:copies]

        flats = copied(self.flat)
        masks = copied(self.mask) if case.masked else [None] * copies
        return [library.given(case, *pair) for pair in zip(flats, masks, strict=True)]


def stage_key(case: Case) -> tuple[Any, ...]:
    return case.data, case.type, case.size


class Runner:
    """A library's timed calls of one case; `failure` is the reason if one has raised."""

    def __init__(self, library: Library, case: Case, stage: Stage, copies: int) -> None:
        self.candidate = library
        self.samples: list[int] = []
        self.answer: Any = None
        self.failure = ""
        self._calls, self._long, self._spent = 1, True, 0.0
        self._turns = stage.turns[library.pool]
        with self.noting():
            self._function = library.function(case)
            self._given = stage.given(library, case, copies)
            library.start()

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Record any exception as the reason why the library cannot run the case."""
        try:
            yield
        except Exception as error:
            self.failure = why(error)

    def warm_up(self, sampling: Sampling, deadline: float) -> None:
        """Make unmeasured calls, the first of which may compile; choose the calls per sample."""
        self.turn()
        for _ in range(sampling.warmup):
            in_time = time.monotonic() < deadline or len(self.samples) < 2
            if in_time and (sampling.seconds is None or self._spent < sampling.seconds):
                self.turn()
        seconds = self.samples[-1] * 1e-9
        self._calls = max(1, math.ceil(_SAMPLE_SECONDS / seconds))
        self._long = seconds > _LONG_SECONDS
        self.samples, self._spent = [], 0.0

    def wants(self, sampling: Sampling, late: bool) -> bool:
        """Return whether to take another sample; the fewest are taken in any case."""
        if self.failure or len(self.samples) >= sampling.samples:
            return False
        affordable = sampling.seconds is None or self._spent < sampling.seconds
        fewest = 1 if late and self._long else _FEWEST_SAMPLES
        return (affordable and not late) or len(self.samples) < fewest

    def turn(self) -> None:
        """Take a sample, after an unmeasured call that wakes the library's threads."""
        self.candidate.start()
        if not self._long:
            time.sleep(_PAUSE_SECONDS)
            self.call()
        calls, taken = self._calls, self.call(self._calls)
        self._spent += taken * 1e-9
        self.samples.append(max(1, round(taken / calls)))

    def call(self, count: int = 1) -> int:
        """Call `count` times, each with the next copy; return the total in nanoseconds."""
        function = self._function
        given = [self._given[next(self._turns) % len(self._given)] for _ in range(count)]
        start = time.perf_counter_ns()
        for arguments in given:
            answer = function(*arguments)
        taken = time.perf_counter_ns() - start
        self.answer = answer
        return taken

    def rate(self, nbytes: int) -> Record:
        samples = [] if self.failure else self.samples
        spread = np.percentile(samples, (16, 50, 84)) if samples else [None] * 3
        low, median, high = (time and digits(time) for time in spread)
        return {
            **{"library": self.candidate.key, "ours": self.candidate.ours},
            **{"median_ns": median, "low_ns": low, "high_ns": high},
            "gb_per_s": median and digits(nbytes / median),
        }

    def told(self, truth: Truth) -> Record:
        told: Record = {"right": False, "answer": "", "expected": ""}
        if not self.failure:
            answers = self.answer if isinstance(self.answer, tuple) else (self.answer,)
            # gred.describe also returns two counts, before the fields that others are asked for.
            right = truth.accepts(answers[-len(truth.values) :])
            told = {"right": right, "answer": ", ".join(map(str, answers)), "expected": str(truth)}
        return told | {"missing": self.failure, "samples_ns": [] if self.failure else self.samples}


def asked(case: Case, stage: Stage) -> tuple[Truth, int, int, bool]:
    """Return the truth, the bytes to read, with the mask, the copies, and whether they are cold."""
    mask = stage.mask if case.masked else None
    truth = Truth(case, stage.flat, mask)
    nbytes = truth.count * case.type.itemsize + (0 if mask is None else mask.nbytes)
    return truth, nbytes, *stage.copies(nbytes)


def compete(
    case: Case, stage: Stage, sampling: Sampling, deadline: float = math.inf
) -> list[Record]:
    """Measure all libraries in rounds of random order; after `deadline` only the fewest samples.

    Returns a row for each. Without samples, `missing` is the reason; `cold` is whether the array
    comes from memory; samples are in the order taken.
    """
    (truth, nbytes, copies, cold), order = asked(case, stage), random.Random(0)
    with _undisturbed():
        runners = [Runner(library, case, stage, copies) for library in stage.libraries]
        for runner in (one for one in runners if not one.failure):
            with runner.noting():
                runner.warm_up(sampling, deadline)
        while wanting := [r for r in runners if r.wants(sampling, time.monotonic() > deadline)]:
            for runner in order.sample(wanting, len(wanting)):
                with runner.noting():
                    runner.turn()
    named: Record = dict(zip(("reduction", "dtype", "layout"), case.series, strict=True))
    named |= {"extent": str(case.extent), "size": case.size, "nbytes": nbytes}
    limit = {"limit_gb_per_s": digits(stage.limit * 1e-9), "copies": copies, "cold": cold}
    return [{**named, **runner.rate(nbytes), **limit, **runner.told(truth)} for runner in runners]


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Disable garbage collection and warnings, of overflow for example."""
    collected = gc.isenabled()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        if collected:
            gc.enable()


def latency_floor(device: Any) -> Record:
    """Measure the launch latency of an empty kernel, if the device has launches."""
    if not device.name.startswith("cuda"):
        return {"floor_ns": None, "floor": "none: nothing is launched"}
    floor = digits(float(np.median(gred.launch_limit(device.name).seconds)) * 1e9)
    return {"floor_ns": floor, "floor": "a kernel that does nothing, launched from C"}


def compile_ahead(library: Library, asked: Iterable[Case]) -> None:
    """Let a library compile the kernels of the cases, in one process per core.

    CuPy compiles most kernels on their first call, for seconds and on one core, and caches them on
    disk for other processes; they are the same for all array sizes. Missing features are reported
    later, when the library is measured.
    """
    waiting = sorted({case.series for case in asked})
    if len(waiting) > 1:  # a single one, or the rest if the pool breaks, is compiled in its turn
        spawn = multiprocessing.get_context("spawn")
        work = functools.partial(_compile, library.key, library.device)
        pool = ProcessPoolExecutor(min(len(waiting), usable_cores()), spawn)
        with suppress(BrokenProcessPool), pool:
            list(pool.map(work, waiting))


def _compile(key: str, device: str, series: tuple[str, str, str]) -> None:
    warnings.simplefilter("ignore")  # in this process only
    with suppress(Exception):  # libraries raise various exceptions for missing features
        library: Library = PEERS[key](device)
        # Enough elements for the kernels of large arrays.
        reduction, dtype, layout = series
        size = Extent(1 << 16, in_bytes=False)
        [case] = cases.cases((cases.Block((reduction,), (dtype,), (layout,), (size,)),))
        flat = library.place(random_array(case.size, case.type.dtype(), case.data))
        mask = library.place(random_mask(case.size)) if case.masked else None
        library.start()
        library.function(case)(*library.given(case, flat, mask))
