"""How threads share a reduction: a pure function of shapes, types and the device's size.

Asked of arrays and of devices that are not there; forcing.py has who asks.
"""

import math
from types import SimpleNamespace

import forcing
import pytest
from drawn import examples
from hypothesis import given, settings
from hypothesis import strategies as st

H200 = 132
AT_ONCE, SHARED = 4, 48 << 10
SECTOR, LOAD, BLOCK_ROWS, BLOCK = 32, 16, 1 << 16, 1024
LOADS, WARP, UNSPLIT_BLOCK = 8, 32, 256
SIZES = (1, 2, 4, 8)
ANY_TYPE = ("few",)
TYPED = (*ANY_TYPE, "typed_columns")
UNSPLIT = (*TYPED, "unsplit_columns")
ROWS = ("typed_rows",)
every_size = pytest.mark.parametrize("size", SIZES)
some_size, some_state = st.sampled_from(SIZES), st.sampled_from([4, 8, 16])
multiprocessors = st.integers(1, 200)
many_times = settings(max_examples=examples(300), deadline=None)


class Sharing(SimpleNamespace):
    """How threads share the work; see struct launch_config, whose members' names these are."""

    @property
    def typed(self):
        return self.kernel.startswith(("typed", "unsplit"))

    @property
    def teams(self):
        """Tell how many teams a block has, as an exponent."""
        return self.block - self.team

    @property
    def elements(self):
        """Tell how many elements a load of a known type takes."""
        return 1 << self.load

    @property
    def all_read(self):
        """Tell whether all threads of all blocks read one row."""
        return self.readers == self.splits << self.block

    @property
    def threads(self):
        return self.groups * self.splits << self.block


def sharing(shape, axis, size=4, state=None, strides=None, kernels=ANY_TYPE, **asked) -> Sharing:
    """Ask how an array's reduction would be shared among threads of these kernels."""
    asked = {"state": state or max(size, 4), "multiprocessors": H200, "kernels": kernels} | asked
    return Sharing(**forcing.launch(shape, axis, size, strides, **asked))


def typed(*arguments, kernels=TYPED, **options) -> Sharing | None:
    """Ask for a kernel that knows the type; None where another is taken."""
    got = sharing(*arguments, **options, kernels=kernels)
    return got if got.typed else None


@pytest.fixture(autouse=True)
def as_measured():
    forcing.force({})


# ---- what is chosen ----


def of(shape, axis, size=4, state=None, strides=None, **fields):
    """Make a case: what is asked, and the fields that are expected, some within a range."""
    return (shape, axis, size, state, strides), fields


def many(least):
    return range(least, 1 << 62)


def rows(length):
    return (1 << 26) // length, length


def columns(length, odd=0):
    return length, (1 << 26) // length // 4 * 4 - odd


BUSY = many(H200 * 512)
LONG = [1 << 12, 1 << 16, 1 << 20, 1 << 23]
COUNTS = [2, 8, 64, 1000, 1 << 16, 1 << 20, 1 << 23]
CHOSEN = {
    "neighbouring threads read long rows": [
        of(rows(n), 1, kernel="along", across=False, team=many(5))
        for n in (4097, 1 << 16, 1 << 20, 1 << 26)
    ],
    "neighbouring threads read neighbouring columns": [
        of(columns(n, odd), 0, across=True) for n in COUNTS for odd in (0, 1)
    ],
    "the device is busy with few and with many results": [
        of(rows(n)[:: 2 * axis - 1], axis, threads=BUSY) for n in LONG for axis in (0, 1)
    ],
    "small arrays take few blocks": [
        of((32, 32), 1, groups=range(1, 5)),
        of((32, 32), 0, groups=1),
    ],
    "columns of large arrays are read by a warp side by side": [
        of((1 << 20, 64), 0, teams=5),
        of((1 << 14, 1 << 10), 0, teams=5),
    ],
    "long results are shared by blocks": [
        of((2, 1 << 25), 1, splits=many(H200 + 1)),
        of((1 << 25, 4), 0, splits=many(H200 + 1)),
        of((64, 1 << 10, 1 << 10), (0, 2), threads=BUSY),
    ],
}

ROOM = 4 * H200
LOADS_OF = {1: 4, 2: 4, 3: 2, 4: 2, 5: 1, 8: 1, 31: 1, 100: 1}  # by numbers of rows
KNOWN = {
    "tall columns are split by as many small blocks as there is room for": [
        of(rows(n), 0, block=8, threads=range(math.ceil(0.89 * ROOM) << 8, (ROOM << 8) + 1))
        for n in (2, 64, 1000, 4096, 6400, 10000)
    ],
    "large blocks make columns that small ones would split": [
        of(rows(n), 0, splits=1, block=10, groups=many(math.ceil(0.89 * H200)))
        for n in (1 << 14, 1 << 15)
    ],
    "columns that none split are made by small blocks": [
        of(rows(n), 0, splits=1, block=block) for n, block in ((1 << 16, 8), (1 << 20, 6))
    ],
    "rows off boundaries are shifted": [
        of(
            (9, n),
            0,
            size,
            elements=LOAD // size,
            coalesced=1,
            leftover=0,
            packs=packs,
            shifted=shifted,
        )
        for n, size, packs, shifted in (
            *[(1 << 24, 4, 1 << 22, False), ((1 << 24) + 1, 4, (1 << 22) + 1, True)],
            *[((1 << 24) + 2, 8, (1 << 23) + 1, False), ((1 << 24) + 1, 8, (1 << 23) + 1, True)],
        )
    ],
    "more threads read a row where rows do not begin at sectors": [
        of((1 << 18, 1024 + more // size), 0, size, 8, teams=min(exponent + (more == LOAD), 5))
        for size, exponent in ((1, 3), (2, 4), (4, 5), (8, 5))
        for more in (0, SECTOR, LOAD)
    ],
    "single rows are columns of one element": [of((1, 1 << 24), 0, splits=1, packs=1 << 22)],
    "a few neighbours of a result are columns of it, and one block's": [
        of((1 << 20, 8, 8), (0, 2), typed=True, inner=8),
        of((999, 3, 16), (0, 2), typed=True, inner=16),
        of((1024, 8, 64), (0, 2), 1, 8, typed=True, inner=64, teams=2),
        *[of(shape, (0, 2), typed=False) for shape in ((999, 8, 7), (64, 1024, 1024))],
    ],
    "rows that overlap, rows of less than a load and odd rows are for other kernels": [
        of((1 << 22, 64), 0, strides=(8, 4), typed=False),
        of((300, 20, 1001), (0, 1), strides=(4004, 0, 4), typed=False),
        of((1000, 3, 4), (1, 2), strides=(16, 4, 4), typed=False),
        *[of(shape, 0, size, typed=False) for shape, size in (((2, 2), 4), ((9, 4), 1))],
        of((1 << 12, 1 << 12), 1, typed=False),
        of((1 << 20, 8, 8), 1, 1, 8, typed=False),
    ],
    "none is made alone": [
        of((n, 1 << 25), 0, size, 8, unsplit=0) for n in LOADS_OF for size in SIZES
    ],
}
UNSPLIT_COLUMNS = {
    "columns are shared where few would be left over": [
        # As of bytes: 656 threads a multiprocessor, where 512 have room.
        of((200, 1342177), 0, size, state, unsplit=unsplit)
        for size, state, unsplit in ((1, 8, 0), (1, 16, 1), (2, 4, 1))
    ],
    "columns are shared where threads that can are kept busier": [
        # As of 2 GiB of float32: threads alone have 1.4 turns, or 2.1 with large states.
        of((rows, columns), 0, 4, state, unsplit=unsplit)
        for rows, columns, unsplit in ((1000, 536870, 0), (500, 2 * 536870, 1), (31, 536870, 1))
        for state in (4, 8, 16, 24)
    ],
    "few rows are made alone of several loads": [
        of((n, (1 << 25) + more), 0, size, 8, unsplit=loads)
        for n, loads in LOADS_OF.items()
        for size in SIZES
        for more in (0, 1)
    ],
    "few threads make less each": [
        of((2, n), 0, unsplit=unsplit) for n, unsplit in ((1 << 21, 4), (1 << 20, 2), (600_000, 1))
    ],
    "blocks are small unless threads have two turns": [
        of((n, (1 << 28) // n // size), 0, size, state, block=block, unsplit=many(1))
        for n, size, state, block in (
            *[(2, 2, 4, 6), (8, 4, 8, 6), (100, 2, 4, 8)],
            *[(100, 1, 8, 8), (100, 2, 16, 6), (200, 2, 4, 6)],
        )
    ],
    "two short rows of a batch are one load": [
        of(
            shape,
            1,
            size,
            8,
            unsplit=1,
            paired=paired,
            shifted=False,
            elements=LOAD // size >> paired,
        )
        for shape, size, paired in (
            *[((1 << 20, 8, 8), 1, True), ((1 << 20, 8, 4), 2, True), ((1 << 20, 6, 2), 4, True)],
            *[((1 << 20, 8, 8), 2, False), ((1 << 20, 8, 8), 8, False)],
        )
    ],
    "odd numbers of short rows are for other kernels": [
        of((1 << 20, *rest), 1, 1, 8, typed=False) for rest in ((7, 8), (8, 4))
    ],
    "rows off boundaries of batches and tall columns are shared": [
        *[of((1 << 10, 8, 1001), 1, unsplit=0)],
        *[of(shape, 0, unsplit=0) for shape in ((1 << 20, 64), (1 << 17, 1 << 10))],
    ],
}
LONG_ROWS = {
    "short rows and others are left to others": [
        *[of((1 << 20, 100), 1, typed=False), of((1000, 1000), 0, typed=False)],
        *[of((1000, 1000), 1, strides=steps, typed=False) for steps in ((12000, 12), (4, 8))],
        *[of((1, 1 << 36), 1, 1, typed=False), of((1 << 14, 64, 59), (0, 2), typed=False)],
        *[of((1000, 1000), 1, strides=(8000, 8), typed=True), of((1 << 20, 1000), 1, typed=True)],
        *[of((1 << 20, 1000), 1, 4, 16, typed=True), of((1 << 20, 1000), 1, 8, 8, typed=True)],
        *[
            of((1 << 20, 1000), 1, strides=(8000, 4), typed=True),
            of((1 << 20, 1025), 1, typed=True),
        ],
        *[of((1 << 20, 512), 1, 1, typed=True), of((1 << 14, 64, 65), (0, 2), typed=True)],
    ],
    # As soon as rows are 15 packs, and states are small.
    "results of several short rows are made by larger teams": [
        *[of((17, 129, 63, 255), (1, 3), typed=True, team=many(8))],
        *[of((17, 129, 63, 255), (1, 3), 1, typed=True, team=many(6))],
        *[of((17, 129, 63, 31), (1, 3), 8, 8, typed=True, team=many(6))],
        of((32, 1765, 129), (0, 2), 2, typed=True, team=7),
        of((17, 129, 63, 255), (1, 3), 4, 16, typed=False),
        *[of((17, *rest), (1, 3), typed=False) for rest in ((1, 129 * 63, 255), (129, 63, 59))],
    ],
    "teams are as large as rows are long": [
        *[of((1 << 28, n), 1, 1, team=team) for n, team in ((600, 2), (1000, 3), (1 << 20, 8))],
        of((1 << 28, 4097), 1, 1, team=range(3, 9)),
        of((1 << 28, 1000), 1, 1, 16, team=2),
        *[of((556, 8051), 1, 8, state, team=team) for state, team in ((8, 7), (16, 5))],
        *[of((1 << 16, 4097), 1, 1, state, team=team) for state, team in ((16, 2), (8, 3))],
    ],
    # Of rows that several results' elements are in; of large states a batch is of more packs.
    "a thread has a batch of a row and not a part of one": [
        of((32, 1024, 8192 // size), (0, 2), size, state, stacked=False, readers=512 // packs)
        for size, state, packs in ((4, 4, 4), (8, 24, 8), (1, 24, 4))
    ],
    "several results one after the other leave waves of blocks": [
        *[of((1 << 15, 2000), 1, rounds=1), of((1 << 22, 1000), 1, 1, 8, rounds=many(2))],
    ],
    "few results are shared by blocks once one has much to do": [
        *[of((128, 1 << 15), 1, splits=1), of((256, 1 << 12), 1, 8, 8, splits=1)],
        *[of((64, 1 << 16), 1, splits=many(2)), of((16, 1 << 20), 1, splits=many(17))],
        of((1, 1 << 26), 1, splits=many(2 * H200), all_read=True),
    ],
    "many results of a few kilobytes are made by small teams": [
        *[of((1024, 8192 // size), 1, size, 24, team=5) for size in (2, 4, 8)],
        of((16, 8192), 1, team=8),
    ],
    "rows of one distance are read above each other": [
        of((1 << 14, 64, 64), (0, 2), stacked=True, readers=16),
        of((1 << 14, 64, 1025), (0, 2), stacked=False),
    ],
}
TABLES = {ANY_TYPE: CHOSEN, TYPED: KNOWN, UNSPLIT: UNSPLIT_COLUMNS, ROWS: LONG_ROWS}
EVERY = {name: (kernels, table[name]) for kernels, table in TABLES.items() for name in table}


@pytest.mark.parametrize(("kernels", "cases"), EVERY.values(), ids=EVERY)
def test_work_is_shared_so_that(kernels, cases):
    for asked, fields in cases:
        got = sharing(*asked, kernels=kernels)
        for name, expected in fields.items():
            value = getattr(got, name)
            is_range = isinstance(expected, range)
            assert value in expected if is_range else value == expected, (name, asked)


# ---- columns ----


@many_times
@given(
    shape=st.lists(st.integers(1, 5000), min_size=1, max_size=4).map(tuple),
    data=st.data(),
    size=st.sampled_from([*SIZES, 16]),
    multiprocessors=multiprocessors,
)
def test_every_result_is_made_and_everything_fits(shape, data, size, multiprocessors):
    axes = data.draw(st.sets(st.integers(0, len(shape) - 1)).map(tuple))
    strides, apart = [0] * len(shape), size
    for k in data.draw(st.permutations(range(len(shape)))):
        strides[k], apart = apart, apart * shape[k]
    got = sharing(shape, axes, size, strides=tuple(strides), multiprocessors=multiprocessors)
    results = math.prod(n for k, n in enumerate(shape) if k not in axes)
    assert (got.groups - 1) << got.teams < results <= got.groups << got.teams
    assert got.lanes <= got.team <= got.block
    assert got.splits >= 1


@pytest.mark.parametrize("state", [4, 8, 16])
def test_small_columns_are_made_by_many_blocks_that_wait_for_no_other(state):
    """Those of large arrays that share them have something to do for all their threads."""
    for shape in ((4, 4), (32, 32), (100, 100), (200, 7), (64, 9000)):
        got = typed(shape, 0, 4, state)
        assert (got.splits, shape[0] // got.coalesced >> got.team <= 5 * AT_ONCE) == (1, True)
    for side in (128, 256, 512, 1000, 1024):
        got = typed((side, side), 0, 4, state)
        assert (got.splits, got.groups >= side // 16) == (1, True)
    for shape in ((4096, 1024), (1000, 3000), (1 << 20, 64)):
        got = typed(shape, 0)
        assert got.splits > 1
        assert shape[0] // got.coalesced >= 2 * got.splits * AT_ONCE << got.team


@pytest.mark.parametrize(("size", "state"), [(1, 8), (2, 8), (2, 4), (4, 16), (8, 8)])
def test_columns_of_small_arrays_go_to_many_and_to_smaller_blocks(size, state):
    """Narrow ones however tall they are."""
    few, many_rows = (typed((n, 1024), 0, size, 2 * max(state, 4)) for n in (1024, 1 << 16))
    assert (few.teams, few.splits, few.groups >= H200 // 4) == (0, 1, True)
    assert many_rows.teams > 0

    def block(rows, nbytes):
        return typed((rows, nbytes // size), 0, size, state).block

    small, tall = block(1024, 2048), block(2048, 2048)
    assert small <= 8 <= min(tall, block(1 << 15, 2048))
    assert small < tall
    assert (block(1 << 16, 32), block(1 << 16, 64), block(1 << 22, 32)) == (7, 8, 8)


@many_times
@given(
    rows=st.integers(1, 1 << 40),
    columns=st.integers(1, 1 << 20),
    outer=st.integers(1, 100),
    size=some_size,
    state=some_state,
)
def test_typed_columns_are_all_made_and_blocks_hold_their_rows(rows, columns, outer, size, state):
    got = typed((outer, rows, columns), 1, size, state)
    if got is None:
        return
    across = 1 << got.teams
    packs = got.packs * (1 if rows == 1 else outer)
    assert got.elements * size == LOAD
    if got.coalesced > 1:
        assert (got.groups, got.packs <= across) == (outer, True)
    else:
        assert (got.groups - 1) * across < packs <= got.groups * across
    assert rows % got.coalesced == got.leftover
    assert rows // got.coalesced <= got.splits * BLOCK_ROWS
    left = got.elements * (across + 1), got.elements << got.block - 1 if got.team else 0
    assert state * max(left) <= SHARED
    assert 1 << got.block <= BLOCK


@every_size
def test_short_rows_are_taken_for_one_that_begins_at_boundaries(size):
    """Few batches of them have blocks of their own."""
    for columns in (2, 3, 8, 31, 64, 100):
        got = typed(((1 << 28) // columns // size, columns), 0, size)
        assert columns * size * got.coalesced == LOAD * got.packs
        assert not got.shifted
        assert got.packs >= 0.75 * (1 << got.teams)
    rows = (1 << 28) // size // 64
    got = typed((8, rows, 8), 1, size)
    assert got.coalesced * 8 * size == LOAD << got.teams
    assert (got.groups, got.paired) == (8, False)
    assert got.splits << got.block >= 32 * 256
    many = typed((rows, 8, 8), 1, size, kernels=UNSPLIT)
    assert (many.coalesced, many.paired) == (1, size == 1)


@many_times
@given(
    rows=st.integers(1, 1 << 18),
    columns=st.integers(1, 1 << 26),
    outer=st.integers(1, 1 << 20),
    size=some_size,
    state=some_state,
)
def test_unsplit_columns_are_all_made_and_have_all_rows(rows, columns, outer, size, state):
    got = typed((outer, rows, columns), 1, size, state, kernels=UNSPLIT)
    if got is None or not got.unsplit:
        assert got is None or not got.paired
        return
    threads, batches = 1 << got.block, outer > 1 and rows > 1
    across = threads - (threads // WARP if got.shifted else 0)
    packs = got.packs * (outer if batches or rows > 1 else 1)
    assert (got.team, got.splits, got.coalesced) == (0, 1, 1)
    assert threads in (UNSPLIT_BLOCK // 4, UNSPLIT_BLOCK // 2, UNSPLIT_BLOCK)
    assert (got.groups - 1) * across * got.unsplit < packs
    assert packs <= got.groups * across * got.unsplit
    assert rows <= BLOCK_ROWS
    assert got.unsplit == 1 or (rows * got.unsplit <= LOADS and not batches)
    assert got.elements * size * (2 if got.paired else 1) == LOAD
    assert not batches or (columns % got.elements == 0 and not got.shifted)
    assert not got.paired or (columns * size, rows % 2) == (LOAD // 2, 0)


@every_size
def test_every_second_column_is_left_to_threads_that_may_share(size):
    """Also where two rows of them are as long as one load."""
    for rows in (2, 8, 31):
        strides = (2 * size << 24, 2 * size)
        got = typed((rows, 1 << 24), 0, size, 8, strides=strides, kernels=UNSPLIT)
        assert (got.team, got.unsplit, got.paired, got.shifted) == (0, 0, False, False)
    if size < 8:
        shape = (1 << 20, 8, 8 // size)
        got = typed(shape, 1, size, 8, strides=(64, 8, 2 * size), kernels=UNSPLIT)
        assert got is None or not got.unsplit
