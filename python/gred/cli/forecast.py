"""What a sweep shows where nothing is timed: how each rung does by array size and block size."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import gred
from gred import prediction
from gred.cli import counters, roofline, units
from gred.cli.console import Column, Console, Table
from gred.gpus import H200


class Plan(NamedTuple):
    """What to predict."""

    methods: tuple[Any, ...]
    sizes: tuple[int, ...]
    block_sizes: tuple[int, ...]
    dtype: str


def plan_of(methods: tuple[Any, ...] | None, *rest: Any) -> Plan:
    """Check that the methods can be predicted; by default all that can."""
    return Plan(counters.countable(methods, "predicted"), *rest)


def run(plan: Plan, console: Console) -> None:
    """Predict, print."""
    rows = []
    with console.progress(len(plan.methods)) as step:
        for method in plan.methods:
            step(method.name)
            rows.append([str(method.number), method.name, *_cells(plan, method)])
    console.pairs(
        [
            ("arrays", f"{plan.dtype}, summed in {plan.dtype}"),
            ("blocks", ", ".join(map(str, plan.block_sizes))),
            ("GPU", f"{roofline.gpu_text(H200)}; predicted, not measured"),
            ("shown", "GB/s by array size, each in the block size that is best for it"),
        ]
    )
    console.table(Table(_columns(plan), rows))


def _columns(plan: Plan) -> list[Column]:
    *_, largest = plan.sizes
    order = len(plan.sizes)
    sizes = [
        Column(units.size_text(size), rank=order - place, style="bold" if size == largest else "")
        for place, size in enumerate(plan.sizes, 1)
    ]
    return [
        Column("#", style="dim", rank=order + 2),
        Column("method", right=False, style="bold"),
        *sizes,
        Column("best", about=f"block size at {units.size_text(largest)} elements"),
        Column("worst", rank=order + 1, about="the slowest there, and how much slower it is"),
        Column("limited by", right=False, about="in the best block size there"),
    ]


def _cells(plan: Plan, method: Any) -> list[str]:
    blocks = [block for block in plan.block_sizes if block in method.block_sizes]
    if not blocks:
        return ["-"] * (len(plan.sizes) + 3)
    paces = []
    for size in plan.sizes:
        told = sorted((_predicted(plan, method, block, size) for block in blocks), key=_seconds)
        nbytes = size * np.dtype(plan.dtype).itemsize
        paces.append(units.gigabytes_text(nbytes / told[0].seconds))
    slower = units.speedup_text(told[-1].seconds / told[0].seconds)
    worst = f"{told[-1].block_size}, {slower}" if len(told) > 1 else "-"
    return [*paces, str(told[0].block_size), worst, told[0].why()]


def _seconds(told: gred.Roofline) -> float:
    return told.seconds


def _predicted(plan: Plan, method: Any, block: int, size: int) -> gred.Roofline:
    launch = prediction.make_launch(method.name, block, plan.dtype, H200)
    return prediction.predict(launch, size, H200)
