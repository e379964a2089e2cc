"""The order in which the simulated device runs its threads and blocks."""

import operator
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import SupportsIndex

from gred import _core

_ORDERS = {"forwards": 0, "backwards": 1, "shuffled": 2}


def thread_order(order: str, seed: SupportsIndex = 0) -> AbstractContextManager[None]:
    """Within a ``with`` block, run the simulated device's threads and blocks in another order.

    Between two barriers the threads of a block may run in any order, and so may the blocks of a
    grid. A kernel whose answer depends on the order has a race.

    Parameters
    ----------
    order : {'forwards', 'backwards', 'shuffled'}
        Shuffled: anew after every barrier.
    seed : int
        Of the shuffled order, from 0 to 2**64 - 1; one seed is one order.

    Returns
    -------
    context manager

    Raises
    ------
    ValueError
        If there is no such order, or the seed is out of range.
    TypeError
        If the order is not a str, or the seed not an integer.

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
    try:
        seed = operator.index(seed)
    except TypeError:
        raise TypeError(f"seed must be an integer; got {seed!r}") from None
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed must be from 0 to 2**64 - 1; got {seed!r}")
    return _within(_ORDERS[order], seed)


@contextmanager
def _within(order: int, seed: int) -> Iterator[None]:
    token = _core.thread_order.set((order, seed))
    try:
        yield
    finally:
        _core.thread_order.reset(token)
