"""The host's loops are right, and make the same bits, whatever instructions they are made of."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from host_loops import CHECKS

import gred

PROGRAM = Path(__file__).parent / "host_loops.py"
SETS = (
    ("baseline", "avx2", "avx512") if platform.machine() in ("x86_64", "AMD64") else ("baseline",)
)
BEST = gred.explain(np.ones(3)).array.split(" by ")[1].split()[0]


def run(check: str, instructions: str, **environment: str) -> tuple[str, str]:
    """Run a check; return what was said of the loops, and the digest of all bits."""
    done = subprocess.run(
        [sys.executable, PROGRAM, check],
        env={**os.environ, "GRED_INSTRUCTIONS": instructions, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    said, digest = done.stdout.split("\n")[:2]
    return said, digest


def sets_here():
    """List the instructions that this processor has."""
    return SETS[: SETS.index(BEST) + 1]


@pytest.fixture(scope="module")
def digests():
    """Collect what instructions have made of each check."""
    return {}


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("instructions", SETS)
def test_all_instructions_make_the_same_bits_and_the_right_ones(instructions, check, digests):
    if instructions not in sets_here():
        pytest.skip("this processor has no such instructions")
    said, digest = run(check, instructions)
    assert f"by {instructions} instructions" in said
    assert digests.setdefault(check, digest) == digest


@pytest.mark.parametrize("threads", [1, 2, 3, 8, 16])
def test_any_number_of_threads_makes_the_same_bits(threads, digests):
    digest = run("bits", BEST, OMP_NUM_THREADS=str(threads))[1]
    assert digests.setdefault("bits", digest) == digest


@pytest.mark.parametrize("asked", ["", "avx1024", "neon", "AVX2"])
def test_instructions_that_nobody_knows_are_not_asked_for(asked):
    assert f"by {BEST} instructions" in run("settled", asked)[0]
