"""What reductions along axes cost on the host, beside NumPy, bottleneck and PyTorch.

    python benchmarks/host_axes.py [--mib 1,16] [--types float32,int8] [--ops sum,argmax]
                                   [--shapes rows,columns] [--json FILE]

A ratio is the better library's time over gred's. Times are medians of calls, one of each library by
turns; a case takes a few calls or a few hundredths of a second.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from figure import Figure, figure

import gred
from gred.cli.cases import TYPES as KINDS

MIB = 1 << 20
LENGTHS = (2, 3, 8, 31, 64, 100, 1000, 1024, 4097, 1 << 16, 1 << 20)
MIDDLES = ((64, 1024, 1024), (1 << 14, 64, 64), (1 << 20, 8, 8), (8, 1 << 20, 8))
TYPES = ("float32", "float16", "float64", "int8", "int32", "bool")
OPS = ("sum", "max", "mean", "argmax", "var")
SIZES = (1, 16, 256)
NEVER_SLOWER, MEDIAN_TARGET = 1.0, 2.0
TURNS, SECONDS, PERIOD = 3, 0.02, 1 << 20
MANY_CORES = 16

Call = Callable[[], Any]


def shapes(elements: int) -> Iterator[tuple[str, Any, int | tuple[int, int]]]:
    """Name layouts: what becomes of a flat array, and the axes that are reduced."""
    for n in LENGTHS:
        if n <= elements // 2:
            yield f"rows of {n}", by((-1, n)), 1
            yield f"columns of {n}", by((n, -1)), 0
            yield f"{n} columns", by((-1, n)), 0
    for shape in MIDDLES:
        scale = max(shape, key=lambda n: n)
        fitted = tuple(-1 if n == scale else n for n in shape)
        if shape == MIDDLES[0]:
            fitted = (-1, 1024, 256) if elements < 1 << 26 else (-1, 1024, 1024)
        named = "x".join("n" if n < 0 else str(n) for n in fitted)
        yield f"middle of {named}", by(fitted), 1
        yield f"axes 0, 2 of {named}", by(fitted), (0, 2)
    for n in (8, 100, 1024):
        yield f"rows of {n} transposed", lambda x, n=n: by((n, -1))(x).T, 1
        yield f"columns of {n} transposed", lambda x, n=n: by((-1, n))(x).T, 0
        yield f"rows of {n}, [:, ::2]", lambda x, n=n: by((-1, 2 * n))(x)[:, ::2], 1
        yield f"{n} columns, [:, ::2]", lambda x, n=n: by((-1, 2 * n))(x)[:, ::2], 0
        yield f"rows of {n}, [::2]", lambda x, n=n: by((-1, n))(x)[::2], 1
        yield f"{n} columns, [::2]", lambda x, n=n: by((-1, n))(x)[::2], 0


def by(shape: tuple[int, ...]) -> Callable[[Any], Any]:
    """Cut a flat array to a multiple of what is known of the shape, and shape it."""
    known = abs(int(np.prod(shape)))
    return lambda x: x[: len(x) // known * known].reshape(shape)


def flat(dtype: str, nbytes: int) -> Any:
    """Draw an array; a large one repeats what was drawn."""
    n, kind = nbytes // KINDS[dtype].itemsize, KINDS[dtype].kind
    values = np.random.default_rng(0).random(min(n, PERIOD), np.float32)
    return np.resize((values > 0.5 if kind == "b" else values * 100).astype(dtype), n)


def calls(op: str, x: Any, axis: Any) -> dict[str, Call]:
    """List each library's call; NumPy's argmax takes one axis."""
    ours, numpys = getattr(gred, op), getattr(np, op)
    found: dict[str, Call] = {
        "gred": lambda: ours(x, axis=axis),
        "NumPy": lambda: numpys(x, axis=axis),
    }
    bottleneck = library("bottleneck")
    theirs = getattr(bottleneck, {"argmax": "nanargmax"}.get(op, f"nan{op}"), None)
    if theirs and isinstance(axis, int) and x.dtype.name in ("float32", "float64", "int32"):
        found["bottleneck"] = lambda: theirs(x, axis=axis)
    torch = library("torch")
    if torch:
        found["PyTorch"] = torchs(torch, op, x, axis)
    return found


def torchs(torch: Any, op: str, x: Any, axis: Any) -> Call:
    """Find PyTorch's call: of integers it wants to be told what to make means of."""
    y = torch.from_numpy(x)
    if op in ("mean", "var") and not y.is_floating_point():
        return lambda: getattr(torch, op)(y.to(torch.float64), dim=axis)
    if op == "var":
        return lambda: torch.var(y, dim=axis, correction=0)
    return lambda: {"max": torch.amax}.get(op, getattr(torch, op))(y, dim=axis)


def library(name: str) -> Any:
    """Import what may not be there."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def typical(found: dict[str, Call]) -> dict[str, float]:
    """Time calls by turns, in a random order: the median seconds of each that works."""
    order, seconds = random.Random(0), {}
    for name, call in found.items():
        try:
            call()
            seconds[name] = [once(call)]
        except (RuntimeError, NotImplementedError):
            continue
    began = time.perf_counter()
    slowest = max(min(taken) for taken in seconds.values())
    turns = 0 if slowest > 1 else TURNS
    while len(seconds["gred"]) <= turns or time.perf_counter() - began < SECONDS:
        for name in order.sample(list(seconds), len(seconds)):
            seconds[name].append(once(found[name]))
    return {name: statistics.median(taken) for name, taken in seconds.items()}


def once(call: Call) -> float:
    """Call, and return the seconds that it took."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def ratio(op: str, x: Any, axis: Any) -> tuple[float, str, float]:
    """Compare with the best of the others: its time over gred's, its name, and gred's rate."""
    with np.errstate(all="ignore"):
        taken = typical(calls(op, x, axis))
    ours = taken.pop("gred")
    best = min(taken, key=taken.__getitem__)
    return taken[best] / ours, best, x.nbytes / ours * 1e-9


def measure(
    sizes: tuple[int, ...] = SIZES,
    types: tuple[str, ...] = TYPES,
    ops: tuple[str, ...] = OPS,
    only: str = "",
) -> Iterator[Figure]:
    """Measure every case: a row each, and the median of all."""
    cores = gred.threads()
    ratios = []
    for mib in sizes:
        for dtype in types:
            array = flat(dtype, mib * MIB)
            for name, shaped, axis in shapes(array.size):
                for op in ops:
                    if only in name and not (op == "argmax" and isinstance(axis, tuple)):
                        value, best, rate = ratio(op, shaped(array), axis)
                        ratios.append(value)
                        what = f"{op} of {mib} MiB {dtype}, {name}: {rate:.1f} GB/s, over {best}"
                        yield row(cores, what, value, NEVER_SLOWER)
    yield row(cores, "median case: ratio", statistics.median(ratios), MEDIAN_TARGET)


def row(cores: int, what: str, value: float, target: float) -> Figure:
    """Make a figure of a ratio."""
    group = f"{cores} cores, along axes, beside others"
    return figure("host-axes", f"{cores} cores: {what}", [value], "x", at_least=target, group=group)


def listed(text: str) -> tuple[str, ...]:
    """Split at commas."""
    return tuple(text.split(","))


def main() -> None:
    """Measure what is asked for, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mib", type=lambda text: tuple(map(int, text.split(","))), default=SIZES)
    parser.add_argument("--types", type=listed, default=TYPES)
    parser.add_argument("--ops", type=listed, default=OPS)
    parser.add_argument("--only", default="", help="what a layout's name has to contain")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows = []
    for found in measure(given.mib, given.types, given.ops, given.only):
        rows.append(found)
        print(f"{found['value']:7.2f} {'' if found['kept'] else '*':1} {found['what']}", flush=True)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
