"""Any thread may reduce what lies on any GPU, whether or not it has used CUDA before."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from devices import on_gpu, two_gpus
from gpu_arrays import GpuArray, Offer, call, current_context, use_device
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
def test_an_array_on_the_second_gpu_is_reduced_from_a_fresh_thread(where, method):
    host = np.arange(N)
    a, mask = on_gpu(1, host, where), on_gpu(1, host < 11, where)
    assert in_a_fresh_thread(lambda: gred.sum(a, method=method)) == host.sum()
    assert in_a_fresh_thread(lambda: gred.sum(a, method=method, where=mask)) == 55
    assert gred.sum(a, method=method) == host.sum()


@two_gpus
def test_what_lies_on_another_gpu_is_bounded_there():
    a = on_gpu(1, np.arange(N))
    for look in (lambda work: work(), in_a_fresh_thread):
        with pytest.raises(ValueError, match=r"a: .*not all in memory"):
            look(lambda: gred.sum(a.described(shape=(2**38,))))


@two_gpus
def test_two_threads_on_two_gpus_at_once_are_right():
    """Neither has made its GPU current; both begin together, again and again."""
    arrays = [on_gpu(number, np.full(2**24, number + 1, np.int32)) for number in (0, 1)]
    begin = threading.Barrier(2)

    def work(number):
        sums = set()
        for method in METHODS:
            begin.wait()
            sums |= {int(gred.sum(arrays[number], method=method)) for _ in range(20)}
        return sums

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(work, (0, 1))) == [{2**24}, {2**25}]


@two_gpus
@pytest.mark.parametrize("current", [0, 1])
def test_a_threads_current_gpu_stays_as_it_was(current):
    arrays = [on_gpu(number, np.arange(N)) for number in (0, 1)]

    def work():
        before = use_device(current)
        for method in METHODS:
            for number in (0, 1):
                assert gred.sum(arrays[number], method=method) == N * (N - 1) // 2
                assert gred.sum(np.arange(10), method=method, device=f"cuda:{number}") == 45
                assert current_context() == before

    in_a_fresh_thread(work)


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
    pauses = []
    for _ in range(3):
        pauses.append(float(printed(FIRST_CALL.replace("CALL", first))))
    assert min(pauses) < 0.1
