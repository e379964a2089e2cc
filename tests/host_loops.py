"""What test_host_loops.py checks, in a process whose loops are of instructions that it asks for.

    GRED_INSTRUCTIONS=avx2 python tests/host_loops.py [lengths ...]

Each check compares with what is exactly right, unless `python -O` leaves that out. Printed are the
instructions and then, a line a check, a digest of all results' bits, which are to be the same for
all instructions and numbers of threads.
"""

import ctypes
import hashlib
import itertools
import math
import mmap
import sys
import warnings
from collections.abc import Callable, Sequence

import ml_dtypes
import numpy as np
from thin import chosen

import gred

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
INTEGERS = tuple(map(np.dtype, "?bhiqBHIQ"))
HALVES = (np.dtype(np.float16), BFLOAT16)
FLOATS = (*HALVES, np.dtype(np.float32), np.dtype(np.float64))
COMPLEX = (np.dtype(np.complex64), np.dtype(np.complex128))
EVERY_TYPE = (*INTEGERS, *FLOATS, *COMPLEX)
PLACES = ("argmin", "argmax")
EXTREMES = ("min", "max", *PLACES)
COUNTS = ("any", "all", "count_nonzero")
NANS = ("nansum", "nanprod", "nanmin", "nanmax", "nanmean")
ORDERS = (1, 2, np.inf, -np.inf)
UNIT = {dtype: 2.0**-24 for dtype in FLOATS} | {np.dtype(np.float64): 2.0**-53}
CHUNK = 4096
# What rounding a result to its type may change it by, beside what it has from sums in float64.
ROUNDING = {HALVES[0]: 2.0**-11, BFLOAT16: 2.0**-8, FLOATS[2]: 2.0**-24, COMPLEX[0]: 2.0**-24}
WIDE_ERROR = 2.0**-44
LEAST = {HALVES[0]: 2.0**-24, BFLOAT16: 2.0**-133, FLOATS[2]: 2.0**-149, FLOATS[3]: 2.0**-1074}
# Around every register, step of lanes, run of steps, block and chunk.
AROUND = (128, 256, 512, 1024, 2048, CHUNK, 2 * CHUNK)
LENGTHS = (*range(1, 68), *(n + k for n in AROUND for k in (-1, 0, 1)), 21 * CHUNK + 17)
DIGEST = hashlib.sha256()  # of all so far


def note(result: np.generic) -> np.generic:
    """Put a result's bits into the digest; all NaNs are one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        DIGEST.update(b"nan" if np.isnan(np.abs(result)).any() else np.asarray(result).tobytes())
    return result


def random_elements(dtype: np.dtype, n: int, seed: int) -> np.ndarray:
    """Draw elements: integers from all of their type, floats around 0, with a few zeros."""
    random = np.random.default_rng(seed)
    if dtype == np.bool_:
        return random.integers(0, 2, n).astype(bool)
    if dtype in INTEGERS:
        return random.integers(0, 256, n * dtype.itemsize, np.uint8).view(dtype)
    x = random.normal(size=n)
    if dtype in COMPLEX:
        x = x + 1j * random.normal(size=n)
    x[random.integers(0, 9, n) == 0] = 0
    return x.astype(dtype)


# ---- what is right ----


def plain(x: np.ndarray) -> np.ndarray:
    """Floats that NumPy is at home with."""
    return x.astype(np.float64) if x.dtype in FLOATS else x


def wrapped(total: int, dtype: np.dtype) -> int:
    """Cut a sum to the 64 bits that NumPy has for it."""
    total %= 2**64
    return total - 2**64 if dtype.kind != "u" and total >= 2**63 else total


def additions(n: int, dtype: np.dtype) -> int:
    """Bound the additions that an element takes part in, by NumPy's: log2 n and a dozen."""
    return 12 + math.ceil(math.log2(max(n, 2)))


def near(got, exact: float, magnitude: float, n: int, dtype: np.dtype) -> bool:
    """Tell whether a sum of floats, rounded to their type at last, is as right as it has to be."""
    error = additions(n, dtype) * UNIT[dtype] * magnitude
    low, high = (np.asarray(exact + e).astype(dtype) for e in (-error, error))
    return bool(low <= got <= high)


def check_sum(x: np.ndarray) -> None:
    got = note(gred.sum(x))
    if x.dtype in INTEGERS:
        assert int(got) == wrapped(sum(x.tolist()), x.dtype), x.dtype
    elif x.dtype in COMPLEX:
        part = np.dtype(np.float32 if x.dtype == COMPLEX[0] else np.float64)
        for name in ("real", "imag"):
            parts = getattr(x, name).astype(np.float64)
            assert near(getattr(got, name), math.fsum(parts), math.fsum(abs(parts)), x.size, part)
    else:
        parts = plain(x)
        assert near(got, math.fsum(parts), math.fsum(abs(parts)), x.size, x.dtype), x.dtype


def check_mean(x: np.ndarray) -> None:
    got = note(gred.mean(x))
    if __debug__ and x.dtype not in COMPLEX:
        exact = sum(x.tolist()) / x.size if x.dtype in INTEGERS else math.fsum(plain(x)) / x.size
        scale = math.fsum(abs(plain(x).astype(np.float64))) / x.size
        unit = max(UNIT.get(x.dtype, 2.0**-53), {BFLOAT16: 2.0**-8}.get(x.dtype, 0))
        unit = max(unit, 2.0**-11 if x.dtype == np.float16 else 0)
        assert abs(float(got) - exact) <= (additions(x.size, x.dtype) + 2) * unit * scale, x.dtype


def check_variance(x: np.ndarray) -> None:
    check_variance_is(note(gred.var(x)), x)


def check_variance_is(got, x: np.ndarray) -> None:
    if not __debug__:
        return
    wide = x.astype(np.complex128 if x.dtype in COMPLEX else np.longdouble)
    exact = float((abs(wide - wide.mean()) ** 2).mean())
    mean = float(abs(wide.mean()))
    error = 2 * (ROUNDING.get(x.dtype, 0) + 2.0**-48) * exact + 2.0**-46 * mean**2
    error += LEAST.get(x.dtype, 0)
    assert abs(float(got) - exact) <= error, (x.dtype, x.size, got, exact)


def check_extremes(x: np.ndarray) -> None:
    for name in EXTREMES:
        got = note(getattr(gred, name)(x))
        expected = getattr(np, name)(plain(x))
        assert got == expected or (np.isnan(got) and np.isnan(expected)), (name, x.dtype, x.size)
    least, greatest = gred.minmax(x)
    ends = note(gred.min(x)), note(gred.max(x))
    note(least)
    note(greatest)
    assert least == ends[0] or np.isnan(least)
    assert greatest == ends[1] or np.isnan(greatest)


def check_counts(x: np.ndarray) -> None:
    count = int(np.count_nonzero(plain(x)))
    got = note(gred.count_nonzero(x))
    assert got == count, (x.dtype, x.size)
    got = note(gred.any(x))
    assert got == (count > 0), (x.dtype, x.size)
    got = note(gred.all(x))
    assert got == (count == x.size), (x.dtype, x.size)


def magnitudes(x: np.ndarray) -> list[float]:
    """Measure elements, or complex ones; without overflow, and infinite if a part is."""
    if x.dtype in COMPLEX:
        return [math.hypot(z.real, z.imag) for z in x.tolist()]
    return np.abs(x.astype(np.float64)).tolist()


def check_norms(x: np.ndarray) -> None:
    with np.errstate(over="ignore"):
        norms = {order: note(gred.norm(x, ord=order)) for order in ORDERS}
    if not __debug__:
        return
    sizes = magnitudes(x)
    exact = {1: math.fsum(sizes), 2: math.hypot(*sizes), np.inf: max(sizes), -np.inf: min(sizes)}
    if any(map(math.isnan, sizes)):
        exact = dict.fromkeys(exact, math.nan)
    for order, expected in exact.items():
        got = float(norms[order])
        with np.errstate(over="ignore"):
            rounded = float(np.float64(expected).astype(norms[order].dtype))
        same = got == rounded or (math.isnan(got) and math.isnan(expected))
        error = ROUNDING.get(x.dtype, 0) + WIDE_ERROR
        assert same or math.isclose(got, expected, rel_tol=error), (x.dtype, x.size, order)


def check_summary(x: np.ndarray) -> None:
    """Hold a summary against the numbers alone."""
    got, numbers = gred.describe(x), x[~np.isnan(x)]
    for value in got:
        note(value)
    if not __debug__:
        return
    assert (got.count, got.nans) == (numbers.size, x.size - numbers.size)
    if not numbers.size:
        assert np.isnan([got.min, got.max]).all()
        return
    ends = plain(numbers).min(), plain(numbers).max()
    assert (got.min, got.max) == ends, (x.dtype, x.size)
    if x.dtype in INTEGERS:
        assert int(got.sum) == wrapped(sum(numbers.tolist()), x.dtype), x.dtype
    if not np.isfinite(plain(numbers)).all():
        return
    check_variance_is(got.var, numbers)
    wide = numbers.astype(np.complex128)
    exact = complex(math.fsum(wide.real), math.fsum(wide.imag)) / numbers.size
    scale = math.fsum(magnitudes(numbers)) / numbers.size
    error = (ROUNDING.get(x.dtype, 0) + WIDE_ERROR) * scale + LEAST.get(x.dtype, 0)
    assert abs(complex(got.mean) - exact) <= 2 * error, (x.dtype, x.size)
    if x.dtype not in INTEGERS:
        assert abs(complex(got.sum) - exact * numbers.size) <= 2 * error * numbers.size, x.dtype


def check_numbers(x: np.ndarray) -> None:
    """Leave NaN out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        numbers = plain(x)[~np.isnan(plain(x))]
        for name in ("nanmin", "nanmax"):
            got = note(getattr(gred, name)(x))
            assert np.isnan(got) if not numbers.size else got == getattr(numbers, name[3:])(), name
        got = note(gred.nansum(x))
    if not np.isfinite(numbers).all():
        return
    part = {COMPLEX[0]: FLOATS[2], COMPLEX[1]: FLOATS[3]}.get(x.dtype, x.dtype)
    for name in ("real", "imag") if x.dtype in COMPLEX else ("real",):
        parts = getattr(numbers, name).astype(np.float64)
        right = near(getattr(got, name), math.fsum(parts), math.fsum(abs(parts)), x.size, part)
        assert right, (x.dtype, x.size, name)


def check_all(x: np.ndarray) -> None:
    check_sum(x)
    check_mean(x)
    check_variance(x)
    check_extremes(x)
    check_counts(x)
    check_norms(x)
    check_summary(x)
    if x.dtype not in INTEGERS:
        check_numbers(x)


# ---- checks ----


def lengths() -> None:
    """Every length around what loops go by."""
    for dtype, n in chosen(itertools.product(EVERY_TYPE, LENGTHS)):
        check_all(random_elements(dtype, n, n))


def alignments() -> None:
    """Every offset of a register, in elements; and in bytes."""
    for dtype in EVERY_TYPE:
        memory = np.zeros(700 * dtype.itemsize + 64, np.uint8)
        for offset in chosen(range(0, 64, 1 if dtype.itemsize <= 4 else 3), dtype):
            view = memory[offset : offset + 300 * dtype.itemsize].view(dtype)
            view[:] = random_elements(dtype, 300, offset)
            check_all(view)


class Guarded:
    """Memory between two pages that nobody may touch."""

    def __init__(self, pages: int):
        size, page = (pages + 2) * mmap.PAGESIZE, mmap.PAGESIZE
        self.map = mmap.mmap(-1, size)
        whole = np.frombuffer(self.map, np.uint8)
        libc = ctypes.CDLL(None, use_errno=True)
        start = whole.ctypes.data
        for address in (start, start + size - page):
            assert libc.mprotect(ctypes.c_void_p(address), page, 0) == 0
        self.inside = whole[page : size - page]


def guards() -> None:
    """Arrays that begin or end where memory does."""
    inside = Guarded(18).inside
    for dtype in EVERY_TYPE:
        fitting = [n for n in LENGTHS if n * dtype.itemsize <= inside.size]
        for n in chosen(fitting, dtype):
            nbytes = n * dtype.itemsize
            for view in (inside[:nbytes], inside[inside.size - nbytes :]):
                x = view.view(dtype)
                x[:] = random_elements(dtype, n, n)
                check_extremes(x)
                check_counts(x)
                check_sum(x)
                check_norms(x)
                check_summary(x)
                note(gred.prod(x))
                if dtype not in INTEGERS:
                    check_numbers(x)
                    note(gred.nanprod(x))


def specials() -> None:
    """What is special, at every place of a register and around the end of a chunk."""
    near = [(70, place) for place in range(70)]
    far = [(CHUNK + 140, place) for place in (0, 1, CHUNK - 1, CHUNK, CHUNK + 139)]
    for dtype in FLOATS:
        tiny = LEAST[dtype]
        values = (np.nan, np.inf, -np.inf, 0.0, -0.0, tiny, -tiny)
        every = itertools.product(near + far, values, (-1.0, 0.0))
        for (n, place), value, base in chosen(every, dtype):
            x = np.full(n, base, dtype)
            x[place] = value
            check_special(x, value, base)


def complex_specials() -> None:
    """The same in either part of a complex number."""
    near = [(40, part) for part in range(2 * 40)]
    far = [(CHUNK + 70, 2 * place) for place in (0, CHUNK - 1, CHUNK, CHUNK + 69)]
    parts = [*near, *far, *((n, part + 1) for n, part in far)]
    values = (np.nan, np.inf, -np.inf, -0.0, 1e-40)
    for dtype, (n, part), value in chosen(itertools.product(COMPLEX, parts, values)):
        x = np.full(n, -1 + 2j, dtype)
        x.view(x.real.dtype)[part] = value
        check_counts(x)
        check_norms(x)
        check_summary(x)
        check_numbers_at(x)
        check_complex_extremes(x)


def check_complex_extremes(x: np.ndarray) -> None:
    for name in EXTREMES:
        got, expected = note(getattr(gred, name)(x)), getattr(np, name)(x)
        assert got == expected or (np.isnan(got) and np.isnan(expected)), (name, x.dtype, x.size)


def scales() -> None:
    """Norms of numbers whose squares are not in float64's range, alone and beside others."""
    lengths = (1, 40, CHUNK, CHUNK + 41)
    many = (0.0, 1.0, 1e-300, 1e300)
    one = (1e-320, 1e-200, 1e-145, 1.0, 1e140, 1e150, 1e290)
    for dtype in (FLOATS[3], COMPLEX[1]):
        for n, usual, special in chosen(itertools.product(lengths, many, one), dtype):
            for place in {0, n // 2, n - 1}:
                x = np.full(n, usual, dtype)
                x[place] = special
                check_norms(x)
                if dtype in COMPLEX:
                    x.imag[place] = -special / 3
                    check_norms(x)


def check_special(x: np.ndarray, value: float, base: float) -> None:
    check_extremes(x)
    check_counts(x)
    check_numbers_at(x)
    check_norms(x)
    check_summary(x)
    got = float(note(gred.sum(x)))
    expected = value + base * (x.size - 1)
    same = got == expected or (math.isnan(got) and math.isnan(expected))
    assert same or math.isclose(got, expected, rel_tol=2.0**-7), (x.dtype, value, base)


def check_numbers_at(x: np.ndarray) -> None:
    if np.isinf(plain(x)).any():
        got = note(gred.nanmax(x))
        assert got == np.nanmax(plain(x))
        got = note(gred.nanmin(x))
        assert got == np.nanmin(plain(x))
    else:
        check_numbers(x)


def ends() -> None:
    """The ends of integers, so many of them that sums of few bits overflow soon, if they do."""
    for dtype in INTEGERS[1:]:
        info = np.iinfo(dtype)
        for n in chosen((1, 127, 128, CHUNK - 1, CHUNK, 3 * CHUNK + 5), dtype):
            for value in (info.min, info.max, info.max // 2 + 1):
                check_all(np.full(n, value, dtype))
                mixed = np.full(n, info.max, dtype)
                mixed[::2] = info.min
                check_all(mixed)
    for n in (CHUNK, 9 * CHUNK + 1):
        for byte in (1, 2, 255):
            truth = np.full(n, byte, np.uint8).view(np.bool_)
            got = note(gred.sum(truth))
            assert got == n
            got = note(gred.count_nonzero(truth))
            assert got == n
            for name in ("min", "max", "all", "any"):
                got = note(getattr(gred, name)(truth))
                assert got
            got = note(gred.var(truth))
            assert got == 0
        odd = np.zeros(n, np.uint8)
        odd[5::7] = np.arange(odd[5::7].size) % 255 + 1
        got = note(gred.argmax(odd.view(np.bool_)))
        assert got == 5
        got = note(gred.argmin(odd.view(np.bool_)))
        assert got == 0


def halves() -> None:
    """Every float of 16 bits."""
    for dtype in HALVES:
        every = np.arange(2**16, dtype=np.uint16).view(dtype)
        sums = [gred.sum(every[k : k + 1], dtype=np.float32) for k in range(every.size)]
        np.testing.assert_array_equal(np.array(sums), every.astype(np.float32))
        for start in range(0, 2**16, 997):
            x = every[start : start + 997]
            with np.errstate(all="ignore"):
                check_extremes(x)
                check_counts(x)


def settled() -> None:
    """What stops early, stopped by one element wherever it is."""
    n = 70 * CHUNK + 3
    places = [0, 1, 63, 64, CHUNK - 1, CHUNK, 16 * CHUNK, n // 2, n - CHUNK, n - 1]
    for dtype in EVERY_TYPE:
        zeros, ones = np.zeros(n, dtype), np.ones(n, dtype)
        for place in places:
            zeros[place], ones[place] = 1, 0
            got = note(gred.any(zeros))
            assert got, (dtype, place)
            got = note(gred.all(ones))
            assert not got, (dtype, place)
            if dtype == np.bool_:
                got = note(gred.max(zeros))
                assert got
                got = note(gred.min(ones))
                assert not got
                got = note(gred.argmax(zeros)), note(gred.argmin(ones))
                assert got == (place, place)
                got = note(gred.sum(zeros, dtype=bool))
                assert got
                got = note(gred.prod(ones, dtype=bool))
                assert not got
            zeros[place], ones[place] = 0, 1
        got = note(gred.any(zeros))
        assert not got
        got = note(gred.all(ones))
        assert got


def first_of_equals() -> None:
    """Positions of equals, of both zeros and of several NaNs, near and far from each other."""
    n = 40 * CHUNK + 77
    random = np.random.default_rng(3)
    for dtype in (*INTEGERS[1:], *FLOATS):
        for _ in range(30):
            x = np.full(n, 1, dtype)
            places = np.sort(random.integers(0, n, 4))
            x[places] = 0
            got = note(gred.argmin(x))
            assert got == places[0]
            x[places] = 2
            got = note(gred.argmax(x))
            assert got == places[0]
            if dtype in FLOATS:
                x[:] = -1
                for zeros in ([0.0, -0.0, 0.0, -0.0], [-0.0, 0.0, -0.0, 0.0]):
                    x[places] = zeros
                    got = note(gred.argmax(x))
                    assert got == places[0]
                    for got in (note(gred.max(x)), note(gred.nanmax(x))):
                        assert np.signbit(got) == np.signbit(zeros[0])
                x[places[1:]] = np.nan
                got = note(gred.argmax(x)), note(gred.argmin(x))
                assert got == (places[1], places[1])


def accuracy() -> None:
    """Sums whose roundings all go the same way, which is where an order of additions shows."""
    for dtype in (np.dtype(np.float32), np.dtype(np.float64)):
        step = 2 * UNIT[dtype]
        for n in chosen((100, CHUNK, 2**17 + 5, 2**19), dtype):
            for x in (
                np.full(n, 0.1, dtype),
                np.full(n, 1 + step, dtype),
                np.full(n, 1 / 3, dtype),
                np.where(np.arange(n) % 2, 1, step / 2).astype(dtype),
                np.geomspace(1, 1e6, n).astype(dtype),
                np.geomspace(1e6, 1, n).astype(dtype),
            ):
                check_sum(x)


def pairwise() -> None:
    """What NumPy's pairwise sum is worst at, and what these are: ours err less at their worst."""
    for dtype in (np.dtype(np.float32), np.dtype(np.float64)):
        lost = UNIT[dtype]  # rounded away where it is added to 1
        for n in (128, CHUNK, 2**17):
            # NumPy adds to the first 8 of 128, gred to the first 128 bytes of 8 times as many.
            worst_of = {"NumPy": (128, 8), "gred": (1024 // dtype.itemsize, 128 // dtype.itemsize)}
            errors = {}
            for name, (run, ones) in worst_of.items():
                x = np.where(np.arange(n) % run < ones, 1, lost).astype(dtype)
                count = int(np.count_nonzero(x == 1))
                rest = lost * (n - count)
                ours, numpys = (
                    abs(float(s - dtype.type(count)) - rest) for s in (note(gred.sum(x)), x.sum())
                )
                if name == "NumPy":
                    assert ours <= numpys, (dtype, n, ours, numpys)
                errors[name] = (ours if name == "gred" else numpys) / count
            assert errors["gred"] <= errors["NumPy"], (dtype, n, errors)


def products() -> None:
    for dtype in FLOATS:
        for n in chosen(LENGTHS, dtype):
            x = np.ones(n, dtype)
            x[:: max(n // 7, 1)] = 2
            x[n // 2] = -1
            exact = np.prod(plain(x)).astype(dtype)
            got = note(gred.prod(x))
            assert got == exact, (dtype, n)
            x[np.flatnonzero(x == 1)[::5]] = np.nan
            got = note(gred.nanprod(x))
            assert got == exact, (dtype, n)
    for dtype in COMPLEX:
        for n in chosen(LENGTHS, dtype):
            x = np.ones(n, dtype)
            x[:: max(n // 7, 1)] = 2j
            x[n // 2] = -1
            exact = np.prod(x.astype(np.complex128))
            got = note(gred.prod(x))
            assert got == exact, (dtype, n)
            for k, place in enumerate(np.flatnonzero(x == 1)[::5]):
                x[place] = complex(np.nan, 1) if k % 2 else complex(1, np.nan)
            got = note(gred.nanprod(x))
            assert got == exact, (dtype, n)
        got = note(gred.nanprod(np.full(50, np.nan, dtype)))
        assert got == 1
    for dtype in INTEGERS[1:]:
        for n in chosen(LENGTHS, dtype):
            check_product(random_elements(dtype, n, n) | dtype.type(1))
        for value in (np.iinfo(dtype).min, np.iinfo(dtype).max):
            for n in (1, 2, 3, 4, 7, 8):  # what a product in twice the bits has to hold
                x = np.ones(200, dtype)
                x[-n:] = value
                check_product(x)
    for n in LENGTHS:
        truth = np.ones(n, np.bool_)
        got = note(gred.prod(truth))
        assert got == 1
        truth[n // 2] = False
        got = note(gred.prod(truth))
        assert got == 0


def check_product(x: np.ndarray) -> None:
    exact = 1
    for element in x.tolist():
        exact = exact * element % 2**64
    got = note(gred.prod(x))
    assert int(got) == wrapped(exact, x.dtype), (x.dtype, x.size)


def bits() -> None:
    """Sums whose last bits depend on the order."""
    for dtype in EVERY_TYPE:
        for n in (1000, 3 * CHUNK + 11, 100 * CHUNK + 1):
            x = random_elements(dtype, n, n)
            for name in ("sum", "mean", "var", "std", *EXTREMES, *COUNTS):
                note(getattr(gred, name)(x))
            for order in ORDERS:
                note(gred.norm(x, ord=order))
            for value in gred.describe(x):
                note(value)
            if dtype not in INTEGERS:
                for name in NANS:
                    note(getattr(gred, name)(x))


CHECKS: dict[str, Callable[[], None]] = {
    check.__name__: check
    for check in (
        lengths,
        alignments,
        guards,
        specials,
        complex_specials,
        scales,
        ends,
        halves,
        settled,
        first_of_equals,
        accuracy,
        pairwise,
        products,
        bits,
    )
}


def report(checks: dict[str, Callable[[], None]], names: Sequence[str]) -> None:
    """Run some checks, or all."""
    print(gred.explain(np.ones(3)).array.split(" by ")[1].split()[0])
    for name in names or checks:
        checks[name]()
        print(name, DIGEST.hexdigest(), flush=True)


if __name__ == "__main__":
    report(CHECKS, sys.argv[1:])
