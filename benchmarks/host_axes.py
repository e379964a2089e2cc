"""Compares reductions along axes on the host with NumPy, bottleneck and PyTorch.

    python benchmarks/host_axes.py [--mib 1,16] [--types float32,int8] [--ops sum,argmax]
                                   [--only columns] [--json FILE]

A ratio is the best other library's time over gred's. Times are medians of calls, for which the
libraries take turns; a case takes a few calls or a few hundredths of a second.
"""

import argparse
import importlib
import itertools
import json
import random
import statistics
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from measures.axes_figures import by, torch_reduces
from measures.figure import Figure, figure
from measures.timing import Call, once

import gred
from gred.cli.cases import TYPES as KINDS

MIB = 1 << 20
LENGTHS = (2, 3, 8, 31, 64, 100, 1000, 1024, 4097, 1 << 16, 1 << 20)
MIDDLES = ((64, 1024, 1024), (1 << 14, 64, 64), (1 << 20, 8, 8), (8, 1 << 20, 8))
TYPES = ("float32", "float16", "float64", "int8", "int32", "bool")
TARGET_TYPES = TYPES[:4]
OPS = ("sum", "max", "mean", "argmax", "var")
SIZES = (1, 16, 256)
# Measured at the smaller sizes only; their only target is not to be slower.
MASKED = "masked-"
OTHERS = (
    *("prod", "min", "any", "count_nonzero", "nansum", "nanmax", "norm", "ptp"),
    *(f"{MASKED}{op}" for op in ("sum", "mean", "var")),
)
OTHER_SIZES = SIZES[:2]
# NumPy takes one axis for these, or two with another meaning.
OF_ONE_AXIS = ("argmax", "norm")
NEVER_SLOWER, MEDIAN_TARGET = 1.0, 2.0
# A case takes at least SECONDS, and TURNS turns unless these take LONG. A first call, which may
# touch new memory, counts only if it takes TOO_LONG, in which case there is no second one.
TURNS, SECONDS, LONG, TOO_LONG = 3, 0.02, 0.25, 1.0
PERIOD = 1 << 20  # distinct elements, which arrays repeat
# How long PyTorch's threads occupy their cores after they have had work.
SETTLING = 0.02

LIBRARIES = ("NumPy", "bottleneck", "PyTorch")
# Libraries that use several cores.
THREADED = ("PyTorch",)

Beside = tuple[str, ...]


def shapes(elements: int) -> Iterator[tuple[str, Any, int | tuple[int, int]]]:
    """Yield layouts: a name, a function of the flat array, and the reduced axes."""
    for n in LENGTHS:
        if n <= elements // 2:
            yield f"rows of {n}", by((-1, n)), 1
            yield f"columns of {n}", by((n, -1)), 0
            yield f"{n} columns", by((-1, n)), 0
    for shape in MIDDLES:
        scale = max(shape, key=lambda n: n)
        fitted = tuple(-1 if n == scale else n for n in shape)
        if shape == MIDDLES[0]:
            fitted = (-1, 1024, 1024) if elements >= 1 << 26 else (-1, 256, 256)
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


def flat(dtype: str, nbytes: int) -> Any:
    n, kind = nbytes // KINDS[dtype].itemsize, KINDS[dtype].kind
    values = np.random.default_rng(0).random(min(n, PERIOD), np.float32)
    return np.resize((values > 0.5 if kind == "b" else values * 100).astype(dtype), n)


def calls(op: str, x: Any, axis: Any) -> dict[str, Call]:
    name = op.removeprefix(MASKED)
    ours, numpys = getattr(gred, name), getattr(np.linalg if name == "norm" else np, name)
    given = {} if name == op else {"where": mask_for(x)}
    found: dict[str, Call] = {
        "gred": lambda: ours(x, axis=axis, **given),
        "NumPy": lambda: numpys(x, axis=axis, **given),
    }
    bottleneck = library("bottleneck")
    theirs = getattr(bottleneck, op if op.startswith("nan") else f"nan{op}", None)
    if theirs and isinstance(axis, int) and x.dtype.name in ("float32", "float64", "int32"):
        found["bottleneck"] = lambda: theirs(x, axis=axis)
    torch = library("torch")
    if torch and op in OPS:
        found["PyTorch"] = torchs(torch, op, x, axis)
    return found


def mask_for(x: Any) -> Any:
    drawn = np.random.default_rng(1).random(min(x.size, PERIOD), np.float32) < 2 / 3
    return np.resize(drawn, x.shape)


def torchs(torch: Any, op: str, x: Any, axis: Any) -> Call:
    """Return PyTorch's call; means of integers are computed in float64."""
    y = torch.from_numpy(x)
    if op in ("mean", "var") and not y.is_floating_point():
        return lambda: getattr(torch, op)(y.to(torch.float64), dim=axis)
    return lambda: torch_reduces(torch, op, y, axis)


def library(name: str) -> Any:
    """Import a library, or return None."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def typical(found: dict[str, Call]) -> dict[str, float]:
    """Time calls in turns, in random order; return the median seconds of those that work."""
    order, seconds, settling = random.Random(0), {}, SETTLING if "PyTorch" in found else 0.0
    for name, call in found.items():
        try:
            first = once(call)
            seconds[name] = [first if first > TOO_LONG else once(call)]
        except (RuntimeError, NotImplementedError):
            continue
    began = time.perf_counter()
    turns, taken = 0, 0.0
    while taken < SECONDS or (turns < TURNS and taken < LONG):
        for name in order.sample(list(seconds), len(seconds)):
            if settling:
                time.sleep(settling)
            if seconds[name][0] <= LONG:
                seconds[name].append(once(found[name]))
        turns, taken = turns + 1, time.perf_counter() - began
    return {name: statistics.median(each) for name, each in seconds.items()}


class Measured(NamedTuple):
    """A layout's result: the best other library's time over gred's."""

    layout: str
    ratio: float
    best: str
    rate: float  # gred's, in GB/s


def cases(
    op: str, dtype: str, nbytes: int, only: str = "", beside: Beside = LIBRARIES
) -> Iterator[Measured]:
    """Measure the layouts, optionally by name, that another library can reduce."""
    array = flat(dtype, nbytes)
    for name, shaped, axis in shapes(array.size):
        if only not in name or (op in OF_ONE_AXIS and isinstance(axis, tuple)):
            continue
        x = shaped(array)
        mine = {
            name: call for name, call in calls(op, x, axis).items() if name in ("gred", *beside)
        }
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            taken = typical(mine)
        ours = taken.pop("gred")
        if taken:
            best = min(taken, key=taken.__getitem__)
            yield Measured(name, taken[best] / ours, best, x.nbytes / ours * 1e-9)


def measure(
    where: str, median_target: float | None, op: str, nbytes: int, beside: Beside = LIBRARIES
) -> Iterator[Figure]:
    """Compare a reduction of one size with the best library: worst and median layouts."""
    for dtype in TARGET_TYPES:
        measured = list(cases(op, dtype, nbytes, beside=beside))
        worst = min(measured, key=lambda case: case.ratio)
        slower = sum(case.ratio < NEVER_SLOWER for case in measured)
        what = f"{where}, along axes: {op}, {nbytes // MIB} MiB {dtype}"
        group = f"{where}, along axes, beside others"
        detail = f"{worst.layout}, {worst.best}; {slower} of {len(measured)} slower"
        yield figure(
            f"{what}, worst layout ({detail}): ratio", [worst.ratio], "x",
            at_least=NEVER_SLOWER, group=group,
        )  # fmt: skip
        median = statistics.median(case.ratio for case in measured)
        yield figure(
            f"{what}, median layout: ratio", [median], "x",
            at_least=median_target, group=f"{group}, median layouts",
        )  # fmt: skip


def listed(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mib", type=lambda text: tuple(map(int, text.split(","))), default=SIZES)
    parser.add_argument("--types", type=listed, default=TYPES)
    parser.add_argument("--ops", type=listed, default=OPS)
    parser.add_argument("--only", default="", help="part of the names of the layouts to measure")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for mib, dtype, op in itertools.product(given.mib, given.types, given.ops):
        for case in cases(op, dtype, mib * MIB, given.only):
            rows.append({"op": op, "dtype": dtype, "mib": mib, **case._asdict()})
            named = f"{op} of {mib} MiB {dtype}, {case.layout}: {case.rate:.1f} GB/s"
            mark = "*" if case.ratio < NEVER_SLOWER else " "
            print(f"{case.ratio:7.2f} {mark} {named}, over {case.best}", flush=True)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
