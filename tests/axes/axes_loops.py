"""What test_host_loops.py checks along axes, in a process whose loops are of other instructions.

    export PYTHONPATH=$(printf %s: tests/*/)
    GRED_INSTRUCTIONS=avx2 python tests/axes/axes_loops.py [checks ...]

Each check compares results along axes with what is exactly right about each result's own elements.
Printed is as host_loops.py prints.
"""

import itertools
import math
import sys
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from along import wrong_along
from host_loops import (
    FLOATS,
    HALVES,
    ORDERS,
    Guarded,
    additions,
    at_every_offset,
    expect,
    note,
    random_elements,
    report,
)
from reference import BFLOAT16, COMPLEX, EVERY_TYPE, INTEGERS
from samples import quietly
from thin import chosen
from truths import COUNTS, PLACES

import gred

PART, MOST_PARTS = 16, 128  # rows, and parts of a slab
# Around registers, lanes, parts, slabs of bytes and of others.
ROWS = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 255, 257, 513)
TALL = (PART * MOST_PARTS - 1, PART * MOST_PARTS, PART * MOST_PARTS + 1, 5000)
COLUMNS = (2, 3, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129)
WIDE = (1023, 1024, 1025, 2100)
SHAPES = ((2, 65), (17, 33), (300, 129), (40, 3), (3000, 5), (5, 40))
PARTED = 4096  # elements of a result, from which on it has several parts
EXTREMES = ("min", "max", *PLACES)
NAMES = ("sum", "prod", *EXTREMES, "mean", "var", "std", "count_nonzero")
NUMBERS = ("nansum", "nanmean", "nanmin", "nanmax")


def check(name: str, x: np.ndarray, axis, *, order=None, **options) -> None:
    """Hold all results against what is right, and put their bits into the digest."""
    given = options if order is None else {"ord": order}
    with np.errstate(all="ignore"):
        got = note(quietly(name, x, axis=axis, **given))
    if __debug__:
        axes = axis if isinstance(axis, tuple) else (axis,)
        n = additions(math.prod(x.shape[k] for k in axes))
        more = {"order": order} if order is not None else options
        found = wrong_along(name, got, x, axis, additions=n, **more)
        assert not found, found


def takes(name: str, dtype: np.dtype) -> bool:
    """Tell whether it is worth a check."""
    return name != "prod" or dtype in (*INTEGERS, *FLOATS[2:], *COMPLEX)


def elements(dtype: np.dtype, shape: tuple[int, ...], seed: int) -> np.ndarray:
    return random_elements(dtype, math.prod(shape), seed).reshape(shape)


def both(x: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
    """Give columns, and the same as rows."""
    return iter(((x, 0), (np.ascontiguousarray(x.T), 1)))


def check_both(x: np.ndarray, *names: str, **options) -> None:
    for name, (view, axis) in itertools.product(names, both(x)):
        check(name, view, axis, **options)


def check_norms(x: np.ndarray) -> None:
    for order in ORDERS:
        check_both(x, "norm", order=order)


def check_ranges(x: np.ndarray) -> None:
    if x.dtype != BFLOAT16:
        check_both(x, "ptp")
    for view, axis in both(x) if x.dtype not in HALVES else ():
        low, high = gred.minmax(view, axis=axis)
        np.testing.assert_array_equal(low, view.min(axis=axis))
        np.testing.assert_array_equal(high, view.max(axis=axis))


# ---- checks ----


def check_layouts(dtype: np.dtype, rows: int, columns: int, names: tuple[str, ...]) -> None:
    """Columns and rows of one array, as they lie, every second, from the other end, swapped."""
    x = elements(dtype, (rows, columns), rows * columns)
    near_1 = np.ones_like(x) if dtype in INTEGERS else (1 + x * 2.0**-10).astype(dtype)
    wider = np.zeros((2 * rows, 2 * columns), dtype)
    for name in names:
        values = near_1 if name == "prod" else x
        wider[::2, ::2] = values
        for view, axis in ((wider[::2, ::2], 0), (wider[::2, ::2].T, 1), (wider[::2, ::2], 1)):
            check(name, view, axis)
        wider[:rows, columns:] = values
        check(name, wider[:rows, columns:], 0)
        check(name, wider[:rows, columns:].T, 1)
        for view in (values, np.asfortranarray(values), values[::-1], values[:, ::-1]):
            check(name, view, 0)
        if dtype.itemsize > 1 and dtype != BFLOAT16:
            swapped = values.astype(dtype.newbyteorder())
            same = note(quietly(name, swapped, axis=0)), quietly(name, values, axis=0)
            assert same[0].tobytes() == same[1].tobytes(), (name, dtype, rows, columns)


def lengths() -> None:
    """Every length around an edge, of rows and of columns, in every type."""
    for dtype in EVERY_TYPE:
        names = tuple(name for name in NAMES if takes(name, dtype))
        for k, rows in chosen(enumerate(ROWS), dtype):
            check_layouts(dtype, rows, COLUMNS[k % len(COLUMNS)], names)
        few = ("sum", "argmax", "var")
        for k, columns in chosen(enumerate((*COLUMNS, *WIDE)), dtype):
            check_layouts(dtype, ROWS[(k * 7) % 9], columns, few)
        for k, rows in chosen(enumerate(TALL), dtype):
            check_layouts(dtype, rows, (2, 20, 5, 3)[k], few)


def blocks() -> None:
    """Blocks of few columns, and more blocks than a slab takes."""
    for dtype in EVERY_TYPE:
        for shape in ((5, 3, 4), (700, 2, 3), (40, 20, 70), (3, 33, 500), (2, 3000, 5)):
            x = elements(dtype, shape, 3)
            for name in chosen(NAMES, dtype, shape):
                if name != "prod":
                    check(name, x, 1)
                    check(name, x[::2, :, ::2], 1)
                    check(name, x.transpose(1, 0, 2), 0)


def ends() -> None:
    """The ends of integers, in so many rows that sums of few bits overflow soon, if they do."""
    for dtype in INTEGERS[1:]:
        info = np.iinfo(dtype)
        for rows in (PART, 300, PART * MOST_PARTS, 3 * PART * MOST_PARTS):
            for value in (info.min, info.max):
                for name in ("sum", *EXTREMES):
                    check(name, np.full((rows, 35), value, dtype), 0)
    true = np.full((3000, 37), 255, np.uint8).view(np.bool_)
    for name, right in (("sum", 3000), ("count_nonzero", 3000), ("max", True)):
        expect(quietly(name, true, axis=0), right)


def places() -> None:
    """What wins, where it is: the first of equals, zeros, NaN, infinities; of few columns, too."""
    shapes = [(rows, rows + 5) for rows in (2, 3, 16, 17, 40, 257, 300)]
    shapes += [(rows, columns) for columns in (1, 2, 3, 8, 31) for rows in (32, 33, 1000)]
    shapes += [(40_000, 1), (40_000, 2), (3001, 3), (3001, 8), (3001, 31)]
    random = np.random.default_rng(1)
    for dtype in (*INTEGERS[1:], *FLOATS):
        special = (np.nan, np.inf, -np.inf) if dtype in FLOATS else ()
        for shape, share in chosen(itertools.product(shapes, (2, 0.5, 2 / 300)), dtype):
            some = random.choice([0, 2, 1, *special], shape)
            x = np.where(random.random(shape) < share, some, 1).astype(dtype)
            check_both(x, *EXTREMES, "sum", "mean")
            apart = np.repeat(np.repeat(x, 2, axis=0), 2, axis=1)
            for view in (apart[::2, ::2], apart[1::2, 1::2]):
                for name in (*PLACES, "max", "sum"):
                    check(name, view, 0)
        for value, rows in itertools.product(special, (20, 300)):
            check_both(np.full((rows, 9), value, dtype), *EXTREMES)
        for rows in (2, 17, 300) if special else ():
            check_signs(dtype, rows)


def check_signs(dtype: np.dtype, rows: int) -> None:
    """Of zeros the first wins, whatever its sign."""
    for name, others in (("max", -1), ("min", 1)):
        x, across = np.full((rows, rows), others, dtype), np.arange(rows)
        x[-1], x[across, across] = 0.0, -0.0
        got = note(quietly(name, x, axis=0))
        assert np.signbit(got).all(), (name, dtype, rows)
        x[-1], x[across[:-1], across[:-1]] = -0.0, 0.0
        assert not np.signbit(quietly(name, x, axis=0)[:-1]).any(), (name, dtype, rows)


def pages() -> None:
    """Nothing is read outside of the array, which begins or ends where memory does."""
    inside = Guarded(5).inside
    for dtype in EVERY_TYPE:
        shapes = ((1, 3), (3, 1), (2, 17), (17, 2), (9, 33), (16, 65), (40, 5), (5, 40))
        for rows, columns in chosen(shapes, dtype):
            nbytes = rows * columns * dtype.itemsize
            for memory in (inside[:nbytes], inside[inside.size - nbytes :]):
                x = memory.view(dtype).reshape(rows, columns)
                x[...] = elements(dtype, (rows, columns), nbytes)
                for view, axis in itertools.product((x, x.T, x[::-1], x[:, ::2], x[::2]), (0, 1)):
                    for name in ("sum", "max", "argmin", "var"):
                        check(name, view, axis)
                if dtype in FLOATS:
                    check_both(x, *NUMBERS)
                    check_norms(x)


def alignments() -> None:
    for x in at_every_offset(660):
        for name, axis in itertools.product(("sum", "max", "argmin", "var"), (0, 1)):
            check(name, x.reshape(20, 33), axis)


def bits() -> None:
    random = np.random.default_rng(9)
    for shape in ((70_000, 9), (9, 70_000), (3000, 300), (60, 4000, 7), (200_000, 2), (12, 30_000)):
        x = random.normal(size=shape).astype(np.float32)
        names = ("sum", "mean", "var", "argmax", "norm", "nansum", "nanmax", "nanmean", "ptp")
        for name, axis in itertools.product(chosen(names, shape), range(x.ndim)):
            note(getattr(gred, name)(x, axis=axis))


def sized(dtype: np.dtype) -> Iterator[np.ndarray]:
    """Draw arrays of rows around edges, each of columns around others."""
    for k, rows in chosen(enumerate((1, 2, 3, 8, 15, 16, 17, 33, 100, 257, 2049)), dtype):
        columns = (*COLUMNS, *WIDE)[(7 * k + dtype.itemsize) % 19]
        yield elements(dtype, (rows, columns), rows + columns)


def numbers() -> None:
    """What leaves NaN out, magnitudes and ranges, of columns and of short rows."""
    for dtype in FLOATS:
        for x in sized(dtype):
            check_ranges(x)
            check_norms(x)
            for scale in (1e-300, 1e-160, 1e160, 1e300) if dtype == np.float64 else ():
                check_norms(np.where(np.arange(x.shape[1]) % 3 > 0, x, 1) * scale)
            for hidden in chosen((3, 2, 1), dtype, len(x)):
                x[np.arange(x.size).reshape(x.shape) % 3 >= hidden] = np.nan
                x[:, ::5] = np.nan
                check_both(x, *NUMBERS)
                check_both(np.repeat(x, 2, axis=1)[:, ::2], *NUMBERS)
    for dtype in INTEGERS[1:]:
        for shape in chosen(SHAPES[:3], dtype):
            check_ranges(elements(dtype, shape, 5))
            check_norms(elements(dtype, shape, 5))
    for dtype in EVERY_TYPE:
        for shape in chosen(((1, 3), (2, 65), (3, 1500), (17, 33), (40, 3), (300, 129)), dtype):
            x = elements(dtype, shape, 9)
            x[:, ::2], x[shape[0] // 2, ::3], x[-1, 1::6] = 0, 1, 0
            check_both(x if dtype in INTEGERS else np.where(x == 0, -x, x), *COUNTS)
    for dtype in COMPLEX:
        for x in sized(dtype):
            check_complex(x)


def check_complex(x: np.ndarray) -> None:
    """Numbers whose parts may be NaN, one or both, zero or infinite."""
    check_norms(x)
    check_both(x, *COUNTS, *EXTREMES, "ptp")
    check_products(x)
    x[:, ::4], x[0, 1::4], x[1:, 1::4] = 0, complex(np.inf, 1), 1
    check_both(x, *COUNTS)
    check_products(x)
    x.real[np.arange(x.size).reshape(x.shape) % 5 == 1] = np.nan
    x.imag[np.arange(x.size).reshape(x.shape) % 7 == 3] = np.nan
    x[:, ::3] = complex(1, np.nan)
    check_both(x, *EXTREMES, "nanmin", "nanmax", "nansum", "nanmean")


def check_products(x: np.ndarray) -> None:
    """Products, which NumPy multiplies one after the other, too."""
    rounding = 4 * len(x) * (2.0**-24 if x.dtype == COMPLEX[0] else 2.0**-53)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        made = [note(gred.prod(view, axis=axis)) for view, axis in both(x)]
        expected = np.prod(x, axis=0)
        scale = rounding * np.where(np.isfinite(x), abs(x), 0).sum(axis=0).max()
    for got, part in itertools.product(made if __debug__ else (), (np.real, np.imag)):
        np.testing.assert_allclose(part(got), part(expected), rtol=rounding, atol=scale)


def conversions() -> None:
    """Sums and means in a type that was asked for, of columns and short rows, however they lie."""
    pairs = [have + wanted for have in "?bBiqefd" for wanted in "bifd" if have != wanted]
    for have, wanted in chosen([*pairs, "fe", "de", "FD"], "conversions"):
        have, wanted = np.dtype(have), np.dtype(wanted)
        for shape in chosen(SHAPES, wanted):
            x = elements(have, shape, 6)
            wider = np.zeros((2 * shape[0], 2 * shape[1]), have)
            wider[::2, ::2] = x
            others = [x.astype(have.newbyteorder())] if have.itemsize > 1 else []
            names = ("sum",) if wanted in INTEGERS else ("sum", "mean")
            for view in (x, x[:, ::-1], wider[::2, ::2], np.asfortranarray(x), *others):
                for name, axis in itertools.product(names, (0, 1)):
                    check_converted(name, view, axis, wanted)


def check_converted(name: str, x: np.ndarray, axis: int, wanted: np.dtype) -> None:
    with np.errstate(all="ignore"):
        got, values = note(quietly(name, x, axis=axis, dtype=wanted)), x.astype(wanted)
        if wanted in INTEGERS:
            assert (got == values.sum(axis=axis, dtype=wanted)).all(), (x.dtype, wanted, x.shape)
            return
    found = __debug__ and wrong_along(
        name, got, values, axis, additions=additions(x.shape[axis]) + 2
    )
    assert not found, found


def masks() -> None:
    """What hidden elements leave of columns and of short rows, whatever the mask's own layout."""
    for dtype in (*INTEGERS, *FLOATS):
        for shape in chosen(SHAPES, dtype):
            x = elements(dtype, shape, 7)
            shown = np.random.default_rng(shape[1]).random(shape) > 0.4
            shown[:, 1] = False
            of_rows, of_columns = shown[:, :1], shown[:1]
            views = (x, np.asfortranarray(x), x[:, ::-1])
            kinds = (shown, np.asfortranarray(shown), shown[::-1], of_rows, of_columns)
            for mask, view, axis in itertools.product(kinds, views, (0, 1)):
                for name in ("sum", *COUNTS, *["prod"] * (x.dtype in INTEGERS)):
                    check(name, view, axis, where=mask)
                for name, first in (("max", 1), ("min", 0)):
                    check(name, view, axis, where=mask, initial=first)


def runs() -> None:
    """Few results, each in parts for several threads: rows, and what lies between others'."""
    for dtype in chosen(EVERY_TYPE, "runs"):
        x = elements(dtype, (3, 2 * (PARTED + 65)), 7)
        views = [x[:, :length] for length in (PARTED, PARTED + 1, 2 * PARTED + 65)]
        for view in (*views, x[:, ::2], x[:, ::-1]):
            for name in ("sum", "max", "argmin", "var"):
                check(name, view, 1)
        for shape in ((80, 5, 130), (1100, 18, 8)):
            y = elements(dtype, shape, 8)
            shown = np.arange(y.size).reshape(shape) % 3 > 0
            check("sum", y, (0, 2))
            check("mean", y, (0, 2))
            check("count_nonzero", np.ones_like(y), (0, 2), where=shown)
    for first in (0, 17, PARTED - 1, PARTED, PARTED + 40):
        x = np.zeros((5, 2 * PARTED), np.float32)
        x[:, first:] = 1
        check("argmax", x, 1)
        x[1::2, first] = np.nan
        check("argmax", x, 1)
        wider = np.repeat(x, 3, axis=1)[:, ::3]
        check("argmax", wider, 1)
        shown = x == 1
        right = np.where(shown, 0, 1).argmin(axis=1)
        expect(gred.argmin(wider, axis=1, where=shown), right)


CHECKS: dict[str, Callable[[], None]] = {
    f.__name__: f
    for f in (
        *(lengths, blocks, ends, places, numbers, conversions, masks, runs),
        *(pages, alignments, bits),
    )
}

if __name__ == "__main__":
    report(CHECKS, sys.argv[1:])
