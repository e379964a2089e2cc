"""Compares random calls, on a GPU or on the host, with other libraries.

    python benchmarks/random_calls.py [--host] [--seed N] [--calls N] [--compiled N] [--seconds N]
                                      [--worst N] [--out DIR]

Each run draws other calls, unless it is given the seed of an earlier one. A ratio is the best other
library's time over gred's: device time with cold caches on a GPU, a call's time on the host.
`--compiled` adds torch.compile for the first N calls. Results go to DIR/<machine>/random_calls.json
if DIR is given.
"""

import argparse
import math
import random
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from host_axes import library, typical
from kept_results import place_of
from measures.axes_figures import Gpu as Limits
from measures.axes_figures import torch_reduces
from measures.drawn_calls import SIZES, Drawn, bytes_touched, drawn, laid_out
from measures.timing import Call

import gred
from gred.cli import options, record, units

MIB = 1 << 20
GPU_BYTES, HOST_BYTES = (4 << 10, 512 * MIB), (4 << 10, 64 * MIB)
PATIENCE = 20e-3
SHORT = 20e-6
LARGE = 128 * MIB
PERIOD = 1 << 22
BATCH = 200  # calls that are grouped by type, so that --seconds cuts off every type alike
LIBRARIES = ("gred", "NumPy", "bottleneck", "CuPy", "PyTorch", "torch.compile")


class Measured(NamedTuple):
    """A measured call, and the seconds of every library."""

    call: Drawn
    seconds: dict[str, float]
    limit: float | None  # seconds for reading and writing the memory

    @property
    def ours(self) -> float:
        return self.seconds["gred"]

    @property
    def best(self) -> str | None:
        others = {name: s for name, s in self.seconds.items() if name != "gred"}
        return min(others, key=others.__getitem__, default=None)

    @property
    def ratio(self) -> float:
        return self.seconds[self.best] / self.ours if self.best else math.inf

    def row(self) -> record.Record:
        call, seconds = self.call, {"limit": self.limit}
        seconds |= {name: self.seconds.get(name) for name in LIBRARIES}
        return {
            **{"op": call.op, "dtype": call.dtype, "shape": list(call.shape)},
            **{"axis": list(call.axes), "layout": call.layout, "bytes": call.nbytes},
            **{f"{name}, us": s and round(1e6 * s, 2) for name, s in seconds.items()},
        }

    def __str__(self) -> str:
        limit = f"{self.limit / self.ours:5.2f} of the limit, " if self.limit else ""
        ours, size = units.time_text(self.ours), units.bytes_text(self.call.nbytes)
        return f"{self.ratio:6.2f} x {self.best}, {limit}{ours}: {self.call}, {size}"


# ---- other libraries' calls ----


def of_torch(torch: Any, call: Drawn, x: Any) -> Call | None:
    """Return PyTorch's call, or None."""
    axis = call.axis
    if call.op in ("nanvar", "nanargmax"):
        return None
    if call.op == "ptp":
        return lambda: torch.amax(x, dim=axis) - torch.amin(x, dim=axis)
    if call.op == "median":
        return lambda: torch.quantile(x, 0.5, dim=axis)
    if call.op == "min":
        return lambda: torch.amin(x, dim=axis)
    if call.op == "std":
        return lambda: torch.std(x, dim=axis, correction=0)
    if call.op == "norm":
        return lambda: torch.linalg.vector_norm(x, dim=axis)
    return lambda: torch_reduces(torch, call.op, x, axis)


def of_numpy(numpy: Any, call: Drawn, x: Any) -> Call:
    """Return the call of NumPy, or of CuPy, which has the same functions."""
    function = numpy.linalg.norm if call.op == "norm" else getattr(numpy, call.op)
    return lambda: function(x, axis=call.axis)


# ---- on a GPU ----


class Gpu:
    """The libraries on a GPU, and memory that calls view."""

    def __init__(self, compiled: int) -> None:
        limits = Limits()
        self.cupy, self.torch = limits.cupy, limits.torch
        self.times, self.limit = limits.times, limits.limit
        self.compiled = compiled
        self._flat: dict[str, Any] = {}

    def flat(self, dtype: str) -> Any:
        """Return a tensor twice as long as the largest call's."""
        if dtype not in self._flat:
            n = 2 * GPU_BYTES[1] // SIZES[dtype] + 2
            torch, whole = self.torch, np.random.default_rng(0).integers(-100, 100, PERIOD)
            kind = getattr(torch, dtype)
            values = torch.as_tensor(np.abs(whole) if dtype == "uint8" else whole).cuda().to(kind)
            self._flat = {dtype: values.repeat(-(-n // PERIOD))[:n]}  # one type at a time
        return self._flat[dtype]

    def calls(self, call: Drawn, number: int) -> dict[str, Call]:
        tensor = laid_out(self.flat(call.dtype), call)
        array = tensor if call.dtype == "bfloat16" else self.cupy.from_dlpack(tensor)
        function, stream = getattr(gred, call.op), self.times.stream
        theirs = of_torch(self.torch, call, tensor)
        found: dict[str, Call] = {"gred": lambda: function(array, axis=call.axis)}
        if call.op != "median":  # which uses the libraries' current streams
            out = function(array, axis=call.axis, stream=stream)
            if not hasattr(out, "__cuda_array_interface__"):
                out = self.cupy.asarray(out)
            found["gred"] = lambda: function(array, axis=call.axis, out=out, stream=stream)
        if theirs:
            found["PyTorch"] = theirs
        if array is not tensor and hasattr(self.cupy, call.op):
            found["CuPy"] = of_numpy(self.cupy, call, array)
        if theirs and number < self.compiled:
            self.torch._dynamo.reset()
            found["torch.compile"] = self.torch.compile(theirs, dynamic=False)
        return found

    def measure(self, calls: Sequence[Drawn]) -> Iterator[Measured]:
        numbered = sorted(enumerate(calls), key=lambda each: (each[0] // BATCH, each[1].dtype))
        with self.times.current():
            for number, call in numbered:
                able = self.times.able(self.calls(call, number), PATIENCE)
                seconds = self.times.medians(able)
                moved = bytes_touched(call) + result_bytes(call)
                yield Measured(call, seconds, moved / self.limit(max(moved, MIB)))


def result_bytes(call: Drawn) -> int:
    kept = math.prod(n for k, n in enumerate(call.shape) if k not in call.axes)
    is_float = call.dtype.startswith(("float", "bfloat", "complex"))
    if call.op in ("any", "all"):
        return kept
    is_index = call.op in ("argmin", "argmax", "nanargmax", "count_nonzero")
    if is_index or (call.op not in ("min", "max", "ptp") and not is_float):
        return 8 * kept
    is_real = call.op in ("var", "std", "nanvar", "norm") and call.dtype.startswith("complex")
    return kept * SIZES[call.dtype] // (2 if is_real else 1)


# ---- on the host ----


class Host:
    """The host's libraries."""

    def __init__(self) -> None:
        self.torch, self.bottleneck = library("torch"), library("bottleneck")

    def flat(self, call: Drawn) -> Any:
        n = 2 * call.nbytes // SIZES[call.dtype] + 2
        values = np.random.default_rng(0).integers(-100, 100, min(n, PERIOD))
        return np.resize(np.abs(values) if call.dtype == "uint8" else values, n).astype(call.dtype)

    def calls(self, call: Drawn) -> dict[str, Call]:
        x = laid_out(self.flat(call), call)
        ours = getattr(gred, call.op)
        found = {"gred": lambda: ours(x, axis=call.axis), "NumPy": of_numpy(np, call, x)}
        name = call.op if call.op.startswith("nan") else f"nan{call.op}"
        bottleneck = getattr(self.bottleneck, name, None)
        if bottleneck and isinstance(call.axis, int) and call.dtype in ("float32", "float64"):
            found["bottleneck"] = lambda: bottleneck(x, axis=call.axis)
        theirs = of_torch(self.torch, call, self.torch.from_numpy(x)) if self.torch else None
        if theirs:
            found["PyTorch"] = theirs
        return found

    def measure(self, calls: Sequence[Drawn]) -> Iterator[Measured]:
        for call in calls:
            if call.dtype == "bfloat16":
                continue
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                yield Measured(call, typical(self.calls(call)), None)


# ---- summary ----


def share(found: Sequence[Measured], holds: Callable[[Measured], bool]) -> str:
    held = sum(map(holds, found))
    return f"{held} of {len(found)}, {held / max(1, len(found)):.1%}"


def summary_of_gpu(found: Sequence[Measured]) -> Iterator[str]:
    long = [each for each in found if each.ours > SHORT]
    short = [each for each in found if each.ours <= SHORT]
    large = [each for each in found if each.call.nbytes > LARGE]
    yield f"median ratio: {statistics.median(each.ratio for each in found):.2f}"
    yield f"over 20 us: at least 0.95 of the best other's pace: {share(long, at_least(0.95))}"
    yield f"up to 20 us: not slower: {share(short, at_least(1))}"
    yield f"up to 20 us: slower by 15 % at most: {share(short, at_least(1 / 1.15))}"
    yield f"over 128 MiB: at least 0.85 of the limit: {share(large, of_limit(0.85))}"
    yield f"over 128 MiB: at least 0.6 of the limit: {share(large, of_limit(0.6))}"


def summary_of_host(found: Sequence[Measured]) -> Iterator[str]:
    yield f"median ratio: {statistics.median(each.ratio for each in found):.2f}"
    yield f"not slower: {share(found, at_least(1))}"
    yield f"at least 0.8 of the best other's pace: {share(found, at_least(0.8))}"


def at_least(ratio: float) -> Callable[[Measured], bool]:
    return lambda each: each.ratio >= ratio


def of_limit(part: float) -> Callable[[Measured], bool]:
    return lambda each: each.limit is None or each.limit / each.ours >= part


def within(seconds: float, measured: Iterator[Measured]) -> Iterator[Measured]:
    began = time.perf_counter()
    for each in measured:
        yield each
        if time.perf_counter() - began > seconds:
            return


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--host", action="store_true", help="on the host, not on a GPU")
    parser.add_argument("--seed", type=int, help="seed of an earlier run")
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--compiled", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--worst", type=int, default=25, help="number of worst calls to print")
    parser.add_argument("--out", type=Path, help="results folder")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)
    calls = list(drawn(seed, given.calls, *(HOST_BYTES if given.host else GPU_BYTES)))
    measured = (Host() if given.host else Gpu(given.compiled)).measure(calls)
    found = list(within(given.seconds, measured))
    by_ratio = sorted(found, key=lambda each: each.ratio)
    for each in by_ratio[: given.worst]:
        print(each)
    if not given.host:
        print("furthest from the limit, over 128 MiB:")
        large = [each for each in found if each.call.nbytes > LARGE and each.limit]
        for each in sorted(large, key=lambda each: each.limit / each.ours)[: given.worst]:
            print(each)
    print(*(summary_of_host if given.host else summary_of_gpu)(found), sep="\n")
    if given.out:
        machine = record.describe_machine(options.resolve_device("host" if given.host else None))
        run = {"seed": seed, "calls": given.calls, "on": "host" if given.host else "gpu"}
        name = "random_calls_host.json" if given.host else "random_calls.json"
        path = place_of(given.out, machine, name)
        rows = [each.row() for each in found]
        record.write_json(path, record.in_columns("random calls", machine, run, rows))
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
