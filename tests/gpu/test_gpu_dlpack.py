"""DLPack capsules of GPU memory: of every kind, in their streams' order, and released once."""

import numpy as np
import pytest
from capsules import CUDA, CUDA_HOST, CUDA_MANAGED, NEW, OLD, Producer, capsule_of
from gpu_arrays import GpuArray, Stream, is_busy, synchronize, write_later

import gred

pytestmark = pytest.mark.gpu
N = 100_003
MEMORIES = {"device": CUDA, "managed": CUDA_MANAGED, "pinned": CUDA_HOST}


def on_gpu(host, name=NEW, where="device"):
    """Describe GPU memory by a capsule."""
    memory, kind = GpuArray.of(host, where), MEMORIES[where]
    producer = Producer(capsule_of(host, name, device_type=kind, data=memory.address), (kind, 0))
    producer.memory = memory
    return producer


@pytest.mark.parametrize("name", [OLD, NEW])
@pytest.mark.parametrize("where", MEMORIES)
def test_capsules_of_every_memory_are_read_and_released_once(name, where):
    """Errors release them, too; a handshake names a stream, the one that is asked for if any."""
    producer = on_gpu(np.arange(1, 1001, dtype=np.float32).reshape(20, 50), name, where)
    for _ in range(3):
        assert gred.sum(producer) == 500500
        options = producer.calls[-1]
        assert options["max_version"] == (1, 1)
        assert "stream" not in options if where == "pinned" else options["stream"] > 2
    if where != "pinned":
        mine = Stream()
        for stream in (mine.handle, 1):
            assert gred.sum(producer, stream=stream) == 500500
            assert producer.calls[-1]["stream"] == stream
        bad = {"dtype": "O", "method": "none", "device": "host", "out": np.zeros(3)}
        for option, value in (bad | {"block_size": 48, "where": [True, False]}).items():
            with pytest.raises((TypeError, ValueError)):
                gred.sum(producer, **{option: value})
    assert producer.capsule.deletions == len(producer.calls)


class Late(Producer):
    """A producer that writes sevens, late, on the stream that it is told."""

    def __dlpack__(self, **options):
        write_later(self.memory, 7, options["stream"])
        return super().__dlpack__(**options)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("with_out", [False, True])
def test_what_a_producer_puts_on_the_handshakes_stream_comes_first(named, with_out):
    """Where its stream is not known, out waits: nothing else would keep its memory until then."""
    producer, mine = on_gpu(np.zeros(N, np.int32)), Stream()
    options = {"stream": mine.handle} if named else {}
    out = GpuArray.of(np.zeros(1, np.int64)) if with_out else None
    gred.sum(producer, out=out, **options)
    producer.__class__ = Late
    got = gred.sum(producer, out=out, **options)
    assert named or not is_busy(producer.calls[-1]["stream"])
    synchronize()
    assert (out.host()[0] if with_out else got) == 7 * N


@pytest.mark.parametrize("name", [OLD, NEW])
@pytest.mark.parametrize("where", ["device", "pinned"])
def test_a_tensor_is_an_out_unless_it_is_of_the_host_and_has_no_version(name, where):
    out, is_out = on_gpu(np.zeros(1), name, where), (name, where) != (OLD, "pinned")
    if is_out:
        assert gred.sum(np.arange(10), out=out) is out
    else:
        with pytest.raises(ValueError, match="out is read-only"):
            gred.sum(np.arange(10), out=out)
    synchronize()
    assert out.memory.host()[0] == 45 * is_out
