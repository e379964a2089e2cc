"""Along any axes devices give NumPy's answers, however the work is shared among threads.

One kernel serves every layout: teams of any size, rows and columns, splits of long results. Tests
force each of these at sizes that the simulated device is quick with, in shuffled order.
"""

import itertools
import math

import numpy as np
import pytest
from along import NAMES, calls, check_call
from axes_kernels import VIEWS, wrong
from devices import everywhere, laid_out, on, to_host
from drawn import FLAVOURS, often, values
from forcing import CONFIGURATIONS, forced
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from reference import COMPLEX, EVERY_TYPE, INTEGERS
from samples import all_right, quietly, takes
from thin import one_in
from truths import ORDERS, PLACES, SPREADS

import gred

SHARINGS = list(CONFIGURATIONS["general"])


@pytest.fixture(params=SHARINGS)
def sharing(request):
    with forced("general", request.param):
        yield request.param


@everywhere
@often(60, HealthCheck.function_scoped_fixture)
@given(call=calls(), seed=st.integers(0, 2**64 - 1))
def test_answers_and_refusals_are_numpys(place, sharing, call, seed):
    with gred.thread_order("shuffled", seed):
        check_call(call, **on(place))


# Rows and columns of every kind, which every type is reduced in by all kernels of them in turn.
SHAPES = [((3, 5000), 1), ((5000, 4), 0), ((30, 90), 0), ((7, 90, 5), 1), ((90, 4, 9), (0, 2))]
SHAPES += [((4, 2, 600), (1, 2)), ((3, 2310), 1), ((17, 40), 0), ((33, 5), 0), ((90, 2), 1)]
COLUMNS = [((40, 96), 0), ((611, 3), 0), ((3, 8, 32), 1), ((8, 70, 8), (0, 2))]
COLUMNS += [((2, 9, 64), (0, 2)), ((5, 2, 9, 24), (0, 2)), ((13, 2, 2, 37), (0, 2))]
ROWS = [((9, n), 1) for n in (1, 2, 3, 4, 5, 8, 11, 16, 31, 64, 257)]
ROWS += [((5, 1031), 1), ((30, 133), 1), ((2, 9001), 1), ((9, 3, 64), (0, 2)), ((3, 7, 99), (0, 2))]
# Of each the kernels' families and the shapes.
IN_EVERY_WAY = {
    "general": (("general",), SHAPES),
    "columns": (("columns",), COLUMNS),
    "rows": (("short rows", "long rows"), ROWS),
}
IN_TURN = ("as it is", "Fortran's order", "backwards", "off a boundary", "every second column")
NEED_SOME = ("min", "max", "nanmin", "nanmax", "ptp", *PLACES)


def wrong_in_every_way(name, kernels, place):
    """Reduce each type and flavour of values in a shape, layout and way that are drawn for it.

    Some of them are under masks, too. Yields what is wrong, or nothing, of each.
    """
    families, shapes = IN_EVERY_WAY[kernels]
    views = IN_TURN if kernels == "general" else ("as it is", *IN_TURN[3:])
    rounds = range(1 + 6 // min(one_in(), 6))
    several = itertools.product(rounds, families, EVERY_TYPE, FLAVOURS)
    for turn, (again, family, dtype, flavour) in enumerate(several):
        if not takes(name, dtype) or (dtype in INTEGERS and flavour == "moderate"):
            continue
        if kernels != "rows" and (turn + len(name)) % 2:
            continue
        masked = again == 0
        if masked and (turn % 4 or name in NEED_SOME):
            continue
        random = np.random.default_rng([turn, *map(ord, name + kernels)])
        shape, axis = shapes[random.integers(len(shapes))]
        if isinstance(axis, tuple) and name in PLACES:
            shape, axis = shapes[0]
        if dtype in COMPLEX and name in SPREADS:
            flavour = "small"  # of any bits, they overflow on the way
        view = views[random.integers(len(views))]
        x = VIEWS[view](values(dtype, flavour, math.prod(shape), random).copy().reshape(shape))
        options = {"keepdims": bool(turn & 8)}
        if masked:
            options["where"] = random.integers(0, 3, x.shape) > 0
        elif name == "norm" and flavour != "any bits" and isinstance(axis, int):
            options["ord"] = ORDERS[random.integers(3 if dtype in COMPLEX else len(ORDERS))]
        ways = list(CONFIGURATIONS[family])
        with forced(family, ways[random.integers(len(ways))]):
            found = wrong(name, x, axis, place, turn, **options) if x.size else ""
        yield found and f"{found}: {shape}, {axis}, {dtype}, {view}"


@everywhere
@pytest.mark.parametrize("kernels", IN_EVERY_WAY)
@pytest.mark.parametrize("name", NAMES)
def test_every_type_is_right_in_every_way(place, kernels, name):
    """Of every layout, under masks, too; each of them meets each way in which threads share."""
    all_right(wrong_in_every_way(name, kernels, place))


@everywhere
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["i1", "i4", "u4", "i8", "u8"])
def test_means_as_integers_wrap_before_they_are_divided(place, sharing, dtype, axis):
    """NumPy's mean divides the sum as `dtype` has it."""
    x = np.full((4, 8), np.iinfo(dtype).max, dtype)
    got = gred.mean(x, axis, dtype=dtype, **on(place))
    np.testing.assert_array_equal(got, np.mean(x, axis, dtype=dtype), strict=True)


@everywhere
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8"])
@pytest.mark.parametrize("name", ["sum", "mean", "var", "norm", "prod"])
def test_every_run_and_every_order_gives_the_same_bits(place, sharing, name, dtype):
    """Means under a mask, so that what is counted is merged, too."""
    random = np.random.default_rng(4)
    for shape, axis in (((3, 5000), 1), ((5000, 3), 0), ((40, 8, 30), (0, 2))):
        x, results = random.normal(size=shape).astype(dtype), set()
        options = {"where": x.real > -1} if name == "mean" else {}
        for seed in range(3):
            with gred.thread_order("shuffled", seed):
                results.add(quietly(name, x, axis=axis, **on(place), **options).tobytes())
        assert len(results) == 1


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
        for name in () if where else ("sum", "argmax"):
            got = getattr(gred, name)(x, axes[0])
            np.testing.assert_array_equal(to_host(got), getattr(theirs, name)(axes[0]))


@everywhere
@pytest.mark.parametrize("dtype", ["?", "f2", "f4", "i4", "u8"])
def test_sums_of_no_elements_are_zeros_in_any_type(place, dtype):
    """Also where elements would be converted before a kernel takes them."""
    for shape, axis in (((0,), 0), ((3, 0), 1), ((0, 5), 0)):
        x = laid_out(np.zeros(shape, dtype), place)
        for result in ("f4", "f8", "i8", "c16"):
            got = to_host(gred.sum(x, axis=axis, dtype=result, keepdims=True))
            right = np.zeros(shape, dtype).sum(axis=axis, dtype=result, keepdims=True)
            np.testing.assert_array_equal(got, right, strict=True)


@everywhere
def test_a_mask_of_the_host_goes_with_an_array_of_the_device(place):
    x = np.random.default_rng(2).normal(size=(30, 40))
    mask = np.arange(40) % 3 > 0
    for axis in (0, 1):
        got = gred.sum(laid_out(x, place), axis, where=mask)
        np.testing.assert_allclose(to_host(got), x.sum(axis, where=mask))


EXTREMES = ("max", "min", "nanmax", "nanmin", "minmax")
CONVERTED = [np.dtype(one) for one in ("i2", "i8", "u1", "u4", "f2", "f4", "f8", "?")]


@everywhere
@pytest.mark.parametrize("dtype", CONVERTED, ids=str)
@pytest.mark.parametrize("of", CONVERTED, ids=str)
def test_extremes_are_those_of_what_elements_become(of, dtype, place):
    """Kernels compare elements in an order of their own, and results are of another type."""
    least = 0 if of.kind in "ub" else -100
    x = np.random.default_rng(1).integers(least, 100, (6, 300, 8)).astype(of)
    for name, axis in itertools.product(EXTREMES, (0, 1, 2, (0, 2))):
        if name.startswith("nan") and dtype.kind in "iub":
            continue
        found = getattr(gred, name)(laid_out(x, place), axis, dtype=dtype)
        plain = x.astype(dtype)
        expected = [getattr(plain, way)(axis) for way in ("min", "max") if way in name]
        found = found if name == "minmax" else [found]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(to_host(one), other)
