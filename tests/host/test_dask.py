"""`gred.dask`: the same bits for every chunking, scheduler and number of workers."""

import asyncio
import contextlib
import math
import os
import pickle
import sys
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from drawn import examples
from exact_truths import any_floats, bits_of, dot, mixed, nearest, same, total
from exactly import WIDE, typed
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import BFLOAT16, COMPLEX, REALS

import gred
from gred.exact.partials import merged, rounded, sums_of

dask = pytest.importorskip("dask", reason="Dask is not installed")
da = pytest.importorskip("dask.array", reason="Dask is not installed")
import gred.dask  # noqa: E402

SHAPE = (23, 12, 7)


def numbers():
    """Draw numbers whose sums are different in every order, if they are rounded."""
    return mixed(4000)[: math.prod(SHAPE)].reshape(SHAPE)


def bits(x):
    """Take everything that tells two arrays apart."""
    return x.dtype, x.shape, x.tobytes()


def computed(x):
    return x.compute(scheduler="synchronous")


@typed
@settings(deadline=None, max_examples=examples(40))
@given(data=st.data())
def test_sums_and_means_are_rounded_once(dtype, data):
    x = data.draw(any_floats(dtype))
    chunked = da.from_array(x, chunks=data.draw(st.integers(1, 40)))
    for result in REALS:
        assert same(computed(gred.dask.sum(chunked, dtype=result)), total(x, result))
        expected = total(x, result, divisor=len(x))
        assert same(computed(gred.dask.mean(chunked, dtype=result)), expected)


def test_elements_of_any_axis_order_and_kind_of_half_are_taken():
    x = numbers()[0]
    assert bits(computed(gred.dask.sum(da.from_array(x, chunks=5), axis=()))) == bits(x)
    swapped = da.from_array(np.array([1.5, 2.5], ">f8"), chunks=1)
    assert same(computed(gred.dask.sum(swapped)), np.float64(4.0))
    assert same(computed(gred.dask.mean(swapped)), np.float64(2.0))
    assert same(computed(gred.dask.dot(swapped, swapped)), np.float64(8.5))
    half = da.from_array(np.array([1.5, 2.5], np.float16), chunks=1)
    assert computed(gred.dask.dot(half, half.astype(BFLOAT16))) == 8.5


@settings(deadline=None, max_examples=examples(40))
@given(any_floats(WIDE), any_floats(WIDE), st.integers(1, 40), st.integers(1, 40))
def test_dot_products_are_rounded_once(a, b, of_a, of_b):
    a, b = a[: len(b)], b[: len(a)]
    lazy = gred.dask.dot(da.from_array(a, chunks=of_a), da.from_array(b, chunks=of_b))
    with np.errstate(all="ignore"):
        assert same(computed(lazy), dot(a, b))


@pytest.mark.parametrize("of_b", [*COMPLEX, *REALS], ids=str)
def test_complex_dot_products_are_those_of_whole_vectors(of_b):
    random = np.random.default_rng(1)
    a = random.normal(size=5000) + 1j * random.normal(size=5000)
    b = random.normal(size=5000) + (1j * random.normal(size=5000) if of_b.kind == "c" else 0)
    b = b.astype(of_b) if of_b.kind == "c" else b.real.astype(of_b)
    lazy = gred.dask.dot(da.from_array(a, chunks=700), da.from_array(b, chunks=1001))
    assert computed(lazy) == gred.dot(a, b, method="exact")
    infinite = da.from_array(np.array([complex(0, math.inf), complex(0, math.nan)]), chunks=1)
    assert math.isnan(computed(gred.dask.dot(infinite, infinite)).real)
    assert computed(gred.dask.dot(infinite[:1], infinite[:1])).real == -math.inf


@pytest.mark.parametrize("dtype", ["i1", "i8", "u1", "u8", "?"])
def test_integers_wrap_around_in_64_bits(dtype):
    random = np.random.default_rng(1)
    x = random.integers(0, 2**63, (40, 30), np.uint64).astype(dtype)
    chunked = da.from_array(x, chunks=(7, 11))
    for axis in (None, 0, 1):
        got, expected = computed(gred.dask.sum(chunked, axis=axis)), np.sum(x, axis=axis)
        assert (bits(got), type(got)) == (bits(expected), type(expected))
    whole = x.ravel()
    flat = da.from_array(whole, chunks=17)
    got, expected = computed(gred.dask.dot(flat, flat[::-1])), gred.dot(whole, whole[::-1])
    assert (bits(got), type(got)) == (bits(expected), type(expected))
    exact = sum(map(int, whole.tolist()))
    assert same(computed(gred.dask.mean(chunked)), nearest(Fraction(exact, x.size), WIDE))


def test_chunks_of_unknown_and_of_no_length_are_taken():
    x = da.from_array(mixed(500), chunks=100)
    some = x[x > 0]
    whole = computed(some)
    assert same(computed(gred.dask.sum(some)), total(whole, WIDE))
    assert same(computed(gred.dask.mean(some)), total(whole, WIDE, divisor=len(whole)))
    assert same(computed(gred.dask.dot(some, some)), dot(whole, whole))
    with pytest.raises(ValueError, match="as many chunks"):
        gred.dask.dot(some, x[:100])
    none, empty = da.zeros(0), da.zeros((0, 3), chunks=2)
    assert same(computed(gred.dask.sum(none)), np.float64(0.0))
    assert math.isnan(computed(gred.dask.mean(none)))
    assert computed(gred.dask.sum(empty, axis=0)).tolist() == [0.0] * 3
    assert computed(gred.dask.sum(empty, axis=1)).shape == (0,)


def test_results_are_lazy_and_go_on_as_any_others():
    def refuse(block):
        raise AssertionError("computed too soon")

    x = da.ones((10, 10), chunks=3)
    lazy = gred.dask.sum(x.map_blocks(refuse, dtype=float), axis=0)
    assert isinstance(lazy, da.Array)
    assert computed((gred.dask.sum(x, axis=0) * 2).sum()) == 200
    assert computed(gred.dask.mean(x) + gred.dask.dot(x[0], x[1])) == 11


@pytest.fixture(scope="module")
def client():
    """Start two workers, and leave them and each other all the time and memory there is.

    A cluster sets its parent's OMP_NUM_THREADS, for workers of a thread: that is taken back.
    """
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    patience = {
        "distributed.comm.timeouts.connect": "15 minutes",
        "distributed.comm.timeouts.tcp": "15 minutes",
        "distributed.deploy.lost-worker-timeout": "15 minutes",
        "distributed.scheduler.worker-ttl": None,
    }
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with mock.patch.dict(os.environ), dask.config.set(patience):
        cluster = distributed.LocalCluster(n_workers=2, memory_limit=0, **options)
        try:
            with cluster.get_client() as client:
                yield client
        finally:
            with contextlib.suppress(asyncio.TimeoutError, KeyError):  # of workers that end late
                cluster.close()


@pytest.mark.unsanitized
def test_clusters_of_any_size_make_the_same_bits(client):
    x = numbers()
    flat = x.ravel()
    expected = [gred.sum(x, method="exact"), gred.mean(x, method="exact")]
    expected += [gred.dot(flat, flat[::-1], method="exact"), gred.sum(x, axis=0, method="exact")]
    client.wait_for_workers(2)
    addresses = sorted(client.scheduler_info()["workers"])
    for workers in (addresses, addresses[:1]):
        for chunks in ((9, 5, 7), (23, 2, 7)):
            lazy = da.from_array(x, chunks=chunks)
            line = da.from_array(flat, chunks=chunks[0] * 10)
            asked = [gred.dask.sum(lazy), gred.dask.mean(lazy)]
            asked += [gred.dask.dot(line, line[::-1]), gred.dask.sum(lazy, axis=0)]
            made = client.compute(asked, sync=True, workers=workers)
            assert [*map(bits, made)] == [*map(bits, expected)]
    parts = client.map(gred.ExactSum, np.array_split(flat, 11))
    assert client.submit(sum, parts).result() == gred.ExactSum(x)


def lose_a_worker(block, marker):
    """End the process that comes here first, once."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        os._exit(1)
    return block


@pytest.mark.unsanitized
def test_a_worker_that_dies_changes_no_bit(client, tmp_path):
    x = numbers()
    lazy = da.from_array(x, chunks=(9, 5, 7))
    doomed = lazy.map_blocks(
        lose_a_worker, marker=str(tmp_path / "died"), dtype=x.dtype, meta=np.empty((0, 0, 0))
    )

    def asked(x):
        keys = da.arange(x.size, chunks=100) % 5
        of_all = [gred.dask.norm(x), gred.dask.var(x / 2.0**500, 1), gred.dask.max(x, 0)]
        by_key = gred.dask.by_key("sum", keys, x.reshape(-1), 5)
        return [*of_all, by_key, gred.dask.quantile(x, [0.1, 0.7]), gred.dask.describe(x)]

    expected = dask.compute(*asked(lazy), scheduler="synchronous")
    client.wait_for_workers(2)
    made = client.compute(asked(doomed), sync=True)
    assert (tmp_path / "died").exists()
    assert [*map(bits, map(np.asarray, made))] == [*map(bits, map(np.asarray, expected))]


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
    made = sums_of(np.array([-sys.float_info.max, 2.0**-1074]), (0,))
    doubled = made
    for _ in range(20):
        doubled = merged([doubled, doubled])
    got = rounded(doubled, float, divided=True)
    assert bits_of(got) == bits_of([-sys.float_info.max / 2])


FLOATS, WHOLE, SQUARE = da.ones(3), da.ones(3, dtype=int), da.ones((2, 2))
REFUSED = [
    ("dot", (FLOATS, [1, 2, 3]), {}, TypeError, "b must be an array of Dask's, not list"),
    ("dot", (FLOATS, da.ones(4)), {}, ValueError, "vectors of one length; got shapes"),
    ("dot", (SQUARE, SQUARE), {}, ValueError, "vectors of one length; got shapes"),
    ("sum", (WHOLE * 1j,), {"dtype": float}, TypeError, "must be complex; got float64"),
    ("mean", (FLOATS,), {"dtype": int}, TypeError, "must be a float's; got int64"),
    ("sum", (FLOATS,), {"axis": 3}, np.exceptions.AxisError, "out of bounds"),
    ("var", (np.ones(3),), {}, TypeError, "array of Dask's"),
    ("std", (FLOATS,), {"dtype": int}, TypeError, "must be float16"),
]
for name, x in (("sum", FLOATS), ("mean", WHOLE)):
    REFUSED += [(name, (np.ones(3),), {}, TypeError, "x must be an array of Dask's, not ndarray")]
    REFUSED += [
        (name, (x,), {"where": where}, error, "where must")
        for where, error in (([1, 0, 1], TypeError), ([True] * 2, ValueError))
    ]
    for dtype in ("U3", "M8[s]", "O", np.longdouble):
        elements = da.from_array(np.zeros(3, dtype), chunks=3)
        REFUSED += [(name, (FLOATS,), {"dtype": dtype}, TypeError, None)]
        REFUSED += [(name, (elements,), {}, TypeError, None)]


@pytest.mark.parametrize(("name", "arguments", "options", "error", "words"), REFUSED)
def test_what_cannot_be_is_refused_before_computing(name, arguments, options, error, words):
    with pytest.raises(error, match=words):
        getattr(gred.dask, name)(*arguments, **options)


def test_parts_of_a_mean_do_not_touch_each_other():
    x = np.array([1e300 + 1j, 3e300 + 3j])
    means = [
        gred.mean(x, dtype="c8", method="exact"),
        gred.mean(x, dtype="c8", method="exact", device="simulated"),
        gred.mean(x[None], axis=1, dtype="c8", method="exact")[0],
        computed(gred.dask.mean(da.from_array(x, chunks=1), dtype="c8")),
    ]
    assert [(mean.real, mean.imag) for mean in means] == [(math.inf, 2.0)] * 4
