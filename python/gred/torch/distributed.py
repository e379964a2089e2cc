"""Exact sums, moments and summaries over torch.distributed's ranks, also on GPUs.

Summaries are pickled and gathered, and every rank merges them in the order of ranks.
"""

from __future__ import annotations

from typing import Any, TypeVar

from gred.checks import needed
from gred.exact import ExactMoments, ExactSum, ExactSums
from gred.statistics.summary import Summary

_Part = TypeVar("_Part", ExactSum, ExactSums, ExactMoments, Summary)


def all_reduce(part: _Part, group: Any = None, device: Any = None) -> _Part:
    """Add up what all ranks have, exactly, and give it to all of them.

    Words of 64-bit integers are added, by Gloo, NCCL or whatever the group has: in any order, by
    any number of ranks, to the same bits.

    Parameters
    ----------
    part : ExactSum, ExactSums, ExactMoments or Summary
        This rank's, such as that of its shard of a tensor. It stays what it is. Parts have to be of
        one shape on all ranks.
    group : torch.distributed.ProcessGroup, optional
        By default the default one. All of its ranks have to call, and there may be 2**20.
    device : torch.device or str, optional
        Where the words are added up. By default this process's GPU if the group's backend is
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
    torch, distributed = needed("torch", "torch"), needed("torch.distributed", "torch")
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
