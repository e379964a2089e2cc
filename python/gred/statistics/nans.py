"""Masks of elements that are not NaN, for reductions without kernels that skip NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from gred import _core
from gred.checks import array_of, values_and_validity


def values_and_not_nan(a: Any, where: Any) -> tuple[Any, Any]:
    """Return an array and the mask, in its library, of unmasked elements that are not NaN."""
    if type(a) is np.ndarray and a.dtype.kind in "fc" and where is True:
        return a, a == a
    values, present = values_and_validity(a, "a")
    array = array_of(values)
    if present is not None:
        where = present if where is True else present & np.asarray(where)
    if not _core.element(array).startswith(("float", "bfloat", "complex")):
        return array, where
    shown = array == array
    return array, shown if where is True else shown & where
