"""Columns of short batches, several of which a block stages in shared memory."""

import forcing
import pytest
from hypothesis import given
from hypothesis import strategies as st

MIB, H200, TILE, SHARED = 1 << 20, 132, 24 << 10, 48 << 10
KERNELS = ("few", "typed_columns", "unsplit_columns", "typed_short_rows")


def staged(shape, size=4, strides=None, data=0, state=8, multiprocessors=H200):
    """Return the launch along axis 1 if batches are staged, or else None."""
    asked = {"state": state, "data": data, "multiprocessors": multiprocessors, "kernels": KERNELS}
    got = forcing.launch(shape, 1, size, strides, **asked)
    return got if got["kernel"] == "typed_short_rows" and got["batches"] else None


@pytest.mark.parametrize(
    ("shape", "strides", "batches", "padding", "extent"),
    [
        ((MIB, 16, 2), None, 192, 16, 128),  # begins at one bank
        ((MIB, 15, 3), None, 136, 0, 180),
        ((MIB, 3, 2), (64, 8, 4), 384, 0, 24),
        ((MIB, 3, 2048), None, 1, 16, TILE),
        ((2000, 16, 2), None, 2, 16, 128),  # enough blocks
    ],
)
def test_whole_batches_are_staged(shape, strides, batches, padding, extent):
    got = staged(shape, strides=strides)
    assert (got["batches"], got["bytes"]) == (batches, extent)
    assert got["padding"] == padding


def test_long_batches_gaps_and_whole_loads_of_narrow_columns_are_not():
    assert not staged((MIB, 16, 385))
    assert staged((MIB, 3, 2), strides=(72, 8, 4))
    assert not staged((MIB, 3, 2), strides=(76, 8, 4))
    assert not staged((MIB, 3, 16), size=1)
    assert staged((MIB, 3, 17), size=1)
    assert staged((MIB, 3, 16))
    assert not staged((MIB // 16, 3, 16))  # a small array


@given(
    shape=st.tuples(st.integers(1, 1 << 30), st.integers(2, 3000), st.integers(1, 3000)),
    size=st.sampled_from([1, 2, 4, 8]),
    offset=st.integers(0, 9),
    gap=st.sampled_from([0, 0, 0, 1, 2, 16]),
    multiprocessors=st.integers(1, 200),
)
def test_every_batch_is_staged_once_and_fits(shape, size, offset, gap, multiprocessors):
    outer, n, columns = shape
    pitch, data = (n * columns + gap) * size, offset * size
    strides = (pitch, columns * size, size)
    got = staged(shape, size, strides, data, multiprocessors=multiprocessors)
    if not got:
        assert outer == 1 or n > 3 or pitch > 64 or size < 4 or outer * pitch < H200 << 20
        return
    assert pitch <= TILE
    assert (got["groups"] - 1) * got["batches"] < outer <= got["groups"] * got["batches"]
    room = got["batches"] * (pitch + got["padding"]) + data % 16
    assert room <= got["shared_bytes"] <= SHARED + 32
    assert not got["padding"] or (gap, data % 16, pitch % 32) == (0, 0, 0)
    assert got["team"] == 0 or n >> got["team"] > 0
    assert got["bytes"] == n * columns * size
