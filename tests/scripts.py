"""The scripts of benchmarks/, imported as they import one another when a test first names them."""

import importlib
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"


class Scripts:
    """The scripts as attributes, some by shorter names."""

    def __init__(self, monkeypatch, **shorter):
        monkeypatch.syspath_prepend(str(BENCHMARKS))
        self._shorter = shorter

    def __getattr__(self, name):
        return importlib.import_module(self._shorter.get(name, name))
