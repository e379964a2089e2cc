"""Pythons of their own, for what must not have happened before."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

HERE = str(Path(__file__).parent)


def printed(
    code: str, *more: str, arguments=(), dropped=(), path: bool = False, **environment: str
) -> str:
    """Run code, one piece after the other, in a Python of its own, and return what it prints.

    With `path` it finds the modules of this folder; `dropped` are variables that it does not get.
    """
    variables = {name: text for name, text in os.environ.items() if name not in dropped}
    if path:
        variables["PYTHONPATH"] = os.pathsep.join([HERE, *filter(None, sys.path)])
    child = subprocess.run(
        [sys.executable, "-c", "\n".join(map(textwrap.dedent, (code, *more))), *arguments],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        env={**variables, **environment},
    )
    assert child.returncode == 0, child.stderr
    return child.stdout
