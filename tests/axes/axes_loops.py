"""What test_host_loops.py checks along axes, in a process whose loops are of other instructions.

    export PYTHONPATH=$(printf %s: tests/*/)
    GRED_INSTRUCTIONS=avx2 python tests/axes/axes_loops.py [checks ...]

Each check compares results along axes with what is exactly right about each result's own elements.
Printed is as host_loops.py prints.
"""

import itertools
import math
import sys
from collections.abc import Callable

import numpy as np
from along import EXTREMES, NAMES, wrong_along
from host_loops import (
    FLOATS,
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
from samples import quietly, takes
from thin import chosen
from truths import COUNTS, PLACES, SPREADS, WITHOUT_NAN

import gred

PART, MOST_PARTS = 16, 128  # rows, and parts of a slab
PARTED = 4096  # elements of a result, from which on it has several parts
# Around registers, lanes, parts, slabs of bytes and of others.
ROWS = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 255, 257, 513)
COLUMNS = (2, 3, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1023, 1024, 1025, 2100)
SHAPES = [(rows, COLUMNS[k]) for k, rows in enumerate(ROWS)]
SHAPES += [(ROWS[7 * k % 9], columns) for k, columns in enumerate(COLUMNS)]
SHAPES += zip((2047, 2048, 2049, 5000), (2, 20, 5, 3), strict=True)
FEW = ((2, 65), (17, 33), (300, 129), (40, 3), (3000, 5), (5, 40))
BLOCKS = ((5, 3, 4), (700, 2, 3), (40, 20, 70), (3, 33, 500), (2, 3000, 5))
INSIDE = Guarded(300).inside


def check(name: str, x: np.ndarray, axis, **options) -> None:
    """Hold all results against what is right, and put their bits into the digest."""
    with np.errstate(all="ignore"):
        got = note(quietly(name, x, axis=axis, **options))
    if __debug__:
        reduced = math.prod(x.shape[k] for k in (axis if isinstance(axis, tuple) else (axis,)))
        native = x.astype(x.dtype.newbyteorder("="), copy=False)
        found = wrong_along(name, got, native, axis, additions=additions(reduced) + 2, **options)
        assert not found, found


def check_both(x: np.ndarray, *names: str, **options) -> None:
    """Reduce columns, and the same as rows."""
    for name in names:
        check(name, x, 0, **options)
        check(name, np.ascontiguousarray(x.T), 1, **options)


def elements(dtype: np.dtype, shape: tuple[int, ...], seed: int) -> np.ndarray:
    return random_elements(dtype, math.prod(shape), seed).reshape(shape)


def at_an_end(values: np.ndarray) -> np.ndarray:
    """Copy to where memory begins or ends, and nothing beyond may be read, if there is room."""
    if values.nbytes > INSIDE.size:
        return values.copy()
    memory = INSIDE[: values.nbytes] if values.size % 2 else INSIDE[INSIDE.size - values.nbytes :]
    x = memory.view(values.dtype).reshape(values.shape)
    x[...] = values
    return x


def swapped(x: np.ndarray) -> np.ndarray:
    return x if x.dtype == BFLOAT16 else x.astype(x.dtype.newbyteorder())


# How a matrix is laid out.
LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "as it is": at_an_end,
    "backwards": lambda x: at_an_end(x)[::-1],
    "columns backwards": lambda x: at_an_end(x)[:, ::-1],
    "columns first": lambda x: at_an_end(np.ascontiguousarray(x.T)).T,
    "every second": lambda x: at_an_end(np.repeat(np.repeat(x, 2, axis=0), 2, axis=1))[::2, ::2],
    "between others": lambda x: at_an_end(np.tile(x, 2))[:, x.shape[1] :],
    "in the other byte order": swapped,
}


def of_name(name: str, x: np.ndarray) -> np.ndarray:
    """Let elements show whether each was looked at: hide NaN and zeros where these count."""
    place = np.arange(x.size).reshape(x.shape)
    if name in ("prod", "nanprod") and x.dtype not in INTEGERS:
        x = (1 + x * 2.0**-10).astype(x.dtype)
    if name in COUNTS:
        x = np.where((place % 2 > 0) & (place % 9 < 8), x, x.dtype.type(0))
        x[len(x) // 2, ::3] = 1
    if name in WITHOUT_NAN and x.dtype not in INTEGERS:
        x[place % 3 >= 1 + x.size % 2] = np.nan
        x[:, ::5] = complex(1, np.nan) if x.dtype in COMPLEX else np.nan
    return x


# ---- checks ----


def every_name() -> None:
    """Every reduction of every type, around all edges, in every layout."""
    for dtype, name in itertools.product(EVERY_TYPE, NAMES):
        if not takes(name, dtype) or (name == "logsumexp" and dtype in COMPLEX):
            continue
        for shape in chosen(SHAPES, dtype, name):
            x = of_name(name, elements(dtype, shape, sum(shape)))
            options = [{"ord": order} for order in ORDERS] if name == "norm" else [{}]
            for layout, axis in chosen(itertools.product(LAYOUTS, (0, 1)), shape, name, dtype):
                for more in options:
                    check(name, LAYOUTS[layout](x), axis, **more)


def scales() -> None:
    """Norms of what squares would overflow or vanish, of some elements or of all."""
    for shape, scale in itertools.product(FEW, (1e-300, 1e-160, 1e160, 1e300)):
        x = elements(FLOATS[-1], shape, 7)
        for order in ORDERS:
            check_both(np.where(np.arange(shape[1]) % 3 > 0, x, 1) * scale, "norm", ord=order)


def pairs() -> None:
    """Both ends at once."""
    for dtype, shape in itertools.product((*INTEGERS, *FLOATS[2:]), FEW):
        x = elements(dtype, shape, 5)
        for view, axis in ((x, 0), (x, 1), (x.T, 1)):
            expect(gred.minmax(view, axis=axis)[0], view.min(axis=axis))
            expect(gred.minmax(view, axis=axis)[1], view.max(axis=axis))


def blocks() -> None:
    """Blocks of few columns, and more blocks than a slab takes."""
    for dtype, shape in itertools.product(EVERY_TYPE, BLOCKS):
        x = elements(dtype, shape, 3)
        for name in chosen(("sum", *EXTREMES, "mean", *SPREADS, "count_nonzero"), dtype, shape):
            check(name, x, 1)
            check(name, x[::2, :, ::2], 1)
            check(name, x.transpose(1, 0, 2), 0)


def ends() -> None:
    """The ends of integers, in so many rows that sums of few bits overflow soon, if they do."""
    for dtype in INTEGERS[1:]:
        info = np.iinfo(dtype)
        for rows in (PART, 300, PART * MOST_PARTS, 3 * PART * MOST_PARTS):
            for value, name in itertools.product((info.min, info.max), ("sum", *EXTREMES)):
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
            for name, first in itertools.product((*PLACES, "max", "sum"), (0, 1)):
                check(name, apart[first::2, first::2], 0)
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


def complex_parts() -> None:
    """Numbers whose parts may be NaN, one or both, zero or infinite."""
    for dtype, shape in itertools.product(COMPLEX, chosen(SHAPES, "complex")):
        x = elements(dtype, shape, sum(shape))
        x[:, ::4], x[0, 1::4], x[1:, 1::4] = 0, complex(np.inf, 1), 1
        check_both(x, *COUNTS)
        x.real[np.arange(x.size).reshape(x.shape) % 5 == 1] = np.nan
        x.imag[np.arange(x.size).reshape(x.shape) % 7 == 3] = np.nan
        check_both(x, *EXTREMES, "nanmin", "nanmax", "nansum", "nanmean")


def conversions() -> None:
    """Sums and means in a type that was asked for, of columns and short rows, however they lie."""
    every = [have + wanted for have in "?bBiqefd" for wanted in "bifd" if have != wanted]
    for have, wanted in chosen([*every, "fe", "de", "FD"], "conversions"):
        for shape in chosen(FEW, wanted):
            x = elements(np.dtype(have), shape, 6)
            names = ("sum",) if wanted in "bi" else ("sum", "mean")
            for layout, name, axis in itertools.product(LAYOUTS, names, (0, 1)):
                check(name, LAYOUTS[layout](x), axis, dtype=np.dtype(wanted))


def masks() -> None:
    """What hidden elements leave of columns and of short rows, whatever the mask's own layout."""
    for dtype in (*INTEGERS, *FLOATS):
        for shape in chosen(FEW, dtype):
            x = elements(dtype, shape, 7)
            shown = np.random.default_rng(shape[1]).random(shape) > 0.4
            shown[:, 1] = False
            kinds = (shown, np.asfortranarray(shown), shown[::-1], shown[:, :1], shown[:1])
            views = (x, np.asfortranarray(x), x[:, ::-1])
            for mask, view, axis in itertools.product(kinds, views, (0, 1)):
                for name in ("sum", *COUNTS, *["prod"] * (x.dtype in INTEGERS)):
                    check(name, view, axis, where=mask)
                check("max", view, axis, where=mask, initial=1)
                check("min", view, axis, where=mask, initial=0)


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
        x[:, first:], x[1::2, first] = 1, np.nan
        wider = np.repeat(x, 3, axis=1)[:, ::3]
        check("argmax", x, 1)
        check("argmax", wider, 1)
        shown = x == 1
        expect(gred.argmin(wider, axis=1, where=shown), np.where(shown, 0, 1).argmin(axis=1))


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


CHECKS: dict[str, Callable[[], None]] = {
    f.__name__: f
    for f in (
        *(every_name, scales, pairs, blocks, ends, places, complex_parts, conversions, masks),
        *(runs, alignments, bits),
    )
}

if __name__ == "__main__":
    report(CHECKS, sys.argv[1:])
