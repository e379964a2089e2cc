"""A rung's picture, and the output of `python -m gred show`, match the rung's run."""

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from inputs import every_rung

import gred
from gred.cli import console as consoles
from gred.drawing.picture import draw_accesses

KEPT = Path(__file__).parents[2] / "docs/pictures"
METHODS = {m.name: m for m in gred.methods() if m.number is not None}
SVG = "{http://www.w3.org/2000/svg}"


class Picture:
    def __init__(self, rung, n=32, block=32, x=None):
        x = np.arange(1, n + 1, dtype=np.int64) if x is None else x
        self.told = gred.accesses(x, method=rung, block_size=block, dtype=x.dtype)
        self.root = ElementTree.fromstring(draw_accesses(self.told))

    def of(self, tag, *kinds, step=None, block=0):
        """List the elements with all these classes, at this step of the first pass if given."""
        place = {"data-pass": "1", "data-block": str(block), "data-step": str(step)}
        groups = self.root.iter(f"{SVG}g")
        groups = (g for g in groups if step is None or place.items() <= g.attrib.items())
        found = [one for group in groups for one in group.findall(f"{SVG}{tag}")]
        return [one for one in found if set(kinds) <= set(one.get("class").split())]

    def count(self, tag, *kinds, **place):
        return len(self.of(tag, *kinds, **place))

    def texts(self, *kinds, **place):
        return [one.text for one in self.of("text", *kinds, **place)]


def test_lines_end_where_the_elements_are_and_values_are_numpys_partial_sums():
    """Each level has half as many threads, with two lines into and one out of each; others idle."""
    x = np.random.default_rng(1).integers(1, 100, 32)
    near, far = Picture("neighbored", x=x), Picture("interleaved", x=x)
    for level in range(5):
        stride, read = 2**level, {}
        for line in near.of("line", "load", step=level):
            assert line.get("data-memory") == "array"
            thread, element = int(line.get("data-thread")), int(line.get("data-element"))
            read.setdefault(thread, set()).add(element)
            columns = (float(line.get("x1")) - float(line.get("x2"))) / 26
            assert columns == element - thread
        assert read == {t: {t, t + stride} for t in range(0, 32, 2 * stride)}
        assert near.count("line", "load", step=level) == 2 * len(read)
        assert near.count("line", "store", step=level + 1) == len(read)
        assert near.count("circle", "active", step=level) == len(read)
        assert near.count("circle", "idle", step=level) == 32 - len(read)
        sums = x.reshape(-1, 2 * stride).sum(1), x.reshape(2 * stride, -1).sum(0)
        for picture, right in zip((near, far), sums, strict=True):
            fresh = [int(text) for text in picture.texts("fresh", step=level + 1)]
            assert fresh[: len(right)] == right.tolist()
    assert near.texts("fresh", step=6) == [str(x.sum())]


@every_rung
def test_every_element_is_drawn_and_read_and_the_result_is_shown(rung, screen):
    """Two blocks or one, and a tail: a cell per element, and a bar below each element read."""
    picture = Picture(rung, 62)
    assert sum(picture.count("rect", "read", step=0, block=block) for block in (0, 1)) == 62
    assert str(picture.told.result) in picture.texts("fresh")
    out = screen("show", rung)
    assert f"{METHODS[rung].number} {rung}: {METHODS[rung].title}" in out
    assert "None" not in out
    total = out.partition("summed in int32: ")[2].split()[0]
    values = [line.split()[-1] for line in out.splitlines() if line.split()[:1] == ["values"]]
    assert total in values or rung == "atomic"  # no thread sees it


def test_bank_conflicts_are_marked():
    """Words 2 * stride apart: pairs of the 4-byte elements of 64 threads share a bank."""
    x = np.ones(64, np.int32)
    picture = Picture("shared_strided", x=x, block=64)
    said = ["shared loads: 4 wavefronts, 2 conflicts", "shared stores: 2 wavefronts, 1 conflict"]
    for level in range(5):
        active = 32 >> level
        assert picture.count("line", "load", "clash", step=level + 1) == 2 * active
        assert picture.count("line", "store", "clash", step=level + 2) == active
        assert picture.texts("bad", step=level + 1) == said
    assert picture.count("line", "clash", step=6) == 1 * 2
    assert not Picture("shared_sequential", x=x, block=64).of("line", "clash")


def test_passes_come_one_under_another_and_tickets_and_barriers_are_drawn():
    picture = Picture("neighbored", 32 * 40)
    passes = [text for text in picture.of("text", "head") if "pass" in text.text.lower()]
    shown = [f"Pass 1 of 3, block {k}" for k in (0, 1, 2, 39)]
    shown += ["Pass 2 of 3, block 0", "Pass 2 of 3, block 1", "Pass 3 of 3, the only block"]
    assert [text.text for text in passes] == shown
    (more,) = [text for text in picture.texts() if "blocks between" in text]
    assert more.startswith("36 blocks")
    tops = [float(text.get("y")) for text in passes]
    assert tops == sorted(tops)
    tickets = [text for text in Picture("last_block", 1280).texts("note") if "ticket" in text]
    assert tickets == ["takes ticket 0", "takes ticket 1: the last block"]
    for rung, n, barrier in (("cooperative", 1280, "grid"), ("cluster", 512, "cluster")):
        picture = Picture(rung, n)
        assert picture.count("line", "barrier") == 1
        assert f"{barrier} barrier" in picture.texts("label")


def boxes_of(root):
    """Estimate the boxes of texts, with the letter widths of wide fonts."""
    sizes = {"title": 17, "fact": 13, "head": 12, "note": 10.5, "label": 10.5}
    for text in root.iter(f"{SVG}text"):
        kinds = text.get("class").split()
        size = float(text.get("font-size") or sizes[next(k for k in sizes if k in kinds)])
        y = float(text.get("y"))
        for part in (part for part in (text, *text) if part.text):
            places = part.get("x").split()  # one per character, if there are several
            texts = part.text if places[1:] else [part.text]
            for x, letters in zip(map(float, places), texts, strict=True):
                width = 0.6 * size * len(letters)
                middle = {"value", "thread", "middle"} & set(kinds)
                left = x - width / 2 if middle else x - width if "label" in kinds else x
                yield letters, left, left + width, y - 0.72 * size, y


@pytest.mark.parametrize("path", sorted(KEPT.glob("*.svg")), ids=lambda path: path.stem)
def test_labels_neither_collide_nor_leave_the_picture(path):
    root = ElementTree.parse(path).getroot()
    boxes = sorted(boxes_of(root), key=lambda box: box[3])
    for k, (text, left, right, top, bottom) in enumerate(boxes):
        assert 0 <= left <= right <= float(root.get("width")), text
        assert 0 <= top <= bottom <= float(root.get("height")), text
        for other, left2, right2, top2, _ in boxes[k + 1 :]:
            assert top2 >= bottom or right <= left2 or right2 <= left, (text, other)


def test_a_small_picture_has_the_same_lines_cells_and_texts():
    """A combined line has as many segments as there are single lines."""
    told = gred.accesses(np.arange(1, 65, dtype=np.int32), method="unroll2", block_size=32)
    texts = draw_accesses(told), draw_accesses(told, small=True)
    assert len(texts[1]) < len(texts[0]) / 3
    full, small = map(ElementTree.fromstring, texts)
    for kind in ("line load", "line store", "idle", "active"):
        ones = {tuple(sorted(e.items())) for e in full.iter() if e.get("class") == kind}
        same = (e for e in small.iter() if e.get("class", "").removeprefix("dot ") == kind)
        assert sum(len(re.findall("[Mm]", e.get("d"))) for e in same) == len(ones)
    tags = (f"{SVG}text", f"{SVG}tspan")
    of_full, of_small = ([e.text or "" for e in r.iter() if e.tag in tags] for r in (full, small))
    assert sorted("".join(of_full)) == sorted("".join(of_small))


def test_the_pictures_of_the_documentation_are_what_show_draws(screen, tmp_path):
    """To redraw them: python -m gred show --all --out docs/pictures."""
    screen("show", "--all", "--out", tmp_path)
    found = (folder.glob("*.svg") for folder in (tmp_path, KEPT))
    made, kept = ({path.name: path.read_text(encoding="utf-8") for path in one} for one in found)
    assert made.keys() == kept.keys() == {"hero.svg", *(f"{rung}.svg" for rung in METHODS)}
    assert [name for name in made if made[name] != kept[name]] == []
    assert max(map(len, made.values())) < 70_000


def test_a_picture_is_written_or_goes_to_standard_output(screen, command, tmp_path):
    path, given = tmp_path / "rung.svg", ("show", "13", "--size", "64", "--block-size", "64")
    assert f"wrote {path}" in screen(*given, "--out", path).replace("\n", "")
    written = path.read_text(encoding="utf-8")
    assert ElementTree.fromstring(written).tag == f"{SVG}svg"
    status, out, err = command(*given, "--out", "-")
    assert (status, out) == (0, written)
    assert "13 shared_sequential" in err


def test_the_terminal_shows_lanes_elements_values_and_shuffles(screen):
    out = screen("show", "neighbored", "--seed", "3")
    x = np.random.default_rng(3).integers(1, 10, 32)
    lines = [line.split(maxsplit=1) for line in out.splitlines() if len(line.split()) > 1]
    values, threads = ([text for name, text in lines if name == n] for n in ("values", "threads"))
    for level in range(5):
        assert values[level] == " ".join(map(str, x.reshape(-1, 2 << level).sum(1)))
    works, _, idle = consoles.make_console().lane_characters[:3]
    assert threads[2] == (works + 7 * idle) * 4
    assert "step 3 after __syncthreads(): 4 of 32 threads" in out
    assert "loads: 8 sectors, 12% used; stores: 4 sectors, 12% used" in out
    steps = screen("show", "shuffle", "--block-size", "64", "--size", "256").split("  step ")[1:]
    assert ["shuffles: 2" in step for step in steps] == [False, *[True] * 5, *[False] * 6]
    assert ["shuffles: 1" in step for step in steps] == [False] * 7 + [True] * 5
    picture = Picture("shuffle", x=np.arange(64), block=64)
    assert picture.texts("soft", step=1) == ["32 results discarded; shuffles: 2"]


def test_a_narrow_terminal_wraps_the_lanes_and_plain_text_says_it_without_rich(screen, monkeypatch):
    monkeypatch.setattr("gred.cli.console.Stream.columns", lambda self: 60)
    works = consoles.make_console().lane_characters[0]
    rows = [line for line in screen("show", "shared_strided").splitlines() if works in line]
    assert [line.count(works) for line in rows[:3]] == [32, 32, 32]
    assert all(len(line) <= 60 for line in rows)
    monkeypatch.setattr("gred.cli.console.Stream.columns", lambda self: 100)
    monkeypatch.setattr("gred.cli.command.make_console", consoles.Console)
    out = screen("show", "shared_strided", "--block-size", "64")
    assert out.isascii()
    assert f"threads  {'#' * 64}" in out
    assert f"shared 0 to 63  {'!.' * 32}" in out
    assert "# active  o discarded  . idle  r read  w written  ~ moved, not used  ! bank" in out
