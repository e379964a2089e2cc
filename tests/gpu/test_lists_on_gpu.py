"""Lists of arrays on a GPU: the order of streams, graphs, and GPUs."""

import numpy as np
import pytest
from devices import on_gpu, two_gpus
from gpu_arrays import GpuArray, Graph, Stream, call, fill, is_busy, on, write_later, zero_on

import gred

pytestmark = pytest.mark.gpu
N = 100_003


def zeros(count, stream):
    return [on(stream, np.zeros(N + k, np.int32)) for k in range(count)]


def test_what_all_streams_are_to_do_comes_first():
    streams = [Stream() for _ in range(6)]
    arrays = [zeros(1, stream)[0] for stream in streams]
    assert gred.sum(arrays) == 0
    for array, stream in zip(arrays, streams, strict=True):
        write_later(array.address, array.nbytes, 3, stream.handle)
    assert gred.sum(arrays) == 3 * 6 * N
    assert not any(is_busy(stream.handle) for stream in streams)
    with pytest.raises(ValueError, match="6 streams at most"):
        gred.sum([*arrays, zeros(1, Stream())[0]])


def test_what_comes_later_on_a_stream_waits():
    """An array may be freed, or filled again, once the call has returned."""
    stream = Stream()
    arrays, out = zeros(3, stream), on(stream, np.zeros(3, np.int64))
    for array in arrays:
        fill(array, 1, stream)
    gred.each("sum", arrays, out=out)
    for array in arrays:
        fill(array, 9, stream)
    call("cuStreamSynchronize", stream.handle)
    assert out.host().tolist() == [N, N + 1, N + 2]


@pytest.mark.parametrize("count", [1, 40, 300])
def test_a_captured_list_is_reduced_whenever_the_graph_runs(count):
    stream = Stream()
    arrays, each = zeros(count, stream), on(stream, np.zeros(count, np.int64))
    out = zero_on(stream)
    with Graph(stream) as graph:
        assert gred.sum(arrays, out=out) is out
        gred.each("max", arrays, out=each)
    for word in (3, 5):
        for k, array in enumerate(arrays):
            fill(array, word + k, stream)
        graph.run()
        graph.run()
        call("cuStreamSynchronize", stream.handle)
        assert out.host()[0] == sum((word + k) * (N + k) for k in range(count))
        assert each.host().tolist() == [word + k for k in range(count)]


def test_elements_that_begin_anywhere():
    host = np.arange(5000, dtype=np.float32) % 7
    whole = GpuArray.of(host)
    cuts = [(k, 4000 + k % 5) for k in range(33)]
    got = gred.each("sum", [whole[a:b] for a, b in cuts], out=GpuArray.of(np.zeros(33, np.float32)))
    assert got.host().tolist() == [host[a:b].sum() for a, b in cuts]


def test_page_locked_and_managed_arrays_are_a_list_like_any():
    arrays = [
        GpuArray.of(np.full(1000, k, np.int32), where)
        for k, where in enumerate(("device", "managed", "device"))
    ]
    assert gred.sum(arrays) == 3000


@two_gpus
def test_arrays_on_two_gpus():
    arrays = [on_gpu(k % 2, np.full(1000, k, np.int32)) for k in range(4)]
    assert gred.sum(arrays) == 6000
    assert gred.mean(arrays) == 1.5
    assert gred.sum(arrays[1::2]) == 4000
    with pytest.raises(ValueError, match="several places"):
        gred.each("sum", arrays)
