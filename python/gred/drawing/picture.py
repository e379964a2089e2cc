"""The picture of a run: which thread accesses which element in which step, and the cost.

Time runs downwards. Strips of cells are memory; a bar at the top of a cell is a write by the step
above, a bar at the bottom a read by the step below. Between the strips are the threads, with lines
from the elements they read and to those they write.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

from gred.counting import WARP
from gred.drawing import showing
from gred.drawing.sheet import READABLE, WIDTH, Sheet
from gred.drawing.showing import Boundary, is_remote
from gred.drawing.steps import (
    ACROSS_BLOCKS,
    BANKS,
    NO_STEP,
    Block,
    Element,
    Node,
    Request,
    Step,
    blocks,
)
from gred.recording import Accesses, Launch

_LEFT, _RIGHT = 142, 276
_CELL, _FLAT, _GAP, _ROW, _LINE = 18, 6, 28, 20, 14
_LEGEND = {
    ("circle", "active"): "an active thread",
    ("circle", "active unused"): "its result is discarded",
    ("circle", "idle"): "idle",
    ("line", "line load"): "reads",
    ("line", "line store"): "writes",
    ("line", "line copy"): "a bulk copy",
    ("line", "line own"): "its own register",
    ("line", "line shuffle"): "a shuffle",
    ("rect", "wasted"): "moved, not used",
    ("rect", "conflict"): "bank conflict",
}
_Memory = dict[tuple[str, int, int], Any]  # values of elements
_ROWS = 8  # more rows of one memory are drawn flat, without values


def draw_accesses(run: Accesses, *, small: bool = False) -> str:
    """Draw all passes as an SVG document; a small one has no data attributes and tooltips."""
    made = [blocks(launch, showing.drawn_blocks(launch)) for launch in run.passes]
    title, idea = showing.rung_text(run.method)
    sheet = Sheet(title, showing.picture_description(run, idea, made))
    what = f"{run.op} of {run.size:,} {run.dtype} in blocks of {run.block_size} threads"
    sheet.head(title, idea, f"{what}: {run.result}")
    steps = made[0][0].steps if run.passes else ()
    conflicts = any(request.conflicts for step in steps for request in step.requests)
    if conflicts and run.block_size * READABLE > WIDTH:
        return sheet.text(_draw_banks(sheet, run.passes[0], steps), small=small)
    sheet.divide(_LEFT, max(map(_columns, run.passes, made), default=run.block_size))
    for number, of_pass in enumerate(made):
        _draw_pass(sheet, run, number, of_pass)
    sheet.legend(_LEGEND)
    return sheet.text(sheet.right + _RIGHT, small=small)


def _columns(launch: Launch, made: Sequence[Block]) -> int:
    """Return the number of columns of a pass, with a free column between blocks."""
    beside = (launch.block_size + 1) * len(made) - 1
    return beside if beside * READABLE <= WIDTH else launch.block_size


def _draw_pass(sheet: Sheet, run: Accesses, number: int, made: Sequence[Block]) -> None:
    launch = run.passes[number]
    memory: _Memory = {}
    for element in (e for block in made for node in block.nodes for e in node.all_reads):
        if element.memory == "array":
            memory.setdefault(element.cell, element.value)  # initial values
    are_beside = _columns(launch, made) > launch.block_size
    for together in [made] if are_beside else [[block] for block in made]:
        sheet.group("head")
        sheet.add("line", "rule", x1=16, x2=sheet.right + _RIGHT - 16, y1=sheet.y, y2=sheet.y)
        for k, block in enumerate(together):
            x = 16 if k == 0 else sheet.x(k * (launch.block_size + 1)) - sheet.column / 2
            text = showing.block_text(launch, block, number + 1, len(run.passes))
            sheet.write("head", x, sheet.y + 18, text)
        sheet.y += 30
        _Panel(sheet, launch, number + 1, together, memory).draw(showing.lengths(launch, made))
    if left_out := launch.blocks - len(made):
        sheet.group("more")
        sheet.write("note soft", 16, sheet.y, f"{left_out:,} blocks between these are not drawn")
        sheet.y += 16


class _Track:
    """A block's columns, and the last positions of its cells and registers."""

    links: ElementTree.Element  # current group of lines
    place: dict[str, int]  # current pass, block and step

    def __init__(self, launch: Launch, block: Block, left: int) -> None:
        self.block, self.left = block, left
        self.boundaries = [Boundary(*pair) for pair in pairwise((NO_STEP, *block.steps, NO_STEP))]
        self.shapes = showing.shapes(block, launch.block_size)
        self.cells: dict[tuple[str, int, int], tuple[float, float]] = {}  # tops and bottoms
        self.held: dict[Node, float] = {}  # bottoms of the threads' registers


class _Panel:
    """The steps of blocks that are drawn side by side."""

    def __init__(
        self, sheet: Sheet, launch: Launch, number: int, together: Sequence[Block], memory: _Memory
    ) -> None:
        self.sheet, self.launch, self.number, self.memory = sheet, launch, number, memory
        wide = launch.block_size + 1
        self.tracks = [_Track(launch, block, k * wide) for k, block in enumerate(together)]
        self.arrived: list[Element] = []  # stores by other blocks of a cluster
        self.labelled: set[float] = set()  # heights with a label of memory
        self.noted: float = 0  # height of the last note
        self.row: float = 0  # height of the last row of threads

    def draw(self, ends: dict[str, int]) -> None:
        self.ends, self.beneath = ends, self.sheet.group("beneath")
        skipped: list[int] = []
        left = 0
        for number in range(max(len(track.boundaries) for track in self.tracks)):
            here = [(t, t.boundaries[number]) for t in self.tracks if number < len(t.boundaries)]
            steps = [boundary.after for _, boundary in here if boundary.after.nodes]
            if steps and all(node.is_noop for step in steps for node in step.useful):
                skipped.append(number + 1)
                left = min(track.left for track, _ in here)
                for track, boundary in here:  # registers keep their positions
                    nodes = [n for n in boundary.after.nodes.values() if n.own in track.held]
                    track.held |= {node: track.held[node.own] for node in nodes if node.own}
                continue
            if skipped:
                self.sheet.group("skipped")
                many = f"steps {skipped[0]} to {skipped[-1]}"
                which = many if len(skipped) > 1 else f"step {skipped[0]}"
                self.sheet.write("head label", _LEFT - 8, self.sheet.y + 8, which)
                text, x = "merge only the identity: no value changes", left + 2
                self.sheet.write("note soft", self.sheet.x(x) - 4, self.sheet.y + 8, text)
                self.sheet.y += _ROW + 4
            self._draw_boundary(number, here)
            skipped = []
        self.sheet.y += 8

    def _draw_boundary(self, number: int, here: list[tuple[_Track, Boundary]]) -> None:
        sheet = self.sheet
        top = bottom = sheet.y
        before = [node for _, boundary in here for node in boundary.before.nodes.values()]
        self.arrived = [e for n in before for e in n.writes if is_remote(n, e)]
        for track, boundary in here:
            sheet.y = top
            track.place = {"pass": self.number, "block": track.block.number, "step": number}
            track.links = sheet.group("links", self.beneath, track.place)
            sheet.group("memory", data=track.place)
            self._draw_registers(track, boundary)
            for memory in showing.MEMORIES:
                if boundary.rows(memory, track.shapes[memory]):
                    self._draw_strips(track, memory, boundary)
            self._link_writes(track, boundary)
            sheet.y += _GAP - 3 if sheet.y > top else 0
            bottom = max(bottom, sheet.y)
        sheet.y = bottom
        self._draw_barriers([boundary for _, boundary in here], top)
        working = [(track, boundary.after) for track, boundary in here if boundary.after.nodes]
        if not working:
            return
        self.row = sheet.y + _ROW / 2
        for track, step in working:
            sheet.group("threads", data=track.place)
            self._draw_threads(track, step)
        sheet.write("head label", _LEFT - 8, self.row + 4, f"step {number + 1}")
        notes = showing.step_notes([step for _, step in working], self.launch.block_size)
        for line, (kind, text) in enumerate(notes):
            self.noted = self.row - 4 + _LINE * line
            sheet.write(f"note {kind}", self.sheet.right + 14, self.noted, text)
        sheet.y += _ROW + _GAP - 6

    def _draw_barriers(self, here: Sequence[Boundary], top: float) -> None:
        names = [b.after.barriers for b in here if b.after.nodes and b.before.nodes]
        if not names or not names[0]:
            return
        sheet = self.sheet
        y = max(top + 13, self.noted + _LINE)
        sheet.write("note mono", self.sheet.right + 14, y, ", ".join(names[0]))
        self.noted = y
        if set(names[0]) & set(ACROSS_BLOCKS):
            y = sheet.y - (_GAP - 3) / 2
            sheet.add("line", "barrier", x1=_LEFT, x2=self.sheet.right, y1=y, y2=y)
            sheet.write("label", _LEFT - 8, y + 4, next(n for n in names[0] if n in ACROSS_BLOCKS))

    def _draw_registers(self, track: _Track, boundary: Boundary) -> None:
        """Draw new register values that are used, and not stored in memory."""
        useful = (n for n in boundary.before.useful if not n.all_writes)
        alone = [n for n in useful if not n.own or n.terms > n.own.terms]
        size = self._size(node.value for node in alone)
        for node in alone:
            x, y = self.sheet.x(track.left + node.thread), self.sheet.y
            self._draw_cell("held", x, y, _CELL, "value fresh", node.value, size)
            track.held[node] = y + _CELL
        if alone:
            self._label("registers")
            self.sheet.y += _CELL + 3

    def _draw_strips(self, track: _Track, memory: str, boundary: Boundary) -> None:
        sheet, shape = self.sheet, track.shapes[memory]
        owner = track.block.number if memory == "shared" else -1
        arrived = [e for e in self.arrived if (e.memory, e.owner) == (memory, owner)]
        written = {e.number: e for e in (*boundary.written(memory), *arrived)}
        read = {e.number: e for e in boundary.read(memory)}
        unused = [node for node in boundary.before.nodes.values() if not node.useful]
        discarded = {element.cell for node in unused for element in node.writes}
        for element in (*written.values(), *read.values()):
            self.memory[element.cell] = None if element.cell in discarded else element.value
        writes = dict.fromkeys((e.number for e in arrived), "asked") | boundary.write_marks(memory)
        bars = (writes, "written"), (boundary.read_marks(memory), "read")
        wide = self.sheet.column - (1.5 if self.sheet.is_readable else 0.4)
        rows = boundary.rows(memory, shape)
        height = _CELL if len(rows) <= _ROWS else _FLAT
        for row in rows:
            elements = shape.elements(row, self.ends[memory])
            if row == rows[0] or (height == _CELL and len(self.tracks) == 1):
                self._label(f"{memory} {showing.span_text(elements)}")
            values = {n: self.memory.get((memory, n, owner)) for n in elements}
            size = self._size(values.values())
            for number, value in values.items():
                x, y = self.sheet.x(track.left + shape.column(number)), sheet.y
                kind = " fresh" if number in written else " asked" if number in read else ""
                self._draw_cell("cell", x, y, height, f"value{kind}", value, size)
                for (effects, asked), at in zip(bars, (y, y + height - 4), strict=True):
                    if bar := effects.get(number):
                        bar = asked if bar == "asked" else bar
                        sheet.add("rect", bar, x=x - wide / 2, y=at, width=wide, height=4)
                track.cells[memory, number, owner] = y, y + height
            sheet.y += height + (3 if height == _CELL or row == rows[-1] else 0)
        if memory == "tickets":
            (atomic,) = written.values()
            ticket = (atomic.value or self.launch.blocks) - 1
            last = "" if atomic.value else ": the last block"
            text = "arrives" if atomic.value is None else f"takes ticket {ticket}{last}"
            sheet.write("note soft", self.sheet.x(track.left + 2), sheet.y - _CELL + 10, text)

    def _draw_cell(
        self, kind: str, x: float, y: float, height: float, how: str, value: Any, size: float
    ) -> None:
        width, flat = self.sheet.column, "" if height == _CELL else " flat"
        self.sheet.add("rect", kind + flat, x=x - width / 2, y=y, width=width, height=height)
        if value is not None and self.sheet.is_readable and not flat:
            at = y + _CELL / 2 + size * 0.36
            self.sheet.write(how, x, at, showing.value_text(value), font_size=size)

    def _size(self, values: Iterable[Any]) -> float:
        """Return a font size with which the longest of a row's values fits into its cell."""
        longest = max((len(showing.value_text(v)) for v in values if v is not None), default=0)
        return min(10.5, 1.45 * self.sheet.column / max(longest, 2))

    def _label(self, text: str) -> None:
        text = text if len(self.tracks) == 1 else text.split()[0]
        if self.sheet.y not in self.labelled:
            self.labelled.add(self.sheet.y)
            self.sheet.write("label", _LEFT - 8, self.sheet.y + 13, text)

    def _link_writes(self, track: _Track, boundary: Boundary) -> None:
        clashing = _clashing(boundary.before)
        for node in boundary.before.useful:
            start = self.sheet.x(track.left + node.thread), self.row
            for element in node.writes:  # to memory of its own or another block of the cluster
                of_block = (t for t in self.tracks if t.block.number == element.owner)
                owner = next(of_block, track)
                if element.cell in owner.cells:
                    end = self._column(owner, element), owner.cells[element.cell][0]
                    kind = "line store clash" if element.cell[:2] in clashing else "line store"
                    self._link(track, kind, node, (*start, *end), element)
        for node in boundary.before.nodes.values():  # columns that bulk copies read and write
            for x, y, element in self._lowest(track, [at for at, _ in node.copies]):
                top = min(track.cells[to.cell][0] for _, to in node.copies)
                self._link(track, "line copy", node, (x, y, x, top), element)

    def _column(self, track: _Track, element: Element) -> float:
        return self.sheet.x(track.left + track.shapes[element.memory].column(element.number))

    def _lowest(
        self, track: _Track, elements: Iterable[Element]
    ) -> list[tuple[float, float, Element]]:
        """Select, in each column, the element that is drawn lowest."""
        lowest: dict[tuple[str, float], tuple[float, Element]] = {}
        for element in elements:
            at = element.memory, self._column(track, element)
            bottom = track.cells[element.cell][1]
            if at not in lowest or bottom > lowest[at][0]:
                lowest[at] = bottom, element
        return [(x, y, element) for (_, x), (y, element) in lowest.items()]

    def _link(
        self, track: _Track, kind: str, node: Node, ends: Any, element: Element | None = None
    ) -> None:
        data: dict[str, Any] = dict(zip(("x1", "y1", "x2", "y2"), ends, strict=True))
        data["data_thread"] = node.thread
        if element:
            data |= {"data_memory": element.memory, "data_element": element.number}
        self.sheet.add("line", kind, track.links, **data)

    def _draw_threads(self, track: _Track, step: Step) -> None:
        sheet, y = self.sheet, self.row
        clashing = _clashing(step)
        for warp in range(WARP, self.launch.block_size, WARP):
            x = sheet.x(track.left + warp) - sheet.column / 2
            sheet.add("line", "rule", x1=x, x2=x, y1=y - _ROW / 2, y2=y + _ROW / 2)
        for thread in range(self.launch.block_size):
            node = step.nodes.get(thread)
            if node:
                if node.useful:
                    self._link_reads(track, node, clashing)
                x, radius = sheet.x(track.left + thread), min(_ROW / 2, sheet.column * 0.42)
                kind = "active" if node.useful else "active unused"
                places: dict[str, Any] = {"cx": x, "cy": y, "r": radius, "data_thread": thread}
                circle = sheet.add("circle", kind, **places)
                ElementTree.SubElement(circle, "title").text = showing.node_text(node)
                if sheet.is_readable and node.useful:
                    size = min(10.0, 1.25 * radius * 2 / max(2, len(str(thread))))
                    sheet.write("thread", x, y + size * 0.36, str(thread), font_size=size)
                track.held[node] = y + radius
            else:
                radius = min(2.5, sheet.column / 3)
                sheet.add("circle", "idle", cx=sheet.x(track.left + thread), cy=y, r=radius)

    def _link_reads(self, track: _Track, node: Node, clashing: set[tuple[str, int]]) -> None:
        end = self.sheet.x(track.left + node.thread), self.row
        for x, y, element in self._lowest(track, node.reads):
            kind = "line load clash" if element.cell[:2] in clashing else "line load"
            self._link(track, kind, node, (x, y, *end), element)
        for kind, source in (("own", node.own), ("shuffle", node.lane)):
            if source and source.terms:
                start = self.sheet.x(track.left + source.thread), track.held[source]
                self._link(track, f"line {kind}", node, (*start, *end))


def _clashing(step: Step) -> set[tuple[str, int]]:
    return {(r.memory, number) for r in step.requests if r.conflicts for number in r.elements}


# ---- bank conflicts: lanes of a warp, stacked by the bank of shared memory they access ----

_EDGE, _COLUMN, _CHIP = 100, 26, 17
_INTRODUCTION = (
    "Shared memory has 32 banks, and each serves one 4-byte word at a time. "
    "One warp's request of every step is shown:",
    "its threads are at the banks that they access, and each row is a wavefront.",
)
_BANKS_LEGEND = {
    ("rect", "read"): "a thread without a conflict",
    ("rect", "conflict"): "threads with different words in one bank, which are serialized",
}


def _draw_banks(sheet: Sheet, launch: Launch, steps: Sequence[Step]) -> float:
    """Draw each step's most expensive request to shared memory; return the width."""
    right = _EDGE + BANKS * _COLUMN
    sheet.group("introduction")
    for text in _INTRODUCTION:
        sheet.write("note", 16, sheet.y + 6, text)
        sheet.y += _LINE
    sheet.y += 6
    for number, step in enumerate(steps, 1):
        shared = [r for r in step.requests if r.memory == "shared"]
        if shared:
            sheet.group("step", data={"step": number})
            costly = max(shared, key=lambda r: (r.transfers, -min(r.words.values())))
            _draw_request(sheet, launch, number, step, costly)
    sheet.group("banks")
    sheet.write("label", _EDGE - 8, sheet.y + 4, "bank")
    for bank in range(BANKS):
        sheet.write("note soft middle", _EDGE + (bank + 0.5) * _COLUMN, sheet.y + 4, str(bank))
    sheet.y += 20
    sheet.legend(_BANKS_LEGEND)
    return right + _RIGHT


def _draw_request(sheet: Sheet, launch: Launch, number: int, step: Step, request: Request) -> None:
    # For each bank, the threads that access different words; for each word, the first thread.
    stacks: dict[int, list[int]] = {}
    words = {request.words[thread]: thread for thread in sorted(request.words, reverse=True)}
    for word, thread in sorted(words.items(), key=lambda pair: pair[1]):
        stacks.setdefault(word % BANKS, []).append(thread)
    rows = max(map(len, stacks.values()))
    notes = showing.step_notes([step], launch.block_size)
    right, bottom = _EDGE + BANKS * _COLUMN, sheet.y + rows * _CHIP
    for row in range(rows):
        for bank in range(BANKS):
            y = bottom - (row + 1) * _CHIP
            sheet.add("rect", "cell", x=_EDGE + bank * _COLUMN, y=y, width=_COLUMN, height=_CHIP)
    for bank, threads in stacks.items():
        for row, thread in enumerate(threads):
            x, y = _EDGE + bank * _COLUMN, bottom - (row + 1) * _CHIP
            kind = "conflict" if len(threads) > 1 else "read"
            sheet.add("rect", kind, x=x + 1, y=y + 1, width=_COLUMN - 2, height=_CHIP - 2)
            text = str(thread)
            sheet.write("thread chip", x + _COLUMN / 2, y + _CHIP / 2 + 3.6, text, font_size=10)
    what = "load" if request.event == "shared_load" else "store"
    warp = min(request.words) // WARP
    sheet.write("head label", _EDGE - 8, sheet.y + 11, f"step {number}")
    sheet.write("label", _EDGE - 8, sheet.y + 11 + _LINE, f"warp {warp}'s {what}")
    for line, (kind, text) in enumerate(notes):
        sheet.write(f"note {kind}", right + 14, sheet.y + 11 + _LINE * line, text)
    sheet.y = max(bottom, sheet.y + _LINE * max(2, len(notes))) + 14
