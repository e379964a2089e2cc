"""The host's loops are right, and make the same bits, whatever instructions they are made of."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gred

PROGRAM = Path(__file__).parent / "host_loops.py"
SETS = (
    ("baseline", "avx2", "avx512") if platform.machine() in ("x86_64", "AMD64") else ("baseline",)
)
BEST = gred.explain(np.ones(3)).array.split(" by ")[1].split()[0]


def run(*checks: str, program: Path = PROGRAM, **environment: str) -> list[str]:
    """Run checks in a process of their own; return the instructions, and a digest a check."""
    done = subprocess.run(
        [sys.executable, program, *checks],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr[-2000:])
    return done.stdout.splitlines()


def check_instructions(instructions: str, digests: list[str], program: Path = PROGRAM) -> None:
    """Run all checks with them, which are to make what the first instructions have made."""
    if SETS.index(instructions) > SETS.index(BEST):
        pytest.skip("this processor has no such instructions")
    made, *found = run(program=program, GRED_INSTRUCTIONS=instructions)
    assert made == instructions
    if not digests:
        digests += found
    assert found == digests


def check_threads(program: Path = PROGRAM) -> None:
    """Any number of threads is to make the same bits."""
    threads = ("1", "2", "3", "8", "16")
    made = {run("bits", program=program, OMP_NUM_THREADS=count)[1] for count in threads}
    assert len(made) == 1


@pytest.mark.parametrize("instructions", SETS)
def test_all_instructions_are_right_and_make_the_same_bits(instructions, digests):
    check_instructions(instructions, digests)


def test_any_number_of_threads_makes_the_same_bits():
    check_threads()


@pytest.mark.parametrize("asked", ["", "avx1024", "neon", "AVX2"])
def test_instructions_that_are_not_there_are_not_asked_for(asked):
    assert run("settled", GRED_INSTRUCTIONS=asked)[0] == BEST
