"""Schedules of runs on devices, as data, tested without any device.

Schedules for imaginary arrays and devices, of every method, reduction, layout and length, meet the
requirements of hardware and kernels; the default is the fastest.
"""

import itertools
import json
import re
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
from devices import everywhere, laid_out
from forcing import CONFIGURATIONS, forced
from inputs import DATA_BLOCKS, methods_on
from reference import agrees, truth

import gred
from gred import _testing

GRID_MAX = 2**31 - 1
SHARED_MAX = 48 * 2**10
STAGES = 2**15  # bytes of the ring for bulk copies
WARPS_MAX = 32  # in a block
ALIGNMENT = 256
PIECE_MIN = 4096
UPLOAD_BYTES = 2**24
NO_LIMIT = 2**64 - 1
MULTIPROCESSORS, RESIDENT = 132, 2

GRID_STRIDE = ("shared_grid_stride", "shuffle", "shuffle_vector")
CLUSTER_MAX = 8  # blocks in a cluster that every GPU supports
ONE_LAUNCH = ("atomic", "last_block", "cooperative", "bulk", "cluster")
GROWING = ("halving", *DATA_BLOCKS)
RUNGS = (*GROWING, *GRID_STRIDE, *ONE_LAUNCH)
THREADS = dict.fromkeys(("shared_grid_stride", "shuffle"), 2048)  # per multiprocessor; others 1024

LENGTHS = (1, 2, 33, 4097, 123_457, 2**33 + 7, 2**46)
BLOCKS_AND_LIMITS = ((32, NO_LIMIT), (1024, 2**20), (32, 1))
KINDS = (("int32", "int64", True), ("float32", "float32", True), ("int8", "float64", False))
DOUBLES = ("float64", "float64", True)
MASKED, HOSTS, BY_HOST = {"layout": "masked"}, {"on_device": False}, {"mask_on_device": False}
LAYOUTS = {
    "flat": {},
    "strided": {"layout": "strided"},
    "masked": MASKED,
    "masked by the host": MASKED | BY_HOST,
    "the host's": HOSTS,
    "the host's, strided": {"layout": "strided"} | HOSTS,
    "the host's, masked": MASKED | HOSTS | BY_HOST,
}
every_layout = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
every_rung = pytest.mark.parametrize("method", RUNGS)
FOLDED_BY_ONE_METHOD = ("any", "argmin", "argmax", "var", "ptp", "nansum", "norm", "describe")

Step = namedtuple("Step", "when work grid block shared cluster cooperative n reads writes")
Row = namedtuple("Row", "form accumulator state_bytes pieces piece steps parts total result")


class Schedule(Row):
    def holds(self, part):
        return self.parts[part][1]

    def chain(self, when):
        return [step for step in self.steps if step.when == when]


def schedule(method, n, kind=KINDS[0], reduction="sum", layout="flat", **options):
    input_, accumulator, direct = kind
    options = {"multiprocessors": MULTIPROCESSORS, "resident": RESIDENT, **options}
    names = reduction, method, input_, accumulator, layout
    row = Row(*_testing.schedule(*names, n=n, direct=direct, **options))
    parts = {name: (at, n) for name, at, n in row.parts}
    return Schedule(*row._replace(steps=[Step(*step) for step in row.steps], parts=parts))


# ---- requirements for every schedule ----


def check_launch(step, method):
    a_pass = step.work == "pass"
    assert 1 <= step.grid <= GRID_MAX
    assert 1 <= step.block <= 1024
    assert step.shared <= SHARED_MAX
    assert step.cooperative == (method == "cooperative" and a_pass)
    assert 1 <= step.cluster <= (CLUSTER_MAX if method == "cluster" and a_pass else 1)
    assert step.grid % step.cluster == 0
    if method not in GROWING and a_pass:
        resident = max(1, THREADS.get(method, 1024) // step.block)
        resident = RESIDENT if method == "cooperative" else resident
        assert step.grid <= MULTIPROCESSORS * resident


def check_pass(plan, step, method):
    """Every element has a thread, and every block's state has room."""
    if method == "halving":
        assert step.grid * step.block >= step.n // 2
    elif method in DATA_BLOCKS:
        assert step.grid * step.block * DATA_BLOCKS[method] >= step.n
    states = 1 if method in ("halving", "atomic", "cub") else step.grid
    assert plan.holds(step.writes) >= states * plan.state_bytes
    assert step.reads != step.writes or method == "halving"
    if step.reads not in ("array", "uploaded piece", "working copy"):
        assert plan.holds(step.reads) >= step.n * plan.state_bytes


def check_chain(plan, when, size, method):
    """Follow the steps from `size` elements, or pieces' results, to one state."""
    left = size
    for step in plan.chain(when):
        if step.work != "library":
            check_launch(step, method)
        if step.work == "copy":
            assert step.n == size
        else:
            assert step.n == left
            check_pass(plan, step, method)
            left = step.n - step.n // 2 if method == "halving" else step.grid
            if method in ONE_LAUNCH or step.work == "library":
                left = 1
    assert left == 1


def check_memory(plan, n, given):
    """Parts of the workspace do not overlap, and have room for the pieces."""
    end = 0
    for at, nbytes in sorted(plan.parts.values()):
        assert at % ALIGNMENT == 0
        assert at >= end
        assert nbytes > 0
        end = at + nbytes
    assert end <= plan.total
    assert plan.pieces * plan.piece >= n > (plan.pieces - 1) * plan.piece
    least = {
        "uploaded piece": min(2, plan.pieces) * plan.piece * np.dtype(given).itemsize,
        "mask": min(n, min(2, plan.pieces) * plan.piece),
        "working copy": plan.piece * np.dtype(plan.accumulator).itemsize,
        "working copy's mask": plan.piece,
    }
    if plan.pieces > 1:
        least["results of pieces"] = plan.pieces * plan.state_bytes
        assert "results of pieces" in plan.parts
    for part in least.keys() & plan.parts.keys():
        assert plan.holds(part) >= least[part]


def check(plan, n, method, given, limit=NO_LIMIT):
    check_memory(plan, n, given)
    grows = {"uploaded piece", "working copy"} & plan.parts.keys()
    grows = grows or method in (*DATA_BLOCKS, *GRID_STRIDE)
    assert plan.total <= limit or plan.piece <= PIECE_MIN or not grows
    check_chain(plan, "piece", plan.piece, method)
    if plan.pieces > 1:
        last = n - (plan.pieces - 1) * plan.piece
        if last != plan.piece:
            check_chain(plan, "last piece", last, method)
        check_chain(plan, "results", plan.pieces, method)


REDUCED = [(method, "sum") for method in (*RUNGS, "cub")]
REDUCED += [("last_block", reduction) for reduction in FOLDED_BY_ONE_METHOD]


@every_layout
@pytest.mark.parametrize(("method", "reduction"), REDUCED)
def test_every_schedule_reduces_all_elements_in_memory_of_its_own(method, reduction, layout):
    """States of any size fit their buffers; grids that grow with the array stay within limits."""
    assert set(RUNGS) == set(methods_on("simulated"))
    kinds = KINDS if reduction == "sum" else (DOUBLES, KINDS[2])
    for n, (block, limit), kind in itertools.product(LENGTHS, BLOCKS_AND_LIMITS, kinds):
        if method in GROWING and n // (block * DATA_BLOCKS.get(method, 1)) >= GRID_MAX:
            continue
        options = {"limit": limit, **({} if method == "cub" else {"block_size": block})}
        plan = schedule(method, n, kind, reduction, **options, **layout)
        check(plan, n, method, kind[0], limit)
        if reduction != "sum":
            passes = [step for step in plan.chain("piece") if step.work == "pass"]
            assert all(step.shared >= WARPS_MAX * plan.state_bytes for step in passes)
        if method == "cub":  # the library gets only what it supports
            taken = kind[0] == kind[1] and plan.form == "flat"
            assert ("working copy" in plan.parts) == (not taken)


def test_partials_suffice_where_a_later_kernel_has_more_blocks():
    """Two blocks of the kernel that merges pieces' results fit where one of the first did."""
    few = {"block_size": 32, "multiprocessors": 1, "resident": 1, "resident_again": 8, "limit": 1}
    plan = schedule("cooperative", 2**24, on_device=False, **few)
    (first,), (merging,) = plan.chain("piece"), plan.chain("results")
    assert first.grid < merging.grid
    assert plan.holds(merging.writes) >= merging.grid * plan.state_bytes


@every_rung
def test_only_grids_that_grow_with_the_array_have_an_end(method):
    if method not in GROWING:
        assert schedule(method, 2**46, block_size=32, layout="strided").pieces == 1
        return
    with pytest.raises(ValueError, match=r"70368744177664 elements .* larger block_size"):
        schedule(method, 2**46, block_size=32, layout="strided")
    longest = GRID_MAX * 1024 * DATA_BLOCKS.get(method, 1)
    check(schedule(method, longest - 1, block_size=1024), longest - 1, method, "int32")
    with pytest.raises(ValueError, match="larger block_size"):
        schedule(method, longest, block_size=1024)


@pytest.mark.parametrize("kind", [*KINDS, DOUBLES])
@every_rung
def test_a_long_host_array_comes_in_pieces_whatever_memory_there_is(method, kind):
    """GPU memory for it, and thus a call's allocation, does not grow with the array."""
    piece = UPLOAD_BYTES // np.dtype(kind[0]).itemsize
    for n, pieces in ((piece, 1), (piece + 1, 2), (1000 * piece, 1000)):
        plan = schedule(method, n, kind, on_device=False, block_size=1024)
        check(plan, n, method, kind[0])
        assert (plan.pieces, plan.piece) == (pieces, min(n, piece))
        assert schedule(method, n, kind, block_size=1024).pieces == 1
    for n, limit in ((10**6, 1), (10**8, NO_LIMIT)):  # a measurement uses the whole array
        plan = schedule(method, n, on_device=False, limit=limit, whole=True)
        assert (plan.pieces, plan.piece) == (1, n)


def test_nothing_needs_one_state_and_no_workspace_is_too_large_to_be_told():
    """Sizes saturate at the largest number instead of wrapping around."""
    for method in RUNGS:
        plan = schedule(method, 0)
        assert (plan.steps, plan.total) == ([], plan.state_bytes)
    for n in (2**60, 2**61, 2**62, 2**63, 2**64 - 1):
        plan = schedule("shuffle", n, kind=DOUBLES, on_device=False, whole=True)
        assert plan.total >= min(8 * n, 2**64 - 1)


BLOCK_MOST = 2**29  # elements in a block, so that no word of its sum overflows
CARRYING_BYTES = 2**12


@every_layout
@pytest.mark.parametrize("block", [32, 64, 128, 256, 512])
@pytest.mark.parametrize("kind", ["float32", "float64", "complex64", "complex128"])
def test_exact_sums_are_of_no_more_elements_than_words_hold(kind, block, layout):
    for n in LENGTHS:
        plan = schedule("last_block", n, (kind, kind, True), block_size=block, exact=True, **layout)
        check_memory(plan, n, kind)
        assert plan.piece <= MULTIPROCESSORS * 1024 // block * BLOCK_MOST
        assert plan.holds("partials") == plan.state_bytes <= CARRYING_BYTES
        assert plan.holds("tickets") > plan.state_bytes
        for step in plan.steps:
            assert step.shared <= SHARED_MAX
            assert step.grid <= max(1, MULTIPROCESSORS * 1024 // block) or step.work != "pass"
        assert [step.grid for step in plan.chain("results")] == [1] * (plan.pieces > 1)
    # A sum with an initial value needs more digits than words have, and a warp of its own.
    for n, more in ((0, {}), (1000, {"initial": True})):
        options = {"exact": True, "out": True, **more}
        [step] = schedule("last_block", n, (kind, kind, True), **options).chain("end")
        assert (step.work, step.grid, step.block) == ("finish", 1, 32)
        assert 134 * 8 < step.shared <= SHARED_MAX


# ---- choices, also for imaginary devices ----


@everywhere
@pytest.mark.parametrize("name", CONFIGURATIONS["tuning"])
def test_every_shape_is_launched_and_right(place, name):
    block, elements = CONFIGURATIONS["tuning"][name]["shape"]
    with forced("tuning", name):
        a = laid_out(np.ones(block * elements * 2, np.float32), place)
        step = gred.explain(a, "sum").steps[0]
        assert (step.block_size, step.grid) == (block, 2)
        assert gred.explain(a, "sum", method="last_block").steps[0].block_size == 512
        for n in (1, 31, 1025, 4099, 40_001):
            whole = np.random.default_rng(n).integers(-9, 10, 2 * n)
            for dtype in ("int8", "float16", "float32", "int64", "complex128"):
                x = whole.astype(dtype)
                for view in (x[:n], x[::2]):
                    a = laid_out(view, place)
                    assert agrees(gred.sum(a), truth("sum", view)), (n, dtype)
                    assert gred.argmax(a) == np.argmax(view)
                    assert gred.count_nonzero(a) == np.count_nonzero(view)


@pytest.mark.parametrize("method", ["bulk", "cluster"])
@pytest.mark.parametrize("n", [0, 1000])
def test_what_older_gpus_lack_is_refused_by_name(method, n):
    for capability, shown in ((75, "7.5"), (80, "8.0"), (89, "8.9")):
        needed = f"^method '{method}' needs a GPU of compute capability 9.0 or later"
        with pytest.raises(RuntimeError, match=f"{needed}; this one has {shown}$"):
            schedule(method, n, capability=capability)
        schedule("last_block", n, capability=capability)
    for capability in (0, 90, 100, 121):
        schedule(method, n, capability=capability)
    with pytest.raises(RuntimeError, match=r"9\.0 or later, and gred was built for earlier"):
        schedule(method, 1000, capability=90, compiled=False)


def first_pass(dtype, nbytes, accumulator=None, **options):
    """Return the default's first launch, by default on a GPU of compute capability 9.0."""
    accumulator = accumulator or ("int64" if dtype.startswith("int") else dtype)
    options = {"automatic": True, "capability": 90, **options}
    n = nbytes // np.dtype(dtype).itemsize
    plan = schedule("last_block", n, (dtype, accumulator, True), **options)
    return next(step for step in plan.steps if step.work == "pass")


def test_the_default_is_the_rung_that_is_fastest_on_the_device():
    def is_bulk(*arguments, **options):
        return first_pass(*arguments, **options).shared > STAGES

    n = 2**32
    for dtype in ("float32", "int32"):
        assert [is_bulk(dtype, size) for size in (2**16, 2**29, n)] == [False, False, True]
    for kind in (("int8", n, "int64"), ("int32", n, "float64"), ("complex64", n)):
        assert not is_bulk(*kind)
    for other in (
        *({"capability": 80}, {"capability": 0}, {"automatic": False}),
        *({"layout": "strided"}, {"reduction": "argmax"}, {"on_device": False}),
    ):
        assert not is_bulk("float32", n, **other)
    for block in (32, 256, 1024):  # the ring fits every block's shared memory
        (step,) = schedule("bulk", 2**40, block_size=block).chain("piece")
        assert STAGES < step.shared <= SHARED_MAX


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("capability", [0, 75, 90])
def test_little_is_the_work_of_one_block_and_more_of_more(dtype, capability):
    launches = [
        first_pass(dtype, 1024 * kibibytes, capability=capability)
        for kibibytes in (1, 16, 512, 1024, 4096, 64 * 1024)
    ]
    assert {(step.block, step.grid) for step in launches[:2]} == {(256, 1)}
    blocks = [step.block * step.grid for step in launches]
    assert blocks == sorted(blocks)
    assert launches[2].grid >= (32 if capability == 90 else 2)


ROOT = Path(__file__).parents[2]
# Measurements behind tables in schedule/schedule.c, schedule/passes.c and run/execute_keys.c, the
# host's loops and launch configurations, rather than behind constants.
OF_TABLES = {"whole_arrays", "host", "cases", "selection"}


def test_every_constant_names_a_measurement_which_is_a_table_and_every_measurement_is_named():
    text = (ROOT / "csrc/schedule/tuning.def").read_text()
    constants = re.findall(r'^[A-Z_]+\(\w+, [^"]*, "([\w/]+)"\)', text, re.MULTILINE)
    measured = {
        f"{path.stem}/{name}": entry
        for path in (ROOT / "benchmarks/tuning").glob("*.json")
        for name, entry in json.loads(path.read_text())["entries"].items()
    }
    assert len(constants) > 30
    assert {*constants} <= measured.keys()
    assert {entry.split("/")[0] for entry in measured.keys() - {*constants}} <= OF_TABLES
    for name, entry in measured.items():
        assert entry["unit"] in ("us", "1"), name
        assert max(map(len, entry["rows"].values())) == len(entry["columns"]), name
