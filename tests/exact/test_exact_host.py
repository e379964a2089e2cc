"""`method="exact"` on the host: all instruction sets, threads and floating-point modes."""

import itertools
import platform
import shutil
import sys

import numpy as np
import pytest
from exact_truths import exact_products, exact_sum, kinds, same, truths
from exactly import WIDE
from host_loops import guarded
from processes import output_of, printed
from reference import REALS
from test_host_loops import BEST, SETS
from thin import NAME, chosen, one_in
from toy_kernels import library

import gred

# Checks of the tests for every device, with loops of the requested instruction set.
ON_THE_HOST = """
import itertools
import numpy as np
import gred
import test_dot, test_exact_along, test_exact_windows
from exactly import EVERY
from thin import NAME, chosen, one_in

print(gred.explain(np.ones(3), method="exact").array)
for numbers in test_exact_windows.NUMBERS:
    test_exact_windows.test_numbers_are_added_exactly("host", numbers)
for products in test_exact_windows.PRODUCTS:
    test_exact_windows.test_products_are_added_exactly("host", products)
for arrays in test_exact_along.ARRAYS:
    with np.errstate(all="ignore"):
        test_exact_along.test_each_result_is_rounded_once("host", arrays)
for case, dtype in chosen(itertools.product(test_dot.CASES, EVERY)):
    test_dot.test_elements_are_multiplied_and_added_along_any_axis("host", *case, dtype)
"""


@pytest.mark.unsanitized  # the sanitized run selects instructions itself
@pytest.mark.parametrize("instructions", SETS[: SETS.index(BEST)])
def test_loops_of_all_instructions_are_exact(instructions):
    """All compiled instruction sets have an inexact flag, which is trusted."""
    few = {NAME: "thorough" if one_in() == 1 else "sanitized"}
    told = printed(ON_THE_HOST, path=True, GRED_INSTRUCTIONS=instructions, **few)
    assert "added directly" in told
    assert f" by {instructions} " in told.replace("\n", " ")


def test_nothing_is_read_behind_the_last_column():
    memory = guarded(18)
    for dtype, width, rows in chosen(itertools.product(REALS, (1, 5, 31, 33, 100), (2, 3, 200))):
        nbytes = min(rows * width * dtype.itemsize, memory.size // (width * 8) * width * 8)
        x = memory[memory.size - nbytes :].view(dtype).reshape(-1, width)
        x[:] = np.random.default_rng(rows).normal(size=x.shape).astype(dtype)
        assert same(gred.sum(x, axis=0, method="exact"), truths("sum", x, 0)), x.shape


@pytest.mark.parametrize("n", [3, 40_000, 300_001])
def test_any_number_of_threads_makes_the_same_bytes(n, threads_as_before):
    """Also where threads have superaccumulators of their own."""
    for x in chosen(list(kinds(WIDE, n, n)), n):
        made = set()
        for threads in (1, 2, 3, 16):
            gred.threads(threads)
            total = gred.ExactSum(x)
            total.add_products(x, x[::-1])
            made.add(total.to_bytes())
        assert len(made) == 1
        assert total.fraction() == exact_sum(x) + exact_products(x, x[::-1])


@pytest.fixture(scope="module")
def arithmetic(tmp_path_factory):
    """Return a function that sets the thread's floating-point mode and returns the old one."""
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("arithmetic is set as x86 does")
    target = tmp_path_factory.mktemp("native") / "arithmetic.so"
    return library(target, "tests/native/arithmetic.c").arithmetic


@pytest.mark.parametrize("mode", [0x8040, 0x2000, 0x4000, 0x6000, 0xE040])
def test_the_callers_arithmetic_makes_no_difference(arithmetic, mode):
    """Subnormal numbers as zeros; rounding down, up and to zero; or both."""
    random = np.random.default_rng(1)
    for x in (random.normal(size=300_000), np.full(300_000, 2.0**-1060), np.float32([1e-40] * 9)):
        before = arithmetic(mode | 0x1F80)
        try:
            got = gred.ExactSum(x)
        finally:
            kept = arithmetic(before)
        assert kept & 0xE040 == mode & 0xE040
        assert got.fraction() == exact_sum(x)


def test_integers_wrap_and_become_floats_once():
    x = np.array([2**62 + 1, 2**62 + 3])
    assert gred.sum(x, method="exact") == 2**63 + 4 - 2**64
    assert gred.sum([2**53, 1, 2**53 + 1], dtype=np.float64, method="exact") == 2.0**54 + 2.0
    assert gred.sum([1.7, 2.7], dtype=np.int64, method="exact") == 3
    assert gred.nansum(np.arange(5), method="exact") == 10


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
    output_of(command)
