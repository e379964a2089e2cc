"""Segments on a GPU: results of the caller's library, in the streams' order, in graphs, at size."""

import numpy as np
import pytest
from devices import to_host
from forcing import forced
from gpu_arrays import GpuArray, Graph, Stream, call, delay, is_busy, on, upload
from gpu_libraries import of_libraries
from segments import UFUNCS, by_one

import gred

pytestmark = pytest.mark.gpu
X = np.arange(700) % 29
RISES, ANY = np.array([0, 3, 3, 90, 500]), np.array([90, 3, 500, 3, 0])


@pytest.fixture(params=["measured", "little tiles", "one by one"])
def sharing(request):
    with forced("segments", request.param):
        yield request.param


@of_libraries
@pytest.mark.parametrize("op", UFUNCS)
def test_results_are_of_the_callers_library(library, sharing, op):
    x = X.astype(np.float32)
    for offsets in (RISES, ANY):
        expected = UFUNCS[op].reduceat(x, offsets)
        for given in (library.make(offsets.astype(np.int32)), offsets):
            result = gred.reduceat(op, library.make(x), given)
            assert type(result) is type(library.make(x))
            np.testing.assert_array_equal(to_host(result), expected)


def test_nobody_waits_for_results_that_stay(sharing):
    stream = Stream()
    values, offsets = on(stream, X), on(stream, RISES)
    gred.reduceat("sum", values, offsets)
    call("cuStreamSynchronize", stream.handle)
    delay(stream.handle)
    result = gred.reduceat("sum", values, offsets, stream=stream.handle)
    assert is_busy(stream.handle)
    call("cuStreamSynchronize", stream.handle)
    np.testing.assert_array_equal(result.to_numpy(), np.add.reduceat(X, RISES))


def test_a_captured_call_takes_the_way_that_the_offsets_ask_for_then(sharing):
    stream = Stream()
    values, offsets = on(stream, X), on(stream, RISES)
    out = on(stream, np.zeros(len(RISES), X.dtype))
    gred.reduceat("sum", values, offsets, out=out)
    call("cuStreamSynchronize", stream.handle)  # it reads the offsets, which are written next
    with Graph(stream) as graph:
        gred.reduceat("sum", values, offsets, out=out)
    for now in (ANY, RISES, np.array([0, 1, 2**40, -3, 5]), np.array([699, 0, 0, 1, 1])):
        upload(offsets.address, now)
        graph.run()
        call("cuStreamSynchronize", stream.handle)
        np.testing.assert_array_equal(out.host(), by_one("sum", X, now)[0])


@pytest.mark.parametrize("dtype", ["int32", "int8", "float64", "complex128"])
@pytest.mark.parametrize("kind", ["uniform", "power-law", "one", "none"])
def test_millions_of_elements_of_any_lengths_are_right(kind, dtype):
    rng = np.random.default_rng(1)
    lengths = {
        "uniform": lambda: rng.integers(0, 128, 100_000),
        "power-law": lambda: np.floor(rng.pareto(1.1, 100_000)).astype(int).clip(0, 3_000_000),
        "one": lambda: np.array([0, 0, 9_000_000, 0, 3]),
        "none": lambda: np.zeros(1_000_000, int),
    }[kind]()
    ends = np.concatenate([[0], np.cumsum(lengths)])
    x = rng.integers(-9, 10, max(ends[-1], 1)).astype(dtype)
    wide = np.int64 if np.dtype(dtype).kind == "i" else dtype
    sums = np.concatenate([[0], np.cumsum(x[: ends[-1]], dtype=wide)])
    expected = (sums[ends[1:]] - sums[ends[:-1]]).astype(wide)
    starts = np.append(ends[:-1], ends[-1])
    values, offsets = GpuArray.of(x), GpuArray.of(starts)
    got = to_host(gred.reduceat("sum", values, offsets, empty="identity"))
    np.testing.assert_array_equal(got[:-1], expected)
    backwards = np.ascontiguousarray(starts[::-1])
    got = to_host(gred.reduceat("max", values, GpuArray.of(backwards), empty="identity"))
    least = np.iinfo(dtype).min if np.dtype(dtype).kind == "i" else -np.inf
    assert (got[:-1].real == least).all() or kind == "none"
    assert got[-1].real == x.real.max()


def test_segments_begin_where_no_load_does(sharing):
    around = np.random.default_rng(2).integers(-99, 99, 5000).astype(np.int8)
    for first in range(1, 17):
        values = GpuArray.of(around)[first:4001]
        offsets = np.arange(0, 4001 - first, 61)
        got = to_host(gred.reduceat("sum", values, offsets))
        np.testing.assert_array_equal(got, np.add.reduceat(around[first:4001], offsets, dtype=int))
