"""Predicts measured times, and fits the parameters of the model that no data sheet gives.

    python benchmarks/roofline.py            write roofline.json next to an H200's ladder.json
    python benchmarks/roofline.py --fit      refit the H200's eight parameters, and print them

The fit uses these points of sweep.json: all rungs at 2^28 in blocks of 32, 256 and 1024, at 2^16 in
blocks of 256, and last_block at 2^24 in blocks of 32, the only one where one block reduces for
long. All others validate it: other sizes and block sizes, and ladder.json, measured later.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import gred
from gred import prediction
from gred.cli import record
from gred.cli.record import Record
from gred.cli.roofline import row_record
from gred.counting import Counters
from gred.prediction import H200, Gpu

RESULTS = Path(__file__).resolve().parent / "results" / "nvidia-h200"
SIZES = tuple(2**k for k in (16, 20, 24, 28))
# The fitted parameters of a GPU, and their meanings.
FREE = {
    "start": "overhead of the timing events",
    "launch": "launch of a pass",
    "block_interval": "interval between block starts",
    "block_life": "start and end of a block",
    "memory_latency": "latency of a load from memory under load",
    "cache_latency": "latency of a load from L2",
    "request_cycles": "a warp's request to global memory, with the surrounding instructions",
    "arrival": "a warp's arrival at a barrier",
}
STEPS, WIDTH = 40, 0.1


class Point(NamedTuple):
    """A measured time, and the counters of its run."""

    row: Record
    counted: Counters

    def error(self, gpu: Gpu) -> float:
        """Return the prediction's error relative to the measured time."""
        predicted = prediction.predict(self.counted, gpu).seconds
        return predicted / (1e-9 * self.row["median_ns"]) - 1


def is_fitted(row: Record) -> bool:
    """Return whether the fit uses a row of the sweep."""
    place = (row["size"], row["block_size"])
    if place[0] == 2**28:
        return place[1] in (32, 256, 1024)
    return place == (2**16, 256) or (row["method"], *place) == ("last_block", 2**24, 32)


def counted(row: Record) -> Point:
    how = row["method"], row["block_size"], np.int32, row["size"]
    return Point(row, prediction.counted(*how, H200))


def points(rows: Sequence[Record]) -> Iterator[Point]:
    """Yield rungs' rows with counters, except cooperative ones whose grid has changed since."""
    for row in rows:
        if row["number"] is None or row["size"] not in SIZES:
            continue
        point = counted(row)
        if point.counted.passes[0].blocks == row["grid"]:
            yield point


def fitted(seen: Sequence[Point], gpu: Gpu) -> Gpu:
    """Fit the free parameters to logarithms of times by least squares that downweight outliers."""
    for _ in range(STEPS):
        far = _logarithms(seen, gpu)
        slopes = np.array([_logarithms(seen, _nudged(gpu, name, 0.01)) - far for name in FREE])
        weights = 1 / np.sqrt(np.sqrt(1 + (far / WIDTH) ** 2))
        steps = np.linalg.lstsq((slopes / 0.01 * weights).T, -far * weights, rcond=None)[0]
        for name, step in zip(FREE, steps, strict=True):
            gpu = _nudged(gpu, name, float(np.clip(step, -0.1, 0.1)))
    return gpu


def _logarithms(seen: Sequence[Point], gpu: Gpu) -> Any:
    return np.log([1 + point.error(gpu) for point in seen])


def _nudged(gpu: Gpu, name: str, share: float) -> Gpu:
    return gpu._replace(**{name: getattr(gpu, name) * np.exp(share)})


def summed_up(errors: Sequence[float]) -> Record:
    sizes = np.abs(errors)
    median, most = (record.digits(float(f(sizes))) for f in (np.median, np.max))
    return {"points": len(errors), "median": median, "most": most}


def predicted(point: Point) -> Record:
    row = point.row
    told = gred.roofline(
        row["size"], method=row["method"], block_size=row["block_size"], dtype=np.int32
    )
    return row_record(told._replace(measured=1e-9 * row["median_ns"]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--fit", action="store_true", help="print a new fit, and write nothing")
    given = parser.parse_args()
    sweep = list(points(record.rows_of(record.read_json(RESULTS / "sweep.json"))))
    seen = [point for point in sweep if is_fitted(point.row)]
    unseen = [point for point in sweep if not is_fitted(point.row)]
    if given.fit:
        gpu = fitted(seen, H200)
        print(*(f"{name}={getattr(gpu, name):.3g}" for name in FREE), sep="\n")
        print(f"seen {summed_up([point.error(gpu) for point in seen])}")
        print(f"unseen {summed_up([point.error(gpu) for point in unseen])}")
        return 0
    ladder = record.read_json(RESULTS / "ladder.json")
    kept = {
        "kind": "roofline",
        "machine": ladder["machine"],
        "run": {name: ladder["run"][name] for name in ("size", "dtype", "op")},
        "gpu": H200._asdict(),
        "fitted": list(FREE),
        "seen": summed_up([point.error(H200) for point in seen]),
        "unseen": summed_up([point.error(H200) for point in unseen]),
        "rows": [predicted(point) for point in points(record.rows_of(ladder))],
    }
    record.write_json(RESULTS / "roofline.json", kept)
    print(f"wrote {RESULTS / 'roofline.json'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
