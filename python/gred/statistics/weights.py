"""Weighted means and variances, for the `weights=` of gred's functions."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from gred import _core
from gred.checks import (
    cast,
    dtype_name,
    indexable,
    library_of,
    match_library,
    values_and_not_nan,
)

_Function = Callable[[Any], Any]

_NOTHING = "Weights sum to zero, or to no more than ddof: the mean or variance is undefined"
_WIDE = ("complex128", "complex64", "float64", "float32")
_NARROW = ("float16", "bfloat16")


def reduced(
    name: str,
    a: Any,
    weights: Any,
    axis: Any,
    dtype: Any,
    ddof: float,
    keepdims: bool,
    where: Any,
    method: Any,
) -> Any:
    """Compute a weighted mean, variance or standard deviation of an array."""
    array, weight, xp = _arrays(a, weights, axis)
    if method not in (None, "auto", "exact"):
        raise ValueError(f"method with weights must be 'auto' or 'exact'; got {method!r}")
    shown = values_and_not_nan(array, where)[1] if name.startswith("nan") else where
    name = name.removeprefix("nan")
    factors, kind = typed(xp, array, weight, dtype)
    if method == "exact":
        return _exactly(name, array, weight, axis, kind, shown, keepdims)

    is_spread = name in ("var", "std")

    def added(x: Any) -> Any:
        return xp.asarray(_core.sum(x, keepdims=keepdims or is_spread, axis=axis, where=shown))

    found, total = weighted(name, xp, factors, ddof, added, lambda mean: mean)
    if xp is np and not (np.asarray(total) > 0).all():
        warnings.warn(_NOTHING, RuntimeWarning, stacklevel=2)
    if is_spread and not keepdims:
        axes = range(array.ndim) if axis is None else normalize_axis_tuple(axis, array.ndim)
        found = found.reshape([n for k, n in enumerate(found.shape) if k not in axes])
    found = cast(found, library_type(xp, array, real(kind) if is_spread else kind))
    return found[()] if xp is np else found


def weighted(
    name: str, xp: Any, factors: Any, ddof: float, added: _Function, own: _Function
) -> tuple[Any, Any]:
    """Compute a weighted sum, mean, variance or standard deviation; return it and its divisor.

    `added` sums elements to results; `own` expands means to the elements that they are means of.
    """
    array, weight = factors
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found, total = added(array * weight), added(weight)
        if name == "sum":
            return found, total
        found = found / total
        if name in ("var", "std"):
            if ddof:
                left = total - ddof
                total = xp.where(left > 0, left, xp.zeros_like(left))
            found = added(abs(array - own(found)) ** 2 * weight) / total
        return found**0.5 if name == "std" else found, total


def _arrays(a: Any, weights: Any, axis: Any) -> tuple[Any, Any, Any]:
    """Broadcast weights as numpy.average does: one per element, or of the reduced axes' shape."""
    array, weight = indexable(a), indexable(weights, "weights")
    xp, weight = library_of(array), match_library(weight, array)
    if xp is None or library_of(weight) is not xp:
        raise TypeError("an array and its weights must both be of NumPy, CuPy, PyTorch or JAX")
    shape, given = tuple(array.shape), tuple(weight.shape)
    if given == shape:
        return array, weight, xp
    axes = () if axis is None else normalize_axis_tuple(axis, len(shape))
    if given != tuple(shape[k] for k in axes):
        of_these = f"of a, {shape}, or of its reduced axes"
        raise ValueError(f"weights must have the shape {of_these}; got {given}")
    order = [axes.index(k) for k in sorted(axes)]
    moved = weight.permute(order) if hasattr(weight, "permute") else weight.transpose(order)
    spread = tuple(length if k in axes else 1 for k, length in enumerate(shape))
    return array, xp.broadcast_to(moved.reshape(spread), shape), xp


def typed(xp: Any, array: Any, weight: Any, dtype: Any) -> tuple[tuple[Any, Any], str]:
    """Convert elements and weights to the type of their products; return the results' type, too.

    Integers become float64, and 16-bit floats float32. Raises TypeError if the weights are complex
    or `dtype` is not a float or complex type.
    """
    names = [_core.element(array), _core.element(weight)]
    if names[1].startswith("complex"):
        raise TypeError("weights must be real")
    floats = [name if name in (*_WIDE, *_NARROW) else "float64" for name in names]
    if "complex64" in floats and "float64" in floats:
        floats.append("complex128")
    wide = [name for name in floats if name in _WIDE]
    work = min(wide, key=_WIDE.index) if wide else "float32"
    kind = work if wide or floats[0] != floats[1] else floats[0]
    if dtype is not None:
        kind = dtype_name(dtype)
        if kind not in (*_WIDE, *_NARROW):
            raise TypeError(f"dtype with weights must be a float or complex type; got {kind}")
        work = min(work, kind, key=_WIDE.index) if kind in _WIDE else work
    factors = library_type(xp, array, work), library_type(xp, array, real(work))
    return (cast(array, factors[0]), cast(weight, factors[1])), kind


def real(name: str) -> str:
    """Return the name of a complex type's part type; other names unchanged."""
    return {"complex64": "float32", "complex128": "float64"}.get(name, name)


def library_type(xp: Any, array: Any, name: str) -> Any:
    """Return a library's type by name; NumPy's bfloat16 is taken from the array if possible."""
    if name == "bfloat16" and xp is np:
        return array.dtype if str(array.dtype) == name else np.dtype(name)
    return getattr(xp, name)


def _exactly(
    name: str, array: Any, weight: Any, axis: Any, kind: str, shown: Any, keepdims: bool
) -> Any:
    """Compute a weighted mean as the quotient of two exact sums, rounded once."""
    from gred.exact import ExactSum  # imports this module indirectly
    from gred.exact.rationals import nearest
    from gred.several import common_type

    if name != "mean" or axis is not None or keepdims or "complex" in kind:
        raise TypeError("method 'exact' with weights supports only means of whole real arrays")
    if shown is not True:
        shown = library_of(array).broadcast_to(shown, array.shape)
        array, weight = array[shown], weight[shown]
    products, total = ExactSum(), ExactSum(weight)
    products.add_products(array.reshape(-1), weight.reshape(-1))
    dtype = common_type([kind])
    try:
        return nearest(products.fraction() / total.fraction(), dtype)
    except (ArithmeticError, ValueError):  # zero or not finite
        if not total.value() > 0:
            warnings.warn(_NOTHING, RuntimeWarning, stacklevel=3)
        with np.errstate(divide="ignore", invalid="ignore"):
            return dtype.type(products.value() / total.value())
