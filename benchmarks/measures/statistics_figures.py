"""Logarithms of sums of exponentials, and medians, beside other libraries'."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from measures.call_figures import peers
from measures.device_times import DeviceTimes
from measures.figure import Figure, figure
from measures.timing import medians_in_turns

import gred

CALLS = 5
SHAPES: tuple[tuple[tuple[int, ...], Any], ...] = (
    ((1 << 24,), 0),
    ((4096, 4096), 0),
    ((4096, 4096), 1),
    ((1 << 18, 64), 1),
    ((64, 1 << 18), 0),
)
SMALL = ((1000,), 0)
LARGE = ((1 << 26,), 0)  # more than torch.quantile takes
ON_GPU = (((1 << 27,), 0), ((2048, 50257), 1), ((2048, 50257), 0), ((64, 56, 56, 256), (1, 2)))
ON_GPU += (((1 << 20, 64), 1), ((16384, 768), 1), ((512, 768), 1))
Calls = dict[str, Callable[[], Any]]


def row(what: str, taken: dict[str, float], group: str) -> Figure:
    ours = taken.pop("gred")
    best = min(taken.values())
    beside = ", ".join(f"{name} {1e6 * seconds:.4g} us" for name, seconds in taken.items())
    return figure(
        f"{what}, gred {1e6 * ours:.4g} us, {beside}: the best of these over gred",
        [best / ours],
        "x",
        at_least=1.0,
        group=group,
    )


def numpys_logsumexp(x: Any, axis: Any) -> Any:
    """Read the array three times, as scipy.special.logsumexp does."""
    most = x.max(axis=axis, keepdims=True)
    return np.log(np.exp(x - most).sum(axis=axis)) + most.squeeze(axis)


def host_calls(op: str, x: Any, axis: Any) -> Calls:
    calls: Calls = {"gred": lambda: getattr(gred, op)(x, axis)}
    if op == "logsumexp":
        return calls | {"NumPy": lambda: numpys_logsumexp(x, axis)}
    calls["NumPy"] = lambda: getattr(np, op)(x, axis)
    try:
        import bottleneck
    except ImportError:
        return calls
    return calls | {"bottleneck": lambda: getattr(bottleneck, op)(x, axis)}


def measure_statistics_on_host() -> Iterator[Figure]:
    """Measure whole calls by turns."""
    random = np.random.default_rng(0)
    for op in ("logsumexp", "median", "nanmedian"):
        for dtype in ("float32", "float64"):
            for shape, axis in (*SHAPES, SMALL):
                x = random.standard_normal(shape).astype(dtype)
                if op == "nanmedian":
                    x.flat[::7] = np.nan
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    taken = medians_in_turns(host_calls(op, x, axis), CALLS)
                where = "x".join(map(str, shape))
                yield row(f"{op} {dtype}, {where} axis {axis}", taken, f"{op}, host")


def measure_medians(cupy: Any, torch: Any) -> Iterator[Figure]:
    """Measure whole calls on a GPU, waited for, by turns."""

    def waited(call: Callable[[], Any]) -> Callable[[], Any]:
        return lambda: (call(), cupy.cuda.Device().synchronize())

    for op, name in (("median", "float32"), ("median", "int32"), ("nanmedian", "float32")):
        for shape, axis in (*SHAPES, SMALL, LARGE):
            x = (torch.randn(shape, device="cuda") * 1e6).to(getattr(torch, name))
            if op == "nanmedian":
                x.view(-1)[::7] = float("nan")
            y = cupy.asarray(x)
            calls: Calls = {
                "gred": lambda op=op, x=x, axis=axis: getattr(gred, op)(x, axis),
                f"cupy.{op}": lambda op=op, y=y, axis=axis: getattr(cupy, op)(y, axis),
            }
            theirs = "nanquantile" if op == "nanmedian" else "quantile"
            if name == "float32" and (shape, axis) != LARGE:
                calls[f"torch.{theirs}"] = lambda theirs=theirs, x=x, axis=axis: getattr(
                    torch, theirs
                )(x, 0.5, axis)
            taken = medians_in_turns({key: waited(call) for key, call in calls.items()}, CALLS)
            where = "x".join(map(str, shape))
            yield row(f"{op} {name}, {where} axis {axis}", taken, f"{op}, calls on a GPU")


def measure_statistics() -> Iterator[Figure]:
    """Measure device times by turns with PyTorch's, and then medians."""
    cupy, torch = peers()
    times = DeviceTimes(cupy, torch)
    for name in ("float32", "bfloat16", "float64"):
        for shape, axis in ON_GPU:
            x = torch.randn(shape, device="cuda").to(getattr(torch, name))
            with times.current():
                calls: Calls = {
                    "gred": lambda x=x, axis=axis: gred.logsumexp(x, axis=axis),
                    "torch.logsumexp": lambda x=x, axis=axis: torch.logsumexp(x, axis),
                }
                taken = times.medians(times.able(calls, 1.0))
            where = "x".join(map(str, shape))
            yield row(f"logsumexp {name}, {where} axis {axis}", taken, "logsumexp, device time")
    yield from measure_medians(cupy, torch)
