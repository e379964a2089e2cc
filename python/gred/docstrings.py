"""Docstrings, and functions, that are made of tables: what an argument means is said once for all.

`gred._core` asks for those of the reductions when it is imported.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

NEEDED: Any = inspect.Parameter.empty  # the default of what has none
# By a parameter's name its default, its type and what it is, in words.
Parameters = Mapping[str, tuple[Any, str, str]]
# Those that functions for other libraries take, in their order.
OPTIONS: Parameters = {
    "axis": (None, "int or tuple of int, optional", "As for `gred.{name}`: all by default."),
    "keepdims": (False, "bool, default False", "Whether reduced axes stay, with length 1."),
    "dtype": (None, "data-type, optional", "As for `gred.{name}`."),
    "ord": (None, "{None, 2, 1, 0, inf, -inf}, optional", "Which norm it is; 2 by default."),
    "ddof": (0, "float, default 0", "What is taken from the number of elements for the divisor."),
}

# Sections, each under its name; <name> stands for an earlier one. That of a reduction has what it
# returns, and its examples.
_SOURCE = __file__.rpartition(".")[0] + ".txt"

_SPREADS = ("std", "var", "nanstd", "nanvar")
_RAISES = {
    "norm": "    Or if there is no such `ord`, or no element for the minimum magnitude.\n",
    **dict.fromkeys(_SPREADS, "    Or if both `ddof` and `correction` are given.\n"),
}
_WARNS = {
    "mean": "no element takes part",
    "nanmean": "no element that is not NaN takes part",
    **dict.fromkeys(("nanmin", "nanmax"), "all elements are NaN, which the result is then"),
    **dict.fromkeys(_SPREADS, "no more elements than `ddof` take part"),
}


def _sections() -> dict[str, str]:
    """Take the source apart, and put sections where later ones name them."""
    with open(_SOURCE, encoding="utf-8") as file:
        text = file.read()
    _, *parts = re.split(r"^= (.+)\n", text, flags=re.MULTILINE)
    sections: dict[str, str] = {}
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        for other in re.findall(r"<([a-z]+)>", text):
            text = text.replace(f"<{other}>", sections[other].rstrip("\n"))
        sections[name] = text
    return sections


_TEXTS = _sections()


def _parameters(name: str, arguments: tuple[str, ...], ladder: bool, nothing: str) -> str:
    """Describe the arguments as the reduction takes them."""
    instead = {"method": "method of the ladder"} if ladder else {}
    instead |= {"axis": "one axis"} if "arg" in name else {}
    more = {"initial": _TEXTS.get(f"initial or {nothing}", "")}
    if "dtype" in arguments and name not in ("norm", *_SPREADS):
        more["out"] = _TEXTS["out promotes"]
    return "".join(_TEXTS[instead.get(each, each)] + more.get(each, "") for each in arguments)


def docstring(
    name: str,
    summary: str,
    defaults: list[tuple[str, str]],
    positional: int,
    unnamed: int,
    ladder: bool,
    nothing: str,
) -> str:
    """Put together a reduction's docstring, which begins with the signature for ``inspect``.

    `ladder`: every rung takes it; `nothing`: what it is of no elements, as
    csrc/common/reductions.def has it.
    """
    shown = [f"{each}={default}" if default else each for each, default in defaults]
    shown.insert(positional, "*")
    if unnamed:
        shown.insert(unnamed, "/")
    arguments = tuple(each for each, _ in defaults)
    head = f"{name}($module, {', '.join(shown)})\n--\n\n"
    if name == "dot":
        return head + _TEXTS[f"gred.{name}"]
    returns, examples = _TEXTS[f"gred.{name}"].split(">>>", 1)
    returns += _TEXTS["out returned"] if "out" in arguments else ""
    raises = _TEXTS["raises"] + (_RAISES.get(name) or _TEXTS.get(f"raises {nothing}", ""))
    raises += _TEXTS["raises overflow"] if "initial" in arguments else ""
    warns = f"RuntimeWarning\n    If {_WARNS[name]}.\n" if name in _WARNS else ""
    warns += _TEXTS["warns complex"] if "dtype" in arguments else ""
    parts = {
        "Parameters": _parameters(name, arguments, ladder, nothing),
        "Returns": returns,
        "Raises": raises + _TEXTS["raises on devices"],
        "Warns": _TEXTS["warns"] + warns,
        "Examples": ">>> import gred, numpy as np\n>>>" + examples,
    }
    titled = (f"\n{title}\n{'-' * len(title)}\n{text}" for title, text in parts.items())
    return f"{head}{summary}\n{''.join(titled)}"


def filled(docstring: str, name: str, parameters: Mapping[str, Any], **texts: str) -> str:
    """Put parameters, and what gred says of its own function of that name, into a docstring."""
    own = inspect.getdoc(getattr(importlib.import_module("gred"), name)) or ""
    rows = "".join(f"{one} : {kind}\n    {text}\n" for one, (*_, kind, text) in parameters.items())
    texts |= {"summary": own.partition("\n")[0], "parameters": rows.replace("{name}", name)}
    return docstring.format(name=name, **texts)


def made(
    module: str,
    name: str,
    docstring: str,
    parameters: Parameters,
    keywords: Parameters,
    call: Callable[..., Any],
    **texts: str,
) -> Callable[..., Any]:
    """Make a function of parameters that go by position, too, and of keywords.

    It calls `call` with all of them by name. Its docstring is `filled`.
    """
    either, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    signature = inspect.Signature(
        [inspect.Parameter(one, either, default=row[0]) for one, row in parameters.items()]
        + [inspect.Parameter(one, keyword, default=row[0]) for one, row in keywords.items()]
    )

    def function(*arguments: Any, **options: Any) -> Any:
        given = signature.bind(*arguments, **options)
        given.apply_defaults()
        return call(**given.arguments)

    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = filled(docstring, name, {**parameters, **keywords}, **texts)
    vars(function)["__signature__"] = signature
    return function
