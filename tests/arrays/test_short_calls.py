"""A call that gives a flat array of NumPy's and nothing else takes a short way to the same answer.

`where=True` asks for nothing, but is an argument, so that such a call goes the long way.
"""

import itertools
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from drawn import FLAVOURS, misaligned, values
from reference import BFLOAT16, EVERY_TYPE
from thin import chosen

from gred import _core, reductions

NAMES = [row.name for row in reductions()]
CHUNK, FEW = 4096, 16  # elements that are folded at once, and how many times those without a heap
AROUND = (CHUNK, 2 * CHUNK, FEW * CHUNK)
LENGTHS = (0, 1, 2, 3, 15, 16, 17, 63, 1023, *(n + k for n in AROUND for k in (-1, 0, 1)))


class Derived(np.ndarray):
    """A class of a user's own."""


def told(value):
    """Give a value's type and bits, or those of each of a record's."""
    if isinstance(value, tuple):
        return tuple(map(told, value))
    return type(value), value.dtype, value.tobytes()


def outcome(name, a, **options):
    """Tell what a call returns or raises, and what it warns of and where."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = told(getattr(_core, name)(a, **options))
        except Exception as error:
            result = type(error), str(error)
    return result, [(w.category, str(w.message), w.filename) for w in caught]


def same_both_ways(name, a):
    assert outcome(name, a) == outcome(name, a, where=True)


@pytest.mark.parametrize("dtype", EVERY_TYPE, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_an_array_alone_is_answered_as_with_arguments(name, dtype):
    random = np.random.default_rng(9)
    for n, flavour in chosen(itertools.product(LENGTHS, FLAVOURS), name, dtype):
        same_both_ways(name, values(dtype, flavour, n, random))


def shapes_and_layouts(x):
    """Yield arrays that are as flat as x, and such as only look so."""
    yield x.reshape(2, 3, -1)
    yield x.reshape(1, -1, 1)
    yield x[:0].reshape(0, 3)
    yield x[5]
    yield x[5:6].reshape(())
    yield x[1:-1]
    yield x[::2]
    yield x[::-1]
    yield x[:7:7]
    yield x.reshape(3, -1).T
    yield np.asfortranarray(x.reshape(3, -1))
    yield np.broadcast_to(x[3], (4, 5))
    yield misaligned(x)
    yield x.view(Derived)
    yield np.ma.masked_array(x, mask=[k % 2 for k in range(x.size)])
    frozen = x.copy()
    frozen.flags.writeable = False
    yield frozen
    if x.dtype != BFLOAT16:
        yield x.astype(x.dtype.newbyteorder())


@pytest.mark.parametrize("dtype", EVERY_TYPE, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_only_what_is_flat_is_taken_for_flat(name, dtype):
    x = values(dtype, "small", 24, np.random.default_rng(3))
    for a in shapes_and_layouts(x):
        same_both_ways(name, a)


@pytest.mark.parametrize("name", NAMES)
def test_other_types_of_numpys_are_answered_or_refused_alike(name):
    for dtype in ("longlong", "ulonglong", "long", "ulong", "longdouble", "clongdouble", "O"):
        same_both_ways(name, np.arange(6).astype(dtype))
    for dtype in ("S3", "U3", "M8[s]", "m8[s]", "V2", "i4,f4"):
        same_both_ways(name, np.zeros(6, dtype))


@pytest.mark.parametrize("name", ["nanmin", "nanmax", "nanmean"])
def test_a_warning_names_the_callers_file_and_can_be_an_error(name):
    a = np.full(3, np.nan)
    [(category, _, filename)] = outcome(name, a)[1]
    assert (category, filename) == (RuntimeWarning, __file__)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            getattr(_core, name)(a)


@pytest.mark.parametrize("name", NAMES)
def test_a_short_call_keeps_no_reference(name):
    a = np.ones(9)
    before = sys.getrefcount(a)
    for _ in range(100):
        getattr(_core, name)(a)
    assert sys.getrefcount(a) == before


def test_short_calls_of_many_threads_do_not_mix():
    def are_right(k):
        a = np.full(7, k, np.int32)
        return all(
            (_core.sum(a), _core.mean(a), _core.max(a)) == (7 * k, k, k) for _ in range(3000)
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(are_right, range(8)))
