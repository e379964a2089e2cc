"""Times whole sums on a GPU for block sizes and array sizes: what csrc/plan/tuning.c rests on.

python benchmarks/block_sizes.py
"""

from __future__ import annotations

from functools import partial

import cupy
import numpy as np
from call_figures import taken_in_turns

import gred

BLOCKS = (64, 128, 256, 512, 1024)
SIZES = (100, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26)


def main() -> None:
    """Print the microseconds of a sum of float32, a row a length."""
    print("elements  ", *(f"{block:>8}" for block in BLOCKS))
    for size in SIZES:
        array = cupy.random.random(size, dtype=cupy.float32)
        calls = {
            str(block): partial(gred.sum, array, method="last_block", block_size=block)
            for block in BLOCKS
        }
        medians = [1e6 * np.median(s) for s in taken_in_turns(calls, 600).values()]
        print(f"{size:<10}", *(f"{median:8.2f}" for median in medians), flush=True)


if __name__ == "__main__":
    main()
