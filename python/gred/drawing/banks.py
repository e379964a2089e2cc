"""The picture of bank conflicts: lanes of a warp, stacked on the bank of shared memory they ask.

Of each step it shows the request that costs most; every row of a stack is a wavefront.
"""

from collections.abc import Sequence

from gred.counting import WARP
from gred.drawing.sheet import Sheet
from gred.drawing.showing import told_notes
from gred.drawing.steps import BANKS, Request, Step
from gred.recording import Launch

_LEFT, _RIGHT, _COLUMN, _CHIP, _LINE = 100, 276, 26, 17, 14
_INTRODUCTION = (
    "Shared memory has 32 banks, and each serves one 4-byte word at a time. "
    "Of every step one warp's request is shown:",
    "its threads stand on the bank that they ask, and each row is a wavefront.",
)
_LEGEND = {
    ("rect", "read"): "a thread alone on its bank",
    ("rect", "conflict"): "threads whose words share a bank: they are served one after the other",
}


def draw_banks(sheet: Sheet, launch: Launch, steps: Sequence[Step]) -> float:
    """Draw the steps that ask shared memory, one under another; the width that it takes."""
    right = _LEFT + BANKS * _COLUMN
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
            _draw_step(sheet, launch, number, step, costly)
    sheet.group("banks")
    sheet.write("label", _LEFT - 8, sheet.y + 4, "bank")
    for bank in range(BANKS):
        sheet.write("note soft middle", _LEFT + (bank + 0.5) * _COLUMN, sheet.y + 4, str(bank))
    sheet.y += 20
    sheet.legend(_LEGEND)
    return right + _RIGHT


def _draw_step(sheet: Sheet, launch: Launch, number: int, step: Step, request: Request) -> None:
    # For each bank the threads that ask it for different words; of one word, the first.
    stacks: dict[int, list[int]] = {}
    words = {request.words[thread]: thread for thread in sorted(request.words, reverse=True)}
    for word, thread in sorted(words.items(), key=lambda pair: pair[1]):
        stacks.setdefault(word % BANKS, []).append(thread)
    rows = max(map(len, stacks.values()))
    notes = told_notes([step], launch.block_size)
    right, bottom = _LEFT + BANKS * _COLUMN, sheet.y + rows * _CHIP
    for row in range(rows):
        for bank in range(BANKS):
            y = bottom - (row + 1) * _CHIP
            sheet.add("rect", "cell", x=_LEFT + bank * _COLUMN, y=y, width=_COLUMN, height=_CHIP)
    for bank, threads in stacks.items():
        for row, thread in enumerate(threads):
            x, y = _LEFT + bank * _COLUMN, bottom - (row + 1) * _CHIP
            kind = "conflict" if len(threads) > 1 else "read"
            sheet.add("rect", kind, x=x + 1, y=y + 1, width=_COLUMN - 2, height=_CHIP - 2)
            text = str(thread)
            sheet.write("thread chip", x + _COLUMN / 2, y + _CHIP / 2 + 3.6, text, font_size=10)
    what = "load" if request.event == "shared_load" else "store"
    warp = min(request.words) // WARP
    sheet.write("head label", _LEFT - 8, sheet.y + 11, f"step {number}")
    sheet.write("label", _LEFT - 8, sheet.y + 11 + _LINE, f"warp {warp}'s {what}")
    for line, (kind, text) in enumerate(notes):
        sheet.write(f"note {kind}", right + 14, sheet.y + 11 + _LINE * line, text)
    sheet.y = max(bottom, sheet.y + _LINE * max(2, len(notes))) + 14
