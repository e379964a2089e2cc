"""Fractions and their square roots, rounded once to a type of floats."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from gred.checks import dtype_name

# Bits of a significand, and the exponent of the smallest number.
_FORMATS = {"float16": (11, -24), "bfloat16": (8, -133), "float32": (24, -149)}
_FORMATS["float64"] = 53, -1074


def float_type(dtype: DTypeLike) -> np.dtype[Any]:
    """Take a type that fractions are rounded to."""
    name = dtype_name(dtype)
    if name not in _FORMATS:
        raise TypeError(f"dtype must be float16, bfloat16, float32 or float64; got {name}")
    return np.dtype(name)


def divisor_of(count: int, ddof: Any) -> Fraction:
    """Subtract degrees of freedom, down to 0."""
    if not isinstance(ddof, numbers.Real | np.number):
        raise TypeError(f"ddof must be a number; got {ddof!r}")
    if not math.isfinite(ddof):
        raise ValueError(f"ddof must be finite; got {ddof!r}")
    return max(count - Fraction(float(ddof)), Fraction())


def quotient(
    rounded: Callable[..., Any], exact: Fraction | None, divisor: Fraction, dtype: np.dtype[Any]
) -> Any:
    """Divide and round; NaN of no number and of 0 by 0, and else infinity by 0."""
    if exact is not None and divisor:
        return rounded(exact / divisor, dtype)
    return dtype.type(np.inf if exact else np.nan)


def nearest(exact: Fraction, dtype: np.dtype[Any]) -> Any:
    """Round to the nearest float, the even one of two; beyond the greatest is infinity."""
    bits, lowest = _FORMATS[dtype.name]
    magnitude = abs(exact)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent -= magnitude < Fraction(2) ** exponent
    unit = max(exponent - bits + 1, lowest)
    units = round(magnitude / Fraction(2) ** unit)  # Python's rounding is the same
    try:
        value = math.ldexp(units, unit)
    except OverflowError:
        value = math.inf
    with np.errstate(over="ignore"):
        return dtype.type(-value if exact < 0 else value)


def root(exact: Fraction, dtype: np.dtype[Any]) -> Any:
    """Round the square root of what is not negative.

    Of its first 64 bits or more, and one that says whether anything comes after these: no float,
    and nothing half way between two, has as many.
    """
    size = exact.numerator.bit_length() - exact.denominator.bit_length()
    shift = max(66 - size // 2, 0)
    scaled, rest = divmod(exact.numerator << 2 * shift, exact.denominator)
    whole = math.isqrt(scaled)
    odd = rest > 0 or whole * whole != scaled
    return nearest(Fraction(2 * whole + odd, 2 ** (shift + 1)), dtype)
