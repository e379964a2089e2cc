"""Build docstrings and wrapper functions from tables, so that each argument is documented once.

`gred._core` calls `docstring` for each reduction when it is imported.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

NEEDED: Any = inspect.Parameter.empty  # default of a required parameter
# Parameter name -> default, type, description.
Parameters = Mapping[str, tuple[Any, str, str]]
# Parameters of the functions for other libraries, in order.
OPTIONS: Parameters = {
    "axis": (None, "int or tuple of int, optional", "As for `gred.{name}`; all axes by default."),
    "keepdims": (False, "bool, default False", "If True, reduced axes are kept, with length 1."),
    "dtype": (None, "data-type, optional", "As for `gred.{name}`."),
    "ord": (None, "{None, 2, 1, 0, inf, -inf}, optional", "Order of the norm; 2 by default."),
    "ddof": (0, "float, default 0", "The divisor is the number of elements minus ddof."),
}

# Sections "= name"; <name> inserts an earlier section. A reduction's section holds its Returns and
# its Examples.
_SOURCE = __file__.rpartition(".")[0] + ".txt"

_SPREADS = ("std", "var", "nanstd", "nanvar")
_RAISES = {
    "norm": "    Or if `ord` is not valid, or is -inf and no elements are included.\n",
    **dict.fromkeys(_SPREADS, "    Or if both `ddof` and `correction` are given.\n"),
}
_WARNS = {
    "mean": "no elements are included",
    "nanmean": "no elements are included, or all are NaN",
    **dict.fromkeys(("nanmin", "nanmax"), "all elements are NaN; the result is then NaN"),
    **dict.fromkeys(_SPREADS, "the number of included elements is not greater than `ddof`"),
}


def _sections() -> dict[str, str]:
    """Read the sections of the source, and insert those that others refer to."""
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
    """Build the Parameters section of a reduction."""
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
    """Build a reduction's docstring, headed by the signature that ``inspect`` reads.

    `ladder`: all rungs implement the reduction. `nothing`: its result for no elements, one of the
    kinds in csrc/common/reductions.def.
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
    return f"{head}{summary}\n{_titled(parts)}"


def _titled(sections: Mapping[str, str]) -> str:
    return "".join(f"\n{title}\n{'-' * len(title)}\n{text}" for title, text in sections.items())


def of_own(name: str, parameters: Mapping[str, Any], **sections: str) -> str:
    """Build a docstring of parameters, sections, and the summary of gred's function `name`."""
    own = inspect.getdoc(getattr(importlib.import_module("gred"), name)) or ""
    summary, *_ = own.split("\n")
    rows = "".join(f"{one} : {kind}\n    {text}\n" for one, (*_, kind, text) in parameters.items())
    made = _titled({"Parameters": rows, **sections}).replace("{name}", name)
    return f"{summary}\n{made}"


def make_function(
    module: str,
    name: str,
    parameters: Parameters,
    keywords: Parameters,
    call: Callable[..., Any],
    **sections: str,
) -> Callable[..., Any]:
    """Create a function that passes all of its arguments to `call` by name.

    `parameters` may be positional, `keywords` are keyword-only; the docstring is that of `of_own`.
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
    function.__doc__ = of_own(name, {**parameters, **keywords}, **sections)
    vars(function)["__signature__"] = signature
    return function
