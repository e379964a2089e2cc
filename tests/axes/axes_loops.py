"""Checks along axes that test_host_loops.py runs in a process with other instructions.

Each compares results along axes with the exact truth of each result's own elements.
"""

import itertools
import math

import numpy as np
from along import ENDS, EXTREMES, NAMES, Drawn, drawn_for
from host_loops import additions, at_every_offset, expect, guarded, note
from reference import BFLOAT16, EVERY_TYPE, INTEGERS
from samples import quietly
from thin import chosen
from truths import RECORDS, has_no_place

import gred

PARTED = 4096  # elements per result, from which on it has several parts
SLAB = 2048  # rows, in 128 parts
# Around registers, lanes, parts and slabs, of bytes and of other types.
ROWS = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 255, 257, 513)
COLUMNS = (2, 3, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1023, 1024, 1025, 2100)
MATRICES = [(rows, COLUMNS[k]) for k, rows in enumerate(ROWS)]
MATRICES += [(ROWS[7 * k % 9], columns) for k, columns in enumerate(COLUMNS)]
MATRICES += zip((SLAB - 1, SLAB, SLAB + 1, 5000, 40_000), (2, 20, 5, 3, 1), strict=True)
# Columns of a matrix, and the same as rows.
SHAPES = [(shape[::step], axis) for shape in MATRICES for step, axis in ((1, 0), (-1, 1))]
# Blocks of few columns, more blocks than a slab holds, and few results with several parts.
SHAPES += [((5, 3, 4), 1), ((700, 2, 3), 1), ((40, 20, 70), 1), ((3, 33, 500), 1)]
SHAPES += [((2, 3000, 5), 1), ((80, 5, 130), (0, 2)), ((1100, 18, 8), (0, 2)), ((3, 700, 40), 0)]
SHAPES += [((3, PARTED + more), 1) for more in (0, 1, PARTED + 65)]
INSIDE = guarded(300)


def check(name: str, one: Drawn) -> None:
    """Compare all results with the truth, and add their bits to the digest."""
    if has_no_place(name, one.x, one.axis):
        return
    with np.errstate(all="ignore"):
        got = quietly(name, one.x, axis=one.axis, **one.options)
    for field in got if name in RECORDS else (got,):
        note(field)
    if __debug__:
        axes = one.axis if isinstance(one.axis, tuple) else (one.axis,)
        reduced = math.prod(one.x.shape[k] for k in axes)
        more = {} if one.exactly else {"additions": additions(reduced) + 2}
        found = one.wrong(name, got, **more)
        assert not found, found


def at_an_end(values: np.ndarray) -> np.ndarray:
    """Copy to the beginning or end of memory between guard pages, if it fits."""
    if values.nbytes > INSIDE.size:
        return values.copy()
    memory = INSIDE[: values.nbytes] if values.size % 2 else INSIDE[INSIDE.size - values.nbytes :]
    x = memory.view(values.dtype).reshape(values.shape)
    x[...] = values
    return x


def every_name() -> None:
    """Check every reduction of every type, around all edges, in any layout, values and options."""
    for dtype, name in itertools.product(EVERY_TYPE, (*NAMES, *RECORDS)):
        for seed in chosen(range(40 if name in RECORDS else 150), dtype, name):
            one = drawn_for(name, dtype, SHAPES, seed, at_an_end)
            if one and dtype != BFLOAT16 and seed % 7 == 0:
                one = one._replace(x=one.x.astype(dtype.newbyteorder()))
            if one:
                check(name, one)


def ends() -> None:
    """Check extreme integers, in enough rows to overflow narrow partial sums."""
    for dtype, rows in itertools.product(INTEGERS[1:], (16, 300, SLAB, 3 * SLAB)):
        for value, name in itertools.product(ENDS[dtype], ("sum", *EXTREMES)):
            x = np.full((rows, 35), value, dtype)
            check(name, Drawn(x, 0, {}, f"{rows} rows of {value}", False))
    true = np.full((3000, 37), 255, np.uint8).view(np.bool_)
    for name, right in (("sum", 3000), ("count_nonzero", 3000), ("max", True)):
        expect(quietly(name, true, axis=0), right)


def alignments() -> None:
    for x in at_every_offset(660):
        for name, axis in itertools.product(("sum", "max", "argmin", "var"), (0, 1)):
            check(name, Drawn(x.reshape(20, 33), axis, {}, f"at {x.ctypes.data % 64}", False))


def bits() -> None:
    random = np.random.default_rng(9)
    for shape in ((70_000, 9), (9, 70_000), (3000, 300), (60, 4000, 7), (200_000, 2), (12, 30_000)):
        x = random.normal(size=shape).astype(np.float32)
        names = ("sum", "mean", "var", "argmax", "norm", "nansum", "nanmax", "nanmean", "ptp")
        for name, axis in itertools.product(chosen(names, shape), range(x.ndim)):
            note(getattr(gred, name)(x, axis=axis))


CHECKS = (every_name, ends, alignments, bits)
