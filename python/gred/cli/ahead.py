"""What libraries compile on the way, compiled beforehand: in processes, as many as there are cores.

CuPy compiles most of its kernels as they are first called, for seconds and on one core, and keeps
them on disk, where other processes find them. They are the same for arrays of all sizes.
"""

from __future__ import annotations

import functools
import multiprocessing
import warnings
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from gred.cli import cases
from gred.cli.cases import Case, Extent
from gred.cli.data import random_mask, repeated_array
from gred.cli.libraries import PEERS, Library
from gred.cli.record import usable_cores

# Enough for kernels to be those of large arrays.
_SIZE = Extent(1 << 16, in_bytes=False)


def compile_ahead(library: Library, asked: Iterable[Case]) -> None:
    """Have a library compile what the cases need. What it lacks is found out later, in its turn."""
    waiting = sorted({case.series for case in asked})
    if len(waiting) < 2:  # which is as soon compiled in its turn
        return
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(len(waiting), usable_cores()), spawn) as pool:
        work = functools.partial(_compile, library.key, library.device)
        try:
            list(pool.map(work, waiting))
        except BrokenProcessPool:  # then the rest is compiled in its turn, too
            return


def _compile(key: str, device: str, series: tuple[str, str, str]) -> None:
    warnings.simplefilter("ignore")  # in this process alone
    try:
        _call(PEERS[key](device), *series)
    except Exception:  # a library that lacks something raises what it likes
        return


def _call(library: Library, reduction: str, kind: str, layout: str) -> None:
    [case] = cases.cases((cases.Block((reduction,), (kind,), (layout,), (_SIZE,)),))
    flat = library.place(repeated_array(case.size, case.type.dtype(), case.data))
    mask = library.place(random_mask(case.size)) if case.masked else None
    library.start()
    library.function(case)(*library.given(case, flat, mask))
