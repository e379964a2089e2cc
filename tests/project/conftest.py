"""What tests of benchmarks/ share: its scripts, other values in them, and a clock."""

import importlib
from collections import Counter
from functools import cache, partial

import pytest
from scripts import BENCHMARKS

import gred

MEASURED = cache(partial(gred.read_limit, cold=False))


class Scripts:
    """The scripts as attributes, those in measures/, too; one is imported as it is named."""

    def __getattr__(self, name):
        measures = (BENCHMARKS / "measures" / f"{name}.py").exists()
        return importlib.import_module(f"measures.{name}" if measures else name)


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
def clock(benchmarks, given):
    """The time that benchmarks see."""
    pretended = Clock()
    given(benchmarks.timing.time, perf_counter=lambda: pretended.now)
    return pretended
