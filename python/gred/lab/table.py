"""A rung of a user's own in the ladder's table."""

from __future__ import annotations

from typing import NamedTuple

from numpy.typing import ArrayLike

import gred
from gred.lab.form import LATEST
from gred.lab.rung import Rung
from gred.records import Records


class LadderRow(NamedTuple):
    """A rung and what was counted of it; one of a user's own has no number."""

    number: int | None
    name: str
    counters: gred.Counters


class Ladder(Records):
    """What `ladder` returns."""

    __slots__ = ()

    columns = ("#", "method", "passes", "sectors loaded", "used", "conflicts", "barriers", "lanes")

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


def ladder(rung: Rung, a: ArrayLike, /, *, block_size: int = 256) -> Ladder:
    """Count a rung of your own beside those of the ladder.

    Parameters
    ----------
    rung : Rung
        Your own.
    a : array_like of any shape
        As for `gred.counters`.
    block_size : int, default 256
        Of all rungs.

    Returns
    -------
    Ladder
        A `LadderRow`, with ``number``, ``name`` and ``counters``, of each rung from 0 to 22, and
        your own behind the rung that it is launched like. It prints as a table.

    Raises
    ------
    ValueError
        As `gred.counters`.
    RuntimeError
        If the kernel is at fault.

    """
    own = LadderRow(None, rung.name, rung.counters(a, block_size=block_size))
    rows = []
    for method in gred.methods():
        if method.number is None or method.number > LATEST:
            continue
        counted = gred.counters(a, method=method.name, block_size=block_size)
        rows.append(LadderRow(method.number, method.name, counted))
        if method.name == rung.like:
            rows.append(own)
    return Ladder(rows)
