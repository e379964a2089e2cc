"""The host's results under masks and along axes: positions, roundings and output tiles."""

import itertools

import numpy as np
import pytest
from exact_truths import same
from host_loops import guarded
from reference import BFLOAT16
from truths import PLACES

import gred

quiet = pytest.mark.filterwarnings("ignore::RuntimeWarning")
EVERY_HALF = np.arange(1 << 16, dtype=np.uint16)


def masks(shape):
    """Yield masks of every density and layout; every nonzero byte is true."""
    random = np.random.default_rng(sum(shape))
    drawn = random.random([2 * n for n in shape]) < 0.7
    drawn[..., 0] = drawn[0] = False
    inner, k = tuple(slice(n) for n in shape), np.arange(np.prod(shape)).reshape(shape)
    some = (drawn * random.integers(1, 256, drawn.shape)).astype(np.uint8).view(bool)
    for mask in (drawn, some):
        yield mask[inner].copy()
        yield mask[(slice(None, None, 2),) * len(shape)]
    for again in (drawn[inner][-1], drawn[inner][..., -1:], False):
        yield np.broadcast_to(again, shape)
    yield drawn[inner][::-1]
    # Only the last element, one in some chunks, nearly all, and all but a long run.
    yield from (k == k.size - 1, k % 20_000 == 7, k % 11 > 0, (k < 10) | (k > 5000))


def views(x):
    """Yield the array in every layout that the loops treat differently."""
    yield from (x, x[::-3], x.astype(x.dtype.newbyteorder()))
    yield x[: x.size // 7 * 7].reshape(-1, 7).T
    yield np.broadcast_to(x[:5000], (3, min(x.size, 5000)))


@pytest.mark.parametrize("n", [1, 4095, 4097, 70_000, 300_000])
@pytest.mark.parametrize("dtype", ["i1", "u8", "f2", "f4", "f8", "c8"])
def test_positions_and_counts_are_of_what_a_mask_shows(dtype, n):
    x = np.random.default_rng(n).integers(0, 100, n).astype(dtype)
    for view in views(x):
        for mask in masks(view.shape) if view.size else ():
            shown = np.flatnonzero(mask.view(np.uint8) != 0)
            taken = view.ravel()[shown]
            assert gred.count_nonzero(view, where=mask) == np.count_nonzero(taken)
            assert gred.all(view, where=mask) == taken.all()
            for name in ("argmin", "argmax") if shown.size else ():
                right = shown[getattr(np, name)(taken)]
                assert getattr(gred, name)(view, where=mask) == right, (name, view.strides)


@pytest.mark.parametrize("dtype", ["i1", "u8", "f2", "f4", "f8"])
def test_the_first_of_what_a_mask_shows_is_a_position_however_bad_it_is(dtype):
    ends = (np.inf, -np.inf) if dtype[0] == "f" else (np.iinfo(dtype).max, np.iinfo(dtype).min)
    mask = np.random.default_rng(1).random((40, 33)) < 0.2
    mask[-1] = mask[:, -1] = True
    for (name, worst), axis in itertools.product(zip(PLACES, ends * 2, strict=True), (0, 1)):
        x = np.full(mask.shape, worst, dtype)
        got = getattr(gred, name)(x, axis, where=mask)
        assert np.array_equal(got, mask.argmax(axis)), name
        if name.startswith("nan") and dtype[0] == "f":
            x[~mask] = np.nan
            assert np.array_equal(getattr(gred, name)(x, axis), mask.argmax(axis)), name


# ---- many results ----


def apart(name, x, **options):
    """Reduce columns into every third element of `out`, and check that the others are untouched."""
    out = np.zeros((x.shape[1], 3), x.dtype)
    getattr(gred, name)(x, axis=0, out=out[:, 1], **options)
    assert not out[:, ::2].any()
    return out[:, 1]


@quiet
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", range(1, 9))
def test_means_of_few_rows_are_divided_and_rounded_as_numpys(n, dtype):
    """NumPy, too, adds few rows one after the other."""
    kind, random = np.finfo(dtype), np.random.default_rng(n)
    for columns in (2, 15, 64, 65, 127, 128, 129, 5000):
        x = random.standard_normal((n, columns)).astype(dtype)
        x[:, ::3] *= kind.max / n
        x[:, 1::3] = random.integers(-9, 9, x[:, 1::3].shape) * kind.smallest_subnormal
        x[:, columns // 2] = -0.0
        x[0, -1] = np.nan
        expected = np.mean(x, axis=0)
        assert gred.mean(x, axis=0).tobytes() == expected.tobytes()
        assert apart("mean", x).tobytes() == expected.tobytes()


@quiet
@pytest.mark.parametrize("half", [np.dtype(np.float16), BFLOAT16], ids=str)
def test_halves_are_rounded_to_nearest_and_ties_to_even(half):
    """Two halves are added in float32, and the mean is divided in float64."""
    random = np.random.default_rng(3)
    for k in range(8):
        x = np.stack([EVERY_HALF, random.permutation(EVERY_HALF), np.zeros_like(EVERY_HALF)])
        x = x.view(half)[:, : 65_530 + k]
        pairs = x[0].astype(np.float32) + x[1].astype(np.float32)
        wide, rows = pairs.astype(np.float64), np.ascontiguousarray(x[:2].T)
        for result in (gred.sum(x[:2], axis=0), gred.sum(rows, axis=1), apart("sum", x[:2])):
            assert same(result, pairs.astype(half))
        for n in (2, 3):
            assert same(gred.mean(x[:n], axis=0), (wide / n).astype(half))


@quiet
def test_spreads_of_halves_are_rounded_to_nearest_and_ties_to_even():
    """Half the distance of two numbers is exact, and so is its square if it has few bits."""
    x = np.zeros((2, 1 << 15), np.float16)
    x[0] = EVERY_HALF[: 1 << 15].view(np.float16)
    distances = np.where(np.isfinite(x[0]), x[0].astype(np.float64) / 2, np.nan)
    for columns in (1, 3, 64, 67, 1 << 15):
        for name, power in (("std", 1), ("var", 2)):
            expected = (distances[:columns] ** power).astype(np.float16)
            assert same(getattr(gred, name)(x[:, :columns], axis=0), expected)
            assert same(apart(name, x[:, :columns]), expected)


@pytest.mark.parametrize("given", ["int8", "uint16", "bool", "uint32"])
@pytest.mark.parametrize("name", ["min", "max"])
def test_what_is_hidden_loses_to_an_initial_value_beyond_the_elements_type(name, given):
    """The identity of the narrow type would win against it."""
    x = (np.arange(40) % 3).reshape(10, 4).astype(given)
    shown = np.ones((10, 4), bool)
    shown[:, 1] = False
    options = {"axis": 0, "initial": 2**40 if name == "min" else -5, "where": shown}
    expected = getattr(np, name)(x.astype("int64"), **options)
    result = getattr(gred, name)(x, dtype="int64", **options)
    assert (result == expected).all()
    assert result[1] == options["initial"]


SHAPES = [(1, 9), (2, 3000), (3, 5), (3, 257), (16, 65), (35, 2), (35, 700), (255, 20), (256, 3)]
SHAPES += [(300, 1025), (70_001, 3)]
INTO_INTEGERS = ("int32", "int64", "uint64", "int16")


@quiet
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_means_are_of_what_the_mask_shows(shape):
    """Sums are exact; the quotient is rounded once, or truncated for integers."""
    numbers = np.random.default_rng(1).integers(0, 9, shape)
    given = [numbers.astype(dtype) for dtype in ("f2", "f4", "f8", "c8", "i1", "i4", "u4", "?")]
    for x, mask in itertools.product(given, (np.ones(shape, bool), *masks(shape))):
        shown = mask.view(np.uint8) != 0
        hiding = np.where(shown, x, np.nan).astype(x.dtype) if x.dtype.kind in "fc" else x
        known = np.where(shown, x, 0).astype("complex128")
        for turn, axis in itertools.product((np.asarray, np.transpose), (0, 1)):
            count, total = (turn(part).sum(axis) for part in (shown, known))
            where = True if shown.all() else turn(mask)
            holds = [kind for kind in INTO_INTEGERS if total.real.max() <= np.iinfo(kind).max]
            for dtype in (None, *(holds if count.all() and x.dtype.kind in "biu" else ())):
                result = gred.mean(turn(hiding), axis=axis, dtype=dtype, where=where)
                for part in ("real", "imag")[: 1 + (x.dtype.kind == "c")]:
                    got = np.ascontiguousarray(getattr(result, part))
                    with np.errstate(all="ignore"):
                        expected = getattr(total, part) / count
                    assert same(got, expected.astype(dtype or got.dtype))


# ---- output tiles of several blocks, and rows that stop early ----

TYPES = ("float32", "float64", "int8", "float16", "bool", "complex64", ">i4")
BLOCKS = [(7, 3, 2), (60, 4, 5), (2, 300, 2), (400, 2, 3, 2), (3, 40, 2, 9), (90, 16, 1, 4)]
BLOCKS += [(5, 2, 70, 3, 2)]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", BLOCKS, ids=str)
def test_a_tile_of_several_blocks_is_of_numpys_elements(shape, dtype):
    """Reduce few rows of few or strided columns, of integers, whose sums are exact in any order."""
    random = np.random.default_rng(len(shape))
    whole = random.integers(0, 9, [2 * n for n in shape]).astype(dtype)
    every_second = [slice(None, 2 * n, 2) for n in shape]
    arrays = [whole[tuple(slice(n) for n in shape)].copy(), whole[tuple(every_second)]]
    for x in (*arrays, arrays[1].transpose(), arrays[0][::-1]):
        for count in range(1, x.ndim):
            for axes in itertools.combinations(range(x.ndim), count):
                for name in ("sum", "any", "max", *["argmax"] * (count == 1)):
                    axis = axes[0] if name == "argmax" else axes
                    expected = getattr(np, name)(x, axis=axis)
                    np.testing.assert_array_equal(getattr(gred, name)(x, axis=axis), expected)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32"])
@pytest.mark.parametrize("rows", [1, 3, 500])
def test_a_row_is_settled_by_no_element_that_others_have(rows, dtype):
    """One element differs: early in some rows and late in others, or in none."""
    names = ("any", "all", *(("min", "max", "argmin", "argmax") if dtype == "bool" else ()))
    for n, place in itertools.product((127, 129, 300, 4096, 9000), (0, 127, 128, 298, 4095, 8999)):
        for others in (0, 1):
            x = np.full((rows, n), others, dtype)
            x[rows // 2 :, place : place + 1] = 1 - others
            x[0, :1] = x[0, :1] if rows == 1 else 1 - others
            for name in names:
                expected = getattr(np, name)(x, axis=1)
                np.testing.assert_array_equal(getattr(gred, name)(x, axis=1), expected)


def test_nothing_behind_short_rows_is_read():
    """Overlapping rows, shorter than what is inspected first, up to the end of a page."""
    memory = guarded(1)
    end = memory[memory.size - 1008 :].view(np.complex128)
    end[:] = 0
    x = np.lib.stride_tricks.as_strided(end, (2, 3, 60), (16, 16, 16))
    assert not gred.any(x, axis=(1, 2)).any()
    end[-1] = 1
    np.testing.assert_array_equal(gred.any(x, axis=(1, 2)), [False, True])
