"""Gradients of reductions: formulas of differentiable functions, and so of any order.

All take elements v, results y and their gradients g, which have a length of 1 along the dimensions
`dims` that are reduced. Gradients of complex numbers are those that descend, as PyTorch has them:
https://docs.pytorch.org/docs/stable/notes/autograd.html#autograd-for-complex-numbers
"""

import math
from typing import Any

from gred.checks import needed


def refuse(*_: Any) -> Any:
    """Import PyTorch; the ImportError says what brings it, where it is missing or too old."""
    return needed("torch", "torch", (2, 5))


try:
    torch = refuse()
except ImportError:
    torch = None

_Dims = tuple[int, ...]


def of_prod(v: Any, y: Any, g: Any, dims: _Dims) -> Any:
    """Multiply with all other elements: those before and those after, none of which may be 0."""
    if not dims:
        return g
    last = tuple(range(-len(dims), 0))
    moved = v.movedim(dims, last)
    flat = moved.flatten(v.ndim - len(dims))
    others = _before(flat) * _before(flat.flip(-1)).flip(-1)
    return g * others.reshape(moved.shape).movedim(last, dims).conj()


def _before(flat: Any) -> Any:
    """Multiply all elements before each."""
    first = flat.new_ones(flat[..., :1].shape)
    return torch.cat([first, flat[..., :-1]], -1).cumprod(-1)


def _shared(hit: Any, g: Any, dims: _Dims) -> Any:
    """Share a gradient among the elements that a result is equal to."""
    return g / (hit.sum(dims, keepdim=True) if dims else hit) * hit


def of_extreme(v: Any, y: Any, g: Any, dims: _Dims) -> Any:
    """Share it among all that are as great, as PyTorch does."""
    return _shared(v == y, g, dims)


def of_logsumexp(v: Any, y: Any, g: Any, dims: _Dims) -> Any:
    """Weigh by the softmax; of nothing but minus infinity there is no gradient."""
    return g * (v - y.masked_fill(y == -math.inf, 0)).exp().conj()


def of_var(v: Any, y: Any, g: Any, dims: _Dims, correction: float) -> Any:
    """Take the deviation from the mean."""
    mean = v.mean(dims, keepdim=True) if dims else v
    free = math.prod(v.shape[k] for k in dims) - correction
    return (v - mean) * (g * (2 / free if free > 0 else math.inf))


def of_std(v: Any, y: Any, g: Any, dims: _Dims, correction: float) -> Any:
    """Divide that of the variance by twice the root; where that is 0 there is none."""
    return g * (of_var(v, y, 0.5, dims, correction) / y).masked_fill(y == 0, 0)


def of_norm(v: Any, y: Any, g: Any, dims: _Dims, order: float) -> Any:
    """Take the direction of the element, or its sign."""
    if order == 2:
        return g * (v / y).masked_fill(y == 0, 0)
    if order == 1:
        return g * v.sgn()
    if order == 0:
        return v * 0 * g
    size = v.abs()
    end = torch.amax if order > 0 else torch.amin
    found = end(size, dims, keepdim=True) if dims else size  # no dims would be all
    return _shared(size == found, g, dims) * v.sgn()
