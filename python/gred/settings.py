"""Settings: threads on the host, workspace on a device, thread order of the simulated device."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Literal, SupportsIndex

from gred import _core
from gred.checks import integer_from, number_from

_ORDERS = {"forwards": 0, "backwards": 1, "shuffled": 2}
_MOST = 2**64 - 1


@contextmanager
def _within(variable: ContextVar[Any], value: object) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def threads(n: SupportsIndex | None = None, /) -> int:
    """Set and return the number of threads a call may use on the host, the caller included.

    The threads reduce host arrays, and gather arrays to be copied to a GPU. They are started when
    first needed, and sleep between calls. Results do not depend on their number.

    Parameters
    ----------
    n : int, optional
        At least 1; applies to the whole process, and to children that it forks. It is capped at the
        number available (CPU affinity, cgroup quota, ``OMP_NUM_THREADS`` when gred was imported).
        By default the setting is not changed.

    Returns
    -------
    int
        The number of threads a call may use from now on.

    Raises
    ------
    ValueError, TypeError
        If `n` is less than 1, or not an integer.

    Examples
    --------
    >>> import gred
    >>> before = gred.threads()
    >>> gred.threads(1)
    1
    >>> gred.threads(before) == before
    True
    """
    wanted = 0 if n is None else integer_from(n, "n")
    if n is not None and wanted < 1:
        raise ValueError(f"n must be at least 1; got {n!r}")
    return _core.threads(min(wanted, 2**31 - 1))


def register_threadpoolctl() -> None:
    """Register gred's thread pool with threadpoolctl, which can then report and limit it.

    Importing gred does this if threadpoolctl has already been imported. The limit is the one that
    ``gred.threads(n)`` sets, and is restored at the end of the ``with`` block.

    Raises
    ------
    ImportError
        If threadpoolctl is not installed, or older than 3.2.

    Examples
    --------
    >>> import gred, threadpoolctl
    >>> gred.register_threadpoolctl()
    >>> with threadpoolctl.threadpool_limits(1, user_api="gred"):
    ...     gred.threads()
    1
    """
    threadpoolctl = importlib.import_module("threadpoolctl")
    if not hasattr(threadpoolctl, "register"):
        raise ImportError("gred needs threadpoolctl 3.2 or later", name="threadpoolctl")
    if any(pool["user_api"] == "gred" for pool in threadpoolctl.threadpool_info()):
        return
    how = {
        "user_api": "gred",
        "internal_api": "gred",
        "filename_prefixes": ("_core",),
        "check_symbols": ("simulator_here",),  # distinguishes gred's _core from others
        "get_num_threads": lambda self: threads(),
        "set_num_threads": lambda self, most: threads(most),
        "get_version": lambda self: importlib.import_module("gred").__version__,
    }
    threadpoolctl.register(type("Controller", (threadpoolctl.LibController,), how))


def thread_order(
    order: Literal["forwards", "backwards", "shuffled"], seed: SupportsIndex = 0
) -> AbstractContextManager[None]:
    """Set the order of the simulated device's threads and blocks within a ``with`` block.

    Between two barriers the threads of a block may run in any order, and so may the blocks of a
    grid: a kernel with results that depend on the order has a race.

    Parameters
    ----------
    order : {'forwards', 'backwards', 'shuffled'}
        Order of execution; 'shuffled' is drawn anew after every barrier.
    seed : int
        Seed of the shuffled order, from 0 to 2**64 - 1.

    Returns
    -------
    context manager

    Raises
    ------
    ValueError, TypeError
        If `order` or `seed` is not valid.

    Examples
    --------
    >>> import gred
    >>> with gred.thread_order("shuffled", seed=7):
    ...     gred.sum(range(1000), method="shared_modulo", device="simulated")
    np.int64(499500)
    """
    if not isinstance(order, str) or order not in _ORDERS:
        error = ValueError if isinstance(order, str) else TypeError
        raise error(f"order must be one of {', '.join(map(repr, _ORDERS))}; got {order!r}")
    number = number_from(seed, "seed", _MOST, 0, "2**64 - 1")
    return _within(_core.thread_order, (_ORDERS[order], number))


def workspace_limit(nbytes: SupportsIndex) -> AbstractContextManager[None]:
    """Limit the device memory that is used as workspace within a ``with`` block.

    The workspace holds pieces of host arrays, of at most 16 MiB each, and the copies that rungs
    reduce in place. If it would exceed the limit or the free memory, the array is reduced in
    pieces, and results along axes in parts. Memory for results is not included.

    Parameters
    ----------
    nbytes : int
        Limit in bytes, at least 1. A piece has at least 4096 elements, however low the limit.

    Returns
    -------
    context manager

    Raises
    ------
    ValueError, TypeError
        If `nbytes` is less than 1, does not fit 64 bits, or is not an integer.

    Examples
    --------
    >>> import gred, numpy as np
    >>> with gred.workspace_limit(2**20):
    ...     gred.sum(np.ones(2**20), method="unroll8", device="simulated")
    np.float64(1048576.0)
    """
    return _within(_core.workspace_limit, number_from(nbytes, "nbytes", _MOST, 1, "2**64 - 1"))
