"""What tests of benchmarks/ share: its scripts, a clock, and what stands for a GPU."""

import math
import sys
from collections import Counter
from functools import cache, partial
from types import SimpleNamespace

import numpy as np
import pytest
from scripts import BENCHMARKS, CuPy, PyTorch, Scripts

import gred

MEASURED = cache(partial(gred.read_limit, cold=False))


@pytest.fixture
def benchmarks(monkeypatch):
    """Import the scripts as they import one another, with warm caches and limits measured once."""
    monkeypatch.setattr(gred, "read_limit", MEASURED)
    monkeypatch.setattr(gred, "kernel_time", partial(gred.kernel_time, cold=False))
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return Scripts()


@pytest.fixture
def given(monkeypatch):
    """Give a module, or what has attributes, other values for the time of a test."""

    def change(module, **values):
        for name, value in values.items():
            monkeypatch.setattr(module, name, value)

    return change


class Clock:
    """Time that only pretended calls take; `counts` says how often each was made."""

    def __init__(self):
        self.now, self.counts = 0.0, Counter()

    def taking(self, seconds, name=None):
        def call(*_, **__):
            self.now += seconds
            self.counts[name] += 1

        return call


@pytest.fixture
def clock(benchmarks, monkeypatch):
    """The time that benchmarks see."""
    pretended = Clock()
    monkeypatch.setattr(benchmarks.timing.time, "perf_counter", lambda: pretended.now)
    return pretended


@pytest.fixture
def gpu(benchmarks, given, monkeypatch):
    """A GPU without JAX that reads 4 bytes a nanosecond, and all the patience with its peers."""
    for module in (benchmarks.axes, benchmarks.exact, benchmarks.segments):
        given(module, PATIENCE=math.inf)
    given(benchmarks.times, OTHER_BYTES=64)
    given(benchmarks.axes, peers=lambda: (CuPy(), PyTorch()), compile_ahead=lambda dtype: None)
    monkeypatch.setitem(sys.modules, "jax", None)
    limit = SimpleNamespace(nbytes=4000, seconds=np.array([1e-6]))
    given(gred, read_limit=lambda *_, **__: limit)
    given(benchmarks.cub, compiled_sums=lambda: None)
    return benchmarks.exact.Bench()


@pytest.fixture
def pretended(benchmarks, gpu, given):
    """Seconds that libraries are pretended to take on the device."""
    seconds = {"exact": 2e-3, "gred": 1e-3, "CuPy": 3e-3, "PyTorch": 5e-3}
    seconds[benchmarks.exact.CUB] = 4e-3
    given(gpu.times, medians=lambda calls: {name: seconds[name] for name in calls})
    given(gpu.times, able=lambda calls, *_: calls)
    return seconds
