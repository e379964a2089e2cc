"""Random arrays that every op can be checked on: real random values, the same ones for a seed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

_CHUNK = 1 << 22


def random_array(size: int, dtype: str, op: str = "sum", seed: int = 0) -> Array:
    """Draw `size` elements for `op`, piece by piece, so that no second array is needed.

    Sums get small integers, which wrap round in no element type, or floats in [0, 1), of which none
    can be lost unseen. Products get odd integers, whose product never turns to zero, or floats so
    close to one that it neither overflows nor vanishes. Minima and maxima get the whole range.
    """
    generator = np.random.default_rng(seed)
    array = np.empty(size, dtype)
    for start in range(0, size, _CHUNK):
        piece = array[start : start + _CHUNK]
        piece[...] = _draw(generator, piece.size, array.dtype, op, size)
    return array


def _draw(
    generator: np.random.Generator, count: int, dtype: np.dtype[Any], op: str, size: int
) -> Array:
    if dtype.kind == "f":
        if op == "sum":
            return generator.random(count, dtype.type)
        if op == "prod":
            width = 1 / math.sqrt(size)
            return 1 + width * (2 * generator.random(count) - 1)
        return generator.standard_normal(count, dtype.type)
    low = 0 if dtype.kind == "u" else -100
    if op == "sum":
        return generator.integers(low, 100, count, dtype.type, endpoint=True)
    if op == "prod":
        return generator.integers(low // 2, 50, count, dtype.type) * 2 + 1
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, count, dtype.type, endpoint=True)
