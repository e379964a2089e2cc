"""Variances of what is not NaN: those of a mask, `where=` of gred's own."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np

from gred import _core
from gred.checks import array_of, nulls_apart
from gred.docstrings import text_of


def numbers_of(a: Any, where: Any) -> tuple[Any, Any]:
    """Make a mask of what is a number, and let through by another, in the array's library."""
    if type(a) is np.ndarray and a.dtype.kind in "fc" and where is True:
        return a, a == a
    values, present = nulls_apart(a, "a")
    array = array_of(values)
    if present is not None:
        where = present if where is True else present & np.asarray(where)
    if not _core.element(array).startswith(("float", "bfloat", "complex")):
        return array, where
    shown = array == array
    if isinstance(shown, bool):  # nobody has compared elements
        raise TypeError(
            f"arrays of {type(a).__name__} cannot be compared, to find what is NaN; copy it to the "
            f"host, or give where="
        )
    return array, shown if where is True else shown & where


def _without_nan(name: str, summary: str) -> Callable[..., Any]:
    """Make the function that calls gred's own with a mask."""
    own = getattr(_core, name.removeprefix("nan"))

    def function(a: Any, *arguments: Any, where: Any = True, **options: Any) -> Any:
        array, shown = numbers_of(a, where)
        return own(array, *arguments, where=shown, **options)

    parameters = signature(own)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text_of(name, summary, tuple(parameters.parameters), False, "nan")
    vars(function)["__signature__"] = parameters
    return function


nanvar = _without_nan("nanvar", "Compute the variance of elements that are not NaN.")
nanstd = _without_nan("nanstd", "Compute the standard deviation of elements that are not NaN.")
