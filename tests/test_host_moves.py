"""Arrays that do not simply lie there are read right, and alike, whatever the instructions are."""

from pathlib import Path

import pytest
from test_host_loops import BEST, SETS, run

PROGRAM = Path(__file__).parent / "host_moves.py"


@pytest.fixture(scope="module")
def digests():
    """Collect what the first instructions have made of the checks."""
    return []


@pytest.mark.parametrize("instructions", SETS)
def test_every_layout_and_conversion_is_right_and_makes_the_same_bits(instructions, digests):
    if SETS.index(instructions) > SETS.index(BEST):
        pytest.skip("this processor has no such instructions")
    made, *found = run(program=PROGRAM, GRED_INSTRUCTIONS=instructions)
    assert made == instructions
    if not digests:
        digests += found
    assert found == digests


def test_any_number_of_threads_makes_the_same_bits():
    threads = ("1", "2", "3", "8", "16")
    made = {run("bits", program=PROGRAM, OMP_NUM_THREADS=count)[1] for count in threads}
    assert len(made) == 1
