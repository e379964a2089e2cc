"""Rules for what sources may include and how large they may be.

Directories of csrc/ include only lower ones, kernels/ only plain headers, without cycles. Every
`#include` counts, inside any `#if`. A source and its header, such as `plan.c` and `plan.h`, count
as one file, `plan`. No folder has more than 25 sources, no file more than 450 lines, no function
more than 60, no struct more than 20 fields. Also checks that every planted defect still applies.
"""

import ast
import functools
import json
import posixpath
import re
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

pytestmark = pytest.mark.unsanitized

ROOT = Path(__file__).parents[2]
FOLDERS = ("csrc", "kernels", "python/gred", "tests", "benchmarks", "build_backend", "docs")
C = (".c", ".h", ".cc", ".cpp", ".cu", ".cuh", ".def")
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b[ \t]*(.*?)[ \t]*(?:/[/*].*)?$", re.MULTILINE)
RUN = ("run", "threads", "schedule", "plan", "arrays", "common")
BACKENDS = ("cpu", "simulated", "cuda")
BELOW = {  # what each directory may include besides itself
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
# A function body: a brace on a line of its own, after a line that ends the parameters.
BODY = re.compile(r"^(.*\).*)\n\{\n((?:(?!\}).*\n)*)\}", re.MULTILINE)
STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


@functools.cache
def every_source():
    """Read the sources; folders behind a package's links are read on their own."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in (*C, ".py", ".pyi") and not path.parent.is_symlink()
    }


def sources():
    """Select the C and CUDA sources."""
    every = every_source().items()
    return {path: text for path, text in every if path.startswith(("csrc/", "kernels/"))}


def place(path):
    return path.removeprefix("csrc/").split("/")[0]


def includes(files):
    """Yield each include: the file, the text, and the project file that it refers to."""
    for path, text in files.items():
        in_kernels = place(path) == "kernels"
        folders = [posixpath.dirname(path), "kernels", "csrc"] if in_kernels else ["csrc"]
        for written in INCLUDE.findall(text):
            named = [posixpath.normpath(f"{folder}/{written[1:-1]}") for folder in folders]
            target = next((one for one in named if one in files), None)
            yield path, written, target if written.startswith('"') else None


# ---- rules: each yields what breaks it ----


def badly_written(files):
    """Includes without the header's folder in csrc, or that cannot be resolved."""
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
    """Includes of higher directories."""
    for path, _, target in includes(files):
        if target and place(target) not in (place(path), *BELOW[place(path)]):
            yield f"{path} -> {target}"


def python_in_kernels(files):
    """Includes of Python headers in kernels/ and in the headers that it may include."""
    for path, written, _ in includes(files):
        reached = place(path) in ("kernels", "common") and not path.endswith(".c")
        if reached and re.search(r"Python\.h|numpy/", written):
            yield f"{path}: #include {written}"


def cycles(files):
    """A cycle of files, where a source and its header count as one."""
    graph = {}
    for path, _, target in includes(files):
        a, b = (posixpath.splitext(name or path)[0] for name in (path, target))
        if a != b:
            graph.setdefault(a, set()).add(b)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield " <- ".join(error.args[1])


def functions(path, text):
    """Yield a file's functions and their numbers of lines, docstrings included."""
    if path.endswith(".py"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node.name, node.end_lineno - node.lineno + 1
    elif path.endswith(C):
        for body in BODY.finditer(text):
            yield body[1], body[2].count("\n")


def structs(path, text):
    """Yield the structs of C and their numbers of fields; a declaration may have several."""
    for name, body in STRUCT.findall(text) if path.startswith("csrc") else ():
        declarations = COMMENT.sub("", body).split(";")[:-1]
        yield name, sum(1 if "(" in one else one.count(",") + 1 for one in declarations)


def too_large(files):
    """List what is larger than allowed."""
    folders = Counter(path.rpartition("/")[0] for path in files)
    sizes = [(f"{folder}: files", count, 25) for folder, count in folders.items()]
    for path, text in files.items():
        sizes.append((f"{path}: lines", text.count("\n"), 450))
        for names, most, unit in ((functions, 60, "lines"), (structs, 20, "fields")):
            sizes += ((f"{path}: {name}: {unit}", n, most) for name, n in names(path, text))
    return [f"{what}: {size} of {most}" for what, size, most in sizes if size > most]


RULES = (badly_written, upwards, python_in_kernels, cycles, too_large)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_layers_are_kept_apart_and_nothing_is_larger_than_one_can_read(rule):
    wrong = list(rule(every_source() if rule is too_large else sources()))
    assert not wrong, "\n" + "\n".join(wrong)


def test_every_directory_has_its_layer():
    assert {place(path) for path in sources()} == set(BELOW)


# A rule, a file, text that breaks the rule when appended to it, and words of the message.
WRONG = [
    (badly_written, "csrc/arrays/array.c", '#include "view.h"', '"view.h"'),
    (badly_written, "csrc/arrays/array.c", '#include "../plan/plan.h"', '"../plan/plan.h"'),
    (badly_written, "csrc/plan/plan.h", "#include <arrays/view.h>", "<arrays/view.h>"),
    (badly_written, "csrc/plan/plan.h", "#if 0\n#  include VIEW", "VIEW"),
    (badly_written, "kernels/tile.cuh", '#include "nothing.cuh"', "nothing"),
    (upwards, "csrc/common/layout.h", '#include "arrays/view.h"', "layout.h -> csrc/arrays/view.h"),
    (upwards, "csrc/cpu/backend.c", '#include "cuda/gpus.h"', "cpu/backend.c -> csrc/cuda"),
    (upwards, "kernels/tile.cuh", '#include "arrays/view.h"', "tile.cuh -> csrc/arrays/view.h"),
    (python_in_kernels, "csrc/common/layout.h", "#include <Python.h>", "layout.h: #include"),
    (cycles, "kernels/tile.cuh", '#include "ladder/13_shared_sequential.cuh"', "tile <- kernels"),
    (cycles, "csrc/arrays/view.h", '#include "arrays/array.h" // a comment', "arrays/array"),
    (too_large, "kernels/a.cuh", "\n" * 450, "kernels/a.cuh: lines: 451 of 450"),
    (too_large, "csrc/a.c", "void f(void)\n{\n" + 61 * "    x = 0;\n" + "}", "lines: 61 of 60"),
    (too_large, "tests/a.py", "def f():\n" + 60 * "    x = 0\n", "f: lines: 61 of 60"),
    (too_large, "csrc/a.h", "struct a {\n" + 11 * "    int x, y;\n" + "};", "fields: 22 of 20"),
]


@pytest.mark.parametrize(("rule", "path", "text", "seen"), WRONG)
def test_a_rule_that_is_broken_is_seen(rule, path, text, seen):
    files = sources()
    (wrong,) = rule({**files, path: f"{files.get(path, '')}{text}\n"})
    assert seen in wrong


def test_every_defect_can_be_planted_in_this_tree(benchmarks):
    defects = benchmarks.defects.DEFECTS
    for defect in defects:
        assert defect.planted(text_of(defect.file)) != text_of(defect.file)
        assert all((ROOT / "tests" / name).exists() for name in defect.tests.split()), defect.name
    assert {defect.kind for defect in defects} == set(benchmarks.defects.KINDS)
    for text in ("", 2 * defect.old):  # the code is missing or not unique
        with pytest.raises(ValueError, match=rf"{defect.name}.*{defect.file}"):
            defect.planted(text)


def test_what_is_told_of_defects_is_what_was_found(benchmarks):
    kept = json.loads(text_of("benchmarks/results/mutations.json"))
    assert [row["name"] for row in kept] == [defect.name for defect in benchmarks.defects.DEFECTS]
    found = [row["found_by"] for row in kept if row["found_by"]]
    assert all((ROOT / test.partition("::")[0]).exists() for test in found)
    told = " ".join(text_of("CONTRIBUTING.md").split())
    assert f"Of {len(kept)} the default run finds {len(found)};" in told
