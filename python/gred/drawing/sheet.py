"""An SVG document that grows downwards, with colors for light and dark schemes.

Shapes are kept separate, with data attributes and tooltips; or, for files, all shapes of a kind in
a group are merged into one path, which looks the same and takes a fraction of the bytes.
"""

from collections.abc import Iterable, Mapping
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

# Widths: of all columns, of one column at most and at least, and the least that has room for text.
WIDTH, _COLUMN_MAX, _COLUMN_MIN, READABLE = 1088, 26, 3, 15

# Colors of the light and the dark scheme.
_COLOURS = {
    "paper": ("#ffffff", "#0d1117"),
    "ink": ("#24292f", "#e6edf3"),
    "soft": ("#57606a", "#9198a1"),
    "faint": ("#8c959f", "#7d8590"),
    "rule": ("#d0d7de", "#3d444d"),
    "held": ("#f6f0ff", "#271f3a"),
    "held_rim": ("#cbb5f0", "#6e4fb0"),
    "fresh": ("#116329", "#56d364"),
    "warning": ("#bc4c00", "#f0883e"),
    "bad": ("#c0182b", "#ff7b72"),
    "read": ("#4d77cf", "#6ea0ff"),
    "written": ("#2da44e", "#3fb950"),
    "wasted": ("#f2a33c", "#d29922"),
    "shuffle": ("#8250df", "#b48cf7"),
    "copy": ("#1b7c83", "#39c5cf"),
    "active": ("#2b4f9e", "#3d6fd6"),
    "unused": ("#a9bbe0", "#4a5f8f"),
    "on_active": ("#ffffff", "#ffffff"),
}

_SHAPES = """
.gred text { font-family: 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif; }
.gred .mono { font-family: ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; }
.gred .title { font-size: 17px; font-weight: bold; }
.gred .head { font-size: 12px; font-weight: bold; }
.gred .fact { font-size: 13px; }
.gred .note, .gred .label { font-size: 10.5px; }
.gred .value, .gred .thread, .gred .middle { text-anchor: middle; }
.gred .label { text-anchor: end; }
.gred .fresh { font-weight: bold; }
.gred .line { stroke-width: 1.3; fill: none; }
.gred .own { stroke-dasharray: 2 2; }
.gred .rule { stroke-width: 1; fill: none; }
.gred .barrier { stroke-width: 2; stroke-dasharray: 8 4; fill: none; }
.gred path.dot { stroke-linecap: round; fill: none; }
"""

# class=color, if the names differ: fills of texts and areas, and strokes of lines.
_FILLS = """
paper label=soft soft mono=soft warning bad cell=paper held value=faint fresh asked=ink
read written wasted conflict=bad active active.unused=paper idle=rule thread=on_active
chip=paper
"""
_STROKES = """
cell=rule held=held_rim load=read store=written clash=bad own=faint shuffle copy
active.unused=unused rule barrier=bad dot.active=active dot.idle=rule dot.rim=unused
dot.hole=paper
"""


def _colours(scheme: int) -> str:
    rules = [f".gred text {{ fill: {_COLOURS['ink'][scheme]}; }}"]
    for what, coloured in (("fill", _FILLS), ("stroke", _STROKES)):
        for kind, _, name in (entry.partition("=") for entry in coloured.split()):
            rules.append(f".gred .{kind} {{ {what}: {_COLOURS[name or kind][scheme]}; }}")
    return "\n".join(rules)


_STYLE = f"""{_SHAPES}{_colours(0)}
@media (prefers-color-scheme: dark) {{
{_colours(1)}
}}
"""


def number(value: Any) -> str:
    """Format a coordinate, or any other value, in few characters."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


class Sheet:
    """An SVG document; later shapes are on top. It may have columns, one per thread."""

    left = right = column = 0.0  # ends of the columns, and the width of one

    def __init__(self, title: str, description: str) -> None:
        self.title, self.description = title, description
        self.y: float = 0
        self.kinds: set[str] = set()  # classes of all shapes
        self.parent = self.root = Element("svg", {"class": "gred", "role": "img"})

    def divide(self, left: float, columns: int) -> None:
        self.left = left
        self.column = min(_COLUMN_MAX, max(_COLUMN_MIN, WIDTH // columns // 2 * 2))
        self.right = left + columns * self.column

    @property
    def is_readable(self) -> bool:
        return self.column >= READABLE

    def x(self, column: int) -> float:
        return self.left + (column + 0.5) * self.column

    def group(
        self, kind: str, on: Element | None = None, data: Mapping[str, int] | None = None
    ) -> Element:
        """Begin a group, to which shapes are added by default."""
        names = {f"data-{name}": str(value) for name, value in (data or {}).items()}
        parent = self.root if on is None else on
        self.parent = SubElement(parent, "g", {"class": kind, **names})
        return self.parent

    def add(self, tag: str, kind: str, on: Element | None = None, **attributes: Any) -> Element:
        self.kinds.add(kind)
        texts = {name.replace("_", "-"): number(value) for name, value in attributes.items()}
        parent = self.parent if on is None else on
        return SubElement(parent, tag, {"class": kind, **texts})

    def write(self, kind: str, x: float, y: float, text: str, **attributes: Any) -> None:
        self.add("text", kind, x=x, y=y, **attributes).text = text

    def head(self, title: str, *lines: str) -> None:
        self.group("titles")
        self.write("title", 16, 28, title)
        for k, line in enumerate(lines):
            self.write("note soft", 16, 48 + 16 * k, line)
        self.y = 50 + 16 * len(lines)

    def legend(self, entries: Mapping[tuple[str, str], str]) -> None:
        self.group("legend")
        x, y = 20.0, self.y + 8
        for (tag, kind), text in entries.items():
            if kind not in self.kinds:
                continue
            shape: dict[str, Any] = {"x": x, "y": y - 3, "width": 13, "height": 6}
            if tag == "circle":
                shape = {"cx": x + 6, "cy": y, "r": 2.5 if kind == "idle" else 6}
            elif tag == "line":
                shape = {"x1": x - 2, "y1": y, "x2": x + 14, "y2": y}
            self.add(tag, kind, **shape)
            self.write("note soft", x + 19, y + 4, text)
            x += 32 + 6.1 * len(text)
        self.y += 20

    def text(self, width: float, *, small: bool) -> str:
        """Return the document; a small one has all shapes of a kind in one path."""
        size = {"width": number(width), "height": number(self.y + 12)}
        box = {"viewBox": f"0 0 {size['width']} {size['height']}"}
        self.root.attrib.update({"xmlns": "http://www.w3.org/2000/svg", **box, **size})
        if small:
            for group in self.root:
                _merge_shapes(group)
        self.root.insert(0, Element("rect", {"class": "paper", **size, "rx": "8"}))
        for tag, text in (("style", _STYLE), ("desc", self.description), ("title", self.title)):
            self.root.insert(0, Element(tag))
            self.root[0].text = text
        return tostring(self.root, encoding="unicode") + "\n"


# ---- merging shapes of a kind into one path ----


def _merge_shapes(group: Element) -> None:
    group.attrib = {name: text for name, text in group.attrib.items() if name == "class"}
    drawn: dict[tuple[str, str, str], list[Element]] = {}
    for element in list(group):
        if element.tag == "g":
            _merge_shapes(element)
            continue
        group.remove(element)
        how = element.get("r", "") if element.tag == "circle" else ""
        drawn.setdefault((element.tag, element.get("class", ""), how), []).append(element)
    for tag, kind, how in sorted(drawn, key=lambda key: key[0] == "text"):
        group.extend(_MERGERS[tag](kind, drawn[tag, kind, how]))


def _path(kind: str, steps: Iterable[str], **more: str) -> Element:
    return Element("path", {"class": kind, "d": "".join(steps), **more})


def _numbers(one: Element, *names: str) -> list[float]:
    return [float(one.get(name, 0)) for name in names]


def _lines(kind: str, ones: list[Element]) -> list[Element]:
    steps: dict[str, None] = {}
    for one in ones:
        x1, y1, x2, y2 = _numbers(one, "x1", "y1", "x2", "y2")
        to = f"l{number(x2 - x1)} {number(y2 - y1)}"
        if x1 == x2 or y1 == y2:
            to = f"v{number(y2 - y1)}" if x1 == x2 else f"h{number(x2 - x1)}"
        steps[f"M{number(x1)} {number(y1)}{to}"] = None
    return [_path(kind, steps)]


def _rectangles(kind: str, ones: list[Element]) -> list[Element]:
    """Merge adjacent rectangles of equal height, keeping lines between those with an outline."""
    boxes = [_numbers(one, "x", "y", "width", "height") for one in ones]
    steps = []
    while boxes:
        run = [boxes.pop(0)]
        while boxes and boxes[0][1] == run[0][1] and abs(boxes[0][0] - sum(run[-1][::2])) < 2:
            run.append(boxes.pop(0))
        (x, y, _, height), right = run[0], run[-1][0] + run[-1][2]
        wide, tall = number(right - x), number(height)
        steps.append(f"M{number(x)} {number(y)}h{wide}v{tall}h-{wide}z")
        if kind in ("cell", "held"):
            steps.append(f"M{number(x)} {number(y + height)}")
            steps += [f"m{number(b[0] - a[0])}-{tall}v{tall}" for a, b in pairwise(run)]
    return [_path(kind, steps)]


def _circles(kind: str, ones: list[Element]) -> list[Element]:
    diameter = 2 * float(ones[0].get("r", 0))
    steps: list[str] = []
    for y, row in groupby(ones, key=lambda one: one.get("cy", "0")):
        places = [float(one.get("cx", 0)) for one in row]
        steps.append(f"M{number(places[0])} {y}h0")
        steps += [f"m{number(b - a)} 0h0" for a, b in pairwise(places)]
    unused = {"rim": diameter + 1, "hole": diameter - 1}
    widths = unused if "unused" in kind else {kind: diameter}
    return [_path(f"dot {k}", steps, **{"stroke-width": number(w)}) for k, w in widths.items()]


def _texts(kind: str, ones: list[Element]) -> list[Element]:
    """Merge texts at one height, and single characters into one text."""
    written = []
    how = [(one.get("y", ""), one.get("font-size", ""), len(one.text or "") == 1) for one in ones]
    for (y, size, single), row in groupby(zip(how, ones, strict=True), key=itemgetter(0)):
        sized = {"font-size": size} if size else {}
        line = Element("text", {"class": kind, "y": y, **sized})
        texts = [one for _, one in row]
        if single or len(texts) == 1:
            line.set("x", " ".join(one.get("x", "") for one in texts))
            line.text = "".join(one.text or "" for one in texts)
        else:
            for one in texts:
                SubElement(line, "tspan", {"x": one.get("x", "")}).text = one.text
        written.append(line)
    return written


_MERGERS = {"line": _lines, "rect": _rectangles, "circle": _circles, "text": _texts}
