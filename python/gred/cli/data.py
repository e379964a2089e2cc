"""Random arrays, reproducible by seed, and the expected results, computed by NumPy.

The error allowed for a float depends on its type, the length of the array and the data.
"""

import math
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from gred.cli.cases import Case
from gred.cli.record import usable_cores

Array = np.ndarray[Any, np.dtype[Any]]

# Elements that NumPy reduces in one call.
_CHUNK = 1 << 20
# Roundings in a chunk: NumPy adds pairwise, below 128 elements in 8 lanes: 16 + 3, and 13 above.
_CHUNK_HEIGHT = 33
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
        terms = _CHUNK_HEIGHT + self.size // _CHUNK if self.op == "sum" else self.size
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
    value, scale = _NUMBERS[op](_Totals(array, array))
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

    It is computed in wide types, once for all pieces with the same elements. Integers must be equal
    modulo 2^64, or modulo the range of their type.
    """

    def __init__(self, case: Case, array: Array, mask: Array | None) -> None:
        self._case, self._view = case, case.view(array)
        self.count = int(self._view.size)
        name, kind = case.reduction.name, case.layout.dtype or case.type.name
        totals = _Totals(array, self._view, mask, case.layout.dtype, name.startswith("nan"))
        # Accumulated in at least float32, and rounded to the type of the result.
        roundoff = 2.0**-53 if kind in ("float64", "complex128") else 2.0**-24
        relative = relative_bound(max(0, totals.count - 1), roundoff)
        relative += _LAST_ROUNDINGS * _ROUNDOFF.get(kind, roundoff)
        scaled = (_NUMBERS[part](totals) for part in _ANSWERED_AS.get(name, (name,)))
        # All libraries widen integers to 64 bits, except in ptp, which wraps in the element type.
        modulus = 1 << (8 * case.type.itemsize if name == "ptp" else 64)
        self.values = tuple(
            Value(number, 0.0 if isinstance(number, int) else scale * relative, modulus)
            for number, scale in scaled
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


class _Totals:
    """Totals of the included elements, from which answers are computed; evaluated lazily.

    The array is processed in pieces. Pieces of the same shape at the same offset in a period have
    the same elements, and only one of them is processed.
    """

    def __init__(
        self, array: Array, view: Array, mask: Any = None, dtype: Any = None, no_nan: bool = False
    ) -> None:
        self._rows = view if view.ndim == 2 else view.reshape(1, -1)
        self._masks = None if mask is None else mask.reshape(1, -1)
        self._dtype, self._no_nan = dtype, no_nan
        self._pieces = []
        high = max(1, _CHUNK // max(1, self._rows.shape[1]))
        for top in range(0, self._rows.shape[0], high):
            for left in range(0, self._rows.shape[1], _CHUNK):
                place = np.s_[top : top + high, left : left + _CHUNK]
                offset = self._rows[place].ctypes.data - array.ctypes.data
                start = offset // array.itemsize % PERIOD
                self._pieces.append(((start, self._rows[place].shape), place))

    def __getattr__(self, name: str) -> Any:
        of_piece, of_all = _PARTS[name]
        distinct = dict(self._pieces)
        with ThreadPoolExecutor(usable_cores()) as pool:
            found = pool.map(lambda place: of_piece(self._elements(place)), distinct.values())
            totals = dict(zip(distinct, found, strict=True))
        total = of_all(totals[key] for key, _ in self._pieces)
        setattr(self, name, total)
        return total

    def _elements(self, place: Any) -> Array:
        """Return a piece's elements, without NaN if requested, in a lossless wide type."""
        piece: Array = self._rows[place]
        piece = piece.ravel() if self._masks is None else piece[self._masks[place]]
        piece = piece.astype(self._dtype) if self._dtype else piece
        piece = piece[piece == piece] if self._no_nan else piece
        wide = {"b": "u8", "u": "u8", "i": "i8", "c": "c16"}
        return piece.astype(wide.get(piece.dtype.kind, "f8"))


def _magnitudes(piece: Array) -> Any:
    return np.abs(piece if piece.dtype.kind == "c" else piece.astype(np.float64))


# Functions that compute a piece's total, and merge the totals of all pieces. Integer sums and
# products are computed modulo 2^64.
_PARTS: dict[str, tuple[Callable[[Array], Any], Callable[[Iterable[Any]], Any]]] = {
    "count": (len, sum),
    "sum": (lambda piece: piece.sum().item(), sum),
    "magnitude": (lambda piece: float(_magnitudes(piece).sum()), math.fsum),
    "squares": (lambda piece: float(np.square(_magnitudes(piece)).sum()), math.fsum),
    "product": (lambda piece: piece.prod().item(), math.prod),
    "minimum": (np.min, lambda found: np.min([*found]).item()),
    "maximum": (np.max, lambda found: np.max([*found]).item()),
    "exponentials": (np.logaddexp.reduce, lambda found: float(np.logaddexp.reduce([*found]))),
    "nonzero": (lambda piece: int(np.count_nonzero(piece)), sum),
}


def _variance(t: _Totals) -> tuple[float, float]:
    """Compute the variance from the mean square, which suffices for means close to zero."""
    count = max(1, t.count)
    square = float(t.squares / count)
    return float(max(0.0, square - abs(t.sum / count) ** 2)), square


def _deviation(t: _Totals) -> tuple[float, float]:
    variance, square = _variance(t)
    return math.sqrt(variance), square / (math.sqrt(variance) or 1.0)


# The expected value, and the scale that its error is relative to.
_NUMBERS: dict[str, Callable[[_Totals], tuple[Any, float]]] = {
    "sum": lambda t: (t.sum, t.magnitude),
    "prod": lambda t: (t.product, abs(t.product)),
    "min": lambda t: (t.minimum, 0.0),
    "max": lambda t: (t.maximum, 0.0),
    "mean": lambda t: (t.sum / max(1, t.count), t.magnitude / max(1, t.count)),
    "any": lambda t: (int(t.nonzero > 0), 0.0),
    "all": lambda t: (int(t.nonzero == t.count), 0.0),
    "count_nonzero": lambda t: (t.nonzero, 0.0),
    "var": _variance,
    "std": _deviation,
    "ptp": lambda t: (t.maximum - t.minimum, max(abs(t.maximum), abs(t.minimum))),
    "logsumexp": lambda t: (t.exponentials, 1.0 + abs(t.exponentials)),
    "norm": lambda t: (math.sqrt(t.squares), math.sqrt(t.squares)),
}
# Reductions with answers from others: without NaN, of the element at a position, or of several.
_ANSWERED_AS = {
    **{f"nan{name}": (name,) for name in ("sum", "prod", "min", "max", "mean", "var", "std")},
    **{f"{nan}arg{name}": (name,) for nan in ("", "nan") for name in ("min", "max")},
    **{"minmax": ("min", "max"), "describe": DESCRIBED},
}
