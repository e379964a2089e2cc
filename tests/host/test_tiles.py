"""Along axes on the host: output tiles of several blocks, and rows that their beginnings settle."""

import itertools

import numpy as np
import pytest
from host_loops import guarded

import gred

TYPES = ("float32", "float64", "int8", "float16", "bool", "complex64", ">i4")
BLOCKS = [(7, 3, 2), (60, 4, 5), (2, 300, 2), (400, 2, 3, 2), (3, 40, 2, 9), (90, 16, 1, 4)]
BLOCKS += [(5, 2, 70, 3, 2)]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", BLOCKS, ids=str)
def test_a_tile_of_several_blocks_is_of_numpys_elements(shape, dtype):
    """Few rows, of columns that are few or apart; integers, whose sums no order of them rounds."""
    random = np.random.default_rng(len(shape))
    whole = random.integers(0, 9, [2 * n for n in shape]).astype(dtype)
    every_second = [slice(None, 2 * n, 2) for n in shape]
    arrays = [whole[tuple(slice(n) for n in shape)].copy(), whole[tuple(every_second)]]
    for x in (*arrays, arrays[1].transpose(), arrays[0][::-1]):
        for count in range(1, x.ndim):
            for axes in itertools.combinations(range(x.ndim), count):
                for name in ("sum", "any", "max", *["argmax"] * (count == 1)):
                    axis = axes[0] if name == "argmax" else axes
                    expected = getattr(np, name)(x, axis=axis)
                    np.testing.assert_array_equal(getattr(gred, name)(x, axis=axis), expected)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32"])
@pytest.mark.parametrize("rows", [1, 3, 500])
def test_a_row_is_settled_by_no_element_that_others_have(rows, dtype):
    """One element differs, which some rows have early and others late, or none does."""
    names = ("any", "all", *(("min", "max", "argmin", "argmax") if dtype == "bool" else ()))
    for n, place in itertools.product((127, 129, 300, 4096, 9000), (0, 127, 128, 298, 4095, 8999)):
        for others in (0, 1):
            x = np.full((rows, n), others, dtype)
            x[rows // 2 :, place : place + 1] = 1 - others
            x[0, :1] = x[0, :1] if rows == 1 else 1 - others
            for name in names:
                expected = getattr(np, name)(x, axis=1)
                np.testing.assert_array_equal(getattr(gred, name)(x, axis=1), expected)


def test_nothing_behind_short_rows_is_read():
    """Rows of fewer elements than are looked at first, which overlap, up to the end of a page."""
    memory = guarded(1)
    end = memory[memory.size - 1008 :].view(np.complex128)
    end[:] = 0
    x = np.lib.stride_tricks.as_strided(end, (2, 3, 60), (16, 16, 16))
    assert not gred.any(x, axis=(1, 2)).any()
    end[-1] = 1
    np.testing.assert_array_equal(gred.any(x, axis=(1, 2)), [False, True])
