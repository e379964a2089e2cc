"""Of large crossings, how much `pytest --thin` tries, also in the programs that tests start."""

import os
import zlib
from collections.abc import Iterable
from typing import TypeVar

Case = TypeVar("Case")
NAME = "GRED_TESTS_THIN"  # of the variable that hands it on to them
ONE_IN = 4


def hashed(name: str) -> float:
    """Give a number from 0 to 1 that looks random, but is the same for the same name."""
    return zlib.crc32(name.encode()) / 2**32


def chosen(cases: Iterable[Case], *of: object) -> list[Case]:
    """Give all cases, or a few, but never none; of something else others."""
    cases = list(cases)
    if NAME not in os.environ:
        return cases
    cases.sort(key=lambda case: hashed(repr((*of, case))))
    return cases[: -(-len(cases) // ONE_IN)]
