"""How threads share rows, long and short: a pure function of shapes, types, place and device."""

import math
from types import SimpleNamespace

import forcing
import pytest
from drawn import examples
from hypothesis import given, settings
from hypothesis import strategies as st

H200, MANY = 132, 1 << 24
PACK, WARP, BANKS, BANK = 16, 32, 32, 4
SHARED = 48 << 10
SHORTEST_THAT_IS_LONG = 4096
LENGTHS = [*range(1, 200), 256, 384, 500, 512]
SIZES = (1, 2, 4, 8)
every_size = pytest.mark.parametrize("size", SIZES)
multiprocessors = st.integers(1, 200)


# ---- long rows ----


def launch(kernel, *arguments, **options):
    """Members of struct launch_config; None where another kernel is taken."""
    found = forcing.launch(*arguments, **options, kernels=(kernel,))
    return SimpleNamespace(**found) if found["kernel"] == kernel else None


def long_rows(shape, axis, size=4, strides=None, multiprocessors=H200, state=4):
    options = {"multiprocessors": multiprocessors, "state": state}
    return launch("typed_rows", shape, axis, size, strides, **options)


@settings(max_examples=examples(300), deadline=None)
@given(
    shape=st.lists(st.integers(1, 1 << 14), min_size=1, max_size=4).map(tuple),
    data=st.data(),
    size=st.sampled_from(SIZES),
    multiprocessors=multiprocessors,
)
def test_every_result_and_every_row_has_readers(shape, data, size, multiprocessors):
    outer = data.draw(st.sets(st.integers(0, len(shape) - 1)))
    axes = (*(outer - {len(shape) - 1}), len(shape) - 1)
    got = long_rows(shape, axes, size, multiprocessors=multiprocessors)
    if got is None:
        return
    results = math.prod(n for k, n in enumerate(shape) if k not in axes)
    made = got.rounds << (got.block - got.team)
    assert (got.groups - 1) * made < results <= got.groups * made
    assert got.splits == 1 or (got.team == got.block and got.rounds == 1)
    assert (got.splits << got.team) % got.readers == 0
    assert got.readers <= 1 << got.team or got.readers % (1 << got.team) == 0
    assert not got.stacked or got.readers <= 1 << got.team


@pytest.mark.parametrize(
    ("shape", "axis", "options", "taken"),
    [
        ((1 << 20, 100), 1, {}, False),
        ((1000, 1000), 1, {"strides": (12000, 12)}, False),
        ((1000, 1000), 1, {"strides": (4, 8)}, False),
        ((1000, 1000), 1, {"strides": (8000, 8)}, True),
        ((1000, 1000), 0, {}, False),
        ((1, 1 << 36), 1, {"size": 1}, False),
        ((1 << 20, 1000), 1, {}, True),
        ((1 << 20, 1000), 1, {"state": 16}, True),
        ((1 << 20, 1000), 1, {"strides": (8000, 4)}, True),
        ((1 << 20, 1000), 1, {"size": 8, "state": 8}, True),
        ((1 << 20, 1025), 1, {}, True),
        ((1 << 20, 512), 1, {"size": 1}, True),
        ((1 << 14, 64, 65), (0, 2), {}, True),
        ((1 << 14, 64, 59), (0, 2), {}, False),
    ],
)
def test_short_rows_and_others_are_left_to_others(shape, axis, options, taken):
    assert bool(long_rows(shape, axis, **options)) == taken


@pytest.mark.parametrize(
    ("shape", "options", "taken"),
    [
        ((17, 129, 63, 255), {}, True),
        ((17, 129, 63, 255), {"size": 1}, True),
        ((17, 129, 63, 255), {"state": 16}, False),
        ((17, 1, 129 * 63, 255), {}, False),
        ((17, 129, 63, 59), {}, False),
        ((17, 129, 63, 31), {"size": 8, "state": 8}, True),
    ],
)
def test_results_of_several_short_rows_are_made_by_larger_teams(shape, options, taken):
    """As soon as rows are 15 packs, and states are small."""
    got = long_rows(shape, (1, 3), **options)
    assert bool(got) == taken
    if taken:
        packs = shape[1] * (shape[3] * options.get("size", 4) // 16)
        assert packs >> got.team <= 32


def test_teams_are_as_large_as_rows_are_long():
    teams = [long_rows((1 << 28, n), 1, size=1).team for n in (600, 1000, 4097, 1 << 20)]
    assert teams == sorted(teams)
    assert (teams[0], teams[1], teams[-1]) == (2, 3, 8)
    assert long_rows((1 << 28, 1000), 1, size=1, state=16).team == 2
    assert long_rows((1 << 16, 4097), 1, size=1, state=16).team == 2
    assert long_rows((1 << 16, 4097), 1, size=1, state=8).team == 3


def test_a_thread_has_a_batch_of_a_row_and_not_a_part_of_one():
    """Of rows that several results' elements are in; of large states a batch is of more packs."""
    for size, state, packs in ((4, 4, 4), (8, 24, 8), (1, 24, 4)):
        got = long_rows((32, 1024, 1024 * 8 // size), (0, 2), size, state=state)
        assert not got.stacked
        assert 512 // got.readers == packs


def test_several_results_one_after_the_other_leave_waves_of_blocks():
    assert long_rows((1 << 15, 2000), 1).rounds == 1
    assert long_rows((1 << 22, 1000), 1, size=1, state=8).rounds > 1


def test_one_result_is_read_by_all_multiprocessors():
    got = long_rows((1, 1 << 26), 1)
    assert got.readers == got.splits << got.block
    assert got.splits >= 2 * H200


def test_few_results_are_shared_by_blocks_once_one_has_much_to_do():
    assert long_rows((128, 1 << 15), 1).splits == 1
    assert long_rows((64, 1 << 16), 1).splits > 1
    assert long_rows((16, 1 << 20), 1).splits > 16
    assert long_rows((256, 1 << 12), 1, size=8, state=8).splits == 1


def test_many_results_of_a_few_kilobytes_are_made_by_small_teams():
    for size in (2, 4, 8):
        assert long_rows((1024, 8192 // size), 1, size, state=24).team == 5
    assert long_rows((16, 8192), 1).team == 8


def test_rows_of_one_distance_are_read_above_each_other():
    got = long_rows((1 << 14, 64, 64), (0, 2))
    assert (got.stacked, got.readers) == (True, 16)
    assert not long_rows((1 << 14, 64, 1025), (0, 2)).stacked


# ---- short rows ----


def short_rows(n, size, results=MANY, data=0, multiprocessors=H200, stride=0, pitch=0):
    """Add `rows`: how many a block makes."""
    options = {"multiprocessors": multiprocessors, "state": size, "data": data, "in_order": True}
    strides = pitch or n * size, stride or size
    got = launch("typed_short_rows", (results, n), 1, size, strides, **options)
    if got:
        got.rows = got.rounds << (got.block - got.team)
    return got


@settings(max_examples=examples(500), deadline=None)
@given(
    n=st.integers(2, 3000),
    size=st.sampled_from(SIZES),
    results=st.integers(2, 1 << 34),
    offset=st.integers(0, 20),
    multiprocessors=multiprocessors,
)
def test_rows_fit_into_shared_memory(n, size, results, offset, multiprocessors):
    got = short_rows(n, size, results, offset * size, multiprocessors)
    if not got:
        assert n * size > SHORTEST_THAT_IS_LONG - PACK
        return
    begins = offset * size % PACK
    assert got.shared_bytes <= SHARED
    assert 5 <= got.block <= 8
    assert got.team <= 5
    assert got.rounds >= 1
    assert n % (1 << got.load) == 0
    assert size << got.load <= PACK
    assert begins % (size << got.load) == 0
    if got.packed:
        assert (got.packed, got.team, got.shared_bytes, begins) == (n, 0, 0, 0)
    else:
        assert got.bytes == n * size
        # A word behind the last row is read, too.
        assert begins + got.rows * n * size + 4 <= got.shared_bytes
        assert not got.swizzle_mask or (begins == 0 and n * size % PACK == 0)


@every_size
@pytest.mark.parametrize("n", [2, 4, 8, 16])
def test_a_load_takes_several_rows_if_it_holds_them_and_they_begin_at_a_boundary(n, size):
    assert (short_rows(n, size).packed == n) == (n * size <= PACK)
    assert not short_rows(n, size, data=size).packed


@every_size
@pytest.mark.parametrize("n", LENGTHS)
def test_packs_that_are_swizzled_are_each_somewhere(n, size):
    got = short_rows(n, size)
    if got.packed or not got.swizzle_mask:
        return
    packs = -(-got.rows * got.bytes // PACK)
    places = {k ^ (k >> got.swizzle_shift & got.swizzle_mask) for k in range(packs)}
    assert len(places) == packs
    assert max(places) < got.shared_bytes // PACK


@every_size
@pytest.mark.parametrize("n", LENGTHS)
def test_threads_that_read_at_a_time_read_from_banks_of_their_own(n, size):
    """Of a thread a row, and of teams as large as rows are even; bytes are read by words."""
    got = short_rows(n, size)
    length, loads = size << got.load, n >> got.load
    if got.packed or length < BANK or loads % (1 << got.team):
        return
    at_a_time = BANKS * BANK // length
    for k in range(min(loads >> got.team, 20)):
        for first in range(0, WARP, at_a_time):
            words = []
            for lane in range(first, first + at_a_time):
                row, number = lane >> got.team, lane & ((1 << got.team) - 1)
                place = row * loads + (k << got.team) + number
                if length == PACK:
                    place ^= place >> got.swizzle_shift & got.swizzle_mask
                words += range(place * length // BANK, (place + 1) * length // BANK)
            assert len({word % BANKS for word in words}) == len(words) == BANKS


@every_size
@pytest.mark.parametrize("n", [3, 31, 64, 100, 256, 500])
def test_few_rows_are_shared_by_many_threads(n, size):
    few, many = short_rows(n, size, 100), short_rows(n, size)
    assert few.rounds == 1
    assert few.team >= many.team
    assert few.team == 5 or n >> (few.team + few.load) <= 1


@every_size
@pytest.mark.parametrize("n", [2, 3, 8, 31, 64, 100])
def test_blocks_of_many_rows_have_much_to_do(n, size):
    assert short_rows(n, size).rows * n * size >= 8 << 10


@settings(max_examples=examples(500), deadline=None)
@given(
    n=st.integers(2, 3000),
    size=st.sampled_from(SIZES),
    step=st.sampled_from([-3, -2, -1, 1, 2, 3]),
    more=st.integers(0, 40),
    offset=st.integers(0, 20),
)
def test_rows_that_lie_apart_are_staged_one_after_the_other(n, size, step, more, offset):
    """By copies of what lies together everywhere, or by packs of every second element."""
    if n * size > SHORTEST_THAT_IS_LONG - PACK:
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
        begins = offset // 2 % (PACK // size // 2) * size
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
            assert (got.step, 1 << got.load) == (2, min(n & -n, PACK // size))
    assert short_rows(8, size, stride=2 * size, pitch=17 * size).step == 1


@pytest.mark.parametrize(("pitch", "unit"), [(800, 16), (808, 8), (804, 4), (802, 2), (801, 1)])
def test_rows_are_copied_by_what_they_and_gaps_are_multiples_of(pitch, unit):
    assert short_rows(400, 1, pitch=pitch).unit == unit


def test_columns_and_broadcast_rows_are_for_other_kernels():
    assert short_rows(100, 4, stride=400, pitch=4) is None
    assert short_rows(100, 4, stride=-400, pitch=4) is None
