"""The table of the ladder with a user's own rung."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

import gred
from gred.lab.form import LATEST
from gred.lab.rung import Rung
from gred.records import Columns, Records, inserted_after_like

_SAMPLES = 20
_LEAST_READ = 1024  # bytes, the least that gred.read_limit reads


class LadderRow(NamedTuple):
    """A rung with its counts and time; a user's own rung has no number.

    ``time``, and ``share`` of the GPU's read limit, are None without a GPU.
    """

    number: int | None
    name: str
    counters: gred.Counters
    time: gred.KernelTime | None = None
    share: float | None = None

    @property
    def total(self) -> gred.Counts:
        """The counts of all passes."""
        return self.counters.total

    @property
    def seconds(self) -> float:
        """The median time of all passes."""
        assert self.time is not None
        return float(np.median(self.time.seconds))


def _text(form: str, value: float | None) -> str | None:
    return None if value is None else format(value, form)


class Ladder(Records):
    """Result of `ladder`: the counts in which rungs differ most."""

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
    """Result of `ladder` with a GPU: also median times of all passes there."""

    columns = (
        *Ladder.columns,
        ("us on the GPU", lambda r: f"{1e6 * r.seconds:,.1f}"),
        ("GB/s", lambda r: f"{r.time.nbytes / r.seconds * 1e-9:,.1f}"),
        ("of limit", lambda r: f"{r.share:.1%}"),
    )


def ladder(
    rung: Rung, a: ArrayLike, /, *, block_size: int = 256, timed: ArrayLike | None = None
) -> Ladder:
    """Count your own rung and those of the ladder, and time all if yours is compiled for a GPU.

    Returns a `LadderRow` for each rung from 0 to 22, and for yours after the rung that it is
    launched like, with ``number``, ``name`` and ``counters``; on a GPU also with ``time``, as of
    `gred.kernel_time`, and ``share`` of the `gred.read_limit`. It prints as a table.

    `a` is as for `gred.counters`; `timed`, by default the same, is the array reduced on the GPU.
    Blocks have `block_size` threads, unless your rung supports only another size. Raises ValueError
    as `gred.counters` does, RuntimeError if the kernel crashes or never ends.
    """
    own_size = rung.block_size or block_size
    own = LadderRow(None, rung.name, rung.counters(a, block_size=own_size))
    rows = [
        LadderRow(m.number, m.name, gred.counters(a, method=m.name, block_size=block_size))
        for m in gred.methods()
        if m.number is not None and m.number <= LATEST
    ]
    rows = inserted_after_like(rows, own, rung.like)
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
