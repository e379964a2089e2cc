"""Expected results of the reductions that are not on the ladder; reference.py has the others.

Counts, positions and extremes are NumPy's or Python's, and exact. Sums of squares are also exact: a
float is an integer times a power of two, and Python's integers have any number of bits.

Squares, deviations and means of all types are computed in float64, with unit roundoff u, and
rounded once at the end. Lanes of at most BATCH elements are accumulated and merged as a tree, so
that an element goes through depth(n) = min(n, BATCH) + (log2 n)^1.5 operations, which is less than
n, and more than a good implementation needs.

Variances. Chan, Golub and LeVeque (The American Statistician 37, 1983) merge means and sums of
squared deviations S: S = Sa + Sb + d^2 na nb / n, where d is the difference of the means. The error
of a mean after h merges is at most about 4 h u times the root mean square of its elements, and that
of d is twice this. Each merge adds 2 |d| (error of d) na nb / n to the error of S; by Cauchy and
Schwarz, all of them add at most 2 sqrt(S) sqrt(sum of (error of d)^2 na nb / n). With Q the sum of
squares about 0, that is 2 sqrt(3) k u sqrt(S Q) for a lane of k elements and
2 sqrt(3) h^1.5 u sqrt(S Q) for a balanced tree of height h. With the roundings of S, 4 (k + h) u S,
SPREAD = 8 covers both. The second-order term is the square of an error of d: (SPREAD depth u)^2 Q.
A square that underflows has an error of at most the smallest float.

Norms. A square is rounded once, or five times if it is scaled first; an addition rounds once, and a
change of scale in its place multiplies by a rounded square: 4 roundings for each of depth(n). A
root halves the relative error and, with its scale, rounds twice more.

Logarithms of sums S of exponentials, where m is the greatest element. d = x - m is rounded, and so
is its product with log2 e: exp(d) has a relative error of 2 |d| and 8 more roundings, all in the
elements' type. So has each of up to 16 + 8 log2(n) additions within a batch and between parts of
columns; each of depth(n) merges in float64 multiplies by another exponential, whose |d| add up to
the element's own, and rounds 4 times. The error of the logarithm is the relative error of S. The
reference is exp of NumPy's long doubles, which have 64 bits, 11 more than any of the types.
"""

import math
from fractions import Fraction

import numpy as np
import reference
from exact_truths import exact_square, exact_sum, root
from reference import COMPLEX, EXACTLY, INTEGERS, REALS, UNDECIDED, Truth, elements, gamma, truth

COUNTS = ("any", "all", "count_nonzero")
PLACES = ("argmin", "argmax", "nanargmin", "nanargmax")
SPREADS = ("var", "std", "nanvar", "nanstd")
WITHOUT_NAN = {"nansum": "sum", "nanprod": "prod", "nanmin": "min", "nanmax": "max"}
WITHOUT_NAN |= {"nanmean": "mean"}
SCALARS = (*COUNTS, *PLACES, *SPREADS, "ptp", *WITHOUT_NAN, "norm", "logsumexp")
RECORDS = ("minmax", "describe")
NAMES = (*SCALARS, *RECORDS)
ORDERS = (None, 1, 2, np.inf, -np.inf, 0)
FIELDS = ("count", "nans", "min", "max", "mean", "var", "sum")

BOOL, INT64, WIDE = map(np.dtype, (np.bool_, np.int64, np.float64))
LEAST = Fraction(2) ** -(reference.EXPONENTS[WIDE] + reference.MANTISSA_BITS[WIDE])
GREATEST = Fraction(2) ** (reference.EXPONENTS[WIDE] + 1)
BATCH, SPREAD = 1024, 8


def _logaddexp(a, axis=None, out=None, keepdims=False):
    a = np.asarray(a)
    a = a.astype(WIDE) if a.dtype in INTEGERS else a
    if a.dtype.kind == "c":
        return np.log(np.exp(a).sum(axis, keepdims=keepdims), out=out)
    return np.logaddexp.reduce(a, axis=axis, out=out, keepdims=keepdims)


def numpys(name: str):
    """Return NumPy's function for a reduction of gred's."""
    return {"norm": np.linalg.norm, "logsumexp": _logaddexp}.get(name) or getattr(np, name)


def _alone(value, dtype: np.dtype) -> Truth:
    """Return a truth without error; a complex one has the value in both parts."""
    if dtype in COMPLEX:
        return Truth((value,) * 2, dtype, (EXACTLY,) * 2)
    return Truth(value, dtype, EXACTLY)


def _nothing(dtype: np.dtype) -> Truth:
    return _alone(reference.A_NAN if dtype in COMPLEX else math.nan, dtype)


def type_of(name: str, given, dtype=None) -> np.dtype:
    given = np.dtype(given).newbyteorder("=")
    if name in COUNTS:
        return INT64 if name == "count_nonzero" else BOOL
    if name in PLACES:
        return INT64
    if name in (*SPREADS, "norm"):
        values = reference.result_type("mean", given, dtype)
        return reference.PARTS.get(values, values)
    if name == "ptp":
        return given if dtype is None else np.dtype(dtype)
    if name == "logsumexp":
        return reference.result_type("mean", given, dtype)
    return reference.result_type(WITHOUT_NAN.get(name, name), given, dtype)


def depth(n: int) -> int:
    """Bound the number of operations that an element goes through."""
    return min(n, BATCH) + math.ceil(math.log2(max(n, 2)) ** 1.5)


def answer(name: str, array: np.ndarray, *, where=True, dtype=None, **options) -> Truth:
    if name in COUNTS:
        return _count(name, array, where)
    if name in PLACES:
        return _place(name, array, where)
    if name in WITHOUT_NAN:
        return _without_nan(name, array, where, dtype, **options)
    kind = reference.result_type("min" if name == "ptp" else "mean", array.dtype, dtype)
    x = elements(array, kind, where)
    if name.startswith("nan"):
        x, name = x[x == x], name.removeprefix("nan")
    if name == "std":
        return _root_of(_variance(x, **options))
    rules = {"ptp": _range, "norm": _norm, "var": _variance, "logsumexp": _exponentials}
    return rules[name](x, **options)


def record(array: np.ndarray, *, where=True, ddof=0) -> dict[str, Truth]:
    """Return the fields of a description, each as the reduction that skips NaN."""
    taken = np.asarray(array)[np.broadcast_to(where, np.shape(array))]
    taken = taken.astype(taken.dtype.newbyteorder("="))
    x = taken[taken == taken]  # without NaN
    mean, variance = truth("mean", x), answer("var", x, ddof=ddof)
    fields = {
        "count": Truth(x.size, INT64, EXACTLY),
        "nans": Truth(taken.size - x.size, INT64, EXACTLY),
        "mean": _merged_mean(mean, elements(x, mean.dtype)) if x.size else _nothing(mean.dtype),
        "var": variance,
        "std": _root_of_rounded(variance),
        "sum": truth("sum", x),
    }
    for name in ("min", "max"):
        if x.size:
            fields[name] = truth(name, x)
        elif x.dtype not in INTEGERS:
            fields[name] = _nothing(x.dtype)
    return fields


# ---- counts and places ----


def is_true(x: np.ndarray) -> np.ndarray:
    """Return which elements are nonzero; in a bool, any bit counts."""
    return np.array(x).view(np.uint8) != 0 if x.dtype == BOOL else np.array(x) != 0


def _count(name: str, array: np.ndarray, where) -> Truth:
    true = is_true(array)[np.broadcast_to(where, array.shape)]
    return Truth(getattr(np, name)(true), type_of(name, array.dtype), EXACTLY)


def _place(name: str, array: np.ndarray, where) -> Truth:
    """Return the position in C order of the whole array; NaN wins, or is skipped."""
    flat = np.array(array).ravel()
    flat = flat.astype(WIDE) if flat.dtype.newbyteorder("=") in REALS else flat
    shown = np.broadcast_to(where, array.shape).ravel()
    taken = np.flatnonzero(shown & (flat == flat) if name.startswith("nan") else shown)
    return Truth(taken[getattr(np, name.removeprefix("nan"))(flat[taken])], INT64, EXACTLY)


def has_no_place(name: str, x: np.ndarray, axis=None) -> bool:
    """Return whether a position of a number is requested, and some result has none."""
    return name.startswith("nanarg") and not (x == x).any(axis).all()


def _without_nan(name, array, where, dtype, initial=None) -> Truth:
    base = WITHOUT_NAN[name]
    taken = np.asarray(array)[np.broadcast_to(where, array.shape)]
    taken = taken.astype(taken.dtype.newbyteorder("="))
    taken = taken[taken == taken]  # without NaN
    if base in ("min", "max") and not taken.size and initial is None:
        return _nothing(type_of(name, array.dtype, dtype))
    return truth(base, taken, dtype, initial=initial)


def _range(x: np.ndarray) -> Truth:
    least, greatest = truth("min", x), truth("max", x)
    if x.dtype in COMPLEX:
        if least.value[0] is reference.A_NAN:
            return least
        parts = map(_difference, greatest.value, least.value)
        return Truth(tuple(parts), x.dtype, (EXACTLY,) * 2)
    is_float = x.dtype in REALS
    value = _difference(greatest.value, least.value) if is_float else np.ptp(x).item()
    return Truth(value, x.dtype, EXACTLY)


def _difference(a: float, b: float):
    finite = math.isfinite(a) and math.isfinite(b)
    return Fraction(a) - Fraction(b) if finite else a - b


# ---- variances ----


def _variance(x: np.ndarray, ddof=0) -> Truth:
    kind = type_of("var", x.dtype)
    n = x.size
    if not np.isfinite(x).all():
        return _alone(math.nan, kind)
    squares = exact_square(x)
    deviations = squares - sum(exact_sum(part) ** 2 for part in (x.real, x.imag)) / max(n, 1)
    rounding = SPREAD * depth(n) / Fraction(2) ** reference.MANTISSA_BITS[WIDE]
    error = rounding * root(deviations * squares) + rounding**2 * squares + 4 * n * LEAST
    if n <= 1 or squares == 0:
        error = EXACTLY
    elif 4 * n * (deviations + error) >= GREATEST or n * squares >= GREATEST**2:
        return _alone(UNDECIDED, kind)
    freedom = max(n - Fraction(float(ddof)), 0)
    if freedom:
        value, error = deviations / freedom, error / freedom
        return Truth(value, kind, error + (gamma(3, WIDE) * (value + error) if error else 0))
    if error == 0:
        return _alone(math.nan, kind)
    return Truth(math.inf if deviations > error else UNDECIDED, kind, EXACTLY)


def _root_of_rounded(variance: Truth) -> Truth:
    """Round the variance to its type before taking the root."""
    value, kind, error = variance
    if not isinstance(value, Fraction):
        return _root_of(variance)
    ends = reference.rounded(value - error, kind), reference.rounded(value + error, kind)
    if not isinstance(ends[1], Fraction):
        return _alone(UNDECIDED, kind)
    return _root_of(variance._replace(error=max(value - ends[0], ends[1] - value, error)))


def _root_of(variance: Truth) -> Truth:
    value, kind, error = variance
    if not isinstance(value, Fraction):
        return Truth(value, kind, error)
    middle, low, high = root(value), root(value - error), root(value + error)
    error = max(middle - low, high - middle)
    return Truth(middle, kind, error + gamma(2, WIDE) * high)


def _merged_mean(mean: Truth, x: np.ndarray) -> Truth:
    """Allow for a mean that is merged from means instead of a sum that is divided once."""
    if x.dtype in COMPLEX:
        both = zip(mean.value, mean.error, (x.real, x.imag), strict=True)
        parts = [_merged_mean(Truth(v, reference.PARTS[x.dtype], e), part) for v, e, part in both]
        return Truth(tuple(p.value for p in parts), x.dtype, tuple(p.error for p in parts))
    if x.dtype not in REALS or not isinstance(mean.value, Fraction) or not x.size:
        return mean
    magnitude = Fraction(math.fsum(np.abs(x.astype(WIDE)))) / x.size
    return mean._replace(error=mean.error + gamma(4 * depth(x.size), WIDE) * magnitude)


# ---- norms ----


def _norm(x: np.ndarray, ord=None) -> Truth:
    kind = type_of("norm", x.dtype)
    if ord == 0:
        return Truth(Fraction(int((x != 0).sum())), kind, EXACTLY)
    n, is_complex = x.size, x.dtype in COMPLEX
    wide = x.astype(np.complex128 if is_complex else WIDE)
    if ord != -np.inf and not np.isfinite(wide).all():
        # The result with infinities; complex ones with NaN, too, are undecided.
        value = UNDECIDED if is_complex and np.isinf(wide).any() else math.nan
        return Truth(value if np.isnan(wide).any() else math.inf, kind, EXACTLY)
    if ord in (None, 2):
        value = root(exact_square(x))
        exactly = n == 1 and not is_complex
        return Truth(value, kind, EXACTLY if exactly else gamma(4 * depth(n) + 8, WIDE) * value)
    magnitudes, relative = np.abs(wide), gamma(10, WIDE) if is_complex else EXACTLY
    if ord == 1 and np.isfinite(magnitudes).all():
        value = exact_sum(magnitudes)
        exactly = not relative and reference.sums_exactly(magnitudes.astype(x.dtype))
        error = EXACTLY if exactly else (relative + gamma(depth(n), WIDE)) * value
        return Truth(value, kind, error)
    value = float(magnitudes.max(initial=0) if ord > 0 else magnitudes.min())
    return Truth(value, kind, relative * Fraction(value) if math.isfinite(value) else EXACTLY)


# ---- exponentials ----


def _exponentials(x: np.ndarray) -> Truth:
    if x.dtype in COMPLEX:
        return _complex_exponentials(x)
    kind = x.dtype
    wide = x.astype(np.longdouble)
    greatest = wide.max(initial=-np.inf)
    if not np.isfinite(greatest):
        return Truth(float(greatest), kind, EXACTLY)
    value, relative = _logarithm(wide, greatest, reference.accumulator(kind))
    error = relative + gamma(2, reference.accumulator(kind)) * _above(value)
    return Truth(Fraction(*value.as_integer_ratio()), kind, error)


def _complex_exponentials(x: np.ndarray) -> Truth:
    """Infinities, and arguments near the branch cut, are undecided."""
    undecided = _alone(UNDECIDED, x.dtype)
    if not x.size:
        return Truth((-math.inf, 0.0), x.dtype, (EXACTLY,) * 2)
    if not np.isfinite(x).all():
        return undecided
    wide = x.astype(np.clongdouble)
    value, relative = _logarithm(wide, wide.real.max(), WIDE)
    if relative > 0.01 or math.pi - float(abs(value.imag)) < 2 * relative:
        return undecided
    error = 2 * (relative + gamma(2, WIDE) * _above(value))
    parts = (Fraction(*part.as_integer_ratio()) for part in (value.real, value.imag))
    return Truth(tuple(parts), x.dtype, (error,) * 2)


def _logarithm(wide: np.ndarray, greatest, kind: np.dtype) -> tuple:
    """Return the logarithm of the sum, and a bound for the sum's relative error."""
    away = wide - greatest
    terms = np.exp(away)
    bits, sizes, total = reference.MANTISSA_BITS, abs(terms), terms.sum()
    lost = (sizes * np.where(np.isfinite(away.real), 2 * abs(away.real), 0)).sum()
    error = 2.0 ** -bits[kind] * (lost + (24 + 8 * math.log2(wide.size + 1)) * sizes.sum())
    error += 2.0 ** -bits[WIDE] * (lost + 8 * depth(wide.size) * sizes.sum())
    return greatest + np.log(total), _above(error / abs(total))


def _above(x) -> Fraction:
    return Fraction(float(abs(x)))
