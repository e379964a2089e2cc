"""Directories of csrc/ include what is below them, kernels/ only plain headers; no cycles.

Every `#include` is read as it is written, without a compiler and whatever `#if` it stands in. A
source and its header count as one: `plan.c` and `plan.h` are the file `plan`.
"""

import re
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parent.parent
SUFFIXES = {".c", ".h", ".cc", ".cpp", ".cu", ".cuh", ".def", ".inc"}
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b[ \t]*(.*?)[ \t]*(?:/[/*].*)?$", re.MULTILINE)

# What each directory may include beside itself.
BELOW = {
    "common": (),
    "arrays": ("common",),
    "plan": ("arrays", "common"),
    "schedule": ("plan", "arrays", "common"),
    "threads": ("common",),
    "run": ("threads", "schedule", "plan", "arrays", "common"),
    "cpu": ("run", "threads", "schedule", "plan", "arrays", "common"),
    "simulated": ("run", "threads", "schedule", "plan", "arrays", "common"),
    "cuda": ("run", "threads", "schedule", "plan", "arrays", "common"),
    "python": (
        *("cpu", "simulated", "cuda"),
        *("run", "threads", "schedule", "plan", "arrays", "common"),
    ),
    "testing": ("python", "run", "schedule", "plan", "arrays", "common"),
}
FROM_KERNELS = "common"
NOT_IN_KERNELS = re.compile(r"Python\.h|numpy/")


# ---- reading ----


def sources():
    """Read every file of csrc/ and kernels/, by its path from there."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for folder in ("csrc", "kernels")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in SUFFIXES
    }


def includes(text):
    """List what a file includes, each with its quotes or brackets."""
    return INCLUDE.findall(text)


def place(path):
    """Tell what a path lies in: a directory of csrc/, or kernels."""
    parts = PurePosixPath(path).parts
    return parts[1] if parts[0] == "csrc" else parts[0]


def found(path, name, files):
    """Tell which of the project's files an include in quotes means, or None."""
    folder = PurePosixPath(path).parent
    folders = [PurePosixPath("csrc")]
    if place(path) == "kernels":
        folders = [folder, PurePosixPath("kernels"), *folders]
    for candidate in folders:
        parts = []
        for part in (candidate / name).parts:
            if part == "..":
                del parts[-1:]
            else:
                parts.append(part)
        if "/".join(parts) in files:
            return "/".join(parts)
    return None


def project_includes(files):
    """List (file, included file) for all of the project's own."""
    quoted = (
        (path, found(path, written[1:-1], files))
        for path, text in files.items()
        for written in includes(text)
        if written.startswith('"')
    )
    return [(path, target) for path, target in quoted if target]


# ---- the rules ----


def badly_written(files):
    """List includes that do not say "directory/file.h", or that nobody could follow."""
    headers = {PurePosixPath(path).name for path in files}
    wrong = []
    for path, text in files.items():
        for written in includes(text):
            name = written[1:-1]
            in_quotes = re.fullmatch(r'".+"', written)
            if in_quotes and place(path) == "kernels":
                fine = found(path, name, files)
            elif in_quotes:
                fine = len(PurePosixPath(name).parts) == 2 and f"csrc/{name}" in files
            else:
                ours = name in headers or f"csrc/{name}" in files
                fine = re.fullmatch(r"<.+>", written) and not ours
            if not fine:
                wrong.append(f"{path}: #include {written}")
    return wrong


def includes_upwards(files):
    """List includes of what does not lie below."""
    wrong = []
    for path, target in project_includes(files):
        here, there = place(path), place(target)
        below = (FROM_KERNELS,) if here == "kernels" else BELOW.get(here, ())
        if there not in (here, *below):
            wrong.append(f"{path} -> {target}")
    return wrong


def python_in_kernels(files):
    """List what kernels/ reaches that brings Python with it."""
    reached = {path for path in files if place(path) == "kernels"}
    edges = project_includes(files)
    while more := {target for path, target in edges if path in reached} - reached:
        reached |= more
    return [
        f"{path}: #include {written}"
        for path in sorted(reached)
        for written in includes(files[path])
        if NOT_IN_KERNELS.search(written)
    ]


def cycles(files):
    """List cycles of files, a source and its header being one."""
    graph = {}
    for path, target in project_includes(files):
        a, b = (str(PurePosixPath(name).with_suffix("")) for name in (path, target))
        if a != b:
            graph.setdefault(a, set()).add(b)
    found_cycles, done = [], set()

    def walk(node, way):
        if node in way:
            found_cycles.append(" -> ".join([*way[way.index(node) :], node]))
        elif node not in done:
            for neighbour in sorted(graph.get(node, ())):
                walk(neighbour, [*way, node])
            done.add(node)

    for node in sorted(graph):
        walk(node, [])
    return found_cycles


RULES = {
    "a project's header is included as directory/file.h": badly_written,
    "no include goes up": includes_upwards,
    "kernels know nothing of Python": python_in_kernels,
    "no files include one another in a cycle": cycles,
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_the_layers_are_kept_apart(rule):
    wrong = rule(sources())
    assert not wrong, "\n" + "\n".join(wrong)


def test_all_directories_are_there_and_no_other():
    files = sources()
    assert {place(path) for path in files} == {*BELOW, "kernels"}
    assert len(project_includes(files)) > 100


# ---- whether the rules would see it ----

TREE = {
    "csrc/common/ground.h": "#include <stdint.h>\n",
    "csrc/common/object.h": "#define PY_SSIZE_T_CLEAN\n#include <Python.h>\n",
    "csrc/arrays/view.h": '#include "common/ground.h" /* a comment */\n',
    "csrc/arrays/view.c": '#include "arrays/view.h"\n#include "common/object.h"\n',
    "csrc/arrays/loop.h": "",
    "csrc/arrays/loop.c": '#include "arrays/view.h"\n',
    "csrc/plan/plan.h": '#include "arrays/view.h"\n',
    "csrc/run/run.c": '#include "plan/plan.h"\n',
    "csrc/cpu/host.h": '#  include  "plan/plan.h"\n',
    "csrc/cuda/cuda.h": '#include "common/ground.h"\n',
    "csrc/python/module.c": '#include "cpu/host.h"\n#include "cuda/cuda.h"\n',
    "kernels/ladder/rung.cuh": '#include "../tile.cuh"\n',
    "kernels/tile.cuh": '#include "common/ground.h"\n#include <math.h>\n',
}
CHANGES = [
    (badly_written, "csrc/arrays/view.c", '#include "view.h"', '"view.h"'),
    (badly_written, "csrc/arrays/view.c", '#include "../plan/plan.h"', '"../plan/plan.h"'),
    (badly_written, "csrc/arrays/view.c", '#include "arrays/nothing.h"', "nothing"),
    (badly_written, "csrc/plan/plan.h", "#include <arrays/view.h>", "<arrays/view.h>"),
    (badly_written, "csrc/plan/plan.h", "#include VIEW", "VIEW"),
    (badly_written, "kernels/tile.cuh", '#include "nothing.cuh"', "nothing"),
    (
        includes_upwards,
        "csrc/common/object.h",
        '#include "arrays/view.h"',
        "common/object.h -> csrc/ar",
    ),
    (
        includes_upwards,
        "csrc/arrays/view.c",
        '#include "plan/plan.h"',
        "view.c -> csrc/plan/plan.h",
    ),
    (includes_upwards, "csrc/cpu/host.h", '#include "cuda/cuda.h"', "host.h -> csrc/cuda/cuda.h"),
    (
        includes_upwards,
        "csrc/run/run.c",
        '#if 0\n#  include "cpu/host.h"\n#endif',
        "run.c -> csrc/cpu",
    ),
    (
        includes_upwards,
        "kernels/tile.cuh",
        '#include "arrays/view.h"',
        "tile.cuh -> csrc/arrays/view.h",
    ),
    (python_in_kernels, "csrc/common/ground.h", "#include <Python.h>", "ground.h: #include"),
    (python_in_kernels, "kernels/tile.cuh", '#include "common/object.h"', "object.h: #include"),
    (cycles, "kernels/tile.cuh", '#include "ladder/rung.cuh"', "rung -> kernels/tile -> kernels"),
    (cycles, "csrc/arrays/view.h", '#include "arrays/loop.h"', "view -> csrc/arrays/loop"),
]


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_a_tree_in_order_breaks_no_rule(rule):
    assert rule(TREE) == []


@pytest.mark.parametrize(("rule", "path", "line", "seen"), CHANGES, ids=[c[2] for c in CHANGES])
def test_a_rule_that_is_broken_is_seen(rule, path, line, seen):
    wrong = rule({**TREE, path: TREE[path] + line + "\n"})
    assert len(wrong) == 1
    assert seen in wrong[0]
