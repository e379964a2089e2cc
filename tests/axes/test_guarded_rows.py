"""Arrays that begin or end where memory does, on the simulated device and the host.

They are reduced between two pages that nobody may touch, so that a read beyond ends the process.
"""

import ctypes
import mmap

import numpy as np
from devices import to_host
from forcing import forced
from processes import printed
from samples import quietly
from test_axes_kernels import FAMILIES, drawn_in_every_way

import gred
from gred.testing import SimulatedArray

SIZE = 40 * mmap.PAGESIZE
# Rows, and columns, that end anywhere around a load, or where a block's part does.
LENGTHS = (*range(2, 70, 2), *range(3, 30, 4), 257, 513)
ROWS = [((n, length), 1) for n in (2, 9) for length in LENGTHS]
COLUMNS = [((n, length), 0) for n in (2, 7, 9) for length in LENGTHS]
ROWS += [((3, 40, length), 2) for length in (1, 3, 7, 16)]
COLUMNS += [((2, n, length), 1) for n in (3, 9) for length in (*LENGTHS[:34], 401, 402, 403)]
SHAPES = {family: ROWS if "rows" in family else COLUMNS for family in FAMILIES}


class Guarded:
    """Memory of the simulated device between two pages that nobody may touch."""

    def __init__(self):
        self.memory = SimulatedArray(np.zeros(SIZE + 3 * mmap.PAGESIZE, np.uint8))
        address = self.memory.__cuda_array_interface__["data"][0]
        self.begin = -(-address // mmap.PAGESIZE) * mmap.PAGESIZE + mmap.PAGESIZE
        self.protect(0)

    def protect(self, how: int) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        for page in (self.begin - mmap.PAGESIZE, self.begin + SIZE):
            assert libc.mprotect(ctypes.c_void_p(page), mmap.PAGESIZE, how) == 0

    def lay(self, x, at_end):
        """Lay an array as it lies now where this begins or ends: for NumPy, and for gred."""
        ends = [(n - 1) * stride for n, stride in zip(x.shape, x.strides, strict=True)]
        lowest = sum(min(0, end) for end in ends)
        extent = sum(map(abs, ends)) + x.itemsize
        start = self.begin + (SIZE - extent if at_end else 0)
        there = (ctypes.c_char * extent).from_address(start)
        view = np.ndarray(x.shape, x.dtype, there, -lowest, x.strides)
        view[...] = x
        return view, self.memory._like(view, {})


def go_through() -> None:
    guarded = Guarded()
    for name in ("sum", "argmax", "var"):
        for turn, way, one in drawn_in_every_way(name, SHAPES):
            for at_end in (False, True):
                x, there = guarded.lay(one.x, at_end)
                with forced(*way), gred.thread_order("shuffled", turn):
                    got = to_host(quietly(name, there, axis=one.axis, **one.options))
                for result in (got, quietly(name, x, axis=one.axis, **one.options)):
                    assert not one.wrong(name, result)
    guarded.protect(mmap.PROT_READ | mmap.PROT_WRITE)
    print("all right")


def test_nothing_in_front_of_an_array_or_behind_it_is_read():
    code = "import test_guarded_rows; test_guarded_rows.go_through()"
    assert printed(code, path=True) == "all right\n"
