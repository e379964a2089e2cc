"""Tests of calls that are refused, made of tables."""

from functools import partial

import pytest


def refused(*cases):
    """Make a test of calls: each is a function, the error that it raises, and words of it."""

    @pytest.mark.parametrize(("call", "error", "words"), cases, ids=range(len(cases)))
    def test(call, error, words):
        with pytest.raises(error, match=words):
            call()

    return test


def refused_by(function, *cases):
    """Make a test of one function's calls: arguments, options, the error, and words of it."""
    return refused(*((partial(function, *given, **more), *error) for given, more, *error in cases))
