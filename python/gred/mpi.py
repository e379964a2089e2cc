"""Exact sums, moments and summaries over the ranks of an MPI communicator.

>>> import gred, gred.mpi
>>> part = gred.ExactSum([0.1] * 10)
>>> total = gred.mpi.allreduce(part)  # of all ranks' parts

Their words are added up as integers by MPI itself, without pickling: in any order, by any number of
ranks, to the same bits. Summaries are pickled, and merged by mpi4py as a tree of ranks: those of
``gred.describe(part, method="exact")`` to the same bits, too.
"""

from __future__ import annotations

import zlib
from typing import Any, TypeVar, cast

import numpy as np

from gred.checks import needed, number_from
from gred.exact import ExactMoments, ExactSum, ExactSums
from gred.exact.sums import Words
from gred.statistics.summary import Summary

__all__ = ["allreduce", "reduce"]

_Part = TypeVar("_Part", ExactSum, ExactSums, ExactMoments, Summary)


def __dir__() -> list[str]:
    return __all__


def _agreed(part: Any, comm: Any, root: Any = 0) -> tuple[Any, Any, Words]:
    """Give MPI, the communicator, and this rank's words: of a Summary none.

    Unless all ranks have parts of one kind, and one root, every rank raises.
    """
    mpi: Any = needed("mpi4py.MPI", "mpi")
    comm = mpi.COMM_WORLD if comm is None else comm  # COMM_NULL is false, too
    if comm == mpi.COMM_NULL:
        raise ValueError("comm must be a communicator; got MPI.COMM_NULL")
    words, error, rank, kind = np.empty(0, np.int64), None, 0, 0
    try:
        if not isinstance(part, ExactSum | ExactSums | ExactMoments | Summary):
            raise TypeError(
                "part must be an ExactSum, ExactSums, ExactMoments or Summary; got "
                f"{type(part).__name__}"
            )
        rank = number_from(root, "root", comm.Get_size() - 1, 0)
        if isinstance(part, Summary):
            kind = -1 - zlib.crc32(repr((np.shape(part.count), float(part.ddof))).encode())
        else:
            words = part.words
            kind = words.size
    except Exception as raised:
        error = raised
    greatest = np.array([error is not None, rank, -rank, kind, -kind], np.int64)
    comm.Allreduce(mpi.IN_PLACE, greatest, op=mpi.MAX)
    failed, last, first, most, least = greatest.tolist()
    if error:
        raise error
    if failed:
        raise TypeError("part, or root, was refused on another rank")
    if last != -first:
        raise ValueError(f"root must be the same on all ranks; got {-first} to {last}")
    if most != -least:
        raise ValueError("part must be of one kind, shape and ddof on all ranks")
    return mpi, comm, words


def allreduce(part: _Part, comm: Any = None) -> _Part:
    """Add up what all ranks have, and give it to all of them.

    Parameters
    ----------
    part : ExactSum, ExactSums, ExactMoments or Summary
        This rank's. It stays what it is.
    comm : mpi4py.MPI.Comm, optional
        By default ``MPI.COMM_WORLD``. All of its ranks have to call, and there may be 2**20.

    Returns
    -------
    ExactSum, ExactSums, ExactMoments or Summary
        The same on every rank. ``comm.allreduce(part)`` makes the same, but pickles it.

    Raises
    ------
    ValueError
        If comm is ``MPI.COMM_NULL``; on every rank, if parts are of several shapes or ddof.
    TypeError, OverflowError
        On every rank, if one has none such, or too many elements for its `ExactSum.words`.

    References
    ----------
    L. Dalcin, Y.-L. L. Fang, "mpi4py: status update after 12 years of development", Comput. Sci.
    Eng. 23, 2021.
    """
    mpi, comm, words = _agreed(part, comm)
    if isinstance(part, Summary):
        return cast(_Part, comm.allreduce(part))
    comm.Allreduce(mpi.IN_PLACE, words, op=mpi.SUM)
    return type(part).from_words(words)


def reduce(part: _Part, comm: Any = None, root: int = 0) -> _Part | None:
    """Add up what all ranks have, as `allreduce` does, and give it to one of them.

    Parameters
    ----------
    part, comm
        As for `allreduce`.
    root : int, default 0
        The rank that gets it, and others None; else ValueError or TypeError, and on every rank, if
        it is no rank, or not the same on all.
    """
    mpi, comm, words = _agreed(part, comm, root)
    if isinstance(part, Summary):
        return cast(_Part | None, comm.reduce(part, root=root))
    at_root = comm.Get_rank() == root
    comm.Reduce(mpi.IN_PLACE if at_root else words, words if at_root else None, mpi.SUM, root)
    return type(part).from_words(words) if at_root else None
