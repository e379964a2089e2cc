"""What the threads of a rung access one by one, recorded on the simulated device."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gred.counting import H200_MULTIPROCESSORS, SECTOR_NBYTES, place_of, told_of
from gred.records import Records

# Of accesses; more elements than take so many are refused.
ROOM = 1 << 20
# Elements of the array that are taken at once; in shared memory too, where bulk copies put them.
PACK_NBYTES = 16
_FORMATS = {"int32": "i", "int64": "q", "uint64": "Q", "float32": "f", "float64": "d"}


class Access(NamedTuple):
    """What one thread does once.

    ``interval`` is how many barriers and shuffles the thread has come to before, in this launch.
    ``event`` is 'global_load', 'global_store', 'shared_load', 'shared_store', 'atomic', 'shuffle',
    'merge', 'bulk_copy', 'block_barrier', 'warp_barrier', 'grid_barrier', 'cluster_barrier' or
    'mbarrier_wait'. ``memory`` is 'array', 'partials', 'tickets' or 'shared', the block's own, and
    ``element`` the first that is accessed, or both are None. ``values`` are loaded, stored, copied,
    left by an atomic or given to a shuffle; of a merge, what it makes and its first operand.
    ``source`` is the lane whose value a shuffle reads; the block whose shared memory is accessed,
    if another's; the element of shared memory that a bulk copy, recorded 16 bytes at a time, goes
    to; else None. ``file`` and ``number`` name the line of the source.
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
    """The accesses of a launch, by block, interval and thread."""

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
    """What one launch did; it prints as a table.

    ``accesses`` are sorted by block, interval and thread, each thread's as it makes them.
    ``array_offset`` is how many bytes the array begins past a boundary of sectors.
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
    """What `accesses` returns. A notebook shows it as a picture."""

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
        """Draw which thread touches which element at which step, as an SVG document.

        Of a pass of more than four blocks it shows the first three and the last.
        """
        from gred.drawing.picture import drawn

        return drawn(self)

    def _repr_svg_(self) -> str:
        return self.svg()


def _memory(event: str, address: int, memories: dict[str, int]) -> tuple[str | None, int]:
    """Name the memory that begins at or before an address, and last, and give the offset."""
    if event.startswith("shared"):
        return "shared", address
    if not event.startswith(("global", "atomic", "bulk")):
        return None, 0
    before = (name for name, at in memories.items() if at <= address)
    name = max(before, key=memories.__getitem__, default=None)
    return name, address - memories[name] if name else 0


def _launch(launch: tuple[Any, ...], first: bool, dtype: str, accumulator: str) -> Launch:
    """Make a launch's record; the array of a rung that works in place is one of accumulators."""
    grid, block_size, _, rows, begins = launch
    memories = dict(zip(("array", "partials", "tickets"), begins, strict=True))
    in_order = sorted(rows, key=lambda row: (row[0], row[2], row[1]))
    placed = [(row, *_memory(row[3], row[4], memories)) for row in in_order]
    widths = {row[5] for row, memory, _ in placed if memory == "array"}
    in_place = not first or np.dtype(accumulator).itemsize in widths
    own = _FORMATS[accumulator]
    kinds = {"partials": own, "shared": own, "tickets": "I", None: own}
    kinds["array"] = own if in_place else _FORMATS[dtype]
    unordered = any(row[3] == "grid_barrier" for row in rows)  # in no order that counts

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
        return Access(block, thread, interval, *what, place_of(path), number)

    told = Recorded(access(*one) for one in placed)
    return Launch(grid, block_size, memories["array"] % SECTOR_NBYTES, told)


def accesses_of(call: Sequence[Any], result: Any, launches: Iterable[Any]) -> Accesses:
    """Make the record of a call, from its op to its multiprocessors, and of what C has recorded."""
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
    """Record which thread of a rung accesses what, and when.

    Every load, store, atomic, shuffle, merge and barrier of each thread is recorded on the
    simulated device: what a picture of the rung is drawn from. Blocks come one after the other, but
    for a cooperative launch's. The records are the same in every order of threads, but for what
    atomics leave and which block folds the partials.

    Parameters
    ----------
    a : array_like of any shape
        At most 2**14 elements, otherwise as for `gred.counters`.
    op, method, block_size, dtype, multiprocessors
        As for `gred.counters`.

    Returns
    -------
    Accesses
        ``passes``, one for each launch, with its ``blocks``, ``block_size`` and ``accesses``, each
        an `Access`; the rest as of `gred.counters`. Its method `svg` draws it.

    Raises
    ------
    ValueError, TypeError, RuntimeError, MemoryError
        As `gred.counters`; ValueError for more than 2**14 elements, too.

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
    return accesses_of(*told_of(a, op, ROOM, multiprocessors, **options))
