"""What the host promises beside right answers: positions, counts, rounding, and nothing at all."""

import numpy as np
import pytest
from reference import BFLOAT16

import gred

quiet = pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")
SIZES = (1, 4095, 4097, 70_000, 300_000)


def views(x):
    """Yield the same kind of array, brought to the loops in every way that there is."""
    yield "flat", x
    yield "strided", x[::-3]
    yield "swapped", x.astype(x.dtype.newbyteorder())
    yield "columns", x[: x.size // 7 * 7].reshape(-1, 7).T
    yield "broadcast", np.broadcast_to(x[:5000], (3, min(x.size, 5000)))


def masks(shape, random):
    size = int(np.prod(shape))
    numbers = np.arange(size).reshape(shape)
    yield "half", random.random(shape) < 0.5
    yield "every other", numbers % 2 > 0
    yield "the last", numbers == size - 1
    yield "one in each of some chunks", numbers % 20_000 == 7
    yield "all but a run", (numbers < 10) | (numbers > 5000)
    yield "a row for all", random.random(shape[-1]) < 0.5


def views_and_masks(x, random):
    """Yield every view under every mask that shows something, and the places that it shows."""
    for way, view in views(x):
        for kind, mask in masks(view.shape, random):
            shown = np.flatnonzero(np.broadcast_to(mask, view.shape))
            if shown.size:
                yield view, mask, shown, (way, kind)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", ["i1", "u8", "f2", "f4", "f8", "c8"])
@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_positions_count_what_a_mask_hides(name, dtype, n):
    random = np.random.default_rng(n)
    x = random.integers(0, 100, n).astype(dtype)
    for view, mask, shown, about in views_and_masks(x, random):
        right = shown[getattr(np, name)(view.ravel()[shown])]
        assert getattr(gred, name)(view, where=mask) == right, about


@pytest.mark.parametrize("n", SIZES)
def test_what_is_counted_is_what_a_mask_shows(n):
    random = np.random.default_rng(n)
    x = random.integers(0, 3, n).astype(np.float32)
    for view, mask, shown, about in views_and_masks(x, random):
        taken = view.ravel()[shown].astype(np.float64)
        assert gred.mean(view, where=mask) == np.float32(taken.mean()), about
        assert gred.all(view, where=mask) == taken.all(), about
        assert gred.count_nonzero(view, where=mask) == np.count_nonzero(taken), about


@pytest.mark.parametrize("n", [0, 3, 100_000])
def test_of_nothing_there_is_what_the_reduction_begins_with(n):
    x = np.ones(n, np.float32)[::-1]
    options = {"where": np.zeros(n, bool)} if n else {}
    for method in ("auto", "recursive"):
        assert gred.sum(x, method=method, **options) == 0
        assert gred.prod(x, method=method, **options) == 1
        assert gred.max(x, method=method, initial=5, **options) == 5
    assert gred.all(x, **options)
    assert not gred.any(x, **options)
    assert gred.count_nonzero(x, **options) == 0


# ---- many results at once: rounding, order, masks and integers ----


@quiet
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", range(1, 9))
def test_means_of_few_rows_are_divided_and_rounded_as_numpys(n, dtype):
    """NumPy adds rows one after the other, too, as long as they are few."""
    smallest = np.finfo(dtype).smallest_subnormal
    rng = np.random.default_rng(n)
    for columns in (2, 15, 64, 65, 127, 128, 129, 5000):
        x = rng.standard_normal((n, columns)).astype(dtype)
        x[:, ::3] *= np.finfo(dtype).max / n
        x[:, 1::3] = rng.integers(-9, 9, x[:, 1::3].shape) * smallest
        x[:, columns // 2] = -0.0
        x[0, -1] = np.nan
        expected = np.mean(x, axis=0)
        result = gred.mean(x, axis=0)
        assert result.tobytes() == expected.tobytes()
        spread = np.empty(2 * columns, dtype)[::2]
        gred.mean(x, axis=0, out=spread)
        assert spread.tobytes() == expected.tobytes()


EVERY_HALF = np.arange(1 << 16, dtype=np.uint16)


@quiet
@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_halves_are_rounded_to_nearest_and_ties_to_even(name):
    """Two are added in float32, and divided in float64."""
    half = np.dtype(name if name == "float16" else BFLOAT16)
    rng = np.random.default_rng(3)
    for k in range(8):
        x = np.stack([EVERY_HALF, rng.permutation(EVERY_HALF), np.zeros_like(EVERY_HALF)])
        x = x.view(half)[:, : 65_530 + k]
        pairs = x[0].astype(np.float32) + x[1].astype(np.float32)
        for expected, result in (
            (pairs, gred.sum(x[:2], axis=0)),
            (pairs, gred.sum(np.ascontiguousarray(x[:2].T), axis=1)),
            (pairs.astype(np.float64) / 2, gred.mean(x[:2], axis=0)),
            (pairs.astype(np.float64) / 3, gred.mean(x, axis=0)),
        ):
            same(result, expected.astype(half))
        spread = np.zeros((x.shape[1], 3), half)
        gred.sum(x[:2], axis=0, out=spread[:, 1])
        same(spread[:, 1], pairs.astype(half))
        assert not spread[:, ::2].any()


@quiet
def test_spreads_of_halves_are_rounded_to_nearest_and_ties_to_even():
    """Half the distance of two numbers is exact, and so is its square where those have few bits."""
    x = np.zeros((2, 1 << 15), np.float16)
    x[0] = EVERY_HALF[: 1 << 15].view(np.float16)
    distances = np.where(np.isfinite(x[0]), x[0].astype(np.float64) / 2, np.nan)
    for columns in (1, 3, 64, 67, 1 << 15):
        same(gred.std(x[:, :columns], axis=0), distances[:columns].astype(np.float16))
        same(gred.var(x[:, :columns], axis=0), (distances[:columns] ** 2).astype(np.float16))


def same(result, expected):
    """Tell halves by their bits; all NaNs are one."""
    nan = np.isnan(expected)
    assert (np.isnan(result) == nan).all()
    assert result[~nan].tobytes() == expected[~nan].tobytes()


@pytest.mark.parametrize("shape", [(40, 5, 6), (6, 5, 40), (3, 200, 4)])
def test_spreads_and_places_are_stored_in_the_results_order(shape):
    """Neighbours in memory are no neighbours among the results."""
    x = np.random.default_rng(0).standard_normal(shape).astype("float32").transpose(2, 1, 0)
    assert (gred.argmin(x, axis=1) == x.argmin(1)).all()
    for ddof in (0, 1, 2.5):
        expected = np.std(x.astype("float64"), axis=1, ddof=ddof)
        np.testing.assert_allclose(gred.std(x, axis=1, ddof=ddof), expected, rtol=2**-23)
        spreads = np.full((*expected.shape, 3), -1, "float32")
        gred.std(x, axis=1, ddof=ddof, out=spreads[..., 1])
        np.testing.assert_allclose(spreads[..., 1], expected, rtol=2**-23)
        assert (spreads[..., ::2] == -1).all()


@pytest.mark.parametrize("given", ["int8", "uint16", "bool", "uint32"])
@pytest.mark.parametrize("name", ["min", "max"])
def test_what_is_hidden_loses_to_an_initial_value_beyond_the_elements_type(name, given):
    """The worst of a narrow type would win against it."""
    x = (np.arange(40) % 3).reshape(10, 4).astype(given)
    shown = np.ones((10, 4), bool)
    shown[:, 1] = False
    first = 2**40 if name == "min" else -5
    expected = getattr(np, name)(x.astype("int64"), axis=0, initial=first, where=shown)
    result = getattr(gred, name)(x, axis=0, dtype="int64", initial=first, where=shown)
    assert (result == expected).all()
    assert result[1] == first


def masks_of(shape):
    """Masks of every kind: drawn, broadcast either way, apart, backwards, of bytes beyond 1."""
    rng = np.random.default_rng(sum(shape))
    rows, columns = shape
    drawn = rng.random((2 * rows, 2 * columns)) > 0.3
    drawn[:, 0] = drawn[0] = False
    yield drawn[:rows, :columns].copy()
    yield drawn[::2, ::2]
    yield drawn[rows - 1 :: -1, columns - 1 :: -1][:rows, :columns]
    yield np.broadcast_to(drawn[1, :columns], shape)
    yield np.broadcast_to(drawn[:rows, 1:2], shape)
    yield np.zeros(shape, bool)
    some = (drawn * rng.integers(1, 256, drawn.shape)).astype(np.uint8).view(bool)
    yield some[:rows, :columns].copy()
    yield some[::2, ::2]


@pytest.mark.filterwarnings("ignore:Mean of empty slice:RuntimeWarning")
@quiet
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint32", "complex64"])
@pytest.mark.parametrize(
    "shape", [(1, 9), (2, 3000), (3, 257), (16, 65), (255, 20), (256, 3), (300, 1025), (70_001, 3)]
)
def test_means_are_of_what_the_mask_shows(shape, dtype):
    """Of integers sums are exact, and so the quotient is rounded once."""
    x = np.random.default_rng(1).integers(0, 9, shape).astype(dtype)
    for mask in masks_of(shape):
        shown = mask.view(np.uint8) != 0
        hiding = x.copy()
        if x.dtype.kind in "fc":
            hiding[~shown] = np.nan
        for values, where, axis in ((hiding, mask, 0), (hiding.T, mask.T, 1), (hiding, mask, 1)):
            known = shown.T if values is not hiding else shown
            count = known.sum(axis)
            totals = np.where(known, values, 0).astype("complex128").sum(axis)
            result = gred.mean(values, axis=axis, where=where)
            for part in ("real", "imag")[: 1 + (x.dtype.kind == "c")]:
                expected = np.full(totals.shape, np.nan)
                np.divide(getattr(totals, part), count, out=expected, where=count > 0)
                got = np.ascontiguousarray(getattr(result, part))
                same(got, expected.astype(got.dtype))


def test_a_mean_of_nothing_warns_and_what_is_shown_is_not_left_out():
    x = np.arange(12.0).reshape(4, 3)
    x[2, 1] = np.nan
    mask = np.ones((4, 3), bool)
    assert np.array_equal(gred.mean(x, axis=0, where=mask), x.mean(0), equal_nan=True)
    mask[:, 2] = False
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
        result = gred.mean(x, axis=0, where=mask)
    assert result[0] == x[:, 0].mean()
    assert np.isnan(result[1:]).all()
    spread = np.zeros((3, 2))
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
        gred.mean(x, axis=0, where=mask, out=spread[:, 1])
    assert np.array_equal(spread[:, 1], result, equal_nan=True)
    assert not spread[:, 0].any()


@pytest.mark.parametrize("result", ["int32", "int64", "uint64", "int16"])
@pytest.mark.parametrize("given", ["int8", "int32", "uint32", "bool"])
@pytest.mark.parametrize("shape", [(35, 2), (35, 700), (3, 5), (300, 20)])
def test_means_that_are_to_be_integers_are_divided(shape, given, result):
    """As NumPy casts quotients: towards zero."""
    x = np.random.default_rng(2).integers(0, 50, shape).astype(given)
    mask = np.arange(x.size).reshape(shape) % 11 > 0
    for values, shown in ((x, mask), (np.asfortranarray(x), np.asfortranarray(mask))):
        for axis in (0, 1):
            for where in (True, shown):
                count = np.broadcast_to(where, shape).sum(axis)
                exact = values.sum(axis, "int64", where=where) // count
                assert (gred.mean(values, axis=axis, dtype=result, where=where) == exact).all()
