"""What a call costs on a GPU, beside an empty kernel's launch and beside other libraries' calls."""

import itertools
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from measures.figure import Figure, figure, shown
from measures.timing import CALLS, medians_in_turns, taken_in_turns

import gred

KIB, MIB = 1 << 10, 1 << 20
SMALL = 1024
CALL_TARGET = 8.5
OVER_LAUNCH = 1.0
OUT_TARGET = 4.0
# How many times as fast as the better of CuPy and PyTorch, by bytes: a sum of float32, and where an
# array is large more reductions of more types.
SMALL_BESIDE_PEERS = {64 * KIB: 2.5, MIB: 2.5, 16 * MIB: 2.0}
LARGE_BESIDE_PEERS = {256 * MIB: 1.2, 1024 * MIB: 1.07, 4096 * MIB: 1.02}
LARGE_OPS, LARGE_TYPES, LARGE_CALLS = ("sum", "min", "max"), ("float32", "float64", "int64"), 300
QUEUED = 200


def measure_calls() -> Iterator[Figure]:
    """Measure whole calls until the answer is a Python scalar, and calls that nobody waits for."""
    cupy, torch = peers()
    small, device = np.ones(100, np.float32), "cuda:0"
    seconds = taken_in_turns({"NumPy": lambda: gred.sum(small)})["NumPy"]
    yield figure("gred.sum of 100 float32, a NumPy array", 1e6 * seconds, "us")
    yield from measure_small(cupy, torch, device)
    yield from measure_out(cupy, torch)
    for nbytes, target in SMALL_BESIDE_PEERS.items():
        array = random_on_gpu(cupy, nbytes, "float32")
        yield measure_beside(torch, array, "sum", CALLS, target)
    for (nbytes, target), dtype in itertools.product(LARGE_BESIDE_PEERS.items(), LARGE_TYPES):
        array = random_on_gpu(cupy, nbytes, dtype)
        for op in LARGE_OPS:
            yield measure_beside(torch, array, op, LARGE_CALLS, target)


def peers() -> tuple[Any, Any]:
    try:
        import cupy
        import torch
    except ImportError:
        raise SystemExit("calls are measured beside CuPy's and PyTorch's") from None
    return cupy, torch


def measure_small(cupy: Any, torch: Any, device: str) -> Iterator[Figure]:
    """Sum up to 1024 elements, and launch nothing, by turns of some hundred."""
    arrays = {
        "a CuPy array": cupy.ones(SMALL, cupy.float32),
        "a PyTorch tensor": torch.ones(SMALL, device="cuda"),
    }
    calls = {name: partial(gred.sum, array) for name, array in arrays.items()}
    rounds: dict[str, list[float]] = {name: [] for name in ("launch", *calls)}
    for _ in range(15):
        launches = gred.launch_limit(device, samples=300).seconds
        rounds["launch"].append(float(np.median(launches)))
        for name, median in medians_in_turns(calls, 300).items():
            rounds[name].append(median)
    launch = np.array(rounds.pop("launch"))
    yield figure("an empty kernel, launched and waited for", 1e6 * launch, "us")
    for name, medians in rounds.items():
        what = f"gred.sum of {SMALL} float32, {name}"
        yield figure(what, 1e6 * np.array(medians), "us", at_most=CALL_TARGET)
        ratio = np.array(medians) / launch
        what += ": time over the empty kernel's"
        yield figure(what, ratio, "x", at_most=OVER_LAUNCH)


def measure_out(cupy: Any, torch: Any) -> Iterator[Figure]:
    """Queue calls whose result stays on the GPU: what each costs the host."""
    a, b = cupy.ones(SMALL, cupy.float32), torch.ones(SMALL, device="cuda")
    outs = cupy.zeros((), cupy.float32), torch.zeros((), device="cuda")
    queued = {
        "gred.sum(out=), CuPy arrays": (partial(gred.sum, a, out=outs[0]), OUT_TARGET),
        "gred.sum(out=), PyTorch tensors": (partial(gred.sum, b, out=outs[1]), OUT_TARGET),
        "CuPy's x.sum()": (a.sum, None),
        "PyTorch's x.sum()": (b.sum, None),
    }
    for name, (call, target) in queued.items():
        seconds = []
        for _ in range(20):
            start = time.perf_counter()
            for _ in range(QUEUED):
                call()
            seconds.append(1e6 * (time.perf_counter() - start) / QUEUED)
            cupy.cuda.Device().synchronize()
        yield figure(f"not waited for: {name}", seconds, "us", at_most=target)


def random_on_gpu(cupy: Any, nbytes: int, dtype: str) -> Any:
    """Draw an array: floats in [0, 1), or integers of 32 bits."""
    count = nbytes // np.dtype(dtype).itemsize
    if dtype == "int64":
        return cupy.random.randint(-(2**31), 2**31 - 1, count, dtype=dtype)
    return cupy.random.random(count, dtype=dtype)


def measure_beside(torch: Any, array: Any, op: str, count: int, target: float) -> Figure:
    """Compare with the better peer on the same memory, in the same seconds."""
    tensor = torch.as_tensor(array, device="cuda")
    reduce, torchs = getattr(gred, op), getattr(torch, op)
    calls = {
        "gred": lambda: reduce(array),
        "CuPy": lambda: getattr(array, op)().item(),
        "PyTorch": lambda: torchs(tensor).item(),
    }
    taken = medians_in_turns(calls, count)
    ours = taken.pop("gred")
    best = min(taken, key=taken.__getitem__)
    case = f"{op}, {shown(array.nbytes)} {array.dtype}"
    what = f"{case}: {best}'s time over gred's, {1e6 * ours:.1f} us"
    return figure(what, [taken[best] / ours], "x", at_least=target)
