"""What is asked of each family of kernels: every shape, layout, special value and order of threads.

And where results go. Configurations are forced at sizes that the simulated device is quick with.
"""

import itertools
import warnings

import numpy as np
import pytest
from along import (
    EXTREMES,
    KNOWN_FLOATS,
    KNOWN_TYPES,
    drawn,
    integers,
    normal,
    right_along,
    unit,
    wrong_along,
    wrong_results,
)
from axes_cases import LONG_ROWS, OF_HALVES, SPREAD, VIEWS, Family
from devices import everywhere, flat_there, laid_out, to_host
from findings import all_right
from forcing import CONFIGURATIONS, forced
from reference import agrees
from samples import quietly
from thin import chosen
from truths import PLACES, SPREADS, answer

import gred

NAMES = ("sum", "mean", "min", "max", *PLACES, *SPREADS)
every_type = pytest.mark.parametrize("dtype", KNOWN_TYPES, ids=str)
every_float = pytest.mark.parametrize("dtype", KNOWN_FLOATS, ids=str)
SPECIAL = (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 1.0, -1.0, 2.0)
OF_SPECIAL = (slice(None), slice(2), slice(2, None), slice(2, 3), slice(3, 4), slice(4, 6))


def reduced(name, x, place, axis, seed=0, **options):
    """Reduce an array that lies there, by threads in some order."""
    with gred.thread_order("shuffled", seed):
        return to_host(quietly(name, laid_out(x, place), axis=axis, **options))


def takes(name, axis):
    """Tell whether there is such a reduction along these axes."""
    return name not in PLACES or not isinstance(axis, tuple)


def wrong(name, view, axis, place, seed=0, **options):
    """Reduce a view where it lies on a device; say what is wrong with it."""
    options = {"axis": axis, "keepdims": False, **options}
    with np.errstate(all="ignore"), gred.thread_order("shuffled", seed):
        got = to_host(quietly(name, laid_out(view, place), **options))
        return wrong_results(name, got, view, normal(axis, view.ndim), options)


def wrong_long_rows(name, place):
    """Share rows of each type in turn in each way; yields what is wrong, or nothing, of each."""
    ways = list(CONFIGURATIONS["long rows"])
    turns = list(enumerate(itertools.product(LONG_ROWS, KNOWN_TYPES, (0, 1))))
    for turn, (((*outer, length), axis), dtype, before) in chosen(turns, name):
        if takes(name, axis):
            random = np.random.default_rng(turn)
            whole = random.integers(-100, 100, (*outer, length + before)).astype(dtype)
            with forced("long rows", ways[turn % len(ways)]):
                found = wrong(name, whole[..., before:], axis, place)
            yield found and f"{found}: {outer}, {length}, {axis}, {dtype}"


class Kernels:
    """What is asked of every family."""

    family: Family
    views = VIEWS

    def pytest_generate_tests(self, metafunc):
        if "configuration" in metafunc.fixturenames:
            names = list(CONFIGURATIONS[metafunc.cls.family.kernels])
            metafunc.parametrize("configuration", names, indirect=True)

    @pytest.fixture
    def configuration(self, request):
        with forced(self.family.kernels, request.param):
            yield request.param

    def drawn(self, dtype, shape, turn):
        """Draw an array, as the family is to meet it."""
        return integers(dtype, shape)

    def viewed(self, view, dtype, shape, turn):
        """Draw an array in a layout."""
        return self.views[view](integers(dtype, shape))

    @everywhere
    @every_type
    @pytest.mark.parametrize("name", NAMES)
    def test_every_shape_is_reduced(self, place, configuration, name, dtype):
        every = [shape for shape in enumerate(self.family.shapes) if takes(name, shape[1][1])]
        all_right(
            wrong_along(name, reduced(name, x, place, axis, turn), x, axis)
            for turn, (shape, axis) in self.some(every, name, dtype, configuration)
            for x in [self.drawn(dtype, shape, turn)]
        )

    def some(self, every, *of):
        """Choose some, where there are many."""
        return chosen(every, *of) if len(every) > 100 else every

    @everywhere
    @pytest.mark.parametrize("view", VIEWS)
    @pytest.mark.parametrize("name", NAMES)
    def test_every_layout_is_reduced(self, place, configuration, name, view):
        every = [shape for shape in enumerate(self.family.shapes) if takes(name, shape[1][1])]
        all_right(
            wrong_along(name, reduced(name, x, place, axis, turn), x, axis)
            for turn, (shape, axis) in self.some(every, name, view, configuration)
            for x in [self.viewed(view, KNOWN_TYPES[turn % len(KNOWN_TYPES)], shape, turn)]
            if x.size
        )

    @everywhere
    @every_float
    @pytest.mark.parametrize("name", NAMES)
    def test_nan_infinities_zeros_and_ties_are_as_in_numpy(self, place, configuration, name, dtype):
        """NaN wins, the first of several, as does the first of equals, be they negative zeros."""
        random = np.random.default_rng(len(name))
        tiny = np.array([1, 1 + (1 << 8 * dtype.itemsize - 1)], f"u{dtype.itemsize}").view(dtype)
        drawn = np.r_[np.array(SPECIAL, dtype), tiny if name in EXTREMES else tiny[:0]]
        every = list(itertools.product(self.family.special, OF_SPECIAL, (0.02, 1)))
        all_right(
            wrong_along(name, reduced(name, x, place, axis), x, axis)
            for (shape, axis), part, share in self.some(every, name, dtype, configuration)
            if takes(name, axis)
            for few in [random.random(shape) < share]
            for x in [np.where(few, random.choice(drawn[part], shape), drawn.dtype.type(1))]
        )

    @everywhere
    @pytest.mark.parametrize("value", [-128, 127])
    @pytest.mark.parametrize("name", NAMES)
    def test_bytes_at_their_ends_are_added_without_overflow(
        self, place, configuration, name, value
    ):
        for shape, axis in self.family.at_the_ends:
            if takes(name, axis):
                x = np.full(shape, value, np.int8)
                assert not wrong_along(name, reduced(name, x, place, axis), x, axis)
                x[..., 3::7], x[-1] = 0, -1
                x[..., -1] = np.random.default_rng(1).choice([-128, 127], x[..., -1].shape)
                assert not wrong_along(name, reduced(name, x, place, axis), x, axis)

    @everywhere
    @every_float
    @pytest.mark.parametrize("data", SPREAD)
    def test_spreads_are_within_chans_bound(self, place, configuration, data, dtype):
        """However near to each other numbers are, or how far apart, and how many came before.

        Results are also of a wider type than the elements, of which less is kept.
        """
        if dtype.itemsize == 2 and data not in OF_HALVES:
            pytest.skip("there are no such halves")
        random = np.random.default_rng(8)
        for turn, (shape, axis) in enumerate(
            chosen(self.family.spread, configuration, data, dtype)
        ):
            rows, axes = np.zeros(shape), normal(axis, len(shape))
            rows = np.moveaxis(rows, axes, range(-len(axes), 0))
            flat = [SPREAD[data](int(np.prod(rows.shape[1:])), random) for _ in rows]
            x = np.moveaxis(np.reshape(flat, rows.shape), range(-len(axes), 0), axes).astype(dtype)
            x = np.ascontiguousarray(x)
            for given_type in {dtype, np.dtype("f8" if dtype == np.float64 else "f4")}:
                options = {"dtype": given_type, "ddof": turn % 2}
                got = reduced("var", self.far_apart(x), place, axis, **options)
                for k, row in enumerate(np.moveaxis(x, axes, range(-len(axes), 0))):
                    right = answer("var", row.ravel(), **options)
                    assert agrees(got[k], right), (shape, k, got[k], right)

    def far_apart(self, x):
        """Have rows of a matrix lie so that they are not taken for one."""
        return np.pad(x, ((0, 0), (3, 140)))[:, 3:-140] if x.ndim == 2 else x

    @everywhere
    @pytest.mark.parametrize("dtype", ["f4", "f8"])
    def test_spreads_far_from_zero_are_as_good_as_near_it(self, place, configuration, dtype):
        far = {"f4": 2**20, "f8": 2**24}[dtype]
        for shape, axis in self.family.spread:
            x = integers(dtype, shape)
            got = reduced("var", x + x.dtype.type(far), place, axis)
            right, _ = right_along("var", x.astype("f8"), axis)
            assert (abs(got - right) <= 2.0**-22 * right).all()

    @everywhere
    @every_float
    @pytest.mark.parametrize("name", ["sum", "mean", "var"])
    def test_every_order_of_threads_gives_the_same_bits(self, place, configuration, name, dtype):
        for shape, axis in self.family.few:
            x = drawn(dtype, shape)
            made = {reduced(name, x, place, axis, seed).tobytes() for seed in range(3)}
            assert len(made) == 1

    @everywhere
    @every_type
    @pytest.mark.parametrize("name", ["sum", "max", "argmax", "var"])
    @pytest.mark.parametrize("first", [0, 1, 3])
    def test_results_are_written_where_they_belong(self, place, configuration, name, dtype, first):
        """At any distance, of another type and off boundaries; and nothing beside them."""
        for shape, axis in self.family.few:
            if not takes(name, axis):
                continue
            x = integers(dtype, shape)
            want = reduced(name, x, place, axis)
            kinds = [want.dtype, np.dtype("i8" if want.dtype.kind == "i" else "f8")]
            for step, kind in itertools.product((1, 2, -1), kinds):
                room = np.full(want.size * 3 + 4, 7, kind)
                out = room[first:][::step][: want.size].reshape(want.shape)
                getattr(gred, name)(laid_out(x, place), axis=axis, out=out)
                np.testing.assert_allclose(
                    out.astype("f8"), want.astype("f8"), 4 * unit(want.dtype)
                )
                out[...] = 7
                assert (room == 7).all()
            room = flat_there(np.full(want.size + 8, 7, want.dtype), place)
            out = room[first : first + want.size].described(shape=want.shape)
            getattr(gred, name)(laid_out(x, place), axis=axis, out=out)
            got = to_host(room)
            near = 4 * unit(want.dtype) * (name == "var")
            found = got[first : first + want.size].reshape(want.shape)
            np.testing.assert_allclose(found.astype("f8"), want.astype("f8"), near)
            assert (np.delete(got, slice(first, first + want.size)) == 7).all()

    @everywhere
    @every_type
    def test_initial_values_masks_types_and_divisors_are_numpys(self, place, configuration, dtype):
        for shape, axis in self.family.few:
            x = integers(dtype, shape)
            wide, near = x.astype("f8"), {"rtol": 4 * max(unit(dtype), unit("f4"))}
            every = [("sum", {"initial": 5}), ("max", {"initial": 4}), ("sum", {"dtype": "f8"})]
            every += [("mean", {"dtype": "f4"}), ("sum", {"where": x > 0})]
            every += [(name, {"ddof": ddof}) for name in SPREADS for ddof in (1, 1.5, 4096)]
            every += [(name, {"mean": np.float32(2)}) for name in SPREADS]
            for name, options in every:
                right = quietly_numpys(name, wide, axis, options)
                got = reduced(name, x, place, axis, **options)
                np.testing.assert_allclose(got.astype("f8"), right, **near)

    @everywhere
    @every_type
    @pytest.mark.parametrize("name", PLACES)
    def test_places_among_one_element_are_zeros(self, place, configuration, name, dtype):
        """Whatever that is; in blocks, in the rest of one, and off a boundary; also over sevens."""
        for count in (1, 31, 33, 1001, 2048):
            x = integers(dtype, (1, count + 1))
            x[0, ::3] = -128 if dtype == np.int8 else np.nan
            for view, axis in ((x, 0), (x[:, 1:], 0), (x.T, 1), (x[:, 1:].T, 1)):
                got = reduced(name, view, place, axis)
                np.testing.assert_array_equal(got, np.zeros(view.size, "i8"), strict=True)
                out = flat_there(np.full(view.size, 7, "i8"), place)
                getattr(gred, name)(laid_out(view, place), axis=axis, out=out)
                assert not to_host(out).any()


def quietly_numpys(name, x, axis, options):
    """Give NumPy's answer in its own type."""
    options = {key: value for key, value in options.items() if key != "dtype"}
    function = getattr(np, name)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return function(x, axis=axis, **options)
