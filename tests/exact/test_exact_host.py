"""`method="exact"` on the host: loops of any instructions and lanes, and what others do to them."""

import ctypes
import itertools
import math
import os
import platform
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from exact_truths import dot, exact_products, exact_sum, same, truth
from exactly import NARROW, WIDE, exact
from processes import printed
from reference import REALS

import gred

C_COMPILER = os.environ.get("CC", "gcc").split()


def spread(dtype, n, seed=1):
    """Draw any bits but those of what is not finite."""
    bits = np.dtype(f"u{dtype.itemsize}")
    random = np.random.default_rng(seed)
    x = random.integers(0, np.iinfo(bits).max, n, bits, endpoint=True).view(dtype)
    return np.where(np.isfinite(x), x, dtype.type(1))


# Numbers of any exponents are added by a large superaccumulator, which several threads may have.


def any_exponents():
    lengths = itertools.product((NARROW, WIDE), (16383, 16384, 70_001))
    for dtype, n in (*lengths, (WIDE, 1_500_001)):
        x = spread(dtype, n)
        yield x
        tiny = np.arange(n) % 3 == 0
        x[tiny] = np.copysign(np.finfo(dtype).smallest_subnormal * 5, x[tiny])
        x[1::5] = 0
        yield x[::-1]


def many_of_an_exponent():
    """More than a place takes before it is handed over, all of the largest significand."""
    for dtype in (NARROW, WIDE):
        x = spread(dtype, 60_000)
        for value in (1, -1, np.finfo(dtype).max, -np.finfo(dtype).tiny):
            x[10_000:40_000] = np.nextafter(dtype.type(value), dtype.type(0))
            yield x


def rising_chunks():
    """Windows move up, down, and beyond what they can be moved to."""
    ends = [-1022, -1074, 900, 1013, 1014, 1023, -1074]
    for exponents in ([0, 300, -300, 0], ends, [1023, -1074]):
        chunks = [np.ldexp(np.random.default_rng(1).random(4096) - 0.5, e) for e in exponents]
        yield np.concatenate(chunks)


def near_and_far():
    """Windows are tried again after numbers that are too far apart."""
    near = np.random.default_rng(2).normal(size=50_000)
    yield np.concatenate([spread(WIDE, 30_000), near, spread(WIDE, 9000), near])


def full_lanes():
    """As many of the greatest number that a window takes, with as much left as can be, as fit."""
    every = itertools.product((4096, 4095, 8192), (0, 5, 10), (43, 2000), (1, -1))
    for n, exponent, bit, sign in every:
        x = np.full(n, sign * (2.0**exponent - 2.0 ** (exponent - bit)))
        x[-1] = 2.0**10
        yield x


def below_a_window():
    """All bits of a few are 1, and among zeros or ones they begin ever farther below the rest."""
    for dtype, others, exponent in itertools.product(REALS, (0, 1), range(-60, 1)):
        ones = np.nextafter(dtype.type(2), dtype.type(0)).astype(np.float64)
        x = np.full(5000, others, dtype)
        x[100:140] = np.ldexp(ones, exponent).astype(dtype)
        x[4500] = -x[110]
        yield x


ARRAYS = (any_exponents, many_of_an_exponent, rising_chunks, near_and_far, full_lanes)


@pytest.mark.parametrize("arrays", [*ARRAYS, below_a_window])
def test_numbers_are_added_exactly(arrays):
    for x in arrays():
        assert gred.ExactSum(x).fraction() == exact_sum(x), (x.dtype, x[:3], x.size)


@pytest.mark.parametrize("dtype", [NARROW, WIDE], ids=str)
def test_products_of_any_exponents_are_added_exactly(dtype):
    """Too large and too small ones, too, and those of zero."""
    random, kind = np.random.default_rng(3), np.finfo(dtype)
    for n, share in itertools.product((16384, 70_001), (0.01, 0.2, 0.97)):
        most = int(kind.maxexp * share)
        a, b = np.ldexp(random.normal(size=(2, n)), random.integers(-most, most, (2, n))).astype(
            dtype
        )
        a[::7], b[1::9] = 0, kind.smallest_subnormal
        total = gred.ExactSum()
        total.add_products(a, b)
        assert total.fraction() == exact_products(a, b)
    a[5] = math.inf
    assert same(gred.dot(a, b, method="exact"), dot(a, b, dtype))


@pytest.mark.parametrize("dtype", [NARROW, WIDE], ids=str)
def test_what_is_not_finite_is_seen_among_numbers_of_any_exponents(dtype):
    for place, value in itertools.product((0, 20_000, 39_999), (math.inf, -math.inf, math.nan)):
        x = spread(dtype, 40_000)
        x[place] = value
        assert same(exact("sum", x), dtype.type(value))
        x[7] = math.nan
        assert same(exact("nansum", x), truth("nansum", x))


@pytest.fixture(scope="module")
def arithmetic(tmp_path_factory):
    """Make a function that sets this thread's arithmetic, and tells what it was before."""
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("arithmetic is set as x86 does")
    target = tmp_path_factory.mktemp("native") / "arithmetic.so"
    source = Path(__file__).parents[1] / "native/arithmetic.c"
    subprocess.run([*C_COMPILER, "-shared", "-fPIC", "-o", target, source], check=True)
    return ctypes.CDLL(target).arithmetic


@pytest.mark.parametrize("mode", [0x8040, 0x2000, 0x4000, 0x6000, 0xE040])
def test_the_callers_arithmetic_makes_no_difference(arithmetic, mode):
    """Subnormal numbers that do not count; rounding down, up and to zero; or both."""
    random = np.random.default_rng(1)
    for x in (random.normal(size=300_000), np.full(300_000, 2.0**-1060), np.float32([1e-40] * 9)):
        before = arithmetic(mode | 0x1F80)
        try:
            got = gred.ExactSum(x)
        finally:
            kept = arithmetic(before)
        assert kept & 0xE040 == mode & 0xE040
        assert got.fraction() == exact_sum(x)


def test_integers_are_exact():
    x = np.array([2**62 + 1, 2**62 + 3])
    assert gred.sum(x, method="exact") == 2**63 + 4 - 2**64
    assert same(gred.mean(x, method="exact"), np.float64(2**62 + 2))
    assert gred.sum([2**53, 1, 2**53 + 1], dtype=np.float64, method="exact") == 2.0**54 + 2.0
    assert gred.mean(np.array([3, 4], np.uint8), dtype=np.float16, method="exact") == 3.5
    assert gred.sum([True, True], method="exact") == 2
    assert gred.sum([1.7, 2.7], dtype=np.int64, method="exact") == 3
    assert gred.nansum(np.arange(5), method="exact") == 10


def test_explain_tells_how_numbers_are_added_and_integers_are_not_measured_so():
    told = gred.explain(np.ones(300_000), method="exact")
    assert "in chunks of 4,096" in told.array
    assert "gathered" in gred.explain(np.ones((300, 300))[:, ::2], method="exact").array
    timed = gred.kernel_time(np.full(1000, 0.1), method="exact", samples=2, cold=False)
    assert timed.result == float(1000 * Fraction(0.1))
    timed = gred.kernel_time(np.arange(9), method="exact", samples=2, cold=False)
    assert timed.method == "auto"


@pytest.mark.parametrize("instructions", ["baseline", "avx2", "avx512"])
def test_a_processors_inexact_flag_is_believed(instructions):
    """All that loops are compiled for have one."""
    program = "import gred; print(gred.explain([1.0], method='exact').array)"
    assert "just added" in printed(program, GRED_INSTRUCTIONS=instructions)


EMULATED = """
import math
import numpy as np
import gred

x = np.array([1.0, 2.0**-60, 2.0**-53, -1.0] * 8)
assert gred.sum(x, method="exact") == math.fsum(x) != 0
rng = np.random.default_rng(0)
y = np.ldexp(rng.normal(size=(50, 96)), rng.integers(-40, 40, (50, 96)))
assert gred.sum(y, method="exact") == math.fsum(y.ravel())
assert gred.sum(y, axis=0, method="exact").tolist() == [math.fsum(column) for column in y.T]
assert gred.sum(y.T.copy(), axis=1, method="exact").tolist() == [math.fsum(row) for row in y.T]
"""


@pytest.mark.unsanitized
@pytest.mark.skipif(not shutil.which("valgrind"), reason="there is no Valgrind")
def test_an_emulator_that_leaves_out_the_inexact_flag_is_found_out():
    command = ["valgrind", "-q", "--tool=none", sys.executable, "-c", EMULATED]
    child = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert child.returncode == 0, child.stderr
