"""Columns of short batches, several of which a block stages in shared memory."""

import forcing

MIB, H200, TILE = 1 << 20, 132, 24 << 10
KERNELS = ("few", "typed_columns", "unsplit_columns", "typed_short_rows")


def staged(shape, size=4, strides=None, axis=1):
    """Return the launch if batches are staged, or else None."""
    got = forcing.launch(shape, axis, size, strides, state=8, multiprocessors=H200, kernels=KERNELS)
    return got if got["kernel"] == "typed_short_rows" and got["batches"] else None


def test_whole_batches_are_staged_unless_long_sparse_or_read_by_whole_loads():
    for case, batches, padding, extent in (
        ([(MIB, 16, 2)], 192, 16, 128),  # would begin at one bank
        ([(MIB, 15, 3)], 136, 0, 180),
        ([(MIB, 3, 2), 4, (72, 8, 4)], 341, 0, 24),
        ([(MIB, 3, 2048)], 1, 0, TILE),  # of many columns, which begin at all banks
        ([(2000, 16, 2)], 2, 16, 128),  # enough blocks
        ([(MIB, 3, 17), 1], 474, 0, 51),
    ):
        got = staged(*case)
        assert (got["batches"], got["padding"], got["bytes"]) == (batches, padding, extent), case
    few, sparse = [(MIB, 2, 4, 3), 4, (144, 48, 12, 4), 2], [(MIB, 3, 2), 4, (76, 8, 4)]
    for case in ([(MIB, 16, 385)], [(MIB, 3, 16), 1], [(MIB // 16, 3, 16)], few, sparse):
        assert not staged(*case), case
