"""Short rows of the types that have kernels of their own.

A block loads several rows at once to registers, or stages rows in shared memory, one after the
other however they lie, where teams read them by loads of any length. Tests force each of these at
sizes that the simulated device is quick with, in shuffled order, with results that fill blocks and
that do not.
"""

import itertools
import math
import warnings
from fractions import Fraction

import hooks
import ml_dtypes
import numpy as np
import pytest
from conftest import PLACES as DEVICES
from conftest import parameter
from test_axes_on_devices import to_host
from test_rows import laid_out
from thin import chosen

import gred

everywhere = pytest.mark.parametrize(
    "place", [parameter(place) for place in DEVICES if place != "host"]
)
TYPES = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int8)
every_type = pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: np.dtype(dtype).name)
EXACT = ("min", "max", "argmin", "argmax")
NAMES = (*EXACT, "sum", "mean", "var", "std")
LENGTHS = (*range(1, 131), 200, 255, 256, 257, 384, 500, 511, 512)

# Threads of a block that loads several rows, or 0, threads of one that stages rows, both as
# exponents, bytes that are staged, whether packs are turned, enough threads of a multiprocessor.
SHARINGS = {
    "measured": (0, 0, 0, 0, 0),
    "a row a thread": (5, 5, 40_000, 1, 1),
    "not turned": (0, 6, 40_000, 0, 1),
    "teams": (0, 5, 4000, 1, 1),
    "teams, not turned": (0, 5, 2500, 0, 1),
    "large blocks": (6, 8, 40_000, 1, 1),
    "teams of warps": (0, 5, 600, 1, 1 << 20),
}


@pytest.fixture
def forced():
    """Force one way after the other, and none afterwards."""
    yield lambda name: hooks.forced_short_rows(*SHARINGS[name])
    hooks.forced_short_rows(*SHARINGS["measured"])


@pytest.fixture(params=SHARINGS)
def sharing(request, forced):
    forced(request.param)
    return request.param


def drawn(dtype, rows, n, seed=0, lead=0):
    """Draw rows, the first of which begins so many elements behind a boundary."""
    random = np.random.default_rng([rows, n, seed])
    if dtype == np.int8:
        flat = random.integers(-128, 128, rows * n + lead).astype(dtype)
    else:
        flat = (random.normal(size=rows * n + lead) * 30 + 7).astype(dtype)
    return flat[lead:].reshape(rows, n)


def reduced(name, x, place, seed=0, **options):
    with gred.thread_order("shuffled", seed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return to_host(getattr(gred, name)(laid_out(x, place), axis=1, **options))


def wide(x):
    """Take the widest type that NumPy computes with, which is exact or next to it."""
    return x.astype(np.int64 if x.dtype == np.int8 else np.longdouble)


def unit(dtype):
    """Give the greatest relative error of rounding to a type."""
    return {2: 2.0**-8, 4: 2.0**-24, 8: 2.0**-53}[np.dtype(dtype).itemsize] * (
        2.0**-3 if dtype == np.float16 else 1
    )


def is_wrong(name, got, x):
    """Compare with what the widest types give, but for roundings."""
    if name in EXACT:
        want = getattr(np, name)(x.astype(np.float64), axis=1)
        return got.dtype != (np.int64 if "arg" in name else x.dtype) or not (want == got).all()
    n, y = x.shape[1], wide(x)
    if x.dtype == np.int8:
        if name == "sum":
            return got.dtype != np.int64 or not (got == y.sum(axis=1)).all()
        sums, squares = y.sum(axis=1), (y * y).sum(axis=1)
        right = {
            "mean": [Fraction(int(s), n) for s in sums],
            "var": [
                Fraction(int(n * q - s * s), n * n) for s, q in zip(sums, squares, strict=True)
            ],
        }.get(name)
        if name == "std":
            close = np.abs(got - np.std(y, axis=1)) <= 1e-14 * np.abs(got)
            return got.dtype != np.float64 or not close.all()
        rounded = np.array([float(value) for value in right])
        roundings = 0 if name == "mean" else 2.0**-51
        return got.dtype != np.float64 or not (np.abs(got - rounded) <= roundings * rounded).all()
    right = getattr(np, name)(y, axis=1)
    if name in ("sum", "mean"):
        accumulated = 2.0**-53 if x.dtype == np.float64 else 2.0**-24
        error = accumulated * n * np.abs(y).sum(axis=1) / (n if name == "mean" else 1)
    else:
        error = np.abs(right) * 2.0**-53 * 4 * n
    error = (1 + 2.0**-20) * (error + (np.abs(right) + error) * unit(x.dtype))
    return got.dtype != x.dtype or not (np.abs(got.astype(np.longdouble) - right) <= error).all()


@everywhere
@every_type
@pytest.mark.parametrize("name", NAMES)
def test_rows_of_every_length_are_reduced(place, sharing, name, dtype):
    wrong = []
    for n in chosen(LENGTHS, name, dtype, sharing):
        for rows in (1, 45):
            lead = (n * rows) % 5
            x = drawn(np.dtype(dtype), rows, n, lead=lead)
            if is_wrong(name, reduced(name, x, place, n), x):
                wrong.append((n, rows, lead))
    assert wrong == []


@everywhere
@every_type
@pytest.mark.parametrize("name", NAMES)
def test_blocks_are_full_or_not(place, sharing, name, dtype):
    wrong = []
    for n, least in ((2, 512), (3, 832), (4, 512), (6, 832), (8, 256), (31, 320)):
        for rows in (least - 1, least, 2 * least + 1):
            x = drawn(np.dtype(dtype), rows, n)
            if is_wrong(name, reduced(name, x, place, rows), x):
                wrong.append((n, rows))
    assert wrong == []


SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 1.0, -1.0, 2.0)


@everywhere
@pytest.mark.parametrize("dtype", TYPES[:4], ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("name", NAMES)
def test_nan_infinities_zeros_and_ties_are_as_in_numpy(place, sharing, name, dtype):
    random = np.random.default_rng(1)
    for n in (1, 2, 3, 4, 7, 8, 16, 31, 64, 100):
        for share in (0.02, 0.5, 1.0):
            few = random.random((300, n)) < share
            x = np.where(
                few, random.choice(SPECIAL, (300, n)), random.choice(SPECIAL[3:], (300, n))
            )
            x = x.astype(dtype)
            with np.errstate(all="ignore"):
                want = getattr(np, name)(x.astype(np.float64), axis=1)
            got = reduced(name, x, place, n).astype(np.float64)
            np.testing.assert_allclose(got, want, rtol=0.01, atol=1e-7)
            if "arg" in name:
                np.testing.assert_array_equal(got, want)


@everywhere
@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 31, 64, 100, 131, 512])
def test_the_ends_of_bytes_and_ties_of_them(place, sharing, n):
    random = np.random.default_rng(n)
    for x in (
        np.full((70, n), -128, np.int8),
        np.full((70, n), 127, np.int8),
        random.choice(np.array([-128, 127], np.int8), (70, n)),
        random.choice(np.array([-128, -127, 0], np.int8), (70, n)),
    ):
        for name in NAMES:
            assert not is_wrong(name, reduced(name, x, place), x), name


@everywhere
@every_type
def test_rows_of_equal_elements_do_not_vary(place, sharing, dtype):
    """Of float64 some do, of which sums are rounded."""
    values = {np.int8: (-128, 0, 127), np.float64: (60000.0,)}.get(dtype, (60000.0, 0.1, -3e-5))
    for value in values:
        for n in (2, 3, 8, 31, 100):
            x = np.full((40, n), value, dtype)
            assert (reduced("var", x, place) == 0).all()


@everywhere
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
@pytest.mark.parametrize("n", [2, 3, 4, 7, 8, 10, 31, 64, 100])
def test_means_are_rounded_once(place, dtype, n):
    """Sums of small integers are exact."""
    x = np.random.default_rng(n).integers(-60, 60, (500, n)).astype(dtype)
    quotients = x.astype(np.float64).sum(axis=1) / n
    np.testing.assert_array_equal(reduced("mean", x, place), quotients.astype(dtype))


@everywhere
@every_type
@pytest.mark.parametrize("n", [2, 3, 8, 31, 100])
def test_variances_far_from_zero_are_as_good_as_near_it(place, sharing, dtype, n):
    """Also where the first element is far from all others."""
    if dtype == np.int8:
        pytest.skip("nothing is far")
    for away, seed in ((0.0, 1), (900.0, 2)):
        x = (drawn(np.dtype(np.float32), 60, n, seed) / 30 + away).astype(dtype)
        x[::2, 0] = away + 300 if dtype == np.float16 else 30_000
        right = np.var(wide(x), axis=1)
        squares = np.mean(wide(x) ** 2, axis=1)  # of which errors of means are a part
        error = right * (unit(dtype) * 1.001 + 2.0**-53 * 8 * n) + squares * (n * 2.0**-52) ** 2
        got = reduced("var", x, place).astype(np.longdouble)
        assert (np.abs(got - right) <= error).all()


@everywhere
@every_type
@pytest.mark.parametrize("name", NAMES)
def test_out_takes_results_of_other_types_and_at_any_distance(place, sharing, name, dtype):
    for n, step in itertools.product((2, 3, 8, 31), (1, 3, -1)):
        x = drawn(np.dtype(dtype), 77, n)
        want = reduced(name, x, place)
        exactly = want.dtype.kind == "i"
        result = np.int64 if exactly else np.float64
        room = np.zeros(77 * 3, result)
        out = room[::step][:77]
        assert getattr(gred, name)(laid_out(x, place), axis=1, out=out) is out
        error = 0 if exactly else unit(want.dtype) * n * 300
        np.testing.assert_allclose(out, want.astype(result), rtol=error, atol=error)
        out[:] = 0
        assert not room.any()


@everywhere
@pytest.mark.parametrize("name", ["sum", "mean", "var", "std", "max"])
@pytest.mark.parametrize("n", [2, 3, 8, 31])
def test_other_types_initial_values_and_means_that_are_given(place, name, n):
    for dtype, other in ((np.float16, np.float32), (np.float32, np.float64), (np.int8, np.float32)):
        x = drawn(np.dtype(dtype), 50, n)
        if name != "max":
            want = getattr(np, name)(x, axis=1, dtype=other)
            got = reduced(name, x, place, dtype=other)
            assert got.dtype == other
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
        if name in ("sum", "max"):
            want = getattr(np, name)(x, axis=1, initial=90)
            got = reduced(name, x, place, initial=90)
            np.testing.assert_allclose(got, want, rtol=4e-3)
        if name in ("var", "std"):
            for ddof in (1, n, n + 1):
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    want = getattr(np, name)(x.astype(np.float64), axis=1, ddof=ddof)
                got = reduced(name, x, place, ddof=ddof)
                np.testing.assert_allclose(got, want, rtol=1e-3)
            mean = np.full((50, 1), 2.0)
            want = getattr(np, name)(x.astype(np.float64), axis=1, mean=mean)
            got = reduced(name, x, place, mean=mean.astype(x.dtype))
            np.testing.assert_allclose(got, want, rtol=1e-3)


@everywhere
@every_type
@pytest.mark.parametrize("name", ["sum", "mean", "var"])
def test_every_order_of_threads_gives_the_same_bits(place, sharing, name, dtype):
    for n in (2, 31, 64, 500):
        x = drawn(np.dtype(dtype), 90, n)
        assert len({reduced(name, x, place, seed).tobytes() for seed in range(3)}) == 1


@everywhere
def test_greatest_sums_do_not_overflow_on_the_way(place, sharing):
    x = np.full((9, 512), 65504, np.float16)
    assert np.isinf(reduced("sum", x, place)).all()
    assert (reduced("mean", x, place) == 65504).all()
    y = np.array([[3e38, -3e38] * 31], np.float32)
    assert math.isinf(reduced("var", y, place)[0])
    assert (reduced("std", y, place) == np.float32(3e38)).all()


def apart(dtype, rows, n, layout, seed=0):
    """Draw rows that lie apart, or whose elements do: of every `step`th of a wider array."""
    step, every, more, lead = layout
    width = (n - 1) * abs(step) + 1 + more
    wide = drawn(np.dtype(dtype), rows * every, width, seed, lead)
    return wide[::every, ::step][:, :n] if step > 0 else wide[::every, ::step][:, -n:]


# Elements from one that counts to the next, rows likewise, elements behind a row, elements in front
# of all.
LAYOUTS = {
    "every second row": (1, 2, 0, 0),
    "every second row, off a boundary": (1, 2, 0, 3),
    "rows with gaps": (1, 1, 5, 1),
    "every second element": (2, 1, 1, 0),
    "every second element from the second on": (2, 1, 1, 1),
    "every second element from others on": (2, 1, 1, 6),
    "every second element and row": (2, 2, 1, 0),
    "every second element but for gaps": (2, 1, 0, 1),
    "every third element": (3, 1, 2, 0),
    "backwards": (-1, 1, 0, 0),
    "every second element, backwards": (-2, 1, 1, 0),
}


def turns(sharings, name, dtype, layout):
    """Choose two: every name and type meets all in some layout, every layout meets all."""
    first = name + 3 * dtype + layout
    return [[*sharings][(first + more) % len(sharings)] for more in (0, 3)]


@everywhere
@every_type
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", NAMES)
def test_rows_that_lie_apart_are_reduced(place, forced, name, layout, dtype):
    wrong = []
    for sharing in turns(SHARINGS, NAMES.index(name), TYPES.index(dtype), [*LAYOUTS].index(layout)):
        forced(sharing)
        turns_of = enumerate((1, 2, 3, 5, 8, 16, 31, 64, 100, 257, 512))
        every = itertools.product(turns_of, (1, 45))
        for (turn, n), rows in chosen(every, name, layout, dtype, sharing):
            x = apart(dtype, rows, n, LAYOUTS[layout], turn)
            if is_wrong(name, reduced(name, x, place, n), x):
                wrong.append((sharing, n, rows))
    assert wrong == []


@everywhere
@every_type
@pytest.mark.parametrize("step", [1, 2])
def test_many_rows_that_lie_apart_fill_blocks(place, dtype, step):
    """Blocks begin anywhere: behind rows of others, and at boundaries or not."""
    wrong = []
    for n in (3, 8, 25, 100):
        for name in ("sum", "argmax", "var"):
            x = apart(dtype, 40_000 // n, n, (step, 3 - step, step - 1, n % 3))
            if is_wrong(name, reduced(name, x, place, n), x):
                wrong.append((n, name))
    assert wrong == []
