"""Columns that a thread makes alone are what NumPy makes of them, and what threads make together.

Blocks of one warp, so that a few hundred columns are many blocks' and warps' ends, on the simulated
device in shuffled order: rows at boundaries and off them, fewer rows than loads are under way and
more, batches, pairs of short rows, and results at boundaries and off them.
"""

import hooks
import numpy as np
import pytest
from conftest import PLACES as DEVICES
from conftest import parameter
from gpu_arrays import GpuArray
from reference import BFLOAT16
from test_rows import laid_out
from test_typed_columns import (
    NAMES,
    PLACED,
    TYPES,
    VIEWS,
    integers,
    is_of,
    of_integers,
    on_device,
)

import gred
from gred.testing import SimulatedArray

everywhere = pytest.mark.parametrize(
    "place", [parameter(place) for place in DEVICES if place != "host"]
)
every_type = pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.name)

# As hooks.forced_axes has them; see test_axes_on_devices.py. The last is how many loads' columns a
# thread makes alone at most.
NONE_FORCED = (0, 0, 0, 0, 0, 0)
TOGETHER = (5, 1, 0, 0, 0, 1, 2, 5, 5, 0)
ALONE = {loads: (*TOGETHER, loads) for loads in (1, 2, 4)}

ROWS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 15, 16, 17, 31, 64, 70)
# A load, and one element more and less; a warp's loads of bytes; blocks' ends, and some between.
COLUMNS = (1, 15, 16, 17, 31, 48, 496, 497, 512, 513, 1001, 2048)
BATCHES = [((3, 8, 8), 1), ((5, 6, 4), 1), ((4, 18, 2), 1), ((2, 34, 8), 1), ((3, 7, 8), 1)]
BATCHES += [((5, 3, 32), 1), ((3, 4, 2, 16), 1), ((40, 8, 16), 1), ((3, 5, 48), 1), ((4, 9, 31), 1)]
# Results of several neighbours: of a thread's own columns, and of several threads'.
BATCHES += [((8, 70, 8), (0, 2)), ((3, 33, 16), (0, 2)), ((9, 48, 2), (0, 2)), ((2, 9, 64), (0, 2))]
BATCHES += [((70, 40, 4), (0, 2)), ((1, 33, 32), (0, 2))]


@pytest.fixture(params=ALONE)
def alone(request):
    hooks.forced_axes(*ALONE[request.param])
    yield request.param
    hooks.forced_axes(*NONE_FORCED)


def shared(name, x, place, axis):
    """Reduce by threads that could share columns; whoever calls it has forced the other kernel."""
    hooks.forced_axes(*TOGETHER)
    try:
        return on_device(name, x, place, axis)
    finally:
        hooks.forced_axes(*ALONE[4])


@everywhere
@every_type
@pytest.mark.parametrize("name", NAMES)
def test_every_number_of_rows(place, alone, name, dtype):
    wrong = []
    for turn, rows in enumerate(ROWS):
        columns = COLUMNS[turn % len(COLUMNS)]
        for shape in ((rows, columns), (rows, 96)):
            x = integers(dtype, shape)
            with gred.thread_order("shuffled", turn):
                got = on_device(name, x, place, 0)
            if not is_of(got, of_integers(name, x, 0, got.dtype), name):
                wrong.append(shape)
    assert wrong == []


@everywhere
@every_type
@pytest.mark.parametrize("name", NAMES)
def test_every_number_of_columns(place, alone, name, dtype):
    """Also of rows that begin anywhere, of which a warp's last thread makes nothing."""
    wrong = []
    for turn, columns in enumerate(COLUMNS):
        for rows in (2, 3, 13):
            x = integers(dtype, (rows, columns))
            with gred.thread_order("shuffled", turn):
                got = on_device(name, x, place, 0)
            if not is_of(got, of_integers(name, x, 0, got.dtype), name):
                wrong.append((rows, columns))
    assert wrong == []


@everywhere
@every_type
@pytest.mark.parametrize("name", NAMES)
def test_batches_and_pairs_of_short_rows(place, alone, name, dtype):
    wrong = []
    for turn, (shape, axis) in enumerate(BATCHES):
        if name in PLACED and isinstance(axis, tuple):
            continue
        x = integers(dtype, shape)
        with gred.thread_order("shuffled", turn):
            got = on_device(name, x, place, axis)
        if not is_of(got, of_integers(name, x, axis, got.dtype), name):
            wrong.append(shape)
    assert wrong == []


@everywhere
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", NAMES)
def test_every_layout(place, alone, name, view):
    wrong = []
    for turn, shape in enumerate([(2, 640), (3, 1001), (8, 96), (9, 33), (6, 16, 32), (12, 8, 8)]):
        dtype = TYPES[turn % len(TYPES)]
        for axis in range(len(shape) - 1):
            x = VIEWS[view](integers(dtype, shape))
            got = on_device(name, x, place, axis)
            if not is_of(got, of_integers(name, x, axis, got.dtype), name):
                wrong.append((shape, axis, dtype))
    assert wrong == []


@everywhere
@pytest.mark.parametrize("dtype", TYPES[:3], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("name", NAMES)
def test_bits_are_those_of_threads_that_share(place, name, dtype):
    """Sums of random numbers, which are rounded: rows are taken in the same order.

    Spreads of halves are made in float32 where they are to be halves, and differ by a rounding.
    """
    hooks.forced_axes(*ALONE[4])
    try:
        for rows in (1, 2, 3, 4, 7, 8, 10, 31):
            for scale in (1.0, 2.0**-10):
                random = np.random.default_rng(rows)
                x = (random.standard_normal((rows, 96)) * scale).astype(dtype)
                got, want = on_device(name, x, place, 0), shared(name, x, place, 0)
                if name == "var" and dtype == np.float16:
                    np.testing.assert_allclose(got, want, 2.0**-10)
                else:
                    assert got.tobytes() == want.tobytes(), (rows, scale)
    finally:
        hooks.forced_axes(*NONE_FORCED)


@everywhere
@pytest.mark.parametrize("dtype", TYPES[:3], ids=lambda dtype: dtype.name)
def test_means_are_rounded_once_however_large(place, alone, dtype):
    """A quotient's residual is lost where it is too small, and is none where the sum is none."""
    ends = np.finfo(dtype)
    edges = [ends.smallest_subnormal, ends.tiny, ends.tiny * 3, ends.max / 4, np.inf, np.nan, 0.0]
    numbers = np.array([*edges, *np.negative(edges), 1, -0.0], dtype)
    wide = np.float64 if dtype == np.float64 else np.float32
    for rows in (2, 3, 5, 7, 12):
        x = np.zeros((rows, 16), dtype)
        x[rows // 2] = numbers
        with np.errstate(all="ignore"):
            want = (x.sum(0, dtype=wide) / wide(rows)).astype(dtype)
        got = on_device("mean", x, place, 0)
        np.testing.assert_array_equal(got, want)
        assert not np.signbit(got[got == 0]).any() or np.signbit(want[got == 0]).any()


@everywhere
@pytest.mark.parametrize("dtype", TYPES[:3], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("name", ["min", "max", *PLACED])
def test_nan_infinities_and_equals(place, alone, name, dtype):
    drawn = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -1], dtype)
    random = np.random.default_rng(len(name))
    wrong = []
    for shape in ((2, 300), (3, 33), (9, 64)):
        for values in (drawn, drawn[1:], drawn[1:2], drawn[2:3], drawn[3:5]):
            x = random.choice(values, shape)
            got = on_device(name, x, place, 0)
            if not np.array_equal(got, getattr(np, name)(x, 0), equal_nan=name not in PLACED):
                wrong.append((shape, values))
    assert wrong == []


@everywhere
@every_type
@pytest.mark.parametrize("first", [0, 1, 3])
def test_results_go_where_they_belong(place, alone, dtype, first):
    """Also off boundaries, and nothing in front of them or behind them is written."""
    for shape, axis in (((2, 333), 0), ((3, 512), 0), ((5, 8, 8), 1)):
        x = integers(dtype, shape)
        for name in ("sum", "max", "argmax", "var"):
            want = of_integers(name, x, axis, on_device(name, x, place, axis).dtype)
            sevens = np.full(want.size + 8, 7, want.dtype)
            room = SimulatedArray(sevens) if place == "simulated" else GpuArray.of(sevens)
            out = room[first : first + want.size].described(shape=want.shape)
            getattr(gred, name)(laid_out(x, place), axis=axis, out=out)
            got = room.get() if place == "simulated" else room.host()
            assert is_of(got[first : first + want.size].reshape(want.shape), want, name)
            assert (got[:first] == 7).all()
            assert (got[first + want.size :] == 7).all()


@everywhere
@every_type
@pytest.mark.parametrize("name", PLACED)
def test_places_among_one_element_are_zeros(place, alone, name, dtype):
    """Whatever that is; in blocks, in the rest of one, and off a boundary; also over sevens."""
    for count in (1, 31, 33, 1001, 2048):
        x = integers(dtype, (1, count + 1))
        x[0, ::3] = -128 if dtype == np.int8 else np.nan
        for view, axis in ((x, 0), (x[:, 1:], 0), (x.T, 1), (x[:, 1:].T, 1)):
            got = on_device(name, view, place, axis)
            np.testing.assert_array_equal(got, np.zeros(view.size, "i8"), strict=True)
            sevens = np.full(view.size, 7, "i8")
            out = SimulatedArray(sevens) if place == "simulated" else GpuArray.of(sevens)
            getattr(gred, name)(laid_out(view, place), axis=axis, out=out)
            assert not (out.get() if place == "simulated" else out.host()).any()


@everywhere
def test_other_results_are_made_by_other_kernels(place, alone):
    """Of another type, of columns that are not neighbours' neighbours, with an initial value."""
    x = integers("f4", (3, 96))
    device = "cuda:0" if place == "cuda" else place
    out = np.full((96, 2), 7, "f8")
    gred.sum(x, axis=0, out=out[:, 1], device=device)
    np.testing.assert_array_equal(out, np.stack([np.full(96, 7.0), x.sum(0)], 1))
    np.testing.assert_array_equal(gred.sum(x, axis=0, initial=5, device=device), x.sum(0) + 5)
    np.testing.assert_array_equal(
        gred.sum(x, axis=0, dtype="f8", device=device), x.sum(0, dtype="f8")
    )
    np.testing.assert_array_equal(
        gred.sum(x, axis=0, where=x > 0, device=device), x.sum(0, where=x > 0)
    )
    spreads = gred.var(x, axis=0, ddof=3, device=device)
    assert np.isnan(spreads).all() or np.isinf(spreads).any()


@everywhere
@pytest.mark.parametrize("ddof", [0, 1, 1.5])
@pytest.mark.parametrize("name", ["var", "std"])
def test_spreads_of_any_divisor(place, alone, name, ddof):
    for dtype in ("f4", "f8", "i1"):
        for rows in (2, 3, 8, 31):
            x = integers(dtype, (rows, 100))
            got = on_device(name, x, place, 0, ddof=ddof)
            np.testing.assert_allclose(
                got,
                getattr(np, name)(x.astype("f8"), 0, ddof=ddof),
                1e-6 if dtype == "f4" else 1e-14,
            )


@everywhere
@pytest.mark.parametrize("value", [-128, 127])
def test_bytes_at_their_ends(place, alone, value):
    for rows in (2, 31, 300):
        x = np.full((rows, 48), value, np.int8)
        x[:, 3] = 0
        x[-1, ::2] = -1
        for name in NAMES:
            got = on_device(name, x, place, 0)
            assert is_of(got, of_integers(name, x, 0, got.dtype), name)


def test_bfloat16_is_among_the_types():
    assert BFLOAT16 in TYPES
