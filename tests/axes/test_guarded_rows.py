"""Slices that begin or end where memory does, on the simulated device and the host.

Rows of every length and every second, third or all of their elements, columns likewise, and batches
of these are reduced between two pages that nobody may touch, so that a read beyond ends the test's
process.
"""

import ctypes
import itertools
import mmap

import numpy as np
from devices import to_host
from forcing import CONFIGURATIONS, force
from processes import printed
from thin import chosen

import gred
from gred.testing import SimulatedArray

PAGES = 40
NAMES = ("sum", "argmax", "var")
TYPES = [np.dtype(code) for code in ("i1", "f2", "f4", "f8", "u1", "i2", "i4", "u8")]
STEPS = (1, 2, 3, -1, -2)
# Rows of no more than a pack, of several, as long as are staged and longer, in bytes, which end
# anywhere around a pack.
ROWS = [(9, 8), (9, 16), (7, 48), (40, 31 * 8), (3, 1000), (2, 4096), (2, 4400)]
COLUMNS = [(40, 64), (70, 24), (5, 2048), (33, 1000), (2, 1500)]
SHARINGS = list(CONFIGURATIONS["guarded"])  # many threads to a column, and one by itself


class Guarded:
    """Memory of the simulated device between two pages that nobody may touch."""

    def __init__(self):
        self.memory = SimulatedArray(np.zeros((PAGES + 3) * mmap.PAGESIZE, np.uint8))
        address = self.memory.__cuda_array_interface__["data"][0]
        self.begin = -(-address // mmap.PAGESIZE) * mmap.PAGESIZE + mmap.PAGESIZE
        self.end = self.begin + PAGES * mmap.PAGESIZE
        self.protect(0)

    def protect(self, how: int) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        for page in (self.begin - mmap.PAGESIZE, self.end):
            assert libc.mprotect(ctypes.c_void_p(page), mmap.PAGESIZE, how) == 0

    def view(self, dtype, shape, strides, at_end):
        """Lay an array where this begins or ends: for NumPy, and for gred."""
        lowest = sum(min(0, (n - 1) * s) for n, s in zip(shape, strides, strict=True))
        highest = sum(max(0, (n - 1) * s) for n, s in zip(shape, strides, strict=True))
        extent = highest - lowest + dtype.itemsize
        assert extent <= self.end - self.begin
        start = self.end - extent if at_end else self.begin
        bytes_there = (ctypes.c_char * extent).from_address(start)
        view = np.ndarray(shape, dtype, bytes_there, -lowest, strides)
        described = self.memory.described(
            shape=shape, strides=strides, typestr=dtype.str, descr=..., data=(start - lowest, False)
        )
        return view, described


def is_right(name, got, x, axis) -> bool:
    want = getattr(np, name)(x.astype("f8"), axis)
    return np.allclose(to_host(got).astype("f8"), want, rtol=0 if name == "argmax" else 2e-3)


def layouts(dtype):
    size = dtype.itemsize
    for (count, length), step, gap in itertools.product(ROWS, STEPS, (0, 1, 3)):
        n = max(1, length // size)
        for more in (-1, 0, 1):
            if n + more > 0:
                pitch = ((n + more) * abs(step) + gap) * size
                yield (count, n + more), (pitch, step * size), 1
    for (count, length), step, gap in itertools.product(COLUMNS, STEPS, (0, 1, 16)):
        n = length // size
        for more, down in ((-1, 1), (0, 1), (0, -1), (1, 1)):
            pitch = ((n + more) * abs(step) + gap) * size * down
            yield (count, n + more), (pitch, step * size), 0
            if down > 0:
                yield (2, 3, n + more), (3 * pitch, pitch, step * size), 1


def go_through() -> None:
    guarded = Guarded()
    random = np.random.default_rng(0)
    for turn, (dtype, sharing) in enumerate(itertools.product(TYPES, SHARINGS)):
        force(CONFIGURATIONS["guarded"][sharing])
        for number, (shape, strides, axis) in chosen(enumerate(layouts(dtype)), turn):
            if axis == len(shape) - 1 and sharing != SHARINGS[0]:
                continue
            for at_end in (False, True):
                name = NAMES[(number + turn + at_end) % len(NAMES)]
                x, there = guarded.view(dtype, shape, strides, at_end)
                x[...] = random.integers(0 if dtype.kind == "u" else -9, 10, shape)
                with gred.thread_order("shuffled", number):
                    got = getattr(gred, name)(there, axis=axis)
                for result in (got, getattr(gred, name)(x, axis=axis)):
                    where = (name, dtype, shape, strides, axis, at_end)
                    assert is_right(name, result, x, axis), where
    guarded.protect(mmap.PROT_READ | mmap.PROT_WRITE)
    print("all right")


def test_nothing_in_front_of_a_slice_or_behind_it_is_read():
    code = "import test_guarded_rows; test_guarded_rows.go_through()"
    assert printed(code, path=True) == "all right\n"
