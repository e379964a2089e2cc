"""What test_host_axes.py checks, in a process whose loops are of instructions that it asks for.

    GRED_INSTRUCTIONS=avx2 python tests/axes_loops.py [checks ...]

Each check compares results along axes with what is exactly right about each result's own elements.
Printed are the instructions and then, a line a check, a digest of all results' bits, which are to
be the same for all instructions and numbers of threads.
"""

import hashlib
import itertools
import math
import sys
import warnings
from collections.abc import Callable

import numpy as np
from host_loops import (
    BFLOAT16,
    COMPLEX,
    EVERY_TYPE,
    FLOATS,
    HALVES,
    INTEGERS,
    ROUNDING,
    Guarded,
    plain,
    random_elements,
)
from thin import chosen

import gred

DIGEST = hashlib.sha256()
PART, MOST_PARTS = 16, 128  # rows, and parts of a slab
# Around registers, lanes, parts, slabs of bytes and of others.
ROWS = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 255, 257, 513)
TALL = (PART * MOST_PARTS - 1, PART * MOST_PARTS, PART * MOST_PARTS + 1, 5000)
COLUMNS = (2, 3, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129)
WIDE = (1023, 1024, 1025, 2100)
PARTED = 4096  # elements of a result, from which on it has several parts
NAMES = ("sum", "prod", "min", "max", "argmin", "argmax", "mean", "var", "std", "count_nonzero")


def note(results: np.ndarray) -> np.ndarray:
    """Put results' bits into the digest; all NaNs are one."""
    plain_results = plain(results)
    DIGEST.update(np.where(np.isnan(plain_results), np.nan, plain_results).tobytes())
    return results


def unit_of(dtype: np.dtype) -> float:
    """Tell what rounding a result to its type may change it by, relative to it."""
    return ROUNDING.get(dtype, 2.0**-53)


def right(name: str, x: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray | float]:
    """Find the truth about every result, and by how much it may be missed."""
    wide = np.clongdouble if x.dtype in COMPLEX else np.longdouble
    if name in ("min", "max", "argmin", "argmax", "count_nonzero"):
        return getattr(np, name)(plain(x), axis=axis), 0
    if x.dtype in INTEGERS and name in ("sum", "prod"):
        return getattr(np, name)(x, axis=axis), 0
    values, n = x.astype(wide), x.shape[axis]
    unit = unit_of(x.dtype)
    scale = np.abs(values).sum(axis=axis)
    additions = 12 + math.ceil(math.log2(n + 1))
    if name in ("sum", "mean"):
        unit = unit + additions * min(unit, 2.0**-24)
        exact, error = values.sum(axis=axis), unit * scale
        return (exact, error) if name == "sum" else (exact / n, error / n)
    if name == "prod":
        exact = values.prod(axis=axis)
        return exact, (n + 2) * unit * np.abs(exact) + 2.0**-149
    mean = values.mean(axis=axis, keepdims=True)
    exact = (np.abs(values - mean) ** 2).mean(axis=axis)
    error = (2 * unit + 2.0**-47) * exact + 2.0**-46 * np.abs(mean.squeeze(axis)) ** 2 + 2.0**-24
    return (exact, error) if name == "var" else (np.sqrt(exact), np.sqrt(error) + unit)


def check(name: str, x: np.ndarray, axis: int) -> None:
    with np.errstate(all="ignore"):
        got = note(getattr(gred, name)(x, axis=axis))
        if not __debug__:
            return
        exact, error = right(name, x, axis)
        wide = np.clongdouble if x.dtype in COMPLEX else np.longdouble
        away = np.abs(got.astype(wide) - exact) if np.any(error) else got != exact
    same = (away <= error) | ((got != got) & (exact != exact))
    assert same.all(), (name, x.dtype, x.shape, x.strides, axis, np.argwhere(~same)[:3])


def takes(name: str, dtype: np.dtype) -> bool:
    """Tell whether it is worth a check."""
    return name != "prod" or dtype in (*INTEGERS, *FLOATS[2:], *COMPLEX)


def elements(dtype: np.dtype, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Draw elements; those of products are near 1."""
    return random_elements(dtype, math.prod(shape), seed).reshape(shape)


def check_layouts(dtype: np.dtype, rows: int, columns: int, names: tuple[str, ...]) -> None:
    """Columns and rows of one array, as they lie, every second, from the other end, swapped."""
    x = elements(dtype, (rows, columns), rows * columns)
    near_1 = np.ones_like(x) if dtype in INTEGERS else (1 + x * 2.0**-10).astype(dtype)
    wider = np.zeros((2 * rows, 2 * columns), dtype)
    views = [x, wider[::2, ::2], wider[:rows, columns:], x[::-1], x[:, ::-1]]
    views.append(x.astype(dtype.newbyteorder()) if dtype.itemsize > 1 else x)
    for name in names:
        values = near_1 if name == "prod" else x
        wider[::2, ::2] = values
        check(name, wider[::2, ::2], 0)
        check(name, wider[::2, ::2].T, 1)
        check(name, wider[::2, ::2], 1)
        wider[:rows, columns:] = values
        check(name, wider[:rows, columns:], 0)
        check(name, wider[:rows, columns:].T, 1)
        for view in (values, np.asfortranarray(values), values[::-1], values[:, ::-1]):
            check(name, view, 0)
        if dtype.itemsize > 1 and dtype != BFLOAT16:
            swapped = values.astype(dtype.newbyteorder())
            same = note(getattr(gred, name)(swapped, 0)), getattr(gred, name)(values, 0)
            assert same[0].tobytes() == same[1].tobytes(), (name, dtype, rows, columns)


def lengths() -> None:
    """Every length around an edge, of rows and of columns, in every type."""
    for dtype in EVERY_TYPE:
        names = tuple(name for name in NAMES if takes(name, dtype))
        for k, rows in chosen(enumerate(ROWS), dtype):
            check_layouts(dtype, rows, COLUMNS[k % len(COLUMNS)], names)
        few = tuple(name for name in ("sum", "argmax", "var") if name in names)
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
                if takes(name, dtype) and name != "prod":
                    check(name, x, 1)
                    check(name, x[::2, :, ::2], 1)
                    check(name, x.transpose(1, 0, 2), 0)


def ends() -> None:
    """The ends of integers, in so many rows that sums of few bits overflow soon, if they do."""
    for dtype in INTEGERS[1:]:
        info = np.iinfo(dtype)
        for rows in (PART, 300, PART * MOST_PARTS, 3 * PART * MOST_PARTS):
            for value in (info.min, info.max):
                for name in ("sum", "min", "max", "argmin", "argmax"):
                    check(name, np.full((rows, 35), value, dtype), 0)
    truth = np.full((3000, 37), 255, np.uint8).view(np.bool_)
    for name in ("sum", "count_nonzero"):
        got = note(getattr(gred, name)(truth, 0))
        assert (got == 3000).all()
    got = note(gred.max(truth, 0))
    assert got.all()


def places() -> None:
    """What wins, in every row: the first of equals, zeros of both signs, NaN, infinities."""
    for dtype in (*INTEGERS[1:], *FLOATS):
        for rows in chosen((2, 3, 16, 17, 40, 257, 300), dtype):
            x = np.full((rows, rows + 5), 1, dtype)
            across = np.arange(rows)
            x[across, across] = 0
            check_places(x)
            x[across, across] = 2
            check_places(x)
            if dtype in FLOATS:
                for value in (np.nan, np.inf, -np.inf):
                    x[across, across] = value
                    x[(across * 7 + 1) % rows, across] = value
                    check_places(x)
                    for name in ("sum", "mean", "var"):
                        check_infinite(name, x)
                x[across, across] = -np.inf
                x[across, across + 3] = np.nan
                check_places(x)
                check_signs(dtype, rows)
        for value in (np.nan, np.inf, -np.inf) if dtype in FLOATS else ():
            check_places(np.full((20, 9), value, dtype))
            check_places(np.full((300, 9), value, dtype))


def check_places(x: np.ndarray) -> None:
    for name in ("min", "max", "argmin", "argmax"):
        check(name, x, 0)
        check(name, np.ascontiguousarray(x.T), 1)
        check(name, -x if x.dtype in FLOATS else x, 0)


def check_infinite(name: str, x: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        got = gred.__dict__[name](x, axis=0).astype(np.float64)
        expected = getattr(np, name)(x.astype(np.float64), axis=0)
    infinite = ~np.isfinite(expected)
    np.testing.assert_array_equal(got[infinite], expected[infinite])
    assert np.isfinite(got[~infinite]).all()


def check_signs(dtype: np.dtype, rows: int) -> None:
    """Of zeros the first wins, whatever its sign."""
    for name, others in (("max", -1), ("min", 1)):
        x = np.full((rows, rows), others, dtype)
        across = np.arange(rows)
        x[-1] = 0.0
        x[across, across] = -0.0
        got = note(getattr(gred, name)(x, axis=0))
        assert np.signbit(got).all(), (name, dtype, rows)
        x[-1] = -0.0
        x[across[:-1], across[:-1]] = 0.0
        got = getattr(gred, name)(x, axis=0)
        assert not np.signbit(got[:-1]).any(), (name, dtype, rows)


def few_columns() -> None:
    """Rows of few results are taken for one, several at a time: what wins, wins where it is."""
    for dtype in (*INTEGERS[1:], *FLOATS):
        for columns in chosen((1, 2, 3, 8, 31), dtype):
            for rows in chosen((32, 33, 1000, 3001 if columns > 2 else 40_000), dtype, columns):
                x = elements(dtype, (rows, columns), rows + columns)
                apart = np.repeat(np.repeat(x, 2, axis=0), 2, axis=1)
                for view in (x, apart[::2, ::2], apart[1::2, 1::2], apart.reshape(-1)[::2]):
                    for name in ("argmin", "argmax", "max", "sum"):
                        check(name, view.reshape(-1, columns), 0)
                check_ties(x)


def check_ties(x: np.ndarray) -> None:
    """The first of equals and of NaN, wherever they are among the rows that are taken for one."""
    rows = len(x)
    for first in {0, 1, rows // 3, rows - 2}:
        ties = np.full_like(x, 1)
        for value in (2, 0, *((np.nan,) if x.dtype in FLOATS else ())):
            ties[first:, :] = value
            ties[first + 1 :: 3, -1] = 1
            check("argmax", ties, 0)
            check("argmin", ties, 0)


def pages() -> None:
    """Nothing is read outside of the array, which begins or ends where memory does."""
    inside = Guarded(5).inside
    for dtype in EVERY_TYPE:
        names = [name for name in ("sum", "max", "argmin", "var") if takes(name, dtype)]
        shapes = ((1, 3), (3, 1), (2, 17), (17, 2), (9, 33), (16, 65), (40, 5), (5, 40))
        for rows, columns in chosen(shapes, dtype):
            nbytes = rows * columns * dtype.itemsize
            for memory in (inside[:nbytes], inside[inside.size - nbytes :]):
                x = memory.view(dtype).reshape(rows, columns)
                x[...] = elements(dtype, (rows, columns), nbytes)
                for view in (x, x.T, x[::-1], x[:, ::2], x[::2]):
                    for name in names:
                        check(name, view, 0)
                        check(name, view, 1)
                if dtype in FLOATS:
                    check_numbers(x)
                    check_norms(x)


def alignments() -> None:
    """Every offset in bytes."""
    for dtype in EVERY_TYPE:
        memory = np.zeros(700 * dtype.itemsize + 64, np.uint8)
        for offset in chosen(range(0, 64, 1 if dtype.itemsize <= 4 else 3), dtype):
            x = memory[offset : offset + 660 * dtype.itemsize].view(dtype).reshape(20, 33)
            x[:] = elements(dtype, (20, 33), offset)
            for name in ("sum", "max", "argmin", "var"):
                if takes(name, dtype):
                    check(name, x, 0)
                    check(name, x, 1)


def bits() -> None:
    """What threads might share otherwise."""
    random = np.random.default_rng(9)
    for shape in ((70_000, 9), (9, 70_000), (3000, 300), (60, 4000, 7), (200_000, 2), (12, 30_000)):
        x = random.normal(size=shape).astype(np.float32)
        names = ("sum", "mean", "var", "argmax", "norm", "nansum", "nanmax", "nanmean", "ptp")
        for name in chosen(names, shape):
            for axis in range(x.ndim):
                note(getattr(gred, name)(x, axis=axis))


def numbers() -> None:
    """What leaves NaN out, magnitudes and ranges, of columns and of short rows."""
    for dtype in FLOATS:
        for k, rows in chosen(enumerate((1, 2, 3, 8, 15, 16, 17, 33, 100, 257, 2049)), dtype):
            columns = (*COLUMNS, *WIDE)[(7 * k + dtype.itemsize) % 19]
            x = elements(dtype, (rows, columns), rows + columns)
            check_ranges(x)
            check_norms(x)
            for scale in (1e-300, 1e-160, 1e160, 1e300) if dtype == np.float64 else ():
                check_norms(np.where(np.arange(columns) % 3 > 0, x, 1) * scale)
            for hidden in chosen((3, 2, 1), dtype, rows):
                x[np.arange(x.size).reshape(x.shape) % 3 >= hidden] = np.nan
                x[:, ::5] = np.nan
                check_numbers(x)
                check_numbers(np.repeat(x, 2, axis=1)[:, ::2])
    for dtype in INTEGERS[1:]:
        for shape in chosen(((2, 65), (17, 33), (300, 129)), dtype):
            check_ranges(elements(dtype, shape, 5))
            check_norms(elements(dtype, shape, 5))
    for dtype in EVERY_TYPE:
        for shape in chosen(((1, 3), (2, 65), (3, 1500), (17, 33), (40, 3), (300, 129)), dtype):
            x = elements(dtype, shape, 9)
            x[:, ::2] = 0
            x[shape[0] // 2, ::3] = 1
            x[-1, 1::6] = 0
            check_truths(x if dtype in INTEGERS else np.where(x == 0, -x, x))
    for dtype in COMPLEX:
        for k, rows in chosen(enumerate((1, 2, 3, 8, 15, 16, 17, 33, 100, 257, 2049)), dtype):
            columns = (*COLUMNS, *WIDE)[(7 * k + dtype.itemsize) % 19]
            check_complex(elements(dtype, (rows, columns), rows + columns))


def check_complex(x: np.ndarray) -> None:
    """Numbers whose parts may be NaN, one or both, zero or infinite."""
    check_norms(x)
    check_truths(x)
    for name in ("prod", "min", "max", "argmin", "argmax", "ptp"):
        check_as_numpy(name, x)
    x[:, ::4] = 0
    x[0, 1::4] = complex(np.inf, 1)
    x[1:, 1::4] = 1
    check_truths(x)
    check_as_numpy("prod", x)
    x.real[np.arange(x.size).reshape(x.shape) % 5 == 1] = np.nan
    x.imag[np.arange(x.size).reshape(x.shape) % 7 == 3] = np.nan
    x[:, ::3] = complex(1, np.nan)
    for name in ("min", "max", "argmin", "argmax", "nansum", "nanmean", "nanmin", "nanmax"):
        check_as_numpy(name, x)


def check_truths(x: np.ndarray) -> None:
    for name in ("any", "all", "count_nonzero"):
        rows = note(getattr(gred, name)(np.ascontiguousarray(x.T), axis=1))
        columns = note(getattr(gred, name)(x, axis=0))
        if __debug__:
            expected = getattr(np, name)(plain(x), axis=0)
            assert (rows == expected).all(), (name, x.dtype, x.shape)
            assert (columns == expected).all(), (name, x.dtype, x.shape)


def check_as_numpy(name: str, x: np.ndarray) -> None:
    """Sums and products as exact as those of the axis' length may be, one added to the other."""
    rounding = (
        0 if name in ("min", "max", "argmin", "argmax", "ptp") else 4 * len(x) * unit_of(x.dtype)
    )
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        rows = note(getattr(gred, name)(np.ascontiguousarray(x.T), axis=1))
        columns = note(getattr(gred, name)(x, axis=0))
        if not __debug__:
            return
        expected = getattr(np, name)(x, axis=0)
        scale = np.nansum(np.where(np.isfinite(x), np.abs(x), 0), axis=0)
    for got, part in itertools.product((rows, columns), (np.real, np.imag)):
        np.testing.assert_allclose(
            part(got),
            part(expected),
            rtol=rounding,
            atol=rounding * scale.max(),
            err_msg=f"{name} {x.dtype} {x.shape}",
        )


def both(name: str, x: np.ndarray, *options) -> list[np.ndarray]:
    """Reduce columns, and the same as rows."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        made = getattr(gred, name)
        return [
            note(made(view, *options, axis=axis))
            for view, axis in ((x, 0), (np.ascontiguousarray(x.T), 1))
        ]


def check_numbers(x: np.ndarray) -> None:
    made = {name: both(name, x) for name in ("nansum", "nanmean", "nanmin", "nanmax")}
    if not __debug__:
        return
    values = x.astype(np.longdouble)
    count, scale = (~np.isnan(values)).sum(axis=0), np.nansum(np.abs(values), axis=0)
    some, unit = count > 0, unit_of(x.dtype)
    error = (unit + 20 * min(unit, 2.0**-24)) * scale
    least, greatest = (
        np.where(some, best(np.where(np.isnan(values), end, values), axis=0), np.nan)
        for best, end in ((np.min, np.inf), (np.max, -np.inf))
    )
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        total = np.nansum(values, axis=0)
        of_all = {
            "nansum": (total, error),
            "nanmean": (total / count, error / count),
            "nanmin": (least, 0),
            "nanmax": (greatest, 0),
        }
        for name, (expected, allowed) in of_all.items():
            for axis, got in enumerate(made[name]):
                got = got.astype(np.longdouble)
                right = (np.abs(got - expected) <= allowed) | (np.isnan(got) & np.isnan(expected))
                assert (right | (got == expected)).all(), (name, x.dtype, x.shape, axis)


def check_ranges(x: np.ndarray) -> None:
    if x.dtype == BFLOAT16:
        return
    made = both("ptp", x)
    if not __debug__:
        return
    for got in made:
        np.testing.assert_array_equal(got, np.ptp(x, axis=0))
    for view, axis in ((x, 0), (np.ascontiguousarray(x.T), 1)) if x.dtype not in HALVES else ():
        low, high = gred.minmax(view, axis=axis)
        np.testing.assert_array_equal(low, view.min(axis=axis))
        np.testing.assert_array_equal(high, view.max(axis=axis))


def check_norms(x: np.ndarray) -> None:
    made = {order: both("norm", x, order) for order in (2, 1, np.inf, -np.inf)}
    if not __debug__:
        return
    sizes = np.abs(x.astype(np.clongdouble if x.dtype in COMPLEX else np.longdouble))
    exact = {2: np.sqrt((sizes**2).sum(axis=0)), 1: sizes.sum(axis=0)}
    exact |= {np.inf: sizes.max(axis=0), -np.inf: sizes.min(axis=0)}
    for order, expected in exact.items():
        error = (unit_of(x.dtype) + 30 * 2.0**-53) * expected
        for got in made[order]:
            away = np.abs(got.astype(np.longdouble) - expected)
            assert (away <= error).all(), (order, x.dtype, x.shape)


def conversions() -> None:
    """Sums and means in a type that was asked for, of columns and short rows, however they lie."""
    pairs = [have + wanted for have in "?bBiqefd" for wanted in "bifd" if have != wanted]
    for have, wanted in chosen([*pairs, "fe", "de", "FD"], "conversions"):
        have, wanted = np.dtype(have), np.dtype(wanted)
        for shape in chosen(((2, 65), (17, 33), (300, 129), (40, 3), (3000, 5), (5, 40)), wanted):
            x = elements(have, shape, 6)
            wider = np.zeros((2 * shape[0], 2 * shape[1]), have)
            wider[::2, ::2] = x
            others = [x.astype(have.newbyteorder())] if have.itemsize > 1 else []
            for view in (x, x[:, ::-1], wider[::2, ::2], np.asfortranarray(x), *others):
                check_converted(view, wanted)


def check_converted(x: np.ndarray, wanted: np.dtype) -> None:
    with np.errstate(all="ignore"):
        values = x.astype(wanted)
    for axis in (0, 1):
        got = note(gred.sum(x, axis=axis, dtype=wanted))
        if wanted in INTEGERS:
            assert (got == values.sum(axis=axis, dtype=wanted)).all(), (x.dtype, wanted, x.shape)
            continue
        for name in ("sum", "mean"):
            exact, error = right(name, values, axis)
            got = gred.__dict__[name](x, axis=axis, dtype=wanted)
            away = np.abs(got.astype(exact.dtype) - exact)
            assert (away <= error).all(), (name, x.dtype, wanted, x.shape, x.strides, axis)


def masks() -> None:
    """What hidden elements leave of columns and of short rows, whatever the mask's own layout."""
    for dtype in (*INTEGERS, *FLOATS):
        for shape in chosen(((2, 65), (17, 33), (300, 129), (40, 3), (3000, 5), (5, 40)), dtype):
            x = elements(dtype, shape, 7)
            shown = np.random.default_rng(shape[1]).random(shape) > 0.4
            shown[:, 1] = False
            of_rows, of_columns = shown[:, :1], shown[:1]
            for mask in (shown, np.asfortranarray(shown), shown[::-1], of_rows, of_columns):
                for view in (x, np.asfortranarray(x), x[:, ::-1]):
                    check_masked(view, mask)


def check_masked(x: np.ndarray, mask: np.ndarray) -> None:
    for axis in (0, 1):
        names = ["sum", "count_nonzero", "any", "all", *["prod"] * (x.dtype in INTEGERS)]
        made = {name: note(getattr(gred, name)(x, axis=axis, where=mask)) for name in names}
        for name, first in (("max", 1), ("min", 0)):
            made[name] = note(getattr(gred, name)(x, axis=axis, initial=first, where=mask))
        if __debug__:
            check_what_is_shown(made, x, axis, mask)


def check_what_is_shown(made: dict[str, np.ndarray], x: np.ndarray, axis: int, mask) -> None:
    everywhere = np.broadcast_to(mask, x.shape)
    hidden = np.zeros_like(x)
    hidden[everywhere] = x[everywhere]
    values = plain(x)
    exact, error = right("sum", hidden, axis)
    assert (np.abs(made["sum"].astype(exact.dtype) - exact) <= error).all() or x.dtype in INTEGERS
    assert (made["sum"] == exact).all() or x.dtype not in INTEGERS, (x.dtype, x.shape, axis)
    for name, first in (("max", 1), ("min", 0)):
        expected = getattr(values, name)(axis, initial=first, where=mask)
        assert (plain(made[name]) == expected).all(), (name, x.dtype, x.shape, axis)
    counts = np.count_nonzero(plain(hidden), axis=axis)
    assert (made["count_nonzero"] == counts).all()
    assert (made["any"] == (counts > 0)).all()
    assert (made["all"] == (values != 0).all(axis=axis, where=mask)).all()
    if x.dtype in INTEGERS:
        product = np.prod(x, axis=axis, where=mask)
        assert (made["prod"] == product).all(), (x.dtype, x.shape, axis)


def runs() -> None:
    """Few results, each in parts for several threads: rows, and what lies between others'."""
    for dtype in chosen(EVERY_TYPE, "runs"):
        x = elements(dtype, (3, 2 * (PARTED + 65)), 7)
        for name in ("sum", "max", "argmin", "var"):
            if takes(name, dtype):
                for length in (PARTED, PARTED + 1, 2 * PARTED + 65):
                    check(name, x[:, :length], 1)
                check(name, x[:, ::2], 1)
                check(name, x[:, ::-1], 1)
        for shape in ((80, 5, 130), (1100, 18, 8)):
            check_between(elements(dtype, shape, 8))
    for first in (0, 17, PARTED - 1, PARTED, PARTED + 40):
        x = np.zeros((5, 2 * PARTED), np.float32)
        x[:, first:] = 1
        check("argmax", x, 1)
        x[1::2, first] = np.nan
        check("argmax", x, 1)
        wider = np.repeat(x, 3, axis=1)[:, ::3]
        check("argmax", wider, 1)
        shown = x == 1
        got = note(gred.argmin(wider, axis=1, where=shown))
        assert (got == np.where(shown, 0, 1).argmin(axis=1)).all()


def check_between(x: np.ndarray) -> None:
    """Sum what lies between other results' elements, and what of it a mask shows."""
    for name in ("sum", "mean"):
        got = note(getattr(gred, name)(x, axis=(0, 2)))
        exact, error = right(name, x.transpose(1, 0, 2).reshape(x.shape[1], -1), 1)
        wide = np.clongdouble if x.dtype in COMPLEX else np.longdouble
        assert (np.abs(got.astype(wide) - exact) <= error).all(), (name, x.dtype, x.shape)
    shown = np.arange(x.size).reshape(x.shape) % 3 > 0
    counts = note(gred.count_nonzero(np.ones_like(x), axis=(0, 2), where=shown))
    assert (counts == shown.sum(axis=(0, 2))).all()


CHECKS: dict[str, Callable[[], None]] = {
    f.__name__: f
    for f in (
        lengths,
        blocks,
        ends,
        places,
        few_columns,
        numbers,
        conversions,
        masks,
        runs,
        pages,
        alignments,
        bits,
    )
}


def main(names: list[str]) -> None:
    """Run checks, and print the instructions and a digest a check."""
    print(gred.explain(np.ones(3)).array.split(" by ")[1].split()[0])
    for name in names or CHECKS:
        CHECKS[name]()
        print(name, DIGEST.hexdigest(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
