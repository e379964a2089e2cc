"""Any thread may reduce arrays on any GPU, whether or not it has used CUDA before.

Forks, Ctrl-C and first calls block no other thread, and the next call works. Several GPUs: lists
over them, results on one that is not current, a full GPU, renumbered GPUs.
"""

import contextlib
import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from devices import GPUS, on_gpu, two_gpus
from gpu_arrays import ADDRESS, GpuArray, Memory, Stream, call, is_busy, on, use_device, write_later
from inputs import methods_on
from processes import in_a_fresh_thread, interrupted_after, printed

import gred

pytestmark = pytest.mark.gpu
METHODS = ("auto", *methods_on("cuda"))
N, SHAPE = 100_003, (37, 1001)
X = np.arange(np.prod(SHAPE), dtype=np.float32).reshape(SHAPE) % 97


def test_a_pool_of_threads_reduces_a_librarys_arrays(library):
    hosts = [np.full(N + k, k, np.int32) for k in range(32)]
    arrays = [library.make(host) for host in hosts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(gred.sum, arrays)) == [host.sum() for host in hosts]


@pytest.mark.parametrize("current", range(max(GPUS, 1)))
def test_a_threads_current_gpu_stays_as_it_was(current):
    arrays = [on_gpu(number, np.arange(N)) for number in range(GPUS)]

    def work():
        before = use_device(current)
        for method in METHODS:
            for number, array in enumerate(arrays):
                assert gred.sum(array, method=method) == N * (N - 1) // 2
                assert gred.sum(np.arange(10), method=method, device=f"cuda:{number}") == 45
                with pytest.raises(ValueError, match="block_size"):
                    gred.sum(array, block_size=48)
                context = ADDRESS()
                call("cuCtxGetCurrent", context)
                assert context.value == before

    in_a_fresh_thread(work)


# ---- forks, Ctrl-C and first calls ----

FORKING = """
import threading, warnings
from concurrent.futures import Future, ThreadPoolExecutor
import numpy as np
import pytest
import gred
from gpu_arrays import GpuArray, use_device
from processes import in_a_child
warnings.simplefilter("ignore")
x = np.arange(100_000)

def host_works():
    assert gred.sum(x) == x.sum()
    assert gred.sum(x[::3], where=x[::3] > 7) == x[::3][x[::3] > 7].sum()
    assert gred.sum(x[:5000], method="unroll2", device="simulated") == x[:5000].sum()

def refused(what, *given, **options):
    with pytest.raises(gred.CudaError, match=what):
        gred.sum(*given, **options)
"""
CHILDREN = {
    "a child of a process that used the GPU is told so": """
        a, one = GpuArray.of(x), GpuArray.of(x[:1])
        assert gred.sum(a) == gred.sum(x, device="cuda") == x.sum()
        def work():
            host_works()
            for _ in range(3):
                refused("fork", x, device="cuda")
                refused("fork", a)
                refused("fork", x, method="unroll8")
                refused("fork", x, out=one)
            host_works()
        for _ in range(3):
            in_a_child(work)
            assert gred.sum(a) == x.sum()
    """,
    "a child may use the GPU where its parent did not": """
        host_works()
        def work():
            assert gred.sum(x, device="cuda") == gred.sum(x, method="unroll8") == x.sum()
        in_a_child(work)
        in_a_child(work)
    """,
    "a child of a process whose other library used the GPU does not hang": """
        a = GpuArray.of(x)
        def work():
            refused(".", x, device="cuda")
            host_works()
        in_a_child(work)
        assert gred.sum(a) == x.sum()
    """,
    "a child of a process with busy threads does not hang": """
        end = threading.Event()
        def busy():
            use_device(0)
            a = GpuArray.of(x)
            while not end.is_set():
                assert gred.sum(a) == gred.sum(x, device="cuda") == x.sum()
        def work():
            host_works()
            refused("fork", x, device="cuda")
        gred.sum(x, device="cuda")
        with ThreadPoolExecutor(4) as pool:
            others = [pool.submit(busy) for _ in range(4)]
            for _ in range(10):
                in_a_child(work)
            end.set()
        assert not any(map(Future.exception, others))
    """,
}


@pytest.mark.parametrize("code", CHILDREN.values(), ids=CHILDREN.keys())
def test_a_forked_process_works_or_is_told_why_not(code):
    assert printed(FORKING, code, 'print("all right")', path=True) == "all right\n"


FOR_EVER = {
    "a measurement": lambda: gred.kernel_time(
        GpuArray.repeating(np.ones(2**20, np.int8), 2**32), samples=10**6, warmup=10**6
    ),
    "pieces of bytes": lambda: gred.sum(np.broadcast_to(np.int8(1), (2**43,)), device="cuda"),
    "pieces of int32": lambda: gred.sum(np.broadcast_to(np.int32(1), (2**43,)), device="cuda"),
}


@pytest.mark.parametrize("what", FOR_EVER)
def test_ctrl_c_ends_what_would_take_for_ever(what):
    gred.sum(np.arange(10), device="cuda")
    with pytest.raises(KeyboardInterrupt), interrupted_after(0.2):
        FOR_EVER[what]()
    assert gred.sum(np.ones(2**24), device="cuda") == 2**24


def test_waiting_for_a_stream_can_be_interrupted_and_the_next_call_is_right():
    stream, n = Stream(), 100_003
    a, b = on(stream, np.zeros(n, np.int32)), on(Stream(), np.ones(n, np.int32))
    gred.sum(a)
    write_later(a, 7, stream.handle, 2_000_000)
    with pytest.raises(KeyboardInterrupt), interrupted_after(0.2):
        gred.sum(a)
    assert gred.sum(b) == n
    assert is_busy(stream.handle), "the interrupted call waited for its kernel"
    assert gred.sum(a) == 7 * n
    assert gred.sum(b) == n


FIRST_CALL = """
import itertools, sys, threading
import numpy as np
import gred
counted, begin = itertools.count(), threading.Event()
def count():
    begin.set()
    while True:
        next(counted)
sys.setswitchinterval(1e-6)
threading.Thread(target=count, daemon=True).start()
begin.wait()
before = next(counted)
assert CALL
print(next(counted) - before)
"""
FIRST = ['gred.sum(np.arange(10), device="cuda") == 45', "len(gred.devices()) > 2"]
FIRST += ['gred.sum(np.arange(10), method="unroll8") == 45']


@pytest.mark.parametrize("first", FIRST)
def test_other_threads_go_on_while_cuda_is_made_ready(first):
    """A counting thread gets further than in one turn, in at least one of three attempts."""
    assert max(int(printed(FIRST_CALL.replace("CALL", first))) for _ in range(3)) > 50_000


# ---- more than one GPU ----


@two_gpus
@pytest.mark.parametrize("where", Memory.KINDS)
@pytest.mark.parametrize("method", METHODS)
def test_an_array_on_the_second_gpu_is_reduced_there_from_any_thread(where, method):
    host = np.arange(N)
    a, mask = on_gpu(1, host, where), on_gpu(1, host < 11, where)
    for look in (in_a_fresh_thread, lambda work: work()):
        assert look(lambda: gred.sum(a, method=method)) == host.sum()
        assert look(lambda: gred.sum(a, method=method, where=mask)) == 55
        if where == "device":
            with pytest.raises(ValueError, match=r"a: .*not all allocated"):
                look(lambda: gred.sum(a.described(shape=(2**38,))))
    assert gred.sum(host, method=method, device="cuda:1") == host.sum()
    if where == "device":
        assert gred.kernel_time(a, method=method, samples=2).device == "cuda:1"
        with pytest.raises(ValueError, match="cuda:1"):
            gred.sum(a, device="cuda:0")


@two_gpus
def test_threads_on_different_gpus_are_right():
    """Two threads without a current GPU start together, repeatedly; 16 threads have one."""
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


def array_on(library, number):
    """Let a library put X on a GPU that is not current."""
    module = pytest.importorskip({"numba": "numba.cuda"}.get(library, library))
    if library == "torch":
        return module.tensor(X, device=f"cuda:{number}")
    if library == "jax":
        devices = [each for each in module.devices() if each.platform in ("gpu", "cuda")]
        if len(devices) <= number:
            pytest.skip("JAX sees one GPU")
        return module.device_put(X, devices[number])
    with module.cuda.Device(number) if library == "cupy" else module.gpus[number]:
        return module.asarray(X) if library == "cupy" else module.to_device(X)


def fetched(result):
    """Copy a result of any library to the host, using gred."""
    return gred.sum(result, axis=(), out=np.zeros(result.shape, np.float32)).tolist()


@two_gpus
@pytest.mark.parametrize("library", ["cupy", "torch", "jax", "numba"])
def test_results_lie_on_the_second_gpu_while_the_first_is_current(library):
    array = array_on(library, 1)
    for axis in (0, 1):
        got = gred.sum(array, axis=axis)
        assert not hasattr(got, "__dlpack_device__") or got.__dlpack_device__()[1] == 1
        assert fetched(got) == X.sum(axis).tolist()
    assert gred.max(array) == X.max()
    assert fetched(gred.each("sum", [array, array])) == [X.sum(), X.sum()]


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
    total = 50 * X.sum(dtype=np.float64)
    assert gred.sum(arrays) == gred.sum(arrays, method="exact") == np.float32(total)
    assert np.isclose(gred.mean(arrays), total / (50 * X.size), rtol=1e-6)
    with pytest.raises(ValueError, match="on different devices"):
        gred.each("sum", arrays)


@two_gpus
def test_a_gpu_that_others_fill_gives_results_or_one_clear_error():
    cupy = pytest.importorskip("cupy")
    array, expected, held = array_on("cupy", 1), X.sum(0).tolist(), []
    with cupy.cuda.Device(1):
        for size in (1 << 30, 1 << 26, 1 << 22):
            with contextlib.suppress(cupy.cuda.runtime.CUDARuntimeError):
                while cupy.cuda.Device(1).mem_info[0] > size:
                    held.append(cupy.cuda.runtime.malloc(size))
        try:
            for attempt in (
                lambda: float(gred.sum(array)) == X.sum(),
                lambda: fetched(gred.sum(array, axis=0)) == expected,
                lambda: float(gred.sum([array, on_gpu(0, X)])) == 2 * X.sum(),
            ):
                with contextlib.suppress(MemoryError):
                    assert attempt()
            assert gred.sum(on_gpu(0, X)) == X.sum()
        finally:
            for address in held:
                cupy.cuda.runtime.free(address)
    gc.collect()
    assert fetched(gred.sum(array, axis=0)) == expected


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
