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


@pytest.mark.parametrize("mode", [GLOBAL, THREAD_LOCAL, RELAXED])
@pytest.mark.parametrize("method", METHODS)
def test_a_captured_call_is_made_whenever_the_graph_runs(method, mode):
    stream = Stream()
    a, out = on(stream, np.zeros(N, np.int32)), zero_on(stream)
    with Graph(stream, mode) as graph:
        assert gred.sum(a, method=method, out=out) is out
    assert out.host()[0] == 0
    for word in (3, 5, 7):
        fill(a, word, stream)
        graph.run()
        graph.run()
        call("cuStreamSynchronize", stream.handle)
        assert out.host()[0] == word * N


def test_a_stream_that_is_named_is_captured_like_the_arrays_own():
    stream = Stream()
    a, out = on(stream, np.full(N, 2, np.int32)), zero_on(stream, np.float64)
    with Graph(stream) as graph:
        gred.mean(a, out=out, stream=stream.handle)
    graph.run()
    call("cuStreamSynchronize", stream.handle)
    assert out.host()[0] == 2


CAPTURED = {  # the step from element to element, whether there is a mask, other options
    "strided": (2, False, {}),
    "converted": (1, False, {"dtype": np.float32}),
    "masked": (1, True, {}),
    "masked, strided": (2, True, {}),
}


@pytest.mark.parametrize("op", ["sum", "mean", "argmax", "var"])
@pytest.mark.parametrize("layout", CAPTURED)
def test_whatever_lies_on_the_gpu_can_be_captured(layout, op):
    step, masked, options = CAPTURED[layout]
    options = {} if op == "argmax" else dict(options)
    stream, count = Stream(), N // step
    a = on(stream, np.zeros(N, np.int32))
    a = a.described(shape=(count,), strides=(4 * step,), stream=stream.handle)
    shown = np.arange(count) % 3 == 1 if masked else np.ones(count, bool)
    if masked:
        options["where"] = on(stream, shown)
    out = zero_on(stream, np.int64 if op == "argmax" else np.float64)
    with Graph(stream) as graph:
        getattr(gred, op)(a, out=out, **options)
    for seed in (1, 2):
        host = np.random.default_rng(seed).integers(-100, 100, N, np.int32)
        upload(a.address, host)
        graph.run()
        call("cuStreamSynchronize", stream.handle)
        seen = host[::step][:count]
        if op == "argmax":
            expected = np.where(shown, seen, -1000).argmax()
        else:
            expected = getattr(np, op)(seen[shown].astype(np.float64))
        assert out.host()[0] == pytest.approx(expected, rel=1e-6 if "dtype" in options else 1e-12)


EXACTLY = ("sum", "mean", "nansum", "nanmean")
SPREAD = np.arange(N) % 200 - 100


def spread(seed, dtype, n=N):
    """Draw numbers that no float's addition adds up, and of which some are NaN."""
    random, dtype = np.random.default_rng(seed), np.dtype(dtype)
    widest = 4 if dtype == np.float16 else 30 if dtype.itemsize <= 8 else 100
    x = np.ldexp(random.normal(size=n), SPREAD[:n] * widest // 100)
    if dtype.kind == "c":
        return (x + 1j * x[::-1]).astype(dtype)
    return x.astype(dtype)


def expected_exactly(name, x, result):
    """Round the parts' fractions, each once."""
    if x.dtype.kind != "c":
        return truth(name, x, np.dtype(result))
    part = np.dtype(f"f{np.dtype(result).itemsize // 2}")
    kept = x[~np.isnan(x)] if name.startswith("nan") else x
    real, imag = truth(name, kept.real, part), truth(name, kept.imag, part)
    return np.dtype(result).type(complex(real, imag))


def check_replays(graph, stream, a, out, name, dtype, count=N):
    """Run a graph on one array after another, twice each, and compare the bits."""
    for seed in (1, 2, 3):
        x = spread(seed, dtype, count)
        if name.startswith("nan"):
            x[seed::7] = np.nan
        upload(a.address, x)
        graph.run()
        graph.run()
        call("cuStreamSynchronize", stream.handle)
        got, expected = out.host()[0], expected_exactly(name, x, out.dtype)
        assert got.dtype == expected.dtype
        assert same(got.real, expected.real), (name, dtype, seed)
        assert same(got.imag, expected.imag), (name, dtype, seed)


@pytest.mark.parametrize("count", [1, 700, N])
@pytest.mark.parametrize("name", EXACTLY)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
def test_captured_exact_results_are_rounded_once_whenever_the_graph_runs(dtype, name, count):
    stream = Stream()
    a, out = on(stream, np.zeros(count, dtype)), zero_on(stream, dtype)
    with Graph(stream) as graph:
        getattr(gred, name)(a, method="exact", out=out, stream=stream.handle)
    assert out.host()[0] == 0
    check_replays(graph, stream, a, out, name, dtype, count)


@pytest.mark.parametrize("mode", [GLOBAL, THREAD_LOCAL, RELAXED])
def test_an_exact_call_waits_for_nobody_in_any_mode_of_capture(mode):
    stream = Stream()
    a, out = on(stream, np.zeros(N, "f8")), zero_on(stream, "f8")
    with Graph(stream, mode) as graph:
        gred.sum(a, method="exact", out=out)
    check_replays(graph, stream, a, out, "sum", "f8")


EXACT_CAPTURED = {  # what is asked of the array, and what of the elements that takes
    "begun": ({"initial": 2.0**80}, lambda x: np.append(x.astype("f8"), 2.0**80)),
    "narrowed": ({"dtype": np.float32}, lambda x: x),
    "masked": ({"where": np.arange(N) % 3 == 1}, lambda x: x[np.arange(N) % 3 == 1]),
    "strided": ({}, lambda x: x[::2]),
}


@pytest.mark.parametrize("how", EXACT_CAPTURED)
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_exact_results_of_whatever_lies_on_the_gpu_can_be_captured(how, name):
    options, taken = EXACT_CAPTURED[how]
    if how == "begun" and name == "mean":
        pytest.skip("a mean begins with nothing")
    stream, options = Stream(), dict(options)
    a = given = on(stream, np.zeros(N, "f8"))
    if how == "strided":
        given = a.described(shape=((N + 1) // 2,), strides=(16,), stream=stream.handle)
    if "where" in options:
        options["where"] = on(stream, options["where"])
    result = np.dtype(options.get("dtype", "f8"))
    out = zero_on(stream, result)
    with Graph(stream) as graph:
        getattr(gred, name)(given, method="exact", out=out, stream=stream.handle, **options)
    for seed in (1, 2, 3):
        x = spread(seed, "f8")
        upload(a.address, x)
        graph.run()
        call("cuStreamSynchronize", stream.handle)
        assert same(out.host()[0], truth(name, taken(x), result)), (how, seed)


def test_exact_calls_are_made_between_the_runs_of_captured_ones():
    """The words that a graph adds in are its own."""
    stream, another = Stream(), Stream()
    x = spread(1, "f8", N)
    a, out = on(stream, x), zero_on(stream, "f8")
    with Graph(stream) as graph:
        for _ in range(3):
            gred.sum(a, method="exact", out=out)
    y = spread(2, "f4", N)
    other = on(another, y)
    for _ in range(20):
        graph.run()
        assert same(gred.sum(other, method="exact"), truth("sum", y))
    call("cuStreamSynchronize", stream.handle)
    assert same(out.host()[0], truth("sum", x))


def test_other_calls_go_on_while_a_graph_runs():
    """What a graph works in is its own: neither the calls between its runs nor it are disturbed."""
    stream, another = Stream(), Stream()
    a, outs = on(stream, np.full(2**22, 3, np.int32)), [zero_on(stream) for _ in range(4)]
    with Graph(stream) as graph:
        for out in outs:
            gred.sum(a, out=out)
    other = on(another, np.arange(N))
    for _ in range(20):
        graph.run()
        assert gred.sum(other) == N * (N - 1) // 2
    call("cuStreamSynchronize", stream.handle)
    assert [out.host()[0] for out in outs] == [3 * 2**22] * 4


def test_columns_are_added_in_captures_and_beside_them():
    """By several blocks, which fold in memory that gred keeps, or the graph has of its own."""
    stream, another = Stream(), Stream()
    x = np.arange(1024 * 64, dtype=np.int32).reshape(1024, 64)
    a, b = (on(s, x) for s in (stream, another))
    a, b = (one.described(stream=s.handle, shape=x.shape) for one, s in ((a, stream), (b, another)))
    outs = [on(s, np.zeros(64, np.int64)) for s in (stream, another, another)]
    gred.sum(b, axis=0, out=outs[1])
    with Graph(stream) as graph:
        gred.sum(a, axis=0, out=outs[0])
        gred.sum(b, axis=0, out=outs[2])
    for _ in range(5):
        graph.run()
        gred.sum(b, axis=0, out=outs[2])
    for s in (stream, another):
        call("cuStreamSynchronize", s.handle)
    for out in outs:
        np.testing.assert_array_equal(out.host(), x.sum(0))


NOT_FOR_GRAPHS = {
    "a number": lambda a, out: gred.sum(a),
    "a host array": lambda a, out: gred.sum(np.ones(9, np.int32), out=out),
    "a measurement": lambda a, out: gred.kernel_time(a),
    "a host mask": lambda a, out: gred.sum(a, where=np.ones(N, bool), out=out),
    "another stream's array": lambda a, out: gred.sum(
        a.described(stream=LEGACY_DEFAULT_STREAM), out=out
    ),
    "another stream's out": lambda a, out: gred.sum(
        a, out=out.described(stream=LEGACY_DEFAULT_STREAM)
    ),
}


@pytest.mark.parametrize("what", NOT_FOR_GRAPHS)
def test_what_is_nothing_for_a_graph_says_so_and_leaves_the_capture_to_its_owner(what):
    stream = Stream()
    a, unwanted = on(stream, np.full(N, 2, np.int32)), zero_on(stream)
    wanted = [zero_on(stream, dtype) for dtype in (np.int64, np.int32)]
    with Graph(stream) as graph:
        gred.sum(a, out=wanted[0])
        with pytest.raises(RuntimeError, match="is being captured"):
            NOT_FOR_GRAPHS[what](a, unwanted)
        gred.max(a, out=wanted[1])
    graph.run()
    call("cuStreamSynchronize", stream.handle)
    assert [out.host()[0] for out in wanted] == [2 * N, 2]
    assert gred.sum(a) == 2 * N


def test_calls_on_other_streams_are_made_at_once_during_a_capture():
    """By the thread that captures, and by another one, even one that CUDA has not seen before."""
    stream, another = Stream(), Stream()
    a, captured = (on(s, np.full(N, 2)) for s in (another, stream))
    out, answers = zero_on(stream), []
    with Graph(stream) as graph:
        gred.sum(captured, out=out)
        answers.append(gred.sum(a))
        answers.append(gred.sum(np.ones(9), device="cuda"))
        thread = threading.Thread(target=lambda: answers.append(gred.max(a)))
        thread.start()
        thread.join()
    assert answers == [2 * N, 9, 2]
    graph.run()
    call("cuStreamSynchronize", stream.handle)
    assert out.host()[0] == 2 * N
