"""How threads share a reduction along axes: a pure function of shapes, types and the device's size.

Asked of arrays and of devices that are not there.
"""

from typing import NamedTuple

import numpy as np
import pytest
from drawn import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from gred import _testing

H200 = 132
STAGED, TOGETHER = 16 << 10, 4
AT_ONCE, SHARED = 4, 48 << 10
SECTOR = 32


class Sharing(NamedTuple):
    """How threads share the work; see struct launch_config."""

    block: int
    columns: bool
    abreast: bool
    team: int
    lanes: int
    few: bool
    rounds: int
    load: int
    packing: int
    inner: int
    staged: int
    splits: int
    groups: int
    typed: tuple[int, int, int, int, bool]

    @property
    def results(self):
        """Tell how many results a block makes."""
        columns = (TOGETHER if self.columns else 1) * self.rounds << (self.block - self.team)
        assert columns % self.inner == 0
        return columns // self.inner

    @property
    def threads(self):
        """Tell how many threads there are in all."""
        return self.groups * self.splits << self.block


def asked(shape, strides, size, axes, state, multiprocessors, **known) -> Sharing:
    """Ask how an array's reduction along axes, a bit each, would be shared."""
    options = {"size": size, "axes": axes, "state": state, "multiprocessors": multiprocessors}
    found = _testing.columns(shape, strides, **options, **known)
    typed = tuple(found[f"typed.{name}"] for name in Typed._fields)
    fields = {name: found[name] for name in Sharing._fields if name != "typed"}
    return Sharing(**fields, typed=typed)


def sharing(shape, axis, size=4, accumulator=4, multiprocessors=H200, strides=None) -> Sharing:
    if strides is None:
        strides = tuple(
            size * int(np.prod(shape[k + 1 :], dtype=object)) for k in range(len(shape))
        )
    axes = sum(1 << k for k in (axis if isinstance(axis, tuple) else (axis,)))
    return asked(shape, strides, size, axes, accumulator, multiprocessors)


@settings(max_examples=examples(300), deadline=None)
@given(
    shape=st.lists(st.integers(1, 5000), min_size=1, max_size=4).map(tuple),
    data=st.data(),
    size=st.sampled_from([1, 2, 4, 8, 16]),
    multiprocessors=st.integers(1, 200),
)
def test_every_result_is_made_and_everything_fits(shape, data, size, multiprocessors):
    axes = data.draw(st.sets(st.integers(0, len(shape) - 1)).map(tuple))
    order = data.draw(st.permutations(range(len(shape))))
    strides, apart = [0] * len(shape), size
    for k in order:
        strides[k], apart = apart, apart * shape[k]
    got = sharing(shape, axes, size, max(size, 4), multiprocessors, tuple(strides))
    results = int(np.prod([n for k, n in enumerate(shape) if k not in axes], dtype=object))
    assert (got.groups - 1) * got.results < results <= got.groups * got.results
    assert got.lanes <= got.team <= got.block
    assert got.splits >= 1
    assert got.rounds == 1 or (got.splits == 1 and got.team <= 5)
    assert got.staged * got.rounds << (got.block - got.team) <= STAGED
    assert not got.columns or got.abreast


@pytest.mark.parametrize("length", [2, 3, 8, 31, 64, 100, 256, 1000, 1024])
def test_short_rows_are_staged(length):
    got = sharing(((1 << 26) // length, length), 1)
    assert got.staged == 4 * length
    assert got.splits == 1


@pytest.mark.parametrize("length", [4097, 1 << 16, 1 << 20, 1 << 26])
def test_neighbouring_threads_read_long_rows(length):
    got = sharing(((1 << 26) // length, length), 1)
    assert (got.staged, got.columns, got.abreast, got.few) == (0, False, False, False)
    assert got.team >= 5


@pytest.mark.parametrize("count", [2, 8, 64, 1000, 1 << 16, 1 << 20, 1 << 23])
def test_neighbouring_threads_read_neighbouring_columns(count):
    shape = (count, (1 << 26) // count // 4 * 4)
    assert sharing(shape, 0).columns
    odd = sharing((count, shape[1] - 1), 0)
    assert (odd.columns, odd.abreast, odd.load) == (True, True, 0)


@pytest.mark.parametrize(
    ("shape", "size", "load"), [((9, 8), 4, 2), ((9, 6), 4, 0), ((9, 4), 1, 2), ((9, 4), 8, 2)]
)
def test_one_load_takes_neighbouring_columns_where_rows_begin_at_boundaries(shape, size, load):
    got = sharing(shape, 0, size, max(size, 4))
    assert (got.columns, got.load, got.inner) == (True, load, 1)


@pytest.mark.parametrize(
    ("shape", "inner"),
    [((1 << 20, 8, 8), 8), ((999, 3, 16), 16), ((999, 8, 7), 1), ((64, 1024, 1024), 1)],
)
def test_a_few_neighbours_of_a_result_are_columns_of_it(shape, inner):
    got = sharing(shape, (0, 2))
    assert (got.columns, got.inner) == (inner > 1, inner)


def test_columns_that_overlap_do_not_begin_at_boundaries():
    got = sharing((1000, 3, 4), (1, 2), strides=(16, 4, 4))
    assert (got.columns, got.inner, got.load) == (True, 4, 0)


@pytest.mark.parametrize(
    ("length", "size", "load", "team"),
    [
        (2, 4, 1, 0),
        (3, 4, 0, 0),
        (8, 4, 2, 1),
        (31, 4, 0, 0),
        (64, 4, 2, 3),
        (6, 8, 1, 0),
        (8, 1, 1, 0),
    ],
)
def test_neighbouring_threads_read_neighbouring_loads_of_a_row(length, size, load, team):
    got = sharing((1 << 20, length), 1, size, max(size, 4))
    assert (got.load, got.team) == (load, team)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("length", [1 << 12, 1 << 16, 1 << 20, 1 << 23])
def test_the_device_is_busy_with_few_and_with_many_results(length, axis):
    shape = ((1 << 26) // length, length)
    got = sharing(shape if axis else shape[::-1], axis)
    assert got.threads >= H200 * 512


def test_small_arrays_take_few_blocks():
    assert sharing((32, 32), 1).groups <= 4
    assert sharing((32, 32), 0).groups == 1


@pytest.mark.parametrize("accumulator", [4, 8, 16])
@pytest.mark.parametrize("shape", [(4, 4), (32, 32), (100, 100), (200, 7), (64, 9000)])
def test_small_columns_are_made_by_blocks_that_wait_for_no_other(shape, accumulator):
    got = sharing(shape, 0, 4, accumulator)
    assert (got.columns, got.splits) == (True, 1)
    assert shape[0] >> got.team < 4 * AT_ONCE
    assert accumulator * TOGETHER << got.block <= SHARED


def test_blocks_are_large_only_where_they_would_share_columns():
    assert sharing((128, 1 << 16), 0).block == sharing((1 << 16, 1 << 10), 0).block == 8


@pytest.mark.parametrize("accumulator", [4, 8, 16])
@pytest.mark.parametrize("side", [128, 256, 512, 1000, 1024])
def test_small_columns_go_to_many_multiprocessors(side, accumulator):
    got = sharing((side, side), 0, 4, accumulator)
    assert got.columns
    assert got.groups * got.splits >= min(side * side >> 12, H200 // 4)
    if accumulator == 4:
        assert got.splits == 1


def test_the_columns_of_a_result_are_one_blocks():
    got = sharing((1024, 8, 64), (0, 2), 1, 8)
    assert got.inner == 64 == TOGETHER << (got.block - got.team)


def test_columns_of_large_arrays_are_read_by_a_warp_side_by_side():
    got = sharing((1 << 20, 64), 0)
    assert got.block - got.team == 4  # as many as take 64 columns
    got = sharing((1 << 14, 1 << 10), 0)
    assert got.block - got.team >= 5


@pytest.mark.parametrize("shape", [(4096, 1024), (1000, 3000), (1 << 20, 64)])
def test_blocks_that_share_columns_have_something_to_do_for_all_their_threads(shape):
    got = sharing(shape, 0)
    assert got.splits > 1
    assert shape[0] >= 2 * got.splits * AT_ONCE << got.team


def test_long_results_are_shared_by_blocks():
    assert sharing((2, 1 << 25), 1).splits > H200
    assert sharing((1 << 25, 4), 0).splits > H200
    assert sharing((64, 1 << 10, 1 << 10), (0, 2)).threads >= H200 * 512


# ---- columns of a known type ----

LOAD, BLOCK_ROWS, BLOCK = 16, 1 << 16, 1024


class Typed(NamedTuple):
    """How such columns are shared; see struct column_tile."""

    load: int
    repeats: int
    leftover: int
    packs: int
    shifted: bool
    lone: int = 0
    paired: bool = False


def typed(shape, axis, size=4, accumulator=4, multiprocessors=H200, strides=None, lone=False):
    """Ask for a kernel that knows the type; None where another is taken."""
    if strides is None:
        strides = tuple(
            size * int(np.prod(shape[k + 1 :], dtype=object)) for k in range(len(shape))
        )
    axes = sum(1 << k for k in (axis if isinstance(axis, tuple) else (axis,)))
    known = {"typed": True, "lone": lone}
    got = asked(shape, strides, size, axes, accumulator, multiprocessors, **known)
    return (got, Typed(*got.typed)) if got.typed[0] else None


@pytest.mark.parametrize(
    ("size", "state", "least"),
    [
        (1, 8, 1 << 17),
        (2, 4, 1 << 20),
        (4, 4, 1 << 21),
        (4, 16, 1 << 16),
        (8, 8, 1 << 12),
    ],
)
def test_types_of_columns_are_known_from_a_size_on(size, state, least):
    def rows_of(nbytes):
        return nbytes // (16 * size)

    assert typed((rows_of(least // 2), 16), 0, size, state) is None
    assert typed((rows_of(least * 3 // 2), 16), 0, size, state)


@pytest.mark.parametrize(("size", "least"), [(2, 1 << 21), (4, 1 << 19)])
def test_of_few_rows_and_large_states_the_type_matters_later(size, least):
    def columns_of(nbytes):
        return nbytes // (1024 * size)

    assert typed((1024, columns_of(least // 2)), 0, size, 16) is None
    assert typed((1024, columns_of(least * 3 // 2)), 0, size, 16)
    assert typed((2048, columns_of(least // 2)), 0, size, 16)


@pytest.mark.parametrize(
    ("size", "state", "abreast"), [(1, 16, 0), (2, 8, 1), (4, 16, 2), (8, 16, 2)]
)
def test_columns_of_a_known_type_go_to_many_blocks_where_they_are_few(size, state, abreast):
    small, _ = typed((1024, 1024), 0, size, state)
    large, _ = typed((1 << 16, 1024), 0, size, state)
    assert (small.block - small.team, small.splits) == (abreast, 1)
    assert small.groups >= H200 // 4
    assert large.block - large.team > abreast


@pytest.mark.parametrize(("size", "state"), [(1, 8), (2, 8), (4, 16), (8, 8)])
def test_columns_of_small_arrays_go_to_smaller_blocks(size, state):
    small, _ = typed((1024, 2048 // size), 0, size, state)
    tall, _ = typed((2048, 2048 // size), 0, size, state)
    large, _ = typed((1 << 15, 2048 // size), 0, size, state)
    assert small.block <= 8 <= min(tall.block, large.block)
    assert small.block < tall.block


@pytest.mark.parametrize(("size", "state"), [(1, 8), (2, 4), (4, 16), (8, 8)])
def test_narrow_columns_of_small_arrays_go_to_smaller_blocks_however_tall(size, state):
    narrow, _ = typed((1 << 16, 32 // size), 0, size, state)
    wider, _ = typed((1 << 16, 64 // size), 0, size, state)
    large, _ = typed((1 << 22, 32 // size), 0, size, state)
    assert (narrow.block, wider.block, large.block) == (7, 8, 8)


@settings(max_examples=examples(300), deadline=None)
@given(
    rows=st.integers(1, 1 << 40),
    columns=st.integers(1, 1 << 20),
    outer=st.integers(1, 100),
    size=st.sampled_from([1, 2, 4, 8]),
    accumulator=st.sampled_from([4, 8, 16]),
)
def test_typed_columns_are_all_made_and_blocks_hold_their_rows(
    rows, columns, outer, size, accumulator
):
    got = typed((outer, rows, columns), 1, size, accumulator)
    if got is None:
        return
    sharing, kind = got
    abreast = 1 << (sharing.block - sharing.team)
    packs = kind.packs * (1 if rows == 1 else outer)
    assert kind.load * size == LOAD
    if kind.repeats > 1:
        assert (sharing.groups, kind.packs <= abreast) == (outer, True)
    else:
        assert (sharing.groups - 1) * abreast < packs <= sharing.groups * abreast
    assert rows % kind.repeats == kind.leftover
    assert rows // kind.repeats <= sharing.splits * BLOCK_ROWS
    left = kind.load * (abreast + 1), kind.load << sharing.block - 1 if sharing.team else 0
    assert accumulator * (left[0] if size == 1 else max(left)) <= SHARED
    assert 1 << sharing.block <= BLOCK


@pytest.mark.parametrize("columns", [2, 64, 1000, 4096, 6400, 10000])
def test_tall_columns_are_split_by_as_many_small_blocks_as_there_is_room_for(columns):
    sharing, _ = typed(((1 << 26) // columns, columns), 0)
    blocks, room = sharing.groups * sharing.splits, 4 * H200
    assert 1 << sharing.block == 256
    assert 0.89 * room <= blocks <= room


@pytest.mark.parametrize("columns", [1 << 14, 1 << 15])
def test_large_blocks_make_columns_that_small_ones_would_split(columns):
    sharing, _ = typed(((1 << 26) // columns, columns), 0)
    assert (sharing.splits, 1 << sharing.block) == (1, BLOCK)
    assert sharing.groups >= 0.89 * H200


@pytest.mark.parametrize("columns", [1 << 16, 1 << 20])
def test_columns_that_none_split_are_made_by_small_blocks(columns):
    sharing, _ = typed(((1 << 26) // columns, columns), 0)
    assert (sharing.splits, 1 << sharing.block) == (1, 256)


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_batches_of_short_rows_have_blocks_of_their_own_where_they_are_few(size):
    rows = (1 << 28) // size // 64
    sharing, kind = typed((8, rows, 8), 1, size, max(size, 4))
    assert kind.repeats * 8 * size == LOAD << (sharing.block - sharing.team)
    busy = sharing.splits << sharing.block >= 32 * 256
    assert (sharing.groups, busy, kind.paired) == (8, True, False)
    _, many = typed((rows, 8, 8), 1, size, max(size, 4), lone=True)
    assert (many.repeats, many.paired) == (1, size == 1)


@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize("columns", [2, 3, 8, 31, 64, 100])
def test_short_rows_are_taken_for_one_that_begins_at_boundaries(columns, size):
    sharing, kind = typed(((1 << 28) // columns // size, columns), 0, size, max(size, 4))
    assert columns * size * kind.repeats == LOAD * kind.packs
    assert not kind.shifted
    assert kind.packs >= 0.75 * (1 << (sharing.block - sharing.team))


@pytest.mark.parametrize(
    ("shape", "size", "shifted"),
    [
        ((9, 1 << 24), 4, False),
        ((9, (1 << 24) + 1), 4, True),
        ((9, (1 << 24) + 2), 8, False),
        ((9, (1 << 24) + 1), 8, True),
    ],
)
def test_rows_off_boundaries_are_shifted(shape, size, shifted):
    assert typed(shape, 0, size, size)[1][:5] == (
        LOAD // size,
        1,
        0,
        -(-shape[1] * size // LOAD),
        shifted,
    )


@pytest.mark.parametrize(("size", "abreast"), [(1, 3), (2, 4), (4, 5), (8, 5)])
def test_more_threads_lie_abreast_where_rows_do_not_begin_at_sectors(size, abreast):
    for columns, more in ((1024, 0), (1024 + SECTOR // size, 0), (1024 + LOAD // size, 1)):
        sharing, _ = typed((1 << 18, columns), 0, size, 8)
        assert sharing.block - sharing.team == min(abreast + more, 5)


def test_rows_that_overlap_and_few_elements_are_for_other_kernels():
    assert typed((1 << 22, 64), 0)
    assert typed((1 << 22, 64), 0, strides=(8, 4)) is None
    assert typed((32, 32), 0) is None
    assert typed((1 << 12, 1 << 12), 1) is None


def test_single_rows_are_columns_of_one_element():
    sharing, kind = typed((1, 1 << 24), 0)
    assert (sharing.splits, kind.packs) == (1, 1 << 22)


# ---- columns that a thread makes alone ----

LOADS, WARP, LONE_BLOCK = 8, 32, 256


@settings(max_examples=examples(300), deadline=None)
@given(
    rows=st.integers(1, 1 << 18),
    columns=st.integers(1, 1 << 26),
    outer=st.integers(1, 1 << 20),
    size=st.sampled_from([1, 2, 4, 8]),
    state=st.sampled_from([4, 8, 16]),
)
def test_lone_columns_are_all_made_and_have_all_rows(rows, columns, outer, size, state):
    got = typed((outer, rows, columns), 1, size, state, lone=True)
    if got is None or not got[1].lone:
        assert got is None or not got[1].paired
        return
    sharing, kind = got
    threads, batches = 1 << sharing.block, outer > 1 and rows > 1
    abreast = threads - (threads // WARP if kind.shifted else 0)
    packs = kind.packs * (outer if batches or rows > 1 else 1)
    assert (sharing.team, sharing.splits, kind.repeats) == (0, 1, 1)
    assert threads in (LONE_BLOCK // 4, LONE_BLOCK // 2, LONE_BLOCK)
    assert (sharing.groups - 1) * abreast * kind.lone < packs
    assert packs <= sharing.groups * abreast * kind.lone
    assert rows <= BLOCK_ROWS
    assert kind.lone == 1 or (rows * kind.lone <= LOADS and not batches)
    assert kind.load * size * (2 if kind.paired else 1) == LOAD
    assert not batches or (columns % kind.load == 0 and not kind.shifted)
    if kind.paired:
        assert columns * size == LOAD // 2
        assert rows % 2 == 0


@pytest.mark.parametrize(
    ("rows", "size", "state", "block"),
    [
        (2, 2, 4, 6),
        (8, 4, 8, 6),
        (100, 2, 4, 8),
        (100, 1, 8, 8),
        (100, 2, 16, 6),
        (200, 2, 4, 6),
    ],
)
def test_threads_that_make_columns_alone_are_few_a_block_unless_they_have_two_turns(
    rows, size, state, block
):
    sharing, kind = typed((rows, (1 << 28) // rows // size), 0, size, state, lone=True)
    assert (sharing.block, kind.lone > 0) == (block, True)


def test_columns_are_shared_where_few_would_be_left_over():
    """As of bytes: 656 threads a multiprocessor, where 512 have room."""
    assert typed((200, 1342177), 0, 1, 8, lone=True)[1].lone == 0
    assert typed((200, 1342177), 0, 1, 16, lone=True)[1].lone == 1
    assert typed((200, 1342177), 0, 2, 4, lone=True)[1].lone == 1


@pytest.mark.parametrize("state", [4, 8, 16, 24])
def test_columns_are_shared_where_threads_that_can_are_kept_busier(state):
    """As of 2 GiB of float32: threads alone have 1.4 turns, or 2.1 with large states."""
    assert typed((1000, 536870), 0, 4, state, lone=True)[1].lone == 0
    assert typed((500, 2 * 536870), 0, 4, state, lone=True)[1].lone == 1
    assert typed((31, 536870), 0, 4, state, lone=True)[1].lone == 1


@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize(
    ("rows", "loads"), [(1, 4), (2, 4), (3, 2), (4, 2), (5, 1), (8, 1), (31, 1), (100, 1)]
)
def test_few_rows_are_made_alone_of_several_loads(rows, loads, size):
    for columns in (1 << 25, (1 << 25) + 1):
        assert typed((rows, columns), 0, size, 8, lone=True)[1].lone == loads
    assert typed((rows, 1 << 25), 0, size, 8)[1].lone == 0


def test_few_threads_make_less_each():
    assert typed((2, 1 << 21), 0, lone=True)[1].lone == 4
    assert typed((2, 1 << 20), 0, lone=True)[1].lone == 2
    assert typed((2, 600_000), 0, lone=True)[1].lone == 1


@pytest.mark.parametrize(
    ("shape", "size", "paired"),
    [
        ((1 << 20, 8, 8), 1, True),
        ((1 << 20, 8, 4), 2, True),
        ((1 << 20, 6, 2), 4, True),
        ((1 << 20, 8, 8), 2, False),
        ((1 << 20, 8, 8), 8, False),
    ],
)
def test_two_short_rows_of_a_batch_are_one_load(shape, size, paired):
    kind = typed(shape, 1, size, 8, lone=True)[1]
    assert (kind.lone, kind.paired, kind.shifted) == (1, paired, False)
    assert kind.load * size == LOAD // (1 + paired)


def test_odd_numbers_of_short_rows_are_for_other_kernels():
    assert typed((1 << 20, 7, 8), 1, 1, 8, lone=True) is None
    assert typed((1 << 20, 8, 8), 1, 1, 8) is None
    assert typed((1 << 20, 8, 4), 1, 1, 8, lone=True) is None


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_every_second_column_is_left_to_threads_that_may_share(size):
    """Also where two rows of them are as long as one load."""
    for rows in (2, 8, 31):
        strides = (2 * size << 24, 2 * size)
        sharing, kind = typed((rows, 1 << 24), 0, size, 8, strides=strides, lone=True)
        assert (sharing.team, kind.lone, kind.paired, kind.shifted) == (0, 0, False, False)
    if size < 8:
        columns = 8 // size
        strides = (64, 8, 2 * size)
        got = typed((1 << 20, 8, columns), 1, size, 8, strides=strides, lone=True)
        assert got is None or not got[1].lone


def test_rows_off_boundaries_of_batches_and_tall_columns_are_shared():
    assert typed((1 << 10, 8, 1001), 1, lone=True)[1].lone == 0
    assert typed((1 << 20, 64), 0, lone=True)[1].lone == 0
    assert typed((1 << 17, 1 << 10), 0, lone=True)[1].lone == 0
