"""Checks that the examples in texts run as shown."""

import doctest

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def check_examples(text: str, name: str, *, more_than: int = 0) -> None:
    """Run the examples of a text, which must have more than this many."""
    examples = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    results = doctest.DocTestRunner(optionflags=OPTIONS).run(examples)
    assert results.attempted > more_than
    assert results.failed == 0
