"""The registered operators: kernels, shapes, gradients and batching rules, from one table.

https://docs.pytorch.org/docs/stable/library.html
"""

import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gred import _core
from gred.checks import import_extra, to_library
from gred.keys import by_key


def require_torch(*_: Any) -> Any:
    """Import PyTorch; raise an ImportError that names gred's extra if it is missing or too old."""
    return import_extra("torch", "torch", (2, 5))


try:
    torch = require_torch()
except ImportError:
    torch = None

_Function = Callable[..., Any]
_Axes = tuple[int, ...]
# Operators are registered as long as the library exists.
_library: Any = torch and torch.library.Library("gred", "DEF")

# ---- shapes and types ----


def _dims(ndim: int, dim: Any) -> _Axes:
    """Return nonnegative dimensions; a 0-d tensor accepts dimension 0 or -1."""
    if dim is None:
        return tuple(range(ndim))
    dims, most = (dim,) if isinstance(dim, int) else dim, max(ndim, 1)
    for k in dims:
        if not -most <= k < most:
            raise IndexError(f"dim {k} is out of range for {ndim} dimensions")
    found = tuple(k % most for k in dims)
    if len(set(found)) < len(found):
        raise ValueError(f"dim {tuple(dims)} contains a dimension twice")
    return found if ndim else ()


def _axis(x: Any, dim: Any) -> Any:
    """Return dimensions for the core, which accepts none for a 0-d tensor."""
    if dim is None:
        return None
    return _dims(0, dim) if not x.ndim else dim if isinstance(dim, int) else tuple(dim)


def _kept(shape: Any, dims: _Axes) -> list[Any]:
    return [1 if k in dims else length for k, length in enumerate(shape)]


def _like(gradient: Any, dtype: Any) -> Any:
    """Convert a gradient to the dtype of its input."""
    if gradient.is_complex() and not dtype.is_complex:
        gradient = gradient.real
    return gradient if gradient.dtype == dtype else gradient.to(dtype)


def result_type(name: str, dtype: Any, asked: Any = None) -> Any:
    """Return the dtype of the core's results for an element type and the requested dtype."""
    found = dtype if asked is None else asked
    if found.is_complex:
        return found.to_real() if name in ("var", "std", "norm") else found
    if found.is_floating_point or name in ("amin", "amax") or asked is not None:
        return found
    if name not in ("sum", "prod"):
        return torch.float64
    return torch.int64 if found.is_signed or found == torch.bool else torch.uint64


# ---- registering ----

CALLS: dict[str, _Function] = {} if torch else defaultdict(lambda: require_torch)


def _register(
    name: str,
    schema: str,
    kernel: _Function,
    fake: _Function,
    backward: _Function,
    batched: _Function,
    keep: _Function | None = None,
) -> None:
    """Register an operator, and define the cheapest way to call it in ``CALLS[name]``.

    In eager mode the kernel or an autograd function replaces the operator, which takes longer.
    Under torch.func transforms another autograd function is used, since a registered operator
    cannot be differentiated there; it also rejects forward gradients, which operators would lose.
    """
    count = schema.count("Tensor ")

    def detached(*arguments: Any) -> Any:
        return kernel(*map(torch.Tensor.detach, arguments[:count]), *arguments[count:])

    def keep_all(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs[:count], output)
        ctx.rest = inputs[count:]

    keep = keep or keep_all

    def forward(ctx: Any, *arguments: Any) -> Any:
        made = detached(*arguments)
        keep(ctx, arguments, made)
        return made

    def function(**members: _Function) -> Any:
        found = {key: staticmethod(one) for key, one in members.items()}
        return type(name, (torch.autograd.Function,), found)

    _library.define(f"{name}({schema}) -> Tensor", tags=(torch.Tag.pt2_compliant_tag,))
    _library.impl(name, detached, "CompositeExplicitAutograd")
    torch.library.register_fake(f"gred::{name}", fake, lib=_library)
    torch.library.register_autograd(f"gred::{name}", backward, setup_context=keep, lib=_library)
    torch.library.register_vmap(f"gred::{name}", batched, lib=_library)
    operator = getattr(torch.ops.gred, name).default
    members = {"forward": operator, "setup_context": keep, "backward": backward}
    transformed = function(**members, vmap=batched)
    at_once = function(forward=forward, backward=backward)

    def call(*arguments: Any) -> Any:
        x, last = arguments[0], arguments[count - 1]  # the same for one tensor
        if is_eager(x) and (last is x or is_eager(last)):
            if x.requires_grad or (last is not x and last.requires_grad):
                return at_once.apply(*arguments)
            return kernel(*arguments)
        for one in (x, last):
            if not isinstance(one, torch.Tensor) and not hasattr(type(one), "__torch_function__"):
                given = type(one).__name__
                raise TypeError(f"the functions of gred.torch take tensors, not {given}")
        if not _is_compiling() and (_level() is not None or _forward_ad._current_level >= 0):
            return transformed.apply(*arguments)
        return operator(*arguments)

    CALLS[name] = call


_is_compiling: Any = require_torch
if torch is not None:
    _is_compiling = torch.compiler.is_dynamo_compiling
    _modes: Any = torch._C._len_torch_dispatch_stack
    _level: Any = torch._C._functorch.maybe_current_level
    _trace: Any = torch._C._get_tracing_state
    _forward_ad: Any = torch.autograd.forward_ad
    _KINDS = (torch.Tensor, torch.nn.Parameter)


def is_eager(x: Any) -> bool:
    """Return whether a tensor is computed in eager mode, without modes, transforms or tracing."""
    return (
        not _is_compiling()
        and type(x) in _KINDS
        and not x.is_meta
        and not _modes()
        and _level() is None
        and _trace() is None
        and _forward_ad._current_level < 0
    )


# ---- along dimensions ----


def _plain(core: _Function) -> _Function:
    def kernel(x, dim=None, keepdim=False, dtype=None, method="auto"):  # type: ignore[no-untyped-def]
        axis = dim if dim is None else _axis(x, dim)
        return core(x, axis, out=..., keepdims=keepdim, dtype=dtype, method=method)

    return kernel


def _spread(core: _Function) -> _Function:
    """Return a kernel that converts exact results, which are NumPy scalars, to tensors."""

    def kernel(x, dim=None, keepdim=False, dtype=None, method="auto", correction=1):  # type: ignore[no-untyped-def]
        options = {"keepdims": keepdim, "dtype": dtype, "method": method, "ddof": correction}
        if method != "exact":
            return core(x, _axis(x, dim), out=..., **options)
        made = core(x, _axis(x, dim), **options)
        return made if isinstance(made, torch.Tensor) else to_library(np.asarray(made), x)

    return kernel


def _norm(x, dim=None, keepdim=False, dtype=None, method="auto", ord=2):  # type: ignore[no-untyped-def]
    """Compute vector norms, also along several dimensions.

    The core rejects several axes unless the order is 2, since NumPy takes them for matrices.
    """
    options = {"dtype": dtype, "out": ..., "method": method}
    axis = _axis(x, dim)
    if ord == 2 or axis is None or isinstance(axis, int) or len(axis) < 2:
        return _core.norm(x, None if ord == 2 else ord, axis, keepdims=keepdim, **options)
    dims = _dims(x.ndim, axis)
    flat = x.movedim(dims, tuple(range(-len(dims), 0))).flatten(-len(dims))
    found = _core.norm(flat, ord, -1, **options)
    return found.reshape(_kept(x.shape, dims)) if keepdim else found


# ---- gradients, as differentiable formulas, which makes them work to any order ----
#
# All take elements v, results y and their gradients g, with length 1 along the reduced dimensions
# `dims`. Gradients of complex numbers follow PyTorch's convention:
# https://docs.pytorch.org/docs/stable/notes/autograd.html#autograd-for-complex-numbers


def _of_prod(v: Any, y: Any, g: Any, dims: _Axes) -> Any:
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


def _shared(hit: Any, g: Any, dims: _Axes) -> Any:
    """Divide a gradient equally among the elements that equal the result."""
    return g / (hit.sum(dims, keepdim=True) if dims else hit) * hit


def _of_extreme(v: Any, y: Any, g: Any, dims: _Axes) -> Any:
    """Divide the gradient equally among all extremes, as PyTorch does."""
    return _shared(v == y, g, dims)


def _of_logsumexp(v: Any, y: Any, g: Any, dims: _Axes) -> Any:
    """Multiply by the softmax; the gradient is 0 if all elements are minus infinity."""
    return g * (v - y.masked_fill(y == -math.inf, 0)).exp().conj()


def _of_var(v: Any, y: Any, g: Any, dims: _Axes, correction: float) -> Any:
    """Multiply by the scaled deviation from the mean."""
    mean = v.mean(dims, keepdim=True) if dims else v
    free = math.prod(v.shape[k] for k in dims) - correction
    return (v - mean) * (g * (2 / free if free > 0 else math.inf))


def _of_std(v: Any, y: Any, g: Any, dims: _Axes, correction: float) -> Any:
    """Divide the variance's gradient by twice the standard deviation; 0 if that is 0."""
    return g * (_of_var(v, y, 0.5, dims, correction) / y).masked_fill(y == 0, 0)


def _of_norm(v: Any, y: Any, g: Any, dims: _Axes, order: float) -> Any:
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


class Along(NamedTuple):
    """A reduction along dimensions."""

    kernel: _Function
    gradient: _Function | None = None  # None: the same for all elements
    last: str = ""  # schema of an additional argument


_CORRECTION = ", float correction=1"
TABLE = {
    "sum": Along(_plain(_core.sum)),
    "mean": Along(_plain(_core.mean)),
    "prod": Along(_plain(_core.prod), _of_prod),
    "amin": Along(_plain(_core.min), _of_extreme),
    "amax": Along(_plain(_core.max), _of_extreme),
    "logsumexp": Along(_plain(_core.logsumexp), _of_logsumexp),
    "var": Along(_spread(_core.var), _of_var, _CORRECTION),
    "std": Along(_spread(_core.std), _of_std, _CORRECTION),
    "norm": Along(_norm, _of_norm, ", float ord=2"),
}


def _register_along(name: str, row: Along) -> None:
    def fake(x, dim=None, keepdim=False, dtype=None, *_):  # type: ignore[no-untyped-def]
        dims = _dims(x.ndim, dim)
        if name in ("amin", "amax"):
            for k in dims:
                torch._check_value(x.shape[k] != 0, lambda: f"{name} of empty input has no value")
        kept = enumerate(_kept(x.shape, dims))
        shape = [length for k, length in kept if keepdim or k not in dims]
        return x.new_empty(shape, dtype=result_type(name, x.dtype, dtype))

    def keep(ctx, inputs, output):  # type: ignore[no-untyped-def]
        ctx.shape, ctx.dtype, ctx.rest = inputs[0].shape, inputs[0].dtype, inputs[1:]
        if row.gradient is not None:
            ctx.save_for_backward(inputs[0], output)

    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        dim, _, dtype, _, *last = ctx.rest
        dims = _dims(len(ctx.shape), dim)

        def beside(y: Any) -> Any:
            """Reshape results so that they broadcast to the elements."""
            return y.reshape(_kept(ctx.shape, dims)) if 0 < y.ndim < len(ctx.shape) else y

        grad = beside(grad)
        if row.gradient is None:
            count = math.prod(ctx.shape[k] for k in dims) if name == "mean" else 1
            grad = (grad if count == 1 else grad / count).expand(ctx.shape)
        else:
            x, y = ctx.saved_tensors
            grad = row.gradient(x if dtype is None else x.to(dtype), beside(y), grad, dims, *last)
        return (_like(grad, ctx.dtype), *[None] * len(ctx.rest))

    def batched(info, in_dims, x, dim=None, *rest):  # type: ignore[no-untyped-def]
        x = x.movedim(in_dims[0], 0)
        return CALLS[name](x, [k + 1 for k in _dims(x.ndim - 1, dim)], *rest), 0

    schema = "Tensor x, int[1]? dim=None, bool keepdim=False, ScalarType? dtype=None"
    schema += f", str method='auto'{row.last}"
    _register(name, schema, row.kernel, fake, backward, batched, keep)


# ---- two tensors ----


def _type_of_both(a: Any, b: Any) -> Any:
    """Promote types as the core does: NumPy's rules with float16, or float32, for bfloat16."""
    names = [str(x.dtype).removeprefix("torch.") for x in (a, b)]
    half = "float32" if "float16" in names else "float16"
    found = np.result_type(*(half if name == "bfloat16" else name for name in names)).name
    is_short = found == "float16" and "bfloat16" in names
    return result_type("sum", torch.bfloat16 if is_short else getattr(torch, found))


def _dot(a: Any, b: Any, method: str = "auto") -> Any:
    return _core.dot(a, b, out=..., method=method)


def _dot_shape(a: Any, b: Any, method: str = "auto") -> Any:
    torch._check_value(
        a.ndim == b.ndim == 1 and a.shape[0] == b.shape[0],
        lambda: f"a and b must be vectors of one length; got shapes {a.shape} and {b.shape}",
    )
    return a.new_empty((), dtype=_type_of_both(a, b))


def _dot_backward(ctx: Any, grad: Any) -> Any:
    a, b, _ = ctx.saved_tensors
    of_a, of_b = (grad[..., None] * x.to(grad.dtype).conj() for x in (b, a))
    return _like(of_a, a.dtype), _like(of_b, b.dtype), None


def _dot_batched(info: Any, in_dims: Any, a: Any, b: Any, method: str = "auto") -> Any:
    first, second = (
        x.expand(info.batch_size, *x.shape) if k is None else x.movedim(k, 0)
        for x, k in zip((a, b), in_dims[:2], strict=True)
    )
    return CALLS["dots"](first, second, method), 0


def _dots(a: Any, b: Any, method: str = "auto") -> Any:
    return _core.dot(a, b, axis=-1, out=..., method=method).to(_type_of_both(a, b))


def _dots_shape(a: Any, b: Any, method: str = "auto") -> Any:
    return a.new_empty(a.shape[:-1], dtype=_type_of_both(a, b))


def _by_key(x: Any, keys: Any, num_keys: int, drop: bool = False, method: str = "auto") -> Any:
    outside = "drop" if drop else "error"
    return by_key("sum", keys, x, num_keys, outside=outside, method=method)


def _by_key_shape(x: Any, keys: Any, num_keys: int, *_: Any) -> Any:
    return x.new_empty((num_keys, *x.shape[1:]), dtype=result_type("sum", x.dtype))


def _by_key_backward(ctx: Any, grad: Any) -> Any:
    """Gather each value's gradient by its key; 0 for keys that are out of bounds."""
    x, keys, _ = ctx.saved_tensors
    keys = keys.long()  # PyTorch cannot compare unsigned integers
    if grad.shape[0]:
        outside = (keys < 0) | (keys >= grad.shape[0])
        found = grad[keys.clamp(0, grad.shape[0] - 1)]
        found = found.masked_fill(outside.reshape(-1, *[1] * (x.ndim - 1)), 0)
    else:
        found = x * 0
    return found.to(x.dtype), None, *[None] * len(ctx.rest)


def _by_key_batched(info: Any, in_dims: Any, x: Any, keys: Any, num_keys: int, *rest: Any) -> Any:
    call = CALLS["by_key_sum"]
    if in_dims[1] is None:
        return call(x.movedim(in_dims[0], 1), keys, num_keys, *rest), 1
    keys = keys.movedim(in_dims[1], 0)
    keys = keys if keys.dtype.is_signed else keys.long()
    x = x.expand(len(keys), *x.shape) if in_dims[0] is None else x.movedim(in_dims[0], 0)
    first = torch.arange(len(keys), device=keys.device)[:, None] * num_keys
    outside = (keys < 0) | (keys >= num_keys)
    every = torch.where(outside, -1, keys + first).reshape(-1)
    results = call(x.flatten(0, 1), every, len(keys) * num_keys, *rest)
    return results.unflatten(0, (len(keys), num_keys)), 0


if torch is not None:
    for _name, _row in TABLE.items():
        _register_along(_name, _row)
    _schema = "Tensor a, Tensor b, str method='auto'"
    _register("dot", _schema, _dot, _dot_shape, _dot_backward, _dot_batched)
    # Batches of vectors along the last dimension, both of the same shape.
    _register("dots", _schema, _dots, _dots_shape, _dot_backward, _dot_batched)
    _schema = "Tensor x, Tensor keys, SymInt num_keys, bool drop=False, str method='auto'"
    _register("by_key_sum", _schema, _by_key, _by_key_shape, _by_key_backward, _by_key_batched)
