"""Summaries of parts, merged, are those of the whole, beside fractions of all elements."""

import itertools
import pickle
from fractions import Fraction

import numpy as np
import pytest
from exact_truths import exact_square, exact_sum, nearest, nearest_root, same, total
from reference import EVERY_TYPE

import gred
from gred.testing import SimulatedArray

EPSILON = np.finfo(np.float64).eps


def parts_of(x, *cuts):
    return [gred.describe(part) for part in np.split(x, cuts)]


def close(got, want, rounds):
    """Compare fields: what is rounded so often may be off by as many half units."""
    assert got.ddof == want.ddof
    for name in ("count", "nans", "min", "max", "sum", "mean", "var"):
        a, b = np.asarray(getattr(got, name)), np.asarray(getattr(want, name))
        assert a.dtype == b.dtype, name
        assert a.shape == b.shape
        unit = np.finfo(a.dtype).eps if a.dtype.kind in "fc" else 0
        exact = name in ("count", "nans", "min", "max") or unit == 0
        a, b = (a.astype(complex), b.astype(complex)) if a.dtype.kind == "V" else (a, b)
        assert np.allclose(a, b, 0 if exact else rounds * unit, 0, equal_nan=True), name


@pytest.mark.parametrize("dtype", [one for one in EVERY_TYPE if one.kind in "biufc"], ids=str)
def test_any_parts_make_the_whole(dtype):
    x = np.random.default_rng(1).integers(0, 9, 300).astype(dtype)
    whole = gred.describe(x)
    for cuts in ([], [1], [100], [299], [1, 2, 150, 200], [0, 300], [7, 7]):
        first, *others = parts_of(x, *cuts)
        merged = first.merge(*others)
        close(merged, whole, 300 if dtype.itemsize > 2 or dtype.kind in "biu" else 8)
        close(sum(parts_of(x, *cuts)), merged, 0 if len(cuts) < 2 else 300)


@pytest.mark.parametrize("ddof", [0, 1, 2.5])
def test_variances_are_fractions(ddof):
    """Of deviations that are exact, and a mean that is far from 0."""
    x = np.random.default_rng(2).integers(-50, 50, 999) + 2.0**30
    fractions = [Fraction(value) for value in x.tolist()]
    mean = sum(fractions) / len(fractions)
    var = sum((value - mean) ** 2 for value in fractions) / (len(fractions) - Fraction(ddof))
    parts = [gred.describe(part, ddof=ddof) for part in np.split(x, [10, 500])]
    merged = parts[0] + parts[1] + parts[2]
    # Means are off by units of 2^30: so are deviations of parts, by 2^-22, of some 30.
    assert abs(Fraction(float(merged.mean)) - mean) <= 4 * Fraction(2.0**30 * EPSILON)
    assert abs(Fraction(float(merged.var)) / var - 1) < Fraction(1e-6)
    assert merged.ddof == ddof
    assert merged.std == np.sqrt(merged.var)


def test_nothing_and_nan_change_nothing():
    nothing, nans = gred.describe([]), gred.describe([np.nan, np.nan])
    some = gred.describe([1.0, 2.0, np.nan])
    for order in itertools.permutations((nothing, nans, some)):
        merged = order[0].merge(*order[1:])
        assert merged.nans == 3
        assert merged[:1] + merged[2:] == some[:1] + some[2:]
    empty = nothing + nothing
    assert (empty.count, empty.sum) == (0, 0)
    assert all(np.isnan(value) for value in empty[2:6])


@pytest.mark.parametrize(
    "values",
    [
        ([np.inf, 1.0], [2.0]),
        ([np.inf, 1.0], [np.inf, 2.0]),
        ([1.0], [np.inf]),
        ([np.inf], []),
        ([np.inf, 1.0], [-np.inf]),
        ([-np.inf], [-np.inf]),
    ],
)
def test_infinities_merge_as_they_are_described(values):
    for order in (values, values[::-1]):
        one, other = map(gred.describe, map(np.array, order))
        whole, merged = gred.describe(np.concatenate(values)), one + other
        assert np.array_equal(merged[2:], whole[2:], equal_nan=True)


@pytest.mark.parametrize("value", [200, 60000])
def test_float16_is_merged_in_more(value):
    parts = [np.full(4, sign * value, np.float16) for sign in (-1, 1)]
    merged = gred.describe(parts[0]) + gred.describe(parts[1])
    whole = gred.describe(np.concatenate(parts))
    assert merged.mean == 0
    assert merged.var == whole.var
    assert merged.var.dtype == np.float16


def test_a_variance_that_was_divided_by_nothing_is_lost():
    parts = [gred.describe(values, ddof=2) for values in ([1.0, 2.0], [3.0, 4.0, 5.0])]
    assert np.isnan(sum(parts).var)
    assert sum(parts).mean == 3


def test_a_single_element_has_no_spread_whatever_ddof_is():
    ones = [gred.describe([value], ddof=1) for value in (1.0, 4.0, 7.0)]
    assert sum(ones).var == 9.0
    assert sum(ones).count == 3


def test_along_axes_each_place_is_merged():
    x = np.random.default_rng(3).integers(-9, 9, (40, 6)).astype(float)
    x[:, 5] = np.nan
    merged = gred.describe(x[:13], axis=0) + gred.describe(x[13:], axis=0)
    close(merged, gred.describe(x, axis=0), 80)
    listed = gred.each("describe", [x[:7, 0], x[7:, 0]], ddof=1)
    assert listed.ddof == 1


def test_what_are_no_parts_of_one_whole_is_refused():
    one, other = gred.describe([1.0, 2.0]), gred.describe([1.0, 2.0], ddof=1)
    with pytest.raises(ValueError, match="ddof=0, another with 1"):
        one.merge(other)
    with pytest.raises(ValueError, match="different shapes"):
        one.merge(gred.describe(np.ones((2, 3)), axis=0))
    for wrong in (1, (1, 2), None, 0.0):
        with pytest.raises(TypeError):
            one + wrong
        with pytest.raises(TypeError):
            wrong + one


def test_summaries_travel():
    parts = [gred.describe([1.0, 2.0], ddof=1), gred.describe([5.0], ddof=1)]
    sent = [pickle.loads(pickle.dumps(part)) for part in parts]
    assert [part.ddof for part in sent] == [1, 1]
    assert sum(sent) == sum(parts)
    assert type(sent[0]) is gred.Summary


# ---- exactly ----


def spread_out(n):
    random = np.random.default_rng(4)
    return random.normal(size=n) * np.exp2(random.integers(-60, 60, n))


def fields_of(summary):
    return [np.asarray(field).tobytes() for field in (*summary, summary.std)]


@pytest.mark.parametrize("ddof", [0, 1, 2.5])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_exact_fields_are_fractions_rounded_once(dtype, ddof):
    x = spread_out(300).astype(dtype)
    kind = np.dtype("f8") if dtype == "i8" else x.dtype
    var = (exact_square(x) - exact_sum(x) ** 2 / x.size) / (x.size - Fraction(ddof))
    found = gred.describe(x, ddof, method="exact")
    assert same(found.mean, total(x, kind, divisor=x.size))
    assert same(found.var, nearest(var, kind))
    assert same(found.std, nearest_root(var, kind))
    assert found.sum == (np.sum(x) if dtype == "i8" else total(x, kind))
    assert (found.count, found.min, found.max) == (300, x.min(), x.max())


def test_exact_parts_in_any_order_are_the_whole_to_the_last_bit():
    x = spread_out(600)
    x[::50] = np.nan
    whole = gred.describe(x, 1, method="exact")
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(600)
        parts = [gred.describe(x[part], 1, method="exact") for part in np.array_split(order, 7)]
        sent = [pickle.loads(pickle.dumps(part)) for part in parts]
        for merged in (sum(parts), sent[0].merge(*sent[1:])):
            assert merged.to_bytes() == whole.to_bytes()
            assert fields_of(merged) == fields_of(whole)
    rounded = gred.describe(x, 1).merge(whole)  # no longer exact
    assert rounded.sums is None
    assert rounded.count == 2 * whole.count


def test_exact_variances_do_not_overflow_or_cancel():
    """Also of parts of one element, of which those that are rounded know nothing by then."""
    big, near = np.array([1.5e308, -1.5e308]), 1e9 + np.arange(4.0)
    assert gred.describe(big, method="exact").std == 1.5e308
    parts = [gred.describe([value], 2, method="exact") for value in near]
    assert sum(parts).var == 2.5
    assert sum(gred.describe(part, 2, method="exact") for part in (near[:2], near[2:])).var == 2.5


@pytest.mark.parametrize("axis", [0, 1, (0, 2), -1, None])
def test_exact_summaries_along_axes_are_those_of_each_place(axis):
    x = spread_out(210).reshape(5, 6, 7)
    x[1, 2] = np.nan
    mask = np.random.default_rng(1).random(x.shape) < 0.8
    for options in ({}, {"where": mask}, {"keepdims": True}, {"dtype": np.float32}):
        got = gred.describe(x, axis=axis, method="exact", **options)
        near = gred.describe(x, axis=axis, **options)
        for name in (*got._fields, "std"):
            one, other = np.asarray(getattr(got, name)), np.asarray(getattr(near, name))
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
            unit = np.finfo(other.dtype).eps if other.dtype.kind == "f" else 0
            assert np.allclose(one, other, 100 * unit, 0, equal_nan=True)
    halves = [gred.describe(half, axis=2, method="exact") for half in (x[..., :3], x[..., 3:])]
    assert sum(halves).to_bytes() == gred.describe(x, axis=2, method="exact").to_bytes()


def test_exact_summaries_of_what_is_not_finite_are_those_of_the_rounded():
    for x in ([], [np.nan], [np.inf, 1.0], [np.inf, -np.inf], [np.nan, 1 + 2j, 3j]):
        got, near = gred.describe(x, method="exact"), gred.describe(x)
        assert np.array_equal(got, near, equal_nan=True)
        assert np.array_equal((got + got)[2:6], near[2:6], equal_nan=True)
    there = SimulatedArray(spread_out(50))
    assert fields_of(gred.describe(there, method="exact")) == fields_of(
        gred.describe(spread_out(50), method="exact")
    )


@pytest.mark.parametrize("method", ["auto", "exact"])
def test_by_key_each_key_has_its_summary(method):
    x, keys = spread_out(210), np.random.default_rng(2).integers(0, 6, 210)
    x[:20] = np.nan
    for values in (x, x.astype("f4"), (x + 1j * x[::-1]), np.arange(210, dtype="u1"), x > 0):
        got = gred.by_key("describe", keys, values, 7, ddof=1, method=method)
        assert got.ddof == 1
        for key in range(6):
            near = gred.describe(values[keys == key], 1, method=method)
            for name in (*got._fields, "std"):
                one, other = getattr(got, name)[key], getattr(near, name)
                unit = np.finfo(other.dtype).eps if other.dtype.kind in "fc" else 0
                assert np.isclose(one, other, 0 if method == "exact" else 100 * unit, 0), name
        assert got.count[6] == 0
        assert np.isnan([got.min[6], got.max[6], got.mean[6], got.var[6]]).all()
    table = gred.by_key("describe", (keys, keys[::-1]), x[:, None], (6, 6), method=method)
    assert table.count.shape == (6, 6, 1)
    assert table.count.sum() == 190
    halves = [gred.by_key("describe", keys[k::2], x[k::2], 6, method=method) for k in (0, 1)]
    whole = gred.by_key("describe", keys, x, 6, method=method)
    if method == "exact":
        assert sum(halves).to_bytes() == whole.to_bytes()
    close(sum(halves), whole, 300)


def test_what_cannot_be_described_is_refused():
    for call, error, words in (
        (lambda: gred.describe([1.0], method="exact", device="simulated"), TypeError, "takes no"),
        (lambda: gred.describe([1.0], method="exact", where=[1]), TypeError, "of bool"),
        (lambda: gred.describe([1.0], axis=1, method="exact"), IndexError, "out of bounds"),
        (lambda: gred.by_key("describe", [0], [1.0], axis=1), ValueError, "along axis 0"),
        (lambda: gred.by_key("describe", [1], [1.0], 1), IndexError, "not in"),
        (lambda: gred.by_key("describe", [1.0], [1.0]), TypeError, "must be integers"),
        (lambda: gred.by_key("describe", [0], [1.0], method="fast"), ValueError, "method"),
        (lambda: gred.by_key("describe", [0], [1.0], dtype="U3"), TypeError, None),
        (lambda: gred.by_key("describe", [0], 1.0), ValueError, "a dimension"),
    ):
        with pytest.raises(error, match=words):
            call()


@pytest.mark.parametrize("method", ["auto", "exact"])
@pytest.mark.parametrize("dtype", EVERY_TYPE, ids=str)
def test_bytes_are_read_as_they_were_written(dtype, method):
    x = np.arange(12).reshape(3, 4).astype(dtype)
    for options in ({}, {"axis": 0, "ddof": 1.5}, {"axis": (), "keepdims": True}):
        found = gred.describe(x, method=method, **options)
        data = found.to_bytes()
        read = gred.Summary.from_bytes(memoryview(bytearray(data)))
        assert fields_of(read) == fields_of(found)
        assert [type(one) for one in read] == [type(one) for one in found]
        assert read.to_bytes() == data
        assert (read + found).to_bytes() == (found + read).to_bytes()
        assert read.ddof == found.ddof


def test_bytes_of_arrays_of_a_device_are_read_on_the_host():
    found = gred.describe(SimulatedArray(np.arange(6.0).reshape(2, 3)), axis=0)
    assert np.array_equal(gred.Summary.from_bytes(found.to_bytes()).mean, [1.5, 2.5, 3.5])


def test_bytes_that_are_others_or_have_changed_are_refused():
    data = gred.describe([1.0, 2.0], method="exact").to_bytes()
    changed = [data[:k] + bytes([data[k] ^ 1]) + data[k + 1 :] for k in range(0, len(data), 97)]
    others = [b"", b"PK", data[:-1], data[: len(data) // 2], gred.ExactSum().to_bytes()]
    for one in others:
        with pytest.raises(ValueError, match="these are not the bytes of a Summary"):
            gred.Summary.from_bytes(one)
    refused = 0
    for one in changed:
        try:  # there are bytes that nobody reads, such as those of dates
            assert gred.Summary.from_bytes(one).to_bytes() == data
        except ValueError:
            refused += 1
    assert refused > len(changed) / 2
    with pytest.raises(TypeError):
        gred.Summary.from_bytes(3.5)


def test_summaries_are_equal_or_not():
    x = np.arange(12.0).reshape(3, 4)
    x[1, 1] = np.nan
    one, other = gred.describe(x, axis=0), gred.describe(x, axis=0)
    assert one == other
    assert gred.Summary.from_bytes(one.to_bytes()) == one
    assert one != gred.describe(x + 1, axis=0)
    assert gred.describe(x) != gred.describe(x, ddof=1)
    with pytest.raises(TypeError, match="summaries alone are merged; got a int"):
        one.merge(3)


def test_exact_summaries_of_lists_are_of_all_their_elements():
    parts = [np.array([1e16, 1.0]), np.array([-1e16, 3.0, 2.0])]
    whole = gred.describe(np.concatenate(parts), method="exact")
    for given in (parts, tuple(parts), iter(parts)):
        assert gred.describe(given, method="exact") == whole


def test_summaries_of_tensors():
    torch = pytest.importorskip("torch")
    x = torch.arange(12.0).reshape(3, 4)
    for y in (x, x.bfloat16()):
        both = gred.describe(y, axis=0) + gred.describe(y, axis=0)
        assert {type(field) for field in both} == {np.ndarray}
        assert both.count.tolist() == [6] * 4
        assert both.max.tolist() == [8, 9, 10, 11]
        assert gred.Summary.from_bytes(both.to_bytes()) == both
