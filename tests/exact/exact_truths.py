"""What exact sums are: Python's fractions, rounded once. Nothing here asks gred."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from reference import EXPONENTS, MANTISSA_BITS, REALS, rounded

TINY = Fraction(2) ** -1074
BITS = {dtype: np.dtype(f"u{dtype.itemsize}") for dtype in REALS}


def of_bits(bits, dtype):
    """Make the floats that have these bits."""
    return np.asarray(bits, BITS[dtype]).view(dtype)


def bits_of(values):
    """Tell all floats apart, zeros of either sign too, but for NaNs, which are one."""
    values = np.asarray(values)
    bits = values.view(BITS[values.dtype]).copy()
    bits[np.isnan(values.astype(np.float64))] = 2 ** (8 * values.itemsize) - 1
    return bits


def mixed(n, seed=1):
    """Draw float64s of every finite bit pattern but the greatest exponents."""
    bits = np.random.default_rng(seed).integers(0, 2**64, n, np.uint64)
    x = bits.view(np.float64)
    return x[np.abs(x) < 2.0**1000]


def of_exponents(exponents, dtype, seed=1):
    """Draw numbers of these exponents, of either sign, with all bits of their type."""
    random, n = np.random.default_rng(seed), len(exponents)
    return np.ldexp((random.random(n) + 1) * random.choice([1, -1], n), exponents).astype(dtype)


def _integers(x):
    """Take finite numbers as integers times powers of two."""
    x = np.asarray(x).ravel()
    if x.dtype.kind in "iub":
        return np.array(list(map(int, x)), object), np.zeros(x.size, int)
    mantissas, exponents = np.frexp(x.astype(np.float64))
    return (mantissas * 2.0**53).astype(np.int64), exponents - 53


def _added(integers, exponents, add) -> Fraction:
    """Add up integers times powers of two, a power at a time, or of few each by itself."""
    if integers.size <= 200:
        powers = exponents.tolist()
        least = min(powers, default=0)
        total = sum(
            one << (power - least) for one, power in zip(integers.tolist(), powers, strict=True)
        )
    else:
        powers = np.unique(exponents).tolist()
        least = powers[0]
        total = sum(add(integers[exponents == power]) << (power - least) for power in powers)
    return Fraction(total << least) if least >= 0 else Fraction(total, 1 << -least)


def _halves_added(integers) -> int:
    """Add up many int64 without an overflow."""
    return int((integers & 0xFFFF).sum()) + (int((integers >> 16).sum()) << 16)


def exact_sum(x) -> Fraction:
    """Add up finite numbers."""
    return _added(*_integers(x), add=_halves_added)


def exact_products(a, b) -> Fraction:
    """Add up the products of finite numbers."""
    (of_a, exponents_a), (of_b, exponents_b) = _integers(a), _integers(b)
    products = of_a.astype(object) * of_b.astype(object)
    return _added(products, exponents_a + exponents_b, add=lambda x: int(x.sum()))


def exact_parts(a, b) -> tuple[Fraction, Fraction]:
    """Add up the products of numbers that may be complex: both parts of the sum."""
    a, b = np.asarray(a), np.asarray(b)
    real = exact_products(a.real, b.real) - exact_products(a.imag, b.imag)
    return real, exact_products(a.real, b.imag) + exact_products(a.imag, b.real)


def exact_square(x) -> Fraction:
    """Add up the squares of magnitudes."""
    x = np.asarray(x)
    return exact_products(x.real, x.real) + exact_products(x.imag, x.imag)


def nearest(value: Fraction, dtype) -> np.generic:
    """Round to the nearest float of a type; a negative number keeps its sign where that is 0."""
    dtype = np.dtype(dtype)
    magnitude = rounded(abs(value), dtype)
    return dtype.type(float(magnitude)) * dtype.type(-1 if value < 0 else 1)


def total(values, dtype, divisor=1):
    """Add up as IEEE 754 would if nothing were rounded until the end."""
    values = np.asarray(values)
    plain = values if values.dtype.kind in "iub" else values.astype(np.float64)
    special = plain[~np.isfinite(plain)]
    if divisor == 0 or special.size:
        with np.errstate(invalid="ignore"):
            return np.dtype(dtype).type(special.sum() if divisor else np.nan)
    return nearest(exact_sum(plain) / divisor, dtype)


def truth(name, x, dtype=None):
    """Find an exact sum or mean, of all elements or of those that are not NaN."""
    kept = x[~np.isnan(x.astype(np.float64))] if name.startswith("nan") else x
    return total(kept, dtype or x.dtype, divisor=kept.size if name.endswith("mean") else 1)


def dot(a, b, dtype=np.float64):
    """Add products, where none is rounded."""
    a, b = (np.asarray(x, np.float64) for x in (a, b))
    finite = np.isfinite(a) & np.isfinite(b)
    if not finite.all():
        return np.dtype(dtype).type((a[~finite] * b[~finite]).sum())
    return nearest(exact_products(a, b), dtype)


def nearest_root(square: Fraction, dtype) -> np.generic:
    """Round a square root to the nearest float of a type.

    A root's first thousand bits behind the point and, where it has more, one more bit are on the
    same side of everything that lies half way between two floats as the root is.
    """
    bits = 1200
    scaled = square * 4**bits
    root = math.isqrt(math.floor(scaled))
    more = Fraction(root * root != scaled, 2)
    return nearest((root + more) / 2**bits, dtype)


def same(got, expected) -> bool:
    """Compare type and bits."""
    return got.dtype == expected.dtype and bits_of([got]) == bits_of([expected])


def same_bits(got, want) -> bool:
    """Compare types, shapes and all bits but those of NaNs, in each part of a complex number."""
    got, want = np.asarray(got), np.asarray(want)
    if (got.dtype, got.shape) != (want.dtype, want.shape):
        return False
    if want.dtype.kind == "c":
        got, want = (np.ascontiguousarray(x).view(x.real.dtype) for x in (got, want))
    nan = want != want
    return np.array_equal(nan, got != got) and got[~nan].tobytes() == want[~nan].tobytes()


def any_floats(dtype, max_size=30):
    """Draw arrays of any bits; many have few exponents, so that they cancel and tie."""
    width = 8 * dtype.itemsize
    anything = st.integers(0, 2**width - 1)
    special = st.sampled_from(
        [0, 1, 2**width - 1, 2 ** (width - 1), 2 ** (width - 1) + 1]
        + [int(bits_of(np.array([x], dtype))[0]) for x in (np.inf, -np.inf, 1, -1, 1.5)]
        + [int(bits_of(np.array([x * _greatest(dtype)], dtype))[0]) for x in (1, -1)]
    )
    arrays = st.lists(st.one_of(anything, special), max_size=max_size)
    return arrays.map(lambda bits: of_bits(bits, dtype))


def finite_floats(dtype, max_size=30):
    """Draw arrays of finite floats."""
    return any_floats(dtype, max_size).map(lambda x: x[np.isfinite(x.astype(np.float64))])


def _greatest(dtype):
    return (2 - 2.0 ** (1 - MANTISSA_BITS[dtype])) * 2.0 ** (EXPONENTS[dtype] + 1)


def edges(dtype):
    """List exact values at every kind of edge between two floats.

    Where two neighbours are, exactly between them, and by a bit far below that on either side.
    Where float64s cannot say so, what is between float64s is left out.
    """
    bits, least = MANTISSA_BITS[dtype], -EXPONENTS[dtype]
    greatest, smallest = EXPONENTS[dtype] + 1, least - bits + 1
    step = max(1, (greatest - least) // 40)
    last = [(smallest, kept) for kept in (0, 1, 2, 2 ** (bits - 1) - 1)]
    for exponent in [*range(least, greatest, step), greatest]:
        kept = (2 ** (bits - 1), 2 ** (bits - 1) + 1, 2**bits - 2, 2**bits - 1)
        last += [(exponent - bits + 1, k) for k in kept]
    for exponent, kept in last:
        for moved in (-TINY, Fraction(0), TINY):
            value = (kept + Fraction(1, 2)) * Fraction(2) ** exponent + moved
            if value.denominator <= TINY.denominator:
                yield value


def as_floats(value: Fraction):
    """Write an exact value as a sum of float64s, the greatest first."""
    parts = []
    while value:
        exponent = value.numerator.bit_length() - value.denominator.bit_length() - 1
        high = value
        if abs(value) < Fraction(2) ** 1023:
            quantum = Fraction(2) ** max(exponent - 51, -1074)
            high = math.trunc(value / quantum) * quantum
        else:
            high = Fraction(2) ** 1022 * (1 if value > 0 else -1)
        parts.append(float(high))
        value -= high
    return parts
