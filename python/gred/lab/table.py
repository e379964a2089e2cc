"""A rung of a user's own in the ladder's table."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

import gred
from gred.lab.form import LATEST
from gred.lab.rung import Rung
from gred.records import Columns, Records, among_rungs

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

    @property
    def total(self) -> gred.Counts:
        """What was counted of all passes."""
        return self.counters.total

    @property
    def seconds(self) -> float:
        """The median time of all passes."""
        assert self.time is not None
        return float(np.median(self.time.seconds))


def _text(form: str, value: float | None) -> str | None:
    return None if value is None else format(value, form)


class Ladder(Records):
    """What `ladder` returns: what rungs differ most in."""

    columns: ClassVar[Columns] = (
        ("#", lambda r: "*" if r.number is None else r.number),
        ("method", "name"),
        ("passes", lambda r: len(r.counters.passes)),
        ("sectors loaded", lambda r: f"{r.total.global_load_sectors:,}"),
        ("used", lambda r: _text(".0%", r.total.global_load_efficiency)),
        ("conflicts", lambda r: f"{r.total.bank_conflicts:,}"),
        ("barriers", lambda r: f"{r.total.block_barriers:,}"),
        ("lanes", lambda r: _text(".1f", r.total.active_lanes)),
    )


class TimedLadder(Ladder):
    """The same where there is a GPU: with medians of times there, of all passes."""

    columns = (
        *Ladder.columns,
        ("us on the GPU", lambda r: f"{1e6 * r.seconds:,.1f}"),
        ("GB/s", lambda r: f"{r.time.nbytes / r.seconds * 1e-9:,.1f}"),
        ("of limit", lambda r: f"{r.share:.1%}"),
    )


def ladder(
    rung: Rung, a: ArrayLike, /, *, block_size: int = 256, timed: ArrayLike | None = None
) -> Ladder:
    """Count a rung of your own beside those of the ladder, and time all, if it is for a GPU.

    There is a `LadderRow`, with ``number``, ``name`` and ``counters``, of each rung from 0 to 22,
    and your own after the rung that it is launched like; on a GPU with ``time``, as of
    `gred.kernel_time`, and ``share`` of what `gred.read_limit` reads. It prints as a table.

    `a` is as for `gred.counters`; `timed`, by default the same, is what is reduced on the GPU.
    Blocks are of `block_size` threads, but for your own rung if that is for other ones. ValueError
    is raised as by `gred.counters`, RuntimeError if the kernel crashes or never ends.
    """
    own_size = rung.block_size or block_size
    own = LadderRow(None, rung.name, rung.counters(a, block_size=own_size))
    rows = [
        LadderRow(m.number, m.name, gred.counters(a, method=m.name, block_size=block_size))
        for m in gred.methods()
        if m.number is not None and m.number <= LATEST
    ]
    rows = among_rungs(rows, own, rung.like)
    if rung.gpu is None:
        return Ladder(rows)
    long = np.asarray(a if timed is None else timed)
    options: dict[str, Any] = {"samples": _SAMPLES, "device": rung.gpu}
    read = gred.read_limit(rung.gpu, max(long.nbytes, _LEAST_READ))
    limit = read.nbytes / float(np.median(read.seconds))
    told = []
    for row in rows:
        if row.number is None:
            time = rung.kernel_time(long, block_size=own_size, **options)
        else:
            time = gred.kernel_time(long, method=row.name, block_size=block_size, **options)
        row = row._replace(time=time)
        told.append(row._replace(share=time.nbytes / row.seconds / limit))
    return TimedLadder(told)
