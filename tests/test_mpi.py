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
    """Run a program with so many ranks, on this machine."""
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


def test_without_mpi4py_one_error_says_what_brings_it():
    code = "import sys; sys.modules['mpi4py'] = None; import gred.mpi; gred.mpi.allreduce(0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install 'gred[mpi]'" in done.stderr.splitlines()[-1]


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


def test_a_wrong_type_on_one_rank_raises_on_all():
    code = (
        "import gred.mpi; from mpi4py import MPI\n"
        "part = 1.0 if MPI.COMM_WORLD.rank == 0 else gred.ExactSum()\n"
        "for call in gred.mpi.allreduce, gred.mpi.reduce:\n"
        "    try: call(part)\n"
        "    except TypeError as error: print('refused:', error, flush=True)\n"
    )
    done = ranks(2, ("-c", code))
    assert done.stdout.count("refused:") == 4, done.stdout + done.stderr
