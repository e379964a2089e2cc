"""Any thread may reduce what lies on any GPU, whether or not it has used CUDA before.

Lists over several GPUs, results on the one that is not current, a full one, renamed ones.
"""

import contextlib
import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from devices import GPUS, on_gpu, two_gpus
from gpu_arrays import GpuArray, Offer, call, current_context, free_bytes, use_device
from inputs import methods_on
from processes import printed

import gred

pytestmark = pytest.mark.gpu
METHODS = ("auto", *methods_on("cuda"))
N = 100003
PLACES = ("device", "managed", "pinned")


def in_a_fresh_thread(work):
    """Do some work in a thread that has no current context, and return its result."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


# ---- devices that are named ----


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
    with pytest.raises(ValueError, match=r"recursive.*host"):
        gred.sum(a, method="recursive")
    assert gred.sum(a) == 45


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


# ---- threads that never used CUDA ----


def test_a_pool_of_threads_reduces_a_librarys_arrays(library):
    hosts = [np.full(N + k, k, np.int32) for k in range(32)]
    arrays = [library.make(host) for host in hosts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(gred.sum, arrays)) == [host.sum() for host in hosts]
        assert list(pool.map(gred.max, arrays)) == list(range(32))


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("method", METHODS)
def test_a_thread_that_never_used_cuda_is_right(where, method):
    host = np.arange(N)
    a = GpuArray.of(host, where)
    mask, out = GpuArray.of(host < 11, where), GpuArray.of(np.zeros(1, host.dtype), where)

    def work():
        assert gred.sum(a, method=method) == host.sum()
        assert gred.sum(a[1:], method=method, where=mask[1:]) == 55
        assert gred.sum(host, method=method, device="cuda") == host.sum()
        assert gred.sum(a, method=method, out=out) is out

    in_a_fresh_thread(work)
    call("cuCtxSynchronize")
    assert out.host()[0] == host.sum()


def test_a_thread_that_never_used_cuda_is_told_what_is_no_memory():
    a, host = GpuArray.of(np.arange(N)), np.arange(10)
    interface = a.__cuda_array_interface__

    def work():
        for changes in ({"shape": (2**38,)}, {"shape": (2,), "strides": (2**40,)}):
            with pytest.raises(ValueError, match=r"a: .*not all in memory"):
                gred.sum(a.described(**changes))
        with pytest.raises(ValueError, match=r"a: .*not a pointer to memory"):
            gred.sum(Offer(interface | {"data": (host.ctypes.data, False), "shape": (10,)}))
        assert gred.sum(a) == N * (N - 1) // 2

    in_a_fresh_thread(work)


# ---- more than one GPU ----


@two_gpus
@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("method", METHODS)
def test_an_array_on_the_second_gpu_is_reduced_there_from_any_thread(where, method):
    host = np.arange(N)
    a, mask = on_gpu(1, host, where), on_gpu(1, host < 11, where)
    for look in (in_a_fresh_thread, lambda work: work()):
        assert look(lambda: gred.sum(a, method=method)) == host.sum()
        assert look(lambda: gred.sum(a, method=method, where=mask)) == 55
    assert gred.sum(host, method=method, device="cuda:1") == host.sum()
    if where != "device":
        return
    for look in (in_a_fresh_thread, lambda work: work()):
        with pytest.raises(ValueError, match=r"a: .*not all in memory"):
            look(lambda: gred.sum(a.described(shape=(2**38,))))
    assert gred.kernel_time(a, method=method, samples=2).device == "cuda:1"
    with pytest.raises(ValueError, match="cuda:1"):
        gred.sum(a, device="cuda:0")


@two_gpus
def test_threads_on_different_gpus_are_right():
    """Two have not made their GPU current, and begin together, again and again; 16 have."""
    arrays = [on_gpu(number, np.full(2**24, number + 1, np.int32)) for number in (0, 1)]
    begin = threading.Barrier(2)

    def together(number):
        sums = set()
        for method in METHODS:
            begin.wait()
            sums |= {int(gred.sum(arrays[number], method=method)) for _ in range(20)}
        return sums

    def work(number):
        use_device(number % GPUS)
        host = np.full(N, number, np.int32)
        a = GpuArray.of(host)
        for _ in range(50):
            assert gred.sum(a) == number * N
            assert gred.sum(host, device=f"cuda:{number % GPUS}") == number * N

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(together, (0, 1))) == [{2**24}, {2**25}]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(16)))


@pytest.mark.parametrize("current", range(max(GPUS, 1)))
def test_a_threads_current_gpu_stays_as_it_was(current):
    arrays = [on_gpu(number, np.arange(N)) for number in range(GPUS)]

    def work():
        before = use_device(current)
        for method in METHODS:
            for number in range(GPUS):
                assert gred.sum(arrays[number], method=method) == N * (N - 1) // 2
                assert gred.sum(np.arange(10), method=method, device=f"cuda:{number}") == 45
                with pytest.raises(ValueError, match="block_size"):
                    gred.sum(arrays[number], block_size=48)
                assert current_context() == before

    in_a_fresh_thread(work)


SHAPE = (37, 1001)


def array_on(library, number):
    """Make one array of a library on a GPU that is not made current."""
    host = np.arange(np.prod(SHAPE), dtype=np.float32).reshape(SHAPE) % 97
    module = pytest.importorskip({"numba": "numba.cuda"}.get(library, library))
    if library == "cupy":
        with module.cuda.Device(number):
            return host, module.asarray(host)
    if library == "torch":
        return host, module.tensor(host, device=f"cuda:{number}")
    if library == "jax":
        devices = [each for each in module.devices() if each.platform in ("gpu", "cuda")]
        if len(devices) <= number:
            pytest.skip("JAX sees one GPU")
        return host, module.device_put(host, devices[number])
    with module.gpus[number]:
        return host, module.to_device(host)


def fetched(result):
    """Copy a result to the host by gred, whatever library it is of."""
    return gred.sum(result, axis=(), out=np.zeros(result.shape, np.float32))


@two_gpus
@pytest.mark.parametrize("library", ["cupy", "torch", "jax", "numba"])
@pytest.mark.parametrize("axis", [0, 1])
def test_results_lie_on_the_second_gpu_while_the_first_is_current(library, axis):
    host, array = array_on(library, 1)
    got = gred.sum(array, axis=axis)
    assert not hasattr(got, "__dlpack_device__") or got.__dlpack_device__()[1] == 1
    assert fetched(got).tolist() == host.sum(axis).tolist()
    assert gred.max(array) == host.max()
    each = gred.each("sum", [array, array])
    assert fetched(each).tolist() == [host.sum(), host.sum()]


@two_gpus
def test_tensors_on_another_gpu_wait_for_its_stream():
    torch = pytest.importorskip("torch")
    a = torch.arange(N, device="cuda:1", dtype=torch.int32)
    assert gred.sum(a) == N * (N - 1) // 2
    with torch.cuda.stream(torch.cuda.Stream(1)):
        torch.cuda._sleep(500_000_000)
        a.fill_(7)
        assert gred.sum(a) == 7 * N
    out = torch.zeros((), dtype=torch.int64, device="cuda:1")
    assert gred.sum(a, out=out) is out
    assert out.item() == 7 * N
    assert torch.cuda.current_device() == 0
    with pytest.raises(ValueError, match="out"):
        gred.sum(a, out=torch.zeros((), device="cuda:0"))


@two_gpus
@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_a_list_over_all_gpus_is_one_sum(library):
    arrays = [array_on(library, number % GPUS) for number in range(50)]
    values = [array for _, array in arrays]
    total = sum(float(host.sum(dtype=np.float64)) for host, _ in arrays)
    assert gred.sum(values) == np.float32(total)
    assert gred.sum(values, method="exact") == np.float32(total)
    assert np.isclose(gred.mean(values), total / (50 * arrays[0][0].size), rtol=1e-6)
    with pytest.raises(ValueError, match="several places"):
        gred.each("sum", values)


@two_gpus
def test_a_gpu_that_others_fill_gives_results_or_one_clear_error():
    cupy = pytest.importorskip("cupy")
    host, array = array_on("cupy", 1)
    expected = host.sum(0).tolist()
    held = []
    with cupy.cuda.Device(1):
        for size in (1 << 30, 1 << 26, 1 << 22):
            with contextlib.suppress(cupy.cuda.runtime.CUDARuntimeError):
                while cupy.cuda.Device(1).mem_info[0] > size:
                    held.append(cupy.cuda.runtime.malloc(size))
        try:
            for attempt in (
                lambda: float(gred.sum(array)) == host.sum(),
                lambda: fetched(gred.sum(array, axis=0)).tolist() == expected,
                lambda: float(gred.sum([array, on_gpu(0, host)])) == 2 * host.sum(),
            ):
                with contextlib.suppress(MemoryError):
                    assert attempt()
            assert gred.sum(on_gpu(0, host)) == host.sum()
        finally:
            for address in held:
                cupy.cuda.runtime.free(address)
    gc.collect()
    assert fetched(gred.sum(array, axis=0)).tolist() == expected


@two_gpus
@pytest.mark.parametrize("visible", ["1,0", "1"])
def test_devices_are_numbered_as_they_are_visible(visible):
    code = """
        import gred, numpy as np
        from devices import GPUS, on_gpu
        arrays = [on_gpu(number, np.full(1000, number + 1, np.int32)) for number in range(GPUS)]
        print(GPUS, gred.sum(arrays), *(gred.explain(array).device for array in arrays))
    """
    told = {"1,0": "2 3000 cuda:0 cuda:1", "1": "1 1000 cuda:0"}
    assert printed(code, path=True, CUDA_VISIBLE_DEVICES=visible).strip() == told[visible]


# ---- others meanwhile ----

FIRST_CALL = """
import threading, time
import numpy as np
import gred
gaps, over = [], threading.Event()
def tick():
    last = time.monotonic()
    while not over.is_set():
        time.sleep(0.001)
        now = time.monotonic()
        gaps.append(now - last)
        last = now
ticking = threading.Thread(target=tick, daemon=True)
ticking.start()
time.sleep(0.05)
assert CALL
over.set()
ticking.join()
print(max(gaps))
"""


@pytest.mark.parametrize(
    "first",
    [
        'gred.sum(np.arange(10), device="cuda") == 45',
        'gred.sum(np.arange(10), method="unroll8") == 45',
        "len(gred.devices()) > 2",
    ],
)
def test_other_threads_go_on_while_cuda_is_made_ready(first):
    """A pause may be the machine's; one that is gred's comes every time."""
    pauses = [float(printed(FIRST_CALL.replace("CALL", first))) for _ in range(3)]
    assert min(pauses) < 0.1
