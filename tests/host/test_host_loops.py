"""The host's loops are right, and give the same bits, for every instruction set."""

import hashlib
import platform

import axes_loops
import host_loops
import host_moves
import numpy as np
import pytest
from processes import printed
from thin import of_selection

import gred

ON_X86 = platform.machine() in ("x86_64", "AMD64")
SETS = ("baseline", "avx2", "avx512") if ON_X86 else ("baseline",)
BEST = gred.explain(np.ones(3)).array.split(" by ")[1].split()[0]


def run(program: str, **environment: str) -> list[str]:
    code = f"import {program}, host_loops; host_loops.report({program}.CHECKS)"
    return printed(code, path=True, **environment).splitlines()


@pytest.mark.parametrize("program", ["host_loops", "host_moves", "axes_loops"])
def test_all_instructions_are_right_and_make_the_same_bits(program):
    """Run all checks with the best instruction set, and compare the others' bits with it.

    The others run without assertions. Sanitizers run only the best.
    """
    made, *digests = run(program, GRED_INSTRUCTIONS=BEST)
    assert made == BEST
    for other in SETS[: of_selection(SETS.index(BEST), SETS.index(BEST), 0)]:
        assert run(program, PYTHONOPTIMIZE="1", GRED_INSTRUCTIONS=other) == [other, *digests]


@pytest.mark.parametrize("checks", [host_loops, host_moves, axes_loops], ids=lambda m: m.__name__)
def test_any_number_of_threads_makes_the_same_bits(checks, monkeypatch, threads_as_before):
    made = set()
    for count in (1, 2, 3, 16)[:: of_selection(1, 1, 3)]:
        gred.threads(count)
        monkeypatch.setattr(host_loops, "DIGEST", hashlib.sha256())
        checks.bits()
        made.add(host_loops.DIGEST.hexdigest())
    assert len(made) == 1


@pytest.mark.unsanitized  # the sanitized run sets the instructions itself
@pytest.mark.parametrize("asked", ["avx9", "neon", "AVX2", "", *SETS])
def test_the_name_of_no_instructions_is_warned_of(asked):
    code = """
    import warnings
    with warnings.catch_warnings(record=True) as said:
        import gred
    print(gred.explain([1.0] * 3).array, *[repr(one.message) for one in said])
    """
    told, known = printed(code, GRED_INSTRUCTIONS=asked), asked in ("", *SETS)
    warning = f"RuntimeWarning('GRED_INSTRUCTIONS={asked} is not an instruction set"
    assert known or f" by {BEST} " in told
    assert (warning in told) is not known
    assert all(name in told.partition("Warning")[2] for name in SETS) is not known
