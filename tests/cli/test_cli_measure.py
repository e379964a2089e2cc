"""What the command measures with: bounds and clocks; and how it reads sizes and methods."""

import numpy as np
import pytest

import gred
from gred.cli import cases, data, measure, options

pytestmark = pytest.mark.unsanitized


@pytest.fixture
def tasks_done(monkeypatch):
    """Run tasks against a clock: the places of those done, and when all were over."""
    now = [0.0]
    monkeypatch.setattr(measure.time, "monotonic", lambda: now[0])

    def run(seconds, taken, sizes=(1,) * 100):
        now[0], left = 0.0, sum(sizes)
        timer, done = measure.Clock(seconds), []
        for place, size in enumerate(sizes):
            if timer.affords("task", size) and timer.admits(left):
                deadline = timer.deadline(size, left)
                with timer.timing("task", size):
                    now[0] += taken(deadline - now[0])
                done.append(place)
            left -= size
        return done, now[0]

    return run


def test_tasks_share_the_time_by_size_and_are_left_out_evenly_where_they_cannot(tasks_done):
    done, end = tasks_done(30.0, lambda deadline: deadline)
    assert (len(done), 20 < end <= 30) == (100, True)
    assert tasks_done(None, lambda _: 5.0) == (list(range(100)), 500.0)
    shares, sizes = [], (1,) * 20 + (4,) * 20
    tasks_done(100.0, lambda deadline: shares.append(deadline) or deadline, sizes)
    assert shares[0] == pytest.approx(0.8)
    assert shares[20] / shares[19] == pytest.approx(4, rel=0.05)
    done, end = tasks_done(30.0, lambda _: 1.0)
    assert 25 <= len(done) <= end <= 30
    assert {*np.diff([place for place in done if place > 10])} <= {2, 3, 4, 5}
    assert done[-1] > 90
    taking_1_of_10_seconds = tasks_done(10.0, lambda _: 1.0, (1000, 9000))
    assert taking_1_of_10_seconds == ([0], 1.0)  # the second would take 9 times as long


def test_sizes_are_numbers_ranges_and_lists_of_elements_or_bytes_and_methods_have_numbers():
    sizes = {"1000000": 10**6, "1e6": 10**6, "2**20": 1 << 20, "2^20": 1 << 20, "1_000": 1000}
    assert {text: options.parse_size(text) for text in sizes} == sizes
    assert options.parse_sizes("7, 2**3:2^4,7,1e1") == (7, 8, 10, 16)
    for text, shown in {
        "4B,64KiB,1TiB": ["4 B", "64 KiB", "1 TiB"],
        "1KiB:4KiB": ["1 KiB", "2 KiB", "4 KiB"],
        "2**3:2^5, 1000": ["8", "16", "32", "1,000"],
    }.items():
        assert [str(extent) for extent in options.parse_extents(text)] == shown
    given = (("sum",), ("int8", "complex128"), ("flat",), options.parse_extents("64KiB"))
    found = cases.cases(cases.GRIDS["host", False], *given)
    assert {case.type.name: case.size for case in found} == {"int8": 65536, "complex128": 4096}
    assert options.parse_samples(str(options.MOST_SAMPLES)) == options.MOST_SAMPLES
    with pytest.raises(ValueError, match=str(options.MOST_SAMPLES)):  # by what measures, too
        gred.kernel_time([1], samples=options.MOST_SAMPLES + 1)
    named = options.parse_methods("reduce5,3,shared_modulo,global")
    assert [m.name for m in named] == ["interleaved", "shared_modulo", "shared_grid_stride"]


def test_the_bound_of_the_longest_sum_still_says_something():
    assert 0 < data.relative_bound(1 << 28, 2.0**-24) < 0.01
