"""Exact sums along axes: each result is rounded once, however its elements lie, on every device.

The truth is fractions. Devices take rows by blocks and by threads, columns by threads, by one block
and by many of them, in shuffled order; results go where they are wanted, and are made one by one
where there is no memory for more.
"""

import itertools

import numpy as np
import pytest
from along import normal, rows_of, shape_of
from devices import to_host
from exact_loops import kinds
from exact_truths import BITS, exact_square, nearest_root, of_bits, same_bits, truth
from exactly import NAMES, typed
from reference import BFLOAT16, COMPLEX, MANTISSA_BITS, PARTS, REALS
from samples import quietly, there
from thin import chosen

import gred

pytestmark = pytest.mark.usefixtures("shuffled")
both_axes = pytest.mark.parametrize("axis", [0, 1])
LANES = 32  # results that are brought together, and a loop's most elements
LOOP = 4096
ROWS = 4096  # of columns that are added at once
APART = [2.0**-40, 2.0**-60, 2.0**-80, 2.0**-100, 2.0**-120, 2.0**-1000]


def exact(name, x, axis, **options):
    """Reduce exactly, where results stay if the array lies there; copy them to the host."""
    return to_host(quietly(name, x, axis=axis, method="exact", **options))


def rounded_once(name, kept, dtype):
    """Round the fraction of a result's elements to a type, parts of complex numbers apart."""
    if name == "norm":
        return nearest_root(exact_square(kept), dtype)
    if kept.dtype not in COMPLEX:
        return truth(name, kept, dtype)
    kept = kept[~np.isnan(kept)] if name.startswith("nan") else kept
    parts = [truth(name.removeprefix("nan"), part, PARTS[dtype]) for part in (kept.real, kept.imag)]
    return np.array(parts).view(dtype)[0]


def wanted(name, x, axis, dtype, where=True):
    axes = normal(axis, x.ndim)
    rows = zip(rows_of(x, axes), rows_of(np.broadcast_to(where, x.shape), axes), strict=True)
    made = np.array([rounded_once(name, row[shown], dtype) for row, shown in rows], dtype)
    return made.reshape(shape_of(x, axes, False))


def check(device, name, x, axis, layout=lambda x: x, **options):
    """Compare every result with the fractions of its elements."""
    got = exact(name, there(x, device, layout), axis, **options)
    assert same_bits(got, wanted(name, layout(x), axis, got.dtype))


@typed
@pytest.mark.parametrize("kind", range(10))
@both_axes
def test_numbers_of_every_kind_are_added_exactly(device, dtype, kind, axis):
    """In windows, across them and beyond them; results in lanes, and the last ones beside them."""
    n = 70
    shapes = [(n, width) if axis == 0 else (width, n) for width in (1, 31, LANES, 2 * LANES + 1)]
    for shape in shapes if device == "host" else ((5, 200), (33, 128), (40, 3), (2, 129)):
        x = next(itertools.islice(kinds(dtype, shape[0] * shape[1], shape[0]), kind, None))
        for name, options in (("sum", {}), ("mean", {}), ("sum", {"dtype": np.float32})):
            check(device, name, x.reshape(shape), axis, **options)


@typed
@pytest.mark.parametrize(
    "n",
    [
        *[1, 2, 3, 7, 8, 9, 31, 33, 127, 129, 511, 513, 1100, 9000, 40_000],
        *[ROWS, ROWS + 1, LOOP - 1, LOOP, LOOP + 1],
    ],
)
def test_results_of_any_length_are_added_exactly(device, dtype, n):
    """Of a kind, or each of its own magnitude."""
    every = itertools.product((2, 3, 32, 33), (False, True))
    for results, by_row in chosen(every, n, dtype, device):
        random = np.random.default_rng(n + results)
        exponents = random.integers(-12, 12, (n, 1) if by_row else results)
        x = (random.normal(size=(n, results)) * np.exp2(exponents)).astype(dtype)
        check(device, "sum", x, 0)
        check(device, "mean" if device == "host" else "sum", np.ascontiguousarray(x.T), 1)


@pytest.mark.parametrize("tiny", APART)
def test_what_lies_far_apart_is_added_exactly(device, tiny):
    """In windows, across them, and beyond them; with what cancels all but the least."""
    x = np.where(np.arange(1200 * 6) % 3, 1.75, tiny).reshape(1200, 6)
    cancelling = x[:600].copy()
    cancelling[300:] = -cancelling[:300]
    cancelling[77] = tiny
    for y in (x, cancelling):
        for part, axis in ((y, 0), (y[:90], 1), (np.ascontiguousarray(y.T), 1), (y[:90], 0)):
            check(device, "sum", part, axis)
            check(device, "mean", -part, axis)


@pytest.mark.parametrize("first", [0.0, 2.0**-1074, 1e-300, 1e300])
def test_windows_are_chosen_anew_where_numbers_change(device, first):
    x = np.random.default_rng(3).normal(size=(300, 3))
    x[:50] = first
    check(device, "sum", x, 0)
    check(device, "sum", np.ascontiguousarray(x[:100].T), 1)


def test_sums_that_two_floats_hold_are_rounded_once(device):
    """Not to a float64 and then to a float32; and however far apart the two lie."""
    x = np.array([2.0**20 + 2.0**-4, 2.0**-6 + 2.0**-58, -(2.0**-6)])
    assert np.float32(x.sum()) < np.float32(2.0**20 + 2.0**-3)
    for length, sign in itertools.product((3, 3 * LANES, ROWS + 1), (1, -1)):
        columns = np.zeros((length, LANES))
        columns[:3] = sign * x[:, None]
        check(device, "sum", columns, 0, dtype=np.float32)
        check(device, "sum", columns, 0)
    far, much = (2.0**-1074, 3 * 2.0**-1073, 2.0**-1050), (0, 2.0**-1000, 2.0**-970, 1, 2.0**1000)
    for least, most, name in itertools.product(far, much, ("sum", "mean")):
        x = np.full((4, LANES), least) * [[1], [0], [-3], [1]]
        x[1] = most
        check(device, name, x, 0)
        check(device, name, np.repeat(x, ROWS // 3, 0), 0)


def edges(dtype, n, count, seed=1):
    """Draw rows of n whose sums, or n-ths of them, lie at or beside the middle of two floats."""
    random = np.random.default_rng(seed)
    bits = random.integers(0, 2 ** (8 * dtype.itemsize), count, np.uint64)
    bits[: count // 4] %= 2 ** (MANTISSA_BITS[dtype] + 2)  # subnormal numbers, and the least others
    first = of_bits(bits.astype(BITS[dtype]), dtype)
    first[~np.isfinite(first.astype(np.float64))] = 1
    x = np.zeros((n, count), dtype)
    x[0] = first
    if n > 1:
        _, exponents = np.frexp(first.astype(np.float64))
        middle = np.ldexp(
            random.choice([-0.5, 0.5, 1, 1.5], count), exponents - MANTISSA_BITS[dtype]
        )
        further = random.choice([2 * MANTISSA_BITS[dtype], 40], count)
        beside = np.ldexp(1.0, exponents - further)
        x[1] = middle.astype(dtype)
        x[-1] += (random.integers(-1, 2, count) * beside).astype(dtype)
    return x


@typed
@pytest.mark.parametrize("n", [1, 2, 3, 7, 200])
def test_rows_of_results_are_each_rounded_once(dtype, n):
    """Where they or their elements lie side by side; to any type, with and without a divisor."""
    x = edges(dtype, n, 2 * LANES * 8 + 5)
    every = itertools.product(("sum", "mean"), REALS, (0, 1))
    for name, to, layout in chosen(every, dtype, n):
        y = x if layout == 0 else np.ascontiguousarray(x.T)
        got = exact(name, y, layout, dtype=to)
        assert same_bits(got, wanted(name, y, layout, to))


@typed
@pytest.mark.parametrize("width", [1, 5, 16, 31, 33, 255, 257])
def test_columns_beside_others_and_at_the_end_of_memory_are_their_own(dtype, width):
    """What is added for the sake of whole registers is of other results, or of no number."""
    whole = np.full((ROWS + 9, width + 40), np.nan, dtype)
    whole[:, :width] = np.random.default_rng(width).normal(size=(len(whole), width)).astype(dtype)
    for rows in (3, 200, len(whole)):
        for part in (whole[:rows, :width], np.ascontiguousarray(whole[:rows, :width])):
            assert same_bits(exact("sum", part, 0), wanted("sum", part, 0, dtype))


@pytest.mark.parametrize("name", NAMES)
@typed
def test_what_is_no_finite_number_stays_with_its_result(device, name, dtype):
    x = np.random.default_rng(2).normal(size=(40, 150)).astype(dtype)
    x[3, 4], x[5, 6], x[7, 6], x[8, 9], x[10, 20] = np.nan, np.inf, -np.inf, np.inf, np.nan
    x[12], x[:, 30] = np.nan, np.nan
    for axis in (0, 1):
        check(device, name, x, axis)


@typed
@both_axes
def test_a_mask_leaves_elements_out_of_each_result(device, dtype, axis):
    random = np.random.default_rng(4)
    x = random.normal(size=(50, 37)).astype(dtype)
    shown = random.random(x.shape) < 0.4
    shown[:, 5], shown[6] = False, True
    for mask in (shown, there(shown, device)):
        got = exact("sum", there(x, device), axis, where=mask)
        assert same_bits(got, wanted("sum", x, axis, dtype, shown))


@both_axes
def test_initial_values_take_part_and_the_sign_of_zero_is_numpys(device, axis):
    x = np.random.default_rng(5).normal(size=(40, 40))
    got = exact("sum", there(x, device), axis, initial=0.1)
    ends = np.full((1, 40) if axis == 0 else (40, 1), 0.1)
    assert same_bits(got, wanted("sum", np.append(x, ends, axis), axis, x.dtype))
    zeros = np.array([[-0.0, 0.0, -0.0], [-0.0, -0.0, -0.0]])
    for options in ({}, {"initial": None}, {"initial": -0.0}):
        got = exact("sum", there(zeros, device), axis, **options)
        assert same_bits(got, np.add.reduce(zeros, axis, **options))


@both_axes
def test_means_of_integers_are_rounded_once(device, axis):
    x = np.random.default_rng(6).integers(-(2**63), 2**63 - 1, (150, 9))
    check(device, "mean", x, axis)


@typed
def test_overflow_is_of_the_sum_alone(device, dtype):
    most = np.finfo(dtype).max if dtype != BFLOAT16 else dtype.type(3.3895314e38)
    x = np.tile(np.array([most, most, -most, -most, 1], dtype), (20, 37))
    for axis, name in itertools.product((0, 1), ("sum", "mean")):
        check(device, name, x, axis)


@pytest.mark.parametrize("name", [*NAMES, "norm"])
@pytest.mark.parametrize("dtype", [*REALS, *COMPLEX], ids=str)
def test_several_axes_and_complex_numbers_are_rounded_once(device, name, dtype):
    random = np.random.default_rng(8)
    shape = (6, 5, 70) if device == "host" else (2, 3, 20)  # a launch or more each
    x = np.ldexp(random.normal(size=shape), random.integers(-12, 9, shape))
    x = (x + 1j * np.flip(x) if dtype in COMPLEX else x).astype(dtype)
    if name != "norm":
        x[0, 0, :3] = np.nan
    for axis in (0, 1, 2, (0, 2), (1, 2)):
        got = exact(name, x, axis, device=device)
        assert same_bits(got, wanted(name, x, axis, got.dtype))


def test_all_arguments_have_their_meaning(device):
    def summed(x, *arguments, name="sum", **options):
        return getattr(gred, name)(x, *arguments, method="exact", device=device, **options)

    x = np.array([[1e100, 1.0, -1e100], [3.0, 5.0, 2.0]])
    where, out = np.array([[True, True, True], [False, True, True]]), np.zeros(2, np.float32)
    assert summed(x, axis=1, out=out[::-1]) is not None
    assert out.tolist() == [10, 1]
    assert summed(x, 1, name="mean", where=where).tolist() == [1 / 3, 3.5]
    assert summed(x, 1, initial=-1e100).tolist() == [-1e100, -1e100]
    assert summed(x, keepdims=True).tolist() == [[11.0]]
    assert summed(np.zeros((3, 0)), 1).tolist() == [0.0] * 3
    assert summed(np.zeros((0, 3)), 1).shape == (0,)
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
        assert np.isnan(summed(np.zeros((3, 0)), 1, name="mean")).all()


on_devices = pytest.mark.parametrize(
    "place", ["simulated", pytest.param("cuda", marks=pytest.mark.gpu)]
)


@on_devices
def test_one_launch_makes_all_and_explain_says_so(place):
    x = np.ones((40, 300), np.float32)
    assert isinstance(gred.sum(there(x, place), axis=0, method="exact"), gred.DeviceArray)
    rows, columns = (gred.explain(there(x, place), axis=k, method="exact") for k in (1, 0))
    assert [step.work for step in rows.steps] == ["exact rows"]
    assert [step.work for step in columns.steps] == ["exact columns"]
    assert (rows.results, rows.at_once, rows.steps[0].grid) == (40, 40, 40)
    assert (rows.accumulator, rows.method, rows.workspace_nbytes) == ("float32", "exact", 0)
    masked = gred.explain(there(x, place), axis=1, method="exact", where=x > 0)
    assert masked.at_once == 1


def threads_of_a_column(x, place):
    (step,) = gred.explain(there(x, place), axis=0, method="exact").steps
    return step.grid // 2 * step.block_size // 32


def test_a_window_is_emptied_before_its_sum_rounds():
    """What the first leaves of each number is half of what may be left, of the same sign.

    Threads of a GPU are too many to have so much each.
    """
    n, results, place = 200_000, 33, "simulated"
    while n // (threads := threads_of_a_column(np.empty((n, results), np.float32), place)) <= 1100:
        n *= 2
    ones = max(20_000, threads * 8)
    x = np.full((n, results), 2.0**-5 + 2.0**-28, np.float32)
    x[:ones] = 1
    got = exact("sum", there(x, place), 0, dtype=np.float64)
    assert (got == ones + (n - ones) * (2.0**-5 + 2.0**-28)).all()
