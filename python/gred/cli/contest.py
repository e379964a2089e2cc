"""One case, reduced by every library in turn: whole calls, until the answer is on the host.

Libraries with the same kind of arrays go round the same copies, enough of them that the cache has
forgotten one when its turn comes again. Of what is too small for that there is one, which stays in
the cache as it would in use; the result says which it was.
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

# All copies together are so many times the cache, and take at most this share of the memory.
_OVER_CACHE, _MOST_COPIES, _SHARE = 4, 64, 0.5
# Threads of the library before go to sleep meanwhile; what takes long enough does not notice them.
_PAUSE_SECONDS = 1e-3
_LONG_SECONDS = 20e-3
# A sample is the mean of as many calls as take so long, because clocks are not exact, ...
_SAMPLE_SECONDS = 50e-6
# ... and there are at least so many samples, however long a call takes; after a deadline a call of
# _LONG_SECONDS gets but one.
_FEWEST_SAMPLES = 3


class Stage:
    """The arrays that cases with the same data, type and size share, at every library's hand."""

    def __init__(self, case: Case, libraries: Sequence[Library], device: Any, seed: int) -> None:
        self.key, self.seed = stage_key(case), seed
        self.libraries, self._device = libraries, device
        self.flat = random_array(case.size, case.type.dtype(), case.data, seed)
        self._placed: dict[tuple[str, bool], list[Any]] = {}
        # Calls on a kind of arrays, by whichever library.
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
        """Choose how many copies to go round, and whether the cache will have forgotten them."""
        enough = _OVER_CACHE * self._device.l2_cache
        wanted = max(2, math.ceil(enough / nbytes))
        kinds = len({library.pool for library in self.libraries})
        room = _SHARE * self._device.memory / (kinds * self.flat.nbytes)
        copies = max(1, min(wanted, int(room)) if wanted <= _MOST_COPIES else 1)
        return copies, copies * nbytes >= enough

    def given(self, library: Library, case: Case, copies: int) -> list[tuple[Any, ...]]:
        """Make what the library's function is called with, a tuple a copy."""

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
    """A library's calls of one case, timed; once one has raised, `failure` says what."""

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
        """Note why the library cannot: whatever one that lacks something raises."""
        try:
            yield
        except Exception as error:
            self.failure = why(error)

    def warm_up(self, sampling: Sampling, deadline: float) -> None:
        """Call once, which may compile, and again; find out how many calls a sample is."""
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
        """Tell whether another sample is wanted, and still affordable; too few never are."""
        if self.failure or len(self.samples) >= sampling.samples:
            return False
        affordable = sampling.seconds is None or self._spent < sampling.seconds
        fewest = 1 if late and self._long else _FEWEST_SAMPLES
        return (affordable and not late) or len(self.samples) < fewest

    def turn(self) -> None:
        """Take a sample. A call that is not counted wakes the library's threads."""
        self.candidate.start()
        if not self._long:
            time.sleep(_PAUSE_SECONDS)
            self.call()
        calls, taken = self._calls, self.call(self._calls)
        self._spent += taken * 1e-9
        self.samples.append(max(1, round(taken / calls)))

    def call(self, count: int = 1) -> int:
        """Call so many times, each with the next copy; the nanoseconds of all together."""
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
            # gred.describe has a count and a count of NaN before what others are asked for.
            right = truth.accepts(answers[-len(truth.values) :])
            told = {"right": right, "answer": ", ".join(map(str, answers)), "expected": str(truth)}
        return told | {"missing": self.failure, "samples_ns": [] if self.failure else self.samples}


def asked(case: Case, stage: Stage) -> tuple[Truth, int, int, bool]:
    """Say what is right, the bytes that have to be read, the mask too, and by how many copies."""
    mask = stage.mask if case.masked else None
    truth = Truth(case, stage.flat, mask)
    nbytes = truth.count * case.type.itemsize + (0 if mask is None else mask.nbytes)
    return truth, nbytes, *stage.copies(nbytes)


def compete(
    case: Case, stage: Stage, sampling: Sampling, deadline: float = math.inf
) -> list[Record]:
    """Measure all libraries in rounds of random order; after `deadline` only the fewest samples.

    A row is kept of each. Without samples, `missing` says why; `cold` tells whether the array had
    to come from memory; samples are in the order taken.
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
    """Collect no garbage meanwhile, and pass no warnings on, of an overflow for example."""
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
    """Say what the shortest call takes, if anything is launched, and what was called."""
    if not device.name.startswith("cuda"):
        return {"floor_ns": None, "floor": "none: nothing is launched"}
    floor = digits(float(np.median(gred.launch_limit(device.name).seconds)) * 1e9)
    return {"floor_ns": floor, "floor": "a kernel that does nothing, launched from C"}


def compile_ahead(library: Library, asked: Iterable[Case]) -> None:
    """Have a library compile what the cases need, in processes, as many as there are cores.

    CuPy compiles most of its kernels as they are first called, for seconds and on one core, and
    keeps them on disk, where other processes find them; they are the same for arrays of all sizes.
    What the library lacks is found out later, in its turn.
    """
    waiting = sorted({case.series for case in asked})
    if len(waiting) > 1:  # one is as soon compiled in its turn, as is the rest if the pool breaks
        spawn = multiprocessing.get_context("spawn")
        work = functools.partial(_compile, library.key, library.device)
        pool = ProcessPoolExecutor(min(len(waiting), usable_cores()), spawn)
        with suppress(BrokenProcessPool), pool:
            list(pool.map(work, waiting))


def _compile(key: str, device: str, series: tuple[str, str, str]) -> None:
    warnings.simplefilter("ignore")  # in this process alone
    with suppress(Exception):  # a library that lacks something raises what it likes
        library: Library = PEERS[key](device)
        # As many elements as kernels of large arrays take.
        reduction, dtype, layout = series
        size = Extent(1 << 16, in_bytes=False)
        [case] = cases.cases((cases.Block((reduction,), (dtype,), (layout,), (size,)),))
        flat = library.place(random_array(case.size, case.type.dtype(), case.data))
        mask = library.place(random_mask(case.size)) if case.masked else None
        library.start()
        library.function(case)(*library.given(case, flat, mask))
