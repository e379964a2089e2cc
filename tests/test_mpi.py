"""Exact sums over MPI's ranks: the same bits for every number of them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MPI = pytest.importorskip("mpi4py", reason="mpi4py is not installed")
PROGRAM = Path(__file__).parent / "mpi_ranks.py"
MPIEXEC = shutil.which("mpiexec", path=Path(sys.executable).parent) or shutil.which("mpiexec")
pytestmark = [
    pytest.mark.unsanitized,
    pytest.mark.skipif(not MPIEXEC, reason="there is no mpiexec"),
]


# Open MPI starts nothing for root unless it is told twice.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def ranks(n, program=(PROGRAM,)):
    return subprocess.run(
        [MPIEXEC, "-n", str(n), sys.executable, *map(str, program)],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", **AS_ROOT},
    )


def test_any_number_of_ranks_makes_the_same_bits():
    digests = set()
    for n in (1, 3, 4):
        done = ranks(n)
        assert done.returncode == 0, done.stdout + done.stderr
        size, digest = done.stdout.split()
        assert int(size) == n
        digests.add(digest)
    assert len(digests) == 1


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
