"""`stream=`: whatever has a stream's handle is taken, on any device, and nothing else."""

import ctypes

import numpy as np
import pytest
from inputs import OPS, reduce, shown
from numpys import A, everywhere

import gred


def having(name, value):
    """Make a stream as a library has it: CuPy's ptr, PyTorch's cuda_stream, Numba's handle."""
    return type("Stream", (), {name: value})()


def told(answer):
    return having("__cuda_stream__", lambda _: answer)


STREAMS = [1, 2, 12345, 2**64 - 1, np.int64(2), None, told((0, 1)), told((0, 7))]
STREAMS += [having(name, 2) for name in ("ptr", "cuda_stream", "handle")]
# Libraries' own default streams have the handle 0, which is no number for a person to write.
STREAMS += [told((0, 0)), having("ptr", 0), having("cuda_stream", 0)]
STREAMS += [having("handle", ctypes.c_void_p(2))]


@everywhere
@pytest.mark.parametrize("stream", STREAMS, ids=lambda s: type(s).__name__)
def test_a_stream_is_taken_and_means_nothing_without_a_gpu(stream, where):
    for op in OPS:
        assert reduce(op, A, stream=stream, **where) == reduce(op, A)


def raising(_):
    raise ZeroDivisionError("no stream today")


INDEX = having("__index__", raising)
REFUSED = [
    *[(number, ValueError) for number in (0, -1, 2**64, -(2**70))],
    *[(value, TypeError) for value in (True, 1.0, "1", [1], object())],
    *[(told(answer), TypeError) for answer in (None, 1, (), (0,), (0, 1, 2), (0, "1"))],
    *[(told((0, number)), ValueError) for number in (-1, 2**64)],
    (having("cuda_stream", -5), ValueError),
    (having("ptr", 2**65), ValueError),
    (having("ptr", "x"), TypeError),
    (having("handle", None), (TypeError, ValueError)),
    (having("handle", object()), TypeError),
    (having("__cuda_stream__", raising), ZeroDivisionError),
    *[(stream, ZeroDivisionError) for stream in (INDEX, told((0, INDEX)))],
    (having("cuda_stream", property(raising)), ZeroDivisionError),
]


@everywhere
@pytest.mark.parametrize(("stream", "error"), REFUSED, ids=shown)
def test_what_is_no_stream_is_refused_and_one_that_raises_is_heard(stream, error, where):
    with pytest.raises(error, match="stream"):
        gred.sum(A, stream=stream, **where)
