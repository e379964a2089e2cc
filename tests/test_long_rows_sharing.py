"""How threads share long rows: a pure function of shapes, types and the device's size."""

from typing import NamedTuple

import hooks
import numpy as np
from drawn import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from gred import _testing

H200 = 132


class Sharing(NamedTuple):
    """How threads share the work; see struct launch_config."""

    block: int
    team: int
    readers: int
    stacked: bool
    rounds: int
    splits: int
    groups: int


def long_rows(shape, axis, size=4, strides=None, multiprocessors=H200, state=4):
    if strides is None:
        strides = tuple(
            size * int(np.prod(shape[k + 1 :], dtype=object)) for k in range(len(shape))
        )
    axes = sum(1 << k for k in (axis if isinstance(axis, tuple) else (axis,)))
    asked = {"size": size, "axes": axes, "state": state, "multiprocessors": multiprocessors}
    return hooks.chosen(Sharing, _testing.long_rows(shape, strides, **asked))


@settings(max_examples=examples(300), deadline=None)
@given(
    shape=st.lists(st.integers(1, 1 << 14), min_size=1, max_size=4).map(tuple),
    data=st.data(),
    size=st.sampled_from([1, 2, 4, 8]),
    multiprocessors=st.integers(1, 200),
)
def test_every_result_and_every_row_has_readers(shape, data, size, multiprocessors):
    outer = data.draw(st.sets(st.integers(0, len(shape) - 1)))
    axes = (*(outer - {len(shape) - 1}), len(shape) - 1)
    got = long_rows(shape, axes, size, multiprocessors=multiprocessors)
    if got is None:
        return
    results = int(np.prod([n for k, n in enumerate(shape) if k not in axes], dtype=object))
    made = got.rounds << (got.block - got.team)
    assert (got.groups - 1) * made < results <= got.groups * made
    assert got.splits == 1 or (got.team == got.block and got.rounds == 1)
    threads = got.splits << got.team
    assert threads % got.readers == 0
    assert got.readers <= 1 << got.team or got.readers % (1 << got.team) == 0
    if got.stacked:
        assert got.readers <= 1 << got.team


def test_short_rows_others_and_masks_are_left_to_others():
    assert long_rows((1 << 20, 100), 1) is None
    assert long_rows((1000, 1000), 1, strides=(12000, 12)) is None
    assert long_rows((1000, 1000), 1, strides=(4, 8)) is None
    assert long_rows((1000, 1000), 1, strides=(8000, 8))
    assert long_rows((1000, 1000), 0) is None
    assert long_rows((1, 1 << 36), 1, size=1) is None
    assert long_rows((1 << 20, 1000), 1) is None
    assert long_rows((1 << 20, 1000), 1, state=16)
    assert long_rows((1 << 20, 1000), 1, strides=(8000, 4))
    assert long_rows((1 << 20, 1000), 1, size=8, state=8)
    assert long_rows((1 << 20, 1025), 1)
    assert long_rows((1 << 20, 512), 1, size=1)


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
    assert got.stacked
    assert got.readers == 16
    assert not long_rows((1 << 14, 64, 1025), (0, 2)).stacked
    assert long_rows((1 << 14, 64, 65), (0, 2)) is None
