"""Arrays that do not simply lie there are read right, and alike, whatever the instructions are."""

from pathlib import Path

import host_moves
from test_host_loops import check_instructions, check_threads

PROGRAM = Path(__file__).parent / "host_moves.py"


def test_every_layout_and_conversion_is_right_and_makes_the_same_bits():
    check_instructions(PROGRAM)


def test_any_number_of_threads_makes_the_same_bits():
    check_threads(host_moves.bits)
