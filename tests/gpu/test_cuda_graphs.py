"""Calls that leave their result on the GPU can be captured in a CUDA graph; others raise."""

import itertools
import threading

import numpy as np
import pytest
from devices import to_host
from exact_truths import same, truth
from forcing import forced
from gpu_arrays import Graph, Stream, elsewhere, on, synchronize, upload, zero_on
from inputs import methods_on
from segments import by_one

import gred

pytestmark = pytest.mark.gpu
METHODS = ("auto", *(m for m in methods_on("cuda") if m not in ("atomic", "cub")))
N = 100_003
SHOWN = np.arange(N) % 3 == 1
every_mode = pytest.mark.parametrize("mode", Graph.MODES)


def whole(of=lambda a: a, right=np.sum, **options):
    """Sum an array, or what `of` returns for it."""
    return lambda a, out, _: gred.sum(of(a), out=out[:1], **options), right


def viewed(op, step, masked):
    """Reduce every step-th element, also under a mask."""
    n = N // step
    shown = SHOWN[:n] | (not masked)

    def reduce(a, out, mask):
        options = {"where": mask[:n]} if masked else {}
        getattr(gred, op)(a.described(shape=(n,), strides=(4 * step,)), out=out[:1], **options)

    def right(x):
        x = x[::step][:n]
        return np.where(shown, x, -1000).argmax() if op == "argmax" else getattr(np, op)(x[shown])

    return reduce, right


def along(axis, changes, right):
    """Reduce rows or columns into contiguous or strided results."""

    def reduce(a, out, _):
        gred.sum(a.described(shape=(200, 500)), axis, out=out.described(**changes))

    return reduce, lambda x: right(x[:100_000].reshape(200, 500).sum(axis))


def each(count):
    edges = list(itertools.pairwise(np.linspace(0, N, count + 1).astype(int)))
    return (
        lambda a, out, _: gred.each("max", [a[i:j] for i, j in edges], out=out[:count]),
        lambda x: np.array([x[i:j].max() for i, j in edges]),
    )


# Calls that reduce N int32 into some of a thousand elements, and NumPy's results.
CAPTURED = {
    **{method: whole(method=method) for method in METHODS},
    **{
        f"{op}, step {step}{', masked' * masked}": viewed(op, step, masked)
        for op, step, masked in itertools.product(
            ("sum", "mean", "var", "argmax"), (1, 2), (False, True)
        )
    },
    **{f"maxima of {count}": each(count) for count in (1, 40, 300)},
    "a list": whole(lambda a: [a, a[7:]], lambda x: x.sum() + x[7:].sum()),
    "converted": whole(dtype="f8", right=lambda x: x.sum(dtype="f8")),
    "rows": along(1, {"shape": (200,)}, np.asarray),
    "columns": along(0, {"shape": (500,)}, np.asarray),
    "columns apart": along(
        0, {"shape": (500,), "strides": (16,)}, lambda x: np.stack([x, 0 * x], 1)
    ),
}


@every_mode
@pytest.mark.parametrize("name", CAPTURED)
def test_a_captured_call_is_made_whenever_the_graph_runs(name, mode):
    """A captured call does nothing until then, never waits, and writes only its results."""
    reduce, right = CAPTURED[name]
    hosts = [np.random.default_rng(k).integers(-100, 100, N, np.int32) for k in range(3)]
    stream, kind = Stream(), np.asarray(right(hosts[0])).dtype
    a, mask = on(stream, np.zeros(N, np.int32)), on(stream, SHOWN)
    out = on(stream, np.zeros(1000, kind))
    with Graph(stream, mode) as graph:
        reduce(a, out, mask)
    assert not out.host().any()
    for host in hosts:
        upload(a.address, host)
        graph.finish(times=2)
        expected, results = np.zeros(1000, kind), np.ravel(right(host))
        expected[: results.size] = results
        np.testing.assert_allclose(out.host(), expected, rtol=1e-12)


def spread(seed, dtype, n):
    """Draw numbers whose floating-point sums are inexact."""
    random, dtype = np.random.default_rng(seed), np.dtype(dtype)
    widest = 4 if dtype == np.float16 else 30 if dtype.itemsize <= 8 else 100
    x = np.ldexp(random.normal(size=n), (np.arange(n) % 200 - 100) * widest // 100)
    return (x + 1j * x[::-1] if dtype.kind == "c" else x).astype(dtype)


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
    memory, out = on(stream, np.zeros(count, dtype)), zero_on(stream, dtype)
    a = memory.described(shape=(n,), strides=(step * memory.dtype.itemsize,))
    masked, shown = masked and count > 1, on(stream, SHOWN)[:n]
    with Graph(stream, mode) as graph:
        options = {"where": shown} if masked else {}
        getattr(gred, name)(a, method="exact", out=out, **options)
    assert out.host()[0] == 0
    for seed in (1, 2):
        x = spread(seed, dtype, count)
        if name.startswith("nan"):
            x[seed::7] = np.nan
        upload(memory.address, x)
        graph.finish(times=2)
        assert same(out.host()[0], truth(name, x[::step][SHOWN[:n] | (not masked)]))


@pytest.mark.parametrize("sharing", ["measured", "little tiles", "one by one"])
def test_a_captured_call_takes_the_way_that_the_offsets_ask_for_then(sharing):
    stream, x, rises = Stream(), np.arange(700) % 29, np.array([0, 3, 3, 90, 500])
    values, offsets = on(stream, x), on(stream, rises)
    out = on(stream, np.zeros(len(rises), x.dtype))
    with forced("segments", sharing):
        gred.reduceat("sum", values, offsets, out=out)
        synchronize(stream.handle)  # it reads the offsets, which are written next
        with Graph(stream) as graph:
            gred.reduceat("sum", values, offsets, out=out)
    for now in (rises[[3, 1, 4, 2, 0]], rises, [0, 1, 2**40, -3, 5], [699, 0, 0, 1, 1]):
        upload(offsets.address, np.array(now))
        graph.finish()
        np.testing.assert_array_equal(out.host(), by_one("sum", x, np.array(now))[0])


@pytest.mark.parametrize("options", [{}, {"method": "exact"}, {"axis": 0}], ids=str)
def test_other_calls_go_on_while_a_graph_runs(options):
    """Graphs have their own workspace, such as the partial results of columns."""
    stream, another = Stream(), Stream()
    if "method" in options:
        x, y = spread(1, "f8", 2**18), spread(2, "f4", 2**18)
        sums = truth("sum", x), truth("sum", y)
    else:  # exact in any order
        x, y = (np.arange(2**18).reshape(4096, 64) % most for most in (1000.0, np.float32(9)))
        sums = x.sum(options.get("axis")), y.sum(options.get("axis"))
    a, b = on(stream, x), on(another, y)
    *outs, aside = (
        on(s, np.zeros_like(sums[s is another])) for s in (stream, stream, stream, another)
    )
    with Graph(stream) as graph:
        for out in outs:
            gred.sum(a, out=out, **options)
    for _ in range(20):
        graph.run()
        gred.sum(b, out=aside, **options)
        np.testing.assert_array_equal(to_host(gred.sum(b, **options)), sums[1])
    graph.finish()
    for out in outs:
        np.testing.assert_array_equal(out.host(), np.ravel(sums[0]))
    np.testing.assert_array_equal(aside.host(), np.ravel(sums[1]))


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
    """By the thread that captures, and by another one that is new to CUDA."""
    stream, another = Stream(), Stream()
    a, captured = (on(s, np.full(N, 2)) for s in (another, stream))
    out, late, answers = zero_on(stream), zero_on(another), []
    with Graph(stream) as graph:
        gred.sum(captured, out=out)
        answers += [gred.sum(a), gred.sum(np.ones(9), device="cuda")]
        gred.sum(a, out=late)
        thread = threading.Thread(target=lambda: answers.append(gred.max(a)))
        thread.start()
        thread.join()
    assert [*answers, late.host()[0]] == [2 * N, 9, 2, 2 * N]
    graph.finish()
    assert out.host()[0] == 2 * N
