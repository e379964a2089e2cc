"""What the public functions are made of: names and signatures of gred's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import gred
from gred.jax import derivatives as derivatives  # which the primitive has none without
from gred.jax.available import jnp
from gred.jax.primitive import reduce_p, settled

DOCSTRING = """{summary}

Parameters
----------
x : array_like
    Of any shape, and of a type that gred has.
{parameters}method : {{'auto', 'exact', 'batch_invariant'}}, default 'auto'
    As for `gred.{name}`.

Returns
-------
jax.Array
    With the shape of NumPy's result, and the type of gred's, or its narrower one where
    ``jax_enable_x64`` is off.

Raises
------
TypeError, ValueError
    While it is traced, as `gred.{name}` does.
"""

# In their order, with what they are.
OPTIONS = {
    "axis": (None, "int or tuple of int, optional", "All by default."),
    "keepdims": (False, "bool, default False", "Keep axes that are reduced, of length 1."),
    "dtype": (None, "dtype, optional", "What elements are converted to."),
    "ord": (None, "{None, 2, 1, 0, inf, -inf}, optional", "Which norm it is; 2 by default."),
    "ddof": (0, "float, default 0", "What is subtracted from the number of elements to divide by."),
}


def reduction(name: str) -> Callable[..., Any]:
    """Make the function of that name, with those options that gred's own has."""
    own = inspect.signature(getattr(gred, name)).parameters
    options = {option: row for option, row in OPTIONS.items() if option in own}
    either, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    signature = inspect.Signature(
        [
            inspect.Parameter("x", either),
            *(inspect.Parameter(o, either, default=row[0]) for o, row in options.items()),
            inspect.Parameter("method", keyword, default="auto"),
        ]
    )

    def function(*arguments: Any, **named: Any) -> Any:
        given = signature.bind(*arguments, **named)
        given.apply_defaults()
        asked = given.arguments
        x, keepdims = jnp.asarray(asked.pop("x")), asked.pop("keepdims")
        how = settled(name, x, asked.pop("axis"), asked.pop("dtype", None), **asked)
        result = reduce_p.bind(x, how=how)
        return jnp.expand_dims(result, how.axes) if keepdims else result

    parameters = "".join(f"{o} : {kind}\n    {text}\n" for o, (_, kind, text) in options.items())
    summary = {one.name: one.summary for one in gred.reductions()}[name]
    function.__name__ = function.__qualname__ = name
    function.__module__, function.__doc__ = "gred.jax", DOCSTRING.format_map(locals())
    vars(function)["__signature__"] = signature
    return function


def dot(x: Any, y: Any, *, method: str = "auto") -> Any:
    """Multiply two vectors' elements and add the products up, as `gred.dot` does.

    Parameters
    ----------
    x, y : array_like
        Vectors of one length.
    method : {'auto', 'exact'}, default 'auto'
        'exact' rounds nothing but the sum, once.

    Returns
    -------
    jax.Array
        One number, of the type that the elements promote to; of integers, of 64 bits, or 32 where
        ``jax_enable_x64`` is off.

    Raises
    ------
    TypeError, ValueError
        While it is traced, where `gred.dot` does.

    """
    x, y = jnp.asarray(x), jnp.asarray(y)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"x and y must be vectors of one length; got shapes {x.shape}, {y.shape}")
    if method not in ("auto", "exact"):
        raise ValueError(f"method of dot must be 'auto' or 'exact'; got {method!r}")
    x, y = (one.astype(jnp.promote_types(x.dtype, y.dtype)) for one in (x, y))
    how = settled("sum", x, None, None, method)
    return reduce_p.bind(x, y, how=how._replace(reduction="sum", elements=np.dtype(x.dtype).name))
