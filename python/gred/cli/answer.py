"""Whether an answer is right: what NumPy says, and how far a float may be from it.

The bound on a float comes from the length of the array, the unit roundoff of the type and the data.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gred.cli.data import Array

_CHUNK = 1 << 20
# NumPy adds pairwise, below 128 elements in 8 lanes: 16 + 3 roundings there, and 13 up to a chunk.
_CHUNK_HEIGHT = 33


class Answer(NamedTuple):
    """What an op over an array has to give; `scale` times a relative bound is the error allowed."""

    op: str
    value: Any
    size: int
    scale: float
    unit_roundoff: float

    def bound(self, grid: int = 0, block_size: int | None = None) -> float:
        """Bound the error of a reduction by `grid` blocks of `block_size` threads."""
        if not self.unit_roundoff:
            return 0.0
        height = tree_height(self.size, grid, block_size)
        ours = relative_bound(height, self.unit_roundoff)
        terms = _CHUNK_HEIGHT if self.op == "sum" else self.size
        return self.scale * (ours + relative_bound(terms, 2.0**-53))

    def accepts(self, result: Any, grid: int = 0, block_size: int | None = None) -> bool:
        """Tell whether `result` is equal, or for a rounded answer near enough."""
        if not self.unit_roundoff:
            return bool(result == self.value)
        return bool(abs(float(result) - self.value) <= self.bound(grid, block_size))


def tree_height(size: int, grid: int, block_size: int | None) -> int:
    """Count the most operations that one element's value can pass through.

    A thread's share of the array (twice an even one, plus a vector's worth, because shares need not
    be even), the tree of a block, and the partials, in the worst case one after the other. Without
    a grid nothing is known but that there are size - 1 operations.
    """
    if size < 2:
        return 0
    if not grid or not block_size:
        return size - 1
    share = 2 * -(-size // (grid * block_size)) + 32
    return min(size - 1, share + block_size.bit_length() + grid)


def relative_bound(height: int, unit_roundoff: float) -> float:
    """Bound the relative error of k roundings in a row: gamma_k = k u / (1 - k u).

    N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2002, lemma 3.1 and section 4.2.
    Where k u nears 1 gamma says nothing; there exp(9 sqrt(k) u + k u^2 / (1 - u)) - 1 stands in,
    which random roundings exceed less than once in 10^8 arrays of up to 2^30 elements (Higham and
    Mary, SIAM J. Sci. Comput. 41, 2019, section 2).
    """
    ku = height * unit_roundoff
    if ku < 0.5:
        return ku / (1 - ku)
    spread = 9 * math.sqrt(height) * unit_roundoff
    return math.expm1(spread + ku * unit_roundoff / (1 - unit_roundoff))


def numpy_answer(array: Array, op: str) -> Answer:
    """Have NumPy compute `op` over `array`, accumulated in the array's own element type.

    Integer sums and products wrap round as the type does. Rounded ones are computed in float64, a
    float64 sum's chunks added exactly.
    """
    if array.dtype.kind == "f" and op in ("sum", "prod"):
        unit_roundoff = float(np.finfo(array.dtype).eps) / 2
        value, scale = _float_sum(array) if op == "sum" else _float_product(array)
        return Answer(op, value, array.size, scale, unit_roundoff)
    reduction = getattr(np, op)
    value = reduction(array, dtype=array.dtype) if op in ("sum", "prod") else reduction(array)
    return Answer(op, value, array.size, 0.0, 0.0)


def _float_sum(array: Array) -> tuple[float, float]:
    sums, magnitudes = [], []
    for start in range(0, array.size, _CHUNK):
        chunk = array[start : start + _CHUNK].astype(np.float64)
        sums.append(float(chunk.sum()))
        magnitudes.append(float(np.abs(chunk).sum()))
    return math.fsum(sums), math.fsum(magnitudes)


def _float_product(array: Array) -> tuple[float, float]:
    value = 1.0
    for start in range(0, array.size, _CHUNK):
        value *= float(array[start : start + _CHUNK].astype(np.float64).prod())
    return value, abs(value)
