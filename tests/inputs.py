"""What methods are run on: element types, lengths, block sizes, and data that hides no mistake.

Exact data has one right answer in every order of operations, and each element leaves its mark on
it, so that one that is lost, counted twice or read from elsewhere shows. Rounding data has floats
whose sums and products must be rounded, to be held against a derived bound.
"""

import functools
from typing import NamedTuple

import numpy as np
from reference import EXPONENTS, MANTISSA_BITS, Truth, accumulator, truth

import gred

OPS = ("sum", "prod", "min", "max", "mean")


class Kind(NamedTuple):
    """An element type, and the type that is asked for, if any."""

    name: str
    given: np.dtype
    dtype: np.dtype | None = None


ELEMENT_TYPES = tuple(map(np.dtype, (np.int32, np.int64, np.uint64, np.float32, np.float64)))
KINDS = (
    *(Kind(t.name, t) for t in ELEMENT_TYPES),
    Kind("int32 into int32", np.dtype(np.int32), np.dtype(np.int32)),
)
FLOATS = tuple(kind for kind in KINDS if kind.given.kind == "f")


class Case(NamedTuple):
    """An array that may not be written, and what it reduces to."""

    array: np.ndarray
    truth: Truth


def methods_on(place: str) -> tuple[str, ...]:
    """Name the methods that run on host, simulated or cuda; the host has a plain loop, too."""
    names = tuple(m.name for m in gred.methods() if place in m.devices)
    return ("auto", *names) if place == "host" else names


def block_sizes(method: str) -> tuple[int | None, ...]:
    """List the block sizes of a method; only None where a block size has no meaning."""
    sizes = {m.name: m.block_sizes for m in gred.methods()}
    return sizes.get(method) or (None,)


def lengths(block_size: int | None) -> list[int]:
    """List the lengths at which a reduction by blocks may go wrong."""
    block = block_size or 256
    around = {block - 1, block, block + 1, 8 * block - 1, 8 * block + 1}
    return sorted({0, 1, 2, 31, 32, 33, 1000, 4097, 100003} | around)


def reduce(op: str, a, **options):
    """Call the reduction of that name."""
    return getattr(gred, op)(a, **options)


@functools.cache
def exact(op: str, kind: Kind, n: int) -> Case:
    """Make an array whose result is the same in every order."""
    random = np.random.default_rng([n, OPS.index(op), KINDS.index(kind)])
    result = accumulator(op, kind.given, kind.dtype)
    if op in ("min", "max"):
        array = _extremes(op, kind.given, n, random)
    elif result.kind in "iu":
        array = _any_bits(kind.given, n, random)
    elif op == "prod":
        array = _signs_and_powers_of_two(kind.given, n, random)
    else:
        array = _small_integers(kind.given, n, random, 2 ** MANTISSA_BITS[result])
    return _case(op, kind, array)


@functools.cache
def rounding(op: str, kind: Kind, n: int) -> Case:
    """Make an array of floats whose sums cancel and products need every bit; no order overflows."""
    random = np.random.default_rng([n, OPS.index(op), KINDS.index(kind), 1])
    if op == "prod":
        spread = min(0.5, 60 / n)
        array = np.exp(random.uniform(-spread, spread, n)) * random.choice([-1, 1], n)
    else:
        array = random.normal(size=n) * 10 ** random.uniform(-3, 3, n)
    return _case(op, kind, array.astype(kind.given))


@functools.cache
def mixed(op: str, given: np.dtype, dtype: np.dtype, n: int) -> Case:
    """Make an array that gives another result if elements are converted after they are combined.

    What C leaves undefined is left out: no float lies beyond the integers that it becomes.
    """
    kind = Kind(f"{given} into {dtype}", given, dtype)
    random = np.random.default_rng([n, OPS.index(op), given.num, dtype.num])
    if given.kind in "iu" and dtype.kind in "iu":
        return _case(op, kind, _any_bits(given, n, random))
    if op == "prod" and dtype.kind == "f":
        powers = np.ones(n)
        powers[: EXPONENTS[dtype] // 2] = 2
        return _case(op, kind, powers.astype(given))
    odd = 2 * random.integers(0, 50, n) + 1
    if dtype.kind in "iu":
        return _case(op, kind, (odd + 0.75).astype(given))
    if given == np.float64 and dtype == np.float32:
        return _case(op, kind, np.where(np.arange(n) % 2, -(2.0**24), 2.0**24 + 1))
    if given == np.float32 and dtype == np.float64:
        odd = 2**23 + odd
    return _case(op, kind, odd.astype(given))


def _case(op: str, kind: Kind, array: np.ndarray) -> Case:
    array.setflags(write=False)
    return Case(array, truth(op, array, kind.dtype))


def _any_bits(given: np.dtype, n: int, random) -> np.ndarray:
    """Fill every bit at random. All are odd, so that no product is 0; sums and products wrap."""
    info = np.iinfo(given)
    return random.integers(info.min, info.max, n, given, endpoint=True) | given.type(1)


def _small_integers(given: np.dtype, n: int, random, total: int) -> np.ndarray:
    """Integers other than 0, in any type, whose magnitudes sum to `total` at most."""
    most = min(total // max(n, 1), 2**30)
    magnitudes = random.integers(1, most, n, endpoint=True)
    signs = 1 if given.kind == "u" else random.choice([-1, 1], n)
    return (magnitudes * signs).astype(given)


def _signs_and_powers_of_two(given: np.dtype, n: int, random) -> np.ndarray:
    """Minus ones, with a few powers of two: in the last elements, and anywhere."""
    array = np.full(n, -1, given)
    count = EXPONENTS[given] // 2
    array[n - min(n, count // 2) :] *= 2
    array[random.integers(0, max(n, 1), min(n, count))] = -0.5
    return array


def _extremes(op: str, given: np.dtype, n: int, random) -> np.ndarray:
    """Put the one least or greatest element last; all others are on the same side of 0."""
    if given.kind == "f":
        array = random.uniform(10, float(np.finfo(given).max), n).astype(given)
    else:
        array = random.integers(10, np.iinfo(given).max, n, given, endpoint=True)
    array[-1:] = 3
    if op == "min":
        return array
    return ~array if given.kind == "u" else -array
