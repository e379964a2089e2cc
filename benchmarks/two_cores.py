"""The two cores that whatever is timed on the host's processor is held to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def two_cores() -> Iterator[None]:
    """Keep the processes that are started inside to two cores of the machine."""
    if not hasattr(os, "sched_setaffinity"):
        raise SystemExit("this system cannot keep a process to two cores")
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(allowed)[:2])
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
