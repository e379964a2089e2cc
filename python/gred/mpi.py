"""Exact sums, moments and summaries over the ranks of an MPI communicator.

>>> import gred, gred.mpi
>>> part = gred.ExactSum([0.1] * 10)
>>> total = gred.mpi.allreduce(part)  # of all ranks' parts

MPI adds the integer words of exact sums itself, without pickling: the bits of the result do not
depend on the order or the number of ranks. Summaries are pickled, and merged by mpi4py as a tree of
ranks; those of ``gred.describe(part, method="exact")`` also give the same bits.
"""

from __future__ import annotations

import zlib
from typing import Any, TypeVar, cast

import numpy as np

from gred.checks import import_extra, number_from
from gred.exact import ExactMoments, ExactSum, ExactSums
from gred.exact.sums import Words
from gred.statistics.summary import Summary

__all__ = ["allreduce", "reduce"]

_Part = TypeVar("_Part", ExactSum, ExactSums, ExactMoments, Summary)


def __dir__() -> list[str]:
    return __all__


def _agreed(part: Any, comm: Any, root: Any = 0) -> tuple[Any, Any, Words]:
    """Return the MPI module, the communicator, and this rank's words (empty for a Summary).

    Every rank raises unless all ranks have parts of the same kind and the same root.
    """
    mpi: Any = import_extra("mpi4py.MPI", "mpi")
    comm = mpi.COMM_WORLD if comm is None else comm  # COMM_NULL is falsy
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
        raise TypeError("part or root is invalid on another rank")
    if last != -first:
        raise ValueError(f"root must be the same on all ranks; got {-first} to {last}")
    if most != -least:
        raise ValueError("part must have the same kind, shape and ddof on all ranks")
    return mpi, comm, words


def allreduce(part: _Part, comm: Any = None) -> _Part:
    """Combine the parts of all ranks, and return the result on all of them.

    Parameters
    ----------
    part : ExactSum, ExactSums, ExactMoments or Summary
        This rank's part. It is not modified.
    comm : mpi4py.MPI.Comm, optional
        Communicator, by default ``MPI.COMM_WORLD``; of up to 2**20 ranks, all of which must call.

    Returns
    -------
    ExactSum, ExactSums, ExactMoments or Summary
        The same on every rank. ``comm.allreduce(part)`` gives the same result, but pickles it.

    Raises
    ------
    ValueError
        If comm is ``MPI.COMM_NULL``; on every rank, if the parts differ in kind, shape or ddof.
    TypeError, OverflowError
        On every rank, if one part has another type, or too many elements for its `ExactSum.words`.

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
    """Combine the parts of all ranks, as `allreduce` does, and return the result on one of them.

    Parameters
    ----------
    part, comm
        As for `allreduce`.
    root : int, default 0
        Rank that receives the result; the others return None. Every rank raises ValueError or
        TypeError if it is not a rank, or not the same on all.
    """
    mpi, comm, words = _agreed(part, comm, root)
    if isinstance(part, Summary):
        return cast(_Part | None, comm.reduce(part, root=root))
    at_root = comm.Get_rank() == root
    comm.Reduce(mpi.IN_PLACE if at_root else words, words if at_root else None, mpi.SUM, root)
    return type(part).from_words(words) if at_root else None
