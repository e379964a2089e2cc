"""Checks that test_host_loops.py runs in a process with a chosen instruction set.

    export PYTHONPATH=$(printf %s: tests/*/)
    GRED_INSTRUCTIONS=avx2 python -c "from host_loops import *; report(CHECKS)"  # or some of them

Each check compares results with exact ones, unless `python -O` skips assertions. The output is the
instruction set and then, for each check, a digest of the bits of all results so far, which must be
the same for every instruction set and number of threads.
"""

import ctypes
import hashlib
import itertools
import math
import mmap
from collections.abc import Callable, Iterable, Iterator

import ml_dtypes
import numpy as np
from along import EXTREMES
from drawn import values
from reference import COMPLEX, EVERY_TYPE, HALVES, INTEGERS, PARTS, home
from reference import REALS as FLOATS
from samples import quietly, wrong_result
from thin import chosen
from truths import COUNTS, PLACES, WITHOUT_NAN, has_no_place

import gred

ORDERS = (1, 2, np.inf, -np.inf)
UNIT = {dtype: 2.0**-24 for dtype in FLOATS} | {np.dtype(np.float64): 2.0**-53}
CHUNK = 4096
# Lengths around a register, a step of all lanes, a run of steps, a block and a chunk.
AROUND = (128, 256, 512, 1024, 2048, CHUNK, 2 * CHUNK)
LENGTHS = (*range(1, 68), *(n + k for n in AROUND for k in (-1, 0, 1)), 21 * CHUNK + 17)
DIGEST = hashlib.sha256()  # of all results so far


def note(results):
    """Add the results' bits to the digest; all NaNs count as the same."""
    plain = home(np.array(results))
    if plain.dtype.kind in "fc":
        plain[plain != plain] = np.nan
    DIGEST.update(plain.tobytes())
    return results


def expect(results, right, *about) -> None:
    """Note results and compare them with the expected ones; `python -O` only notes them."""
    note(results)
    assert np.all(results == right), about


def random_elements(dtype: np.dtype, n: int, seed: int) -> np.ndarray:
    """Draw integers from the whole range of their type, or floats around 0 with a few zeros."""
    random = np.random.default_rng(seed)
    if dtype in INTEGERS:
        return values(dtype, "any bits", n, random)
    x = values(dtype, "moderate", n, random)
    x[random.integers(0, 9, n) == 0] = 0
    return x


# ---- expected results ----


def additions(n: int) -> int:
    """Bound the additions per element as for NumPy's pairwise sum: log2(n) + 12."""
    return 12 + math.ceil(math.log2(max(n, 2)))


def near(got, parts: np.ndarray, dtype: np.dtype, n: int | None = None) -> bool:
    """Return whether a sum of floats, rounded to `dtype`, is within the error bound."""
    parts = parts.astype(np.float64)
    exact, magnitude = math.fsum(parts), math.fsum(abs(parts))
    error = additions(n or parts.size) * UNIT[dtype] * magnitude
    low, high = (float(np.asarray(exact + e).astype(dtype)) for e in (-error, error))
    return low <= float(got) <= high


def check_sum(x: np.ndarray, name: str = "sum") -> None:
    """Check a sum of floats against a tighter bound than one for any order of additions."""
    if x.dtype in INTEGERS:
        return check(name, x)
    got = note(quietly(name, x))
    taken = x if name == "sum" else x[~np.isnan(x)]
    for part in ("real", "imag") if x.dtype in COMPLEX else ("real",):
        parts = getattr(taken, part)
        right = near(getattr(got, part), parts, PARTS.get(x.dtype, x.dtype), x.size)
        assert right or not np.isfinite(home(parts)).all(), (x.dtype, x.size, part)


def check(name: str, x: np.ndarray, **options) -> None:
    if has_no_place(name, x):
        return
    got = quietly(name, x, **options)
    for value in got if isinstance(got, tuple) else (got,):
        note(value)
    found = __debug__ and wrong_result(name, got, x, **options)
    assert not found, found


def check_norms(x: np.ndarray) -> None:
    for order in ORDERS:
        check("norm", x, ord=order)


def check_all(x: np.ndarray) -> None:
    """Check every reduction that is not a sum, and for floats also those that skip NaN."""
    numbers = () if x.dtype in INTEGERS else ("nanmin", "nanmax")
    for name in (*EXTREMES, "minmax", *COUNTS, *numbers, "var", "describe"):
        check(name, x)
    check_norms(x)
    if numbers:
        check_sum(x, "nansum")


def check_each(x: np.ndarray) -> None:
    check_sum(x)
    check("mean", x)
    check_all(x)


# ---- checks ----


def protect_around(begin: int, size: int, how: int = 0) -> None:
    """Set the protection of the pages before and after these bytes; 0 allows no access."""
    for page in (begin - mmap.PAGESIZE, begin + size):
        assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(page), mmap.PAGESIZE, how) == 0


def guarded(pages: int) -> np.ndarray:
    """Allocate memory between two inaccessible pages."""
    whole = np.frombuffer(mmap.mmap(-1, (pages + 2) * mmap.PAGESIZE), np.uint8)
    inside = whole[mmap.PAGESIZE : -mmap.PAGESIZE]
    protect_around(inside.ctypes.data, inside.size)
    return inside


def lengths() -> None:
    """Check lengths around the loops' boundaries, in arrays that begin or end at a guard page."""
    memory = guarded(343)
    for dtype, n in chosen(itertools.product(EVERY_TYPE, LENGTHS)):
        nbytes = n * dtype.itemsize
        for part in (memory[:nbytes], memory[memory.size - nbytes :]):
            x = part.view(dtype)
            x[:] = random_elements(dtype, n, n)
            check_each(x)
            for name in ("prod", "nanprod"):
                note(quietly(name, x))


def at_every_offset(n: int) -> Iterator[np.ndarray]:
    """Yield n elements of each type at the byte offsets within a register."""
    for dtype in EVERY_TYPE:
        memory = np.zeros(n * dtype.itemsize + 64, np.uint8)
        for offset in chosen(range(0, 64, 1 if dtype.itemsize <= 4 else 3), dtype):
            x = memory[offset : offset + n * dtype.itemsize].view(dtype)
            x[:] = random_elements(dtype, n, offset)
            yield x


def alignments() -> None:
    for x in at_every_offset(300):
        check_each(x)


def specials() -> None:
    """Check special values at every position in a register and around the end of a chunk."""
    for dtype in (*FLOATS, *COMPLEX):
        part = PARTS.get(dtype, dtype)
        least = float(ml_dtypes.finfo(part).smallest_subnormal)
        ends = (0, 1, CHUNK - 1, CHUNK, CHUNK + 139)
        places = [*((70, k) for k in range(70)), *((CHUNK + 140, k) for k in ends)]
        values = (np.nan, np.inf, -np.inf, 0.0, -0.0, least, -least)
        for (n, place), value, base in chosen(itertools.product(places, values, (-1, 0)), dtype):
            x = np.full(n, base * (1 - 2j) if dtype in COMPLEX else base).astype(dtype)
            x.view(part)[place] = value
            check_all(x)
            check("sum", x)


def scales() -> None:
    """Check norms of numbers whose squares are outside float64's range."""
    many, one = (0.0, 1.0, 1e-300, 1e300), (1e-320, 1e-200, 1e-145, 1.0, 1e140, 1e150, 1e290)
    every = list(itertools.product((1, 40, CHUNK, CHUNK + 41), many, one))
    for dtype in (FLOATS[3], COMPLEX[1]):
        for n, usual, special in chosen(every, dtype):
            for place, other in itertools.product({0, n // 2, n - 1}, (0, -special / 3)):
                x = np.full(n, usual, dtype)
                x[place] = special + 1j * other if dtype in COMPLEX else special
                check_norms(x)


def ends() -> None:
    """Check integer extremes, in enough elements to overflow a narrow accumulator."""
    for dtype in INTEGERS[1:]:
        info = np.iinfo(dtype)
        for n in chosen((1, 127, 128, CHUNK - 1, CHUNK, 3 * CHUNK + 5), dtype):
            for value in (info.min, info.max, info.max // 2 + 1):
                check_each(np.full(n, value, dtype))
            check_each(np.where(np.arange(n) % 2, dtype.type(info.max), dtype.type(info.min)))
    for n, byte in itertools.product((CHUNK, 9 * CHUNK + 1), (1, 2, 255)):
        true = np.full(n, byte, np.uint8).view(np.bool_)
        rights = {"sum": n, "count_nonzero": n, "var": 0, "min": 1, "max": 1, "all": 1, "any": 1}
        for name, right in rights.items():
            expect(quietly(name, true), right)
        odd = np.zeros(n, np.uint8)
        odd[5::7] = np.arange(odd[5::7].size) % 255 + 1
        expect(gred.argmax(odd.view(np.bool_)), 5)
        expect(gred.argmin(odd.view(np.bool_)), 0)


def halves() -> None:
    """Check every 16-bit float."""
    for dtype in HALVES:
        every = np.arange(2**16, dtype=np.uint16).view(dtype)
        sums = [gred.sum(every[k : k + 1], dtype=np.float32) for k in range(every.size)]
        np.testing.assert_array_equal(np.array(sums), every.astype(np.float32))
        for start, name in itertools.product(range(0, 2**16, 997), (*EXTREMES, *COUNTS)):
            check(name, every[start : start + 997])


def settled() -> None:
    """Check reductions that stop early, with the deciding element at various positions."""
    n = 70 * CHUNK + 3
    places = [0, 1, 63, 64, CHUNK - 1, CHUNK, 16 * CHUNK, n // 2, n - CHUNK, n - 1]
    for dtype, others, place in chosen(itertools.product(EVERY_TYPE, (0, 1), (*places, n))):
        x = np.full(n, others, dtype)
        x[place : place + 1] = 1 - others
        for name in ("any", "all", *(EXTREMES if dtype == np.bool_ else ())):
            check(name, x)
        for name in ("sum", "prod") if dtype == np.bool_ else ():
            check(name, x, dtype=dtype)


def first_of_equals() -> None:
    """Check positions of equal extremes, of both zeros and of several NaNs, near and far apart."""
    n, random = 40 * CHUNK + 77, np.random.default_rng(3)
    for dtype, _ in chosen(itertools.product((*INTEGERS[1:], *FLOATS), range(30))):
        x = np.full(n, 1, dtype)
        places = np.sort(random.integers(0, n, 4))
        for name, value in (("argmin", 0), ("argmax", 2)):
            x[places] = value
            check(name, x)
        for zeros in ([0.0, -0.0] * 2, [-0.0, 0.0] * 2) if dtype in FLOATS else ():
            x[:] = -1
            x[places] = zeros
            check("argmax", x)
            for name in ("max", "nanmax"):
                expect(np.signbit(note(quietly(name, x))), np.signbit(zeros[0]))
            x[places[1:]] = np.nan
            for name in PLACES:
                check(name, x)


def accuracy() -> None:
    """Check sums whose rounding errors all have the same sign, so that the order matters."""
    for dtype in FLOATS[2:]:
        step = 2 * UNIT[dtype]
        for n in chosen((100, CHUNK, 2**17 + 5, 2**19), dtype):
            rises = np.geomspace(1, 1e6, n)
            many = (np.full(n, value) for value in (0.1, 1 + step, 1 / 3))
            for x in (*many, np.where(np.arange(n) % 2, 1, step / 2), rises, rises[::-1]):
                check_sum(x.astype(dtype))


def pairwise() -> None:
    """Compare the worst cases of NumPy's pairwise sum and of gred's: gred's error is no larger."""
    for dtype, n in itertools.product(FLOATS[2:], (128, CHUNK, 2**17)):
        lost = UNIT[dtype]  # rounded away when it is added to 1
        # NumPy has 8 accumulators per 128 elements, gred has 128 bytes of them per 1024 bytes.
        worst_of = {"NumPy": (128, 8), "gred": (1024 // dtype.itemsize, 128 // dtype.itemsize)}
        errors = {}
        for name, (run, ones) in worst_of.items():
            x = np.where(np.arange(n) % run < ones, 1, lost).astype(dtype)
            count = int(np.count_nonzero(x == 1))
            sums, small = (note(gred.sum(x)), x.sum()), lost * (n - count)
            ours, numpys = (abs(float(total - dtype.type(count)) - small) for total in sums)
            assert name == "gred" or ours <= numpys, (dtype, n, ours, numpys)
            errors[name] = (ours if name == "gred" else numpys) / count
        assert errors["gred"] <= errors["NumPy"], (dtype, n, errors)


def products() -> None:
    for dtype in (*FLOATS, *COMPLEX):
        for n in chosen(LENGTHS, dtype):
            x = np.ones(n, dtype)
            x[:: max(n // 7, 1)] = 2j if dtype in COMPLEX else 2
            x[n // 2] = -1
            check("prod", x)
            hidden = np.flatnonzero(x == 1)[::5]
            x[hidden] = np.nan
            if dtype in COMPLEX:
                x[hidden], x[hidden[::2]] = complex(np.nan, 1), complex(1, np.nan)
            check("nanprod", x)
        check("nanprod", np.full(50, np.nan, dtype))
    for dtype in INTEGERS:
        for n in LENGTHS if dtype == np.bool_ else chosen(LENGTHS, dtype):
            x = random_elements(dtype, n, n) | dtype.type(1)
            check("prod", x)
            x[n // 2] = 0
            check("prod", x)
    for dtype in INTEGERS[1:]:  # extremes, which a product in twice the bits has to hold
        ends = (np.iinfo(dtype).min, np.iinfo(dtype).max)
        for value, n in itertools.product(ends, (1, 2, 3, 4, 7, 8)):
            x = np.ones(200, dtype)
            x[-n:] = value
            check("prod", x)


def bits() -> None:
    """Note sums whose last bits depend on the order of additions."""
    for dtype, n in itertools.product(EVERY_TYPE, (1000, 3 * CHUNK + 11, 100 * CHUNK + 1)):
        x = random_elements(dtype, n, n)
        numbers = () if dtype in INTEGERS else WITHOUT_NAN
        for name in ("sum", "mean", "var", "std", *EXTREMES, *COUNTS, *numbers):
            note(quietly(name, x))
        for value in (*gred.describe(x), *(gred.norm(x, ord=order) for order in ORDERS)):
            note(value)
        note(gred.dot(x, x[::-1].copy()))
        note(gred.vecdot(x.reshape(-1, 1).repeat(7, 1), x[:, None], axis=0))


CHECKS = (lengths, alignments, specials, scales, ends, halves, settled, first_of_equals)
CHECKS += (accuracy, pairwise, products, bits)


def report(checks: Iterable[Callable[[], None]]) -> None:
    print(gred.explain(np.ones(3)).array.split(" by ")[1].split()[0])
    for check in checks:
        check()
        print(check.__name__, DIGEST.hexdigest(), flush=True)
