"""What gred.var and gred.std are by method='exact': of moments, rounded once."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from gred import _core
from gred.checks import array_of, brought, indexable, on_device
from gred.exact.moments import NO_FREEDOM, ExactMoments, comoment
from gred.exact.rationals import divisor_of, float_type, nearest, quotient, root
from gred.several import common

_ROUNDED = {"var": nearest, "std": root}


def reduced(
    name: str, a: Any, axis: Any, dtype: Any, ddof: float, keepdims: bool, where: Any
) -> Any:
    """Make exact variances, or their roots, of an array."""
    whole = axis is None and not keepdims
    array = array_of(a) if whole and where is True else indexable(a)
    result, shown = _type([array], dtype), _shown(array, where)
    if whole:
        parts = moments_of(array if shown is None else array[shown])
        return variance_of(name, parts, ddof, result, 3)
    axes = normalize_axis_tuple(range(array.ndim) if axis is None else axis, array.ndim)
    found = np.empty([1 if k in axes else n for k, n in enumerate(array.shape)], result)
    with warnings.catch_warnings(record=True) as told:
        for place in np.ndindex(found.shape):
            at = tuple(slice(None) if k in axes else place[k] for k in range(array.ndim))
            part = array[at] if shown is None else array[at][shown[at]]
            found[place] = variance_of(name, moments_of(part), ddof, result)
    if told:
        warnings.warn(NO_FREEDOM, RuntimeWarning, stacklevel=2)
    found = found if keepdims else found.squeeze(axes)
    return brought(found, array) if found.ndim else found[()]


def reduced_list(name: str, arrays: Sequence[Any], dtype: Any, ddof: float) -> Any:
    """Make the variance, or its root, of the one array that all elements of some are."""
    parts = [sum(of_part) for of_part in zip(*map(moments_of, arrays), strict=True)]
    return variance_of(name, parts, ddof, _type(arrays, dtype), 3)


def moments_of(array: Any) -> tuple[ExactMoments, ExactMoments]:
    """Take the parts of complex numbers as two, whose variances are added up."""
    if _core.element(array).startswith("complex"):
        parts = indexable(array)
        return ExactMoments(parts.real), ExactMoments(parts.imag)
    return ExactMoments(array), ExactMoments()


def variance_of(
    name: str, parts: Sequence[Any], ddof: float, dtype: np.dtype[Any], stacklevel: int = 2
) -> Any:
    """Round the variance that parts of complex numbers have together, or its root."""
    divisor = divisor_of(parts[0].count, ddof)
    if not divisor:
        warnings.warn(NO_FREEDOM, RuntimeWarning, stacklevel=stacklevel)
    found = [comoment(part._state, 0, 0) for part in parts if part.count]
    finite = [x for x in found if x is not None]
    whole = sum(finite, Fraction()) if found and len(finite) == len(found) else None
    return quotient(_ROUNDED[name], whole, divisor, dtype)


def _type(arrays: Sequence[Any], dtype: Any) -> np.dtype[Any]:
    """Find the type of a result: the elements' own, or its parts', and float64 of integers."""
    if dtype is not None:
        return float_type(dtype)
    parts = {"complex64": "float32", "complex128": "float64"}
    names = [parts.get(name, name) for name in map(_core.element, arrays)]
    floats = [name if name.startswith(("float", "bfloat")) else "float64" for name in names]
    return common(floats)


def _shown(array: Any, where: Any) -> Any:
    """Broadcast a mask; None if there is none."""
    if where is True:
        return None
    mask = np.asarray(where)
    if on_device(array) or mask.dtype != bool:
        raise TypeError("where of exact variances has to be of bool, and is for arrays on the host")
    return np.broadcast_to(mask, tuple(array.shape))
