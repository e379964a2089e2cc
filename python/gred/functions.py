"""Functions that are made of a table of parameters: their signatures, and their docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

NEEDED: Any = inspect.Parameter.empty  # the default of what has none
# By a parameter's name its default, its type and what it is, in words.
Parameters = Mapping[str, tuple[Any, str, str]]


def made(
    module: str,
    name: str,
    docstring: str,
    parameters: Parameters,
    keywords: Parameters,
    call: Callable[..., Any],
) -> Callable[..., Any]:
    """Make a function of x, of parameters that go by position, too, and of keywords.

    It calls `call` with all of them by name. In its docstring they take the place of
    ``{parameters}``.
    """
    either, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    signature = inspect.Signature(
        [
            inspect.Parameter("x", either),
            *(inspect.Parameter(one, either, default=row[0]) for one, row in parameters.items()),
            *(inspect.Parameter(one, keyword, default=row[0]) for one, row in keywords.items()),
        ]
    )

    def function(*arguments: Any, **options: Any) -> Any:
        given = signature.bind(*arguments, **options)
        given.apply_defaults()
        return call(**given.arguments)

    rows = {**parameters, **keywords}.items()
    described = "".join(f"{one} : {kind}\n    {text}\n" for one, (_, kind, text) in rows)
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = docstring.replace("{parameters}", described).replace("{name}", name)
    vars(function)["__signature__"] = signature
    return function
