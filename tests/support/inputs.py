"""Element types, lengths, block sizes, and data that shows every mistake.

Exact data has the same result in every order of operations, and each element affects it, so that a
lost, duplicated or misread element shows. Rounding data has floats with rounded sums and products,
which are compared to within a derived bound.
"""

import functools
import re
from typing import NamedTuple

import numpy as np
import pytest
from ml_dtypes import finfo
from reference import COMPLEX, EVERY_TYPE, INTEGERS, PARTS, Truth, result_type, truth

import gred
from gred.cli.ladder import is_able

OPS = ("sum", "prod", "min", "max", "mean")


class Kind(NamedTuple):
    """An element type, and the dtype argument, if any."""

    name: str
    given: np.dtype
    dtype: np.dtype | None = None


ELEMENT_TYPES = tuple(map(np.dtype, (np.int32, np.int64, np.uint64, np.float32, np.float64)))
KINDS = tuple(Kind(t.name, t) for t in ELEMENT_TYPES)
KINDS += (Kind("int32 into int32", np.dtype(np.int32), np.dtype(np.int32)),)
FLOATS = tuple(kind for kind in KINDS if kind.given.kind == "f")
MORE_KINDS = tuple(Kind(t.name, t) for t in EVERY_TYPE if t not in ELEMENT_TYPES)
EVERY_KIND = (*KINDS, *MORE_KINDS)
DATA_BLOCKS = {  # how many blocks of elements one block of threads reduces
    **dict.fromkeys(("neighbored", "neighbored_less", "interleaved"), 1),
    **dict.fromkeys(("unroll2", "unroll_warps2"), 2),
    "unroll4": 4,
    **dict.fromkeys(("unroll8", "unroll_warps8", "complete_unroll8", "template_unroll8"), 8),
    **dict.fromkeys(("shared_modulo", "shared_strided", "shared_sequential"), 1),
    **dict.fromkeys(("shared_first_add", "shared_last_warp", "shared_complete"), 2),
}
TAKE_COMPLEX = ("auto", "last_block", "recursive")
RUNGS = [method.name for method in gred.methods() if method.number is not None]
every_rung = pytest.mark.parametrize("rung", RUNGS)


class Case(NamedTuple):
    """A read-only array, and its reduction."""

    array: np.ndarray
    truth: Truth


def methods_on(place: str) -> tuple[str, ...]:
    """List the methods that run on host, simulated or cuda; on the host also "auto"."""
    gpu = next((device for device in gred.devices() if device.name == "cuda:0"), None)
    there = [m for m in gred.methods() if place in m.devices]
    names = tuple(m.name for m in there if place != "cuda" or gpu is None or is_able(gpu, m))
    return ("auto", *names) if place == "host" else names


def block_sizes(method: str) -> tuple[int | None, ...]:
    """List the block sizes of a method, or None if it has none."""
    sizes = {m.name: m.block_sizes for m in gred.methods()}
    return sizes.get(method) or (None,)


def takes(method: str, *types: np.dtype) -> bool:
    """Return whether a method takes all the types; most rungs take no complex ones."""
    return method in TAKE_COMPLEX or not any(np.dtype(t) in COMPLEX for t in types)


def lengths(block_size: int | None) -> list[int]:
    """List the lengths where a reduction by blocks may go wrong, except the longest."""
    block = block_size or 256
    around = {block - 1, block, block + 1, 8 * block - 1, 8 * block + 1}
    return sorted({0, 1, 2, 31, 32, 33, 1000, 4097} | around)


def longest(place: str, method: str) -> int:
    """Return a length that fills the grid and makes threads loop.

    If threads do not loop, more elements only add blocks, which are slow to simulate.
    """
    return 20_011 if place == "simulated" and method in DATA_BLOCKS else 100_003


def shown(value) -> str:
    """Return a short text for a parameter's value, the same in every process."""
    return re.sub(r" at 0x[0-9a-f]+|\s+", " ", repr(value))[:60]


def counted(rung: str, n: int, block: int = 256, dtype=np.int32, **options):
    """Count the accesses of a rung that sums n ones in their own type."""
    return gred.counters(np.ones(n, dtype), method=rung, block_size=block, dtype=dtype, **options)


def reduce(op: str, a, **options):
    return getattr(gred, op)(a, **options)


@functools.cache
def exact(op: str, kind: Kind, n: int) -> Case:
    """Make an array with the same result in every order."""
    random = np.random.default_rng([n, OPS.index(op), EVERY_KIND.index(kind)])
    result = result_type(op, kind.given, kind.dtype)
    if op in ("min", "max"):
        array = _extremes(op, kind.given, n, random)
    elif result in INTEGERS:
        array = _any_bits(kind.given, n, random)
    elif op == "prod":
        array = _units_and_powers_of_two(kind.given, n, random)
    else:
        array = _small_integers(kind.given, n, random, 2 ** (finfo(result).nmant + 1))
    return _case(op, kind, array)


@functools.cache
def rounding(op: str, kind: Kind, n: int) -> Case:
    """Make floats whose sums cancel and whose products need every bit, without overflow."""
    random = np.random.default_rng([n, OPS.index(op), EVERY_KIND.index(kind), 1])
    parts = [_rounding_part(op, n, random) for _ in range(1 + (kind.given in COMPLEX))]
    if op == "prod" and kind.given in COMPLEX:
        array = parts[0] * np.exp(1j * random.uniform(0, 2 * np.pi, n))
    else:
        array = parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]
    return _case(op, kind, array.astype(kind.given))


def _rounding_part(op: str, n: int, random) -> np.ndarray:
    if op == "prod":
        spread = min(0.5, 60 / n)
        return np.exp(random.uniform(-spread, spread, n)) * random.choice([-1, 1], n)
    return random.normal(size=n) * 10 ** random.uniform(-3, 3, n)


@functools.cache
def mixed(op: str, given: np.dtype, dtype: np.dtype, n: int) -> Case:
    """Make an array whose result would differ if elements were combined before conversion.

    Every conversion is defined by C: no float is outside the range of the integers it becomes.
    """
    kind = Kind(f"{given} into {dtype}", given, dtype)
    random = np.random.default_rng([n, OPS.index(op), *map(EVERY_TYPE.index, (given, dtype))])
    if given in INTEGERS and dtype in INTEGERS:
        bits = _any_bits(given, n, random)
        return _case(op, kind, abs(bits // 2) if (op, dtype) == ("mean", np.uint64) else bits)
    if op == "prod" and dtype not in INTEGERS:
        # Ones, and as many twos as a product in the type can hold.
        powers = np.ones(n, given)
        exponents = min(finfo(t).maxexp for t in (given, dtype) if t not in INTEGERS) - 2
        powers[: exponents // 2] *= given.type(1 if given == np.bool_ else 2)
        return _case(op, kind, powers)
    most = 5 if np.float16 in (given, dtype) else 50
    odd = 2 * random.integers(0, most, n) + 1
    if dtype == np.bool_ and op == "sum":
        return _case(op, kind, np.where(np.arange(n) == n // 2, 0.5, 0.0).astype(given))
    if dtype in INTEGERS:
        return _case(op, kind, _with_imaginary_parts(odd + 0.75, given))
    if given == np.float64 and dtype == np.float32:
        return _case(op, kind, np.where(np.arange(n) % 2, -(2.0**24), 2.0**24 + 1))
    if given == np.float32 and dtype == np.float64:
        odd = 2**23 + odd
    return _case(op, kind, _with_imaginary_parts(odd, given))


def _with_imaginary_parts(values: np.ndarray, given: np.dtype) -> np.ndarray:
    return (values + 1j * values[::-1] if given in COMPLEX else values).astype(given)


def _case(op: str, kind: Kind, array: np.ndarray) -> Case:
    array.setflags(write=False)
    return Case(array, truth(op, array, kind.dtype))


def _any_bits(given: np.dtype, n: int, random) -> np.ndarray:
    """Draw random bits; all are odd, so that products are not 0. Sums and products wrap."""
    if given == np.bool_:
        return np.arange(n) % 7 != 6 if n < 7 else random.integers(0, 2, n).astype(bool)
    info = np.iinfo(given)
    return random.integers(info.min, info.max, n, given, endpoint=True) | given.type(1)


def _small_integers(given: np.dtype, n: int, random, total: int) -> np.ndarray:
    """Draw nonzero integers, in any type, whose magnitudes sum to at most `total`.

    If the type is too small for that, draw ones.
    """
    if given in COMPLEX:
        parts = [_small_integers(PARTS[given], n, random, total) for _ in range(2)]
        return (parts[0] + 1j * parts[1]).astype(given)
    most = max(min(total // max(n, 1), 2**30), 1)
    magnitudes = random.integers(1, most, n, endpoint=True)
    signs = 1 if given.kind in "ub" else random.choice([-1, 1], n)
    return (magnitudes * signs).astype(given)


def _units_and_powers_of_two(given: np.dtype, n: int, random) -> np.ndarray:
    """Fill with -1, or units i, -i and -1, and some powers of two: at the end and anywhere."""
    array = np.full(n, -1, given)
    if given in COMPLEX:
        array[:] = random.choice([-1, 1j, -1j], n)
    count = finfo(given).maxexp // 2 - 1
    array[n - min(n, count // 2) :] *= given.type(2)
    array[random.integers(0, max(n, 1), min(n, count))] = -0.5
    return array


def _extremes(op: str, given: np.dtype, n: int, random) -> np.ndarray:
    """Put the only least or greatest element last; all others are on the same side of 0."""
    if given in COMPLEX:
        first = random.integers(0, 2, n)
        array = (7 + first + 1j * random.integers(10, 10**6, n) * (1 - 2 * first)).astype(given)
        array[-1:] = 7 + 3j
    elif given == np.bool_:
        array = np.ones(n, bool)
        array[-1:] = False
    elif given in INTEGERS:
        array = random.integers(10, np.iinfo(given).max, n, given, endpoint=True)
        array[-1:] = 3
    else:
        array = random.uniform(10, float(finfo(given).max), n).astype(given)
        array[-1:] = 3
    if op == "min":
        return array
    return ~array if given.kind in "ub" else -array
