"""What times calls: once, by turns, in several threads together, on some of the cores."""

import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import gred

# Of each call, taken in turns, as far as there are so many seconds for them.
CALLS, SECONDS_A_SIZE = 2000, 4.0

BENCHMARKS = Path(__file__).resolve().parent.parent

Call = Callable[[], Any]


def environment() -> dict[str, str]:
    """Make the environment of a script that runs as a program: it finds the other scripts."""
    paths = (str(BENCHMARKS), os.environ.get("PYTHONPATH", ""))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def once(call: Call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def taken_in_turns(calls: dict[str, Call], count: int = CALLS) -> dict[str, np.ndarray[Any, Any]]:
    """Time calls by turns in random order, after warm-up: 20 at least, while seconds are left."""
    order, began = random.Random(0), time.perf_counter()
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(-count // 10, count):
        for name in order.sample(list(calls), len(calls)):
            seconds = once(calls[name])
            if turn >= 0:
                taken[name].append(seconds)
        if turn >= 20 and time.perf_counter() - began > SECONDS_A_SIZE:
            break
    return {name: np.array(seconds) for name, seconds in taken.items()}


def medians_in_turns(calls: dict[str, Call], count: int = CALLS) -> dict[str, float]:
    return {name: float(np.median(each)) for name, each in taken_in_turns(calls, count).items()}


def rate_together(arrays: Sequence[Any], sums: int) -> float:
    """Sum each array so many times in a thread of its own: the bytes per second of all together."""
    start = threading.Barrier(len(arrays) + 1)

    def work(array: Any) -> None:
        gred.sum(array)
        start.wait()
        for _ in range(sums):
            gred.sum(array)

    threads = [threading.Thread(target=work, args=(array,)) for array in arrays]
    for thread in threads:
        thread.start()
    start.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    return sum(array.nbytes for array in arrays) * sums / (time.perf_counter() - began)


@contextmanager
def cores(count: int) -> Iterator[None]:
    """Keep this process, and what it starts, to so many of the machine's cores."""
    if not hasattr(os, "sched_setaffinity"):
        raise SystemExit("this system cannot keep a process to some of its cores")
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(allowed)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
