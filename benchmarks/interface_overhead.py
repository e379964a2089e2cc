"""Measures what it costs to find out where an array lies: parsing its interface, and nothing more.

    python benchmarks/interface_overhead.py [--json FILE]

For each library that is here: the time of a call that views an array, as every reduction does
first, less that of a function that does nothing. A row is the median of many turns, each of many
calls, the two functions turn about. Where no library has a GPU, the simulated device's stand-in
shows what an interface costs.
"""

import argparse
import importlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gred import _core
from gred.testing import SimulatedArray

TURNS, CALLS = 301, 1000
GOALS = {"cupy": 1.5}


class Overhead(NamedTuple):
    """Microseconds a call, for each turn: over those of a function that does nothing."""

    name: str
    seconds: list[float]
    goal: float | None

    @property
    def median(self) -> float:
        return float(np.median(self.seconds)) * 1e6


def of_jax() -> Any:
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = importlib.import_module("jax")
    if jax.default_backend() != "gpu":
        raise RuntimeError("JAX has no GPU")
    return jax.numpy.ones((4, 5), "float32").block_until_ready()


def of_numpy() -> Any:
    return np.ones((4, 5), np.float32)


class Described:
    """The least an object can do: its interface is ready, and has only to be read."""

    def __init__(self, array: SimulatedArray) -> None:
        self.memory = array.memory
        self.__cuda_array_interface__ = array.__cuda_array_interface__


MAKERS: dict[str, Callable[[], Any]] = {
    "cupy": lambda: importlib.import_module("cupy").ones((4, 5), "float32"),
    "torch": lambda: importlib.import_module("torch").ones(4, 5, device="cuda"),
    "numba": lambda: importlib.import_module("numba.cuda").to_device(of_numpy()),
    "jax": of_jax,
    "numpy": of_numpy,
    "simulated array": lambda: SimulatedArray(of_numpy()),  # its interface is a Python method
    "ready interface": lambda: Described(SimulatedArray(of_numpy())),
}


def seconds_a_call(function: Callable[[Any], Any], array: Any) -> float:
    """Time one turn; the loop's own cost is in both functions' times, and goes out."""
    calls = range(CALLS)
    start = time.perf_counter()
    for _ in calls:
        function(array)
    return (time.perf_counter() - start) / CALLS


def measure(name: str) -> Overhead:
    """Measure one library; whatever it raises where it has no GPU is raised."""
    array = MAKERS[name]()
    functions = _core.parse, callable  # which is in C, too, and reads nothing of the array
    for function in functions:
        seconds_a_call(function, array)
    over = []
    for _ in range(TURNS):
        parsed, nothing = (seconds_a_call(function, array) for function in functions)
        over.append(parsed - nothing)
    return Overhead(name, over, GOALS.get(name))


def measure_all() -> tuple[list[Overhead], dict[str, str]]:
    """Measure all libraries that are here, and say why the others are not."""
    rows, missing = [], {}
    for name in MAKERS:
        try:
            rows.append(measure(name))
        except Exception as error:  # a library without a GPU raises what it likes
            missing[name] = f"{type(error).__name__}: {error}".splitlines()[0][:100]
    return rows, missing


def show(rows: list[Overhead], missing: dict[str, str]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Parsing an array, over an empty METH_FASTCALL function")
    for column in ("array of", "median", "16th to 84th percentile", "target", "met"):
        table.add_column(column, justify="left" if column == "array of" else "right")
    for row in rows:
        low, high = np.percentile(row.seconds, (16, 84)) * 1e6
        target = "-" if row.goal is None else f"under {row.goal:g} us"
        kept = "-" if row.goal is None else "yes" if row.median < row.goal else "no"
        table.add_row(row.name, f"{row.median:.3f} us", f"{low:.3f} to {high:.3f} us", target, kept)
    console = Console()
    console.print(table)
    for name, why in missing.items():
        console.print(f"{name} is not here ({why})", markup=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--json", type=Path, help="write every sample there")
    given = parser.parse_args()
    rows, missing = measure_all()
    show(rows, missing)
    if given.json:
        written = [
            {"name": row.name, "median_us": row.median, "goal_us": row.goal, "seconds": row.seconds}
            for row in rows
        ]
        given.json.write_text(json.dumps({"rows": written, "missing": missing}, indent=1) + "\n")
    return 1 if any(row.goal is not None and row.median >= row.goal for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
