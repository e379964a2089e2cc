"""Arrays of more elements than 32 bits count, and of more bytes than there is room for.

Those of every method are in tests/reductions/test_promises.py.
"""

from fractions import Fraction

import numpy as np
import pytest
from exact_truths import nearest, same
from gpu_arrays import GpuArray, call, free_bytes
from inputs import methods_on

import gred

pytestmark = pytest.mark.gpu
MANY = 2**33 + 2  # more than 32 bits count, by more than a float has bits for
GIB = 2**30


def needs(nbytes):
    """Skip where the GPU has not so much memory free."""
    if free_bytes() < nbytes:
        pytest.skip(f"this takes {nbytes / GIB:.0f} GiB of the GPU's free memory")


@pytest.mark.parametrize("method", ["auto", "unroll8"])
def test_more_strided_elements_than_32_bits_count(method):
    """Rows of 99 bytes, and a gap of one between them, which is all that is not 1."""
    needs(MANY + GIB)
    row = np.append(np.ones(99, np.int8), np.int8(7))
    rows = MANY // 100
    a = GpuArray.repeating(np.tile(row, 10_000), rows * 100)
    a[rows * 100 - 2] = 5
    a = a.described(shape=(rows, 99), strides=(100, 1))
    assert rows * 99 > 2**32
    assert gred.sum(a, method=method) == rows * 99 + 4
    assert gred.max(a, method=method) == 5
    assert gred.mean(a, method=method) == (rows * 99 + 4) / (rows * 99)
    assert gred.sum(a, where=GpuArray.of(np.zeros(1, bool)), initial=1) == 1


def test_elements_that_are_read_more_often_than_32_bits_count():
    a = GpuArray.of(np.full(1, 3, np.int16)).described(shape=(2**17, 2**16), strides=(0, 0))
    assert gred.sum(a) == gred.sum(a, method="shuffle") == 3 * 2**33
    assert gred.max(a) == 3
    host = np.broadcast_to(np.array([1, 2, -1, 5], np.int8), (2**30 + 1, 4))
    needs(8 * GIB)
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
        needs(MANY * np.dtype(dtype).itemsize + GIB)
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
                call("cuCtxSynchronize")
                assert same(out.host()[0], expected), (name, result, "out")
        accumulator = gred.ExactSum(a)
    assert accumulator.fraction() == whole
    assert accumulator.count == MANY


@pytest.mark.parametrize("limit", [1, 2**14, 2**20, 2**22])
@pytest.mark.parametrize("method", ["auto", *methods_on("cuda")])
def test_limits_of_any_size_hold(method, limit):
    for dtype in (np.int32, np.float64):
        host = (np.arange(2**20) * 37 % 201 - 100).astype(dtype)
        a, out, mask = GpuArray.of(host), GpuArray.of(np.zeros(1)), host > 0
        total = host.sum()
        with gred.workspace_limit(limit):
            for x in (host, a):
                options = {"method": method, "device": "cuda"}
                assert gred.sum(x, **options) == total
                assert gred.max(x, **options) == 100
                assert gred.mean(x, **options) == pytest.approx(host.mean())
                assert gred.sum(x, where=mask, **options) == host[mask].sum()
                assert gred.sum(x, initial=5, **options) == total + 5
                assert gred.sum(x, out=out, **options) is out
            assert gred.sum(host[::-2], **options) == host[::-2].sum()
        call("cuCtxSynchronize")
        assert out.host()[0] == total
