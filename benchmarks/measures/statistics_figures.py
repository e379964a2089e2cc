"""Logarithms of sums of exponentials, and medians, beside other libraries'."""

import itertools
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from measures.call_figures import peers
from measures.device_times import DeviceTimes
from measures.figure import Figure, figure
from measures.timing import Call, medians_in_turns

import gred

CALLS = 5
SHAPES: tuple[tuple[tuple[int, ...], Any], ...] = (
    ((1 << 24,), 0),
    ((4096, 4096), 0),
    ((4096, 4096), 1),
    ((1 << 18, 64), 1),
    ((64, 1 << 18), 0),
    ((1000,), 0),
)
LARGE = ((1 << 26,), 0)  # more than torch.quantile takes
ON_GPU = (((1 << 27,), 0), ((2048, 50257), 1), ((2048, 50257), 0), ((64, 56, 56, 256), (1, 2)))
ON_GPU += (((1 << 20, 64), 1), ((16384, 768), 1), ((512, 768), 1))


def row(what: str, x: Any, axis: Any, taken: dict[str, float], group: str) -> Figure:
    ours, where = taken.pop("gred"), "x".join(map(str, x.shape))
    beside = ", ".join(f"{name} {1e6 * seconds:.4g} us" for name, seconds in taken.items())
    what = f"{what}, {where} axis {axis}, gred {1e6 * ours:.4g} us, {beside}"
    return figure(
        f"{what}: the best of these over gred", [min(taken.values()) / ours], "x",
        at_least=1.0, group=group,
    )  # fmt: skip


def numpys_logsumexp(x: Any, axis: Any) -> Any:
    """Read the array three times, as scipy.special.logsumexp does."""
    most = x.max(axis=axis, keepdims=True)
    return np.log(np.exp(x - most).sum(axis=axis)) + most.squeeze(axis)


def host_calls(op: str, x: Any, axis: Any) -> dict[str, Call]:
    calls = {"gred": partial(getattr(gred, op), x, axis)}
    if op == "logsumexp":
        return calls | {"NumPy": partial(numpys_logsumexp, x, axis)}
    calls["NumPy"] = partial(getattr(np, op), x, axis)
    with suppress(ImportError):
        calls["bottleneck"] = partial(getattr(import_module("bottleneck"), op), x, axis)
    return calls


def measure_statistics_on_host() -> Iterator[Figure]:
    """Measure whole calls by turns."""
    random, ops = np.random.default_rng(0), ("logsumexp", "median", "nanmedian")
    for op, dtype, (shape, axis) in itertools.product(ops, ("float32", "float64"), SHAPES):
        x = random.standard_normal(shape).astype(dtype)
        if op == "nanmedian":
            x.flat[::7] = np.nan
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            taken = medians_in_turns(host_calls(op, x, axis), CALLS)
        yield row(f"{op} {dtype}", x, axis, taken, f"{op}, host")


def measure_medians(cupy: Any, torch: Any) -> Iterator[Figure]:
    """Measure whole calls on a GPU, waited for, by turns."""

    def waited(call: Call) -> None:
        call()
        cupy.cuda.Device().synchronize()

    kinds = (("median", "float32"), ("median", "int32"), ("nanmedian", "float32"))
    for (op, name), (shape, axis) in itertools.product(kinds, (*SHAPES, LARGE)):
        x = (torch.randn(shape, device="cuda") * 1e6).to(getattr(torch, name))
        if op == "nanmedian":
            x.view(-1)[::7] = float("nan")
        calls = {
            "gred": partial(getattr(gred, op), x, axis),
            f"cupy.{op}": partial(getattr(cupy, op), cupy.asarray(x), axis),
        }
        theirs = "nanquantile" if op == "nanmedian" else "quantile"
        if name == "float32" and (shape, axis) != LARGE:
            calls[f"torch.{theirs}"] = partial(getattr(torch, theirs), x, 0.5, axis)
        taken = medians_in_turns({key: partial(waited, one) for key, one in calls.items()}, CALLS)
        yield row(f"{op} {name}", x, axis, taken, f"{op}, calls on a GPU")


def measure_statistics() -> Iterator[Figure]:
    """Measure device times by turns with PyTorch's, and then medians."""
    cupy, torch = peers()
    times = DeviceTimes(cupy, torch)
    for name, (shape, axis) in itertools.product(("float32", "bfloat16", "float64"), ON_GPU):
        x = torch.randn(shape, device="cuda").to(getattr(torch, name))
        with times.current():
            calls = {
                "gred": partial(gred.logsumexp, x, axis=axis),
                "torch.logsumexp": partial(torch.logsumexp, x, axis),
            }
            taken = times.medians(times.able(calls, 1.0))
        yield row(f"logsumexp {name}", x, axis, taken, "logsumexp, device time")
    yield from measure_medians(cupy, torch)
