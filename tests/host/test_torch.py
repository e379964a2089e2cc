"""Exact sums over torch.distributed's ranks: the same bits for every number of them.

    torchrun --standalone --nproc-per-node 2 tests/host/test_torch.py nccl

is what the tests have every rank do: the first prints a digest of the total, once all ranks have
found all ways to make the same.
"""

import hashlib
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from processes import printed
from shares import numbers, shares

import gred

pytestmark = pytest.mark.unsanitized


def rank_of(backend, meeting_place="env://"):
    """Check all, and print what was made."""
    import torch
    import torch.distributed as dist

    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if backend == "nccl":
        torch.cuda.set_device(rank)
    dist.init_process_group(backend, meeting_place, rank=rank, world_size=size)
    made = [*shares(rank, size, lambda x: torch.from_numpy(x.copy()))]
    (whole, part), *_, (_, summary) = made[:4]
    before = part.to_bytes()
    for of_all, share in made:
        assert gred.torch.all_reduce(share) == of_all
    evens = dist.new_group(range(0, size, 2))
    if rank % 2 == 0:
        expected = gred.ExactSum(*(numbers()[k::size] for k in range(0, size, 2)))
        assert gred.torch.all_reduce(part, evens) == expected
        assert gred.torch.all_reduce(summary, evens).count == expected.count
    if backend == "nccl":
        there = torch.from_numpy(numbers()[rank::size].copy()).cuda()
        assert gred.torch.all_reduce(gred.ExactSum(there)) == whole
    assert part.to_bytes() == before
    if rank == 0:
        print(size, hashlib.sha256(whole.to_bytes()).hexdigest(), flush=True)
    dist.destroy_process_group()


def ranks(n, backend, folder):
    """Run so many ranks on this machine, and return what the first of them had to say.

    They meet in a file: a port that is free now may be somebody's when they want it.
    """
    code = f"import test_torch; test_torch.rank_of({backend!r}, 'file://{folder}/of_{n}')"
    options = {"path": True, "WORLD_SIZE": str(n), "OMP_NUM_THREADS": "1"}
    with ThreadPoolExecutor(n) as pool:
        told = pool.map(lambda rank: printed(code, RANK=str(rank), **options), range(n))
        return "".join(told).split()


@pytest.mark.parametrize(("backend", "sizes"), [("gloo", (1, 4)), ("nccl", (1, 2))])
def test_any_number_of_ranks_makes_the_same_bits(backend, sizes, tmp_path):
    torch = pytest.importorskip(
        "torch",
        reason="PyTorch is not installed: its wheel is larger than all the others that tests need",
    )
    if backend == "nccl" and torch.cuda.device_count() < 2:
        pytest.skip("there are no two GPUs")
    made = [ranks(n, backend, tmp_path) for n in sizes]
    assert [int(size) for size, _ in made] == list(sizes)
    assert len({digest for _, digest in made}) == 1


if __name__ == "__main__":
    rank_of(*sys.argv[1:])
