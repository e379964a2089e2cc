"""`python -m gred roofline` shows, keeps and draws what gred.roofline predicts."""

import json

import pytest
from test_counters import BENCHMARKS
from test_roofline import RUNGS

import gred
from gred.cli import counters, record, roofline, rung_plots

pytestmark = pytest.mark.unsanitized

LADDER = BENCHMARKS / "results" / "nvidia-h200" / "ladder.json"
SMALL = ("roofline", "--size", "5000", "--block-size", "64")


def predicted(rung):
    return gred.roofline(5000, method=rung, block_size=64, dtype="int32")


def row_of(out, rung):
    (line,) = (line for line in out.splitlines() if rung in line.split())
    return line.split()


def test_every_rung_is_shown_with_its_prediction(command):
    status, out, _ = command(*SMALL)
    assert status == 0
    for rung in RUNGS:
        told = predicted(rung)
        assert f"{1e6 * told.seconds:.1f}" in row_of(out, rung)
        assert row_of(out, rung)[-1] == told.limit
    assert "NVIDIA H200" in out


def test_lines_fit_into_100_columns(command):
    _, out, _ = command("roofline", "--methods", "1,22", "--measured", LADDER)
    table = out[out.index("method") :]
    assert max(map(len, table.splitlines())) <= 100


def test_measured_times_stand_beside_predictions_of_the_same_call(command, tmp_path):
    rungs = "neighbored,shared_modulo,atomic"
    kept = tmp_path / "roofline.json"
    command("roofline", "--methods", rungs, "--measured", LADDER, "--json", kept)
    measured = {row["method"]: row["median_ns"] for row in record.rows_of(record.read_json(LADDER))}
    for row in record.read_json(kept)["rows"]:
        assert row["measured_ns"] == measured[row["method"]]


def test_json_holds_every_term(command):
    _, out, err = command(*SMALL, "--methods", "shuffle", "--json", "-")
    (row,) = json.loads(out)["rows"]
    told = predicted("shuffle")
    assert row["predicted_ns"] == record.digits(1e9 * told.seconds)
    for name, value in row["terms_ns"].items():
        assert value == record.digits(1e9 * sum(getattr(one.terms, name) for one in told.passes))
    assert json.loads(out)["gpu"] == told.gpu._asdict()
    assert "shuffle" in err


def test_the_drawing_has_a_point_and_a_bar_a_rung(command, tmp_path):
    kept, drawn = tmp_path / "roofline.json", tmp_path / "roofline.svg"
    arguments = ("roofline", "--methods", "0,11,21", "--measured", LADDER)
    assert command(*arguments, "--json", kept, "--plot", drawn)[0] == 0
    data = record.read_json(kept)
    assert record.digest(data) in drawn.read_text(encoding="utf-8")
    roof, bars = rung_plots.roofline_figure(data).axes
    widths = [bar.get_width() for bars_of in bars.containers for bar in bars_of]
    assert sorted(widths) == sorted(row["predicted_ns"] * 1e-3 for row in data["rows"])
    (lines,) = bars.collections
    marks = [segment[0][0] for segment in lines.get_segments()]
    assert marks == pytest.approx([row["measured_ns"] * 1e-3 for row in data["rows"]])
    line, *points = roof.lines
    assert len(points) == 2 * len(data["rows"])
    for point in points:
        (intensity,), (additions,) = point.get_data()
        assert additions <= 1.01 * intensity * data["gpu"]["bandwidth"]
    assert max(line.get_ydata()) == 132 * 64 * 1.98e9


@pytest.mark.parametrize(
    ("dtype", "additions"),
    [("int32", 64), ("int64", 32), ("uint64", 32), ("float32", 128), ("float64", 64)],
)
def test_the_roof_is_as_high_as_the_types_additions(dtype, additions):
    """By NVIDIA's table of arithmetic throughput, compute capability 9.0; 64 bits are two adds."""
    machine, settings = {}, counters.Settings((), 5000, dtype, 64)
    told = [gred.roofline(5000, method="shuffle", block_size=64, dtype=dtype)]
    kept = roofline.record_of(machine, settings, told)
    roof, _ = rung_plots.roofline_figure(kept).axes
    assert max(roof.lines[0].get_ydata()) == 132 * additions * 1.98e9
    assert f"{additions} additions a cycle" in [text.get_text() for text in roof.texts]


def test_what_no_grid_can_have_is_refused_before_anything_is_shown(command):
    status, out, err = command("roofline", "--methods", "1", "--size", "2**40")
    assert (status, out) == (2, "")
    assert "choose a larger block_size" in err.splitlines()[-1]
