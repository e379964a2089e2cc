"""What test_mpi.py has every rank do.

    mpiexec -n 4 python tests/mpi_ranks.py

The first rank prints a digest of the total, once all ranks have found all ways to make the same.
"""

import hashlib
import sys

import numpy as np
from mpi4py import MPI

import gred
import gred.mpi


def main():
    """Check all, and print what was made."""
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


if __name__ == "__main__":
    main()
