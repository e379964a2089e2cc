"""Arrays of more elements than 32 bits count, and of more bytes than there is room for."""

from fractions import Fraction

import numpy as np
import pytest
from exact_truths import nearest, same
from gpu_arrays import GpuArray, call, free_bytes
from inputs import methods_on, reduce

import gred

pytestmark = pytest.mark.gpu
METHODS = ("auto", *methods_on("cuda"))
every_method = pytest.mark.parametrize("method", METHODS)
FIVE_BILLION = 5 * 10**9
PATTERN = np.random.default_rng(3).integers(-100, 100, 1_000_003, np.int8)
GIB = 2**30


def needs(nbytes):
    """Skip where the GPU has not so much memory free."""
    if free_bytes() < nbytes:
        pytest.skip(f"this takes {nbytes / GIB:.0f} GiB of the GPU's free memory")


@pytest.fixture(scope="module")
def five_billion():
    """Make 5 * 10^9 int8 on the GPU of a pattern whose length is odd; the greatest one is last."""
    needs(FIVE_BILLION + GIB)
    a = GpuArray.repeating(PATTERN, FIVE_BILLION)
    a[FIVE_BILLION - 1] = 127
    return a


def total():
    """Sum the pattern again and again, the last element replaced by 127."""
    whole, rest = divmod(FIVE_BILLION - 1, PATTERN.size)
    return whole * int(PATTERN.sum(dtype=np.int64)) + int(PATTERN[:rest].sum(dtype=np.int64)) + 127


@pytest.mark.parametrize("method", ["auto", "unroll8", "shuffle_vector", "atomic", "cub"])
def test_five_billion_elements(five_billion, method):
    assert gred.sum(five_billion, method=method) == total()
    assert gred.max(five_billion, method=method) == 127
    assert gred.min(five_billion, method=method) == PATTERN.min()
    mean = gred.mean(five_billion, method=method)
    assert mean == pytest.approx(total() / FIVE_BILLION, rel=1e-12)


@pytest.mark.parametrize("method", ["auto", "unroll8"])
def test_more_strided_elements_than_32_bits_count(five_billion, method):
    """Rows with a gap: 5 * 10^7 of them, of 99 out of 100 bytes each."""
    rows = FIVE_BILLION // 100
    a = five_billion.described(shape=(rows, 99), strides=(100, 1))
    gaps = five_billion.described(
        shape=(rows,), strides=(100,), data=(five_billion.address + 99, False)
    )
    assert rows * 99 > 2**32
    left_out = int(gred.sum(gaps))
    assert gred.sum(a, method=method) == total() - left_out
    assert gred.sum(five_billion, where=GpuArray.of(np.zeros(1, bool)), initial=1) == 1


def test_elements_that_are_read_more_often_than_32_bits_count():
    a = GpuArray.of(np.full(1, 3, np.int16)).described(shape=(2**17, 2**16), strides=(0, 0))
    assert gred.sum(a) == gred.sum(a, method="shuffle") == 3 * 2**33
    assert gred.max(a) == 3
    host = np.broadcast_to(np.array([1, 2, -1, 5], np.int8), (2**30 + 1, 4))
    needs(8 * GIB)
    assert gred.sum(host, device="cuda") == 7 * (2**30 + 1)


MANY = 2**33 + 2  # more than 32 bits count, by more than a float has bits for
EQUAL = {  # elements that fill words to the brim, and one that all the others decide about
    "the greatest": lambda kind: (kind.max, kind.max),
    "the least": lambda kind: (-kind.smallest_subnormal, kind.eps),
    "all bits": lambda kind: (-(2 - kind.eps), -kind.eps),
    "a tenth": lambda kind: (kind.dtype.type(0.1), kind.max),
}


def check_exactly(a, elements, dtype):
    """Compare the exact sum and mean of so many of these with the integers' that they are.

    In float64 neither is infinite; the mean is rounded to the elements' own type, too.
    """
    whole = sum(Fraction(float(value)) * count for value, count in elements)
    wide = np.dtype(np.float64)
    for result in (wide, np.dtype(dtype)):
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


@pytest.mark.parametrize("values", EQUAL)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64], ids=lambda t: t.__name__)
def test_more_equal_elements_than_32_bits_count_are_added_exactly(dtype, values):
    """Carry safety: 2^33 of them, one after the other in memory, and the last one is another."""
    value, last = (dtype(x) for x in EQUAL[values](np.finfo(dtype)))
    needs(MANY * np.dtype(dtype).itemsize + GIB)
    a = GpuArray.repeating(np.full(2**20, value, dtype), MANY)
    a[MANY - 1] = last
    check_exactly(a, [(value, MANY - 1), (last, 1)], dtype)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64], ids=lambda t: t.__name__)
def test_one_element_more_often_than_32_bits_count_is_added_exactly(dtype):
    """A view that takes no memory; it is copied in pieces, whose words are merged."""
    value = dtype(np.finfo(dtype).max)
    needs(5 * GIB)
    a = GpuArray.of(np.full(1, value, dtype)).described(shape=(MANY,), strides=(0,))
    with gred.workspace_limit(4 * GIB):
        check_exactly(a, [(value, MANY)], dtype)


LIMIT = 2**22


@every_method
def test_an_array_of_one_and_a_half_times_the_limit_goes_in_pieces(method):
    """The device may not be asked for more than the limit and what does not grow with the array."""
    random = np.random.default_rng(4)
    for dtype in (np.int32, np.float64):
        host = random.integers(-100, 100, LIMIT * 3 // 2 // np.dtype(dtype).itemsize).astype(dtype)
        a = GpuArray.of(host)
        mask = host > 0
        with gred.workspace_limit(LIMIT):
            for op in ("sum", "max", "mean"):
                expected = getattr(np, op)(host)
                assert reduce(op, host, method=method, device="cuda") == pytest.approx(expected)
                assert reduce(op, a, method=method) == pytest.approx(expected)
            assert gred.sum(host[::-2], method=method, device="cuda") == host[::-2].sum()
            assert gred.sum(a, method=method, where=mask) == host[mask].sum()
            assert gred.sum(host, method=method, device="cuda", where=mask) == host[mask].sum()
            assert gred.sum(a, method=method, initial=5) == host.sum() + 5


@pytest.mark.parametrize("limit", [1, 2**14, 2**20])
@pytest.mark.parametrize("method", ["auto", "halving", "unroll8", "cub", "last_block"])
def test_limits_of_any_size_hold(method, limit):
    host = np.arange(200_003, dtype=np.int32)
    a, out = GpuArray.of(host), GpuArray.of(np.zeros(1, np.int64))
    with gred.workspace_limit(limit):
        assert gred.sum(host, method=method, device="cuda") == host.sum()
        assert gred.sum(a, method=method) == host.sum()
        assert gred.sum(a, method=method, out=out) is out
    call("cuCtxSynchronize")
    assert out.host()[0] == host.sum()


@pytest.mark.gpu_alone
def test_host_arrays_larger_than_a_limit_need_no_more_memory_than_that():
    """A gibibyte goes by way of 16 MiB."""
    host = np.ones(GIB, np.int8)
    with gred.workspace_limit(2**24):
        gred.sum(host[: 2**25], device="cuda")
        before = free_bytes()
        assert gred.sum(host, device="cuda") == GIB
        assert before - free_bytes() < 2**25
