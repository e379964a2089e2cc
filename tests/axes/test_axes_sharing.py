"""How threads share a reduction: a pure function of shapes, types and the device's size.

No arrays or devices are needed; forcing.py calls the function.
"""

import itertools
import math
from types import SimpleNamespace

import forcing
import pytest
from drawn import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from thin import chosen

from gred import _testing

H200 = 132
ROOM, SHARED = 4 * H200, 48 << 10
LOAD, BLOCK_ROWS, LOADS, WARP, BANKS, BANK = 16, 1 << 16, 8, 32, 32, 4
SHORTEST_THAT_IS_LONG, NARROW_LONG = 4096, 128  # bytes per row; misaligned and not contiguous
SIZES = (1, 2, 4, 8)
ANY_TYPE = ("few",)
TYPED = (*ANY_TYPE, "typed_columns")
UNSPLIT = (*TYPED, "unsplit_columns")
ROWS, SHORT, STRIDED = ("typed_rows",), ("typed_short_rows",), ("typed_strided",)
every_size = pytest.mark.parametrize("size", SIZES)
some_size, some_state = st.sampled_from(SIZES), st.sampled_from([4, 8, 16])
multiprocessors = st.integers(1, 200)
many_times = settings(max_examples=examples(300), deadline=None)


def sharing(shape, axis, size=4, state=None, strides=None, kernels=ANY_TYPE, **asked):
    """Return how these kernels would share a reduction; see struct launch_config for the fields."""
    asked = {"state": state or max(size, 4), "multiprocessors": H200, "kernels": kernels} | asked
    got = SimpleNamespace(**forcing.launch(shape, axis, size, strides, **asked))
    got.typed = got.kernel.startswith(("typed", "unsplit"))
    got.teams = got.block - got.team  # log2 of the teams per block
    got.elements = 1 << got.load
    got.all_read = got.readers == got.splits << got.block  # every thread of the grid reads a row
    got.threads = got.groups * got.splits << got.block
    return got


def typed(*arguments, **options):
    """Return the sharing of a typed kernel, or None if another kernel is chosen."""
    got = sharing(*arguments, **{"kernels": TYPED, **options})
    return got if got.typed else None


def short_rows(n, size, results=1 << 24, data=0, stride=0, pitch=0, **asked):
    """Add `rows`, the rows per block."""
    strides, asked = (pitch or n * size, stride or size), {"state": size, **asked}
    options = {"data": data, "in_order": True, "kernels": SHORT, **asked}
    got = typed((results, n), 1, size, strides=strides, **options)
    if got:
        got.rows = got.rounds << got.teams
    return got


@pytest.fixture(autouse=True)
def as_measured():
    forcing.force({})


# ---- what is chosen ----


def each(*shapes, axis=0, size=(4,), state=(None,), strides=None, **fields):
    """List cases of some shapes, sizes and states: arguments and expected fields."""
    every = itertools.product(shapes, size, state)
    return [((shape, axis, of_one, kept, strides), fields) for shape, of_one, kept in every]


def many(least):
    return range(least, 1 << 62)


def rows(*lengths):
    return [((1 << 26) // n, n) for n in lengths]


def tall(*numbers, size=4):
    """List the shapes of columns of 256 MiB."""
    return [(n, (1 << 28) // n // size) for n in numbers]


BUSY = many(H200 * 512)
FULL = range(math.ceil(0.89 * ROOM) << 8, (ROOM << 8) + 1)
LENGTHS, BIG, MIB = (1 << 12, 1 << 16, 1 << 20, 1 << 23), 1 << 25, 1 << 20
CHOSEN = {
    "neighbouring threads read long rows": each(
        *rows(4097, 1 << 16, 1 << 26), axis=1, kernel="along", across=False, team=many(5)
    ),
    "neighbouring threads read neighbouring columns": each(
        *tall(2, 64, 1000, MIB), (64, MIB - 1), (1000, 1 << 16), across=True
    ),
    "the device is busy with few and with many results": [
        *each(*rows(*LENGTHS), axis=1, threads=BUSY),
        *each(*(shape[::-1] for shape in rows(*LENGTHS)), threads=BUSY),
    ],
    "a warp reads large columns side by side": each((MIB, 64), (1 << 14, 1 << 10), teams=5),
    "long results are shared by blocks": [
        *each((2, BIG), axis=1, splits=many(H200 + 1)),
        *each((BIG, 4), splits=many(H200 + 1)),
        *each((64, 1 << 10, 1 << 10), axis=(0, 2), threads=BUSY),
    ],
}
KNOWN = {
    "tall columns are split by as many small blocks as there is room for": each(
        *rows(2, 64, 1000, 4096, 6400, 10000), block=8, threads=FULL
    ),
    "small columns are made by many blocks that wait for no other": [
        *each((4, 4), (32, 32), (100, 100), (200, 7), splits=1),
        *each((256, 256), (512, 512), (1000, 1000), splits=1, groups=many(16)),
        *each((1024, 1024), state=(32,), splits=1, teams=0, groups=many(H200 // 4)),
        *each((4096, 1024), (1000, 3000), (MIB, 64), splits=many(2)),
    ],
    "rows off boundaries are shifted": [
        *each((9, 1 << 24), packs=1 << 22, shifted=False, coalesced=1),
        *each((9, (1 << 24) + 1), packs=(1 << 22) + 1, shifted=True),
        *each((9, (1 << 24) + 2), size=(8,), packs=(1 << 23) + 1, shifted=False),
        *each((9, (1 << 24) + 1), size=(8,), packs=(1 << 23) + 1, shifted=True),
    ],
    "single rows are columns of one element": each((1, 1 << 24), splits=1, packs=1 << 22),
    "short rows are taken for one that begins at boundaries": [
        *each(*tall(MIB * 32, MIB * 8, size=1), size=SIZES, shifted=False, coalesced=many(2)),
        *each((8, MIB, 8), axis=1, groups=8, coalesced=many(2)),
    ],
    "a few neighbours of a result are columns of it, and one block's": [
        *each((MIB, 8, 8), axis=(0, 2), inner=8),
        *each((1024, 8, 64), axis=(0, 2), size=(1,), state=(8,), inner=64, teams=2),
        *each((999, 8, 7), axis=(0, 2), inner=7, span=28),
        *each((999, 600, 7), axis=(0, 2), size=(1,), state=(8,), span=2030),
        *each((16, 999, 64, 7), axis=(1, 3), typed=True),
        *each((99999, 16, 8, 7), axis=(1, 3), typed=False),
        *each((999, 8, 7), (64, 1024, 1024), axis=(0, 2), size=(8,), typed=False),
    ],
    "rows that overlap, rows of less than a load and odd rows are for other kernels": [
        *each((1 << 22, 64), strides=(8, 4), typed=False),
        *each((300, 20, 1001), axis=(0, 1), strides=(4004, 0, 4), typed=False),
        *each((1000, 3, 4), axis=(1, 2), strides=(16, 4, 4), typed=False),
        *each((2, 2), (9, 4), size=(1,), typed=False),
        *each((1 << 12, 1 << 12), (MIB, 8, 8), axis=1, size=(1,), state=(8,), typed=False),
    ],
    "of batches whose rows take half a load or less, others load the elements": [
        *each((9999, 300, 2), axis=1, strides=(9600, 32, 4), typed=False),
        *each((9999, 300, 3), axis=1, strides=(9600, 32, 4), typed=True),
        *each((9999, 300, 8), axis=1, size=(1,), strides=(9600, 32, 1), typed=False),
        *each((9999, 300, 9), axis=1, size=(1,), strides=(9600, 32, 1), typed=True),
    ],
    "none is made alone": each((1, BIG), (8, BIG), (100, BIG), size=SIZES, state=(8,), unsplit=0),
}
UNSPLIT_COLUMNS = {
    "few rows are made alone of several loads": [
        *each((1, BIG), (2, BIG + 1), size=SIZES, state=(8,), unsplit=4),
        *each((3, BIG), (4, BIG + 1), size=SIZES, state=(8,), unsplit=2),
        *each((5, BIG), (31, BIG + 1), (100, BIG), size=SIZES, state=(8,), unsplit=1),
    ],
    "whole loads of a result's columns are made alone": [
        *each((8, MIB, 8), axis=(0, 2), size=(2,), state=(24,), unsplit=1, inner=8, team=0),
        *each((8, MIB, 8), axis=(0, 2), state=(8,), unsplit=1, inner=8, team=1),
        *each((8, MIB, 8), axis=(0, 2), size=(1,), state=(8,), unsplit=0, inner=8),
    ],
    "few rows of batches off boundaries are made alone by warps of their own": [
        *each((1 << 10, 8, 1001), axis=1, unsplit=1, shifted=True, groups=(1 << 10) * 9 // 2),
        *each((1 << 10, 33, 1001), (1 << 10, 8, 40), axis=1, unsplit=0),
    ],
    "many rows off boundaries are made alone if long": [
        *each((40, MIB + 1), (41, 4 * MIB + 1), state=(8,), unsplit=1, shifted=True),
        *each((41, MIB // 5), (511, 141375), size=(4, 8), state=(8,), unsplit=0),
    ],
    "tall columns and every second are shared": [
        *each((MIB, 64), (1 << 17, 1 << 10), unsplit=0),
        *each((2, BIG), (31, BIG), state=(8,), strides=(8 * BIG, 8), unsplit=0),
    ],
}
LONG_ROWS = {
    "short rows and others are left to others": [
        *each((MIB, 100), (1000, 1 << 36), axis=1, size=(1,), typed=False),
        *each((1000, 1000), typed=False),
        *each((1000, 1000), axis=1, strides=(4, 8), typed=False),
        *each((1000, 1000), axis=1, strides=(8000, 8), typed=True),
        *each((1000, 1000), axis=1, strides=(12000, 12), typed=False),
        *each((MIB, 512), axis=1, size=(1,), typed=True),
    ],
    "shorter rows are taken where a result has few, or more elements than a block loads": [
        *each((17, 16, 63, 32), (17, 1, 129 * 63, 32), axis=(1, 3), typed=True),
        *each((17, 129, 63, 257), axis=(1, 3), typed=True),
        *each((17, 16, 63, 31), (17, 17, 63, 63), (17, 129, 63, 255), axis=(1, 3), typed=False),
    ],
    "teams are as large as rows are long": [
        *each((1 << 28, 600), axis=1, size=(1,), team=2),
        *each((1 << 28, MIB), axis=1, size=(1,), team=8),
        *each((556, 8051), axis=1, size=(8,), state=(8,), team=7),
        *each((556, 8051), axis=1, size=(8,), state=(16,), team=6),
    ],
    "teams are larger if the last wave would have few blocks": [
        *each((9486, 18018), axis=1, size=(1,), state=(8,), team=5),
        *each((18540, 3550), axis=1, state=(8,), team=5),
        *each((6336, 18018), axis=1, size=(1,), state=(8,), team=4),
    ],
    "two or three rows of many loads or of a large state are not read side by side": [
        *each((2, 8191, 32), (3, 8191, 32), axis=(0, 2), state=(8,), stacked=True),
        *each((2, 8191, 256), (3, 8191, 256), axis=(0, 2), stacked=False),
        *each((2, 8191, 32), (3, 8191, 32), axis=(0, 2), state=(16,), stacked=False),
        *each((4, 8191, 256), axis=(0, 2), state=(16,), stacked=True),
    ],
    "few results are shared by blocks once one has much to do": [
        *each((128, 1 << 15), axis=1, splits=1),
        *each((64, 1 << 15), (64, 1 << 16), axis=1, splits=many(2)),
        *each((1, 1 << 26), axis=1, splits=many(2 * H200), all_read=True),
    ],
    "rows of few loads are read by few threads each": [
        *each((2310, 192, 512), axis=(1, 2), size=(1,), strides=(98500, 513, 1), readers=8),
        *each((2310, 192, 2048), axis=(1, 2), size=(1,), strides=(393500, 2049, 1), readers=32),
    ],
    "rows of one distance are read above each other": [
        *each((1 << 14, 64, 64), axis=(0, 2), stacked=True, readers=16),
        *each((1 << 14, 64, 1025), axis=(0, 2), stacked=False),
    ],
}
SHORT_ROWS = {
    "short rows lie one after the other, or in batches of many": [
        *each((1000, 500, 12), axis=2, dimensions=0, unit=0),
        *each((300, 200, 12), axis=2, strides=(48, 14400, 4), dimensions=1, batch=300, unit=0),
        *each((9, 43, 12), axis=2, strides=(9999, 48, 4), dimensions=1, batch=43, unit=0),
        *each((9, 43, 12), axis=2, strides=(9984, 96, 4), dimensions=1, batch=43, unit=16),
        *each((9, 42, 12), (9, 31, 400), axis=2, strides=(99999, 1600, 4), typed=False),
    ],
}
SMALL = {"few are shared": each((429, 5), splits=1) + each((3000, 5), splits=many(2))}
TABLES = {ANY_TYPE: CHOSEN, TYPED: KNOWN, UNSPLIT: UNSPLIT_COLUMNS}
TABLES |= {ROWS: LONG_ROWS, SHORT: SHORT_ROWS, STRIDED: SMALL}
EVERY = {name: (kernels, table[name]) for kernels, table in TABLES.items() for name in table}


@pytest.mark.parametrize(("kernels", "cases"), EVERY.values(), ids=EVERY)
def test_work_is_shared_so_that(kernels, cases):
    for asked, fields in cases:
        got = sharing(*asked, kernels=kernels)
        for name, expected in fields.items():
            values = expected if isinstance(expected, range) else (expected,)
            assert getattr(got, name) in values, (name, asked)


# ---- every result is computed once, and everything fits ----


@many_times
@given(
    shape=st.lists(st.integers(1, 1 << 14), min_size=1, max_size=4).map(tuple),
    data=st.data(),
    size=st.sampled_from([*SIZES, 16]),
    multiprocessors=multiprocessors,
)
def test_every_result_is_made_and_every_row_has_readers(shape, data, size, multiprocessors):
    axes = data.draw(st.sets(st.integers(0, len(shape) - 1)).map(tuple))
    strides, apart = [0] * len(shape), size
    for k in data.draw(st.permutations(range(len(shape)))):
        strides[k], apart = apart, apart * shape[k]
    results = math.prod(n for k, n in enumerate(shape) if k not in axes)
    asked = {"multiprocessors": multiprocessors}
    got = sharing(shape, axes, size, strides=tuple(strides), **asked)
    assert (got.groups - 1) << got.teams < results <= got.groups << got.teams
    assert got.lanes <= got.team <= got.block
    assert got.splits >= 1
    got = typed(shape, axes, size, kernels=ROWS, **asked) if size < 16 and axes else None
    if got:
        assert (got.groups - 1) << got.teams < results <= got.groups << got.teams
        assert got.splits == 1 or got.team == got.block
        assert (got.splits << got.team) % got.readers == 0
        assert got.readers <= 1 << got.team or got.readers % (1 << got.team) == 0
        assert not got.stacked or got.readers <= 1 << got.team


@many_times
@given(
    rows=st.integers(1, 1 << 33) | st.integers(1, 1 << 18),
    columns=st.integers(1, 1 << 26),
    outer=st.integers(1, 100) | st.integers(1, 1 << 20),
    size=some_size,
    state=some_state,
    kernels=st.sampled_from([TYPED, UNSPLIT, UNSPLIT + SHORT]),
)
def test_columns_are_made_and_blocks_hold_their_rows(rows, columns, outer, size, state, kernels):
    got = typed((outer, rows, columns), 1, size, state, kernels=kernels)
    if got is None or (got.kernel == "typed_short_rows" and not got.batches):
        return
    if got.kernel == "typed_short_rows":
        assert (got.groups - 1) * got.batches < outer <= got.groups * got.batches
        assert got.batches * (rows * columns * size + got.padding) <= got.shared_bytes <= SHARED
        return
    threads, batches = 1 << got.block, outer > 1 and rows > 1
    packs = got.packs * (outer if batches or rows > 1 else 1)
    assert got.elements * size == LOAD
    if got.unsplit:
        across = threads - (threads // WARP if got.shifted else 0)
        if got.shifted and batches:  # each takes whole warps
            packs = outer * -(-got.packs // (WARP - 1)) * (WARP - 1)
        assert (got.team, got.splits, got.coalesced) == (0, 1, 1)
        assert threads in (64, 128, 256)
        assert (got.groups - 1) * across * got.unsplit < packs <= got.groups * across * got.unsplit
        assert rows <= BLOCK_ROWS
        assert got.unsplit == 1 or (rows * got.unsplit <= LOADS and not batches)
        assert not batches or got.shifted or columns % got.elements == 0
        return
    across = 1 << got.teams
    if got.coalesced > 1:
        assert (got.groups, got.packs <= across) == (outer, True)
    else:
        assert (got.groups - 1) * across < packs <= got.groups * across
    assert rows % got.coalesced == got.leftover
    assert rows // got.coalesced <= got.splits * BLOCK_ROWS
    left = got.elements * (across + 1), got.elements << got.block - 1 if got.team else 0
    assert state * max(left) <= SHARED
    assert threads <= 256


@many_times
@given(
    n=st.integers(2, 3000),
    size=some_size,
    results=st.integers(2, 1 << 34),
    step=st.sampled_from([-3, -2, -1, 1, 1, 2, 3]),
    more=st.sampled_from([0, 0, 1, 2, 7, 16, 40]),
    offset=st.integers(0, 20),
    multiprocessors=multiprocessors,
)
def test_short_rows_fit_into_shared_memory(n, size, results, step, more, offset, multiprocessors):
    """Separate rows are copied in contiguous units, or in packs of every second element."""
    pitch, data = ((n - 1) * abs(step) + 1 + more) * size, offset * size
    asked = {"stride": step * size, "pitch": pitch, "multiprocessors": multiprocessors}
    got = short_rows(n, size, results, data, **asked)
    narrow_unit = step == 1 and more and (data | pitch | n * size) % 4
    if not got or n * size > SHORTEST_THAT_IS_LONG - LOAD:
        assert n * size > SHORTEST_THAT_IS_LONG - LOAD or (narrow_unit and n * size >= NARROW_LONG)
        return
    assert got.shared_bytes <= SHARED
    assert 5 <= got.block <= 8
    assert got.team <= 5
    assert got.rounds >= 1
    assert n % (1 << got.load) == 0
    assert size << got.load <= LOAD
    begins = 0
    if step == 1 and more == 0:
        begins = data % LOAD
        assert (got.unit, got.step) == (0, 1)
        if got.packed:
            assert (got.packed, got.team, got.shared_bytes, begins) == (n, 0, 0, 0)
            return
        assert not got.swizzle_mask or n * size % LOAD == 0
    elif got.step == 2:
        assert (step, pitch, size < 4) == (2, 2 * n * size, True)
        begins = offset // 2 % (LOAD // size // 2) * size
    else:
        assert got.unit % size == n * size % got.unit == 0
        assert got.unit == size or (step == 1 and (data | pitch) % got.unit == 0)
    assert (got.packed, got.bytes) == (0, n * size)
    assert begins % (size << got.load) == 0
    assert not got.swizzle_mask or begins == 0
    # The word after the last row is read, too.
    assert begins + got.rows * n * size + 4 <= got.shared_bytes


@every_size
def test_short_rows_are_loaded_several_at_once_or_shared_by_many_threads(size):
    for n in (2, 4, 8, 16):
        assert (short_rows(n, size).packed == n) == (n * size <= LOAD)
        assert not short_rows(n, size, data=size).packed
    for n in (2, 3, 8, 31, 64, 100, 256, 500):
        few, many_rows = short_rows(n, size, 100), short_rows(n, size)
        assert n in (2, 8) or (few.rounds, few.team >= many_rows.team) == (1, True)
        assert n in (2, 8) or few.team == 5 or n >> (few.team + few.load) <= 1
        assert n > 100 or many_rows.rows * n * size >= 4 << 10
        got = short_rows(n, size, data=size, stride=2 * size, pitch=2 * n * size)
        packs = size < 4  # narrower than copies
        assert (got.step, 1 << got.load) == (1 + packs, min(n & -n, LOAD // size))
    assert short_rows(8, size, stride=2 * size, pitch=17 * size).step == 1
    for pitch, unit in ((800, 16), (808, 8), (804, 4), (802, 2), (801, 1)):
        assert short_rows(96, 1, pitch=pitch).unit == unit
        assert (short_rows(400, 1, pitch=pitch) is None) == (unit < 4)  # long rows then
    for state, longest in ((8, 127), (16, 255), (24, 511)):  # large states are merged reluctantly
        assert short_rows(longest, 1, pitch=801, state=state)
        assert short_rows(longest + 1, 1, pitch=801, state=state) is None
    for stride in (400, -400):  # other kernels take columns and broadcast rows
        assert short_rows(100, 4, stride=stride, pitch=4) is None


@every_size
def test_packs_that_are_swizzled_are_each_somewhere_and_banks_are_read_by_one_thread(size):
    """Banks are checked where loads have at least a word and teams divide rows evenly."""
    for n in chosen((*range(1, 200), 256, 384, 500, 512), size):
        got = short_rows(n, size)
        if not got.packed and got.swizzle_mask:
            packs = -(-got.rows * got.bytes // LOAD)
            places = {k ^ (k >> got.swizzle_shift & got.swizzle_mask) for k in range(packs)}
            assert (len(places), max(places) < got.shared_bytes // LOAD) == (packs, True)
        length, loads = size << got.load, n >> got.load
        if not (got.packed or length < BANK or loads % (1 << got.team)):
            check_banks(got, length, loads)


def check_banks(got, length, loads):
    at_a_time = BANKS * BANK // length
    for k, first in itertools.product(range(min(loads >> got.team, 20)), range(0, WARP, at_a_time)):
        words = []
        for lane in range(first, first + at_a_time):
            row, number = lane >> got.team, lane & ((1 << got.team) - 1)
            place = row * loads + (k << got.team) + number
            if length == LOAD:
                place ^= place >> got.swizzle_shift & got.swizzle_mask
            words += range(place * length // BANK, (place + 1) * length // BANK)
        assert len({word % BANKS for word in words}) == len(words) == BANKS


def segments(count, elements, size=4, state=4, multiprocessors=H200, *, own=False):
    return _testing.segments(count, elements, size, state, own, multiprocessors)


@given(
    count=st.integers(1, 2**40),
    elements=st.integers(0, 2**45),
    size=st.sampled_from([1, 2, 4, 8, 16]),
    own=st.booleans(),
    multiprocessors=multiprocessors,
)
@example(count=1 << 31, elements=0, size=4, own=False, multiprocessors=1)
def test_segments_are_all_shared_and_none_twice(count, elements, size, own, multiprocessors):
    found = segments(count, elements, size, 8, multiprocessors, own=own)
    assert found["team"] <= 5
    assert 1 <= found["grid"] <= multiprocessors * 8
    if not found["tile"]:
        assert count + elements <= 1 << 16
        return
    items = count + elements
    assert (found["tiles"] - 1) * found["tile"] < items <= found["tiles"] * found["tile"]
    assert found["tile"] < 1 << 16  # segments' ends are 16-bit numbers
    # Elements, or states of 8 bytes and the elements they are computed from.
    staged = size if own and size == 8 else 8 + size
    assert found["tile"] * staged < found["tile_shared_bytes"] <= SHARED


def test_teams_are_as_large_as_segments_are_long():
    million = 10**6
    for count, elements, team in ((million, 64, 2), (million, 4, 0), (10, 64, 5)):
        assert segments(count, elements * million)["team"] == team
    assert segments(100, 6400)["tile"] == 0
