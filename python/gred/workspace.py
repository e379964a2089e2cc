"""How much memory gred may use on a device beside the arrays."""

import operator
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import SupportsIndex

from gred import _core


def workspace_limit(nbytes: SupportsIndex) -> AbstractContextManager[None]:
    """Within a ``with`` block, use at most so much of a device's memory as workspace.

    Host arrays are copied to the device they are reduced on, at most 16 MiB at a time, and the
    rungs that work in place fold a copy. An array whose workspace would be larger is taken in
    pieces, one after the other. Without a limit that happens where the device's free memory does
    not suffice. Results along axes are made in parts then; memory for those that the host is to
    have comes on top.

    Parameters
    ----------
    nbytes : int
        At least 1. A piece is of 4096 elements or more, however low the limit is.

    Returns
    -------
    context manager

    Raises
    ------
    ValueError
        If `nbytes` is less than 1 or does not fit 64 bits.
    TypeError
        If `nbytes` is not an integer.

    Examples
    --------
    >>> import gred, numpy as np
    >>> with gred.workspace_limit(2**20):
    ...     gred.sum(np.ones(2**20), method="unroll8", device="simulated")
    np.float64(1048576.0)

    """
    try:
        if isinstance(nbytes, bool):
            raise TypeError
        nbytes = operator.index(nbytes)
    except TypeError:
        raise TypeError(f"nbytes must be an integer; got {nbytes!r}") from None
    if not 1 <= nbytes < 2**64:
        raise ValueError(f"nbytes must be from 1 to 2**64 - 1; got {nbytes!r}")
    return _within(nbytes)


@contextmanager
def _within(nbytes: int) -> Iterator[None]:
    token = _core.workspace_limit.set(nbytes)
    try:
        yield
    finally:
        _core.workspace_limit.reset(token)
