"""Times whole sums on a GPU for every launch shape, as a basis for csrc/schedule/schedule.c.

python benchmarks/block_sizes.py
"""

import itertools
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np
from measures.timing import taken_in_turns

import gred
from gred import _testing

TYPES = ("int8", "int16", "float32", "float64", "complex128")
BLOCKS = (64, 128, 256, 512, 1024)
ELEMENTS = (4, 8, 16, 32)  # per thread, at least
BYTES = tuple(1 << power for power in (12, 14, 16, 17, 18, 19, 20, 21, 22, 24, 26))
BEST = 5  # shapes printed
AS_IT_IS = (0, 0)


def force(shape: tuple[int, int]) -> None:
    """Use this many threads per block and elements per thread from now on."""
    _testing.force("shape", dict(zip(("block", "data_blocks"), shape, strict=True)))


def shaped(array: Any, shape: tuple[int, int]) -> Callable[[], Any]:
    """Return a call that sums the array with these threads per block and elements per thread."""

    def call() -> Any:
        force(shape)
        return gred.sum(array)

    return call


def main() -> None:
    """Print the microseconds of a sum by default and with the best shapes, one row per size."""
    shapes = [AS_IT_IS, *itertools.product(BLOCKS, ELEMENTS)]
    for dtype, nbytes in itertools.product(TYPES, BYTES):
        array = cupy.ones(nbytes // np.dtype(dtype).itemsize, dtype)
        calls = {f"{b} x {e}": shaped(array, (b, e)) for b, e in shapes}
        medians = {k: 1e6 * np.median(s) for k, s in taken_in_turns(calls, 300).items()}
        usual = medians.pop("0 x 0")
        best = sorted(medians, key=medians.__getitem__)[:BEST]
        shown = ", ".join(f"{shape} {medians[shape]:.2f}" for shape in best)
        print(f"{dtype:8} {nbytes:10,} B {usual:8.2f}   {shown}", flush=True)
    force(AS_IT_IS)


if __name__ == "__main__":
    main()
