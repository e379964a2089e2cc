"""What measures gred's figures counts, fits and groups as it says; the clock's are pretended."""

import itertools
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from gred.cli import record

pytestmark = pytest.mark.unsanitized


def test_a_small_call_is_held_against_the_quickest_other_way_to_write_it(benchmarks, given):
    small = benchmarks.small
    given(small, SECONDS=0, SIZES=(16,))
    rows = list(small.measure(benchmarks.host.REDUCTIONS))  # each can be made
    assert len(rows) == len(benchmarks.host.REDUCTIONS)
    assert all(row["value"] > 0 for row in rows)
    seconds = {"gred.sum(a)": 2.0, "np.sum(a)": 9.0, "a.sum()": 6.0, "t.sum()": 7.0}
    given(small, quickest=lambda written, _: seconds)
    assert small.compare("sum", 16, "float32") == (3.0, 2.0, "a.sum()")
    seconds["np.sum(a)"] = 1.0
    assert small.compare("sum", 16, "float32") == (0.5, 2.0, "np.sum(a)")


def test_a_fit_finds_latency_and_bandwidth_behind_single_points_far_off(benchmarks):
    sizes = [4 << k for k in range(34)]
    seconds = np.array([7e-6 + size / 4.5e12 for size in sizes])
    for near in (1e-6, 1e-3):
        found = benchmarks.curve.fitted(sizes, [*seconds])
        assert found == pytest.approx((7e-6, 4.5e12), rel=near)
        seconds[[20, 33]] *= 3, 1.4


def test_a_curve_is_measured_written_and_drawn(benchmarks, given, tmp_path):
    pytest.importorskip("matplotlib")
    given(benchmarks.curve, SAMPLES=1, LIMIT_SAMPLES=1)
    given(sys, argv=["", *f"--device host --largest 2**3 --out {tmp_path}".split()])
    assert benchmarks.curve.main() == 0
    [path] = tmp_path.glob("*/curve.json")
    kept = record.read_json(path)
    assert [row["n"] for row in record.rows_of(kept)] == [1, 2, 4, 8]
    lines = benchmarks.curve.cost_figure(kept).axes[0].get_lines()
    assert [len(line.get_xdata()) for line in lines if line.get_label()[0] != "_"] == [4, 4, 4]
    results = benchmarks.kept_results.Results(tmp_path, tmp_path / "README.md")
    text = benchmarks.measured_parts.curve_part(results)
    assert "Sum of n float32, n = 1, 2, 4, ... 8: whole call " in text
    assert f"({path.parent.name}/plots/cost.svg)" in text


def test_figures_are_kept_beside_others_and_compared_with_those_before(
    benchmarks, given, monkeypatch, tmp_path, capsys
):
    """Though something fails in the middle."""
    names = ["host-types/sum/4KiB", "host-types/max/4KiB", "import"]
    rates = iter((2.0, 1.0))

    def measure(name):
        yield benchmarks.figure.figure(name, [next(rates) if name == "gpu" else 1.0], "x")
        if name == "import":
            raise RuntimeError("in the middle")

    def figures(part, status=0):
        given(sys, argv=["figures.py", "--part", part, "--out", str(tmp_path)])
        assert benchmarks.figures.main() == status
        [path] = tmp_path.glob("*/figures.json")
        kept = record.read_json(path)
        return [row["what"] for row in record.rows_of(kept)], [*kept["machines"]]

    for name in (*names, "gpu"):
        monkeypatch.setitem(benchmarks.figures.PARTS, name, partial(measure, name))
    monkeypatch.setitem(benchmarks.figures.GROUPS, "gpu", ("gpu",))
    given(benchmarks.figures, RESULTS=tmp_path)
    kept = [figures(name) for name in (names[1], names[0], names[1])]
    assert kept[-1] == (names[:2], ["host-types"])
    with pytest.raises(RuntimeError, match="in the middle"):
        figures("import")
    assert {*figures(names[0])[0]} == {*names}
    figures("gpu")
    figures("gpu", status=1)
    assert "SLOWER  gpu: 1 x, and was 2" in capsys.readouterr().out


def test_rows_come_as_they_are_measured(benchmarks, given, tmp_path):
    """So those before an error, or before time is over, are not lost."""
    worker = tmp_path / "worker.py"
    given(benchmarks.host, __file__=str(worker))
    for after in ("import time; time.sleep(1000)", "raise SystemExit(3)"):
        worker.write_text(f"print('{{\"what\": 1}}', flush=True)\n{after}")
        rows = benchmarks.host.measure("layouts")
        assert next(rows) == {"what": 1}
        if "sleep" in after:
            rows.close()
        else:
            with pytest.raises(subprocess.CalledProcessError):
                next(rows)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_calls_on_the_host_come_in_every_order_and_the_first_is_not_timed(benchmarks, clock, n):
    """Each takes a hundred times as long after another, and every third time twice as long."""
    calls, host = [], benchmarks.host
    seconds = {name: 1e-4 * (1 + k / 10) for k, name in enumerate("abcde"[:n])}

    def call(name):
        again = calls[-1:] == [name]
        calls.append(name)
        clock.now += seconds[name] * (1 + calls.count(name) % 3 // 2) * (1 if again else 99)

    assert host.typical({name: partial(call, name) for name in seconds}) == pytest.approx(seconds)
    turns = [name for name, _ in itertools.groupby(calls)]
    assert len(turns) >= host.TURNS
    orders = host.balanced(list(seconds))
    pairs = [pair for order in orders for pair in itertools.pairwise(order)]
    for pair in itertools.permutations(seconds, 2):
        assert pair in itertools.pairwise(turns)
        assert pairs.count(pair) == len(orders) // n


def test_a_seed_draws_calls_of_every_kind_and_no_larger_than_asked(benchmarks):
    drawn_calls = benchmarks.drawn_calls
    calls, again, other = (list(drawn_calls.drawn(s, 2000, 1 << 10, 1 << 24)) for s in (3, 3, 2))
    assert calls == again != other
    assert max(call.nbytes for call in calls) <= 1 << 24
    assert {len(call.shape) for call in calls} == set(drawn_calls.RANKS)
    assert {call.dtype for call in calls} == set(drawn_calls.TYPES)
    assert {call.op for call in calls} == set(drawn_calls.OPS)
    assert {call.layout for call in calls} == set(drawn_calls.LAYOUTS)
    assert any(n % 2 and n > 100 for call in calls for n in call.shape)
