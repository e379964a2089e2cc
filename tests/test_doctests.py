"""What the README and the docstrings show is what happens."""

import doctest
from pathlib import Path

import pytest

import gred
import gred.counting
import gred.exact
import gred.measure
import gred.order
import gred.records
import gred.testing
import gred.workspace

README = Path(__file__).parent.parent / "README.md"
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def test_the_readmes_examples_are_true():
    results = doctest.testfile(str(README), module_relative=False, optionflags=OPTIONS)
    assert results.attempted > 5
    assert results.failed == 0


MODULES = (
    gred,
    gred.counting,
    gred.exact,
    gred.measure,
    gred.order,
    gred.records,
    gred.testing,
    gred.workspace,
)


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_python_docstrings_are_true(module):
    results = doctest.testmod(module, optionflags=OPTIONS)
    assert results.attempted > 0 or module is gred.measure
    assert results.failed == 0


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "mean"])
def test_the_examples_of_the_cores_docstrings_are_true(name):
    text = getattr(gred, name).__doc__
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    assert example.examples
    assert doctest.DocTestRunner(optionflags=OPTIONS).run(example).failed == 0
