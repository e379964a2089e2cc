"""Measured times and counts of the tutorial's steps, as text and SVG."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import gred

LADDER = Path(__file__).parent.parent / "benchmarks/results/nvidia-h200/ladder.json"
STEPS = (
    "neighbored",
    "neighbored_less",
    "interleaved",
    "shared_sequential",
    "shared_first_add",
    "shared_last_warp",
    "shared_grid_stride",
    "shuffle_vector",
)
COUNTERS = {
    "global_load_requests": "global load requests",
    "global_load_sectors": "global load sectors",
    "global_store_sectors": "global store sectors",
    "shared_load_wavefronts": "shared load wavefronts",
    "shared_load_conflicts": "shared load bank conflicts",
    "block_barriers": "block barriers",
    "active_lanes": "active lanes of 32",
}
COUNTED = 2**14
STYLE = """
text { font: 13px sans-serif; fill: #555; }
text.now { fill: #111; font-weight: 600; }
rect { fill: #c9ced6; } rect.done { fill: #8fb8de; } rect.now { fill: #1f77b4; }
line { stroke: #c0392b; stroke-dasharray: 4 3; } text.limit { fill: #c0392b; }
@media (prefers-color-scheme: dark) {
  text { fill: #aaa; } text.now { fill: #fff; }
  rect { fill: #3a3f47; } rect.done { fill: #2c5d8a; } rect.now { fill: #5aa9e6; }
  line { stroke: #ff8a7a; } text.limit { fill: #ff8a7a; }
}
"""


def measured() -> dict[str, Any]:
    """Read the measured ladder: the run, and a row for each method."""
    kept = json.loads(LADDER.read_text(encoding="utf-8"))
    return {**kept["run"], "rows": {row["method"]: row for row in kept["rows"]}}


def said(method: str) -> str:
    """Describe the bandwidth of a step, and its speed-up over the previous one."""
    ladder = measured()
    rate = ladder["rows"][method]["gb_per_s"]
    text = (
        f"**{rate:,.0f} GB/s** on an H200, {rate / ladder['limit_gb_per_s']:.0%} of the read limit"
    )
    place = STEPS.index(method)
    if place:
        before = ladder["rows"][STEPS[place - 1]]["gb_per_s"]
        text += f" and {rate / before:.2f} times as fast as step {place}"
    return text + "."


def counted(method: str) -> list[list[str]]:
    """Count a step and the previous one: a row for each counter."""
    methods = STEPS[max(0, STEPS.index(method) - 1) :][: 1 + (method != STEPS[0])]
    ones = np.ones(COUNTED, np.float32)
    totals = [gred.counters(ones, method=one, block_size=256).total for one in methods]
    rows = [[f"of {COUNTED:,} float32", *(f"`{one}`" for one in methods)]]
    for name, title in COUNTERS.items():
        values = [getattr(total, name) for total in totals]
        if any(values):
            rows.append([title, *(_number(value) for value in values)])
    return rows


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.1f}"


def bars(now: str | None = None, methods: Sequence[str] = STEPS) -> str:
    """Draw the measured bandwidths of the steps as bars, the current step in full color."""
    ladder, left, width, height = measured(), 160, 460, 24
    limit = ladder["limit_gb_per_s"]
    place = methods.index(now) if now else len(methods)
    lines = []
    for number, method in enumerate(methods):
        rate, top = ladder["rows"][method]["gb_per_s"], 24 + number * height
        kind = "now" if number == place else "done" if number < place else "later"
        long = rate / limit * width
        inside = long > width - 60
        text = f"{rate / 1000:.2f} TB/s"
        end = f'x="{left + long + (-6 if inside else 6):.1f}"'
        end += ' text-anchor="end"' if inside else ""
        lines += [
            f'<text class="{kind}" x="{left - 8}" y="{top + 14}" text-anchor="end">{method}</text>',
            f'<rect class="{kind}" x="{left}" y="{top}" width="{long:.1f}" height="{height - 6}"/>',
            f'<text class="{kind}" {end} y="{top + 14}">{text}</text>',
        ]
    bottom = 24 + len(methods) * height
    lines += [
        f'<line x1="{left + width}" y1="18" x2="{left + width}" y2="{bottom}"/>',
        f'<text class="limit" x="{left + width}" y="13" text-anchor="end">'
        f"read limit {limit / 1000:.2f} TB/s</text>",
    ]
    size = f'viewBox="0 0 {left + width + 10} {bottom + 4}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} width="{left + width + 10}">\n'
        f"<style>{STYLE}</style>\n" + "\n".join(lines) + "\n</svg>\n"
    )
