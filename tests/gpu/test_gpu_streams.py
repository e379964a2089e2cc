"""On a GPU what a stream is to do comes first, and nobody waits who need not, for any library."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from gpu_arrays import (
    LEGACY_DEFAULT_STREAM,
    PER_THREAD_DEFAULT_STREAM,
    Event,
    GpuArray,
    Stream,
    call,
    delay,
    is_busy,
    on,
    use_device,
    write_later,
    zero_on,
)
from gpu_libraries import LIBRARIES, Driver, Jax, Numba, of_ways
from inputs import methods_on

import gred

pytestmark = pytest.mark.gpu
N = 100003
METHODS = ("auto", *methods_on("cuda"))
# Every method with the driver's arrays, and the default one with those of each library.
every_way = of_ways(
    *((Driver, method) for method in METHODS),
    *((one, "auto") for one in LIBRARIES if one.writes and one is not Driver),
)


def zeros_on(library, stream, **options):
    """Make zeros, with every kernel loaded that a test needs: loading waits for the whole GPU."""
    host = np.zeros(N, np.int32)
    with library.current(stream):
        a = library.made_on(stream, host)
        library.fill(a, 0, stream)
        gred.sum(a, **options)
    call("cuCtxSynchronize")
    return a


def fill_later(library, a, stream, value=7):
    """Have the library's own kernel write, once its stream comes to it."""
    handle = library.handle(stream)
    library.fill(a, 1, stream)  # compiles the kernel, which takes longer than the delay
    call("cuStreamSynchronize", handle)
    delay(handle)
    library.fill(a, value, stream)
    assert is_busy(handle)


@every_way
def test_what_a_stream_is_to_do_comes_first(library, method):
    stream = library.stream()
    a = zeros_on(library, stream, method=method)
    with library.current(stream):
        fill_later(library, a, stream)
        assert gred.sum(a, method=method) == 7 * N
    assert not is_busy(library.handle(stream))


def sevens_later(stream: int) -> GpuArray:
    """Make an array that is zero until, late, a stream writes sevens."""
    a = GpuArray.of(np.zeros(N, np.int32))
    write_later(a.address, a.nbytes, 7, stream)
    return a


@pytest.mark.parametrize(
    ("stream", "said"),
    [
        (LEGACY_DEFAULT_STREAM, {"stream": LEGACY_DEFAULT_STREAM}),
        (PER_THREAD_DEFAULT_STREAM, {"stream": PER_THREAD_DEFAULT_STREAM}),
        *((LEGACY_DEFAULT_STREAM, {"version": version, "stream": ...}) for version in (2, 3)),
        (LEGACY_DEFAULT_STREAM, {"stream": None}),  # which Numba says of the default one
    ],
)
def test_a_default_stream_comes_first_whether_it_is_named_or_not(stream, said):
    assert gred.sum(sevens_later(stream).described(**said)) == 7 * N


@pytest.mark.parametrize("busy", ["another stream", "the default stream"])
def test_nobody_waits_for_a_stream_that_has_no_part_in_it(busy):
    other, mine = Stream(), Stream()
    handle = other.handle if busy == "another stream" else LEGACY_DEFAULT_STREAM
    a, out = (GpuArray.of(np.ones(n, np.int32)).described(stream=mine.handle) for n in (N, 1))
    gred.sum(a), gred.sum(a, out=out)
    call("cuCtxSynchronize")
    late = sevens_later(handle)
    assert gred.sum(a) == N
    assert gred.sum(a, stream=mine.handle) == N
    gred.sum(a, out=out)
    call("cuStreamSynchronize", mine.handle)
    assert is_busy(handle)
    call("cuStreamSynchronize", handle)
    assert late.host().sum() == 7 * N
    assert out.host()[0] == N


def test_what_a_mask_waits_for_comes_first(writing):
    stream = writing.stream()
    handle = writing.handle(stream)
    a = writing.make(np.ones(N, np.int32))
    mask = GpuArray.of(np.zeros(N + 1, bool))[:N]
    assert gred.sum(a, where=mask) == 0
    write_later(mask.address, N + 1, 0x01010101, handle)
    assert gred.sum(a, where=mask) == 0
    assert is_busy(handle)
    assert gred.sum(a, where=mask.described(stream=handle)) == N


def test_a_long_computation_of_jax_comes_first():
    library = Jax()
    jax, numpy = library.jax, library.numpy

    @jax.jit
    def slow(start, unit):
        return jax.lax.fori_loop(0, 200, lambda _, m: m @ unit, start) + 2

    unit = numpy.eye(4096, dtype=numpy.float32)
    stale = slow(numpy.full((4096, 4096), 3, numpy.float32), unit)
    assert gred.max(stale) == gred.min(stale) == 5
    start = numpy.full((4096, 4096), 5, numpy.float32).block_until_ready()
    del stale
    late = slow(start, unit)
    assert not late.is_ready()
    assert gred.min(late) == 7
    assert gred.max(late) == 7


class Protocol:
    """An object with CUDA's stream protocol."""

    def __init__(self, handle):
        self.handle = handle

    def __cuda_stream__(self):
        return 0, self.handle


@every_way
@pytest.mark.parametrize("form", ["integer", "protocol", "library", "external"])
def test_work_runs_on_the_stream_that_is_named(library, method, form):
    """The array itself names another stream, so that only stream= tells what to wait for."""
    mine = library.stream()
    handle = library.handle(mine)
    a = GpuArray.of(np.zeros(N, np.int32))
    assert gred.sum(a, method=method) == 0
    write_later(a.address, a.nbytes, 7, handle)
    forms = {
        "integer": lambda: handle,
        "protocol": lambda: Protocol(handle),
        "library": lambda: handle if library.module == "driver" else mine,
        "external": lambda: library.external(handle),
    }
    stream = forms[form]()
    assert gred.sum(a, method=method) == 0
    assert is_busy(handle)
    assert gred.sum(a, method=method, stream=stream) == 7 * N


def test_a_librarys_own_streams_may_be_named(writing):
    """Its default one; of Numba, one that waits for that, too."""
    a = GpuArray.of(np.zeros(N, np.int32))
    assert gred.sum(a) == 0
    named = {LEGACY_DEFAULT_STREAM: writing.default_stream()}
    if isinstance(writing, Numba):
        own = writing.cuda.stream()
        named[writing.handle(own)] = own
    for word, (handle, stream) in enumerate(named.items(), 7):
        write_later(a.address, a.nbytes, word, handle)
        assert gred.sum(a, stream=stream) == word * N


@every_way
def test_with_out_the_call_returns_at_once(library, method):
    """The producer is still busy when it does, and the result is there when its stream is done."""
    stream = library.stream()
    a = zeros_on(library, stream, method=method)
    with library.current(stream):
        out = library.made_on(stream, np.zeros(1, np.int64))
        assert gred.sum(a, method=method, out=out) is out
        call("cuCtxSynchronize")
        fill_later(library, a, stream)
        filled = Event(library.handle(stream))
        assert gred.sum(a, method=method, out=out) is out
        assert not filled.is_past(), "the call waited for the producer"
    call("cuStreamSynchronize", library.handle(stream))
    assert library.host(out).ravel()[0] == 7 * N


EVERY_SECOND = np.arange(2 * N) % 2 > 0
VIEWS = {  # how many elements, and what makes the array and options of one on a stream
    "strided": (N, lambda a: (a.described(shape=(N,), strides=(8,), stream=a.kept.handle), {})),
    "masked": (N, lambda a: (a, {"where": GpuArray.of(EVERY_SECOND)})),
    "converted": (2 * N, lambda a: (a, {"dtype": np.float64})),
    "host array": (1000, lambda a: (np.full(1000, 7, np.int32), {"stream": a.kept.handle})),
}


@pytest.mark.parametrize("method", ["auto", "unroll8", "halving", "cub"])
@pytest.mark.parametrize("view", VIEWS)
def test_with_out_no_kind_of_array_waits(method, view):
    stream, out = Stream(), GpuArray.of(np.zeros(1, np.int64))
    a = on(stream, np.zeros(2 * N, np.int32))
    count, make = VIEWS[view]
    given, options = make(a)
    options |= {"method": method, "out": out}
    assert gred.sum(given, **options) is out
    call("cuCtxSynchronize")
    write_later(a.address, a.nbytes, 7, stream.handle)
    assert gred.sum(given, **options) is out
    assert is_busy(stream.handle), "the call waited"
    call("cuStreamSynchronize", stream.handle)
    assert out.host()[0] == 7 * count


def test_what_out_waits_for_comes_first():
    """Nothing that its stream is still to write may come after the result."""
    stream, a = Stream(), GpuArray.of(np.ones(N, np.int32))
    out = on(stream, np.zeros(2, np.int32))[:1].described(stream=stream.handle)
    gred.sum(a, out=out)
    call("cuCtxSynchronize")
    write_later(out.address, 4, 3, stream.handle)
    gred.sum(a, out=out)
    assert is_busy(stream.handle)
    call("cuStreamSynchronize", stream.handle)
    assert out.host()[0] == N


def test_out_is_ordered_on_the_stream_that_is_named(writing):
    """What the stream does next finds the result, and may overwrite the array."""
    stream = writing.stream()
    handle = writing.handle(stream)
    a, out = (
        GpuArray.of(np.zeros(n, dtype)).described(stream=handle)
        for n, dtype in ((N, np.int32), (1, np.int64))
    )
    gred.sum(a, out=out, stream=stream)
    call("cuCtxSynchronize")
    write_later(a.address, a.nbytes, 7, handle)
    gred.sum(a, out=out, stream=stream)
    call("cuMemsetD32Async", a.address, 9, N, handle)
    assert is_busy(handle)
    call("cuStreamSynchronize", handle)
    assert out.host()[0] == 7 * N
    assert gred.sum(a) == 9 * N


def test_a_librarys_array_may_be_freed_at_once(writing):
    """The library's allocator reuses memory in its stream's order, which has gred's work in it."""
    stream = writing.stream()
    out = GpuArray.of(np.zeros(1, np.int64))
    with writing.current(stream):
        for _ in range(50):
            a = writing.made_on(stream, np.zeros(N, np.int32))
            writing.fill(a, 3, stream)
            gred.sum(a, out=out)
            del a
            after = writing.made_on(stream, np.zeros(N, np.int32))
            writing.fill(after, 8, stream)
            call("cuStreamSynchronize", writing.handle(stream))
            assert out.host()[0] == 3 * N
            del after


def test_sixteen_threads_with_streams_of_their_own_do_not_meet():
    """Half of them give the result to the GPU, and look at it when their stream is done."""

    def work(number):
        use_device(0)
        stream = Stream()
        a = on(stream, np.full(N, number, np.int32))
        part = a.described(shape=(N // 2,), strides=(8,), stream=stream.handle)
        out, sums = zero_on(stream), []
        for method in [method for method in METHODS for _ in range(5)]:
            if number % 2:
                sums.append(gred.sum(a, method=method))
                assert gred.sum(part, method=method, stream=stream.handle) == N // 2 * number
            else:
                gred.sum(a, method=method, out=out)
                call("cuStreamSynchronize", stream.handle)
                sums.append(out.host()[0])
        return sums

    with ThreadPoolExecutor(16) as pool:
        for number, sums in enumerate(pool.map(work, range(32))):
            assert set(sums) == {number * N}
