"""Arrays of the driver, CuPy, PyTorch, JAX and Numba on a GPU: NumPy's answers."""

import functools
import itertools

import ml_dtypes
import numpy as np
import pytest
from gpu_arrays import GpuArray, Offer, call
from gpu_libraries import BASIC, COLUMNS, LIBRARIES, ROWS, Driver, of_ways
from inputs import EVERY_KIND, KINDS, OPS, exact, methods_on, mixed, reduce, takes
from reference import EVERY_TYPE, agrees, truth

import gred

pytestmark = pytest.mark.gpu
N = 100003
METHODS = ("auto", *methods_on("cuda"))
PLAIN_KINDS = [kind for kind in EVERY_KIND if kind.dtype is None]
every_method = pytest.mark.parametrize("method", METHODS)


# ---- element types and layouts ----


def matrix(op, kind):
    """Lay exact data out in rows and columns."""
    return exact(op, kind, ROWS * COLUMNS).array.reshape(ROWS, COLUMNS)


@functools.cache
def right(op, kind, name, take):
    """Work out the truth of a layout once for all methods."""
    return truth(op, take(matrix(op, kind)))


def kinds_of(library):
    return [kind for kind in PLAIN_KINDS if kind.given in library.types]


@of_ways(*((Driver, method) for method in METHODS), *((one, "auto") for one in LIBRARIES[1:]))
def test_every_element_type_in_every_layout(library, method):
    """Of one library by every method, and of every library by the default one."""
    layouts = {name: (take, take) for name, take in BASIC.items()} | library.layouts()
    kinds = [kind for kind in kinds_of(library) if takes(method, kind.given)]
    for op, kind in itertools.product(OPS if method == "auto" else ("sum", "max"), kinds):
        a = library.make(matrix(op, kind))
        for name, (take, take_there) in layouts.items():
            got = reduce(op, take_there(a), method=method)
            assert agrees(got, right(op, kind, name, take)), f"{op}, {kind.name}, {name}: {got!r}"


@every_method
def test_an_array_may_begin_anywhere(method):
    """Vector loads want 16 bytes' alignment; slices do not offer it, and NaN lies around them."""
    for kind in KINDS:
        filler = np.nan if kind.given.kind == "f" else np.iinfo(kind.given).max
        for n, first, op in itertools.product(
            (1, 2, 3, 5, 31, 1000, 5001), (1, 2, 3, 5, 7), ("max", "sum")
        ):
            case = exact(op, kind, n)
            host = np.full(first + n + 9, filler, kind.given)
            host[first : first + n] = case.array
            a = GpuArray.of(host)[first : first + n]
            got = reduce(op, a, method=method, dtype=kind.dtype)
            assert agrees(got, case.truth), f"{op} of {n} {kind.name} from {first} on"


def test_elements_that_are_not_aligned_are_refused_before_a_kernel_reads_them():
    a = GpuArray.of(np.ones(100, np.float32))
    for changes in ({"data": (a.address + 1, False)}, {"strides": (6,)}):
        with pytest.raises(ValueError, match="not aligned"):
            gred.sum(a.described(shape=(50,), **changes))
    assert gred.sum(a.described(data=(a.address, True)), method="unroll8") == 100


def test_scalars_nothing_and_initial_values(library):
    assert gred.sum(library.make(np.float32(3))) == 3
    assert gred.sum(library.make(np.arange(1, 25, dtype=np.float32).reshape(2, 3, 4))) == 300
    nothing = library.make(np.empty((3, 0), np.float32))
    assert (gred.sum(nothing), gred.prod(nothing)) == (0, 1)
    for op in (gred.min, gred.max):
        with pytest.raises(ValueError, match="empty"):
            op(nothing)
        assert op(nothing, initial=4) == 4
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
        assert np.isnan(gred.mean(nothing))
    a = library.make(np.arange(10, dtype=np.int32))
    assert [gred.sum(a, initial=5), gred.max(a, initial=12), gred.min(a, initial=-3)] == [
        50,
        12,
        -3,
    ]
    with pytest.raises((OverflowError, ValueError)):
        gred.max(a, initial=2**40)


def test_bfloat16_of_cupy_is_right_where_there_is_one():
    cupy = pytest.importorskip("cupy")
    host = np.arange(100).astype(ml_dtypes.bfloat16)
    try:
        a = cupy.asarray(host)
    except (TypeError, ValueError) as error:
        pytest.skip(f"this CuPy has no bfloat16: {error}")
    assert agrees(gred.sum(a), truth("sum", host))


@pytest.mark.parametrize("place", ["cpu", "cuda"])
def test_a_tensor_whose_values_are_not_in_memory_is_right_or_refused(place):
    """PyTorch may leave a conjugate or a sign to whoever reads; memory does not show it."""
    torch = pytest.importorskip("torch")
    conjugate = torch.full((100,), 1 + 2j, device=place).conj()
    for a, expected in ((conjugate, 100 - 200j), (conjugate.imag, -200)):
        try:
            got = gred.sum(a)
        except (TypeError, ValueError, RuntimeError, BufferError):
            continue
        assert got == expected
    with pytest.raises(RuntimeError, match="grad"):
        gred.sum(torch.ones(3, device=place, requires_grad=True))
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        gred.sum(torch.eye(3, device=place).to_sparse())
    assert gred.sum(torch.ones(3, device=place, requires_grad=True).detach()) == 3


# ---- arguments ----

CONVERSIONS = (
    ("int8", "int16"),
    ("bool", "float32"),
    ("int32", "float64"),
    ("uint64", "int32"),
    ("float16", "float32"),
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
    mask = np.random.default_rng(5).integers(0, 2, (ROWS, COLUMNS)).astype(bool)
    there = {"host": np.asarray, "library": library.make, "driver": GpuArray.laid_out}[place]
    for op, kind in itertools.product(("sum", "max", "mean"), kinds_of(library)):
        host, initial = matrix(op, kind), {"initial": 1} if op == "max" else {}
        a = library.make(host)
        for view, m in ((a, mask), (a, mask[:, :1]), (a, mask[0]), (a[::2], mask[::2])):
            got = reduce(op, view, where=there(m), **initial)
            seen = host[::2] if view is not a else host
            expected = truth(op, seen, where=np.broadcast_to(m, seen.shape), **initial)
            assert agrees(got, expected), f"{op}, {kind.name}"


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
    for wrong in ((0,), (2,), (1, 2)):
        with pytest.raises(ValueError, match="out"):
            gred.sum(a, out=writing.zeros(wrong, "float32"))


def test_out_on_the_host_waits(library):
    out = np.zeros((), np.float64)
    assert gred.sum(library.make(np.arange(10, dtype=np.float32)), out=out) is out
    assert out == 45


@pytest.mark.parametrize("dtype", EVERY_TYPE, ids=str)
def test_out_may_be_of_any_type(dtype):
    host = np.arange(1, 12, dtype=np.uint8)
    a, out = GpuArray.of(host), GpuArray.of(np.zeros(1, dtype))
    for (op, value), given in itertools.product((("sum", 66), ("max", 11), ("mean", 6)), (a, host)):
        assert reduce(op, given, out=out) is out
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


# ---- memory of libraries ----


def test_managed_and_pinned_memory_of_libraries():
    cupy, torch = (pytest.importorskip(name) for name in ("cupy", "torch"))
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
    a = torch.arange(N, dtype=torch.int32).pin_memory()
    assert gred.sum(a) == N * (N - 1) // 2
    assert gred.sum(a[::2], device="cuda") == int(a[::2].sum())


@pytest.mark.parametrize("where", ["managed", "pinned"])
@every_method
def test_managed_and_pinned_memory_is_read_and_written_where_it_lies(method, where):
    a, out = GpuArray.of(np.arange(N), where), GpuArray.of(np.zeros(1, np.float32), where)
    assert gred.sum(a[1:], method=method) == N * (N - 1) // 2
    every_second = a.described(shape=(50000,), strides=(16,))
    assert gred.sum(every_second, method=method) == 50000 * 49999
    masked = gred.sum(a, method=method, where=GpuArray.of(np.arange(N) < 11, where))
    assert masked == 55
    assert gred.sum(a[:10], method=method, out=out) is out
    call("cuCtxSynchronize")
    assert out.host()[0] == 45
