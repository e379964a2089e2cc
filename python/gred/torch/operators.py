"""The registered operators: kernels, shapes, gradients and batches, all made from one table.

https://docs.pytorch.org/docs/stable/library.html
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any, NamedTuple

import numpy as np

from gred import _core
from gred.checks import brought
from gred.keys import by_key
from gred.torch import formulas
from gred.torch.imported import refuse, registry, torch

# Operators are there for as long as the library is.
_library: Any = registry and registry.Library("gred", "DEF")


def vector_norm(x: Any, axis: Any, ord: float, **options: Any) -> Any:
    """Compute norms of vectors, which elements along several dimensions are, too.

    The core refuses those, unless they are of order 2, since to NumPy they are matrices.
    """
    if ord == 2:
        return _core.norm(x, None, axis, **options)
    if axis is None or type(axis) is int or len(axis) < 2:
        return _core.norm(x, ord, axis, **options)
    dims = _dims(x.ndim, axis)
    flat = x.movedim(dims, tuple(range(-len(dims), 0))).flatten(-len(dims))
    kept = _kept(x, dims) if options.pop("keepdims", False) else None
    found = _core.norm(flat, ord, -1, **options)
    return found if kept is None else found.reshape(kept)


def spread(core: Callable[..., Any]) -> Callable[..., Any]:
    """Make tensors by the exact method, too, which takes no `out` and makes scalars of NumPy's."""

    def found(x: Any, axis: Any, *, out: Any, **options: Any) -> Any:
        if options["method"] != "exact":
            return core(x, axis, out=out, **options)
        made = core(x, axis, **options)
        return made if isinstance(made, torch.Tensor) else brought(np.asarray(made), x)

    return found


class Along(NamedTuple):
    """A reduction along dimensions."""

    core: Callable[..., Any]
    gradient: Callable[..., Any]  # of elements, results and their gradients, dims, the last
    last: str = ""  # an argument of its own, as schemas have it, and as the core does,
    keyword: str = ""
    default: tuple[float, ...] = ()  # which the dispatcher leaves out


TABLE = {
    "sum": Along(_core.sum, formulas.of_sum),
    "mean": Along(_core.mean, formulas.of_mean),
    "prod": Along(_core.prod, formulas.of_prod),
    "amin": Along(_core.min, formulas.of_extreme),
    "amax": Along(_core.max, formulas.of_extreme),
    "logsumexp": Along(_core.logsumexp, formulas.of_logsumexp),
    "var": Along(spread(_core.var), formulas.of_var, ", float correction=1", "ddof", (1,)),
    "std": Along(spread(_core.std), formulas.of_std, ", float correction=1", "ddof", (1,)),
    "norm": Along(vector_norm, formulas.of_norm, ", float ord=2", "ord", (2,)),
}


# ---- shapes and types ----


def _dims(ndim: int, dim: Any) -> tuple[int, ...]:
    """Count dimensions from the front; a tensor without any has one that may be named."""
    dims = range(ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    for k in dims:
        if not -max(ndim, 1) <= k < max(ndim, 1):
            raise IndexError(f"dim {k} is not one of {ndim} dimensions")
    found = tuple(k % max(ndim, 1) for k in dims)
    if len(set(found)) < len(found):
        raise ValueError(f"dim {tuple(dims)} names a dimension twice")
    return found if ndim else ()


def dims_of(dim: Any) -> Any:
    """Take integers of any kind, which schemas do not."""
    if dim is None or type(dim) is int:
        return dim
    return tuple(map(index, dim)) if hasattr(dim, "__iter__") else index(dim)


def axis_of(x: Any, dim: Any) -> Any:
    """Name dimensions to the core, to which a tensor without any has none that may be named."""
    dim = dims_of(dim)
    return dim if dim is None or x.ndim else _dims(0, dim)


def _kept(x: Any, dims: tuple[int, ...]) -> list[Any]:
    return [1 if k in dims else length for k, length in enumerate(x.shape)]


def result_type(name: str, dtype: Any, asked: Any = None) -> Any:
    """Find what the core's results are of elements of a type, and where it is asked for one."""
    found = dtype if asked is None else asked
    if found.is_complex:
        return found.to_real() if name in ("var", "std", "norm") else found
    if found.is_floating_point or name in ("amin", "amax") or asked is not None:
        return found
    if name not in ("sum", "prod"):
        return torch.float64
    return torch.int64 if found.is_signed or found == torch.bool else torch.uint64


# ---- registering ----

CALLS: dict[str, Callable[..., Any]] = {}


class Operator(NamedTuple):
    """What PyTorch is to know of an operator."""

    schema: str
    kernel: Callable[..., Any]
    fake: Callable[..., Any]
    backward: Callable[..., Any]
    batched: Callable[..., Any]


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.save_for_backward(*(one for one in inputs if isinstance(one, torch.Tensor)), output)
    ctx.rest = [one for one in inputs if not isinstance(one, torch.Tensor)]


def _register(name: str, row: Operator) -> None:
    """Register all, and make of it a call that transforms of torch.func can differentiate.

    Those want a function that has a context of its own, which PyTorch makes of no registration;
    it also refuses forward gradients, which operators would lose.
    """
    full = f"gred::{name}"
    _library.define(f"{name}({row.schema}) -> Tensor", tags=(torch.Tag.pt2_compliant_tag,))
    _library.impl(name, row.kernel, "CompositeExplicitAutograd")
    registry.register_fake(full, row.fake, lib=_library)
    registry.register_autograd(full, row.backward, setup_context=_keep, lib=_library)
    registry.register_vmap(full, row.batched, lib=_library)
    operator = getattr(torch.ops.gred, name).default
    members = {"forward": operator, "setup_context": _keep, "backward": row.backward}
    members = {key: staticmethod(one) for key, one in (members | {"vmap": row.batched}).items()}
    function: Any = type(name, (torch.autograd.Function,), members)

    def call(*arguments: Any) -> Any:
        if not _is_compiling() and (_level() is not None or _forward_ad._current_level >= 0):
            return function.apply(*arguments)
        return operator(*arguments)

    CALLS[name] = call


# ---- along dimensions ----


def _gradient_like(gradient: Any, x: Any) -> Any:
    if gradient.is_complex() and not x.is_complex():
        gradient = gradient.real
    return gradient.to(x.dtype)


def _along(name: str, row: Along) -> Operator:
    def kernel(x, dim=None, keepdim=False, dtype=None, method="auto", *last):  # type: ignore[no-untyped-def]
        own = dict(zip((row.keyword,), last or row.default, strict=False))
        options = {"keepdims": keepdim, "dtype": dtype, "method": method, **own}
        return row.core(x.detach(), axis=axis_of(x, dim), out=..., **options)

    def fake(x, dim=None, keepdim=False, dtype=None, *_):  # type: ignore[no-untyped-def]
        dims = _dims(x.ndim, dim)
        if name in ("amin", "amax"):
            for k in dims:
                torch._check_value(x.shape[k] != 0, lambda: f"{name} of no elements has no value")
        left = [length for k, length in enumerate(x.shape) if k not in dims]
        shape = _kept(x, dims) if keepdim else left
        return x.new_empty(shape, dtype=result_type(name, x.dtype, dtype))

    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        x, y = ctx.saved_tensors
        dim, _, dtype, _, *last = ctx.rest
        dims = _dims(x.ndim, dim)
        kept, v = _kept(x, dims), x if dtype is None else x.to(dtype)
        gradient = row.gradient(v, y.reshape(kept), grad.reshape(kept), dims, *last)
        return (_gradient_like(gradient, x), *[None] * len(ctx.rest))

    def batched(info, in_dims, x, dim=None, *rest):  # type: ignore[no-untyped-def]
        x = x.movedim(in_dims[0], 0)
        return CALLS[name](x, [k + 1 for k in _dims(x.ndim - 1, dim)], *rest), 0

    schema = "Tensor x, int[1]? dim=None, bool keepdim=False, ScalarType? dtype=None"
    schema += f", str method='auto'{row.last}"
    return Operator(schema, kernel, fake, backward, batched)


# ---- two tensors ----


def _type_of_both(a: Any, b: Any) -> Any:
    """Promote types as the core does: as NumPy, which a lone bfloat16 meets as a float16."""
    names = [str(x.dtype).removeprefix("torch.") for x in (a, b)]
    half = "float32" if "float16" in names else "float16"
    found = np.result_type(*(half if name == "bfloat16" else name for name in names)).name
    is_short = found == "float16" and "bfloat16" in names
    return result_type("sum", torch.bfloat16 if is_short else getattr(torch, found))


def _dot(a: Any, b: Any, method: str = "auto") -> Any:
    return _core.dot(a.detach(), b.detach(), out=..., method=method)


def _dot_shape(a: Any, b: Any, method: str = "auto") -> Any:
    torch._check_value(
        a.ndim == b.ndim == 1 and a.shape[0] == b.shape[0],
        lambda: f"a and b must be vectors of one length; got shapes {a.shape} and {b.shape}",
    )
    return a.new_empty((), dtype=_type_of_both(a, b))


def _dot_backward(ctx: Any, grad: Any) -> Any:
    a, b, _ = ctx.saved_tensors
    of_a, of_b = (grad[..., None] * x.to(grad.dtype).conj() for x in (b, a))
    return _gradient_like(of_a, a), _gradient_like(of_b, b), None


def _dot_batched(info: Any, in_dims: Any, a: Any, b: Any, method: str = "auto") -> Any:
    first, second = (
        x.expand(info.batch_size, *x.shape) if k is None else x.movedim(k, 0)
        for x, k in zip((a, b), in_dims[:2], strict=True)
    )
    return CALLS["dots"](first, second, method), 0


def _dots(a: Any, b: Any, method: str = "auto") -> Any:
    found = _core.dot(a.detach(), b.detach(), axis=-1, out=..., method=method)
    return found.to(_type_of_both(a, b))


def _dots_shape(a: Any, b: Any, method: str = "auto") -> Any:
    return a.new_empty(a.shape[:-1], dtype=_type_of_both(a, b))


def _by_key(x: Any, keys: Any, num_keys: int, drop: bool = False, method: str = "auto") -> Any:
    outside = "drop" if drop else "error"
    return by_key("sum", keys, x.detach(), num_keys, outside=outside, method=method)


def _by_key_shape(x: Any, keys: Any, num_keys: int, *_: Any) -> Any:
    return x.new_empty((num_keys, *x.shape[1:]), dtype=result_type("sum", x.dtype))


def _by_key_backward(ctx: Any, grad: Any) -> Any:
    x, keys, _ = ctx.saved_tensors
    return formulas.taken(grad, keys, x).to(x.dtype), None, *[None] * len(ctx.rest)


def _by_key_batched(info: Any, in_dims: Any, x: Any, keys: Any, num_keys: int, *rest: Any) -> Any:
    call = CALLS["by_key_sum"]
    if in_dims[1] is None:
        return call(x.movedim(in_dims[0], 1), keys, num_keys, *rest), 1
    keys = keys.movedim(in_dims[1], 0)
    keys = keys if keys.dtype.is_signed else keys.long()  # PyTorch compares no unsigned ones
    x = x.expand(len(keys), *x.shape) if in_dims[0] is None else x.movedim(in_dims[0], 0)
    first = torch.arange(len(keys), device=keys.device)[:, None] * num_keys
    outside = (keys < 0) | (keys >= num_keys)
    every = torch.where(outside, -1, keys + first).reshape(-1)
    results = call(x.flatten(0, 1), every, len(keys) * num_keys, *rest)
    return results.unflatten(0, (len(keys), num_keys)), 0


def _register_all() -> None:
    for name, row in TABLE.items():
        _register(name, _along(name, row))
    method = "str method='auto'"
    schema = f"Tensor a, Tensor b, {method}"
    _register("dot", Operator(schema, _dot, _dot_shape, _dot_backward, _dot_batched))
    # Of batches of vectors, along the last dimension, both of one shape.
    _register("dots", Operator(schema, _dots, _dots_shape, _dot_backward, _dot_batched))
    schema = f"Tensor x, Tensor keys, SymInt num_keys, bool drop=False, {method}"
    of_keys = (_by_key, _by_key_shape, _by_key_backward, _by_key_batched)
    _register("by_key_sum", Operator(schema, *of_keys))


if torch is not None:
    _register_all()


# ---- calls of nothing but an operator ----

_is_compiling: Any = torch.compiler.is_dynamo_compiling if torch else refuse
_modes: Any = torch and torch._C._len_torch_dispatch_stack
_level: Any = torch and torch._C._functorch.maybe_current_level
_trace: Any = torch and torch._C._get_tracing_state
_forward_ad: Any = torch and torch.autograd.forward_ad
_Tensor: Any = torch and torch.Tensor


def is_plain(x: Any) -> bool:
    """Tell a tensor of which the core makes what the operator would, in less time.

    No gradient is wanted of it, and no mode, transform or compiler looks on. TypeError is raised
    if it is no tensor, nor what PyTorch's functions hand themselves to, as to proxies of torch.fx.
    """
    if (
        not _is_compiling()
        and type(x) is _Tensor
        and not x.requires_grad
        and (x.is_cpu or x.is_cuda)
        and not _modes()
        and _level() is None
        and _trace() is None
        and _forward_ad._current_level < 0
    ):
        return True
    if not isinstance(x, _Tensor) and not hasattr(type(x), "__torch_function__"):
        raise TypeError(f"the functions of gred.torch take tensors, not {type(x).__name__}")
    return False
