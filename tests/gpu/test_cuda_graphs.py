"""Calls that leave their result on the GPU can be captured in a CUDA graph; others leave it be."""

import itertools
import threading

import numpy as np
import pytest
from exact_truths import same, truth
from gpu_arrays import (
    GLOBAL,
    LEGACY_DEFAULT_STREAM,
    RELAXED,
    THREAD_LOCAL,
    GpuArray,
    Graph,
    Stream,
    call,
    on,
    upload,
    zero_on,
)
from inputs import methods_on

import gred

pytestmark = pytest.mark.gpu
METHODS = ("auto", *(m for m in methods_on("cuda") if m not in ("atomic", "cub")))
N = 100_003
every_mode = pytest.mark.parametrize("mode", [GLOBAL, THREAD_LOCAL, RELAXED])
SHOWN = np.arange(N) % 3 == 1


def mask(a, n):
    """Slice the mask that an array's stream keeps: a graph reads it whenever it runs."""
    return a.kept.mask[:n]


def with_mask(a):
    """Bring a mask to an array's stream, which nothing may be captured on yet."""
    a.kept.mask = GpuArray.of(SHOWN).described(stream=a.kept.handle)
    return a


def matrix(x):
    return x[:100_000].reshape(200, 500)


def along(axis, out):
    """Reduce rows or columns; what lies between results that do not touch stays as it was."""

    def reduce(a, memory):
        gred.sum(a.described(shape=(200, 500)), axis, out=out(memory))

    return reduce, lambda x: matrix(x).sum(axis)


def viewed(op, step, masked):
    """Reduce a part of all."""

    def reduce(a, out):
        n = N // step
        options = {"where": mask(a, n)} if masked else {}
        getattr(gred, op)(a.described(shape=(n,), strides=(4 * step,)), out=out[:1], **options)

    def right(x):
        x = x[::step][: N // step]
        shown = SHOWN[: x.size] | (not masked)
        return np.where(shown, x, -1000).argmax() if op == "argmax" else getattr(np, op)(x[shown])

    return reduce, right


def parts(a, count):
    edges = np.linspace(0, N, count + 1).astype(int)
    return [a[i:j] for i, j in itertools.pairwise(edges)]


# A call of an array of N int32 into one of a thousand elements, and what NumPy makes of it.
CAPTURED = {
    **{
        method: (lambda a, out, method=method: gred.sum(a, method=method, out=out[:1]), np.sum)
        for method in METHODS
    },
    **{
        f"{op}, step {step}{', masked' * masked}": viewed(op, step, masked)
        for op in ("sum", "mean", "var", "argmax")
        for step, masked in ((1, False), (2, False), (1, True), (2, True))
    },
    **{
        f"maxima of {count}": (
            lambda a, out, count=count: gred.each("max", parts(a, count), out=out[:count]),
            lambda x, count=count: np.array([part.max() for part in parts(x, count)]),
        )
        for count in (1, 40, 300)
    },
    "a list": (lambda a, out: gred.sum([a, a[7:]], out=out[:1]), lambda x: x.sum() + x[7:].sum()),
    "converted": (
        lambda a, out: gred.sum(a, dtype="f8", out=out[:1]),
        lambda x: x.sum(dtype="f8"),
    ),
    "rows": along(1, lambda out: out[:200]),
    "columns": along(0, lambda out: out[:500]),
    "columns apart": (
        along(0, lambda out: out.described(shape=(500,), strides=(16,)))[0],
        lambda x: np.stack([matrix(x).sum(0), np.zeros(500, int)], 1),
    ),
}


@every_mode
@pytest.mark.parametrize("name", CAPTURED)
def test_a_captured_call_is_made_whenever_the_graph_runs(name, mode):
    """And not before; it waits for nobody, and writes nothing beside its results."""
    reduce, right = CAPTURED[name]
    hosts = [np.random.default_rng(k).integers(-100, 100, N, np.int32) for k in range(3)]
    stream, kind = Stream(), np.asarray(right(hosts[0])).dtype
    a, out = with_mask(on(stream, np.zeros(N, np.int32))), on(stream, np.zeros(1000, kind))
    with Graph(stream, mode) as graph:
        reduce(a, out)
    assert not out.host().any()
    for host in hosts:
        upload(a.address, host)
        graph.finish(again=1)
        expected = np.zeros(1000, kind)
        results = np.ravel(right(host))
        expected[: results.size] = results
        np.testing.assert_allclose(out.host(), expected, rtol=1e-12)


def spread(seed, dtype, n):
    """Draw numbers that no float's addition adds up."""
    random, dtype = np.random.default_rng(seed), np.dtype(dtype)
    widest = 4 if dtype == np.float16 else 30 if dtype.itemsize <= 8 else 100
    x = np.ldexp(random.normal(size=n), (np.arange(n) % 200 - 100) * widest // 100)
    return (x + 1j * x[::-1] if dtype.kind == "c" else x).astype(dtype)


def rounded_once(name, x):
    """Round the parts' fractions, each once."""
    if x.dtype.kind != "c":
        return truth(name, x)
    kept = x[~np.isnan(x)] if name.startswith("nan") else x
    return complex(truth(name, kept.real), truth(name, kept.imag))


@every_mode
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("count", [1, 700, N])
@pytest.mark.parametrize("name", ["sum", "mean", "nansum", "nanmean"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
def test_captured_exact_results_are_rounded_once_whenever_the_graph_runs(
    dtype, name, count, step, masked, mode
):
    stream, n = Stream(), -(-count // step)
    memory, out = with_mask(on(stream, np.zeros(count, dtype))), zero_on(stream, dtype)
    a = memory.described(shape=(n,), strides=(step * memory.dtype.itemsize,))
    options = {"where": mask(a, n)} if masked and count > 1 else {}
    with Graph(stream, mode) as graph:
        getattr(gred, name)(a, method="exact", out=out, **options)
    assert out.host()[0] == 0
    for seed in (1, 2):
        x = spread(seed, dtype, count)
        if name.startswith("nan"):
            x[seed::7] = np.nan
        upload(memory.address, x)
        graph.finish(again=1)
        taken = x[::step][SHOWN[:n]] if options else x[::step]
        got, right = out.host()[0], out.dtype.type(rounded_once(name, taken))
        assert same(got.real, right.real), (got, right)
        assert same(got.imag, right.imag), (got, right)


# ---- others meanwhile ----


@pytest.mark.parametrize("method", ["auto", "exact"])
def test_other_calls_go_on_while_a_graph_runs(method):
    """What a graph works in is its own: neither the calls between its runs nor it are disturbed."""
    stream, another = Stream(), Stream()
    x, y = spread(1, "f8", 2**18), spread(2, "f4", N)
    if method == "auto":  # whose sums of these are exact, too
        x, y = np.arange(2**18) % 1000.0, np.arange(N, dtype="f4") % 100
    a, outs = on(stream, x), [zero_on(stream, "f8") for _ in range(4)]
    with Graph(stream) as graph:
        for out in outs:
            gred.sum(a, method=method, out=out)
    other = on(another, y)
    for _ in range(20):
        graph.run()
        assert same(gred.sum(other, method=method), truth("sum", y))
    graph.finish()
    assert all(same(out.host()[0], truth("sum", x)) for out in outs)


def test_columns_are_added_in_captures_and_beside_them():
    """By several blocks, which fold in memory that gred keeps, or the graph has of its own."""
    stream, another = Stream(), Stream()
    x = np.arange(1024 * 64, dtype=np.int32).reshape(1024, 64)
    a, b = on(stream, x), on(another, x)
    outs = [on(s, np.zeros(64, np.int64)) for s in (stream, another, another)]
    gred.sum(b, axis=0, out=outs[1])
    with Graph(stream) as graph:
        gred.sum(a, axis=0, out=outs[0])
        gred.sum(b, axis=0, out=outs[2])
    for _ in range(5):
        graph.run()
        gred.sum(b, axis=0, out=outs[2])
    call("cuCtxSynchronize")
    for out in outs:
        np.testing.assert_array_equal(out.host(), x.sum(0))


def elsewhere(array):
    return array.described(stream=LEGACY_DEFAULT_STREAM)


NOT_FOR_GRAPHS = {
    "a number": lambda a, out: gred.sum(a),
    "a host array": lambda a, out: gred.sum(np.ones(9, np.int32), out=out),
    "a measurement": lambda a, out: gred.kernel_time(a),
    "a host mask": lambda a, out: gred.sum(a, where=SHOWN, out=out),
    "another stream's array": lambda a, out: gred.sum(elsewhere(a), out=out),
    "another stream's out": lambda a, out: gred.sum(a, out=elsewhere(out)),
    "memory of gred's own": lambda a, out: gred.sum(a.described(shape=(1, N)), axis=0),
}


@pytest.mark.parametrize("what", NOT_FOR_GRAPHS)
def test_what_is_nothing_for_a_graph_says_so_and_leaves_the_capture_to_its_owner(what):
    stream = Stream()
    a, unwanted = on(stream, np.full(N, 2, np.int32)), zero_on(stream)
    wanted = [zero_on(stream, dtype) for dtype in (np.int64, np.int32)]
    with Graph(stream) as graph:
        gred.sum(a, out=wanted[0])
        with pytest.raises(RuntimeError, match="captured"):
            NOT_FOR_GRAPHS[what](a, unwanted)
        gred.max(a, out=wanted[1])
    graph.finish()
    assert [out.host()[0] for out in wanted] == [2 * N, 2]
    assert gred.sum(a) == 2 * N


def test_calls_on_other_streams_are_made_at_once_during_a_capture():
    """By the thread that captures, and by another one, even one that CUDA has not seen before."""
    stream, another = Stream(), Stream()
    a, captured = (on(s, np.full(N, 2)) for s in (another, stream))
    out, answers = zero_on(stream), []
    with Graph(stream) as graph:
        gred.sum(captured, out=out)
        answers += [gred.sum(a), gred.sum(np.ones(9), device="cuda")]
        thread = threading.Thread(target=lambda: answers.append(gred.max(a)))
        thread.start()
        thread.join()
    assert answers == [2 * N, 9, 2]
    graph.finish()
    assert out.host()[0] == 2 * N
