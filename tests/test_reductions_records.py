"""`minmax` and `describe`: what several reductions tell, in one read of the memory.

A record is held against NumPy's functions on the elements that are selected and not NaN.
"""

import copy
import math
import numbers
import pickle
import re
import warnings

import numpy as np
import pytest
from drawn import values
from reference import BFLOAT16, COMPLEX, EVERY_TYPE, INTEGERS, agrees, result_type, truth
from samples import quietly, there, wrong
from truths import FIELDS, type_of

import gred

X = np.array([[3.0, np.nan, 1.0], [9.0, -8.0, np.nan]])


def described(a, *arguments, **options):
    """Describe, and look at no warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gred.describe(a, *arguments, **options)


# ---- minmax ----


def test_minmax_is_a_pair_of_numpys_scalars(device):
    for dtype in EVERY_TYPE:
        x = np.array([1, 0, 1, 1]).astype(dtype)
        pair = gred.minmax(x, device=device)
        assert isinstance(pair, tuple)
        least, greatest = pair
        assert type(least) is type(greatest) is dtype.type
        assert (least, greatest) == (0, 1)


def test_minmax_is_what_min_and_max_are(device):
    random = np.random.default_rng(1)
    for dtype in EVERY_TYPE:
        for flavour in ("small", "any bits", "special"):
            for n in (1, 33, 1027):
                x = values(dtype, flavour, n, random)
                least, greatest = quietly("minmax", x, device=device)
                assert agrees(least, truth("min", x)), (dtype, flavour, n)
                assert agrees(greatest, truth("max", x)), (dtype, flavour, n)


def test_nan_is_the_least_and_the_greatest(device):
    for at in (0, 1, 31, 256, 1026):
        x = np.arange(1027.0)
        x[at] = np.nan
        assert all(map(np.isnan, gred.minmax(x, device=device)))
        assert np.isnan(gred.ptp(x, device=device))


# ---- ptp ----


def test_ranges_of_integers_wrap_as_numpys(device):
    for dtype in INTEGERS[1:]:
        info = np.iinfo(dtype)
        for values_ in ([info.min, info.max], [info.max, 0], [info.min, 0], [5], [1, 0, 3]):
            x = np.array(values_ * 300, dtype)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert gred.ptp(x, device=device) == np.ptp(x)
            assert gred.ptp(x, device=device).dtype == dtype


def test_ranges_of_floats_are_rounded_once(device):
    for dtype in map(np.dtype, (np.float16, np.float32, np.float64, BFLOAT16, np.complex64)):
        x = np.array([0.1, -1000.3, 999.7, 3.14159]).astype(dtype)
        assert not wrong("ptp", x, x, device=device)
        assert not wrong("ptp", np.tile(x, 300), np.tile(x, 300), device=device)
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


def test_the_fields_have_the_types_of_the_reductions(device):
    for dtype in EVERY_TYPE:
        record = gred.describe(np.ones(3, dtype), device=device)
        assert record.min.dtype == record.max.dtype == dtype
        assert record.sum.dtype == result_type("sum", dtype)
        assert record.mean.dtype == result_type("mean", dtype)
        assert record.var.dtype == record.std.dtype == type_of("var", dtype)
        assert (record.count, record.nans, record.sum, record.var) == (3, 0, 3, 0)


def test_the_fields_agree_with_greds_own_reductions(device):
    """Integers bit for bit; of floats what is not rounded."""
    random = np.random.default_rng(3)
    for dtype in map(np.dtype, (np.int8, np.int64, np.uint64, np.float32, np.float64)):
        x = values(dtype, "any bits" if dtype in INTEGERS else "small", 5003, random)
        record = gred.describe(x, device=device)
        assert record.min == gred.min(x)
        assert record.max == gred.max(x)
        assert record.sum == gred.sum(x)
        assert record.std == pytest.approx(gred.std(x), rel=1e-6)


def test_nans_are_counted_and_left_out_wherever_they_are(device):
    for n in (1, 2, 33, 257, 4097):
        for nans in ([0], [n - 1], range(0, n, 2), range(n // 2, n), range(1, n)):
            x = np.ones(n)
            x[list(nans)] = np.nan
            record = described(x, device=device)
            assert record.nans == len(nans)
            assert record.count == record.sum == n - len(nans)
            if record.count:
                assert record.min == record.max == record.mean == 1
                assert record.var == record.std == 0
    z = np.array([1 + 1j, complex(np.nan, 1), complex(1, np.nan), 3j])
    record = gred.describe(z, device=device)
    assert (record.count, record.nans, record.sum, record.min) == (2, 2, 1 + 4j, 3j)


def test_infinities_are_numbers(device):
    """One infinity is the sum and the mean, however far the elements are apart."""
    for n in (2, 33, 1027, 4097):
        for at in (0, n // 2, n - 1):
            for dtype in (np.float32, np.float64, np.float16):
                x = np.ones(n, dtype)
                x[at] = np.inf
                record = quietly("describe", x, device=device)
                assert record.max == record.sum == record.mean == np.inf, (n, at, dtype)
                assert record.min == 1
                assert np.isnan(record.var)
                record = quietly("describe", -x, device=device)
                assert record.min == record.sum == record.mean == -np.inf
    record = quietly("describe", np.full(1027, np.inf), device=device)
    assert record.mean == record.sum == np.inf
    record = quietly("describe", np.array([np.inf, -np.inf] * 500), device=device)
    assert np.isnan(record.mean)
    assert np.isnan(record.sum)


@pytest.mark.parametrize("shape", [(0,), (0, 3)], ids=str)
def test_of_nothing_there_is_a_count_of_0(shape, device):
    """Extremes, mean and variance of no floats are NaN."""
    for dtype in EVERY_TYPE:
        record = described(np.zeros(shape, dtype), device=device)
        assert record.count == record.nans == record.sum == 0
        assert np.isnan(record.mean)
        assert np.isnan(record.var)
        assert np.isnan(record.std)
        if dtype not in INTEGERS:
            assert np.isnan(record.min)
            assert np.isnan(record.max)
        assert str(record)
    for x, nans in ((np.full(300, np.nan), 300), (np.array([1.0, np.nan]), 1)):
        mask = np.isnan(x)
        record = described(x, where=mask, device=device)
        assert (record.count, record.nans, record.sum) == (0, nans, 0)
        assert np.isnan([record.min, record.max, record.mean, record.var]).all()


def test_ddof_goes_into_the_variance_only(device):
    x = np.random.default_rng(4).normal(size=50)
    for ddof in (0, 1, 0.5, -2, np.float32(1.5)):
        assert not wrong("describe", x, x, ddof=ddof, device=device)
        record = gred.describe(x, ddof, device=device)
        assert record.var == gred.describe(x, ddof=ddof, device=device).var
        assert record.std == np.sqrt(record.var)
    for ddof in ("1", None, [1], 1j):
        with pytest.raises((TypeError, ValueError), match="ddof"):
            gred.describe(x, ddof, device=device)
    record = described(x[:1], 1, device=device)
    assert record.mean == x[0]
    assert np.isnan(record.var)


def test_a_great_mean_costs_no_digits_of_the_deviation(device):
    for n in (33, 4097):
        x = 1e9 + np.random.default_rng(5).normal(size=n)
        x[0] = 1e12
        assert not wrong("describe", x, x, device=device)
        mask = np.arange(n) > 0
        assert not wrong("describe", x, x, where=mask, device=device)
        assert described(x, where=mask, device=device).std == pytest.approx(x[1:].std(), rel=1e-5)


def test_sums_of_integers_wrap_and_their_means_do_not(device):
    x = np.full(4, 2**62)
    record = gred.describe(x, device=device)
    assert record.sum == 0
    assert record.mean == 2.0**62
    assert record.var == 0
    record = gred.describe(np.array([2**64 - 1] * 3, np.uint64), device=device)
    assert record.sum == 2**64 - 3
    assert record.mean == 2.0**64
    record = gred.describe(np.array([True, True, False, True]), device=device)
    assert (record.min, record.max, record.sum, record.mean) == (False, True, 3, 0.75)


# ---- how it looks ----


def test_a_record_prints_what_it_holds(device):
    record = gred.describe(X, device=device)
    for text in (str(record), repr(record)):
        for field in FIELDS:
            assert field in text
        assert "37.18" in text
        assert len(text) < 500
    html = record._repr_html_()
    assert "<table" in html
    for field in FIELDS:
        assert field in html
    assert "37.18" in html
    opened = re.findall(r"<(\w+)", html)
    closed = re.findall(r"</(\w+)", html)
    assert sorted(opened) == sorted(closed)


def test_records_of_every_type_print():
    for dtype in EVERY_TYPE:
        for x in (np.ones(3, dtype), np.zeros(0, dtype)):
            record = described(x)
            assert str(record)
            assert repr(record)
            assert "<" in record._repr_html_()
    for x in ([1e300, -1e-300, np.inf], [1 + 2j, -3e-5j], [2**63 - 1, -(2**63)]):
        assert str(described(np.array(x)))


def test_a_record_is_a_value():
    """Records are equal where their fields are, can be copied, and cannot be changed."""
    record = gred.describe([1, 2, 3])
    assert record == gred.describe([1, 2, 3])
    assert record != gred.describe([1, 2, 4])
    assert copy.copy(record) == record
    assert pickle.loads(pickle.dumps(record)) == record
    with pytest.raises((AttributeError, TypeError)):
        record.mean = 3
    assert record.std == np.std([1, 2, 3])


def test_complex_records_have_real_variances(device):
    z = np.array([1 + 1j, 3 - 1j, 2 + 0j])
    for dtype in COMPLEX:
        record = gred.describe(z.astype(dtype), device=device)
        assert record.mean == 2
        assert record.var == pytest.approx(np.var(z))
        assert record.var.dtype == type_of("var", dtype)
        assert (record.min, record.max) == (1 + 1j, 3 - 1j)
