"""gred.roofline predicts the times that were measured on an H200, and says what binds a rung."""

import numpy as np
import pytest
from scripts import BENCHMARKS

import gred
from gred import prediction, scaled
from gred.cli import record
from gred.prediction import H200

pytestmark = pytest.mark.unsanitized

RESULTS = BENCHMARKS / "results" / "nvidia-h200"
KEPT = record.read_json(RESULTS / "roofline.json")
RUNGS = [m.name for m in gred.methods() if m.number is not None]
STRIDING = RUNGS[RUNGS.index("shared_grid_stride") :]


def scaled_passes(rung, n, block, multiprocessors=132):
    method = gred.methods()[RUNGS.index(rung) + 1]
    return scaled.passes(scaled.Launch(method, block, np.dtype("i4"), multiprocessors), n)


def counted(rung, n, block, multiprocessors=132):
    options = {"method": rung, "block_size": block, "multiprocessors": multiprocessors}
    return gred.counters(np.ones(n, np.int32), dtype=np.int32, **options).passes


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize(("n", "block"), [(10_007, 32), (40_003, 64)])
def test_counts_that_are_scaled_are_those_of_every_element(rung, n, block):
    got = scaled_passes(rung, n, block)
    assert tuple(counts for _, counts in got) == tuple(counted(rung, n, block))
    assert got[0][0] == n


@pytest.mark.parametrize("rung", STRIDING)
def test_counts_of_grids_as_large_as_the_device_are_scaled_to_a_turn(rung):
    """Whole turns of all threads come out exactly."""
    resident = counted(rung, 2**16, 256, 1)[0].threads
    for n in (2 * 16 * resident * 3, 2 * 16 * resident * 3 + 1001):
        got, want = scaled_passes(rung, n, 256, 2)[0][1], counted(rung, n, 256, 2)[0]
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
    """The target: the median error is at most 15 %, and none is above 40 %."""
    ladder, kept = (
        {row["method"]: row for row in record.rows_of(one)}
        for one in (record.read_json(RESULTS / "ladder.json"), KEPT)
    )
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
    """Other block sizes, and arrays from 2^16 to 2^28: the numbers are not bent to the ladder's."""
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


@pytest.mark.parametrize(
    ("rung", "options", "limit"),
    [
        ("shuffle_vector", {}, "memory"),
        ("shuffle", {}, "waiting"),
        ("neighbored", {}, "work"),
        ("shared_sequential", {"block_size": 32}, "blocks"),
        ("halving", {"size": 1}, "launches"),
    ],
)
def test_what_binds_a_rung_is_said(rung, options, limit):
    told = gred.roofline(**{"size": 2**28, "method": rung, "dtype": "int32", **options})
    assert told.limit == limit
    assert told.why() in repr(told)


def test_terms_follow_from_the_counts():
    """The first pass of `shared_strided`, by hand: 150 wavefronts a block, and 9 barriers."""
    told = gred.roofline(2**28, method="shared_strided", block_size=256, dtype="int32")
    terms, blocks = told.passes[0].terms, 2**20
    cycles = 9 * H200.request_cycles + 33 * 0.25 + 150 + 2 * 9 * 8
    wait = H200.block_life + H200.memory_latency + 9 * 8 * H200.arrival
    assert terms.memory == pytest.approx((4 * 2**28 + 32 * blocks) / H200.bandwidth)
    assert terms.blocks == pytest.approx(blocks * H200.block_interval)
    assert terms.work == pytest.approx(blocks / 132 * cycles / H200.clock)
    assert terms.waiting == pytest.approx(blocks / (132 * 8) * wait)
    assert told.passes[0].seconds == pytest.approx(H200.launch + terms.work)
    assert told.seconds == pytest.approx(H200.start + sum(one.seconds for one in told.passes))
    # Atomics on one address come one after the other.
    counts = counted("atomic", 2**16, 256)[0]._replace(atomic_lanes=10**9)
    found = prediction.pass_time(H200, counts, 2**18, 0)
    assert (found.limit, found.terms.atomics) == ("atomics", pytest.approx(1e9 / 1.98e9))
    # The last block folds 4,224 partials by 32 threads: 132 loads, each of which waits for one.
    (only,) = gred.roofline(2**28, method="last_block", block_size=32, dtype="int32").passes
    assert only.alone == pytest.approx(133 * H200.cache_latency, rel=0.02)
    assert gred.roofline(2**28, method="atomic", block_size=32).passes[0].alone == 0


@pytest.mark.parametrize("named", ["cuda:0", "cuda"])
def test_a_gpu_that_is_here_is_measured(monkeypatch, named):
    here = gred.Device("cuda:0", "Some GPU", 66, 2**34, 10**12, 2**25, "8.9")
    limit = gred.ReadLimit(np.array([1e-3, 2e-3, 3e-3]), 2**30, "cuda:0", 1, 1)
    times = gred.KernelTime(np.array([1e-3, 4e-3, 5e-3]), *[None] * 8)
    monkeypatch.setattr(prediction, "devices", lambda: [here])
    monkeypatch.setattr(prediction, "read_limit", lambda device: limit)
    monkeypatch.setattr(prediction, "kernel_time", lambda *_, **__: times)
    told = gred.roofline(2**20, method="shuffle", device=named)
    gpu = (told.gpu.title, told.gpu.multiprocessors, told.gpu.bandwidth, told.gpu.block_interval)
    assert gpu == ("Some GPU", 66, 2**30 / 2e-3, 2 * H200.block_interval)
    assert (told.measured, told.error) == (4e-3, told.seconds / 4e-3 - 1)
    assert "measured 4,000.0 us" in repr(told)
    assert told.passes[0].blocks == 2**20 // 2048
