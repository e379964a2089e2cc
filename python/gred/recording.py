"""Record every access of a rung's threads on the simulated device."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gred.counting import H200_MULTIPROCESSORS, SECTOR_NBYTES, count_run, rel_path
from gred.records import Records

# Most accesses that are recorded. Arrays that need more are rejected.
ROOM = 1 << 20
# Bytes of a vectorized load of the array, also of bulk-copied elements in shared memory.
PACK_NBYTES = 16
_FORMATS = {"int32": "i", "int64": "q", "uint64": "Q", "float32": "f", "float64": "d"}


class Access(NamedTuple):
    """One operation of one thread.

    ``interval`` is the number of barriers and shuffles that the thread has passed in this launch.
    ``event`` is 'global_load', 'global_store', 'shared_load', 'shared_store', 'atomic', 'shuffle',
    'merge', 'bulk_copy', 'block_barrier', 'warp_barrier', 'grid_barrier', 'cluster_barrier' or
    'mbarrier_wait'. ``memory`` is 'array', 'partials', 'tickets' or 'shared' (of a block), and
    ``element`` the first element accessed, or both are None. ``values`` are those loaded, stored
    or copied, the result of an atomic, the input of a shuffle, or the result and the first operand
    of a merge. ``source`` is the source lane of a shuffle, the block that owns the shared memory if
    it is not the thread's, or the target element in shared memory of a bulk copy, which is recorded
    in units of 16 bytes; otherwise None. ``file`` and ``number`` give the source line.
    """

    block: int
    thread: int
    interval: int
    event: str
    memory: str | None
    element: int | None
    values: tuple[Any, ...]
    nbytes: int
    source: int | None
    file: str
    number: int


class Recorded(Records):
    """The accesses of a launch, sorted by block, interval and thread."""

    columns = (
        ("block", "block"),
        ("thread", "thread"),
        ("interval", "interval"),
        ("event", "event"),
        ("element", lambda a: a.memory and f"{a.memory}[{a.element}]"),
        ("values", lambda a: ", ".join(map(str, a.values))),
        ("line", lambda a: f"{a.file}:{a.number}"),
    )
    printed = 100


class Launch(NamedTuple):
    """Accesses of one launch; prints as a table.

    ``accesses`` are sorted by block, interval and thread, those of a thread in program order.
    ``array_offset`` is the array's offset in bytes from a sector boundary.
    """

    blocks: int
    block_size: int
    array_offset: int
    accesses: Recorded

    def __repr__(self) -> str:
        return repr(self.accesses)

    def _repr_html_(self) -> str:
        return self.accesses._repr_html_()


class Accesses(NamedTuple):
    """Result of `accesses`; displayed as a picture in a notebook."""

    op: str
    method: str
    block_size: int
    dtype: str
    size: int
    accumulator: str
    multiprocessors: int
    passes: tuple[Launch, ...]
    result: Any

    def __repr__(self) -> str:
        array = f"{self.op} of {self.size:,} {self.dtype}"
        told = ", ".join(f"{len(one.accesses):,}" for one in self.passes)
        launched = f"by {self.method}, blocks of {self.block_size}"
        return f"{array}, {launched}: accesses of each pass: {told}"

    def svg(self) -> str:
        """Draw which thread accesses which element in each step, as an SVG document.

        For a pass of more than four blocks, the first three and the last are drawn.
        """
        from gred.drawing.picture import draw_accesses

        return draw_accesses(self)

    def _repr_svg_(self) -> str:
        return self.svg()


def _memory(event: str, address: int, memories: dict[str, int]) -> tuple[str | None, int]:
    """Return the memory with the last start at or before an address, and the offset in it."""
    if event.startswith("shared"):
        return "shared", address
    if not event.startswith(("global", "atomic", "bulk")):
        return None, 0
    before = (name for name, at in memories.items() if at <= address)
    name = max(before, key=memories.__getitem__, default=None)
    return name, address - memories[name] if name else 0


def _launch(launch: tuple[Any, ...], first: bool, dtype: str, accumulator: str) -> Launch:
    """Build a launch's record; an in-place rung's array holds accumulators."""
    grid, block_size, _, rows, begins = launch
    memories = dict(zip(("array", "partials", "tickets"), begins, strict=True))
    in_order = sorted(rows, key=lambda row: (row[0], row[2], row[1]))
    placed = [(row, *_memory(row[3], row[4], memories)) for row in in_order]
    widths = {row[5] for row, memory, _ in placed if memory == "array"}
    in_place = not first or np.dtype(accumulator).itemsize in widths
    own = _FORMATS[accumulator]
    kinds = {"partials": own, "shared": own, "tickets": "I", None: own}
    kinds["array"] = own if in_place else _FORMATS[dtype]
    unordered = any(row[3] == "grid_barrier" for row in rows)  # tickets are taken in any order

    def access(row: tuple[Any, ...], memory: str | None, offset: int) -> Access:
        block, thread, interval, event, _, nbytes, source, raw, path, number = row
        kind = kinds["array" if memory == "shared" and nbytes == PACK_NBYTES else memory]
        itemsize = struct.calcsize(kind)
        if event == "bulk_copy":
            source //= itemsize
        elif event != "shuffle" and (source == block or not event.startswith("shared")):
            source = None
        values: tuple[Any, ...] = ()
        if not event.endswith(("barrier", "wait")) and not (unordered and memory == "tickets"):
            count = 2 if event == "merge" else nbytes // itemsize
            values = struct.unpack_from(f"{count}{kind}", raw)
        element = offset // itemsize if memory else None
        what = event, memory, element, values, nbytes, source
        return Access(block, thread, interval, *what, rel_path(path), number)

    told = Recorded(access(*one) for one in placed)
    return Launch(grid, block_size, memories["array"] % SECTOR_NBYTES, told)


def accesses_of(call: Sequence[Any], result: Any, launches: Iterable[Any]) -> Accesses:
    """Build the record of a call from its parameters, its result and C's records of launches."""
    _, _, _, dtype, _, accumulator, _ = call
    passes = tuple(_launch(one, k == 0, dtype, accumulator) for k, one in enumerate(launches))
    return Accesses._make([*call, passes, result])


def accesses(
    a: ArrayLike | Any,
    op: str = "sum",
    /,
    *,
    method: str = "auto",
    block_size: int | None = None,
    dtype: DTypeLike | None = None,
    multiprocessors: int = H200_MULTIPROCESSORS,
) -> Accesses:
    """Record all accesses of a rung's threads, in order.

    Every load, store, atomic, shuffle, merge and barrier of each thread is recorded on the
    simulated device; pictures of rungs are drawn from the records. Blocks run one after another,
    except in a cooperative launch. Records do not depend on the order of threads, except for the
    results of atomics and the block that merges the partial results.

    Parameters
    ----------
    a : array_like of any shape
        Input array of at most 2**14 elements, otherwise as for `gred.counters`.
    op, method, block_size, dtype, multiprocessors
        As for `gred.counters`.

    Returns
    -------
    Accesses
        ``passes``: one per launch, with its ``blocks``, ``block_size`` and ``accesses``, a table of
        `Access`; other fields as for `gred.counters`. The method `svg` draws the accesses.

    Raises
    ------
    ValueError, TypeError, RuntimeError, MemoryError
        As `gred.counters`; ValueError also for more than 2**14 elements.

    Examples
    --------
    >>> import gred, numpy as np
    >>> told = gred.accesses(np.arange(32), method="neighbored", block_size=32)
    >>> of_thread = [x for x in told.passes[0].accesses if x.thread == 4]
    >>> stores = [x for x in of_thread if x.event == "global_store"]
    >>> [(x.interval, x.memory, x.element, x.values) for x in stores]
    [(0, 'array', 4, (9,)), (1, 'array', 4, (22,))]
    """
    options: dict[str, Any] = {"method": method, "block_size": block_size, "dtype": dtype}
    return accesses_of(*count_run(a, op, ROOM, multiprocessors, **options))
