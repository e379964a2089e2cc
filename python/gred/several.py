"""Sums and means of lists of arrays on several devices, or by a method of the ladder.

With the default method, work is started on all devices before any is waited for; with other
methods each array has a thread.
"""

import contextvars
import functools
import importlib.util
import math
import operator
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from gred import _core
from gred.checks import dtype_name, on_device
from gred.device_array import dtype_named
from gred.exact.sums import ExactSum
from gred.explanation import explain

_THREADS_MOST = 32

# Threads that wait for devices; kept, since starting them takes as long as a sum.
_pool = functools.cache(lambda: ThreadPoolExecutor(_THREADS_MOST, "gred-several"))
os.register_at_fork(after_in_child=_pool.cache_clear)


def _map_concurrently(function: Callable[[Any], Any], arrays: Sequence[Any]) -> list[Any]:
    """Call a function for all arrays concurrently, in the caller's context; wait for all."""
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


def common_type(names: Sequence[str]) -> np.dtype[Any]:
    """Promote types as NumPy does, bfloat16 as float32 unless bfloat16 can hold all the others."""
    fits = "bfloat16" in names and set(names) <= {"bfloat16", "bool", "int8", "uint8"}
    if fits and importlib.util.find_spec("ml_dtypes"):
        return dtype_named("bfloat16")
    known = ["float32" if name == "bfloat16" else name for name in names]
    promoted: np.dtype[Any] = np.result_type(*known)
    return promoted


def _place(array: Any) -> Any:
    """Return a hashable key for an array's device, quickly: a list may have hundreds of arrays."""
    if hasattr(array, "device"):
        device = array.device
        return type(array), device if device.__hash__ else device.id  # CuPy's has no hash
    return explain(array).device if on_device(array) else "host"


def _size(array: Any) -> int:
    return math.prod(array.shape) if hasattr(array, "shape") else explain(array).size


def _merged(parts: Sequence[Any], dtype: DTypeLike | None, shares: Sequence[float] = ()) -> Any:
    """Add partial results, weighted by `shares`, in order and in the widest type of their kind."""
    first = parts[0].dtype
    if first.kind == "f" and dtype is None and all(part.dtype is first for part in parts):
        total = 0.0  # a Python float: faster than any NumPy call
        for part, share in zip(parts, shares or [1.0] * len(parts), strict=True):
            total += share * float(part)
        return first.type(total)
    names = [part.dtype.name for part in parts]
    result = common_type(names) if dtype is None else np.dtype(dtype_name(dtype))
    wide = np.dtype({"c": np.complex128, "f": np.float64}.get(result.kind, result))
    values = np.concatenate([np.atleast_1d(part).astype(wide) for part in parts])
    return result.type(_core.sum(values * (shares or 1), dtype=wide))


def _elements(arrays: Sequence[Any]) -> np.dtype[Any]:
    return common_type([_core.element(array) for array in arrays])


def _total(arrays: Sequence[Any]) -> ExactSum:
    return functools.reduce(operator.iadd, _map_concurrently(ExactSum, arrays), ExactSum())


def _reduced(
    name: str, arrays: Sequence[Any], dtype: Any, method: str, block_size: int | None
) -> tuple[Sequence[Any], tuple[tuple[Any, ...], ...]]:
    """Reduce the arrays of each device together, or each array; return results and their arrays."""
    if method == "auto" and block_size is None:
        places: dict[Any, list[Any]] = {}
        for array in arrays:
            places.setdefault(_place(array), []).append(array)
        groups = tuple(map(tuple, places.values()))
        return _core.by_place(name, groups, dtype), groups
    reduce = partial(getattr(_core, name), dtype=dtype, method=method, block_size=block_size)
    return _map_concurrently(reduce, arrays), tuple((array,) for array in arrays)


def sum(
    arrays: Sequence[Any], dtype: Any = None, method: str = "auto", block_size: int | None = None
) -> Any:
    """Sum all elements of all arrays, of any shapes, on any devices.

    The default type is the one to which NumPy promotes the arrays' sums. ``method="exact"`` rounds
    the total once; the default method rounds each device's sum, other methods each array's.
    """
    if method == "exact" and (elements := _elements(arrays)).kind not in "biu":
        return _total(arrays).value(elements if dtype is None else dtype)
    return _merged(_reduced("sum", arrays, dtype, method, block_size)[0], dtype)


def mean(
    arrays: Sequence[Any], dtype: Any = None, method: str = "auto", block_size: int | None = None
) -> Any:
    """Average all elements of all arrays, weighting each array by its number of elements."""
    if method == "exact":
        elements = _elements(arrays)
        result = np.dtype(np.float64) if elements.kind in "biu" else elements
        return _total(arrays).mean(result if dtype is None else dtype)
    filled = [array for array in arrays if _size(array)] or arrays[:1]
    parts, groups = _reduced("mean", filled, dtype, method, block_size)
    sizes = [math.fsum(map(_size, group)) for group in groups]
    return _merged(parts, None, [size / max(math.fsum(sizes), 1) for size in sizes])
