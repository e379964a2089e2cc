"""Random arrays that every op can be checked on: real random values, the same ones for a seed.

An array is drawn for an op: for one that others can share it with, or for one that needs its own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

_CHUNK = 1 << 22
# Elements after which repeated_array begins anew.
PERIOD = 1 << 22
_NAN_SHARE = 1 / 8


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


def repeated_array(size: int, dtype: np.dtype[Any], op: str, seed: int = 0) -> Array:
    """Draw `size` elements of any element type for `op`, the first 2^22 over and over.

    To a memory they are as random as others, and they are there sooner.
    """
    drawn = _draw(np.random.default_rng(seed), min(size, PERIOD), dtype, op, size)
    return np.resize(drawn, size)


def random_mask(size: int, seed: int = 0) -> Array:
    """Draw a mask that lets half of the elements through."""
    return repeated_array(size, np.dtype(bool), "sum", seed + 1)


def _draw(
    generator: np.random.Generator, count: int, dtype: np.dtype[Any], op: str, size: int
) -> Array:
    """Draw `count` of `size` elements. What can stop early gets data that it has to read whole."""
    if op == "any":
        return np.zeros(count, dtype)
    if op in ("all", "count_nonzero", "nansum", "nanprod"):
        return _replaced(generator, _draw(generator, count, dtype, _LIKE[op], size), op)
    if dtype.kind == "b":
        return generator.integers(0, 1, count, np.bool_, endpoint=True)
    if dtype.kind in "iu":
        return _integers(generator, count, dtype, op)
    if dtype.kind == "c":
        return _complexes(generator, count, op).astype(dtype)
    if dtype.itemsize == 2:
        return _halves(generator, count, op).astype(dtype)
    return _floats(generator, count, dtype, op, size)


# The ops whose data others start from.
_LIKE = {"all": "sum", "count_nonzero": "sum", "nansum": "sum", "nanprod": "prod"}


def _replaced(generator: np.random.Generator, drawn: Array, op: str) -> Array:
    """Put in what `op` is about: no zero, zeros in half of the places, NaN in an eighth of them."""
    if op == "all":
        drawn[drawn == 0] = 1
    elif op == "count_nonzero":
        drawn[generator.random(drawn.size) < 0.5] = 0
    else:
        drawn[generator.random(drawn.size) < _NAN_SHARE] = np.nan
    return drawn


def _integers(generator: np.random.Generator, count: int, dtype: np.dtype[Any], op: str) -> Array:
    low = 0 if dtype.kind == "u" else -100
    if op == "sum":
        return generator.integers(low, 100, count, dtype.type, endpoint=True)
    if op == "prod":
        return generator.integers(low // 2, 50, count, dtype.type) * 2 + 1
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, count, dtype.type, endpoint=True)


def _floats(
    generator: np.random.Generator, count: int, dtype: np.dtype[Any], op: str, size: int
) -> Array:
    if op == "sum":
        return generator.random(count, dtype.type)
    if op == "prod":
        width = 1 / math.sqrt(size)
        return (1 + width * (2 * generator.random(count) - 1)).astype(dtype)
    return generator.standard_normal(count, dtype.type)


def _halves(generator: np.random.Generator, count: int, op: str) -> Array:
    """Draw what a float of 16 bits holds: sums that stay in range, products that are exact."""
    if op == "prod":
        return 1 - 2 * generator.integers(0, 1, count, np.int8, endpoint=True)
    if op == "sum":
        return 2 * generator.random(count, np.float32) - 1
    return generator.standard_normal(count, np.float32)


def _complexes(generator: np.random.Generator, count: int, op: str) -> Array:
    if op == "prod":
        return np.array([1, 1j, -1, -1j])[generator.integers(0, 4, count)]
    return generator.random(count) + 1j * generator.random(count)
