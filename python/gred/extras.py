"""What is not installed with gred, and what brings it."""

from __future__ import annotations

import importlib
from types import ModuleType


def needed(name: str, extra: str) -> ModuleType:
    """Import a module that one of gred's extras brings, or say so.

    Parameters
    ----------
    name : str
        The module's.
    extra : str
        The extra's.

    Returns
    -------
    module

    Raises
    ------
    ImportError
        If it cannot be imported.

    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"this needs {name}, which cannot be imported ({error}); pip install 'gred[{extra}]' "
            "brings it",
            name=name,
        ) from error
