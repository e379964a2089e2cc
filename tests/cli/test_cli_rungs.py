"""`python -m gred counters`, `explain` and `roofline`: they show, keep and draw what is told."""

import json

import numpy as np
import pytest
from scripts import BENCHMARKS

import gred
from gred.cli import counters, explain, record, roofline, units
from gred.cli.plots import rungs

pytestmark = pytest.mark.unsanitized

KERNELS = BENCHMARKS.parent / "kernels"
LADDER = BENCHMARKS / "results" / "nvidia-h200" / "ladder.json"
RUNGS = [m.name for m in gred.methods() if m.number is not None]
SMALL = ("--size", "5000", "--block-size", "64")


def counted(rung, size=5000, block_size=64, dtype=np.int32, **options):
    options |= {"method": rung, "block_size": block_size, "dtype": dtype}
    return gred.counters(np.ones(size, dtype), **options)


def predicted(rung, size=5000, block_size=64, dtype="int32"):
    return gred.roofline(size, method=rung, block_size=block_size, dtype=dtype)


def row_of(out, rung):
    (line,) = (line for line in out.splitlines() if rung in line.split()[:2])
    return line.split()


def conflicts_of(total):
    return total.shared_load_conflicts + total.shared_store_conflicts


@pytest.fixture
def kept(screen, tmp_path):
    """Run a command that writes what it tells, and draws it if it can; give both."""

    def run(*arguments, drawn=True):
        told, picture = tmp_path / "told.json", tmp_path / "told.svg"
        more = ("--plot", picture) if drawn else ()
        assert f"wrote {told}" in screen(*arguments, "--json", told, *more)
        data = record.read_json(told)
        assert not drawn or record.digest(data) in picture.read_text(encoding="utf-8")
        return data

    return run


# ---- counters ----


def test_counts_are_shown(screen):
    out = screen("counters", *SMALL, "--dtype", "float64", "--multiprocessors", "1")
    assert "5,000 float64" in out
    assert "as on 1 multiprocessors" in out
    for rung in RUNGS:
        total, shown = counted(rung, dtype=np.float64, multiprocessors=1).total, row_of(out, rung)
        sectors = total.global_load_sectors + total.bulk_copy_sectors
        assert {f"{sectors:,}", f"{conflicts_of(total):,}"} <= {*shown}
        assert f"{total.active_lanes:.1f}" == shown[-1]


def test_counts_are_kept_with_every_pass_and_line_and_drawn_as_bars(kept):
    data = kept("counters", *SMALL)
    assert (data["kind"], data["run"]["block_size"]) == ("counters", 64)
    assert data["machine"]["device"]["name"] == "simulated"
    assert [row["method"] for row in data["rows"]] == RUNGS
    told = [counted(rung) for rung in RUNGS]
    for row, want in zip(data["rows"], told, strict=True):
        for name in gred.Counts._fields[:-1]:
            assert row["total"][name] == getattr(want.total, name)
            assert [one[name] for one in row["passes"]] == [getattr(p, name) for p in want.passes]
        assert row["lines"] == [line._asdict() for line in want.total.lines]
    totals = [want.total for want in told]
    moved, wavefronts, lanes = rungs.counters_figure(data).axes
    assert [text.get_text().split()[1] for text in moved.get_yticklabels()] == RUNGS
    every = [*moved.containers, *wavefronts.containers, *lanes.containers]
    *transfers, _, conflicts, active = [[bar.get_width() for bar in bars] for bars in every]
    for event, bars in zip(("global_load", "global_store", "bulk_copy"), transfers, strict=True):
        shares = [getattr(total, f"{event}_sectors") * 32 / 20_000 for total in totals]
        assert bars == pytest.approx(shares)
    assert conflicts == pytest.approx([conflicts_of(t) / (5000 / 32) for t in totals])
    assert active == [total.active_lanes for total in totals]


# ---- explain ----


@pytest.mark.parametrize("rung", RUNGS)
def test_the_source_is_shown_with_the_counts_of_its_lines(screen, rung):
    shown = screen("explain", rung, *SMALL).splitlines()
    (own,) = KERNELS.glob(f"ladder/[0-9][0-9]_{rung}.cuh")
    for number, text in enumerate(own.read_text(encoding="utf-8").splitlines(), 1):
        assert f"  {number:>4}  {text}".rstrip() in shown
    for line in counted(rung).total.lines:
        text = (KERNELS / line.file).read_text(encoding="utf-8").splitlines()[line.number - 1]
        place = shown.index(f"  {line.number:>4}  {text}", shown.index(f"  kernels/{line.file}"))
        end = next(k for k in range(place + 1, len(shown)) if not shown[k].startswith("     ->"))
        assert f"     ->  {explain.told(line)}" in shown[place + 1 : end]


def test_what_a_line_does_is_told_in_words():
    lines = counted("shared_strided", 2**10, 256).passes[0].lines
    assert {
        "96 shared loads in 376 wavefronts, 280 of them conflicts; 21.2 lanes",
        "32 loads in 128 sectors; 32.0 lanes",
        "48 additions; 21.2 lanes",
    } <= {explain.told(line) for line in lines}


LIMITS = {
    "neighbored": ["12.0 times the array", "25 % of the loaded bytes", "5.4 of 32 lanes"],
    "shared_modulo": ["18.8 shared-memory wavefronts per", "5.4 of 32 lanes"],
    "shared_strided": ["70 % of shared-memory wavefronts are bank conflicts"],
    "halving": ["16 dependent launches"],
    "shared_sequential": ["a block barrier every 28 elements", "128 bytes in flight per warp"],
    "shuffle": ["256 bytes in flight per warp"],
    "last_block": [],
}


@pytest.mark.parametrize("rung", LIMITS)
def test_what_limits_a_rung_follows_from_its_counts_and_so_does_its_time(screen, rung):
    limits = list(explain.limits(counted(rung, 2**16, 256)))
    for text in LIMITS[rung]:
        assert any(text in limit for limit in limits)
    assert bool(limits) == bool(LIMITS[rung])
    out = screen("explain", rung, "--size", "2**16", "--block-size", "256")
    for limit in (*(limits or [explain.FREE]), f"python -m gred show {rung}"):
        assert limit in out
    told = predicted(rung, 2**28, 256)
    words = f"{units.time_text(told.seconds)} for 2^28 elements on one NVIDIA H200, bound by"
    assert f"{words} {told.why()}" in out.partition("  predicted ")[2]


@pytest.mark.parametrize(
    ("rung", "near"),
    [
        ("halving", ["halving", "neighbored"]),
        ("13", ["shared_strided", "shared_sequential", "shared_first_add"]),
        ("cluster", ["bulk", "cluster"]),
    ],
)
def test_neighbours_stand_beside_it(screen, kept, rung, near):
    rows = [line.split() for line in screen("explain", rung, *SMALL).splitlines()]
    assert ["all", "passes", *near] in rows
    totals = [counted(name).total for name in near]
    assert ["global", "load", "sectors", *(f"{t.global_load_sectors:,}" for t in totals)] in rows
    conflicts = [conflicts_of(total) for total in totals]
    shown = [row[2:] for row in rows if row[:2] == ["bank", "conflicts"]]
    assert shown == ([[f"{n:,}" for n in conflicts]] if any(conflicts) else [])
    assert [row["method"] for row in kept("explain", rung, *SMALL, drawn=False)["rows"]] == near


# ---- roofline ----


def test_every_rung_is_shown_with_its_prediction_and_json_holds_every_term(screen, command):
    out = screen("roofline", *SMALL)
    assert "NVIDIA H200" in out
    for rung in RUNGS:
        told, row = predicted(rung), row_of(out, rung)
        assert f"{1e6 * told.seconds:.1f}" in row
        assert row[-1] == told.limit
    _, out, err = command("roofline", *SMALL, "--methods", "shuffle", "--json", "-")
    assert "shuffle" in err
    (row,), told = json.loads(out)["rows"], predicted("shuffle")
    assert row["predicted_ns"] == record.digits(1e9 * told.seconds)
    for name, value in row["terms_ns"].items():
        assert value == record.digits(1e9 * sum(getattr(one.terms, name) for one in told.passes))
    assert json.loads(out)["gpu"] == told.gpu._asdict()


def test_measured_times_stand_beside_predictions_of_the_same_call_and_are_drawn(kept):
    data = kept("roofline", "--methods", "0,11,21", "--measured", LADDER)
    measured = {row["method"]: row["median_ns"] for row in record.rows_of(record.read_json(LADDER))}
    times = [row["measured_ns"] for row in data["rows"]]
    assert times == [measured[row["method"]] for row in data["rows"]]
    roof, bars = rungs.roofline_figure(data).axes
    widths = [bar.get_width() for bars_of in bars.containers for bar in bars_of]
    assert sorted(widths) == sorted(row["predicted_ns"] * 1e-3 for row in data["rows"])
    marks = [segment[0][0] for segment in bars.collections[0].get_segments()]
    assert marks == pytest.approx([time * 1e-3 for time in times])
    _, *points = roof.lines
    assert len(points) == 2 * len(data["rows"])
    for point in points:
        (intensity,), (additions,) = point.get_data()
        assert additions <= 1.01 * intensity * data["gpu"]["bandwidth"]


@pytest.mark.parametrize(
    ("dtype", "additions"),
    [("int32", 64), ("int64", 32), ("uint64", 32), ("float32", 128), ("float64", 64)],
)
def test_the_roof_is_as_high_as_the_types_additions(dtype, additions):
    """By NVIDIA's table of arithmetic throughput, compute capability 9.0; 64 bits are two adds."""
    told = [predicted("shuffle", dtype=dtype)]
    data = roofline.record_of({}, counters.Settings((), 5000, dtype, 64), told)
    roof, _ = rungs.roofline_figure(data).axes
    assert max(roof.lines[0].get_ydata()) == 132 * additions * 1.98e9
    assert f"{additions} additions a cycle" in [text.get_text() for text in roof.texts]
