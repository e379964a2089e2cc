"""The steps of a run: every thread's reads, merges and writes between barriers.

A step is a barrier interval in which a thread reads or merges; a store after a barrier, by a thread
that has not read anything since, belongs to the previous step.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from gred.counting import SECTOR_NBYTES, WARP
from gred.recording import Access, Launch

BANKS = 32  # of shared memory
_BANK_NBYTES = 4
BARRIERS = {
    "block_barrier": "__syncthreads()",
    "warp_barrier": "__syncwarp()",
    "grid_barrier": "grid barrier",
    "cluster_barrier": "cluster barrier",
    "mbarrier_wait": "mbarrier wait",
}
ACROSS_BLOCKS = (BARRIERS["grid_barrier"], BARRIERS["cluster_barrier"])
_STORES = ("global_store", "shared_store", "atomic")
_LOADS = ("global_load", "shared_load")
_of_thread = attrgetter("thread")


class Element(NamedTuple):
    """An element and its value; ``owner`` is the block of shared memory, -1 for other memory."""

    memory: str
    number: int
    value: Any
    owner: int = -1

    @property
    def cell(self) -> tuple[str, int, int]:
        return self.memory, self.number, self.owner


class Node:
    """One thread's work in one step.

    ``reads`` are elements of memory, ``packs`` the number per load, for each memory; ``copies`` are
    pairs of source and target elements of a bulk copy to shared memory; ``own`` is the node of the
    thread's previous value, if it is merged, and ``lane`` the node that a shuffle reads from.
    ``value`` is the thread's value afterwards, the reduction of ``terms`` elements of the launch's
    array. ``useful`` is whether it contributes to the launch's results.
    """

    def __init__(self, block: int, thread: int) -> None:
        self.block, self.thread = block, thread
        self.reads: list[Element] = []
        self.writes: list[Element] = []
        self.copies: list[tuple[Element, Element]] = []
        self.packs: dict[str, int] = {}
        self.own: Node | None = None
        self.lane: Node | None = None
        self.merges, self.terms, self.useful = 0, 0, False
        self.first: Any = None
        self.value: Any = None

    @property
    def all_reads(self) -> list[Element]:
        return [*self.reads, *(at for at, _ in self.copies)]

    @property
    def all_writes(self) -> list[Element]:
        return [*self.writes, *(to for _, to in self.copies)]

    @property
    def is_noop(self) -> bool:
        """Whether it merges only the identity into its register, and accesses no memory."""
        kept = self.own is not None and self.own.terms == self.terms
        return kept and not (self.all_reads or self.all_writes)


class Request(NamedTuple):
    """A memory request of a warp; transfers are sectors or wavefronts.

    ``nbytes`` are the bytes requested by lanes; ``moved`` are elements transferred but not
    requested; ``words`` is the first 4-byte word that each lane requests, by thread.
    """

    event: str
    memory: str
    elements: frozenset[int]
    nbytes: int
    transfers: int
    conflicts: int
    moved: frozenset[int]
    words: dict[int, int]


class Step(NamedTuple):
    """A step of a block: its active threads, their warps' requests, and the warps that shuffle."""

    barriers: tuple[str, ...]
    shuffles: int
    nodes: dict[int, Node]
    requests: list[Request]

    @property
    def useful(self) -> list[Node]:
        return [node for node in self.nodes.values() if node.useful]


NO_STEP = Step((), 0, {}, [])


class Block(NamedTuple):
    number: int
    steps: tuple[Step, ...]

    @property
    def nodes(self) -> list[Node]:
        return [node for step in self.steps for node in step.nodes.values()]


def blocks(launch: Launch, chosen: Container[int] | None = None) -> tuple[Block, ...]:
    made = tuple(
        Block(number, tuple(_steps(launch, number, list(accesses))))
        for number, accesses in groupby(launch.accesses, key=attrgetter("block"))
        if chosen is None or number in chosen
    )
    _mark_useful(made)
    return made


def _steps(launch: Launch, block: int, accesses: Sequence[Access]) -> Iterator[Step]:
    """Yield steps, once they are complete."""
    now: dict[int, Node] = {}  # each thread's last node
    step: Step | None = None
    barriers: tuple[str, ...] = ()
    for _, interval in groupby(accesses, key=attrgetter("interval")):
        of_interval = list(interval)
        late, others = _late_stores(of_interval, now)
        if step:
            for access in late:
                if access.event in _STORES:
                    now[access.thread].writes.extend(_elements(access))
            step.requests.extend(_requests(late, launch))
        names = {access.event for access in of_interval if access.event in BARRIERS}
        barriers += tuple(BARRIERS[name] for name in sorted(names))
        if others:
            if step:
                yield step
            shuffling = {a.thread // WARP for a in others if a.event == "shuffle"}
            nodes = _nodes(block, others, now)
            now |= nodes
            requests = list(_requests(others, launch))
            step = Step(tuple(dict.fromkeys(barriers)), len(shuffling), nodes, requests)
            barriers = ()
    if step:
        yield step


def _late_stores(accesses: list[Access], now: Container[int]) -> tuple[list[Access], list[Access]]:
    """Separate stores of values that threads hold since the previous step from other accesses."""
    late: list[Access] = []
    others: list[Access] = []
    for thread, of_thread in groupby(accesses, key=_of_thread):
        begun = thread not in now
        for access in (one for one in of_thread if one.event not in BARRIERS):
            waits = access.event in _LOADS and access.memory == "tickets"
            begun = begun or not (waits or access.event in _STORES)
            (others if begun else late).append(access)
    return late, others


def _nodes(block: int, accesses: list[Access], before: dict[int, Node]) -> dict[int, Node]:
    given = {a.thread: a.values[0] for a in accesses if a.event == "shuffle"}
    nodes = {}
    for thread, of_thread in groupby(accesses, key=_of_thread):
        node, previous = Node(block, thread), before.get(thread)
        node.value = previous.value if previous else None
        for access in of_thread:
            _add_access(node, access, before, given)
        node.reads.sort()
        operands = len(node.reads) + (node.lane is not None)
        if previous and node.merges >= max(1, operands) and _same(node.first, previous.value):
            node.own = previous
        nodes[thread] = node
    return nodes


def _add_access(node: Node, access: Access, before: dict[int, Node], given: dict[int, Any]) -> None:
    """Add an access to a node; a shuffle is linked to its source lane if the values are equal."""
    if access.event in _LOADS:
        if access.memory == "tickets":
            return
        node.reads.extend(_elements(access))
        memory = access.memory or ""
        node.packs[memory] = max(node.packs.get(memory, 1), len(access.values))
        if not node.merges:
            node.value = access.values[-1]
    elif access.event in _STORES:
        node.writes.extend(_elements(access))
        node.value = access.values[0] if access.values and node.value is None else node.value
    elif access.event == "bulk_copy" and access.source is not None:
        copied = access._replace(memory="shared", element=access.source, source=None)
        node.packs["array"] = len(access.values)
        node.copies.extend(zip(_elements(access), _elements(copied), strict=True))
    elif access.event == "merge":
        node.first = access.values[1] if not node.merges else node.first
        node.merges += 1
        node.value = access.values[0]
    elif access.event == "shuffle" and access.source is not None:
        thread = access.thread // WARP * WARP + access.source
        there = before.get(thread)
        if there and _same(there.value, given.get(thread)):
            node.lane = there


def _elements(access: Access) -> list[Element]:
    memory, first = access.memory, access.element
    if memory is None or first is None:
        return []
    if memory == "tickets":
        return [Element(memory, first, access.values[0] if access.values else None)]
    of_block = access.block if access.source is None else access.source
    owner = of_block if memory == "shared" else -1
    return [Element(memory, first + k, value, owner) for k, value in enumerate(access.values)]


def _same(a: Any, b: Any) -> bool:
    """Compare two values; NaN equals itself."""
    return bool(a == b or (a != a and b != b))


def _mark_useful(made: Sequence[Block]) -> None:
    """Count the terms of each value, and mark all nodes that contribute to the launch's results."""
    parents: dict[Node, list[Node]] = {}
    writers: dict[tuple[str, int, int], Node] = {}
    # First the steps of all blocks before any waits for others, then the rest.
    order: tuple[list[Step], list[Step]] = ([], [])
    for block in made:
        waited = False
        for step in block.steps:
            read = {element.memory for node in step.nodes.values() for element in node.reads}
            waited = waited or "partials" in read or not {*ACROSS_BLOCKS}.isdisjoint(step.barriers)
            order[waited].append(step)
    for step in order[0] + order[1]:
        for node in step.nodes.values():
            found = [writers.get(element.cell) for element in node.reads]
            parents[node] = [n for n in (node.own, node.lane, *found) if n and n.terms]
            node.terms = sum(n.terms for n in parents[node]) + found.count(None)
        for node in step.nodes.values():
            writers.update((element.cell, node) for element in node.writes)

    def writers_to(memory: str) -> list[Node]:
        return [node for node in parents if any(e.memory == memory for e in node.writes)]

    left = writers_to("partials") or writers_to("array")
    left += [node for node in parents if node.copies]
    while left:
        node = left.pop()
        if not node.useful:
            node.useful = True
            left.extend(parents[node])


def _requests(accesses: Iterable[Access], launch: Launch) -> Iterator[Request]:
    """Group accesses of a warp's lanes from the same line and iteration into requests."""
    iterations: dict[tuple[Any, ...], int] = {}
    together: dict[tuple[Any, ...], list[Access]] = {}
    for access in (one for one in accesses if one.memory is not None):
        place = (access.event, access.file, access.number, access.nbytes)
        iteration = iterations[access.thread, place] = iterations.get((access.thread, place), 0) + 1
        iteration = 0 if access.event == "bulk_copy" else iteration  # all parts form one request
        together.setdefault((access.thread // WARP, place, iteration), []).append(access)
    for lanes in together.values():
        one, each = lanes[0], max(1, len(lanes[0].values))
        itemsize = one.nbytes // each
        at = {a.thread: (a.element or 0) * itemsize for a in lanes}
        asked = frozenset((a.element or 0) + k for a in lanes for k in range(each))
        conflicts, moved = 0, frozenset[int]()
        if one.memory == "shared":
            of_lanes = {thread % WARP: place for thread, place in at.items()}
            transfers, conflicts = _wavefronts(of_lanes, one.nbytes, one.event == "shared_load")
        else:
            offset = launch.array_offset if one.memory == "array" else 0
            sectors = {((a.element or 0) * itemsize + offset) // SECTOR_NBYTES for a in lanes}
            transfers = len(sectors)
            moved = frozenset(
                (sector * SECTOR_NBYTES - offset + byte) // itemsize
                for sector in sectors
                for byte in range(0, SECTOR_NBYTES, itemsize)
            )
        words = {thread: place // _BANK_NBYTES for thread, place in at.items()}
        more = (one.nbytes * len(lanes), transfers, conflicts, moved - asked, words)
        yield Request(one.event, one.memory or "", asked, *more)


def _wavefronts(at: dict[int, int], nbytes: int, loads: bool) -> tuple[int, int]:
    """Count the wavefronts of a shared-memory request, and those due to bank conflicts.

    A wavefront serves as many neighboring lanes as all banks have words for; twice as many if pairs
    of neighbors load the same.
    """
    words = max(1, nbytes // _BANK_NBYTES)
    pairs = all(at.get(k + 1, at[k]) == at[k] for k in at if k % 2 == 0)
    size = WARP // words * (2 if loads and words > 1 and pairs else 1)
    wavefronts = groups = 0
    for first in range(0, WARP, size):
        banks: dict[int, set[int]] = {}
        for lane in range(first, first + size):
            for word in range(words if lane in at else 0):
                number = at[lane] // _BANK_NBYTES + word
                banks.setdefault(number % BANKS, set()).add(number)
        wavefronts += max(map(len, banks.values()), default=0)
        groups += bool(banks)
    return wavefronts, wavefronts - groups
