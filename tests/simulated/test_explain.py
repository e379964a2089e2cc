"""What gred.explain says of a call is what the call does, said without anything being run."""

import itertools
import math

import forcing
import numpy as np
import pytest
from along import EXTREMES, NAMES
from inputs import methods_on
from processes import printed
from reference import COMPLEX, EVERY_TYPE, REALS
from samples import takes

import gred
from gred import _core
from gred.testing import SimulatedArray

X = np.arange(100_003, dtype=np.float32)
MATRIX = np.arange(60_000, dtype=np.float32).reshape(200, 300)
WIDE = np.zeros((200, 3000), np.float32)  # columns for all multiprocessors, however many cores
RUNGS = methods_on("simulated")


def passes(plan):
    return [step for step in plan.steps if step.work.startswith("pass")]


@pytest.mark.parametrize("method", RUNGS)
@pytest.mark.parametrize("block", [32, 512])
def test_what_is_explained_is_what_a_measurement_finds(method, block):
    """A measurement is of the real launches."""
    for x in (X, X[:7], X[::3]):
        options = {"method": method, "block_size": block, "device": "simulated"}
        plan = gred.explain(x, "sum", **options)
        timed = gred.kernel_time(x, "sum", **options, samples=1, warmup=0)
        assert len(passes(plan)) == timed.passes
        assert passes(plan)[0].grid == timed.grid
        assert passes(plan)[0].block_size == timed.block_size == block


@pytest.mark.parametrize("method", RUNGS)
def test_a_call_needs_no_more_than_the_explained_workspace(method):
    """With that as its limit an array is not cut, and with a byte less it is."""
    options = {"method": method, "device": "simulated"}
    whole = gred.explain(X, **options)
    with gred.workspace_limit(whole.workspace_nbytes):
        assert gred.explain(X, **options).pieces == 1
    with gred.workspace_limit(whole.workspace_nbytes - 1):
        assert gred.explain(X, **options).pieces > 1
        assert gred.sum(X, dtype=np.float64, **options) == X.sum(dtype=float)


def test_where_a_call_runs_has_a_reason():
    out = SimulatedArray(np.zeros(1, np.float32))
    for x, options, device, why in (
        (X, {}, "host", "nothing else"),
        (X, {"method": "recursive"}, "host", "the method"),
        (X, {"device": "host"}, "host", "device="),
        (X, {"device": "simulated"}, "simulated", "device="),
        (SimulatedArray(X), {}, "simulated", "the array lies there"),
        (X, {"out": out}, "simulated", "out lies there"),
    ):
        plan = gred.explain(x, **options)
        assert plan.device == device
        assert why in plan.why


GRID = SimulatedArray(X[:100_000].reshape(100, 1000))
FORMS = [
    (GRID, {}, "one after the other"),
    (GRID[:, ::2], {}, "rows"),
    (GRID[:, ::2], {"method": "unroll8"}, "one by one"),
    (GRID, {"where": np.arange(1000) % 3 > 0, "method": "shuffle"}, "one by one"),
    (GRID, {"dtype": np.int8}, "one by one"),
    (X, {"device": "simulated"}, "uploaded"),
    (X, {}, "as it lies, in chunks of 4,096"),
    (X[::2], {}, "gathered"),
    (X, {"dtype": np.int8}, "converted"),
    (X, {"method": "recursive"}, "copied"),
    (MATRIX, {"axis": 0}, "side by side, as they lie"),
    (MATRIX, {"axis": 1}, "one after the other, as it lies"),
    (MATRIX, {"axis": 1, "method": "exact"}, "one after the other, as it"),
    (MATRIX, {"axis": 0, "method": "exact"}, "side by side, gathered"),
    (MATRIX.T[:, ::2], {"axis": 1}, "side by side"),
]


@pytest.mark.parametrize(("x", "options", "word"), FORMS, ids=range(len(FORMS)))
def test_the_form_of_an_array_and_the_hosts_loops_are_told(x, options, word):
    told = gred.explain(x, "sum", **options).array
    assert word in told
    assert told.startswith("uploaded") == (options.get("device") == "simulated")


@pytest.mark.parametrize("reduction", [name for name, *_ in _core.reductions()])
def test_every_reduction_is_explained(reduction):
    for x, axes in ((X, [None]), (X[::2], [None]), (MATRIX, [0, 1])):
        for there in (x, SimulatedArray(x)):
            for axis in axes:
                plan = gred.explain(there, reduction, axis=axis)
                results = 1 if axis is None else MATRIX.shape[1 - axis]
                assert (plan.reduction, plan.size, plan.results) == (reduction, x.size, results)
                assert repr(plan)
                assert plan._repr_html_()


REFUSED = [
    (X, "sum", {"method": "unroll9"}, ValueError, "'unroll9'"),
    (X[:0], "max", {}, ValueError, "no value|empty"),
    (np.array([None]), "sum", {}, TypeError, "object"),
    (MATRIX, "sum", {"axis": 2}, np.exceptions.AxisError, "out of bounds"),
    (MATRIX, "sum", {"axis": (0, 0)}, ValueError, "duplicate"),
    (MATRIX, "sum", {"axis": 0, "method": "unroll8"}, ValueError, "whole arrays"),
    (X, "sum", {"keepdims": True, "method": "unroll8"}, ValueError, "whole arrays"),
    *[
        (X, name, {"method": "unroll8"}, ValueError, "climb the ladder")
        for name, on_ladder, *_ in gred.reductions()
        if not on_ladder
    ],
    (MATRIX, "sum", {"axis": 0, "out": np.zeros(200)}, ValueError, "shape of the results"),
    (MATRIX, "sum", {"axis": 1.5}, TypeError, "axis must be"),
    (MATRIX, "argmax", {"axis": (0, 1)}, TypeError, "axis must be None or an int"),
]


def test_what_a_call_refuses_an_explanation_refuses():
    for x, op, options, error, words in REFUSED:
        with pytest.raises(error, match=words):
            gred.explain(x, op, **options)
        with pytest.raises(error, match=words):
            getattr(gred, op)(x, **options)
    with pytest.raises(ValueError, match="op must be"):
        gred.explain(X, "summ")


def test_a_view_of_any_length_has_a_grid_where_grids_do_not_grow():
    """2**46 elements would take hours, so they are only explained."""
    one = SimulatedArray(np.ones(1, np.int8))
    endless = one.described(shape=(2**46,), strides=(0,))
    assert passes(gred.explain(endless))[0].grid >= 1
    assert passes(gred.explain(endless, method="shuffle"))[0].grid >= 1
    for explained in (gred.explain, gred.sum):
        with pytest.raises(ValueError, match="larger block_size"):
            explained(endless, method="shared_modulo", block_size=32)


def test_nothing_is_run():
    """Memory that may not be read is explained all the same, and nothing is written."""
    unread = np.lib.stride_tricks.as_strided(X, (2**40, 3), (0, 4))
    for options in ({}, {"device": "simulated"}):
        for axis, results in ((0, 3), (1, 2**40), (None, 1)):
            plan = gred.explain(unread, axis=axis, **options)
            assert (plan.results, plan.size) == (results, 3 * 2**40)
            assert axis is not None or not options or plan.pieces > 1
    out = SimulatedArray(np.full(1, -1.0, np.float32))
    ways = (
        ("sum", "auto", "pass 1"),
        ("var", "auto", "long rows"),
        ("var", "last_block", "finish"),
    )
    for op, method, last in ways:
        plan = gred.explain(SimulatedArray(X), op, method=method, out=out)
        assert out.get()[0] == -1
        assert plan.steps[-1].work == last
        assert "out" in plan.result


def test_no_gpu_is_looked_for_where_none_is_needed():
    """CUDA would leave its libraries' mark on the process."""
    code = """
import gred, numpy as np
gred.explain(np.ones(10))
gred.explain(np.ones(10), method="unroll8", device="simulated")
print("libcuda" in open("/proc/self/maps").read())
"""
    assert printed(code) == "False\n"


def test_an_explanation_prints_as_text_and_tables():
    plan = gred.explain(X, "sum", method="unroll8", device="simulated")
    text, html = repr(plan), plan._repr_html_()
    for word in ("unroll8", "simulated", "pass 1", "working copy", "partials", "100,003"):
        assert word in text
        assert word in html
    assert all(line == line.rstrip() for line in text.splitlines())
    with gred.workspace_limit(2**16):
        assert "each piece: pass 1" in repr(gred.explain(X, method="unroll8", device="simulated"))
    nothing = gred.explain(X[:0])
    assert "nothing is run" in repr(nothing)
    assert nothing.steps == ()


@pytest.mark.parametrize("axis", [0, 1, (0, 1), -1, ()], ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
def test_as_many_results_are_explained_as_there_are(axis, keepdims):
    for x in (MATRIX, MATRIX.T, MATRIX[::2, ::3]):
        expected = np.sum(x, axis=axis, keepdims=keepdims)
        for there, device in ((x, "host"), (SimulatedArray(x), "simulated")):
            plan = gred.explain(there, axis=axis, keepdims=keepdims)
            assert plan.results == plan.at_once == expected.size
            assert (plan.size, plan.device) == (x.size, device)


def test_how_results_are_made_on_a_device_is_told():
    integers = SimulatedArray(WIDE.astype(np.int32))
    for x, options, works, word in (
        (SimulatedArray(MATRIX), {"axis": 1}, ["short rows"], "each result's"),
        (SimulatedArray(WIDE), {"axis": 0}, ["columns"], "neighbouring results"),
        (SimulatedArray(MATRIX.reshape(2, -1)), {"axis": 1}, ["long rows"], "each result's"),
        (integers, {"axis": 0, "dtype": np.float32}, ["copy", "columns"], "one by one"),
        (MATRIX, {"axis": 1, "device": "simulated"}, ["short rows"], "uploaded"),
    ):
        plan = gred.explain(x, **options)
        assert [step.work for step in plan.steps] == works
        assert all(step.size == math.prod(x.shape) for step in plan.steps)
        assert all(step.grid >= 1 and step.block_size >= 32 for step in plan.steps)
        assert word in plan.array
        assert plan.method == "auto"
        assert plan.block_size is None
    assert "host" in gred.explain(MATRIX, axis=0, device="simulated").result
    assert "array on the device" in gred.explain(integers, axis=0).result


@pytest.fixture
def forced():
    """Force how work is shared for this test."""
    yield lambda *numbers: forcing.force({"axes": numbers})
    forcing.force({})


@pytest.mark.parametrize(
    ("name", "shape", "axis", "unsplit", "work"),
    [
        ("sum", (3, 1000), 0, 4, "unsplit columns"),
        ("sum", (3, 1000), 0, 0, "columns"),
        ("argmax", (1, 5000), 0, 4, "unsplit columns"),
        ("max", (1, 5000), 0, 4, "short rows"),
        ("sum", (8, 500, 8), (0, 2), 4, "unsplit columns"),
        ("sum", (8, 500, 9), (0, 2), 4, "rows"),
    ],
)
def test_what_few_elements_go_to_is_told(forced, name, shape, axis, unsplit, work):
    forced(5, 1, 0, 0, 2, 5, 5, unsplit)
    x = SimulatedArray(np.ones(shape, np.float32))
    assert [step.work for step in gred.explain(x, name, axis=axis).steps] == [work]
    if shape == (3, 1000):
        assert [step.work for step in gred.explain(x[:, ::2], axis=axis).steps] == ["columns"]


WITHOUT_PARTS = ("ptp", "nanmin", "nanmax")


@pytest.mark.parametrize("name", NAMES)
def test_columns_and_rows_of_every_type_are_read_by_kernels_of_their_own(forced, name):
    """But for extremes of complex numbers, numbers of true ones, and exponentials of integers."""
    for dtype in EVERY_TYPE:
        if not takes(name, dtype) or (dtype in COMPLEX and name in (*EXTREMES, *WITHOUT_PARTS)):
            continue
        if dtype == np.bool_ and name == "count_nonzero":
            continue
        if dtype not in REALS and name == "logsumexp":
            continue
        for shape, axis, work, strided in (
            ((30, 4), 0, "one by one", 1 << 10),
            ((300, 48), 0, "columns", 0),
            ((300, 48), 1, "short rows", 0),
            ((5, 9000), 1, "long rows", 0),
        ):
            forced(8, 1024, 2, 4, 4, 10, 7, 4, 6, 1 << 16, strided)
            x = SimulatedArray(np.zeros(shape, dtype))
            assert [step.work for step in gred.explain(x, name, axis=axis).steps] == [work], dtype


def test_batches_of_short_rows_have_blocks_of_their_own(forced):
    """Where threads would be idle otherwise; of many batches a thread has a load's columns."""
    forced(6, 1 << 20, 0, 1 << 16, 2, 6, 5, 4)
    (step,) = gred.explain(SimulatedArray(np.ones((3, 1000, 8), np.int8)), axis=1).steps
    assert (step.work, step.grid % 3) == ("columns", 0)


def test_where_results_go_is_told():
    x, room = SimulatedArray(MATRIX), np.full(400, -1, np.float32)
    for out, method, works in (
        (SimulatedArray(room[:200]), "exact", ["exact rows"]),
        (SimulatedArray(room)[::2], "exact", ["exact rows", "store"]),
        (SimulatedArray(room[:200]), "auto", ["short rows"]),
        (SimulatedArray(room)[::2], "auto", ["short rows", "store"]),
    ):
        plan = gred.explain(x, axis=1, out=out, method=method)
        assert [step.work for step in plan.steps] == works
        assert plan.steps[-1].writes == "out"
        assert "to out" in plan.result
        assert (out.get() == -1).all()
        assert len(works) == 1 or plan.workspace_nbytes >= 200 * 4


@pytest.mark.parametrize("axis", [0, 1])
def test_results_need_no_more_than_the_explained_workspace(axis):
    """With that as its limit they are made at once, and with a byte less in parts."""
    x, options = SimulatedArray(MATRIX.astype(np.int16)), {"axis": axis, "dtype": np.float32}
    whole = gred.explain(x, **options)
    with gred.workspace_limit(whole.workspace_nbytes):
        assert gred.explain(x, **options).at_once == whole.results
    with gred.workspace_limit(whole.workspace_nbytes - 1):
        part, made = gred.explain(x, **options), gred.sum(x, **options)
    assert 1 <= part.at_once < whole.results
    assert f"{part.at_once:,} at a time" in repr(part)
    assert (made.to_numpy() == x.get().astype(np.float64).sum(axis=axis)).all()


@pytest.mark.parametrize("axis", [0, 1])
def test_parts_of_what_lies_on_the_host_are_told(axis):
    x, options = MATRIX % 64, {"axis": axis, "device": "simulated"}
    whole = gred.explain(x, **options)
    with gred.workspace_limit(whole.workspace_nbytes // 2):
        part, made = gred.explain(x, **options), gred.sum(x, **options)
    assert 1 < part.at_once < whole.results
    assert part.steps[-1].size == part.at_once * x.shape[axis]
    assert part.result == whole.result
    assert (made == x.astype(np.float64).sum(axis=axis)).all()


def test_the_hosts_memory_is_told():
    assert gred.explain(X, method="recursive").workspace_nbytes == X.nbytes
    assert "just added" not in gred.explain(MATRIX.astype(int), axis=0, method="exact").array


def test_results_are_explained_one_by_one_where_they_are_made_so():
    plan = gred.explain(SimulatedArray(MATRIX), axis=0, method="exact", where=MATRIX > 0)
    assert (plan.method, plan.results, plan.at_once) == ("exact", 300, 1)
    with gred.workspace_limit(1 << 10):
        plan = gred.explain(MATRIX, axis=0, device="simulated")
    assert (plan.at_once, plan.steps[-1].size) == (1, 200)
    for length, method, at_once in (
        (1 << 19, "auto", 2),
        (1 << 26, "auto", 1),
        (1 << 19, "exact", 1),
    ):
        plan = gred.explain(np.broadcast_to(1.0, (2, length)), axis=1, method=method)
        assert (plan.method, plan.results, plan.at_once) == (method, 2, at_once)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_no_results_and_results_of_nothing_are_explained(shape):
    for x, axis in itertools.product((np.ones(shape), SimulatedArray(np.ones(shape))), (0, 1)):
        plan = gred.explain(x, axis=axis)
        assert (plan.results, plan.size) == (shape[1 - axis], 0)
        assert ("nothing is run" in plan.array) == (plan.results == 0)
        assert repr(plan)
