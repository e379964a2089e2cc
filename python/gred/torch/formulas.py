"""Gradients of reductions, as differentiable formulas, which makes them work to any order.

All take elements v, results y and their gradients g, with length 1 along the reduced dimensions
`dims`. Gradients of complex numbers follow PyTorch's convention:
https://docs.pytorch.org/docs/stable/notes/autograd.html#autograd-for-complex-numbers
"""

import math
from typing import Any

from gred.checks import import_extra


def require_torch(*_: Any) -> Any:
    """Import PyTorch; raise an ImportError that names gred's extra if it is missing or too old."""
    return import_extra("torch", "torch", (2, 5))


try:
    torch = require_torch()
except ImportError:
    torch = None

_Dims = tuple[int, ...]


def of_prod(v: Any, y: Any, g: Any, dims: _Dims) -> Any:
    """Multiply by the product of all other elements, without a division, since any may be 0."""
    if not dims:
        return g
    last = tuple(range(-len(dims), 0))
    moved = v.movedim(dims, last)
    flat = moved.flatten(v.ndim - len(dims))
    others = _before(flat) * _before(flat.flip(-1)).flip(-1)
    return g * others.reshape(moved.shape).movedim(last, dims).conj()


def _before(flat: Any) -> Any:
    """Compute the exclusive cumulative product."""
    first = flat.new_ones(flat[..., :1].shape)
    return torch.cat([first, flat[..., :-1]], -1).cumprod(-1)


def _shared(hit: Any, g: Any, dims: _Dims) -> Any:
    """Divide a gradient equally among the elements that equal the result."""
    return g / (hit.sum(dims, keepdim=True) if dims else hit) * hit


def of_extreme(v: Any, y: Any, g: Any, dims: _Dims) -> Any:
    """Divide the gradient equally among all extremes, as PyTorch does."""
    return _shared(v == y, g, dims)


def of_logsumexp(v: Any, y: Any, g: Any, dims: _Dims) -> Any:
    """Multiply by the softmax; the gradient is 0 if all elements are minus infinity."""
    return g * (v - y.masked_fill(y == -math.inf, 0)).exp().conj()


def of_var(v: Any, y: Any, g: Any, dims: _Dims, correction: float) -> Any:
    """Multiply by the scaled deviation from the mean."""
    mean = v.mean(dims, keepdim=True) if dims else v
    free = math.prod(v.shape[k] for k in dims) - correction
    return (v - mean) * (g * (2 / free if free > 0 else math.inf))


def of_std(v: Any, y: Any, g: Any, dims: _Dims, correction: float) -> Any:
    """Divide the variance's gradient by twice the standard deviation; 0 if that is 0."""
    return g * (of_var(v, y, 0.5, dims, correction) / y).masked_fill(y == 0, 0)


def of_norm(v: Any, y: Any, g: Any, dims: _Dims, order: float) -> Any:
    """Multiply by v / y for order 2, or by the elements' signs for other orders."""
    if order == 2:
        return g * (v / y).masked_fill(y == 0, 0)
    if order == 1:
        return g * v.sgn()
    if order == 0:
        return v * 0 * g
    size = v.abs()
    end = torch.amax if order > 0 else torch.amin
    found = end(size, dims, keepdim=True) if dims else size  # dims=() would reduce all
    return _shared(size == found, g, dims) * v.sgn()
