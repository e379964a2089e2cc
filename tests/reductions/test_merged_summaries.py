"""Summaries along axes and merged summaries, which equal those of the whole."""

import itertools
import pickle
from fractions import Fraction

import numpy as np
import pytest
from devices import to_host
from exact_truths import comoment, exact_sum, nearest, nearest_root, same, total
from gpu_libraries import Cupy, Torch, of
from reference import EVERY_TYPE
from refusals import refused
from samples import silenced

import gred
from gred.testing import SimulatedArray

FIELDS = (*gred.Summary._fields, "std")
both_methods = pytest.mark.parametrize("method", ["auto", "exact"])
every_type = pytest.mark.parametrize("dtype", EVERY_TYPE, ids=str)


def close(got, want, rounds):
    """Compare fields; rounded ones may differ by `rounds` roundings."""
    for name in FIELDS:
        a, b = np.asarray(getattr(got, name)), np.asarray(getattr(want, name))
        assert (a.shape, a.dtype) == (b.shape, b.dtype), name
        unit = np.finfo(a.dtype).eps if a.dtype.kind in "fc" else 2.0**-7 * (a.dtype.kind == "V")
        error = 0 if name in ("count", "nans", "min", "max") else rounds * unit
        assert np.allclose(a.astype(complex), b.astype(complex), error, 0, equal_nan=True), name


def same_fields(got, want):
    return all(same(np.asarray(getattr(got, name)), getattr(want, name)) for name in FIELDS)


@every_type
def test_any_parts_make_the_whole(dtype):
    x = np.random.default_rng(1).integers(0, 9, 300).astype(dtype)
    whole = gred.describe(x)
    for cuts in ([], [1], [100], [299], [1, 2, 150, 200], [0, 300], [7, 7]):
        parts = [gred.describe(part) for part in np.split(x, cuts)]
        merged = parts[0].merge(*parts[1:])
        rounds = 300 if dtype.itemsize > 2 or dtype.kind in "biu" else 8
        close(merged, whole, rounds)
        close(sum(parts), merged, 0 if len(cuts) < 2 else rounds)


@pytest.mark.parametrize("ddof", [0, 1, 2.5])
def test_variances_are_fractions(ddof):
    """With exact deviations, and a mean far from 0."""
    x = np.random.default_rng(2).integers(-50, 50, 999) + 2.0**30
    var = comoment(x, x) / (999 - Fraction(ddof))
    merged = sum(gred.describe(part, ddof=ddof) for part in np.split(x, [10, 500]))
    # Means have errors in units of 2^30, so parts' deviations of about 30 have errors of 2^-22.
    assert abs(Fraction(float(merged.mean)) - exact_sum(x) / 999) <= 4 * Fraction(2.0**-22)
    assert abs(Fraction(float(merged.var)) / var - 1) < Fraction(1e-6)
    assert (merged.ddof, merged.std) == (ddof, np.sqrt(merged.var))


INF, NAN, HALF = np.inf, np.nan, np.float16
PARTS = [  # and their mean and variance, if they differ from those of all elements together
    *(([[INF, 1.0], [2.0]], {}), ([[INF, 1.0], [INF, 2.0]], {}), ([[1.0], [INF]], {})),
    *(([[INF], []], {}), ([[INF, 1.0], [-INF]], {}), ([[-INF], [-INF]], {})),
    *(([[], [NAN, NAN], [1.0, 2.0, NAN]], {}), ([[], []], {})),
    # float16 is merged in a wider type
    ([np.full(4, HALF(-200)), np.full(4, HALF(200))], {}),
    ([np.full(4, HALF(-60000)), np.full(4, HALF(60000))], {"sum": NAN}),
    ([[1.0, 2.0], [3.0, 4.0, 5.0]], {"ddof": 2, "mean": 3, "var": NAN}),  # zero degrees of freedom
    ([[1.0], [4.0], [7.0]], {"ddof": 1, "mean": 4, "var": 9}),
]


@pytest.mark.parametrize(("parts", "right"), PARTS, ids=range(len(PARTS)))
def test_parts_that_are_empty_or_lose_something_by_themselves_are_merged(parts, right):
    ddof = right.get("ddof", 0)
    whole = gred.describe(np.concatenate(parts), ddof)
    for order in itertools.permutations(parts):
        merged = sum(gred.describe(np.array(part), ddof) for part in order)
        assert merged.var.dtype == whole.var.dtype
        for name in gred.Summary._fields:
            want = right.get(name, getattr(whole, name))
            assert np.array_equal(getattr(merged, name), want, equal_nan=True), name


# ---- exactly ----


def spread_out(n):
    random = np.random.default_rng(4)
    return random.normal(size=n) * np.exp2(random.integers(-60, 60, n))


@pytest.mark.parametrize("ddof", [0, 1, 2.5])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_exact_fields_are_fractions_rounded_once(dtype, ddof):
    x = spread_out(300).astype(dtype)
    kind = np.dtype("f8") if dtype == "i8" else x.dtype
    var = comoment(x, x) / (x.size - Fraction(ddof))
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
            assert same_fields(merged, whole)
    given = np.array_split(x, 3)
    for where in (given, tuple(given), iter(given), SimulatedArray(x)):
        assert gred.describe(where, 1, method="exact") == whole
    rounded = gred.describe(x, 1).merge(whole)  # no longer exact
    assert (rounded.sums, rounded.count) == (None, 2 * whole.count)


def test_exact_summaries_neither_overflow_nor_cancel_nor_hide_what_is_not_finite():
    """Also for parts of one element, where rounded summaries have lost the digits."""
    big, near = np.array([1.5e308, -1.5e308]), 1e9 + np.arange(4.0)
    assert gred.describe(big, method="exact").std == 1.5e308
    for parts in (np.split(near, 4), np.split(near, 2)):
        assert sum(gred.describe(part, 2, method="exact") for part in parts).var == 2.5
    for x in ([], [np.nan], [np.inf, 1.0], [np.inf, -np.inf], [np.nan, 1 + 2j, 3j]):
        got, near = gred.describe(x, method="exact"), gred.describe(x)
        assert np.array_equal(got, near, equal_nan=True)
        assert np.array_equal((got + got)[2:6], near[2:6], equal_nan=True)


@pytest.mark.parametrize("axis", [0, 1, (0, 2), -1, None])
def test_exact_summaries_along_axes_are_those_of_each_place(axis):
    x = spread_out(210).reshape(5, 6, 7)
    x[1, 2] = np.nan
    mask = np.random.default_rng(1).random(x.shape) < 0.8
    for options in ({}, {"where": mask}, {"keepdims": True}, {"dtype": np.float32}):
        got = gred.describe(x, axis=axis, method="exact", **options)
        close(got, gred.describe(x, axis=axis, **options), 100)
    halves = [gred.describe(half, axis=2, method="exact") for half in (x[..., :3], x[..., 3:])]
    assert sum(halves).to_bytes() == gred.describe(x, axis=2, method="exact").to_bytes()


@both_methods
def test_by_key_each_key_has_its_summary(method):
    x, keys = spread_out(210), np.random.default_rng(2).integers(0, 6, 210)
    x[:20] = np.nan
    rounds = 0 if method == "exact" else 100
    for values in (x, x.astype("f4"), (x + 1j * x[::-1]), np.arange(210, dtype="u1"), x > 0):
        got = gred.by_key("describe", keys, values, 7, ddof=1, method=method)
        assert (got.ddof, got.count[6]) == (1, 0)
        assert np.isnan([got.min[6], got.max[6], got.mean[6], got.var[6]]).all()
        for key in range(6):
            near = gred.describe(values[keys == key], 1, method=method)
            for name in FIELDS:
                one, other = getattr(got, name)[key], getattr(near, name)
                unit = np.finfo(other.dtype).eps if other.dtype.kind in "fc" else 0
                assert np.isclose(one, other, rounds * unit, 0), name
    table = gred.by_key("describe", (keys, keys[::-1]), x[:, None], (6, 6), method=method)
    assert (table.count.shape, table.count.sum()) == ((6, 6, 1), 190)
    halves = [gred.by_key("describe", keys[k::2], x[k::2], 6, method=method) for k in (0, 1)]
    whole = gred.by_key("describe", keys, x, 6, method=method)
    assert method == "auto" or sum(halves).to_bytes() == whole.to_bytes()
    close(sum(halves), whole, 300)


ONE = gred.describe([1.0, 2.0])
DATA = gred.describe([1.0, 2.0], method="exact").to_bytes()
test_what_is_no_summary_or_no_part_of_one_is_refused = refused(
    (lambda: ONE.merge(gred.describe([1.0], ddof=1)), ValueError, "ddof: 0 and 1"),
    (lambda: ONE.merge(gred.describe(np.ones((2, 3)), axis=0)), ValueError, "different shapes"),
    (lambda: ONE.merge(3), TypeError, "only summaries can be merged; got a int"),
    *((lambda wrong=wrong: ONE + wrong, TypeError, None) for wrong in (1, (1, 2), None, 0.0)),
    *((lambda wrong=wrong: wrong + ONE, TypeError, None) for wrong in (1, (1, 2), None, 0.0)),
    (lambda: gred.describe([1.0], method="exact", device="simulated"), TypeError, "does not take"),
    (lambda: gred.describe([1.0], method="exact", where=[1]), TypeError, "a bool where"),
    (lambda: gred.describe([1.0], axis=1, method="exact"), IndexError, "out of bounds"),
    (lambda: gred.by_key("describe", [0], [1.0], axis=1), ValueError, "only axis 0"),
    (lambda: gred.by_key("describe", [1], [1.0], 1), IndexError, "not in"),
    (lambda: gred.by_key("describe", [1.0], [1.0]), TypeError, "must be integers"),
    (lambda: gred.by_key("describe", [0], [1.0], method="fast"), ValueError, "method"),
    (lambda: gred.by_key("describe", [0], [1.0], dtype="U3"), TypeError, None),
    (lambda: gred.by_key("describe", [0], 1.0), ValueError, "one dimension"),
    (lambda: gred.Summary.from_bytes(3.5), TypeError, None),
    *(
        (lambda data=data: gred.Summary.from_bytes(data), ValueError, "not a serialized Summary")
        for data in (b"", b"PK", DATA[:-1], DATA[: len(DATA) // 2], gred.ExactSum().to_bytes())
    ),
)


@both_methods
@every_type
def test_bytes_are_read_as_they_were_written(dtype, method):
    x = np.arange(12).reshape(3, 4).astype(dtype)
    for options in ({}, {"axis": 0, "ddof": 1.5}, {"axis": (), "keepdims": True}):
        found = gred.describe(x, method=method, **options)
        data = found.to_bytes()
        lent = memoryview(bytearray(data))
        for read in (gred.Summary.from_bytes(lent), pickle.loads(pickle.dumps(found))):
            assert read == found
            assert same_fields(read, found)
            assert [type(one) for one in read] == [type(one) for one in found]
            assert read.to_bytes() == data
            assert (read + found).to_bytes() == (found + read).to_bytes()
            assert read.ddof == found.ddof


def test_bytes_that_have_changed_are_refused():
    refused = 0
    changed = [DATA[:k] + bytes([DATA[k] ^ 1]) + DATA[k + 1 :] for k in range(0, len(DATA), 97)]
    for one in changed:
        try:  # some bytes are never read, such as dates
            assert gred.Summary.from_bytes(one).to_bytes() == DATA
        except ValueError:
            refused += 1
    assert refused > len(changed) / 2


def test_summaries_are_equal_or_not():
    """Also for a device's arrays, whose bytes are read on the host."""
    x = np.arange(12.0).reshape(3, 4)
    x[1, 1] = np.nan
    one, there = gred.describe(x, axis=0), gred.describe(SimulatedArray(x), axis=0)
    assert gred.Summary.from_bytes(there.to_bytes()) == one == gred.describe(x, axis=0)
    assert one != gred.describe(x + 1, axis=0)
    assert gred.describe(x) != gred.describe(x, ddof=1)


def test_summaries_of_tensors():
    torch = pytest.importorskip("torch")
    x = torch.arange(12.0).reshape(3, 4)
    for y in (x, x.bfloat16()):
        both = gred.describe(y, axis=0) + gred.describe(y, axis=0)
        assert {type(field) for field in both} == {np.ndarray}
        assert both.count.tolist() == [6] * 4
        assert both.max.tolist() == [8, 9, 10, 11]
        assert gred.Summary.from_bytes(both.to_bytes()) == both


# ---- along axes: tests/axes tests the values ----


@pytest.mark.parametrize("dtype", ["i1", "u8", "?"])
def test_extremes_of_integers_are_floats_where_nothing_may_be_shown(dtype):
    x, shown = np.arange(60).reshape(6, 10).astype(dtype), np.arange(60).reshape(6, 10) % 7 > 1
    shown[2] = False
    for array in (x, SimulatedArray(x)):
        with silenced():
            got = to_host(gred.describe(array, axis=1, where=shown, keepdims=True))
        wide = np.where(shown, x.astype("f8"), np.nan)
        with silenced():
            right = (np.nanmin(wide, 1, keepdims=True), np.nanmax(wide, 1, keepdims=True))
        for field, want in zip((got.min, got.max), right, strict=True):
            np.testing.assert_array_equal(field, want, strict=True)


@pytest.mark.gpu
@of(Cupy, Torch)
def test_fields_are_arrays_of_the_callers_library(library):
    """Also for exact summaries and those by key."""
    host = np.random.default_rng(0).normal(size=(30, 50, 40)).astype("f4") * 9
    host[1, 2, ::3] = host[0, 0] = np.nan
    x, keys = library.make(host), np.arange(30) % 4
    both = ((x, library.make(keys)), (host, keys))
    for k, describe in enumerate(
        (
            lambda y, _: gred.describe(y, axis=1),
            lambda y, _: gred.describe(y, axis=1, method="exact"),
            lambda y, keys: gred.by_key("describe", keys, y, 5),
        )
    ):
        there, here = (describe(*arrays) for arrays in both)
        assert {type(field) for field in there} == {type(x)}
        for field, right in zip(there, here, strict=True):
            # Sums of 50 elements of about 4 at most, with one rounding of 2^-24 each.
            np.testing.assert_allclose(to_host(field), right, 1e-5, 1e-5, equal_nan=True)
        assert k != 1 or to_host(there.var).tobytes() == here.var.tobytes()
    assert gred.describe(x, method="exact") == gred.describe(host, method="exact")


def test_fields_that_are_arrays_print_and_spreads_come_to_the_host():
    x = np.array([[1.0, 4.0], [3.0, 4.0]])
    for there in (x, SimulatedArray(x)):
        np.testing.assert_array_equal(to_host(gred.describe(there, axis=0).std), [1, 0])
    assert "std    [1. 0.]" in repr(gred.describe(x, axis=0))
