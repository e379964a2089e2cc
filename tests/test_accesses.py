"""gred.accesses records what threads do one by one, and steps are made of it."""

from collections import Counter

import numpy as np
import pytest

import gred
from gred import _core
from gred.drawing import steps
from gred.testing import SimulatedArray

RUNGS = [m.name for m in gred.methods() if m.number is not None]
IN_PLACE = RUNGS[: RUNGS.index("shared_modulo")]
every_rung = pytest.mark.parametrize("rung", RUNGS)
# Which block is the last, and what an atomic finds, depends on the order of blocks.
ONE_BLOCK = ("atomic", "last_block", "bulk", "cluster")
MEMORY_EVENTS = ("global_load", "global_store", "shared_load", "shared_store")


def bits(n):
    """Give powers of two: a sum of some says of which, and a second of the same would show."""
    return 1 << np.arange(n, dtype=np.int64)


def recorded(rung, n=200, block=64, dtype=np.int32, **options):
    x = np.arange(1, n + 1).astype(dtype)
    return gred.accesses(x, method=rung, block_size=block, **options)


def told_and_counted(rung, dtype):
    x, options = np.ones(701, dtype), {"method": rung, "block_size": 64}
    return gred.accesses(x, **options), gred.counters(x, **options)


# ---- records ----


@pytest.mark.parametrize("dtype", [np.int32, np.float64], ids=["int32-in-int64", "float64"])
@every_rung
def test_accesses_are_those_that_are_counted(rung, dtype):
    told, counted = told_and_counted(rung, dtype)
    assert len(told.passes) == len(counted.passes)
    for launch, counts in zip(told.passes, counted.passes, strict=True):
        lanes = Counter(access.event for access in launch.accesses)
        for event in (*MEMORY_EVENTS, "atomic", "shuffle", "merge"):
            assert lanes[event] == getattr(counts, f"{event}_lanes")
        for event in MEMORY_EVENTS:
            nbytes = sum(access.nbytes for access in launch.accesses if access.event == event)
            assert nbytes == getattr(counts, f"{event}_nbytes")
        assert launch.blocks == counts.blocks
        copied = sum(a.nbytes for a in launch.accesses if a.event == "bulk_copy")
        assert copied == counts.bulk_copy_nbytes
        lines = {(line.file, line.number, line.event) for line in counts.lines}
        lines = {line for line in lines if line[2] != "dependent_global_load"}  # made of several
        assert {(access.file, access.number, access.event) for access in launch.accesses} == lines


@pytest.mark.parametrize("dtype", [np.int32, np.float64], ids=["int32-in-int64", "float64"])
@every_rung
def test_requests_of_steps_cost_what_is_counted(rung, dtype):
    told, counted = told_and_counted(rung, dtype)
    for launch, counts in zip(told.passes, counted.passes, strict=True):
        of_all = [step for block in steps.blocks(launch) for step in block.steps]
        requests = [request for step in of_all for request in step.requests]
        for event in MEMORY_EVENTS:
            of_event = [request for request in requests if request.event == event]
            transfers = "sectors" if event.startswith("global") else "wavefronts"
            assert len(of_event) == getattr(counts, f"{event}_requests")
            assert sum(r.transfers for r in of_event) == getattr(counts, f"{event}_{transfers}")
            assert sum(r.conflicts for r in of_event) == getattr(counts, f"{event}_conflicts", 0)


def test_what_is_shown_says_what_was_reduced_by():
    told = gred.accesses([1.0, 2.0], "mean", method="shuffle", block_size=32)
    counted = gred.counters([1.0, 2.0], "mean", method="shuffle", block_size=32)
    assert (told.op, counted.op) == ("mean", "mean")
    assert repr(told).startswith("mean of 2 float64")
    assert repr(counted).startswith("mean of 2 float64")
    assert "mean of 2 float64 in blocks of 32 threads: 1.5" in told.svg()


def test_a_launch_prints_no_more_than_can_be_read():
    small, large = (
        gred.accesses(np.ones(n), method="shuffle", block_size=32).passes[0] for n in (1, 1000)
    )
    first = small.accesses[:90]
    few, many = type(small.accesses)(first), large.accesses
    assert len(repr(few).splitlines()) == 1 + len(few)
    assert few._repr_html_().count("<tr>") == 1 + len(few)
    assert repr(large).splitlines()[:3] == repr(many).splitlines()[:3]
    assert repr(large).endswith(f"\nand {len(many) - 100:,} more")
    assert large._repr_html_().count("<tr>") == 101
    assert f"and {len(many) - 100:,} more" in large._repr_html_()


def test_a_misaligned_array_is_recorded_where_it_lies():
    x = SimulatedArray(np.ones(2**10 + 1, np.float32))[1:]
    told = gred.accesses(x, method="shared_sequential", block_size=256)
    counted = gred.counters(x, method="shared_sequential", block_size=256)
    requests = [r for b in steps.blocks(told.passes[0]) for s in b.steps for r in s.requests]
    sectors = sum(r.transfers for r in requests if r.event == "global_load")
    assert sectors == counted.passes[0].global_load_sectors == 2**10 // 8 + 2**10 // 32


@every_rung
def test_the_order_of_threads_changes_nothing(rung):
    n = 256 if rung in ONE_BLOCK else 500
    want = recorded(rung, n)
    assert want.result == n * (n + 1) // 2
    for order, seed in (("backwards", 0), ("shuffled", 1)):
        with gred.thread_order(order, seed):
            got = recorded(rung, n)
        assert got == want
        assert repr(got) == repr(want)


@every_rung
def test_every_element_is_read_and_is_what_the_array_holds(rung):
    n = 702
    first = recorded(rung, n).passes[0]
    read = {}
    for access in first.accesses:
        if access.event in ("global_load", "bulk_copy") and access.memory == "array":
            for k, value in enumerate(access.values):
                read.setdefault(access.element + k, []).append(value)
    assert sorted(read) == list(range(n))
    if rung not in IN_PLACE:
        assert read == {k: [k + 1] for k in range(n)}
    assert all(values[0] == k + 1 for k, values in read.items())


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint64", "float32", "float64"])
@pytest.mark.parametrize("rung", ["unroll2", "shuffle_vector"])
def test_values_have_the_arrays_type(rung, dtype):
    x = np.arange(3, 131).astype(dtype)
    told = gred.accesses(x, method=rung, block_size=32, dtype=dtype)
    loads = [a for a in told.passes[0].accesses if a.event == "global_load"][:8]
    for access in loads:
        span = slice(access.element, access.element + len(access.values))
        assert list(access.values) == x[span].tolist()
        assert {type(value) for value in access.values} == {type(x[0].item())}


def test_a_shuffle_names_its_lane_and_what_is_given():
    told = gred.accesses(bits(32), method="shuffle", block_size=32)
    first = [a for a in told.passes[0].accesses if a.event == "shuffle" and a.interval == 1]
    assert [a.source for a in first] == [*range(16, 32), *range(16, 32)]
    assert [a.values for a in first] == [(1 << lane,) for lane in range(32)]


def test_tickets_are_told_in_the_order_of_blocks():
    told = gred.accesses(np.ones(3 * 64 * 32, np.int32), method="last_block", block_size=64)
    drawn = [(a.block, a.values) for a in told.passes[0].accesses if a.event == "atomic"]
    assert drawn == [(0, (1,)), (1, (2,)), (2, (0,))]
    assert {a.block for a in told.passes[0].accesses if a.memory == "partials" and a.values} >= {2}


def test_a_bulk_copy_tells_where_it_goes():
    told = gred.accesses(np.arange(64, dtype=np.int32), method="bulk", block_size=32)
    copies = [a for a in told.passes[0].accesses if a.event == "bulk_copy"]
    assert [(a.thread, a.memory, a.element, a.source) for a in copies] == [
        (0, "array", k, k) for k in range(0, 64, 4)
    ]
    assert [value for a in copies for value in a.values] == list(range(64))
    loads = [a for a in told.passes[0].accesses if a.event == "shared_load" and a.nbytes == 16]
    assert [value for a in loads for value in a.values] == list(range(64))


def test_a_store_to_another_blocks_shared_memory_names_it():
    told = gred.accesses(np.arange(600), method="cluster", block_size=32)
    stores = [a for a in told.passes[0].accesses if a.source is not None and a.event != "shuffle"]
    assert [(a.block, a.event, a.element, a.source) for a in stores] == [
        (1, "shared_store", 1, 0),
        (2, "shared_store", 2, 0),
    ]
    (first, *_) = steps.blocks(told.passes[0])
    read = [e for s in first.steps for n in s.nodes.values() for e in n.reads]
    read = {e.number: e.value for e in read if e.memory == "shared"}
    assert {1: stores[0].values[0], 2: stores[1].values[0]}.items() <= read.items()


def test_an_atomic_tells_what_it_leaves():
    told = gred.accesses(np.ones(3 * 64 * 32, np.int32), method="atomic", block_size=64)
    left = [a.values[0] for a in told.passes[0].accesses if a.event == "atomic"]
    assert len(left) == told.passes[0].blocks > 1
    assert np.diff([0, *left]).tolist() == [64 * 32] * 3
    assert left[-1] == told.result


# ---- steps ----


def tree(near):
    """List, level by level, what 32 elements fold to: by index the set of bits, as a number."""
    levels = []
    for k in range(5):
        apart = 2**k if near else 16 >> k
        count = 2 ** (k + 1)
        firsts = range(0, 32, 2 * apart) if near else range(apart)
        levels.append(
            {i: sum(1 << i + j * (1 if near else apart) for j in range(count)) for i in firsts}
        )
    return levels


@pytest.mark.parametrize(
    ("rung", "near", "loading"),
    [
        ("neighbored", True, 0),
        ("neighbored_less", True, 0),
        ("interleaved", False, 0),
        ("shared_modulo", True, 1),
        ("shared_strided", True, 1),
        ("shared_sequential", False, 1),
    ],
)
def test_values_fold_as_arithmetic_says(rung, near, loading):
    """Every step writes the sums of a level of the tree, each made of the elements that it has."""
    (block,) = steps.blocks(gred.accesses(bits(32), method=rung, block_size=32).passes[0])
    folds = block.steps[loading : loading + 5]
    for step, sums in zip(folds, tree(near), strict=True):
        nodes = [node for node in step.nodes.values() if node.merges]
        memory = "shared" if loading else "array"
        written = {e.number: e.value for n in nodes for e in n.writes if e.memory == memory}
        assert written == sums
        assert [node.terms for node in nodes] == [2 * 2**k for k in [folds.index(step)]] * len(
            nodes
        )
    everything = 2**32 - 1
    assert [e.value for n in block.steps[-1].nodes.values() for e in n.writes][-1] == everything


@every_rung
def test_a_value_is_the_sum_of_as_many_elements_as_it_is_said_to_be(rung):
    for launch in gred.accesses(bits(60), method=rung, block_size=32).passes[:1]:
        for block in steps.blocks(launch):
            nodes = [n for step in block.steps for n in step.nodes.values()]
            nodes = [node for node in nodes if node.useful and not node.copies]
            assert nodes
            for node in nodes:
                assert node.value.bit_count() == node.terms


@every_rung
def test_what_is_useful_comes_from_all_elements_once(rung):
    """Exactly the tree: nodes that are read from are as many as merges need."""
    n = 60
    (launch, *_) = gred.accesses(bits(n), method=rung, block_size=32).passes
    useful = [
        node
        for block in steps.blocks(launch)
        for step in block.steps
        for node in step.nodes.values()
        if node.useful
    ]
    first_reads = [e for node in useful for e in node.reads if e.memory == "array"]
    first_reads += [array for node in useful for array, _ in node.copies]
    untouched = {e.number for e in first_reads if e.value == 1 << e.number}
    assert untouched == set(range(n))


def test_lanes_that_work_in_vain_are_told():
    (block,) = steps.blocks(gred.accesses(bits(32), method="shuffle", block_size=32).passes[0])
    levels = block.steps[1:6]
    assert [len(step.nodes) for step in levels] == [32] * 5
    assert [sum(n.useful for n in step.nodes.values()) for step in levels] == [16, 8, 4, 2, 1]
    for step, offset in zip(levels, (16, 8, 4, 2, 1), strict=True):
        for node in step.nodes.values():
            if node.useful:
                assert node.own.thread == node.thread
                assert node.lane.thread == node.thread + offset


def test_steps_are_parted_by_the_barriers_of_the_source():
    (block,) = steps.blocks(
        gred.accesses(bits(60), method="shared_last_warp", block_size=64).passes[0]
    )
    told = [step.barriers for step in block.steps]
    assert told == [(), ("__syncthreads()",), *[("__syncwarp()",)] * 6]


# ---- what cannot be ----


def test_more_elements_than_can_be_recorded_are_refused():
    with pytest.raises(ValueError, match="16385 elements: too many to record accesses one by"):
        gred.accesses(np.ones(2**14 + 1))


def test_more_accesses_than_there_is_room_for_end_the_run():
    x = np.ones(1000, np.int32)
    options = {"method": "neighbored", "block_size": 64, "device": "simulated"}
    for room in (1, 999):
        with pytest.raises(RuntimeError, match="too many accesses to record one by one"):
            _core.counters(x, **options, multiprocessors=1, room=room)
    assert gred.accesses(x, method="neighbored", block_size=64).result == 1000


def test_values_that_are_no_numbers_fold_as_well():
    x = np.array([1.0, np.nan, 3.0, -0.0])
    (block,) = steps.blocks(gred.accesses(x, method="interleaved", block_size=32).passes[0])
    last = block.steps[-1].nodes[0]
    assert np.isnan(last.value)
    assert (last.own.terms, last.terms) == (2, 4)


@every_rung
def test_one_element_is_recorded(rung):
    told = gred.accesses(np.array([7]), method=rung, block_size=32)
    assert told.result == 7
    reads = [a for one in told.passes for a in one.accesses if a.event == "global_load"]
    assert all(access.values == (7,) for access in reads)
    assert bool(reads) == (rung != "halving")
    assert told.svg().startswith("<svg")
