"""Quantiles and medians, beside NumPy's of float64, and beside sorted elements."""

import itertools

import numpy as np
import pytest
from devices import each_library, everywhere, flat_there, placed_by, to_host
from reference import BFLOAT16
from samples import silenced

import gred
from gred import _core
from gred.statistics import quantiles

METHODS = ("linear", "lower", "higher", "nearest", "midpoint", "interpolated_inverted_cdf")
METHODS += ("hazen", "weibull", "median_unbiased", "normal_unbiased")
METHODS += ("inverted_cdf", "averaged_inverted_cdf", "closest_observation")
CHOOSING = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")
TYPES = ("?", "i1", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", BFLOAT16)
SHAPES = ((1,), (9,), (1000,), (4, 50), (50, 4), (700, 20), (2, 33, 40), (5, 0, 3))
HUGE = [np.broadcast_to(np.int8(1), (rows, 2**64 // 1088)) for rows in (1, 64)]
SHARES = [0, 0.1, 0.25, 0.5, 0.77, 1]
every_type = pytest.mark.parametrize("dtype", TYPES, ids=str)


def drawn(dtype, shape, seed=1):
    random = np.random.default_rng(seed)
    if np.dtype(dtype) in (np.int64, np.uint64):
        return random.integers(0, 2**62, shape).astype(dtype)
    return (random.normal(size=shape) * 40 + (100 if np.dtype(dtype).kind == "u" else 0)).astype(
        dtype
    )


def near(got, want, dtype):
    """Compare, to within four roundings of what is interpolated."""
    bits = {"float16": 11, "bfloat16": 8, "float32": 24}.get(np.dtype(dtype).name, 53)
    return np.allclose(
        np.float64(got), np.float64(want), 4 * 2.0**-bits, 4 * 2.0**-bits * 100, equal_nan=True
    )


@every_type
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_they_are_numpys(dtype, shape):
    x = drawn(dtype, shape)
    axes = [None, *range(-1, len(shape) - 1), tuple(range(len(shape)))]
    for axis, method in itertools.product(axes, METHODS):
        places = (axis,) if isinstance(axis, int) else range(len(shape))
        if np.prod([shape[k] for k in places]) == 0:
            with pytest.raises(ValueError, match="no elements"):
                gred.quantile(x, 0.5, axis, method=method)
            continue
        got = gred.quantile(x, SHARES, axis, method=method)
        want = np.quantile(x.astype("f8"), SHARES, axis=axis, method=method)
        assert got.shape == want.shape
        assert near(got, want, dtype)
        keeps = x.dtype.kind not in "iub" or method in CHOOSING
        assert got.dtype == (x.dtype if keeps else np.float64)
        got = gred.median(x, axis, keepdims=True)
        assert got.shape == np.median(x, axis, keepdims=True).shape


@pytest.mark.parametrize("layout", ["rows", "columns", "swapped", "reversed", "apart"])
def test_layouts(layout):
    x = drawn("f4", (60, 3000))
    views = {"rows": x, "columns": x.T, "swapped": x.astype(">f4"), "reversed": x[::-1, ::-1]}
    view = views.get(layout, x[::3, 1::2])
    for axis in (None, 0, 1, (1, 0)):
        assert near(gred.quantile(view, SHARES, axis), np.quantile(view, SHARES, axis), "f4")
    assert not np.shares_memory(view, gred.median(view, 0))


def patterns(n):
    random = np.random.default_rng(n)
    yield np.arange(n)
    yield np.arange(n)[::-1]
    yield np.zeros(n, int)
    yield random.integers(0, 2, n)
    yield np.minimum(np.arange(n), np.arange(n)[::-1])
    yield np.repeat([3, 1, 2], -(-n // 3))[:n]
    hidden = np.zeros(n, int)
    hidden[sampled(n)] = np.arange(4096) + 1
    yield hidden
    yield -hidden


def sampled(n, count=4096):
    """Repeat what kernels/cpu/selection.cuh draws of so many elements."""
    state, places = n, []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        places.append((state >> 32 << 32) * n >> 64)
    return places


@pytest.mark.parametrize("n", [2, 511, 513, 5000, (1 << 16) - 1, (1 << 16) + 1, 300_000])
@pytest.mark.parametrize("dtype", ["i4", "f8", "f2"])
def test_orders_that_samples_are_misled_by(n, dtype):
    """Elements where the sample is taken lie beside all others, so that its bracket is wrong."""
    for x in patterns(n):
        y = x.astype(dtype)
        ordered = np.sort(y)
        for method, place in (("lower", np.floor), ("higher", np.ceil)):
            got = gred.quantile(y, SHARES, method=method)
            assert np.array_equal(got, ordered[place(np.array(SHARES) * (n - 1)).astype(int)])
        rows, right = np.stack([y, y[::-1], y]), ordered[int(0.3 * (n - 1))]
        assert np.array_equal(gred.quantile(rows, 0.3, 1, method="lower"), np.full(3, right))


@pytest.mark.parametrize("shape", [(40,), (6, 30), (70_001,), (3, 1000, 2)])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_nan(shape, dtype):
    random = np.random.default_rng(3)
    x = drawn(dtype, shape)
    x[random.random(shape) < 0.1] = np.nan
    x[0] = np.nan
    for axis in (None, 0, -1):
        for ours, numpys in ((gred.nanquantile, np.nanquantile), (gred.quantile, np.quantile)):
            with silenced():
                want = numpys(x.astype("f8"), SHARES, axis)
            assert near(ours(x, SHARES, axis), want, dtype), (axis, ours.__name__)
            x_of_nan = np.full(shape, np.nan, dtype)
            assert np.isnan(ours(x_of_nan, [0.1, 0.9], axis)).all()


INF, SOME = np.inf, [[np.nan] * 6, [0, 1] + [np.nan] * 4, [0, 1, 2, 3] + [np.nan] * 2, range(6)]
SPECIAL = [
    ("nanmedian", ([np.nan, 2, 5, 3],), 3),
    ("median", ([-INF, INF, 1.0],), 1),
    ("median", ([INF, INF],), INF),
    ("median", ([-INF, 1.0],), -INF),
    ("median", ([-INF, INF],), np.nan),
    ("median", ([-1.5e308, 1.5e308],), 0),
    ("quantile", ([-1.5e308, 1.5e308], 1), 1.5e308),
    ("median", (np.array([2**63, 2**63 + 2**12], np.uint64),), 2.0**63 + 2**11),
    ("median", ([-0.0, 0.0],), 0),
    ("quantile", (np.array([65504, -65504], "f2"), 0.5), 0),
    ("nanquantile", (SOME, 0, 1), [np.nan, 0, 0, 0]),
    ("nanquantile", (SOME, 0.5, 1), [np.nan, 0.5, 1.5, 2.5]),
    ("nanquantile", (SOME, 1, 1), [np.nan, 1, 3, 5]),
]
SHAPED = [
    ("quantile", (np.ones((3, 4)), [[0.1, 0.2], [0.3, 0.4]], 0), (2, 2, 4)),
    ("quantile", (np.ones((3, 4)), [], 0), (0, 4)),
    ("quantile", (np.zeros((3, 0)), 0.5, 0), (0,)),
    ("nanmedian", (np.zeros((0, 3)), 1), (0,)),
    ("nanmedian", (np.zeros((3, 0, 2)), 0), (0, 2)),
]


@pytest.mark.parametrize(("name", "arguments", "right"), SPECIAL, ids=range(len(SPECIAL)))
def test_infinities_and_what_overflows_or_is_left_by_nan(name, arguments, right):
    got = getattr(gred, name)(*arguments)
    assert np.array_equal(got, right, equal_nan=True)
    assert np.ndim(got) or isinstance(got, np.floating)


@pytest.mark.parametrize(("name", "arguments", "shape"), SHAPED, ids=range(len(SHAPED)))
def test_shapes_of_shares_and_of_nothing(name, arguments, shape):
    assert getattr(gred, name)(*arguments).shape == shape


def test_more_elements_than_floats_count():
    """Where a rank in float32 is off by one, and torch.quantile refuses."""
    n = (1 << 24) + 2
    x = np.random.default_rng(1).permutation(n).astype("i4")
    assert gred.quantile(x, [0.25, 0.5], method="lower").tolist() == [(n - 1) // 4, (n - 1) // 2]
    assert gred.median(x) == (n - 1) / 2


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        (([1.0], 1.5), {}, ValueError, "from 0 to 1"),
        (([1.0], [0.5, np.nan]), {}, ValueError, "from 0 to 1"),
        (([1.0], 0.5), {"method": "cubic"}, ValueError, "method must be one of linear, "),
        (([1.0], 0.5, 1), {}, ValueError, "axis"),
        (([1j], 0.5), {}, TypeError, "complex numbers have no quantiles"),
        ((["a"], 0.5), {}, TypeError, "not supported"),
        *(((x, 0.5, 1), {}, MemoryError, "order statistics") for x in HUGE),
    ],
)
def test_what_is_refused(arguments, options, error, words):
    for function in (gred.quantile, gred.nanquantile):
        with pytest.raises(error, match=words):
            function(*arguments, **options)


@pytest.mark.parametrize("count", [5, 60, 500])
def test_shares_in_any_order(count):
    random = np.random.default_rng(2)
    x, shares = random.normal(size=(3, 7000)), random.random(count)
    assert near(gred.quantile(x, shares, 1), np.quantile(x, shares, 1), "f8")
    x[1, 5] = np.nan
    assert near(gred.nanquantile(x, shares, 1), np.nanquantile(x, shares, 1), "f8")


ROWS = [(1, 1), (5, 33), (2, 300), (3, 5000), (40, 64), (1, 40_000)]


@everywhere
@every_type
@pytest.mark.parametrize("shape", ROWS, ids=str)
def test_rows_on_devices(place, dtype, shape):
    """By the kernel that selects: equal elements, and NaN, among them, sorted or not."""
    rows, n = shape
    x = drawn(dtype, shape)
    x[-1, : n // 2] = x[0, 0]
    shares = np.unique(np.clip(np.array([0, 1, 2, n // 3, n // 2, n // 2 + 1, n]) / n, 0, 1))
    for nan in (False, True) if x.dtype.kind in "fV" else (False,):
        if nan:
            x[0, n // 3] = np.nan
        for leaves_out, is_sorted, method in itertools.product([0, 1], [0, 1], ["lower", "hazen"]):
            y = np.sort(x.astype("f8"), 1).astype(dtype) if is_sorted else x
            asked = shares, method, leaves_out, is_sorted
            kind = None if x.dtype.kind in "fV" or method == "lower" else "f8"
            there = _core.select_rows(flat_there(y.reshape(-1), place), rows, asked, kind)
            with silenced():
                numpys = np.nanquantile if leaves_out else np.quantile
                want = numpys(y.astype("f8"), shares, axis=1, method=method)
            got = to_host(there).reshape(want.shape)
            assert got.dtype == (kind or x.dtype)
            assert near(got, want, dtype), (leaves_out, is_sorted, method)
            if method == "lower":
                assert np.array_equal(got.astype("f8"), want, equal_nan=True)


@everywhere
def test_rows_that_cannot_be(place):
    values = flat_there(np.arange(12.0), place)
    asked = np.array([0.5]), "linear", False, False
    for rows, shares in (5, [0.5]), (0, [0.5]), (3, [0.5] * 17), (3, [[0.5]]):
        with pytest.raises(TypeError):
            _core.select_rows(values, rows, (np.array(shares), *asked[1:]), None)
    for shares in [-0.1], [1.1], [np.nan]:
        with pytest.raises(ValueError, match="from 0 to 1"):
            _core.select_rows(values, 3, (np.array(shares), *asked[1:]), None)
    assert _core.select_rows(np.arange(12.0), 3, asked, None) is NotImplemented


@pytest.mark.parametrize("dtype", ["i2", "f4", BFLOAT16], ids=str)
@pytest.mark.parametrize("leaves_out", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2)])
def test_what_is_sorted_is_what_is_selected(dtype, axis, leaves_out, monkeypatch):
    x = drawn(dtype, (7, 30, 3))
    if x.dtype.kind in "fV":
        x[2, 4] = np.nan
        x[:, 5] = np.nan
    function = gred.nanquantile if leaves_out else gred.quantile
    for shares, method in itertools.product([0.5, [0.1, 0.9, 1.0]], METHODS):
        selected = function(x, shares, axis, method=method)
        with monkeypatch.context() as patch:
            patch.setattr(quantiles, "_SELECTED_ON_HOST", 0)
            assert np.array_equal(
                selected, function(x, shares, axis, method=method), equal_nan=True
            )


@each_library
def test_in_the_libraries_of_devices(library_name):
    x = drawn("f4", (37, 50, 3))
    x[3, 4] = np.nan
    there = placed_by(library_name, x)
    for axis in (None, 0, 1, (0, 2)):
        for ours, numpys in ((gred.nanquantile, np.nanquantile), (gred.quantile, np.quantile)):
            got = ours(there, SHARES, axis)
            assert type(got) is type(there)
            assert near(to_host(got), numpys(x.astype("f8"), SHARES, axis), "f4")


@everywhere
def test_a_workspace_too_small_for_all_blocks_together(place):
    x = flat_there(np.random.default_rng(1).random(40_000), place)
    asked = np.array([0.25, 0.5]), "linear", False, False
    whole = to_host(_core.select_rows(x, 1, asked, None))
    with gred.workspace_limit(1000):
        assert np.array_equal(to_host(_core.select_rows(x, 1, asked, None)), whole)
    with pytest.raises(ValueError, match="no numbers"):
        _core.quantile_places(asked, 0)
