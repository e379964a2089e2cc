"""What there is still time for, where a command has to end in time."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

# The share of its time in which a task should have done what can be cut short.
_IN_TIME = 0.8
# Seconds for a size are the mean of about so many tasks before.
_MEMORY = 8


class Clock:
    """Shares a time out among tasks, by their sizes, and says which to leave out.

    From how long the same took at a smaller size it knows what would not end in time. Should tasks
    take longer than their shares, as many as there is time for are done, evenly spread.
    """

    def __init__(self, seconds: float | None) -> None:
        self._end = math.inf if seconds is None else time.monotonic() + seconds
        self._last: dict[str, tuple[int, float]] = {}
        self._pace = 0.0
        self._due = 0.0

    def affords(self, what: str, size: int) -> bool:
        """Tell whether `what` at `size`, should its time grow with the size, ends in time."""
        known_size, seconds = self._last.get(what, (size, 0.0))
        return time.monotonic() + seconds * size / known_size < self._end

    def admits(self, left: int) -> bool:
        """Tell whether to do the next task, where `left` is the size of all that are left."""
        allowed = max(0.0, self._end - time.monotonic()) / left
        if self._pace <= allowed:
            return True
        self._due += allowed / self._pace
        if self._due < 1:
            return False
        self._due -= 1
        return True

    def deadline(self, size: int, left: int) -> float:
        """Say by when, in time.monotonic's seconds, a task of `size` of all `left` should end."""
        now = time.monotonic()
        return now + _IN_TIME * (self._end - now) * size / left

    @contextmanager
    def timing(self, what: str, size: int) -> Iterator[None]:
        """Time what is done inside, and remember it for `what` at `size`."""
        start = time.monotonic()
        yield
        taken = time.monotonic() - start
        self._last[what] = (size, taken)
        self._pace += (taken / size - self._pace) / _MEMORY
