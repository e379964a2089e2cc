"""What calls on the host cost, beside NumPy and whichever other libraries are here.

A ratio is NumPy's time over gred's, or another library's. Times are medians of many calls, a few of
each library by turns.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import host_axes
import numpy as np
from measures import exact_on_host, small_calls, torch_figures
from measures.figure import Figure, figure, shown
from measures.timing import Call, cores, environment, once, rate_together

import gred
from gred.cli.cases import TYPES as KINDS

KIB, MIB = 1 << 10, 1 << 20
CORES = 2
MANY_CORES = 16
REDUCTIONS = ("sum", "min", "max", "prod", "mean", "any", "all", "count_nonzero", "argmax", "var")
REDUCTIONS += ("nansum",)
TYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
TYPES += ("float16", "float32", "float64", "complex64", "complex128")
SIZES = (4 * KIB, 64 * KIB, MIB, 16 * MIB, 256 * MIB, 1024 * MIB)
BUSY_SIZES = (64 * KIB, MIB, 4 * MIB)
NEVER_SLOWER, LARGE_TARGET, BUSY_TARGET = 1.0, 1.5, 0.7
LAYOUT_SIZE = 16 * MIB


class Many(NamedTuple):
    """Work for many cores, and how many times as fast as NumPy and PyTorch it is to be."""

    sizes: tuple[int, ...]
    types: tuple[str, ...]
    reductions: tuple[str, ...]
    over_numpy: float
    over_torch: float


WIDE, NARROW = ("float32", "float64", "int64"), ("bool", "int8", "int16", "int32")
NARROW += ("float16", "bfloat16")
MANY = {
    "large": Many((256 * MIB, 2048 * MIB), WIDE, ("sum", "max", "mean"), 10, 1.05),
    "narrow": Many((256 * MIB,), NARROW, ("sum", "max"), 15, 1.05),
    "small": Many((MIB, 16 * MIB), tuple(KINDS), ("sum", "max"), 1, 1.0),
}
READ_TARGET = 0.9  # of what as many threads can read
SETTLED = 0.0005  # seconds, without PyTorch
CALLERS, CALLERS_BYTES, CALLERS_TARGET = 8, 16 * MIB, 0.9
CALLERS_SUMS = 30
SECONDS = 0.15  # for one array and reduction
TURNS, TURN = 3, 0.003  # of each library, and seconds
LONG = 0.05  # of one call: then it is a turn by itself
ENOUGH = 2.0  # for one array and reduction, whatever turns there were
PERIOD = 1 << 20  # elements that are drawn; arrays repeat them

Work = tuple[int, Callable[[], Iterator[Figure]]]


def typical(calls: dict[str, Call], settling: float = SETTLED) -> dict[str, float]:
    """Time calls by turns, in orders that favour none, and return the median seconds of each.

    A turn is many calls in a row. Those before, until things have settled, do not count: there the
    array comes back into the caches, and threads of the library before go to sleep.
    """
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    began, turns, taken = time.perf_counter(), 0, 0.0
    orders = balanced(list(calls))
    while taken < SECONDS or (turns < max(TURNS, len(orders)) and taken < ENOUGH):
        for name in orders[turns % len(orders)]:
            seconds[name] += turn_of(calls[name], settling)
        turns, taken = turns + 1, time.perf_counter() - began
    return {name: float(np.median(all_of_it)) for name, all_of_it in seconds.items()}


def balanced(names: list[str]) -> list[list[str]]:
    """Find orders in which each name follows each other one equally often.

    What a call takes depends on the one before: behind a slow one on a single core, the others'
    clocks and caches are cold. From E. J. Williams (1949), "Experimental designs balanced for the
    estimation of residual effects of treatments".
    """
    n = len(names)
    zigzag = [(k + 1) // 2 if k % 2 else -(k // 2) for k in range(n)]
    orders = [[names[(first + step) % n] for step in zigzag] for first in range(n)]
    return orders + [order[::-1] for order in orders] * (n % 2)


def turn_of(call: Call, settling: float) -> list[float]:
    """Call several times, or once if that takes long: the seconds of each call that counts."""
    first = once(call)
    if first >= LONG:
        return [first]
    for_a_while(call, settling)
    return for_a_while(call, TURN)


def for_a_while(call: Call, seconds: float) -> list[float]:
    """Call for so long, or once: the seconds of each call."""
    ends, taken = time.perf_counter() + seconds, []
    while not taken or time.perf_counter() < ends:
        taken.append(once(call))
    return taken


def array_of(dtype: str, nbytes: int, op: str) -> Any:
    """Draw an array that no library is done with before its end."""
    n, kind = nbytes // KINDS[dtype].itemsize, KINDS[dtype].kind
    return np.resize(drawn(min(n, PERIOD), kind, op).astype(KINDS[dtype].dtype()), n)


def drawn(n: int, kind: str, op: str) -> Any:
    if op in ("any", "all"):
        return np.full(n, op == "all")
    if kind == "b":
        return np.full(n, op in ("min", "prod"))
    values = np.random.default_rng(0).random(n, np.float32)
    return 1 + values * 1e-6 if op == "prod" and kind in "fc" else values * 100


def numpys(array: Any, op: str) -> dict[str, Call]:
    """Find NumPy's quickest spelling: a method, where there is one."""
    return {"NumPy": partial(getattr(np.ndarray, op, None) or getattr(np, op), array)}


def ratio(array: Any, op: str) -> float:
    with np.errstate(all="ignore"):
        least = typical({"gred": partial(getattr(gred, op), array), **numpys(array, op)})
    return least["NumPy"] / least["gred"]


def measure(name: str) -> Iterator[Figure]:
    """Do some of the work on as many cores as it is for, in a process that counts only these."""
    count, _ = WORK[name]
    if count <= len(os.sched_getaffinity(0)):
        command = [sys.executable, __file__, name]
        with cores(count):
            worker = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True)
        try:
            for line in worker.stdout or ():
                yield json.loads(line)
            if worker.wait():
                raise subprocess.CalledProcessError(worker.returncode, command)
        finally:
            worker.kill()
            worker.wait()


def measure_types(
    where: str, op: str, nbytes: int, target: float | None = None
) -> Iterator[Figure]:
    """Compare a reduction of one size with NumPy's: the worst type and the median one."""
    ratios = {dtype: ratio(array_of(dtype, nbytes, op), op) for dtype in TYPES}
    worst = min(ratios, key=ratios.__getitem__)
    usual = LARGE_TARGET if nbytes >= MIB else NEVER_SLOWER
    what = f"{where}: {op}, {shown(nbytes)}"
    yield figure(f"{what}, median type: ratio", list(ratios.values()), "x")
    yield figure(
        f"{what}, worst type ({worst}): ratio", [ratios[worst]], "x",
        at_least=target or usual, group=f"{where}, beside NumPy",
    )  # fmt: skip


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
        least = typical({"gred": partial(call, gred.sum), "NumPy": partial(call, np.sum)})
        ratios.append(least["NumPy"] / least["gred"])
        what = f"2 cores: sum of 16 MiB float32, {name}: NumPy's time over gred's"
        group = "2 cores, layouts, beside NumPy"
        yield figure(what, [ratios[-1]], "x", at_least=NEVER_SLOWER, group=group)
    what = "2 cores: sum of 16 MiB float32, median layout: NumPy's time over gred's"
    yield figure(what, [float(np.median(ratios))], "x", at_least=2.0)


def measure_many_cores(which: str) -> Iterator[Figure]:
    """Compare with NumPy and with PyTorch's threads, each on all cores, and with mere reading."""
    many = MANY[which]
    for nbytes in many.sizes:
        limit = read_rate(nbytes) if which != "small" else None
        for dtype in many.types:
            for op in many.reductions:
                targets = {"NumPy": many.over_numpy, "PyTorch": many.over_torch}
                yield from beside_others(array_of(dtype, nbytes, op), dtype, op, targets, limit)


def read_rate(nbytes: int) -> float:
    """Read so much by as many threads as there are: bytes a second."""
    return nbytes / float(np.median(gred.read_limit("host", nbytes, cold=False).seconds))


def beside_others(
    array: Any, dtype: str, op: str, targets: dict[str, float], limit: float | None
) -> Iterator[Figure]:
    """Compare one call with every library that has it, and with reading."""
    calls = {"gred": partial(getattr(gred, op), array), **numpys(array, op)}
    calls |= other_calls(array, op)
    with np.errstate(all="ignore"):
        seconds = typical(calls, settling=host_axes.SETTLING if "PyTorch" in calls else SETTLED)
    mine = seconds.pop("gred")
    case = f"{MANY_CORES} cores: {op}, {shown(array.nbytes)} {dtype}, {1e6 * mine:.0f} us"
    large = "large" if limit else "small"
    for name, other in seconds.items():
        what, group = f"{case}, {name}: ratio", f"{MANY_CORES} cores, {large}, beside {name}"
        target = targets.get(name)
        yield figure(what, [other / mine], "x", at_least=target, group=group)
    if limit:
        what, group = f"{case}, reading: ratio", f"{MANY_CORES} cores, beside reading"
        target = READ_TARGET if dtype in WIDE else None
        yield figure(what, [array.nbytes / mine / limit], "x", at_least=target, group=group)


def other_calls(array: Any, op: str) -> dict[str, Call]:
    """Find the libraries that are here and have the reduction, of this very memory."""
    calls: dict[str, Call] = {}
    for name, call_of in (
        ("PyTorch", torch_call), ("bottleneck", bottleneck_call), ("NumExpr", numexpr_call)
    ):  # fmt: skip
        try:
            call_of(array[:2], op)()
        except Exception:  # whatever a library raises: it is not here, or lacks the reduction
            continue
        calls[name] = call_of(array, op)
    return calls


def torch_call(array: Any, op: str) -> Call:
    """Call PyTorch's function; bfloat16, which it does not take from NumPy, goes by its bits."""
    import torch

    by_bits = array.dtype.name == "bfloat16"
    tensor = torch.from_numpy(array.view(np.int16) if by_bits else array)
    tensor, function = tensor.view(torch.bfloat16) if by_bits else tensor, getattr(torch, op)
    return lambda: function(tensor).item()


def bottleneck_call(array: Any, op: str) -> Call:
    """Call bottleneck's function, which leaves NaN out; for the types that it has loops for."""
    import bottleneck

    if array.dtype.name not in ("int32", "int64", "float32", "float64"):
        raise TypeError("NumPy would do it")
    function = getattr(bottleneck, f"nan{op}")
    return lambda: function(array)


def numexpr_call(array: Any, op: str) -> Call:
    import numexpr

    expression = f"{op}(array)"
    return lambda: numexpr.evaluate(expression, {"array": array}, {})


def measure_callers() -> Iterator[Figure]:
    """Let several threads of Python sum an array each, and compare with mere reading."""
    arrays = [np.ones(CALLERS_BYTES // 4, np.float32) for _ in range(CALLERS)]
    limit = read_rate(CALLERS * CALLERS_BYTES)
    rates = [rate_together(arrays, CALLERS_SUMS) / limit for _ in range(5)]
    what = f"{CALLERS} Python threads, each summing its own {shown(CALLERS_BYTES)}"
    yield figure(f"{what}: rate over that of reading as much", rates, "x", at_least=CALLERS_TARGET)


def measure_axes(op: str) -> Iterator[Figure]:
    """Compare large arrays' reductions along axes with those of threaded libraries."""
    size, threaded = host_axes.SIZES[-1] * MIB, host_axes.THREADED
    return host_axes.measure(f"{MANY_CORES} cores", None, op, size, threaded)


def measure_busy(op: str, nbytes: int) -> Iterator[Figure]:
    """Compare with NumPy where other processes want the cores, too."""
    with busy_cores():
        yield from measure_types("2 cores, both busy", op, nbytes, BUSY_TARGET)


# Reductions along axes, their sizes in MiB, and what their median layout is to reach.
AXES = (
    (host_axes.OPS, host_axes.SIZES, host_axes.MEDIAN_TARGET),
    (host_axes.OTHERS, host_axes.OTHER_SIZES, None),
)


def pieces(
    name: str, sizes: tuple[int, ...], measure: Callable[[str, int], Iterator[Figure]]
) -> Iterator[tuple[str, Work]]:
    for op in REDUCTIONS:
        for nbytes in sizes:
            piece = f"{name}/{op}/{shown(nbytes).replace(' ', '')}"
            yield piece, (CORES, partial(measure, op, nbytes))


def measure_torch(count: int) -> Iterator[Figure]:
    """Compare calls of gred.torch with PyTorch's own, on so many cores."""
    where, times = f"{count} core{'s' * (count > 1)}", partial(typical, settling=host_axes.SETTLING)
    return torch_figures.measure(where, "cpu", times)


# What is measured, and on how many cores, in pieces of less than a minute.
WORK: dict[str, Work] = {
    **{f"small/{op}": (CORES, partial(small_calls.measure, (op,))) for op in REDUCTIONS},
    **dict(pieces("types", SIZES, partial(measure_types, "2 cores"))),
    **dict(pieces("busy", BUSY_SIZES, measure_busy)),
    "layouts": (CORES, measure_layouts),
    **{
        f"axes/{op}/{mib}MiB": (CORES, partial(host_axes.measure, "2 cores", target, op, mib * MIB))
        for ops, sizes, target in AXES
        for op in ops
        for mib in sizes
    },
    **{f"axes-many/{op}": (MANY_CORES, partial(measure_axes, op)) for op in host_axes.OPS},
    **{f"many/{which}": (MANY_CORES, partial(measure_many_cores, which)) for which in MANY},
    **{f"torch/{count}": (count, partial(measure_torch, count)) for count in (1, CORES)},
    "callers": (MANY_CORES, measure_callers),
    "exact/axes": (CORES, partial(exact_on_host.measure_axes, typical)),
    "exact/few": (CORES, partial(exact_on_host.measure, typical)),
    "exact/many": (MANY_CORES, partial(exact_on_host.measure_many_cores, typical)),
}


# ---- cores ----


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
