"""What calls of gred.torch cost beside PyTorch's own, with gradients and without.

A ratio is the time of gred's call over PyTorch's, both by turns on the same tensor.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from measures.figure import Figure, figure
from measures.timing import Call, medians_in_turns

import gred.torch

OPS, SIZES, TARGET = ("sum", "mean", "amax", "var"), (10, 1000, 10**5, 10**6), 1.2
BATCH, BATCHES = 100, 200

Times = Callable[[dict[str, Call]], dict[str, float]]


def measure(where: str, device: str, times: Times) -> Iterator[Figure]:
    """Compare calls alone, and calls with the gradient of their result."""
    try:
        import torch
    except ImportError:
        return
    for wants_gradient, op, n in itertools.product((False, True), OPS, SIZES):
        x = torch.randn(n, device=device, requires_grad=wants_gradient)
        libraries = {"PyTorch": torch, "gred": gred.torch}
        seconds = times({who: call_of(getattr(of, op), x) for who, of in libraries.items()})
        kind = "forward and backward" if wants_gradient else "forward"
        what = f"{where}: {op} of {n} float32, {kind}, {1e6 * seconds['gred']:.4g} us"
        yield figure(
            f"{what}: time over PyTorch's", [seconds["gred"] / seconds["PyTorch"]], "x",
            at_most=TARGET, group=f"{where}, gred.torch, {kind}: time over PyTorch's",
        )  # fmt: skip


def call_of(function: Callable[[Any], Any], x: Any) -> Call:
    def both() -> None:
        x.grad = None
        function(x).backward()

    return both if x.requires_grad else lambda: function(x)


def measure_on_gpu() -> Iterator[Figure]:
    """Measure calls in batches, of which each is waited for as a whole."""
    import torch

    def batch(call: Call) -> None:
        for _ in range(BATCH):
            call()
        torch.cuda.synchronize()

    def times(calls: dict[str, Call]) -> dict[str, float]:
        batches = {who: lambda call=call: batch(call) for who, call in calls.items()}
        found = medians_in_turns(batches, BATCHES)
        return {who: seconds / BATCH for who, seconds in found.items()}

    yield from measure("GPU", "cuda", times)
