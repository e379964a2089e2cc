"""Results along axes, of lists and of segments on a GPU: of the same library, in streams' order."""

import gc

import numpy as np
import pytest
from devices import to_host
from forcing import forced
from gpu_arrays import (
    LEGACY_DEFAULT_STREAM,
    Event,
    GpuArray,
    Graph,
    Stream,
    call,
    delay,
    fill,
    free_bytes,
    is_busy,
    on,
    upload,
    write_later,
)
from gpu_libraries import of_libraries
from reference import BFLOAT16
from segments import UFUNCS, by_one

import gred

pytestmark = pytest.mark.gpu
X = np.arange(1, 7 * 9 * 11 + 1).reshape(7, 9, 11) % 29
AXES = [0, 1, -1, (0, 1), (0, 2), (1, 2)]


def own():
    """Put X where only an interface tells of it."""
    return GpuArray.of(X.astype(np.float32)).described(shape=X.shape)


# ---- kinds ----


@of_libraries
@pytest.mark.parametrize("op", ["sum", "max", "mean", "argmax", "any", "var"])
def test_results_are_of_the_callers_library(library, op):
    x = X.astype(np.float64)
    a = library.make(x)
    for axis in [0, 1, -1] if op == "argmax" else AXES:
        result = getattr(gred, op)(a, axis)
        assert type(result) is type(a)
        expected = getattr(np, op)(x, axis)
        assert tuple(result.shape) == expected.shape
        np.testing.assert_allclose(to_host(result), expected, rtol=1e-14)


def test_they_have_the_reductions_type(library):
    """Of a whole array that is NumPy's."""
    for dtype in library.types:
        if dtype != BFLOAT16:
            x = (X % 2).astype(dtype)
            got = to_host(gred.max(library.make(x), 1, keepdims=True))
            expected = x.max(1, keepdims=True)
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got, expected)
            assert type(gred.max(library.make(x), (0, 1, 2))) is x.dtype.type


def test_bfloat16_stays_what_it_is():
    torch = pytest.importorskip("torch")
    a = torch.ones((3, 4), dtype=torch.bfloat16, device="cuda")
    result = gred.sum(a, 0)
    assert (result.dtype, result.device, result.tolist()) == (torch.bfloat16, a.device, [3.0] * 4)


def test_anything_else_gets_greds_own():
    result = gred.sum(own(), 1)
    assert isinstance(result, gred.DeviceArray)
    assert result.device == "cuda:0"
    np.testing.assert_array_equal(result.to_numpy(), X.sum(1))
    assert gred.sum(result) == X.sum()
    np.testing.assert_array_equal(gred.max(result, 0).to_numpy(), X.sum(1).max(0))
    stream = result.__cuda_array_interface__["stream"]
    assert stream not in (None, 0, LEGACY_DEFAULT_STREAM)  # one of gred's


@of_libraries
def test_other_libraries_take_greds_own_and_reckon_with_it(library):
    """Numba's arrays have no arithmetic; those of others are of the library."""
    result, x = gred.sum(own(), 1), X.astype(np.float32)
    if library.module == "numba":
        np.testing.assert_array_equal(to_host(library.cuda.as_cuda_array(result)), X.sum(1))
        return
    source = {"jax": lambda: library.jax.dlpack, "torch": lambda: library.torch}
    taken = source.get(library.module, lambda: library.cupy)().from_dlpack(result)
    np.testing.assert_array_equal(to_host(taken), X.sum(1))
    other = library.make(x[:, 0])
    for got, expected in (
        (result - other, x.sum(1) - x[:, 0]),
        (other - result, x[:, 0] - x.sum(1)),
        (result * other, x.sum(1) * x[:, 0]),
    ):
        assert type(got) is type(other)
        np.testing.assert_array_equal(to_host(got), expected)


def test_memory_is_the_librarys_own():
    cupy, torch = (pytest.importorskip(name) for name in ("cupy", "torch"))
    a = cupy.ones((4, 1 << 20), cupy.float32)
    before = cupy.get_default_memory_pool().used_bytes()
    result = gred.sum(a, 0)
    assert cupy.get_default_memory_pool().used_bytes() - before == result.nbytes
    a = torch.ones((4, 1 << 20), device="cuda")
    before = torch.cuda.memory_allocated()
    result = gred.sum(a, 0)
    assert torch.cuda.memory_allocated() - before == 4 << 20
    del result


# ---- out= ----


PARTS = {
    "every other": ((14, 22), lambda o: o[::2, ::2]),
    "a corner": ((9, 13), lambda o: o[:7, :11]),
    "transposed": ((22, 14), lambda o: o.T[::2, ::2]),
}


@of_libraries
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_out_of_any_strides_and_type(writing, dtype, part):
    """What lies between its elements stays as it was."""
    if writing.module == "numba" and part == "transposed":
        pytest.skip("Numba copies what it transposes")
    shape, take = PARTS[part]
    model = np.full(shape, 5, dtype)
    memory = writing.make(model)
    out = take(memory)
    assert gred.sum(writing.make(X.astype(np.float32)), 1, out=out) is out
    take(model)[...] = X.sum(1)
    np.testing.assert_array_equal(to_host(memory), model)


@of_libraries
def test_out_may_overlap_lie_on_the_host_and_be_of_an_array_there(writing):
    a, out = writing.make(X.astype(np.float32)), np.zeros((11, 7)).T
    assert gred.sum(a, 1, out=out) is out
    np.testing.assert_array_equal(out, X.sum(1))
    gred.sum(a, 0, out=a[2])
    np.testing.assert_array_equal(to_host(a)[2], X.sum(0))
    out = writing.make(np.zeros((7, 11)))
    assert gred.sum(X.astype(np.float64), 1, out=out) is out
    np.testing.assert_array_equal(to_host(out), X.sum(1))


# ---- streams ----


def made_later(stream, rows=64, columns=256):
    """An array of ones that a stream writes after a delay; zeros until then."""
    a = GpuArray.of(np.zeros(rows * columns, np.int32))
    call("cuCtxSynchronize")
    write_later(a.address, a.nbytes, 1, stream)
    return a.described(shape=(rows, columns), stream=stream)


def warmed(work, *arguments):
    """Do it twice: the first time the driver loads kernels, for which it may wait."""
    work(*arguments)
    call("cuCtxSynchronize")
    return work(*arguments)


def test_nobody_waits_and_the_producer_comes_first():
    stream = Stream()

    def work():
        a = made_later(stream.handle)
        made = Event(stream.handle)
        result = gred.sum(a, 0)
        return result, made.is_past()

    result, waited = warmed(work)
    assert not waited
    np.testing.assert_array_equal(result.to_numpy(), np.full(256, 64))
    assert not is_busy(stream.handle)


@pytest.mark.parametrize("given", [False, True], ids=["the arrays own", "another"])
def test_a_consumer_on_another_stream_comes_after(given):
    """It reads by the interface, which names the stream that has to be waited for."""
    cupy = pytest.importorskip("cupy")
    producer, other = Stream(), Stream()

    def work():
        a = made_later(producer.handle)
        result = gred.sum(a, 0, stream=other.handle if given else None)
        with cupy.cuda.Stream(non_blocking=True) as consumer:
            total = cupy.from_dlpack(result).sum()
            busy = is_busy(producer.handle)
        consumer.synchronize()
        return int(total), busy

    assert warmed(work) == (64 * 256, True)


def test_torch_and_cupy_read_results_on_their_own_current_stream(library):
    if library.module not in ("torch", "cupy"):
        pytest.skip("the others have no current stream")
    stream = library.stream()

    def work():
        with library.current(stream):
            a = library.made_on(stream, np.zeros((64, 256), np.float32))
            call("cuCtxSynchronize")
            delay(library.handle(stream))
            library.fill(a, 2, stream)
            filled = Event(library.handle(stream))
            rows = gred.sum(a, 1)
            return rows + rows, filled.is_past()

    twice, waited = warmed(work)
    assert not waited
    call("cuCtxSynchronize")
    np.testing.assert_array_equal(to_host(twice), np.full(64, 1024))


def test_memory_that_is_free_again_is_not_written_too_early():
    """What a result had is given to the next only after all that reads it."""
    for _ in range(20):
        stream = Stream()
        first = gred.sum(made_later(stream.handle), 0)
        total = on(stream, np.zeros(1, np.int64))
        gred.sum(first, out=total)
        del first
        gred.max(GpuArray.of(np.full(256 * 2, 9, np.int64)).described(shape=(2, 256)), 0)
        call("cuStreamSynchronize", stream.handle)
        assert total.host()[0] == 64 * 256


@pytest.mark.gpu_alone
def test_memory_comes_back():
    a = GpuArray.of(np.ones(4 << 20, np.float32)).described(shape=(1, 4 << 20))
    gred.sum(a, 0)
    call("cuCtxSynchronize")
    before = free_bytes()
    for _ in range(200):
        gred.sum(a, 0)
    gc.collect()
    call("cuCtxSynchronize")
    assert before - free_bytes() < 128 << 20


def test_a_captured_call_of_pytorchs_makes_its_result_in_the_graphs_own_memory():
    torch = pytest.importorskip("torch")
    a = torch.ones((300, 500), device="cuda")
    gred.sum(a, 0)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = gred.sum(a, 0)
    for value in (2.0, 3.0):
        a.fill_(value)
        graph.replay()
        torch.cuda.synchronize()
        assert bool((result == 300 * value).all())


def test_dlpack_orders_the_stream_that_it_is_told():
    producer = Stream()

    def work(told):
        """Tell whether a reader that is told, or not, has to wait; and whether the producer has."""
        reader = Stream()
        a = made_later(producer.handle)  # to free it would wait for it
        result = gred.sum(a, 0)
        capsule = result.__dlpack__(stream=reader.handle if told else -1, max_version=(1, 0))
        busy = is_busy(reader.handle), is_busy(producer.handle)
        call("cuCtxSynchronize")
        del capsule
        return busy

    assert warmed(work, True) == (True, True)
    assert warmed(work, False) == (False, True)


# ---- lists ----

N = 100_003


def test_what_all_streams_of_a_list_are_to_do_comes_first():
    streams = [Stream() for _ in range(6)]
    arrays = [on(stream, np.zeros(N, np.int32)) for stream in streams]
    assert gred.sum(arrays) == 0
    for array, stream in zip(arrays, streams, strict=True):
        write_later(array.address, array.nbytes, 3, stream.handle)
    assert gred.sum(arrays) == 3 * 6 * N
    assert not any(is_busy(stream.handle) for stream in streams)
    with pytest.raises(ValueError, match="6 streams at most"):
        gred.sum([*arrays, on(Stream(), np.zeros(N, np.int32))])


def test_what_comes_later_on_a_lists_stream_waits():
    """An array may be freed, or filled again, once the call has returned."""
    stream = Stream()
    arrays = [on(stream, np.zeros(N + k, np.int32)) for k in range(3)]
    out = on(stream, np.zeros(3, np.int64))
    for array in arrays:
        fill(array, 1, stream)
    gred.each("sum", arrays, out=out)
    for array in arrays:
        fill(array, 9, stream)
    call("cuStreamSynchronize", stream.handle)
    assert out.host().tolist() == [N, N + 1, N + 2]


def test_elements_of_lists_begin_anywhere_in_any_memory():
    host = np.arange(5000, dtype=np.float32) % 7
    whole = GpuArray.of(host)
    cuts = [(k, 4000 + k % 5) for k in range(33)]
    got = gred.each("sum", [whole[a:b] for a, b in cuts], out=GpuArray.of(np.zeros(33, np.float32)))
    assert got.host().tolist() == [host[a:b].sum() for a, b in cuts]
    places = ("device", "managed", "device")
    arrays = [GpuArray.of(np.full(1000, k, np.int32), where) for k, where in enumerate(places)]
    assert gred.sum(arrays) == 3000


# ---- segments ----

VALUES = np.arange(700) % 29
RISES, ANY = np.array([0, 3, 3, 90, 500]), np.array([90, 3, 500, 3, 0])


@pytest.fixture(params=["measured", "little tiles", "one by one"])
def sharing(request):
    with forced("segments", request.param):
        yield request.param


@of_libraries
@pytest.mark.parametrize("op", UFUNCS)
def test_segments_results_are_of_the_callers_library(library, sharing, op):
    x = VALUES.astype(np.float32)
    for offsets in (RISES, ANY):
        expected = UFUNCS[op].reduceat(x, offsets)
        for given in (library.make(offsets.astype(np.int32)), offsets):
            result = gred.reduceat(op, library.make(x), given)
            assert type(result) is type(library.make(x))
            np.testing.assert_array_equal(to_host(result), expected)


def test_nobody_waits_for_segments_results_that_stay(sharing):
    stream = Stream()
    values, offsets = on(stream, VALUES), on(stream, RISES)
    gred.reduceat("sum", values, offsets)
    call("cuStreamSynchronize", stream.handle)
    delay(stream.handle)
    result = gred.reduceat("sum", values, offsets, stream=stream.handle)
    assert is_busy(stream.handle)
    call("cuStreamSynchronize", stream.handle)
    np.testing.assert_array_equal(result.to_numpy(), np.add.reduceat(VALUES, RISES))


def test_a_captured_call_takes_the_way_that_the_offsets_ask_for_then(sharing):
    stream = Stream()
    values, offsets = on(stream, VALUES), on(stream, RISES)
    out = on(stream, np.zeros(len(RISES), VALUES.dtype))
    gred.reduceat("sum", values, offsets, out=out)
    call("cuStreamSynchronize", stream.handle)  # it reads the offsets, which are written next
    with Graph(stream) as graph:
        gred.reduceat("sum", values, offsets, out=out)
    for now in (ANY, RISES, np.array([0, 1, 2**40, -3, 5]), np.array([699, 0, 0, 1, 1])):
        upload(offsets.address, now)
        graph.finish()
        np.testing.assert_array_equal(out.host(), by_one("sum", VALUES, now)[0])


LENGTHS = {
    "uniform": lambda rng: rng.integers(0, 128, 100_000),
    "power-law": lambda rng: np.floor(rng.pareto(1.1, 100_000)).astype(int).clip(0, 3_000_000),
    "one": lambda rng: np.array([0, 0, 9_000_000, 0, 3]),
    "none": lambda rng: np.zeros(1_000_000, int),
}


@pytest.mark.parametrize("dtype", ["int32", "int8", "float64", "complex128"])
@pytest.mark.parametrize("kind", LENGTHS)
def test_segments_of_millions_of_elements_of_any_lengths_are_right(kind, dtype):
    rng = np.random.default_rng(1)
    ends = np.concatenate([[0], np.cumsum(LENGTHS[kind](rng))])
    x = rng.integers(-9, 10, max(ends[-1], 1)).astype(dtype)
    wide = np.int64 if np.dtype(dtype).kind == "i" else dtype
    sums = np.concatenate([[0], np.cumsum(x[: ends[-1]], dtype=wide)])
    expected = (sums[ends[1:]] - sums[ends[:-1]]).astype(wide)
    starts = np.append(ends[:-1], ends[-1])
    values = GpuArray.of(x)
    got = to_host(gred.reduceat("sum", values, GpuArray.of(starts), empty="identity"))
    np.testing.assert_array_equal(got[:-1], expected)
    backwards = GpuArray.of(np.ascontiguousarray(starts[::-1]))
    got = to_host(gred.reduceat("max", values, backwards, empty="identity"))
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
