"""GPU arrays of any library go in where they lie, after what their stream is still to do."""

import importlib
import importlib.util
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from gpu_arrays import (
    LEGACY_DEFAULT_STREAM,
    PER_THREAD_DEFAULT_STREAM,
    GpuArray,
    Stream,
    call,
    current_context,
    free_bytes,
    is_busy,
    use_device,
    write_later,
)
from inputs import EVERY_KIND, KINDS, OPS, exact, methods_on, reduce, takes
from reference import EVERY_TYPE, agrees, truth

import gred

pytestmark = pytest.mark.gpu
METHODS = ("auto", *methods_on("cuda"))
GPUS = sum(device.name.startswith("cuda") for device in gred.devices())
every_method = pytest.mark.parametrize("method", METHODS)


def of_cupy(host):
    return importlib.import_module("cupy").asarray(host)


def of_torch(host):
    return importlib.import_module("torch").from_numpy(host.copy()).cuda()


def of_numba(host):
    return importlib.import_module("numba.cuda").to_device(host)


def library(name, make):
    there = importlib.util.find_spec(name.split(".")[0]) is not None
    skip = pytest.mark.skipif(not there, reason=f"{name} is not installed")
    return pytest.param(make, id=name, marks=skip)


every_library = pytest.mark.parametrize(
    "to_gpu",
    [
        pytest.param(GpuArray.of, id="driver"),
        library("cupy", of_cupy),
        library("torch", of_torch),
        library("numba", of_numba),
    ],
)


@every_library
@every_method
def test_arrays_of_any_library_go_in(to_gpu, method):
    for kind in KINDS:
        for op in OPS:
            for n in (1, 33, 4097, 100003):
                case = exact(op, kind, n)
                try:
                    a = to_gpu(case.array)
                except TypeError:
                    continue
                got = reduce(op, a, method=method, dtype=kind.dtype)
                assert agrees(got, case.truth), f"{op} of {n} {kind.name}: {got!r}"


@every_library
def test_shape_does_not_matter_and_nothing_is_allowed(to_gpu):
    host = np.arange(1, 25, dtype=np.float32).reshape(2, 3, 4)
    assert gred.sum(to_gpu(host)) == 300
    assert gred.sum(to_gpu(np.array(3, np.float32))) == 3
    nothing = to_gpu(np.empty(0, np.float32))
    assert gred.sum(nothing) == 0
    with pytest.raises(ValueError, match="empty"):
        gred.max(nothing)


@every_method
def test_an_array_may_begin_anywhere(method):
    """Vector loads want 16 bytes' alignment; slices do not offer it, and NaN lies around them."""
    for kind in KINDS:
        for n in (1, 2, 3, 5, 31, 1000, 5001):
            greatest, total = exact("max", kind, n), exact("sum", kind, n)
            filler = np.nan if kind.given.kind == "f" else np.iinfo(kind.given).max
            for first in (1, 2, 3, 5, 7):
                for op, case in (("max", greatest), ("sum", total)):
                    host = np.full(first + n + 9, filler, kind.given)
                    host[first : first + n] = case.array
                    a = GpuArray.of(host)[first : first + n]
                    got = reduce(op, a, method=method, dtype=kind.dtype)
                    assert agrees(got, case.truth), f"{op} of {n} {kind.name} from {first} on"


LAYOUTS = {
    "transposed": lambda x: x.T,
    "reversed": lambda x: x[::-1, ::-1],
    "every third row": lambda x: x[::3],
    "every second column": lambda x: x[:, ::2],
    "columns backwards": lambda x: x[:, ::-2],
    "an inner part": lambda x: x[1:-1, 3:-2],
    "a row again and again": lambda x: np.broadcast_to(x[3], (5, COLUMNS)),
    "an element again and again": lambda x: np.broadcast_to(x[3, 4], (7, 11)),
    "windows that overlap": lambda x: np.lib.stride_tricks.sliding_window_view(x[0, :20], 4),
    "many dimensions": lambda x: (
        x[:36].reshape(2, 3, 6, 9, 3)[:, ::-2, 1:, ::3].transpose(4, 1, 0, 3, 2)
    ),
}
ROWS, COLUMNS = 37, 27


@pytest.mark.parametrize("layout", LAYOUTS)
@every_method
def test_arrays_are_read_as_they_lie(method, layout):
    take = LAYOUTS[layout]
    for kind in EVERY_KIND:
        if not takes(method, kind.given):
            continue
        for op in ("sum", "max"):
            view = take(exact(op, kind, ROWS * COLUMNS).array.reshape(ROWS, COLUMNS))
            expected = truth(op, view, kind.dtype)
            got = reduce(op, GpuArray.laid_out(view), method=method, dtype=kind.dtype)
            assert agrees(got, expected), f"{op} of {kind.name}: {got!r}"


def test_elements_that_are_not_aligned_are_refused_before_a_kernel_reads_them():
    a = GpuArray.of(np.ones(100, np.float32))
    for changes in ({"data": (a.address + 1, False)}, {"strides": (6,)}):
        with pytest.raises(ValueError, match="not aligned"):
            gred.sum(a.described(shape=(50,), **changes))
    assert gred.sum(a) == 100


# ---- streams ----

N = 100003


def sevens_later(stream: int) -> GpuArray:
    """Make an array that is zero until, late, a stream writes sevens."""
    a = GpuArray.of(np.zeros(N, np.int32))
    write_later(a.address, a.nbytes, 7, stream)
    return a


@every_method
def test_what_the_arrays_stream_is_to_do_comes_first(method):
    stream = Stream()
    a = sevens_later(stream.handle)
    assert gred.sum(a.described(stream=stream.handle), method=method) == 7 * N


@pytest.mark.parametrize("stream", [LEGACY_DEFAULT_STREAM, PER_THREAD_DEFAULT_STREAM])
def test_a_default_stream_comes_first_like_any_other(stream):
    assert gred.sum(sevens_later(stream).described(stream=stream)) == 7 * N


@pytest.mark.parametrize("version", [2, 3])
def test_where_no_stream_is_named_the_default_one_comes_first(version):
    a = sevens_later(LEGACY_DEFAULT_STREAM)
    assert gred.sum(a.described(version=version, stream=...)) == 7 * N


def test_a_stream_that_is_none_is_the_default_one():
    """Numba says None of arrays that it makes on the default stream."""
    assert gred.sum(sevens_later(LEGACY_DEFAULT_STREAM).described(stream=None)) == 7 * N


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


def zero():
    return GpuArray.of(np.zeros(1, np.int64))


@every_method
def test_with_out_the_call_returns_at_once(method):
    """The producer is still busy when it does, and the result is there when its stream is done."""
    stream = Stream()
    a, out = GpuArray.of(np.zeros(N, np.int32)).described(stream=stream.handle), zero()
    assert gred.sum(a, method=method, out=out) is out
    call("cuCtxSynchronize")
    write_later(a.address, a.nbytes, 7, stream.handle)
    assert gred.sum(a, method=method, out=out) is out
    assert is_busy(stream.handle), "the call waited"
    call("cuStreamSynchronize", stream.handle)
    assert out.host()[0] == 7 * N


@pytest.mark.parametrize("method", ["auto", "unroll8", "halving", "cub"])
@pytest.mark.parametrize("view", ["strided", "masked", "converted", "host array"])
def test_with_out_no_kind_of_array_waits(method, view):
    stream, out = Stream(), zero()
    a = GpuArray.of(np.zeros(2 * N, np.int32)).described(stream=stream.handle)
    options = {"method": method, "out": out}
    given, count = a, 2 * N
    if view == "strided":
        given = a.described(shape=(N,), strides=(8,), stream=stream.handle)
        count = N
    elif view == "masked":
        options["where"] = GpuArray.of(np.arange(2 * N) % 2 > 0)
        count = N
    elif view == "converted":
        options["dtype"] = np.float64
    else:
        given, options["stream"] = np.full(1000, 7, np.int32), stream.handle
        count = 1000
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
    out = GpuArray.of(np.zeros(2, np.int32))[:1].described(stream=stream.handle)
    gred.sum(a, out=out)
    call("cuCtxSynchronize")
    write_later(out.address, 4, 3, stream.handle)
    gred.sum(a, out=out)
    assert is_busy(stream.handle)
    call("cuStreamSynchronize", stream.handle)
    assert out.host()[0] == N


@pytest.mark.parametrize("dtype", EVERY_TYPE, ids=str)
def test_out_may_be_of_any_type(dtype):
    host = np.arange(1, 12, dtype=np.uint8)
    a, out = GpuArray.of(host), GpuArray.of(np.zeros(1, dtype))
    for op, value in (("sum", 66), ("max", 11), ("mean", 6)):
        assert reduce(op, a, out=out) is out
        assert out.host()[0] == np.array(value).astype(dtype)
        assert reduce(op, host, out=out) is out
        assert out.host()[0] == np.array(value).astype(dtype)


def test_out_without_elements_or_of_nothing():
    nothing, out = GpuArray.of(np.empty(0, np.float32)), GpuArray.of(np.ones(1, np.float32))
    assert gred.sum(nothing, out=out) is out
    assert out.host()[0] == 0
    gred.mean(nothing, out=out)
    assert np.isnan(out.host()[0])
    with pytest.raises(ValueError, match="empty"):
        gred.max(nothing, out=out)
    read_only = out.described(data=(out.address, True))
    for bad in (nothing, GpuArray.of(np.ones(2, np.float32)), read_only):
        with pytest.raises(ValueError, match="out"):
            gred.sum(out, out=bad)


@every_method
def test_work_runs_on_the_stream_that_is_named(method):
    stream = Stream()
    a = GpuArray.of(np.zeros(N, np.int32))
    gred.sum(a, method=method)
    write_later(a.address, a.nbytes, 7, stream.handle)
    assert gred.sum(a, method=method, stream=stream.handle) == 7 * N


def test_sixteen_threads_with_streams_of_their_own_do_not_meet():
    """Half of them give the result to the GPU, and look at it when their stream is done."""

    def work(number):
        use_device(0)
        stream = Stream()
        a = GpuArray.of(np.full(N, number, np.int32)).described(stream=stream.handle)
        part = a.described(shape=(N // 2,), strides=(8,), stream=stream.handle)
        out, sums = zero().described(stream=stream.handle), []
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


@pytest.mark.skipif(GPUS < 2, reason="there is one GPU here, not two")
def test_threads_on_different_gpus_are_right():
    def work(number):
        device = number % GPUS
        use_device(device)
        a = GpuArray.of(np.full(N, number, np.int32))
        host = np.full(N, number, np.int32)
        for _ in range(50):
            assert gred.sum(a) == number * N
            assert gred.sum(host, device=f"cuda:{device}") == number * N
            assert current_context() == use_device(device)
        return number

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(work, range(16))) == list(range(16))


# ---- devices ----


@pytest.mark.parametrize("named", [None, "cuda", "cuda:0"])
def test_the_arrays_own_device_may_be_named(named):
    a = GpuArray.of(np.arange(10))
    for method in METHODS:
        assert gred.sum(a, method=method, device=named) == 45


@pytest.mark.parametrize("named", ["host", "simulated", "cuda:1"])
def test_another_device_than_the_arrays_is_refused(named):
    a = GpuArray.of(np.arange(10))
    with pytest.raises(ValueError, match=rf"device.*{named}"):
        gred.sum(a, device=named)
    assert gred.sum(a) == 45


def test_the_hosts_method_is_refused_for_a_gpu_array():
    with pytest.raises(ValueError, match=r"recursive.*host"):
        gred.sum(GpuArray.of(np.arange(10)), method="recursive")


@pytest.mark.parametrize("other", range(GPUS))
def test_the_current_device_stays_as_it_was(other):
    a = GpuArray.of(np.arange(10))
    use_device(other)
    try:
        before = current_context()
        for method in METHODS:
            assert gred.sum(a, method=method) == 45
            assert gred.sum(np.arange(10), method=method, device="cuda:0") == 45
            with pytest.raises(ValueError, match="block_size"):
                gred.sum(a, block_size=48)
            assert current_context() == before
    finally:
        use_device(0)


@pytest.mark.skipif(GPUS < 2, reason="there is one GPU here, not two")
@pytest.mark.parametrize("method", METHODS)
def test_an_array_on_the_second_gpu_is_reduced_there(method):
    host = np.arange(100003)
    use_device(1)
    try:
        a = GpuArray.of(host)
    finally:
        use_device(0)
    assert gred.sum(a, method=method) == host.sum()
    assert gred.sum(host, method=method, device="cuda:1") == host.sum()
    assert gred.kernel_time(a, method=method, samples=2).device == "cuda:1"
    with pytest.raises(ValueError, match="cuda:1"):
        gred.sum(a, device="cuda:0")


# ---- memory ----


@pytest.mark.parametrize("where", ["managed", "pinned"])
@every_method
def test_managed_and_pinned_memory_is_read_where_it_lies(method, where):
    a = GpuArray.of(np.arange(100003), where)
    assert gred.sum(a, method=method) == 100003 * 50001
    assert gred.sum(a[1:], method=method) == 100003 * 50001
    every_second = a.described(shape=(50000,), strides=(16,))
    assert gred.sum(every_second, method=method) == 50000 * 49999
    masked = gred.sum(a, method=method, where=GpuArray.of(np.arange(100003) < 11, where))
    assert masked == 55


@pytest.mark.parametrize("where", ["managed", "pinned"])
def test_results_may_go_into_managed_and_pinned_memory(where):
    a, out = GpuArray.of(np.arange(10)), GpuArray.of(np.zeros(1, np.float32), where)
    assert gred.sum(a, out=out) is out
    call("cuCtxSynchronize")
    assert out.host()[0] == 45


def test_read_only_arrays_go_in():
    a = GpuArray.of(np.arange(10))
    assert gred.sum(a.described(data=(a.address, True)), method="unroll8") == 45


@pytest.mark.gpu_alone
def test_the_gpus_memory_comes_back():
    a = GpuArray.of(np.ones(2**22, np.int32))

    def reduce_all():
        for method in METHODS:
            assert gred.sum(a, method=method) == a.n
            gred.kernel_time(a, method=method, samples=1, warmup=0)

    reduce_all()
    before = free_bytes()
    for _ in range(20):
        reduce_all()
    assert before - free_bytes() < 2**27
