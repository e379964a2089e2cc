"""gred in PyTorch: reductions as registered operators, and exact sums over many ranks.

The functions are operators, ``torch.ops.gred.sum`` and so on: they have gradients of any order,
which several extremes share, no graph break under ``torch.compile``, shapes on fake and meta
tensors, and go through ``torch.vmap`` and ``torch.func``.

>>> import gred.torch, torch
>>> x = torch.tensor([[3.0, 1.0], [2.0, 6.0]], requires_grad=True)
>>> gred.torch.logsumexp(x, dim=1).sum().backward()
>>> x.grad
tensor([[0.8808, 0.1192],
        [0.0180, 0.9820]])

"""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

from gred.docstrings import summary_of
from gred.keys import drops
from gred.torch.distributed import all_reduce
from gred.torch.operators import CALLS, TABLE, is_at_once

__all__ = ["all_reduce", "amax", "amin", "by_key_sum", "dot", "logsumexp", "max", "mean", "min"]
__all__ += ["norm", "prod", "std", "sum", "var"]

_Function = Callable[..., Any]
_Dim = int | tuple[int, ...] | list[int] | None

_ALONG = """{summary}

    Parameters
    ----------
    x : torch.Tensor of any shape
        Of the element types that `gred.sum` takes, on the CPU or a GPU, of any strides.{more}
    dim : int, or tuple or list of int, optional
        The dimensions that are reduced; by default all, by an empty one none.
    keepdim : bool, default False
        Whether they stay, with a length of 1.
    dtype : torch.dtype, optional
        As for `gred.{name}`, as whose types those of results are.
    method : str, default 'auto'
        As for `gred.{name}`.

    Returns
    -------
    torch.Tensor
        Of no dimensions if all are reduced. On a GPU it is made on PyTorch's current stream, and
        nobody waits.

    Raises
    ------
    TypeError, ValueError, IndexError, RuntimeError, MemoryError
        If `x` is no tensor, or one that is nested, quantized or sparse; or as `gred.{name}`.

    Examples
    --------
    >>> import gred.torch, torch
    >>> gred.torch.{function}(torch.tensor([[3.0, 1.0], [2.0, 6.0]]){example})
    {result}

    """
_CORRECTION = """
    correction : float, default 1
        How many less than the elements squares are divided by, as in ``torch.var``."""
_ORD = """
    ord : {2, 1, 0, inf, -inf}, default 2
        Which norm it is, as of ``torch.linalg.vector_norm``; None is 2."""
_MORE = {"var": _CORRECTION, "std": _CORRECTION, "norm": _ORD}  # parameters of their own


def _dims_of(dim: Any) -> Any:
    """Take integers of any kind, which schemas do not."""
    if dim is None or type(dim) is int:
        return dim
    return tuple(map(index, dim)) if hasattr(dim, "__iter__") else index(dim)


def _along(name: str, example: str, result: str) -> _Function:
    kernel, call = TABLE[name].kernel, CALLS[name]

    def plain(
        x: Any, dim: _Dim = None, keepdim: bool = False, dtype: Any = None, *, method: str = "auto"
    ) -> Any:
        way = kernel if is_at_once(x) and not x.requires_grad else call
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
        way = kernel if is_at_once(x) and not x.requires_grad else call
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

    own: dict[str, Any] = {"var": spread, "std": spread, "norm": norm}
    function = own.get(name, plain)
    own_name = name.removeprefix("a")  # of amin and amax
    texts = {"name": own_name, "summary": summary_of(own_name), "more": _MORE.get(name, "")}
    function.__doc__ = _ALONG.format(**texts, function=name, example=example, result=result)
    function.__name__ = function.__qualname__ = name
    function.__module__ = "gred.torch"
    made: _Function = function
    return made


sum = _along("sum", ", dim=0", "tensor([5., 7.])")
mean = _along("mean", "", "tensor(3.)")
prod = _along("prod", "", "tensor(36.)")
amin = min = _along("amin", ", dim=1", "tensor([1., 2.])")
amax = max = _along("amax", ", dim=1", "tensor([3., 6.])")
logsumexp = _along("logsumexp", ", dim=0", "tensor([3.3133, 6.0067])")
var = _along("var", ", dim=1", "tensor([2., 8.])")
std = _along("std", ", correction=0", "tensor(1.8708)")
norm = _along("norm", ", ord=1, dim=1", "tensor([4., 8.])")


def dot(a: Any, b: Any, *, method: str = "auto") -> Any:
    """Add up products of the elements of two vectors, none of which is conjugated.

    Parameters
    ----------
    a, b : torch.Tensor of shape (n,)
        Of the element types that `gred.dot` takes, on one device.
    method : {'auto', 'exact'}, default 'auto'
        As for `gred.dot`.

    Returns
    -------
    torch.Tensor without dimensions

    Raises
    ------
    TypeError, ValueError, RuntimeError, MemoryError
        If they are no tensors, or as `gred.dot`.

    Examples
    --------
    >>> import gred.torch, torch
    >>> gred.torch.dot(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor(11.)

    """
    return CALLS["dot"](a, b, method)


def by_key_sum(
    keys: Any, values: Any, num_keys: int, *, outside: str = "error", method: str = "auto"
) -> Any:
    """Add up the values of each key, as `gred.by_key` does; what ``index_add_`` adds to zeros.

    Parameters
    ----------
    keys : torch.Tensor of int, shape (n,)
        From 0 to `num_keys` - 1, in any order.
    values : torch.Tensor of shape (n, ...)
        Where the keys are.
    num_keys : int
        How many results there are.
    outside, method
        As for `gred.by_key`.

    Returns
    -------
    torch.Tensor of shape (num_keys, ...)
        On a GPU the call waits, to tell of keys outside.

    Raises
    ------
    TypeError, ValueError, IndexError, RuntimeError, MemoryError
        If they are no tensors, or as `gred.by_key`.

    Examples
    --------
    >>> import gred.torch, torch
    >>> gred.torch.by_key_sum(torch.tensor([1, 0, 1]), torch.tensor([1.0, 2.0, 3.0]), 3)
    tensor([2., 4., 0.])

    """
    return CALLS["by_key_sum"](values, keys, num_keys, drops(outside), method)


def __dir__() -> list[str]:
    return sorted(__all__)
