"""What tests of benchmarks/ share: other values in its scripts, and a clock."""

from collections import Counter

import pytest


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
