"""What is asked of each family of kernels: every shape, layout, special value and order of threads.

And where results go. Configurations are forced at sizes that the simulated device is quick with.
"""

import itertools
import warnings
from typing import NamedTuple

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
from devices import everywhere, flat_there, laid_out, to_host
from drawn import FLAVOURS, values
from forcing import CONFIGURATIONS, forced
from hypothesis import strategies as st
from reference import agrees
from samples import all_right, quietly
from thin import chosen
from truths import PLACES, SPREADS, answer

import gred

NAMES = ("sum", "mean", "min", "max", *PLACES, *SPREADS)
every_type = pytest.mark.parametrize("dtype", KNOWN_TYPES, ids=str)
every_float = pytest.mark.parametrize("dtype", KNOWN_FLOATS, ids=str)
SPECIAL = (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 1.0, -1.0, 2.0)
OF_SPECIAL = (slice(None), slice(2), slice(2, None), slice(2, 3), slice(3, 4), slice(4, 6))


class Family(NamedTuple):
    """What kernels are asked to reduce: shapes, each with its axes."""

    kernels: str  # as forcing.py has their configurations
    shapes: list
    few: list
    at_the_ends: list  # of so many bytes as narrow sums hold, and of more
    special: list
    spread: list


# Rows of one load and of several, of a part of one, one more than several, and short ones that are
# taken for one, with and without some left over; as many as are read at a time, and more. Batches
# of short rows that are taken for one; results of several neighbours in few rows.
COLUMNS = Family(
    "columns",
    [
        *[((rows, 48), 0) for rows in (1, 2, 3, 7, 8, 9, 16, 31)],
        *[((300, 2), 0), ((611, 3), 0), ((517, 16), 0), ((523, 31), 0), ((130, 100), 0)],
        *[((33, 257), 0), ((5, 1000), 0), ((2, 4097), 0), ((70, 1), 0), ((1, 70), 0)],
        *[((300, 257), 0), ((6, 20, 32), 1), ((4, 9, 31), 1), ((90, 8, 8), (0, 2))],
        *[((90, 5, 4), (0, 2)), ((3, 517, 8), 1), ((2, 300, 3), 1), ((5, 611, 16), 1)],
        *[((2, 133, 100), 1), ((8, 70, 8), (0, 2)), ((3, 33, 16), (0, 2)), ((9, 48, 2), (0, 2))],
        ((2, 5, 64), (0, 2)),
    ],
    few=[((40, 96), 0), ((40, 6, 16), 0), ((5, 8, 8), 1), ((611, 3), 0)],
    at_the_ends=[((70000, 16), 0), ((131, 16), 0)],  # though nothing else asks for splits
    special=[((n, k), 0) for n, k in ((9, 32), (200, 16), (611, 3), (64, 33), (9, 30), (2, 40))],
    spread=[((63, 9), 0), ((64, 16), 0), ((131, 8), 0), ((700, 9), 0)],
)
NEIGHBOURS = Family(
    "columns",
    [((70, 40, 4), (0, 2)), ((1, 33, 32), (0, 2)), ((16, 16, 32), (0, 2))],
    few=[((8, 70, 8), (0, 2)), ((2, 9, 64), (0, 2))],
    at_the_ends=[((16, 16, 32), (0, 2))],
    special=[((8, 33, 8), (0, 2))],
    spread=[((8, 33, 8), (0, 2)), ((70, 17, 2), (0, 2)), ((2, 5, 64), (0, 2))],
)
ROWS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 15, 16, 17, 31, 64, 70)
# A load, and one element more and less; a warp's loads of bytes; blocks' ends, and some between.
WIDTHS = (1, 15, 16, 17, 31, 48, 496, 497, 512, 513, 1001, 2048)
UNSPLIT = Family(
    "unsplit columns",
    [
        *[((n, WIDTHS[k % len(WIDTHS)]), 0) for k, n in enumerate(ROWS)],
        *[((n, 96), 0) for n in ROWS],
        *[((n, k), 0) for k in WIDTHS for n in (2, 3, 13)],
        *[((3, 8, 8), 1), ((5, 6, 4), 1), ((4, 18, 2), 1), ((2, 34, 8), 1), ((3, 7, 8), 1)],
        *[((5, 3, 32), 1), ((3, 4, 2, 16), 1), ((40, 8, 16), 1), ((3, 5, 48), 1)],
        *[((4, 9, 31), 1), ((6, 16, 32), 0), ((12, 8, 8), 0), ((12, 8, 8), 1)],
        # Results of several neighbours: of a thread's own columns, and of several threads'.
        *[((8, 70, 8), (0, 2)), ((3, 33, 16), (0, 2)), ((9, 48, 2), (0, 2))],
        *[((2, 9, 64), (0, 2)), ((70, 40, 4), (0, 2)), ((1, 33, 32), (0, 2))],
    ],
    few=[((2, 333), 0), ((3, 512), 0), ((31, 96), 0), ((5, 8, 8), 1)],
    at_the_ends=[((2, 48), 0), ((31, 48), 0), ((300, 48), 0), ((16, 16, 32), (0, 2))],
    special=[((2, 300), 0), ((3, 33), 0), ((9, 64), 0)],
    spread=[((2, 33), 0), ((31, 16), 0), ((64, 9), 0), ((131, 8), 0)],
)
# Of every length, and so many that results fill blocks, and do not.
FILLING = ((2, 512), (3, 832), (4, 512), (6, 832), (8, 256), (31, 320))
SHORT_ROWS = Family(
    "short rows",
    [
        *[((rows, n), 1) for n in range(1, 131) for rows in (1, 45)],
        *[((rows, n), 1) for n in (200, 255, 256, 257, 500, 512, 768, 1024) for rows in (1, 45)],
        *[((rows, n), 1) for n, k in FILLING for rows in (k - 1, k, 2 * k + 1)],
    ],
    few=[((90, n), 1) for n in (2, 3, 8, 31, 64, 500)],
    at_the_ends=[((70, n), 1) for n in (2, 3, 4, 5, 8, 31, 64, 100, 131, 512)],
    special=[((300, n), 1) for n in (1, 2, 3, 4, 7, 8, 16, 31, 64, 100)],
    spread=[((9, n), 1) for n in (2, 3, 8, 31, 100, 500)],
)
OF_LONG_ROWS = Family(
    "long rows",
    [
        *[((5, 1031), 1), ((300, 133), 1), ((2, 9001), 1), ((40, 3, 64), (0, 2))],
        *[((3, 7, 99), (0, 2)), ((2000, 131), 1), ((3, 1), 1), ((7, 15), 1), ((6, 700), 1)],
    ],
    few=[((3, 5000), 1), ((40, 8, 32), (0, 2)), ((9, 2, 333), (0, 2))],
    at_the_ends=[((3, n), 1) for n in (9, 15, 64, 1000, 5001, 200_003)],  # 2^17 squares are 2^31
    special=[((3, 600), 1), ((8, 643), 1), ((2, 2001), 1)],
    spread=[((2, n), 1) for n in (3, 37, 130, 777, 1500)],
)

# Where rows and columns begin, and what is between them.
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
    "every third column": lambda x: x[..., ::3],
    "again and again": lambda x: np.broadcast_to(x[:1], x.shape),
    "Fortran's order": lambda x: np.ascontiguousarray(x.T).T,
}
# Numbers near to each other, far apart, in steps, with outliers, of many magnitudes.
SPREAD = {
    f"about {about}": lambda n, r, about=about: about + r.integers(-1, 2, n) * max(about, 1) / 256
    for about in (0, 1, 1000, 60000)
}
SPREAD["any magnitude"] = lambda n, r: SPREAD["about 1000"](n, r) * 2.0 ** r.integers(-24, 1, n)
SPREAD["steps of 64"] = lambda n, r: SPREAD["about 1000"](n, r) + np.arange(n) // 64 * 4
SPREAD["tiny at last"] = lambda n, r: np.r_[SPREAD["about 1000"](n - n // 2, r), [1e-4] * (n // 2)]
SPREAD["one value"] = lambda n, r: np.full(n, 0.1)
SPREAD["one far away first"] = lambda n, r: np.r_[30_000, SPREAD["about 1000"](n - 1, r)]
OF_HALVES = tuple(SPREAD)
SPREAD |= {
    "a great mean": lambda n, r: 1e6 + r.normal(size=n),
    "an outlier first": lambda n, r: np.r_[1e9, 1 + r.normal(size=n - 1) / 8],
    "outliers first in every batch": lambda n, r: (
        1 + r.normal(size=n) + 1e7 * (np.arange(n) % 32 == 0)
    ),
    "an outlier last": lambda n, r: np.r_[1 + r.normal(size=n - 1) / 8, -1e9],
    "a trend": lambda n, r: np.arange(n) * 1e3,
    "steps of 256": lambda n, r: 1e5 * (np.arange(n) // 256) + r.normal(size=n),
    "two values": lambda n, r: 1e7 + (np.arange(n) % 2),
    "many magnitudes": lambda n, r: r.normal(size=n) * 10 ** r.uniform(-6, 6, n),
}


@st.composite
def rows_anywhere(draw):
    """Draw rows that begin anywhere and lie at any distance, of lengths near whole packs.

    Their elements are neighbours, or every second one is theirs.
    """
    dtype = draw(st.sampled_from(KNOWN_TYPES))
    pack = 16 // dtype.itemsize
    near = st.builds(
        lambda packs, more: max(1, packs * pack + more),
        st.sampled_from([4, 16, 64, 128, 129, 300]),
        st.integers(-pack - 1, pack + 1),
    )
    length = draw(st.integers(1, 4 * pack) | near)
    count = draw(st.integers(1, 70 if length < 100 else 5))
    before, behind = draw(st.integers(0, pack)), draw(st.integers(0, pack))
    every, step = draw(st.sampled_from([1, 1, 2, -1])), draw(st.sampled_from([1, 2]))
    width = before + length * step + behind
    random = np.random.default_rng(draw(st.integers(0, 1000)))
    whole = values(dtype, draw(st.sampled_from(FLAVOURS)), count * abs(every) * width, random)
    whole = whole.reshape(count * abs(every), width).copy()
    return whole[::every, before : before + length * step : step]


def reduced(name, x, place, axis, seed=0, **options):
    with gred.thread_order("shuffled", seed):
        return to_host(quietly(name, laid_out(x, place), axis=axis, **options))


def takes(name, axis):
    return name not in PLACES or not isinstance(axis, tuple)


def wrong(name, view, axis, place, seed=0, **options):
    options = {"axis": axis, "keepdims": False, **options}
    there = {key: laid_out(x, place) if key == "where" else x for key, x in options.items()}
    with np.errstate(all="ignore"), gred.thread_order("shuffled", seed):
        got = to_host(quietly(name, laid_out(view, place), **there))
        return wrong_results(name, got, view, normal(axis, view.ndim), options)


class Kernels:
    """What is asked of every family."""

    family: Family

    def pytest_generate_tests(self, metafunc):
        if "configuration" in metafunc.fixturenames:
            names = list(CONFIGURATIONS[metafunc.cls.family.kernels])
            metafunc.parametrize("configuration", names, indirect=True)

    @pytest.fixture
    def configuration(self, request):
        with forced(self.family.kernels, request.param):
            yield request.param

    def drawn(self, dtype, shape, turn):
        return integers(dtype, shape)

    def all_right(self, name, place, view, types, *of):
        """Reduce all shapes, or some where there are many, of these types in turn."""
        every = [shape for shape in enumerate(self.family.shapes) if takes(name, shape[1][1])]
        all_right(
            wrong_along(name, reduced(name, x, place, axis, turn), x, axis)
            for turn, (shape, axis) in self.some(every, name, *of)
            for x in [VIEWS[view](self.drawn(types[turn % len(types)], shape, turn))]
            if x.size
        )

    def some(self, every, *of):
        return chosen(every, *of) if len(every) > 60 else every

    @everywhere
    @every_type
    def test_every_shape_is_reduced(self, place, configuration, dtype):
        for name in chosen(NAMES, configuration, dtype):
            self.all_right(name, place, "as it is", [dtype], dtype, configuration)

    @everywhere
    @pytest.mark.parametrize("view", VIEWS)
    def test_every_layout_is_reduced(self, place, configuration, view):
        for name in chosen(NAMES, configuration, view):
            self.all_right(name, place, view, KNOWN_TYPES, view, configuration)

    @everywhere
    @every_float
    def test_nan_infinities_zeros_and_ties_are_as_in_numpy(self, place, configuration, dtype):
        """NaN wins, the first of several, as does the first of equals, be they negative zeros."""
        tiny = np.array([1, 1 + (1 << 8 * dtype.itemsize - 1)], f"u{dtype.itemsize}").view(dtype)
        every = list(itertools.product(self.family.special, OF_SPECIAL, (0.02, 1)))
        for name in chosen(NAMES, configuration, dtype):
            random = np.random.default_rng(len(name))
            drawn = np.r_[np.array(SPECIAL, dtype), tiny if name in EXTREMES else tiny[:0]]
            all_right(
                wrong_along(name, reduced(name, x, place, axis), x, axis)
                for (shape, axis), part, share in self.some(every, name, dtype, configuration)
                if takes(name, axis)
                for few in [random.random(shape) < share]
                for x in [np.where(few, random.choice(drawn[part], shape), drawn.dtype.type(1))]
            )

    @everywhere
    @pytest.mark.parametrize(
        ("dtype", "value", "other"), [("i1", -128, 127), ("i1", 127, -128), ("u1", 255, 0)]
    )
    def test_bytes_at_their_ends_are_added_without_overflow(
        self, place, configuration, dtype, value, other
    ):
        names = ("sum", "var", *chosen(EXTREMES, configuration, value))
        for name, (shape, axis) in itertools.product(names, self.family.at_the_ends):
            # Extremes are no larger where there are many.
            if takes(name, axis) and (name not in EXTREMES or np.prod(shape) < 100_000):
                x = np.full(shape, value, dtype)
                assert not wrong_along(name, reduced(name, x, place, axis), x, axis)
                x[..., 3::7], x[-1] = 0, 1
                x[..., -1] = np.random.default_rng(1).choice([value, other], x[..., -1].shape)
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
    def test_results_are_written_where_they_belong(self, place, configuration, dtype):
        """At any distance, of another type and off boundaries; and nothing beside them."""
        every = itertools.product(("sum", "max", "argmax", "var"), (0, 1, 3), self.family.few)
        for name, first, (shape, axis) in chosen(every, configuration, dtype):
            if takes(name, axis):
                check_outs(name, place, integers(dtype, shape), axis, first)

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
    def test_places_among_one_element_are_zeros(self, place, configuration, dtype):
        """Whatever that is; in blocks, in the rest of one, and off a boundary; also over sevens."""
        for name, count in itertools.product(
            PLACES, chosen((1, 31, 33, 1001, 2048), configuration)
        ):
            x = integers(dtype, (1, count + 1))
            x[0, ::3] = -128 if dtype == np.int8 else np.nan
            for view, axis in ((x, 0), (x[:, 1:], 0), (x.T, 1), (x[:, 1:].T, 1)):
                got = reduced(name, view, place, axis)
                np.testing.assert_array_equal(got, np.zeros(view.size, "i8"), strict=True)
                out = flat_there(np.full(view.size, 7, "i8"), place)
                getattr(gred, name)(laid_out(view, place), axis=axis, out=out)
                assert not to_host(out).any()


def check_outs(name, place, x, axis, first):
    """Write results of an array to the host and to the device, so far from where memory begins."""
    want = reduced(name, x, place, axis)
    # Kernels differ by where results lie, and variances by the order of n additions.
    n = x.size // want.size
    near = 4 * unit(want.dtype) + (name == "var") * n * 2.0**-50
    kinds = [want.dtype, np.dtype("i8" if want.dtype.kind == "i" else "f8")]
    for step, kind in itertools.product((1, 2, -1), kinds):
        room = np.full(want.size * 3 + 4, 7, kind)
        out = room[first:][::step][: want.size].reshape(want.shape)
        getattr(gred, name)(laid_out(x, place), axis=axis, out=out)
        np.testing.assert_allclose(out.astype("f8"), want.astype("f8"), near)
        out[...] = 7
        assert (room == 7).all()
    room = flat_there(np.full(want.size + 8, 7, want.dtype), place)
    out = room[first : first + want.size].described(shape=want.shape)
    getattr(gred, name)(laid_out(x, place), axis=axis, out=out)
    got = to_host(room)
    near *= name == "var"
    found = got[first : first + want.size].reshape(want.shape)
    np.testing.assert_allclose(found.astype("f8"), want.astype("f8"), near)
    assert (np.delete(got, slice(first, first + want.size)) == 7).all()


def quietly_numpys(name, x, axis, options):
    """Give NumPy's answer in its own type."""
    options = {key: value for key, value in options.items() if key != "dtype"}
    function = getattr(np, name)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return function(x, axis=axis, **options)
