"""What came of a comparison, from its kept rows: by case, who was best and how gred did beside it.

A row is a library's in a case, as gred.cli.contest records it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gred.cli.cases import LAYOUTS
from gred.cli.record import Record


class Outcome(NamedTuple):
    """The rows of one case. `gred` is the slower one where it was given several kinds of arrays.

    `peer` is the quickest of the others whose answer is right.
    """

    rows: tuple[Record, ...]
    gred: Record | None
    peer: Record | None

    @property
    def case(self) -> Record:
        """A row to ask for what all rows of the case share."""
        return self.rows[0]

    @property
    def wrong(self) -> bool:
        """Whether an answer of gred's is wrong."""
        return self.gred is not None and not self.gred["right"]

    @property
    def ratio(self) -> float | None:
        """The peer's time over gred's; None where one is lacking or gred is wrong."""
        if self.gred is None or self.peer is None or self.wrong:
            return None
        return float(self.peer["median_ns"] / self.gred["median_ns"])

    @property
    def share(self) -> float | None:
        """How much of the device's read limit gred reached."""
        return self.gred["gb_per_s"] / self.gred["limit_gb_per_s"] if self.gred else None

    def row(self, library: str) -> Record | None:
        """Find a library's row."""
        return next((row for row in self.rows if row["library"] == library), None)

    def __str__(self) -> str:
        return f"{series_text(series(self.case))}, {self.case['extent']}"


Series = tuple[str, str, str]


def series(row: Record) -> Series:
    """Name what cases of several sizes have in common."""
    return row["reduction"], row["dtype"], row["layout"]


def series_text(name: Series) -> str:
    """Write it as people do."""
    reduction, dtype, layout = name
    return f"{reduction} {dtype}" + ("" if layout == "flat" else f" {LAYOUTS[layout].text}")


def outcomes(rows: Iterable[Record]) -> list[Outcome]:
    """Put the rows of each case together, cases in the order they come in."""
    cases: dict[tuple[object, ...], list[Record]] = {}
    for row in rows:
        cases.setdefault((*series(row), row["extent"]), []).append(row)
    return [_outcome(mine) for mine in cases.values()]


def _outcome(rows: Sequence[Record]) -> Outcome:
    """Find gred's row, a wrong one before any right one, and the best peer's."""
    ours = [row for row in rows if row["ours"] and row["median_ns"]]
    peers = [row for row in rows if not row["ours"] and row["median_ns"] and row["right"]]
    return Outcome(
        tuple(rows),
        max(ours, key=lambda row: (not row["right"], row["median_ns"]), default=None),
        min(peers, key=lambda row: row["median_ns"], default=None),
    )


def mean_ratio(found: Iterable[Outcome]) -> float | None:
    """Take the geometric mean of the ratios there are."""
    logarithms = [math.log(outcome.ratio) for outcome in found if outcome.ratio]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else None


def reasons(rows: Iterable[Record]) -> dict[tuple[str, str], list[Record]]:
    """Group the rows of libraries that lack a case by library and reason."""
    grouped: dict[tuple[str, str], list[Record]] = {}
    for row in rows:
        if row["missing"]:
            grouped.setdefault((row["library"], row["missing"]), []).append(row)
    return grouped
