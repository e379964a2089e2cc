"""Rows and columns of known types are right in every kernel, however threads share the work.

axes_kernels.py has what is asked of all families alike.
"""

import itertools

import numpy as np
import pytest
from along import KNOWN_FLOATS, KNOWN_TYPES, drawn, integers, wrong_along
from axes_kernels import (
    COLUMNS,
    NAMES,
    NEIGHBOURS,
    OF_LONG_ROWS,
    SHORT_ROWS,
    UNSPLIT,
    Family,
    Kernels,
    every_type,
    reduced,
    rows_anywhere,
    wrong,
)
from devices import everywhere
from drawn import FLAVOURS, often, values
from forcing import forced
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from truths import PLACES


class TestColumns(Kernels):
    """By teams and by threads of their own, split or not, and short rows that are taken for one."""

    family = COLUMNS

    @everywhere
    def test_dimensions_are_in_the_callers_order(self, place, configuration):
        x = integers("f4", (40, 6, 16)).transpose(2, 0, 1)
        np.testing.assert_array_equal(reduced("max", x, place, 1), x.max(1))


class TestNeighbours(Kernels):
    """Columns of one result, which are merged."""

    family = NEIGHBOURS


# Columns, and runs of every length in one and two dimensions of rows.
STRIDED = Family(
    "strided",
    [
        *[((rows, 48), 0) for rows in (1, 2, 7, 8, 9, 31)],
        *[((300, 2), 0), ((611, 3), 0), ((33, 257), 0), ((5, 1000), 0), ((70, 1), 0)],
        *[((40, 7, run), (0, 2)) for run in (2, 3, 5, 17, 21)],
        *[((6, 9, 4, 3), (0, 2)), ((3, 8, 5, 7), (0, 1, 3)), ((4, 9, 31), 1), ((3, 5, 6, 4), 1)],
        *[((90, 2, 8), (0, 2)), ((2, 300, 3), 1), ((5, 11, 2, 13), (1, 3)), ((6, 7, 3, 5), (0, 2))],
    ],
    few=[((40, 96), 0), ((40, 6, 5), (0, 2)), ((5, 8, 8), 1)],
    at_the_ends=[((7000, 16), 0), ((131, 16), 0), ((131, 4, 7), (0, 2))],
    special=[((9, 32), 0), ((611, 3), 0), ((64, 33), 0)],
    spread=[((63, 9), 0), ((64, 16), 0), ((131, 8), 0)],
)


class TestStrided(Kernels):
    """Elements that are loaded one by one, of columns and of short runs."""

    family = STRIDED


class TestUnsplitColumns(Kernels):
    """That a thread makes by itself, of one load and of several."""

    family = UNSPLIT

    @everywhere
    @pytest.mark.parametrize("dtype", KNOWN_FLOATS[:3], ids=str)
    @pytest.mark.parametrize("name", NAMES[:-1])
    def test_bits_are_those_of_threads_that_share(self, place, name, dtype):
        """Rows are taken in the same order.

        Spreads of halves are made in float32 where they are to be halves, and differ by a rounding.
        """
        for rows, scale in itertools.product((1, 2, 3, 4, 7, 8, 10, 31), (1.0, 2.0**-10)):
            x = (np.random.default_rng(rows).normal(size=(rows, 96)) * scale).astype(dtype)
            made = []
            for configuration in ("4 loads", "shared"):
                with forced(self.family.kernels, configuration):
                    made.append(reduced(name, x, place, 0))
            if name == "var" and dtype == np.float16:
                np.testing.assert_allclose(*made, 2.0**-10)
            else:
                assert made[0].tobytes() == made[1].tobytes(), (rows, scale)

    @everywhere
    @pytest.mark.parametrize("dtype", KNOWN_FLOATS[:3], ids=str)
    def test_means_are_rounded_once_however_large(self, place, configuration, dtype):
        """A quotient's residual is lost where it is too small, and is none where the sum is."""
        ends = np.finfo(dtype)
        edges = [ends.smallest_subnormal, ends.tiny, ends.tiny * 3, ends.max / 4, np.inf, np.nan, 0]
        numbers = np.array([*edges, *np.negative(edges), 1, -0.0], dtype)
        wide = np.float64 if dtype == np.float64 else np.float32
        for rows in (2, 3, 5, 7, 12):
            x = np.zeros((rows, 16), dtype)
            x[rows // 2] = numbers
            with np.errstate(all="ignore"):
                want = (x.sum(0, dtype=wide) / wide(rows)).astype(dtype)
            got = reduced("mean", x, place, 0)
            np.testing.assert_array_equal(got, want)
            assert not np.signbit(got[got == 0]).any() or np.signbit(want[got == 0]).any()


class TestShortRows(Kernels):
    """Several at a load, or staged, one after the other however they lie."""

    family = SHORT_ROWS

    def drawn(self, dtype, shape, turn):
        """Of integers and of others in turn, some rows off a boundary."""
        rows, n = shape
        draw = integers if turn % 3 == 0 else drawn
        return draw(dtype, (rows * n + turn % 5,))[turn % 5 :].reshape(shape)

    @everywhere
    @every_type
    @pytest.mark.parametrize("step", [1, 2])
    def test_many_rows_that_lie_apart_fill_blocks(self, place, dtype, step):
        """Blocks begin anywhere: behind rows of others, and at boundaries or not."""
        for n, name in itertools.product((3, 8, 25, 100), ("sum", "argmax", "var")):
            width = n * step + step - 1
            rows = 40_000 // n * (3 - step)
            wide = drawn(dtype, (rows * width + n % 3,))[n % 3 :].reshape(rows, width)
            x = wide[:: 3 - step, ::step][:, :n]
            assert not wrong_along(name, reduced(name, x, place, 1, n), x, 1)

    @everywhere
    def test_greatest_sums_do_not_overflow_on_the_way(self, place, configuration):
        x = np.full((9, 512), 65504, np.float16)
        assert np.isinf(reduced("sum", x, place, 1)).all()
        assert (reduced("mean", x, place, 1) == 65504).all()
        y = np.array([[3e38, -3e38] * 31], np.float32)
        assert np.isinf(reduced("var", y, place, 1)).all()
        assert (reduced("std", y, place, 1) == np.float32(3e38)).all()


class TestLongRows(Kernels):
    """By teams of any size, by blocks that share a result, and one result after the other."""

    family = OF_LONG_ROWS

    @everywhere
    @often(60, HealthCheck.function_scoped_fixture)
    @given(name=st.sampled_from(NAMES), x=rows_anywhere(), seed=st.integers(0, 2**64 - 1))
    def test_rows_begin_and_end_anywhere(self, place, configuration, name, x, seed):
        assert not wrong(name, x, 1, place, seed)

    @everywhere
    @often(60, HealthCheck.function_scoped_fixture)
    @given(
        name=st.sampled_from([name for name in NAMES if name not in PLACES]),
        dtype=st.sampled_from(KNOWN_TYPES),
        flavour=st.sampled_from(FLAVOURS),
        shape=st.tuples(*(st.integers(1, most) for most in (40, 3, 3, 8))),
        odd=st.integers(0, 2),
        seed=st.integers(0, 2**32 - 1),
    )
    def test_results_are_made_of_several_rows(
        self, place, configuration, name, dtype, flavour, shape, odd, seed
    ):
        """Of whole packs that lie above each other, or of others; in two dimensions, or more."""
        outer, kept, more, packs = shape
        length = packs * 16 // dtype.itemsize + odd
        random = np.random.default_rng(seed)
        x = values(dtype, flavour, outer * kept * more * length, random).copy()
        for axis, view in (
            ((0, 2), x.reshape(outer, kept * more, length)),
            ((0, 2, 3), x.reshape(outer, kept, more, length)[:, :, :, : length - odd // 2]),
            ((1, 3), x.reshape(outer, more, kept, length)),
        ):
            assert not wrong(name, view, axis, place, seed)

    @everywhere
    @every_type
    def test_the_first_of_equals_is_found(self, place, configuration, dtype):
        length, starts = 700, (0, 1, 15, 16, 17, 63, 64, 255, 256, 511, 512, 698, 699, 700)
        least, greatest = (-128, 127) if dtype == np.int8 else (-np.inf, np.inf)
        found = [(0, greatest, "argmax"), (least, greatest, "argmax")]
        for fill, best, name in (*found, (0, least, "argmin"), (greatest, least, "argmin")):
            x = np.full((len(starts), length), fill, np.float32).astype(dtype)
            for row, start in enumerate(starts):
                x[row, start:] = best
            got = reduced(name, x, place, 1, 3)
            np.testing.assert_array_equal(got, [start % length for start in starts])
