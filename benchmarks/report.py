"""Writes what the kept results and the table of reductions say into README.md, and draws plots.

    python benchmarks/report.py            rewrite README.md and redraw what changed
    python benchmarks/report.py --check    exit status 1 if they disagree with the results

A part of README.md stands between `<!-- generated: NAME -->` and `<!-- end: NAME -->`.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from axes_part import axes_part
from curve_part import curve_part
from exact_part import exact_part
from figures_part import figures_part
from kept_results import Results
from ladder_part import ladder_part, machine_part, plots_part, reductions_part
from report_plots import draw, stale_plots
from roofline_part import roofline_part
from versus_part import versus_part

ROOT = Path(__file__).resolve().parent.parent
MARKED = re.compile(r"(<!-- generated: (\w+) -->\n)(.*?)(<!-- end: \2 -->)", re.DOTALL)

PARTS = {
    "reductions": reductions_part,
    "ladder": ladder_part,
    "machine": machine_part,
    "plots": plots_part,
    "roofline": roofline_part,
    "curve": curve_part,
    "figures": figures_part,
    "axes": axes_part,
    "exact": exact_part,
    "versus": versus_part,
}


def filled(text: str, results: Results) -> str:
    """Renew every generated part of README.md's text."""
    found = [match[2] for match in MARKED.finditer(text)]
    for problem in (
        *(f"has no part {name!r}" for name in PARTS if name not in found),
        *(f"has a part {name!r} that nothing generates" for name in found if name not in PARTS),
    ):
        raise SystemExit(f"{results.readme.name} {problem}")
    made = {name: make(results) for name, make in PARTS.items()}
    return MARKED.sub(lambda match: f"{match[1]}{made[match[2]]}\n{match[4]}", text)


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing, only compare")
    parser.add_argument("--readme", type=Path, default=ROOT / "README.md")
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results")
    given = parser.parse_args()
    results = Results(given.results.resolve(), given.readme.resolve())
    before = given.readme.read_text(encoding="utf-8")
    after = filled(before, results)
    stale = list(stale_plots(results))
    changed = [str(given.readme)] if before != after else []
    changed += [str(path) for path, _, _ in stale]
    if not given.check:
        for plot in stale:
            draw(*plot)
        given.readme.write_text(after, encoding="utf-8")
    for name in changed:
        print(f"{name} disagrees with the kept results" if given.check else f"wrote {name}")
    return 1 if given.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
