"""What calls on the host cost, beside NumPy and whichever other libraries are here.

A ratio is NumPy's time over gred's, or the best other library's. Of many calls, one of each library
by turns, the quickest counts: other processes make times longer and never shorter.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import small_calls
from figure import Figure, figure
from together import rate_together

import gred

KIB, MIB = 1 << 10, 1 << 20
CORES = 2
MANY_CORES = 16
REDUCTIONS = ("sum", "min", "max", "prod", "mean", "any", "all", "count_nonzero", "argmax", "var")
REDUCTIONS += ("nansum",)
TYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
TYPES += ("float16", "float32", "float64", "complex64", "complex128")
SIZES = (4 * KIB, 64 * KIB, MIB, 16 * MIB, 256 * MIB)
NEVER_SLOWER, LARGE_TARGET, BUSY_TARGET = 1.0, 1.5, 0.7
LAYOUT_SIZE = 16 * MIB
# By the number of cores that there are: sizes, types, reductions, and how many times as fast as
# NumPy and PyTorch.
MANY = (
    ((256 * MIB, 2048 * MIB), ("float32", "float64", "int64"), ("sum", "max", "mean"), 10, 1.05),
    ((256 * MIB,), ("bool", "int8", "int16", "int32", "float16"), ("sum", "max"), 15, 1.05),
    ((MIB, 16 * MIB), ("bool", "int8", "int32", "float32", "float64"), ("sum", "max"), 1, 1.0),
)
CALLERS, CALLERS_BYTES, CALLERS_TARGET = 8, 16 * MIB, 0.9
CALLERS_SUMS = 30
SECONDS = 0.15  # for one array and reduction

Call = Callable[[], Any]


def quickest(calls: dict[str, Call]) -> dict[str, float]:
    """Time calls by turns, in a random order, and return the least seconds of each."""
    order, least = random.Random(0), dict.fromkeys(calls, float("inf"))
    began, turn = time.perf_counter(), 0
    while turn < 5 or (turn < 500 and time.perf_counter() - began < SECONDS):
        for name in order.sample(list(calls), len(calls)):
            call = calls[name]
            start = time.perf_counter()
            call()
            least[name] = min(least[name], time.perf_counter() - start)
        turn += 1
    return least


def array_of(dtype: str, nbytes: int, op: str) -> Any:
    """Draw an array that no library is done with before its end."""
    n = nbytes // np.dtype(dtype).itemsize
    kind = np.dtype(dtype).kind
    if op in ("any", "all"):
        return np.full(n, op == "all", dtype)
    if kind == "b":
        return np.full(n, op in ("min", "prod"), dtype)
    values = np.random.default_rng(0).random(n, np.float32)
    if op == "prod" and kind in "fc":
        return (1 + values * 1e-6).astype(dtype)
    return (values * 100).astype(dtype)


def numpy_call(op: str) -> Callable[[Any], Any]:
    """Find NumPy's quickest spelling: a method, where there is one."""
    return getattr(np.ndarray, op, None) or getattr(np, op)


def ratio(array: Any, op: str) -> tuple[float, float]:
    """Compare with NumPy: its time over gred's, and gred's."""
    ours, numpys = getattr(gred, op), numpy_call(op)
    with np.errstate(all="ignore"):
        least = quickest({"gred": lambda: ours(array), "NumPy": lambda: numpys(array)})
    return least["NumPy"] / least["gred"], least["gred"]


def shown(nbytes: int) -> str:
    """Spell a size."""
    if nbytes < KIB:
        return f"{nbytes} B"
    return f"{nbytes // MIB} MiB" if nbytes >= MIB else f"{nbytes // KIB} KiB"


# ---- rows ----


def measure_host() -> Iterator[Figure]:
    """Measure calls on NumPy arrays, held to two cores, and on 16 where there are as many.

    Each in processes of their own, since gred and others count the cores once.
    """
    here = len(os.sched_getaffinity(0))
    for name, (count, _) in WORK.items():
        if count <= here:
            with cores(count):
                worker = [sys.executable, __file__, name]
                rows = subprocess.run(worker, check=True, stdout=subprocess.PIPE, text=True).stdout
            yield from map(json.loads, rows.splitlines())


def measure_types(
    where: str, sizes: tuple[int, ...], target: float | None = None
) -> Iterator[Figure]:
    """Compare every reduction with NumPy's, of each size the worst type and the median one."""
    for op in REDUCTIONS:
        for nbytes in sizes:
            ratios = {dtype: ratio(array_of(dtype, nbytes, op), op)[0] for dtype in TYPES}
            worst = min(ratios, key=ratios.__getitem__)
            usual = LARGE_TARGET if nbytes >= MIB else NEVER_SLOWER
            what = f"{where}: {op}, {shown(nbytes)}: NumPy's time over gred's"
            yield figure("host", f"{what}, median type", list(ratios.values()), "x")
            yield figure(
                "host",
                f"{what}, worst type ({worst})",
                [ratios[worst]],
                "x",
                at_least=target or usual,
            )


def layouts() -> Iterator[tuple[str, Callable[[Callable[..., Any]], Any]]]:
    """Name arrays that do not simply lie there, each with the call that sums it."""
    side = int((LAYOUT_SIZE // 4) ** 0.5)
    matrix = np.random.default_rng(0).random((side, side), np.float32)
    mask = matrix > 0.5
    views = {
        "[:, ::2]": matrix[:, ::2],
        ".T": matrix.T,
        "[::-1]": matrix[::-1],
        "[:, 1:-1]": matrix[:, 1:-1],
        ">f4": matrix.astype(">f4"),
    }
    for name, view in views.items():
        yield name, lambda reduce, view=view: reduce(view)
    yield "a mask", lambda reduce: reduce(matrix, where=mask)
    yield "dtype=float64", lambda reduce: reduce(matrix, dtype=np.float64)


def measure_layouts() -> Iterator[Figure]:
    """Compare sums of what is strided, masked, converted or swapped with NumPy's."""
    ratios = []
    for name, call in layouts():
        least = quickest(
            {"gred": lambda call=call: call(gred.sum), "NumPy": lambda call=call: call(np.sum)}
        )
        ratios.append(least["NumPy"] / least["gred"])
        what = f"2 cores: sum of 16 MiB float32, {name}: NumPy's time over gred's"
        yield figure("host", what, [ratios[-1]], "x", at_least=NEVER_SLOWER)
    what = "2 cores: sum of 16 MiB float32, median layout: NumPy's time over gred's"
    yield figure("host", what, [float(np.median(ratios))], "x", at_least=2.0)


def measure_many_cores() -> Iterator[Figure]:
    """Compare with NumPy and with PyTorch's threads, each on all cores."""
    for sizes, types, reductions, over_numpy, over_torch in MANY:
        for nbytes in sizes:
            for dtype in types:
                for op in reductions:
                    yield from beside_others(nbytes, dtype, op, over_numpy, over_torch)


def beside_others(
    nbytes: int, dtype: str, op: str, over_numpy: float, over_torch: float
) -> Iterator[Figure]:
    """Compare one call with every library that has it."""
    array = array_of(dtype, nbytes, op)
    ours, numpys = getattr(gred, op), numpy_call(op)
    calls: dict[str, Call] = {"gred": lambda: ours(array), "NumPy": lambda: numpys(array)}
    calls |= other_calls(array, op)
    least = quickest(calls)
    targets = {"NumPy": over_numpy, "PyTorch": over_torch}
    for name, seconds in least.items():
        if name != "gred":
            what = f"{MANY_CORES} cores: {op}, {shown(nbytes)} {dtype}: {name}'s time over gred's, "
            what += f"{1e6 * least['gred']:.0f} us"
            yield figure("host", what, [seconds / least["gred"]], "x", at_least=targets.get(name))


def other_calls(array: Any, op: str) -> dict[str, Call]:
    """Find the libraries that are here and have the reduction."""
    calls: dict[str, Call] = {}
    kind = array.dtype.kind
    try:
        import torch

        tensor, torchs = torch.as_tensor(array), getattr(torch, op, None)
        if torchs and (op != "mean" or kind in "fc"):
            calls["PyTorch"] = lambda: torchs(tensor).item()
    except (ImportError, TypeError):
        pass
    try:
        import bottleneck

        name = {"sum": "nansum", "mean": "nanmean", "min": "nanmin", "max": "nanmax"}.get(op, op)
        bottlenecks = getattr(bottleneck, name, None)
        if bottlenecks and array.dtype.name in ("int32", "int64", "float32", "float64"):
            calls["bottleneck"] = lambda: bottlenecks(array)
    except ImportError:
        pass
    try:
        import numexpr

        if op in ("sum", "prod", "min", "max") and kind in "if" and array.itemsize >= 4:
            calls["NumExpr"] = lambda: numexpr.evaluate(f"{op}(array)", {"array": array})
    except ImportError:
        pass
    return calls


def measure_callers() -> Iterator[Figure]:
    """Let several threads of Python sum an array each, and compare with what one call reads."""
    arrays = [np.ones(CALLERS_BYTES // 4, np.float32) for _ in range(CALLERS)]
    whole = np.ones(CALLERS * CALLERS_BYTES // 4, np.float32)
    limit = CALLERS * CALLERS_BYTES / quickest({"gred": lambda: gred.sum(whole)})["gred"]
    rates = [rate_together(arrays, CALLERS_SUMS) / limit for _ in range(5)]
    what = f"{CALLERS} Python threads, each summing its own {shown(CALLERS_BYTES)}: rate over that "
    what += "of one call on as much"
    yield figure("host", what, rates, "x", at_least=CALLERS_TARGET)


def measure_busy() -> Iterator[Figure]:
    """Compare with NumPy where other processes want the cores, too."""
    with busy_cores():
        yield from measure_types("2 cores, both busy", (64 * KIB, 4 * MIB), BUSY_TARGET)


# What is measured, and on how many cores.
WORK: dict[str, tuple[int, Callable[[], Iterator[Figure]]]] = {
    "small": (CORES, lambda: small_calls.measure(REDUCTIONS)),
    "types": (CORES, lambda: measure_types("2 cores", SIZES)),
    "busy": (CORES, measure_busy),
    "layouts": (CORES, measure_layouts),
    "many": (MANY_CORES, measure_many_cores),
    "callers": (MANY_CORES, measure_callers),
}


# ---- cores ----


@contextmanager
def cores(count: int) -> Iterator[None]:
    """Keep this process, and what it starts, to so many cores."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(allowed)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


@contextmanager
def busy_cores() -> Iterator[None]:
    """Keep every core busy with a process of its own, which ends with us."""
    endless = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
    processes = [subprocess.Popen([sys.executable, "-c", endless]) for _ in os.sched_getaffinity(0)]
    try:
        time.sleep(0.3)
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


if __name__ == "__main__":
    for row in WORK[sys.argv[1]][1]():
        print(json.dumps(row), flush=True)
