"""Python packages that add floats exactly or nearly so, as far as they are installed.

None of them is needed: https://pypi.org/project/xsum/ is Neal's superaccumulators, accupy adds in
K-fold precision or by math.fsum, and crick's summary has a sum, which is a rounded one.
"""

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

Sum = Callable[[Any], float]


def by_xsum(xsum: Any, size: str) -> Sum:
    """Add in a superaccumulator of this size."""
    new = getattr(xsum, f"xsum_{size}_accumulator")

    def sum_of(array: Any) -> float:
        accumulator = new()
        xsum.xsum_add(accumulator, array)
        return float(xsum.xsum_round(accumulator))

    return sum_of


def by_crick(crick: Any) -> Sum:
    """Add as a stream's summary does."""

    def sum_of(array: Any) -> float:
        summary = crick.SummaryStats()
        summary.update(array)
        return float(summary.sum())

    return sum_of


# By package: its sums by name.
SUMS: dict[str, Callable[[Any], dict[str, Sum]]] = {
    "xsum": lambda xsum: {f"xsum, {size}": by_xsum(xsum, size) for size in ("small", "large")},
    "accupy": lambda accupy: {"accupy.fsum": accupy.fsum, "accupy.ksum": accupy.ksum},
    "crick": lambda crick: {"crick": by_crick(crick)},
}


def sums() -> dict[str, Sum]:
    """List the sums of those packages that are here."""
    found: dict[str, Sum] = {}
    for package, sums_of in SUMS.items():
        with suppress(ImportError):
            found |= sums_of(import_module(package))
    return found
