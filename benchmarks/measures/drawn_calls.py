"""Calls drawn at random: shapes, axes, layouts, element types and reductions that nobody chose.

A seed says which calls these are, on every machine; the next seed says others.
"""

import math
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from gred.cli.cases import TYPES as KINDS

RANKS = {1: 1, 2: 5, 3: 4, 4: 4, 5: 1, 6: 1}
TYPES = {
    **{"float32": 8, "float16": 4, "bfloat16": 4, "float64": 3, "int8": 2, "uint8": 2},
    **{"int16": 1, "int32": 2, "int64": 2, "bool": 3, "complex64": 1},
}
SIZES = {name: KINDS[name].itemsize for name in TYPES}
OPS = {
    **{"sum": 6, "mean": 4, "max": 4, "min": 1, "argmax": 3, "var": 4, "std": 1, "any": 2},
    **{"all": 1, "prod": 1, "norm": 2, "nansum": 1, "count_nonzero": 1, "argmin": 1, "ptp": 1},
    **{"nanmean": 1, "nanvar": 1, "nanargmax": 1, "median": 1},
}
LAYOUTS = {"": 14, "permuted": 2, "offset": 2, "every second": 2}
# Of images, models and tables: batches, channels, heads, patches, widths, words of a vocabulary.
KNOWN = (
    *(3, 4, 7, 8, 10, 11, 12, 14, 16, 24, 28, 32, 48, 49, 56, 64, 77, 80, 96, 100, 112, 128, 129),
    *(144, 160, 192, 196, 197, 224, 255, 256, 384, 512, 577, 640, 768, 1000, 1024, 1280, 2048),
    *(3072, 4096, 5120, 8192, 11008, 14336, 32000, 50257, 128256),
)
LENGTH_MOST = 1 << 17
SECTOR = 32
# Of two axes some library has none, or means something else.
OF_ONE_AXIS = ("argmin", "argmax", "nanargmax", "norm", "prod")
LACKS = {op: ("complex64",) for op in ("min", "max", "argmin", "argmax", "nanargmax")}
LACKS |= {op: ("complex64", "bool") for op in ("ptp", "median")}

Axis = int | tuple[int, ...]


class Drawn(NamedTuple):
    """A call: a reduction of an array of such a type, shape and layout along some axes."""

    op: str
    dtype: str
    shape: tuple[int, ...]
    axis: Axis
    layout: str

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * SIZES[self.dtype]

    @property
    def axes(self) -> tuple[int, ...]:
        return (self.axis,) if isinstance(self.axis, int) else self.axis

    def __str__(self) -> str:
        layout = f", {self.layout}" if self.layout else ""
        return f"{self.op} {self.dtype} {self.shape} axis {self.axis}{layout}"


def drawn(seed: int, count: int, least: int, most: int) -> Iterator[Drawn]:
    """Draw so many calls of `least` to `most` bytes, as many of each order of magnitude."""
    source = random.Random(seed)
    for _ in range(count):
        nbytes = math.exp(source.uniform(math.log(least), math.log(most)))
        yield call_of(source, nbytes)


def call_of(source: random.Random, nbytes: float) -> Drawn:
    op = picked(source, OPS)
    dtype = picked(source, {name: n for name, n in TYPES.items() if name not in LACKS.get(op, ())})
    rank = picked(source, RANKS)
    shape = shape_of(source, rank, nbytes / SIZES[dtype])
    reduced = 1 if op in OF_ONE_AXIS else source.randint(1, max(1, rank - 1))
    axes = tuple(sorted(source.sample(range(rank), reduced)))
    axis = axes if reduced > 1 else axes[0]
    return Drawn(op, dtype, shape, axis, picked(source, LAYOUTS))


def picked(source: random.Random, weights: dict[Any, int]) -> Any:
    return source.choices(list(weights), list(weights.values()))[0]


def shape_of(source: random.Random, rank: int, elements: float) -> tuple[int, ...]:
    """Draw all lengths but one, which is what is left of the elements then."""
    lengths: list[int] = []
    for _ in range(rank - 1):
        left = elements / math.prod(lengths)
        lengths.append(length(source, max(1.0, left)))
    lengths.append(max(1, int(elements / math.prod(lengths))))
    source.shuffle(lengths)
    return tuple(lengths)


def length(source: random.Random, most: float) -> int:
    """Draw a length: a power of two or its neighbour, a prime, one that is known, or any."""
    most = min(most, LENGTH_MOST)
    about = math.exp(source.uniform(0, math.log(most))) if most > 1 else 1.0
    power = 1 << round(math.log2(about))
    known = [n for n in KNOWN if n <= most]
    found = {
        "any": int(about),
        "power": power,
        "neighbour": power + source.choice((-1, 1)),
        "prime": prime_near(int(about)),
        "known": source.choice(known) if known else int(about),
    }[picked(source, {"any": 3, "power": 2, "neighbour": 2, "prime": 2, "known": 4})]
    return max(1, min(found, int(most)))


def prime_near(number: int) -> int:
    """Find the largest prime up to a number, or 2."""
    for candidate in range(number, 2, -1):
        if all(candidate % k for k in range(2, math.isqrt(candidate) + 1)):
            return candidate
    return 2


def places_of(call: Drawn) -> list[int]:
    """Draw an order of the dimensions, always the same: how they are permuted, or which is cut."""
    rank = len(call.shape)
    return random.Random(str(call)).sample(range(rank), rank)


def laid_out(flat: Any, call: Drawn) -> Any:
    """Make a view of the call's shape and layout of a flat array or tensor that is long enough."""
    stored, turned, begin = list(call.shape), places_of(call), int(call.layout == "offset")
    if call.layout == "permuted":
        stored = [call.shape[turned.index(k)] for k in range(len(stored))]
    elif call.layout == "every second":
        stored[turned[0]] *= 2
    array = flat[begin : begin + math.prod(stored)].reshape(stored)
    if call.layout == "permuted":
        return (getattr(array, "permute", None) or array.transpose)(turned)
    if call.layout == "every second":
        return array[(slice(None),) * turned[0] + (slice(None, None, 2),)]
    return array


def bytes_touched(call: Drawn) -> int:
    """Count the bytes of the sectors that hold an element."""
    if call.layout != "every second":
        return call.nbytes
    place = places_of(call)[0]
    together = math.prod(call.shape[place + 1 :]) * SIZES[call.dtype]
    return call.nbytes if together >= SECTOR else min(2, SECTOR // together) * call.nbytes
