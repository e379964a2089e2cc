"""Memory that a GPU can read is recognized by its address, whatever its kind; other is refused.

Calls take no more GPU memory than needed, and release all of it. For more elements than 32 bits can
count, tests/reductions/test_methods.py tests every method.
"""

import contextlib
import ctypes
import gc
import mmap
from fractions import Fraction

import numpy as np
import pytest
from capsules import CUDA, CUDA_MANAGED, Producer, capsule_of
from exact_truths import nearest, same
from gpu_arrays import ADDRESS, SIZE, GpuArray, Memory, call, free_bytes, status_of, synchronize
from hostile import BYTES, NBYTES, REFUSALS, check, elements_at
from inputs import methods_on
from processes import in_a_fresh_thread

import gred

pytestmark = pytest.mark.gpu
METHODS = ("auto", *methods_on("cuda"))
N, MOST, GIB = 100_003, 2**26, 2**30
MANY = 2**33 + 2  # exceeds 32 bits, and the precision of float32


@pytest.fixture(autouse=True)
def the_next_call_is_right():
    yield
    assert gred.sum(GpuArray.of(np.arange(N))) == N * (N - 1) // 2
    synchronize()


# ---- memory of every kind ----

PINNED, ON_DEVICE, READ_AND_WRITE = 1, 1, 3


@contextlib.contextmanager
def mapped(pieces: int, numbers):
    """Reserve addresses, and map some pieces of them to memory of the first GPU."""
    # CUmemAllocationProp and CUmemAccessDesc, which begin with integers.
    properties = (ctypes.c_int * 8)(PINNED, 0, ON_DEVICE, 0)
    access = (ctypes.c_int * 3)(ON_DEVICE, 0, READ_AND_WRITE)
    granularity, address = SIZE(), ADDRESS()
    call("cuMemGetAllocationGranularity", granularity, properties, 0)
    piece = granularity.value
    call("cuMemAddressReserve", address, pieces * piece, 0, 0, 0)
    places = [address.value + number * piece for number in numbers]
    for place in places:
        handle = ADDRESS()
        call("cuMemCreate", handle, piece, properties, 0)
        call("cuMemMap", place, piece, 0, handle.value, 0)
        call("cuMemRelease", handle.value)
        call("cuMemSetAccess", place, piece, access, 1)
    try:
        yield address.value, piece
    finally:
        for place in places:
            status_of("cuMemUnmap", place, piece)
        status_of("cuMemAddressFree", address.value, pieces * piece)


@contextlib.contextmanager
def memory_of(kind):
    """Allocate memory of a kind; data written to "mapped" memory spans two pieces."""
    with contextlib.ExitStack() as held:
        if kind == "registered":
            memory = np.frombuffer(mmap.mmap(-1, MOST), np.uint8)
            call("cuMemHostRegister_v2", memory.ctypes.data, MOST, 0)
            held.callback(call, "cuMemHostUnregister", memory.ctypes.data)
            yield memory.ctypes.data
        elif kind == "of a pool":
            address = ADDRESS()
            call("cuMemAllocAsync", address, MOST, 1)
            held.callback(call, "cuMemFreeAsync", address.value, 1)
            yield address.value
        elif kind == "mapped":
            address, piece = held.enter_context(mapped(5, (1, 2, 3)))
            yield address + 2 * piece - 400_000
        else:
            memory = Memory(MOST, kind)
            yield memory.address


REACHING_FAR = [{"shape": (2**38,)}, {"shape": (2,), "strides": (2**40,)}, {"shape": (2**62,)}]
REACHING_FAR += [{"shape": (2,), "strides": (-(2**40),)}]
REACHING_FAR += [{"shape": (2**20, 2**20), "strides": (8, 2**21)}]


@pytest.mark.parametrize("kind", [*Memory.KINDS, "registered", "of a pool", "mapped"])
@pytest.mark.parametrize("method", METHODS)
def test_memory_of_every_kind_is_read_and_written_where_it_lies_and_no_further(kind, method):
    host = np.arange(N)
    whole = b"".join(part.tobytes() for part in (host, np.zeros(1), host < 11))
    with memory_of(kind) as address:
        call("cuMemcpy", address, np.frombuffer(whole, np.uint8).ctypes.data, len(whole))
        a = GpuArray(None, N, host.dtype, address)
        out = GpuArray(None, 1, host.dtype, address + a.nbytes)
        mask = GpuArray(None, N, np.bool_, out.address + 8)

        def work():
            assert gred.sum(a, method=method) == host.sum()
            assert gred.sum(a[1:], method=method, where=mask[1:]) == 55
            every_second = a.described(shape=(N // 2,), strides=(16,))
            assert gred.sum(every_second, method=method) == host[:-1:2].sum()
            assert gred.sum(host, method=method, device="cuda") == host.sum()
            assert gred.sum(a, method=method, out=out) is out
            for changes in REACHING_FAR:
                with pytest.raises(ValueError, match=r"a: "):
                    gred.sum(a.described(**changes), method=method)

        work()
        in_a_fresh_thread(work)
        synchronize()
        assert out.host()[0] == host.sum()
    if kind not in ("of a pool", "mapped"):
        with pytest.raises(ValueError, match="a: "):
            gred.sum(a)


def test_addresses_that_are_reserved_and_not_mapped_are_refused():
    """A kernel that read them would end all of the process's work on the GPU."""
    with mapped(6, (1, 3, 4)) as (address, piece):
        words = piece // 4
        whole = GpuArray(None, 6 * words, np.int32, address)

        def work():
            for first, pieces in ((0, 1), (0, 2), (1, 2), (1, 4), (2, 1), (3, 3), (5, 1)):
                with pytest.raises(ValueError, match=r"a: the .* bytes from|a: .*not a pointer"):
                    gred.sum(whole[first * words : (first + pieces) * words])
            there = whole[3 * words : 5 * words]
            assert gred.sum(there) == gred.sum(there, method="unroll8")

        work()
        in_a_fresh_thread(work)


@pytest.mark.parametrize("pointer", [1 << 12, 1 << 40, 1 << 47, 2**64 - 4096, None], ids=str)
def test_pointers_to_nowhere_and_to_the_hosts_memory_are_refused(pointer):
    """The driver may reject an address before gred does; None is a host address."""
    host = np.arange(10, dtype=np.int32)
    place = host.ctypes.data if pointer is None else pointer
    for name, options in (
        ("a", {"a": GpuArray(None, 10, np.int32, place)}),
        ("out", {"a": host, "out": GpuArray(None, 1, np.int32, place)}),
        ("where", {"a": GpuArray.of(host), "where": GpuArray(None, 10, np.bool_, place)}),
    ):
        with pytest.raises((ValueError, gred.CudaError)) as caught:
            gred.sum(**options)
        assert pointer is not None or str(caught.value).startswith(f"{name}: ")
    for kind in (CUDA, CUDA_MANAGED):
        producer = Producer(capsule_of(host, device_type=kind), (kind, 0))
        with pytest.raises(ValueError, match="a: "):
            gred.sum(producer)
        assert producer.capsule.deletions == 1
    assert host.sum() == 45


def test_whatever_stretches_are_described_are_read_right_or_refused():
    """What is outside the array may be other memory; then any answer is accepted."""
    random, memory = np.random.default_rng(1), GpuArray.of(BYTES)
    lengths, steps = [0, 1, 2, 3, 8, 20], [0, 1, 2, 3, -1, -2, 8, 2**20, 2**40, -(2**60)]
    for _ in range(3000):
        dtype = np.dtype(random.choice(list("?bhilefdFD")))
        shape = tuple(random.choice(lengths, random.integers(4)).tolist())
        strides = tuple(dtype.itemsize * random.choice(steps, len(shape)).astype(object))
        first = int(random.choice([0, 8, NBYTES // 2, NBYTES - 16, -8, NBYTES, 2**40, 3]))
        place = (memory.address + first, False)
        described = {"shape": shape, "strides": strides, "typestr": dtype.str, "data": place}
        elements = elements_at(first, shape, strides, dtype)
        if elements is not None:
            check("max", memory.described(**described), lambda elements=elements: elements)
        else:
            with contextlib.suppress(*REFUSALS):
                gred.max(memory.described(**described))
    np.testing.assert_array_equal(memory.host(), BYTES)


# ---- how much memory ----

ONES = np.ones(2**20, np.int32)
BAD = [{"method": "none"}, {"block_size": 48}, {"dtype": "O"}, {"device": "host"}]
BAD += [{"initial": "x"}, {"where": [[True, False]]}, {"out": GpuArray}, {"stream": 0}]


def every_method():
    a, out = GpuArray.of(ONES), GpuArray.of(np.zeros(1, np.int64))
    for method in METHODS:
        gred.kernel_time(a, method=method, samples=1, warmup=0)
        gred.sum(a, method=method, out=out)
        gred.sum(a.described(shape=(2**19,), strides=(8,)), method=method)
        gred.sum(a, method=method, where=ONES > 0)


def every_refusal():
    """Including memory that can be read but is no stream, and a working copy of terabytes."""
    a = GpuArray.of(ONES)
    for options in BAD:
        with pytest.raises((TypeError, ValueError)):
            gred.sum(a, **options)
    with pytest.raises(ValueError, match="a: "):
        gred.sum(a.described(shape=(2**38,)))
    memory = ctypes.create_string_buffer(2**12)
    with pytest.raises(gred.CudaError) as caught:
        gred.sum(GpuArray.of(np.arange(10)), stream=ctypes.addressof(memory))
    error = caught.value
    assert isinstance(error, RuntimeError)
    assert error.call.startswith("cuda")
    assert error.name.startswith("cudaError")
    assert str(error) == f"{error.call}: {error.text} ({error.name})"
    huge = GpuArray.of(np.ones(1, np.int32)).described(shape=(2**38,), strides=(0,))
    with pytest.raises(MemoryError, match="cudaMalloc"):  # a measurement is never in pieces
        gred.kernel_time(huge, method="halving", samples=1, warmup=0)
    assert gred.sum(np.arange(10), method="halving", device="cuda") == 45


def many_results():
    a = GpuArray.of(ONES).described(shape=(1, 2**20))
    for _ in range(10):
        gred.sum(a, 0)
    gc.collect()


@pytest.mark.gpu_alone
@pytest.mark.parametrize("work", [every_method, every_refusal, many_results])
def test_no_memory_is_lost_and_errors_of_cudas_say_which_call_and_why(work):
    work()
    synchronize()
    before = free_bytes()
    for _ in range(30):
        work()
    synchronize()
    assert before - free_bytes() < 2**27


@pytest.mark.gpu_alone
@pytest.mark.parametrize("limit", [None, 2**24])
def test_the_gpus_memory_does_not_grow_with_a_host_array(limit):
    host = np.ones(2**30, np.int8)
    with gred.workspace_limit(limit) if limit else contextlib.nullcontext():
        gred.sum(host[: 2**25], device="cuda")
        before = free_bytes()
        assert gred.explain(host, device="cuda").workspace_nbytes < 3 * 2**24
        assert gred.sum(host, device="cuda") == 2**30
        assert before - free_bytes() < 2**27


def allocate_all_but(nbytes):
    """Allocate all of the GPU's memory, except some."""
    held, size = [], 2**34
    while size >= 2**21:
        try:
            if free_bytes() - nbytes < size:
                raise RuntimeError
            held.append(Memory(size))
        except RuntimeError:
            size //= 2
    return held


@pytest.mark.gpu_alone
@pytest.mark.parametrize("left", [2**28, 2**30])
def test_a_full_gpu_takes_large_arrays_in_pieces(left):
    host = np.random.default_rng(1).integers(-100, 100, 3 * 2**28, np.int32)
    expected, held = host.sum(), allocate_all_but(left)
    try:
        for method in ("auto", "halving", "unroll8"):
            assert gred.sum(host, method=method, device="cuda") == expected
        assert gred.max(host[::3], device="cuda") == host[::3].max()
    finally:
        held.clear()


# ---- more elements than 32 bits count ----


def needs(nbytes):
    """Skip if the GPU has too little free memory."""
    if free_bytes() < nbytes:
        pytest.skip(f"this takes {nbytes / GIB:.0f} GiB of the GPU's free memory")


def test_more_elements_than_32_bits_count_are_read_with_any_strides():
    """Rows of 99 bytes, which are 1, and one byte between them, which is not; and one element."""
    needs(MANY + GIB)
    row = np.append(np.ones(99, np.int8), np.int8(7))
    rows = MANY // 100
    a = GpuArray.repeating(np.tile(row, 10_000), rows * 100)
    a[rows * 100 - 2] = 5
    a = a.described(shape=(rows, 99), strides=(100, 1))
    b = GpuArray.of(np.full(1, 3, np.int16)).described(shape=(2**17, 2**16), strides=(0, 0))
    for method in ("auto", "unroll8"):
        assert gred.sum(a, method=method) == rows * 99 + 4
        assert gred.max(a, method=method) == 5
        assert gred.mean(a, method=method) == (rows * 99 + 4) / (rows * 99)
    assert gred.sum(b) == gred.sum(b, method="shuffle") == 3 * 2**33
    assert gred.max(b) == 3
    assert gred.sum(a, where=GpuArray.of(np.zeros(1, bool)), initial=1) == 1
    host = np.broadcast_to(np.array([1, 2, -1, 5], np.int8), (2**30 + 1, 4))
    assert gred.sum(host, device="cuda") == 7 * (2**30 + 1)


EQUAL = {  # elements that fill words to the limit, and a last one that decides
    "the greatest": lambda kind: (kind.max, kind.max),
    "the least": lambda kind: (-kind.smallest_subnormal, kind.eps),
    "all bits": lambda kind: (-(2 - kind.eps), -kind.eps),
    "a tenth": lambda kind: (kind.dtype.type(0.1), kind.max),
    "one and the same": lambda kind: (kind.max, kind.max),
}


@pytest.mark.parametrize("values", EQUAL)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64], ids=lambda t: t.__name__)
def test_more_equal_elements_than_32_bits_count_are_added_exactly(dtype, values):
    """Carry safety: 2^33 elements, contiguous in memory, of which the last differs.

    "one and the same" is one element with stride 0, copied in pieces whose words are merged. In
    float64 neither sum nor mean is infinite; they are also rounded to the elements' type.
    """
    value, last = (dtype(x) for x in EQUAL[values](np.finfo(dtype)))
    whole = Fraction(float(value)) * (MANY - 1) + Fraction(float(last))
    if values == "one and the same":
        needs(5 * GIB)
        a = GpuArray.of(np.full(1, value)).described(shape=(MANY,), strides=(0,))
    else:
        needs(MANY * value.itemsize + GIB)
        a = GpuArray.repeating(np.full(2**20, value), MANY)
        a[MANY - 1] = last
    with gred.workspace_limit(4 * GIB):
        for result in (np.float64, dtype):
            out = GpuArray.of(np.zeros(1, result)).described(shape=())
            for name, truth in (("sum", whole), ("mean", whole / MANY)):
                options = {"method": "exact", "dtype": result}
                expected = nearest(truth, result)
                assert same(getattr(gred, name)(a, **options), expected), (name, result)
                getattr(gred, name)(a, out=out, **options)
                synchronize()
                assert same(out.host()[0], expected), (name, result, "out")
        accumulator = gred.ExactSum(a)
    assert accumulator.fraction() == whole
    assert accumulator.count == MANY
