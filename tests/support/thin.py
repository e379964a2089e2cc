"""How many of all combinations are tested, also in programs that tests start.

`pytest --thorough` tests all of them. `pytest --sanitized` tests fewer than usual, since sanitizers
check accesses rather than values, and take several times as long.
"""

import itertools
import os
import zlib
from collections.abc import Iterable
from typing import TypeVar

Case = TypeVar("Case")
NAME = "GRED_TESTS"  # the variable that passes the selection on to programs


def of_selection(thorough: int, usual: int, sanitized: int) -> int:
    """Return the number for the current selection."""
    numbers = {"thorough": thorough, "usual": usual, "sanitized": sanitized}
    return numbers[os.environ.get(NAME, "usual")]


def one_in() -> int:
    """Return n if one in n cases is tested."""
    return of_selection(1, 9, 24)


def hashed(name: str) -> int:
    """Return a number that looks random but depends only on the name."""
    return zlib.crc32(name.encode())


def chosen(cases: Iterable[Case], *of: object) -> list[Case]:
    """Return all cases, or a few but at least one; which ones depends on `of`."""
    cases = list(cases)
    if one_in() == 1:
        return cases
    cases.sort(key=lambda case: hashed(repr((*of, case))))
    return cases[: -(-len(cases) // one_in())]


def pairwise(names: list[str]) -> set[str]:
    """Choose parameter sets, by their names of words, so that every pair of words is in one.

    Once `most` are chosen, and always under sanitizers, it suffices that every word is in one.
    Sanitizers check each access, so that 6 cases of a test are enough.
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
