"""Exact sums over MPI's ranks: the same bits for every number of them.

    mpiexec -n 4 python tests/host/test_mpi.py

is what the first test has every rank do: the first prints a digest of the total, once all ranks
have found all ways to make the same.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gred

pytest.importorskip("mpi4py", reason="mpi4py is not installed")
MPIEXEC = shutil.which("mpiexec", path=Path(sys.executable).parent) or shutil.which("mpiexec")
pytestmark = [
    pytest.mark.unsanitized,
    pytest.mark.skipif(not MPIEXEC, reason="there is no mpiexec"),
]


def summaries(comm, x):
    """Check those of this rank's part, and return it."""
    last, rows = comm.size - 1, x[:10_000].reshape(100, 100)
    described = gred.describe(x, 1, method="exact")
    summary = gred.describe(x[comm.rank :: comm.size], 1, method="exact")
    assert gred.mpi.allreduce(summary).to_bytes() == described.to_bytes()
    at_root = gred.mpi.reduce(summary, root=last)
    assert (at_root == described) if comm.rank == last else (at_root is None)
    columns = gred.mpi.allreduce(gred.describe(rows[comm.rank :: comm.size], axis=0))
    near = gred.describe(rows, axis=0)
    assert np.array_equal(columns.min, near.min)
    assert np.allclose(columns.var, near.var, 1e-12)
    by_key = gred.by_key(
        "describe",
        np.arange(comm.rank, 10_000, comm.size) % 7,
        x[comm.rank : 10_000 : comm.size],
        7,
        method="exact",
    )
    keyed = gred.by_key("describe", np.arange(10_000) % 7, x[:10_000], 7, method="exact")
    assert gred.mpi.allreduce(by_key).to_bytes() == keyed.to_bytes()
    return summary


def rank():
    """Check all, and print what was made."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    random = np.random.default_rng(7)
    x = random.normal(size=10_001) * np.exp2(random.integers(-500, 500, 10_001))
    whole = gred.ExactSum(x)
    part = gred.ExactSum(x[comm.rank :: comm.size])
    before = part.to_bytes()
    words = np.empty(140, np.int64)
    comm.Allreduce(part.words, words, op=MPI.SUM)
    assert gred.ExactSum.from_words(words) == whole
    assert gred.mpi.allreduce(part) == gred.mpi.allreduce(part, comm) == whole
    assert comm.allreduce(part) == whole  # pickled, and added by Python
    assert comm.allreduce(part, op=MPI.SUM) == whole
    last = comm.size - 1
    reduced = gred.mpi.reduce(part, root=last)
    assert (reduced == whole) if comm.rank == last else (reduced is None)
    assert (gred.mpi.reduce(part) is None) == (comm.rank != 0)
    halves = comm.Split(comm.rank % 2)
    mine = gred.mpi.allreduce(part, halves)
    assert comm.allreduce(mine if halves.rank == 0 else gred.ExactSum()) == whole
    assert part.to_bytes() == before
    rows = x[:10_000].reshape(100, 100)
    sums = gred.ExactSums(rows[comm.rank :: comm.size], 0)
    assert gred.mpi.allreduce(sums) == gred.ExactSums(rows, 0)
    moments, all_moments = gred.ExactMoments(x[comm.rank :: comm.size]), gred.ExactMoments(x)
    assert gred.mpi.allreduce(moments) == all_moments
    assert gred.mpi.reduce(moments, root=last) == (all_moments if comm.rank == last else None)
    summary = summaries(comm, x)
    square = np.ones((2, 3) if comm.rank else (3, 2))
    others = [moments if comm.rank else part, gred.ExactSums(square, ())]
    others += [summary if comm.rank else part, gred.describe(x, comm.rank)]
    others += [gred.describe(square, axis=0)]
    for other in others:
        try:
            gred.mpi.allreduce(other)
        except ValueError:
            continue
        if comm.size > 1:
            sys.exit("sums of several kinds or shapes were added up")
    hostile = part.words
    hostile[comm.rank] += 1
    comm.Allreduce(MPI.IN_PLACE, hostile, op=MPI.SUM)
    try:
        gred.ExactSum.from_words(hostile)
    except ValueError:
        pass
    else:
        sys.exit("words that somebody has changed were taken")
    if comm.rank == 0:
        digest = hashlib.sha256(gred.mpi.allreduce(part, MPI.COMM_SELF).to_bytes())
        assert digest.digest() == hashlib.sha256(before).digest()
        print(comm.size, hashlib.sha256(whole.to_bytes()).hexdigest(), flush=True)


# Open MPI starts nothing for root unless it is told twice.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def ranks(n, program=(__file__,)):
    command = [MPIEXEC, "-n", str(n), sys.executable, *program]
    options = {"capture_output": True, "text": True, "timeout": 900}
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **AS_ROOT}
    return subprocess.run(command, check=False, env=environment, **options)


def test_any_number_of_ranks_makes_the_same_bits():
    digests = set()
    for n in (1, 3):
        done = ranks(n)
        assert done.returncode == 0, done.stdout + done.stderr
        size, digest = done.stdout.split()
        assert int(size) == n
        digests.add(digest)
    assert len(digests) == 1


SPLIT = """
import math, sys
import numpy as np
import gred, gred.mpi
from mpi4py import MPI

rank, size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
random = np.random.default_rng(11)
gradients = [
    (random.normal(size=shape) * np.exp2(random.integers(-60, 60, shape))).astype("f4")
    for shape in ((64, 30), (7,), (3, 5, 8), (1001,))
]
splits = {
    "data": gradients if rank == 0 else [],
    "sharded": [np.array_split(one.ravel(), size)[rank] for one in gradients],
    "tensor": [np.array_split(one, size, axis=-1)[rank] for one in gradients],
    "pipeline": gradients[rank::size],
}
totals, squares = set(), set()
for mine in splits.values():
    part, products = gred.ExactSum(*mine), gred.ExactSum()
    for one in mine:
        products.add_products(one, one)
    totals.add(gred.mpi.allreduce(part).value("f4"))
    squares.add(gred.mpi.allreduce(products).fraction())
everything = np.concatenate([one.ravel() for one in gradients]).astype("f8").tolist()
assert totals == {np.float32(math.fsum(everything))} == {gred.sum(gradients, method="exact")}
assert len(squares) == 1
norm = np.float32(math.sqrt(squares.pop()))
assert norm == gred.norm(gradients, method="exact")
if rank == 0:
    print(size, totals.pop(), norm, flush=True)
"""


def test_the_sum_of_parameters_is_the_same_however_they_are_split():
    said = {}
    for n in (1, 2):
        done = ranks(n, ("-c", SPLIT))
        assert done.returncode == 0, done.stdout + done.stderr
        size, *said[n] = done.stdout.split()
        assert int(size) == n
    assert said[1] == said[2]


def test_no_communicator_is_not_the_world():
    code = (
        "import gred.mpi; from mpi4py import MPI\n"
        "for call in gred.mpi.allreduce, gred.mpi.reduce:\n"
        "  for null in MPI.COMM_NULL, MPI.COMM_WORLD.Split(MPI.UNDEFINED):\n"
        "    try: call(gred.ExactSum([1.0]), null)\n"
        "    except ValueError as error: print(error)\n"
    )
    done = ranks(1, ("-c", code))
    assert done.stdout.count("comm must be a communicator; got MPI.COMM_NULL") == 4, done.stderr


def test_what_one_rank_cannot_do_raises_on_all():
    code = (
        "import gred.mpi; from mpi4py import MPI\n"
        "world, part = MPI.COMM_WORLD, gred.ExactSum()\n"
        "first = world.rank == 0\n"
        "for call, *arguments in (\n"
        "    (gred.mpi.allreduce, 1.0 if first else part),\n"
        "    (gred.mpi.reduce, 1.0 if first else part),\n"
        "    (gred.mpi.reduce, part, world, world.rank),\n"
        "    (gred.mpi.reduce, part, world, 2 if first else 0),\n"
        "    (gred.mpi.reduce, part, world, None if first else 0),\n"
        "):\n"
        "    try: call(*arguments)\n"
        "    except (TypeError, ValueError) as error: print('refused:', error, flush=True)\n"
    )
    done = ranks(2, ("-c", code))
    assert done.stdout.count("refused:") == 10, done.stdout + done.stderr
    assert done.stdout.count("root must be the same on all ranks; got 0 to 1") == 2


if __name__ == "__main__":
    rank()
