"""Exact sums over the ranks of an MPI communicator.

>>> import gred, gred.mpi
>>> part = gred.ExactSum([0.1] * 10)
>>> total = gred.mpi.allreduce(part)  # of all ranks' parts

Their words are added up as integers by MPI itself, without pickling: in any order, by any number of
ranks, to the same bits.
"""

from __future__ import annotations

from typing import Any

from gred.exact import ExactSum
from gred.extras import needed

__all__ = ["allreduce", "reduce"]


def _mpi() -> Any:
    return needed("mpi4py.MPI", "mpi")


def allreduce(part: ExactSum, comm: Any = None) -> ExactSum:
    """Add up what all ranks have, and give it to all of them.

    Parameters
    ----------
    part : ExactSum
        This rank's. It stays what it is.
    comm : mpi4py.MPI.Comm, optional
        By default ``MPI.COMM_WORLD``. All of its ranks have to call, and there may be 2**20.

    Returns
    -------
    ExactSum
        The same on every rank. ``comm.allreduce(part)`` makes the same, but pickles it.

    References
    ----------
    L. Dalcin, Y.-L. L. Fang, "mpi4py: status update after 12 years of development", Comput. Sci.
    Eng. 23, 2021.

    """
    mpi = _mpi()
    words = part.words
    (comm or mpi.COMM_WORLD).Allreduce(mpi.IN_PLACE, words, op=mpi.SUM)
    return ExactSum.from_words(words)


def reduce(part: ExactSum, comm: Any = None, root: int = 0) -> ExactSum | None:
    """Add up what all ranks have, and give it to one of them.

    Parameters
    ----------
    part : ExactSum
        This rank's. It stays what it is.
    comm : mpi4py.MPI.Comm, optional
        As for `allreduce`.
    root : int, default 0
        The rank that gets it.

    Returns
    -------
    ExactSum or None
        On the root, and on others.

    """
    mpi = _mpi()
    comm, words = comm or mpi.COMM_WORLD, part.words
    at_root = comm.Get_rank() == root
    comm.Reduce(mpi.IN_PLACE if at_root else words, words if at_root else None, mpi.SUM, root)
    return ExactSum.from_words(words) if at_root else None
