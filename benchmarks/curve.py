"""Measures what a sum costs over n = 1, 2, 4, ... 2^33, and fits latency + bytes / bandwidth to it.

    python benchmarks/curve.py [--largest 2**33] [--device cuda] [--out DIR]

Results go to DIR/<machine>/curve.json (benchmarks/results unless said otherwise). Whole calls go
round so many parts of one array that the cache has forgotten one when its turn comes again; what
is too small for that lies in the cache, as it would in use. Device times are of memory.
"""

import argparse
import itertools
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from kept_results import RESULTS, place_of

import gred
from gred.cli import data, libraries, options, record, units

LARGEST = 1 << 33
DTYPE = np.dtype(np.float32)
# Of the device's memory; the read limit needs as much once more.
SHARE = 0.4
OVER_CACHE, MOST_PARTS = 4, 64
ALIGNED = 64
SECONDS_A_POINT, FEWEST, MOST = 0.1, 15, 500
SAMPLES, LIMIT_SAMPLES = 15, 5
LEAST_READ = 1024
ITERATIONS = 200
# How far above the fit a point may be, unless there is a reason.
TOLERANCE = 0.15
KINDS = {"call_ns": "whole call", "device_ns": "device time", "limit_ns": "best plain read"}


class Fit(NamedTuple):
    """Seconds of `latency`, and bytes a second of `bandwidth`."""

    latency: float
    bandwidth: float

    def seconds(self, nbytes: Any) -> Any:
        return self.latency + nbytes / self.bandwidth


def fitted(nbytes: Sequence[float], seconds: Sequence[float]) -> Fit:
    """Fit latency + bytes / bandwidth with the least sum of relative errors, not squared.

    So a point counts as much at a microsecond as at a second, and single ones that lie far off
    draw the line hardly at all. By iteratively reweighted least squares.
    """
    largest, weights = max(nbytes), np.ones(len(nbytes))
    terms = np.stack((np.ones(len(nbytes)), np.array(nbytes) / largest), 1)
    terms /= np.array(seconds)[:, None]
    for _ in range(ITERATIONS):
        found = np.linalg.lstsq(terms * weights[:, None], weights, rcond=None)[0]
        weights = 1 / np.sqrt(np.maximum(np.abs(terms @ found - 1), 1e-6))
    return Fit(float(found[0]), float(largest / found[1]))


def measure(device: Any, largest: int) -> list[record.Record]:
    """Measure whole calls, device times and plain reads at every power of two."""
    carrier = libraries.assemble(device.name, ()).carriers[0]
    largest = min(largest, int(SHARE * device.memory) // DTYPE.itemsize)
    drawn = data.random_array(min(largest, data.PERIOD), DTYPE, "sum")
    array = carrier.module.tile(carrier.place(drawn), -(-largest // drawn.size))
    return [_point(device, array, 1 << k) for k in range(largest.bit_length())]


def _point(device: Any, array: Any, n: int) -> record.Record:
    nbytes = n * DTYPE.itemsize
    parts, cold = _parts(device, array, n)
    calls = _calls(parts)
    timed = gred.kernel_time(parts[0], device=device.name, samples=SAMPLES)
    limit = gred.read_limit(device.name, max(nbytes, LEAST_READ), samples=LIMIT_SAMPLES)
    row: record.Record = {"n": n, "nbytes": nbytes, "cold": cold, "parts": len(parts)}
    row["grid"] = timed.grid
    for kind, seconds in zip(KINDS, (calls, timed.seconds, limit.seconds), strict=True):
        low, row[kind], high = (
            record.digits(t * 1e9) for t in np.percentile(seconds, (16, 50, 84))
        )
        row[f"{kind}_spread"] = [low, high]
    print(
        f"{n:>11,} " + " ".join(f"{units.time_text(row[k] * 1e-9):>9}" for k in KINDS), flush=True
    )
    return row


def _parts(device: Any, array: Any, n: int) -> tuple[list[Any], bool]:
    """Cut parts to go round, and tell whether the cache will have forgotten each."""
    enough, step = OVER_CACHE * device.l2_cache, max(n, ALIGNED)
    wanted = max(2, math.ceil(enough / (n * DTYPE.itemsize)))
    count = min(wanted, len(array) // step) if wanted <= MOST_PARTS else 1
    parts = [array[k * step : k * step + n] for k in range(max(1, count))]
    return parts, count >= wanted or n * DTYPE.itemsize >= enough


def _calls(parts: Sequence[Any]) -> list[float]:
    """Time whole calls in seconds, as many as SECONDS_A_POINT allow."""
    turns, seconds = itertools.cycle(parts), []
    for _ in range(3):
        gred.sum(next(turns))
    while len(seconds) < FEWEST or (len(seconds) < MOST and sum(seconds) < SECONDS_A_POINT):
        part, start = next(turns), time.perf_counter()
        gred.sum(part)
        seconds.append(time.perf_counter() - start)
    return seconds


def fits_of(rows: Sequence[record.Record]) -> dict[str, Fit]:
    sizes = [row["nbytes"] for row in rows]
    return {kind: fitted(sizes, [row[kind] * 1e-9 for row in rows]) for kind in KINDS}


def excess(fit: Fit, row: record.Record, kind: str) -> float:
    """Say how many seconds a point is above its fit."""
    return float(row[kind] * 1e-9 - fit.seconds(row["nbytes"]))


def cost_figure(kept: record.Record) -> Any:
    """Draw times over bytes, the fits as lines, and rings round what is too far above them."""
    from matplotlib.figure import Figure

    from gred.cli import plots

    rows = record.rows_of(kept)
    sizes = np.array([row["nbytes"] for row in rows])
    colours = {"call_ns": "#111111", "device_ns": "#2c7fb8", "limit_ns": plots.LIMIT}
    figure = Figure(figsize=(8.5, 5.6), layout="constrained")
    axes = figure.add_subplot()
    for kind, fit in fits_of(rows).items():
        times = np.array([row[kind] for row in rows]) * 1e-9
        far = times > (1 + TOLERANCE) * fit.seconds(sizes)
        label = f"{KINDS[kind]}: {formula(fit)}"
        axes.plot(sizes, fit.seconds(sizes), color=colours[kind], linewidth=1)
        axes.plot(sizes, times, "o", color=colours[kind], markersize=3.5, label=label)
        axes.plot(sizes[far], times[far], "o", color=colours[kind], markersize=10, fillstyle="none")
    plots.over_bytes(axes, plots.time_ticks(1))
    axes.legend(frameon=False)
    axes.set_title(
        f"What a sum of n float32 costs, {record.title(kept['machine'])}\n"
        f"lines: fits; ringed: more than {units.percent_text(TOLERANCE)} above its line"
    )
    return figure


def formula(fit: Fit) -> str:
    return f"{units.time_text(fit.latency)} + bytes / {units.bandwidth_text(fit.bandwidth)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--largest", type=options.parse_size, default=LARGEST, help="elements")
    parser.add_argument("--device", help="as of gred.sum; the first GPU, if there is one")
    parser.add_argument("--out", type=Path, default=RESULTS, help="results folder")
    given = parser.parse_args()
    device = options.resolve_device(given.device)
    rows = measure(device, given.largest)
    for kind, fit in fits_of(rows).items():
        print(f"{KINDS[kind]}: {formula(fit)}")
        for row in rows:
            share = excess(fit, row, kind) / fit.seconds(row["nbytes"])
            if share > TOLERANCE:
                print(f"    {units.bytes_text(row['nbytes'])}: {units.percent_text(share)} above")
    machine = record.describe_machine(device)
    path = place_of(given.out, machine, "curve.json")
    record.write_json(path, record.in_columns("curve", machine, {"dtype": DTYPE.name}, rows))
    print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
