"""Calls that leave references and memory as they were."""

import gc
import sys


def stays_level(work, watched, *, rounds: int = 200, slack: int = 2) -> None:
    """Do some work again and again: whoever took a reference gives it back, and nothing is kept.

    The slack is for what others have references to, too, such as None.
    """
    work()
    gc.collect()
    before, blocks = [*map(sys.getrefcount, watched)], sys.getallocatedblocks()
    for _ in range(rounds):
        work()
    gc.collect()
    after = [*map(sys.getrefcount, watched)]
    assert max(abs(a - b) for a, b in zip(after, before, strict=True)) <= slack
    assert sys.getallocatedblocks() - blocks < 200


def fails(function, *arguments, **options) -> None:
    """Call what is to be refused, and keep nothing of the exception."""
    try:
        function(*arguments, **options)
    except Exception as error:
        error.__traceback__ = None
    else:
        raise AssertionError(f"{arguments} with {options} are accepted")
