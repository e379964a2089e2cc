"""`method="exact"`: sums and means that are rounded once, in every layout and type."""

import ctypes
import math
import os
import platform
import shutil
import subprocess
import sys
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from exact_truths import any_floats, exact_sum, mixed, nearest, same, total, truth
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import BFLOAT16, COMPLEX, REALS
from test_host_loops import check_instructions

import gred
from gred.testing import SimulatedArray

C_COMPILER = os.environ.get("CC", "gcc").split()
PROGRAM = Path(__file__).parent / "exact_loops.py"
typed = pytest.mark.parametrize("dtype", REALS, ids=str)
NAMES = ("sum", "mean", "nansum", "nanmean")


def exact(name, x, **options):
    """Call one of them, without a word about means of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return getattr(gred, name)(x, method="exact", **options)


# ---- values ----


@typed
@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None)
@given(data=st.data())
def test_floats_of_any_type_are_rounded_once(name, dtype, data):
    x = data.draw(any_floats(dtype))
    assert same(exact(name, x), truth(name, x))
    for result in REALS:
        assert same(exact(name, x, dtype=result), truth(name, x, result))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_complex_numbers_have_two_exact_sums(name, dtype):
    part = np.dtype(f"f{dtype.itemsize // 2}")
    x = mixed(9000)[:8000].astype(part) if part == np.float64 else mixed(9000)[:8000].view("f4")
    x = np.where(np.abs(x) < 2.0**100, x, part.type(3)).astype(part)
    expected = [truth(name, x[k::2]) for k in range(2)]
    got = exact(name, x.view(dtype))
    assert got.dtype == dtype
    assert same(got.real, expected[0])
    assert same(got.imag, expected[1])


@pytest.mark.parametrize("n", [5, 2048, 2049, 100_001])
@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_parts_in_windows_are_kept_apart(dtype, n):
    random = np.random.default_rng(n)
    x = (random.normal(size=n) + 1j * random.normal(size=n) * 2.0**-20).astype(dtype)
    got = exact("sum", x)
    assert same(got.real, truth("sum", x.real))
    assert same(got.imag, truth("sum", x.imag))


def test_a_complex_number_is_left_out_whole():
    x = np.array([1 + 2j, math.nan + 8j, 16 + 1j * math.nan, 3 + 5j])
    assert exact("nansum", x) == 4 + 7j
    assert exact("nanmean", x) == 2 + 3.5j


def test_loops_of_all_instructions_are_exact_and_make_the_same_bits():
    """And with any number of threads, around every length, in windows and beside them."""
    check_instructions(PROGRAM)


@pytest.mark.parametrize("place", [0, 1, 4095, 4096, 70_000])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_one_element_that_is_not_finite_is_seen_anywhere(value, place):
    for dtype in REALS:
        x = np.ones(70_001, dtype)
        x[place] = value
        assert same(exact("sum", x), dtype.type(value))
        assert exact("nansum", x, dtype=np.float64) == (70_000 if math.isnan(value) else value)
        others = gred.ExactSum(np.delete(x, place))
        assert gred.ExactSum(x) - gred.ExactSum([value]) == others
        x[-1 - place] = -value
        assert math.isnan(exact("sum", x))


def test_any_order_makes_the_same_bits():
    random = np.random.default_rng(4)
    x = random.normal(size=100_000) * np.exp2(random.integers(-40, 40, 100_000))
    expected = exact("sum", x)
    assert expected == math.fsum(x)
    for _ in range(5):
        random.shuffle(x)
        assert same(exact("sum", x), expected)
        parts = np.split(x, np.sort(random.integers(0, len(x), 7)))
        assert same(sum(map(gred.ExactSum, parts), gred.ExactSum()).value(), expected)


def test_a_chunk_that_rises_above_the_last_one_is_exact():
    """Windows move up, down, and beyond what they can be moved to."""
    for exponents in (
        [0, 300, -300, 0],
        [-1022, -1074, 900, 1013, 1014, 1023, -1074],
        [1023, -1074],
    ):
        chunks = [np.ldexp(np.random.default_rng(1).random(4096) - 0.5, e) for e in exponents]
        x = np.concatenate(chunks)
        assert gred.ExactSum(x).fraction() == exact_sum(x)


@pytest.mark.parametrize("n", [4096, 4095, 8192])
def test_a_lane_that_is_full_to_its_limit_is_exact(n):
    """As many of the greatest number that a window takes, with as much left as can be, as fit."""
    for exponent in (0, 5, 10):
        for value in (2.0**exponent, 2.0**exponent - 2.0 ** (exponent - 43)):
            for signs in (1, -1):
                x = np.full(n, signs * value)
                x[-1] = 2.0**10
                assert gred.ExactSum(x).fraction() == exact_sum(x)


@typed
@pytest.mark.parametrize("others", [0, 1])
def test_no_bit_is_lost_of_numbers_that_reach_below_a_window(dtype, others):
    """All bits of a few are 1, and among zeros or ones they begin ever farther below the rest."""
    ones = np.nextafter(dtype.type(2), dtype.type(0)).astype(np.float64)
    for exponent in range(-60, 1):
        x = np.full(5000, others, dtype)
        x[100:140] = np.ldexp(ones, exponent).astype(dtype)
        x[4500] = -x[110]
        assert gred.ExactSum(x).fraction() == exact_sum(x)


@pytest.fixture(scope="module")
def arithmetic(tmp_path_factory):
    """Make a function that sets this thread's arithmetic, and tells what it was before."""
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("arithmetic is set as x86 does")
    target = tmp_path_factory.mktemp("native") / "arithmetic.so"
    source = Path(__file__).parent / "native/arithmetic.c"
    subprocess.run([*C_COMPILER, "-shared", "-fPIC", "-o", target, source], check=True)
    return ctypes.CDLL(target).arithmetic


@pytest.mark.parametrize("mode", [0x8040, 0x2000, 0x4000, 0x6000, 0xE040])
def test_the_callers_arithmetic_makes_no_difference(arithmetic, mode):
    """Subnormal numbers that do not count; rounding down, up and to zero; or both."""
    random = np.random.default_rng(1)
    for x in (random.normal(size=300_000), np.full(300_000, 2.0**-1060), np.float32([1e-40] * 9)):
        expected = gred.ExactSum(x)
        before = arithmetic(mode | 0x1F80)
        try:
            got = gred.ExactSum(x)
        finally:
            kept = arithmetic(before)
        assert kept & 0xE040 == mode & 0xE040
        assert got == expected


# ---- arguments ----


@typed
def test_any_layout_is_exact(dtype):
    x = np.clip(mixed(6000)[:5400], -60000, 60000).astype(dtype).reshape(20, 27, 10)
    views = [x[::2, ::-3, 1:9], x.T, x[:, 3], np.broadcast_to(x, (3, *x.shape)), x[0, 0, 0]]
    if dtype != BFLOAT16:
        views.append(x.astype(x.dtype.newbyteorder()))
    for view in views:
        assert same(exact("sum", view), total(np.ravel(view).astype(dtype), dtype))


@typed
def test_where_chooses_what_is_added(dtype):
    x = (np.random.default_rng(1).normal(size=(40, 300)) * 100).astype(dtype)
    for where in (x > 0, np.arange(300) % 3 == 1, np.zeros(300, bool)):
        kept = x[np.broadcast_to(where, x.shape)]
        for name in NAMES:
            assert same(exact(name, x, where=where), truth(name, kept))


def test_initial_is_a_part_of_the_sum():
    assert gred.sum([1e100, 1.0], method="exact", initial=-1e100) == 1.0
    assert gred.nansum([1e100, 1.0, math.nan], method="exact", initial=-1e100) == 1.0
    assert gred.sum(np.array([1e20 + 1j]), method="exact", initial=-1e20 + 1j) == 2j
    assert gred.sum(np.float16([60000, 60000]), method="exact", initial=-60000) == 60000


def test_zeros_have_numpys_signs():
    for x in ([], [-0.0], [-0.0, 0.0], [1.0, -1.0], [-0.0] * 5000):
        for options in ({}, {"initial": -0.0}, {"initial": 0.0}):
            got = gred.sum(x, method="exact", **options)
            assert same(got, np.sum(np.array(x, float), **options)), (x, options)
        assert same(exact("nansum", np.array(x, float)), np.float64(0.0))
    assert same(gred.sum([-0.0], method="exact", initial=None), np.float64(-0.0))
    assert same(exact("mean", np.array([-0.0])), np.float64(0.0))


def test_out_is_rounded_to_once():
    """By way of float64 it would be a tie."""
    x = [1.0, 2.0**-24, 2.0**-60]
    out = np.zeros((), np.float32)
    assert gred.sum(x, method="exact", out=out) is out
    assert out == np.float32(1 + 2.0**-23)
    assert gred.mean(np.multiply(x, 3), method="exact", out=out) is out
    assert out == np.float32(1 + 2.0**-23)
    integer = np.zeros((), np.int64)
    gred.sum([1.75, 2.5], method="exact", out=integer)
    assert integer == 4
    gred.mean([1.75, 2.75, 2.0], method="exact", out=integer)
    assert integer == 2
    gred.norm([3.0, 5.5], method="exact", out=integer)
    assert integer == 6
    parts = np.zeros((), np.complex64)
    gred.sum(np.array(x) * (1 + 1j), method="exact", out=parts)
    assert parts == np.complex64((1 + 2.0**-23) * (1 + 1j))


def test_integers_are_exact():
    x = np.array([2**62 + 1, 2**62 + 3])
    assert gred.sum(x, method="exact") == 2**63 + 4 - 2**64
    assert gred.mean(x, method="exact") == nearest(Fraction(2**62 + 2), np.float64)
    assert gred.sum([2**53, 1, 2**53 + 1], dtype=np.float64, method="exact") == 2.0**54 + 2.0
    assert gred.mean(np.array([3, 4], np.uint8), dtype=np.float16, method="exact") == 3.5
    assert gred.sum([True, True], method="exact") == 2
    assert gred.sum([1.7, 2.7], dtype=np.int64, method="exact") == 3
    assert gred.nansum(np.arange(5), method="exact") == 10


def test_the_mean_of_nothing_is_nan_with_a_warning():
    for name, x, options in (
        ("mean", [], {}),
        ("mean", [1.0], {"where": [False]}),
        ("nanmean", [math.nan], {}),
    ):
        with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
            assert math.isnan(getattr(gred, name)(x, method="exact", **options))


def test_parts_of_complex_means_with_infinities_stay_apart():
    for x in (
        [math.inf + 1j, 1],
        [1 + 1j * math.inf, 2],
        [math.nan + 1j, 2j],
        [math.inf + 1j * math.nan, 1],
    ):
        x = np.array(x, complex)
        got = exact("mean", x)
        assert same(got.real, np.mean(x.real))
        assert same(got.imag, np.mean(x.imag))


def test_a_real_sum_of_complex_numbers_warns_of_what_it_loses():
    with pytest.warns(np.exceptions.ComplexWarning):
        assert gred.sum([1e100 + 1j, 1, -1e100], dtype=float, method="exact") == 1.0


def test_other_reductions_are_refused():
    for name in ("prod", "min", "max", "any", "var", "ptp", "describe", "nanprod", "argmax"):
        with pytest.raises(ValueError, match=f"nanmean and the norm of order 2; not for {name}"):
            getattr(gred, name)([1.0], method="exact")
    with pytest.raises(ValueError, match="block_size has no meaning"):
        gred.sum([1.0], method="exact", block_size=64)


# ---- what is told of it ----


def test_it_is_told_and_measured():
    told = gred.explain(np.ones(300_000), method="exact")
    assert told.method == "exact"
    assert "in chunks of 4,096" in told.array
    assert "gathered" in gred.explain(np.ones((300, 300))[:, ::2], method="exact").array
    time = gred.kernel_time(np.full(1000, 0.1), method="exact", samples=2)
    assert time.method == "exact"
    assert time.result == nearest(1000 * Fraction(0.1), np.float64)
    assert gred.kernel_time(np.arange(9), method="exact", samples=2).method == "auto"


# ---- along axes ----


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [*REALS, *COMPLEX], ids=str)
def test_sums_along_axes_are_rounded_once(device, name, dtype):
    random = np.random.default_rng(8)
    shape = (6, 5, 70) if device == "host" else (2, 3, 20)  # a launch or more each
    x = np.ldexp(random.normal(size=shape), random.integers(-12, 9, shape))
    x = (x + 1j * np.flip(x) if dtype in COMPLEX else x).astype(dtype)
    x[0, 0, :3] = np.nan
    for axis in (0, 1, 2, (0, 2), (1, 2)):
        got = exact(name, x, axis=axis, device=device)
        rest = tuple(k for k in range(3) if k not in np.atleast_1d(axis))
        rows = x.transpose(*rest, *np.atleast_1d(axis)).reshape(*got.shape, -1)
        for index in np.ndindex(got.shape):
            row = rows[index]
            kept = row[~np.isnan(row.astype(complex))] if name.startswith("nan") else row
            assert same(got[index].real, truth(name, kept.real))
            if dtype in COMPLEX and np.isfinite(kept).all():
                assert same(got[index].imag, truth(name, kept.imag))


def test_along_axes_all_arguments_have_their_meaning(device):
    def summed(x, *arguments, name="sum", **options):
        return getattr(gred, name)(x, *arguments, method="exact", device=device, **options)

    x = np.array([[1e100, 1.0, -1e100], [3.0, 5.0, 2.0]])
    where = np.array([[True, True, True], [False, True, True]])
    out = np.zeros(2, np.float32)
    assert summed(x, axis=1, out=out[::-1]) is not None
    assert out.tolist() == [10, 1]
    assert summed(x, 1, name="mean", where=where).tolist() == [1 / 3, 3.5]
    assert summed(x, 1, initial=-1e100).tolist() == [-1e100, -1e100]
    assert summed(x, keepdims=True).tolist() == [[11.0]]
    zeros = summed(np.full((2, 3), -0.0), 0, initial=None)
    assert zeros.tolist() == [0.0] * 3
    assert np.signbit(zeros).all()
    assert summed(np.zeros((3, 0)), 1).tolist() == [0.0] * 3
    assert summed(np.zeros((0, 3)), 1).shape == (0,)
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
        assert np.isnan(summed(np.zeros((3, 0)), 1, name="mean")).all()


def test_along_axes_of_a_devices_array_results_stay_there():
    x = np.array([[1e100, 1.0, -1e100], [3.0, 5.0, 2.0]])
    got = gred.sum(SimulatedArray(x), axis=1, method="exact")
    assert not isinstance(got, np.ndarray)
    assert got.to_numpy().tolist() == [1.0, 10.0]
    out = SimulatedArray(np.zeros(3, np.float32))
    gred.sum(SimulatedArray(x), axis=0, method="exact", out=out)
    assert out.get().tolist() == [np.inf, 6.0, -np.inf]


# ---- a processor that does not tell ----

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


@pytest.mark.parametrize("instructions", ["baseline", "avx2", "avx512"])
def test_a_processors_inexact_flag_is_believed(instructions):
    """All that loops are compiled for have one."""
    program = "import gred; print(gred.explain([1.0], method='exact').array)"
    told = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "GRED_INSTRUCTIONS": instructions},
    )
    assert "just added" in told.stdout


@pytest.mark.unsanitized
@pytest.mark.skipif(not shutil.which("valgrind"), reason="there is no Valgrind")
def test_an_emulator_that_leaves_out_the_inexact_flag_is_found_out():
    command = ["valgrind", "-q", "--tool=none", sys.executable, "-c", EMULATED]
    child = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert child.returncode == 0, child.stderr
