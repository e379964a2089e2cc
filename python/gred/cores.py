"""How many of the processor's cores gred may use."""

import operator
from typing import SupportsIndex

from gred import _core


def threads(n: SupportsIndex | None = None, /) -> int:
    """Set how many threads a call may have on the host, and tell how many that are.

    A call's own thread is one of them; the others sleep between calls, and begin when they are
    first needed. They fold arrays on the host, and gather those that go to a GPU. How many they
    are changes no bit of any result.

    Parameters
    ----------
    n : int, optional
        At least 1. More than this process may use (its affinity, its control group's quota,
        ``OMP_NUM_THREADS`` when gred was imported) is the same as all of these. It holds from now
        on for all threads of this process, and for children that it forks. By default nothing
        changes.

    Returns
    -------
    int
        How many threads a call may have from now on.

    Raises
    ------
    ValueError
        If `n` is less than 1.
    TypeError
        If `n` is not an integer.

    Examples
    --------
    >>> import gred
    >>> before = gred.threads()
    >>> gred.threads(1)
    1
    >>> gred.threads(before) == before
    True

    """
    if n is None:
        return _core.threads(0)
    try:
        if isinstance(n, bool):
            raise TypeError
        wanted = operator.index(n)
    except TypeError:
        raise TypeError(f"n must be an integer; got {n!r}") from None
    if wanted < 1:
        raise ValueError(f"n must be at least 1; got {n!r}")
    return _core.threads(min(wanted, 2**31 - 1))
