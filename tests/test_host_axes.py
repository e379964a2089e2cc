"""Many results at once are right, and the same bits, whatever instructions loops are made of."""

from pathlib import Path

from test_host_loops import check_instructions, check_threads

PROGRAM = Path(__file__).parent / "host_axes.py"


def test_all_instructions_are_right_along_axes_and_make_the_same_bits():
    check_instructions(PROGRAM)


def test_any_number_of_threads_makes_the_same_bits_along_axes():
    check_threads(PROGRAM)
