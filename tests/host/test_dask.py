"""`gred.dask`: reductions have the same bits as those of the whole array, however it is chunked."""

import asyncio
import contextlib
import itertools
import math
import os
import pickle
import sys
from functools import partial
from operator import methodcaller
from unittest import mock

import numpy as np
import pytest
from drawn import examples
from exact_truths import any_floats, dot, mixed, same, total
from exactly import WIDE, typed
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import BFLOAT16, COMPLEX, REALS
from samples import silenced
from thin import chosen

import gred
from gred.exact.partials import merged, rounded, sums_of

dask = pytest.importorskip("dask", reason="Dask is not installed")
da = pytest.importorskip("dask.array", reason="Dask is not installed")
import gred.dask  # noqa: E402

SHAPE = (6, 7, 5)
CHUNKS = [SHAPE, (4, 3, 5), (6, 1, 2)]
AXES = [None, 0, -2, (0, 2), (0, 1, 2), ()]
EXACT = ("sum", "mean", "norm", "var", "std", "nansum", "nanmean", "nanvar", "nanstd")
OTHERS = ("min", "max", "nanmin", "nanmax", "any", "all", "count_nonzero")
MASKED = ("sum", "mean", "norm", "var", "std", "min", "max")
TYPES = ("f8", "f4", "f2", BFLOAT16, "c8", "c16", "i1", "u1", "u8", "i8", "?", ">f8", ">i4")
computed, cut = methodcaller("compute", scheduler="synchronous"), da.from_array


def drawn(dtype="f8"):
    """Draw elements with a few zeros and NaN; float64 has such a range that sums round."""
    random, dtype = np.random.default_rng(5), np.dtype(dtype)
    x = random.normal(size=SHAPE) * np.exp2(random.integers(-9, 9, SHAPE))
    more = np.exp2(random.integers(-200, 200, SHAPE))
    x = x * more if dtype == "f8" else (x * 50).clip(-100, 100)
    x[random.random(SHAPE) < 0.1] = 0
    x = x + 1j * x[::-1] if dtype.kind == "c" else x
    x = (abs(x) if dtype.kind == "u" else x).astype(dtype)
    if dtype.kind not in "iub":
        x[1, 2, :2] = np.nan
    return x


def check(name, x, want, *arguments, **options):
    """Compute with every chunking, and check the shape and type announced before."""
    for chunks, split_every in zip(CHUNKS, (None, 2, 3), strict=True):
        reduce = partial(getattr(gred.dask, name), split_every=split_every)
        lazy = reduce(cut(x, chunks), *arguments, **options)
        got = computed(lazy)
        assert (lazy.shape, lazy.dtype) == (got.shape, got.dtype)
        assert same(got, want)


# ---- reductions ----


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", [*EXACT, *OTHERS])
def test_results_are_those_of_the_whole_array(name, dtype):
    """Sums of floats are exact and those of integers wrap; masks and keepdims work as in gred."""
    x, mask = drawn(dtype), np.random.default_rng(6).random(SHAPE) < 0.8
    mask[0] = mask[:, 0] = True
    wraps = name in ("sum", "nansum") and x.dtype.kind in "iub"
    method = {"method": "exact"} if name in EXACT and not wraps else {}
    more = [{}, {"keepdims": True}]
    more += [{"where": mask}] * (name in MASKED)
    more += [{"ddof": 2.5}] * (name in ("var", "nanstd"))
    more += [{"dtype": np.float32}] * (name in ("sum", "mean", "var") and x.dtype.kind != "c")
    with silenced():
        for axis, options in chosen(itertools.product(AXES, more), name, dtype):
            own, shown = {"method": "exact"} if "dtype" in options else method, options
            whole = x
            if axis == () and name in ("var", "std", "norm", "nanvar", "nanstd"):
                continue
            if "where" in options and name in OTHERS:  # every result has an unmasked element
                whole, shown, axis = np.where(mask, x, x[0]), {}, 0
            want = getattr(gred, name)(whole, axis=axis, **own, **shown)
            check(name, x, want, axis, **options)


@typed
@settings(deadline=None, max_examples=examples(40))
@given(data=st.data())
def test_sums_means_and_dot_products_are_rounded_once(dtype, data):
    a, b = data.draw(any_floats(dtype)), data.draw(any_floats(dtype))
    x = cut(a, data.draw(st.integers(1, 40)))
    for result in REALS:
        assert same(computed(gred.dask.sum(x, dtype=result)), total(a, result))
        assert same(computed(gred.dask.mean(x, dtype=result)), total(a, result, divisor=len(a)))
    a, b = a[: len(b)], b[: len(a)]
    lazy = gred.dask.dot(x[: len(b)], cut(b, data.draw(st.integers(1, 40))))
    with np.errstate(all="ignore"):
        assert same(computed(lazy), dot(a, b, dtype))


PAIRS = [("c16", kind) for kind in (*COMPLEX, *REALS)] + [("f2", BFLOAT16), (">f8", ">f8")]
PAIRS += [(kind, kind) for kind in ("i1", "i8", "u1", "u8", "?")]


def vector(dtype, seed):
    """Draw numbers; products of those of 64 bits wrap."""
    x, dtype = np.random.default_rng(seed).normal(size=5000) * 90, np.dtype(dtype)
    x = x * 2.0**50 if dtype in (np.int64, np.uint64) else x
    x = x + 1j * x[::-1] if dtype.kind == "c" else x
    return (abs(x) if dtype.kind == "u" else x).astype(dtype)


@pytest.mark.parametrize("types", PAIRS, ids=str)
def test_dot_products_are_those_of_whole_vectors(types):
    a, b = (vector(dtype, seed) for seed, dtype in enumerate(types))
    how = {} if a.dtype.kind in "iub" else {"method": "exact"}
    assert same(computed(gred.dask.dot(cut(a, 700), cut(b, 1001))), gred.dot(a, b, **how))
    infinite = cut(np.array([complex(0, math.inf), complex(0, math.nan)]), 1)
    assert math.isnan(computed(gred.dask.dot(infinite, infinite)).real)
    assert computed(gred.dask.dot(infinite[:1], infinite[:1])).real == -math.inf


def test_sums_wrap_in_the_type_they_are_asked_for():
    x = np.random.default_rng(7).integers(0, 2**62, SHAPE)
    for dtype in (np.int8, np.uint16, np.int64):
        check("sum", x, np.sum(x, axis=1, dtype=dtype), 1, dtype)
    check("sum", x, gred.sum(x, dtype=np.float64, method="exact"), dtype=np.float64)
    check("sum", x / 2.0**40, np.sum(x / 2.0**40, dtype=np.int32), dtype=np.int32)
    check("sum", x, np.sum(x, where=x % 3 == 0), where=x % 3 == 0)
    whole = np.array([2**63, 2**64 - 1, 2**63 + 1], "u8")
    for name, right in (("min", 2**63), ("max", 2**63 + 1)):
        lazy = getattr(gred.dask, name)(cut(whole, 1), where=[True, False, True])
        assert computed(lazy) == right


def test_nothing_has_no_extremes():
    reductions, none, empty = gred.dask, da.zeros(0), da.zeros((0, 3), chunks=2)
    nans, one = da.full(6, np.nan, chunks=2), da.ones((1, 3), chunks=1)
    for x, name in itertools.product((none, empty, da.ones((3, 2), chunks=1)), ("min", "max")):
        options = {"where": x != x} if x.size else {}
        with pytest.raises(ValueError, match=f"{name} of empty input has no value"):
            computed(getattr(reductions, name)(x, axis=0, **options))
    with pytest.raises(ValueError, match="nanmin of empty input has no value"):
        computed(reductions.nanmin(none.astype(int)))
    lazy = {"All-NaN": reductions.nanmax(nans), "Degrees": reductions.std(one, 0, ddof=1)}
    for words, result in lazy.items():
        with pytest.warns(RuntimeWarning, match=words):
            assert np.isnan(computed(result)).all()
    for name, want in (("sum", 0.0), ("mean", math.nan), ("any", False), ("all", True)):
        assert same(computed(getattr(reductions, name)(none)), want)
    assert math.isnan(computed(reductions.nanmedian(nans)))
    assert same(computed(reductions.sum(empty, axis=0)), [0.0] * 3)
    assert same(computed(reductions.sum(empty, axis=1)), np.zeros(0))


def test_lengths_that_are_unknown_do_no_harm():
    x = cut(drawn().ravel(), 50)
    some = x[x > 0]
    whole = computed(some)
    for name in ("sum", "mean", "norm", "var", "nansum", "min", "any"):
        options = {"method": "exact"} if name in EXACT else {}
        want = getattr(gred, name)(whole, **options)
        assert same(computed(getattr(gred.dask, name)(some)), want)
    assert same(computed(gred.dask.dot(some, some)), dot(whole, whole))
    median = np.median(whole)
    want = gred.sum(whole, where=whole > median, method="exact")
    assert same(computed(gred.dask.sum(some, where=some > median)), want)
    assert computed(gred.dask.describe(some)) == gred.describe(whole, method="exact")
    assert computed(gred.dask.quantile(some, 0.3)) == np.quantile(whole, 0.3)
    lazy = gred.dask.by_key("sum", (some * 0).astype(int), some, 1)
    assert same(computed(lazy), [gred.sum(whole, method="exact")])
    with pytest.raises(ValueError, match="where must have as many chunks"):
        gred.dask.sum(some, where=da.ones(6, chunks=2, dtype=bool))
    with pytest.raises(ValueError, match="as many chunks"):
        gred.dask.dot(some, x[:100])


def test_results_are_lazy_and_go_on_as_any_others():
    def refuse(block):
        raise AssertionError("computed too soon")

    x = da.ones((10, 10), chunks=3)
    lazy = gred.dask.sum(x.map_blocks(refuse, dtype=float), axis=0)
    assert isinstance(lazy, da.Array)
    assert computed((gred.dask.sum(x, axis=0) * 2).sum()) == 200
    assert computed(gred.dask.mean(x) + gred.dask.dot(x[0], x[1])) == 11


# ---- schedulers ----


def asked(x):
    """Request results of every kind."""
    line, reductions = x.reshape(-1), gred.dask
    keys = da.arange(x.size, chunks=100) % 5
    return [
        *(reductions.sum(x), reductions.mean(x), reductions.sum(x, 0), reductions.norm(x)),
        *(reductions.nanvar(x / 2.0**500, 1), reductions.max(x, 0), reductions.dot(line, line)),
        *(reductions.by_key("sum", keys, line, 5), reductions.by_key("norm", keys, line, 5)),
        *(reductions.quantile(x, [0.1, 0.7]), reductions.describe(x)),
    ]


def bits(results):
    arrays = [np.asarray(one) for one in results]
    return [(one.dtype, one.shape, one.tobytes()) for one in arrays]


NUMBERS = mixed(4000)[:1932].reshape(23, 12, 7)
LAZY = cut(NUMBERS, (9, 5, 7))


@pytest.fixture(scope="module")
def expected():
    return bits(dask.compute(*asked(LAZY), scheduler="synchronous"))


@pytest.fixture(scope="module")
def client():
    """Start a cluster of two workers, without limits on time or memory.

    A cluster sets OMP_NUM_THREADS in its parent, for single-threaded workers; this is undone.
    """
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    waiting = ("comm.timeouts.connect", "comm.timeouts.tcp", "deploy.lost-worker-timeout")
    patience = {f"distributed.{name}": "15 minutes" for name in waiting}
    patience["distributed.scheduler.worker-ttl"] = None
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with mock.patch.dict(os.environ), dask.config.set(patience):
        cluster = distributed.LocalCluster(n_workers=2, memory_limit=0, **options)
        try:
            with cluster.get_client() as client:
                yield client
        finally:
            with contextlib.suppress(asyncio.TimeoutError, KeyError):  # workers that end late
                cluster.close()


@pytest.mark.parametrize("scheduler", ["threads", "processes"])
@pytest.mark.unsanitized
def test_every_scheduler_makes_the_same_bits(expected, scheduler):
    assert bits(dask.compute(*asked(LAZY), scheduler=scheduler)) == expected
    assert expected[0] == bits([gred.sum(NUMBERS, method="exact")])[0]


@pytest.mark.unsanitized
def test_clusters_of_any_size_make_the_same_bits(expected, client):
    client.wait_for_workers(2)
    addresses = sorted(client.scheduler_info()["workers"])
    for workers, chunks in ((addresses, (9, 5, 7)), (addresses[:1], (23, 2, 7))):
        lazy = cut(NUMBERS, chunks)
        made = client.compute(asked(lazy)[:7], sync=True, workers=workers)
        assert bits(made) == expected[:7]
    parts = client.map(gred.ExactSum, np.array_split(NUMBERS.ravel(), 11))
    assert client.submit(sum, parts).result() == gred.ExactSum(NUMBERS)


def lose_a_worker(block, marker):
    """End the first process that runs this, once."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        os._exit(1)
    return block


@pytest.mark.unsanitized
def test_a_worker_that_dies_changes_no_bit(expected, client, tmp_path):
    marker, meta = tmp_path / "died", np.empty((0, 0, 0))
    doomed = LAZY.map_blocks(lose_a_worker, marker=str(marker), dtype=WIDE, meta=meta)
    client.wait_for_workers(2)
    assert bits(client.compute(asked(doomed), sync=True)) == expected
    assert marker.exists()


# ---- partials ----


def test_partials_leave_out_digits_that_nobody_has():
    made = sums_of(np.ones((5, 100)), (1,))
    assert made.shape == (5, 1)
    assert made.digits.shape == (1, 5, 1)
    assert len(pickle.dumps(made)) < 1000
    more = merged([made, sums_of(np.full((5, 100), 2.0**-500), (1,))])
    assert more.digits.shape[-1] == 17
    assert rounded(more, float, divided=False).tolist() == [[100.0]] * 5
    many = sums_of(np.arange(5000.0).reshape(2500, 2), (1,))
    expected = np.arange(5000.0).reshape(2500, 2).sum(1, keepdims=True)
    assert np.array_equal(rounded(many, float, divided=False), expected)


def test_partials_have_room_for_a_million_parts():
    doubled = sums_of(np.array([-sys.float_info.max, 2.0**-1074]), (0,))
    for _ in range(20):
        doubled = merged([doubled, doubled])
    assert same(rounded(doubled, float, divided=True), [-sys.float_info.max / 2])


# ---- refusals ----

FLOATS, WHOLE, SQUARE = da.ones(3), da.ones(3, dtype=int), da.ones((2, 2))
SIX = da.ones(6, chunks=4)
REFUSED = [
    ("dot", (FLOATS, [1, 2, 3]), {}, TypeError, "b must be a Dask array, not list"),
    ("dot", (FLOATS, da.ones(4)), {}, ValueError, "vectors of one length; got shapes"),
    ("dot", (SQUARE, SQUARE), {}, ValueError, "vectors of one length; got shapes"),
    ("sum", (WHOLE * 1j,), {"dtype": float}, TypeError, "must be complex; got float64"),
    ("mean", (FLOATS,), {"dtype": int}, TypeError, "must be a float type; got int64"),
    ("sum", (FLOATS,), {"axis": 3}, np.exceptions.AxisError, "out of bounds"),
    ("std", (FLOATS,), {"dtype": int}, TypeError, "must be float16"),
    ("by_key", ("sum", [0.0] * 6, SIX, 3), {}, TypeError, "must be integers"),
    ("by_key", ("sum", [[0] * 6], SIX, 3), {}, ValueError, "one dimension"),
    ("by_key", ("sum", [0] * 5, SIX, 3), {}, ValueError, "keys must fit"),
    ("by_key", ("argmin", [0] * 6, SIX, 3), {}, ValueError, "op must be one of sum, mean"),
    ("by_key", ("sum", [0] * 6, SIX, -1), {}, ValueError, "must not be negative"),
    ("by_key", ("sum", [0] * 6, np.ones(6), 3), {}, TypeError, "be a Dask array"),
    ("by_key", ("sum", [0] * 6, SIX, 3), {"outside": "x"}, ValueError, "outside must be"),
    ("quantile", (SIX, 1.5), {}, ValueError, r"in \[0, 1\]"),
    ("quantile", (SIX, 0.5), {"method": "fast"}, ValueError, "method must be"),
    ("quantile", (SIX * 1j, 0.5), {}, TypeError, "complex"),
    ("median", (SIX,), {"axis": 1}, np.exceptions.AxisError, "out of bounds"),
    *(
        (f, (np.ones(3),), {}, TypeError, "be a Dask array")
        for f in ("sum", "mean", "var", "median")
    ),
    *((name, (WHOLE,), {"where": [1, 0, 1]}, TypeError, "where must") for name in ("sum", "mean")),
    *((name, (WHOLE,), {"where": [True] * 2}, ValueError, "where") for name in ("sum", "mean")),
]
for dtype in ("U3", "M8[s]", "O", np.longdouble):
    elements = cut(np.zeros(3, dtype), 3)
    REFUSED += [(name, (FLOATS,), {"dtype": dtype}, TypeError, None) for name in ("sum", "mean")]
    REFUSED += [(name, (elements,), {}, TypeError, None) for name in ("sum", "mean")]


@pytest.mark.parametrize(("name", "arguments", "options", "error", "words"), REFUSED)
def test_what_cannot_be_is_refused_before_computing(name, arguments, options, error, words):
    with pytest.raises(error, match=words):
        getattr(gred.dask, name)(*arguments, **options)
