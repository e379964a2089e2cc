"""Arrays of the driver, CuPy, PyTorch, JAX and Numba on a GPU: NumPy's answers."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from gpu_arrays import GpuArray, Offer, call
from gpu_libraries import BASIC, COLUMNS, LIBRARIES, ROWS, Driver
from inputs import EVERY_KIND, KINDS, OPS, exact, methods_on, mixed, reduce, takes
from reference import EVERY_TYPE, agrees, truth

import gred

pytestmark = pytest.mark.gpu
N = 100003
METHODS = ("auto", *methods_on("cuda"))
PLAIN_KINDS = [kind for kind in EVERY_KIND if kind.dtype is None]
every_method = pytest.mark.parametrize("method", METHODS)


# ---- element types and layouts ----


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


OF_EVERY_LIBRARY = ("halving", "neighbored", "unroll8", "shuffle_vector", "atomic", "cooperative")
OF_EVERY_LIBRARY += ("cub",)
WAYS = [
    (library, method)
    for library in LIBRARIES
    for method in (METHODS if library is Driver else OF_EVERY_LIBRARY)
]
every_way = pytest.mark.parametrize(
    ("library", "method"),
    WAYS,
    indirect=["library"],
    ids=[f"{library.module}-{method}" for library, method in WAYS],
)


@every_way
def test_rungs_take_every_type_in_every_layout(library, method):
    kinds = [kind for kind in kinds_of(library) if takes(method, kind.given)]
    for op in ("sum", "max"):
        assert not list(wrong_answers(library, op, kinds, method=method))


@every_way
def test_arrays_of_any_length_go_in(library, method):
    for kind, op, n in itertools.product(KINDS, OPS, (1, 33, 4097, N)):
        if kind.given in library.types:
            case = exact(op, kind, n)
            got = reduce(op, library.make(case.array), method=method, dtype=kind.dtype)
            assert agrees(got, case.truth), f"{op} of {n} {kind.name}: {got!r}"


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


def test_elements_that_are_not_aligned_are_refused_before_a_kernel_reads_them():
    a = GpuArray.of(np.ones(100, np.float32))
    for changes in ({"data": (a.address + 1, False)}, {"strides": (6,)}):
        with pytest.raises(ValueError, match="not aligned"):
            gred.sum(a.described(shape=(50,), **changes))
    assert gred.sum(a) == 100


def test_scalars_and_nothing(library):
    assert gred.sum(library.make(np.float32(3))) == 3
    assert gred.sum(library.make(np.arange(1, 25, dtype=np.float32).reshape(2, 3, 4))) == 300
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


@pytest.mark.parametrize("dtype", EVERY_TYPE, ids=str)
def test_out_may_be_of_any_type(dtype):
    host = np.arange(1, 12, dtype=np.uint8)
    a, out = GpuArray.of(host), GpuArray.of(np.zeros(1, dtype))
    for op, value in (("sum", 66), ("max", 11), ("mean", 6)):
        assert reduce(op, a, out=out) is out
        assert out.host()[0] == np.array(value).astype(dtype)
        assert reduce(op, host, out=out) is out
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


@pytest.mark.parametrize("where", ["managed", "pinned"])
@every_method
def test_managed_and_pinned_memory_is_read_where_it_lies(method, where):
    a = GpuArray.of(np.arange(100003), where)
    assert gred.sum(a, method=method) == 100003 * 50001
    assert gred.sum(a[1:], method=method) == 100003 * 50001
    every_second = a.described(shape=(50000,), strides=(16,))
    assert gred.sum(every_second, method=method) == 50000 * 49999
    masked = gred.sum(a, method=method, where=GpuArray.of(np.arange(100003) < 11, where))
    assert masked == 55


@pytest.mark.parametrize("where", ["managed", "pinned"])
def test_results_may_go_into_managed_and_pinned_memory(where):
    a, out = GpuArray.of(np.arange(10)), GpuArray.of(np.zeros(1, np.float32), where)
    assert gred.sum(a, out=out) is out
    call("cuCtxSynchronize")
    assert out.host()[0] == 45


def test_read_only_arrays_go_in():
    a = GpuArray.of(np.arange(10))
    assert gred.sum(a.described(data=(a.address, True)), method="unroll8") == 45
