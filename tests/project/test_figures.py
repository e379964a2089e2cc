"""What measures gred's figures counts, fits and groups as it says; the clock's are pretended."""

import argparse
import itertools
import subprocess
import sys
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from gred.cli import record

pytestmark = pytest.mark.unsanitized


@pytest.fixture
def figures(benchmarks, given, tmp_path):
    """Run figures.py for a part, and give its status and the rows that are kept."""

    def run(part, status=0):
        given(sys, argv=["figures.py", "--part", part, "--out", str(tmp_path)])
        assert benchmarks.figures.main() == status
        [path] = tmp_path.glob("*/figures.json")
        kept = record.read_json(path)
        return {**kept, "rows": record.rows_of(kept)}

    return run


def test_a_small_call_is_held_against_the_quickest_other_way_to_write_it(benchmarks, given):
    given(benchmarks.small, SECONDS=0, SIZES=(16,))
    rows = list(benchmarks.small.measure(benchmarks.host.REDUCTIONS))  # each can be made
    assert len(rows) == len(benchmarks.host.REDUCTIONS)
    assert all(row["value"] > 0 for row in rows)
    seconds = {"gred.sum(a)": 2.0, "np.sum(a)": 9.0, "a.sum()": 6.0, "t.sum()": 7.0}
    given(benchmarks.small, quickest=lambda written, _: seconds)
    assert benchmarks.small.compare("sum", 16, "float32") == (3.0, 2.0, "a.sum()")
    seconds["np.sum(a)"] = 1.0
    assert benchmarks.small.compare("sum", 16, "float32") == (0.5, 2.0, "np.sum(a)")


def test_a_fit_finds_latency_and_bandwidth_behind_single_points_far_off(benchmarks):
    sizes = [4 << k for k in range(34)]
    seconds = np.array([7e-6 + size / 4.5e12 for size in sizes])
    assert benchmarks.curve.fitted(sizes, [*seconds]) == pytest.approx((7e-6, 4.5e12), rel=1e-6)
    seconds[[20, 33]] *= 3, 1.4
    assert benchmarks.curve.fitted(sizes, [*seconds]) == pytest.approx((7e-6, 4.5e12), rel=1e-3)


def test_parts_are_enough_for_the_cache_to_forget_and_lie_apart(benchmarks):
    device, array = SimpleNamespace(l2_cache=1 << 12), np.zeros(1 << 16, np.float32)
    for elements, lengths, cold in (
        (1 << 10, [1 << 10] * 4, True),
        (2, [2], False),
        (1 << 16, [1 << 16], True),
    ):
        parts, is_cold = benchmarks.curve._parts(device, array, elements)
        assert ([len(part) for part in parts], is_cold) == (lengths, cold)
        assert not any(np.shares_memory(a, b) for a, b in itertools.combinations(parts, 2))


def test_a_curve_is_measured_written_and_drawn(benchmarks, given, tmp_path):
    pytest.importorskip("matplotlib")
    given(benchmarks.curve, SAMPLES=1, LIMIT_SAMPLES=1)
    arguments = ["--device", "host", "--largest", "2**3", "--out", str(tmp_path)]
    given(sys, argv=["curve.py", *arguments])
    assert benchmarks.curve.main() == 0
    [path] = tmp_path.glob("*/curve.json")
    kept = record.read_json(path)
    assert [row["n"] for row in record.rows_of(kept)] == [1, 2, 4, 8]
    lines = benchmarks.curve.cost_figure(kept).axes[0].get_lines()
    drawn = [line for line in lines if line.get_label()[0] != "_"]
    assert [len(line.get_xdata()) for line in drawn] == [4, 4, 4]
    results = benchmarks.kept_results.Results(tmp_path, tmp_path / "README.md")
    text = benchmarks.measured_parts.curve_part(results)
    assert "Sum of n float32, n = 1, 2, 4, ... 8: whole call " in text
    assert f"({path.parent.name}/plots/cost.svg)" in text


def test_a_part_stands_for_its_pieces(benchmarks):
    parse = benchmarks.figures.parse_parts
    nbytes = ("4KiB", "64KiB", "1MiB", "16MiB", "256MiB", "1024MiB")
    sizes = [f"host-types/sum/{size}" for size in nbytes]
    assert parse("host-types/sum") == sizes
    assert parse("host-types/sum/1MiB,host-types/sum") == [sizes[2], *sizes[:2], *sizes[3:]]
    assert {*sizes, "host-many/large"} < {*parse("host-types,host-many")} < {*parse("host")}
    assert parse("axes/2GiB") == [f"axes/2GiB/{dtype}" for dtype in benchmarks.axes.TYPES]
    assert {*parse("axes,exact")} < {*parse("gpu")}
    with pytest.raises(argparse.ArgumentTypeError, match="'host-types/s' is not one of "):
        parse("host-types/s")


def test_what_is_measured_is_kept_beside_the_rest_though_something_fails(
    benchmarks, figures, monkeypatch
):
    def measure(name):
        yield benchmarks.figure.figure(name, [1.0], "x")
        if name == "import":
            raise RuntimeError("in the middle")

    names = ["host-types/sum/4KiB", "host-types/max/4KiB", "import"]
    for name in names:
        monkeypatch.setitem(benchmarks.figures.PARTS, name, partial(measure, name))
    for name in (names[1], names[0], names[1]):
        kept = figures(name)
    assert [row["what"] for row in kept["rows"]] == names[:2]
    assert [*kept["machines"]] == ["host-types"]
    with pytest.raises(RuntimeError, match="in the middle"):
        figures("import")
    assert {row["what"] for row in figures(names[0])["rows"]} == {*names}


def test_a_rung_is_compared_with_what_was_kept_before(
    benchmarks, figures, given, monkeypatch, tmp_path, capsys
):
    rates = iter((2.0, 1.0))

    def rung():
        yield benchmarks.figure.figure("unroll8", [next(rates)], "TB/s")

    monkeypatch.setitem(benchmarks.figures.PARTS, "gpu", rung)
    monkeypatch.setitem(benchmarks.figures.GROUPS, "gpu", ("gpu",))
    given(benchmarks.figures, RESULTS=tmp_path)
    figures("gpu")
    figures("gpu", status=1)
    assert "SLOWER  unroll8: 1 TB/s, and was 2" in capsys.readouterr().out


def test_rows_come_as_they_are_measured(benchmarks, given, tmp_path):
    """So those before an error, or before time is over, are not lost."""
    worker = tmp_path / "worker.py"
    given(benchmarks.host, __file__=str(worker))
    for after, error in (("import time; time.sleep(1000)", None), ("raise SystemExit(3)", "")):
        worker.write_text(f"print('{{\"what\": 1}}', flush=True)\n{after}")
        rows = benchmarks.host.measure("layouts")
        assert next(rows) == {"what": 1}
        if error is None:
            rows.close()
        else:
            with pytest.raises(subprocess.CalledProcessError):
                next(rows)


def test_calls_on_the_host_are_told_by_the_median_without_the_first_of_a_row(benchmarks, clock):
    """Each takes a hundred times as long after the other, and every third time twice as long."""
    calls, seconds = [], {"ours": 1e-4, "theirs": 3e-4}

    def call(name):
        again = calls[-1:] == [name]
        calls.append(name)
        clock.now += seconds[name] * (1 + calls.count(name) % 3 // 2) * (1 if again else 99)

    found = benchmarks.host.typical({name: partial(call, name) for name in seconds})
    assert found == pytest.approx(seconds)
    assert len([*itertools.groupby(calls)]) >= benchmarks.host.TURNS


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_no_call_on_the_host_always_comes_after_the_same_one(benchmarks, clock, n):
    turns = []

    def call(name):
        turns.extend([name] if turns[-1:] != [name] else [])
        clock.now += 0.002

    names = "abcde"[:n]
    benchmarks.host.typical({name: partial(call, name) for name in names})
    assert {*itertools.permutations(names, 2)} <= {*itertools.pairwise(turns)}
    orders = benchmarks.host.balanced(list(names))
    pairs = [pair for order in orders for pair in itertools.pairwise(order)]
    assert {*map(pairs.count, itertools.permutations(names, 2))} == {len(orders) // n}
