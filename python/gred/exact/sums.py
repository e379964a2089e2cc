"""Exact sums as objects: added to without rounding, merged in any order, rounded when asked."""

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

# As csrc/common/exact.h has them: counts, and digits of 32 bits, in words of 64.
COUNTS = 4
WORDS = COUNTS + 134
_POINT = 2148
_PARTS_MOST = 2**20

# In front of the words that go out: how many accumulators were added up in them, and a checksum,
# which adds up as they do, and which words that are anything else do not have.
HEAD = 2
_WEIGHTS = np.array([pow(0x9E3779B97F4A7C15, k + 1, 2**64) for k in range(WORDS + 1)], np.uint64)

_MAGIC = b"gredsum\x01"
_BYTES = len(_MAGIC) + 8 * (HEAD + WORDS)

Words = npt.NDArray[np.int64]


# ---- words ----


def exact_words(a: Any, b: Any = None) -> Words:
    """Add an array's elements up, or their products with those of another."""
    return np.frombuffer(_core.exact_sum(a) if b is None else _core.exact_products(a, b), np.int64)


def normalised(words: Words) -> Words:
    """Hand carries on, in each row of words, so that equal sums have equal ones."""
    if words.ndim == 1:
        return np.frombuffer(_core.exact_normalised(words), np.int64)
    rows = np.ascontiguousarray(words).reshape(-1, WORDS)
    return np.frombuffer(b"".join(map(_core.exact_normalised, rows)), np.int64).reshape(words.shape)


def rounded(rows: Iterable[Words], dtype: Any, divides: bool) -> npt.NDArray[Any]:
    """Round the sum of each row of words once, or its quotient by the count."""
    found = [_core.exact_rounded(row, int(row[0]) if divides else 1, dtype) for row in rows]
    return np.array(found, dtype)


def _checksums(parts: Words, words: Words, salts: Words | int) -> Words:
    """Sum, modulo 2**64, the words of each row, each times a factor of its own."""
    terms = np.concatenate([parts, words], axis=-1).view(np.uint64) * _WEIGHTS
    checks: Words = terms.sum(axis=-1, keepdims=True).view(np.int64) + parts * salts
    return checks


def _sealed(words: Words, salts: Words | int = 0) -> Words:
    """Put in front of words what they go out with."""
    one = np.ones((*words.shape[:-1], 1), np.int64)
    return np.concatenate([one, _checksums(one, words, salts), words], axis=-1)


def _opened(given: Words, salts: Words | int = 0) -> Words:
    """Take words that came from anywhere, and may have been added up there."""
    parts, checks, words = given[..., :1], given[..., 1:HEAD], given[..., HEAD:]
    sound = (parts >= 1) & (parts <= _PARTS_MOST) & (checks == _checksums(parts, words, salts))
    if not sound.all():
        raise ValueError(
            "these are not the words of an ExactSum, or of sums of this kind and shape, or not the "
            f"sum of those of at most {_PARTS_MOST}: something has changed them"
        )
    return normalised(words)


def _salts(named: tuple[str, tuple[int, ...]] | None, shape: tuple[int, ...]) -> Words | int:
    """Tell sums of one kind, shape and place from others, whose words do not add up with them."""
    salts = [zlib.crc32(repr((*(named or ()), row)).encode()) for row in range(math.prod(shape))]
    return np.array(salts, np.int64).reshape(*shape, 1) if shape else 0


class Mergeable:
    """One exact sum or several, as words; it is used from many threads at once."""

    __slots__ = ("__weakref__", "_lock", "_words")
    _lock: threading.Lock
    _words: Words  # normalised rows; replaced, never written
    _shape: str  # of words

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """Make one of no words."""
        made = super().__new__(cls)
        made._lock = threading.Lock()
        return made

    def _begun(self, given: Words) -> Words:
        """Give the words that others are added to, once these fit."""
        if self._words.shape != given.shape:
            mine, theirs = self._words.shape[:-2], given.shape[:-2]
            raise ValueError(f"shapes {mine} and {theirs}, or real and complex, do not add up")
        return self._words

    def _merge(self, given: Words, sign: int = 1) -> None:
        """Add normalised words, or take them away."""
        with self._lock:
            mine, theirs = self._begun(given), given if sign > 0 else -given
            total = mine + theirs
            counts = total[..., :COUNTS]
            wrapped = (counts ^ mine[..., :COUNTS]) & (counts ^ theirs[..., :COUNTS])
            if min(wrapped.ravel().tolist(), default=0) < 0:  # a sign that neither had
                raise OverflowError("more than 2**63 elements")
            self._words = normalised(total)

    def __iadd__(self, other: Self | int) -> Self:
        """Add in place what another one has been given; 0, by which `sum` begins, is nothing."""
        if isinstance(other, type(self)):
            self._merge(other._words)
        elif type(other) is not int or other != 0:
            return NotImplemented
        return self

    def __isub__(self, other: Self) -> Self:
        """Take away what another one has been given."""
        if not isinstance(other, type(self)):
            return NotImplemented
        self._merge(other._words, -1)
        return self

    def __add__(self, other: Self | int) -> Self:
        """Make a new one, of all that both have been given."""
        return of_words(self._words, type(self)).__iadd__(other)

    __radd__ = __add__

    def __sub__(self, other: Self) -> Self:
        """Make a new one, of what this one has been given and the other one has not."""
        return of_words(self._words, type(self)).__isub__(other)

    # ---- as words ----

    @classmethod
    def _named(cls, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]] | None:
        """Name what rows of words in a shape are; None: they are none of this kind."""
        raise NotImplementedError

    @property
    def words(self) -> Words:
        """All sums as one array of int64, that adds up: a row of 140 words each.

        Of one `ExactSum` they have shape (140,), of `ExactSums` (..., 1, 140), or, complex ones,
        (..., 2, 140), and of `ExactMoments` of k variables (k (k + 3) / 2, 140). The element-wise
        integer sum of up to 2**20 objects' words is what `from_words` makes the merged one of: any
        engine that adds integers can add exact sums, such as MPI or NCCL in one message.

        Word 0 of a row is how many were added up in it; words 2 to 5 are how many elements, NaNs,
        infinities and negative infinities were added; word 6 + k is the digit that is worth
        2**(32 k - 2148). Word 1 is a checksum, which adds up, too: of an `ExactSum` the sum, modulo
        2**64, of all others, the first of them times 0x9E3779B97F4A7C15, the k-th times its k-th
        power; of others the first is multiplied by a number of their kind, shape and place, too.

        OverflowError is raised if a count is 2**43 or more: the sum of 2**20 such counts does not
        fit in a word.
        """
        words, limit = self._words, 2**63 // _PARTS_MOST
        if (most := np.abs(words[..., :COUNTS]).max(initial=0)) >= limit:
            raise OverflowError(f"words of {limit} elements or more do not add up; count is {most}")
        shape = words.shape[:-1]
        return _sealed(words, _salts(self._named(shape), shape))

    @classmethod
    def from_words(cls, words: ArrayLike) -> Self:
        """Make one of words, or of the element-wise sum of up to 2**20 ones' words.

        What is nothing of that kind raises ValueError.
        """
        given = np.asarray(words)
        shape = given.shape[:-1]
        named = cls._named(shape)
        if given.shape[-1:] != (HEAD + WORDS,) or given.dtype != np.int64 or not named:
            got = f"shape {given.shape} of {given.dtype}"
            raise ValueError(f"words must be int64 of shape {cls._shape}; got {got}")
        return of_words(_opened(given, _salts(named, shape)), cls)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return bool(np.array_equal(self._words, other._words))

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return of_words, (self._words, type(self))


_Made = TypeVar("_Made", bound=Mergeable)


def of_words(words: Words, kind: type[_Made]) -> _Made:
    """Make one of a kind that has normalised words."""
    made = kind.__new__(kind)
    made._words = words
    return made


# ---- one sum ----


def _comparison(how: Callable[[Any, Any], Any]) -> Callable[[ExactSum, Any], Any]:
    """Make an operator that compares an exact sum with another one, or a number."""

    def compare(self: ExactSum, other: Any) -> Any:
        if not isinstance(other, (ExactSum, numbers.Real, np.generic)):
            return NotImplemented
        return bool(how(_number(self), _number(other)))

    return compare


class ExactSum(Mergeable):
    """A sum of floats that is not rounded until its value is asked for.

    Nothing that is added, in whichever order, is rounded; the exact sum is kept in 140 words of 64
    bits [1]_. So a sum can be streamed, kept, resumed, and merged from parts that were made
    anywhere: the same elements make the same accumulator to the last bit. Its value is the exact
    sum rounded once, to nearest, ties to even; it overflows only if the exact sum does. NaN makes
    it NaN, and so do infinities of both signs.

    ``+`` and ``+=`` merge accumulators; ``-`` and ``-=`` take away what another one has been given,
    also where that was not finite: ``a + b - b == a``. They are equal if their exact sums, their
    counts, and their counts of NaNs and infinities are the same. ``-a`` and ``3 * a`` are of each
    element negated or times an integer. ``<`` and the like compare exact sums with one another's,
    and with numbers; of NaN they are false. They can be pickled, copied, and shared by threads.

    Parameters
    ----------
    *arrays : array_like
        Arrays to begin with, as for `add`.

    Attributes
    ----------
    PARTS_MOST : int
        2**20: how many accumulators' `words` may be added up outside.

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
    def _named(cls, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]] | None:
        return None if shape else ("sum", shape)

    def __init__(self, *arrays: ArrayLike | Any) -> None:
        self._words: Words = np.zeros(WORDS, np.int64)
        for array in arrays:
            self.add(array)

    def add(self, a: ArrayLike | Any, /) -> None:
        """Add all elements of an array, of any shape, as they are.

        They are as for `gred.sum`: bool, integers, float16, bfloat16, float32 or float64. Complex
        ones raise TypeError, as their real and imaginary parts are two sums; OverflowError is
        raised if `count` would be 2**63.
        """
        self._merge(exact_words(a))

    def add_products(self, a: ArrayLike | Any, b: ArrayLike | Any, /) -> None:
        """Add the products of two arrays' elements, each exactly: their dot product.

        No product overflows, underflows or is rounded. Zero times infinity is NaN. The elements are
        as for `add`, and so are errors; arrays of two shapes, or which do not both lie on the host
        or on one device, where they are multiplied, raise ValueError.

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
        """Make a new one, of all elements negated."""
        return self * -1

    def __mul__(self, factor: SupportsIndex) -> ExactSum:
        """Make a new one, of all elements times an integer; OverflowError beyond 2**2140."""
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
            raise OverflowError("the exact sum is beyond what an ExactSum holds") from None
        digits = np.frombuffer(magnitude, "<u4").astype(np.int64)
        words[COUNTS:] = -digits if units < 0 else digits
        return of_words(normalised(words), ExactSum)

    __rmul__ = __mul__

    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)

    @property
    def count(self) -> int:
        """How many elements, or products, were added, less those taken away."""
        return int(self._words[0])

    def value(self, dtype: DTypeLike = np.float64, rounding: str = "nearest") -> Any:
        """Round the sum once, to a NumPy scalar of float16, bfloat16, float32 or float64.

        By default it is the float that is nearest to the exact sum, the even one of two; an
        infinity where that is beyond the greatest. ``rounding="down"`` gives the greatest that is
        not above the exact sum, and ``"up"`` the least that is not below: the ends of an interval.
        A sum of 0, also of nothing, is 0.0. Without ml_dtypes a bfloat16 comes as a float32. Other
        types raise TypeError, and other roundings ValueError.
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
            raise TypeError("without ml_dtypes, bfloat16 is rounded to nearest alone")
        with np.errstate(over="ignore"):  # above the greatest there is infinity
            return np.nextafter(nearest, type(nearest)(toward))

    def mean(self, dtype: DTypeLike = np.float64) -> Any:
        """Divide the sum by `count`, and round the quotient once, as `value`; of nothing NaN."""
        words = self._words
        return _core.exact_rounded(words, int(words[0]), dtype)

    def fraction(self) -> Fraction:
        """Give the exact sum; raise ValueError if it is NaN, and OverflowError if infinite."""
        return Fraction(_exact(self._words))

    def __float__(self) -> float:
        return float(self.value())

    def __repr__(self) -> str:
        return f"<ExactSum of {self.count} elements: {float(self)!r}>"

    def to_bytes(self) -> bytes:
        """Write the accumulator as bytes, for keeping it, or for another machine.

        There are 1128: ``b"gredsum"``, a byte for the version, which is 1, and `words`, 8 bytes
        each, the lowest first, on a machine of any byte order. Equal accumulators' are equal.
        """
        return _MAGIC + _sealed(self._words).astype("<i8").tobytes()

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> ExactSum:
        """Read what `to_bytes` has written, all of it.

        Anything else raises ValueError, and so does a version that this gred does not know.
        """
        data = bytes(memoryview(data))
        *name, version = data[: len(_MAGIC)] or b"\0"
        if bytes(name) != _MAGIC[:-1]:
            raise ValueError("these are not the bytes of an ExactSum")
        if version != _MAGIC[-1]:
            raise ValueError(f"an ExactSum of version {version}; this gred reads version 1")
        if len(data) != _BYTES:
            raise ValueError(f"an ExactSum is {_BYTES} bytes; got {len(data)}")
        words = np.frombuffer(data, "<i8", offset=len(_MAGIC)).astype(np.int64)
        if words[0] != 1:
            raise ValueError("these are not the bytes of one ExactSum")
        return of_words(_opened(words), ExactSum)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_bytes, (self.to_bytes(),)


def _units_of(words: Words) -> int:
    """Give the exact sum of what is finite, in units of its last digit."""
    digits = words[COUNTS:]
    magnitude = int.from_bytes(np.abs(digits).astype("<u4").tobytes(), "little")
    return -magnitude if (digits < 0).any() else magnitude


def _exact(words: Words) -> Fraction | float:
    """Give the exact sum, or the infinity or NaN that it is."""
    if words[1:COUNTS].any():
        return float(_core.exact_rounded(words, 1, np.float64))
    return Fraction(_units_of(words), 2**_POINT)


def _number(value: Any) -> Any:
    """Take a number as it compares exactly with others: a fraction, or an infinity or NaN."""
    if isinstance(value, ExactSum):
        return _exact(value._words)
    if isinstance(value, np.longdouble):  # which Python has no number for
        return Fraction(*value.as_integer_ratio()) if np.isfinite(value) else float(value)
    if isinstance(value, np.generic):
        value = value.item()
    return Fraction(value) if isinstance(value, float) and math.isfinite(value) else value
