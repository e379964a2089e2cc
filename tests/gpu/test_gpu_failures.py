"""On a GPU forks, Ctrl-C and a first call stop nobody, and the next call works."""

import numpy as np
import pytest
from gpu_arrays import GpuArray, Stream, is_busy, on, write_later
from processes import interrupted_after, printed

import gred

pytestmark = pytest.mark.gpu

FORKING = """
import threading, warnings
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
        gred.sum(x, device="cuda")
        threads = [threading.Thread(target=busy) for _ in range(4)]
        for thread in threads:
            thread.start()
        def work():
            host_works()
            refused("fork", x, device="cuda")
        for _ in range(10):
            in_a_child(work)
        end.set()
        for thread in threads:
            thread.join()
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
    """One that counts gets further than in a turn, unless the machine is busy all three times."""
    assert max(int(printed(FIRST_CALL.replace("CALL", first))) for _ in range(3)) > 50_000
