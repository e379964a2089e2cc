"""Variances and norms from exact sums of elements and of squares, rounded once."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from gred import _core
from gred.checks import to_library, values_and_validity
from gred.exact.moments import NO_FREEDOM, comoment
from gred.exact.partials import MOMENTS, Partials, merged, moments_of, sums_of
from gred.exact.rationals import divisor_of, float_type, nearest, quotient, root
from gred.exact.sums import ExactSum
from gred.several import common_type
from gred.statistics.weights import real


def reduced(
    name: str,
    a: Any,
    arrays: Sequence[Any] | None,
    axis: Any,
    dtype: Any,
    ddof: float,
    keepdims: bool,
    where: Any,
    _method: Any,
) -> Any:
    """Compute exact variances or standard deviations of an array, or of a list of arrays as one."""
    skips = name.startswith("nan")
    if arrays is not None:
        if axis is not None or keepdims or where is not True:
            raise TypeError(f"{name} of a list of arrays does not take axis, keepdims or where")
        sums = merged([sums_of(x, powers=MOMENTS, skips_nans=skips) for x in arrays])
        return variances(name, sums, ddof, type_of(arrays, dtype), 3)[()]
    if skips:
        a, shown = values_and_validity(a, "a")
        where = where if shown is None else shown & np.asarray(where)
    array, axes, sums = moments_of(a, axis, keepdims, where, skips_nans=skips)
    found = variances(name, sums, ddof, type_of([array], dtype), 3)
    found = found if keepdims else found.squeeze(axes)
    return to_library(found, array) if found.ndim else found[()]


def variances(
    name: str, partials: Partials, ddof: float, dtype: np.dtype[Any], stacklevel: int = 2
) -> Any:
    """Compute variances or standard deviations from sums of elements and of squares, rounded once.

    The variance of complex numbers is the sum of those of their parts.
    """
    divisors = [divisor_of(count, ddof) for count in partials.counts[0, :, 0].tolist()]
    if stacklevel and not all(divisors):
        warnings.warn(NO_FREEDOM, RuntimeWarning, stacklevel=stacklevel)
    rounded, found = root if name.endswith("std") else nearest, []
    for sums, divisor in zip(partials.sums(), divisors, strict=True):
        half = len(sums) // 2
        of_parts = [comoment(x, x, xx) for x, xx in zip(sums[:half], sums[half:], strict=True)]
        known = [x for x in of_parts if x is not None]
        whole = sum(known, Fraction()) if len(known) == half else None
        found.append(quotient(rounded, whole, divisor, dtype))
    return np.array(found, dtype).reshape(partials.shape)


def norms(partials: Partials, dtype: np.dtype[Any]) -> Any:
    """Compute square roots of sums of squares, rounded once; complex parts are added first."""

    def norm(total: ExactSum) -> Any:
        try:
            return root(total.fraction(), dtype)
        except (ValueError, OverflowError):
            return total.value(dtype)  # infinity, or NaN

    found = [norm(sum(sums, ExactSum())) for sums in partials.sums()]
    return np.array(found, dtype).reshape(partials.shape)


def type_of(arrays: Sequence[Any], dtype: Any) -> np.dtype[Any]:
    """Return the results' type: the elements' or their parts' type, float64 for integers."""
    if dtype is not None:
        return float_type(dtype)
    names = [real(name) for name in map(_core.element, arrays)]
    return common_type([name if "float" in name else "float64" for name in names])
