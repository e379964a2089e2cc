"""On a GPU a stream's earlier work comes first, and no call waits needlessly, for any library.

Delays show which calls wait. Kernels are loaded beforehand, because the driver waits for that.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from devices import to_host
from gpu_arrays import (
    LEGACY_DEFAULT_STREAM,
    GpuArray,
    Owned,
    Stream,
    call,
    delay,
    elsewhere,
    is_busy,
    on,
    synchronize,
    use_device,
    write,
    write_later,
    zero_on,
)
from gpu_libraries import Cupy, Driver, Jax, Numba, Torch, of
from hostile import streaming
from inputs import methods_on

import gred

pytestmark = pytest.mark.gpu
N = 100_003
METHODS = ("auto", *methods_on("cuda"))
# Every method with the driver's arrays, one method with the libraries'.
WAYS = [(Driver, m) for m in METHODS] + [(one, "auto") for one in (Cupy, Torch, Numba)]
NAMES = [f"{library.module}-{method}" for library, method in WAYS]
every_way = pytest.mark.parametrize(("library", "method"), WAYS, ids=NAMES, indirect=["library"])


def zeros(n=N, dtype=np.int32):
    return GpuArray.of(np.zeros(n, dtype))


class Reached:
    """A point behind all current work of a stream."""

    def __init__(self, stream: int, without_time: int = 2):
        self.event = Owned("cuEventCreate", "cuEventDestroy_v2", without_time)
        call("cuEventRecord", self.event.handle, stream)

    def __bool__(self):
        return not is_busy(self.event.handle, "cuEventQuery")


# ---- earlier work comes first ----


def fill_later(library, a, stream, value):
    """Have the library's own kernel write after a delay; return the point behind it."""
    handle = library.handle(stream)
    library.fill(a, 1, stream)  # compiles the kernel, which takes longer than the delay
    synchronize(handle)
    delay(handle)
    library.fill(a, value, stream)
    assert is_busy(handle)
    return Reached(handle)


@every_way
def test_what_a_stream_is_to_do_comes_first_and_with_out_nobody_waits(library, method):
    stream = library.stream()
    handle = library.handle(stream)
    with library.current(stream):
        a = library.made_on(stream, np.zeros(N, np.int32))
        out = library.made_on(stream, np.zeros(1, np.int64))
        gred.sum(a, method=method), gred.sum(a, method=method, out=out)
        fill_later(library, a, stream, 7)
        assert gred.sum(a, method=method) == 7 * N
        assert not is_busy(handle)
        filled = fill_later(library, a, stream, 8)
        assert gred.sum(a, method=method, out=out) is out
        assert not filled, "the call waited for the producer"
    synchronize(handle)
    assert library.host(out).ravel()[0] == 8 * N


@every_way
def test_work_runs_on_the_stream_that_is_named(library, method):
    """The array names another stream, so that only stream= says what to wait for."""
    mine, a = library.stream(), zeros()
    handle = library.handle(mine)
    forms = [(handle, form) for form in (handle, streaming((0, handle)), library.external(handle))]
    forms += [(handle, mine)] if library.module != "driver" else []
    forms += [(LEGACY_DEFAULT_STREAM, library.default_stream())]
    if isinstance(library, Numba):  # its own streams wait for the default one
        own = library.cuda.stream()
        forms += [(library.handle(own), own)]
    gred.sum(a, method=method)
    for word, (writer, stream) in enumerate(forms, 7):
        before = gred.sum(a, method=method)
        write_later(a, word, writer)
        if writer == handle:
            assert gred.sum(a, method=method) == before
            assert is_busy(handle)
        assert gred.sum(a, method=method, stream=stream) == word * N


WORD = 0x01010101  # as int32, and as a mask
# The writing stream, None for the array's own; changed entries; the call and its result.
SAID = [{"stream": None}, {"stream": LEGACY_DEFAULT_STREAM}]
SAID += [{"version": version, "stream": ...} for version in (2, 3)]
LATE = [(LEGACY_DEFAULT_STREAM, said, gred.sum, WORD * N) for said in SAID]
LATE += [(2, {"stream": 2}, gred.sum, WORD * N), (None, {}, gred.max, WORD)]
LATE += [(None, {}, gred.argmax, 0), (None, {}, lambda a: gred.describe(a).sum, WORD * N)]
LATE += [(None, {}, lambda a: gred.count_nonzero(a, where=a.described(typestr="|b1")), N)]


@pytest.mark.parametrize(("writer", "said", "reduce", "right"), LATE, ids=range(len(LATE)))
def test_a_result_is_not_made_or_read_before_all_is_written(writer, said, reduce, right):
    """Even with results of earlier calls in the mailbox."""
    stream = Stream()
    a = zeros().described(stream=stream.handle).described(**said)
    reduce(a)
    synchronize()
    write_later(a, WORD, writer or stream.handle)
    assert reduce(a) == right


def test_what_out_waits_for_comes_first():
    """Pending writes of its stream must not come after the result."""
    stream, a = Stream(), GpuArray.of(np.ones(N, np.int32))
    out = on(stream, np.zeros(2, np.int32))[:1]
    gred.sum(a, out=out)
    synchronize()
    write_later(out, 3, stream.handle)
    gred.sum(a, out=out)
    assert is_busy(stream.handle)
    synchronize(stream.handle)
    assert out.host()[0] == N


def test_what_all_streams_of_a_list_are_to_do_comes_first():
    streams = [Stream() for _ in range(6)]
    arrays = [on(stream, np.zeros(N, np.int32)) for stream in streams]
    assert gred.sum(arrays) == 0
    for array, stream in zip(arrays, streams, strict=True):
        write_later(array, 3, stream.handle)
    assert gred.sum(arrays) == 3 * 6 * N
    assert not any(is_busy(stream.handle) for stream in streams)
    with pytest.raises(ValueError, match="6 streams at most"):
        gred.sum([*arrays, on(Stream(), np.zeros(N, np.int32))])


def test_a_long_computation_of_jax_comes_first():
    library = Jax()
    jax, numpy = library.jax, library.jax.numpy

    @jax.jit
    def slow(start, unit):
        return jax.lax.fori_loop(0, 200, lambda _, m: m @ unit, start) + 2

    unit = numpy.eye(4096, dtype=numpy.float32)
    for k, op in ((3, gred.max), (5, gred.min)):
        start = numpy.full((4096, 4096), k, numpy.float32).block_until_ready()
        late = slow(start, unit)
        assert k == 3 or not late.is_ready()
        assert op(late) == k + 2


# ---- no call waits needlessly ----


@pytest.mark.parametrize("busy", ["another stream", "the default stream"])
def test_nobody_waits_for_a_stream_that_has_no_part_in_it(busy):
    other, mine = Stream(), Stream()
    handle = other.handle if busy == "another stream" else LEGACY_DEFAULT_STREAM
    a, out, late = on(mine, np.ones(N, np.int32)), zero_on(mine), zeros()
    gred.sum(a), gred.sum(a, out=out)
    synchronize()
    write_later(late, 7, handle)
    assert gred.sum(a) == gred.sum(a, stream=mine.handle) == N
    gred.sum(a, out=out)
    synchronize(mine.handle)
    assert is_busy(handle)
    synchronize(handle)
    assert late.host().sum() == 7 * N
    assert out.host()[0] == N


def lazy_by(method):
    """Return calls of 2 N int32 on a stream, which may have an out, and their results."""
    total = partial(gred.sum, method=method)

    def every_second(a, out, *_):
        return total(a.described(shape=(N,), strides=(8,)), out=out)

    def named(of):
        return lambda a, out, *_: total(of(a), out=out, stream=a.memory.stream.handle)

    return {
        f"every second element by {method}": (every_second, [7 * N]),
        f"a mask by {method}": (lambda a, out, mask, _: total(a, where=mask, out=out), [7 * N]),
        f"a named stream by {method}": (named(elsewhere), [14 * N]),
        f"the host's by {method}": (named(lambda a: SEVENS), [7 * len(SEVENS)]),
    }


SEVENS = np.full(9, 7, np.int32)
LAZY = {
    **lazy_by("auto"),
    **lazy_by("unroll8"),
    **lazy_by("halving"),
    **lazy_by("cub"),
    "converted": (lambda a, out, *_: gred.sum(a, dtype="f8", out=out), [14 * N]),
    "each": (lambda a, out, *_: gred.each("sum", [a[:N], a[N:]], out=out), [7 * N, 7 * N]),
    "along 0": (lambda a, *_: gred.sum(a.described(shape=(N, 2)), 0), [7 * N, 7 * N]),
    "along 1": (lambda a, *_: gred.sum(a.described(shape=(2, N)), 1), [7 * N, 7 * N]),
    "segments": (
        lambda a, out, mask, offsets: gred.reduceat("sum", a, offsets),
        [21, 14 * N - 21],
    ),
}


@pytest.mark.parametrize("name", LAZY)
def test_nobody_waits_for_results_that_stay_and_their_streams_stay_in_order(name):
    """Earlier writes are read; with out, those right after the call are not."""
    reduce, right = LAZY[name]
    stream = Stream()
    a, out = on(stream, np.zeros(2 * N, np.int32)), on(stream, np.zeros(len(right), np.int64))
    given = a, out, GpuArray.of(np.arange(2 * N) % 2 > 0), on(stream, np.array([0, 3]))
    reduce(*given)
    synchronize()
    write_later(a, 7, stream.handle)
    result = reduce(*given)
    if isinstance(result, GpuArray):
        write(a, 9, stream.handle)
    assert is_busy(stream.handle), "the call waited"
    synchronize(stream.handle)
    assert to_host(result).tolist() == right


def warmed(work, *arguments):
    """Run work twice: the first time the driver may wait to load kernels."""
    work(*arguments)
    synchronize()
    return work(*arguments)


def made_later(stream):
    """Return an array into which a stream writes ones after a delay; zeros until then."""
    a = zeros(64 * 256)
    synchronize()
    write_later(a, 1, stream.handle)
    return a.described(shape=(64, 256), stream=stream.handle)


@of(Cupy, Torch)
def test_libraries_read_results_on_their_own_current_stream(library):
    stream = library.stream()

    def work():
        with library.current(stream):
            a = library.made_on(stream, np.zeros((64, 256), np.float32))
            synchronize()
            delay(library.handle(stream))
            library.fill(a, 2, stream)
            filled = Reached(library.handle(stream))
            rows = gred.sum(a, 1)
            return rows + rows, bool(filled)

    twice, waited = warmed(work)
    assert not waited
    synchronize()
    np.testing.assert_array_equal(to_host(twice), np.full(64, 1024))


@pytest.mark.parametrize("named", [False, True])
def test_dlpack_orders_the_stream_that_it_is_told(named):
    producer, other = Stream(), Stream()

    def work(told):
        """Return whether the reader's stream, named or not, and the producer's are busy."""
        reader = Stream()
        a = made_later(producer)  # freeing it would wait for it
        result = gred.sum(a, 0, stream=other.handle if named else None)
        capsule = result.__dlpack__(stream=reader.handle if told else -1, max_version=(1, 0))
        busy = is_busy(reader.handle), is_busy(producer.handle)
        synchronize()
        del capsule
        return busy

    assert warmed(work, True) == (True, True)
    assert warmed(work, False) == (False, True)


# ---- reused memory ----


def test_memory_of_results_that_is_free_again_is_not_written_too_early():
    """A result's memory is reused only behind all work that reads it."""
    for _ in range(20):
        stream = Stream()
        first, total = gred.sum(made_later(stream), 0), zero_on(stream)
        gred.sum(first, out=total)
        del first
        gred.max(GpuArray.of(np.full(256 * 2, 9, np.int64)).described(shape=(2, 256)), 0)
        synchronize(stream.handle)
        assert total.host()[0] == 64 * 256


def test_a_librarys_array_may_be_freed_at_once(writing):
    """Its allocator reuses memory in its stream's order, which includes gred's work."""
    stream, out = writing.stream(), zeros(1, np.int64)
    with writing.current(stream):
        for _ in range(50):
            a = writing.made_on(stream, np.zeros(N, np.int32))
            writing.fill(a, 3, stream)
            gred.sum(a, out=out)
            del a
            after = writing.made_on(stream, np.zeros(N, np.int32))
            writing.fill(after, 8, stream)
            synchronize(writing.handle(stream))
            assert out.host()[0] == 3 * N


def test_calls_that_nobody_waits_for_keep_what_they_work_in():
    """While work of ten streams is pending, calls on other streams are right.

    Each stream has its own partial results of columns, and its tickets are 0 again after whole
    arrays and after columns.
    """
    streams = [Stream() for _ in range(11)]
    # Columns so tall that several blocks share each.
    shapes = [(N,), (8192, 32)]
    pairs = [[on(s, np.full(n, k, np.int32)) for n in shapes] for k, s in enumerate(streams)]
    outs = [(zero_on(stream), on(stream, np.zeros(32, np.int64))) for stream in streams]

    def reduce(k):
        gred.sum(pairs[k][0], out=outs[k][0])
        gred.sum(pairs[k][1], axis=0, out=outs[k][1])

    reduce(10)
    synchronize()
    for k, stream in enumerate(streams[:10]):
        delay(stream.handle, 300_000)
        for _ in range(3):
            reduce(k)
    for _ in range(10):
        reduce(10)
        assert gred.sum(pairs[10][0]) == 10 * N
    assert is_busy(streams[9].handle)
    synchronize()
    for k, (whole, columns) in enumerate(outs):
        assert whole.host()[0] == k * N
        np.testing.assert_array_equal(columns.host(), k * 8192)


def test_a_stream_may_be_destroyed_while_its_results_are_to_come():
    """The next stream may have the same handle, but not the same work."""
    outs, arrays = [], []
    for k in range(20):
        stream, host = Stream(), np.full(N, k, np.int32)
        a, out = on(stream, host), zero_on(stream)
        delay(stream.handle, 5_000)
        gred.sum(a, out=out)
        del stream, a.memory.stream, out.memory.stream
        outs.append(out)
        arrays += [a, GpuArray.of(host)]
        assert gred.sum(arrays[-1], stream=Stream().handle) == k * N
    synchronize()
    assert [out.host()[0] for out in outs] == [k * N for k in range(20)]


@pytest.mark.parametrize("count", [4, 16])
def test_sixteen_threads_with_streams_of_their_own_or_of_others_do_not_meet(count):
    """Half of them leave the result on the GPU, and read it when their stream is done."""
    streams = [Stream() for _ in range(count)]

    def work(number):
        use_device(0)
        stream = streams[number % count]
        a, out = on(stream, np.full(N, number, np.int32)), zero_on(stream)
        part = a.described(shape=(N // 2,), strides=(8,))
        for method in METHODS * 5:
            if number // 4 % 2:
                assert gred.sum(a, method=method) == number * N
                assert gred.sum(part, method=method, stream=stream.handle) == N // 2 * number
                assert gred.var(a) == 0
            else:
                gred.sum(a, method=method, out=out)
                synchronize(stream.handle)
                assert out.host()[0] == number * N

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(32)))
