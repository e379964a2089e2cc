"""Shows a rung of the ladder step by step: which thread touches which element.

It shows idle lanes, bytes that are moved and not used, bank conflicts, and how the values are
reduced. It is drawn from the accesses recorded in a run on the simulated device; no GPU is needed.

A block has at least one warp of 32 threads. For a pass of more than four blocks, the first three
and the last are shown. The picture of a wide block with bank conflicts has a column per bank
instead of one per thread.

The source of a rung with its counts: python -m gred explain --help
"""

import argparse
import functools
import itertools
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

import gred
from gred.cli import counters, options, output
from gred.cli.console import Cell, Console
from gred.cli.options import option
from gred.counting import WARP
from gred.drawing import showing
from gred.drawing.hero import hero
from gred.drawing.picture import draw_accesses
from gred.drawing.showing import Boundary
from gred.drawing.steps import NO_STEP, Block, blocks
from gred.recording import Launch

SIZE_MAX = 1 << 12
_BLOCK_SIZE = 32
# Bank conflicts grow with the stride, up to the number of words of a block.
_BLOCK_SIZES = {"shared_strided": 256}
# Elements per thread, if not 1, for which a block's first step is typical of the rung. Rungs with
# cooperating blocks get two blocks.
_ELEMENTS = {
    "unroll4": 4,
    **dict.fromkeys(("unroll8", "unroll_warps8", "complete_unroll8", "template_unroll8"), 8),
    **dict.fromkeys(("unroll2", "unroll_warps2"), 2),
    **dict.fromkeys(("shared_first_add", "shared_last_warp", "shared_complete"), 2),
    **dict.fromkeys(("shared_grid_stride", "shuffle", "cluster"), 16),
    **dict.fromkeys(("shuffle_vector", "bulk"), 8),
    **dict.fromkeys(("atomic", "last_block", "cooperative"), 40),
}

_LABEL = 23
_LEGEND = ("active", "discarded", "idle", "read", "written", "moved, not used", "bank conflict")
_STYLES = ("bold", "dim", "dim", "blue", "green", "yellow", "red")
_ACTIVE, _DISCARDED, _IDLE, _READ, _WRITTEN, _WASTED, _CONFLICT = range(7)
_CELLS = {None: _IDLE, "wasted": _WASTED, "conflict": _CONFLICT}
_NOTE_STYLES = {"soft": "dim", "warning": "yellow", "bad": "red"}

OPTIONS = (
    option("method", nargs="?"),
    option("--all", "draw every rung, and hero.svg, in the folder --out", action="store_true"),
    option("--size", "the elements of one block, or of two that cooperate"),
    option("--dtype"),
    option("--block-size", f"{_BLOCK_SIZE}; 256 for shared_strided"),
    counters.MULTIPROCESSORS,
    option("--seed"),
    option("--out", "write the picture (.svg); - is standard output", options.parse_path, "FILE"),
)


def run(given: argparse.Namespace, console: Console) -> int:
    if given.all:
        return _draw_all(given, console)
    if given.method is None:
        raise options.UsageError("the following arguments are required: METHOD")
    out = given.out
    if out and out != options.STANDARD_OUTPUT and out.suffix.lower() != ".svg":
        raise options.UsageError(f"--out {out}: the name must end in .svg")
    output.check_paths({"--out": out})
    files = output.Output(console, {out: _picture})
    recorded = _recorded(given, given.method)
    files.write(recorded)
    _show(console, given.method, recorded)
    return files.end()


def _draw_all(given: argparse.Namespace, console: Console) -> int:
    if given.method or not given.out:
        raise options.UsageError("--all draws every rung: pass a folder as --out, and no METHOD")
    output.make_folder("--out", given.out)
    texts: output.Files = {given.out / "hero.svg": lambda recorded: hero()}
    for method in counters.countable(None):
        recorded = _recorded(given, method)
        texts[given.out / f"{method.name}.svg"] = functools.partial(_picture, recorded)
    files = output.Output(console, texts)
    files.write(None)
    return files.end()


def _picture(recorded: gred.Accesses, kept: object = None) -> str:
    return draw_accesses(recorded, small=True)


def _recorded(given: argparse.Namespace, method: Any) -> gred.Accesses:
    block_size = given.block_size or _BLOCK_SIZES.get(method.name, _BLOCK_SIZE)
    size = given.size or block_size * _ELEMENTS.get(method.name, 1)
    if size > SIZE_MAX:
        raise options.UsageError(
            f"{size} elements are too many to draw; at most {SIZE_MAX} are supported. "
            "`python -m gred counters` takes more"
        )
    asked: dict[str, Any] = {"methods": (method,), "size": size, "block_size": block_size}
    settings = counters.settings_of(given, "drawn", **asked)
    digits = np.random.default_rng(given.seed).integers(1, 10, size)
    return gred.accesses(digits.astype(given.dtype), method=method.name, **settings.launch)


def _show(console: Console, method: Any, recorded: gred.Accesses) -> None:
    console.title(f"{method.number} {method.name}: {method.title}")
    array = f"{recorded.size:,} {recorded.dtype}"
    console.pairs(
        ("idea", method.idea),
        ("array", f"{array}, summed in {recorded.accumulator}: {recorded.result}"),
        ("blocks", f"of {recorded.block_size} threads"),
    )
    for number, launch in enumerate(recorded.passes, 1):
        made = blocks(launch, showing.drawn_blocks(launch))
        ends = showing.lengths(launch, made)
        for block in made:
            console.line(showing.block_text(launch, block, number, len(recorded.passes)), "bold")
            console.line()
            _show_block(console, launch, block, ends)
        if launch.blocks > len(made):
            console.line(f"{launch.blocks - len(made):,} blocks between these are not shown", "dim")
            console.line()
    line: list[Cell] = []
    for mark, style, text in zip(console.lane_characters, _STYLES, _LEGEND, strict=True):
        entry = [Cell(mark, style), Cell(f" {text}  ")]
        if sum(len(cell.text) for cell in (*line, *entry)) > console.width - 2:
            console.parts(line)
            line = []
        line += entry
    console.parts(line)
    console.line()


def _show_block(console: Console, launch: Launch, block: Block, ends: dict[str, int]) -> None:
    """Print a block's steps."""
    threads, shapes = launch.block_size, showing.shapes(block, launch.block_size)
    lanes = max(console.width - _LABEL - 2, WARP // 4)
    lanes = lanes // WARP * WARP or lanes  # per line

    def line(label: str, *parts: Cell) -> None:
        console.parts([Cell(f"{label:>{_LABEL - 2}}  ", "dim"), *parts])

    def show_marks(label: str, marks: Sequence[int]) -> None:
        for first in range(0, len(marks), lanes):
            runs = itertools.groupby(marks[first : first + lanes])
            styled = ((console.lane_characters[m] * len(list(run)), _STYLES[m]) for m, run in runs)
            line("" if first else label, *(Cell(*one) for one in styled))

    def show_memory(boundary: Boundary, asked: int) -> None:
        for memory, shape in shapes.items():
            seen = boundary.read_marks(memory) | boundary.write_marks(memory)
            for row in boundary.rows(memory, shape):
                elements = shape.elements(row, ends[memory])
                marks = [asked if seen.get(n) == "asked" else _CELLS[seen.get(n)] for n in elements]
                show_marks(f"{memory} {showing.span_text(elements)}", marks)

    for number, step in enumerate(block.steps, 1):
        after = f" after {', '.join(step.barriers)}" if step.barriers else ""
        console.line(f"step {number}{after}: {showing.threads_text(step, threads)}")
        if notes := [Cell(text, _NOTE_STYLES[kind]) for kind, text in showing.cost_notes(step)]:
            joined = itertools.chain(*((Cell("; "), cell) for cell in notes))
            console.parts([Cell(" " * (_LABEL // 2)), *itertools.islice(joined, 1, None)])
        show_memory(Boundary(NO_STEP, step), _READ)
        nodes = map(step.nodes.get, range(threads))
        work = [_IDLE if n is None else _ACTIVE if n.useful else _DISCARDED for n in nodes]
        show_marks("threads", work)
        show_memory(Boundary(step, NO_STEP), _WRITTEN)
        held = (node.value for node in step.useful if not node.copies)
        text = " ".join(map(showing.value_text, held))
        for k, values in enumerate(textwrap.wrap(text, lanes)):
            line("" if k else "values", Cell(values, "bold"))
        console.line()
