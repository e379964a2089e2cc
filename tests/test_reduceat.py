"""Segments' results are those of NumPy's reduceat, for every op, type, stride and offsets."""

import sys

import numpy as np
import pytest
from drawn import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import BFLOAT16, EVERY_TYPE

import gred
from gred import _core

UFUNCS = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "any": np.logical_or,
    "all": np.logical_and,
}
NUMPYS_TYPES = [dtype for dtype in EVERY_TYPE if dtype != BFLOAT16]
OFFSETS = st.lists(st.integers(0, 39), min_size=1, max_size=30)
every_op = pytest.mark.parametrize("op", UFUNCS)


def same(result, expected):
    assert type(result) is np.ndarray
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(result, expected)


def small(n, dtype, seed=1):
    """Numbers whose sums and products are exact in any type."""
    x = np.random.default_rng(seed).integers(0, 3, n)
    return np.where(x == 2, 1, x).astype(dtype)


# ---- what it is ----


@every_op
@pytest.mark.parametrize("dtype", NUMPYS_TYPES, ids=str)
def test_every_op_and_type_is_numpys(op, dtype):
    x, offsets = small(40, dtype), [0, 3, 3, 1, 39, 0, 20]
    same(gred.reduceat(op, x, offsets), UFUNCS[op].reduceat(x, offsets))


@every_op
@given(data=st.data())
@settings(max_examples=examples(40), deadline=None)
def test_any_offsets_and_strides_are_numpys(op, data):
    dtype = data.draw(st.sampled_from(["i1", "u4", "f4", ">f8", ">i2", "?"]))
    step = data.draw(st.sampled_from([1, 2, -1, -3, 0]))
    memory = small(40 * 3, dtype, data.draw(st.integers(0, 99)))
    x = np.lib.stride_tricks.as_strided(memory[60:], (40,), (memory.itemsize * min(step, 1),))
    x = memory[: 40 * step : step] if step > 0 else memory[:: step or 1][:40] if step else x
    offsets = data.draw(OFFSETS)
    expected = UFUNCS[op].reduceat(x, offsets)
    same(gred.reduceat(op, x, offsets), expected.astype(expected.dtype.newbyteorder("=")))


@pytest.mark.parametrize("named", ["sum", "add", np.add], ids=str)
def test_ops_have_greds_names_and_numpys(named):
    same(gred.reduceat(named, [1, 2, 3], [0, 2]), np.array([3, 3]))


@every_op
@pytest.mark.parametrize("dtype", ["float32", "int16", "bool", "complex64"])
def test_dtype_converts_elements_first(op, dtype):
    x = np.array([0, 1, 2.5, 300, -1])
    if op in ("any", "all"):
        pytest.skip("they take truth values of any type")
    got = gred.reduceat(op, x, [0, 2, 4], dtype=dtype)
    same(got, UFUNCS[op].reduceat(x.astype(dtype), [0, 2, 4], dtype=dtype))


@pytest.mark.parametrize("n", [1, 4095, 4096, 4097, 9000, (1 << 18) - 1, (1 << 18) + 5])
@every_op
def test_long_segments_are_right_beside_short_ones(op, n):
    x = small(n + 20, np.int32)
    offsets = [0, 3, 10, n + 10, n + 10, n + 19]
    same(gred.reduceat(op, x, offsets), UFUNCS[op].reduceat(x, offsets))
    same(gred.reduceat(op, x[::-1], offsets), UFUNCS[op].reduceat(x[::-1], offsets))


def power_law(segments, seed=3):
    """Lengths most of which are short, and a few very long."""
    lengths = np.random.default_rng(seed).zipf(1.7, segments).clip(0, 300_000) - 1
    return np.concatenate([[0], np.cumsum(lengths)])


@every_op
def test_skewed_lengths_are_right(op):
    ends = power_law(3000)
    x = small(ends[-1], np.int64)
    starts, lengths = ends[:-1], np.diff(ends)
    expected = UFUNCS[op].reduceat(x, np.minimum(starts, len(x) - 1))
    identity = UFUNCS[op].identity
    if identity is None:
        limits = np.iinfo(np.int64)
        identity = limits.max if op == "min" else limits.min
    expected[lengths == 0] = identity
    same(gred.reduceat(op, x, starts, empty="identity"), expected)


def test_rows_of_a_sparse_matrix():
    indptr, data = np.array([0, 2, 2, 5, 5]), np.array([1.0, 2, 3, 4, 5])
    result = gred.reduceat("sum", data, indptr[:-1], empty="identity")
    same(result, np.array([3.0, 0, 12, 0]))


@pytest.mark.parametrize("dtype", EVERY_TYPE, ids=str)
def test_extremes_of_nothing_are_the_types_own(dtype):
    x = np.ones(3).astype(dtype)
    least = gred.reduceat("max", x, [3, 3, 0], empty="identity")
    greatest = gred.reduceat("min", x, [3, 3, 0], empty="identity")
    assert least.dtype == greatest.dtype == x.dtype
    expected = {"b": (False, True)}.get(x.dtype.kind, (-np.inf, np.inf))
    if x.dtype.kind in "iu":
        expected = np.iinfo(dtype).min, np.iinfo(dtype).max
    assert least[0].real == expected[0]
    assert greatest[1].real == expected[1]
    assert least[2] == greatest[2] == 1


def test_what_goes_backwards_is_empty_or_an_element():
    x = np.arange(10)
    same(gred.reduceat("sum", x, [5, 2]), np.array([5, x[2:].sum()]))
    same(gred.reduceat("sum", x, [5, 2], empty="identity"), np.array([0, x[2:].sum()]))


def test_no_segments_and_no_elements():
    same(gred.reduceat("sum", [1.0, 2], []), np.array([]))
    same(gred.reduceat("sum", [], [], empty="identity"), np.array([]))
    same(gred.reduceat("prod", [], [0, 0], empty="identity"), np.ones(2))


def test_special_values_are_numpys():
    x = np.array([1, np.nan, np.inf, -np.inf, -0.0, 0.0, np.nan])
    for op, ufunc in UFUNCS.items():
        for offsets in ([0, 2, 4], [2, 3], [4, 5, 6, 0]):
            with np.errstate(invalid="ignore"):
                same(gred.reduceat(op, x, offsets), ufunc.reduceat(x, offsets))


def test_sums_of_floats_are_closer_than_one_after_the_other():
    x = np.full(1 << 19, 0.1, np.float32)
    offsets = [0, 100, 100_000]
    exact = np.add.reduceat(x.astype(np.float64), offsets)
    errors = np.abs(gred.reduceat("sum", x, offsets) - exact) / exact
    assert (errors < 2**-22).all()


def test_bits_do_not_depend_on_threads_or_neighbours():
    rng = np.random.default_rng(4)
    x = rng.normal(size=700_000).astype(np.float32)
    offsets = np.sort(rng.integers(0, 300_000, 500))
    threads = gred.threads()
    try:
        gred.threads(1)
        one = gred.reduceat("sum", x, offsets)
    finally:
        gred.threads(threads)
    same(gred.reduceat("sum", x, offsets), one)
    ends = [*offsets[1:], len(x)]
    for k in (0, 1, 250, 499):
        if ends[k] > offsets[k]:
            same(gred.reduceat("sum", x[offsets[k] : ends[k]], [0]), one[k : k + 1])


# ---- out ----


@pytest.mark.parametrize("dtype", ["float32", "float64", ">i2"])
@pytest.mark.parametrize("step", [1, 2, -1])
def test_out_has_any_strides_and_type(dtype, step):
    memory = np.full(6, 7, dtype)
    out = memory[::step][:3]
    assert gred.reduceat("sum", np.arange(10.0), [0, 4, 8], out=out) is out
    np.testing.assert_array_equal(out, [6, 22, 17])
    assert (memory == 7).sum() == 3


def test_out_may_overlap():
    x = np.arange(10.0)
    gred.reduceat("sum", x, [0, 4, 8], out=x[3:6])
    np.testing.assert_array_equal(x[3:6], [6, 22, 17])
    offsets = np.array([4, 0, 8])
    gred.reduceat("sum", np.arange(10), offsets, out=offsets)
    np.testing.assert_array_equal(offsets, [4, 28, 17])


# ---- what is refused ----

WRONG = [
    (("median", [1], [0]), {}, ValueError, "op must be"),
    ((np.subtract, [1], [0]), {}, ValueError, "op must be"),
    ((3, [1], [0]), {}, TypeError, "op must be"),
    (("sum", [1, 2], [2]), {}, IndexError, "out-of-bounds"),
    (("sum", [1, 2], [0, -1]), {}, IndexError, "out-of-bounds"),
    (("sum", [1, 2], [3]), {"empty": "identity"}, IndexError, "out-of-bounds"),
    (("sum", [], [0]), {}, IndexError, "out-of-bounds"),
    (("sum", [1, 2], [0.5]), {}, TypeError, "Cannot cast"),
    (("sum", [1, 2], [[0]]), {}, ValueError, "one dimension"),
    (("sum", [1, 2], 0), {}, ValueError, "one dimension"),
    (("sum", [[1, 2]], [0]), {}, ValueError, "one dimension"),
    (("sum", 1, [0]), {}, ValueError, "one dimension"),
    (("sum", ["a"], [0]), {}, TypeError, "not supported"),
    (("sum", [1, 2], [0]), {"empty": "zero"}, ValueError, "empty must be"),
    (("sum", [1, 2], [0]), {"out": np.zeros(2)}, ValueError, "shape"),
    (("sum", [1, 2], [0]), {"out": [0]}, TypeError, "out must be"),
    (("sum", [1, 2], [0]), {"device": "moon"}, ValueError, "device"),
    (("sum", [1, 2], [0]), {"dtype": "S3"}, TypeError, "dtype"),
]


@pytest.mark.parametrize(("arguments", "options", "error", "words"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_named(arguments, options, error, words):
    with pytest.raises(error, match=words):
        gred.reduceat(*arguments, **options)
    same(gred.reduceat("sum", [1, 2, 3], [0, 2]), np.array([3, 3]))


@pytest.mark.parametrize("count", [0, 7, 9])
def test_the_core_counts_its_arguments(count):
    with pytest.raises(TypeError, match="8 positional arguments"):
        _core.reduceat(*[None] * count)


def test_references_stay_level():
    x, offsets, out = np.arange(9.0), np.array([0, 3]), np.zeros(2)
    objects = (x, offsets, out, np.dtype(float))
    before = [sys.getrefcount(one) for one in objects]
    for _ in range(200):
        gred.reduceat("sum", x, offsets)
        gred.reduceat("sum", x, offsets, out=out)
        with pytest.raises(IndexError):
            gred.reduceat("sum", x, [9])
    assert max(map(int.__sub__, map(sys.getrefcount, objects), before)) <= 3
