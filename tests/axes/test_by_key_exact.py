"""Exact sums by key: rounded once, whatever the order, on the host and by devices' atomics."""

import numpy as np
import pytest
from devices import everywhere
from exact_truths import bits_of, of_exponents
from reference import REALS
from test_by_key import FEW, LEAST_PART, MANY, N, by_key, every_float, keys_of, same_bits
from thin import chosen

import gred


@pytest.mark.parametrize("op", ["sum", "mean", "nansum", "nanmean"])
@every_float
def test_exact_results_are_each_rounded_once_in_any_order(device, dtype, op):
    """On the host of several parts, too, and of numbers that are far apart."""
    cases = ((2, False), (FEW, False), (MANY, False), (MANY, True))
    for num_keys, hot in chosen(cases, op):
        times = 48 if device == "host" and num_keys == FEW else 1
        keys = np.tile(keys_of(num_keys, hot), times)
        ends = (-900, 900) if times > 1 and dtype.itemsize == 8 else (-9, 5)
        x = of_exponents(np.random.default_rng(6).integers(*ends, N * times), dtype)
        x[::50] = np.nan if op.startswith("nan") else 0
        got = by_key(device, op, keys, x, num_keys, method="exact")
        assert (got.dtype, got.shape) == (dtype, (num_keys,))
        same_bits(got, op, keys, x, dtype)
        order = np.random.default_rng(7).permutation(len(x))
        again = by_key(device, op, keys[order], x[order], num_keys, method="exact")
        assert np.array_equal(bits_of(again), bits_of(got))


@every_float
@pytest.mark.parametrize("num_keys", [FEW, MANY])
def test_numbers_far_from_a_sample_are_added_with_more_digits(device, dtype, num_keys):
    keys = keys_of(num_keys, hot=True)
    wider = {4: 5, 8: 70}.get(dtype.itemsize, 5 if dtype.kind == "V" else 1)
    for least, end, at in ((-8, 8, slice(None)), (9, 14, slice(3, 4)), (-24, -20, slice(3, 9))):
        exponents = np.zeros(N, int)
        exponents[at] = np.random.default_rng(8).integers(wider * least, wider * end, N)[at]
        x = of_exponents(exponents, dtype)
        for op in ("sum", "mean"):
            same_bits(by_key(device, op, keys, x, num_keys, method="exact"), op, keys, x, dtype)


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
    got = by_key(device, "sum", np.zeros(4, int), np.full(4, greatest), 1, method="exact")
    assert np.isposinf(got.astype(float)).tolist() == [True]


@pytest.mark.parametrize("dtype", REALS[2:], ids=str)
def test_the_least_of_all_digits_decides_a_tie(device, dtype):
    top, bits, low = (900, 53, -1000) if dtype.itemsize == 8 else (100, 24, -149)
    x = np.ldexp([1.0, 1, 1, 1, 1, -1, 1, 1], [top, top - bits, low] * 2 + [top, top - bits])
    keys = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    even, above = dtype.type(2.0**top), np.nextafter(dtype.type(2.0**top), dtype.type(np.inf))
    got = by_key(device, "sum", keys, x.astype(dtype), method="exact")
    assert got.tolist() == [above, even, even]


@everywhere
def test_other_types_are_rounded_to_once(place):
    keys, x = keys_of(FEW), of_exponents(np.random.default_rng(6).integers(-9, 5, N), REALS[2])
    wide = by_key(place, "sum", keys, x, FEW, dtype=np.float64)
    same_bits(wide, "sum", keys, x, REALS[3])
    narrow = by_key(place, "mean", keys, x.astype("f8"), FEW, dtype=np.float32)
    same_bits(narrow, "mean", keys, x.astype("f8"), REALS[2])
    assert np.array_equal(by_key(place, "sum", keys, x, FEW, dtype=np.complex128), wide + 0j)


def test_parts_whose_sums_are_far_apart_are_added_exactly():
    keys, x = np.zeros(4 * LEAST_PART, int), np.zeros(4 * LEAST_PART)
    for far in (2.0**-40, 2.0**-80, 2.0**-1000):
        x[[0, 2 * LEAST_PART, -1]] = 2.0**40, far, -(2.0**40)
        assert gred.by_key("sum", keys, x, 2, method="exact").tolist() == [far, 0]
        assert gred.by_key("mean", keys, x, method="exact").tolist() == [far / len(x)]
