"""`gred.dask`: descriptions, reductions by key and quantiles, for any chunks."""

import itertools
import pickle

import numpy as np
import pytest
from drawn import examples
from exact_truths import any_floats, same
from exactly import typed
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import BFLOAT16
from samples import silenced
from test_quantiles import METHODS

import gred

da = pytest.importorskip("dask.array", reason="Dask is not installed")
from test_dask import AXES, CHUNKS, EXACT, SHAPE, SIX, computed, cut, drawn  # noqa: E402

along_axes = pytest.mark.parametrize("axis", AXES[:-1], ids=str)


# ---- descriptions ----

MASK = np.random.default_rng(6).random(SHAPE[1:]) < 0.7
OPTIONS = [{}, {"keepdims": True}, {"where": MASK}, {"dtype": "c8"}]


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
@along_axes
@pytest.mark.parametrize("dtype", ["f8", "f4", BFLOAT16, "c16", "i2", "u8"])
def test_descriptions_are_those_of_the_whole_array(dtype, axis, options):
    x = drawn("c16" if dtype == "c16" else "i8").astype(dtype)
    if x.dtype.kind not in "iu":
        x[1, 2:4] = x[:, 5, 4] = np.nan
    want = gred.describe(x, 1, axis=axis, method="exact", **options)
    for chunks in CHUNKS[1:]:
        got = computed(gred.dask.describe(cut(x, chunks), 1, axis=axis, **options))
        assert (type(got), got.ddof) == (gred.Summary, 1)
        for field, right in zip((*got, got.std), (*want, want.std), strict=True):
            assert same(field, right)
        assert got.merge(want).to_bytes() == want.merge(got).to_bytes()


def test_attributes_of_descriptions_are_lazy():
    found = gred.dask.describe(da.arange(10, chunks=3))
    assert (computed(found.max), computed(found.mean), computed(found.sum)) == (9, 4.5, 45)
    assert computed(gred.dask.describe(da.zeros(0))).count == 0
    assert computed(gred.dask.describe(cut(np.float32(3), ()))).mean == 3


# ---- by key ----

KEYS = np.random.default_rng(8).integers(0, 9, SHAPE[0] * SHAPE[1])
VALUES = np.nan_to_num(drawn().reshape(-1, SHAPE[2]))
KEYED = {"table": VALUES, "truth": VALUES[:, 1] > 0, "integers": np.arange(42) % 20}
KEYED["singles"] = (VALUES[:, 0] / 2.0**200).astype("f4")


@pytest.mark.parametrize("op", ["sum", "mean", "count", "min", "max", "any", "count_nonzero"])
@pytest.mark.parametrize("values", KEYED.values(), ids=KEYED)
@pytest.mark.parametrize("chunks", [42, 20, 7])
def test_results_by_key_are_those_of_all_values(op, values, chunks):
    is_exact = op == "mean" or (op == "sum" and values.dtype.kind == "f")
    want = gred.by_key(op, KEYS, values, 11, method="exact" if is_exact else "auto")
    x = cut(values, (chunks, 4)[: values.ndim])
    for split_every in (None, 2):
        lazy = gred.dask.by_key(op, cut(KEYS, 11), x, 11, split_every=split_every)
        assert lazy.shape == want.shape
        assert same(computed(lazy), want)


def test_variances_norms_and_descriptions_by_key_are_exact():
    for chunks in (42, 11):
        x = cut(VALUES, (chunks, 3))
        for name in EXACT[:5]:
            got = computed(gred.dask.by_key(name, KEYS, x, 9))
            for key, column in np.ndindex(*got.shape):
                want = getattr(gred, name)(VALUES[key == KEYS, column], method="exact")
                assert same(got[key, column], want)
        found = computed(gred.dask.by_key("describe", KEYS, x, 9, ddof=1))
        want = gred.by_key("describe", KEYS, VALUES, 9, ddof=1, method="exact")
        assert found.to_bytes() == want.to_bytes()


def test_wrong_keys_are_refused_when_they_are_read_or_dropped_where_that_is_asked_for():
    wrong = (np.int64(3), np.uint64(2**64 - 1))
    for op, key in itertools.product(("sum", "var", "count", "describe"), wrong):
        keys = np.array([0, 1, 2, key, 0, 0], key.dtype)
        with pytest.raises(IndexError, match=r"not in \[0, 3\)"):
            computed(gred.dask.by_key(op, keys, SIX, 3))
    for op, want in (("sum", [2, 2]), ("count", [2, 2]), ("max", [1, 1])):
        got = computed(gred.dask.by_key(op, [0, 1, -1, 3, 0, 1], SIX, 2, outside="drop"))
        assert got.tolist() == want


# ---- quantiles ----

SHARES = [(0.3, SHAPE), ([0.0, 1.0, 0.5], (4, 3, 5))]
SHARES += [(np.linspace(0, 1, 40).reshape(8, 5), (6, 1, 2))]


@pytest.mark.parametrize("method", METHODS[:10])  # all but those that use the distribution
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "u8", "i1", "?", ">f4"])
@pytest.mark.parametrize(("q", "chunks"), SHARES, ids=range(3))
def test_quantiles_are_numpys(dtype, method, q, chunks):
    """Interpolation between two elements is as accurate as NumPy's in float64."""
    x = np.nan_to_num(drawn(dtype))
    x = x.clip(-1e30, 1e30) if dtype == "f8" else x
    want = np.quantile(x if x.dtype.kind in "iu" else x.astype("f8"), q, method=method)
    got = computed(gred.dask.quantile(cut(x, chunks), q, method=method))
    unit = np.finfo(got.dtype if got.dtype.kind == "f" else float).eps
    np.testing.assert_allclose(got, want.astype(got.dtype), 4 * unit, strict=True)
    assert same(got, gred.quantile(x, q, method=method))


@settings(deadline=None, max_examples=examples(30))
@given(data=st.data())
@typed
def test_quantiles_of_any_floats_are_those_of_the_whole(dtype, data):
    x = data.draw(any_floats(dtype).filter(len))
    q = data.draw(st.lists(st.floats(0, 1), min_size=1, max_size=4))
    lazy = cut(x, data.draw(st.integers(1, 40)))
    for name in ("quantile", "nanquantile"):
        got, want = computed(getattr(gred.dask, name)(lazy, q)), getattr(gred, name)(x, q)
        assert got.dtype == want.dtype
        assert np.array_equal(got, want, equal_nan=True)


@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
@along_axes
def test_quantiles_along_axes_and_medians_are_numpys(axis, keepdims, chunks):
    nans = drawn()
    for name, a in (("median", np.nan_to_num(nans)), ("median", nans), ("nanmedian", nans)):
        lazy = getattr(gred.dask, name)(cut(a, chunks), axis, keepdims=keepdims)
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
        x = da.ones(60, chunks=10, dtype=dtype)
        lazy = gred.dask.quantile(x.map_blocks(load, dtype=dtype, meta=np.empty(0, dtype)), [0.5])
        assert read == []
        assert computed(lazy).tolist() == [1]
        assert len(read) == 6 * passes
        read.clear()


@pytest.mark.parametrize("q", [0.5, np.linspace(0, 1, 300)], ids=["one", "many"])
def test_partials_of_quantiles_are_small(q, monkeypatch):
    x, merge, sizes = np.random.default_rng(1).normal(size=20_000), gred.dask.quantiles._merge, []

    def measured(parts):
        merged = merge(parts)
        sizes.extend(len(pickle.dumps(part)) for part in (*parts, merged))
        return merged

    monkeypatch.setattr(gred.dask.quantiles, "_merge", measured)
    assert np.array_equal(computed(gred.dask.quantile(cut(x, 5000), q)), gred.quantile(x, q))
    assert 2**10 < max(sizes) < 10 * 2**20


def test_nothing_and_masked_arrays_have_no_median():
    hidden = cut(np.ma.array([1.0, 2, 5], mask=[1, 0, 0]), 2)
    for x, error, words in ((SIX[:0], ValueError, "empty array"), (hidden, TypeError, "masked")):
        with pytest.raises(error, match=words):
            computed(gred.dask.median(x))
