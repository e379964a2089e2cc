"""Lists of arrays on a GPU, beside PyTorch's own ways, and beside the memory's limit."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from measures.call_figures import peers
from measures.device_times import DeviceTimes
from measures.figure import Figure, figure
from measures.timing import medians_in_turns

import gred

KIB, MIB = 1 << 10, 1 << 20
GRADIENTS, LEAST, MOST = 200, KIB, 4 * MIB  # bytes
TYPES = ("float32", "bfloat16")
CALLS = 200
OVER_FOREACH = 0.5
# Arrays of so many bytes each, and so many.
LARGE = ((4 * MIB, 64), (16 * MIB, 64), (1000 * KIB, 270))
OF_LIMIT = 0.85


def gradients(torch: Any, dtype: str) -> list[Any]:
    """Draw lengths whose logarithms are uniform, and gradients of these."""
    random = np.random.default_rng(29)
    nbytes = np.exp(random.uniform(np.log(LEAST), np.log(MOST), GRADIENTS))
    kind = getattr(torch, dtype)
    lengths = [int(each) // kind.itemsize for each in nbytes]
    return [torch.randn(n, device="cuda").to(kind) for n in lengths]


def measure_lists() -> Iterator[Figure]:
    """Measure whole calls of a model's gradients, and device times of what is larger."""
    cupy, torch = peers()
    for dtype in TYPES:
        yield from measure_gradients(torch, dtype)
    times = DeviceTimes(cupy, torch)
    for nbytes, count in LARGE:
        yield measure_large(torch, times, nbytes, count)


def measure_gradients(torch: Any, dtype: str) -> Iterator[Figure]:
    """Measure the norm of all and the norms of each until they are there."""
    arrays = gradients(torch, dtype)
    vector_norm, foreach = torch.linalg.vector_norm, torch._foreach_norm

    def waited(result: Any) -> Any:
        torch.cuda.synchronize()
        return result

    whole = {
        "gred": lambda: gred.norm(arrays),
        "PyTorch": lambda: vector_norm(torch.stack(foreach(arrays))).item(),
    }
    each = {
        "gred": lambda: waited(gred.each("norm", arrays)),
        "PyTorch": lambda: waited(foreach(arrays)),
    }
    sums = {
        "gred": lambda: gred.sum(arrays),
        "PyTorch": lambda: sum(array.sum() for array in arrays).item(),
    }
    rows = (
        (
            "the norm of all: gred's time over that of _foreach_norm and its norm",
            whole,
            OVER_FOREACH,
        ),
        ("the norm of each: gred's time over that of _foreach_norm", each, None),
        ("the sum of all: gred's time over that of PyTorch's, one by one", sums, OVER_FOREACH),
    )
    for what, calls, target in rows:
        taken = medians_in_turns(calls, CALLS)
        name = f"{GRADIENTS} gradients of {dtype}, 1 KiB to 4 MiB, {what}"
        name += f", {1e6 * taken['gred']:.0f} us"
        yield figure(name, [taken["gred"] / taken["PyTorch"]], "x", at_most=target)


def measure_large(torch: Any, times: DeviceTimes, nbytes: int, count: int) -> Figure:
    """Measure the norm of arrays that no cache holds, by the device's clock."""
    arrays = [torch.randn(nbytes // 4, device="cuda") for _ in range(count)]
    out = torch.zeros((), device="cuda")
    limit = gred.read_limit("cuda:0", nbytes=nbytes * count)
    with times.current():
        call = {"gred": lambda: gred.norm(arrays, out=out)}
        seconds = times.medians(times.able(call, 1.0))["gred"]
    what = f"the norm of {count} arrays of {nbytes // KIB} KiB: of the read limit"
    share = float(np.median(limit.seconds)) / seconds
    return figure(what, [share], "x", at_least=OF_LIMIT)
