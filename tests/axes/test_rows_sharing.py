"""How threads share rows, long and short, and segments: asked as in test_axes_sharing.py."""

import itertools
import math

from hypothesis import example, given
from hypothesis import strategies as st
from test_axes_sharing import (
    H200,
    LOAD,
    ROWS,
    SHARED,
    WARP,
    every_size,
    many_times,
    multiprocessors,
    some_size,
    typed,
)
from test_axes_sharing import as_measured as as_measured
from thin import chosen

from gred import _testing

BANKS, BANK = 32, 4
SHORTEST_THAT_IS_LONG = 4096

# ---- long rows ----


@many_times
@given(
    shape=st.lists(st.integers(1, 1 << 14), min_size=1, max_size=4).map(tuple),
    data=st.data(),
    size=some_size,
    multiprocessors=multiprocessors,
)
def test_every_result_and_every_row_has_readers(shape, data, size, multiprocessors):
    outer = data.draw(st.sets(st.integers(0, len(shape) - 1)))
    axes = (*(outer - {len(shape) - 1}), len(shape) - 1)
    got = typed(shape, axes, size, kernels=ROWS, multiprocessors=multiprocessors)
    if got is None:
        return
    results = math.prod(n for k, n in enumerate(shape) if k not in axes)
    made = got.rounds << got.teams
    assert (got.groups - 1) * made < results <= got.groups * made
    assert got.splits == 1 or (got.team == got.block and got.rounds == 1)
    assert (got.splits << got.team) % got.readers == 0
    assert got.readers <= 1 << got.team or got.readers % (1 << got.team) == 0
    assert not got.stacked or got.readers <= 1 << got.team


# ---- short rows ----


def short_rows(n, size, results=1 << 24, data=0, stride=0, pitch=0, **asked):
    """Add `rows`: how many a block makes."""
    strides, asked = (pitch or n * size, stride or size), {"state": size, **asked}
    options = {"data": data, "in_order": True, "kernels": ("typed_short_rows",), **asked}
    got = typed((results, n), 1, size, strides=strides, **options)
    if got:
        got.rows = got.rounds << got.teams
    return got


@many_times
@given(
    n=st.integers(2, 3000),
    size=some_size,
    results=st.integers(2, 1 << 34),
    offset=st.integers(0, 20),
    multiprocessors=multiprocessors,
)
def test_rows_fit_into_shared_memory(n, size, results, offset, multiprocessors):
    got = short_rows(n, size, results, offset * size, multiprocessors=multiprocessors)
    if not got:
        assert n * size > SHORTEST_THAT_IS_LONG - LOAD
        return
    begins = offset * size % LOAD
    assert got.shared_bytes <= SHARED
    assert 5 <= got.block <= 8
    assert got.team <= 5
    assert got.rounds >= 1
    assert n % (1 << got.load) == 0
    assert size << got.load <= LOAD
    assert begins % (size << got.load) == 0
    if got.packed:
        assert (got.packed, got.team, got.shared_bytes, begins) == (n, 0, 0, 0)
    else:
        assert got.bytes == n * size
        # A word behind the last row is read, too.
        assert begins + got.rows * n * size + 4 <= got.shared_bytes
        assert not got.swizzle_mask or (begins == 0 and n * size % LOAD == 0)


@every_size
def test_a_load_takes_several_rows_if_it_holds_them_and_they_begin_at_a_boundary(size):
    for n in (2, 4, 8, 16):
        assert (short_rows(n, size).packed == n) == (n * size <= LOAD)
        assert not short_rows(n, size, data=size).packed


@every_size
def test_packs_that_are_swizzled_are_each_somewhere_and_banks_are_read_by_one_thread(size):
    """Of a thread a row, and of teams as large as rows are even; bytes are read by words."""
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
    """Threads that read at a time read from banks of their own."""
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


@every_size
def test_few_rows_are_shared_by_many_threads_and_blocks_of_many_have_much_to_do(size):
    for n in (2, 3, 8, 31, 64, 100, 256, 500):
        few, many_rows = short_rows(n, size, 100), short_rows(n, size)
        if n not in (2, 8):
            assert (few.rounds, few.team >= many_rows.team) == (1, True)
            assert few.team == 5 or n >> (few.team + few.load) <= 1
        assert n > 100 or many_rows.rows * n * size >= 8 << 10


@many_times
@given(
    n=st.integers(2, 3000),
    size=some_size,
    step=st.sampled_from([-3, -2, -1, 1, 2, 3]),
    more=st.integers(0, 40),
    offset=st.integers(0, 20),
)
def test_rows_that_lie_apart_are_staged_one_after_the_other(n, size, step, more, offset):
    """By copies of what lies together everywhere, or by packs of every second element."""
    if n * size > SHORTEST_THAT_IS_LONG - LOAD:
        return
    length = ((n - 1) * abs(step) + 1 + more) * size
    got = short_rows(n, size, data=offset * size, stride=step * size, pitch=length)
    if step == 1 and more == 0:
        assert got == short_rows(n, size, data=offset * size)
        assert (got.unit, got.step) == (0, 1)
        return
    assert (got.packed, got.bytes) == (0, n * size)
    assert got.shared_bytes <= SHARED
    assert n % (1 << got.load) == 0
    begins = 0
    if got.step == 2:
        assert (step, length) == (2, 2 * n * size)
        begins = offset // 2 % (LOAD // size // 2) * size
        assert begins % (size << got.load) == 0
        assert not got.swizzle_mask or begins == 0
    else:
        assert got.unit % size == 0
        assert n * size % got.unit == 0
        assert got.unit == size or (step == 1 and (offset * size | length) % got.unit == 0)
    assert begins + got.rows * n * size + 4 <= got.shared_bytes


@every_size
def test_every_second_element_is_read_by_packs(size):
    for n in (2, 8, 31, 100, 500):
        for data in (0, size):
            got = short_rows(n, size, data=data, stride=2 * size, pitch=2 * n * size)
            assert (got.step, 1 << got.load) == (2, min(n & -n, LOAD // size))
    assert short_rows(8, size, stride=2 * size, pitch=17 * size).step == 1


def test_rows_are_copied_by_what_they_and_gaps_are_multiples_of():
    """Columns and broadcast rows are for other kernels."""
    for pitch, unit in ((800, 16), (808, 8), (804, 4), (802, 2), (801, 1)):
        assert short_rows(400, 1, pitch=pitch).unit == unit
    for stride in (400, -400):
        assert short_rows(100, 4, stride=stride, pitch=4) is None


# ---- segments ----


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
def test_everything_is_shared_and_nothing_twice(count, elements, size, own, multiprocessors):
    found = segments(count, elements, size, 8, multiprocessors, own=own)
    assert found["team"] <= 5
    assert 1 <= found["grid"] <= multiprocessors * 8
    if not found["tile"]:
        assert count + elements <= 1 << 16
        return
    items = count + elements
    assert (found["tiles"] - 1) * found["tile"] < items <= found["tiles"] * found["tile"]
    assert found["tile"] < 1 << 16  # where segments end is counted in 16 bits
    # Elements as they lie, or states of 8 bytes and what these are made of.
    staged = size if own and size == 8 else 8 + size
    assert found["tile"] * staged < found["tile_shared_bytes"] <= 48 << 10


def test_a_thread_has_work_for_a_while():
    million = 10**6
    assert segments(million, 64 * million)["team"] == 2
    assert segments(million, 4 * million)["team"] == 0
    assert segments(10, 64 * million)["team"] == 5
    assert segments(100, 6400)["tile"] == 0
    # 7 packs a thread of 256, beginning at any of a pack's elements.
    assert segments(million, 64 * million, own=True)["tile"] + 3 == 28 << 8
    assert segments(million, 64 * million, 8, 8, own=True)["tile"] + 1 == 14 << 8
    assert segments(million, 64 * million, 1, 8)["tile"] + 1 == 14 << 8
    assert segments(million, 64 * million, 4, 8)["tile"] == (32 << 10) // 12
