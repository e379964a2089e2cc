"""gred.counters agrees with counts by hand and by a profiler on a GPU.

gred.accesses records the accesses of each thread, from which drawings compute steps.
"""

import ctypes
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from inputs import RUNGS, counted, every_rung
from scripts import BENCHMARKS
from thin import chosen
from toy_kernels import toy_kernels

import gred
from gred import _core
from gred.cli import record
from gred.drawing import steps
from gred.testing import SimulatedArray

PROFILED = record.read_json(BENCHMARKS / "results" / "nvidia-h200" / "counters.json")
ROWS = record.rows_of(PROFILED)


def first_pass(*arguments, **options):
    return counted(*arguments, **options).passes[0]


@pytest.mark.unsanitized
@pytest.mark.parametrize("rung", dict.fromkeys(row["method"] for row in ROWS))
def test_counts_are_those_of_a_profiler(benchmarks, rung):
    cases = {}
    for row in (row for row in ROWS if row["method"] == rung):
        cases.setdefault((rung, row["dtype"], row["size"], row["block_size"]), []).append(row)
    assert any(case[2:] == (2**20, 256) for case in cases)
    rows = [row for case in chosen(cases) for row in cases[case]]
    assert list(benchmarks.counters.differences(rows, PROFILED["machine"]["device"]["units"])) == []


@pytest.mark.unsanitized
@pytest.mark.parametrize("rung", ["neighbored", "shared_strided", "shared_sequential"])
def test_no_figure_of_a_profiler_differs_unseen(benchmarks, rung):
    """One sector, wavefront or conflict less is reported, and so is more than the usual noise."""
    script = benchmarks.counters  # runs the profiler, and knows which counts may differ
    usual = {"method": rung, "dtype": "int32", "size": 65539, "block_size": 256, "pass": 1}
    (row,) = (row for row in ROWS if usual.items() <= row.items())
    for name in script.METRICS:
        lines = list(script.differences([row | {name: row[name] - 1}], 132))
        assert lines
        assert all(name.rpartition("_")[0] in line for line in lines)
    more = row["shared_load_wavefronts"] // 20
    noisy = {name: row[name] + more for name in row if name.startswith("shared_load")}
    assert len(list(script.differences([row | noisy], 132))) == (0 if rung == "neighbored" else 2)


# A reduction by a block has 5 shuffles in each of 8 warps, and 5 in the warp that merges their
# results. Merging the blocks' partial results takes as many again.
SHUFFLES = (8 + 1) * 5
OF_TICKETS = {"shuffle_requests": 4 * SHUFFLES, "atomic_requests": 3}
N = 3 * 256 * 32
# By rung: the elements of 3 blocks of 256 threads, and their counts.
DONE = {
    "shuffle": (N // 4, {"shuffle_requests": 3 * SHUFFLES, "shuffle_lanes": 96 * SHUFFLES}),
    "shuffle_vector": (N, {"shuffle_requests": 3 * SHUFFLES, "atomic_requests": 0}),
    "atomic": (N, {"shuffle_requests": 3 * SHUFFLES, "atomic_requests": 3}),
    "last_block": (N, OF_TICKETS),
    "cooperative": (N, OF_TICKETS | {"grid_barriers": 1}),
    # A copy brings 16 KiB; no thread loads elements; shared memory is read 16 bytes at a time.
    "bulk": (
        N,
        {
            **dict.fromkeys(("bulk_copy_requests", "bulk_copy_lanes", "mbarrier_waits"), N // 4096),
            **{"bulk_copy_nbytes": 4 * N, "bulk_copy_sectors": N // 8},
            "block_barriers": 3 + N // 4096 + 2 * 3 + 1,
            **dict.fromkeys(("global_load_requests", "global_load_sectors"), 1),  # of partials
            "shared_load_requests": N // 128 + 3 + 1,
            "shared_load_wavefronts": N // 32 + 3 + 1,
            "shared_store_wavefronts": 4 * 8,
            **OF_TICKETS,
            "global_store_requests": 4,
        },
    ),
    # Each block stores a word in the first block's shared memory; one cluster needs no ticket.
    "cluster": (
        N // 4,
        {
            **{"cluster_barriers": 2 * 3, "atomic_requests": 0, "global_store_requests": 1},
            **{"global_load_requests": N // 4 // 128, "global_load_sectors": N // 4 // 8},
            **{"shared_store_wavefronts": 3 * 8 + 3, "shared_load_wavefronts": 3 + 1},
            "shuffle_requests": 3 * SHUFFLES + 5,
        },
    ),
}


@pytest.mark.parametrize("rung", DONE)
def test_rungs_do_what_arithmetic_says(rung):
    n, counts = DONE[rung]
    counts = counts | {"blocks": 3, "shared_load_conflicts": 0, "shared_store_conflicts": 0}
    got = first_pass(rung, n)
    assert {name: getattr(got, name) for name in counts} == counts


# Barriers per block and per warp, in blocks of 256 threads.
BARRIERS = {"halving": (0, 0), "interleaved": (8, 0), "unroll8": (1 + 8, 0), "shuffle": (1, 0)}
BARRIERS |= {"unroll_warps8": (1 + 2, 6), "complete_unroll8": (1 + 4, 6)}
BARRIERS |= {"template_unroll8": (1 + 2, 6), "shared_last_warp": (1 + 2, 10)}
# A block's elements, and its 8 warps' element loads and dependent loads.
DEPENDENT = {
    "halving": (512, 16, 8),
    "interleaved": (256, 20, 16),  # its first level loads together with the elements
    "unroll8": (2048, 76, 20),
    "shared_first_add": (512, 16, 8),
    "shuffle_vector": (8192, 64, 16),
}


def test_barriers_are_counted_once_a_block_and_loads_with_nothing_in_between_as_one_dependent():
    for rung, barriers in BARRIERS.items():
        got = first_pass(rung, 2**14)
        assert (got.block_barriers, got.warp_barriers) == tuple(n * got.blocks for n in barriers)
    for rung, (n, *counts) in DEPENDENT.items():
        got = first_pass(rung, n)
        assert [got.blocks, got.global_load_requests, got.dependent_global_loads] == [1, *counts]


def test_divergence_is_seen_in_the_lanes_and_misalignment_in_the_sectors():
    """The modulo leaves 16 of 32 lanes active at the first level; packed threads fill warps."""
    strides = [2**k for k in range(8)]
    warps = {"neighbored": sum(256 // max(32, 2 * stride) for stride in strides)}
    warps["neighbored_less"] = sum(-(-stride // 32) for stride in strides)
    for rung, active in warps.items():
        got = first_pass(rung, 2**14)
        assert (got.merge_lanes, got.merge_requests) == (255 * got.blocks, active * got.blocks)
        assert got.active_lanes == 255 / active
    # An array on the device is counted in place: misaligned, it takes one more sector per request.
    x, requests = SimulatedArray(np.ones(2**12 + 1, np.float32)), 2**12 // 32
    for part, sectors in ((x[:-1], 4), (x[1:], 5)):
        got = gred.counters(part, method="shared_sequential").passes[0]
        assert got.global_load_requests == requests
        assert got.global_load_sectors == sectors * requests
        assert got.global_load_efficiency == 4 / sectors


def test_grids_are_those_of_the_gpu_that_is_counted_for():
    """A GPU's multiprocessor has 65,536 registers, a thread uses 40, and at most 32 blocks fit."""
    for count, blocks in ((1, 4), (8, 32), (132, 128)):
        assert first_pass("shuffle_vector", 2**20, multiprocessors=count).blocks == blocks
    for block, resident in ((32, 32), (128, 12), (256, 6), (1024, 1)):
        got = first_pass("cooperative", 2**20, block, multiprocessors=2)
        assert got.blocks == got.atomic_requests == 2 * resident


# ---- kernels with known accesses, compiled with the simulator only ----

EVENTS = ("global_load", "global_store", "shared_load", "shared_store")
ORDERS = ("forwards", "backwards", "shuffled")
TYPES = {1: "uint8_t", 4: "uint32_t", 8: "uint64_t", 16: "pack"}
NOBODY = -1


@pytest.fixture(scope="module")
def count(tmp_path_factory):
    """Run a kernel, and return an event's requests, lanes, sectors or wavefronts, and conflicts."""
    kernels = toy_kernels("counting.cpp", tmp_path_factory.mktemp("kernels"))

    def count(name, at, nbytes=4, *, event=None, order="forwards"):
        places, sums = (ctypes.c_int * len(at))(*at), (ctypes.c_uint64 * 4)()
        numbers = EVENTS.index(event or name), ORDERS.index(order)
        kernel = f"{name} {TYPES[nbytes]}".encode()
        assert kernels.count_kernel(kernel, len(at), places, *numbers, sums) == 0
        return tuple(sums)

    return count


def lanes(place):
    return [place(lane) for lane in range(32)]


def every(step, first=0):
    return lanes(lambda k: first + step * k)


def evenly(step, place=lambda k: k):
    """Make one of every `step` lanes active."""
    return lanes(lambda k: NOBODY if k % step else place(k))


# Bytes per lane, the lanes' words, wavefronts and conflicts of loads, and those of stores where
# Nsight Compute counts others on an H200. Loads of 8 and 16 bytes serve two lanes together if they
# have the same address.
WAVEFRONTS = [
    *[(4, every(step), (step, step - 1)) for step in (2, 8, 32)],
    *[(4, at, (1, 0)) for at in (every(1), every(-1, 31), every(1, 1), every(33), every(0, 5))],
    (4, lanes(lambda k: 32 * (k % 2)), (2, 1)),  # two words of a bank
    (1, every(1), (1, 0)),
    (8, every(1), (2, 0)),
    (8, lanes(lambda k: k if k < 16 else NOBODY), (1, 0)),
    (8, every(2), (4, 2)),
    (16, every(1), (4, 0)),
    (16, every(2), (8, 4)),
    (8, every(0, 5), (1, 0), (2, 0)),
    (8, lanes(lambda k: k // 2), (1, 0), (2, 0)),
    (8, lanes(lambda k: k % 16), (2, 0)),
    (8, evenly(2), (2, 1), (2, 0)),
    (8, evenly(2, lambda k: k // 2), (1, 0), (2, 0)),
    (8, lanes(lambda k: NOBODY if k & 8 else k), (2, 0)),
    (8, evenly(16, lambda k: 16 * k), (2, 1), (2, 0)),
    (16, every(0, 5), (2, 0), (4, 0)),
    (16, lanes(lambda k: k // 2), (2, 0), (4, 0)),
    (16, evenly(8), (4, 2), (4, 0)),
]


@pytest.mark.unsanitized
@pytest.mark.parametrize(("name", "place"), [("shared_load", 0), ("shared_store", -1)])
def test_wavefronts_are_what_the_busiest_bank_takes(count, name, place):
    for nbytes, at, *counts in WAVEFRONTS:
        active = sum(place != NOBODY for place in at)
        assert count(name, at, nbytes) == (1, active, *counts[place]), (nbytes, at)


# Kernel, the lanes' elements or numbers of turns, event, and the event's counts.
TOGETHER = [
    # Lane k loads the same element k times: turn t has the lanes from t + 1 on.
    ("turns", every(1), "global_load", (31, sum(range(32)), 7 * 4 + 8 * (3 + 2 + 1), 0)),
    # Turns are counted from the last barrier.
    ("again", every(0), "global_load", (2, 16 + 32, 2 + 4, 0)),
    # Accesses of different warps are never combined, not even in a bank.
    ("turns", [1] * 128, "global_load", (4, 128, 16, 0)),
    ("shared_load", [0] * 128, "shared_load", (4, 128, 4, 0)),
]


@pytest.mark.unsanitized
@pytest.mark.parametrize("order", ORDERS)
def test_lanes_of_a_warp_meet_at_the_same_turn_since_a_barrier(count, order):
    for name, at, event, counts in TOGETHER:
        assert count(name, at, event=event, order=order) == counts, name


LENGTHS = (1, 2, 31, 33, 255, 1000, 4097, 70_001)


@every_rung
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint64, np.float32, np.float64])
def test_what_is_counted_is_a_whole_sum(rung, dtype):
    """Rungs that do not write the array load each element once, at every length."""
    for n in chosen(LENGTHS, rung, dtype):
        x = (np.arange(n) % 7).astype(dtype)
        got = gred.counters(x, method=rung, block_size=64, dtype=dtype)
        assert got.result == x.sum()
        if rung in RUNGS[RUNGS.index("shared_modulo") : RUNGS.index("last_block")]:
            assert got.passes[0].global_load_nbytes == x.nbytes


@every_rung
def test_passes_are_those_of_the_real_launches_and_the_total_is_their_sum_and_the_lines(rung):
    """For any order of threads and pieces."""
    x = np.arange(70_001, dtype=np.int64) % 11
    got = gred.counters(x, method=rung, multiprocessors=1)
    steps = gred.explain(x, method=rung, device="simulated").steps
    steps = [step for step in steps if step.work.startswith("pass")]
    assert {got.block_size} == {step.block_size for step in steps}
    assert len(got.passes) == len(steps)
    if RUNGS.index(rung) < RUNGS.index("shared_grid_stride"):
        assert [one.blocks for one in got.passes] == [step.grid for step in steps]
    for name in gred.Counts._fields[:-1]:
        assert getattr(got.total, name) == sum(getattr(one, name) for one in got.passes)
    for event in (*EVENTS, "shuffle"):
        for counts in (*got.passes, got.total):
            requests = [line.requests for line in counts.lines if line.event == event]
            assert sum(requests) == getattr(counts, f"{event}_requests")
    assert len({line[:3] for line in got.total.lines}) == len(got.total.lines)
    for order, seed in (("backwards", 0), ("shuffled", 1)):
        with gred.thread_order(order, seed), gred.workspace_limit(2**18):
            assert gred.counters(x, method=rung, multiprocessors=1) == got


def test_lines_are_those_of_the_source_and_are_printed_as_a_table():
    got = gred.counters(np.ones(2**12, np.float32), method="neighbored")
    source = Path(__file__).parents[2] / "kernels"
    for line in got.total.lines:
        text = (source / line.file).read_text(encoding="utf-8").splitlines()[line.number - 1]
        assert {"block_barrier": "__syncthreads", "merge": "merge"}.get(line.event, "[") in text
    own = {line.event for line in got.total.lines if line.file == "ladder/01_neighbored.cuh"}
    events = {"global_load", "dependent_global_load", "global_store", "merge", "block_barrier"}
    assert own == events
    shown = repr(gred.counters(np.ones(2**12, np.float32), method="shared_modulo"))
    title = "sum of 4,096 float32, as float32, by shared_modulo, blocks of 256"
    assert all(words in shown for words in (title, "128, 512, 100%", "1,520, 0"))


# ---- recorded accesses ----

IN_PLACE = RUNGS[: RUNGS.index("shared_modulo")]
# The last block, and what an atomic operation reads, depend on the order of blocks.
ONE_BLOCK = ("atomic", "last_block", "bulk", "cluster")


def told(x, rung, block=32):
    return gred.accesses(x, method=rung, block_size=block)


def blocks_of(x, rung, block=32):
    return steps.blocks(told(x, rung, block).passes[0])


@pytest.mark.parametrize(
    "x",
    [np.ones(701, np.int32), np.ones(701), SimulatedArray(np.ones(702, np.float32))[1:]],
    ids=["int32-in-int64", "float64", "misaligned"],
)
@every_rung
def test_accesses_and_requests_are_those_that_are_counted(rung, x):
    launches = told(x, rung, 64).passes
    counted = gred.counters(x, method=rung, block_size=64).passes
    for launch, counts in zip(launches, counted, strict=True):
        lanes = Counter(access.event for access in launch.accesses)
        requests = [r for b in steps.blocks(launch) for step in b.steps for r in step.requests]
        found = {f"{event}_lanes": lanes[event] for event in ("atomic", "shuffle", "merge")}
        for event in (*EVENTS, "bulk_copy"):
            found[f"{event}_nbytes"] = sum(a.nbytes for a in launch.accesses if a.event == event)
        for event in EVENTS:
            some = [request for request in requests if request.event == event]
            found[f"{event}_lanes"], found[f"{event}_requests"] = lanes[event], len(some)
            transfers = "sectors" if event.startswith("global") else "wavefronts"
            found[f"{event}_{transfers}"] = sum(r.transfers for r in some)
            if event.startswith("shared"):
                found[f"{event}_conflicts"] = sum(r.conflicts for r in some)
        assert found == {name: getattr(counts, name) for name in found}
        assert launch.blocks == counts.blocks
        loaded = [value for a in launch.accesses if a.event == "global_load" for value in a.values]
        assert {*map(type, loaded)} <= {int if x.dtype.kind == "i" else float}
        lines = {(line.file, line.number, line.event) for line in counts.lines}
        lines = {line for line in lines if line[2] != "dependent_global_load"}  # a count of several
        assert {(access.file, access.number, access.event) for access in launch.accesses} == lines


def test_what_is_shown_says_what_was_reduced_by_and_no_more_than_can_be_read():
    for ask in (gred.counters, gred.accesses):
        shown = ask([1.0, 2.0], "mean", method="shuffle", block_size=32)
        assert repr(shown).startswith("mean of 2 float64")
    assert "mean of 2 float64 in blocks of 32 threads: 1.5" in shown.svg()
    many = told(np.ones(1000), "shuffle").passes[0].accesses
    few = type(many)(many[:90])
    assert len(repr(few).splitlines()) == few._repr_html_().count("<tr>") == 1 + len(few)
    assert many._repr_html_().count("<tr>") == 101
    for shown in (repr(many), many._repr_html_()):
        assert f"and {len(many) - 100:,} more" in shown


@every_rung
def test_every_element_is_read_and_is_what_the_array_holds_in_every_order_of_threads(rung):
    n, read = 256 if rung in ONE_BLOCK else 702, {}
    x = np.arange(1, n + 1, dtype=np.int32)
    want = told(x, rung, 64)
    assert want.result == x.sum()
    for access in want.passes[0].accesses:
        if access.event in ("global_load", "bulk_copy") and access.memory == "array":
            for k, value in enumerate(access.values):
                read.setdefault(access.element + k, []).append(value)
    assert {k: values[0] for k, values in read.items()} == dict(enumerate(range(1, n + 1)))
    assert rung in IN_PLACE or set(map(len, read.values())) == {1}
    for order in ("backwards", "shuffled"):
        with gred.thread_order(order, 1):
            assert repr(got := told(x, rung, 64)) == repr(want)
            assert got == want


def bits(n):
    """Return powers of two: a sum shows which of them it includes, and any duplicate."""
    return 1 << np.arange(n, dtype=np.int64)


@every_rung
def test_useful_values_are_sums_of_all_elements_once(rung):
    """Sums have the announced number of terms, and the first reads cover every element."""
    first_reads = []
    for block in blocks_of(bits(60), rung):
        useful = [n for step in block.steps for n in step.nodes.values() if n.useful]
        sums = [node for node in useful if not node.copies]
        assert sums
        assert [node.value.bit_count() for node in sums] == [node.terms for node in sums]
        first_reads += [e for node in useful for e in node.reads if e.memory == "array"]
        first_reads += [array for node in useful for array, _ in node.copies]
    assert {e.number for e in first_reads if e.value == 1 << e.number} == set(range(60))


def test_steps_are_parted_by_barriers_and_values_that_are_no_numbers_fold_as_well():
    (block,) = blocks_of(bits(60), "shared_last_warp", 64)
    barriers = [step.barriers for step in block.steps]
    assert barriers == [(), ("__syncthreads()",), *[("__syncwarp()",)] * 6]
    (block,) = blocks_of(np.array([1.0, np.nan, 3.0, -0.0]), "interleaved")
    last = block.steps[-1].nodes[0]
    assert np.isnan(last.value)
    assert (last.own.terms, last.terms) == (2, 4)


def test_more_than_can_be_recorded_is_refused():
    with pytest.raises(ValueError, match="16385 elements, too many to record each access"):
        gred.accesses(np.ones(2**14 + 1))
    x = np.ones(1000, np.int32)
    options = {"method": "neighbored", "block_size": 64, "device": "simulated"}
    for room in (1, 999):
        with pytest.raises(RuntimeError, match="too many accesses to record individually"):
            _core.counters(x, **options, multiprocessors=1, room=room)
    assert told(x, "neighbored", 64).result == 1000


@every_rung
def test_one_element_is_recorded(rung):
    record = told(np.array([7]), rung)
    assert record.result == 7
    reads = [a for one in record.passes for a in one.accesses if a.event == "global_load"]
    assert all(access.values == (7,) for access in reads)
    assert bool(reads) == (rung != "halving")
    assert record.svg().startswith("<svg")
