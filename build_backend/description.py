"""The long description that a package index shows: README.md with links that lead somewhere.

An index has none of the repository's files. Where the repository has an address, links to its files
begin with it; otherwise they become plain text, and pictures are left out.
"""

import re
from pathlib import Path

ADDRESS = ""  # of the repository's files, such as https://HOST/OWNER/gred/raw/main
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)]*)\)")


def long_description(readme: Path, address: str = ADDRESS) -> str:
    """Read the README, and turn its relative links into addresses."""

    def link(match: re.Match[str]) -> str:
        mark, text, path = match.groups()
        if address:
            return f"{mark}[{text}]({address}/{path})"
        return "" if mark else text

    return LINK.sub(link, readme.read_text(encoding="utf-8"))
