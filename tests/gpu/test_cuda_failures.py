"""On a GPU nothing that goes wrong takes the process or the device with it: the next call works."""

import contextlib
import ctypes
import functools
import gc
import math

import numpy as np
import pytest
from gpu_arrays import GpuArray, Memory, Offer, call, free_bytes
from hostile import BYTES, NBYTES, REFUSALS, START, check
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inputs import methods_on
from processes import printed
from test_hostile_memory import entries, integers, model, sound, without_absent

import gred

pytestmark = pytest.mark.gpu
METHODS = ("auto", *methods_on("cuda"))
EXAMPLES = 3000


@pytest.fixture(autouse=True)
def the_next_call_is_right():
    yield
    assert gred.sum(GpuArray.of(np.arange(100003))) == 100003 * 50001
    assert gred.sum(np.arange(10), device="cuda") == 45
    call("cuCtxSynchronize")


# ---- pointers ----


def offered(pointer, n=10):
    return Offer({"shape": (n,), "typestr": "<i4", "data": (pointer, False), "version": 3})


@pytest.mark.parametrize("pointer", [1 << 12, 1 << 40, 1 << 47, 2**64 - 4096], ids=hex)
def test_pointers_to_nowhere_are_refused(pointer):
    """The driver may find fault with an address before gred can."""
    with pytest.raises((ValueError, gred.CudaError)):
        gred.sum(offered(pointer))
    with pytest.raises((ValueError, gred.CudaError)):
        gred.sum([1], out=offered(pointer, 1))


def test_host_pointers_are_refused():
    host = np.arange(10, dtype=np.int32)
    with pytest.raises(ValueError, match=r"a: .*not a pointer to memory"):
        gred.sum(offered(host.ctypes.data))
    with pytest.raises(ValueError, match="out: "):
        gred.sum(host, out=offered(host.ctypes.data, 1))
    a, where = GpuArray.of(host), offered(host.ctypes.data)
    where.__cuda_array_interface__["typestr"] = "|b1"
    with pytest.raises(ValueError, match="where: "):
        gred.sum(a, where=where)
    assert host.sum() == 45


@pytest.mark.parametrize("where", ["device", "managed", "pinned"])
def test_freed_memory_is_refused(where):
    memory = Memory(2**26, where)
    address = memory.address
    assert gred.sum(offered(address, 0)) == 0
    del memory
    gc.collect()
    with pytest.raises(ValueError, match="a: "):
        gred.sum(offered(address))


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": (2**38,)},
        {"shape": (2,), "strides": (2**40,)},
        {"shape": (2,), "strides": (-(2**40),)},
        {"shape": (2**20, 2**20), "strides": (4, 2**21)},
        {"shape": (2**62,)},
        {"shape": (2**40,), "strides": (2**40,)},
    ],
    ids=str,
)
def test_arrays_that_reach_beyond_their_allocation_are_refused(changes):
    a = GpuArray(Memory(2**26), 2**24, np.int32)
    for method in ("auto", "unroll8", "halving"):
        with pytest.raises(ValueError, match="a: "):
            gred.sum(a.described(**changes), method=method)


# ---- interfaces ----


@functools.cache
def gpu_memory():
    """Copy the bytes that the drawn interfaces are about."""
    return GpuArray.of(BYTES)


def moved(interface):
    """Have the pointer, if it is one near the bytes, point to their copy on the GPU."""
    data = interface.get("data")
    near = isinstance(data, tuple) and len(data) == 2 and type(data[0]) is int
    if not near or abs(data[0] - START) > 2**41:
        return interface
    return interface | {"data": (data[0] - START + gpu_memory().address, data[1])}


def told(work, otherwise):
    """Give what some work tells of an interface, if it can be done."""
    try:
        return work()
    except Exception:
        return otherwise


@settings(
    max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
@given(
    described=st.one_of(sound, entries),
    op=st.sampled_from(("sum", "max")),
    stream=st.sampled_from((1, 2)),
)
def test_hostile_interfaces_of_gpu_memory_do_no_harm(described, op, stream):
    """What lies beyond the bytes may be somebody's: then any answer will do.

    A handle that is no stream's cannot be told from one that is, so there is none among these.
    """
    interface = without_absent(described)
    if told(lambda: math.prod(integers(interface["shape"])), 0) > 2**20:
        return  # in memory that is there, so many elements take for ever
    interface = interface | {"stream": stream}
    elements = told(lambda: model(interface), None)
    if elements is not None:
        check(op, Offer(moved(interface)), lambda: elements)
        return
    with contextlib.suppress(*REFUSALS, ZeroDivisionError):
        getattr(gred, op)(Offer(moved(interface)))


def test_after_hostile_interfaces_the_memory_is_as_it_was():
    np.testing.assert_array_equal(gpu_memory().host(), BYTES)
    assert len(BYTES) == NBYTES
    call("cuCtxSynchronize")


# ---- errors of CUDA's ----


def fail_on_no_stream():
    """Name memory that can be read, but is no stream."""
    memory = ctypes.create_string_buffer(2**12)
    with pytest.raises(gred.CudaError) as caught:
        gred.sum(GpuArray.of(np.arange(10)), stream=ctypes.addressof(memory))
    return caught.value


def test_an_error_of_cudas_says_which_call_and_why_and_may_come_again_and_again():
    for _ in range(20):
        error = fail_on_no_stream()
        assert isinstance(error, RuntimeError)
        assert error.call.startswith("cuda")
        assert error.name.startswith("cudaError")
        assert error.text
        assert str(error) == f"{error.call}: {error.text} ({error.name})"
        assert gred.sum(np.arange(10), device="cuda") == 45


def fail_for_want_of_memory():
    """Measure what would need a working copy of terabytes; a measurement is never in pieces."""
    a = GpuArray.of(np.ones(1, np.int32))
    huge = a.described(shape=(2**38,), strides=(0,))
    with pytest.raises(MemoryError, match="cudaMalloc"):
        gred.kernel_time(huge, method="halving", samples=1, warmup=0)


@pytest.mark.gpu_alone
def test_out_of_memory_is_a_memory_error_and_no_more():
    for _ in range(20):
        fail_for_want_of_memory()
        assert gred.sum(np.arange(10), method="halving", device="cuda") == 45


def allocate_all_but(nbytes):
    """Hold all of the GPU's memory but some."""
    held, size = [], 2**34
    while size >= 2**21:
        if free_bytes() - nbytes < size:
            size //= 2
            continue
        try:
            held.append(Memory(size))
        except RuntimeError:
            size //= 2
    return held


@pytest.mark.gpu_alone
@pytest.mark.parametrize("left", [2**28, 2**30])
def test_a_full_gpu_takes_large_arrays_in_pieces(left):
    host = np.random.default_rng(1).integers(-100, 100, 3 * 2**28, np.int32)
    expected = host.sum()
    held = allocate_all_but(left)
    try:
        for method in ("auto", "halving", "unroll8"):
            assert gred.sum(host, method=method, device="cuda") == expected
        assert gred.max(host[::3], device="cuda") == host[::3].max()
    finally:
        held.clear()


BAD = [
    {"method": "none"},
    {"block_size": 48},
    {"dtype": "O"},
    {"device": "host"},
    {"initial": "x"},
    {"where": [[True, False]]},
    {"out": GpuArray},
    {"stream": 0},
    {"stream": "x"},
]


@pytest.mark.gpu_alone
def test_no_memory_is_lost_on_any_path():
    a = GpuArray.of(np.ones(2**20, np.int32))
    strided = a.described(shape=(2**19,), strides=(8,))
    mask, out = np.arange(2**20) % 2 > 0, GpuArray.of(np.zeros(1, np.int64))

    def all_paths():
        for method in METHODS:
            gred.sum(a, method=method, out=out)
            gred.sum(strided, method=method)
            gred.sum(a, method=method, where=mask)
            gred.max(a, method=method, dtype=np.float64)
        for options in BAD:
            with pytest.raises((TypeError, ValueError)):
                gred.sum(a, **options)
        with pytest.raises(ValueError, match="a: "):
            gred.sum(offered(1 << 40))
        fail_on_no_stream()
        fail_for_want_of_memory()
        call("cuCtxSynchronize")

    all_paths()
    before = free_bytes()
    for _ in range(30):
        all_paths()
    assert before - free_bytes() < 2**24


# ---- forks ----


FORKING = """
import os, signal, sys, warnings
import numpy as np
import gred
from gpu_arrays import GpuArray, call
warnings.simplefilter("ignore")
x = np.arange(100_000)

def in_a_child(work):
    child = os.fork()
    if not child:
        signal.alarm(300)
        status = 1
        try:
            work()
            status = 0
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0

def host_works():
    assert gred.sum(x) == x.sum()
    assert gred.sum(x[::3], where=x[::3] > 7) == x[::3][x[::3] > 7].sum()
    assert gred.sum(x[:5000], method="unroll2", device="simulated") == x[:5000].sum()

def refused(call, what):
    try:
        call()
    except gred.CudaError as error:
        assert what in str(error), error
    else:
        raise AssertionError("no error")
"""


CHILDREN = {
    "a child of a process that used the GPU is told so": """
        a, one = GpuArray.of(x), GpuArray.of(x[:1])
        assert gred.sum(a) == gred.sum(x, device="cuda") == x.sum()

        def work():
            host_works()
            for _ in range(3):
                refused(lambda: gred.sum(x, device="cuda"), "fork")
                refused(lambda: gred.sum(a), "fork")
                refused(lambda: gred.sum(x, method="unroll8"), "fork")
                refused(lambda: gred.sum(x, out=one), "fork")
            host_works()

        for _ in range(3):
            in_a_child(work)
            assert gred.sum(a) == x.sum()
    """,
    "a child may use the GPU where its parent did not": """
        host_works()
        def work():
            assert gred.sum(x, device="cuda") == x.sum()
            assert gred.sum(x, method="unroll8") == x.sum()
        in_a_child(work)
        in_a_child(work)
    """,
    "a child of a process whose other library used the GPU does not hang": """
        a = GpuArray.of(x)
        def work():
            refused(lambda: gred.sum(x, device="cuda"), "")
            host_works()
        in_a_child(work)
        assert gred.sum(a) == x.sum()
    """,
    "a child of a process with busy threads does not hang": """
        import threading
        from gpu_arrays import use_device
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
            refused(lambda: gred.sum(x, device="cuda"), "fork")
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


# ---- Ctrl-C ----


def test_ctrl_c_ends_a_long_measurement_on_the_gpu():
    out = printed(
        """
        import os, signal, threading, time
        import numpy as np
        import gred
        signal.signal(signal.SIGINT, signal.default_int_handler)
        a = np.ones(2**24, np.float32)
        gred.sum(a, device="cuda")
        def interrupt():
            time.sleep(1)
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        def lateness():
            sent.clear()
            try:
                threading.Thread(target=interrupt).start()
                gred.kernel_time(a, samples=10**6)
                raise AssertionError("it has finished")
            except KeyboardInterrupt:
                return time.monotonic() - sent[0]
        sent = []
        # The machine may be late, too, but hardly every time.
        print("in time" if any(lateness() < 1 for _ in range(10)) else "late")
        assert gred.sum(a, device="cuda") == 2**24
        """
    )
    assert out == "in time\n"
