"""The host's loops are right, and make the same bits, whatever instructions they are made of."""

import hashlib
import os
import platform
import subprocess
import sys
from pathlib import Path

import axes_loops
import host_loops
import host_moves
import numpy as np
import pytest
from thin import of_selection

import gred

TESTS = Path(__file__).parents[1]
SETS = (
    ("baseline", "avx2", "avx512") if platform.machine() in ("x86_64", "AMD64") else ("baseline",)
)
BEST = gred.explain(np.ones(3)).array.split(" by ")[1].split()[0]


def run(program: Path, *options: str, **environment: str) -> list[str]:
    command = [sys.executable, *options, program]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr[-2000:])
    return done.stdout.splitlines()


@pytest.mark.parametrize("program", ["host_loops", "host_moves", "axes_loops"])
def test_all_instructions_are_right_and_make_the_same_bits(program):
    """All checks are run with the best instructions; all others are to make the same bits.

    These need not be held against what is right once more: -O leaves assertions out. Sanitizers
    see the best alone.
    """
    (path,) = TESTS.glob(f"*/{program}.py")
    made, *digests = run(path, GRED_INSTRUCTIONS=BEST)
    assert made == BEST
    for other in SETS[: of_selection(SETS.index(BEST), SETS.index(BEST), 0)]:
        assert run(path, "-O", GRED_INSTRUCTIONS=other) == [other, *digests]


@pytest.mark.parametrize("checks", [host_loops, host_moves, axes_loops], ids=lambda m: m.__name__)
def test_any_number_of_threads_makes_the_same_bits(checks, monkeypatch):
    most, made = gred.threads(), set()
    try:
        for count in (1, 2, 3, 16)[:: of_selection(1, 1, 3)]:
            gred.threads(count)
            monkeypatch.setattr(host_loops, "DIGEST", hashlib.sha256())
            checks.bits()
            made.add(host_loops.DIGEST.hexdigest())
    finally:
        gred.threads(most)
    assert len(made) == 1


@pytest.mark.unsanitized  # the sanitized run names instructions itself
@pytest.mark.parametrize("asked", ["avx9", "neon", "AVX2", "", *SETS])
def test_the_name_of_no_instructions_is_warned_of(asked):
    command = [sys.executable, "-c", "import gred; print(gred.explain([1.0] * 3).array)"]
    environment = {**os.environ, "GRED_INSTRUCTIONS": asked}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    known = asked in ("", *SETS)
    warning = f"RuntimeWarning: GRED_INSTRUCTIONS={asked} names no set of instructions"
    assert known or f" by {BEST} " in f"{done.stdout.strip()} "
    assert (warning in done.stderr) is not known
    assert all(name in done.stderr for name in SETS) is not known
