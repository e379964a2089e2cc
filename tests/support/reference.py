"""Expected results of the ladder's reductions, and bounds for the errors of floats.

Integers are reduced by NumPy, modulo 2^bits, as are minima and maxima; floats are added exactly,
and multiplied by decimal far beyond their own precision. Nothing here calls gred.

With unit roundoff u, k rounded operations give a relative error of at most
gamma_k = k u / (1 - k u) (Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition,
chapters 3 and 4). A sum of n terms in any order has an error of at most gamma_{n-1} times the sum
of magnitudes, a product one of at most gamma_{n-1} times its own magnitude. If every partial result
is a float, the error is 0. A complex sum is two real ones. A complex multiplication by the plain
formula has an error of at most d = sqrt(2) gamma_2 times the product's modulus (Higham, section
3.6), and a product of n factors one of (1 + d)^(n-1) - 1 <= (n-1) d / (1 - (n-1) d) times its own.

float16 and bfloat16 are accumulated in float32 and rounded once: rounding is monotonic, so the
result is between the rounded ends of the accumulator's interval.

If partial results of finite elements may overflow or underflow, the result depends on the order of
operations: such a truth is `UNDECIDED`, and anything of the right type agrees with it.
"""

import decimal
import functools
import math
from fractions import Fraction
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
INTEGERS = tuple(map(np.dtype, ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]))
REALS = (np.dtype(np.float16), BFLOAT16, np.dtype(np.float32), np.dtype(np.float64))
HALVES = REALS[:2]
COMPLEX = (np.dtype(np.complex64), np.dtype(np.complex128))
EVERY_TYPE = (*INTEGERS, *REALS, *COMPLEX)

MANTISSA_BITS = dict(zip(REALS, (11, 8, 24, 53), strict=True))
EXPONENTS = dict(zip(REALS, (14, 126, 126, 1022), strict=True))
PARTS = {COMPLEX[0]: REALS[2], COMPLEX[1]: REALS[3]}
DIGITS, EXACTLY = 60, Fraction(0)
UNDECIDED = "whatever the order makes of it"
A_NAN = "NaN in one part at least"


class Truth(NamedTuple):
    """An expected value, its type, and the allowed error; only floats may have one.

    For complex types, value and error are pairs.
    """

    value: Any
    dtype: np.dtype
    error: Any


def result_type(op: str, given, dtype=None) -> np.dtype:
    """Return NumPy's result type: sums of int32 are int64, means of integers are float64."""
    given = np.dtype(given).newbyteorder("=")
    if dtype is not None:
        return np.dtype(dtype)
    if op == "mean" and given in INTEGERS:
        return np.dtype(np.float64)
    if op in ("sum", "prod") and given in INTEGERS:
        return np.dtype(np.uint64 if given.kind == "u" else np.int64)
    return given


def accumulator(result: np.dtype) -> np.dtype:
    """Return the type that floats are accumulated in: the result's, but at least float32."""
    return REALS[2] if result in HALVES else result


def gamma(k: int, dtype: np.dtype) -> Fraction:
    """Bound the relative error of k rounded operations."""
    return _compound(k, Fraction(1, 2 ** MANTISSA_BITS[dtype]))


def _compound(k: int, unit: Fraction) -> Fraction:
    assert k * unit < 1, "so many operations have no bound"
    return k * unit / (1 - k * unit)


def rounded(value: Fraction | int | float, dtype: np.dtype) -> Fraction | float:
    """Round to the nearest float of a type, ties to even, overflowing to infinity."""
    value = Fraction(value)
    if not value:
        return value
    top, bottom = value.as_integer_ratio()
    exponent = top.bit_length() - bottom.bit_length()
    exponent -= abs(top) << max(-exponent, 0) < bottom << max(exponent, 0)
    power = max(exponent, -EXPONENTS[dtype]) - MANTISSA_BITS[dtype] + 1
    whole = round(Fraction(top << max(-power, 0), bottom << max(power, 0)))
    nearest = Fraction(whole << max(power, 0), 1 << max(-power, 0))
    if abs(nearest) >= Fraction(2) ** (EXPONENTS[dtype] + 2):
        return math.inf if nearest > 0 else -math.inf
    return nearest


def home(x: np.ndarray) -> np.ndarray:
    """Convert float16 and bfloat16 to float64, which NumPy supports fully."""
    return x.astype(np.float64) if x.dtype in HALVES else x


def elements(array: np.ndarray, kind: np.dtype, where=True, initial=None) -> np.ndarray:
    """Return the unmasked elements and the initial value, converted to the result's type."""
    taken = np.asarray(array)[np.broadcast_to(where, np.shape(array))]
    if kind not in COMPLEX and taken.dtype.kind == "c" and kind != np.bool_:
        taken = taken.real
    taken = taken.astype(kind).ravel()
    if initial is None:
        return taken
    return np.concatenate([taken, np.full(1, initial, kind)])


def truth(op: str, array: np.ndarray, dtype=None, *, where=True, initial=None) -> Truth:
    """Compute the expected result; each element is first converted to the result's type."""
    kind = result_type(op, array.dtype, dtype)
    x = elements(array, kind, where, initial)
    if op in ("min", "max"):
        return _extreme(op, x)
    if kind not in INTEGERS:
        value, error = {"sum": _sum, "prod": _prod, "mean": _mean}[op](x)
        return Truth(value, kind, error)
    if op != "mean":
        return Truth(getattr(np, op)(x, dtype=kind).item(), kind, EXACTLY)
    mean = math.trunc(float(x.sum(dtype=kind)) / x.size)
    return Truth(bool(mean) or bool(x.any()) if kind == np.bool_ else mean, kind, EXACTLY)


def _extreme(op: str, x: np.ndarray) -> Truth:
    """NaN wins; complex numbers compare by their real and then by their imaginary parts."""
    value = getattr(np, op)(home(x)).item()
    if x.dtype not in COMPLEX:
        return Truth(value, x.dtype, EXACTLY)
    parts = (A_NAN, A_NAN) if np.isnan(value) else (value.real, value.imag)
    return Truth(parts, x.dtype, (EXACTLY,) * 2)


# ---- floats and complex numbers: values and errors, or pairs of them ----


def _of_both(rule, x: np.ndarray) -> tuple:
    (real, real_error), (imaginary, imaginary_error) = rule(x.real), rule(x.imag)
    return (real, imaginary), (real_error, imaginary_error)


def _undecided(x: np.ndarray) -> tuple:
    return ((UNDECIDED,) * 2, (EXACTLY,) * 2) if x.dtype in COMPLEX else (UNDECIDED, EXACTLY)


def scaled(x: np.ndarray) -> tuple:
    """Convert finite numbers to 64-bit integers times powers of two."""
    x = np.ravel(x)
    if x.dtype.kind in "iub":
        return x.astype(np.uint64 if x.dtype.kind == "u" else np.int64), np.zeros(x.size, int)
    mantissas, exponents = np.frexp(x.astype(np.float64))
    return (mantissas * 2.0**53).astype(np.int64), exponents - 53


def exact_sum(x: np.ndarray) -> Fraction:
    """Sum finite numbers by exponent in 20-bit parts, whose sums floats hold exactly."""
    integers, powers = scaled(x)
    total, least, bits = 0, int(powers.min(initial=0)), 2**20 - 1
    for shift, some in ((0, integers & bits), (20, integers >> 20 & bits), (40, integers >> 40)):
        sums = np.bincount(powers - least, some)
        total += sum(int(sums[k]) << (k + shift) for k in np.flatnonzero(sums).tolist())
    return total * Fraction(2) ** least


def sums_exactly(x: np.ndarray) -> bool:
    """Return whether every partial sum is a float: few enough multiples of a power of two."""
    nonzero = np.abs(home(x[x != 0]))
    if nonzero.size == 0:
        return True
    whole, powers = scaled(nonzero)
    lowest_bit = np.frexp((whole & -whole).astype(np.float64))[1] - 1 + powers
    quantum = Fraction(2) ** int(lowest_bit.min())
    return exact_sum(nonzero) <= quantum * 2 ** MANTISSA_BITS[accumulator(x.dtype)]


def _sum(x: np.ndarray) -> tuple:
    if x.dtype in COMPLEX:
        return _of_both(_sum, x)
    kind, wide = accumulator(x.dtype), home(x)
    magnitude = exact_sum(abs(wide[np.isfinite(wide)]))
    if magnitude * (1 + gamma(x.size + 2, kind)) >= Fraction(2) ** (EXPONENTS[kind] + 2):
        return _undecided(x)  # a partial sum may overflow
    if not np.isfinite(wide).all():
        with np.errstate(invalid="ignore"):
            return float(wide[~np.isfinite(wide)].sum()), EXACTLY
    return exact_sum(wide), EXACTLY if sums_exactly(x) else gamma(x.size, kind) * magnitude


def _mean(x: np.ndarray) -> tuple:
    """Divide the sum; the quotient is rounded once, or twice by way of float64.

    A complex sum is divided by a complex n, as in NumPy: a part that is not finite may spoil the
    other.
    """
    if x.dtype in COMPLEX:
        value, error = _of_both(_mean, x)
        spoilt = UNDECIDED in value or (x.size and not np.isfinite(x).all())
        return _undecided(x) if spoilt else (value, error)
    if x.size == 0:
        return math.nan, EXACTLY
    total, error = _sum(x)
    if total is UNDECIDED or not math.isfinite(total):
        return total, error
    kind, exact = accumulator(x.dtype), Fraction(total) / x.size
    tiny = Fraction(2) ** -(EXPONENTS[kind] + MANTISSA_BITS[kind])
    return exact, error / x.size + gamma(2, kind) * (abs(exact) + error / x.size) + tiny


def _leaves_range(x: np.ndarray, room: float) -> bool:
    """Return whether a partial product could leave this share of the exponent range.

    It may then overflow, or underflow and lose bits.
    """
    wide = np.complex128 if x.dtype in COMPLEX else np.float64
    logarithms = np.log2(np.abs(x[np.isfinite(x) & (x != 0)].astype(wide)))
    limit = EXPONENTS[accumulator(PARTS.get(x.dtype, x.dtype))] * room
    positive, negative = logarithms.clip(min=0).sum(), logarithms.clip(max=0).sum()
    return bool(positive > limit - 1 or negative < 1 - limit)


def _multiplies_exactly(x: np.ndarray) -> bool:
    """Return whether every partial product is a float: few enough powers of two.

    Complex ones may be multiplied by 1, -1, i or -i.
    """
    if x.dtype in COMPLEX:
        on_axes = ((x.real == 0) != (x.imag == 0)).all()
        return bool(on_axes) and _multiplies_exactly((x.real + x.imag).astype(PARTS[x.dtype]))
    mantissa, exponent = np.frexp(np.abs(home(x)))
    in_range = np.abs(exponent - 1).sum() <= EXPONENTS[accumulator(x.dtype)]
    return bool((mantissa == 0.5).all()) and in_range


CONTEXT = decimal.Context(prec=DIGITS, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


def _prod(x: np.ndarray) -> tuple:
    if x.dtype in COMPLEX:
        return _complex_prod(x)
    wide = home(x)
    if _leaves_range(x, 1):
        return _undecided(x)
    if not np.isfinite(wide).all() or (wide == 0).any():
        with np.errstate(all="ignore"):
            return float(np.sign(wide).prod() * np.abs(wide[~np.isfinite(wide)]).prod()), EXACTLY
    with decimal.localcontext(CONTEXT):
        product = Fraction(math.prod(map(decimal.Decimal, wide.tolist())))
    if _multiplies_exactly(x):
        return Fraction(float(product)), EXACTLY
    relative = gamma(x.size, accumulator(x.dtype)) + Fraction(2 * x.size, 10 ** (DIGITS - 1))
    return product, relative * abs(product)


def _complex_prod(x: np.ndarray) -> tuple:
    """Multiply; within half the exponent range, underflow is negligible against the bound."""
    exact = _multiplies_exactly(x)
    if not np.isfinite(x).all() or _leaves_range(x, 1 if exact else 0.5):
        return _undecided(x)
    real, imaginary = decimal.Decimal(1), decimal.Decimal(0)
    with decimal.localcontext(CONTEXT):
        for z in x.astype(np.complex128).tolist():
            a, b = decimal.Decimal(z.real), decimal.Decimal(z.imag)
            real, imaginary = real * a - imaginary * b, real * b + imaginary * a
    value = Fraction(real), Fraction(imaginary)
    if exact:
        return value, (EXACTLY,) * 2
    relative = _compound(x.size, Fraction(1415, 1000) * gamma(2, PARTS[x.dtype]))
    relative += Fraction(8 * x.size, 10 ** (DIGITS - 1))
    return value, (relative * (abs(value[0]) + abs(value[1])),) * 2


def _in_range(found, value, error, dtype: np.dtype) -> bool:
    if value is UNDECIDED:
        return True
    if isinstance(value, float) and math.isnan(value):
        return math.isnan(found)
    if dtype not in REALS or (isinstance(value, float) and math.isinf(value)):
        return found == value
    low, high = _bounds(Fraction(value), Fraction(error), dtype)
    return low <= found <= high


@functools.lru_cache(10_000)
def _bounds(value: Fraction, error: Fraction, dtype: np.dtype) -> tuple:
    """Round both ends of the interval, cached for all methods that share a truth."""
    return rounded(value - error, dtype), rounded(value + error, dtype)


def agrees(got, expected: Truth) -> bool:
    """Return whether a result has the truth's type, and its value to within the error."""
    if not isinstance(got, np.generic) or got.dtype != expected.dtype:
        return False
    if expected.dtype not in COMPLEX:
        found = float(got) if got.dtype in REALS else got.item()
        return _in_range(found, expected.value, expected.error, got.dtype)
    if expected.value[0] is A_NAN:
        return bool(np.isnan(got))
    parts = zip((got.real.item(), got.imag.item()), expected.value, expected.error, strict=True)
    return all(_in_range(*part, PARTS[got.dtype]) for part in parts)
