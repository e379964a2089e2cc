"""Means and variances of elements that have weights: of sums of products, `weights=` of gred's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from gred import _core
from gred.checks import indexable, library_of
from gred.exact import ExactSum
from gred.exact.rationals import nearest

_NOTHING = "Weights sum to zero: the mean or variance is NaN"


def reduced(
    name: str, a: Any, weights: Any, axis: Any, dtype: Any, ddof: float, options: dict[str, Any]
) -> Any:
    """Make a mean, variance or standard deviation of an array with weights.

    `options` are `keepdims`, `where` and `method`.
    """
    array, weight, xp = _arrays(a, weights, axis)
    shown = options.pop("where")
    if name.startswith("nan"):
        numbers = array == array
        shown = numbers if shown is True else numbers & shown
    if options.pop("method") == "exact":
        return _exactly(name, array, weight, axis, dtype, shown, options["keepdims"])
    work, kind = _types(xp, array, weight, dtype)
    array, weight = _cast(array, _type(xp, array, work)), _cast(weight, _type(xp, array, work))
    options |= {"axis": axis, "where": shown}
    if name in ("mean", "nanmean"):
        found = _divided(xp, array * weight, weight, 0, **options)
    else:
        mean = _divided(xp, array * weight, weight, 0, **options | {"keepdims": True})
        squares = abs(array - mean) ** 2
        found = _divided(xp, squares * weight, weight, ddof, **options)
        found = xp.sqrt(found) if name == "std" else found
    is_real = name in ("var", "std")
    found = _cast(found, _type(xp, array, _real(kind) if is_real else kind))
    return found[()] if xp is np else found


def _arrays(a: Any, weights: Any, axis: Any) -> tuple[Any, Any, Any]:
    """Broadcast weights as numpy.average does: of an element each, or along the axes."""
    array, weight = indexable(a), indexable(weights)
    xp = library_of(array)
    if xp is None or library_of(weight) is not xp:
        raise TypeError("an array and its weights have to be of NumPy, CuPy, PyTorch or JAX both")
    if _core.element(weight).startswith("complex"):
        raise TypeError("weights must be real")
    shape, given = tuple(array.shape), tuple(weight.shape)
    if given == shape:
        return array, weight, xp
    axes = () if axis is None else normalize_axis_tuple(axis, len(shape))
    if given != tuple(shape[k] for k in axes):
        raise ValueError(
            f"weights must have the shape of a, {shape}, or of its axes that are reduced; theirs "
            f"is {given}"
        )
    order = [axes.index(k) for k in sorted(axes)]
    moved = weight.permute(order) if hasattr(weight, "permute") else weight.transpose(order)
    spread = tuple(length if k in axes else 1 for k, length in enumerate(shape))
    return array, xp.broadcast_to(moved.reshape(spread), shape), xp


def _types(xp: Any, array: Any, weight: Any, dtype: Any) -> tuple[str, str]:
    """Choose what products are made in, and the type of the result."""
    names = [_core.element(array), _core.element(weight)]
    floats = [name if not name.startswith(("int", "uint", "bool")) else "float64" for name in names]
    narrow = all(name in ("float16", "bfloat16") for name in floats)
    if "complex64" in floats and "float64" in floats:
        floats.append("complex128")
    order = ["complex128", "complex64", "float64", "float32", *floats]
    widest = min(floats, key=order.index)
    work = "float32" if narrow else widest
    kind = (floats[0] if floats[0] == floats[1] else "float32") if narrow else widest
    if dtype is not None:
        kind = str(dtype).removeprefix("torch.") if xp.__name__ == "torch" else np.dtype(dtype).name
        if not kind.startswith(("float", "bfloat", "complex")):
            raise TypeError(
                f"dtype of what has weights must be a float or complex type; got {kind}"
            )
        work = work if narrow or order.index(work) <= order.index(kind) else kind
    return work, kind


def _real(name: str) -> str:
    """Name the type of a complex one's parts."""
    return {"complex64": "float32", "complex128": "float64"}.get(name, name)


def _type(xp: Any, array: Any, name: str) -> Any:
    if name == "bfloat16" and xp is np:
        return array.dtype if array.dtype.name == name else np.dtype(name)
    return getattr(xp, name)


def _cast(x: Any, dtype: Any) -> Any:
    return x.to(dtype) if hasattr(x, "to") else x.astype(dtype)


def _divided(xp: Any, products: Any, weight: Any, ddof: float, **options: Any) -> Any:
    total = _core.sum(weight, **options) - ddof
    found = _core.sum(products, **options)
    total, found = xp.asarray(total), xp.asarray(found)
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = found / xp.where(total > 0, total, total * 0) if ddof else found / total
    if xp is np and not np.asarray(total).all():
        warnings.warn(_NOTHING, RuntimeWarning, stacklevel=3)
    return quotient


def _exactly(
    name: str, array: Any, weight: Any, axis: Any, dtype: Any, shown: Any, keepdims: bool
) -> Any:
    """Round a weighted mean once: the quotient of two exact sums."""
    if name not in ("mean", "nanmean") or axis is not None or keepdims:
        raise TypeError("method 'exact' with weights is for means of whole arrays")
    if shown is not True:
        array, weight = array[shown], weight[shown]
    products, total = ExactSum(), ExactSum(weight)
    products.add_products(array.reshape(-1), weight.reshape(-1))
    kind = np.dtype("float64" if dtype is None else dtype)
    try:
        return nearest(products.fraction() / total.fraction(), kind)
    except (ArithmeticError, ValueError):  # of 0, or of what is not finite
        with np.errstate(divide="ignore", invalid="ignore"):
            return kind.type(np.float64(products.value()) / np.float64(total.value()))
