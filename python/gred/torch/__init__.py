"""gred in PyTorch: reductions as registered operators, and exact sums over many ranks.

The functions are operators, ``torch.ops.gred.sum`` and so on, with gradients of any order (shared
among equal extremes). They cause no graph break under ``torch.compile``, and support fake and meta
tensors, ``torch.vmap`` and ``torch.func``.

>>> import gred.torch, torch
>>> x = torch.tensor([[3.0, 1.0], [2.0, 6.0]], requires_grad=True)
>>> gred.torch.logsumexp(x, dim=1).sum().backward()
>>> x.grad
tensor([[0.8808, 0.1192],
        [0.0180, 0.9820]])

"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from operator import index
from typing import Any, TypeVar

from gred.checks import import_extra
from gred.docstrings import of_own
from gred.exact import ExactMoments, ExactSum, ExactSums
from gred.keys import drops
from gred.statistics.summary import Summary
from gred.torch.operators import CALLS, TABLE, is_eager

__all__ = ["all_reduce", "amax", "amin", "by_key_sum", "dot", "logsumexp", "max", "mean", "min"]
__all__ += ["norm", "prod", "std", "sum", "var"]

_Function = Callable[..., Any]
_F = TypeVar("_F", bound=_Function)
_Part = TypeVar("_Part", ExactSum, ExactSums, ExactMoments, Summary)
_Dim = int | tuple[int, ...] | list[int] | None

_RAISES = """TypeError, ValueError, IndexError, RuntimeError, MemoryError
    If an argument is not a tensor, or is nested, quantized or sparse; or as `gred.{name}`.
"""
_EXAMPLE = """>>> import gred.torch, torch
>>> x = torch.tensor([[3.0, 1.0], [2.0, 6.0]])
>>> gred.torch.{function}({shown})
{result}
"""
_REDUCED = """0-d if all dimensions are reduced. On a GPU it is computed on PyTorch's current
    stream, and the call does not wait."""
_VECTOR = "torch.Tensor of shape (n,)", "Vector of an element type of `gred.dot`, on one device."
_PARAMETERS = {
    "x": ("torch.Tensor", "Input of any shape and strides, of an element type of `gred.sum`."),
    "ord": ("{2, 1, 0, inf, -inf}, default 2", "As for ``torch.linalg.vector_norm``; None is 2."),
    "dim": (
        "int or sequence of int, optional",
        "Dimensions to reduce; by default all, with () none.",
    ),
    "keepdim": ("bool, default False", "If True, the reduced dimensions are kept, with length 1."),
    "dtype": ("dtype, optional", "As for `gred.{name}`, and so is the type of the result."),
    "correction": ("float, default 1", "Subtracted from the divisor, as for ``torch.var``."),
    "a": _VECTOR,
    "b": _VECTOR,
    "keys": ("torch.Tensor of int, shape (n,)", "Keys from 0 to `num_keys` - 1, in any order."),
    "values": ("torch.Tensor of shape (n, ...)", "Values, on the device of the keys."),
    "num_keys": ("int", "Number of results."),
    "outside": ("{'error', 'drop'}, default 'error'", "As for `gred.by_key`."),
    "method": ("str, default 'auto'", "As for `gred.{name}`."),
}


def _documented(function: _F, name: str, own: str, returns: str, shown: str, result: str) -> _F:
    """Set a function's name, and its docstring from that of gred's own function."""
    rows = {one: _PARAMETERS[one] for one in signature(function).parameters}
    example = _EXAMPLE.format(function=name, shown=shown, result=result)
    returns = f"torch.Tensor\n    {returns}\n"
    function.__doc__ = of_own(own, rows, Returns=returns, Raises=_RAISES, Examples=example)
    function.__name__ = function.__qualname__ = name
    function.__module__ = "gred.torch"
    return function


def _dims_of(dim: Any) -> Any:
    """Convert integers of any kind to int, as operator schemas require."""
    if dim is None or type(dim) is int:
        return dim
    return tuple(map(index, dim)) if hasattr(dim, "__iter__") else index(dim)


def _along(name: str, shown: str, result: str) -> _Function:
    kernel, call = TABLE[name].kernel, CALLS[name]

    def plain(
        x: Any, dim: _Dim = None, keepdim: bool = False, dtype: Any = None, *, method: str = "auto"
    ) -> Any:
        way = kernel if is_eager(x) and not x.requires_grad else call
        return way(x, dim if dim is None else _dims_of(dim), keepdim, dtype, method)

    def spread(
        x: Any,
        dim: _Dim = None,
        keepdim: bool = False,
        dtype: Any = None,
        *,
        correction: float = 1,
        method: str = "auto",
    ) -> Any:
        way = kernel if is_eager(x) and not x.requires_grad else call
        return way(x, dim if dim is None else _dims_of(dim), keepdim, dtype, method, correction)

    def norm(
        x: Any,
        ord: float | None = 2,
        dim: _Dim = None,
        keepdim: bool = False,
        dtype: Any = None,
        *,
        method: str = "auto",
    ) -> Any:
        return call(x, _dims_of(dim), keepdim, dtype, method, 2 if ord is None else ord)

    own: dict[str, _Function] = {"var": spread, "std": spread, "norm": norm}
    function = own.get(name, plain)
    return _documented(function, name, name.removeprefix("a"), _REDUCED, shown, result)


sum = _along("sum", "x, dim=0", "tensor([5., 7.])")
mean = _along("mean", "x", "tensor(3.)")
prod = _along("prod", "x", "tensor(36.)")
amin = min = _along("amin", "x, dim=1", "tensor([1., 2.])")
amax = max = _along("amax", "x, dim=1", "tensor([3., 6.])")
logsumexp = _along("logsumexp", "x, dim=0", "tensor([3.3133, 6.0067])")
var = _along("var", "x, dim=1", "tensor([2., 8.])")
std = _along("std", "x, correction=0", "tensor(1.8708)")
norm = _along("norm", "x, ord=1, dim=1", "tensor([4., 8.])")


def _dot(a: Any, b: Any, *, method: str = "auto") -> Any:
    return CALLS["dot"](a, b, method)


def _by_key_sum(
    keys: Any, values: Any, num_keys: int, *, outside: str = "error", method: str = "auto"
) -> Any:
    return CALLS["by_key_sum"](values, keys, num_keys, drops(outside), method)


dot = _documented(_dot, "dot", "dot", "A 0-d tensor.", "x[0], x[1]", "tensor(12.)")
by_key_sum = _documented(
    *(_by_key_sum, "by_key_sum", "by_key"),
    "Has shape (num_keys, ...). On a GPU the call waits, to report keys that are out of bounds.",
    *("torch.tensor([1, 1]), x, 2", "tensor([[0., 0.],\n        [5., 7.]])"),
)


def all_reduce(part: _Part, group: Any = None, device: Any = None) -> _Part:
    """Combine the parts of all ranks exactly, and return the result on all of them.

    The group's backend, such as Gloo or NCCL, adds 64-bit integer words, so that the bits do not
    depend on the order or the number of ranks. Summaries are pickled and gathered; every rank
    merges them in rank order.

    Parameters
    ----------
    part : ExactSum, ExactSums, ExactMoments or Summary
        This rank's part, such as that of its shard of a tensor; of the same shape on all ranks. It
        is not modified.
    group : torch.distributed.ProcessGroup, optional
        By default the default group; of up to 2**20 ranks, all of which must call.
    device : torch.device or str, optional
        Device on which the words are added. By default this process's GPU if the group's backend is
        NCCL, else the host.

    Returns
    -------
    ExactSum, ExactSums, ExactMoments or Summary
        The same on every rank.

    Examples
    --------
    >>> import gred, gred.torch
    >>> part = gred.ExactSum(shard)  # doctest: +SKIP
    >>> gred.torch.all_reduce(part).value()  # doctest: +SKIP

    """
    torch, distributed = import_extra("torch", "torch"), import_extra("torch.distributed", "torch")
    if isinstance(part, Summary):
        parts = [part] * distributed.get_world_size(group)
        distributed.all_gather_object(parts, part, group)
        return parts[0].merge(*parts[1:])
    if device is None:
        nccl = "nccl" in distributed.get_backend(group)
        device = torch.device("cuda", torch.cuda.current_device()) if nccl else "cpu"
    words = torch.from_numpy(part.words).to(device)
    distributed.all_reduce(words, group=group)
    return type(part).from_words(words.cpu().numpy())


def __dir__() -> list[str]:
    return sorted(__all__)
