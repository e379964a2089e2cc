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
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from shares import numbers, shares

import gred

pytest.importorskip("mpi4py", reason="mpi4py is not installed")
MPIEXEC = shutil.which("mpiexec", path=Path(sys.executable).parent) or shutil.which("mpiexec")
pytestmark = [
    pytest.mark.unsanitized,
    pytest.mark.skipif(not MPIEXEC, reason="there is no mpiexec"),
]


def rank():
    """Check all, and print what was made."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
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
    rows = numbers()[:10_000].reshape(100, 100)
    columns = gred.mpi.allreduce(gred.describe(rows[comm.rank :: comm.size], axis=0))
    assert np.array_equal(columns.min, rows.min(0))
    assert np.allclose(columns.var, gred.describe(rows, axis=0).var, 1e-12)
    assert part.to_bytes() == before
    square = np.ones((2, 3) if comm.rank else (3, 2))
    others = [other if comm.rank else part for other in parts[2:4]]
    others += [gred.ExactSums(square, ()), gred.describe(rows, comm.rank)]
    others += [gred.describe(square, axis=0)]
    hostile = part.words
    hostile[comm.rank] += 1
    comm.Allreduce(MPI.IN_PLACE, hostile, op=MPI.SUM)
    calls = [partial(gred.mpi.allreduce, other) for other in others if comm.size > 1]
    for call in (*calls, partial(gred.ExactSum.from_words, hostile)):
        with pytest.raises(ValueError, match=r"\w"):
            call()
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
