"""Calls that leave their result on the GPU can be captured in a CUDA graph; others leave it be."""

import threading

import numpy as np
import pytest
from gpu_arrays import HANDLE, LEGACY_DEFAULT_STREAM, GpuArray, Stream, call, library, upload
from inputs import methods_on

import gred

pytestmark = pytest.mark.gpu
GLOBAL, THREAD_LOCAL, RELAXED = 0, 1, 2
METHODS = ("auto", *(m for m in methods_on("cuda") if m not in ("atomic", "cub")))
N = 100003


class Graph:
    """What a stream is asked to do within a with-block, to be done as often as one likes."""

    def __init__(self, stream, mode=GLOBAL):
        self.stream, self.mode = stream, mode
        self.graph, self.executable = HANDLE(), HANDLE()

    def __enter__(self):
        call("cuStreamBeginCapture_v2", self.stream.handle, self.mode)
        return self

    def __exit__(self, *_):
        call("cuStreamEndCapture", self.stream.handle, self.graph)
        call("cuGraphInstantiateWithFlags", self.executable, self.graph, 0)

    def run(self):
        call("cuGraphLaunch", self.executable, self.stream.handle)

    def __del__(self):
        if self.executable:
            library().cuGraphExecDestroy(self.executable)
            library().cuGraphDestroy(self.graph)


def on(stream, host):
    return GpuArray.of(host).described(stream=stream.handle)


def zero_on(stream, dtype=np.int64):
    return on(stream, np.zeros(1, dtype))


def fill(array, word, stream):
    call("cuMemsetD32Async", array.address, word, array.nbytes // 4, stream.handle)


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
