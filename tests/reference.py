"""The obviously right answers, and how far a float may be from them.

Integers are reduced as Python's, modulo 2^bits; floats as math.fsum and decimal do, far beyond
their own precision; least and greatest elements by NumPy. Nothing here asks gred.

With unit roundoff u, k rounded operations give a relative error of at most
gamma_k = k u / (1 - k u) (Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition,
chapters 3 and 4). A sum of n terms in any order is off by at most gamma_{n-1} times the sum of
magnitudes, a product by at most gamma_{n-1} times its own magnitude. Where every partial result
is a float, the error is 0.
"""

import decimal
import functools
import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

MANTISSA_BITS = {np.dtype(np.float32): 24, np.dtype(np.float64): 53}
EXPONENTS = {np.dtype(np.float32): 126, np.dtype(np.float64): 1022}
DIGITS = 60


class Truth(NamedTuple):
    """The value, which is exact unless it is a float's, its type, and the error that is allowed."""

    value: int | float | Fraction
    dtype: np.dtype
    error: Fraction


def accumulator(op: str, given, dtype=None) -> np.dtype:
    """Name the type of NumPy's result: sums of int32 are int64, means of integers are floats."""
    given = np.dtype(given)
    if dtype is not None:
        return np.dtype(dtype)
    if op == "mean" and given.kind in "iu":
        return np.dtype(np.float64)
    if op in ("sum", "prod") and given == np.int32:
        return np.dtype(np.int64)
    return given


def gamma(k: int, dtype: np.dtype) -> Fraction:
    """Bound the relative error of k rounded operations."""
    unit = Fraction(1, 2 ** MANTISSA_BITS[dtype])
    assert k * unit < 1, "so many operations have no bound"
    return k * unit / (1 - k * unit)


def truth(op: str, array: np.ndarray, dtype=None) -> Truth:
    """Reduce an array without any doubt, each element converted to the result's type first."""
    kind = accumulator(op, array.dtype, dtype)
    x = array.astype(kind).ravel()
    if op in ("min", "max"):
        return Truth(getattr(x, op)().item(), kind, Fraction(0))
    if kind.kind == "f":
        rule = {"sum": _float_sum, "prod": _float_prod, "mean": _float_mean}[op]
        return Truth(*rule(x))
    if op == "mean":
        return Truth(math.trunc(float(_integer("sum", x)) / x.size), kind, Fraction(0))
    return Truth(_integer(op, x), kind, Fraction(0))


def _integer(op: str, x: np.ndarray) -> int:
    bits = 8 * x.dtype.itemsize
    if op == "sum":
        wrapped = sum(x.tolist()) % 2**bits
    else:
        wrapped = functools.reduce(lambda a, b: a * b % 2**bits, x.tolist(), 1)
    return wrapped - 2**bits if x.dtype.kind == "i" and wrapped >= 2 ** (bits - 1) else wrapped


def _special(x: np.ndarray) -> bool:
    return not np.isfinite(x).all()


def sums_exactly(x: np.ndarray) -> bool:
    """Tell whether every partial sum is a float: multiples of a power of two, not too many."""
    nonzero = np.abs(x[x != 0].astype(np.float64))
    if nonzero.size == 0:
        return True
    mantissa, exponent = np.frexp(nonzero)
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    lowest_bit = np.frexp((whole & -whole).astype(np.float64))[1] - 1 + exponent - 53
    quantum = Fraction(2) ** int(lowest_bit.min())
    return Fraction(math.fsum(nonzero)) <= quantum * 2 ** MANTISSA_BITS[x.dtype]


def multiplies_exactly(x: np.ndarray) -> bool:
    """Tell whether every partial product is a float: powers of two, not too many."""
    mantissa, exponent = np.frexp(np.abs(x))
    return bool((mantissa == 0.5).all()) and np.abs(exponent - 1).sum() <= EXPONENTS[x.dtype]


def _float_sum(x: np.ndarray) -> tuple:
    if _special(x):
        with np.errstate(invalid="ignore"):
            return float(x.sum(dtype=np.float64)), x.dtype, Fraction(0)
    total = math.fsum(x.astype(np.float64))
    if sums_exactly(x):
        return total, x.dtype, Fraction(0)
    magnitude = Fraction(math.fsum(np.abs(x.astype(np.float64))))
    rounding_of_fsum = Fraction(abs(total)) / 2**53 + magnitude / 2**53
    return total, x.dtype, gamma(x.size - 1, x.dtype) * magnitude + rounding_of_fsum


def _float_prod(x: np.ndarray) -> tuple:
    if _special(x) or (x == 0).any():
        with np.errstate(all="ignore"):
            return float(x.prod(dtype=np.float64)), x.dtype, Fraction(0)
    context = decimal.Context(prec=DIGITS, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
    one = decimal.Decimal(1)
    product = Fraction(functools.reduce(context.multiply, map(decimal.Decimal, x.tolist()), one))
    if multiplies_exactly(x):
        return float(product), x.dtype, Fraction(0)
    relative = gamma(x.size - 1, x.dtype) + Fraction(2 * x.size, 10 ** (DIGITS - 1))
    return product, x.dtype, relative * abs(product)


def _float_mean(x: np.ndarray) -> tuple:
    """Divide the sum. The quotient is rounded once more, or twice on its way through float64."""
    total, dtype, error = _float_sum(x)
    if not math.isfinite(total):
        return total, dtype, error
    exact = Fraction(total) / x.size
    return exact, dtype, error / x.size + gamma(2, dtype) * (abs(exact) + error / x.size)


def agrees(got, expected: Truth) -> bool:
    """Compare a result with the truth: its type, and its value within the error allowed."""
    if not isinstance(got, np.generic) or got.dtype != expected.dtype:
        return False
    value, found = expected.value, got.item()
    if isinstance(value, float) and not math.isfinite(value):
        return math.isnan(found) if math.isnan(value) else found == value
    return math.isfinite(found) and abs(Fraction(found) - Fraction(value)) <= expected.error
