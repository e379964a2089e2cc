"""Directories of csrc/ include what is below them, kernels/ only plain headers; no cycles.

Every `#include` is read as it is written, without a compiler and whatever `#if` it stands in. A
source and its header count as one: `plan.c` and `plan.h` are the file `plan`.
"""

import posixpath
import re
from graphlib import CycleError, TopologicalSorter

import pytest
from test_sizes import sources as all_sources

pytestmark = pytest.mark.unsanitized

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
    return {p: text for p, text in all_sources().items() if p.startswith(("csrc/", "kernels/"))}


def place(path):
    return path.removeprefix("csrc/").split("/")[0]


def includes(files):
    """Give each include: by which file, as it is written, and the project's file that it means."""
    for path, text in files.items():
        in_kernels = place(path) == "kernels"
        folders = [posixpath.dirname(path), "kernels", "csrc"] if in_kernels else ["csrc"]
        for written in INCLUDE.findall(text):
            named = [posixpath.normpath(f"{folder}/{written[1:-1]}") for folder in folders]
            target = next((one for one in named if one in files), None)
            yield path, written, target if written.startswith('"') else None


# ---- rules: each gives what breaks it ----


def badly_written(files):
    """Includes that do not say where a header lies in csrc, or that nobody could follow."""
    headers = {posixpath.basename(path) for path in files}
    for path, written, target in includes(files):
        name = written[1:-1]
        if re.fullmatch(r"<.+>", written):
            fine = name not in headers and f"csrc/{name}" not in files
        else:
            plain = target == f"csrc/{name}" and name.count("/") in (1, 2)
            fine = target if place(path) == "kernels" else plain
        if not fine:
            yield f"{path}: #include {written}"


def upwards(files):
    """Includes of what does not lie below."""
    for path, _, target in includes(files):
        if target and place(target) not in (place(path), *BELOW[place(path)]):
            yield f"{path} -> {target}"


def python_in_kernels(files):
    """Includes of Python by kernels/, and by the headers that it may include."""
    for path, written, _ in includes(files):
        reached = place(path) in ("kernels", "common") and not path.endswith(".c")
        if reached and re.search(r"Python\.h|numpy/", written):
            yield f"{path}: #include {written}"


def cycles(files):
    """A cycle of files, a source and its header being one."""
    graph = {}
    for path, _, target in includes(files):
        a, b = (posixpath.splitext(name or path)[0] for name in (path, target))
        if a != b:
            graph.setdefault(a, set()).add(b)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield " <- ".join(error.args[1])


@pytest.mark.parametrize("rule", [badly_written, upwards, python_in_kernels, cycles])
def test_the_layers_are_kept_apart(rule):
    wrong = list(rule(sources()))
    assert not wrong, "\n" + "\n".join(wrong)


def test_every_directory_has_its_layer():
    assert {place(path) for path in sources()} == set(BELOW)


# What is wrong if a file of the tree includes something more, and how a rule says so.
WRONG = [
    (badly_written, "csrc/arrays/array.c", '"view.h"', '"view.h"'),
    (badly_written, "csrc/arrays/array.c", '"../plan/plan.h"', '"../plan/plan.h"'),
    (badly_written, "csrc/plan/plan.h", "<arrays/view.h>", "<arrays/view.h>"),
    (badly_written, "csrc/plan/plan.h", "VIEW", "VIEW"),
    (badly_written, "kernels/tile.cuh", '"nothing.cuh"', "nothing"),
    (upwards, "csrc/common/layout.h", '"arrays/view.h"', "layout.h -> csrc/arrays/view.h"),
    (upwards, "csrc/cpu/backend.c", '"cuda/gpus.h"', "cpu/backend.c -> csrc/cuda"),
    (upwards, "kernels/tile.cuh", '"arrays/view.h"', "tile.cuh -> csrc/arrays/view.h"),
    (python_in_kernels, "csrc/common/layout.h", "<Python.h>", "layout.h: #include"),
    (cycles, "kernels/tile.cuh", '"ladder/13_shared_sequential.cuh"', "tile <- kernels/ladder"),
    (cycles, "csrc/arrays/view.h", '"arrays/array.h" // a comment', "arrays/array"),
]


@pytest.mark.parametrize(("rule", "path", "name", "seen"), WRONG)
def test_a_rule_that_is_broken_is_seen(rule, path, name, seen):
    files = sources()
    (wrong,) = rule({**files, path: f"{files[path]}#if 0\n#  include {name}\n"})
    assert seen in wrong
