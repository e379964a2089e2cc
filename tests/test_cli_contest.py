"""How `python -m gred versus` measures: libraries take turns, on copies that caches forget."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from test_cli_libraries import HOST, case_of

import gred
from gred.cli import contest, libraries
from gred.cli.measure import Sampling

pytestmark = pytest.mark.unsanitized

FOUR = Sampling(4, 1)
MEASURED = functools.cache(contest.read_limit)


@pytest.fixture(autouse=True)
def limits(monkeypatch):
    """Measure the limit of a size once, for all tests, with warm caches."""
    monkeypatch.setattr(gred, "read_limit", functools.partial(gred.read_limit, cold=False))
    monkeypatch.setattr(contest, "read_limit", MEASURED)


class Pretended(libraries.Library):
    """A library of a test's own: `function` may be slow, wrong or absent."""

    package = "numpy"
    calls: ClassVar[list[str]] = []

    def __init__(self, key, function, ours=False):
        super().__init__("host")
        self.key = self.title = self.pool = key
        self.ours = ours
        self._function = function

    def function(self, case):
        def call(view, *mask):
            self.calls.append(self.key)
            return self._function(view)

        return call


@pytest.fixture
def pretended():
    """Make pretended libraries: gred and some peers."""
    Pretended.calls.clear()

    def make(**functions):
        return [Pretended(key, function, key == "gred") for key, function in functions.items()]

    return make


@pytest.fixture
def taking(monkeypatch):
    """Make sums that take so long by a clock that nothing else moves."""
    now = [100.0]

    def wait(seconds):
        now[0] += seconds

    def make(seconds):
        return lambda view: wait(seconds) or view.sum()

    pretended = SimpleNamespace(
        monotonic=lambda: now[0], perf_counter_ns=lambda: round(now[0] * 1e9), sleep=wait
    )
    monkeypatch.setattr(contest, "time", pretended)
    return make


def competed(case, some, sampling=FOUR, device=HOST):
    stage = contest.Stage(case, some, device, seed=0)
    return {row["library"]: row for row in contest.compete(case, stage, some, sampling)}


def test_libraries_take_turns_in_changing_order(pretended, monkeypatch):
    monkeypatch.setattr(contest, "_SAMPLE_SECONDS", 1e-9)
    monkeypatch.setattr(contest, "_LONG_SECONDS", 0.0)
    rows = competed(case_of(), pretended(gred=np.sum, a=np.sum, b=np.sum), Sampling(20, 0))
    assert {len(row["samples_ns"]) for row in rows.values()} == {20}
    timed = Pretended.calls[-60:]
    rounds = [tuple(timed[k : k + 3]) for k in range(0, 60, 3)]
    assert all(set(one) == {"gred", "a", "b"} for one in rounds)
    assert len(set(rounds)) > 3


def test_what_raises_is_missing_and_says_why(pretended):
    def raises(view):
        raise NotImplementedError("not for\nthis type at 0x7f00, by far")

    def fails_later(view):
        if Pretended.calls.count("late") > 5:
            raise MemoryError("out of it")
        return view.sum()

    rows = competed(case_of(), pretended(gred=np.sum, a=raises, late=fails_later))
    assert rows["a"]["missing"] == "NotImplementedError: not for this type, by far"
    assert rows["late"]["missing"] == "MemoryError: out of it"
    assert rows["a"]["samples_ns"] == []
    assert (rows["gred"]["right"], rows["gred"]["missing"]) == (True, "")


def test_a_wrong_answer_is_seen(pretended):
    rows = competed(case_of(), pretended(gred=np.sum, a=lambda view: view.sum() * 1.1))
    assert [row["right"] for row in rows.values()] == [True, False]
    assert len(rows["a"]["samples_ns"]) == 4


def test_slow_calls_get_fewer_samples_but_three(pretended, taking):
    some = pretended(gred=taking(1e-3), a=taking(0.03))
    rows = competed(case_of(), some, Sampling(30, 1, 0.01))
    assert rows["a"]["samples_ns"] == [30_000_000] * 3
    assert len(rows["gred"]["samples_ns"]) == 10


def test_after_the_deadline_there_are_no_more_samples_than_three_and_of_the_slow_one(
    pretended, taking
):
    some = pretended(gred=taking(1e-3), a=taking(1e-6), slow=taking(0.03))
    stage = contest.Stage(case_of(), some, HOST, seed=0)
    rows = contest.compete(case_of(), stage, some, Sampling(30, 2), deadline=0.0)
    assert [len(row["samples_ns"]) for row in rows] == [3, 3, 1]
    assert Pretended.calls.count("slow") == 3


def test_short_calls_are_timed_many_at_a_time(pretended, taking, monkeypatch):
    monkeypatch.setattr(contest, "_SAMPLE_SECONDS", 0.01)
    rows = competed(case_of(), pretended(gred=taking(1e-4)))
    assert rows["gred"]["samples_ns"] == [100_000] * 4
    assert Pretended.calls.count("gred") == 2 + 4 * (1 + 100)


def test_copies_are_enough_for_the_cache_to_forget(pretended):
    some = pretended(gred=np.sum, a=np.sum)
    device = HOST._replace(l2_cache=1 << 16, memory=1 << 40)
    stage = contest.Stage(case_of(size=1 << 12), some, device, seed=0)
    copies = {1 << 14: (16, True), 1 << 17: (2, True), 1 << 20: (2, True), 1 << 10: (1, False)}
    assert {nbytes: stage.copies(nbytes) for nbytes in copies} == copies
    scarce = contest.Stage(case_of(size=1 << 12), some, device._replace(memory=3 << 16), seed=0)
    assert scarce.copies(1 << 14) == (3, False)


@pytest.fixture
def seen():
    """The views that sums are made of."""
    return []


@pytest.mark.parametrize("names", [("gred",), ("gred", "a")])
def test_every_copy_has_memory_of_its_own_and_its_turn(pretended, seen, names):
    """Libraries of the same arrays go round them together."""
    some = pretended(**dict.fromkeys(names, lambda view: seen.append(view) or view.sum()))
    for library in some:
        library.pool = "shared"
    competed(case_of(size=1 << 12), some, device=HOST._replace(l2_cache=1 << 14))
    places = [view.ctypes.data for view in seen]
    assert len(set(places)) == 4
    assert places == [places[k % 4] for k in range(len(places))]


def test_what_takes_numpys_arrays_shares_them():
    field = libraries.assemble("host", ["numpy"])
    assert {library.pool for library in field.libraries} == {"numpy"}


def test_peers_that_reuse_a_stage_see_their_own_layout(pretended, seen):
    some = pretended(gred=lambda view: seen.append(view) or view.sum())
    flat, rows = case_of(size=1 << 10), case_of(layout="rows", size=1 << 10)
    assert contest.stage_key(flat) == contest.stage_key(rows)
    stage = contest.Stage(flat, some, HOST, seed=0)
    for case in (flat, rows):
        [row] = contest.compete(case, stage, some, Sampling(1, 0))
        assert row["right"]
    assert {view.shape for view in seen} == {(1024,), (16, 32)}


def test_the_floor_of_a_gpu_is_the_median_launch_of_nothing_and_the_host_has_none(monkeypatch):
    limit = gred.LaunchLimit(np.array([3e-6, 1e-6, 2e-6]), "cuda:1")
    monkeypatch.setattr(gred, "launch_limit", {"cuda:1": limit}.get)
    floor = contest.latency_floor(HOST._replace(name="cuda:1"))
    assert floor.seconds == 2e-6
    assert "does nothing" in floor.meaning
    assert contest.latency_floor(HOST).seconds is None
