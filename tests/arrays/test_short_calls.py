"""A call that gives a flat array of NumPy's and nothing else takes a short way to the same answer.

`where=True` asks for nothing, but is an argument, so that such a call goes the long way.
"""

import itertools
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from calls import LAYOUTS, OF_THE_HOST
from drawn import FLAVOURS, misaligned, values
from reference import BFLOAT16, EVERY_TYPE
from thin import chosen

from gred import _core, reductions

CHUNK, FEW = 4096, 16  # elements that are folded at once, and how many times those without a heap
AROUND = (CHUNK, 2 * CHUNK, FEW * CHUNK)
LENGTHS = (0, 1, 2, 3, 15, 16, 17, 63, 1023, *(n + k for n in AROUND for k in (-1, 0, 1)))
every_name = pytest.mark.parametrize("name", [row.name for row in reductions()])


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


def arrays_of(name, dtype):
    """Yield flat arrays of any length and values, and such as only look flat."""
    random = np.random.default_rng(9)
    for n, flavour in chosen(itertools.product(LENGTHS, FLAVOURS), name, dtype):
        yield values(dtype, flavour, n, random)
    for layout, lay in (LAYOUTS | OF_THE_HOST).items():
        if dtype != BFLOAT16 or "byte order" not in layout:
            yield lay(values(dtype, "small", 160, random).reshape(4, 40))
    x = values(dtype, "small", 24, random)
    yield from (x.reshape(2, 3, -1), x.reshape(1, -1, 1), x[:0].reshape(0, 3), x[:7:7])
    yield from (x[5], x[5:6].reshape(()), x[1:-1], x[::2], x[::-1], misaligned(x))
    yield x.view(type("Derived", (np.ndarray,), {}))
    yield np.ma.masked_array(x, mask=[k % 2 for k in range(x.size)])
    x.flags.writeable = False
    yield x


@pytest.mark.parametrize("dtype", EVERY_TYPE, ids=str)
@every_name
def test_an_array_alone_is_answered_as_with_arguments(name, dtype):
    for a in arrays_of(name, dtype):
        assert outcome(name, a) == outcome(name, a, where=True)


@every_name
def test_other_types_of_numpys_are_answered_or_refused_alike_and_no_reference_is_kept(name):
    numbers = ("longlong", "ulonglong", "long", "ulong", "longdouble", "clongdouble", "O")
    arrays = [np.arange(6).astype(dtype) for dtype in numbers]
    arrays += [np.zeros(6, dtype) for dtype in ("S3", "U3", "M8[s]", "m8[s]", "V2", "i4,f4")]
    for a in (*arrays, np.ones(9)):
        before = sys.getrefcount(a)
        for _ in range(30):
            assert outcome(name, a) == outcome(name, a, where=True)
        assert sys.getrefcount(a) == before


@pytest.mark.parametrize("name", ["nanmin", "nanmax", "nanmean", "mean"])
def test_a_warning_names_the_callers_file_and_can_be_an_error(name):
    a = np.full(3 if name != "mean" else 0, np.nan)
    [(category, _, filename)] = outcome(name, a)[1]
    assert (category, filename) == (RuntimeWarning, __file__)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            getattr(_core, name)(a)


def test_short_calls_of_many_threads_do_not_mix():
    def are_right(k):
        a = np.full(7, k, np.int32)
        return all(
            (_core.sum(a), _core.mean(a), _core.max(a)) == (7 * k, k, k) for _ in range(3000)
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(are_right, range(8)))
