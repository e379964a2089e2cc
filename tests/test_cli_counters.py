"""`python -m gred counters` shows, keeps and draws what gred.counters counts."""

import numpy as np
import pytest

import gred
from gred.cli import record, rung_plots

pytestmark = pytest.mark.unsanitized

RUNGS = [m.name for m in gred.methods() if m.number is not None]
SMALL = ("counters", "--size", "5000", "--block-size", "64")


def counted(rung, dtype=np.int32, **options):
    x = np.ones(5000, dtype)
    return gred.counters(x, method=rung, block_size=64, dtype=dtype, **options)


def row_of(out, rung):
    (line,) = (line for line in out.splitlines() if line.split()[1:2] == [rung])
    return line.split()


def test_every_rung_is_shown_with_its_counts(command):
    status, out, _ = command(*SMALL)
    assert status == 0
    for rung in RUNGS:
        total, shown = counted(rung).total, row_of(out, rung)
        assert f"{total.global_load_sectors + total.bulk_copy_sectors:,}" in shown
        assert f"{total.shared_load_conflicts + total.shared_store_conflicts:,}" in shown
        assert f"{total.active_lanes:.1f}" == shown[-1]


def test_options_are_those_of_the_counts(command):
    options = ("--methods", "neighbored,shuffle", "--dtype", "float64", "--multiprocessors", "1")
    status, out, _ = command(*SMALL, *options)
    assert status == 0
    assert "5,000 float64" in out
    assert "as on 1 multiprocessors" in out
    for rung in ("neighbored", "shuffle"):
        total = counted(rung, np.float64, multiprocessors=1).total
        assert f"{total.global_load_sectors:,}" in row_of(out, rung)
    assert "unroll8" not in out


def test_json_holds_every_pass_and_every_line(command, tmp_path):
    path = tmp_path / "counters.json"
    status, out, _ = command(*SMALL, "--json", path)
    assert status == 0
    assert f"wrote {path}" in out
    kept = record.read_json(path)
    assert kept["kind"] == "counters"
    assert kept["machine"]["device"]["name"] == "simulated"
    assert kept["run"]["block_size"] == 64
    assert [row["method"] for row in kept["rows"]] == RUNGS
    for row in kept["rows"]:
        want = counted(row["method"])
        assert len(row["passes"]) == len(want.passes)
        for name in gred.Counts._fields[:-1]:
            assert row["total"][name] == getattr(want.total, name)
            assert [one[name] for one in row["passes"]] == [getattr(p, name) for p in want.passes]
        assert row["lines"] == [line._asdict() for line in want.total.lines]


def test_the_drawing_has_a_bar_a_rung_as_long_as_its_counts(command, tmp_path):
    kept, drawn = tmp_path / "counters.json", tmp_path / "counters.svg"
    status, _, _ = command(*SMALL, "--json", kept, "--plot", drawn)
    assert status == 0
    data = record.read_json(kept)
    assert record.digest(data) in drawn.read_text(encoding="utf-8")
    moved, wavefronts, lanes = rung_plots.counters_figure(data).axes
    assert [text.get_text().split()[1] for text in moved.get_yticklabels()] == RUNGS
    totals = [counted(rung).total for rung in RUNGS]
    loads, stores, copies = ([bar.get_width() for bar in bars] for bars in moved.containers)
    assert loads == pytest.approx([t.global_load_sectors * 32 / 20_000 for t in totals])
    assert stores == pytest.approx([t.global_store_sectors * 32 / 20_000 for t in totals])
    assert copies == pytest.approx([t.bulk_copy_sectors * 32 / 20_000 for t in totals])
    _, conflicts = ([bar.get_width() for bar in bars] for bars in wavefronts.containers)
    both = [t.shared_load_conflicts + t.shared_store_conflicts for t in totals]
    assert conflicts == pytest.approx([n / (5000 / 32) for n in both])
    assert [bar.get_width() for bar in lanes.containers[0]] == [t.active_lanes for t in totals]
