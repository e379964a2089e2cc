"""gred.explain reports what a call will do, without running it."""

import contextlib
import itertools

import forcing
import numpy as np
import pytest
from along import EXTREMES, NAMES
from devices import everywhere, laid_out, on, to_host
from inputs import methods_on
from processes import printed
from reference import COMPLEX, EVERY_TYPE, REALS
from samples import fetched, takes
from thin import chosen

import gred
from gred import _core
from gred.testing import SimulatedArray

X = np.arange(100_003, dtype=np.float32)
MATRIX = np.arange(60_000, dtype=np.float32).reshape(200, 300)
WIDE = np.zeros((100_000, 300), np.float32)  # too large for single loads, for any number of cores
THERE = SimulatedArray(MATRIX)
RAGGED = SimulatedArray(np.zeros((3, 2, 55), np.float32))  # no whole number of vectors per row
RUNGS = methods_on("simulated")
SIMULATED = {"device": "simulated"}


def passes(plan):
    return [step for step in plan.steps if step.work.startswith("pass")]


def works(plan):
    return [step.work for step in plan.steps]


# ---- what is explained is what happens ----


@pytest.mark.parametrize("method", RUNGS)
@pytest.mark.parametrize("block", [32, 512])
def test_what_is_explained_is_what_a_measurement_finds(method, block):
    """A measurement runs the real launches."""
    for x in (X, X[:7], X[::3]):
        options = {"method": method, "block_size": block, **SIMULATED}
        plan = gred.explain(x, "sum", **options)
        timed = gred.kernel_time(x, "sum", **options, samples=1, warmup=0)
        assert len(passes(plan)) == timed.passes
        assert passes(plan)[0].grid == timed.grid
        assert passes(plan)[0].block_size == timed.block_size == block


@pytest.mark.parametrize("method", RUNGS)
def test_a_call_needs_no_more_than_the_explained_workspace(method):
    """With exactly this limit an array is not split, and with one byte less it is."""
    options = {"method": method, **SIMULATED}
    whole = gred.explain(X, **options)
    with gred.workspace_limit(whole.workspace_nbytes):
        assert gred.explain(X, **options).pieces == 1
    with gred.workspace_limit(whole.workspace_nbytes - 1):
        assert gred.explain(X, **options).pieces > 1
        assert gred.sum(X, dtype=np.float64, **options) == X.sum(dtype=float)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("lies", ["here", "there"])
def test_results_need_no_more_than_the_explained_workspace(lies, axis):
    """With exactly this limit all results are computed together, and with less in parts."""
    x = (MATRIX % 64).astype(np.int16)
    a = x.astype("f4") if lies == "here" else SimulatedArray(x)
    options = SIMULATED if lies == "here" else {"dtype": np.float32}
    whole = gred.explain(a, axis=axis, **options)
    with gred.workspace_limit(whole.workspace_nbytes):
        assert gred.explain(a, axis=axis, **options).at_once == whole.results
    with gred.workspace_limit(whole.workspace_nbytes // 2 - 1):
        part = gred.explain(a, axis=axis, **options)
        np.testing.assert_array_equal(to_host(gred.sum(a, axis, **options)), x.sum(axis))
    assert 1 <= part.at_once < whole.results
    assert f"{part.at_once:,} at a time" in repr(part)
    assert part.result == whole.result
    assert lies == "there" or part.steps[-1].size == part.at_once * x.shape[axis]


@everywhere
@pytest.mark.parametrize("dtype", ["i4", "f8"])
@pytest.mark.parametrize("limit", [1, 256, 2**16, 2**30])
@pytest.mark.parametrize("n", [900, 50_003])
def test_pieces_make_what_the_whole_makes(n, limit, dtype, place):
    """Fully masked pieces are skipped; if everything is masked, the sum is the identity."""
    x = np.random.default_rng(n).integers(-100, 100, 2 * n).astype(dtype)
    few, none = np.zeros((2, n), bool)
    few[n // 2 : n // 2 + 100] = True
    for y, a in ((x[:n], x[:n]), (x[::-2], x[::-2]), (x[::2], laid_out(x[::2], place))):
        at, out = (laid_out(np.zeros((), kind), place) for kind in ("i8", "f8"))
        with gred.workspace_limit(limit):
            gred.argmax(a, out=at)
            assert fetched(at, place) == y.argmax()
            assert gred.argmin(a, where=few, **on(place)) == n // 2 + y[few].argmin()
            for method in chosen(("auto", "exact", *methods_on(place)), n, limit, dtype):
                options = {"method": method, **on(place)}
                assert gred.sum(a, where=few, **options) == y[few].sum()
                assert gred.mean(a, **options) == pytest.approx(y.mean())
                for shown, right in ((few, y[few].sum()), (none, 0)):
                    assert gred.sum(a, where=shown, initial=5, out=out, **options) is out
                    assert fetched(out, place) == right + 5


def test_the_workspace_limit_ends_with_its_with_block():
    def pieces():
        return gred.explain(np.ones(5000), method="halving", device="simulated").pieces

    with gred.workspace_limit(4096), gred.workspace_limit(2**20):
        assert pieces() == 1
    with contextlib.suppress(ZeroDivisionError), gred.workspace_limit(4096):
        assert pieces() > 1
        raise ZeroDivisionError
    assert pieces() == 1


REFUSED = [
    (X, "sum", {"method": "unroll9"}, ValueError, "'unroll9'"),
    (X[:0], "max", {}, ValueError, "no value|empty"),
    (np.array([None]), "sum", {}, TypeError, "object"),
    (MATRIX, "sum", {"axis": 2}, np.exceptions.AxisError, "out of bounds"),
    (MATRIX, "sum", {"axis": 0, "method": "unroll8"}, ValueError, "whole arrays"),
    (X, "any", {"method": "unroll8"}, ValueError, "the ladder's methods"),
    (MATRIX, "sum", {"axis": 0, "out": np.zeros(200)}, ValueError, "shape of the results"),
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


def test_nothing_is_run():
    """Unreadable memory is explained, too, and nothing is written."""
    unread = np.lib.stride_tricks.as_strided(X, (2**40, 3), (0, 4))
    for options in ({}, SIMULATED):
        for axis, results in ((0, 3), (1, 2**40), (None, 1)):
            plan = gred.explain(unread, axis=axis, **options)
            assert (plan.results, plan.size) == (results, 3 * 2**40)
            assert axis is not None or not options or plan.pieces > 1
    # A fixed-size grid works for a view of any length; 2**46 elements would take hours.
    endless = SimulatedArray(np.ones(1, np.int8)).described(shape=(2**46,), strides=(0,))
    assert passes(gred.explain(endless))[0].grid >= 1
    assert passes(gred.explain(endless, method="shuffle"))[0].grid >= 1
    for explained in (gred.explain, gred.sum):
        with pytest.raises(ValueError, match="larger block_size"):
            explained(endless, method="shared_modulo", block_size=32)


def test_no_gpu_is_looked_for_where_none_is_needed():
    """Initializing CUDA would load its libraries into the process."""
    code = """
import gred, numpy as np
gred.explain(np.ones(10))
gred.explain(np.ones(10), method="unroll8", device="simulated")
print("libcuda" in open("/proc/self/maps").read())
"""
    assert printed(code) == "False\n"


# ---- reports ----

GRID = SimulatedArray(X[:100_000].reshape(100, 1000))
ROWS = SimulatedArray(MATRIX.reshape(2, -1))
INTEGERS = SimulatedArray(WIDE.astype(np.int32))
ROOM = SimulatedArray(np.full(400, -1, np.float32))
ONE = SimulatedArray(np.full(1, -1, np.float32))
NONE = {"works": [], "device": "host", "why": "no other device"}
LONG = [np.broadcast_to(1.0, (2, 1 << k)) for k in (19, 26)]
TOLD = [  # fields' values, or words of a text
    (X, "sum", {}, NONE | {"array": "in place, in chunks of 4,096"}),
    (X, "sum", {"method": "recursive"}, {"why": "the method", "array": "copied"}),
    (X, "sum", {"method": "recursive"}, {"workspace_nbytes": X.nbytes}),
    (X, "sum", {"device": "host"}, {"device": "host", "why": "device="}),
    (X, "sum", SIMULATED, {"device": "simulated", "why": "device=", "array": "uploaded"}),
    (SimulatedArray(X), "sum", {}, {"device": "simulated", "why": "the array is on this device"}),
    (X, "sum", {"out": ONE}, {"device": "simulated", "why": "out is on this device"}),
    # The form of an array, and the host's loops.
    (GRID, "sum", {}, {"array": "contiguous"}),
    (GRID[:, ::2], "sum", {}, {"array": "rows"}),
    (GRID[:, ::2], "sum", {"method": "unroll8"}, {"array": "one by one"}),
    (GRID, "sum", {"where": X[:1000] % 3 > 0, "method": "shuffle"}, {"array": "one by one"}),
    (GRID, "sum", {"dtype": np.int8}, {"array": "one by one"}),
    (X[::2], "sum", {}, {"array": "gathered"}),
    (X, "sum", {"dtype": np.int8}, {"array": "converted"}),
    (MATRIX, "sum", {"axis": 0}, {"array": "side by side, in place"}),
    (MATRIX, "sum", {"axis": 1}, {"array": "one after the other, in place"}),
    (MATRIX, "sum", {"axis": 1, "method": "exact"}, {"array": "one after the other, in"}),
    (MATRIX, "sum", {"axis": 0, "method": "exact"}, {"array": "side by side, gathered"}),
    # How a device computes results, in which order, and where they go.
    (THERE, "sum", {"axis": 1}, {"works": ["short rows"], "array": "each result's"}),
    (SimulatedArray(WIDE), "sum", {"axis": 0}, {"works": ["columns"], "array": "neighboring res"}),
    (ROWS, "sum", {"axis": 1}, {"works": ["long rows"], "array": "each result's"}),
    (RAGGED, "sum", {"axis": (0, 2)}, {"works": ["one by one"]}),
    (RAGGED, "sum", {"axis": 2}, {"works": ["short rows"]}),
    (INTEGERS, "sum", {"axis": 0, "dtype": "f4"}, {"works": ["copy", "columns"], "array": "one"}),
    (INTEGERS, "sum", {"axis": 0}, {"result": "array on the device"}),
    (MATRIX, "sum", {"axis": 1, **SIMULATED}, {"works": ["short rows"], "array": "uploaded"}),
    (MATRIX, "sum", {"axis": 0, **SIMULATED}, {"result": "host"}),
    (SimulatedArray(X), "sum", {"out": ONE}, {"works": ["pass 1"], "result": "out"}),
    (SimulatedArray(X), "var", {"out": ONE}, {"works": ["long rows"], "result": "out"}),
    *(
        (THERE, "sum", {"axis": 1, "out": out, "method": method},
         {"works": [kind, *store], "result": "to out"})
        for method, kind in (("exact", "exact rows"), ("auto", "short rows"))
        for out, store in ((ROOM[:200], []), (ROOM[::2], ["store"]))
    ),
    # All together, one by one, or some at a time.
    *(
        (THERE, "sum", {"axis": axis, "method": "exact"},
         {"works": [f"exact {kind}"], "at_once": results, "workspace_nbytes": 0})
        for axis, kind, results in ((0, "columns", 300), (1, "rows", 200))
    ),
    (THERE, "sum", {"axis": 0, "method": "exact", "where": MATRIX > 0}, {"at_once": 1}),
    (LONG[0], "sum", {"axis": 1}, {"method": "auto", "results": 2, "at_once": 2}),
    (LONG[1], "sum", {"axis": 1}, {"method": "auto", "results": 2, "at_once": 1}),
    (LONG[0], "sum", {"axis": 1, "method": "exact"}, {"method": "exact", "at_once": 1}),
    (MATRIX[:, :0], "sum", {"axis": 0}, {"results": 0, "array": "nothing"}),
]  # fmt: skip


@pytest.mark.parametrize(("x", "op", "options", "told"), TOLD, ids=range(len(TOLD)))
def test_where_and_how_a_call_runs_is_told(x, op, options, told):
    plan = gred.explain(x, op, **options)
    for name, value in told.items():
        if name in ("why", "array", "result"):
            assert value in getattr(plan, name)
        else:
            assert (works(plan) if name == "works" else getattr(plan, name)) == value
    assert plan.array.startswith("uploaded") == (
        plan.device == "simulated" and type(x) is np.ndarray
    )
    assert all(step.grid >= 1 and step.block_size >= 32 for step in plan.steps)
    assert "out" not in options or "axis" not in options or plan.steps[-1].writes == "out"
    for out in (ONE, ROOM):
        assert (out.get() == -1).all()


@pytest.mark.parametrize("name", [name for name, *_ in _core.reductions()])
def test_every_call_is_explained_with_as_many_results_as_it_has(name):
    calls = itertools.product((X, X[::2], MATRIX, MATRIX.T[::2, ::3]), (None, 0, -1))
    if name == "sum":
        nothing = map(np.ones, ((0, 3), (3, 0), (0, 0)))
        calls = [*calls, *itertools.product((MATRIX, *nothing), (0, 1, (0, 1), ()))]
    for (x, axis), keepdims in itertools.product(calls, (False, True)):
        results = np.sum(x, axis, keepdims=keepdims).size
        for there, device in ((x, "host"), (SimulatedArray(x), "simulated")):
            plan = gred.explain(there, name, axis=axis, keepdims=keepdims)
            assert (plan.reduction, plan.size, plan.results) == (name, x.size, results)
            assert plan.device == device or not x.size  # it is on no device
            assert repr(plan)
            assert plan._repr_html_()


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


# ---- kernels ----


@pytest.fixture
def forced():
    """Force how work is shared, for one test."""
    yield lambda *numbers: forcing.force({"axes": numbers})
    forcing.force({})


def test_what_few_elements_and_batches_of_short_rows_go_to_is_told(forced):
    """With many batches, a thread takes one load of columns if threads would otherwise be idle."""
    for name, shape, axis, unsplit, work in (
        ("sum", (3, 1000), 0, 4, "unsplit columns"),
        ("sum", (3, 1000), 0, 0, "columns"),
        ("argmax", (1, 5000), 0, 4, "memset"),
        ("max", (1, 100_000), 0, 4, "short rows"),
        ("any", (1, 5000), 0, 4, "unsplit columns"),
        ("max", (1, 100_000), 0, 0, "short rows"),
        ("sum", (8, 500, 9), (0, 2), 4, "rows"),
    ):
        forced(5, 1, 0, 0, 2, 5, unsplit)
        x = SimulatedArray(np.ones(shape, np.float32))
        assert works(gred.explain(x, name, axis=axis)) == [work], (name, shape, axis)
    for width, work in ((2000, "columns"), (2001, "few elements each")):  # the latter misaligned
        x = SimulatedArray(np.ones((4, width), np.float32))[:, ::2]
        assert works(gred.explain(x, axis=0)) == [work]
    x = SimulatedArray(np.ones((4, 4000), np.float32)).T[None]  # batches of the results' order
    assert works(gred.explain(x, axis=0)) == ["few elements each"]
    forced(6, 1 << 20, 0, 1 << 16, 2, 5, 4)
    (step,) = gred.explain(SimulatedArray(np.ones((3, 9000, 8), np.int8)), axis=1).steps
    assert (step.work, step.grid % 3) == ("columns", 0)


WITHOUT_PARTS = (*EXTREMES, "ptp", "nanmin", "nanmax")


def has_kernels(name, dtype):
    """Complex extremes, bools' count_nonzero and integers' logsumexp have no kernels."""
    return takes(name, dtype) and not (
        (dtype in COMPLEX and name in WITHOUT_PARTS)
        or (dtype == np.bool_ and name == "count_nonzero")
        or (dtype not in REALS and name == "logsumexp")
    )


@pytest.mark.parametrize("name", NAMES)
def test_columns_and_rows_of_every_type_are_read_by_kernels_of_their_own(forced, name):
    for dtype in (dtype for dtype in EVERY_TYPE if has_kernels(name, dtype)):
        for shape, axis, work, strided in (
            ((30, 4), 0, "one by one", 1 << 10),
            ((300, 48), 0, "columns", 0),
            ((300, 48), 1, "short rows", 0),
            ((5, 9000), 1, "long rows", 0),
        ):
            forced(8, 1024, 2, 4, 4, 7, 4, 6, 1 << 16, strided)
            x = SimulatedArray(np.zeros(shape, dtype))
            assert works(gred.explain(x, name, axis=axis)) == [work], dtype
