"""How threads share short rows: a pure function of their lengths, types, place and number."""

from typing import NamedTuple

import pytest
from drawn import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from gred import _core

H200, MANY = 132, 1 << 24
PACK, WARP, BANKS, BANK = 16, 32, 32, 4
SHARED = 48 << 10
SHORTEST_THAT_IS_LONG = 4096
LENGTHS = [*range(1, 200), 256, 384, 500, 512]
SIZES = (1, 2, 4, 8)


class Sharing(NamedTuple):
    """How threads share rows; see struct kernel_axes."""

    several: int
    staged: int
    block: int
    team: int
    rounds: int
    load: int
    turned: int
    turns: int
    shared_bytes: int
    unit: int
    step: int

    @property
    def rows(self):
        """Tell how many a block makes."""
        return self.rounds << (self.block - self.team)


@pytest.fixture(autouse=True)
def as_measured():
    _core.forced_short_rows(0, 0, 0, 0, 0)


def sharing(n, size, results=MANY, data=0, multiprocessors=H200, stride=0, pitch=0):
    got = _core.pretended_short_rows(results, n, size, data, multiprocessors, stride, pitch)
    return got and Sharing(*got)


@settings(max_examples=examples(500), deadline=None)
@given(
    n=st.integers(1, 3000),
    size=st.sampled_from(SIZES),
    results=st.integers(1, 1 << 34),
    offset=st.integers(0, 20),
    multiprocessors=st.integers(1, 200),
)
def test_rows_fit_into_shared_memory(n, size, results, offset, multiprocessors):
    got = sharing(n, size, results, offset * size, multiprocessors)
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
    if got.several:
        assert (got.several, got.team, got.shared_bytes, begins) == (n, 0, 0, 0)
    else:
        assert got.staged == n * size
        # A word behind the last row is read, too.
        assert begins + got.rows * n * size + 4 <= got.shared_bytes
        assert not got.turned or (begins == 0 and n * size % PACK == 0)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("n", [2, 4, 8, 16])
def test_a_load_takes_several_rows_if_it_holds_them_and_they_begin_at_a_boundary(n, size):
    assert (sharing(n, size).several == n) == (n * size <= PACK)
    assert not sharing(n, size, data=size).several


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("n", LENGTHS)
def test_packs_that_are_turned_are_each_somewhere(n, size):
    got = sharing(n, size)
    if got.several or not got.turned:
        return
    packs = -(-got.rows * got.staged // PACK)
    places = {k ^ (k >> got.turns & got.turned) for k in range(packs)}
    assert len(places) == packs
    assert max(places) < got.shared_bytes // PACK


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("n", LENGTHS)
def test_threads_that_read_at_a_time_read_from_banks_of_their_own(n, size):
    """Of a thread a row, and of teams as large as rows are even; bytes are read by words."""
    got = sharing(n, size)
    length = size << got.load
    loads = n >> got.load
    if got.several or length < BANK or loads % (1 << got.team):
        return
    at_a_time = BANKS * BANK // length
    for k in range(min(loads >> got.team, 20)):
        for first in range(0, WARP, at_a_time):
            words = []
            for lane in range(first, first + at_a_time):
                row, number = lane >> got.team, lane & ((1 << got.team) - 1)
                place = row * loads + (k << got.team) + number
                if length == PACK:
                    place ^= place >> got.turns & got.turned
                words += range(place * length // BANK, (place + 1) * length // BANK)
            assert len({word % BANKS for word in words}) == len(words) == BANKS


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("n", [3, 31, 64, 100, 256, 500])
def test_few_rows_are_shared_by_many_threads(n, size):
    few, many = sharing(n, size, 100), sharing(n, size)
    assert few.rounds == 1
    assert few.team >= many.team
    assert few.team == 5 or n >> (few.team + few.load) <= 1


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("n", [2, 3, 8, 31, 64, 100])
def test_blocks_of_many_rows_have_much_to_do(n, size):
    got = sharing(n, size)
    assert got.rows * n * size >= 8 << 10


@settings(max_examples=examples(500), deadline=None)
@given(
    n=st.integers(2, 3000),
    size=st.sampled_from(SIZES),
    step=st.integers(-3, 3),
    more=st.integers(0, 40),
    offset=st.integers(0, 20),
)
def test_rows_that_lie_apart_are_staged_one_after_the_other(n, size, step, more, offset):
    """By copies of what lies together everywhere, or by packs of every second element."""
    if n * size > SHORTEST_THAT_IS_LONG - PACK or step == 0:
        return
    length = ((n - 1) * abs(step) + 1 + more) * size
    got = sharing(n, size, data=offset * size, stride=step * size, pitch=length)
    if step == 1 and more == 0:
        assert got == sharing(n, size, data=offset * size)
        assert (got.unit, got.step) == (0, 1)
        return
    assert got.several == 0
    assert got.staged == n * size
    assert got.shared_bytes <= SHARED
    assert n % (1 << got.load) == 0
    if got.step == 2:
        assert (step, length) == (2, 2 * n * size)
        begins = offset // 2 % (PACK // size // 2) * size
        assert begins % (size << got.load) == 0
        assert not got.turned or begins == 0
    else:
        assert got.unit % size == 0
        assert n * size % got.unit == 0
        assert got.unit == size or (step == 1 and (offset * size | length) % got.unit == 0)
        begins = 0
    assert begins + got.rows * n * size + 4 <= got.shared_bytes


@pytest.mark.parametrize("size", SIZES)
def test_every_second_element_is_read_by_packs(size):
    for n in (2, 8, 31, 100, 500):
        for data in (0, size):
            got = sharing(n, size, data=data, stride=2 * size, pitch=2 * n * size)
            whole = min(n & -n, PACK // size)
            assert (got.step, 1 << got.load) == (2, whole)
    assert sharing(8, size, stride=2 * size, pitch=17 * size).step == 1


@pytest.mark.parametrize(("pitch", "unit"), [(800, 16), (808, 8), (804, 4), (802, 2), (801, 1)])
def test_rows_are_copied_by_what_they_and_gaps_are_multiples_of(pitch, unit):
    assert sharing(400, 1, pitch=pitch).unit == unit


def test_columns_and_broadcast_rows_are_for_other_kernels():
    assert sharing(100, 4, stride=400, pitch=4) is None
    assert sharing(100, 4, stride=-400, pitch=4) is None
