"""Along any axes devices give NumPy's answers, however the work is shared among threads.

One kernel serves every layout: teams of any size, rows and columns, splits of long results. Tests
force each of these at sizes that the simulated device is quick with, in shuffled order.
"""

import itertools
import warnings

import hooks
import numpy as np
import pytest
from conftest import PLACES as DEVICES
from conftest import parameter
from drawn import examples
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from reference import BFLOAT16, EVERY_TYPE, result_type
from samples import quietly, takes
from test_along_axes import (
    EMPTY,
    LADDER,
    NAMES,
    PLACES,
    calls,
    is_decided,
    is_refused,
    normal,
    numpys,
    wrong_results,
)
from test_rows import laid_out
from thin import chosen
from truths import type_of

import gred

everywhere = pytest.mark.parametrize(
    "place", [parameter(place) for place in DEVICES if place != "host"]
)
every_name = pytest.mark.parametrize("name", NAMES)

NO_ROW = 2**32 - 1  # is so long

# Threads of a block as an exponent, enough threads of a multiprocessor, what a thread of a row is
# to have before it gets help, blocks of a multiprocessor that splits make, bytes of rows that are
# staged, whether columns are made side by side, windows of a stretch, threads of a block that makes
# few columns alone, columns of a known type that neighbouring threads read, these as exponents,
# bytes from which on types are known, loads' columns that a thread makes alone, threads of a block
# of such, and bytes of small arrays, whose columns go to many blocks: few threads and many, small
# teams and large ones, no splits and as many as there can be.
SHARINGS = {
    "measured": (0, 0, 0, 0, 0, 0),
    "a thread each": (8, 1, 16, 0, 0, 0),
    "a warp": (5, 1 << 20, 0, 0, 0, 0),
    "a block": (7, 1 << 20, 0, 0, 0, 1),
    "a warp and splits": (5, 1 << 20, 0, 1 << 16, 0, 1, 4),
    "large blocks": (5, 1 << 20, 0, 1 << 16, 0, 1, 2, 10),
    "splits alone": (6, 1, 0, 1 << 16, 0, 1),
    "staged rows": (6, 1, 0, 0, 32 << 10, 1),
    "staged rows of a team": (5, 1 << 20, 0, 0, 4000, 0),
    "typed columns": (8, 1, 16, 0, 0, 1, 2, 8, 5, 0),
    "typed columns, teams and splits": (5, 1 << 20, 0, 1 << 16, 0, 1, 2, 5, 5, 0),
    "typed columns, few abreast": (7, 1 << 20, 0, 2, 0, 1, 2, 7, 1, 0),
    "small typed columns": (8, 1 << 20, 0, 0, 0, 1, 2, 8, 7, 0, 0, 0, 1 << 30),
    "unsplit columns": (5, 1, 0, 0, 0, 1, 2, 5, 5, 0, 4),
    "few columns side by side": (5, 1 << 20, 0, 0, 0, 1, 2, 10, 7, NO_ROW, 0, 0, 1 << 30),
}
NONE_FORCED = SHARINGS["measured"]


def force(sharing):
    """Share work as said; rows then go by kernels that learn their type as they run."""
    forced = sharing != NONE_FORCED
    hooks.forced_axes(*sharing)
    hooks.forced_short_rows(*((0, 5, 0, False, 1) if forced else (0, 0, 0, False, 0)))
    hooks.forced_long_rows(
        *((NO_ROW, NO_ROW, 8, 5, 1, 0, 1, 1, NO_ROW, 0) if forced else (0,) * 10)
    )


@pytest.fixture(params=SHARINGS)
def sharing(request):
    force(SHARINGS[request.param])
    yield request.param
    force(NONE_FORCED)


def on(place, x):
    """Tell what brings a host array there."""
    return {"device": "cuda:0" if place == "cuda" else place}


often = settings(
    max_examples=examples(60),
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
    ],
)


@everywhere
@often
@given(call=calls(), seed=st.integers(0, 2**64 - 1))
def test_answers_and_refusals_are_numpys(place, sharing, call, seed):
    name, x, options = call
    axes, before = normal(options["axis"], x.ndim), x.tobytes()
    with gred.thread_order("shuffled", seed):
        if is_refused(name, x, axes, options):
            with pytest.raises(ValueError, match=f"{name}|where"):
                quietly(name, x, **on(place, x), **options)
        else:
            with np.errstate(all="ignore"):
                got = quietly(name, x, **on(place, x), **options)
                found = wrong_results(name, got, x, axes, options) if is_decided(x, options) else ""
            assert not found
    assert x.tobytes() == before


def to_host(got):
    """Copy results that have stayed on the device, of minmax both."""
    if isinstance(got, tuple):
        return type(got)(*map(to_host, got))
    return got.to_numpy() if isinstance(got, gred.DeviceArray) else got


SHAPES = [((3, 5000), 1), ((5000, 4), 0), ((30, 400), 0), ((7, 90, 11), 1), ((90, 4, 9), (0, 2))]
SHAPES += [((4, 2, 600), (1, 2)), ((3, 2310), 1), ((17, 40), 0), ((33, 5), 0), ((300, 2), 1)]
VIEWS = {
    "as it is": lambda x: x,
    "Fortran's order": lambda x: np.ascontiguousarray(x.T).T,
    "backwards": lambda x: x[..., ::-1],
    "off a boundary": lambda x: x[..., 1:],
    "every second": lambda x: x[..., ::2],
    "again and again": lambda x: np.broadcast_to(x[:1], x.shape),
}


def wrong_on_device(name, view, place):
    """Run one in eleven of types and shapes at most, some under masks, shared in turn in each way.

    For each it yields what is wrong; nothing where all is right.
    """
    random = np.random.default_rng([len(name), len(view)])
    types = [dtype for dtype in EVERY_TYPE if takes(name, dtype) and dtype != BFLOAT16]
    cases = list(enumerate(itertools.product(types, SHAPES)))[::11]
    for turn, (dtype, (shape, axis)) in chosen(cases, name, view):
        if (name == "norm" or name in PLACES) and isinstance(axis, tuple):
            continue
        whole = random.integers(0, 2 if "prod" in name else 5, shape).astype(dtype)
        x = VIEWS[view](whole)
        options = {"axis": axis, "keepdims": bool(turn & 8)}
        given_options = dict(options)
        if turn % 3 == 0 and name not in ("min", "max", "nanmin", "nanmax", "ptp", *PLACES):
            mask = random.integers(0, 3, x.shape) > 0
            options["where"], given_options["where"] = mask, laid_out(mask, place)
        force(list(SHARINGS.values())[turn // 11 % len(SHARINGS)])
        got = to_host(quietly(name, laid_out(x, place), **given_options))
        force(NONE_FORCED)
        with np.errstate(all="ignore"):
            found = wrong_results(name, got, x, normal(axis, x.ndim), options)
        yield found and f"{found}: {shape}, {axis}, {dtype}, {view}"


@everywhere
@pytest.mark.parametrize("view", VIEWS)
@every_name
def test_rows_columns_and_others_of_every_layout_and_type(place, name, view):
    """Of arrays on the device."""
    assert [found for found in wrong_on_device(name, view, place) if found] == []


@everywhere
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["i1", "i4", "u4", "i8", "u8"])
def test_means_as_integers_wrap_before_they_are_divided(place, sharing, dtype, axis):
    """NumPy's mean divides the sum as `dtype` has it."""
    x = np.full((4, 8), np.iinfo(dtype).max, dtype)
    want = np.mean(x, axis, dtype=dtype)
    got = gred.mean(x, axis, dtype=dtype, **on(place, x))
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


@everywhere
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8"])
@pytest.mark.parametrize("name", ["sum", "mean", "var", "norm", "prod"])
def test_every_run_and_every_order_gives_the_same_bits(place, sharing, name, dtype):
    """Means under a mask, so that what is counted is merged, too."""
    random = np.random.default_rng(4)
    for shape, axis in (((3, 5000), 1), ((5000, 3), 0), ((40, 8, 30), (0, 2))):
        x = random.normal(size=shape).astype(dtype)
        options = {"axis": axis, **on(place, x)}
        if name == "mean":
            options["where"] = x.real > -1
        results = set()
        for seed in range(3):
            with gred.thread_order("shuffled", seed):
                results.add(quietly(name, x, **options).tobytes())
        assert len(results) == 1


@everywhere
@pytest.mark.parametrize("dtype", EVERY_TYPE, ids=lambda dtype: dtype.name)
@every_name
def test_every_type_has_results_of_its_type(place, name, dtype):
    if not takes(name, dtype):
        pytest.skip("NumPy has none of truth values")
    x = np.arange(1, 7).reshape(2, 3).astype(dtype)
    got = quietly(name, x, axis=0, **on(place, x))
    expected = type_of(name, dtype) if name not in LADDER else result_type(name, dtype)
    assert (got.dtype, got.shape) == (expected, (3,))
    assert got.flags.c_contiguous


@everywhere
@pytest.mark.parametrize(("shape", "axis"), EMPTY)
@every_name
def test_no_elements_are_as_in_numpy(place, name, shape, axis):
    if isinstance(axis, tuple) and (name in PLACES or name == "norm"):
        pytest.skip("NumPy takes one axis")
    x = np.ones(shape, np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            theirs = numpys(name)(x, axis=axis)
        except ValueError:
            with pytest.raises(ValueError, match=name):
                getattr(gred, name)(x, axis=axis, **on(place, x))
            return
    got = quietly(name, x, axis=axis, **on(place, x))
    np.testing.assert_array_equal(got, theirs)
    assert (got.dtype, got.shape, type(got)) == (theirs.dtype, theirs.shape, type(theirs))


@everywhere
def test_what_is_said_of_too_little_is_what_the_host_says(place):
    nan = np.full((3, 4), np.nan)
    device = on(place, nan)
    for call, words in (
        (lambda: gred.mean(np.zeros((4, 0)), 1, **device), "Mean of empty slice"),
        (lambda: gred.var(np.zeros((5, 1)), 1, ddof=1, **device), "Degrees of freedom"),
        (lambda: gred.nanmax(nan, 0, **device), "All-NaN slice"),
        (lambda: gred.nanmean(nan, 0, **device), "Mean of empty slice"),
        (lambda: gred.mean(np.ones((2, 2)), 0, where=[True, False], **device), "Mean of empty"),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            got = call()
        assert [words in str(warning.message) for warning in caught] == [True]
        assert np.isnan(got).any()
    for name in ("argmin", "argmax", "ptp", "minmax"):
        with pytest.raises(ValueError, match="hides"):
            getattr(gred, name)(np.ones((2, 2)), 0, where=[True, False], **device)


@everywhere
def test_many_dimensions_are_taken(place):
    shape = (2, 1, 1, 3) + (1,) * 58 + (2, 2)
    x = np.arange(24.0).reshape(shape)
    for axis in (0, 63, (0, 3), tuple(range(64)), tuple(range(0, 64, 2)), ()):
        got = gred.sum(x, axis, **on(place, x))
        np.testing.assert_array_equal(got, x.sum(axis))
    x = np.arange(2.0**12).reshape((2,) * 12).transpose([*range(0, 12, 2), *range(1, 12, 2)])
    for axis in (0, (1, 5, 11), tuple(range(6)), (11,)):
        np.testing.assert_array_equal(gred.sum(x, axis, **on(place, x)), x.sum(axis))


@everywhere
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("layout", ["apart", "columns", "masked"])
@pytest.mark.parametrize("reduced", [1, 4, 5, 6])
@pytest.mark.parametrize("kept", [1, 4, 5, 6])
def test_dimensions_that_no_two_are_one_of_are_taken(place, kept, reduced, layout, dtype):
    """Launches bring few of them with most kernels, and any number with one."""
    dimensions, rng = kept + reduced, np.random.default_rng(kept * reduced)
    last = slice(None, None, 1 if layout == "columns" else 2)
    shape, index = [3] * (dimensions - 1) + [4], [slice(None, None, 2)] * (dimensions - 1) + [last]
    theirs = rng.integers(-99, 99, shape).astype(dtype)[tuple(index)]
    x = laid_out(theirs, place)
    among = dimensions - (layout == "columns")
    axes = tuple(int(k) for k in rng.permutation(among)[:reduced])
    where = {"where": rng.random(theirs.shape) < 0.7} if layout == "masked" else {}
    with gred.thread_order("shuffled", kept):
        for name, start in (("sum", 0), ("max", -100)):
            got = getattr(gred, name)(x, axes, initial=start, **where)
            expected = getattr(np, name)(theirs, axes, initial=start, **where)
            np.testing.assert_array_equal(to_host(got), expected)
        got = gred.count_nonzero(x, axes, **where)
        np.testing.assert_array_equal(to_host(got), np.sum(theirs != 0, axes, **where))
        if not where:
            for name in ("sum", "argmax"):
                got = getattr(gred, name)(x, axes[0])
                np.testing.assert_array_equal(to_host(got), getattr(theirs, name)(axes[0]))


@everywhere
def test_minmax_gives_two_arrays(place):
    x = np.random.default_rng(6).normal(size=(5, 6, 7))
    least, greatest = gred.minmax(x, (0, 2), **on(place, x))
    np.testing.assert_array_equal(least, x.min((0, 2)))
    np.testing.assert_array_equal(greatest, x.max((0, 2)))


@everywhere
def test_a_mask_of_the_host_goes_with_an_array_of_the_device(place):
    x = np.random.default_rng(2).normal(size=(30, 40))
    mask = np.arange(40) % 3 > 0
    for axis in (0, 1):
        got = gred.sum(laid_out(x, place), axis, where=mask)
        np.testing.assert_allclose(got, x.sum(axis, where=mask))


@everywhere
def test_out_takes_results_of_the_host(place):
    x = np.random.default_rng(7).normal(size=(4, 5, 6)).astype(np.float32)
    for out in (np.zeros((4, 6)), np.zeros((6, 4), np.float32).T):
        assert gred.sum(x, 1, out=out, **on(place, x)) is out
        np.testing.assert_allclose(out, x.sum(1), rtol=1e-5)


@everywhere
def test_only_the_default_method_goes_along_axes(place):
    for options in ({"axis": 0}, {"keepdims": True}):
        with pytest.raises(ValueError, match="'auto'"):
            gred.sum(np.ones((2, 3)), method="unroll8", **on(place, None), **options)


@everywhere
@pytest.mark.parametrize("dtype", ["?", "f2", "f4", "i4", "u8"])
def test_sums_of_no_elements_are_zeros_in_any_type(place, dtype):
    """Also where elements would be converted before a kernel takes them."""
    for shape, axis in (((0,), 0), ((3, 0), 1), ((0, 5), 0)):
        x = laid_out(np.zeros(shape, dtype), place)
        for result in ("f4", "f8", "i8", "c16"):
            got = to_host(gred.sum(x, axis=axis, dtype=result, keepdims=True))
            right = np.zeros(shape, dtype).sum(axis=axis, dtype=result, keepdims=True)
            assert got.dtype == right.dtype
            np.testing.assert_array_equal(got, right)
