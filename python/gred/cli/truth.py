"""What any library has to answer: worked out by NumPy in wide types, a piece at a time.

Integers have to be equal, in 64 bits or their type's; how far a float may be off comes from its
type, the length of the array and the data. An array repeats itself, as gred.cli.data draws them, so
what many pieces hold is worked out once.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from gred.cli import data
from gred.cli.answer import relative_bound
from gred.cli.cases import Case
from gred.cli.data import Array
from gred.cli.record import usable_cores

# What `describe` is compared by.
DESCRIBED = ("min", "max", "mean", "var", "sum")

_CHUNK = 1 << 20
_ROUNDOFF = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
# An answer may be rounded a few times on its way into its type.
_LAST_ROUNDINGS = 8


class Value(NamedTuple):
    """A number, and how far an answer may be from it; integers may be off by `modulus`."""

    number: Any
    bound: float
    modulus: int

    def accepts(self, answer: Any) -> bool:
        """Tell whether `answer` is this number."""
        if isinstance(self.number, int):
            return complex(answer).imag == 0 and (int(answer) - self.number) % self.modulus == 0
        return bool(abs(complex(answer) - complex(self.number)) <= self.bound)

    def __str__(self) -> str:
        """Write an integer as it is in a type of 64 bits, signed if it can be."""
        if not isinstance(self.number, int) or -(2**63) <= self.number < 2**64:
            return str(self.number)
        return str((self.number + 2**63) % 2**64 - 2**63)


class Truth:
    """The answer to `case` over `array` in its layout, of which `mask` lets some through."""

    def __init__(self, case: Case, array: Array, mask: Array | None) -> None:
        self._case = case
        self._view = case.view(array)
        self.values = _values(case, Totals(case, list(_pieces(array, self._view, mask))))

    @property
    def count(self) -> int:
        """How many elements the view has."""
        return int(self._view.size)

    def accepts(self, answers: tuple[Any, ...]) -> bool:
        """Tell whether a library's answers, as many as the reduction has, are right.

        A place is right if the element there is: not every library guarantees the first.
        """
        try:
            if self._case.reduction.name in ("argmin", "argmax"):
                answers = tuple(self._element(place) for place in answers)
            pairs = zip(self.values, answers, strict=True)
            return all(value.accepts(answer) for value, answer in pairs)
        except (ValueError, OverflowError, TypeError):  # NaN is no integer, None no number
            return False

    def _element(self, place: Any) -> Any:
        if not 0 <= int(place) < self._view.size:
            return None
        return _number(self._view[np.unravel_index(int(place), self._view.shape)])

    def __str__(self) -> str:
        return ", ".join(map(str, self.values))


def _number(scalar: Any) -> Any:
    """Turn NumPy's scalar into Python's."""
    if scalar.dtype.kind in "biu":
        return int(scalar)
    return complex(scalar) if scalar.dtype.kind == "c" else float(scalar)


class Piece(NamedTuple):
    """A part of what takes part; pieces with the same `key` hold the same."""

    key: tuple[Any, ...]
    elements: Callable[[], Array]


def _pieces(array: Array, view: Array, mask: Array | None) -> Iterator[Piece]:
    """Cut what takes part into pieces, in whatever order: no total depends on it much."""
    rows = view if view.ndim == 2 else view.reshape(1, -1)
    masks = None if mask is None else mask.reshape(1, -1)
    high = max(1, _CHUNK // max(1, rows.shape[1]))
    for top in range(0, rows.shape[0], high):
        for left in range(0, rows.shape[1], _CHUNK):
            place = np.s_[top : top + high, left : left + _CHUNK]
            piece = rows[place]
            start = (_address(piece) - _address(array)) // array.itemsize % data.PERIOD
            yield Piece((start, piece.shape), functools.partial(_piece, rows, masks, place))


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def _piece(rows: Array, masks: Array | None, place: Any) -> Array:
    piece: Array = rows[place] if masks is None else rows[place][masks[place]]
    return piece.ravel()


class Totals:
    """What the answers follow from: totals over all pieces, worked out when they are asked for."""

    def __init__(self, case: Case, pieces: Sequence[Piece]) -> None:
        self._case = case
        self._pieces = pieces

    def __getattr__(self, name: str) -> Any:
        one, all_together = _PARTS[name]
        distinct = {piece.key: piece.elements for piece in self._pieces}
        with ThreadPoolExecutor(usable_cores()) as pool:
            found = pool.map(lambda elements: one(self._wide(elements())), distinct.values())
            of = dict(zip(distinct, found, strict=True))
        total = all_together(of[piece.key] for piece in self._pieces)
        setattr(self, name, total)
        return total

    def _wide(self, piece: Array) -> Array:
        """Convert to what loses nothing, or to the `dtype` asked for, without NaN if need be."""
        if self._case.layout.dtype:
            piece = piece.astype(self._case.layout.dtype)
        if self._case.reduction.name.startswith("nan"):
            piece = piece[piece == piece]
        kind = {"b": "u8", "u": "u8", "i": "i8", "c": "c16"}.get(piece.dtype.kind, "f8")
        return piece.astype(kind)

    @property
    def mean(self) -> Any:
        """The mean, of nothing 0."""
        return self.sum / max(1, self.count)

    @property
    def square(self) -> float:
        """The mean square."""
        return float(self.squares / max(1, self.count))

    @property
    def variance(self) -> float:
        """The variance, from the mean square: no data here has a mean far from zero."""
        return float(max(0.0, self.square - abs(self.mean) ** 2))


def _magnitude(piece: Array) -> float:
    return float(np.abs(piece, dtype=None if piece.dtype.kind == "c" else np.float64).sum())


def _squares(piece: Array) -> float:
    wide = np.abs(piece) if piece.dtype.kind == "c" else piece.astype(np.float64)
    return float(np.dot(wide, wide))


def _lexical(number: Any) -> Any:
    return (number.real, number.imag)


# What is taken of a piece, and of all the pieces' totals. Sums and products of integers wrap, which
# is the same modulo 2^64.
_PARTS: dict[str, tuple[Callable[[Array], Any], Callable[[Iterable[Any]], Any]]] = {
    "count": (len, sum),
    "sum": (lambda piece: _number(piece.sum()), sum),
    "magnitude": (_magnitude, math.fsum),
    "squares": (_squares, math.fsum),
    "product": (lambda piece: _number(piece.prod()), math.prod),
    "minimum": (lambda piece: _number(piece.min()), functools.partial(min, key=_lexical)),
    "maximum": (lambda piece: _number(piece.max()), functools.partial(max, key=_lexical)),
    "nonzero": (lambda piece: int(np.count_nonzero(piece)), sum),
}

# A number of the answer, and what its error is relative to.
_Scaled = tuple[Any, float]
_NUMBERS: dict[str, Callable[[Totals], _Scaled]] = {
    "sum": lambda t: (t.sum, t.magnitude),
    "prod": lambda t: (t.product, abs(t.product)),
    "min": lambda t: (t.minimum, 0.0),
    "max": lambda t: (t.maximum, 0.0),
    "mean": lambda t: (t.mean, t.magnitude / max(1, t.count)),
    "any": lambda t: (int(t.nonzero > 0), 0.0),
    "all": lambda t: (int(t.nonzero == t.count), 0.0),
    "count_nonzero": lambda t: (t.nonzero, 0.0),
    "var": lambda t: (t.variance, t.square),
    "std": lambda t: (math.sqrt(t.variance), t.square / (math.sqrt(t.variance) or 1.0)),
    "ptp": lambda t: (t.maximum - t.minimum, max(abs(t.maximum), abs(t.minimum))),
    "norm": lambda t: (math.sqrt(t.squares), math.sqrt(t.squares)),
}
# Reductions whose answers are those of others: of what is not NaN, at a place, or several at once.
_LIKE = {
    "nansum": ("sum",),
    "nanprod": ("prod",),
    "nanmin": ("min",),
    "nanmax": ("max",),
    "nanmean": ("mean",),
    "argmin": ("min",),
    "argmax": ("max",),
    "minmax": ("min", "max"),
    "describe": DESCRIBED,
}


def _values(case: Case, totals: Totals) -> tuple[Value, ...]:
    name = case.reduction.name
    relative = _relative(case, totals.count)
    scaled = (_NUMBERS[part](totals) for part in _LIKE.get(name, (name,)))
    # Of what all libraries widen to 64 bits they keep as many; a difference wraps in its type.
    modulus = 1 << (8 * case.type.itemsize if name == "ptp" else 64)
    return tuple(
        Value(number, 0.0 if isinstance(number, int) else scale * relative, modulus)
        for number, scale in scaled
    )


def _relative(case: Case, size: int) -> float:
    """Bound the relative error: accumulated in at least float32, and rounded into the result."""
    name = case.layout.dtype or case.type.name
    roundoff = 2.0**-53 if name in ("float64", "complex128") else 2.0**-24
    result = _ROUNDOFF.get(name, roundoff)
    return relative_bound(max(0, size - 1), roundoff) + _LAST_ROUNDINGS * result
