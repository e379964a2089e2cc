"""The host's loops are right, and make the same bits, whatever instructions they are made of."""

import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import host_loops
import numpy as np
import pytest

import gred

PROGRAM = Path(__file__).parent / "host_loops.py"
SETS = (
    ("baseline", "avx2", "avx512") if platform.machine() in ("x86_64", "AMD64") else ("baseline",)
)
BEST = gred.explain(np.ones(3)).array.split(" by ")[1].split()[0]


def run(*checks: str, program: Path = PROGRAM, options=(), **environment: str) -> list[str]:
    """Run checks in a process of their own; return the instructions, and a digest a check."""
    done = subprocess.run(
        [sys.executable, *options, program, *checks],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr[-2000:])
    return done.stdout.splitlines()


def check_instructions(program: Path = PROGRAM) -> None:
    """Run all checks with the first instructions; all others here are to make the same bits.

    These need not be held against what is right once more: -O leaves assertions out.
    """
    first, *others = SETS[: SETS.index(BEST) + 1]
    made, *digests = run(program=program, GRED_INSTRUCTIONS=first)
    assert made == first
    for other in others:
        assert run(program=program, options=("-O",), GRED_INSTRUCTIONS=other) == [other, *digests]


def check_threads(bits: Callable[[], None] = host_loops.bits, notes=host_loops) -> None:
    """Any number of threads is to make the same bits."""
    most, made = gred.threads(), set()
    try:
        for count in (1, 2, 3, 16):
            gred.threads(count)
            digest = hashlib.sha256()
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(notes, "DIGEST", digest)
                bits()
            made.add(digest.hexdigest())
    finally:
        gred.threads(most)
    assert len(made) == 1


def test_all_instructions_are_right_and_make_the_same_bits():
    check_instructions()


def test_any_number_of_threads_makes_the_same_bits():
    check_threads()


@pytest.mark.unsanitized  # the sanitized run names instructions itself
@pytest.mark.parametrize("asked", ["", "avx1024", "neon", "AVX2"])
def test_instructions_that_are_not_there_are_not_asked_for(asked):
    assert run("settled", GRED_INSTRUCTIONS=asked)[0] == BEST


@pytest.mark.unsanitized
@pytest.mark.parametrize("asked", ["avx9", "AVX2", "", *SETS])
def test_the_name_of_no_instructions_is_warned_of(asked):
    code = "import gred; print(gred.sum([1, 2]))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "GRED_INSTRUCTIONS": asked},
        capture_output=True,
        text=True,
        check=True,
    )
    known = asked in ("", *SETS)
    warning = f"RuntimeWarning: GRED_INSTRUCTIONS={asked} names no set of instructions"
    assert done.stdout == "3\n"
    assert (warning in done.stderr) is not known
    assert all(name in done.stderr for name in SETS) is not known
