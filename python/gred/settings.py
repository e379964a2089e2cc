"""What holds for all calls: threads of the host, room on a device, the simulated device's order."""

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
    """Set how many threads a call may have on the host, its own included; tell how many.

    They fold arrays on the host, and gather those that go to a GPU. They sleep between calls, and
    begin when they are first needed. Their number changes no bit of any result.

    Parameters
    ----------
    n : int, optional
        At least 1, for all threads of this process, and children that it forks. More than this
        process may use (its affinity, its control group's quota, ``OMP_NUM_THREADS`` when gred was
        imported) is the same as all of these. By default nothing changes.

    Returns
    -------
    int
        How many threads a call may have from now on.

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
    """Let threadpoolctl see and limit the threads of `threads`, as it does those of BLAS.

    Importing gred does so if threadpoolctl has been imported by then. The limit is that of
    ``gred.threads(n)``, and ends with the ``with`` block.

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
        "check_symbols": ("simulator_here",),  # which no other _core has
        "get_num_threads": lambda self: threads(),
        "set_num_threads": lambda self, most: threads(most),
        "get_version": lambda self: importlib.import_module("gred").__version__,
    }
    threadpoolctl.register(type("Controller", (threadpoolctl.LibController,), how))


def thread_order(
    order: Literal["forwards", "backwards", "shuffled"], seed: SupportsIndex = 0
) -> AbstractContextManager[None]:
    """Within a ``with`` block, run the simulated device's threads and blocks in another order.

    Threads of a block between two barriers may run in any order, and so may the blocks of a grid: a
    kernel whose answer depends on it has a race.

    Parameters
    ----------
    order : {'forwards', 'backwards', 'shuffled'}
        Shuffled: anew after every barrier.
    seed : int
        Of the shuffled order, from 0 to 2**64 - 1.

    Returns
    -------
    context manager

    Raises
    ------
    ValueError, TypeError
        If there is no such order or seed.

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
    """Within a ``with`` block, use at most so much of a device's memory as workspace.

    Workspace are pieces of host arrays, of at most 16 MiB, on the device that reduces them, and the
    copies that rungs fold in place. What needs more than the limit, or than is free, is reduced in
    pieces, and results along axes in parts; memory for results of the host comes on top.

    Parameters
    ----------
    nbytes : int
        At least 1. A piece is of 4096 elements or more, however low the limit is.

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
