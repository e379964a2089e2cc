"""Reductions for JAX, usable in `jax.jit`, `jax.grad`, `jax.vmap` and `jax.shard_map`.

>>> import gred.jax, jax, jax.numpy as jnp
>>> x = jnp.array([[1e8, 1.0, -1e8], [3.0, 4.0, 0.0]], jnp.float32)
>>> jax.jit(gred.jax.sum, static_argnames="method")(x[0], method="exact")
Array(1., dtype=float32)
>>> jax.grad(gred.jax.norm)(x[1])
Array([0.6, 0.8, 0. ], dtype=float32)
>>> jax.vmap(gred.jax.max)(x)
Array([1.e+08, 4.e+00], dtype=float32)

The functions have the arguments of gred's own that apply in a traced program. Results are JAX
arrays of gred's types, narrowed where 64-bit types are disabled. XLA calls gred on the host and on
GPUs, on its own stream, without Python.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np

import gred
from gred.docstrings import NEEDED, OPTIONS, make_function
from gred.jax.primitive import jnp, reduce_p, resolve_call

__all__ = ["all", "any", "argmax", "argmin", "count_nonzero", "dot", "logsumexp", "max", "mean"]
__all__ += ["min", "norm", "prod", "std", "sum", "var"]

_SECTIONS = {
    "Returns": """jax.Array
    Has the shape of NumPy's result and the type of gred's, narrowed if ``jax_enable_x64`` is off.
""",
    "Raises": "TypeError, ValueError\n    During tracing, as `gred.{name}`.\n",
}
_ARRAY = (NEEDED, "array_like", "Input of any shape and of an element type of gred.")
_VECTOR = (NEEDED, "array_like", "1-d input; both have the same length.")
_METHOD = ("auto", "{'auto', 'exact', 'batch_invariant'}, default 'auto'", "As for `gred.{name}`.")


def _reduction(name: str) -> Callable[..., Any]:
    """Create the JAX function for a reduction, with the options that gred's own function has."""
    own = signature(getattr(gred, name)).parameters
    options = {option: row for option, row in OPTIONS.items() if option in own}

    def call(x: Any, axis: Any, keepdims: bool, dtype: Any = None, **options: Any) -> Any:
        x = jnp.asarray(x)
        how = resolve_call(name, x, axis, dtype, **options)
        result = reduce_p.bind(x, how=how)
        return jnp.expand_dims(result, how.axes) if keepdims else result

    parameters = {"x": _ARRAY, **options}
    return make_function("gred.jax", name, parameters, {"method": _METHOD}, call, **_SECTIONS)


sum, prod, mean, var, std = map(_reduction, ("sum", "prod", "mean", "var", "std"))
min, max, argmin, argmax = map(_reduction, ("min", "max", "argmin", "argmax"))
any, all, count_nonzero = map(_reduction, ("any", "all", "count_nonzero"))
norm, logsumexp = map(_reduction, ("norm", "logsumexp"))


def _dot(x: Any, y: Any, method: str) -> Any:
    x, y = jnp.asarray(x), jnp.asarray(y)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"x and y must be vectors of one length; got shapes {x.shape}, {y.shape}")
    if method not in ("auto", "exact"):
        raise ValueError(f"method of dot must be 'auto' or 'exact'; got {method!r}")
    x, y = (one.astype(jnp.promote_types(x.dtype, y.dtype)) for one in (x, y))
    how = resolve_call("sum", x, None, None, method)
    return reduce_p.bind(x, y, how=how._replace(reduction="sum", elements=np.dtype(x.dtype).name))


_HOW = {"method": ("auto", "{'auto', 'exact'}, default 'auto'", _METHOD[-1])}
dot = make_function("gred.jax", "dot", {"x": _VECTOR, "y": _VECTOR}, _HOW, _dot, **_SECTIONS)
