"""Arrays of every layout, type of element and place are read where they lie, by every reduction."""

import ml_dtypes
import numpy as np
import pytest
from findings import all_right
from reference import INTEGERS
from samples import quietly, takes, there, wrong
from truths import NAMES

import gred
from gred.testing import SimulatedArray

TYPES = tuple(map(np.dtype, (np.bool_, np.int8, np.uint64, np.float16, np.float32, np.complex128)))
INITIAL = {"nanmin": {"initial": 1}, "nanmax": {"initial": 1}}
every_name = pytest.mark.parametrize("name", NAMES)


def filled(dtype: np.dtype, shape: tuple) -> np.ndarray:
    """Fill an array with a few values, some of them equal, some NaN."""
    x = (np.arange(np.prod(shape)) ** 2 % 13 - 3).astype(dtype).reshape(shape)
    if dtype not in INTEGERS:
        x.reshape(-1)[5::11] = np.nan
    return x


def plain(dtype: np.dtype, shape: tuple) -> np.ndarray:
    """Fill an array with a few values and no NaN."""
    return (np.arange(np.prod(shape)) ** 2 % 13 - 3).astype(dtype).reshape(shape)


LAYOUTS = {
    "C order": lambda x: x,
    "transposed": lambda x: x.T,
    "every other": lambda x: x[::2, ::3, ::2],
    "an inner part": lambda x: x[1:3, 2:4, 1:],
    "backwards": lambda x: x[::-1, :, ::-1],
    "backwards, every other": lambda x: x[::-2, ::-1, ::-3],
    "one column": lambda x: x[:, 3, 2],
    "one element": lambda x: x[1:2, 2:3, 3:4],
    "no dimensions": lambda x: x[1, 2, 4, ...],
}


@every_name
def test_every_layout_is_read_where_it_lies(name, device):
    """Places are those in the order of the array's own indices, however it lies."""
    all_right(
        wrong(name, there(x, device, layout), layout(x))
        for dtype in TYPES
        if takes(name, dtype)
        for fill in (filled, plain)
        for x in [fill(dtype, (3, 4, 37))]
        for layout in LAYOUTS.values()
    )


@every_name
def test_host_arrays_of_every_layout_reach_the_device(name, device):
    x = plain(np.dtype(np.float32), (60, 70))
    z = np.asfortranarray(plain(np.dtype(np.complex64), (40, 50)))
    views = [x.T, x[:, ::2], x[::-1], np.broadcast_to(x[:3], (5, 3, 70)), np.asfortranarray(x)]
    views += [np.broadcast_to(np.float64(3), (4, 1000)), z, z[::3, ::-1]]
    views += [np.lib.stride_tricks.sliding_window_view(np.arange(200.0), 7)]
    all_right(wrong(name, view, view, device=device) for view in views)


@every_name
def test_big_endian_and_misaligned_elements_are_read(name, device):
    for code in ("i2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"):
        x = plain(np.dtype(code), (5, 7, 9))
        memory = np.zeros(x.nbytes + 1, np.uint8)
        shifted = memory[1:].view(x.dtype).reshape(x.shape)
        shifted[...] = x
        swapped = x.astype(x.dtype.newbyteorder())
        for view in (swapped, swapped.T[::2], shifted, shifted[:, ::-1]):
            assert not wrong(name, view, view, device=device)


@every_name
def test_lists_scalars_and_nested_sequences_are_arrays(name, device):
    for a in ([3, 1, 2], (1.5, 2.5), [[1, 2], [3, 4]], 7, 2.5, 3 + 4j, np.float32(2), np.int8(-3)):
        assert not wrong(name, a, np.asarray(a), device=device)
    for dtype in (ml_dtypes.bfloat16, np.float16):
        assert not wrong(name, dtype(2.5), np.asarray(dtype(2.5)), device=device)


@every_name
def test_inputs_are_never_written(name, device):
    x = filled(np.dtype(np.float64), (3, 4, 37))
    before = x.tobytes()
    a = there(x, device)
    for layout in LAYOUTS.values():
        quietly(name, layout(x) if device == "cuda" else layout(a))
    assert x.tobytes() == before
    x.setflags(write=False)
    quietly(name, x, device=device)


@every_name
@pytest.mark.parametrize("limit", [256, 4096])
def test_with_little_workspace_arrays_go_in_pieces(name, limit):
    """Places count on from piece to piece, and so do means."""
    x = plain(np.dtype(np.int16), (60, 211))
    x[41, 100], x[50, 3] = -300, 400
    mask = np.arange(x.size).reshape(x.shape) % 3 != 1
    more = INITIAL.get(name, {})
    with gred.workspace_limit(limit):
        for a in (x, SimulatedArray(x), x.T[::2], x[::-1, ::3], x.astype(np.float32)):
            y = a.get() if isinstance(a, SimulatedArray) else a
            assert not wrong(name, a, y, device="simulated")
        assert not wrong(name, x, x, device="simulated", where=mask, **more)
        assert not wrong(name, x.T, x.T, device="simulated", where=mask.T, **more)
