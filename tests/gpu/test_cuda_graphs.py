"""Calls that leave their result on the GPU can be captured in a CUDA graph; others leave it be."""

import threading

import numpy as np
import pytest
from exact_truths import same, truth
from gpu_arrays import (
    GLOBAL,
    LEGACY_DEFAULT_STREAM,
    RELAXED,
    THREAD_LOCAL,
    Graph,
    Stream,
    call,
    fill,
    on,
    upload,
    zero_on,
)
from inputs import methods_on

import gred

pytestmark = pytest.mark.gpu
METHODS = ("auto", *(m for m in methods_on("cuda") if m not in ("atomic", "cub")))
N = 100003
every_mode = pytest.mark.parametrize("mode", [GLOBAL, THREAD_LOCAL, RELAXED])


@every_mode
@pytest.mark.parametrize("method", METHODS)
def test_a_captured_call_is_made_whenever_the_graph_runs(method, mode):
    stream = Stream()
    a, out = on(stream, np.zeros(N, np.int32)), zero_on(stream)
    with Graph(stream, mode) as graph:
        assert gred.sum(a, method=method, out=out) is out
    assert out.host()[0] == 0
    for word in (3, 5, 7):
        fill(a, word, stream)
        graph.finish(again=1)
        assert out.host()[0] == word * N


@pytest.mark.parametrize("strided", [False, True], ids=["as it is", "strided"])
@pytest.mark.parametrize("axis", [0, 1])
def test_results_along_axes_are_made_whenever_the_graph_runs(axis, strided):
    """What lies between those that are strided stays as it was."""
    stream, shape = Stream(), (300, 500)
    a = on(stream, np.zeros(shape, np.int32)).described(shape=shape, stream=stream.handle)
    kept, step = shape[1 - axis], 2 if strided else 1
    memory = on(stream, np.zeros(2 * kept, np.int64))
    out = memory.described(shape=(kept,), strides=(8 * step,), stream=stream.handle)
    with Graph(stream) as graph:
        assert gred.sum(a, axis, out=out) is out
    for word in (0, 3, 5):
        fill(a, word, stream)
        graph.finish(again=1)
        expected = np.zeros(2 * kept, np.int64)
        expected[: kept * step : step] = word * shape[axis]
        np.testing.assert_array_equal(memory.host(), expected)


@pytest.mark.parametrize("count", [1, 40, 300])
def test_a_list_is_reduced_whenever_the_graph_runs(count):
    stream = Stream()
    arrays = [on(stream, np.zeros(N + k, np.int32)) for k in range(count)]
    out, each = zero_on(stream), on(stream, np.zeros(count, np.int64))
    with Graph(stream) as graph:
        assert gred.sum(arrays, out=out) is out
        gred.each("max", arrays, out=each)
    for word in (3, 5):
        for k, array in enumerate(arrays):
            fill(array, word + k, stream)
        graph.finish(again=1)
        assert out.host()[0] == sum((word + k) * (N + k) for k in range(count))
        assert each.host().tolist() == [word + k for k in range(count)]


# ---- whatever lies on the GPU ----

SHOWN = np.arange(N) % 3 == 1
CAPTURED = {  # the step from element to element, and what is asked of the array
    "strided": (2, {}),
    "converted": (1, {"dtype": np.float32}),
    "masked": (1, {"where": SHOWN}),
    "masked, strided": (2, {"where": SHOWN}),
    "begun": (1, {"initial": 2.0**80}),
}
WAYS = [("auto", op) for op in ("sum", "mean", "argmax", "var")]
WAYS += [("exact", op) for op in ("sum", "mean")]


@pytest.mark.parametrize(("method", "op"), WAYS)
@pytest.mark.parametrize("layout", CAPTURED)
def test_whatever_lies_on_the_gpu_can_be_captured(layout, method, op):
    step, asked = CAPTURED[layout]
    if layout == "begun" and (method, op) != ("exact", "sum"):
        pytest.skip("it begins with nothing, or is rounded")
    options = {} if op == "argmax" and "dtype" in asked else dict(asked)
    stream, count = Stream(), N // step
    given = "f8" if method == "exact" else "i4"
    a = on(stream, np.zeros(N, given))
    a = a.described(shape=(count,), strides=(a.dtype.itemsize * step,), stream=stream.handle)
    shown = options.get("where", np.ones(N, bool))[:count]
    if "where" in options:
        options["where"] = on(stream, shown)
    result = np.dtype(options.get("dtype", "f8")) if method == "exact" else np.dtype("f8")
    out = zero_on(stream, np.int64 if op == "argmax" else result)
    with Graph(stream) as graph:
        getattr(gred, op)(a, out=out, method=method, stream=stream.handle, **options)
    for seed in (1, 2):
        host = spread(seed, "f8") if method == "exact" else drawn(seed)
        upload(a.address, host)
        graph.finish()
        seen, got = host[::step][:count], out.host()[0]
        if method == "exact":
            taken = np.append(seen[shown], options.get("initial", []))
            assert same(got, truth(op, taken, result)), (layout, seed)
        elif op == "argmax":
            assert got == np.where(shown, seen, -1000).argmax()
        else:
            expected = getattr(np, op)(seen[shown].astype(np.float64))
            rel = 1e-6 if "dtype" in options else 1e-12
            assert got == pytest.approx(expected, rel=rel)


def drawn(seed):
    return np.random.default_rng(seed).integers(-100, 100, N, np.int32)


def spread(seed, dtype, n=N):
    """Draw numbers that no float's addition adds up."""
    random, dtype = np.random.default_rng(seed), np.dtype(dtype)
    widest = 4 if dtype == np.float16 else 30 if dtype.itemsize <= 8 else 100
    x = np.ldexp(random.normal(size=n), (np.arange(n) % 200 - 100) * widest // 100)
    return (x + 1j * x[::-1] if dtype.kind == "c" else x).astype(dtype)


def expected_exactly(name, x, result):
    """Round the parts' fractions, each once."""
    if x.dtype.kind != "c":
        return truth(name, x, np.dtype(result))
    part = np.dtype(f"f{np.dtype(result).itemsize // 2}")
    kept = x[~np.isnan(x)] if name.startswith("nan") else x
    real, imag = truth(name, kept.real, part), truth(name, kept.imag, part)
    return np.dtype(result).type(complex(real, imag))


@every_mode
@pytest.mark.parametrize("count", [1, 700, N])
@pytest.mark.parametrize("name", ["sum", "mean", "nansum", "nanmean"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
def test_captured_exact_results_are_rounded_once_whenever_the_graph_runs(dtype, name, count, mode):
    """They wait for nobody in any mode of capture."""
    stream = Stream()
    a, out = on(stream, np.zeros(count, dtype)), zero_on(stream, dtype)
    with Graph(stream, mode) as graph:
        getattr(gred, name)(a, method="exact", out=out, stream=stream.handle)
    assert out.host()[0] == 0
    for seed in (1, 2, 3):
        x = spread(seed, dtype, count)
        if name.startswith("nan"):
            x[seed::7] = np.nan
        upload(a.address, x)
        graph.finish(again=1)
        got, expected = out.host()[0], expected_exactly(name, x, out.dtype)
        assert got.dtype == expected.dtype
        assert same(got.real, expected.real), (name, dtype, seed)
        assert same(got.imag, expected.imag), (name, dtype, seed)


# ---- others meanwhile ----


@pytest.mark.parametrize("method", ["auto", "exact"])
def test_other_calls_go_on_while_a_graph_runs(method):
    """What a graph works in is its own: neither the calls between its runs nor it are disturbed."""
    stream, another = Stream(), Stream()
    x, y = spread(1, "f8", 2**18), spread(2, "f4")
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
    a, b = (on(s, x).described(stream=s.handle, shape=x.shape) for s in (stream, another))
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
    "a host mask": lambda a, out: gred.sum(a, where=np.ones(N, bool), out=out),
    "another stream's array": lambda a, out: gred.sum(elsewhere(a), out=out),
    "another stream's out": lambda a, out: gred.sum(a, out=elsewhere(out)),
    "memory of gred's own": lambda a, out: gred.sum(
        a.described(shape=(1, N), stream=a.kept.handle), axis=0
    ),
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
