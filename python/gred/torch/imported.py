"""PyTorch, or what is to be said where it is missing or too old."""

from __future__ import annotations

from typing import Any

from gred.checks import needed


def _found() -> tuple[Any, Exception]:
    try:
        return needed("torch", "torch", (2, 5)), AssertionError("it is there")
    except ImportError as error:
        return None, error


torch, _missing = _found()
registry: Any = getattr(torch, "library", None)  # by which operators are registered


def refuse() -> bool:
    """Raise an ImportError that says what brings it."""
    raise _missing
