"""Exact sums over MPI's ranks: the same bits for every number of them.

    mpiexec -n 4 python tests/host/test_mpi.py

is what the test has every rank do: the first prints a digest of the totals, once all ranks have
found all ways to make the same.
"""

import hashlib
import math
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


def totals(comm):
    """Make totals by every call that there is, and return one of them."""
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
    """Add up parameters, and their squares, however they are split among the ranks."""
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
    """What one rank cannot do raises on all; no communicator is not the world."""
    from mpi4py import MPI

    part, (*_, sums, moments, _, _) = gred.ExactSum([1.0]), [of for _, of in shares(0, 1)]
    first, rows = comm.rank == 0, np.ones((2, 3))
    hostile = part.words
    hostile[comm.rank] += 1
    comm.Allreduce(MPI.IN_PLACE, hostile, op=MPI.SUM)
    with pytest.raises(ValueError, match="not the words"):
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


def rank():
    from mpi4py import MPI

    whole = totals(MPI.COMM_WORLD)
    check_splits(MPI.COMM_WORLD)
    check_refusals(MPI.COMM_WORLD)
    if MPI.COMM_WORLD.rank == 0:
        print(MPI.COMM_WORLD.size, hashlib.sha256(whole.to_bytes()).hexdigest(), flush=True)


# Open MPI starts nothing for root unless it is told twice.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def test_any_number_of_ranks_makes_the_same_bits():
    digests, environment = set(), {**os.environ, "OMP_NUM_THREADS": "1", **AS_ROOT}
    for n in (1, 3):
        command = [MPIEXEC, "-n", str(n), sys.executable, __file__]
        options = {"capture_output": True, "text": True, "timeout": 900}
        done = subprocess.run(command, check=False, env=environment, **options)
        assert done.returncode == 0, done.stdout + done.stderr
        size, digest = done.stdout.split()
        assert int(size) == n
        digests.add(digest)
    assert len(digests) == 1


if __name__ == "__main__":
    rank()
