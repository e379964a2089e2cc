"""Sums by key that devices make by atomics, against fractions and NumPy, in shuffled order.

A block's table has a slot for each result, or for those that come first; sums of few digits are
made again with more where a number does not fit. Each of these is reached by its sizes.
"""

import functools

import numpy as np
import pytest
from devices import everywhere, flat_there, laid_out, to_host
from exact_truths import bits_of, of_exponents, truth
from reference import INTEGERS, REALS
from thin import chosen

import gred
from gred import _core

FEW, MANY = 40, 30_000  # keys that a table has slots for, and more than any has
N = 4000
SUMS = ("sum", "mean", "nansum", "nanmean")
every_float = pytest.mark.parametrize("dtype", REALS, ids=str)


def by_key(place, op, keys, x, *rest, **options):
    """Reduce host arrays on a device, whose threads take turns in no order."""
    with gred.thread_order("shuffled", seed=3):
        return to_host(
            gred.by_key(op, flat_there(keys, place), flat_there(x, place), *rest, **options)
        )


def drawn(num_keys, hot=False, seed=5):
    random = np.random.default_rng(seed)
    keys = random.integers(0, num_keys - 1, N)
    keys[: N // 2 * hot] = num_keys // 2
    return random.permutation(keys)


def of_key(op, x, dtype):
    """Tell what one key's values come to."""
    kept = x[~np.isnan(x.astype(float))] if op.startswith("nan") else x
    return truth(op.removeprefix("nan"), kept, dtype)


def same_bits(got, op, keys, x, dtype):
    counted = np.bincount(keys)
    for key in (int(keys[0]), int(counted.argmax()), int(keys.max())):
        want = of_key(op, x[keys == key], dtype)
        assert bits_of(got[key]) == bits_of(want), key


@everywhere
@every_float
@pytest.mark.parametrize("op", SUMS)
def test_each_sum_is_rounded_once_in_any_order(place, dtype, op):
    for num_keys, hot in chosen(((2, False), (FEW, False), (MANY, False), (MANY, True)), op):
        keys = drawn(num_keys, hot)
        x = of_exponents(np.random.default_rng(6).integers(-9, 5, N), dtype)
        x[::50] = np.nan if op.startswith("nan") else 0
        got = by_key(place, op, keys, x, num_keys)
        assert (got.dtype, got.shape) == (dtype, (num_keys,))
        same_bits(got, op, keys, x, dtype)
        order = np.random.default_rng(7).permutation(N)
        again = by_key(place, op, keys[order], x[order], num_keys)
        assert np.array_equal(bits_of(again), bits_of(got))
        host = gred.by_key(op, keys, x, num_keys, method="exact")
        assert np.array_equal(bits_of(host), bits_of(got))


@everywhere
@every_float
@pytest.mark.parametrize("num_keys", [FEW, MANY])
def test_numbers_far_from_a_sample_are_added_with_more_digits(place, dtype, num_keys):
    keys = drawn(num_keys, hot=True)
    for least, end, at in ((-8, 8, slice(None)), (9, 14, slice(3, 4)), (-24, -20, slice(3, 9))):
        if dtype.itemsize > 2 or dtype.kind == "V":
            least, end = 5 * least, 5 * end
        if dtype.itemsize == 8:
            least, end = 14 * least, 14 * end
        exponents = np.zeros(N, int)
        exponents[at] = np.random.default_rng(8).integers(least, end, N)[at]
        x = of_exponents(exponents, dtype)
        for op in ("sum", "mean"):
            same_bits(by_key(place, op, keys, x, num_keys), op, keys, x, dtype)


@everywhere
@every_float
def test_the_ends_of_a_type_are_added_without_a_rounding(place, dtype):
    smallest, greatest = np.array([1], f"u{dtype.itemsize}").view(dtype)[0], dtype.type(1)
    with np.errstate(over="ignore"):
        while np.isfinite(greatest * dtype.type(2)):
            greatest = greatest * dtype.type(2)
    x = np.array([greatest, smallest, greatest, smallest, -greatest, 0, -0.0, -smallest], dtype)
    keys = np.array([0, 0, 1, 2, 0, 3, 4, 5], np.int8)
    got = by_key(place, "sum", keys, x, 6)
    assert (
        bits_of(got).tolist()
        == bits_of(np.array([smallest, greatest, smallest, 0, 0, -smallest], dtype)).tolist()
    )
    got = by_key(place, "sum", np.zeros(4, int), np.full(4, greatest), 1)
    assert np.isposinf(got.astype(float)).tolist() == [True]


@everywhere
@pytest.mark.parametrize("dtype", REALS[2:], ids=str)
def test_the_least_of_all_digits_decides_a_tie(place, dtype):
    top, bits, low = (900, 53, -1000) if dtype.itemsize == 8 else (100, 24, -149)
    x = np.ldexp([1.0, 1, 1, 1, 1, -1, 1, 1], [top, top - bits, low] * 2 + [top, top - bits])
    keys = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    even, above = dtype.type(2.0**top), np.nextafter(dtype.type(2.0**top), dtype.type(np.inf))
    assert by_key(place, "sum", keys, x.astype(dtype)).tolist() == [above, even, even]


@everywhere
@every_float
def test_what_is_no_number_stays_with_its_key(place, dtype):
    keys = np.array([0, 1, 2, 3, 0, 1, 2, 3, 5])
    x = np.array([np.nan, 1, np.inf, -np.inf, 2, 3, -np.inf, 4, np.inf], dtype)
    for num_keys in (7, MANY):
        got = by_key(place, "sum", keys, x, num_keys)[:7].astype(float)
        assert np.array_equal(got, [np.nan, 4, np.nan, -np.inf, 0, np.inf, 0], True)
        got = by_key(place, "nanmean", keys, x, num_keys)[:7].astype(float)
        assert np.array_equal(got, [2, 2, np.nan, -np.inf, np.nan, np.inf, np.nan], True)


@everywhere
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_wrap_around_and_their_means_do_not(place, dtype):
    random = np.random.default_rng(9)
    x = random.integers(0, 2**63, N).astype(np.uint64).view(np.int64) * 2 + random.integers(0, 2, N)
    x = x.astype(dtype)
    for num_keys in (FEW, MANY):
        keys = drawn(num_keys)
        got = by_key(place, "sum", keys, x, num_keys)
        want = gred.by_key("sum", keys, x, num_keys)
        assert got.dtype == want.dtype
        exact = np.zeros(num_keys, object)
        np.add.at(exact, keys, x.astype(object) * 1)
        bits = 2**64
        assert [int(v) % bits for v in got] == [int(v) % bits for v in exact]
        counted = by_key(place, "count_nonzero", keys, x, num_keys)
        assert np.array_equal(counted, np.bincount(keys, x != 0, num_keys))
        same_bits(by_key(place, "mean", keys, x, num_keys), "mean", keys, x, REALS[3])
    narrow = by_key(place, "sum", keys, x, num_keys, dtype=np.int16)
    assert narrow.dtype == np.int16
    assert [int(v) % 2**16 for v in narrow] == [int(v) % 2**16 for v in exact]


@everywhere
@pytest.mark.parametrize("dtype", [*INTEGERS, *REALS], ids=str)
@pytest.mark.parametrize("op", ["min", "max", "nanmin", "nanmax"])
def test_extremes_are_numpys_of_each_key(place, dtype, op):
    random = np.random.default_rng(4)
    x = np.frombuffer(random.bytes(N * dtype.itemsize), np.uint8).copy()
    x = (x & 1).view(bool) if dtype.kind == "b" else x.view(dtype)
    if dtype.kind in "fV":
        x[random.random(N) < 0.01] = np.nan
    for num_keys, hot in ((FEW, False), (MANY, True)):
        keys = drawn(num_keys, hot)
        got = by_key(place, op, keys, x, num_keys)
        want = gred.by_key(op, keys, x, num_keys)
        assert got.dtype == want.dtype == dtype
        with np.errstate(invalid="ignore"):
            assert np.array_equal(got.astype(float), want.astype(float), equal_nan=True)
        for key in (int(keys[0]), num_keys // 2, num_keys - 1):
            values = x[keys == key]
            if values.size:
                with np.errstate(all="ignore"):
                    wide = values.astype(float) if dtype.kind in "fV" else values
                    assert np.array_equal(got[key], getattr(np, op)(wide), equal_nan=True)


@everywhere
def test_keys_without_elements_have_what_is_neutral(place):
    keys = np.array([2, 2])
    for dtype in ("i1", "u2", "i8", "u8", "?"):
        x = np.ones(2, dtype)
        ends = (False, True) if dtype == "?" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        assert by_key(place, "max", keys, x, 3).tolist() == [ends[0], ends[0], 1]
        assert by_key(place, "min", keys, x, 3).tolist() == [ends[1], ends[1], 1]
    x = np.array([np.nan, np.nan], "f4")
    assert np.array_equal(by_key(place, "max", keys, x, 3), [-np.inf, -np.inf, np.nan], True)
    assert np.array_equal(by_key(place, "min", keys, -x, 3), [np.inf, np.inf, np.nan], True)
    assert np.isnan(by_key(place, "nanmin", keys, x, 3)).all()
    with pytest.raises(IndexError):
        by_key(place, "max", keys, x, 2)


@everywhere
def test_other_types_are_rounded_to_once(place):
    keys, x = drawn(FEW), of_exponents(np.random.default_rng(6).integers(-9, 5, N), REALS[2])
    same_bits(by_key(place, "sum", keys, x, FEW, dtype=np.float64), "sum", keys, x, REALS[3])
    narrow = by_key(place, "mean", keys, x.astype("f8"), FEW, dtype=np.float32)
    same_bits(narrow, "mean", keys, x.astype("f8"), REALS[2])
    complex_sums = by_key(place, "sum", keys, x, FEW, dtype=np.complex128)
    assert np.array_equal(complex_sums, by_key(place, "sum", keys, x, FEW, dtype=np.float64) + 0j)


@everywhere
@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_keys_outside_are_an_error_or_dropped(place, kind):
    keys, x = drawn(FEW).astype(kind), np.ones(N, np.float32)
    ends = np.iinfo(kind)
    for num_keys in (FEW, MANY if ends.max > MANY else 100):
        for bad in {ends.min, ends.max, min(ends.max, num_keys)} - set(range(num_keys)):
            hostile = keys.copy()
            hostile[[0, 77]] = bad
            with pytest.raises(IndexError, match=rf"a key is not in \[0, {num_keys}\)"):
                by_key(place, "sum", hostile, x, num_keys)
            got = by_key(place, "sum", hostile, x, num_keys, outside="drop")
            assert got.sum() == N - 2


@everywhere
def test_layouts_change_nothing(place):
    keys, x = drawn(FEW), np.random.default_rng(1).integers(-9, 9, N).astype("f4")
    for view in (slice(None, None, 3), slice(1, None), slice(5, -2, 2), slice(0, 0), slice(7, 8)):
        there = laid_out(keys[view], place), laid_out(x[view], place)
        want = np.bincount(keys[view], x[view], FEW)
        assert np.array_equal(to_host(gred.by_key("sum", *there, FEW)), want)
        wide = to_host(gred.by_key("mean", there[0], laid_out(x.astype("f8")[view], place), FEW))
        counted = np.bincount(keys[view], minlength=FEW)
        with np.errstate(invalid="ignore"):
            assert np.array_equal(wide, want / counted, equal_nan=True)


@everywhere
@pytest.mark.parametrize("width", [1, 2, 7])
def test_neighbours_that_have_one_key_are_columns(place, width):
    rows = N // 7
    keys, x = (
        drawn(FEW)[:rows],
        np.random.default_rng(1).integers(-9, 9, (rows, width)).astype("f8"),
    )
    want = np.zeros((MANY, width))
    np.add.at(want, keys, x)
    for num_keys in (FEW, MANY):
        rest = num_keys * width, False, None, 0, "exact"
        got = _core.by_key("sum", flat_there(keys, place), flat_there(x.ravel(), place), *rest)
        assert np.array_equal(to_host(got), want[:num_keys].ravel())


@everywhere
def test_the_workspace_is_bounded(place):
    keys, x = drawn(MANY), np.ones(N)
    with gred.workspace_limit(1 << 16), pytest.raises(MemoryError, match="the call by key takes"):
        by_key(place, "sum", keys, x, MANY)


@everywhere
def test_what_no_kernel_takes_is_refused(place):
    keys, x = flat_there(np.array([0, 1]), place), flat_there(np.ones(2), place)
    reduce = functools.partial(gred.by_key, num_keys=2)
    with pytest.raises(TypeError, match=r"by_key takes arrays of .* for sums, means and"):
        reduce("var", keys, x)
    whole = flat_there(np.array([1, 4]), place)
    with pytest.raises(TypeError, match=r"by_key takes arrays of"):
        reduce("mean", keys, whole, dtype=int)  # which is not a sum's low bytes
    for method in ("foo", "batch_invariant", "unroll8"):
        with pytest.raises(ValueError, match="method"):
            reduce("sum", keys, x, method=method)
    with pytest.raises(TypeError, match="one place"):
        reduce("sum", np.array([0, 1]), x)
    with pytest.raises(TypeError, match="one place"):
        reduce("sum", keys, np.ones(2))
    with pytest.raises(TypeError, match="keys must be integers, not float64"):
        reduce("sum", x, x)
    with pytest.raises(ValueError, match="2 keys, and 1 values"):
        reduce("sum", keys, flat_there(np.ones(1), place))
