"""Calls held against NumPy's own, with its refusals, in the places where both are asked."""

import numpy as np
import pytest
from samples import silenced

import gred

PLACES = [{"device": "host"}, {"method": "unroll2", "device": "simulated"}]
everywhere = pytest.mark.parametrize("where", PLACES, ids=["host", "simulated"])
A = np.array([[3, 1, 2], [9, 8, 7]])
FLOATS = A / 4
SMALL = A.astype(np.uint8)


def outcome(function, *arguments, **options):
    """Tell what a call returns, with its type, or the type of what it raises."""
    with silenced():
        try:
            result = function(*arguments, **options)
        except Exception as error:
            return type(error)
    return repr(result), type(result), result.dtype


def as_in_numpy(op, a, place, **options):
    """Hold a call against NumPy's; an exception of NumPy's may be of a class of its own."""
    ours, expected = getattr(gred, op), outcome(getattr(np, op), a, **options)
    if isinstance(expected, type):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            ours(a, **place, **options)
        allowed = next(t for t in (OverflowError, TypeError, ValueError) if issubclass(expected, t))
        assert isinstance(caught.value, allowed), f"{caught.value!r}, not {expected}"
    else:
        assert outcome(ours, a, **place, **options) == expected
