"""Exact sums over ranks of MPI and torch.distributed: the same bits for every number of ranks.

    mpiexec -n 4 python tests/host/test_ranks.py
    torchrun --standalone --nproc-per-node 2 tests/host/test_ranks.py nccl

is what every rank of the tests runs: once all ways of summing agree on all ranks, the first rank
prints a digest of the total.
"""

import hashlib
import math
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import gred

MPIEXEC = shutil.which("mpiexec", path=Path(sys.executable).parent) or shutil.which("mpiexec")
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
pytestmark = pytest.mark.unsanitized


def tell(rank, size, whole):
    """Print the number of ranks and the digest, on the first rank."""
    if rank == 0:
        print(size, hashlib.sha256(whole.to_bytes()).hexdigest(), flush=True)


def numbers():
    random = np.random.default_rng(7)
    return random.normal(size=10_001) * np.exp2(random.integers(-500, 500, 10_001))


def shares(rank, size, own=np.asarray):
    """Yield exact results of all numbers and of a rank's share, which is in arrays from `own`."""
    x = numbers()
    rows, keys = x[:10_000].reshape(100, 100), np.arange(10_000) % 7
    for of in (
        lambda part: gred.ExactSum(own(x[part])),
        lambda part: gred.ExactSums(own(rows[part]), 0),
        lambda part: gred.ExactMoments(own(x[part])),
        lambda part: gred.describe(own(x[part]), 1, method="exact"),
        lambda part: gred.by_key("describe", keys[part], x[:10_000][part], 7, method="exact"),
    ):
        yield of(slice(None)), of(slice(rank, None, size))


# ---- MPI ----


def totals(comm):
    """Compute totals by every call, and return one of them."""
    from mpi4py import MPI

    last, wholes, parts = comm.size - 1, *zip(*shares(comm.rank, comm.size), strict=True)
    before = parts[0].to_bytes()
    for whole, part in zip(wholes, parts, strict=True):
        assert gred.mpi.allreduce(part) == gred.mpi.allreduce(part, comm) == whole
        at_root = gred.mpi.reduce(part, root=last)
        assert (at_root == whole) if comm.rank == last else (at_root is None)
        assert (gred.mpi.reduce(part) is None) == (comm.rank != 0)
    whole, part = wholes[0], parts[0]
    words = np.empty(140, np.int64)
    comm.Allreduce(part.words, words, op=MPI.SUM)
    assert gred.ExactSum.from_words(words) == whole
    assert comm.allreduce(part) == whole  # pickled, and added by Python
    assert comm.allreduce(part, op=MPI.SUM) == whole
    halves = comm.Split(comm.rank % 2)
    mine = gred.mpi.allreduce(part, halves)
    assert comm.allreduce(mine if halves.rank == 0 else gred.ExactSum()) == whole
    assert gred.mpi.allreduce(part, MPI.COMM_SELF).to_bytes() == before == part.to_bytes()
    rows = numbers()[:10_000].reshape(100, 100)
    columns = gred.mpi.allreduce(gred.describe(rows[comm.rank :: comm.size], axis=0))
    assert np.array_equal(columns.min, rows.min(0))
    assert np.allclose(columns.var, gred.describe(rows, axis=0).var, 1e-12)
    return whole


def check_splits(comm):
    """Sum parameters and their squares, however they are split among the ranks."""
    random, (rank, size) = np.random.default_rng(11), (comm.rank, comm.size)
    parameters = [
        (random.normal(size=shape) * np.exp2(random.integers(-60, 60, shape))).astype("f4")
        for shape in ((64, 30), (7,), (3, 5, 8), (1001,))
    ]
    everything = np.concatenate([one.ravel() for one in parameters]).astype("f8").tolist()
    for mine in (
        parameters if rank == 0 else [],
        [np.array_split(one.ravel(), size)[rank] for one in parameters],
        [np.array_split(one, size, axis=-1)[rank] for one in parameters],
        parameters[rank::size],
    ):
        total, squares = gred.ExactSum(*mine), gred.ExactSum()
        for one in mine:
            squares.add_products(one, one)
        assert gred.mpi.allreduce(total).value("f4") == np.float32(math.fsum(everything))
        norm = np.float32(math.sqrt(gred.mpi.allreduce(squares).fraction()))
        assert norm == gred.norm(parameters, method="exact")


def check_refusals(comm):
    """An error on one rank raises on all; a null communicator is refused."""
    from mpi4py import MPI

    part, (*_, sums, moments, _, _) = gred.ExactSum([1.0]), [of for _, of in shares(0, 1)]
    first, rows = comm.rank == 0, np.ones((2, 3))
    hostile = part.words
    hostile[comm.rank] += 1
    comm.Allreduce(MPI.IN_PLACE, hostile, op=MPI.SUM)
    with pytest.raises(ValueError, match="words are corrupted"):
        gred.ExactSum.from_words(hostile)
    for null in (MPI.COMM_NULL, comm.Split(MPI.UNDEFINED)):
        for call in (gred.mpi.allreduce, gred.mpi.reduce):
            with pytest.raises(ValueError, match=r"comm must be .* got MPI\.COMM_NULL"):
                call(part, null)
    square = rows if first else rows.T
    several = (part if first else sums, part if first else moments, gred.ExactSums(square, ()))
    several += (gred.describe(rows, comm.rank), gred.describe(square, axis=0))
    calls = [partial(gred.mpi.allreduce, one) for one in (*several, 1.0 if first else part)]
    roots = (7 if first else 0, None if first else 0, comm.rank)
    calls += [partial(gred.mpi.reduce, 1.0 if first else part)]
    calls += [partial(gred.mpi.reduce, part, comm, root) for root in roots]
    for call in calls if comm.size > 1 else ():
        with pytest.raises((TypeError, ValueError)) as refusal:
            call()
    assert comm.size == 1 or "root must be the same on all ranks; got 0 to" in str(refusal.value)


def rank_of_mpi():
    from mpi4py import MPI

    whole = totals(MPI.COMM_WORLD)
    check_splits(MPI.COMM_WORLD)
    check_refusals(MPI.COMM_WORLD)
    tell(MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size, whole)


# ---- torch.distributed ----


def rank_of_torch(backend, meeting_place="env://"):
    """Run all checks, and print the digest."""
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
    tell(rank, size, whole)
    dist.destroy_process_group()


# ---- several ranks on this machine, and the first rank's output ----


def run_mpi(n, *_):
    """Open MPI runs as root only if two variables allow it."""
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command = [MPIEXEC, "-n", str(n), sys.executable, __file__]
    from processes import output_of

    return output_of(command, env=os.environ | ONE_THREAD | as_root).split()


def run_torch(n, folder, backend):
    """The ranks meet in a file, as a port that is free now may be taken when they open it."""
    from processes import printed  # not needed by the ranks themselves

    code = f"import test_ranks; test_ranks.rank_of_torch({backend!r}, 'file://{folder}/of_{n}')"
    options = {"path": True, "WORLD_SIZE": str(n), **ONE_THREAD}
    with ThreadPoolExecutor(n) as pool:
        told = pool.map(lambda rank: printed(code, RANK=str(rank), **options), range(n))
        return "".join(told).split()


@pytest.mark.parametrize(
    ("backend", "sizes"), [("mpi", (1, 3)), ("gloo", (1, 4)), ("nccl", (1, 2))]
)
def test_any_number_of_ranks_makes_the_same_bits(backend, sizes, tmp_path):
    library = "mpi4py" if backend == "mpi" else "torch"
    found = pytest.importorskip(library, reason=f"{library} is not installed")
    if backend == "mpi" and not MPIEXEC:
        pytest.skip("there is no mpiexec")
    if backend == "nccl" and found.cuda.device_count() < 2:
        pytest.skip("there are no two GPUs")
    run = run_mpi if backend == "mpi" else run_torch
    made = [run(n, tmp_path, backend) for n in sizes]
    assert [int(size) for size, _ in made] == list(sizes)
    assert len({digest for _, digest in made}) == 1


if __name__ == "__main__":
    rank_of_torch(*sys.argv[1:]) if sys.argv[1:] else rank_of_mpi()
