"""Of large crossings, how much `pytest --thin` tries, also in the programs that tests start."""

import os
import zlib
from collections.abc import Iterable, Iterator
from typing import TypeVar

Case = TypeVar("Case")
NAME = "GRED_TESTS_THIN"  # of the variable that hands it on to them
ONE_IN = 4


def hashed(name: str) -> float:
    """Give a number from 0 to 1 that looks random, but is the same for the same name."""
    return zlib.crc32(name.encode()) / 2**32


def chosen(cases: Iterable[Case], *of: object) -> Iterator[Case]:
    """Give all cases, or a few; of something else others, so that none is left out as a whole."""
    share = 1 / ONE_IN if NAME in os.environ else 1
    return (case for case in cases if hashed(repr((*of, case))) < share)
