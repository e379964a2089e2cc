"""Columns whose elements' type is known are what NumPy makes of them, however rows and threads lie.


Shares are forced at sizes that the simulated device is quick with, in shuffled order: threads that
make their columns alone and teams, blocks that split rows, rows at boundaries and off them, short
rows that are taken for one, and what they leave over; and lone columns, where these can be made.
"""

from fractions import Fraction

import hooks
import numpy as np
import pytest
from conftest import PLACES as DEVICES
from conftest import parameter
from reference import BFLOAT16, agrees
from test_rows import laid_out
from thin import chosen
from truths import answer

import gred

everywhere = pytest.mark.parametrize(
    "place", [parameter(place) for place in DEVICES if place != "host"]
)
TYPES = [np.dtype(name) for name in ("f2", "f4", "f8", "i1")] + [BFLOAT16]
every_type = pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.name)
PLACED = ("argmin", "argmax")
NAMES = ("sum", "mean", "min", "max", *PLACED, "var")

# As hooks.forced_axes has them; see test_axes_on_devices.py.
NONE_FORCED = (0, 0, 0, 0, 0, 0)
SHARINGS = {
    "alone": (8, 1, 0, 0, 0, 1, 2, 8, 5, 0),
    "a team": (7, 1 << 20, 0, 0, 0, 1, 2, 7, 3, 0),
    "splits": (5, 1, 0, 1 << 16, 0, 1, 2, 5, 5, 0),
    "a team and splits": (6, 1 << 20, 0, 1 << 16, 0, 1, 2, 6, 2, 0),
    "large blocks that split": (5, 1 << 20, 0, 1 << 16, 0, 1, 2, 10, 2, 0),
    "lone": (5, 1, 0, 0, 0, 1, 2, 5, 5, 0, 4),
}

# Rows of one load and of several, of a part of one, one more than several, and short ones that are
# taken for one, with and without some left over; from one row to more than are read at a time.
SHAPES = [((rows, 48), 0) for rows in (1, 2, 3, 7, 8, 9, 16, 31)]
SHAPES += [((300, 2), 0), ((611, 3), 0), ((517, 16), 0), ((523, 31), 0), ((130, 100), 0)]
SHAPES += [((33, 257), 0), ((5, 1000), 0), ((2, 4097), 0), ((70, 1), 0), ((1, 70), 0)]
SHAPES += [((300, 257), 0)]
SHAPES += [((6, 20, 32), 1), ((4, 9, 31), 1), ((90, 8, 8), (0, 2)), ((90, 5, 4), (0, 2))]
# Batches of short rows that are taken for one, and results of several neighbours in few rows.
SHAPES += [((3, 517, 8), 1), ((2, 300, 3), 1), ((5, 611, 16), 1), ((2, 133, 100), 1)]
SHAPES += [((8, 70, 8), (0, 2)), ((3, 33, 16), (0, 2)), ((9, 48, 2), (0, 2)), ((2, 5, 64), (0, 2))]
VIEWS = {
    "as it is": lambda x: x,
    "off a boundary": lambda x: x[..., 1:],
    "without its end": lambda x: x[..., :-1],
    "backwards": lambda x: x[::-1],
    "every third row": lambda x: x[::3],
    "every second column": lambda x: x[..., ::2],
    "every second column from the second on": lambda x: x[..., 1::2],
    "every second column of rows off boundaries": lambda x: np.pad(x, 1)[..., ::2],
    "every second column, backwards": lambda x: x[::-1, ..., ::-2],
    "again and again": lambda x: np.broadcast_to(x[:1], x.shape),
    "Fortran's order": lambda x: np.ascontiguousarray(x.T).T,
}


@pytest.fixture(params=SHARINGS)
def sharing(request):
    hooks.forced_axes(*SHARINGS[request.param])
    yield request.param
    hooks.forced_axes(*NONE_FORCED)


def integers(dtype, shape, seed=0) -> np.ndarray:
    """Draw numbers whose sums are exact in float32, and in float16 unless it rounds them."""
    return np.random.default_rng([seed, *shape]).integers(-9, 10, shape).astype(dtype)


def on_device(name, x, place, axis, **options):
    """Reduce an array that lies there; what stays there is brought back."""
    got = getattr(gred, name)(laid_out(x, place), axis=axis, **options)
    return got.to_numpy() if isinstance(got, gred.DeviceArray) else got


def of_integers(name, x, axis, dtype) -> np.ndarray:
    """Reduce whole numbers exactly, and round once."""
    if name in PLACED:
        return getattr(np, name)(x.astype("f8"), axis)
    if name != "var":
        return np.asarray(getattr(np, name)(x.astype("f8"), axis)).astype(dtype)
    whole = x.astype("i8")
    n = x.size // max(whole.sum(axis).size, 1)
    left = n * (whole**2).sum(axis) - whole.sum(axis) ** 2
    return np.vectorize(lambda spread: float(Fraction(int(spread), n * n)))(left).astype(dtype)


def is_of(got, want, name) -> bool:
    """Tell whether results are these; spreads are rounded once more than they need be."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    if name != "var":
        return np.array_equal(got, want)
    near = abs(got.astype("f8") - want.astype("f8"))
    bits = {2: 10, 4: 23, 8: 52}[want.dtype.itemsize] if want.dtype != BFLOAT16 else 7
    return bool((near <= 2.0**-bits * (8 if bits == 52 else 1) * abs(want.astype("f8"))).all())


@everywhere
@every_type
@pytest.mark.parametrize("name", NAMES)
def test_columns_of_every_shape(place, sharing, name, dtype):
    wrong = []
    for turn, (shape, axis) in enumerate(SHAPES):
        if name in PLACED and isinstance(axis, tuple):
            continue
        x = integers(dtype, shape)
        with gred.thread_order("shuffled", turn):
            got = on_device(name, x, place, axis)
        if not is_of(got, of_integers(name, x, axis, got.dtype), name):
            wrong.append((shape, axis))
    assert wrong == []


@everywhere
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", NAMES)
def test_columns_of_every_layout(place, sharing, name, view):
    wrong = []
    for turn, (shape, axis) in enumerate(SHAPES):
        dtype = TYPES[turn % len(TYPES)]
        x = VIEWS[view](integers(dtype, shape))
        if x.size == 0 or (name in PLACED and isinstance(axis, tuple)):
            continue
        got = on_device(name, x, place, axis)
        if not is_of(got, of_integers(name, x, axis, got.dtype), name):
            wrong.append((shape, axis, dtype))
    assert wrong == []


@everywhere
@pytest.mark.parametrize("dtype", [*TYPES[:3], BFLOAT16], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("name", ["min", "max", *PLACED])
def test_nan_infinities_and_equals(place, sharing, name, dtype):
    """NaN wins, the first of several, as does the first of equals, be they negative zeros."""
    tiny = float(np.array(1, f"u{dtype.itemsize}").view(dtype))
    drawn = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -1, tiny, -tiny], dtype)
    chosen = (drawn, drawn[:2], drawn[2:], drawn[2:3], drawn[3:4], drawn[4:6], drawn[4:])
    random = np.random.default_rng(len(name))
    wrong = []
    for shape in ((9, 32), (200, 16), (611, 3), (64, 33)):
        for values in chosen:
            x = values[random.integers(0, len(values), shape)]
            got = np.asarray(on_device(name, x, place, 0), "f8")
            want = getattr(np, name)(x.astype("f8"), 0)
            if not np.array_equal(got, want, equal_nan=name not in PLACED):
                wrong.append((shape, values))
    assert wrong == []


@everywhere
@pytest.mark.parametrize("dtype", TYPES[:3], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("name", ["sum", "mean", "var"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stays_in_its_column(place, sharing, name, value, dtype):
    for shape, column in (((100, 32), 5), ((300, 2), 1), ((9, 31), 30), ((9, 30), 4), ((2, 40), 7)):
        x = integers(dtype, shape)
        x[shape[0] // 2, column] = value
        got = on_device(name, x, place, 0)
        assert np.isfinite(got).sum() == shape[1] - 1
        assert got[column] == value or (
            np.isnan(got[column]) and (name == "var" or value != np.inf)
        )


@everywhere
@pytest.mark.parametrize("name", ["sum", "mean", "min", "max", *PLACED, "var"])
@pytest.mark.parametrize("value", [-128, 127])
def test_bytes_at_their_ends(place, name, value):
    """A thread has no more rows than its narrow sums hold, though nothing else asks for splits."""
    shared = [("alone", (70000, 16), 0), ("alone", (131, 16), 0)]
    shared += [("lone", (16, 16, 32), (0, 2))] * (name not in PLACED)
    try:
        for sharing, shape, axis in shared:
            hooks.forced_axes(*SHARINGS[sharing])
            x = np.full(shape, value, np.int8)
            x[:, 3] = 0
            x[-1, :] = -1
            got = on_device(name, x, place, axis)
            assert is_of(got, of_integers(name, x, axis, got.dtype), name)
    finally:
        hooks.forced_axes(*NONE_FORCED)


@everywhere
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_spreads_far_from_zero_are_as_good_as_near_it(place, sharing, dtype):
    """Deviations are taken from means of a few rows, and these merged."""
    far = {"f4": 2**20, "f8": 2**24}[dtype]
    for shape in ((1000, 8), (999, 3), (77, 40)):
        x = integers(dtype, shape) + np.dtype(dtype).type(far)
        got = on_device("var", x, place, 0)
        want = of_integers("var", integers("i8", shape), 0, dtype)
        assert (abs(got - want) <= 2.0**-22 * want).all()


@everywhere
@pytest.mark.parametrize("dtype", ["f2", BFLOAT16, "f4", "f8"], ids=str)
@pytest.mark.parametrize("about", [0, 1, 1000, 60000])
def test_spreads_of_columns_are_within_chans_bound(place, sharing, dtype, about):
    """However near to each other numbers are, or how far apart, and how many rows came before.

    Rows lie apart from each other, so that none are taken for one. Where results are of the
    elements' type, as lone columns' are, less is kept of these.
    """
    random = np.random.default_rng(about)
    every = [{}] if sharing == "lone" else [{"dtype": "f8" if dtype == "f8" else "f4"}, {}]
    wrong = []
    for shape in chosen(((63, 9), (64, 16), (131, 8), (700, 9)), sharing, dtype, about):
        near = about + random.integers(-1, 2, shape) * max(about, 1) * 2.0**-8
        steps = near + about / 16 * (np.arange(shape[0]) // 64)[:, None] / 16
        for x in (near, near * 2.0 ** random.integers(-24, 1, shape), steps):
            typed = np.pad(x, ((0, 0), (3, 140))).astype(np.dtype(dtype))[:, 3:-140]
            truths = [answer("var", typed[:, k]) for k in range(shape[1])]
            for options in every:
                found = on_device("var", typed, place, 0, **options)
                wrong += [
                    (shape, k, found[k], right)
                    for k, right in enumerate(truths)
                    if not agrees(found[k], right._replace(dtype=found.dtype))
                ]
    assert wrong == []


@everywhere
@pytest.mark.parametrize("dtype", ["f2", BFLOAT16, "f4"], ids=str)
@pytest.mark.parametrize("about", [0, 1, 1000, 60000])
def test_spreads_of_neighbours_are_within_chans_bound(place, sharing, dtype, about):
    """Columns of one result are merged, however near to each other they are, or how far apart."""
    random = np.random.default_rng(about)
    wrong = []
    for shape in chosen(((8, 33, 8), (70, 17, 2), (2, 5, 64)), sharing, dtype, about):
        near = about + random.integers(-1, 2, shape) * max(about, 1) * 2.0**-8
        apart = near + about / 16 * np.arange(shape[2]) / shape[2]
        for x in (near, near * 2.0 ** random.integers(-24, 1, shape), apart):
            typed = x.astype(np.dtype(dtype))
            found = on_device("var", typed, place, (0, 2))
            for k in range(shape[1]):
                right = answer("var", typed[:, k].ravel())._replace(dtype=found.dtype)
                if not agrees(found[k], right):
                    wrong.append((shape, k, found[k], right))
    assert wrong == []


@everywhere
def test_results_go_where_they_belong(place, sharing):
    """To an `out` of any strides and a narrower type, and in its caller's order of dimensions."""
    x = integers("f4", (40, 6, 16))
    out = np.full((6, 33), 7, "f2")
    gred.sum(x, axis=0, out=out[:, 1::2], device="cuda:0" if place == "cuda" else place)
    np.testing.assert_array_equal(out[:, 1::2], x.sum(0))
    assert (out[:, ::2] == 7).all()
    turned = x.transpose(2, 0, 1)
    np.testing.assert_array_equal(on_device("max", turned, place, 1), turned.max(1))
