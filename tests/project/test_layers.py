"""Directories of csrc/ include what is below them, kernels/ only plain headers; no cycles.

Every `#include` is read as it is written, without a compiler and whatever `#if` it stands in. A
source and its header count as one: `plan.c` and `plan.h` are the file `plan`.
"""

import posixpath
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path, PurePosixPath

import pytest
from test_sizes import sources as all_sources

pytestmark = pytest.mark.unsanitized

ROOT = Path(__file__).parents[2]
FOLDERS = ("csrc/", "kernels/")
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b[ \t]*(.*?)[ \t]*(?:/[/*].*)?$", re.MULTILINE)
RUN = ("run", "threads", "schedule", "plan", "arrays", "common")
BACKENDS = ("cpu", "simulated", "cuda")
BELOW = {  # what each directory may include beside itself
    "common": (),
    "arrays": ("common",),
    "plan": ("arrays", "common"),
    "schedule": ("plan", "arrays", "common"),
    "threads": ("common",),
    "run": RUN,
    **dict.fromkeys(BACKENDS, RUN),
    "python": (*BACKENDS, *RUN),
    "jax": ("python",),
    "testing": ("python", "run", "schedule", "plan", "arrays", "common"),
    "kernels": ("common",),
}


def sources():
    """Read the sources of C and CUDA."""
    return {path: text for path, text in all_sources().items() if path.startswith(FOLDERS)}


def place(path):
    return path.removeprefix("csrc/").split("/")[0]


def found(path, name, files):
    """Tell which of the project's files an include in quotes means, or None."""
    in_kernels = place(path) == "kernels"
    folders = [posixpath.dirname(path), "kernels", "csrc"] if in_kernels else ["csrc"]
    named = (posixpath.normpath(f"{folder}/{name}") for folder in folders)
    return next((path for path in named if path in files), None)


def project_includes(files):
    """List (file, included file) for all of the project's own."""
    return [
        (path, target)
        for path, text in files.items()
        for written in INCLUDE.findall(text)
        if written.startswith('"') and (target := found(path, written[1:-1], files))
    ]


def badly_written(files):
    """List includes that do not say where a header lies in csrc, or that nobody could follow."""
    headers = {posixpath.basename(path) for path in files}
    for path, text in files.items():
        for written in INCLUDE.findall(text):
            name = written[1:-1]
            in_csrc = f"csrc/{name}" in files
            if not re.fullmatch(r'".+"', written):
                fine = re.fullmatch(r"<.+>", written) and name not in headers and not in_csrc
            elif place(path) == "kernels":
                fine = found(path, name, files)
            else:
                fine = name.count("/") in (1, 2) and in_csrc
            if not fine:
                yield f"{path}: #include {written}"


def includes_upwards(files):
    """List includes of what does not lie below."""
    for path, target in project_includes(files):
        here = place(path)
        if place(target) not in (here, *BELOW.get(here, ())):
            yield f"{path} -> {target}"


def python_in_kernels(files):
    """List what kernels/ reaches that brings Python with it."""
    reached = {path for path in files if place(path) == "kernels"}
    edges = project_includes(files)
    while more := {target for path, target in edges if path in reached} - reached:
        reached |= more
    for path in sorted(reached):
        for written in INCLUDE.findall(files[path]):
            if re.search(r"Python\.h|numpy/", written):
                yield f"{path}: #include {written}"


def cycles(files):
    """List a cycle of files, a source and its header being one."""
    graph = {}
    for pair in project_includes(files):
        a, b = (str(PurePosixPath(name).with_suffix("")) for name in pair)
        if a != b:
            graph.setdefault(a, set()).add(b)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield " <- ".join(error.args[1])


RULES = {
    "a project's header is included by its path in csrc": badly_written,
    "no include goes up": includes_upwards,
    "kernels know nothing of Python": python_in_kernels,
    "no files include one another in a cycle": cycles,
}
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())


@every_rule
def test_the_layers_are_kept_apart(rule):
    wrong = list(rule(sources()))
    assert not wrong, "\n" + "\n".join(wrong)


def test_all_directories_are_there_and_no_other():
    files = sources()
    assert {place(path) for path in files} == set(BELOW)
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
    (badly_written, "csrc/arrays/view.c", '"view.h"', '"view.h"'),
    (badly_written, "csrc/arrays/view.c", '"../plan/plan.h"', '"../plan/plan.h"'),
    (badly_written, "csrc/arrays/view.c", '"arrays/nothing.h"', "nothing"),
    (badly_written, "csrc/plan/plan.h", "<arrays/view.h>", "<arrays/view.h>"),
    (badly_written, "csrc/plan/plan.h", "VIEW", "VIEW"),
    (badly_written, "kernels/tile.cuh", '"nothing.cuh"', "nothing"),
    (includes_upwards, "csrc/common/object.h", '"arrays/view.h"', "common/object.h -> csrc/ar"),
    (includes_upwards, "csrc/arrays/view.c", '"plan/plan.h"', "view.c -> csrc/plan/plan.h"),
    (includes_upwards, "csrc/cpu/host.h", '"cuda/cuda.h"', "host.h -> csrc/cuda/cuda.h"),
    (includes_upwards, "csrc/run/run.c", '"cpu/host.h"\n#endif', "run.c -> csrc/cpu"),
    (includes_upwards, "kernels/tile.cuh", '"arrays/view.h"', "tile.cuh -> csrc/arrays/view.h"),
    (python_in_kernels, "csrc/common/ground.h", "<Python.h>", "ground.h: #include"),
    (python_in_kernels, "kernels/tile.cuh", '"common/object.h"', "object.h: #include"),
    (cycles, "kernels/tile.cuh", '"ladder/rung.cuh"', "tile <- kernels/ladder/rung <- kernels"),
    (cycles, "csrc/arrays/view.h", '"arrays/loop.h"', "arrays/loop"),
]


@every_rule
def test_a_tree_in_order_breaks_no_rule(rule):
    assert not list(rule(TREE))


@pytest.mark.parametrize(("rule", "path", "name", "seen"), CHANGES)
def test_a_rule_that_is_broken_is_seen(rule, path, name, seen):
    (wrong,) = rule({**TREE, path: f"{TREE[path]}#if 0\n#  include {name}\n"})
    assert seen in wrong
