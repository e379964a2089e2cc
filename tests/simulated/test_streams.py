"""`stream=`: whatever has a stream's handle is taken, on any device, and nothing else."""

import ctypes

import numpy as np
import pytest
from inputs import OPS, reduce, shown
from numpys import A, everywhere

import gred


class CudaStream:
    def __init__(self, answer):
        self.answer = answer

    def __cuda_stream__(self):
        return self.answer


def with_attribute(name, value):
    """Make a stream as a library has it: CuPy's ptr, PyTorch's cuda_stream, Numba's handle."""
    return type("Stream", (), {name: value})()


STREAMS = [1, 2, 12345, 2**64 - 1, np.int64(2), None, CudaStream((0, 1)), CudaStream((0, 7))]
STREAMS += [with_attribute(name, 2) for name in ("ptr", "cuda_stream", "handle")]
# Libraries' own default streams have the handle 0, which is no number for a person to write.
STREAMS += [CudaStream((0, 0)), with_attribute("ptr", 0), with_attribute("cuda_stream", 0)]
STREAMS += [with_attribute("handle", ctypes.c_void_p(2))]


@everywhere
@pytest.mark.parametrize("stream", STREAMS, ids=lambda s: type(s).__name__)
def test_a_stream_is_taken_and_means_nothing_without_a_gpu(stream, where):
    for op in OPS:
        assert reduce(op, A, stream=stream, **where) == reduce(op, A)


NO_STREAMS = [
    *[(number, ValueError) for number in (0, -1, 2**64, -(2**70))],
    *[(value, TypeError) for value in (True, 1.0, "1", [1], object())],
    *[(CudaStream(answer), TypeError) for answer in (None, 1, (), (0,), (0, 1, 2), (0, "1"))],
    *[(CudaStream((0, number)), ValueError) for number in (-1, 2**64)],
    (with_attribute("cuda_stream", -5), ValueError),
    (with_attribute("ptr", 2**65), ValueError),
    (with_attribute("ptr", "x"), TypeError),
    (with_attribute("handle", None), (TypeError, ValueError)),
    (with_attribute("handle", object()), TypeError),
]


@everywhere
@pytest.mark.parametrize(("stream", "error"), NO_STREAMS, ids=shown)
def test_what_is_no_stream_is_refused(stream, error, where):
    with pytest.raises(error, match="stream"):
        gred.sum(A, stream=stream, **where)


def test_a_stream_that_raises_is_heard():
    def raising(_):
        raise ZeroDivisionError("no stream today")

    index = with_attribute("__index__", raising)
    methods = (with_attribute("__cuda_stream__", raising), index, CudaStream((0, index)))
    for stream in (*methods, with_attribute("cuda_stream", property(raising))):
        with pytest.raises(ZeroDivisionError, match="no stream today"):
            gred.sum(A, stream=stream)
