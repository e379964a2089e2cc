"""Random arrays, reproducible by seed, and the expected results, computed by NumPy.

The error allowed for a float depends on its type, the length of the array and the data.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from gred.cli.cases import Case

Array = np.ndarray[Any, np.dtype[Any]]

# Elements that NumPy converts and adds at a time.
_BUFFER = 1 << 13
# Roundings in a buffer: NumPy adds pairwise, below 128 elements in 8 lanes: 16 + 3, and 6 above.
_BUFFER_HEIGHT = 25
# Period of random_array, in elements.
PERIOD = 1 << 22
# Fields in which `describe` is compared.
DESCRIBED = ("min", "max", "mean", "var", "sum")
_ROUNDOFF = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
# Additional roundings allowed for the conversion to the result's type.
_LAST_ROUNDINGS = 8


def random_array(size: int, dtype: np.dtype[Any] | str, op: str = "sum", seed: int = 0) -> Array:
    """Draw `size` elements of any element type for `op`; the first 2^22 are repeated.

    Sums get small integers, which do not overflow any element type, or floats in [0, 1), so that a
    missing one is noticed. Products get odd integers, so that they never become zero, or floats so
    close to 1 that they neither overflow nor underflow. Minima and maxima get the whole range.
    """
    generator = np.random.default_rng(seed)
    return np.resize(_draw(generator, min(size, PERIOD), np.dtype(dtype), op, size), size)


def random_mask(size: int, seed: int = 0) -> Array:
    """Draw a mask that selects half of the elements."""
    return random_array(size, "?", "sum", seed + 1)


# op -> the op whose data it starts from, the share of elements to replace, and their new value.
_DRAWN_AS = {
    "count_nonzero": ("sum", 1 / 2, 0),
    "nansum": ("sum", 1 / 8, np.nan),
    "nanprod": ("prod", 1 / 8, np.nan),
}


def _draw(generator: Generator, count: int, dtype: np.dtype[Any], op: str, size: int) -> Array:
    """Draw `count` of `size` elements; reductions that can stop early get data that prevents it."""
    if op == "any":
        return np.zeros(count, dtype)
    if op == "all":
        drawn = _draw(generator, count, dtype, "sum", size)
        return np.where(drawn == 0, dtype.type(1), drawn)
    if op in _DRAWN_AS:
        of, share, value = _DRAWN_AS[op]
        drawn = _draw(generator, count, dtype, of, size)
        drawn[generator.random(count) < share] = value
        return drawn
    if dtype.kind == "b":
        return generator.integers(0, 1, count, np.bool_, endpoint=True)
    if dtype.kind in "iu":
        low, limits = 0 if dtype.kind == "u" else -100, np.iinfo(dtype)
        if op == "prod":
            return generator.integers(low // 2, 50, count, dtype.type) * 2 + 1
        ends = (low, 100) if op == "sum" else (limits.min, limits.max)
        return generator.integers(*ends, count, dtype.type, endpoint=True)
    if dtype.kind == "c" and op == "prod":
        return np.array([1, 1j, -1, -1j], dtype)[generator.integers(0, 4, count)]
    if dtype.kind == "c":
        return (generator.random(count) + 1j * generator.random(count)).astype(dtype)
    narrow = dtype.itemsize == 2  # sums must not overflow, products must be exact
    drawn_as = np.float32 if narrow else dtype.type
    if op not in ("sum", "prod"):
        return generator.standard_normal(count, drawn_as).astype(dtype)
    if op == "prod" and narrow:
        return (1 - 2 * generator.integers(0, 1, count, np.int8, endpoint=True)).astype(dtype)
    drawn = generator.random(count, np.float64 if op == "prod" else drawn_as)
    if op == "prod":
        drawn = 1 + (2 * drawn - 1) / math.sqrt(size)
    return (2 * drawn - 1 if op == "sum" and narrow else drawn).astype(dtype)


class Answer(NamedTuple):
    """The expected result of an op; the error allowed is `scale` times a relative bound."""

    op: str
    value: Any
    size: int
    scale: float
    unit_roundoff: float

    def bound(self, grid: int = 0, block_size: int | None = None) -> float:
        """Bound the error of a reduction by `grid` blocks of `block_size` threads.

        The longest chain of additions is a thread's share (at most twice the average, plus a
        vector), a block's tree and the partial results; without a grid, all elements.
        """
        if not self.unit_roundoff:
            return 0.0
        height = max(0, self.size - 1)
        if grid and block_size:
            share = 2 * -(-self.size // (grid * block_size)) + 32
            height = min(height, share + block_size.bit_length() + grid)
        ours = relative_bound(height, self.unit_roundoff)
        terms = _BUFFER_HEIGHT + self.size // _BUFFER if self.op == "sum" else self.size
        return self.scale * (ours + relative_bound(terms, 2.0**-53))

    def accepts(self, result: Any, grid: int = 0, block_size: int | None = None) -> bool:
        if not self.unit_roundoff:
            return bool(result == self.value)
        return bool(abs(float(result) - self.value) <= self.bound(grid, block_size))


def relative_bound(height: int, unit_roundoff: float) -> float:
    """Bound the relative error of k successive roundings: gamma_k = k u / (1 - k u).

    N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2002, lemma 3.1 and section 4.2.
    From k u = 0.5 on, exp(9 sqrt(k) u + k u^2 / (1 - u)) - 1 is used instead, which random
    roundings exceed less than once in 10^8 arrays of up to 2^30 elements (Higham and Mary, SIAM J.
    Sci. Comput. 41, 2019, section 2).
    """
    ku = height * unit_roundoff
    if ku < 0.5:
        return ku / (1 - ku)
    spread = 9 * math.sqrt(height) * unit_roundoff
    return math.expm1(spread + ku * unit_roundoff / (1 - unit_roundoff))


def numpy_answer(array: Array, op: str) -> Answer:
    """Compute the expected result of `op` over a random_array, accumulated in its element type.

    Integer sums and products wrap around in that type. Float ones are computed in float64.
    """
    if array.dtype.kind != "f" or op not in ("sum", "prod"):
        options = {"dtype": array.dtype} if op in ("sum", "prod") else {}
        return Answer(op, getattr(np, op)(array, **options), array.size, 0.0, 0.0)
    value, scale = _number_and_scale(op, array)
    return Answer(op, value, array.size, scale, float(np.finfo(array.dtype).eps) / 2)


class Value(NamedTuple):
    """A number, and the error allowed; integers are compared modulo `modulus`."""

    number: Any
    bound: float
    modulus: int

    def accepts(self, answer: Any) -> bool:
        if isinstance(self.number, int):
            return complex(answer).imag == 0 and (int(answer) - self.number) % self.modulus == 0
        return bool(abs(complex(answer) - complex(self.number)) <= self.bound)

    def __str__(self) -> str:
        """Format an integer as its 64-bit value, signed if possible."""
        if not isinstance(self.number, int) or -(2**63) <= self.number < 2**64:
            return str(self.number)
        return str((self.number + 2**63) % 2**64 - 2**63)


class Truth:
    """The right answer to `case` over `array` in its layout, with an optional mask.

    It is computed in wide types. Integers must be equal modulo 2^64, or modulo the range of their
    type.
    """

    def __init__(self, case: Case, array: Array, mask: Array | None) -> None:
        self._case, self._view = case, case.view(array)
        self.count = int(self._view.size)
        name, kind = case.reduction.name, case.layout.dtype or case.type.name
        included = self._view if mask is None else self._view[mask]
        included = included[included == included] if name.startswith("nan") else included
        # Accumulated in at least float32, and rounded to the type of the result.
        roundoff = 2.0**-53 if kind in ("float64", "complex128") else 2.0**-24
        relative = relative_bound(max(0, included.size - 1), roundoff)
        relative += _LAST_ROUNDINGS * _ROUNDOFF.get(kind, roundoff)
        # A position is answered by the element there.
        plain = name.removeprefix("nan").removeprefix("arg")
        parts = {"minmax": ("min", "max"), "describe": DESCRIBED}.get(plain, (plain,))
        # All libraries widen integers to 64 bits, except in ptp, which wraps in the element type.
        modulus = 1 << (8 * case.type.itemsize if name == "ptp" else 64)
        self.values = tuple(
            Value(number, 0.0 if isinstance(number, int) else scale * relative, modulus)
            for number, scale in (_number_and_scale(part, included) for part in parts)
        )

    def accepts(self, answers: tuple[Any, ...]) -> bool:
        """Return whether a library's answers are right; a position is if the element there is."""
        try:
            if "arg" in self._case.reduction.name:
                places = (np.unravel_index(int(place), self._view.shape) for place in answers)
                answers = tuple(self._view[place].item() for place in places)
            pairs = zip(self.values, answers, strict=True)
            return all(value.accepts(answer) for value, answer in pairs)
        except (ValueError, OverflowError, TypeError):  # e.g. int(NaN), or a position out of bounds
            return False

    def __str__(self) -> str:
        return ", ".join(map(str, self.values))


def _number_and_scale(name: str, x: Array) -> tuple[Any, float]:
    """Reduce x in a wide type; return the answer, and the scale that its error is relative to."""
    x = x.astype(np.float32) if x.dtype.kind == "V" else x  # bfloat16
    x = x.view(np.uint8) if x.dtype.kind == "b" else x
    wide = {"u": np.uint64, "i": np.int64, "c": np.complex128}.get(x.dtype.kind, np.float64)
    if name in ("any", "all", "count_nonzero"):
        return int(getattr(np, name)(x)), 0.0
    if name in ("min", "max"):
        return getattr(np, name)(x).item(), 0.0
    if name == "prod":
        product = x.prod(dtype=wide).item()
        return product, abs(product)
    if name == "ptp":
        low, high = x.min().item(), x.max().item()
        return high - low, max(abs(low), abs(high))
    if name == "logsumexp":
        most = float(x.max())
        total = most + math.log(np.exp(x.astype(np.float64) - most).sum())
        return total, 1.0 + abs(total)
    count, total = max(1, x.size), x.sum(dtype=wide).item()
    if name in ("sum", "mean"):
        divisor = 1 if name == "sum" else count
        scale = float(np.abs(x).sum(dtype=np.float64)) / divisor
        return (total if name == "sum" else total / count), scale
    squares = float(np.square(np.abs(x), dtype=np.float64).sum())
    if name == "norm":
        return math.sqrt(squares), math.sqrt(squares)
    # The variance from the mean square, which suffices for means close to zero.
    square = squares / count
    variance = max(0.0, square - abs(total / count) ** 2)
    if name == "var":
        return variance, square
    return math.sqrt(variance), square / (math.sqrt(variance) or 1.0)
