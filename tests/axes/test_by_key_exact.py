"""Exact sums by key: rounded once, whatever the order, on the host and by devices' atomics.

Sums of few digits are made again with more where a number does not fit.
"""

import itertools

import numpy as np
import pytest
from exact_truths import bits_of, of_exponents, truth
from reference import REALS
from test_by_key import FEW, LEAST_PART, MANY, N, by_key, keys_of
from thin import chosen

import gred

every_float = pytest.mark.parametrize("dtype", REALS, ids=str)


def same_bits(got, op, keys, x, dtype):
    """Hold the sums or means of some keys against the right ones, rounded once."""
    kept = ~np.isnan(x.astype(float)) if op.startswith("nan") else np.ones(len(x), bool)
    for key in (int(keys[0]), int(np.bincount(keys).argmax()), int(keys.max())):
        want = truth(op.removeprefix("nan"), x[(keys == key) & kept], dtype)
        assert bits_of(got[key]) == bits_of(want), key


def far_apart(dtype, times, random):
    """Give numbers near a sample, far above and below it, a few or many, and at any distance."""
    wider = {4: 5, 8: 70}.get(dtype.itemsize, 5 if dtype.kind == "V" else 1)
    ends = ((-8, 8, slice(None)), (9, 14, slice(3, 4)), (-24, -20, slice(3, 9)))
    for least, end, at in ends:
        exponents = np.zeros(N * times, int)
        exponents[at] = random.integers(wider * least, wider * end, N * times)[at]
        yield of_exponents(exponents, dtype)
    if times > 1 and dtype.itemsize == 8:
        yield of_exponents(random.integers(-900, 900, N * times), dtype)


@pytest.mark.parametrize("op", ["sum", "mean", "nansum", "nanmean"])
@every_float
def test_exact_results_are_each_rounded_once_in_any_order(device, dtype, op):
    """On the host of several parts, too, and of numbers that are far apart."""
    cases = ((2, False), (FEW, False), (FEW, True), (MANY, False), (MANY, True))
    times = 48 if device == "host" else 1
    every = itertools.product(cases, enumerate(far_apart(dtype, times, np.random.default_rng(8))))
    every = list(every)
    for at in chosen(range(len(every)), op, dtype, device):
        (num_keys, hot), (_, x) = every[at]
        keys = np.tile(keys_of(num_keys, hot=hot), times)
        x[::50] = np.nan if op.startswith("nan") else 0
        got = by_key(device, op, keys, x, num_keys, method="exact")
        assert (got.dtype, got.shape) == (dtype, (num_keys,))
        same_bits(got, op, keys, x, dtype)
        order = np.random.default_rng(7).permutation(len(x))
        again = by_key(device, op, keys[order], x[order], num_keys, method="exact")
        assert np.array_equal(bits_of(again), bits_of(got))


@every_float
def test_the_ends_of_a_type_are_added_without_a_rounding(device, dtype):
    smallest, greatest = np.array([1], f"u{dtype.itemsize}").view(dtype)[0], dtype.type(1)
    with np.errstate(over="ignore"):
        while np.isfinite(greatest * dtype.type(2)):
            greatest = greatest * dtype.type(2)
    x = np.array([greatest, smallest, greatest, smallest, -greatest, 0, -0.0, -smallest], dtype)
    keys = np.array([0, 0, 1, 2, 0, 3, 4, 5], np.int8)
    got = by_key(device, "sum", keys, x, 6, method="exact")
    right = np.array([smallest, greatest, smallest, 0, 0, -smallest], dtype)
    assert bits_of(got).tolist() == bits_of(right).tolist()
    x = np.array([*[greatest] * 4, np.inf, 1, -np.inf, np.inf, np.nan], dtype)
    keys = np.array([0, 0, 0, 0, 1, 1, 2, 2, 3])
    got = by_key(device, "sum", keys, x, 4, method="exact").astype(float)
    np.testing.assert_array_equal(got, [np.inf, np.inf, np.nan, np.nan])


@pytest.mark.parametrize("dtype", REALS[2:], ids=str)
def test_the_least_of_all_digits_decides_a_tie(device, dtype):
    top, bits, low = (900, 53, -1000) if dtype.itemsize == 8 else (100, 24, -149)
    x = np.ldexp([1.0, 1, 1, 1, 1, -1, 1, 1], [top, top - bits, low] * 2 + [top, top - bits])
    keys = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    even, above = dtype.type(2.0**top), np.nextafter(dtype.type(2.0**top), dtype.type(np.inf))
    got = by_key(device, "sum", keys, x.astype(dtype), method="exact")
    assert got.tolist() == [above, even, even]


def test_parts_whose_sums_are_far_apart_are_added_exactly():
    keys, x = np.zeros(4 * LEAST_PART, int), np.zeros(4 * LEAST_PART)
    for far in (2.0**-40, 2.0**-80, 2.0**-1000):
        x[[0, 2 * LEAST_PART, -1]] = 2.0**40, far, -(2.0**40)
        assert gred.by_key("sum", keys, x, 2, method="exact").tolist() == [far, 0]
        assert gred.by_key("mean", keys, x, method="exact").tolist() == [far / len(x)]
