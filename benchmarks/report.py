"""Generates parts of README.md and docs/figures.md, and the plots, from the stored results.

    python benchmarks/report.py            rewrite the pages and redraw changed plots
    python benchmarks/report.py --check    exit status 1 if they disagree with the results

A generated part of a page is between `<!-- generated: NAME -->` and `<!-- end: NAME -->`.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from kept_results import RESULTS, Results, stale_plots
from measured_parts import (
    curve_part,
    ladder_part,
    machine_part,
    plots_part,
    roofline_part,
    versus_part,
)
from target_parts import axes_slice, exact_part, figures_part

from gred.cli.output import draw

ROOT = Path(__file__).resolve().parent.parent
MARKED = re.compile(r"(<!-- generated: (\w+) -->\n)(.*?)(<!-- end: \2 -->)", re.DOTALL)

PAGES = ("README.md", "docs/figures.md")
PARTS = {
    "ladder": ladder_part,
    "machine": machine_part,
    "plots": plots_part,
    "roofline": roofline_part,
    "curve": curve_part,
    "figures": figures_part,
    "axes": axes_slice,
    "exact": exact_part,
    "versus": versus_part,
}


def filled(text: str, results: Results) -> str:
    return MARKED.sub(lambda match: f"{match[1]}{PARTS[match[2]](results)}\n{match[4]}", text)


def check_parts(pages: Sequence[Path]) -> None:
    """Raise SystemExit unless the pages contain all parts and no unknown ones."""
    found = [match[2] for page in pages for match in MARKED.finditer(page.read_text("utf-8"))]
    names = ", ".join(page.name for page in pages)
    for problem in (
        *(f"no part {name!r}" for name in PARTS if name not in found),
        *(f"a part {name!r} that nothing generates" for name in found if name not in PARTS),
    ):
        raise SystemExit(f"{names}: {problem}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing, only compare")
    parser.add_argument("--pages", type=Path, nargs="+", default=[ROOT / page for page in PAGES])
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    check_parts(given.pages)
    changed = []
    for page in given.pages:
        results = Results(given.results.resolve(), page.resolve())
        before = page.read_text(encoding="utf-8")
        after = filled(before, results)
        changed += [str(page)] if before != after else []
        if not given.check:
            page.write_text(after, encoding="utf-8")
    stale = list(stale_plots(results))
    changed += [str(path) for path, _, _ in stale]
    for path, function, kept in stale if not given.check else ():
        path.parent.mkdir(exist_ok=True)
        draw(path, function, kept)
    for name in changed:
        print(f"{name} disagrees with the kept results" if given.check else f"wrote {name}")
    return 1 if given.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
