"""What a call costs that has next to nothing to do, beside NumPy's and PyTorch's.

A ratio is the time of the quickest other way to write the call over gred's. Of many turns, one of
each library, the quickest counts: other processes make times longer and never shorter.
"""

import random
import time
from collections.abc import Iterable, Iterator
from timeit import Timer
from typing import Any

import numpy as np
from measures.figure import Figure, figure

import gred

SIZES = (16, 64, 256, 1024, 4096)  # bytes
TYPES = ("float32", "float64", "int64")
CALLS = 200  # a turn
SECONDS = 0.05  # for one array and reduction
TARGET = 1.0


def measure(reductions: Iterable[str]) -> Iterator[Figure]:
    """Compare calls of each reduction and size, of the worst type."""
    for op in reductions:
        for nbytes in SIZES:
            ratio, ours, other, dtype = min((*compare(op, nbytes, t), t) for t in TYPES)
            what = f"{op}, {nbytes} B, worst type ({dtype}): {other}'s time over gred's, "
            what += f"{1e9 * ours:.0f} ns"
            yield figure(what, [ratio], "x", at_least=TARGET, group="small calls")


def compare(op: str, nbytes: int, dtype: str) -> tuple[float, float, str]:
    """Give the ratio, the seconds of gred's call, and the best other call as it is written."""
    array = np.ones(nbytes // np.dtype(dtype).itemsize, dtype)
    names = {"gred": gred, "np": np, "a": array, "t": tensor_of(array, op)}
    ours, others = f"gred.{op}(a)", [f"np.{op}(a)"]
    others += [f"{name}.{op}()" for name in "at" if hasattr(names[name], op)]
    seconds = quickest([ours, *others], names)
    best = min(others, key=seconds.__getitem__)
    return seconds[best] / seconds[ours], seconds[ours], best


def tensor_of(array: Any, op: str) -> Any:
    """Show the array to PyTorch; None where that is not here, or needs floats for the reduction."""
    try:
        import torch
    except ImportError:
        return None
    takes_it = op not in ("mean", "var") or array.dtype.kind == "f"
    return torch.as_tensor(array) if takes_it else None


def quickest(written: list[str], names: dict[str, Any]) -> dict[str, float]:
    """Time calls by turns, in a random order, and return the least seconds of each."""
    order, least = random.Random(0), dict.fromkeys(written, float("inf"))
    timers = {call: Timer(call, globals=names) for call in written}
    ends, turn = time.perf_counter() + SECONDS, 0
    while turn < 5 or time.perf_counter() < ends:
        for call in order.sample(written, len(written)):
            least[call] = min(least[call], timers[call].timeit(CALLS) / CALLS)
        turn += 1
    return least
