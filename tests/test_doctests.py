"""What the README and the docstrings show is what happens."""

import doctest
import importlib
from pathlib import Path

import pytest

import gred
import gred.counting
import gred.exact
import gred.measure
import gred.order
import gred.prediction
import gred.recording
import gred.records
import gred.testing
import gred.workspace

pytestmark = pytest.mark.unsanitized

README = Path(__file__).parent.parent / "README.md"
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run_examples(text):
    examples = doctest.DocTestParser().get_doctest(text, {}, README.name, str(README), 0)
    return doctest.DocTestRunner(optionflags=OPTIONS).run(examples)


def test_the_readmes_examples_are_true():
    results = run_examples(README.read_text(encoding="utf-8"))
    assert results.attempted > 5
    assert results.failed == 0


@pytest.mark.parametrize("name", ["dask", "mpi"])
def test_the_examples_of_clusters_docstrings_are_true(name):
    pytest.importorskip({"dask": "dask.array", "mpi": "mpi4py"}[name])
    results = doctest.testmod(importlib.import_module(f"gred.{name}"), optionflags=OPTIONS)
    assert results.attempted > 0
    assert results.failed == 0


MODULES = (
    gred,
    gred.counting,
    gred.exact,
    gred.measure,
    gred.order,
    gred.prediction,
    gred.recording,
    gred.records,
    gred.testing,
    gred.workspace,
)


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_python_docstrings_are_true(module):
    results = doctest.testmod(module, optionflags=OPTIONS)
    assert results.attempted > 0 or module is gred.measure
    assert results.failed == 0


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "mean", "dot"])
def test_the_examples_of_the_cores_docstrings_are_true(name):
    text = getattr(gred, name).__doc__
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    assert example.examples
    assert doctest.DocTestRunner(optionflags=OPTIONS).run(example).failed == 0
