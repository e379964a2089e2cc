"""What there is still time for, where a command has to end in time."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

# The share of its time in which a task should have done what can be cut short.
_IN_TIME = 0.8
# What the next task will take is the mean of so many before, about.
_MEMORY = 8


class Clock:
    """Shares a time out among tasks, some of which can do less, and says which to leave out.

    From how long the same took on a smaller array it knows what would not end in time. Should tasks
    take longer than their shares, as many as there is time for are done, evenly spread.
    """

    def __init__(self, seconds: float | None) -> None:
        self._end = math.inf if seconds is None else time.monotonic() + seconds
        self._last: dict[str, tuple[int, float]] = {}
        self._typical = 0.0
        self._due = 0.0

    def affords(self, what: str, size: int) -> bool:
        """Tell whether `what` at `size`, should its time grow with the size, ends in time."""
        known_size, seconds = self._last.get(what, (size, 0.0))
        return time.monotonic() + seconds * size / known_size < self._end

    def admits(self, tasks: int) -> bool:
        """Tell whether the next of the `tasks` that are left is one to do."""
        if self._typical <= self._share(tasks):
            return True
        self._due += max(0.0, self._share(tasks)) / self._typical
        if self._due < 1:
            return False
        self._due -= 1
        return True

    def deadline(self, tasks: int) -> float:
        """Say when the next of the `tasks` that are left should be done, by time.monotonic."""
        return time.monotonic() + _IN_TIME * self._share(tasks)

    def _share(self, tasks: int) -> float:
        return (self._end - time.monotonic()) / tasks

    @contextmanager
    def timing(self, what: str, size: int) -> Iterator[None]:
        """Time what is done inside, and remember it for `what` at `size`."""
        start = time.monotonic()
        yield
        taken = time.monotonic() - start
        self._last[what] = (size, taken)
        self._typical += (taken - self._typical) / _MEMORY
