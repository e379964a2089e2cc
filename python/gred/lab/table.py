"""A rung of a user's own in the ladder's table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

import gred
from gred.lab.form import LATEST
from gred.lab.rung import Rung
from gred.records import Records

_SAMPLES = 20
_LEAST_READ = 1024  # bytes; gred.read_limit reads no less


class LadderRow(NamedTuple):
    """A rung, what was counted of it, and its time; one of a user's own has no number.

    ``time`` is None where there is no GPU, and ``share``, of the GPU's read limit, too.
    """

    number: int | None
    name: str
    counters: gred.Counters
    time: gred.KernelTime | None = None
    share: float | None = None


class Ladder(Records):
    """What `ladder` returns."""

    __slots__ = ()

    columns: tuple[str, ...] = (
        "#",
        "method",
        "passes",
        "sectors loaded",
        "used",
        "conflicts",
        "barriers",
        "lanes",
    )

    def cells(self, record: LadderRow) -> list[str]:
        """Give what rungs differ most in."""
        total = record.counters.total
        used, lanes = total.global_load_efficiency, total.active_lanes
        return [
            "*" if record.number is None else str(record.number),
            record.name,
            str(len(record.counters.passes)),
            f"{total.global_load_sectors:,}",
            "" if used is None else f"{used:.0%}",
            f"{total.shared_load_conflicts + total.shared_store_conflicts:,}",
            f"{total.block_barriers:,}",
            "" if lanes is None else f"{lanes:.1f}",
        ]


class TimedLadder(Ladder):
    """The same where there is a GPU: with times there, medians, of all passes."""

    __slots__ = ()

    columns = (*Ladder.columns, "us on the GPU", "GB/s", "of limit")

    def cells(self, record: LadderRow) -> list[str]:
        """Give the time, too, and how much of what the GPU can read a second that is."""
        assert record.time is not None
        seconds = float(np.median(record.time.seconds))
        bandwidth = f"{record.time.nbytes / seconds * 1e-9:,.1f}"
        return [*super().cells(record), f"{seconds * 1e6:,.1f}", bandwidth, f"{record.share:.1%}"]


def ladder(
    rung: Rung, a: ArrayLike, /, *, block_size: int = 256, timed: ArrayLike | None = None
) -> Ladder:
    """Count a rung of your own beside those of the ladder, and time all, if it is for a GPU.

    There is a `LadderRow`, with ``number``, ``name`` and ``counters``, of each rung from 0 to 22,
    and your own after the rung that it is launched like; on a GPU with ``time``, as
    `gred.kernel_time` gives it, caches flushed before each sample, and ``share``, its bytes a
    second over those that `gred.read_limit` reads. It prints as a table.

    `a` is as for `gred.counters`. `timed`, by default the same, is what is reduced on the GPU: a
    longer array than can be counted in good time. Blocks are of `block_size` threads, but for your
    own rung if that is for other ones. ValueError is raised as by `gred.counters`, RuntimeError if
    the kernel is at fault.
    """
    rows = list(_counted(rung, a, block_size))
    if rung.gpu is None:
        return Ladder(rows)
    return TimedLadder(_timed(rung, rows, np.asarray(a if timed is None else timed), block_size))


def _counted(rung: Rung, a: ArrayLike, block_size: int) -> Iterator[LadderRow]:
    own_size = rung.block_size or block_size
    own = LadderRow(None, rung.name, rung.counters(a, block_size=own_size))
    for method in gred.methods():
        if method.number is None or method.number > LATEST:
            continue
        counted = gred.counters(a, method=method.name, block_size=block_size)
        yield LadderRow(method.number, method.name, counted)
        if method.name == rung.like:
            yield own


def _timed(
    rung: Rung, rows: list[LadderRow], a: np.ndarray[Any, Any], block_size: int
) -> Iterator[LadderRow]:
    """Time each on the rung's GPU, beside what that reads at best of so many bytes."""
    options: dict[str, Any] = {"block_size": block_size, "samples": _SAMPLES, "device": rung.gpu}
    read = gred.read_limit(rung.gpu, max(a.nbytes, _LEAST_READ))
    limit = read.nbytes / float(np.median(read.seconds))
    for row in rows:
        if row.number is None:
            time = rung.kernel_time(a, **options | {"block_size": rung.block_size or block_size})
        else:
            time = gred.kernel_time(a, method=row.name, **options)
        share = time.nbytes / float(np.median(time.seconds)) / limit
        yield row._replace(time=time, share=share)
