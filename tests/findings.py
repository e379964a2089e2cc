"""What a test that looks at many cases has found wrong."""


def all_right(findings):
    """Fail with what was found wrong, the first few of it."""
    found = [finding for finding in findings if finding]
    assert not found, f"{len(found)} wrong:\n" + "\n".join(found[:10])
