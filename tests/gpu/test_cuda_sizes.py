"""Arrays of more elements than 32 bits count; tests/reductions/test_methods.py has every method."""

from fractions import Fraction

import numpy as np
import pytest
from exact_truths import nearest, same
from gpu_arrays import GpuArray, free_bytes, synchronize

import gred

pytestmark = pytest.mark.gpu
MANY = 2**33 + 2  # more than 32 bits count, by more than a float has bits for
GIB = 2**30


def needs(nbytes):
    """Skip where the GPU has not so much memory free."""
    if free_bytes() < nbytes:
        pytest.skip(f"this takes {nbytes / GIB:.0f} GiB of the GPU's free memory")


def test_more_elements_than_32_bits_count_are_read_with_any_strides():
    """Rows of 99 bytes, and a gap of one between them, which is all that is not 1; one element."""
    needs(MANY + GIB)
    row = np.append(np.ones(99, np.int8), np.int8(7))
    rows = MANY // 100
    a = GpuArray.repeating(np.tile(row, 10_000), rows * 100)
    a[rows * 100 - 2] = 5
    a = a.described(shape=(rows, 99), strides=(100, 1))
    b = GpuArray.of(np.full(1, 3, np.int16)).described(shape=(2**17, 2**16), strides=(0, 0))
    for method in ("auto", "unroll8"):
        assert gred.sum(a, method=method) == rows * 99 + 4
        assert gred.max(a, method=method) == 5
        assert gred.mean(a, method=method) == (rows * 99 + 4) / (rows * 99)
    assert gred.sum(b) == gred.sum(b, method="shuffle") == 3 * 2**33
    assert gred.max(b) == 3
    assert gred.sum(a, where=GpuArray.of(np.zeros(1, bool)), initial=1) == 1
    host = np.broadcast_to(np.array([1, 2, -1, 5], np.int8), (2**30 + 1, 4))
    assert gred.sum(host, device="cuda") == 7 * (2**30 + 1)


EQUAL = {  # elements that fill words to the brim, and one that all the others decide about
    "the greatest": lambda kind: (kind.max, kind.max),
    "the least": lambda kind: (-kind.smallest_subnormal, kind.eps),
    "all bits": lambda kind: (-(2 - kind.eps), -kind.eps),
    "a tenth": lambda kind: (kind.dtype.type(0.1), kind.max),
    "one and the same": lambda kind: (kind.max, kind.max),
}


@pytest.mark.parametrize("values", EQUAL)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64], ids=lambda t: t.__name__)
def test_more_equal_elements_than_32_bits_count_are_added_exactly(dtype, values):
    """Carry safety: 2^33 of them, one after the other in memory, and the last one is another.

    One and the same element takes no memory, and is copied in pieces, whose words are merged. In
    float64 neither sum nor mean is infinite; they are rounded to the elements' own type, too.
    """
    value, last = (dtype(x) for x in EQUAL[values](np.finfo(dtype)))
    whole = Fraction(float(value)) * (MANY - 1) + Fraction(float(last))
    if values == "one and the same":
        needs(5 * GIB)
        a = GpuArray.of(np.full(1, value)).described(shape=(MANY,), strides=(0,))
    else:
        needs(MANY * value.itemsize + GIB)
        a = GpuArray.repeating(np.full(2**20, value), MANY)
        a[MANY - 1] = last
    with gred.workspace_limit(4 * GIB):
        for result in (np.float64, dtype):
            out = GpuArray.of(np.zeros(1, result)).described(shape=())
            for name, truth in (("sum", whole), ("mean", whole / MANY)):
                options = {"method": "exact", "dtype": result}
                expected = nearest(truth, result)
                assert same(getattr(gred, name)(a, **options), expected), (name, result)
                getattr(gred, name)(a, out=out, **options)
                synchronize()
                assert same(out.host()[0], expected), (name, result, "out")
        accumulator = gred.ExactSum(a)
    assert accumulator.fraction() == whole
    assert accumulator.count == MANY
