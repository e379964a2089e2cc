"""One row of the figures, with its target."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

Figure = dict[str, Any]


def figure(
    what: str,
    samples: Sequence[float],
    unit: str,
    *,
    published: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    group: str | None = None,
) -> Figure:
    """Make a row: the samples' median and spread, and whether the target, if there is one, is met.

    Whoever measures the part adds its name. `group` names the target that it shares with other
    rows, which are then told as one.
    """
    low, value, high = (float(f"{p:.5g}") for p in np.percentile(samples, (16, 50, 84)))
    met = None
    if at_least is not None:
        met = value >= at_least
    if at_most is not None:
        met = value <= at_most
    return {
        "what": what,
        "value": value,
        "low": low,
        "high": high,
        "samples": len(samples),
        "unit": unit,
        "published": published,
        "at_least": at_least,
        "at_most": at_most,
        "met": met,
        "group": group,
    }


def beside_exact(
    what: str, seconds: dict[str, float], bounds: dict[str, float | None], group: str | None
) -> Iterator[Figure]:
    """Compare exact sums' seconds with those of others, "fast" being gred's own."""
    for name, bound in bounds.items():
        whose = "the fast one's" if name == "fast" else f"{name}'s"
        yield figure(
            f"{what}: {whose} time over its own", [seconds[name] / seconds["exact"]], "x",
            at_least=bound, group=group and f"{group}: {whose} time over theirs",
        )  # fmt: skip


def shown(nbytes: int) -> str:
    """Write bytes as the names of rows have them, in MiB at most."""
    unit = 2 if nbytes >= 1 << 20 else 1 if nbytes >= 1 << 10 else 0
    return f"{nbytes >> 10 * unit} {('B', 'KiB', 'MiB')[unit]}"


def terabytes(timed: Any, seconds: Any) -> list[float]:
    return [float(timed.nbytes / second * 1e-12) for second in seconds]
