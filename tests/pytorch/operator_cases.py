"""What operators are tried with: a function of gred.torch, one of PyTorch, and elements."""

import pytest
import torch

import gred.torch

ops = torch.ops.gred
INF = float("inf")
places = pytest.mark.parametrize("place", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])


def drawn(*shape, dtype=torch.float64, grad=True, seed=3, place="cpu"):
    """Draw normal elements, of which no two are as large."""
    made = torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))
    return made.to(place).requires_grad_(grad)


def along(x, dim):
    """Name all dimensions, where PyTorch's function wants some."""
    return tuple(range(x.ndim)) if dim is None else dim


def multiplied(x, dim=None):
    """Multiply along several dimensions, which torch.prod does not."""
    for k in sorted([dim] if isinstance(dim, int) else along(x, dim), reverse=True):
        x = torch.prod(x, k)
    return x


# By operator: the function, and what PyTorch's own is, of x and dim.
REDUCTIONS = {
    "sum": (gred.torch.sum, torch.sum),
    "mean": (gred.torch.mean, torch.mean),
    "prod": (gred.torch.prod, multiplied),
    "amin": (gred.torch.amin, lambda x, dim=None: torch.amin(x, along(x, dim))),
    "amax": (gred.torch.amax, lambda x, dim=None: torch.amax(x, along(x, dim))),
    "logsumexp": (gred.torch.logsumexp, lambda x, dim=None: torch.logsumexp(x, along(x, dim))),
    "var": (gred.torch.var, torch.var),
    "std": (gred.torch.std, torch.std),
    "norm": (
        lambda x, dim=None: gred.torch.norm(x, dim=dim),
        lambda x, dim=None: torch.linalg.vector_norm(x, dim=dim),
    ),
}
every_reduction = pytest.mark.parametrize("name", REDUCTIONS)


def same_gradients(x, got, expected):
    """Compare results, and the gradients of the element that both are of."""
    torch.testing.assert_close(got, expected)
    torch.testing.assert_close(*(torch.autograd.grad(y.sum(), x)[0] for y in (got, expected)))
