"""What texts show is what happens."""

import doctest

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def check_examples(text: str, name: str, *, more_than: int = 0) -> None:
    """Run the examples of a text, of which there are so many."""
    examples = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    results = doctest.DocTestRunner(optionflags=OPTIONS).run(examples)
    assert results.attempted > more_than
    assert results.failed == 0
