"""What the README and the docstrings show is what happens."""

import doctest
import importlib
from pathlib import Path

import pytest

import gred

pytestmark = pytest.mark.unsanitized

README = Path(__file__).parent.parent / "README.md"
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# Modules that need libraries of their own; what gred.torch shows takes several processes.
NEEDED = {"gred.dask": "dask.array", "gred.mpi": "mpi4py"}
MODULES = sorted(
    "gred" if path.stem == "__init__" else f"gred.{path.stem}"
    for path in Path(gred.__file__).parent.glob("*.py")
    if ">>> " in path.read_text(encoding="utf-8") and path.stem not in ("torch", "docstrings")
)


def run_examples(text, name):
    examples = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    return doctest.DocTestRunner(optionflags=OPTIONS).run(examples)


def test_the_readmes_examples_are_true():
    results = run_examples(README.read_text(encoding="utf-8"), README.name)
    assert results.attempted > 5
    assert results.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_python_docstrings_are_true(name):
    pytest.importorskip(NEEDED.get(name, "gred"))
    results = doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "mean", "dot"])
def test_the_examples_of_the_cores_docstrings_are_true(name):
    results = run_examples(getattr(gred, name).__doc__, name)
    assert results.attempted > 0
    assert results.failed == 0
