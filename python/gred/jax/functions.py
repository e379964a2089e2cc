"""What the public functions are made of: names and signatures of gred's own."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np

import gred
from gred.functions import made
from gred.jax import derivatives as derivatives  # which the primitive has none without
from gred.jax.available import jnp
from gred.jax.primitive import reduce_p, settled

DOCSTRING = """{summary}

Parameters
----------
x : array_like
    Of any shape, and of a type that gred has.
{{parameters}}
Returns
-------
jax.Array
    With the shape of NumPy's result, and the type of gred's, or its narrower one where
    ``jax_enable_x64`` is off.

Raises
------
TypeError, ValueError
    While it is traced, as `gred.{{name}}` does.
"""

# In their order, with what they are.
OPTIONS = {
    "axis": (None, "int or tuple of int, optional", "All by default."),
    "keepdims": (False, "bool, default False", "Keep axes that are reduced, of length 1."),
    "dtype": (None, "dtype, optional", "What elements are converted to."),
    "ord": (None, "{None, 2, 1, 0, inf, -inf}, optional", "Which norm it is; 2 by default."),
    "ddof": (0, "float, default 0", "What is subtracted from the number of elements to divide by."),
}
METHOD = ("auto", "{'auto', 'exact', 'batch_invariant'}, default 'auto'", "As for `gred.{name}`.")


def reduction(name: str) -> Callable[..., Any]:
    """Make the function of that name, with those options that gred's own has."""
    own = signature(getattr(gred, name)).parameters
    parameters = {option: row for option, row in OPTIONS.items() if option in own}

    def call(x: Any, axis: Any, keepdims: bool, dtype: Any = None, **options: Any) -> Any:
        x = jnp.asarray(x)
        how = settled(name, x, axis, dtype, **options)
        result = reduce_p.bind(x, how=how)
        return jnp.expand_dims(result, how.axes) if keepdims else result

    summary = {one.name: one.summary for one in gred.reductions()}[name]
    docstring = DOCSTRING.format(summary=summary)
    return made("gred.jax", name, docstring, parameters, {"method": METHOD}, call)


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
