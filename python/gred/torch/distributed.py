"""Exact sums, moments and summaries over the ranks of torch.distributed, also on GPUs.

Summaries are pickled and gathered; every rank merges them in rank order.
"""

from __future__ import annotations

from typing import Any, TypeVar

from gred.checks import import_extra
from gred.exact import ExactMoments, ExactSum, ExactSums
from gred.statistics.summary import Summary

_Part = TypeVar("_Part", ExactSum, ExactSums, ExactMoments, Summary)


def all_reduce(part: _Part, group: Any = None, device: Any = None) -> _Part:
    """Combine the parts of all ranks exactly, and return the result on all of them.

    The group's backend, such as Gloo or NCCL, adds 64-bit integer words, so that the bits do not
    depend on the order or the number of ranks.

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
