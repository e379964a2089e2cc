"""How long whole calls on the simulated device take, held to two cores.

Run as a program it is the worker that is held to them: the seconds go to standard output.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from measures.figure import Figure, figure
from measures.timing import cores, environment

import gred
from gred.cli.data import random_array

COUNTED = 22  # the last rung with counters
SIMULATED_TARGETS = {
    "gred.sum, shared_modulo simulated, 2^20 float32, block 256, 2 cores": 0.5,
    "gred.sum, shuffle simulated, 2^20 float32, block 256, 2 cores": 0.1,
    "gred.counters, shared_modulo, 2^20 float32, block 256, 2 cores": 2.0,
    "gred.counters, rungs 0 to 22 together, 2^16 float32, block 256, 2 cores": 5.0,
    "python -m gred show neighbored --out, 2 cores": 1.0,
}


def measure_simulated() -> Iterator[Figure]:
    """Measure the wall time of a whole call on the simulated device, held to two cores."""
    with cores(2):
        worker = [sys.executable, __file__]
        answer = subprocess.run(
            worker, env=environment(), check=True, capture_output=True, text=True
        )
    for what, seconds in json.loads(answer.stdout).items():
        yield figure(what, seconds, "s", at_most=SIMULATED_TARGETS[what])


def simulated_calls(folder: Path) -> tuple[Callable[[], Any], ...]:
    """List what is timed, in the order of SIMULATED_TARGETS."""
    array = random_array(1 << 20, "float32")
    some = array[: 1 << 16]
    rungs = [m.name for m in gred.methods() if m.number is not None and m.number <= COUNTED]
    on = {"block_size": 256, "device": "simulated"}
    picture = str(folder / "neighbored.svg")
    show = [sys.executable, "-m", "gred", "show", "neighbored", "--out", picture]
    return (
        lambda: gred.sum(array, method="shared_modulo", **on),
        lambda: gred.sum(array, method="shuffle", **on),
        lambda: gred.counters(array, method="shared_modulo", block_size=256),
        lambda: [gred.counters(some, method=rung, block_size=256) for rung in rungs],
        lambda: subprocess.run(show, check=True, capture_output=True),
    )


def work_simulated() -> None:
    """Do measure_simulated's work."""
    seconds: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        calls = simulated_calls(Path(folder))
        for what, call in zip(SIMULATED_TARGETS, calls, strict=True):
            call()
            for _ in range(9):
                start = time.perf_counter()
                call()
                seconds.setdefault(what, []).append(time.perf_counter() - start)
    print(json.dumps(seconds))


if __name__ == "__main__":
    work_simulated()
