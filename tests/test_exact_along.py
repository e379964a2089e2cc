"""Exact sums along axes on the host: each result rounded once, however its elements lie."""

import itertools

import numpy as np
import pytest
from exact_loops import kinds
from exact_truths import exact_products, nearest_root, same, truth
from reference import BFLOAT16, REALS
from thin import chosen

import gred

typed = pytest.mark.parametrize("dtype", REALS, ids=str)
LANES = 32  # results that are brought together, and a loop's most elements
LOOP = 4096
ROWS = 2048  # of columns that are added at once
KINDS = 10


def check(name, x, axis, **options):
    """Compare every result with the fractions of its elements."""
    got = getattr(gred, name)(x, axis=axis, method="exact", **options)
    rows = np.moveaxis(x, axis, -1)
    assert got.shape == rows.shape[:-1]
    for index in np.ndindex(got.shape):
        assert same(got[index], truth(name, rows[index], got.dtype)), index


@typed
@pytest.mark.parametrize("kind", range(KINDS))
@pytest.mark.parametrize("axis", [0, 1])
def test_numbers_of_every_kind_are_added_exactly(dtype, kind, axis):
    """In windows, across them and beyond them; results in lanes, and the last ones beside them."""
    n = 70
    for width in (1, LANES - 1, LANES, 2 * LANES + 1):
        x = next(itertools.islice(kinds(dtype, n * width, width), kind, None))
        shape = (n, width) if axis == 0 else (width, n)
        check("sum", x.reshape(shape), axis)
    check("mean", x.reshape(shape), axis)
    check("sum", x.reshape(shape), axis, dtype=np.float32)


@typed
@pytest.mark.parametrize(
    "n", [1, 2, 3, 31, 33, 511, 513, ROWS, ROWS + 1, LOOP - 1, LOOP, LOOP + 1, 9000]
)
def test_results_of_any_length_are_added_exactly(dtype, n):
    for seed, shape in ((n, (n, 3)), (n + 1, (n, LANES + 1)), (n + 2, (3, n))):
        random = np.random.default_rng(seed)
        x = random.normal(size=shape) * np.exp2(random.integers(-12, 12, shape[1]))
        for axis in (0, 1) if n < 600 else (int(shape[0] < shape[1]),):
            check("sum", x.astype(dtype), axis)
            check("mean", x.astype(dtype), axis)


@pytest.mark.parametrize("tiny", [2.0**-40, 2.0**-60, 2.0**-80, 2.0**-100, 2.0**-120])
def test_what_lies_far_apart_is_added_exactly(tiny):
    """One window holds it, two, three, which need many numbers, or none."""
    x = np.where(np.arange(1200 * 20) % 3, 1.75, tiny).reshape(1200, 20)
    for shown, axis in ((x, 0), (x[:30], 1), (np.ascontiguousarray(x.T), 1)):
        check("sum", shown, axis)
        check("mean", -shown, axis)


def test_sums_that_two_floats_hold_are_rounded_once():
    """Not to a float64 and then to a float32, where that makes a difference."""
    x = np.array([2.0**20 + 2.0**-4, 2.0**-6 + 2.0**-58, -(2.0**-6)])
    assert np.float32(x.sum()) < np.float32(2.0**20 + 2.0**-3)
    for length in (3, 3 * LANES, ROWS + 1):
        columns = np.zeros((length, LANES))
        columns[:3] = x[:, None]
        for sign in (1, -1):
            check("sum", sign * columns, 0, dtype=np.float32)
            check("sum", sign * columns, 0)


@pytest.mark.parametrize("least", [2.0**-1074, 3 * 2.0**-1073, 2.0**-1050])
def test_sums_of_two_floats_far_apart_are_exact(least):
    for much in (0.0, 2.0**-1000, 2.0**-970, 1.0, 2.0**1000):
        x = np.full((4, LANES), least) * [[1], [0], [-3], [1]]
        x[1] = much
        for name in ("sum", "mean"):
            check(name, x, 0)
            check(name, np.repeat(x, ROWS // 3, 0), 0)


@pytest.mark.parametrize("name", ["sum", "mean", "nansum", "nanmean"])
@typed
def test_what_is_no_finite_number_stays_with_its_result(name, dtype):
    x = np.random.default_rng(2).normal(size=(40, 40)).astype(dtype)
    x[3, 4], x[5, 6], x[7, 6], x[8, 9], x[10, 20] = np.nan, np.inf, -np.inf, np.inf, np.nan
    for axis in (0, 1):
        check(name, x, axis)


@typed
def test_layouts_change_nothing(dtype):
    x = np.random.default_rng(3).normal(size=(12, 40, 24)).astype(dtype)
    room = np.zeros(x.nbytes + 1, np.uint8)[1:]
    beside = room.view(dtype).reshape(x.shape)
    beside[...] = x
    views = [x, x[::-1], x[:, ::2], x[:, :, ::-3], x.transpose(2, 0, 1), x.transpose(1, 2, 0)]
    views += [beside, x.astype(dtype.newbyteorder()) if dtype != BFLOAT16 else x]
    for place, axis in chosen(itertools.product(range(len(views)), range(3)), dtype):
        check("sum", views[place], axis)


@typed
@pytest.mark.parametrize("axis", [0, 1])
def test_a_mask_leaves_elements_out_of_each_result(dtype, axis):
    random = np.random.default_rng(4)
    x = random.normal(size=(50, 37)).astype(dtype)
    shown = random.random(x.shape) < 0.4
    shown[:, 5], shown[6] = False, True
    got = gred.sum(x, axis=axis, where=shown, method="exact")
    for k in range(got.size):
        row, chosen = (x[:, k], shown[:, k]) if axis == 0 else (x[k], shown[k])
        assert same(got[k], truth("sum", row[chosen], dtype))


@pytest.mark.parametrize("axis", [0, 1])
def test_initial_values_take_part(axis):
    x = np.random.default_rng(5).normal(size=(40, 40))
    got = gred.sum(x, axis=axis, initial=0.1, method="exact")
    for k in range(40):
        row = x[:, k] if axis == 0 else x[k]
        assert same(got[k], truth("sum", np.append(row, 0.1)))
    zeros = np.array([[-0.0, 0.0, -0.0], [-0.0, -0.0, -0.0]])
    signs = np.signbit(gred.sum(zeros, axis=0, initial=-0.0, method="exact"))
    assert signs.tolist() == [True, False, True]
    signs = np.signbit(gred.sum(zeros, axis=1, initial=None, method="exact"))
    assert signs.tolist() == [False, True]


def test_norms_are_rounded_once():
    x = np.ldexp(np.random.default_rng(6).normal(size=(30, 33)), np.arange(33))
    for axis in (0, 1):
        got = gred.norm(x, axis=axis, method="exact")
        for k in range(got.size):
            row = x[:, k] if axis == 0 else x[k]
            assert got[k] == nearest_root(exact_products(row, row), np.float64)


@typed
def test_overflow_is_of_the_sum_alone(dtype):
    most = np.finfo(dtype).max if dtype != BFLOAT16 else dtype.type(3.3895314e38)
    x = np.tile(np.array([most, most, -most, -most, 1], dtype), (20, 7))
    for axis in (0, 1):
        check("sum", x, axis)
        check("mean", x, axis)


def test_threads_make_the_same_bits():
    x = np.random.default_rng(7).lognormal(0, 4, (3000, 50))
    made = set()
    most = gred.threads()
    try:
        for threads in (1, 2, 5):
            gred.threads(threads)
            made.add(
                (gred.sum(x, 0, method="exact").tobytes(), gred.sum(x, 1, method="exact").tobytes())
            )
    finally:
        gred.threads(most)
    assert len(made) == 1
