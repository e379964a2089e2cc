"""What kernels along axes are asked to reduce: shapes of each family, layouts, and numbers."""

from typing import NamedTuple

import numpy as np
from along import KNOWN_TYPES
from drawn import FLAVOURS, values
from hypothesis import strategies as st


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
        *[((rows, n), 1) for n in (200, 255, 256, 257, 384, 500, 511, 512) for rows in (1, 45)],
        *[((rows, n), 1) for n, k in FILLING for rows in (k - 1, k, 2 * k + 1)],
    ],
    few=[((90, n), 1) for n in (2, 3, 8, 31, 64, 500)],
    at_the_ends=[((70, n), 1) for n in (2, 3, 4, 5, 8, 31, 64, 100, 131, 512)],
    special=[((300, n), 1) for n in (1, 2, 3, 4, 7, 8, 16, 31, 64, 100)],
    spread=[((9, n), 1) for n in (2, 3, 8, 31, 100, 500)],
)
LONG_ROWS = [((5, 1031), 1), ((300, 133), 1), ((2, 9001), 1)]
LONG_ROWS += [((40, 3, 64), (0, 2)), ((3, 7, 99), (0, 2))]
OF_LONG_ROWS = Family(
    "long rows",
    [*LONG_ROWS, ((5000, 131), 1), ((3, 1), 1), ((7, 15), 1), ((6, 700), 1)],
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
    "again and again": lambda x: np.broadcast_to(x[:1], x.shape),
    "Fortran's order": lambda x: np.ascontiguousarray(x.T).T,
}
# The same of rows that are drawn for it: elements from one that counts to the next, rows likewise,
# elements behind a row, elements in front of all.
APART = {
    "as it is": (1, 1, 0, 0),
    "off a boundary": (1, 1, 0, 3),
    "without its end": (1, 2, 0, 3),
    "backwards": (-1, 1, 0, 0),
    "every third row": (1, 3, 0, 0),
    "every second column": (2, 1, 1, 0),
    "every second column from the second on": (2, 1, 1, 1),
    "every second column of rows off boundaries": (2, 1, 0, 1),
    "every second column, backwards": (-2, 1, 1, 0),
    "again and again": (3, 1, 2, 0),
    "Fortran's order": (2, 2, 1, 6),
}
# Numbers near to each other, far apart, in steps, with outliers, of many magnitudes.
SPREAD = {
    f"about {about}": lambda n, r, about=about: about + r.integers(-1, 2, n) * max(about, 1) / 256
    for about in (0, 1, 1000, 60000)
}
SPREAD["any magnitude"] = lambda n, r: SPREAD["about 1000"](n, r) * 2.0 ** r.integers(-24, 1, n)
SPREAD["steps of 64"] = lambda n, r: SPREAD["about 1000"](n, r) + np.arange(n) // 64 * 4
SPREAD["tiny at last"] = lambda n, r: np.r_[SPREAD["about 1000"](n - n // 2, r), [1e-4] * (n // 2)]
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
    "one value": lambda n, r: np.full(n, 0.1),
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
