"""What test_torch.py has every rank of a process group do, or torchrun on a machine with GPUs.

    torchrun --standalone --nproc-per-node 2 tests/torch_ranks.py nccl

The first rank prints a digest of the total, once all ranks have found all ways to make the same.
"""

import hashlib
import os
import sys

import numpy as np
import torch
import torch.distributed as dist

import gred
import gred.torch


def main(backend, meeting_place="env://"):
    """Check all, and print what was made."""
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if backend == "nccl":
        torch.cuda.set_device(rank)
    dist.init_process_group(backend, meeting_place, rank=rank, world_size=size)
    random = np.random.default_rng(7)
    x = random.normal(size=10_001) * np.exp2(random.integers(-500, 500, 10_001))
    whole = gred.ExactSum(x)
    shard = torch.from_numpy(x[rank::size].copy())
    part = gred.ExactSum(shard)
    before = part.to_bytes()
    assert gred.torch.all_reduce(part) == whole
    evens = dist.new_group(range(0, size, 2))
    if rank % 2 == 0:
        expected = gred.ExactSum(*(x[k::size] for k in range(0, size, 2)))
        assert gred.torch.all_reduce(part, evens) == expected
    if backend == "nccl":
        on_gpu(shard, whole)
    assert part.to_bytes() == before
    if rank == 0:
        print(size, hashlib.sha256(whole.to_bytes()).hexdigest(), flush=True)
    dist.destroy_process_group()


def on_gpu(shard, whole):
    """Add a shard up where it lies, and all words there, too."""
    try:
        part = gred.ExactSum(shard.cuda())
    except NotImplementedError:
        print("exact sums of arrays on a GPU are not there yet", file=sys.stderr)
        return
    assert gred.torch.all_reduce(part) == whole


if __name__ == "__main__":
    main(*sys.argv[1:])
