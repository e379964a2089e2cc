"""How much of large crossings is tried, also in programs that tests start.

`pytest --thorough` tries everything. `pytest --sanitized` tries less than usual, since sanitizers
look at each access and not at values, and take several times as long.
"""

import itertools
import os
import zlib
from collections.abc import Iterable
from typing import TypeVar

Case = TypeVar("Case")
NAME = "GRED_TESTS"  # of the variable that hands it on to them


def of_selection(thorough: int, usual: int, sanitized: int) -> int:
    """Give the number for what is selected now."""
    numbers = {"thorough": thorough, "usual": usual, "sanitized": sanitized}
    return numbers[os.environ.get(NAME, "usual")]


def one_in() -> int:
    """Tell of how many cases one is tried."""
    return of_selection(1, 9, 24)


def hashed(name: str) -> int:
    """Give a number that looks random, but is the same for the same name."""
    return zlib.crc32(name.encode())


def chosen(cases: Iterable[Case], *of: object) -> list[Case]:
    """Give all cases, or a few, but never none; of something else others."""
    cases = list(cases)
    if one_in() == 1:
        return cases
    cases.sort(key=lambda case: hashed(repr((*of, case))))
    return cases[: -(-len(cases) // one_in())]


def pairwise(names: list[str]) -> set[str]:
    """Choose so many parameters' names, of words, that every two words that meet do so in one.

    Once `most` are chosen, and under sanitizers from the first on, every word in one is enough.
    Sanitizers look at each access, so that 6 cases of a test do, whatever their words.
    """
    few, most = of_selection(len(names), 8, 1), of_selection(len(names), 24, 0)
    last = of_selection(len(names), len(names), 6)
    kept: set[str] = set()
    met: set[tuple[str, ...]] = set()
    for name in sorted(names, key=hashed):
        words = sorted(name.split("-"))
        alone = set(itertools.combinations(words, 1))
        pairs = set(itertools.combinations(words, min(len(words), 2)))
        wanted = pairs if len(kept) < most else alone
        if len(names) <= few or not wanted <= met:
            kept.add(name)
            met |= alone | pairs
        if len(kept) == last:
            break
    return kept
