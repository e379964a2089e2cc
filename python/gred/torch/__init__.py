"""gred in PyTorch: reductions as registered operators, and exact sums over many ranks.

The functions are operators, ``torch.ops.gred.sum`` and so on: they have gradients of any order, no
graph break under ``torch.compile``, shapes on fake and meta tensors, and go through ``torch.vmap``
and ``torch.func``.

>>> import gred.torch, torch
>>> x = torch.tensor([[3.0, 1.0], [2.0, 6.0]], requires_grad=True)
>>> gred.torch.logsumexp(x, dim=1).sum().backward()
>>> x.grad
tensor([[0.8808, 0.1192],
        [0.0180, 0.9820]])

"""

from gred.torch.distributed import all_reduce
from gred.torch.functions import (
    amax,
    amin,
    by_key_sum,
    dot,
    logsumexp,
    max,
    mean,
    min,
    norm,
    prod,
    std,
    sum,
    var,
)

__all__ = ["all_reduce", "amax", "amin", "by_key_sum", "dot", "logsumexp", "max", "mean", "min"]
__all__ += ["norm", "prod", "std", "sum", "var"]


def __dir__() -> list[str]:
    return sorted(__all__)
