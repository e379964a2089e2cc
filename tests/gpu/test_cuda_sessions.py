"""A GPU call's workspace and mailbox are used again, but not before the last call is done."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from gpu_arrays import GpuArray, Stream, call, delay, is_busy, on, use_device, write_later, zero_on
from processes import interrupted_after

import gred

pytestmark = pytest.mark.gpu
N = 100003
SECOND = 1_000_000
TALL = 8192


@pytest.mark.parametrize("op", ["sum", "max", "describe", "argmax"])
def test_a_result_is_not_read_before_it_is_there(op):
    """Behind a second's delay, with what earlier calls have left in the mailbox."""
    stream = Stream()
    a = on(stream, np.zeros(N, np.int32))
    reduce = getattr(gred, op)
    reduce(a)
    write_later(a.address, a.nbytes - 8, 7, stream.handle, SECOND)
    answers = {"sum": 7 * (N - 2), "max": 7, "argmax": 0, "describe": 7 * (N - 2)}
    answer = reduce(a)
    assert (answer.sum if op == "describe" else answer) == answers[op]


def tall(stream, value):
    """Make columns so tall that several blocks share each: 32 of them."""
    a = on(stream, np.full(TALL * 32, value, np.int32)).described(
        stream=stream.handle, shape=(TALL, 32)
    )
    a.kept = stream
    return a


def flat(stream, value):
    return on(stream, np.full(N, value, np.int32))


@pytest.mark.parametrize(("make", "axis", "results"), [(flat, None, 1), (tall, 0, 32)])
def test_calls_that_nobody_waits_for_keep_what_they_work_in(make, axis, results):
    """While those of ten busy streams are to come, calls on other streams are right.

    Along axes, that is what blocks leave each other.
    """
    streams = [Stream() for _ in range(11)]
    arrays = [make(stream, k) for k, stream in enumerate(streams)]
    outs = [on(stream, np.zeros(results, np.int64)) for stream in streams]
    gred.sum(arrays[10], axis=axis, out=outs[10])
    call("cuCtxSynchronize")
    for stream, a, out in zip(streams[:10], arrays, outs, strict=False):
        delay(stream.handle, 30_000)
        for _ in range(3):
            gred.sum(a, axis=axis, out=out)
    for _ in range(10):
        gred.sum(arrays[10], axis=axis, out=outs[10])
        assert gred.sum(arrays[10]) == 10 * arrays[10].n
    assert is_busy(streams[9].handle)
    call("cuCtxSynchronize")
    for k, out in enumerate(outs):
        np.testing.assert_array_equal(out.host(), k * arrays[k].n // results)


def test_one_stream_takes_whole_arrays_and_columns_in_turn():
    """What blocks count themselves by is at 0 again after either."""
    stream = Stream()
    a, whole = tall(stream, 5), flat(stream, 2)
    row, one = on(stream, np.zeros(32, np.int64)), zero_on(stream)
    for _ in range(50):
        gred.sum(a, axis=0, out=row)
        gred.sum(whole, out=one)
    call("cuCtxSynchronize")
    np.testing.assert_array_equal(row.host(), 5 * TALL)
    assert one.host()[0] == 2 * N


def test_a_stream_may_be_destroyed_while_its_results_are_to_come():
    """Its handle may be the next stream's, whose work is another's all the same."""
    outs, arrays = [], []
    for k in range(20):
        stream = Stream()
        a = on(stream, np.full(N, k, np.int32))
        delay(stream.handle, 5_000)
        outs.append(zero_on(stream))
        gred.sum(a, out=outs[-1])
        arrays.append(GpuArray.of(np.full(N, k, np.int32)))
        del stream, a.kept, outs[-1].kept
        other = Stream()
        assert gred.sum(arrays[-1], stream=other.handle) == k * N
        arrays.append(a)
    call("cuCtxSynchronize")
    assert [out.host()[0] for out in outs] == [k * N for k in range(20)]


def test_waiting_can_be_interrupted_and_the_next_call_is_right():
    stream = Stream()
    a, b = on(stream, np.zeros(N, np.int32)), on(Stream(), np.ones(N, np.int32))
    gred.sum(a)
    write_later(a.address, a.nbytes, 7, stream.handle, 2 * SECOND)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), interrupted_after(0.2):
        gred.sum(a)
    assert is_busy(stream.handle), "the interrupted call waited for its kernel"
    assert time.monotonic() - began < 2
    assert gred.sum(b) == N
    assert is_busy(stream.handle)
    assert gred.sum(a) == 7 * N
    assert gred.sum(b) == N


def test_sixteen_threads_share_a_few_streams():
    streams = [Stream() for _ in range(4)]

    def work(number):
        use_device(0)
        stream = streams[number % 4]
        a, out = on(stream, np.full(N, number, np.int32)), zero_on(stream)
        for turn in range(50):
            if turn % 2:
                gred.sum(a, out=out)
                call("cuStreamSynchronize", stream.handle)
                assert out.host()[0] == number * N
            else:
                assert gred.sum(a) == number * N
                assert gred.var(a) == 0

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(16)))
