"""How much of large crossings is tried without `pytest --thorough`, also in started programs."""

import itertools
import os
import zlib
from collections.abc import Iterable
from typing import TypeVar

Case = TypeVar("Case")
NAME = "GRED_TESTS_THOROUGH"  # of the variable that hands it on to them
ONE_IN = 4
FEW = 8


def hashed(name: str) -> int:
    """Give a number that looks random, but is the same for the same name."""
    return zlib.crc32(name.encode())


def chosen(cases: Iterable[Case], *of: object) -> list[Case]:
    """Give all cases, or a few, but never none; of something else others."""
    cases = list(cases)
    if NAME in os.environ:
        return cases
    cases.sort(key=lambda case: hashed(repr((*of, case))))
    return cases[: -(-len(cases) // ONE_IN)]


def pairwise(names: list[str]) -> set[str]:
    """Choose so many parameters' names, of words, that every two words that meet do so in one."""
    kept: set[str] = set()
    met: set[tuple[str, ...]] = set()
    for name in sorted(names, key=hashed):
        words = sorted(name.split("-"))
        pairs = set(itertools.combinations(words, min(len(words), 2)))
        if len(names) <= FEW or not pairs <= met:
            kept.add(name)
            met |= pairs
    return kept
