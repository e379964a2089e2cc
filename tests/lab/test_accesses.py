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
        for event in (*MEMORY_EVENTS, "bulk_copy"):
            found[f"{event}_nbytes"] = sum(a.nbytes for a in launch.accesses if a.event == event)
        for event in MEMORY_EVENTS:
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
        lines = {line for line in lines if line[2] != "dependent_global_load"}  # made of several
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


# ---- steps ----


def bits(n):
    """Give powers of two: a sum of some says of which, and a second of the same would show."""
    return 1 << np.arange(n, dtype=np.int64)


@every_rung
def test_useful_values_are_sums_of_all_elements_once(rung):
    """Of as many as is said; and exactly the tree: as many are read from as merges need."""
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
    with pytest.raises(ValueError, match="16385 elements: too many to record accesses one by"):
        gred.accesses(np.ones(2**14 + 1))
    x = np.ones(1000, np.int32)
    options = {"method": "neighbored", "block_size": 64, "device": "simulated"}
    for room in (1, 999):
        with pytest.raises(RuntimeError, match="too many accesses to record one by one"):
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
