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


def functions(path, text):
    """Give the functions of a file, and how many lines each has; in Python, its docstring too."""
    if path.endswith(".py"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node.name, node.end_lineno - node.lineno + 1
    elif path.endswith(C):
        for body in BODY.finditer(text):
            yield body[1], body[2].count("\n")


def structs(path, text):
    """Give the structs of C, and how many fields each has; several may be declared at once."""
    for name, body in STRUCT.findall(text) if path.startswith("csrc") else ():
        declarations = COMMENT.sub("", body).split(";")[:-1]
        yield name, sum(1 if "(" in one else one.count(",") + 1 for one in declarations)


def too_large(files):
    """List what is larger than it may be."""
    folders = Counter(path.rpartition("/")[0] for path in files)
    sizes = [(f"{folder}: files", count, 25) for folder, count in folders.items()]
    for path, text in files.items():
        sizes.append((f"{path}: lines", text.count("\n"), 450))
        for names, most, unit in ((functions, 60, "lines"), (structs, 20, "fields")):
            sizes += ((f"{path}: {name}: {unit}", n, most) for name, n in names(path, text))
    return [f"{what}: {size} of {most}" for what, size, most in sizes if size > most]


def test_nothing_is_larger_than_one_can_read():
    wrong = too_large(sources())
    assert not wrong, "\n" + "\n".join(wrong)


LARGE = [
    ({f"csrc/run/{k}.c": "" for k in range(26)}, "csrc/run: files: 26 of 25"),
    ({"kernels/a.cuh": "\n" * 451}, "kernels/a.cuh: lines: 451 of 450"),
    ({"csrc/a.c": "void f(void)\n{\n" + "    x = 0;\n" * 61 + "}\n"}, "f(void): lines: 61 of 60"),
    ({"tests/a.py": "def f():\n" + "    x = 0\n" * 60}, "f: lines: 61 of 60"),
    ({"csrc/a.h": "struct a {\n" + "    int x, y;\n" * 11 + "};\n"}, "a: fields: 22 of 20"),
]


@pytest.mark.parametrize(("files", "seen"), LARGE)
def test_what_is_larger_is_seen(files, seen):
    (wrong,) = too_large(files)
    assert wrong.endswith(seen)
