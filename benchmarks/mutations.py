"""Plants the defects of defects.py one at a time, and checks that the default tests find them.

Each is planted in a scratch copy of the tree, which is rebuilt without CUDA. The tests expected to
fail run first, then all. At the end, the failed tests must pass without any defect.

    python benchmarks/mutations.py                        all of them
    python benchmarks/mutations.py --only "tile of 32"    some; results of others stay
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from defect import Defect
from defects import DEFECTS

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks/results/mutations.json"
FAILED = re.compile(r"^(?:FAILED|ERROR) (tests/.+?)(?: - .*)?$", re.MULTILINE)
SECONDS = 3600  # limit of a run of the tests; beyond it, nothing counts as found
LEFT_OUT = (".git", "__pycache__", ".hypothesis", "_build")


class Tree:
    """A scratch copy of the tree, including what is already built."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(ROOT, folder, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
        self.environment = {
            **os.environ,
            "GRED_CUDA_ARCHS": "none",
            "PYTHONPATH": str(folder / "python"),
            "PYTHONDONTWRITEBYTECODE": "1",  # a source may change twice within a second
        }
        self.build()

    def build(self) -> None:
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        subprocess.run(command, cwd=self.folder, env=self.environment, check=True)

    def first_failure(self, chosen: list[str], workers: str) -> str | None:
        """Run tests up to the first failure; raise if pytest fails otherwise."""
        command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=no", "-rfE", "-n", workers]
        child = subprocess.Popen(
            [*command, *chosen],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            said, _ = child.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            return None
        if failed := FAILED.search(said):
            return failed[1]
        if child.returncode:
            raise RuntimeError(f"pytest ended with status {child.returncode}\n{said}")
        return None


def try_defect(tree: Tree, defect: Defect, workers: str, only_expected: bool) -> dict[str, Any]:
    """Plant a defect, find the first failing test, and restore the file."""
    path = tree.folder / defect.file
    before = path.read_text(encoding="utf-8")
    path.write_text(defect.planted(before), encoding="utf-8")
    try:
        tree.build()
        began = time.monotonic()
        found = tree.first_failure([f"tests/{name}" for name in defect.tests.split()], workers)
        if not found and not only_expected:
            found = tree.first_failure(["tests"], workers)
        seconds = round(time.monotonic() - began, 1)
    finally:
        path.write_text(before, encoding="utf-8")
    row = {"name": defect.name, "kind": defect.kind, "file": defect.file, "says": defect.says}
    return {**row, "found_by": found, "seconds": seconds}


def keep(rows: list[dict[str, Any]], path: Path) -> None:
    """Write rows, in the table's order, and keep those of other defects."""
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    by_name = {row["name"]: row for row in [*kept, *rows]}
    ordered = [by_name[defect.name] for defect in DEFECTS if defect.name in by_name]
    path.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="defects; default: all")
    parser.add_argument("--workers", default="auto", help="processes of pytest, as for its -n")
    parser.add_argument(
        "--expected", action="store_true", help="run only the tests that should fail"
    )
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    chosen = [one for one in DEFECTS if not arguments.only or one.name in arguments.only]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(Path(folder) / "gred")
        for defect in chosen:
            row = try_defect(tree, defect, arguments.workers, arguments.expected)
            print(f"{row['name']}: {row['found_by']} ({row['seconds']} s)", flush=True)
            rows.append(row)
            keep([row], arguments.out)
        tree.build()
        found = sorted({row["found_by"] for row in rows if row["found_by"]})
        broken = tree.first_failure(found, arguments.workers) if found else None
    if broken:
        print(f"{broken} fails without a defect, too")
    return int(bool(broken) or any(row["found_by"] is None for row in rows))


if __name__ == "__main__":
    sys.exit(main())
