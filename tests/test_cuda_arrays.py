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
    use_device,
    write_later,
)
from inputs import KINDS, OPS, exact, methods_on, reduce
from reference import agrees

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


def test_a_library_with_slices_of_its_own_goes_in():
    cupy = pytest.importorskip("cupy")
    a = cupy.arange(1001, dtype=cupy.float32)
    assert gred.sum(a[1:]) == gred.sum(a[:]) == 500500
    assert gred.sum(a[3:]) == 500497
    with pytest.raises(ValueError, match="contiguous"):
        gred.sum(a[::2])
    with pytest.raises(ValueError, match="contiguous"):
        gred.sum(cupy.ones((3, 4)).T)
    with pytest.raises(TypeError, match="float16"):
        gred.sum(cupy.ones(3, cupy.float16))


def test_a_tensor_with_strides_is_refused():
    torch = pytest.importorskip("torch")
    a = torch.arange(1001, dtype=torch.float32, device="cuda")
    assert gred.sum(a[3:]) == 500497
    for strided in (a[::2], a[:1000].reshape(10, 100).T):
        with pytest.raises(ValueError, match="contiguous"):
            gred.sum(strided)


def test_a_tensor_that_needs_a_gradient_is_refused_by_torch():
    torch = pytest.importorskip("torch")
    with pytest.raises(RuntimeError, match="grad"):
        gred.sum(torch.ones(3, device="cuda", requires_grad=True))
    assert gred.sum(torch.ones(3, device="cuda")) == 3


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


def test_without_a_stream_there_is_nothing_to_wait_for():
    busy = Stream()
    late = sevens_later(busy.handle)
    assert gred.sum(GpuArray.of(np.ones(N, np.int32)).described(stream=None)) == N
    call("cuStreamSynchronize", busy.handle)
    assert late.host().sum() == 7 * N


def test_a_librarys_current_stream_comes_first():
    cupy = pytest.importorskip("cupy")
    a, stream = cupy.zeros(N, cupy.int32), cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        write_later(a.data.ptr, a.nbytes, 7, stream.ptr)
        assert gred.sum(a) == 7 * N


def test_several_threads_with_streams_of_their_own_do_not_meet():
    def work(number):
        use_device(0)
        stream = Stream()
        a = GpuArray.of(np.full(N, number, np.int32)).described(stream=stream.handle)
        return [gred.sum(a, method=method) for method in METHODS for _ in range(5)]

    with ThreadPoolExecutor(4) as pool:
        for number, sums in enumerate(pool.map(work, range(8))):
            assert set(sums) == {number * N}


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


def test_managed_memory_is_gpu_memory():
    a = GpuArray.of(np.arange(100003), "managed")
    for method in METHODS:
        assert gred.sum(a, method=method) == 100003 * 50001


def test_pinned_host_memory_is_not():
    a = GpuArray.of(np.arange(10), "pinned")
    with pytest.raises(ValueError, match=r"a: .*data.*not a pointer to GPU memory"):
        gred.sum(a)


def test_read_only_arrays_go_in():
    a = GpuArray.of(np.arange(10))
    assert gred.sum(a.described(data=(a.address, True)), method="unroll8") == 45


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
