"""Examples of the docstrings of gred.torch are true, and each function has one."""

import doctest

import pytest

import gred.torch

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("name", [None, *gred.torch.__all__])
def test_the_examples_of_docstrings_are_true(name):
    pytest.importorskip("torch", minversion="2.5")
    text = (gred.torch if name is None else getattr(gred.torch, name)).__doc__
    examples = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    results = doctest.DocTestRunner(optionflags=OPTIONS).run(examples)
    assert results.attempted > 0 or name == "all_reduce"  # which takes several processes
    assert results.failed == 0
