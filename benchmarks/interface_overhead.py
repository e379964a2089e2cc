"""Measures the overhead of parsing an array's interface.

    python benchmarks/interface_overhead.py

For each installed library: the time of a call that views an array, as every reduction does first,
less that of a function that does nothing. A row is the median of many turns of many calls, with the
two functions alternating. Without a GPU library, the simulated device's array shows the cost of an
interface.
"""

import importlib
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gred import _core
from gred.testing import SimulatedArray

TURNS, CALLS = 301, 1000
GOALS = {"cupy": 1.5}


class Overhead(NamedTuple):
    """Seconds per call, for each turn, beyond a function that does nothing; the goal is in us."""

    name: str
    seconds: list[float]
    goal: float | None


def of_jax() -> Any:
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = importlib.import_module("jax")
    if jax.default_backend() != "gpu":
        raise RuntimeError("JAX has no GPU")
    return jax.numpy.ones((4, 5), "float32").block_until_ready()


def of_numpy() -> Any:
    return np.ones((4, 5), np.float32)


class Described:
    """An object with a precomputed interface, the cheapest possible."""

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
    """Time one turn; both functions include the loop's cost, which cancels."""
    calls = range(CALLS)
    start = time.perf_counter()
    for _ in calls:
        function(array)
    return (time.perf_counter() - start) / CALLS


def measure(name: str) -> Overhead:
    """Measure one library; its errors, as without a GPU, propagate."""
    array = MAKERS[name]()
    functions = _core.parse, callable  # also a C function, which reads nothing of the array
    for function in functions:
        seconds_a_call(function, array)
    over = []
    for _ in range(TURNS):
        parsed, nothing = (seconds_a_call(function, array) for function in functions)
        over.append(parsed - nothing)
    return Overhead(name, over, GOALS.get(name))


def measure_all() -> tuple[list[Overhead], dict[str, str]]:
    """Measure all installed libraries, and return the errors of the others."""
    rows, missing = [], {}
    for name in MAKERS:
        try:
            rows.append(measure(name))
        except Exception as error:  # a library without a GPU may raise anything
            missing[name] = f"{type(error).__name__}: {error}".splitlines()[0][:100]
    return rows, missing


def main() -> int:
    status, (rows, missing) = 0, measure_all()
    print("Parsing an array, over an empty METH_FASTCALL function: median, 16th to 84th percentile")
    for row in rows:
        low, median, high = 1e6 * np.percentile(row.seconds, (16, 50, 84))
        is_slow = row.goal is not None and median >= row.goal
        target = f", and has to be under {row.goal:g} us" if is_slow else ""
        print(f"{row.name:<16} {median:.3f} us, {low:.3f} to {high:.3f} us{target}")
        status |= is_slow
    for name, why in missing.items():
        print(f"{name} is not here ({why})")
    return status


if __name__ == "__main__":
    raise SystemExit(main())
