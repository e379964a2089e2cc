"""Exact results by Python's fractions, rounded once, without gred."""

import itertools
import math
from fractions import Fraction

import ml_dtypes
import numpy as np
from hypothesis import strategies as st
from numpy.lib.array_utils import normalize_axis_tuple
from reference import EXPONENTS, INTEGERS, MANTISSA_BITS, PARTS, REALS, exact_sum, rounded, scaled

TINY = Fraction(2) ** -1074
BITS = {dtype: np.dtype(f"u{dtype.itemsize}") for dtype in REALS}


def of_bits(bits, dtype):
    """Make floats of these bits."""
    return np.asarray(bits, BITS[dtype]).view(dtype)


def mixed(n, seed=1):
    """Draw float64s of any bits, without the non-finite and the largest ones."""
    bits = np.random.default_rng(seed).integers(0, 2**64, n, np.uint64)
    x = bits.view(np.float64)
    return x[np.abs(x) < 2.0**1000]


def of_exponents(exponents, dtype, seed=1):
    """Draw numbers of these exponents, with random signs and full significands."""
    random, n = np.random.default_rng(seed), len(exponents)
    return np.ldexp((random.random(n) + 1) * random.choice([1, -1], n), exponents).astype(dtype)


def exact_products(a, b) -> Fraction:
    """Add the products of finite numbers."""
    (of_a, powers_a), (of_b, powers_b) = scaled(a), scaled(b)
    powers = powers_a + powers_b
    least = int(powers.min(initial=0))
    factors = zip(of_a.tolist(), of_b.tolist(), (powers - least).tolist(), strict=True)
    return sum(x * y << shift for x, y, shift in factors) * Fraction(2) ** least


def exact_square(x) -> Fraction:
    """Add the squares of magnitudes."""
    x = np.asarray(x)
    return exact_products(x.real, x.real) + exact_products(x.imag, x.imag)


def comoment(a, b) -> Fraction:
    """Add the products of deviations from means; for complex numbers those of both parts."""
    if a.dtype.kind == "c":
        return comoment(a.real, b.real) + comoment(a.imag, b.imag)
    return exact_products(a, b) - exact_sum(a) * exact_sum(b) / a.size


def nearest(value: Fraction, dtype) -> np.generic:
    """Round to the nearest float of a type; a negative value that rounds to 0 becomes -0."""
    dtype = np.dtype(dtype)
    magnitude = rounded(abs(value), dtype)
    return dtype.type(float(magnitude)) * dtype.type(-1 if value < 0 else 1)


def total(values, dtype, divisor=1):
    """Add as IEEE 754 would if only the end result were rounded."""
    values = np.asarray(values)
    plain = values if values.dtype.kind in "iub" else values.astype(np.float64)
    special = plain[~np.isfinite(plain)]
    if divisor == 0 or special.size:
        with np.errstate(invalid="ignore"):
            return np.dtype(dtype).type(special.sum() if divisor else np.nan)
    return nearest(exact_sum(plain) / divisor, dtype)


def truth(name, x, dtype=None):
    """Compute a sum, mean or norm, of nan-functions without NaN, rounded once."""
    x = np.ravel(x)
    dtype = np.dtype(dtype or (np.float64 if x.dtype in INTEGERS else x.dtype))
    if name == "norm":
        part, special = PARTS.get(dtype, dtype), np.abs(x[~np.isfinite(x)])
        return part.type(special.sum()) if special.size else nearest_root(exact_square(x), part)
    kept = x[~np.isnan(x)] if name.startswith("nan") else x
    divisor = kept.size if name.endswith("mean") else 1
    if kept.dtype.kind != "c":
        return total(kept, dtype, divisor)
    parts = [total(part, PARTS[dtype], divisor) for part in (kept.real, kept.imag)]
    return np.array(parts).view(dtype)[0]


def rows_of(x, axis):
    """Arrange each result's elements in a row; also return the results' shape."""
    axes = normalize_axis_tuple(range(x.ndim) if axis is None else axis, x.ndim)
    others = [k for k in range(x.ndim) if k not in axes]
    shape = [x.shape[k] for k in others]
    size = math.prod(x.shape[k] for k in axes)
    return np.asarray(x).transpose(*others, *axes).reshape(math.prod(shape), size), tuple(shape)


def truths(name, x, axis, dtype=None, where=True):
    """Compute every result along axes from unmasked elements."""
    (rows, shape), (masks, _) = (rows_of(y, axis) for y in (x, np.broadcast_to(where, x.shape)))
    made = [truth(name, row[mask], dtype) for row, mask in zip(rows, masks, strict=True)]
    return np.array(made).reshape(shape)


def dot(a, b, dtype=np.float64):
    """Compute a dot product: integers wrap, else each part's sum is rounded once."""
    a, b, dtype = np.asarray(a), np.asarray(b), np.dtype(dtype)
    if dtype.kind in "iu":
        return np.dot(a.astype(dtype), b.astype(dtype))
    if dtype.kind == "c":
        a, b = (x.astype(dtype) if x.dtype.kind == "b" else x for x in (a, b))
        real = dot(np.append(a.real, -a.imag), np.append(b.real, b.imag), PARTS[dtype])
        imag = dot(np.append(a.real, a.imag), np.append(b.imag, b.real), PARTS[dtype])
        return np.array([real, imag]).view(dtype)[0]
    wide = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(wide).all(0)
    if not finite.all():
        with np.errstate(all="ignore"):
            return dtype.type(np.multiply(*wide)[~finite].sum())
    return nearest(exact_products(a, b), dtype)


def root(square: Fraction) -> Fraction:
    """Return 160 bits of a square root and a sticky bit, which put it on the right side of ties."""
    if square <= 0:
        return Fraction(0)
    bits = 160 - (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    times = square * Fraction(4) ** bits
    whole = math.isqrt(math.floor(times))
    return (whole + Fraction(whole * whole != times, 2)) / Fraction(2) ** bits


def nearest_root(square: Fraction, dtype) -> np.generic:
    """Round a square root to the nearest float of a type."""
    return nearest(root(square), dtype)


def same(got, want) -> bool:
    """Compare types, shapes and all bits but those of NaNs, for each part of complex numbers."""
    want = np.asarray(want)
    if (got.dtype, got.shape) != (want.dtype, want.shape):
        return False
    if want.dtype.kind == "c":
        return same(got.real, want.real) and same(got.imag, want.imag)
    nan = want != want
    return np.array_equal(nan, got != got) and got[~nan].tobytes() == want[~nan].tobytes()


def kinds(dtype, n, seed):
    """Yield floats of every kind relative to windows: inside, across, and beyond them."""
    random = np.random.default_rng(seed)
    any_bits = random.integers(0, 2 ** (8 * dtype.itemsize), n, np.uint64).astype(BITS[dtype])
    floats = any_bits.view(dtype)
    normal = random.normal(size=n)
    steps = np.repeat(random.integers(-12, 12, n // 1000 + 1), 1000)[:n]
    yield np.where(np.isfinite(floats), floats, dtype.type(1))
    yield of_bits(random.integers(0, 2 ** (MANTISSA_BITS[dtype] - 1), n), dtype)  # subnormal
    yield normal.astype(dtype)
    yield random.random(n).astype(dtype)
    yield np.clip(random.lognormal(0, 4, n), 0, 6e4).astype(dtype)
    yield np.where(random.random(n) < 0.001, normal * 2.0**-20, normal).astype(dtype)
    yield (normal * np.exp2(steps)).astype(dtype)
    yield np.ldexp(normal, np.arange(n) % 12).astype(dtype)
    yield np.where(np.arange(n) % 3, -1, 1).astype(dtype) * ml_dtypes.finfo(dtype).max
    yield -np.zeros(n, dtype)


def any_floats(dtype, max_size=30):
    """Draw arrays of any bits; many have few exponents, so that they cancel and tie."""
    width = 8 * dtype.itemsize
    anything = st.integers(0, 2**width - 1)
    greatest = float(ml_dtypes.finfo(dtype).max)
    some = np.array([np.inf, -np.inf, 1, -1, 1.5, greatest, -greatest], dtype)
    ends = [0, 1, 2**width - 1, 2 ** (width - 1), 2 ** (width - 1) + 1]
    special = st.sampled_from(ends + some.view(BITS[dtype]).tolist())
    arrays = st.lists(st.one_of(anything, special), max_size=max_size)
    return arrays.map(lambda bits: of_bits(bits, dtype))


def edges(dtype):
    """List exact values at every kind of boundary between two floats.

    They are midpoints of adjacent floats, and values that are off by TINY on either side. Values
    that float64s cannot add up to are skipped.
    """
    bits, least = MANTISSA_BITS[dtype], -EXPONENTS[dtype]
    greatest, smallest = EXPONENTS[dtype] + 1, least - bits + 1
    step = max(1, (greatest - least) // 40)
    last = [(smallest, kept) for kept in (0, 1, 2, 2 ** (bits - 1) - 1)]
    for exponent in [*range(least, greatest, step), greatest]:
        kept = (2 ** (bits - 1), 2 ** (bits - 1) + 1, 2**bits - 2, 2**bits - 1)
        last += [(exponent - bits + 1, k) for k in kept]
    for (exponent, kept), moved in itertools.product(last, (-TINY, Fraction(0), TINY)):
        value = (kept + Fraction(1, 2)) * Fraction(2) ** exponent + moved
        if value.denominator <= TINY.denominator:
            yield value


def as_floats(value: Fraction):
    """Split an exact value into float64s, the largest first."""
    parts, most = [], Fraction(2) ** 1022
    while value:
        exponent = value.numerator.bit_length() - value.denominator.bit_length() - 1
        quantum = Fraction(2) ** max(exponent - 51, -1074)
        high = math.trunc(value / quantum) * quantum
        if abs(value) >= 2 * most:
            high = most if value > 0 else -most
        parts.append(float(high))
        value -= high
    return parts
