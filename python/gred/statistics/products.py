"""Dot products along an axis, rounded or exact."""

from __future__ import annotations

import importlib
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.typing import ArrayLike, DTypeLike

from gred import _core, checks
from gred.checks import cast, dtype_name, library_of, on_device, to_library
from gred.several import common_type
from gred.statistics.weights import library_type, real

_FEW, _LONG = 16, 1 << 18  # most results, and least length, to use all threads for one result
_FLOATS = ("float16", "bfloat16", "float32", "float64")
# Types with products that float64 represents exactly.
_SHORT = ("bool", "int8", "uint8", "int16", "uint16", *_FLOATS[:3])


@checks.torch_aliases
def vecdot(
    a: ArrayLike | Any,
    b: ArrayLike | Any,
    axis: int = -1,
    *,
    keepdims: bool = False,
    dtype: DTypeLike | None = None,
    out: Any = None,
    method: str = "auto",
    device: str | None = None,
    stream: Any = None,
) -> Any:
    """Compute dot products of vectors along an axis; vectors of `a` are conjugated.

    Equivalent to `numpy.vecdot`; ``vecdot(matrix, vector)`` multiplies a real matrix by a vector.

    Parameters
    ----------
    a, b : array_like
        Both on the host, or both of CuPy, PyTorch or JAX on a device. Other axes are broadcast.
    axis : int, default -1
        Axis of the vectors in each array; all vectors have the same length.
    keepdims : bool, default False
        If True, the axis is kept, with length 1.
    dtype : float16, bfloat16, float32 or float64, or complex64 or complex128, optional
        Type to which results are rounded; by default as for `gred.dot`.
    out : array of the results' shape, optional
        Array in which to store the results.
    method : {'auto', 'exact'}, default 'auto'
        ``'auto'`` multiplies and adds in float64; ``'exact'`` rounds each result once, as
        `gred.dot` does, by compensated sums [1]_ where their error bound permits. 64-bit integers
        multiplied by complex numbers are first rounded to floats.
    device, stream : optional
        As for `gred.sum`, for the sums of products.

    Returns
    -------
    scalar or array
        Of NumPy, or of the library of tensors and device arrays. Integers wrap around in 64 bits.

    Raises
    ------
    ValueError, TypeError
        If shapes do not match, the axis, method or device does not exist, a type is not supported,
        or one array is on the host and the other on a device.

    References
    ----------
    .. [1] T. Ogita, S. M. Rump, S. Oishi, "Accurate sum and dot product", SISC 26, 2005.

    Examples
    --------
    >>> import gred
    >>> gred.vecdot([[1e200, 1.0, -1e200], [1, 2, 3]], [1e200, 3.0, 1e200], method="exact")
    array([3.e+000, 4.e+200])
    """
    places = {"device": device, "stream": stream}
    return dots(a, b, axis, method, places, True, dtype, out, keepdims)


class _How(NamedTuple):
    """Options of all products."""

    dtype: Any
    exact: bool
    places: dict[str, Any]  # device and stream


def dots(
    a: Any,
    b: Any,
    axis: int,
    method: str,
    places: dict[str, Any],
    conjugates: bool,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
) -> Any:
    """Compute dot products along an axis; `places` holds `device` and `stream`.

    `csrc/python/exact.c` calls it for `gred.dot`, with positional arguments.
    """
    if method not in ("auto", "exact"):
        raise ValueError(f"method must be 'auto' or 'exact'; got {method!r}")
    x, y, shape = _vectors(a, b, axis)
    is_complex = "complex" in _core.element(x) + _core.element(y)
    types = ("complex64", "complex128") if is_complex else _FLOATS
    if dtype is not None and dtype_name(dtype) not in types:
        raise TypeError(f"dtype must be {', '.join(types)}, or be omitted; got {dtype!r}")
    whole = shape
    if keepdims:
        place = normalize_axis_index(axis, len(shape) + 1)
        whole = (*shape[:place], 1, *shape[place:])
    if out is not None and out is not ...:
        kind = _checked(out, whole, _result(x, y, dtype))
        dtype = kind if method == "exact" and kind in types else dtype
    how = _How(dtype, method == "exact", places)
    if not shape and dtype is None:
        x = x.conj() if conjugates and is_complex else x
        found = _core.dot(_resolved(x), _resolved(y), method=method, **places)
    elif is_complex:
        found = _complex(x, y, shape, how, conjugates)
    else:
        found = _real(x, y, shape, 1, how)
    if isinstance(found, np.generic) and (keepdims or out is ...):
        found = np.asarray(found)
    found = found.reshape(whole) if keepdims else found
    if out is None or out is ...:
        if checks.is_tensor(x) and isinstance(found, np.ndarray):
            return to_library(found, x)
        return found[()] if out is None and isinstance(found, np.ndarray) else found
    out[...] = found if library_of(out) in (np, library_of(found)) else to_library(found, out)
    return out


def _vectors(a: Any, b: Any, axis: int) -> tuple[Any, Any, tuple[int, ...]]:
    """Move vectors to the last axis; return the arrays and the broadcast shape of other axes."""
    first = checks.array_of(a)
    arrays = first, checks.match_library(checks.array_of(b, "b"), first)
    xp = library_of(first)
    if xp is None or xp is not library_of(arrays[1]):
        kinds = " and ".join(type(one).__name__ for one in (a, b))
        raise TypeError(
            f"a and b must both be on the host, or both be CuPy, PyTorch or JAX arrays; got {kinds}"
        )
    if not all(len(one.shape) for one in arrays):
        raise ValueError("a and b must have at least one dimension")
    axis = checks.integer_from(axis, "axis")
    x, y = (xp.moveaxis(one, normalize_axis_index(axis, len(one.shape)), -1) for one in arrays)
    shapes = " and ".join(str(tuple(one.shape)) for one in arrays)
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(f"a and b must have equal lengths along axis {axis}; got shapes {shapes}")
    try:
        return x, y, np.broadcast_shapes(tuple(x.shape[:-1]), tuple(y.shape[:-1]))
    except ValueError:
        raise ValueError(f"shapes {shapes} cannot be broadcast outside axis {axis}") from None


def _resolved(x: Any) -> Any:
    """Resolve PyTorch's lazy conjugation."""
    return x.resolve_conj() if hasattr(x, "resolve_conj") else x


def _checked(out: Any, shape: tuple[int, ...], kind: str) -> str:
    """Check that results of a type fit into `out`; return the element type of `out`."""
    if not hasattr(out, "shape"):
        raise TypeError(f"out must be an array; got {type(out).__name__}")
    if (got := tuple(out.shape)) != shape:
        raise ValueError(f"out must have the shape of the results, {shape}; got {got}")
    wanted = _core.element(out, "out")
    if not np.can_cast(common_type([kind]), common_type([wanted]), "same_kind"):
        raise TypeError(f"results of type {kind} cannot be cast to out of type {wanted}")
    return wanted


def _parts(xp: Any, x: Any) -> Any:
    """View complex numbers as real ones, with the two parts as a new last axis."""
    if xp is np:
        return x[..., None].view(x.real.dtype)
    if xp.__name__ == "torch":
        return xp.view_as_real(_resolved(x))
    return xp.stack((x.real, x.imag), -1)


def _complex(x: Any, y: Any, shape: tuple[int, ...], how: _How, conjugates: bool) -> Any:
    """Compute both parts as sums of real products; the smaller array is rearranged for each."""
    xp, kind = library_of(x), common_type([_core.element(x), _core.element(y)]).name
    x, y = (cast(one, library_type(xp, one, kind)) for one in (x, y))
    turned, other = (x, y) if math.prod(x.shape) < math.prod(y.shape) else (y, x)
    r, i, sign = turned.real, _resolved(turned).imag, 1
    if conjugates:
        i, sign = -i, 1 if turned is x else -1
    part = how._replace(dtype=None if how.dtype is None else real(dtype_name(how.dtype)))
    halves = [
        _real(_parts(xp, other), xp.stack(pair, -1), shape, 2, part)
        for pair in ((r, -i), (sign * i, sign * r))
    ]
    if xp.__name__.startswith("jax"):
        return importlib.import_module("jax.lax").complex(*halves)
    if xp.__name__ == "torch" and not isinstance(halves[0], np.ndarray):
        return xp.complex(*halves)
    here = library_of(halves[0])
    found = here.empty(shape, library_type(here, halves[0], dtype_name(how.dtype or kind)))
    found.real, found.imag = halves
    return found


def _real(x: Any, y: Any, shape: tuple[int, ...], along: int, how: _How) -> Any:
    """Compute sums of products over the last `along` axes."""
    xp, kind = library_of(x), _result(x, y, how.dtype)
    if math.prod(x.shape) < math.prod(y.shape):
        x, y = y, x
    if on_device(x) or how.places["device"] not in (None, "host"):
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            found = _in_library(xp, x, y, along, kind, how)
        if found is not None:
            return found
    x, y = (xp.broadcast_to(one, shape + tuple(x.shape[-along:])) for one in (x, y))
    if on_device(x):
        found = to_library(_one_by_one(x, y, shape, kind, True).astype(np.float64), x)
        return cast(found, library_type(xp, x, kind))
    few = math.prod(x.shape[-along:]) >= _LONG and 0 < math.prod(shape) <= _FEW
    if few and (how.exact or how.dtype is None):
        return _one_by_one(x, y, shape, kind, how.exact)
    return _core.dots(x, y, along, how.dtype, how.exact)


def _result(x: Any, y: Any, dtype: Any) -> str:
    """Return the name of the results' type."""
    if dtype is not None:
        return dtype_name(dtype)
    kind = common_type([_core.element(x), _core.element(y)])
    return {"b": "int64", "i": "int64", "u": "uint64"}.get(kind.kind, kind.name)


def _one_by_one(x: Any, y: Any, shape: tuple[int, ...], kind: str, exact: bool) -> Any:
    """Compute each result by a call for whole arrays; integer results are exact in any case."""
    found = []
    for at in np.ndindex(*shape):
        if exact and "int" not in kind:
            found.append(_core.exact_rounded(_core.exact_products(x[at], y[at]), 1, kind))
        else:
            found.append(_core.dot(x[at].reshape(-1), y[at].reshape(-1)))
    return np.array(found, None if found else kind).reshape(shape)


def _in_library(xp: Any, x: Any, y: Any, along: int, kind: str, how: _How) -> Any:
    """Multiply in the arrays' library; None if an exact result is required and not possible."""
    names = _core.element(x), _core.element(y)
    exact = how.exact and "int" not in kind
    if exact and ("int64" in names or "uint64" in names):
        return None
    x, y = (cast(one, xp.int64 if "int" in kind else xp.float64) for one in (x, y))
    terms = x * y
    if exact and "float64" not in str(terms.dtype):  # JAX without jax_enable_x64
        return None
    if exact and any(name not in _SHORT for name in names):
        lost = _rounding_errors(x, y, terms)
        if lost is None:
            return None
        terms = xp.concatenate((terms, lost), -1)
    options = how.places | ({"method": "exact", "dtype": kind} if exact else {})
    found = _core.sum(terms, axis=tuple(range(-along, 0)), **options)
    if isinstance(found, np.generic):
        found = np.asarray(found)
    return cast(found, library_type(library_of(found), found, kind))


def _rounding_errors(x: Any, y: Any, products: Any) -> Any:
    """Compute the rounding errors of float64 products, by Dekker's algorithm.

    None if factors or products are outside the range in which all errors are floats.
    """
    sound = (abs(x) < 2.0**990) & (abs(y) < 2.0**990) & (abs(products) < 2.0**1000)
    sound &= (abs(products) > 2.0**-900) | (x == 0) | (y == 0)
    if not bool(sound.all()):
        return None
    (a, b), (c, d) = (_halves(one) for one in (x, y))
    return ((a * c - products) + a * d + b * c) + b * d


def _halves(x: Any) -> tuple[Any, Any]:
    shifted = x * (2.0**27 + 1)
    high = shifted - (shifted - x)
    return high, x - high
