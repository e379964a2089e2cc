"""Times the host's loops on one thread, for csrc/cpu/paces.def: what csrc/cpu/tiles.c rests on.

    python benchmarks/host_paces.py            print what was found beside what is kept
    python benchmarks/host_paces.py --write    keep it

Picoseconds an element takes, of memory in a core's own cache: the difference between calls on
arrays of two lengths, so that what a call costs by itself is left out. Then how long calls have to
be for threads to pay, awake and asleep: what the limits in csrc/cpu/tiles.c rest on.
"""

import argparse
import functools
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gred
from gred.cli.cases import TYPES

KEPT = Path(__file__).resolve().parent.parent / "csrc" / "cpu" / "paces.def"
HEAD = re.compile(r"\A.*?\*/\n\n", re.DOTALL)
CHUNK = 4096
SHORT, LONG = 2 * CHUNK, 10 * CHUNK
ROUNDS, CALLS = 15, 8
# In the order of enum element.
ELEMENTS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
ELEMENTS += ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
# A reduction that rests on each fold, in the order of enum fold.
FOLDS: dict[str, Callable[..., Any]] = {
    "sum": gred.sum,
    "prod": gred.prod,
    "min": gred.min,
    "max": gred.max,
    "nonzero": gred.count_nonzero,
    "argmin": gred.argmin,
    "argmax": gred.argmax,
    "variance": gred.var,
    "extremes": gred.minmax,
    "nansum": gred.nansum,
    "nanprod": gred.nanprod,
    "nanmin": gred.nanmin,
    "nanmax": gred.nanmax,
    "norm1": functools.partial(gred.norm, ord=1),
    "norm2": gred.norm,
    "norm_inf": functools.partial(gred.norm, ord=np.inf),
    "norm_neg_inf": functools.partial(gred.norm, ord=-np.inf),
    "logsumexp": gred.logsumexp,
    "summary": gred.describe,
}
PAUSE, SHARED_TURNS, TURNS_TOGETHER = 0.0005, 15, 20


def quickest(call: Callable[[], Any]) -> float:
    """Time some calls together, several times: the least seconds of one."""
    least = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        least = min(least, (time.perf_counter() - start) / CALLS)
    return least


def pace(name: str, element: str) -> int:
    """Picoseconds an element; 0 where there is no such reduction."""
    values = np.random.default_rng(0).integers(1, 3, LONG).astype(TYPES[element].dtype())
    if element == "bool" and name.endswith("max"):
        values[:] = False  # the first that is true is the greatest
    short, reduce = values[:SHORT], FOLDS[name]
    try:
        reduce(short)
    except TypeError:
        return 0
    seconds = quickest(lambda: reduce(values)) - quickest(lambda: reduce(short))
    return max(1, round(1e12 * seconds / (LONG - SHORT)))


def measured() -> str:
    rows = ""
    for name in FOLDS:
        numbers = ", ".join(str(pace(name, element)) for element in ELEMENTS)
        rows += f"PACES({name}, {numbers})\n"
        print(name, numbers, flush=True)
    return rows


def shared_times(count: int, pause: float) -> str:
    """Time a sum on one thread and on all: medians in microseconds, after a pause or none."""
    array = np.ones(count, np.float32)
    most, found = gred.threads(), []
    for threads in (1, most):
        gred.threads(threads)
        seconds = []
        for _ in range(SHARED_TURNS * TURNS_TOGETHER):
            if pause:
                time.sleep(pause)
            start = time.perf_counter()
            gred.sum(array)
            seconds.append(time.perf_counter() - start)
        found.append(f"{1e6 * np.median(seconds):8.1f}")
    return " ".join(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--write", action="store_true", help="keep what was found")
    parser.add_argument("--shared", action="store_true", help="see what sharing brings instead")
    given = parser.parse_args()
    if given.shared:
        print("bytes       one, all: at once    one, all: after a pause")
        for count in (CHUNK << k for k in range(2, 13)):
            times = shared_times(count, 0), shared_times(count, PAUSE)
            print(f"{4 * count:<10}", "   ".join(times), flush=True)
        return 0
    most = gred.threads()
    gred.threads(1)
    rows = measured()
    gred.threads(most)
    if given.write:
        head = HEAD.match(KEPT.read_text())
        KEPT.write_text((head[0] if head else "") + rows)
        print(f"wrote {KEPT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
