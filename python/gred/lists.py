"""Reductions of each array of a list, in one call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

import gred._core as _core
from gred.summary import Summary

__all__ = ["each"]


def each(
    op: str,
    arrays: Iterable[Any],
    *,
    dtype: DTypeLike | None = None,
    out: Any = None,
    ord: float | None = None,
    ddof: float = 0,
    initial: Any = ...,
    method: str = "auto",
    stream: Any = None,
) -> Any:
    """Reduce each array of a list to a result: on a device, in one launch.

    As ``torch._foreach_norm``, and of any reduction.

    Parameters
    ----------
    op : str
        The name of a reduction: 'sum', 'norm', 'max'; `gred.reductions` lists them.
    arrays : iterable of n array_like
        Of any shapes and types, on the host or on one device. Elements become the type that NumPy
        promotes all arrays' to. They are never written.
    dtype, out, ord, ddof, initial
        As for the reduction itself; `out` has n elements.
    method : {'auto', 'exact'}, default 'auto'
        'exact' rounds nothing but the result, as for `gred.sum`.
    stream
        As for the reduction itself.

    Returns
    -------
    array of shape (n,), of the reduction's type
        NumPy's, or that of the library of the first array on a device, not waited for; of 'minmax'
        two, and of 'describe' a `Summary`. A result's bits depend on its own array and the device
        alone, if all arrays are contiguous and of one type.

    Raises
    ------
    TypeError, ValueError, MemoryError
        As the reduction, or if arrays lie in several places.

    Examples
    --------
    >>> import gred, numpy as np
    >>> gred.each("norm", [[3.0, 4.0], np.ones((5, 5))])
    array([5., 5.])
    >>> gred.each("argmax", (row for row in ([1, 3, 2], [5, 4])))
    array([1, 0])

    """
    listed = tuple(arrays)
    if not listed:
        return np.empty(0)
    results = _core.each(op, listed, dtype, out, ord, ddof, initial, method, stream)
    return Summary(*results) if op == "describe" else results
