"""Harmful values, memory for hostile descriptions, and the right results."""

import math

import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from reference import agrees, truth

import gred
from gred.testing import SimulatedArray

REFUSALS = (TypeError, ValueError, RuntimeError, BufferError, OverflowError, MemoryError)
NBYTES = 4096
MEMORY = SimulatedArray((np.arange(NBYTES) * 37 % 251).astype(np.uint8))
START = MEMORY.__cuda_array_interface__["data"][0]
BYTES = MEMORY.get()


class Refuses:
    """A value whose methods all raise, except those that Hypothesis needs."""

    def __index__(self, *_, **__):
        raise ZeroDivisionError

    __bool__ = __len__ = __iter__ = __str__ = __int__ = __float__ = __eq__ = __array__ = __index__
    __hash__ = None


class Nameless(Refuses):
    """A value that cannot be printed in a message."""

    __repr__ = Refuses.__index__


def offering(**attributes):
    """Make an object with these attributes."""
    return type("Offering", (), attributes)()


def streaming(answer):
    """Make an object whose stream protocol returns this answer."""
    return offering(__cuda_stream__=lambda _: answer)


def when_asked(deed, array):
    """Make an object that runs `deed` when its array interface is read."""
    interface = property(lambda _: deed() or array.__cuda_array_interface__)
    return offering(__cuda_array_interface__=interface)


class Resizes:
    """An argument that resizes an array when it is read."""

    def __init__(self, array, shape):
        self.array, self.shape = array, shape

    def answer(self, value):
        self.array.resize(3, refcheck=False)
        return value

    def __index__(self):
        return self.answer(0)

    def __array__(self, *_, **__):
        return self.answer(np.ones(self.shape, bool))

    @property
    def dtype(self):
        return self.answer(np.dtype(float))


class Offer:
    """An object with an array interface; its `__array__` must not be used as a fallback."""

    def __init__(self, interface):
        self.__cuda_array_interface__ = interface

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("a GPU array is not to be copied to the host")


class Index:
    """An object that is an integer by `__index__` only."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


class Text(str):
    """A string that equals nothing."""

    __slots__ = ()

    def __eq__(self, other):
        return False

    __hash__ = str.__hash__


# ---- strategies ----

NUMBERS = (0, 1, 2, 3, 4, 7, 8, 60, -1, -4, 2**31, 2**32, 2**40, 2**62, 2**63 - 1, 2**63, -(2**63))
NUMBERS += (2**64 - 1, 2**64, -(2**64))
JUNK = (None, True, 1.5, "", "x", b"<f4", [], [3], (), (1,), {}, object(), Refuses(), Index(3), 1j)
JUNK += (Index(-1), Index(2**70), np.int64(4), np.float32(2), range(3), Text("<f4"), float("nan"))
numbers, junk = st.sampled_from(NUMBERS), st.sampled_from(JUNK)
small = st.sampled_from((0, 1, 1, 2, 3, 5, 8, 16))


def hostile(examples):
    return settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )


def mostly(good, *others):
    return st.one_of(*[good] * 6 * len(others), *others)


def crossed(one, other):
    """Yield both dicts, and the first with each value that differs in the second.

    Drawing costs Hypothesis many times what a call costs.
    """
    yield one
    yield other
    for key in one:
        if repr(one[key]) != repr(other[key]):
            yield one | {key: other[key]}


# ---- expected results ----


def elements_at(first, shape, steps, dtype):
    """Return the described array if it is within the memory, else None."""
    if math.prod(shape) == 0:
        return np.empty(0, dtype)
    if steps is None:
        steps = [dtype.itemsize * math.prod(shape[k + 1 :]) for k in range(len(shape))]
    reach = [(n - 1) * step for n, step in zip(shape, steps, strict=True)]
    low, high = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0) + dtype.itemsize
    if first + low < 0 or first + high > NBYTES:
        return None
    steps = [step if n > 1 else 0 for n, step in zip(shape, steps, strict=True)]
    return np.ndarray(shape, dtype, BYTES, first, steps)


def check(op, offer, elements_of):
    """Reduce: a result must be right, and an error must be a refusal."""
    try:
        got = getattr(gred, op)(offer)
    except RuntimeError as error:
        if "GPU" not in str(error):
            raise
        return False
    except (*REFUSALS, ZeroDivisionError):
        return False
    elements = elements_of()
    assert elements is not None, f"{got!r}, of memory that is not there"
    assert agrees(got, truth(op, elements)), f"{got!r}, not of {elements!r}"
    return True
