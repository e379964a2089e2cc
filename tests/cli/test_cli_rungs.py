"""`python -m gred counters`, `explain` and `roofline`: what they print, store and plot.

gred.roofline predicts the times measured on an H200, and says what limits a rung.
"""

import json

import numpy as np
import pytest
from inputs import RUNGS, counted, every_rung
from scripts import BENCHMARKS

import gred
from gred import prediction, scaled
from gred.cli import counters, explain, record, roofline, units
from gred.cli.plots import rungs
from gred.prediction import H200

KERNELS = BENCHMARKS.parent / "kernels"
RESULTS = BENCHMARKS / "results" / "nvidia-h200"
LADDER, KEPT = RESULTS / "ladder.json", record.read_json(RESULTS / "roofline.json")
FEW = 5000, 64  # elements, threads per block
SMALL = ("--size", "5000", "--block-size", "64")


def predicted(rung, size=5000, block_size=64, dtype="int32"):
    return gred.roofline(size, method=rung, block_size=block_size, dtype=dtype)


def row_of(out, rung):
    (line,) = (line for line in out.splitlines() if rung in line.split()[:2])
    return line.split()


def conflicts_of(total):
    return total.shared_load_conflicts + total.shared_store_conflicts


@pytest.fixture
def kept(screen, tmp_path):
    """Run a command that writes its data, and plots it if it can; return the data."""

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
        total, shown = counted(rung, *FEW, np.float64, multiprocessors=1).total, row_of(out, rung)
        sectors = total.global_load_sectors + total.bulk_copy_sectors
        assert {f"{sectors:,}", f"{conflicts_of(total):,}"} <= {*shown}
        assert f"{total.active_lanes:.1f}" == shown[-1]


def test_counts_are_kept_with_every_pass_and_line_and_drawn_as_bars(kept):
    data = kept("counters", *SMALL)
    assert (data["kind"], data["run"]["block_size"]) == ("counters", 64)
    assert data["machine"]["device"]["name"] == "simulated"
    assert [row["method"] for row in data["rows"]] == RUNGS
    told = [counted(rung, *FEW) for rung in RUNGS]
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


@every_rung
def test_the_source_is_shown_with_the_counts_of_its_lines(screen, rung):
    shown = screen("explain", rung, *SMALL).splitlines()
    (own,) = KERNELS.glob(f"ladder/[0-9][0-9]_{rung}.cuh")
    for number, text in enumerate(own.read_text(encoding="utf-8").splitlines(), 1):
        assert f"  {number:>4}  {text}".rstrip() in shown
    for line in counted(rung, *FEW).total.lines:
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


NEAR = {"halving": ["halving", "neighbored"], "cluster": ["bulk", "cluster"]}
NEAR |= {"13": ["shared_strided", "shared_sequential", "shared_first_add"]}


@pytest.mark.parametrize(("rung", "near"), NEAR.items(), ids=NEAR)
def test_neighbours_stand_beside_it(screen, kept, rung, near):
    rows = [line.split() for line in screen("explain", rung, *SMALL).splitlines()]
    assert ["all", "passes", *near] in rows
    totals = [counted(name, *FEW).total for name in near]
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
    """NVIDIA's table of arithmetic throughput, compute capability 9.0; 64 bits are two adds."""
    told = [predicted("shuffle", dtype=dtype)]
    data = roofline.record_of({}, counters.Settings((), 5000, dtype, 64), told)
    roof, _ = rungs.roofline_figure(data).axes
    assert max(roof.lines[0].get_ydata()) == 132 * additions * 1.98e9
    assert f"{additions} additions per cycle" in [text.get_text() for text in roof.texts]


# ---- gred.roofline ----


def scaled_passes(rung, n, block, multiprocessors=132):
    method = gred.methods()[RUNGS.index(rung) + 1]
    return scaled.passes(scaled.Launch(method, block, np.dtype("i4"), multiprocessors), n)


@every_rung
@pytest.mark.parametrize(("n", "block"), [(10_007, 32), (40_003, 64)])
def test_counts_that_are_scaled_are_those_of_every_element(rung, n, block):
    got = scaled_passes(rung, n, block)
    assert tuple(counts for _, counts in got) == tuple(counted(rung, n, block).passes)
    assert got[0][0] == n


@pytest.mark.parametrize("rung", RUNGS[RUNGS.index("shared_grid_stride") :])
def test_counts_of_grids_as_large_as_the_device_are_scaled_to_a_turn(rung):
    """Counts are exact for whole turns of all threads."""
    resident = counted(rung, 2**16, multiprocessors=1).passes[0].threads
    for n in (2 * 16 * resident * 3, 2 * 16 * resident * 3 + 1001):
        got = scaled_passes(rung, n, 256, 2)[0][1]
        want = counted(rung, n, multiprocessors=2).passes[0]
        assert n % resident or got == want
        for one, other in zip(got[:-1], want[:-1], strict=True):
            assert abs(one - other) <= max(8, 0.02 * other)


def test_an_array_of_a_tebielement_is_counted_at_once():
    (size, counts), *rest = scaled_passes("unroll8", 2**40, 1024)
    blocks = 2**40 // 8192
    assert (size, counts.blocks) == (2**40, blocks)
    assert counts.global_load_requests == blocks * (8 * 32 + 16 + 8 + 4 + 2 + 6)
    assert [n for n, _ in rest] == [blocks, blocks // 8192, 2]


def test_a_rung_is_predicted_as_it_was_measured():
    """The targets are a median error of at most 15 %, and no error above 40 %."""
    both = record.read_json(LADDER), KEPT
    ladder, kept = ({row["method"]: row for row in record.rows_of(one)} for one in both)
    errors = []
    for rung in RUNGS:
        row, options = ladder[rung], {"method": rung, "dtype": "int32"}
        told = gred.roofline(row["size"], block_size=row["block_size"], **options)
        errors.append(abs(told.seconds * 1e9 / row["median_ns"] - 1))
        told = {"predicted_ns": record.digits(told.seconds * 1e9), "limit": told.limit}
        assert (told | {"measured_ns": row["median_ns"]}).items() <= kept[rung].items()
    assert np.median(errors) <= 0.15
    assert max(errors) <= 0.40


def test_what_the_fit_has_not_seen_is_predicted_as_well():
    """Other block sizes, and arrays from 2^16 to 2^28: the model does not overfit the ladder."""
    assert KEPT["gpu"] == H200._asdict()
    assert KEPT["unseen"]["points"] > 4 * KEPT["seen"]["points"]
    assert KEPT["unseen"]["median"] <= 0.15
    assert KEPT["unseen"]["most"] <= 0.40
    rows = record.rows_of(record.read_json(RESULTS / "sweep.json"))
    some = [row for row in rows if (row["size"], row["block_size"]) == (2**24, 128)]
    some = [row for row in some if row["number"] is not None and row["method"] != "cooperative"]
    assert len(some) == 22
    for row in some:
        told = gred.roofline(2**24, method=row["method"], block_size=128, dtype="int32")
        assert told.seconds * 1e9 == pytest.approx(row["median_ns"], rel=KEPT["unseen"]["most"])


BOUND = {"memory": {"method": "shuffle_vector"}, "waiting": {"method": "shuffle"}}
BOUND |= {"work": {"method": "neighbored"}, "launches": {"method": "halving", "size": 1}}
BOUND |= {"blocks": {"method": "shared_sequential", "block_size": 32}}


@pytest.mark.parametrize("limit", BOUND)
def test_what_binds_a_rung_is_said(limit):
    told = gred.roofline(**{"size": 2**28, "dtype": "int32", **BOUND[limit]})
    assert told.limit == limit
    assert told.why() in repr(told)


@pytest.mark.parametrize("named", ["cuda:0", "cuda"])
def test_a_gpu_that_is_here_is_measured(given, named):
    here = gred.Device("cuda:0", "Some GPU", 66, 2**34, 10**12, 2**25, "8.9")
    limit = gred.ReadLimit(np.array([1e-3, 2e-3, 3e-3]), 2**30, "cuda:0", 1, 1)
    times = gred.KernelTime(np.array([1e-3, 4e-3, 5e-3]), *[None] * 8)
    given(prediction, devices=lambda: [here], read_limit=lambda device: limit)
    given(prediction, kernel_time=lambda *_, **__: times)
    told = gred.roofline(2**20, method="shuffle", device=named)
    gpu = (told.gpu.title, told.gpu.multiprocessors, told.gpu.bandwidth, told.gpu.block_interval)
    assert gpu == ("Some GPU", 66, 2**30 / 2e-3, 2 * H200.block_interval)
    assert (told.measured, told.error) == (4e-3, told.seconds / 4e-3 - 1)
    assert "measured 4,000.0 us" in repr(told)
    assert told.passes[0].blocks == 2**20 // 2048
