"""Lists of arrays that lie on devices: each is reduced where it lies, side by side.

What `gred.sum` and `gred.mean` do with a list or a tuple whose first element is such an array.
"""

from __future__ import annotations

import contextvars
import functools
import importlib.util
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from gred import _core
from gred.device_array import dtype_named
from gred.exact import ExactSum
from gred.explanation import explain

_THREADS_MOST = 32


# Threads that wait for devices; kept, since starting some takes as long as a sum.
_pool = functools.cache(lambda: ThreadPoolExecutor(_THREADS_MOST, "gred-several"))
os.register_at_fork(after_in_child=_pool.cache_clear)


def _on_each(function: Callable[[Any], Any], arrays: Sequence[Any]) -> list[Any]:
    """Call it for all arrays at once with the caller's settings; if one raises, all have ended."""
    others = [
        _pool().submit(contextvars.copy_context().run, function, array) for array in arrays[1:]
    ]
    try:
        return [function(arrays[0]), *(one.result() for one in others)]
    except BaseException:
        for one in others:
            one.cancel()
        wait(others)
        raise


def _elements(arrays: Sequence[Any]) -> np.dtype[Any]:
    """Find the type that all elements have in common, as NumPy promotes types."""
    return _common([_core.element(array) for array in arrays])


def _common(names: Sequence[str]) -> np.dtype[Any]:
    """Promote bfloat16, which NumPy does not know, as float32, but where there is nothing else."""
    if set(names) == {"bfloat16"} and importlib.util.find_spec("ml_dtypes"):
        return dtype_named("bfloat16")
    known = ["float32" if name == "bfloat16" else name for name in names]
    common: np.dtype[Any] = np.result_type(*known)
    return common


def _total(arrays: Sequence[Any]) -> ExactSum:
    """Merge what every array is, exactly."""
    total = ExactSum()
    for part in _on_each(ExactSum, arrays):
        total += part
    return total


def _merged(parts: Sequence[Any], dtype: DTypeLike | None, shares: Any = 1) -> Any:
    """Add results up, each so often, in the widest type of their kind, in order."""
    result = _common([part.dtype.name for part in parts]) if dtype is None else np.dtype(dtype)
    floats = np.dtype(np.complex128 if result.kind == "c" else np.float64)
    wide = result if result.kind in "biu" else floats
    return result.type(_core.sum(np.array(parts, wide) * shares, dtype=wide))


def sum(
    arrays: Sequence[Any],
    dtype: DTypeLike | None = None,
    method: str = "auto",
    block_size: int | None = None,
) -> Any:
    """Add up all elements of all arrays, of any shapes, on any devices.

    The type is by default that to which NumPy promotes all arrays' sums. By ``method="exact"`` the
    sum of all is rounded once, else each array's is before they are added.
    """
    elements = _elements(arrays)
    if method == "exact" and elements.kind not in "biu":
        return _total(arrays).value(elements if dtype is None else dtype)
    add = partial(_core.sum, dtype=dtype, method=method, block_size=block_size)
    return _merged(_on_each(add, arrays), dtype)


def mean(
    arrays: Sequence[Any],
    dtype: DTypeLike | None = None,
    method: str = "auto",
    block_size: int | None = None,
) -> Any:
    """Average all elements of all arrays, each array weighing as much as it has elements."""
    if method == "exact":
        elements = _elements(arrays)
        result = np.dtype(np.float64) if elements.kind in "biu" else elements
        return _total(arrays).mean(result if dtype is None else dtype)
    average = partial(_core.mean, dtype=dtype, method=method, block_size=block_size)
    lengths = [explain(array).size for array in arrays]
    counted = [array for array, n in zip(arrays, lengths, strict=True) if n] or arrays[:1]
    means = _on_each(average, counted)
    shares = np.array([n for n in lengths if n] or [0]) / max(_core.sum(lengths), 1)
    return means[0] if len(means) == 1 else _merged(means, None, shares)
