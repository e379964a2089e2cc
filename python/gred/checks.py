"""What several modules check: integers that they are given, and what is not installed with gred."""

from __future__ import annotations

import importlib
import operator
from types import ModuleType
from typing import Any


def integer_from(value: Any, name: str) -> int:
    """Read a whole number."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer; got {value!r}") from None


def number_from(value: Any, name: str, most: int) -> int:
    """Read a whole number from 1 to `most`."""
    number = integer_from(value, name)
    if not 1 <= number <= most:
        raise ValueError(f"{name} must be from 1 to {most}; got {value!r}")
    return number


def needed(name: str, extra: str) -> ModuleType:
    """Import a module that one of gred's extras brings; the ImportError says which."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"this needs {name}, which cannot be imported ({error}); pip install 'gred[{extra}]' "
            "brings it",
            name=name,
        ) from error
