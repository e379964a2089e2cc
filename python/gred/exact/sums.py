"""Exact sums as objects: accumulated without rounding, merged in any order, rounded on request."""

from __future__ import annotations

import math
import numbers
import operator
import threading
import zlib
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike, DTypeLike

from gred import _core

if TYPE_CHECKING:
    from typing_extensions import Self

# As in csrc/common/exact.h: counts, and 32-bit digits, in 64-bit words.
COUNTS = 4
WORDS = COUNTS + 134
_POINT = 2148
_PARTS_MOST = 2**20

# Exported words begin with the number of accumulators added up in them and a checksum. Both are
# additive, as the words are.
HEAD = 2
_WEIGHTS = np.array([pow(0x9E3779B97F4A7C15, k + 1, 2**64) for k in range(WORDS + 1)], np.uint64)

_MAGIC = b"gredsum\x01"
_BYTES = len(_MAGIC) + 8 * (HEAD + WORDS)

Words = npt.NDArray[np.int64]


# ---- words ----


def exact_words(a: Any, b: Any = None) -> Words:
    """Sum an array's elements, or the products of two arrays' elements, exactly."""
    return np.frombuffer(_core.exact_sum(a) if b is None else _core.exact_products(a, b), np.int64)


def normalised(words: Words) -> Words:
    """Propagate the carries of each row of words, so that equal sums have equal words."""
    if words.ndim == 1:
        return np.frombuffer(_core.exact_normalised(words), np.int64)
    rows = np.ascontiguousarray(words).reshape(-1, WORDS)
    return np.frombuffer(b"".join(map(_core.exact_normalised, rows)), np.int64).reshape(words.shape)


def rounded(rows: Iterable[Words], dtype: Any, divides: bool) -> npt.NDArray[Any]:
    """Round the sum, or the mean, of each row of words once."""
    found = [_core.exact_rounded(row, int(row[0]) if divides else 1, dtype) for row in rows]
    return np.array(found, dtype)


def _checksums(parts: Words, words: Words, salts: Words | int) -> Words:
    """Compute the weighted sum, modulo 2**64, of each row's words."""
    terms = np.concatenate([parts, words], axis=-1).view(np.uint64) * _WEIGHTS
    checks: Words = terms.sum(axis=-1, keepdims=True).view(np.int64) + parts * salts
    return checks


def _with_head(words: Words, salts: Words | int = 0) -> Words:
    """Prepend the head of exported words: a count of 1 and the checksum."""
    one = np.ones((*words.shape[:-1], 1), np.int64)
    return np.concatenate([one, _checksums(one, words, salts), words], axis=-1)


def _verified(given: Words, salts: Words | int = 0) -> Words:
    """Check and remove the head of exported words, which may have been added up elsewhere."""
    parts, checks, words = given[..., :1], given[..., 1:HEAD], given[..., HEAD:]
    sound = (parts >= 1) & (parts <= _PARTS_MOST) & (checks == _checksums(parts, words, salts))
    if not sound.all():
        raise ValueError(
            "words are corrupted, of an ExactSum or ExactSums of another kind or shape, or added "
            f"up from more than {_PARTS_MOST} objects"
        )
    return normalised(words)


def _salts(named: tuple[str, tuple[int, ...]] | None, shape: tuple[int, ...]) -> Words | int:
    """Return checksum salts that differ between sums of different kind, shape or position."""
    salts = [zlib.crc32(repr((*(named or ()), row)).encode()) for row in range(math.prod(shape))]
    return np.array(salts, np.int64).reshape(*shape, 1) if shape else 0


class Mergeable:
    """Base class: one or several exact sums, stored as words; thread-safe."""

    __slots__ = ("__weakref__", "_lock", "_words")
    _lock: threading.Lock
    _words: Words  # normalized rows; replaced, never modified
    _shape: str  # of exported words, for errors

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """Create an object without words."""
        made = super().__new__(cls)
        made._lock = threading.Lock()
        return made

    def _addable_words(self, given: Words) -> Words:
        """Return own words, after checking that others can be added to them."""
        if self._words.shape != given.shape:
            mine, theirs = self._words.shape[:-2], given.shape[:-2]
            raise ValueError(f"shapes {mine} and {theirs}, or real and complex, cannot be added")
        return self._words

    def _merge(self, given: Words, sign: int = 1) -> None:
        """Add normalized words, or subtract them."""
        with self._lock:
            mine, theirs = self._addable_words(given), given if sign > 0 else -given
            total = mine + theirs
            counts = total[..., :COUNTS]
            wrapped = (counts ^ mine[..., :COUNTS]) & (counts ^ theirs[..., :COUNTS])
            if min(wrapped.ravel().tolist(), default=0) < 0:  # overflow: a sign that neither had
                raise OverflowError("more than 2**63 elements")
            self._words = normalised(total)

    def __iadd__(self, other: Self | int) -> Self:
        """Merge another object in place; 0, the start value of `sum`, is ignored."""
        if isinstance(other, type(self)):
            self._merge(other._words)
        elif type(other) is not int or other != 0:
            return NotImplemented
        return self

    def __isub__(self, other: Self) -> Self:
        """Subtract another object's elements in place."""
        if not isinstance(other, type(self)):
            return NotImplemented
        self._merge(other._words, -1)
        return self

    def __add__(self, other: Self | int) -> Self:
        """Return a new object with the elements of both."""
        return of_words(self._words, type(self)).__iadd__(other)

    __radd__ = __add__

    def __sub__(self, other: Self) -> Self:
        """Return a new object with the other's elements subtracted."""
        return of_words(self._words, type(self)).__isub__(other)

    # ---- as words ----

    @classmethod
    def _kind_and_shape(cls, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]] | None:
        """Return the kind and shape of the sums with words of a shape; None if it does not fit."""
        raise NotImplementedError

    @property
    def words(self) -> Words:
        """All sums as one additive array of int64, with a row of 140 words per sum.

        The shape is (140,) for an `ExactSum`, (..., 1, 140) for `ExactSums`, or (..., 2, 140) for
        complex ones, and (k (k + 3) / 2, 140) for `ExactMoments` of k variables. `from_words`
        converts the element-wise integer sum of up to 2**20 objects' words to the merged object, so
        exact sums can be added by anything that adds integers, such as MPI or NCCL, in one message.

        Word 0 of a row is the number of accumulators in it; words 2 to 5 are the numbers of
        elements, NaNs, infinities and negative infinities; word 6 + k is the digit with weight
        2**(32 k - 2148). Word 1 is a checksum, additive as well: for an `ExactSum` the sum, modulo
        2**64, of the other words, the k-th of them times the k-th power of 0x9E3779B97F4A7C15; for
        other classes the first is also multiplied by a salt from kind, shape and position.

        Raises OverflowError if a count is 2**43 or more: the sum of 2**20 such counts does not fit
        in a word.
        """
        words, limit = self._words, 2**63 // _PARTS_MOST
        if (most := np.abs(words[..., :COUNTS]).max(initial=0)) >= limit:
            raise OverflowError(f"words of {limit} or more elements cannot be added; got {most}")
        shape = words.shape[:-1]
        return _with_head(words, _salts(self._kind_and_shape(shape), shape))

    @classmethod
    def from_words(cls, words: ArrayLike) -> Self:
        """Create an object from `words`, or from the element-wise sum of up to 2**20 such arrays.

        Raises ValueError for anything else.
        """
        given = np.asarray(words)
        shape = given.shape[:-1]
        named = cls._kind_and_shape(shape)
        if given.shape[-1:] != (HEAD + WORDS,) or given.dtype != np.int64 or not named:
            got = f"shape {given.shape} of {given.dtype}"
            raise ValueError(f"words must be int64 of shape {cls._shape}; got {got}")
        return of_words(_verified(given, _salts(named, shape)), cls)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return bool(np.array_equal(self._words, other._words))

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return of_words, (self._words, type(self))


_Made = TypeVar("_Made", bound=Mergeable)


def of_words(words: Words, kind: type[_Made]) -> _Made:
    """Create an object of a class with the given normalized words."""
    made = kind.__new__(kind)
    made._words = words
    return made


# ---- one sum ----


def _comparison(how: Callable[[Any, Any], Any]) -> Callable[[ExactSum, Any], Any]:
    """Create an operator that compares an exact sum with another one or a number."""

    def compare(self: ExactSum, other: Any) -> Any:
        if not isinstance(other, (ExactSum, numbers.Real, np.generic)):
            return NotImplemented
        return bool(how(_number(self), _number(other)))

    return compare


class ExactSum(Mergeable):
    """A sum of floats that is rounded only when its value is requested.

    The exact sum is accumulated without rounding, in any order, in 140 64-bit words [1]_. It can be
    streamed, stored, resumed, and merged from parts that were computed anywhere: the same
    elements give the same accumulator to the last bit. Its value is the exact sum rounded once, to
    nearest, ties to even; it overflows only if the exact sum does. It is NaN after a NaN, or after
    infinities of both signs.

    ``+`` and ``+=`` merge accumulators; ``-`` and ``-=`` subtract another one's elements, also
    nonfinite ones: ``a + b - b == a``. Accumulators are equal if their exact sums, their counts,
    and their counts of NaNs and infinities are equal. ``-a`` and ``3 * a`` multiply each element.
    Order comparisons compare exact sums with each other and with numbers, and are False for NaN.
    Accumulators can be pickled, copied, and shared by threads.

    Parameters
    ----------
    *arrays : array_like
        Arrays of initial elements, as for `add`.

    Attributes
    ----------
    PARTS_MOST : int
        2**20: the most accumulators with `words` that may be added up externally.

    References
    ----------
    .. [1] R. M. Neal, "Fast exact summation using small and large superaccumulators",
       arXiv:1505.05571, 2015.

    Examples
    --------
    >>> import gred
    >>> total = gred.ExactSum([1e100, 1.0])
    >>> total.add([-1e100, 2.0**-60])
    >>> total.value()
    np.float64(1.0)
    >>> total.fraction() - 1 == 2.0**-60
    True
    >>> part = gred.ExactSum([0.1] * 10)
    >>> (total + part).count
    14
    """

    __slots__ = ()

    PARTS_MOST = _PARTS_MOST
    _shape = f"({HEAD + WORDS},)"

    @classmethod
    def _kind_and_shape(cls, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]] | None:
        return None if shape else ("sum", shape)

    def __init__(self, *arrays: ArrayLike | Any) -> None:
        self._words: Words = np.zeros(WORDS, np.int64)
        for array in arrays:
            self.add(array)

    def add(self, a: ArrayLike | Any, /) -> None:
        """Add all elements of an array of any shape, exactly.

        Arrays are as for `gred.sum`, of bool, integers, float16, bfloat16, float32 or float64.
        Complex arrays raise TypeError, since their two parts need two sums; OverflowError is raised
        if `count` would reach 2**63.
        """
        self._merge(exact_words(a))

    def add_products(self, a: ArrayLike | Any, b: ArrayLike | Any, /) -> None:
        """Add the exact products of two arrays' elements: their dot product.

        No product overflows, underflows or is rounded. Zero times infinity is NaN. Element types
        and errors are those of `add`; ValueError is raised if the arrays differ in shape, or are
        not both on the host or both on one device, where they are multiplied.

        Examples
        --------
        >>> import gred
        >>> dot = gred.ExactSum()
        >>> dot.add_products([1e200, 1.0, -1e200], [1e200, 3.0, 1e200])
        >>> float(dot)
        3.0
        """
        self._merge(exact_words(a, b))

    def __neg__(self) -> ExactSum:
        """Return a new sum with all elements negated."""
        return self * -1

    def __mul__(self, factor: SupportsIndex) -> ExactSum:
        """Return a new sum with all elements times an integer; OverflowError beyond 2**2140."""
        if not hasattr(factor, "__index__"):
            return NotImplemented
        k, words = operator.index(factor), self._words.copy()
        nans, ends = words[1:2], words[2:COUNTS]
        if k == 0:
            nans += ends.sum()
            ends[:] = 0
        elif k < 0:
            ends[:] = ends[::-1].copy()
        units = k * _units_of(words)
        try:
            magnitude = abs(units).to_bytes(4 * (WORDS - COUNTS), "little")
        except OverflowError:
            raise OverflowError("the exact sum is out of the range of an ExactSum") from None
        digits = np.frombuffer(magnitude, "<u4").astype(np.int64)
        words[COUNTS:] = -digits if units < 0 else digits
        return of_words(normalised(words), ExactSum)

    __rmul__ = __mul__

    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)

    @property
    def count(self) -> int:
        """Number of elements, or products, added minus those subtracted."""
        return int(self._words[0])

    def value(self, dtype: DTypeLike = np.float64, rounding: str = "nearest") -> Any:
        """Round the sum once, to a NumPy scalar of float16, bfloat16, float32 or float64.

        By default the result is the float nearest to the exact sum, ties to even, or infinity on
        overflow. ``rounding="down"`` gives the largest float that is not above the exact sum,
        ``"up"`` the smallest that is not below: the bounds of an interval. A zero or empty sum is
        +0.0. Without ml_dtypes, bfloat16 is returned as float32. Other types raise TypeError, other
        roundings ValueError.
        """
        toward = {"nearest": 0.0, "down": -np.inf, "up": np.inf}.get(rounding)
        if toward is None:
            raise ValueError(f"rounding must be 'nearest', 'down' or 'up'; got {rounding!r}")
        words = self._words
        nearest = _core.exact_rounded(words, 1, dtype)
        if rounding == "nearest" or words[1:COUNTS].any():
            return nearest
        beyond = operator.gt if rounding == "down" else operator.lt
        if not beyond(_number(float(nearest)), _exact(words)):
            return nearest
        if type(nearest) is np.float32 and str(dtype) == "bfloat16":
            raise TypeError("rounding bfloat16 down or up requires ml_dtypes")
        with np.errstate(over="ignore"):  # the next float may be infinity
            return np.nextafter(nearest, type(nearest)(toward))

    def mean(self, dtype: DTypeLike = np.float64) -> Any:
        """Divide the sum by `count` and round the quotient once, as `value`; NaN if empty."""
        words = self._words
        return _core.exact_rounded(words, int(words[0]), dtype)

    def fraction(self) -> Fraction:
        """Return the exact sum; raise ValueError if it is NaN, OverflowError if infinite."""
        return Fraction(_exact(self._words))

    def __float__(self) -> float:
        return float(self.value())

    def __repr__(self) -> str:
        return f"<ExactSum of {self.count} elements: {float(self)!r}>"

    def to_bytes(self) -> bytes:
        """Serialize the accumulator to 1128 bytes, portable between machines.

        The bytes are ``b"gredsum"``, a version byte of 1, and `words`, little-endian on every
        machine. Equal accumulators have equal bytes.
        """
        return _MAGIC + _with_head(self._words).astype("<i8").tobytes()

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> ExactSum:
        """Deserialize bytes from `to_bytes`.

        Raises ValueError for anything else, and for an unknown version.
        """
        data = bytes(memoryview(data))
        *name, version = data[: len(_MAGIC)] or b"\0"
        if bytes(name) != _MAGIC[:-1]:
            raise ValueError("data is not a serialized ExactSum")
        if version != _MAGIC[-1]:
            raise ValueError(f"ExactSum version {version} is not supported; version 1 is")
        if len(data) != _BYTES:
            raise ValueError(f"a serialized ExactSum has {_BYTES} bytes; got {len(data)}")
        words = np.frombuffer(data, "<i8", offset=len(_MAGIC)).astype(np.int64)
        if words[0] != 1:
            raise ValueError("data is not that of a single ExactSum")
        return of_words(_verified(words), ExactSum)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_bytes, (self.to_bytes(),)


def _units_of(words: Words) -> int:
    """Return the exact sum of the finite elements, in units of the lowest digit."""
    digits = words[COUNTS:]
    magnitude = int.from_bytes(np.abs(digits).astype("<u4").tobytes(), "little")
    return -magnitude if (digits < 0).any() else magnitude


def _exact(words: Words) -> Fraction | float:
    """Return the exact sum as a fraction, or infinity or NaN as a float."""
    if words[1:COUNTS].any():
        return float(_core.exact_rounded(words, 1, np.float64))
    return Fraction(_units_of(words), 2**_POINT)


def _number(value: Any) -> Any:
    """Convert a number to one that compares exactly: a fraction, an infinity or NaN."""
    if isinstance(value, ExactSum):
        return _exact(value._words)
    if isinstance(value, np.longdouble):  # item() does not convert it
        return Fraction(*value.as_integer_ratio()) if np.isfinite(value) else float(value)
    if isinstance(value, np.generic):
        value = value.item()
    return Fraction(value) if isinstance(value, float) and math.isfinite(value) else value
