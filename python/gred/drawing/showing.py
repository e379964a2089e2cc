"""What pictures and terminals show of a run's steps, and its wording."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gred.counting import SECTOR_NBYTES, WARP
from gred.drawing.steps import Block, Element, Node, Request, Step
from gred.recording import Accesses, Launch
from gred.records import methods

BLOCKS_MAX = 4
MEMORIES = ("array", "shared", "partials", "tickets")


def drawn_blocks(launch: Launch) -> frozenset[int]:
    """Select the blocks to draw: if there are many, the first three and the last."""
    return frozenset((*range(min(launch.blocks, BLOCKS_MAX - 1)), launch.blocks - 1))


class Shape(NamedTuple):
    """The arrangement of a memory's elements in rows; those of a vectorized load share a column."""

    columns: int
    packed: int

    def column(self, number: int) -> int:
        return number // self.packed % self.columns

    def row(self, number: int) -> int:
        return number // (self.packed * self.columns) * self.packed + number % self.packed

    def elements(self, row: int, end: int) -> range:
        """Return the elements of a row, up to `end`."""
        group, rest = divmod(row, self.packed)
        first = group * self.columns * self.packed + rest
        return range(first, min(first + self.columns * self.packed, end), self.packed)


def shapes(block: Block, columns: int) -> dict[str, Shape]:
    packed = {m: max([1, *(n.packs.get(m, 1) for n in block.nodes)]) for m in MEMORIES}
    return {memory: Shape(columns, count) for memory, count in packed.items()}


def lengths(launch: Launch, made: Sequence[Block]) -> dict[str, int]:
    """Return the length of each memory, as far as the blocks use it."""
    used = dict.fromkeys(MEMORIES, 0)
    for element in (e for b in made for n in b.nodes for e in (*n.all_reads, *n.all_writes)):
        used[element.memory] = max(used[element.memory], element.number + 1)
    return used | ({"partials": launch.blocks} if launch.blocks > len(made) else {})


class Boundary(NamedTuple):
    """The memory between two steps of a block: the first one's writes and the second's reads."""

    before: Step
    after: Step

    def rows(self, memory: str, shape: Shape) -> list[int]:
        return sorted({shape.row(e.number) for e in self.written(memory) + self.read(memory)})

    def written(self, memory: str) -> list[Element]:
        left = ((n, e) for n in self.before.nodes.values() for e in n.all_writes)
        return [e for n, e in left if e.memory == memory and not is_remote(n, e)]

    def read(self, memory: str) -> list[Element]:
        return [e for n in self.after.nodes.values() for e in n.all_reads if e.memory == memory]

    def write_marks(self, memory: str) -> dict[int, str]:
        """Return the effects of writes by warps and bulk copies, by element."""
        copied = (to for node in self.before.nodes.values() for _, to in node.copies)
        effects = _cell_marks(self.before, memory, ("global_store", "shared_store", "atomic"))
        return {to.number: "asked" for to in copied if to.memory == memory} | effects

    def read_marks(self, memory: str) -> dict[int, str]:
        return _cell_marks(self.after, memory, ("global_load", "shared_load", "bulk_copy"))


def _cell_marks(step: Step, memory: str, events: Sequence[str]) -> dict[int, str]:
    """Return the effect of requests on elements: 'asked', 'conflict', or 'wasted' if unused."""
    effects: dict[int, str] = {}
    for request in step.requests:
        if request.memory == memory and request.event in events:
            effects |= dict.fromkeys(request.moved - effects.keys(), "wasted")
            asked = (n for n in request.elements if effects.get(n) != "conflict")
            effects |= dict.fromkeys(asked, "conflict" if request.conflicts else "asked")
    return effects


def is_remote(node: Node, element: Element) -> bool:
    return element.owner not in (-1, node.block)


def block_text(launch: Launch, block: Block, number: int, passes: int) -> str:
    in_pass = f"pass {number} of {passes}, " if passes > 1 else ""
    of_grid = "the only block" if launch.blocks == 1 else f"block {block.number}"
    return f"{in_pass}{of_grid}".capitalize()


def rung_text(name: str) -> tuple[str, str]:
    """Return a rung's title and idea; a user's own rung has only a name."""
    for method in methods():
        if method.name == name:
            return f"{method.number} {name}: {method.title}", method.idea
    return name, "a user's own rung"


def span_text(elements: range) -> str:
    """Format the elements of a row in few characters."""
    if len(elements) == 1:
        return str(elements[0])
    packed = elements.step > 1
    return f"{elements[0]}, {elements[1]}, ..." if packed else f"{elements[0]} to {elements[-1]}"


def value_text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def node_text(node: Node) -> str:
    """Describe a thread's work in a step: thread 4: array[4] + array[6] = 12."""
    if node.copies:
        elements = _count(len(node.copies), "element")
        return f"thread {node.thread}: copies {elements} to shared memory"
    operands = ["its own value"] if node.own else []
    operands += [f"thread {node.lane.thread}'s value"] if node.lane else []
    left = " + ".join([*operands, *(f"{e.memory}[{e.number}]" for e in node.reads)])
    return f"thread {node.thread}: {left} = {value_text(node.value)}" if left else "identity"


def threads_text(step: Step, block_size: int) -> str:
    warps = len({thread // WARP for thread in step.nodes})
    where = f" in {_count(warps, 'warp')}" if block_size > WARP else ""
    return f"{len(step.nodes)} of {block_size} threads{where}"


def cost_notes(step: Step) -> list[tuple[str, str]]:
    """Return texts on discarded results, shuffles and memory requests, each with its severity."""
    unused = sum(not node.useful for node in step.nodes.values())
    texts = [f"{_count(unused, 'result')} discarded"] if unused else []
    texts += [f"shuffles: {step.shuffles}"] if step.shuffles else []
    return [*([("soft", "; ".join(texts))] if texts else ()), *_request_notes(step.requests)]


def step_notes(steps: Sequence[Step], block_size: int) -> list[tuple[str, str]]:
    """Describe the first block's work in a step, for all blocks that are at that step."""
    of_each = " per block" if len(steps) > 1 else ""
    return [("head", threads_text(steps[0], block_size) + of_each), *cost_notes(steps[0])]


def picture_description(recorded: Accesses, idea: str, made: Sequence[Sequence[Block]]) -> str:
    """Return a textual description of a picture, for accessibility."""
    texts = [f"{idea[:1].upper()}{idea[1:]}."]
    for number, (launch, of_pass) in enumerate(zip(recorded.passes, made, strict=True), 1):
        where = f"Pass {number}: " if len(recorded.passes) > 1 else ""
        texts.append(f"{where}{_count(launch.blocks, 'block')} of {launch.block_size} threads.")
        longest = max((block.steps for block in of_pass), key=len, default=())
        for k, step in enumerate(longest, 1):
            notes = (text for _, text in step_notes([step], launch.block_size))
            texts.append(f"Step {k}: {'; '.join(notes)}.")
    return " ".join([*texts, f"The result is {recorded.result}."])


REQUESTS = {
    "global_load": "loads",
    "global_store": "stores",
    "shared_load": "shared loads",
    "shared_store": "shared stores",
    "atomic": "atomics",
    "bulk_copy": "bulk copies",
}


def _request_notes(requests: Sequence[Request]) -> Iterator[tuple[str, str]]:
    for event, words in REQUESTS.items():
        of_event = [r for r in requests if r.event == event]
        transfers = sum(r.transfers for r in of_event)
        conflicts = sum(r.conflicts for r in of_event)
        used = sum(r.nbytes for r in of_event) / (SECTOR_NBYTES * max(1, transfers))
        if not of_event:
            continue
        if event.startswith("shared"):
            more = f", {_count(conflicts, 'conflict')}" if conflicts else ""
            wavefronts = _count(transfers, "wavefront")
            yield "bad" if conflicts else "soft", f"{words}: {wavefronts}{more}"
        elif event == "atomic":
            yield "soft", f"{words}: {len(of_event)}"
        else:
            sectors = _count(transfers, "sector")
            yield "soft" if used >= 1 else "warning", f"{words}: {sectors}, {used:.0%} used"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
