"""The steps of a run: what every thread reads, merges and writes from one barrier to the next.

A step is a barrier interval in which somebody reads or merges; what is stored after a barrier
without having read anything belongs to the step before it.
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
    """An element and what it holds; ``owner`` is the block it is shared in, -1 for other memory."""

    memory: str
    number: int
    value: Any
    owner: int = -1

    @property
    def cell(self) -> tuple[str, int, int]:
        return self.memory, self.number, self.owner


class Node:
    """What one thread does in one step.

    ``reads`` are elements of memory, and ``packs`` how many of each memory were read at once;
    ``copies`` are pairs of elements, of a bulk copy to shared memory; ``own`` is the node that left
    the thread's register, where that is merged in, and ``lane`` the one whose register a shuffle
    reads. ``value`` is what the thread holds thereafter, the fold of ``terms`` elements of the
    launch's array. ``useful``: something of it gets into what the launch leaves.
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
    def takes(self) -> list[Element]:
        return [*self.reads, *(at for at, _ in self.copies)]

    @property
    def leaves(self) -> list[Element]:
        return [*self.writes, *(to for _, to in self.copies)]

    @property
    def changes_nothing(self) -> bool:
        """Whether it merges the neutral element alone into its register, and touches no memory."""
        kept = self.own is not None and self.own.terms == self.terms
        return kept and not (self.takes or self.leaves)


class Request(NamedTuple):
    """What the lanes of a warp ask for together; transfers are sectors or wavefronts.

    ``nbytes`` are those that lanes ask for; ``moved`` the elements that come along unasked;
    ``words`` is the first 4-byte word that each lane asks for, by thread.
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
    """The threads of a block that act in a step, what their warps ask for, and how many shuffle."""

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
    """Yield steps when nothing can be added to them any more."""
    now: dict[int, Node] = {}  # what each thread has done last
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
    """Part the stores of what threads have held since the step before from all else."""
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
            _take_part(node, access, before, given)
        node.reads.sort()
        operands = len(node.reads) + (node.lane is not None)
        if previous and node.merges >= max(1, operands) and _same(node.first, previous.value):
            node.own = previous
        nodes[thread] = node
    return nodes


def _take_part(node: Node, access: Access, before: dict[int, Node], given: dict[int, Any]) -> None:
    """Let a node do one thing more. Registers count as read if it is their value that is there."""
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
    """Compare two values, where not a number is the same as itself."""
    return bool(a == b or (a != a and b != b))


def _mark_useful(made: Sequence[Block]) -> None:
    """Count what each value is made of, and go from what the launch leaves back to all of that."""
    parents: dict[Node, list[Node]] = {}
    writers: dict[tuple[str, int, int], Node] = {}
    # First what blocks do before one waits for others, block by block, and then the rest.
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

    def leave(memory: str) -> list[Node]:
        return [node for node in parents if any(e.memory == memory for e in node.writes)]

    left = leave("partials") or leave("array")
    left += [node for node in parents if node.copies]
    while left:
        node = left.pop()
        if not node.useful:
            node.useful = True
            left.extend(parents[node])


def _requests(accesses: Iterable[Access], launch: Launch) -> Iterator[Request]:
    """Put together what lanes access from one line, each at the same iteration."""
    iterations: dict[tuple[Any, ...], int] = {}
    together: dict[tuple[Any, ...], list[Access]] = {}
    for access in (one for one in accesses if one.memory is not None):
        place = (access.event, access.file, access.number, access.nbytes)
        iteration = iterations[access.thread, place] = iterations.get((access.thread, place), 0) + 1
        iteration = 0 if access.event == "bulk_copy" else iteration  # its parts belong together
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
    """Count how often shared memory is asked, and how much oftener than it has to be.

    As many neighbouring lanes are served at a time as all banks have words for; twice as many where
    neighbours load the same.
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
