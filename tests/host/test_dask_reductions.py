"""`gred.dask`: every reduction is that of the whole array, however it is cut, also by key."""

import math
import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from drawn import examples
from exact_truths import any_floats, exact_square, exact_sum, nearest, nearest_root, same, total
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import BFLOAT16, REALS

import gred

da = pytest.importorskip("dask.array", reason="Dask is not installed")
import gred.dask  # noqa: E402

SHAPE = (6, 7, 5)
CHUNKS = [SHAPE, (4, 3, 5), (6, 1, 2)]
AXES = [None, 0, -2, (0, 2), (0, 1, 2)]
FLOAT64 = np.dtype(np.float64)


def drawn(dtype=FLOAT64, share_of_nans=0.0):
    """Draw numbers of many sizes, whose sums depend on the order if they are rounded."""
    random = np.random.default_rng(5)
    x = random.normal(size=SHAPE) * np.exp2(random.integers(-9, 9, SHAPE))
    if np.dtype(dtype) == FLOAT64:
        x = x * np.exp2(random.integers(-200, 200, SHAPE))
    x[random.random(SHAPE) < share_of_nans] = np.nan
    return x.astype(dtype)


def masked(share, shape=SHAPE):
    return np.random.default_rng(6).random(shape) < share


def computed(x, scheduler="synchronous"):
    return x.compute(scheduler=scheduler)


def alike(got, want):
    """Compare shapes, types and all bits but those of NaNs."""
    got, want = np.asarray(got), np.asarray(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    nans = want != want
    assert np.array_equal(nans, got != got)
    assert got[~nans].tobytes() == want[~nans].tobytes()


def check(name, x, want, *arguments, **options):
    """Compute by all chunkings, and look at what is said before."""
    for chunks, split_every in zip(CHUNKS, (None, 2, 3), strict=True):
        reduce = partial(getattr(gred.dask, name), split_every=split_every)
        lazy = reduce(da.from_array(x, chunks=chunks), *arguments, **options)
        got = computed(lazy)
        assert (lazy.shape, lazy.dtype) == (got.shape, got.dtype)
        alike(got, want)


# ---- sums, squares ----


def along(x, axis, keepdims, shown, make):
    """Make a result of the elements of each place."""
    axes = range(x.ndim) if axis is None else [k % x.ndim for k in np.atleast_1d(axis)]
    shape = [1 if k in axes else n for k, n in enumerate(x.shape)]
    results = np.empty(shape, x.dtype)
    for place in np.ndindex(*shape):
        at = tuple(slice(None) if k in axes else i for k, i in enumerate(place))
        results[place] = make(x[at][shown[at]])
    return results if keepdims else np.squeeze(results, tuple(axes))[()]


def variance(x, dtype, rounded=nearest):
    return rounded((exact_square(x) - exact_sum(x) ** 2 / x.size) / x.size, dtype)


EXACT = {
    "sum": lambda x: total(x, x.dtype),
    "mean": lambda x: total(x, x.dtype, divisor=x.size),
    "norm": lambda x: nearest_root(exact_square(x), x.dtype),
    "var": lambda x: variance(x, x.dtype),
    "std": lambda x: variance(x, x.dtype, nearest_root),
}


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("name", EXACT)
def test_exact_results_are_fractions_rounded_once(name, axis, keepdims):
    x = drawn()
    mask = masked(0.8)
    mask[0] = mask[:, 0] = True
    for shown in (np.True_, mask):
        shown_there = np.broadcast_to(shown, SHAPE)
        want = along(x, axis, keepdims, shown_there, EXACT[name])
        options = {} if shown.ndim == 0 else {"where": mask}
        check(name, x, want, axis, keepdims=keepdims, **options)
        if name != "norm":
            nans = np.where(shown_there, x, np.nan)
            check(f"nan{name}", nans, want, axis, keepdims=keepdims)


@pytest.mark.parametrize("name", ["sum", "mean", "norm", "var", "std"])
@pytest.mark.parametrize(
    "dtype", ["f2", BFLOAT16, "f4", "c8", "c16", "i1", "u8", "?", ">f8", ">i4"]
)
def test_types_are_those_of_the_whole_array(name, dtype):
    x = (drawn(np.float32) * 50).clip(-100, 100)
    x = (abs(x) if np.dtype(dtype).kind == "u" else x).astype(dtype)
    is_wrapped = name == "sum" and x.dtype.kind in "iub"
    reduce = partial(getattr(gred, name), **({} if is_wrapped else {"method": "exact"}))
    for axis in (None, 1):
        check(name, x, reduce(x, axis=axis), axis)
    if name in ("sum", "mean", "var") and x.dtype.kind != "c":
        check(name, x, reduce(x, dtype=np.float32, method="exact"), dtype=np.float32)


def test_sums_wrap_in_the_type_they_are_asked_for():
    x = np.random.default_rng(7).integers(0, 2**62, SHAPE)
    for dtype in (np.int8, np.uint16, np.int64):
        check("sum", x, np.sum(x, axis=1, dtype=dtype), 1, dtype)
    check("sum", x, gred.sum(x, dtype=np.float64, method="exact"), dtype=np.float64)
    check("sum", x / 2.0**40, np.sum(x / 2.0**40, dtype=np.int32), dtype=np.int32)
    check("sum", x, np.sum(x, where=x % 3 == 0), where=x % 3 == 0)


def test_degrees_of_freedom_and_warnings_are_numpys():
    x = drawn(np.float32)
    check("var", x, gred.var(x, axis=0, ddof=2.5, method="exact"), 0, ddof=2.5)
    one = da.ones((1, 3), chunks=1)
    with pytest.warns(RuntimeWarning, match="Degrees of freedom"):
        assert np.isnan(computed(gred.dask.std(one, 0, ddof=1))).all()


# ---- extremes, truth ----


@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("name", ["min", "max", "nanmin", "nanmax", "any", "all", "count_nonzero"])
def test_extremes_truth_and_counts_are_numpys(name, axis):
    numpys = getattr(np, name)
    for dtype in ("f8", "f2", "i1", "u8", ">i4", "?"):
        floats = dtype in ("f8", "f2")
        x = drawn(dtype, 0.02) if floats else (drawn("f4") * 60).clip(0, 100).astype(dtype)
        for keepdims in (False, True):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                want = numpys(x, axis=axis, keepdims=keepdims)
                check(name, x, np.asarray(want, want.dtype.newbyteorder("=")), axis, keepdims)


@pytest.mark.parametrize("name", ["min", "max"])
def test_extremes_of_other_types_and_masks(name):
    for dtype in ("c8", "c16", BFLOAT16, "u8", "i8"):
        x = drawn("f4").clip(-100, 100)
        x = (x + 1j * x[::-1] if np.dtype(dtype).kind == "c" else abs(x)).astype(dtype)
        check(name, x, getattr(gred, name)(x, axis=0), 0)
        mask = masked(0.3)
        mask[0] = True
        want = getattr(gred, name)(np.where(mask, x, x[0]), axis=0)
        check(name, x, want, 0, where=mask)
    whole = np.array([2**63, 2**64 - 1, 2**63 + 1], "u8")
    mask = [True, False, True]
    lazy = getattr(gred.dask, name)(da.from_array(whole, chunks=1), where=mask)
    assert computed(lazy) == (2**63 if name == "min" else 2**63 + 1)


def test_nothing_has_no_extremes():
    for x in (da.zeros(0), da.zeros((0, 3), chunks=2), da.ones((3, 2), chunks=1)):
        options = {"where": x != x} if x.size else {}
        for name in ("min", "max"):
            with pytest.raises(ValueError, match=f"{name} has no value"):
                computed(getattr(gred.dask, name)(x, axis=0, **options))
    with pytest.warns(RuntimeWarning, match="All-NaN"):
        assert math.isnan(computed(gred.dask.nanmax(da.full(3, np.nan, chunks=1))))
    with pytest.raises(ValueError, match="nanmin has no value"):
        computed(gred.dask.nanmin(da.zeros(0, dtype=int)))
    assert computed(gred.dask.any(da.zeros(0))) == False  # noqa: E712
    assert computed(gred.dask.all(da.zeros(0))) == True  # noqa: E712


# ---- summaries ----


@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("dtype", ["f8", "f4", BFLOAT16, "c16", "i2", "u8"])
def test_descriptions_are_those_of_the_whole_array(dtype, axis):
    x = drawn("f4").clip(-100, 100)
    x = (x + 1j * x[::-1] if dtype == "c16" else abs(x)).astype(dtype)
    if x.dtype.kind in "fc":
        x[1, 2:4] = x[:, 5, 4] = np.nan
    mask = masked(0.7, SHAPE[1:])
    for options in ({}, {"keepdims": True}, {"where": mask}, {"dtype": "c8"}):
        want = gred.describe(x, 1, axis=axis, method="exact", **options)
        for chunks in CHUNKS[1:]:
            lazy = gred.dask.describe(da.from_array(x, chunks=chunks), 1, axis=axis, **options)
            got = computed(lazy)
            assert type(got) is gred.Summary
            assert got.ddof == 1
            for field, right in zip((*got, got.std), (*want, want.std), strict=True):
                alike(field, right)
            assert got.merge(want).to_bytes() == want.merge(got).to_bytes()


def test_attributes_of_descriptions_are_lazy():
    found = gred.dask.describe(da.arange(10, chunks=3))
    assert (computed(found.max), computed(found.mean), computed(found.sum)) == (9, 4.5, 45)
    assert computed(gred.dask.describe(da.zeros(0))).count == 0
    assert computed(gred.dask.describe(da.from_array(np.float32(3)))).mean == 3


# ---- by key ----

KEYS = np.random.default_rng(8).integers(0, 9, SHAPE[0] * SHAPE[1])
VALUES = drawn().reshape(-1, SHAPE[2])


@pytest.mark.parametrize("op", ["sum", "mean", "count", "min", "max", "any", "count_nonzero"])
def test_results_by_key_are_those_of_all_values(op):
    method = "exact" if op in ("sum", "mean") else "auto"
    for values in (
        VALUES,
        (VALUES[:, 0] / 2.0**200).astype("f4"),
        (VALUES[:, 1] > 0),
        np.arange(42) % 20,
    ):
        for chunks in (42, 20, 7):
            keys = da.from_array(KEYS, chunks=11)
            x = da.from_array(values, chunks=(chunks, 4)[: values.ndim])
            is_wrapped = op == "sum" and values.dtype.kind in "ib"
            want = gred.by_key(op, KEYS, values, 11, method="auto" if is_wrapped else method)
            for split_every in (None, 2):
                lazy = gred.dask.by_key(op, keys, x, 11, split_every=split_every)
                assert lazy.shape == want.shape
                alike(computed(lazy), want)


def test_variances_norms_and_descriptions_by_key_are_exact():
    for chunks in (42, 11):
        x = da.from_array(VALUES, chunks=(chunks, 3))
        for name, make in EXACT.items():
            got = computed(gred.dask.by_key(name, KEYS, x, 9))
            for key, column in np.ndindex(*got.shape):
                assert same(got[key, column], make(VALUES[key == KEYS, column]))
        found = computed(gred.dask.by_key("describe", KEYS, x, 9, ddof=1))
        assert (
            found.to_bytes()
            == gred.by_key("describe", KEYS, VALUES, 9, ddof=1, method="exact").to_bytes()
        )


def test_keys_that_are_wrong_are_refused_or_dropped():
    x = da.ones(6, chunks=4)
    by_key = gred.dask.by_key
    for op in ("sum", "var", "count", "describe"):
        with pytest.raises(IndexError, match=r"not in \[0, 3\)"):
            computed(by_key(op, [0, 1, 2, 3, 0, 0], x, 3))
        with pytest.raises(IndexError, match=r"not in \[0, 3\)"):
            computed(by_key(op, np.array([0, 1, 2, 2**64 - 1, 0, 0], "u8"), x, 3))
    for op in ("sum", "count", "max"):
        got = computed(by_key(op, [0, 1, -1, 3, 0, 1], x, 2, outside="drop"))
        assert got.tolist() == ([1, 1] if op == "max" else [2, 2])
    for keys, error, words in (
        ([0.0] * 6, TypeError, "must be integers"),
        ([[0] * 6], ValueError, "one dimension"),
        ([0] * 5, ValueError, "keys must fit"),
    ):
        with pytest.raises(error, match=words):
            by_key("sum", keys, x, 3)
    with pytest.raises(ValueError, match="op must be one of sum, mean"):
        by_key("argmin", [0] * 6, x, 3)
    with pytest.raises(ValueError, match="must not be negative"):
        by_key("sum", [0] * 6, x, -1)
    with pytest.raises(ValueError, match="outside must be"):
        computed(by_key("sum", [0] * 6, x, 3, outside="ignore"))
    with pytest.raises(TypeError, match="array of Dask's"):
        by_key("sum", [0] * 6, np.ones(6), 3)


# ---- unknown lengths, processes ----


def test_lengths_that_are_unknown_do_no_harm():
    x = da.from_array(drawn().ravel(), chunks=50)
    some = x[x > 0]
    whole = computed(some)
    for name in ("norm", "var", "nansum", "min", "any"):
        options = {"method": "exact"} if name in ("norm", "var", "nansum") else {}
        alike(computed(getattr(gred.dask, name)(some)), getattr(gred, name)(whole, **options))
    median = np.median(whole)
    want = gred.sum(whole, where=whole > median, method="exact")
    alike(computed(gred.dask.sum(some, where=some > median)), want)
    assert computed(gred.dask.describe(some)) == gred.describe(whole, method="exact")
    assert computed(gred.dask.quantile(some, 0.3)) == np.quantile(whole, 0.3)
    keys = (some * 0).astype(int)
    alike(computed(gred.dask.by_key("sum", keys, some, 1)), [gred.sum(whole, method="exact")])
    with pytest.raises(ValueError, match="where must have as many chunks"):
        gred.dask.sum(some, where=da.ones(6, chunks=2, dtype=bool))


@pytest.mark.parametrize("scheduler", ["threads", "processes"])
@pytest.mark.unsanitized
def test_every_scheduler_makes_the_same_bits(scheduler):
    x = drawn(share_of_nans=0.01)
    lazy = da.from_array(x, chunks=(5, 4, 5))
    line = lazy.reshape(-1)
    asked = [gred.dask.nanvar(lazy, 1), gred.dask.describe(lazy, axis=0).var]
    asked += [gred.dask.nanquantile(lazy, [0.1, 0.9]), gred.dask.nanmax(lazy, 0)]
    asked += [gred.dask.by_key("norm", np.arange(line.size) % 3, line, 3)]
    want, got = (da.compute(*asked, scheduler=name) for name in ("synchronous", scheduler))
    assert pickle.dumps([np.asarray(one).tobytes() for one in want]) == pickle.dumps(
        [np.asarray(one).tobytes() for one in got]
    )


# ---- quantiles ----

METHODS = ["linear", "lower", "higher", "nearest", "midpoint", "interpolated_inverted_cdf"]
METHODS += ["hazen", "weibull", "median_unbiased", "normal_unbiased"]
SHARES = [0.3, [0.0, 1.0, 0.5], np.linspace(0, 1, 40).reshape(8, 5)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "u8", "i1", "?", ">f4"])
def test_quantiles_are_numpys(dtype, method):
    """As exactly as NumPy computes what lies between two elements, in float64."""
    x = drawn("f8" if dtype == "f8" else "f4").clip(-1e30, 1e30)
    x = (abs(x) if dtype in ("u8", "?") else x.clip(-100, 100)).astype(dtype)
    for q, chunks in zip(SHARES, CHUNKS, strict=True):
        want = np.quantile(x if x.dtype.kind in "iu" else x.astype("f8"), q, method=method)
        got = computed(gred.dask.quantile(da.from_array(x, chunks=chunks), q, method=method))
        assert got.shape == want.shape
        unit = np.finfo(got.dtype if got.dtype.kind == "f" else float).eps
        np.testing.assert_allclose(got.astype(float), want, 4 * unit)
        alike(got, gred.quantile(x, q, method=method))


@settings(deadline=None, max_examples=examples(30))
@given(data=st.data())
@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_quantiles_of_any_floats_are_those_of_the_whole(dtype, data):
    x = data.draw(any_floats(dtype).filter(len))
    q = data.draw(st.lists(st.floats(0, 1), min_size=1, max_size=4))
    lazy = da.from_array(x, chunks=data.draw(st.integers(1, 40)))
    for name in ("quantile", "nanquantile"):
        got, want = computed(getattr(gred.dask, name)(lazy, q)), getattr(gred, name)(x, q)
        assert got.dtype == want.dtype
        assert np.array_equal(got, want, equal_nan=True)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES, ids=str)
def test_quantiles_along_axes_and_medians_are_numpys(axis, keepdims):
    x, nans = drawn(), drawn(share_of_nans=0.1)
    for chunks in CHUNKS:
        for name, a in (("median", x), ("median", nans), ("nanmedian", nans)):
            lazy = getattr(gred.dask, name)(
                da.from_array(a, chunks=chunks), axis, keepdims=keepdims
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                want = getattr(np, name)(a, axis=axis, keepdims=keepdims)
            got = computed(lazy)
            assert lazy.shape == got.shape == want.shape
            np.testing.assert_allclose(got, want, 4 * np.finfo(float).eps)


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


def test_quantiles_that_cannot_be_are_refused():
    x = da.ones(6, chunks=2)
    for call, error, words in (
        (lambda: gred.dask.quantile(x, 1.5), ValueError, "from 0 to 1"),
        (lambda: gred.dask.quantile(x, 0.5, method="fast"), ValueError, "method must be"),
        (lambda: gred.dask.quantile(x * 1j, 0.5), TypeError, "complex"),
        (lambda: gred.dask.median(np.ones(3)), TypeError, "array of Dask's"),
        (lambda: gred.dask.median(x, axis=1), np.exceptions.AxisError, "out of bounds"),
        (lambda: computed(gred.dask.median(x[:0])), ValueError, "no elements"),
    ):
        with pytest.raises(error, match=words):
            call()
    assert math.isnan(computed(gred.dask.nanmedian(x * np.nan)))


def test_quantiles_refuse_masked_blocks():
    x = da.from_array(np.ma.array([1.0, 2, 5], mask=[True, False, False]), chunks=2)
    with pytest.raises(TypeError, match="masked"):
        gred.dask.median(x).compute()
    with pytest.raises(ValueError, match="outside must be"):
        gred.dask.by_key("sum", [0], da.ones(1), 1, outside="x")
