"""No folder has over 25 sources, no file over 450 lines, no function over 60, no struct over 20."""

import ast
import functools
import re
from collections import Counter
from pathlib import Path

import pytest

pytestmark = pytest.mark.unsanitized

ROOT = Path(__file__).parents[2]
FOLDERS = ("csrc", "kernels", "python/gred", "tests", "benchmarks", "build_backend", "docs")
C = (".c", ".h", ".cc", ".cpp", ".cu", ".cuh", ".def")
# A body begins with a brace of its own, after a line with the end of parameters.
BODY = re.compile(r"^(.*\).*)\n\{\n((?:(?!\}).*\n)*)\}", re.MULTILINE)
STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


@functools.cache
def sources():
    """Read the sources; a package's links lead to folders that are looked at by themselves."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in (*C, ".py", ".pyi") and not path.parent.is_symlink()
    }


def crowded(files):
    for folder, count in Counter(path.rpartition("/")[0] for path in files).items():
        if count > 25:
            yield f"{folder}: {count} files"


def long_files(files):
    for path, text in files.items():
        if text.count("\n") > 450:
            yield f"{path}: {text.count(chr(10))} lines"


def functions(path, text):
    """Give the functions of a file, and how many lines each has; in Python, its docstring too."""
    if path.endswith(".py"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node.name, node.end_lineno - node.lineno + 1
    elif path.endswith(C):
        for body in BODY.finditer(text):
            yield body[1], body[2].count("\n")


def long_functions(files):
    for path, text in files.items():
        for name, lines in functions(path, text):
            if lines > 60:
                yield f"{path}: {name} has {lines} lines"


def large_structs(files):
    """Look at C, where structs have nothing but fields; several may be declared at once."""
    for path, text in files.items():
        for name, body in STRUCT.findall(text) if path.startswith("csrc") else ():
            declarations = COMMENT.sub("", body).split(";")[:-1]
            fields = sum(1 if "(" in one else one.count(",") + 1 for one in declarations)
            if fields > 20:
                yield f"{path}: struct {name} has {fields} fields"


RULES = (crowded, long_files, long_functions, large_structs)


@pytest.mark.parametrize("rule", RULES)
def test_nothing_is_larger_than_one_can_read(rule):
    wrong = list(rule(sources()))
    assert not wrong, "\n" + "\n".join(wrong)


LINES = "    int x = 0;\n"
LARGE = [
    (crowded, {f"csrc/run/{k}.c": "" for k in range(26)}, "csrc/run: 26"),
    (long_files, {"kernels/a.cuh": "\n" * 451}, "a.cuh: 451"),
    (long_functions, {"csrc/a.c": "void f(void)\n{\n" + LINES * 61 + "}\n"}, "f(void) has 61"),
    (long_functions, {"tests/a.py": "def f():\n" + "    x = 0\n" * 60}, "f has 61"),
    (large_structs, {"csrc/a.h": "struct a {\n" + "    int x, y;\n" * 11 + "};\n"}, "a has 22"),
]


@pytest.mark.parametrize(("rule", "files", "seen"), LARGE)
def test_what_is_larger_is_seen(rule, files, seen):
    (wrong,) = rule(files)
    assert seen in wrong
