"""Many results at once are right, and the same bits, whatever instructions loops are made of."""

from pathlib import Path

import pytest
from test_host_loops import BEST, SETS, run

PROGRAM = Path(__file__).parent / "host_axes.py"


@pytest.fixture(scope="module")
def digests():
    """Collect what the first instructions have made of the checks."""
    return []


@pytest.mark.parametrize("instructions", SETS)
def test_all_instructions_are_right_along_axes_and_make_the_same_bits(instructions, digests):
    if SETS.index(instructions) > SETS.index(BEST):
        pytest.skip("this processor has no such instructions")
    made, *found = run(program=PROGRAM, GRED_INSTRUCTIONS=instructions)
    assert made == instructions
    if not digests:
        digests += found
    assert found == digests


def test_any_number_of_threads_makes_the_same_bits_along_axes():
    threads = ("1", "2", "3", "8", "16")
    found = {run("bits", program=PROGRAM, OMP_NUM_THREADS=count)[1] for count in threads}
    assert len(found) == 1
