"""What there is still time for, where a command has to end in time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """Says what there is still time for, from how long the same took on a smaller array."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds
        self._last: dict[str, tuple[int, float]] = {}

    def affords(self, what: str, size: int) -> bool:
        """Tell whether `what` at `size`, should its time grow with the size, ends in time."""
        if self._end is None:
            return True
        known_size, seconds = self._last.get(what, (size, 0.0))
        return time.monotonic() + seconds * size / known_size < self._end

    @contextmanager
    def timing(self, what: str, size: int) -> Iterator[None]:
        """Time what is done inside, and remember it for `what` at `size`."""
        start = time.monotonic()
        yield
        self._last[what] = (size, time.monotonic() - start)
