"""What the ladder shows where nothing is timed: each rung's counters, and its time on an H200."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import gred
from gred import prediction
from gred.cli import explain, roofline, units
from gred.cli.console import Column, Console, Table, bar
from gred.gpus import H200

_BAR = 8
_UNKNOWN = "-"

_COLUMNS = (
    Column("#", style="dim", rank=4),
    Column("method", right=False, style="bold"),
    Column("launches", rank=7),
    Column("traffic", rank=1, about="of global memory, over the array's bytes"),
    Column("used", rank=5, about="bytes that lanes ask for, over bytes that global loads move"),
    Column("conflicts", rank=2, about="bank conflicts of shared memory"),
    Column("lanes", rank=3, about="of a warp's 32, active in the additions on average"),
    Column("barriers", rank=6, about="of blocks"),
    Column("predicted", about="from these counts, for an H200"),
    Column("measured", style="bold", about="on an H200"),
    Column("GB/s", rank=8),
    Column("", right=False, style="cyan", rank=9),
)


class Lesson(NamedTuple):
    """What is told of a rung, as far as it is known."""

    method: Any
    counted: gred.Counters
    predicted: gred.Roofline
    measured: float | None

    def note(self) -> str:
        """Say what the rung's idea is, and what limits it."""
        return f"{self.method.title}; {explain.limit(self.counted, self.predicted)}"


def learn(settings: roofline.Settings, console: Console) -> list[Lesson]:
    """Count every rung on an array as long as it gets, and predict its time."""
    measured = roofline.packaged_times(settings)
    lessons = []
    with console.progress(len(settings.methods)) as step:
        for method in settings.methods:
            step(method.name)
            launch = prediction.make_launch(method.name, settings.block_size, settings.dtype, H200)
            counted = prediction.counted(launch, settings.size)
            predicted = prediction.predict_counted(counted, H200)
            lessons.append(Lesson(method, counted, predicted, measured.get(method.name)))
    return lessons


def show(console: Console, settings: roofline.Settings, lessons: Sequence[Lesson]) -> None:
    """Print what was counted, predicted and once measured, of which array."""
    nbytes = settings.size * np.dtype(settings.dtype).itemsize
    size = f"{settings.size:,} {settings.dtype} ({units.bytes_text(nbytes)})"
    console.pairs(
        [
            ("array", f"{size}, summed in {settings.dtype}"),
            ("GPU", f"{roofline.gpu_text(H200)}; its times, not those of this machine"),
            *_climbed(lessons, nbytes),
        ]
    )
    rows = [_cells(lesson, nbytes, console) for lesson in lessons]
    here = [any(row[k] != _UNKNOWN for row in rows) for k in range(len(_COLUMNS))]
    kept = [k for k, told in enumerate(here) if told]
    table = Table(
        [_COLUMNS[k] for k in kept],
        [[row[k] for k in kept] for row in rows],
        [lesson.note() for lesson in lessons],
    )
    console.table(table)


def _climbed(lessons: Sequence[Lesson], nbytes: int) -> list[tuple[str, str]]:
    """Say how far apart the rungs are."""
    times = [(lesson.measured, lesson.method.name) for lesson in lessons if lesson.measured]
    if len(times) < 2:
        return []
    (least, best), (most, worst) = min(times), max(times)
    ends = (f"{units.bandwidth_text(nbytes / t)} by {m}" for t, m in ((most, worst), (least, best)))
    return [("climb", f"from {' to '.join(ends)}: {units.speedup_text(most / least)}, measured")]


def _cells(lesson: Lesson, nbytes: int, console: Console) -> list[str]:
    cells = [str(lesson.method.number), lesson.method.name, *_counts(lesson.counted, nbytes)]
    for time in (lesson.predicted.seconds, lesson.measured):
        cells.append(_UNKNOWN if time is None else units.time_text(time))
    if lesson.measured is None:
        return [*cells, _UNKNOWN, _UNKNOWN]
    pace = nbytes / lesson.measured
    drawn = bar(pace / H200.bandwidth, _BAR, console.bar_characters)
    return [*cells, units.gigabytes_text(pace), drawn]


def _counts(counted: gred.Counters, nbytes: int) -> list[str]:
    total = counted.total
    used, lanes = total.global_load_efficiency, total.active_lanes
    loaded = total.global_load_sectors + total.bulk_copy_sectors
    moved = 32 * (loaded + total.global_store_sectors)
    return [
        str(len(counted.passes)),
        f"{moved / nbytes:.1f}x",
        _UNKNOWN if used is None else units.percent_text(used),
        units.count_text(total.shared_load_conflicts + total.shared_store_conflicts),
        _UNKNOWN if lanes is None else f"{lanes:.1f}",
        units.count_text(total.block_barriers),
    ]
