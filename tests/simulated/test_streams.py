"""`stream=`: whatever has a stream's handle is taken, on any device, and nothing else."""

import ctypes

import numpy as np
import pytest
from inputs import shown
from numpys import A, everywhere

import gred


def having(name, value):
    """Make a stream as a library has it: CuPy's ptr, PyTorch's cuda_stream, Numba's handle."""
    return type("Stream", (), {name: value})()


def told(answer):
    return having("__cuda_stream__", lambda _: answer)


def raising(_):
    raise ZeroDivisionError("no stream today")


STREAMS = [1, 2, 12345, 2**64 - 1, np.int64(2), None, told((0, 1)), told((0, 7))]
# Libraries' own default streams have the handle 0, which is no number for a person to write.
STREAMS += [told((0, 0)), having("handle", 2), having("handle", ctypes.c_void_p(2))]
STREAMS += [having(name, handle) for name in ("ptr", "cuda_stream") for handle in (0, 2)]
INDEX = having("__index__", raising)
NO_NUMBERS = [0, -1, 2**64, -(2**70), told((0, -1)), told((0, 2**64))]
NO_NUMBERS += [having("cuda_stream", -5), having("ptr", 2**65)]
NO_HANDLES = [True, 1.0, "1", [1], object(), having("ptr", "x"), having("handle", object())]
NO_HANDLES += [told(answer) for answer in (None, 1, (), (0,), (0, 1, 2), (0, "1"))]
RAISING = [INDEX, told((0, INDEX)), having("__cuda_stream__", raising)]
RAISING += [having("cuda_stream", property(raising))]
REFUSED = {ValueError: NO_NUMBERS, TypeError: NO_HANDLES, ZeroDivisionError: RAISING}
REFUSED[TypeError, ValueError] = [having("handle", None)]


@everywhere
@pytest.mark.parametrize("stream", STREAMS, ids=lambda s: type(s).__name__)
def test_a_stream_is_taken_and_means_nothing_without_a_gpu(stream, where):
    assert gred.sum(A, stream=stream, **where) == A.sum()


@everywhere
@pytest.mark.parametrize("error", REFUSED, ids=shown)
def test_what_is_no_stream_is_refused_and_one_that_raises_is_heard(error, where):
    for stream in REFUSED[error]:
        with pytest.raises(error, match="stream"):
            gred.sum(A, stream=stream, **where)
