"""GPU arrays are reduced on the GPU where they lie, from any thread, and leave no memory behind."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from devices import GPUS, on_gpu, two_gpus
from gpu_arrays import GpuArray, current_context, free_bytes, use_device
from inputs import methods_on

import gred

pytestmark = pytest.mark.gpu
METHODS = ("auto", *methods_on("cuda"))
every_method = pytest.mark.parametrize("method", METHODS)
N = 100003


@two_gpus
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


@two_gpus
@every_method
def test_an_array_on_the_second_gpu_is_reduced_there(method):
    host = np.arange(100003)
    a = on_gpu(1, host)
    assert gred.sum(a, method=method) == host.sum()
    assert gred.sum(host, method=method, device="cuda:1") == host.sum()
    assert gred.kernel_time(a, method=method, samples=2).device == "cuda:1"
    with pytest.raises(ValueError, match="cuda:1"):
        gred.sum(a, device="cuda:0")


@pytest.mark.parametrize("number", [1])
def test_tensors_on_another_gpu_are_reduced_there(number):
    torch = pytest.importorskip("torch")
    if torch.cuda.device_count() <= number:
        pytest.skip("there is one GPU here")
    a = torch.arange(N, device=f"cuda:{number}", dtype=torch.int32)
    assert torch.cuda.current_device() == 0
    assert gred.sum(a) == gred.sum(a.cpu()) == N * (N - 1) // 2
    stream = torch.cuda.Stream(number)
    with torch.cuda.stream(stream):
        torch.cuda._sleep(500_000_000)
        a.fill_(7)
        assert gred.sum(a) == 7 * N
    out = torch.zeros((), dtype=torch.int64, device=f"cuda:{number}")
    assert gred.sum(a, out=out) is out
    assert out.item() == 7 * N
    assert torch.cuda.current_device() == 0
    with pytest.raises(ValueError, match="out"):
        gred.sum(a, out=torch.zeros((), device="cuda:0"))


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
