"""What no function takes for an array or an option is refused, and said to be what it is."""

import itertools

import numpy as np
import pytest
from calls import CALLS, OTHERS, REDUCTIONS, drawn, every_call
from hostile import Nameless
from samples import silenced

import gred


@pytest.fixture(autouse=True)
def the_next_call_is_right():
    yield
    assert gred.sum([1, 2, 3]) == 6
    assert gred.max([1, 9, 3], method="interleaved", device="simulated") == 9


class Deleted:
    """As JAX's arrays: what asks for a buffer of theirs trips over the lack of any."""

    def __init__(self, error):
        self.error = error

    def _refuse(self, *_, **__):
        raise self.error

    __dlpack__ = __dlpack_device__ = __array__ = _refuse
    __cuda_array_interface__ = property(_refuse)

    def is_deleted(self):
        return True


ERRORS = (TypeError, ValueError, BufferError, RuntimeError, AttributeError)
NO_ARRAYS = {
    "masked": (lambda x: np.ma.array(x, mask=x > 3), TypeError, "masked"),
    "masked, all shown": (np.ma.array, TypeError, "masked"),
    "text": (lambda x: x.astype("U9"), TypeError, None),
    "objects": (lambda x: x.astype(object), TypeError, None),
    "times": (lambda x: np.zeros(x.shape, "M8[s]"), TypeError, None),
    "records": (lambda x: np.zeros(x.shape, "i4,f4"), TypeError, None),
    "long doubles": (lambda x: x.astype(np.longdouble), TypeError, None),
    "an object": (lambda x: object(), (TypeError, ValueError), None),
    "what cannot be shown": (lambda x: Nameless(), Exception, None),
    **{
        f"deleted, {error.__name__}": (
            lambda x, error=error: Deleted(error("nothing there")),
            RuntimeError,
            "deleted",
        )
        for error in ERRORS
    },
}


LOOSE = ("reduceat", "var about")  # offsets and means may be more than arrays of numbers


@every_call
def test_what_is_no_array_of_numbers_is_refused(name):
    """In the place of any of the arrays."""
    arrays = CALLS[name].of(drawn(name, "f8"))
    for place, kind in itertools.product(range(len(arrays)), NO_ARRAYS):
        if place and name.startswith(LOOSE) and kind != "masked":
            continue
        make, error, words = NO_ARRAYS[kind]
        given = [make(one) if k == place else one for k, one in enumerate(arrays)]
        with pytest.raises(error, match=words), silenced():
            CALLS[name].run(*given)


# What each option cannot be.
NO_OPTIONS = {
    "method": ["unrol8", "\0", "", 3, b"auto", None, ["auto"], Nameless()],
    "device": ["tpu", "cuda:x", "host:0", "simulated\0", "", 3, b"host", ["host"], Nameless()],
    "stream": [0, -1, 2**64, "1", 1.5, Nameless()],
    "dtype": ["O", "U3", "M8[s]", "V4", ">f8", "f16", "nonsense", 3, object()],
    "axis": ["x", 9, -9, (0, 0), 1.0, {}],
    "keepdims": ["x", 1.5],
    "where": [None, Nameless()],
    "initial": ["x", [1, 2], 1j, object()],
    "block_size": [77, "big", 256.0, True],
    "nonsense": [3],
}


OF_ALL = {"method": ["unrol8", 3], "device": ["tpu", 3], "nonsense": [3]}
CASES = [(name, option) for name in REDUCTIONS for option in NO_OPTIONS]
CASES += [(name, option) for name in OTHERS if "Exact" not in name for option in OF_ALL]


@pytest.mark.parametrize(("name", "option"), CASES)
def test_what_is_no_option_is_refused_and_named(name, option):
    call = CALLS[name]
    if option in getattr(call.run, "keywords", {}):
        return
    arrays = call.of(drawn(name, "f8"))
    for value in (NO_OPTIONS if name in REDUCTIONS else OF_ALL)[option]:
        with pytest.raises(Exception) as caught, silenced():  # noqa: PT011
            call.run(*arrays, **{option: value})
        said = str(caught.value)
        if not isinstance(caught.value, ZeroDivisionError):  # of the value itself
            assert isinstance(caught.value, TypeError | ValueError | IndexError | OverflowError)
            assert option in said or "out of bounds" in said, said
