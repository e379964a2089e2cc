"""A picture of the ladder: the same sum on three rungs, level by level, side by side."""

from typing import Any

import numpy as np

from gred.counting import WARP, counters
from gred.drawing.sheet import Sheet
from gred.drawing.showing import drawn_blocks, rung_text
from gred.drawing.steps import blocks
from gred.recording import accesses

_RUNGS = {
    "neighbored": "adjacent elements added, in global memory",
    "shared_sequential": "in shared memory, by adjacent lanes",
    "shuffle": "lanes read each other's registers",
}
_LEFT, _COLUMN, _LEVEL, _LEVELS, _GAP, _TOP = 28, 10, 44, 5, 54, 84
_SIZE, _BLOCK_SIZE = 1 << 14, 256  # for the counted facts
_LEGEND = {
    ("circle", "active"): "an active lane",
    ("circle", "active unused"): "its result is discarded",
    ("circle", "idle"): "idle",
    ("line", "line load"): "a load",
    ("line", "line shuffle"): "a shuffle, or the lane's own register",
}


def hero() -> str:
    """Draw how three rungs of the ladder sum 32 elements with one warp, as an SVG document."""
    facts = {rung: _facts(rung) for rung in _RUNGS}
    told = "; ".join(f"{rung}: {_RUNGS[rung]}, {', '.join(facts[rung])}" for rung in _RUNGS)
    title = "A tree reduction on three rungs of the ladder"
    sheet = Sheet(title, f"32 lanes of a warp reduce 32 elements in five levels. {told}.")
    width = WARP * _COLUMN
    for number, rung in enumerate(_RUNGS):
        left = _LEFT + number * (width + _GAP)
        _draw_tree(sheet, left, rung, facts[rung])
        if number:
            y = _TOP + _LEVEL * _LEVELS / 2
            sheet.write("title middle", left - _GAP / 2, y, "\N{RIGHTWARDS ARROW}")
    sheet.legend(_LEGEND)
    return sheet.text(2 * _LEFT + len(_RUNGS) * (width + _GAP) - _GAP, small=True)


def _facts(rung: str) -> tuple[str, ...]:
    counted = counters(np.ones(_SIZE, np.float32), method=rung, block_size=_BLOCK_SIZE).passes[0]
    barriers = counted.block_barriers // counted.blocks
    return (
        f"{counted.active_lanes or 0:.0f} of 32 lanes active on average",
        f"{counted.global_load_efficiency or 0:.0%} of the loaded bytes are used",
        f"{barriers} barrier{'s' if barriers > 1 else ''} per block of {_BLOCK_SIZE} threads",
    )


def _draw_tree(sheet: Sheet, left: float, rung: str, facts: tuple[str, ...]) -> None:
    xs = [left + (lane + 0.5) * _COLUMN for lane in range(WARP)]
    sheet.group("tree")
    sheet.write("title", left, 32, rung_text(rung)[0].partition(":")[0])
    sheet.write("fact soft", left, 54, _RUNGS[rung])
    for x in xs:
        sheet.add("rect", "cell", x=x - _COLUMN / 2, y=_TOP - 10, width=_COLUMN, height=10)
    launch = accesses(np.arange(WARP), method=rung, block_size=WARP).passes[0]
    (block,) = blocks(launch, drawn_blocks(launch))
    folding = {n for n in block.nodes if n.useful and n.terms > 1 and not n.is_noop}
    levels = [s for s in block.steps if not folding.isdisjoint(s.nodes.values())][:_LEVELS]
    sheet.group("levels")
    for level, step in enumerate(levels):
        top = _TOP + _LEVEL * level
        for node in step.useful:
            ends: dict[str, Any] = {"x2": xs[node.thread], "y2": top + _LEVEL, "y1": top}
            for element in node.reads:
                sheet.add("line", "line load", x1=xs[element.number], **ends)
            for source in (node.own, node.lane) if node.lane else ():
                if source:
                    sheet.add("line", "line shuffle", x1=xs[source.thread], **ends)
    sheet.group("levels")
    for level, step in enumerate(levels, 1):
        for lane, x in enumerate(xs):
            at = step.nodes.get(lane)
            kind = "idle" if at is None else "active" if at.useful else "active unused"
            sheet.add("circle", kind, cx=x, cy=_TOP + _LEVEL * level, r=4.2 if at else 2.0)
    y = _TOP + _LEVEL * _LEVELS + 32
    for k, fact in enumerate(facts):
        sheet.write("fact", left, y + 19 * k, fact)
    sheet.y = y + 19 * len(facts) + 4
