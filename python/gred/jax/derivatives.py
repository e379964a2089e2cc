"""Derivatives of reductions: by gred's own sums, or by the corresponding JAX function."""

import functools
import math
from collections.abc import Callable
from typing import Any

from gred.jax.available import ad, jax, jnp
from gred.jax.primitive import How, reduce_p

# Functions of elements and axes to differentiate in place of gred's. Reductions neither here nor in
# SUMS are piecewise constant.
JAXS: dict[str, Callable[..., Any]] = {
    "prod": jnp.prod,
    "min": jnp.min,
    "max": jnp.max,
    "var": jnp.var,
    "std": jnp.var,
    "norm_1": lambda x, axis: jnp.sum(jnp.abs(x), axis),
    "norm_inf": lambda x, axis: jnp.max(jnp.abs(x), axis),
    "norm_neg_inf": lambda x, axis: jnp.min(jnp.abs(x), axis),
    "logsumexp": jax.nn.logsumexp,
}
SUMS = ("sum", "mean", "norm")


def _tangent(x: Any, t: Any, result: Any, how: How) -> Any:
    """Compute the tangent of results from that of elements."""
    name, length = how.reduction, math.prod(x.shape[k] for k in how.axes)
    if name in SUMS:
        terms = (jnp.conj(x) * t).real if name == "norm" else t
        total = reduce_p.bind(terms, how=how.sums(how.axes, terms.dtype))
        return total / {"sum": 1, "mean": length, "norm": result}[name]
    found = jax.jvp(functools.partial(JAXS[name], axis=how.axes), (x,), (t,))[1]
    if name in ("var", "std"):
        found = found * length / (length - how.ddof)
    return found / (2 * result) if name == "std" else found


def _of_products(arrays: Any, tangents: Any, how: How) -> Any:
    (x, y), (t, u) = arrays, tangents
    parts = [pair for pair, one in (((t, y), t), ((x, u), u)) if type(one) is not ad.Zero]
    return functools.reduce(jnp.add, [reduce_p.bind(*pair, how=how) for pair in parts])


def _jvp(arrays: Any, tangents: Any, *, how: How) -> tuple[Any, Any]:
    result = reduce_p.bind(*arrays, how=how)
    if len(arrays) > 1:
        return result, _of_products(arrays, tangents, how)
    if how.reduction not in (*SUMS, *JAXS) or not jnp.issubdtype(result.dtype, jnp.inexact):
        return result, ad.Zero(jax.typeof(result).to_tangent_aval())
    wide = jnp.promote_types(how.elements, jnp.float32)  # avoids overflow of sums and counts
    x, t = (one.astype(wide) for one in (*arrays, *tangents))
    return result, _tangent(x, t, result, how).astype(result.dtype)


ad.primitive_jvps[reduce_p] = _jvp


def _transpose(cotangent: Any, *arrays: Any, how: How) -> list[Any]:
    """Transpose a sum: broadcast the cotangent."""
    if type(cotangent) is ad.Zero:
        return [None] * len(arrays)
    unknown = [ad.is_undefined_primal(one) for one in arrays]
    aval = arrays[unknown.index(True)].aval
    kept = [k for k in range(len(aval.shape)) if k not in how.axes]
    spread = jax.lax.broadcast_in_dim(cotangent, aval.shape, kept, out_sharding=aval.sharding)
    if len(arrays) == 1:
        return [spread.astype(aval.dtype)]
    x, y = arrays
    return [spread * y, None] if unknown[0] else [None, spread * x]


ad.primitive_transposes[reduce_p] = _transpose
