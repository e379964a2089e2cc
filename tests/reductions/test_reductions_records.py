"""`minmax`, `describe` and `ptp`: what several reductions tell, in one read of the memory.

A record is held against the truth about the elements that are selected and not NaN, each field in
value and type.
"""

import copy
import math
import numbers
import re

import numpy as np
import pytest
from drawn import values
from reference import BFLOAT16, EVERY_TYPE, INTEGERS
from samples import all_right, quietly, there, wrong
from truths import FIELDS

import gred

X = np.array([[3.0, np.nan, 1.0], [9.0, -8.0, np.nan]])


def described(*arguments, **options):
    return quietly("describe", *arguments, **options)


# ---- minmax and ptp ----


def test_minmax_is_what_min_and_max_are(device):
    random = np.random.default_rng(1)
    all_right(
        wrong("minmax", x, x, device=device)
        for dtype in EVERY_TYPE
        for flavour in ("small", "any bits", "special")
        for n in (1, 33, 1027)
        for x in [values(dtype, flavour, n, random)]
    )


def test_ranges_of_floats_are_rounded_once_and_of_integers_wrap(device):
    for dtype in map(np.dtype, (np.float16, np.float32, np.float64, BFLOAT16, np.complex64)):
        x = np.array([0.1, -1000.3, 999.7, 3.14159]).astype(dtype)
        for repeated in (x, np.tile(x, 300)):
            assert not wrong("ptp", repeated, repeated, device=device)
    for dtype in INTEGERS[1:]:
        info = np.iinfo(dtype)
        for ends in ([info.min, info.max], [info.max, 0], [info.min, 0], [5], [1, 0, 3]):
            x = np.array(ends * 300, dtype)
            assert not wrong("ptp", x, x, device=device)
    assert gred.ptp([-1e308, 1e308], device=device) == np.inf
    assert gred.ptp(np.array([-65504, 65504], np.float16), device=device) == np.inf
    assert np.isnan(gred.ptp([np.inf, np.inf], device=device))
    assert gred.ptp([np.inf, -np.inf], device=device) == np.inf


# ---- describe ----


def test_a_record_names_its_fields(device):
    record = gred.describe(X, device=device)
    fields = [getattr(record, field) for field in FIELDS]
    assert fields == pytest.approx([4, 2, -8, 9, 1.25, 37.1875, 5], rel=1e-15)
    assert record.std == math.sqrt(record.var)
    for field in ("count", "nans"):
        assert isinstance(getattr(record, field), numbers.Integral)


def test_the_fields_are_what_numpys_functions_of_what_is_not_nan_are(device):
    random = np.random.default_rng(2)
    for dtype in EVERY_TYPE:
        for flavour in ("small", "moderate"):
            for n in (1, 2, 33, 257, 4097):
                x = values(dtype, flavour, n, random)
                if dtype not in INTEGERS:
                    x[random.random(n) < 0.3] = np.nan
                    x[n // 2] = 1
                mask = random.random(n) < 0.7
                mask[n // 2] = True
                assert not wrong("describe", there(x, device), x)
                assert not wrong("describe", x, x, device=device, where=mask)


PLACES = (
    lambda n: [0],
    lambda n: [n - 1],
    lambda n: range(0, n, 2),
    lambda n: range(n // 2, n),
    lambda n: range(1, n),
)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf], ids=["nan", "inf", "minus inf"])
def test_nan_is_left_out_and_infinities_are_not_wherever_they_are(special, device):
    """One infinity is the sum and the mean, however far the elements are apart."""
    for dtype in (np.float64, np.float32, np.float16):
        for n in (1, 2, 33, 257, 1027, 4097):
            for places in PLACES:
                x = np.ones(n, dtype)
                x[list(places(n))] = special
                assert not wrong("describe", x, x, device=device)
    for x in (np.full(1027, np.inf), np.array([np.inf, -np.inf] * 500)):
        assert not wrong("describe", x, x, device=device)
    z = np.array([1 + 1j, complex(np.nan, 1), complex(1, np.nan), 3j])
    assert not wrong("describe", z, z, device=device)


@pytest.mark.parametrize("shape", [(0,), (0, 3)], ids=str)
def test_of_nothing_there_is_a_count_of_0(shape, device):
    """Extremes, mean and variance of no floats are NaN."""
    for dtype in EVERY_TYPE:
        x = np.zeros(shape, dtype)
        assert not wrong("describe", x, x, device=device)
        assert str(described(x, device=device))
    for x in (np.full(300, np.nan), np.array([1.0, np.nan])):
        assert not wrong("describe", x, x, device=device, where=np.isnan(x))
        record = described(x, where=np.isnan(x), device=device)
        assert (record.count, record.nans, record.sum) == (0, np.isnan(x).sum(), 0)
        assert np.isnan([record.min, record.max, record.mean, record.var]).all()


def test_ddof_goes_into_the_variance_only(device):
    x = np.random.default_rng(4).normal(size=50)
    for ddof in (0, 1, 0.5, -2, np.float32(1.5)):
        assert not wrong("describe", x, x, ddof=ddof, device=device)
        assert gred.describe(x, ddof, device=device) == gred.describe(x, ddof=ddof, device=device)
    for ddof in ("1", None, [1], 1j):
        with pytest.raises((TypeError, ValueError), match="ddof"):
            gred.describe(x, ddof, device=device)
    record = described(x[:1], 1, device=device)
    assert record.mean == x[0]
    assert np.isnan(record.var)


def test_a_great_mean_costs_no_digits_of_the_deviation(device):
    for n in (33, 4097):
        x, mask = 1e9 + np.random.default_rng(5).normal(size=n), np.arange(n) > 0
        x[0] = 1e12
        assert not wrong("describe", x, x, device=device)
        assert not wrong("describe", x, x, where=mask, device=device)
        assert described(x, where=mask, device=device).std == pytest.approx(x[1:].std(), rel=1e-5)
    for x in (np.full(4, 2**62), np.array([2**64 - 1] * 3, np.uint64), np.array([True, False])):
        assert not wrong("describe", x, x, device=device)  # sums wrap, means do not


# ---- how it looks ----


def test_a_record_prints_what_it_holds(device):
    record = gred.describe(X, device=device)
    html = record._repr_html_()
    for text in (str(record), repr(record), html):
        assert all(field in text for field in (*FIELDS, "37.18"))
        assert len(text) < 500 or text is html
    assert "<table" in html
    assert sorted(re.findall(r"<(\w+)", html)) == sorted(re.findall(r"</(\w+)", html))
    arrays = [np.ones(n, dtype) for dtype in EVERY_TYPE for n in (3, 0)]
    arrays += map(np.array, ([1e300, -1e-300, np.inf], [1 + 2j, -3e-5j], [2**63 - 1, -(2**63)]))
    for record in map(described, arrays):
        assert str(record)
        assert repr(record)
        assert "<" in record._repr_html_()


def test_a_record_is_a_value():
    """It can be copied, and cannot be changed."""
    record = gred.describe([1, 2, 3])
    assert copy.copy(record) == record != gred.describe([1, 2, 4])
    with pytest.raises((AttributeError, TypeError)):
        record.mean = 3
