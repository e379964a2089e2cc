"""Fractions and their square roots, rounded once to a float type."""

import math
import numbers
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from gred.checks import dtype_name

# Significand bits, and exponent of the smallest subnormal.
_FORMATS = {"float16": (11, -24), "bfloat16": (8, -133), "float32": (24, -149)}
_FORMATS["float64"] = 53, -1074


def float_type(dtype: DTypeLike) -> np.dtype[Any]:
    """Check and return the type that fractions are rounded to."""
    name = dtype_name(dtype)
    if name not in _FORMATS:
        raise TypeError(f"dtype must be float16, bfloat16, float32 or float64; got {name}")
    return np.dtype(name)


def divisor_of(count: int, ddof: Any) -> Fraction:
    """Return ``max(count - ddof, 0)`` as a fraction."""
    if not isinstance(ddof, numbers.Real | np.number):
        raise TypeError(f"ddof must be a number; got {ddof!r}")
    if not math.isfinite(ddof):
        raise ValueError(f"ddof must be finite; got {ddof!r}")
    return max(count - Fraction(float(ddof)), Fraction())


def quotient(
    rounded: Callable[..., Any], exact: Fraction | None, divisor: Fraction, dtype: np.dtype[Any]
) -> Any:
    """Divide and round; NaN for None and for 0 / 0, infinity for any other division by 0."""
    if exact is not None and divisor:
        return rounded(exact / divisor, dtype)
    return dtype.type(np.inf if exact else np.nan)


def nearest(exact: Fraction, dtype: np.dtype[Any]) -> Any:
    """Round to the nearest float, ties to even; overflow gives infinity."""
    bits, lowest = _FORMATS[dtype.name]
    magnitude = abs(exact)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent -= magnitude < Fraction(2) ** exponent
    unit = max(exponent - bits + 1, lowest)
    units = round(magnitude / Fraction(2) ** unit)  # round() also rounds ties to even
    try:
        value = math.ldexp(units, unit)
    except OverflowError:
        value = math.inf
    with np.errstate(over="ignore"):
        return dtype.type(-value if exact < 0 else value)


def root(exact: Fraction, dtype: np.dtype[Any]) -> Any:
    """Compute the correctly rounded square root of a nonnegative fraction.

    At least its first 64 bits and a sticky bit are rounded: neither a float nor the midpoint of two
    floats has as many bits.
    """
    size = exact.numerator.bit_length() - exact.denominator.bit_length()
    shift = max(66 - size // 2, 0)
    scaled, rest = divmod(exact.numerator << 2 * shift, exact.denominator)
    whole = math.isqrt(scaled)
    odd = rest > 0 or whole * whole != scaled
    return nearest(Fraction(2 * whole + odd, 2 ** (shift + 1)), dtype)
