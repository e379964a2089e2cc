"""Tests of refused calls, made from tables."""

from functools import partial

import pytest


def refused(*cases):
    """Make a test of calls: each case is a function, the error that it raises, and its words."""

    @pytest.mark.parametrize(("call", "error", "words"), cases, ids=range(len(cases)))
    def test(call, error, words):
        with pytest.raises(error, match=words):
            call()

    return test


def refused_by(function, *cases):
    """Make a test of one function: each case has arguments, options, an error, and its words."""
    return refused(*((partial(function, *given, **more), *error) for given, more, *error in cases))
