"""The picture of a run: which thread touches which element at which step, and what that costs.

Time goes down. Strips of cells are memory, a bar on top of a cell is what the step above did to it,
a bar below what the step below does; between them are the threads, each with lines from what it
reads and to what it writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from gred.counting import WARP
from gred.recording import Accesses, Launch
from gred.records import methods
from gred.showing import (
    MEMORIES,
    Boundary,
    boundaries,
    lengths,
    nodes_of,
    shapes,
    shown,
    told_block,
    told_cells,
    told_lanes,
    told_node,
    told_requests,
    told_span,
    told_threads,
    told_value,
)
from gred.steps import Block, Element, Node, Step, blocks

_LEFT, _RIGHT, _TOP = 112, 236, 24
_WIDTH, _COLUMN_MAX, _COLUMN_MIN = 1088, 26.0, 3.0
_CELL, _GAP, _ROW, _LINE = 18, 28, 20, 14
_READABLE = 15  # columns as wide have room for text

_STYLE = """
.gred text { font-family: 'DejaVu Sans', Verdana, sans-serif; fill: #24292f; }
.gred .mono { font-family: 'DejaVu Sans Mono', Menlo, monospace; fill: #57606a; }
.gred .title { font-size: 17px; font-weight: bold; }
.gred .head { font-size: 12px; font-weight: bold; }
.gred .note, .gred .label { font-size: 10.5px; }
.gred .label, .gred .soft { fill: #57606a; }
.gred .warning { fill: #bc4c00; }
.gred .bad { fill: #c0182b; }
.gred .cell { fill: #ffffff; stroke: #d0d7de; }
.gred .held { fill: #f6f0ff; stroke: #cbb5f0; }
.gred .value { text-anchor: middle; fill: #8c959f; }
.gred .fresh { fill: #116329; font-weight: bold; }
.gred .asked { fill: #24292f; }
.gred .read { fill: #4d77cf; }
.gred .written { fill: #2da44e; }
.gred .wasted { fill: #f2a33c; }
.gred .conflict { fill: #c0182b; }
.gred line { stroke-width: 1.3; fill: none; }
.gred line.load { stroke: #4d77cf; }
.gred line.store { stroke: #2da44e; }
.gred line.clash { stroke: #c0182b; }
.gred line.own { stroke: #8c959f; stroke-dasharray: 2 2; }
.gred line.shuffle { stroke: #8250df; }
.gred line.unused { opacity: 0.22; }
.gred .active { fill: #2b4f9e; }
.gred .active.unused { fill: #ffffff; stroke: #a9bbe0; }
.gred .idle { fill: #d0d7de; }
.gred .thread { text-anchor: middle; fill: #ffffff; }
.gred .thread.unused { fill: #a9bbe0; }
.gred .rule { stroke: #d0d7de; stroke-width: 1; }
"""


def drawn(told: Accesses) -> str:
    """Draw all passes of a run, one under another, as an SVG document."""
    sheet = _Sheet(told.block_size)
    _title(sheet, told)
    for number, launch in enumerate(told.passes, 1):
        _draw_pass(sheet, launch, number, len(told.passes))
    _legend(sheet)
    return sheet.text()


# ---- the sheet ----


class _Sheet:
    """An SVG document that grows downwards; what is drawn later lies on top."""

    def __init__(self, block_size: int) -> None:
        self.column = min(_COLUMN_MAX, max(_COLUMN_MIN, _WIDTH / block_size))
        self.columns = block_size
        self.right = _LEFT + block_size * self.column
        self.y: float = _TOP
        self.kinds: set[str] = set()  # of all that was drawn
        self.root = ElementTree.Element("svg", {"class": "gred"})
        self.parent = self.root

    @property
    def is_readable(self) -> bool:
        return self.column >= _READABLE

    def x(self, column: int) -> float:
        """Tell where the middle of a column is."""
        return _LEFT + (column + 0.5) * self.column

    def group(
        self,
        kind: str,
        on: ElementTree.Element | None = None,
        data: Mapping[str, int] | None = None,
    ) -> ElementTree.Element:
        """Begin a group; what is added goes there unless it says otherwise."""
        names = {f"data-{name}": str(value) for name, value in (data or {}).items()}
        parent = self.root if on is None else on
        self.parent = ElementTree.SubElement(parent, "g", {"class": kind, **names})
        return self.parent

    def add(
        self, tag: str, kind: str, on: ElementTree.Element | None = None, **attributes: Any
    ) -> ElementTree.Element:
        self.kinds.add(kind)
        texts = {name.replace("_", "-"): _number(value) for name, value in attributes.items()}
        parent = self.parent if on is None else on
        return ElementTree.SubElement(parent, tag, {"class": kind, **texts})

    def write(self, kind: str, x: float, y: float, text: str, **attributes: Any) -> None:
        self.add("text", kind, x=x, y=y, **attributes).text = text

    def text(self) -> str:
        width, height = self.right + _RIGHT, self.y + 12
        box = {"viewBox": f"0 0 {_number(width)} {_number(height)}"}
        size = {"width": _number(width), "height": _number(height)}
        self.root.attrib.update({"xmlns": "http://www.w3.org/2000/svg", **box, **size})
        style = ElementTree.Element("style")
        style.text = _STYLE
        paper = ElementTree.Element("rect", {**size, "rx": "8", "fill": "#ffffff"})
        self.root[:0] = [style, paper]
        return ElementTree.tostring(self.root, encoding="unicode") + "\n"


def _number(value: Any) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


def _told_rung(name: str) -> tuple[str, str]:
    """Give a rung's title and its idea; one of a user's own has a name alone."""
    for method in methods():
        if method.name == name:
            return f"{method.number} {name}: {method.title}", method.idea
    return name, "a rung of one's own"


def _title(sheet: _Sheet, told: Accesses) -> None:
    title, idea = _told_rung(told.method)
    sheet.group("titles")
    sheet.write("title", 16, sheet.y + 4, title)
    sheet.write("note soft", 16, sheet.y + 24, idea)
    what = f"{told.op} of {told.size:,} {told.dtype} in blocks of {told.block_size} threads"
    sheet.write("note soft", 16, sheet.y + 40, f"{what}: {told.result}")
    sheet.y += 58


# ---- a pass ----


def _draw_pass(sheet: _Sheet, launch: Launch, number: int, passes: int) -> None:
    made = blocks(launch, shown(launch))
    memory, ends = _at_first(made), lengths(launch, made)
    for block in made:
        sheet.group("head")
        sheet.add("line", "rule", x1=16, x2=sheet.right + _RIGHT - 16, y1=sheet.y, y2=sheet.y)
        sheet.write("head", 16, sheet.y + 18, told_block(launch, block, number, passes))
        sheet.y += 30
        _Panel(sheet, launch, number, block, dict(memory), ends).draw()
    if launch.blocks > len(made):
        left_out = launch.blocks - len(made)
        sheet.group("more")
        sheet.write("note soft", 16, sheet.y, f"{left_out:,} blocks between these are not drawn")
        sheet.y += 16


def _at_first(made: Iterable[Block]) -> dict[tuple[str, int], Any]:
    """Tell what memory holds before the launch, as far as anybody reads it."""
    values: dict[tuple[str, int], Any] = {}
    for block in made:
        for step in block.steps:
            for node in step.nodes.values():
                for element in node.reads:
                    if element.memory == "array":
                        values.setdefault(element[:2], element.value)
    return values


class _Panel:
    """One block's steps."""

    def __init__(
        self,
        sheet: _Sheet,
        launch: Launch,
        number: int,
        block: Block,
        memory: dict[tuple[str, int], Any],
        ends: dict[str, int],
    ) -> None:
        self.sheet, self.launch, self.number, self.block = sheet, launch, number, block
        self.memory, self.ends = memory, ends
        self.shapes = shapes(block, sheet.columns)
        self.places: dict[tuple[str, int], float] = {}  # the bottom of a cell that was drawn last
        self.held: dict[Node, float] = {}  # the bottom of what shows a thread's register
        self.noted: float = 0  # where the last note is

    def draw(self) -> None:
        beneath = self.sheet.group("beneath")
        for number, boundary in enumerate(boundaries(self.block)):
            place = {"pass": self.number, "block": self.block.number, "step": number}
            links = self.sheet.group("links", beneath, place)
            self.sheet.group("memory", data=place)
            self._draw_memory(boundary, links)
            if boundary.after:
                self.sheet.group("threads", data=place)
                self._draw_threads(number, boundary.after, links)
        self.sheet.y += 8

    # memory

    def _draw_memory(self, boundary: Boundary, links: ElementTree.Element) -> None:
        sheet = self.sheet
        top = sheet.y
        if boundary.before and boundary.after and boundary.after.barriers:
            y = max(top + 13, self.noted + _LINE)
            sheet.write("note mono", sheet.right + 14, y, ", ".join(boundary.after.barriers))
        self._draw_registers(boundary)
        for memory in MEMORIES:
            rows = boundary.rows(memory, self.shapes[memory])
            if rows:
                self._draw_strip(memory, rows, boundary)
        self._link_writes(boundary, links)
        if sheet.y > top:
            sheet.y += _GAP - 3

    def _draw_registers(self, boundary: Boundary) -> None:
        """Show what is new in threads' registers, is used and cannot be seen in memory."""
        useful = (n for n in nodes_of(boundary.before) if n.useful and not _in_memory(n))
        alone = [n for n in useful if not n.own or n.terms > n.own.terms]
        for node in alone:
            x, y = self.sheet.x(node.thread), self.sheet.y
            self._draw_cell("cell held", x, y, node.value, "value fresh", rx=6)
            self.held[node] = y + _CELL
        if alone:
            self._label("registers")

    def _draw_strip(self, memory: str, rows: Sequence[int], boundary: Boundary) -> None:
        sheet = self.sheet
        writes = told_cells(boundary.writes(memory))
        reads = told_cells(boundary.reads(memory))
        fresh = {e.number: e for n in nodes_of(boundary.before) for e in n.writes if e[0] == memory}
        asked = {e.number: e for n in nodes_of(boundary.after) for e in n.reads if e[0] == memory}
        for element in (*fresh.values(), *asked.values()):
            self.memory[element[:2]] = element.value
        shape, end = self.shapes[memory], self.ends[memory]
        for row in rows:
            elements = shape.elements(row, end)
            for number in elements:
                x = sheet.x(shape.column(number))
                kind = "fresh" if number in fresh else "asked" if number in asked else ""
                value = self.memory.get((memory, number))
                self._draw_cell("cell", x, sheet.y, value, f"value {kind}".strip())
                self._draw_bar(x, sheet.y, writes.get(number), "written")
                self._draw_bar(x, sheet.y + _CELL - 4, reads.get(number), "read")
                self.places[memory, number] = sheet.y + _CELL
            self._label(f"{memory} {told_span(elements)}")

    def _draw_cell(self, kind: str, x: float, y: float, value: Any, how: str, **more: Any) -> None:
        width = self.sheet.column
        self.sheet.add("rect", kind, x=x - width / 2, y=y, width=width, height=_CELL, **more)
        if value is not None and self.sheet.is_readable:
            text = told_value(value)
            size = min(10.5, 1.45 * width / max(len(text), 2))
            self.sheet.write(how, x, y + _CELL / 2 + size * 0.36, text, font_size=size)

    def _draw_bar(self, x: float, y: float, told: str | None, asked: str) -> None:
        if not told:
            return
        kind = asked if told == "asked" else told
        width = self.sheet.column - (1.5 if self.sheet.is_readable else 0.4)
        self.sheet.add("rect", kind, x=x - width / 2, y=y, width=width, height=4)

    def _label(self, text: str) -> None:
        self.sheet.write("label", _LEFT - 8, self.sheet.y + 13, text, text_anchor="end")
        self.sheet.y += _CELL + 3

    # links

    def _link_writes(self, boundary: Boundary, links: ElementTree.Element) -> None:
        clashing = _clashing(boundary.before)
        for node in nodes_of(boundary.before):
            start = self.sheet.x(node.thread), self.row
            for element in node.writes:
                if element.memory in MEMORIES:
                    x, y = self._below(element)
                    kind = "store clash" if element[:2] in clashing else "store"
                    self._link(links, kind, node, start, (x, y - _CELL), element)

    def _below(self, element: Element) -> tuple[float, float]:
        """Tell where the cell ends that shows an element."""
        column = self.shapes[element.memory].column(element.number)
        return self.sheet.x(column), self.places[element[:2]]

    def _link(
        self,
        links: ElementTree.Element,
        kind: str,
        node: Node,
        start: tuple[float, float],
        end: tuple[float, float],
        element: Element | None = None,
    ) -> None:
        names: dict[str, Any] = {"data_thread": node.thread}
        if element:
            names |= {"data_memory": element.memory, "data_element": element.number}
        faint = "" if node.useful else " unused"
        ends = {"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1]}
        self.sheet.add("line", kind + faint, links, **ends, **names)

    # threads

    def _draw_threads(self, number: int, step: Step, links: ElementTree.Element) -> None:
        sheet = self.sheet
        self.row = y = sheet.y + _ROW / 2
        sheet.write("head", _LEFT - 8, y + 4, f"step {number + 1}", text_anchor="end")
        clashing = _clashing(step)
        for warp in range(WARP, self.launch.block_size, WARP):
            x = sheet.x(warp) - sheet.column / 2
            sheet.add("line", "rule", x1=x, x2=x, y1=y - _ROW / 2, y2=y + _ROW / 2)
        for thread in range(self.launch.block_size):
            node = step.nodes.get(thread)
            if node:
                self._link_reads(node, y, clashing, links)
                self._draw_thread(node, y)
            else:
                sheet.add("circle", "idle", cx=sheet.x(thread), cy=y, r=min(2.5, sheet.column / 3))
        self._draw_notes(step, y)
        sheet.y += _ROW + _GAP - 6

    def _link_reads(
        self, node: Node, y: float, clashing: set[tuple[str, int]], links: ElementTree.Element
    ) -> None:
        sheet = self.sheet
        end = sheet.x(node.thread), y
        for element in node.reads:
            kind = "load clash" if element[:2] in clashing else "load"
            self._link(links, kind, node, self._below(element), end, element)
        for kind, source in (("own", node.own), ("shuffle", node.lane)):
            if source and source.terms:
                start = sheet.x(source.thread), self.held[source]
                self._link(links, kind, node, start, end)

    def _draw_thread(self, node: Node, y: float) -> None:
        sheet = self.sheet
        faint = "" if node.useful else " unused"
        x, radius = sheet.x(node.thread), min(_ROW / 2, sheet.column * 0.42)
        circle = sheet.add(
            "circle", "active" + faint, cx=x, cy=y, r=radius, data_thread=node.thread
        )
        ElementTree.SubElement(circle, "title").text = told_node(node)
        if sheet.is_readable:
            size = min(10.0, 1.25 * radius * 2 / max(2, len(str(node.thread))))
            sheet.write("thread" + faint, x, y + size * 0.36, str(node.thread), font_size=size)
        self.held[node] = y + radius

    def _draw_notes(self, step: Step, y: float) -> None:
        sheet = self.sheet
        notes = [("head", told_threads(step, self.launch.block_size))]
        notes += told_lanes(step) + told_requests(step.requests)
        for line, (kind, text) in enumerate(notes):
            self.noted = y - 4 + _LINE * line
            sheet.write(f"note {kind}", sheet.right + 14, self.noted, text)


def _clashing(step: Step | None) -> set[tuple[str, int]]:
    """List the elements at which lanes meet in a bank."""
    requests = step.requests if step else []
    return {(r.memory, number) for r in requests if r.conflicts for number in r.elements}


def _in_memory(node: Node) -> bool:
    return any(element.memory in MEMORIES for element in node.writes)


# ---- the legend ----


def _legend(sheet: _Sheet) -> None:
    sheet.group("legend")
    entries: tuple[tuple[str, str, str], ...] = (
        ("circle", "active", "a thread that works"),
        ("circle", "active unused", "works in vain"),
        ("circle", "idle", "idle"),
        ("line", "load", "reads"),
        ("line", "store", "writes"),
        ("line", "own", "its own register"),
        ("line", "shuffle", "a shuffle"),
        ("rect", "wasted", "moved, unused"),
        ("rect", "conflict", "bank conflict"),
    )
    x, y = 20.0, sheet.y + 8
    for tag, kind, text in (entry for entry in entries if entry[1] in sheet.kinds):
        if tag == "circle":
            sheet.add(tag, kind, cx=x + 6, cy=y, r=2.5 if kind == "idle" else 6)
        elif tag == "line":
            sheet.add(tag, kind, x1=x - 2, y1=y, x2=x + 14, y2=y)
        else:
            sheet.add(tag, kind, x=x, y=y - 2, width=13, height=4)
        sheet.write("note soft", x + 19, y + 4, text)
        x += 32 + 6.1 * len(text)
    sheet.y += 20
