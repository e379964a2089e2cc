"""Long rows of known types are right wherever they begin and end, however threads share them.

Tests force teams of every size, blocks that share a result, and results made one after the other,
at sizes that the simulated device is quick with, in shuffled order.
"""

import itertools
from typing import NamedTuple

import hooks
import numpy as np
import pytest
from conftest import PLACES as DEVICES
from conftest import parameter
from drawn import FLAVOURS, examples, values
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference import BFLOAT16
from samples import quietly
from test_along_axes import normal, wrong_results
from test_axes_on_devices import to_host
from test_rows import laid_out
from thin import chosen

import gred
from gred import _testing

H200 = 132
TYPES = [np.dtype(code) for code in ("f2", "f4", "f8", "i1")] + [BFLOAT16]
NAMES = ("sum", "mean", "min", "max", "argmin", "argmax", "var", "std")
NONE = 1 << 31

# Least elements and bytes of a row, threads of a block and of a team at least, as exponents, enough
# threads of a multiprocessor, packs of a thread before a team grows, as an exponent, waves of
# blocks that splits make, results that a team makes, least bytes of a row of several that are whole
# packs, and packs for which half a team suffices. One block has no more than a batch.
SHARINGS = {
    "measured": (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    "a thread each": (1, 1, 5, 0, 1, 16, 1, 1, NONE, 99),
    "four threads": (1, 1, 6, 2, 1, 16, 1, 3, 16, 0),
    "a warp": (1, 1, 5, 5, 1, 16, 1, 1, 16, 0),
    "a warp and two": (1, 1, 8, 6, 1, 16, 1, 4, NONE, 60),
    "a block": (1, 1, 8, 8, 1, 16, 1, 2, 16, 0),
    "as many as can be": (1, 1, 7, 3, 1 << 20, 0, 1, 1, NONE, 0),
    "splits of a warp": (1, 1, 5, 5, 1 << 20, 0, 1 << 10, 1, NONE, 0),
    "splits of two warps": (1, 1, 6, 6, 1 << 20, 0, 1 << 10, 1, NONE, 0),
    "splits": (1, 1, 6, 6, 1, 0, 1, 1, 16, 0),
}
everywhere = pytest.mark.parametrize(
    "place", [parameter(place) for place in DEVICES if place != "host"]
)
often = settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@pytest.fixture(params=SHARINGS)
def sharing(request):
    hooks.forced_long_rows(*SHARINGS[request.param])
    yield request.param
    hooks.forced_long_rows(*SHARINGS["measured"])


def wrong(name, view, axis, place, **options):
    """Reduce a view where it lies on a device; say what is wrong with it."""
    options = {"axis": axis, "keepdims": False, **options}
    with np.errstate(all="ignore"):
        got = to_host(quietly(name, laid_out(view, place), **options))
        return wrong_results(name, got, view, normal(axis, view.ndim), options)


MANY = [
    ((5, 1031), 1),
    ((300, 133), 1),
    ((2, 9001), 1),
    ((40, 3, 64), (0, 2)),
    ((3, 7, 99), (0, 2)),
]


def wrong_long_rows(name, place):
    """Share rows of each type in turn in each way; yields what is wrong, or nothing, of each."""
    turns = list(enumerate(itertools.product(MANY, TYPES, (0, 1))))
    for turn, (((*outer, length), axis), dtype, before) in chosen(turns, name):
        if isinstance(axis, tuple) and "arg" in name:
            continue
        random = np.random.default_rng(turn)
        whole = random.integers(-100, 100, (*outer, length + before)).astype(dtype)
        hooks.forced_long_rows(*list(SHARINGS.values())[turn % len(SHARINGS)])
        found = wrong(name, whole[..., before:], axis, place)
        hooks.forced_long_rows(*SHARINGS["measured"])
        yield found and f"{found}: {outer}, {length}, {axis}, {dtype}"


@everywhere
@pytest.mark.parametrize("name", NAMES)
def test_every_type_is_right_in_every_way(place, name):
    assert [found for found in wrong_long_rows(name, place) if found] == []


@st.composite
def rows(draw):
    """Draw rows that begin anywhere and lie at any distance, of lengths near whole packs.

    Their elements are neighbours, or every second one is theirs.
    """
    dtype = draw(st.sampled_from(TYPES))
    pack = 16 // dtype.itemsize
    length = draw(
        st.integers(1, 4 * pack)
        | st.builds(
            lambda packs, more: max(1, packs * pack + more),
            st.sampled_from([4, 16, 64, 128, 129, 300]),
            st.integers(-pack - 1, pack + 1),
        )
    )
    count = draw(st.integers(1, 70 if length < 100 else 5))
    before, behind = draw(st.integers(0, pack)), draw(st.integers(0, pack))
    every, step = draw(st.sampled_from([1, 1, 2, -1])), draw(st.sampled_from([1, 2]))
    width = before + length * step + behind
    whole = values(
        dtype,
        draw(st.sampled_from(FLAVOURS)),
        count * abs(every) * width,
        np.random.default_rng(draw(st.integers(0, 1000))),
    )
    whole = whole.reshape(count * abs(every), width).copy()
    return whole[::every, before : before + length * step : step]


@everywhere
@often
@given(name=st.sampled_from(NAMES), x=rows(), seed=st.integers(0, 2**64 - 1))
def test_rows_begin_and_end_anywhere(place, sharing, name, x, seed):
    with gred.thread_order("shuffled", seed):
        assert not wrong(name, x, 1, place)


@everywhere
@often
@given(
    name=st.sampled_from([name for name in NAMES if "arg" not in name]),
    dtype=st.sampled_from(TYPES),
    flavour=st.sampled_from(FLAVOURS),
    shape=st.tuples(*(st.integers(1, most) for most in (40, 3, 3, 8))),
    odd=st.integers(0, 2),
    seed=st.integers(0, 2**32 - 1),
)
def test_results_are_made_of_several_rows(place, sharing, name, dtype, flavour, shape, odd, seed):
    """Of whole packs that lie above each other, or of others; in two dimensions, or in one more."""
    outer, kept, more, packs = shape
    length = packs * 16 // dtype.itemsize + odd
    random = np.random.default_rng(seed)
    x = values(dtype, flavour, outer * kept * more * length, random).copy()
    with gred.thread_order("shuffled", seed):
        for axis, view in (
            ((0, 2), x.reshape(outer, kept * more, length)),
            ((0, 2, 3), x.reshape(outer, kept, more, length)[:, :, :, : length - odd // 2]),
            ((1, 3), x.reshape(outer, more, kept, length)),
        ):
            assert not wrong(name, view, axis, place)


@everywhere
@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.name)
def test_the_first_of_equals_is_found(place, sharing, dtype):
    length = 700
    least, greatest = (-128, 127) if dtype == np.int8 else (-np.inf, np.inf)
    for fill, best, name in (
        (0, greatest, "argmax"),
        (least, greatest, "argmax"),
        (0, least, "argmin"),
        (greatest, least, "argmin"),
    ):
        starts = (0, 1, 15, 16, 17, 63, 64, 255, 256, 511, 512, 698, 699, 700)
        x = np.full((len(starts), length), fill, np.float32).astype(dtype)
        for row, start in enumerate(starts):
            x[row, start:] = best
        with gred.thread_order("shuffled", 3):
            got = to_host(getattr(gred, name)(laid_out(x, place), 1))
        np.testing.assert_array_equal(got, [start % length for start in starts])


@everywhere
@pytest.mark.parametrize("dtype", TYPES[:3] + TYPES[4:], ids=lambda dtype: dtype.name)
def test_the_first_nan_wins_over_all_numbers(place, sharing, dtype):
    x = np.zeros((3, 600), dtype)
    x[:, ::7] = np.inf
    x[:, 1::7] = -np.inf
    x[0, 300:] = x[1, [2, 599]] = x[2, 599] = np.nan
    for name in ("argmax", "argmin"):
        got = to_host(getattr(gred, name)(laid_out(x, place), 1))
        np.testing.assert_array_equal(got, [300, 2, 599])
    for name in ("min", "max", "sum", "mean", "var"):
        assert np.isnan(to_host(quietly(name, laid_out(x, place), axis=1)).astype(float)).all()
    unaligned = np.zeros((8, 643), dtype)
    unaligned[:, [1, 3, 640, 641, 642]] = np.nan
    for name in ("argmax", "argmin"):
        got = to_host(getattr(gred, name)(laid_out(unaligned[:, 1:], place), 1))
        np.testing.assert_array_equal(got, [0] * 8)


@everywhere
def test_bytes_at_the_end_of_their_type_are_added_without_overflow(place, sharing):
    for value in (-128, 127):
        for length in (1, 15, 64, 1000, 5001, 200_003):  # 2^17 squares are 2^31
            x = np.full((3, length), value, np.int8)
            given = laid_out(x, place)
            assert (to_host(gred.sum(given, 1)) == value * length).all()
            assert (to_host(gred.mean(given, 1)) == value).all()
            assert (to_host(gred.var(given, 1)) == 0).all()
            assert (to_host(gred.argmin(given, 1)) == 0).all()
            assert (to_host(gred.max(given, 1)) == value).all()


@everywhere
@pytest.mark.parametrize("dtype", ["f2", "bfloat16"])
@pytest.mark.parametrize("result", ["f4", None])
@pytest.mark.parametrize("about", [0, 1, 1000, 60000])
def test_spreads_of_halves_are_as_exact_as_of_others(place, sharing, dtype, result, about):
    """However close to each other, or however far apart, the numbers are."""
    dtype = BFLOAT16 if dtype == "bfloat16" else np.dtype(dtype)
    random = np.random.default_rng(about)
    near = (about + random.integers(-1, 2, (2, 777)) * max(about, 1) * 2.0**-8).astype(dtype)
    far = near * (2.0 ** random.integers(-20, 1, near.shape)).astype(dtype)
    options = {} if result is None else {"dtype": np.dtype(result)}
    for x in (near, far, np.concatenate([near, far * 0 + dtype.type(1e-4)], 1)):
        for ddof in (0, 1):
            assert not wrong("var", x, 1, place, ddof=ddof, **options)


ROWS = {
    "a great mean": lambda n, r: 1e6 + r.normal(size=n),
    "an outlier first": lambda n, r: np.r_[1e9, 1 + r.normal(size=n - 1) / 8],
    "outliers first in every batch": lambda n, r: (
        1 + r.normal(size=n) + 1e7 * (np.arange(n) % 32 == 0)
    ),
    "an outlier last": lambda n, r: np.r_[1 + r.normal(size=n - 1) / 8, -1e9],
    "a trend": lambda n, r: np.arange(n) * 1e3,
    "steps": lambda n, r: 1e5 * (np.arange(n) // 256) + r.normal(size=n),
    "two values": lambda n, r: 1e7 + (np.arange(n) % 2),
    "one value": lambda n, r: np.full(n, 0.1),
    "many magnitudes": lambda n, r: r.normal(size=n) * 10 ** r.uniform(-6, 6, n),
}


@everywhere
@pytest.mark.parametrize("data", ROWS.values(), ids=ROWS.keys())
def test_spreads_are_within_chans_bound(place, sharing, data):
    """Whatever mean a thread takes deviations from, and however much of its row came before."""
    random = np.random.default_rng(8)
    for n in (3, 37, 130, 1500):
        for dtype in ("f4", "f8"):
            x = np.stack([data(n, random), data(n, random)]).astype(dtype)
            assert not wrong("var", x, 1, place)


@everywhere
@pytest.mark.parametrize("dtype", TYPES[:3] + TYPES[4:], ids=lambda dtype: dtype.name)
def test_a_spread_of_what_is_not_finite_is_nan(place, sharing, dtype):
    places = (0, 1, 2, 3, 250, 251, 598, 599)
    for bad in (np.inf, -np.inf, np.nan):
        x = np.ones((len(places) + 1, 600), dtype)
        x[range(len(places)), places] = bad
        result = np.float64 if x.dtype == np.float64 else np.float32
        got = to_host(quietly("var", laid_out(x, place), axis=1, dtype=result))
        np.testing.assert_array_equal(got, [np.nan] * len(places) + [0])


@everywhere
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("name", ["sum", "mean", "var"])
def test_every_run_and_every_order_gives_the_same_bits(place, sharing, name, dtype):
    random = np.random.default_rng(4)
    for shape, axis in (((3, 5000), 1), ((40, 8, 32), (0, 2)), ((9, 2, 333), (0, 2))):
        x = laid_out(random.normal(size=shape).astype(dtype), place)
        results = set()
        for seed in range(3):
            with gred.thread_order("shuffled", seed):
                results.add(to_host(quietly(name, x, axis=axis)).tobytes())
        assert len(results) == 1


@everywhere
@pytest.mark.parametrize("name", ["sum", "argmax", "var"])
def test_teams_make_one_result_after_the_other(place, sharing, name):
    x = np.random.default_rng(5).integers(-9, 10, (5000, 131)).astype(np.float32)
    with gred.thread_order("shuffled", 6):
        got = to_host(getattr(gred, name)(laid_out(x, place), 1))
    np.testing.assert_allclose(got, getattr(np, name)(x.astype(float), 1), rtol=1e-6)


@everywhere
def test_out_takes_results_of_any_layout_and_type(place, sharing):
    x = np.random.default_rng(7).normal(size=(6, 700)).astype(np.float32)
    device = "cuda:0" if place == "cuda" else place
    wide, strided = np.zeros(6), np.zeros((6, 3), np.float32)[:, 1]
    for out in (wide, strided, strided[::-1]):
        assert gred.sum(x, 1, out=out, device=device) is out
        np.testing.assert_allclose(out, x.sum(1, dtype=float), rtol=1e-5, atol=1e-4)
    assert (strided.base.reshape(6, 3)[:, [0, 2]] == 0).all()


# ---- the choice ----


class Sharing(NamedTuple):
    """How threads share the work; see struct launch_config."""

    block: int
    team: int
    readers: int
    stacked: bool
    rounds: int
    splits: int
    groups: int


def long_rows(shape, axis, size=4, strides=None, multiprocessors=H200, state=4):
    if strides is None:
        strides = tuple(
            size * int(np.prod(shape[k + 1 :], dtype=object)) for k in range(len(shape))
        )
    axes = sum(1 << k for k in (axis if isinstance(axis, tuple) else (axis,)))
    asked = {"size": size, "axes": axes, "state": state, "multiprocessors": multiprocessors}
    return hooks.chosen(Sharing, _testing.long_rows(shape, strides, **asked))


@settings(max_examples=examples(300), deadline=None)
@given(
    shape=st.lists(st.integers(1, 1 << 14), min_size=1, max_size=4).map(tuple),
    data=st.data(),
    size=st.sampled_from([1, 2, 4, 8]),
    multiprocessors=st.integers(1, 200),
)
def test_every_result_and_every_row_has_readers(shape, data, size, multiprocessors):
    outer = data.draw(st.sets(st.integers(0, len(shape) - 1)))
    axes = (*(outer - {len(shape) - 1}), len(shape) - 1)
    got = long_rows(shape, axes, size, multiprocessors=multiprocessors)
    if got is None:
        return
    results = int(np.prod([n for k, n in enumerate(shape) if k not in axes], dtype=object))
    made = got.rounds << (got.block - got.team)
    assert (got.groups - 1) * made < results <= got.groups * made
    assert got.splits == 1 or (got.team == got.block and got.rounds == 1)
    threads = got.splits << got.team
    assert threads % got.readers == 0
    assert got.readers <= 1 << got.team or got.readers % (1 << got.team) == 0
    if got.stacked:
        assert got.readers <= 1 << got.team


def test_short_rows_others_and_masks_are_left_to_others():
    assert long_rows((1 << 20, 100), 1) is None
    assert long_rows((1000, 1000), 1, strides=(12000, 12)) is None
    assert long_rows((1000, 1000), 1, strides=(4, 8)) is None
    assert long_rows((1000, 1000), 1, strides=(8000, 8))
    assert long_rows((1000, 1000), 0) is None
    assert long_rows((1, 1 << 36), 1, size=1) is None
    assert long_rows((1 << 20, 1000), 1) is None
    assert long_rows((1 << 20, 1000), 1, state=16)
    assert long_rows((1 << 20, 1000), 1, strides=(8000, 4))
    assert long_rows((1 << 20, 1000), 1, size=8, state=8)
    assert long_rows((1 << 20, 1025), 1)
    assert long_rows((1 << 20, 512), 1, size=1)


def test_teams_are_as_large_as_rows_are_long():
    teams = [long_rows((1 << 28, n), 1, size=1).team for n in (600, 1000, 4097, 1 << 20)]
    assert teams == sorted(teams)
    assert (teams[0], teams[1], teams[-1]) == (2, 3, 8)
    assert long_rows((1 << 28, 1000), 1, size=1, state=16).team == 2
    assert long_rows((1 << 16, 4097), 1, size=1, state=16).team == 2
    assert long_rows((1 << 16, 4097), 1, size=1, state=8).team == 3


def test_a_thread_has_a_batch_of_a_row_and_not_a_part_of_one():
    """Of rows that several results' elements are in; of large states a batch is of more packs."""
    for size, state, packs in ((4, 4, 4), (8, 24, 8), (1, 24, 4)):
        got = long_rows((32, 1024, 1024 * 8 // size), (0, 2), size, state=state)
        assert not got.stacked
        assert 512 // got.readers == packs


def test_several_results_one_after_the_other_leave_waves_of_blocks():
    assert long_rows((1 << 15, 2000), 1).rounds == 1
    assert long_rows((1 << 22, 1000), 1, size=1, state=8).rounds > 1


def test_one_result_is_read_by_all_multiprocessors():
    got = long_rows((1, 1 << 26), 1)
    assert got.readers == got.splits << got.block
    assert got.splits >= 2 * H200


def test_few_results_are_shared_by_blocks_once_one_has_much_to_do():
    assert long_rows((128, 1 << 15), 1).splits == 1
    assert long_rows((64, 1 << 16), 1).splits > 1
    assert long_rows((16, 1 << 20), 1).splits > 16
    assert long_rows((256, 1 << 12), 1, size=8, state=8).splits == 1


def test_many_results_of_a_few_kilobytes_are_made_by_small_teams():
    for size in (2, 4, 8):
        assert long_rows((1024, 8192 // size), 1, size, state=24).team == 5
    assert long_rows((16, 8192), 1).team == 8


def test_rows_of_one_distance_are_read_above_each_other():
    got = long_rows((1 << 14, 64, 64), (0, 2))
    assert got.stacked
    assert got.readers == 16
    assert not long_rows((1 << 14, 64, 1025), (0, 2)).stacked
    assert long_rows((1 << 14, 64, 65), (0, 2)) is None
