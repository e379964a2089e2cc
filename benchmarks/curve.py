"""Measures the cost of a sum for n = 1, 2, 4, ... 2^33, and fits latency + bytes / bandwidth to it.

    python benchmarks/curve.py [--largest 2**33] [--device cuda] [--out DIR]

Results go to DIR/<machine>/curve.json (default: benchmarks/results). Whole calls cycle through
parts of one array that together exceed the cache, so that each is cold when its turn comes. Arrays
that are too small for that stay in the cache, as in use. Device times are for cold memory.
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
# Share of the device's memory for the array; the read limit needs the same amount again.
SHARE = 0.4
OVER_CACHE, MOST_PARTS = 4, 64
ALIGNED = 64
SECONDS_A_POINT, FEWEST, MOST = 0.1, 15, 500
SAMPLES, LIMIT_SAMPLES = 15, 5
LEAST_READ = 1024
ITERATIONS = 200
# The largest excess over the fit that needs no explanation.
TOLERANCE = 0.15
KINDS = {"call_ns": "whole call", "device_ns": "device time", "limit_ns": "best plain read"}


class Fit(NamedTuple):
    """Latency in seconds, and bandwidth in bytes per second."""

    latency: float
    bandwidth: float

    def seconds(self, nbytes: Any) -> Any:
        return self.latency + nbytes / self.bandwidth


def fitted(nbytes: Sequence[float], seconds: Sequence[float]) -> Fit:
    """Fit latency + bytes / bandwidth with the least sum of absolute relative errors.

    Points at microseconds and at seconds count alike, and single outliers have little influence.
    The method is iteratively reweighted least squares.
    """
    largest, weights = max(nbytes), np.ones(len(nbytes))
    terms = np.stack((np.ones(len(nbytes)), np.array(nbytes) / largest), 1)
    terms /= np.array(seconds)[:, None]
    for _ in range(ITERATIONS):
        found = np.linalg.lstsq(terms * weights[:, None], weights, rcond=None)[0]
        weights = 1 / np.sqrt(np.maximum(np.abs(terms @ found - 1), 1e-6))
    return Fit(float(found[0]), float(largest / found[1]))


def measure(device: Any, largest: int) -> list[record.Record]:
    """Measure whole calls, device times and plain reads for every power of two."""
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
    """Return parts of the array, and whether each is cold after a cycle through all."""
    enough, step = OVER_CACHE * device.l2_cache, max(n, ALIGNED)
    wanted = max(2, math.ceil(enough / (n * DTYPE.itemsize)))
    count = min(wanted, len(array) // step) if wanted <= MOST_PARTS else 1
    parts = [array[k * step : k * step + n] for k in range(max(1, count))]
    return parts, count >= wanted or n * DTYPE.itemsize >= enough


def _calls(parts: Sequence[Any]) -> list[float]:
    """Return the seconds of whole calls, as many as SECONDS_A_POINT allows."""
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
    """Return by how many seconds a point exceeds its fit."""
    return float(row[kind] * 1e-9 - fit.seconds(row["nbytes"]))


def cost_figure(kept: record.Record) -> Any:
    """Draw times over bytes, the fits as lines, and circles around points far above them."""
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
    parser.add_argument("--largest", type=options.parse_size, default=LARGEST, help="most elements")
    parser.add_argument("--device", help="as for gred.sum; default: the first GPU, if any")
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
