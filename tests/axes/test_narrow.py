"""Integers of one and two bytes are taken in by words, a batch at a time, and every one counts.

A batch is 64 bytes, and a thread meets one where the array has more than a batch for each thread of
the grid; the simulated device has 2,048 of them, so 131,072 bytes are the first with a batch each.
"""

import numpy as np
import pytest
from inputs import OPS
from samples import all_right, there, wrong
from thin import chosen
from truths import NAMES

import gred

BATCHES = 2048 * 64
NARROW = tuple(map(np.dtype, (np.bool_, np.int8, np.uint8, np.int16, np.uint16)))

every_type = pytest.mark.parametrize("dtype", NARROW, ids=str)


def ends(dtype):
    return (0, 1) if dtype == np.bool_ else (np.iinfo(dtype).min, np.iinfo(dtype).max)


def drawn(dtype, n, seed):
    least, greatest = ends(dtype)
    values = np.random.default_rng(seed).integers(least, greatest, n, endpoint=True)
    return values.astype(dtype)


@every_type
@pytest.mark.parametrize("name", [*OPS, *NAMES])
def test_all_of_a_batch_is_right(name, dtype, device):
    """Whatever the values are, and wherever the array begins and ends beside the batches."""
    if name == "ptp" and dtype == np.bool_:
        pytest.skip("NumPy has no difference of truth values")
    least, greatest = ends(dtype)
    n = BATCHES // dtype.itemsize
    constant = [np.full(n, value, dtype) for value in (least, greatest)]
    shifts = chosen((0, 5, 33), name, dtype)
    cut = [drawn(dtype, n + 70, k)[k : n + 3 * k] for k in shifts]
    all_right(wrong(name, x, x, device=device) for x in (*constant, *cut))


@every_type
def test_every_place_in_a_batch_counts(dtype, device):
    """One element is unlike all others, in turn at each place of words that one thread takes in."""
    least, greatest = ends(dtype)
    n = BATCHES // dtype.itemsize
    x = np.full(n, least, dtype)
    y = np.full(n, greatest, dtype)
    first = np.array([0, 2048 * 16, 2 * 2048 * 16, 3 * 2048 * 16]) // dtype.itemsize
    places = (first[:, None] + np.arange(16 // dtype.itemsize)).ravel()
    for at in chosen(map(int, places), dtype):
        x[at], y[at] = greatest, least
        on_device, other = there(x, device), there(y, device)
        assert gred.argmax(on_device) == gred.argmin(other) == at
        assert (gred.max(on_device), gred.min(other)) == (greatest, least)
        assert gred.minmax(on_device) == (least, greatest)
        assert gred.count_nonzero(on_device) == (1 if least == 0 else n)
        assert gred.sum(on_device) == least * (n - 1) + greatest
        assert gred.sum(other) == greatest * (n - 1) + least
        x[at], y[at] = least, greatest


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "any", "all", "argmin", "argmax"])
def test_any_byte_but_zero_is_true(name, device):
    """Memory that a library calls bool may hold other bytes than 0 and 1."""
    zeros = (None, 0, BATCHES // 2 + 13)
    for zero in zeros:
        bytes_of_truth = np.arange(BATCHES, dtype=np.uint32).astype(np.uint8) | 1
        if zero is not None:
            bytes_of_truth[zero] = 0
        x = there(bytes_of_truth.view(np.bool_), device)
        right = getattr(np, name)(bytes_of_truth != 0)
        assert getattr(gred, name)(x) == right, (name, zero)


@every_type
@pytest.mark.parametrize("dtype_asked", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_sums_in_floats_are_those_of_the_integers(name, dtype, dtype_asked, device):
    """Sums below 2^24 are exact in float32, too, whatever the order."""
    x = drawn(dtype, BATCHES // dtype.itemsize + 5, 3)
    x = (x // 256 if dtype.itemsize == 2 else x % 100 if dtype != np.bool_ else x).astype(dtype)
    total = int(x.sum(dtype=np.int64))
    assert abs(x.astype(np.int64)).sum() < 2**24
    got = getattr(gred, name)(there(x, device), dtype=dtype_asked)
    right = dtype_asked(total) if name == "sum" else dtype_asked(total) / dtype_asked(len(x))
    assert type(got) is dtype_asked
    assert got == right
