"""Quantiles and medians, compared with NumPy's in float64 and with sorted elements."""

import itertools

import numpy as np
import pytest
from devices import everywhere, flat_there, to_host
from gpu_libraries import Cupy, Jax, Torch, of
from reference import BFLOAT16, MANTISSA_BITS
from refusals import refused_by
from samples import silenced
from thin import chosen

import gred
from gred import _core
from gred.statistics import quantiles

METHODS = ("linear", "lower", "higher", "nearest", "midpoint", "interpolated_inverted_cdf")
METHODS += ("hazen", "weibull", "median_unbiased", "normal_unbiased")
METHODS += ("inverted_cdf", "averaged_inverted_cdf", "closest_observation")
CHOOSING = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")
TYPES = ("?", "i1", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", BFLOAT16)
SHAPES = ((1,), (9,), (1000,), (70_001,), (4, 50), (50, 4), (700, 20), (2, 33, 40), (3, 5, 90))
HUGE = [np.broadcast_to(np.int8(1), (rows, 2**64 // 1088)) for rows in (1, 64)]
SHARES = [0, 0.1, 0.25, 0.5, 0.77, 1]
LAYOUTS = {
    "as it is": lambda x: x,
    "turned": lambda x: x.T,
    "backwards": lambda x: x[::-1, ::-1] if x.ndim > 1 else x[::-1],
    "apart": lambda x: x[..., ::3],
    "swapped": lambda x: x.astype(x.dtype.newbyteorder()) if x.dtype != BFLOAT16 else x,
}
BOTH = ((gred.quantile, np.quantile), (gred.nanquantile, np.nanquantile))
every_type = pytest.mark.parametrize("dtype", TYPES, ids=str)


def drawn(dtype, shape):
    random = np.random.default_rng(1)
    if np.dtype(dtype) in (np.int64, np.uint64):
        return random.integers(0, 2**62, shape).astype(dtype)
    x = random.normal(size=shape) * 40 + (100 if np.dtype(dtype).kind == "u" else 0)
    return x.astype(dtype)


def near(got, want, dtype):
    """Compare to within four roundings of the interpolated value."""
    error = 4 * 2.0 ** -MANTISSA_BITS.get(np.dtype(dtype), 53)
    return np.allclose(np.float64(got), np.float64(want), error, 100 * error, equal_nan=True)


@every_type
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("by", ["selection", "sorting"])
def test_quantiles_and_medians_are_numpys(dtype, shape, by, monkeypatch):
    """For any layout, axes and method, with and without NaN."""
    if by == "sorting":
        monkeypatch.setattr(quantiles, "_SELECTED_ON_HOST", 0)
    x = drawn(dtype, shape)
    nan = x.copy()
    if x.dtype.kind in "fV":
        nan[np.random.default_rng(3).random(shape) < 0.1] = nan[0] = np.nan
    axes = [None, *range(-1, len(shape) - 1), tuple(range(len(shape)))]
    every = itertools.product(axes, METHODS, LAYOUTS, (False, True), (0, 1))
    for axis, method, layout, has_nan, both in chosen(chosen(every, dtype, shape, by), by):
        view, (ours, numpys) = LAYOUTS[layout](nan if has_nan else x), BOTH[both]
        several = [SHARES, 0.5, np.random.default_rng(2).random(60)]
        with silenced():
            shares = several[len(method) % 3]
            got = ours(view, shares, axis, method=method)
            want = numpys(view.astype("f8"), shares, axis=axis, method=method)
        assert got.shape == want.shape
        assert near(got, want, dtype), (axis, method, layout, has_nan, ours.__name__)
        keeps = x.dtype.kind not in "iub" or method in CHOOSING
        assert got.dtype == (x.dtype if keeps else np.float64)
        got = gred.median(view, axis, keepdims=True)
        assert got.shape == view.sum(axis, keepdims=True).shape
        assert not np.shares_memory(view, got)


def patterns(n):
    up, hidden = np.arange(n), np.zeros(n, int)
    hidden[sampled(n)] = np.arange(4096) + 1
    yield from (up, up[::-1], 0 * up, np.minimum(up, up[::-1]), hidden, -hidden)
    yield from (np.random.default_rng(n).integers(0, 2, n), np.repeat([3, 1, 2], -(-n // 3))[:n])


def sampled(n):
    """Repeat the sampling of kernels/cpu/selection.cuh for n elements."""
    state, places = n, []
    for _ in range(4096):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        places.append((state >> 32 << 32) * n >> 64)
    return places


@pytest.mark.parametrize("n", [2, 100, 511, 512, 513, 5000, (1 << 16) - 1, (1 << 16) + 1, 300_000])
@pytest.mark.parametrize("dtype", ["i4", "f8", "f2"])
def test_orders_that_samples_are_misled_by(n, dtype):
    """Elements at the sampled positions are unlike all others, so that the sample misleads."""
    for x in patterns(n):
        with silenced():
            y = x.astype(dtype)
        ordered = np.sort(y)
        for method, place in (("lower", np.floor), ("higher", np.ceil)):
            got = gred.quantile(y, SHARES, method=method)
            assert np.array_equal(got, ordered[place(np.array(SHARES) * (n - 1)).astype(int)])
        for count in (3, 39)[: 1 + (n < 1000)]:
            rows = np.stack([y, y[::-1], y] * (count // 3))
            right = np.full(count, ordered[int(0.3 * (n - 1))])
            assert np.array_equal(gred.quantile(rows, 0.3, 1, method="lower"), right)
            assert np.array_equal(gred.quantile(rows.T.copy(), 0.3, 0, method="lower"), right)


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
    ("quantile", (np.ones((3, 4)), [[0.1, 0.2], [0.3, 0.4]], 0), np.ones((2, 2, 4))),
    ("quantile", (np.ones((3, 4)), [], 0), np.ones((0, 4))),
    ("quantile", (np.zeros((3, 0)), 0.5, 0), np.ones(0)),
    ("nanmedian", (np.zeros((0, 3)), 1), np.ones(0)),
    ("nanmedian", (np.zeros((3, 0, 2)), 0), np.ones((0, 2))),
]


@pytest.mark.parametrize(("name", "arguments", "right"), SPECIAL, ids=range(len(SPECIAL)))
def test_infinities_what_overflows_and_what_is_left_by_nan_or_of_nothing(name, arguments, right):
    got = getattr(gred, name)(*arguments)
    assert np.shape(got) == np.shape(right)
    assert np.array_equal(got, right, equal_nan=True)
    assert np.ndim(got) or isinstance(got, np.floating)


def test_more_elements_than_floats_count():
    """A rank in float32 would be off by one here, and torch.quantile refuses."""
    n = (1 << 24) + 2
    x = np.arange(n, dtype="i4")[::-1]
    assert gred.quantile(x, [0.25, 0.5], method="lower").tolist() == [(n - 1) // 4, (n - 1) // 2]


WRONG = [
    (([1.0], 1.5), {}, ValueError, r"in \[0, 1\]"),
    (([1.0], [0.5, np.nan]), {}, ValueError, r"in \[0, 1\]"),
    (([1.0], 0.5), {"method": "cubic"}, ValueError, "method must be one of linear, "),
    (([1.0], 0.5, 1), {}, ValueError, "axis"),
    (([1j], 0.5), {}, TypeError, "quantiles of complex numbers"),
    ((["a"], 0.5), {}, TypeError, "not supported"),
    ((np.zeros((5, 0, 3)), 0.5, 1), {}, ValueError, "empty array"),
    ((np.zeros((5, 0, 3)), 0.5), {}, ValueError, "empty array"),
    *(((x, 0.5, 1), {}, MemoryError, "order statistics") for x in HUGE),
]
test_what_quantile_refuses = refused_by(gred.quantile, *WRONG)
test_what_nanquantile_refuses = refused_by(gred.nanquantile, *WRONG)


SHAPES = [(1, 1), (5, 33), (2, 300), (3, 5000), (40, 64), (1, 40_000)]
SHAPES += [(2, 8, 3), (1, 16, 70), (3, 17, 50), (1, 64, 2), (5, 127)]  # (outer, n, inner)


@everywhere
@every_type
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_on_devices(place, dtype, shape):
    """Select with equal elements and NaN among them, sorted or not."""
    n, inner = (*shape[1:], 1)[:2]
    x = drawn(dtype, shape)
    x[-1, : n // 2] = x[0, 0]
    shares = np.unique(np.clip(np.array([0, 1, 2, n // 3, n // 2, n // 2 + 1, n]) / n, 0, 1))
    for nan in (False, True) if x.dtype.kind in "fV" else (False,):
        if nan:
            x[0, n // 3] = np.nan
        for leaves_out, is_sorted, method in itertools.product([0, 1], [0, 1], ["lower", "hazen"]):
            if is_sorted and inner > 1:
                continue
            y = np.sort(x.astype("f8"), 1).astype(dtype) if is_sorted else x
            asked = shares, method, leaves_out, is_sorted
            kind = None if x.dtype.kind in "fV" or method == "lower" else "f8"
            values = flat_there(y.reshape(-1), place)
            there = _core.select_rows(values, x.size // n, inner, asked, kind)
            with silenced():
                want = BOTH[leaves_out][1](y.astype("f8"), shares, axis=1, method=method)
            got = to_host(there).reshape(want.shape)
            assert got.dtype == (kind or x.dtype)
            assert near(got, want, dtype), (leaves_out, is_sorted, method)
            if method == "lower":
                assert np.array_equal(got.astype("f8"), want, equal_nan=True)


@everywhere
def test_rows_that_cannot_be(place):
    values = flat_there(np.arange(12.0), place)
    asked = np.array([0.5]), "linear", False, False
    cannot_be = (5, 1, [0.5]), (0, 1, [0.5]), (3, 1, [0.5] * 17), (3, 1, [[0.5]])
    for rows, inner, shares in (*cannot_be, (3, 2, [0.5]), (3, 0, [0.5])):
        with pytest.raises(TypeError):
            _core.select_rows(values, rows, inner, (np.array(shares), *asked[1:]), None)
    with pytest.raises(TypeError):  # more than a thread sorts
        _core.select_rows(flat_there(np.arange(195.0), place), 3, 3, asked, None)
    for shares in [-0.1], [1.1], [np.nan]:
        with pytest.raises(ValueError, match=r"in \[0, 1\]"):
            _core.select_rows(values, 3, 1, (np.array(shares), *asked[1:]), None)
    assert _core.select_rows(np.arange(12.0), 3, 1, asked, None) is NotImplemented
    with pytest.raises(ValueError, match="at least one number"):
        _core.quantile_places(asked, 0)


@everywhere
def test_a_workspace_too_small_for_all_blocks_together(place):
    x = flat_there(np.random.default_rng(1).random(40_000), place)
    asked = np.array([0.25, 0.5]), "linear", False, False
    whole = to_host(_core.select_rows(x, 1, 1, asked, None))
    with gred.workspace_limit(1000):
        assert np.array_equal(to_host(_core.select_rows(x, 1, 1, asked, None)), whole)


@pytest.mark.gpu
@of(Cupy, Torch, Jax)
def test_in_the_libraries_of_devices(library):
    x = drawn("f4", (37, 50, 3))
    x[3, 4] = np.nan
    there = library.make(x)
    for axis, (ours, numpys) in itertools.product((None, 0, 1, (0, 2)), BOTH):
        got = ours(there, SHARES, axis)
        assert type(got) is type(there)
        assert near(to_host(got), numpys(x.astype("f8"), SHARES, axis), "f4")
        line, rows = there.reshape(-1)[::2], there.reshape((50, -1))[:, ::3]
        for view, along in (line, 0), (rows, 0), (rows, 1), (rows[::2], None):
            want = numpys(to_host(view).astype("f8"), SHARES, along)
            assert near(to_host(ours(view, SHARES, along)), want, "f4")
    for dtype in "f4", "i4":
        nothing = gred.median(library.make(np.zeros((4, 0, 3), dtype)), 0)
        assert type(nothing) is type(there)
        assert nothing.shape == (0, 3)
        assert to_host(nothing).dtype.kind == "f"
