"""A GPU call's workspace and mailbox are used again, but not before the last call is done."""

import contextlib
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from gpu_arrays import GpuArray, Stream, call, delay, is_busy, on, use_device, write_later, zero_on

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


def test_calls_that_nobody_waits_for_keep_what_they_work_in():
    """While ten results are still to come on busy streams, other streams' calls are right."""
    streams = [Stream() for _ in range(10)]
    arrays = [on(stream, np.full(N, k, np.int32)) for k, stream in enumerate(streams)]
    outs = [zero_on(stream) for stream in streams]
    mine = on(Stream(), np.arange(N))
    gred.sum(mine)
    call("cuCtxSynchronize")
    for stream, a, out in zip(streams, arrays, outs, strict=True):
        delay(stream.handle, 30_000)
        for _ in range(3):
            gred.sum(a, out=out)
    for _ in range(10):
        assert gred.sum(mine) == N * (N - 1) // 2
    assert is_busy(streams[-1].handle)
    call("cuCtxSynchronize")
    assert [out.host()[0] for out in outs] == [k * N for k in range(10)]


def tall(stream, value):
    """Make columns so tall that several blocks share each: 32 of them."""
    whole = on(stream, np.full(TALL * 32, value, np.int32))
    a = whole.described(stream=stream.handle, shape=(TALL, 32))
    a.kept = stream
    return a


def row_on(stream):
    return on(stream, np.zeros(32, np.int64))


def test_results_along_axes_keep_what_blocks_leave_each_other():
    """While those of ten busy streams are to come, calls on other streams are right."""
    streams = [Stream() for _ in range(10)]
    arrays = [tall(stream, k) for k, stream in enumerate(streams)]
    outs = [row_on(stream) for stream in streams]
    mine, my_out = tall(Stream(), 3), row_on(Stream())
    gred.sum(mine, axis=0, out=my_out)
    call("cuCtxSynchronize")
    for stream, a, out in zip(streams, arrays, outs, strict=True):
        delay(stream.handle, 30_000)
        for _ in range(3):
            gred.sum(a, axis=0, out=out)
    for _ in range(10):
        gred.sum(mine, axis=0, out=my_out)
        assert gred.sum(mine) == 3 * 32 * TALL
    assert is_busy(streams[-1].handle)
    call("cuCtxSynchronize")
    for k, out in enumerate([*outs, my_out]):
        np.testing.assert_array_equal(out.host(), (k if k < 10 else 3) * TALL)


def test_one_stream_takes_whole_arrays_and_columns_in_turn():
    """What blocks count themselves by is at 0 again after either."""
    stream = Stream()
    a, flat = tall(stream, 5), on(stream, np.full(N, 2, np.int32))
    row, one = row_on(stream), zero_on(stream)
    for _ in range(50):
        gred.sum(a, axis=0, out=row)
        gred.sum(flat, out=one)
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


@contextlib.contextmanager
def interrupted_after(seconds):
    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


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
