"""Results along axes of arrays on a GPU: of the same library, in the streams' order, in graphs."""

import gc

import numpy as np
import pytest
from devices import to_host
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
    write_later,
)
from gpu_libraries import of_libraries
from reference import BFLOAT16

import gred

pytestmark = pytest.mark.gpu
X = np.arange(1, 7 * 9 * 11 + 1).reshape(7, 9, 11) % 29
AXES = [0, 1, -1, (0, 1), (0, 2), (1, 2)]


# ---- kinds ----


@of_libraries
@pytest.mark.parametrize("op", ["sum", "max", "mean", "argmax", "any", "var"])
def test_results_are_of_the_callers_library(library, op):
    x = X.astype(np.float64)
    a = library.make(x)
    axes = [0, 1, -1] if op == "argmax" else AXES
    for axis in axes:
        result = getattr(gred, op)(a, axis)
        assert type(result) is type(a)
        expected = getattr(np, op)(x, axis)
        assert tuple(result.shape) == expected.shape
        np.testing.assert_allclose(to_host(result), expected, rtol=1e-14)


def test_they_have_the_reductions_type(library):
    for dtype in library.types:
        if dtype != BFLOAT16:
            x = (X % 2).astype(dtype)
            got = to_host(gred.max(library.make(x), 1, keepdims=True))
            expected = x.max(1, keepdims=True)
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got, expected)


def test_bfloat16_stays_what_it_is():
    torch = pytest.importorskip("torch")
    a = torch.ones((3, 4), dtype=torch.bfloat16, device="cuda")
    result = gred.sum(a, 0)
    assert result.dtype == torch.bfloat16
    assert result.device == a.device
    assert result.tolist() == [3.0] * 4


def test_anything_else_gets_greds_own():
    a = GpuArray.of(X.astype(np.float32)).described(shape=X.shape)
    result = gred.sum(a, 1)
    assert isinstance(result, gred.DeviceArray)
    assert result.device == "cuda:0"
    np.testing.assert_array_equal(result.to_numpy(), X.sum(1))
    assert gred.sum(result) == X.sum()
    np.testing.assert_array_equal(gred.max(result, 0).to_numpy(), X.sum(1).max(0))


@of_libraries
def test_other_libraries_take_greds_own(library):
    a = GpuArray.of(X.astype(np.float32)).described(shape=X.shape)
    result = gred.sum(a, 1)
    if library.module == "numba":
        taken = library.cuda.as_cuda_array(result)
    else:
        source = {"jax": lambda: library.jax.dlpack, "torch": lambda: library.torch}
        taken = source.get(library.module, lambda: library.cupy)().from_dlpack(result)
    np.testing.assert_array_equal(to_host(taken), X.sum(1))


@of_libraries
def test_arithmetic_with_greds_own_is_the_librarys(library):
    if library.module == "numba":
        pytest.skip("Numba's arrays have no arithmetic")
    x = X.astype(np.float32)
    result = gred.sum(GpuArray.of(x).described(shape=X.shape), 1)
    other = library.make(x[:, 0])
    for got, expected in (
        (result - other, x.sum(1) - x[:, 0]),
        (other - result, x[:, 0] - x.sum(1)),
        (result * other, x.sum(1) * x[:, 0]),
    ):
        assert type(got) is type(other)
        np.testing.assert_array_equal(to_host(got), expected)


def test_numpys_scalar_is_a_whole_arrays(library):
    assert type(gred.sum(library.make(X.astype(np.float32)), (0, 1, 2))) is np.float32


def test_memory_is_the_librarys_own():
    cupy = pytest.importorskip("cupy")
    a = cupy.ones((4, 1 << 20), cupy.float32)
    before = cupy.get_default_memory_pool().used_bytes()
    result = gred.sum(a, 0)
    assert cupy.get_default_memory_pool().used_bytes() - before == result.nbytes
    torch = pytest.importorskip("torch")
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
def test_out_may_overlap(writing):
    a = writing.make(X.astype(np.float32))
    gred.sum(a, 0, out=a[2])
    np.testing.assert_array_equal(to_host(a)[2], X.sum(0))


def test_out_on_the_host(library):
    out = np.zeros((11, 7)).T
    assert gred.sum(library.make(X.astype(np.float32)), 1, out=out) is out
    np.testing.assert_array_equal(out, X.sum(1))


def test_out_on_the_gpu_of_an_array_on_the_host(writing):
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


def warmed(work):
    """Do it twice: the first time the driver loads kernels, for which it may wait."""
    work()
    call("cuCtxSynchronize")
    return work()


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
            twice = rows + rows
            return twice, filled.is_past()

    twice, waited = warmed(work)
    assert not waited
    call("cuCtxSynchronize")
    np.testing.assert_array_equal(to_host(twice), np.full(64, 1024))


def test_memory_that_is_free_again_is_not_written_too_early():
    """What a result had is given to the next only after all that reads it."""
    for _ in range(20):
        stream = Stream()
        a = made_later(stream.handle)
        first = gred.sum(a, 0)
        total = GpuArray.of(np.zeros(1, np.int64)).described(stream=stream.handle)
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


# ---- graphs ----


@pytest.mark.parametrize("strided", [False, True], ids=["as it is", "strided"])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_captured_call_is_made_whenever_the_graph_runs(axis, strided):
    stream = Stream()
    rows, columns = 300, 500
    a = on(stream, np.zeros(rows * columns, np.int32)).described(
        shape=(rows, columns), stream=stream.handle
    )
    kept = (columns, rows)[axis]
    memory = on(stream, np.zeros(2 * kept, np.int64))
    step = 2 if strided else 1
    out = memory.described(shape=(kept,), strides=(8 * step,), stream=stream.handle)
    with Graph(stream) as graph:
        assert gred.sum(a, axis, out=out) is out
    assert not memory.host().any()
    for word in (3, 5):
        fill(a, word, stream)
        graph.run()
        graph.run()
        call("cuStreamSynchronize", stream.handle)
        expected = np.zeros(2 * kept, np.int64)
        expected[: kept * step : step] = word * (rows, columns)[axis]
        np.testing.assert_array_equal(memory.host(), expected)


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


def test_memory_of_greds_own_is_nothing_for_a_graph():
    """It says so, and leaves the capture to its owner."""
    stream = Stream()
    a = on(stream, np.ones(6)).described(shape=(2, 3), stream=stream.handle)
    out = on(stream, np.zeros(3)).described(stream=stream.handle)
    with Graph(stream) as graph:
        with pytest.raises(RuntimeError, match="captured"):
            gred.sum(a, 0)
        gred.sum(a, 0, out=out)
    graph.run()
    call("cuStreamSynchronize", stream.handle)
    np.testing.assert_array_equal(out.host(), [2, 2, 2])


# ---- DLPack ----


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

    assert warmed(lambda: work(True)) == (True, True)
    assert warmed(lambda: work(False)) == (False, True)


def test_its_stream_is_greds_own():
    a = GpuArray.of(np.ones(6)).described(shape=(2, 3))
    interface = gred.sum(a, 0).__cuda_array_interface__
    assert interface["stream"] not in (None, 0, LEGACY_DEFAULT_STREAM)
