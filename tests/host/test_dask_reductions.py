"""`gred.dask`: every reduction is that of the whole array, however it is cut, also by key."""

import itertools
import math
import pickle
from functools import partial

import numpy as np
import pytest
from drawn import examples
from exact_truths import (
    any_floats,
    same,
    same_bits,
)
from exactly import WIDE, typed
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import BFLOAT16
from samples import silenced
from thin import chosen

import gred

da = pytest.importorskip("dask.array", reason="Dask is not installed")
import gred.dask  # noqa: E402

SHAPE = (6, 7, 5)
CHUNKS = [SHAPE, (4, 3, 5), (6, 1, 2)]
AXES = [None, 0, -2, (0, 2), (0, 1, 2)]


def drawn(dtype=WIDE, share_of_nans=0.0):
    """Draw numbers of many sizes, whose sums depend on the order if they are rounded."""
    random = np.random.default_rng(5)
    x = random.normal(size=SHAPE) * np.exp2(random.integers(-9, 9, SHAPE))
    if np.dtype(dtype) == WIDE:
        x = x * np.exp2(random.integers(-200, 200, SHAPE))
    x[random.random(SHAPE) < share_of_nans] = np.nan
    return x.astype(dtype)


def masked(share, shape=SHAPE):
    return np.random.default_rng(6).random(shape) < share


def computed(x):
    return x.compute(scheduler="synchronous")


def check(name, x, want, *arguments, **options):
    """Compute by all chunkings, and look at what is said before."""
    for chunks, split_every in zip(CHUNKS, (None, 2, 3), strict=True):
        reduce = partial(getattr(gred.dask, name), split_every=split_every)
        lazy = reduce(da.from_array(x, chunks=chunks), *arguments, **options)
        got = computed(lazy)
        assert (lazy.shape, lazy.dtype) == (got.shape, got.dtype)
        assert same_bits(got, want)


# ---- reductions ----

EXACT = ("sum", "mean", "norm", "var", "std", "nansum", "nanmean", "nanvar", "nanstd")
OTHERS = ("min", "max", "nanmin", "nanmax", "any", "all", "count_nonzero")
MASKED = ("sum", "mean", "norm", "var", "std", "min", "max")
TYPES = ("f8", "f4", "f2", BFLOAT16, "c8", "c16", "i1", "u8", "i8", "?", ">f8", ">i4")


def of_type(dtype):
    """Draw numbers that a type has, of floats a few NaN and of float64 many magnitudes."""
    x = drawn() if dtype == "f8" else (drawn(np.float32) * 50).clip(-100, 100)
    x = x + 1j * x[::-1] if np.dtype(dtype).kind == "c" else x
    x = (abs(x) if np.dtype(dtype).kind == "u" else x).astype(dtype)
    if x.dtype.kind in "fc":
        x[1, 2, :2] = np.nan
    return x


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", [*EXACT, *OTHERS])
def test_results_are_those_of_the_whole_array(name, dtype):
    """Sums of floats are the exact ones, and integers' wrap; masks and dimensions are as there."""
    x, mask = of_type(dtype), masked(0.8)
    mask[0] = mask[:, 0] = True
    wraps = name in ("sum", "nansum") and x.dtype.kind in "iub"
    method = {"method": "exact"} if name in EXACT and not wraps else {}
    more = [{}, {"keepdims": True}]
    more += [{"where": mask}] * (name in MASKED)
    more += [{"ddof": 2.5}] * (name in ("var", "nanstd"))
    more += [{"dtype": np.float32}] * (name in ("sum", "mean", "var") and x.dtype.kind != "c")
    with silenced():
        for axis, options in chosen(itertools.product(AXES, more), name, dtype):
            own, shown = {"method": "exact"} if "dtype" in options else method, options
            whole = x
            if "where" in options and name in OTHERS:  # where each place has something shown
                whole, shown, axis = np.where(mask, x, x[0]), {}, 0
            want = getattr(gred, name)(whole, axis=axis, **own, **shown)
            check(name, x, want, axis, **options)


def test_sums_wrap_in_the_type_they_are_asked_for():
    x = np.random.default_rng(7).integers(0, 2**62, SHAPE)
    for dtype in (np.int8, np.uint16, np.int64):
        check("sum", x, np.sum(x, axis=1, dtype=dtype), 1, dtype)
    check("sum", x, gred.sum(x, dtype=np.float64, method="exact"), dtype=np.float64)
    check("sum", x / 2.0**40, np.sum(x / 2.0**40, dtype=np.int32), dtype=np.int32)
    check("sum", x, np.sum(x, where=x % 3 == 0), where=x % 3 == 0)


def test_extremes_of_large_integers_under_a_mask():
    whole = np.array([2**63, 2**64 - 1, 2**63 + 1], "u8")
    for name, right in (("min", 2**63), ("max", 2**63 + 1)):
        lazy = getattr(gred.dask, name)(da.from_array(whole, chunks=1), where=[True, False, True])
        assert computed(lazy) == right


def test_nothing_has_no_extremes():
    for x in (da.zeros(0), da.zeros((0, 3), chunks=2), da.ones((3, 2), chunks=1)):
        options = {"where": x != x} if x.size else {}
        for name in ("min", "max"):
            with pytest.raises(ValueError, match=f"{name} has no value"):
                computed(getattr(gred.dask, name)(x, axis=0, **options))
    with pytest.warns(RuntimeWarning, match="All-NaN"):
        assert math.isnan(computed(gred.dask.nanmax(da.full(3, np.nan, chunks=1))))
    with pytest.warns(RuntimeWarning, match="Degrees of freedom"):
        assert np.isnan(computed(gred.dask.std(da.ones((1, 3), chunks=1), 0, ddof=1))).all()
    with pytest.raises(ValueError, match="nanmin has no value"):
        computed(gred.dask.nanmin(da.zeros(0, dtype=int)))
    assert not computed(gred.dask.any(da.zeros(0)))
    assert computed(gred.dask.all(da.zeros(0)))
    assert math.isnan(computed(gred.dask.nanmedian(da.full(6, np.nan, chunks=2))))


# ---- summaries ----


@pytest.mark.parametrize(
    "options",
    [{}, {"keepdims": True}, {"where": masked(0.7, SHAPE[1:])}, {"dtype": "c8"}],
    ids=["", "keepdims", "where", "dtype"],
)
@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("dtype", ["f8", "f4", BFLOAT16, "c16", "i2", "u8"])
def test_descriptions_are_those_of_the_whole_array(dtype, axis, options):
    x = drawn("f4").clip(-100, 100)
    x = (x + 1j * x[::-1] if dtype == "c16" else abs(x)).astype(dtype)
    if x.dtype.kind in "fc":
        x[1, 2:4] = x[:, 5, 4] = np.nan
    want = gred.describe(x, 1, axis=axis, method="exact", **options)
    for chunks in CHUNKS[1:]:
        got = computed(gred.dask.describe(da.from_array(x, chunks=chunks), 1, axis=axis, **options))
        assert type(got) is gred.Summary
        assert got.ddof == 1
        for field, right in zip((*got, got.std), (*want, want.std), strict=True):
            assert same_bits(field, right)
        assert got.merge(want).to_bytes() == want.merge(got).to_bytes()


def test_attributes_of_descriptions_are_lazy():
    found = gred.dask.describe(da.arange(10, chunks=3))
    assert (computed(found.max), computed(found.mean), computed(found.sum)) == (9, 4.5, 45)
    assert computed(gred.dask.describe(da.zeros(0))).count == 0
    assert computed(gred.dask.describe(da.from_array(np.float32(3)))).mean == 3


# ---- by key ----

KEYS = np.random.default_rng(8).integers(0, 9, SHAPE[0] * SHAPE[1])
VALUES = drawn().reshape(-1, SHAPE[2])


KEYED = {
    "table": VALUES,
    "singles": (VALUES[:, 0] / 2.0**200).astype("f4"),
    "truth": VALUES[:, 1] > 0,
    "integers": np.arange(42) % 20,
}


@pytest.mark.parametrize("op", ["sum", "mean", "count", "min", "max", "any", "count_nonzero"])
@pytest.mark.parametrize("values", KEYED.values(), ids=KEYED)
@pytest.mark.parametrize("chunks", [42, 20, 7])
def test_results_by_key_are_those_of_all_values(op, values, chunks):
    is_exact = op in ("sum", "mean") and (op, values.dtype.kind) not in (("sum", "i"), ("sum", "b"))
    want = gred.by_key(op, KEYS, values, 11, method="exact" if is_exact else "auto")
    x = da.from_array(values, chunks=(chunks, 4)[: values.ndim])
    for split_every in (None, 2):
        keys = da.from_array(KEYS, chunks=11)
        lazy = gred.dask.by_key(op, keys, x, 11, split_every=split_every)
        assert lazy.shape == want.shape
        assert same_bits(computed(lazy), want)


def test_variances_norms_and_descriptions_by_key_are_exact():
    for chunks in (42, 11):
        x = da.from_array(VALUES, chunks=(chunks, 3))
        for name in EXACT[:5]:
            got = computed(gred.dask.by_key(name, KEYS, x, 9))
            for key, column in np.ndindex(*got.shape):
                want = getattr(gred, name)(VALUES[key == KEYS, column], method="exact")
                assert same(got[key, column], want)
        found = computed(gred.dask.by_key("describe", KEYS, x, 9, ddof=1))
        assert (
            found.to_bytes()
            == gred.by_key("describe", KEYS, VALUES, 9, ddof=1, method="exact").to_bytes()
        )


SIX = da.ones(6, chunks=4)
HIDDEN = da.from_array(np.ma.array([1.0, 2, 5], mask=[1, 0, 0]), chunks=2)
REFUSED = [
    ("by_key", ("sum", [0.0] * 6, SIX, 3), {}, TypeError, "must be integers"),
    ("by_key", ("sum", [[0] * 6], SIX, 3), {}, ValueError, "one dimension"),
    ("by_key", ("sum", [0] * 5, SIX, 3), {}, ValueError, "keys must fit"),
    ("by_key", ("argmin", [0] * 6, SIX, 3), {}, ValueError, "op must be one of sum, mean"),
    ("by_key", ("sum", [0] * 6, SIX, -1), {}, ValueError, "must not be negative"),
    ("by_key", ("sum", [0] * 6, np.ones(6), 3), {}, TypeError, "array of Dask's"),
    ("by_key", ("sum", [0] * 6, SIX, 3), {"outside": "x"}, ValueError, "outside must be"),
    ("quantile", (SIX, 1.5), {}, ValueError, "from 0 to 1"),
    ("quantile", (SIX, 0.5), {"method": "fast"}, ValueError, "method must be"),
    ("quantile", (SIX * 1j, 0.5), {}, TypeError, "complex"),
    ("median", (np.ones(3),), {}, TypeError, "array of Dask's"),
    ("median", (SIX,), {"axis": 1}, np.exceptions.AxisError, "out of bounds"),
    ("median", (SIX[:0],), {}, ValueError, "no elements"),
    ("median", (HIDDEN,), {}, TypeError, "masked"),
]
for key in (np.int64(3), np.uint64(2**64 - 1)):
    keys = np.array([0, 1, 2, key, 0, 0], key.dtype)
    REFUSED += [
        ("by_key", (op, keys, SIX, 3), {}, IndexError, r"not in \[0, 3\)")
        for op in ("sum", "var", "count", "describe")
    ]


@pytest.mark.parametrize(("name", "arguments", "options", "error", "words"), REFUSED)
def test_wrong_keys_and_shares_are_refused(name, arguments, options, error, words):
    with pytest.raises(error, match=words):
        computed(getattr(gred.dask, name)(*arguments, **options))


def test_wrong_keys_are_dropped_where_that_is_asked_for():
    for op in ("sum", "count", "max"):
        got = computed(gred.dask.by_key(op, [0, 1, -1, 3, 0, 1], SIX, 2, outside="drop"))
        assert got.tolist() == ([1, 1] if op == "max" else [2, 2])


# ---- unknown lengths, processes ----


def test_lengths_that_are_unknown_do_no_harm():
    x = da.from_array(drawn().ravel(), chunks=50)
    some = x[x > 0]
    whole = computed(some)
    for name in ("norm", "var", "nansum", "min", "any"):
        options = {"method": "exact"} if name in ("norm", "var", "nansum") else {}
        assert same_bits(
            computed(getattr(gred.dask, name)(some)), getattr(gred, name)(whole, **options)
        )
    median = np.median(whole)
    want = gred.sum(whole, where=whole > median, method="exact")
    assert same_bits(computed(gred.dask.sum(some, where=some > median)), want)
    assert computed(gred.dask.describe(some)) == gred.describe(whole, method="exact")
    assert computed(gred.dask.quantile(some, 0.3)) == np.quantile(whole, 0.3)
    keys = (some * 0).astype(int)
    assert same_bits(
        computed(gred.dask.by_key("sum", keys, some, 1)), [gred.sum(whole, method="exact")]
    )
    with pytest.raises(ValueError, match="where must have as many chunks"):
        gred.dask.sum(some, where=da.ones(6, chunks=2, dtype=bool))


@pytest.mark.parametrize("scheduler", ["threads", "processes"])
@pytest.mark.unsanitized
def test_every_scheduler_makes_the_same_bits(scheduler):
    x = drawn(share_of_nans=0.01)
    lazy = da.from_array(x, chunks=(5, 4, 5))
    line = lazy.reshape(-1)
    asked = [gred.dask.nansum(lazy), gred.dask.nanvar(lazy, 1)]
    asked += [gred.dask.describe(lazy, axis=0).var]
    asked += [gred.dask.nanquantile(lazy, [0.1, 0.9]), gred.dask.nanmax(lazy, 0)]
    asked += [gred.dask.by_key("norm", np.arange(line.size) % 3, line, 3)]
    want, got = (da.compute(*asked, scheduler=name) for name in ("synchronous", scheduler))
    assert pickle.dumps([np.asarray(one).tobytes() for one in want]) == pickle.dumps(
        [np.asarray(one).tobytes() for one in got]
    )


# ---- quantiles ----

METHODS = ["linear", "lower", "higher", "nearest", "midpoint", "interpolated_inverted_cdf"]
METHODS += ["hazen", "weibull", "median_unbiased", "normal_unbiased"]
SHARES = [(0.3, SHAPE), ([0.0, 1.0, 0.5], (4, 3, 5))]
SHARES += [(np.linspace(0, 1, 40).reshape(8, 5), (6, 1, 2))]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "u8", "i1", "?", ">f4"])
@pytest.mark.parametrize(("q", "chunks"), SHARES)
def test_quantiles_are_numpys(dtype, method, q, chunks):
    """As exactly as NumPy computes what lies between two elements, in float64."""
    x = drawn("f8" if dtype == "f8" else "f4").clip(-1e30, 1e30)
    x = (abs(x) if dtype in ("u8", "?") else x.clip(-100, 100)).astype(dtype)
    want = np.quantile(x if x.dtype.kind in "iu" else x.astype("f8"), q, method=method)
    got = computed(gred.dask.quantile(da.from_array(x, chunks=chunks), q, method=method))
    unit = np.finfo(got.dtype if got.dtype.kind == "f" else float).eps
    np.testing.assert_allclose(got, want.astype(got.dtype), 4 * unit, strict=True)
    assert same_bits(got, gred.quantile(x, q, method=method))


@settings(deadline=None, max_examples=examples(30))
@given(data=st.data())
@typed
def test_quantiles_of_any_floats_are_those_of_the_whole(dtype, data):
    x = data.draw(any_floats(dtype).filter(len))
    q = data.draw(st.lists(st.floats(0, 1), min_size=1, max_size=4))
    lazy = da.from_array(x, chunks=data.draw(st.integers(1, 40)))
    for name in ("quantile", "nanquantile"):
        got, want = computed(getattr(gred.dask, name)(lazy, q)), getattr(gred, name)(x, q)
        assert got.dtype == want.dtype
        assert np.array_equal(got, want, equal_nan=True)


@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES, ids=str)
def test_quantiles_along_axes_and_medians_are_numpys(axis, keepdims, chunks):
    x, nans = drawn(), drawn(share_of_nans=0.1)
    for name, a in (("median", x), ("median", nans), ("nanmedian", nans)):
        reduce = getattr(gred.dask, name)
        lazy = reduce(da.from_array(a, chunks=chunks), axis, keepdims=keepdims)
        with silenced():
            want = getattr(np, name)(a, axis=axis, keepdims=keepdims)
        got = computed(lazy)
        assert lazy.shape == got.shape
        np.testing.assert_allclose(got, want, 4 * np.finfo(float).eps, strict=True)


def test_quantiles_read_blocks_once_a_pass_and_keep_none():
    read = []

    def load(block):
        read.append(block.size)
        return block

    for dtype, passes in (("f8", 4), ("f4", 2), ("i2", 1), ("u1", 1)):
        x = da.ones(60, chunks=10, dtype=dtype).map_blocks(
            load, dtype=dtype, meta=np.empty(0, dtype)
        )
        lazy = gred.dask.quantile(x, [0.25, 0.5])
        assert read == []
        assert computed(lazy).tolist() == [1, 1]
        assert len(read) == 6 * passes
        read.clear()


def test_partials_of_quantiles_are_small():
    """However many quantiles are asked for."""
    x = np.random.default_rng(1).normal(size=20_000)
    merge = gred.dask.quantiles._merge
    for q in (0.5, np.linspace(0, 1, 300)):
        sizes = []

        def measured(parts, sizes=sizes):
            merged = merge(parts)
            sizes.extend(len(pickle.dumps(part)) for part in (*parts, merged))
            return merged

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(gred.dask.quantiles, "_merge", measured)
            lazy = gred.dask.quantile(da.from_array(x, chunks=5000), q)
            assert np.array_equal(computed(lazy), gred.quantile(x, q))
        assert 2**10 < max(sizes) < 10 * 2**20
