"""The long description for package indexes: README.md with absolute links.

An index has none of the repository's files. If the repository has an address, links to its files
start with it; otherwise they become plain text, and pictures are removed.
"""

import re
from pathlib import Path

ADDRESS = ""  # of the repository's files, such as https://HOST/OWNER/gred/raw/main
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)]*)\)")


def long_description(readme: Path, address: str = ADDRESS) -> str:
    """Return the README with its relative links replaced."""

    def link(match: re.Match[str]) -> str:
        mark, text, path = match.groups()
        if address:
            return f"{mark}[{text}]({address}/{path})"
        return "" if mark else text

    return LINK.sub(link, readme.read_text(encoding="utf-8"))
