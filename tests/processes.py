"""Pythons of their own, for what must not have happened before."""

import os
import subprocess
import sys
import textwrap


def printed(code: str, **environment: str) -> str:
    """Run code in a Python of its own, and return what it prints."""
    child = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        env={**os.environ, **environment},
    )
    assert child.returncode == 0, child.stderr
    return child.stdout
