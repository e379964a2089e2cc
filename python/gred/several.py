"""Lists of arrays that lie in several places, or are reduced by a method of the ladder.

What `gred.sum` and `gred.mean` do with these. By the default method a call for each place begins
its work, and none is waited for before all have begun; by others each array has a thread.
"""

from __future__ import annotations

import contextvars
import functools
import importlib.util
import math
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
from gred.segments import each

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


def _place(array: Any) -> Any:
    """Tell places apart, in as little time as can be: a list may have hundreds of arrays."""
    if hasattr(array, "device"):
        return type(array), array.device
    return explain(array).device if hasattr(array, "__cuda_array_interface__") else "host"


def _by_place(arrays: Sequence[Any]) -> list[list[Any]]:
    groups: dict[Any, list[Any]] = {}
    for array in arrays:
        groups.setdefault(_place(array), []).append(array)
    return list(groups.values())


def _size(array: Any) -> int:
    return math.prod(array.shape) if hasattr(array, "shape") else explain(array).size


def _begun(op: str, groups: Sequence[Sequence[Any]], dtype: DTypeLike | None) -> list[Any]:
    """Have all places begin with a result of each array, and wait for none."""
    function = getattr(_core, op)
    return [
        each(op, group, dtype=dtype)
        if len(group) > 1
        else function(group[0], keepdims=True, dtype=dtype)
        for group in groups
    ]


def _wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Choose the widest type of a type's kind, in which results are added up."""
    return np.dtype({"c": np.complex128, "f": np.float64}.get(dtype.kind, dtype))


def _of_all(results: Any) -> Any:
    """Add up what lies in one place; what is one is as it is."""
    if _size(results) == 1:
        return _core.sum(results)
    own = dtype_named(_core.element(results))
    return own.type(_core.sum(results, dtype=_wide(own)))


def _read(results: Any) -> Any:
    out = np.empty(_size(results), dtype_named(_core.element(results)))
    return _core.sum(results, axis=(), out=out.reshape(results.shape)).ravel()


def _merged(parts: Sequence[Any], dtype: DTypeLike | None, shares: Any = 1) -> Any:
    """Add results up, each so often, in the widest type of their kind, in order."""
    result = _common([part.dtype.name for part in parts]) if dtype is None else np.dtype(dtype)
    wide = _wide(result)
    values = np.concatenate([np.atleast_1d(part).astype(wide) for part in parts])
    return result.type(_core.sum(values * shares, dtype=wide))


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
    if method == "auto" and block_size is None:
        begun = _begun("sum", _by_place(arrays), dtype)
        return _merged([_of_all(results) for results in begun], dtype)
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
    filled = [array for array in arrays if _size(array)] or arrays[:1]
    groups = _by_place(filled)
    counted = [array for group in groups for array in group]
    sizes = np.array([_size(array) for array in counted])
    if method == "auto" and block_size is None:
        parts = [_read(results) for results in _begun("mean", groups, dtype)]
    else:
        average = partial(_core.mean, dtype=dtype, method=method, block_size=block_size)
        parts = _on_each(average, counted)
    return _merged(parts, None, sizes / max(_core.sum(sizes), 1))
