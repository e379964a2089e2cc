"""DLPack capsules of GPU memory: of every kind, in their streams' order, and released once."""

import numpy as np
import pytest
from capsules import CUDA, CUDA_HOST, CUDA_MANAGED, NEW, OLD, Producer, capsule_of
from gpu_arrays import GpuArray, Stream, call, is_busy, write_later

import gred

pytestmark = pytest.mark.gpu
N = 100003


def on_gpu(host, kind, name, where, **changes):
    """Describe GPU memory by a capsule."""
    memory = GpuArray.of(host, where)
    capsule = capsule_of(host, name, device_type=kind, data=memory.address, **changes)
    producer = Producer(capsule, (kind, 0))
    producer.memory = memory
    return producer


MEMORIES = {"device": CUDA, "managed": CUDA_MANAGED, "pinned": CUDA_HOST}


@pytest.mark.parametrize("name", [OLD, NEW])
@pytest.mark.parametrize("where", MEMORIES)
def test_capsules_of_every_memory_are_read_and_released_once(name, where):
    host = np.arange(1, 1001, dtype=np.float32).reshape(20, 50)
    producer = on_gpu(host, MEMORIES[where], name, where)
    for times in range(1, 4):
        assert gred.sum(producer) == 500500
        assert producer.capsule.deletions == times == len(producer.calls)
    for options in producer.calls:
        assert options["max_version"] == (1, 1)
        if where == "pinned":
            assert "stream" not in options
        else:
            assert options["stream"] > 2


def test_the_stream_of_the_handshake_is_the_one_that_is_named():
    producer, stream = on_gpu(np.arange(10), CUDA, NEW, "device"), Stream()
    assert gred.sum(producer, stream=stream.handle) == 45
    assert [options["stream"] for options in producer.calls] == [stream.handle]
    assert gred.sum(producer, stream=1) == 45
    assert producer.calls[-1]["stream"] == 1


class Late(Producer):
    """A producer that writes sevens, late, on the stream that it is told."""

    def __dlpack__(self, **options):
        write_later(self.memory.address, self.memory.nbytes, 7, options["stream"])
        return super().__dlpack__(**options)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("with_out", [False, True])
def test_what_a_producer_puts_on_the_handshakes_stream_comes_first(named, with_out):
    """Where its stream is not known, out waits: nothing else would keep its memory until then."""
    producer, mine = on_gpu(np.zeros(N, np.int32), CUDA, NEW, "device"), Stream()
    options = {"stream": mine.handle} if named else {}
    out = GpuArray.of(np.zeros(1, np.int64)) if with_out else None
    gred.sum(producer, out=out, **options)
    producer.__class__ = Late
    got = gred.sum(producer, out=out, **options)
    assert named or not is_busy(producer.calls[-1]["stream"])
    call("cuCtxSynchronize")
    assert (out.host()[0] if with_out else got) == 7 * N


@pytest.mark.parametrize("name", [OLD, NEW])
def test_a_tensor_on_the_gpu_is_an_out_with_a_version_or_without(name):
    out = on_gpu(np.zeros(1), CUDA, name, "device")
    assert gred.sum(np.arange(10), out=out) is out
    assert out.memory.host()[0] == 45


def test_pinned_memory_without_a_version_is_no_out():
    out = on_gpu(np.zeros(1), CUDA_HOST, OLD, "pinned")
    with pytest.raises(ValueError, match="out is read-only"):
        gred.sum(np.arange(10), out=out)
    assert out.memory.host()[0] == 0


def test_errors_release_capsules_too():
    producer = on_gpu(np.arange(10), CUDA, NEW, "device")
    for options in (
        {"dtype": "O"},
        {"method": "none"},
        {"device": "host"},
        {"out": np.zeros(3)},
        {"block_size": 48},
        {"where": [True, False]},
    ):
        with pytest.raises((TypeError, ValueError)):
            gred.sum(producer, **options)
    assert producer.capsule.deletions == len(producer.calls)
    assert gred.sum(producer) == 45


def test_a_capsule_that_lies_about_its_memory_is_refused():
    host = np.arange(10)
    for kind in (CUDA, CUDA_MANAGED):
        producer = Producer(capsule_of(host, device_type=kind), (kind, 0))
        with pytest.raises(ValueError, match="a: "):
            gred.sum(producer)
        assert producer.capsule.deletions == 1
    assert gred.sum(on_gpu(host, CUDA, NEW, "device")) == 45
