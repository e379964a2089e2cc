"""GPU arrays of the driver, CuPy, PyTorch, JAX and Numba: NumPy's results, in their arrays.

tests/reductions and tests/arrays test the driver's memory with every call, layout, mask and out.
"""

import functools
import itertools

import numpy as np
import pytest
from capsules import CUDA, CUDA_HOST, CUDA_MANAGED, NEW, OLD, Producer, capsule_of
from devices import to_host
from forcing import forced
from gpu_arrays import LEGACY_DEFAULT_STREAM, GpuArray, Stream, is_busy, synchronize, write_later
from gpu_libraries import COLUMNS, ROWS, of_libraries
from inputs import EVERY_KIND, KINDS, OPS, exact, reduce
from reference import BFLOAT16, agrees, truth
from segments import UFUNCS

import gred

pytestmark = pytest.mark.gpu
PLAIN_KINDS = [kind for kind in EVERY_KIND if kind.dtype is None]
X = np.arange(1, 7 * 9 * 11 + 1).reshape(7, 9, 11) % 29


def matrix(op, kind):
    """Arrange exact data in rows and columns."""
    return exact(op, kind, ROWS * COLUMNS).array.reshape(ROWS, COLUMNS)


@functools.cache
def right(op, kind, layout):
    """Compute the truth of a layout, once for all libraries."""
    return truth(op, layout(np, matrix(op, kind)))


# ---- numbers ----


def test_every_element_type_in_every_layout(library):
    kinds = [kind for kind in PLAIN_KINDS if kind.given in library.types]
    for op, kind, name in itertools.product(OPS, kinds, library.layouts):
        layout = library.layouts[name]
        got = reduce(op, library.laid_out(matrix(op, kind), layout))
        assert agrees(got, right(op, kind, layout)), f"{op}, {kind.name}, {name}: {got!r}"


def test_a_mask_may_lie_on_the_host_or_the_gpu(library):
    mask = np.random.default_rng(5).integers(0, 2, (ROWS, COLUMNS)).astype(bool)
    masks, places = (mask, mask[:, :1], mask[0]), (np.asarray, library.make, GpuArray.laid_out)
    for op, shown, there in itertools.product(OPS, masks, places):
        host, initial = matrix(op, KINDS[3]), {"initial": 1} if op != "mean" else {}
        got = reduce(op, library.make(host), where=there(shown), **initial)
        assert agrees(got, truth(op, host, where=shown, **initial)), f"{op}: {got!r}"


def test_nothing_and_scalars_are_as_numpys(library):
    assert gred.sum(library.make(np.float32(3))) == 3
    nothing = library.make(np.ones((3, 0), np.float32))
    assert (gred.sum(nothing), gred.prod(nothing), gred.max(nothing, initial=4)) == (0, 1, 4)
    with pytest.raises(ValueError, match="empty"):
        gred.min(nothing)


def test_a_tensor_whose_values_are_not_in_memory_is_right_or_refused():
    """PyTorch may leave conjugation or negation to readers; memory does not show it."""
    torch = pytest.importorskip("torch")
    conjugate = torch.full((100,), 1 + 2j, device="cuda").conj()
    for a, expected in ((conjugate, 100 - 200j), (conjugate.imag, -200)):
        try:
            got = gred.sum(a)
        except (TypeError, ValueError, RuntimeError, BufferError):
            continue
        assert got == expected
    with pytest.raises(RuntimeError, match="grad"):
        gred.sum(torch.ones(3, device="cuda", requires_grad=True))
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        gred.sum(torch.eye(3, device="cuda").to_sparse())


# ---- results ----


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)], ids=str)
def test_results_of_whole_arrays_go_into_an_array_of_the_library(writing, shape):
    host = np.arange(100, dtype=np.float32)
    a = writing.make(host)
    for dtype in ("float32", "float64", "int16", "int64", "uint8", "complex64", "float16"):
        out = writing.make(np.zeros(shape, dtype))
        for op, given, options, right_one in (
            ("max", a, {}, 99),
            ("mean", a, {"dtype": "float64"}, 49.5),
            ("max", host, {}, 99),
            ("max", a, {"where": host < 50, "initial": 1.5}, 49),
        ):
            assert getattr(gred, op)(given, out=out, **options) is out
            assert writing.host(out).ravel()[0] == np.float64(right_one).astype(dtype)


@of_libraries
@pytest.mark.parametrize("op", ["sum", "max", "mean", "argmax", "any", "var"])
def test_results_along_axes_are_of_the_callers_library(library, op):
    """Results of a whole array are NumPy's."""
    x = X.astype(np.float64)
    a = library.make(x)
    for axis in [0, 1, -1] if op == "argmax" else [0, 1, -1, (0, 1), (0, 2), (1, 2)]:
        result, expected = getattr(gred, op)(a, axis), getattr(np, op)(x, axis)
        assert (type(result), tuple(result.shape)) == (type(a), expected.shape)
        np.testing.assert_allclose(to_host(result), expected, rtol=1e-14)
    if library.module in ("cupy", "torch"):
        result, swapped = getattr(gred, op)(a.swapaxes(0, 2), 1), x.swapaxes(0, 2)
        np.testing.assert_allclose(to_host(result), getattr(np, op)(swapped, 1), rtol=1e-14)
        # Results follow the order of the array's dimensions; tensors are in C order, as in PyTorch.
        assert result.is_contiguous() if library.module == "torch" else result.T.flags.c_contiguous


@of_libraries
def test_results_have_the_elements_type(library):
    for dtype in library.types:
        x = (X % 2).astype(dtype)
        result = gred.max(library.make(x), 1, keepdims=True)
        assert str(result.dtype).removeprefix("torch.") == dtype.name
        values = result.float() if dtype == BFLOAT16 and library.module == "torch" else result
        np.testing.assert_array_equal(to_host(values).astype(dtype), x.max(1, keepdims=True))
        assert type(gred.max(library.make(x), (0, 1, 2))) is x.dtype.type


@of_libraries
def test_anything_else_gets_greds_own_which_libraries_take_and_reckon_with(library):
    """Numba's arrays have no arithmetic; with other libraries, it returns their arrays."""
    x = X.astype(np.float32)
    result, sums = gred.sum(GpuArray.of(x).described(shape=X.shape), 1), x.sum(1)
    assert isinstance(result, gred.DeviceArray)
    assert result.device == "cuda:0"
    np.testing.assert_array_equal(result.to_numpy(), sums)
    np.testing.assert_array_equal(gred.max(result, 0).to_numpy(), sums.max(0))
    stream = result.__cuda_array_interface__["stream"]
    assert stream not in (None, 0, LEGACY_DEFAULT_STREAM)  # one of gred's streams
    if library.module == "numba":
        np.testing.assert_array_equal(to_host(library.cuda.as_cuda_array(result)), sums)
        return
    taker = library.jax.dlpack if library.module == "jax" else library.functions
    np.testing.assert_array_equal(to_host(taker.from_dlpack(result)), sums)
    other, column = library.make(x[:, 0]), x[:, 0]
    for got, expected in (
        (result - other, sums - column),
        (other - result, column - sums),
        (result * other, sums * column),
    ):
        assert type(got) is type(other)
        np.testing.assert_array_equal(to_host(got), expected)


def test_memory_is_the_librarys_own_also_in_a_graph_of_pytorchs():
    cupy, torch = (pytest.importorskip(name) for name in ("cupy", "torch"))
    a, pool = cupy.ones((4, 1 << 20), cupy.float32), cupy.get_default_memory_pool()
    before = pool.used_bytes()
    result = gred.sum(a, 0)
    assert pool.used_bytes() - before == result.nbytes
    a = torch.ones((4, 1 << 20), device="cuda")
    before = torch.cuda.memory_allocated()
    result = gred.sum(a, 0)
    assert torch.cuda.memory_allocated() - before == 4 << 20
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = gred.sum(a, 0)
    for value in (2.0, 3.0):
        a.fill_(value)
        graph.replay()
        torch.cuda.synchronize()
        assert bool((result == 4 * value).all())


PARTS = {
    "every other": ((14, 22), lambda o: o[::2, ::2]),
    "a corner": ((9, 13), lambda o: o[:7, :11]),
    "transposed": ((22, 14), lambda o: o.T[::2, ::2]),
    "transposed as a whole": ((11, 7), lambda o: o.T),
}


@of_libraries
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_out_may_have_strides_lie_on_the_host_and_over_what_is_read(writing, dtype, part):
    """Memory between the elements of out does not change."""
    if writing.module == "numba" and "transposed" in part:
        pytest.skip("Numba copies what it transposes")
    shape, take = PARTS[part]
    model, x = np.full(shape, 5, dtype), X.astype(np.float32)
    memory = writing.make(model)
    out, a = take(memory), writing.make(x)
    for given in (a, x):
        assert gred.sum(given, 1, out=out) is out
    take(model)[...] = X.sum(1)
    np.testing.assert_array_equal(to_host(memory), model)
    out = np.zeros((11, 7)).T
    assert gred.sum(a, 1, out=out) is out
    np.testing.assert_array_equal(out, X.sum(1))
    gred.sum(a, 0, out=a[2])
    np.testing.assert_array_equal(to_host(a)[2], X.sum(0))


# ---- segments ----


@of_libraries
@pytest.mark.parametrize("sharing", ["measured", "little tiles", "one by one"])
@pytest.mark.parametrize("op", UFUNCS)
def test_segments_results_are_of_the_callers_library(library, sharing, op):
    x = np.arange(700, dtype=np.float32) % 29
    for offsets in np.array([[0, 3, 3, 90, 500], [90, 3, 500, 3, 0]]):
        for given in (library.make(offsets.astype(np.int32)), offsets):
            with forced("segments", sharing):
                result = gred.reduceat(op, library.make(x), given)
            assert type(result) is type(library.make(x))
            np.testing.assert_array_equal(to_host(result), UFUNCS[op].reduceat(x, offsets))


LENGTHS = {
    "uniform": lambda rng: rng.integers(0, 128, 100_000),
    "power-law": lambda rng: np.floor(rng.pareto(1.1, 100_000)).astype(int).clip(0, 3_000_000),
    "one": lambda rng: np.array([0, 0, 9_000_000, 0, 3]),
    "none": lambda rng: np.zeros(1_000_000, int),
}


@pytest.mark.parametrize("dtype", ["int32", "int8", "float64", "complex128"])
@pytest.mark.parametrize("kind", LENGTHS)
def test_segments_of_millions_of_elements_of_any_lengths_are_right(kind, dtype):
    rng = np.random.default_rng(1)
    starts = np.concatenate([[0], np.cumsum(LENGTHS[kind](rng))])
    x = rng.integers(-9, 10, max(starts[-1], 1)).astype(dtype)
    sums = np.append(0, np.cumsum(x[: starts[-1]], dtype=np.result_type(x[:0].sum())))
    values, right = GpuArray.of(x), sums[starts[1:]] - sums[starts[:-1]]
    got = to_host(gred.reduceat("sum", values, GpuArray.of(starts), empty="identity"))
    np.testing.assert_array_equal(got[:-1], right)
    backwards = GpuArray.of(np.ascontiguousarray(starts[::-1]))
    got = to_host(gred.reduceat("max", values, backwards, empty="identity"))
    least = np.iinfo(dtype).min if np.dtype(dtype).kind == "i" else -np.inf
    assert (got[:-1].real == least).all() or kind == "none"
    assert got[-1].real == x.real.max()


# ---- DLPack capsules: every kind of memory, in stream order, released once ----

N = 100_003
MEMORIES = {"device": CUDA, "managed": CUDA_MANAGED, "pinned": CUDA_HOST}


def on_gpu(host, name=NEW, where="device"):
    """Describe GPU memory by a capsule."""
    memory, kind = GpuArray.of(host, where), MEMORIES[where]
    producer = Producer(capsule_of(host, name, device_type=kind, data=memory.address), (kind, 0))
    producer.memory = memory
    return producer


@pytest.mark.parametrize("name", [OLD, NEW])
@pytest.mark.parametrize("where", MEMORIES)
def test_capsules_of_every_memory_are_read_and_released_once(name, where):
    """Errors release them, too. Producers get the stream that is requested, or one of gred's."""
    producer = on_gpu(np.arange(1, 1001, dtype=np.float32).reshape(20, 50), name, where)
    for _ in range(3):
        assert gred.sum(producer) == 500500
        options = producer.calls[-1]
        assert options["max_version"] == (1, 1)
        assert "stream" not in options if where == "pinned" else options["stream"] > 2
    if where != "pinned":
        mine = Stream()
        for stream in (mine.handle, 1):
            assert gred.sum(producer, stream=stream) == 500500
            assert producer.calls[-1]["stream"] == stream
        bad = {"dtype": "O", "method": "none", "device": "host", "out": np.zeros(3)}
        for option, value in (bad | {"block_size": 48, "where": [True, False]}).items():
            with pytest.raises((TypeError, ValueError)):
                gred.sum(producer, **{option: value})
    assert producer.capsule.deletions == len(producer.calls)


class Late(Producer):
    """A producer that writes sevens, after a delay, on the stream that it gets."""

    def __dlpack__(self, **options):
        write_later(self.memory, 7, options["stream"])
        return super().__dlpack__(**options)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("with_out", [False, True])
def test_what_a_producer_puts_on_the_handshakes_stream_comes_first(named, with_out):
    """Without a known stream, a call with out waits: nothing else would keep the memory alive."""
    producer, mine = on_gpu(np.zeros(N, np.int32)), Stream()
    options = {"stream": mine.handle} if named else {}
    out = GpuArray.of(np.zeros(1, np.int64)) if with_out else None
    gred.sum(producer, out=out, **options)
    producer.__class__ = Late
    got = gred.sum(producer, out=out, **options)
    assert named or not is_busy(producer.calls[-1]["stream"])
    synchronize()
    assert (out.host()[0] if with_out else got) == 7 * N


@pytest.mark.parametrize("name", [OLD, NEW])
@pytest.mark.parametrize("where", ["device", "pinned"])
def test_a_tensor_is_an_out_unless_it_is_of_the_host_and_has_no_version(name, where):
    out, is_out = on_gpu(np.zeros(1), name, where), (name, where) != (OLD, "pinned")
    if is_out:
        assert gred.sum(np.arange(10), out=out) is out
    else:
        with pytest.raises(ValueError, match="out is read-only"):
            gred.sum(np.arange(10), out=out)
    synchronize()
    assert out.memory.host()[0] == 45 * is_out
