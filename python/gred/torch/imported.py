"""PyTorch, or what is to be said where it is missing or too old."""

from __future__ import annotations

from typing import Any

from gred.checks import needed


def refuse(*_: Any) -> Any:
    """Import it; the ImportError says what brings it."""
    return needed("torch", "torch", (2, 5))


try:
    torch = refuse()
except ImportError:
    torch = None
