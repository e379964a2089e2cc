"""Arrays of CuPy, PyTorch, JAX and Numba on a GPU: NumPy's answers, after their streams' work.

Each library makes its arrays itself and says itself on which stream it works. A library that is not
installed, or has no GPU here, skips with that reason.
"""

import contextlib
import itertools
import os

import ml_dtypes
import numpy as np
import pytest
from capsules import CUDA, CUDA_HOST, CUDA_MANAGED, NEW, OLD, Producer, capsule_of
from gpu_arrays import (
    LEGACY_DEFAULT_STREAM,
    Event,
    GpuArray,
    Offer,
    Stream,
    call,
    delay,
    is_busy,
    write_later,
)
from inputs import EVERY_KIND, OPS, exact, mixed, reduce
from reference import BFLOAT16, COMPLEX, EVERY_TYPE, agrees, truth

import gred

pytestmark = pytest.mark.gpu
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
ROWS, COLUMNS = 37, 27
N = 100003
PLAIN_KINDS = [kind for kind in EVERY_KIND if kind.dtype is None]


# ---- the libraries ----


class Cupy:
    """CuPy: every layout of NumPy's, and a current stream."""

    module, types = "cupy", tuple(t for t in EVERY_TYPE if t != BFLOAT16)
    writes = True

    def __init__(self):
        self.cupy = pytest.importorskip("cupy")

    def make(self, host):
        return self.cupy.asarray(host)

    def zeros(self, shape, dtype):
        return self.cupy.zeros(shape, dtype)

    def host(self, array):
        return array.get()

    def layouts(self):
        cupy = self.cupy
        return {
            "reversed": (lambda x: x[::-1, ::-1], lambda x: x[::-1, ::-1]),
            "a row again and again": (
                lambda x: np.broadcast_to(x[3], (5, COLUMNS)),
                lambda x: cupy.broadcast_to(x[3], (5, COLUMNS)),
            ),
            "three dimensions": (
                lambda x: x.reshape(ROWS, 9, 3).transpose(1, 0, 2)[::2, :, 1:],
                lambda x: x.reshape(ROWS, 9, 3).transpose(1, 0, 2)[::2, :, 1:],
            ),
        }

    def stream(self):
        return self.cupy.cuda.Stream(non_blocking=True)

    def handle(self, stream):
        return stream.ptr

    def external(self, handle):
        return self.cupy.cuda.ExternalStream(handle)

    def default_stream(self):
        return self.cupy.cuda.Stream.null

    def current(self, stream):
        return stream

    def made_on(self, stream, host):
        return self.cupy.asarray(host)

    def fill(self, array, value, stream):
        array.fill(value)


class Torch:
    """PyTorch: no negative strides; DLPack with its current stream."""

    module, types = "torch", EVERY_TYPE
    writes = True

    def __init__(self):
        self.torch = pytest.importorskip("torch")
        if not self.torch.cuda.is_available():
            pytest.skip("this PyTorch has no GPU")

    def make(self, host):
        host = np.array(host)
        if host.dtype == BFLOAT16:
            bits = self.torch.from_numpy(host.view(np.int16))
            return bits.view(self.torch.bfloat16).cuda()
        return self.torch.from_numpy(host).cuda()

    def zeros(self, shape, dtype):
        return self.make(np.zeros(shape, dtype))

    def host(self, array):
        array = array.cpu()
        if array.dtype == self.torch.bfloat16:
            return array.view(self.torch.int16).numpy().view(BFLOAT16)
        return array.numpy()

    def layouts(self):
        return {
            "a row again and again": (
                lambda x: np.broadcast_to(x[3], (5, COLUMNS)),
                lambda x: x[3].expand(5, COLUMNS),
            ),
            "three dimensions": (
                lambda x: x.reshape(ROWS, 9, 3).transpose(1, 0, 2)[::2, :, 1:],
                lambda x: x.reshape(ROWS, 9, 3).permute(1, 0, 2)[::2, :, 1:],
            ),
        }

    def stream(self):
        return self.torch.cuda.Stream()

    def handle(self, stream):
        return stream.cuda_stream

    def external(self, handle):
        return self.torch.cuda.ExternalStream(handle)

    def default_stream(self):
        return self.torch.cuda.default_stream()

    def current(self, stream):
        return self.torch.cuda.stream(stream)

    def made_on(self, stream, host):
        return self.make(host)

    def fill(self, array, value, stream):
        array.fill_(value)


class Numba:
    """Numba: each array names the stream that it was made on."""

    module, types = "numba", tuple(t for t in EVERY_TYPE if t != BFLOAT16)
    writes = True

    def __init__(self):
        self.cuda = pytest.importorskip("numba.cuda")
        if not self.cuda.is_available():
            pytest.skip("this Numba has no GPU")
        if not hasattr(np, "row_stack"):  # NumPy 2.5 lacks what some Numbas overload
            np.row_stack = np.vstack
        self.kept = []

    def make(self, host):
        return self.cuda.to_device(np.array(host))

    def zeros(self, shape, dtype):
        return self.make(np.zeros(shape, dtype))

    def host(self, array):
        return array.copy_to_host()

    def layouts(self):
        return {}

    def stream(self):
        """Make a stream that does not wait for the default one; Numba's own ones do."""
        self.kept.append(Stream())
        return self.cuda.external_stream(self.kept[-1].handle)

    def handle(self, stream):
        handle = stream.handle
        return int(getattr(handle, "value", handle) or 0)

    def external(self, handle):
        return self.cuda.external_stream(handle)

    def default_stream(self):
        return self.cuda.default_stream()

    def current(self, stream):
        return contextlib.nullcontext()

    def made_on(self, stream, host):
        return self.cuda.to_device(host, stream=stream)

    def fill(self, array, value, stream):
        if not hasattr(self, "kernel"):
            self.kernel = self.cuda.jit(write_everywhere(self.cuda))
        self.kernel[(array.size + 255) // 256, 256, stream](array, value)


def write_everywhere(cuda):
    """Make the kernel that Numba compiles."""

    def kernel(array, value):
        k = cuda.grid(1)
        if k < array.size:
            array[k] = value

    return kernel


class Jax:
    """JAX: immutable arrays, each computed in the background."""

    module, types = "jax", EVERY_TYPE
    writes = False

    def __init__(self):
        self.jax = pytest.importorskip("jax")
        self.jax.config.update("jax_enable_x64", True)
        if self.jax.default_backend() != "gpu":
            pytest.skip("this JAX has no GPU")
        self.numpy = self.jax.numpy

    def make(self, host):
        return self.numpy.asarray(np.array(host))

    def layouts(self):
        return {}


LIBRARIES = (Cupy, Torch, Numba, Jax)
made = {}


@pytest.fixture(params=LIBRARIES, ids=[one.module for one in LIBRARIES])
def library(request):
    if request.param not in made:
        made[request.param] = request.param()
    return made[request.param]


@pytest.fixture
def writing(library):
    if not library.writes:
        pytest.skip(f"{library.module}'s arrays are never written")
    return library


# ---- element types and layouts ----

BASIC = {
    "whole": lambda x: x,
    "transposed": lambda x: x.T,
    "every third row": lambda x: x[::3],
    "every second column": lambda x: x[:, ::2],
    "an inner part": lambda x: x[1:-1, 3:-2],
    "off by one element": lambda x: x[0, 1:],
    "one element": lambda x: x[2:3, 1:2],
}


def all_layouts(library):
    """Pair what NumPy does with what the library does."""
    return {name: (take, take) for name, take in BASIC.items()} | library.layouts()


def matrix(op, kind):
    """Lay exact data out in rows and columns."""
    return exact(op, kind, ROWS * COLUMNS).array.reshape(ROWS, COLUMNS)


truths: dict = {}


def right(op, kind, name, take):
    """Work out the truth of a layout once for all libraries and methods."""
    if (op, kind, name) not in truths:
        truths[op, kind, name] = truth(op, take(matrix(op, kind)))
    return truths[op, kind, name]


def wrong_answers(library, op, kinds, **options):
    """Reduce each type in each layout; list what disagrees."""
    for kind in kinds:
        a = library.make(matrix(op, kind))
        for name, (take, take_there) in all_layouts(library).items():
            got = reduce(op, take_there(a), **options)
            if not agrees(got, right(op, kind, name, take)):
                yield f"{kind.name}, {name}: {got!r}"


def kinds_of(library):
    return [kind for kind in PLAIN_KINDS if kind.given in library.types]


@pytest.mark.parametrize("op", OPS)
def test_every_element_type_in_every_layout(library, op):
    assert not list(wrong_answers(library, op, kinds_of(library)))


@pytest.mark.parametrize(
    "method", ["halving", "neighbored", "unroll8", "shuffle_vector", "atomic", "cooperative", "cub"]
)
def test_rungs_take_every_real_type_in_every_layout(library, method):
    kinds = [kind for kind in kinds_of(library) if kind.given not in COMPLEX]
    assert not list(wrong_answers(library, "sum", kinds, method=method))


def test_scalars_and_nothing(library):
    assert gred.sum(library.make(np.float32(3))) == 3
    nothing = library.make(np.empty((3, 0), np.float32))
    assert gred.sum(nothing) == 0
    assert gred.prod(nothing) == 1
    for op in (gred.min, gred.max):
        with pytest.raises(ValueError, match="empty"):
            op(nothing)
        assert op(nothing, initial=4) == 4
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
        assert np.isnan(gred.mean(nothing))


def test_special_values_are_numpys(library):
    for values in ([1, np.nan, 3], [np.inf, 2], [np.inf, -np.inf], [-0.0, -0.0], [-np.inf, 1]):
        host = np.array(values * 40, np.float32)
        for op in ("sum", "min", "max", "mean"):
            with np.errstate(all="ignore"):
                expected = getattr(np, op)(host)
            np.testing.assert_array_equal(reduce(op, library.make(host)), expected)


def test_bfloat16_of_cupy_is_right_where_there_is_one():
    cupy = pytest.importorskip("cupy")
    host = np.arange(100).astype(ml_dtypes.bfloat16)
    try:
        a = cupy.asarray(host)
    except (TypeError, ValueError) as error:
        pytest.skip(f"this CuPy has no bfloat16: {error}")
    assert agrees(gred.sum(a), truth("sum", host))


@pytest.mark.parametrize("place", ["cpu", "cuda"])
@pytest.mark.parametrize("view", ["conjugate", "negative"])
def test_a_tensor_whose_values_are_not_in_memory_is_right_or_refused(view, place):
    """PyTorch may leave a conjugate or a sign to whoever reads; memory does not show it."""
    torch = pytest.importorskip("torch")
    a, right = torch.full((100,), 1 + 2j, device=place).conj(), 100 - 200j
    if view == "negative":
        a, right = a.imag, -200
    try:
        got = gred.sum(a)
    except (TypeError, ValueError, RuntimeError, BufferError):
        return
    assert got == right


def test_tensors_that_are_no_plain_memory_are_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(RuntimeError, match="grad"):
        gred.sum(torch.ones(3, device="cuda", requires_grad=True))
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        gred.sum(torch.eye(3, device="cuda").to_sparse())
    assert gred.sum(torch.ones(3, device="cuda", requires_grad=True).detach()) == 3


# ---- arguments ----

CONVERSIONS = (
    ("int8", "int16"),
    ("bool", "float32"),
    ("int32", "float64"),
    ("uint64", "int32"),
    ("float16", "float32"),
    ("float32", "float64"),
    ("float64", "float32"),
    ("float32", "int32"),
    ("complex64", "complex128"),
    ("float32", "bool"),
)


@pytest.mark.parametrize(("given", "dtype"), CONVERSIONS)
def test_elements_are_converted_to_dtype(library, given, dtype):
    for op in OPS:
        case = mixed(op, np.dtype(given), np.dtype(dtype), ROWS * COLUMNS)
        host = case.array.reshape(ROWS, COLUMNS)
        a = library.make(host)
        assert agrees(reduce(op, a, dtype=dtype), case.truth)
        expected = truth(op, host[:, ::2], np.dtype(dtype))
        assert agrees(reduce(op, a[:, ::2], dtype=dtype), expected)


@pytest.mark.parametrize("place", ["host", "library", "driver"])
def test_a_mask_may_lie_on_the_host_or_the_gpu(library, place):
    random = np.random.default_rng(5)
    mask = random.integers(0, 2, (ROWS, COLUMNS)).astype(bool)
    there = {
        "host": lambda m: m,
        "library": library.make,
        "driver": GpuArray.laid_out,
    }[place]
    for op, kind in itertools.product(("sum", "max", "mean"), kinds_of(library)):
        host, initial = matrix(op, kind), {"initial": 1} if op == "max" else {}
        a = library.make(host)
        for m in (mask, mask[:, :1], mask[0]):
            got = reduce(op, a, where=there(m), **initial)
            whole = np.broadcast_to(m, host.shape)
            assert agrees(got, truth(op, host, where=whole, **initial)), f"{op}, {kind.name}"
        got = reduce(op, a[::2], where=there(mask[::2]), **initial)
        assert agrees(got, truth(op, host[::2], where=mask[::2], **initial)), f"{op}, {kind.name}"


def test_masks_are_checked_as_numpys(library):
    a = library.make(np.ones((4, 6), np.float32))
    with pytest.raises(TypeError):
        gred.sum(a, where=library.make(np.ones((4, 6), np.float32)))
    for shape in ((3, 6), (2, 4, 6), (5,)):
        with pytest.raises(ValueError, match="where"):
            gred.sum(a, where=library.make(np.ones(shape, bool)))
    with pytest.raises(ValueError, match="initial"):
        gred.max(a, where=library.make(np.ones((4, 6), bool)))
    assert gred.sum(a, where=False) == 0
    assert gred.sum(a) == 24


def test_initial_values_take_part(library):
    a = library.make(np.arange(10, dtype=np.int32))
    assert gred.sum(a, initial=5) == 50
    assert gred.prod(a, initial=0) == 0
    assert gred.max(a, initial=12) == 12
    assert gred.min(a, initial=-3) == -3
    with pytest.raises(ValueError, match="empty"):
        gred.sum(library.make(np.empty(0, np.int32)), initial=None)
    with pytest.raises((OverflowError, ValueError)):
        gred.max(a, initial=2**40)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)], ids=str)
def test_results_go_into_an_array_of_the_library(writing, shape):
    host = np.arange(100, dtype=np.float32)
    a = writing.make(host)
    for dtype in ("float32", "float64", "int16", "int64", "uint8", "complex64", "float16"):
        out = writing.zeros(shape, dtype)
        assert gred.max(a, out=out) is out
        assert writing.host(out).ravel()[0] == 99
        assert gred.mean(a, dtype="float64", out=out) is out
        assert writing.host(out).ravel()[0] == np.float64(49.5).astype(dtype)
    assert gred.sum(host, out=out, device=None) is out
    assert gred.sum(a, where=host > 90, initial=1.5, out=out) is out
    assert writing.host(out).ravel()[0] == np.float16(856.5)


def test_out_has_one_element(writing):
    a = writing.make(np.arange(4, dtype=np.float32))
    for shape in ((0,), (2,), (1, 2)):
        with pytest.raises(ValueError, match="out"):
            gred.sum(a, out=writing.zeros(shape, "float32"))
    assert gred.sum(a) == 6


def test_out_on_the_host_waits(library):
    out = np.zeros((), np.float64)
    assert gred.sum(library.make(np.arange(10, dtype=np.float32)), out=out) is out
    assert out == 45


# ---- streams ----


def zeros_on(library, stream):
    """Make zeros, with every kernel loaded that a test needs: loading waits for the whole GPU."""
    host = np.zeros(N, np.int32)
    with library.current(stream):
        a = library.made_on(stream, host)
        library.fill(a, 0, stream)
        gred.sum(a)
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


def test_what_a_stream_of_the_library_is_to_do_comes_first(writing):
    stream = writing.stream()
    a = zeros_on(writing, stream)
    with writing.current(stream):
        fill_later(writing, a, stream)
        assert gred.sum(a) == 7 * N
    assert not is_busy(writing.handle(stream))


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


@pytest.mark.parametrize("form", ["integer", "protocol", "library", "external"])
def test_work_runs_on_the_stream_that_is_named(writing, form):
    """The array itself names another stream, so that only stream= tells what to wait for."""
    mine = writing.stream()
    handle = writing.handle(mine)
    a = GpuArray.of(np.zeros(N, np.int32))
    assert gred.sum(a) == 0
    write_later(a.address, a.nbytes, 7, handle)
    forms = {
        "integer": lambda: handle,
        "protocol": lambda: Protocol(handle),
        "library": lambda: mine,
        "external": lambda: writing.external(handle),
    }
    stream = forms[form]()
    assert gred.sum(a) == 0
    assert is_busy(handle)
    assert gred.sum(a, stream=stream) == 7 * N


def test_a_stream_that_numba_made_may_be_named():
    cuda = Numba().cuda
    a, stream = GpuArray.of(np.zeros(N, np.int32)), cuda.stream()
    gred.sum(a)
    handle = getattr(stream.handle, "value", stream.handle)
    write_later(a.address, a.nbytes, 7, int(handle))
    assert gred.sum(a, stream=stream) == 7 * N


def test_a_librarys_default_stream_may_be_named(writing):
    stream = writing.default_stream()
    a = GpuArray.of(np.zeros(N, np.int32))
    gred.sum(a)
    write_later(a.address, a.nbytes, 7, LEGACY_DEFAULT_STREAM)
    assert gred.sum(a, stream=stream) == 7 * N


def test_out_returns_before_the_producer_is_done(writing):
    stream = writing.stream()
    a = zeros_on(writing, stream)
    with writing.current(stream):
        out = writing.made_on(stream, np.zeros(1, np.int64))
        gred.sum(a, out=out)
        call("cuCtxSynchronize")
        fill_later(writing, a, stream)
        filled = Event(writing.handle(stream))
        assert gred.sum(a, out=out) is out
        assert not filled.is_past(), "the call waited for the producer"
    call("cuStreamSynchronize", writing.handle(stream))
    assert writing.host(out).ravel()[0] == 7 * N


def test_out_is_ordered_on_the_stream_that_is_named(writing):
    """What the stream does next finds the result, and may overwrite the array."""
    stream = writing.stream()
    handle = writing.handle(stream)
    a, out = GpuArray.of(np.zeros(N, np.int32)), GpuArray.of(np.zeros(1, np.int64))
    for array in (a, out):
        array.changes = {"stream": handle}
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


# ---- DLPack ----


def on_gpu(host, kind, name, where, **changes):
    """Describe GPU memory by a capsule."""
    memory = GpuArray.of(host, where)
    capsule = capsule_of(host, name, device_type=kind, data=memory.address, **changes)
    producer = Producer(capsule, (kind, 0))
    producer.memory = memory
    return producer


MEMORIES = {"device": CUDA, "managed": CUDA_MANAGED, "pinned": CUDA_HOST}


@pytest.mark.parametrize("name", [OLD, NEW])
@pytest.mark.parametrize("where", MEMORIES)
def test_capsules_of_every_memory_are_read_and_released_once(name, where):
    host = np.arange(1, 1001, dtype=np.float32).reshape(20, 50)
    producer = on_gpu(host, MEMORIES[where], name, where)
    for times in range(1, 4):
        assert gred.sum(producer) == 500500
        assert producer.capsule.deletions == times == len(producer.calls)
    for options in producer.calls:
        assert options["max_version"] == (1, 1)
        if where == "pinned":
            assert "stream" not in options
        else:
            assert options["stream"] > 2


def test_the_stream_of_the_handshake_is_the_one_that_is_named():
    producer, stream = on_gpu(np.arange(10), CUDA, NEW, "device"), Stream()
    assert gred.sum(producer, stream=stream.handle) == 45
    assert [options["stream"] for options in producer.calls] == [stream.handle]
    assert gred.sum(producer, stream=1) == 45
    assert producer.calls[-1]["stream"] == 1


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("with_out", [False, True])
def test_what_a_producer_puts_on_the_handshakes_stream_comes_first(named, with_out):
    producer = on_gpu(np.zeros(N, np.int32), CUDA, NEW, "device")
    assert gred.sum(producer) == 0
    plain = producer.__class__.__dlpack__

    class Late(Producer):
        def __dlpack__(self, **options):
            write_later(self.memory.address, self.memory.nbytes, 7, options["stream"])
            return plain(self, **options)

    producer.__class__ = Late
    mine = Stream()
    options = {"stream": mine.handle} if named else {}
    out = GpuArray.of(np.zeros(1, np.int64)) if with_out else None
    got = gred.sum(producer, out=out, **options)
    if with_out:
        call("cuStreamSynchronize", mine.handle)
        call("cuCtxSynchronize")
    assert (out.host()[0] if with_out else got) == 7 * N


def test_out_waits_for_a_producer_whose_stream_is_not_known():
    """Nothing else would keep its memory for what is under way: nobody can tell its own stream."""
    producer = on_gpu(np.zeros(N, np.int32), CUDA, NEW, "device")
    out = GpuArray.of(np.zeros(1, np.int64))
    gred.sum(producer, out=out)

    class Late(Producer):
        def __dlpack__(self, **options):
            write_later(self.memory.address, self.memory.nbytes, 7, options["stream"])
            return super().__dlpack__(**options)

    producer.__class__ = Late
    gred.sum(producer, out=out)
    assert not is_busy(producer.calls[-1]["stream"])
    assert out.host()[0] == 7 * N


@pytest.mark.parametrize("name", [OLD, NEW])
def test_a_tensor_on_the_gpu_is_an_out_with_a_version_or_without(name):
    out = on_gpu(np.zeros(1), CUDA, name, "device")
    assert gred.sum(np.arange(10), out=out) is out
    assert out.memory.host()[0] == 45


def test_pinned_memory_without_a_version_is_no_out():
    out = on_gpu(np.zeros(1), CUDA_HOST, OLD, "pinned")
    with pytest.raises(ValueError, match="out is read-only"):
        gred.sum(np.arange(10), out=out)
    assert out.memory.host()[0] == 0


def test_errors_release_capsules_too():
    producer = on_gpu(np.arange(10), CUDA, NEW, "device")
    for options in (
        {"dtype": "O"},
        {"method": "none"},
        {"device": "host"},
        {"out": np.zeros(3)},
        {"block_size": 48},
        {"where": [True, False]},
    ):
        with pytest.raises((TypeError, ValueError)):
            gred.sum(producer, **options)
    assert producer.capsule.deletions == len(producer.calls)
    assert gred.sum(producer) == 45


def test_a_capsule_that_lies_about_its_memory_is_refused():
    host = np.arange(10)
    for kind in (CUDA, CUDA_MANAGED):
        producer = Producer(capsule_of(host, device_type=kind), (kind, 0))
        with pytest.raises(ValueError, match="a: "):
            gred.sum(producer)
        assert producer.capsule.deletions == 1
    assert gred.sum(on_gpu(host, CUDA, NEW, "device")) == 45


# ---- memory of libraries ----


def test_managed_and_pinned_memory_of_cupy():
    cupy = pytest.importorskip("cupy")
    pool = cupy.cuda.MemoryPool(cupy.cuda.malloc_managed)
    with cupy.cuda.using_allocator(pool.malloc):
        a = cupy.arange(N, dtype=cupy.int32)
    assert gred.sum(a) == gred.sum(a, method="unroll8") == N * (N - 1) // 2
    assert gred.sum(a[::2]) == int(a[::2].sum())
    pinned = cupy.cuda.alloc_pinned_memory(4 * N)
    host = np.frombuffer(pinned, np.int32, N)
    host[:] = 3
    described = {"shape": (N,), "typestr": "<i4", "data": (pinned.ptr, False), "version": 3}
    assert gred.sum(Offer(described, pinned)) == gred.sum(host) == 3 * N


def test_pinned_tensors_of_torch():
    torch = pytest.importorskip("torch")
    a = torch.arange(N, dtype=torch.int32).pin_memory()
    assert gred.sum(a) == N * (N - 1) // 2
    assert gred.sum(a[::2], device="cuda") == int(a[::2].sum())


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
