"""Sums by key beside NumPy's bincount, on a GPU beside PyTorch's and CuPy's, and exact ones."""

import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from measures.call_figures import peers
from measures.device_times import DeviceTimes
from measures.figure import Figure, figure
from measures.timing import Call, medians_in_turns

import gred

N = 1 << 24
KEYS = (10, 1000, 10**4, 10**5, 10**6)
KINDS = ("uniform", "Zipf")
CALLS = 9
OVER_BINCOUNT, OVER_GPU_PEERS, EXACT_OVER_FAST, EXACT_UP_TO = 1.5, 1.0, 3.0, 10**4


def drawn() -> Iterator[tuple[str, int, Any]]:
    """Draw keys, all as often, or each as often as its number's power of -1.5 says."""
    for num_keys, kind in itertools.product(KEYS, KINDS):
        random = np.random.default_rng(num_keys)
        if kind == "uniform":
            keys = random.integers(0, num_keys, N)
        else:
            keys = np.minimum(random.zipf(1.5, N) - 1, num_keys - 1)
        yield f"of 2^24 float32, {num_keys} {kind} keys", num_keys, keys


def rows(
    what: str, where: str, num_keys: int, taken: dict[str, float], bound: float
) -> Iterator[Figure]:
    """Compare with the best of the others, and exact sums with fast ones."""
    ours, exact = taken.pop("gred"), taken.pop("exact")
    beside = ", ".join(f"{name} {1e3 * seconds:.3g} ms" for name, seconds in taken.items())
    yield figure(
        f"sum {what}, gred {1e3 * ours:.3g} ms, {beside}: the best of these over gred",
        [min(taken.values()) / ours], "x",
        at_least=bound, group=f"sums by key, {where}: over the best of others",
    )  # fmt: skip
    yield figure(
        f"sum {what}, exact {1e3 * exact:.3g} ms: over the fast sum's time",
        [exact / ours], "x",
        at_most=EXACT_OVER_FAST if num_keys <= EXACT_UP_TO else None,
        group=f"exact sums by key, {where}: time over fast ones'",
    )  # fmt: skip


def ours(keys: Any, values: Any, num_keys: int) -> dict[str, Call]:
    fast = partial(gred.by_key, "sum", keys, values, num_keys)
    return {"gred": fast, "exact": partial(fast, method="exact")}


def measure_keys_on_host() -> Iterator[Figure]:
    """Measure whole calls by turns with NumPy's."""
    values = np.random.default_rng(0).standard_normal(N, "f4")
    for what, num_keys, keys in drawn():
        calls = ours(keys, values, num_keys)
        calls["np.bincount"] = partial(np.bincount, keys, values, num_keys)
        taken = medians_in_turns(calls, CALLS)
        yield from rows(what, "host", num_keys, taken, OVER_BINCOUNT)


def measure_keys() -> Iterator[Figure]:
    """Measure device times by turns with what adds by atomics, in no order."""
    cupy, torch = peers()
    times = DeviceTimes(cupy, torch)
    values = torch.randn(N, device="cuda")
    for what, num_keys, host_keys in drawn():
        keys = torch.from_numpy(host_keys).cuda()
        zeros = torch.zeros(num_keys, device="cuda")
        least = torch.full((num_keys,), -torch.inf, device="cuda")
        sums = ours(keys, values, num_keys) | {
            "index_add_": partial(zeros.index_add_, 0, keys, values),
            "scatter_add_": partial(zeros.scatter_add_, 0, keys, values),
            "cupy.bincount": lambda k=keys, m=num_keys: cupy.bincount(
                cupy.asarray(k), cupy.asarray(values), m
            ),
        }
        extremes = {
            "gred": partial(gred.by_key, "max", keys, values, num_keys),
            "scatter_reduce_": partial(least.scatter_reduce_, 0, keys, values, "amax"),
        }
        with times.current():
            taken, other = (times.medians(times.able(calls, 1.0)) for calls in (sums, extremes))
        yield from rows(what, "device time", num_keys, taken, OVER_GPU_PEERS)
        theirs, greds = other["scatter_reduce_"], other["gred"]
        yield figure(
            f"max {what}, gred {1e3 * greds:.3g} ms, "
            f"scatter_reduce_ {1e3 * theirs:.3g} ms: the latter over gred",
            [theirs / greds], "x", at_least=OVER_GPU_PEERS,
            group="extremes by key, device time: over scatter_reduce_",
        )  # fmt: skip
