"""Exact results along axes are each rounded once, in any layout, on every device.

Devices reduce rows by blocks and by threads, columns by threads, by one block and by several, in
shuffled order. Results go where they are requested, one at a time where memory is short.
"""

import itertools

import numpy as np
import pytest
from devices import everywhere, laid_out, to_host
from exact_truths import kinds, of_bits, same, truths
from exactly import NAMES, NARROW, WIDE, exact, quiet, typed
from reference import BFLOAT16, COMPLEX, MANTISSA_BITS, REALS
from thin import chosen

import gred

pytestmark = pytest.mark.usefixtures("shuffled")
both_axes = pytest.mark.parametrize("axis", [0, 1])
LANES = 32  # results gathered together, and a loop's most elements
LOOP = ROWS = 4096  # elements of a loop, and rows of columns added at a time


def along(name, x, axis, **options):
    """Reduce exactly, with results on the array's device; copy them to the host."""
    results = exact(name, x, axis=axis, **options)
    assert isinstance(results, gred.DeviceArray) != isinstance(x, np.ndarray)
    return to_host(results)


def check(device, name, x, axis, dtype=None):
    """Compare every result with fractions of its elements; rows also as segments and by key."""
    want, told = truths(name, x, axis, dtype), (name, x.dtype, x.shape, x.strides, axis, dtype)
    assert same(along(name, laid_out(x, device), axis, dtype=dtype), want), told
    if axis == 1 and x.ndim == 2 and x.dtype in REALS and x.size < 20_000:
        places = np.repeat(np.arange(len(x)), x.shape[1])
        there, options = laid_out(x.ravel(), device), {"dtype": dtype, "method": "exact"}
        segments = gred.reduceat(name, there, np.arange(0, x.size, x.shape[1]), **options)
        assert same(to_host(segments), want), told
        if name != "norm":
            keyed = gred.by_key(name, laid_out(places, device), there, len(x), **options)
            assert same(to_host(keyed), want), told


# These yield arrays with axes, names and result types; a type of None is the default.
ALL = (0, 1), ("sum", "mean"), (None,)


def of_every_kind():
    """Numbers inside, across and beyond windows; results that fill lanes, or not."""
    widths = (1, 31, LANES, 2 * LANES + 1, 129)
    for dtype, kind, width in chosen(itertools.product(REALS, range(10), widths)):
        x = next(itertools.islice(kinds(dtype, 70 * width, width), kind, None))
        yield x.reshape(70, width), (0,), ("sum", "mean"), (None,)
        yield x.reshape(width, 70), (1,), ("sum", "mean"), (NARROW,)


def of_any_length():
    """Elements with one magnitude per row, or one per result."""
    lengths = (1, 2, 3, 7, 8, 9, 31, 33, 127, 129, 511, 513, 1100, 9000, 40_000)
    lengths += (ROWS, ROWS + 1, LOOP - 1, LOOP + 1)
    every = itertools.product(lengths, REALS, (2, 3, 32, 33), (False, True))
    for n, dtype, results, by_row in chosen(every):
        random = np.random.default_rng(n + results)
        exponents = random.integers(-12, 12, (n, 1) if by_row else results)
        x = (random.normal(size=(n, results)) * np.exp2(exponents)).astype(dtype)
        yield x, (0,), ("sum", "mean"), (None,)
        yield np.ascontiguousarray(x.T), (1,), ("sum", "norm"), (None,)


def far_apart():
    """Inside, across and beyond windows; some cancel down to the smallest element."""
    for tiny in (2.0**-40, 2.0**-60, 2.0**-80, 2.0**-100, 2.0**-120, 2.0**-1000):
        x = np.where(np.arange(1200 * 6) % 3, 1.75, tiny).reshape(1200, 6)
        cancelling = x[:600].copy()
        cancelling[300:] = -cancelling[:300]
        cancelling[77] = tiny
        for y in (x, cancelling):
            yield y, (0,), ("sum", "mean"), (None,)
            yield -y[:90], *ALL
            yield np.ascontiguousarray(y.T), (1,), ("sum",), (None,)
    for first, axis in itertools.product((0.0, 2.0**-1074, 1e-300, 1e300), (0, 1)):
        x = np.random.default_rng(3).normal(size=(300, 3))
        x[:50] = first
        yield np.ascontiguousarray(x.T) if axis else x, (axis,), ("sum",), (None,)


def between_floats():
    """At or next to midpoints of adjacent floats, also after a division, and subnormal."""
    for dtype, n in itertools.product(REALS, (1, 2, 3, 7, 3 * LANES, 200)):
        random, count = np.random.default_rng(1), 4 * LANES + 5
        bits = random.integers(0, 2 ** (8 * dtype.itemsize), count, np.uint64)
        bits[: count // 4] %= 2 ** (MANTISSA_BITS[dtype] + 2)
        x = np.zeros((n, count), dtype)
        x[0] = of_bits(bits.astype(f"u{dtype.itemsize}"), dtype)
        x[0, ~np.isfinite(x[0].astype(WIDE))] = 1
        if n > 1:
            _, exponents = np.frexp(x[0].astype(WIDE))
            halves = random.choice([-0.5, 0.5, 1, 1.5], count)
            x[1] = np.ldexp(halves, exponents - MANTISSA_BITS[dtype]).astype(dtype)
            beside = exponents - random.choice([2 * MANTISSA_BITS[dtype], 26, 40, 1000], count)
            x[-1] += np.ldexp(random.integers(-1.0, 2, count), beside).astype(dtype)
        every = itertools.product(("sum", "mean"), REALS, (0, 1))
        for name, to, axis in (("sum", dtype, 0), *chosen(every, dtype, n)):
            yield np.ascontiguousarray(x.T) if axis else x, (axis,), (name,), (to,)


def beside_others():
    """To fill registers, elements of other results, or NaN, are added too."""
    every = list(itertools.product(REALS, (1, 5, 16, 31, 33, 255, 257)))
    long_ones = chosen(every)
    for dtype, width in every:
        whole = np.full((ROWS + 9, width + 40), np.nan, dtype)
        x = whole[:, :width]
        x[:] = np.random.default_rng(width).normal(size=x.shape).astype(dtype)
        long = [x, x[::-1], x.copy()] if (dtype, width) in long_ones else []
        for part in (x[:3], x[:200], x[:200].copy(), *long):
            yield part, (0,), ("sum",), (None,)


def not_finite():
    for dtype in REALS:
        x = np.random.default_rng(2).normal(size=(40, 150)).astype(dtype)
        x[3, 4], x[5, 6], x[7, 6], x[8, 9], x[10, 20] = np.nan, np.inf, -np.inf, np.inf, np.nan
        x[12], x[:, 30] = np.nan, np.nan
        yield x, (0, 1), NAMES, (None,)
        most = np.finfo(dtype).max if dtype != BFLOAT16 else dtype.type(3.3895314e38)
        yield np.tile(np.array([most, most, -most, -most, 1], dtype), (20, 37)), *ALL


def of_other_types_and_dimensions():
    """Integer means, both parts of complex numbers, norms and several axes; one launch or more."""
    x = np.random.default_rng(6).integers(-(2**63), 2**63 - 1, (150, 9))
    yield x, (0, 1), ("mean",), (None,)
    random = np.random.default_rng(8)
    for dtype, shape in itertools.product((*REALS, *COMPLEX), ((6, 5, 70), (2, 3, 20))):
        x = np.ldexp(random.normal(size=shape), random.integers(-12, 9, shape))
        x = (x + 1j * np.flip(x) if dtype in COMPLEX else x).astype(dtype)
        for axis in chosen((0, 1, 2, (0, 2), (1, 2)), dtype, shape):
            yield x, (axis,), ("norm",), (None,)
            x[0, 0, :3] = np.nan
            yield x, (axis,), NAMES, (None,)
            x[0, 0, :3] = 1


ARRAYS = (of_every_kind, of_any_length, far_apart, between_floats, beside_others, not_finite)
ARRAYS += (of_other_types_and_dimensions,)


@quiet
@pytest.mark.parametrize("arrays", ARRAYS)
def test_each_result_is_rounded_once(device, arrays):
    for x, axes, names, dtypes in arrays():
        for axis, name, dtype in itertools.product(axes, names, dtypes):
            check(device, name, x, axis, dtype)


@typed
@both_axes
def test_a_mask_leaves_elements_out_of_each_result(device, dtype, axis):
    random = np.random.default_rng(4)
    x = random.normal(size=(50, 37)).astype(dtype)
    shown = random.random(x.shape) < 0.4
    shown[:, 5], shown[6] = False, True
    for mask in (shown, laid_out(shown, device)):
        got = along("sum", laid_out(x, device), axis, where=mask)
        assert same(got, truths("sum", x, axis, where=shown))


@both_axes
def test_initial_values_take_part_and_the_sign_of_zero_is_numpys(device, axis):
    x = np.random.default_rng(5).normal(size=(40, 40))
    got = along("sum", laid_out(x, device), axis, initial=0.1)
    ends = np.full((1, 40) if axis == 0 else (40, 1), 0.1)
    assert same(got, truths("sum", np.append(x, ends, axis), axis))
    zeros = np.array([[-0.0, 0.0, -0.0], [-0.0, -0.0, -0.0]])
    for options in ({}, {"initial": None}, {"initial": -0.0}):
        got = along("sum", laid_out(zeros, device), axis, **options)
        assert same(got, np.add.reduce(zeros, axis, **options))


def test_nothing_has_sums_and_means(device):
    x = np.zeros((3, 0))
    for name, right in (("sum", 0.0), ("mean", np.nan)):
        assert same(along(name, x, 1, device=device), np.full(3, right))
        assert along(name, x.T, 1, device=device).shape == (0,)
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
        gred.mean(x, 1, method="exact", device=device)


@everywhere
@typed
@pytest.mark.parametrize("out_type", [*REALS, np.dtype(np.int32)], ids=str)
def test_what_is_written_to_out_is_rounded_once(place, dtype, out_type):
    x = (np.random.default_rng(8).normal(size=(3, 4, 140)) * 9).astype(dtype)
    for axis, name in chosen(itertools.product(range(3), ("sum", "mean")), dtype, out_type):
        out = laid_out(np.zeros(np.delete(x.shape, axis), out_type), place)
        getattr(gred, name)(laid_out(x, place), axis, method="exact", out=out)
        want = truths(name, x, axis, out_type if out_type in REALS else WIDE).astype(out_type)
        assert same(to_host(out).reshape(want.shape), want)


@everywhere
@pytest.mark.parametrize(("shape", "axis"), [((1300, 33), 0), ((3, 40_000), 1), ((2, 1300, 40), 1)])
def test_results_that_blocks_share_are_made_one_by_one_where_memory_is_short(place, shape, axis):
    ones = laid_out(np.ones(shape, np.float32), place)
    whole = gred.explain(ones, axis=axis, method="exact")
    assert whole.at_once == whole.results > 1
    for less, at_once in ((0, whole.results), (1, 1)):
        with gred.workspace_limit(whole.workspace_nbytes - less):
            assert gred.explain(ones, axis=axis, method="exact").at_once == at_once
            x = np.random.default_rng(10).normal(size=shape)
            x[..., 1, 5], x[..., 0, ::9] = np.inf, np.nan
            check(place, chosen(NAMES, shape)[0], x[..., ::-1], axis)


def test_a_window_is_emptied_before_its_sum_rounds():
    """The first window leaves half of the largest remainder of each number, of the same sign.

    A GPU has too many threads for so many elements each.
    """

    def threads_of_a_column(x):
        (step,) = gred.explain(laid_out(x, "simulated"), axis=0, method="exact").steps
        return step.grid // 2 * step.block_size // 32

    n, results = 200_000, 33
    while n // (threads := threads_of_a_column(np.empty((n, results), np.float32))) <= 1100:
        n *= 2
    ones = max(20_000, threads * 8)
    x = np.full((n, results), 2.0**-5 + 2.0**-28, np.float32)
    x[:ones] = 1
    got = along("sum", laid_out(x, "simulated"), 0, dtype=np.float64)
    assert (got == ones + (n - ones) * (2.0**-5 + 2.0**-28)).all()
