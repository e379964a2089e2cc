"""The reductions' derivatives: a formula each, of what has derivatives, too."""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from gred.jax.available import ad, jax, jnp
from gred.jax.primitive import How, reduce_p


class Call(NamedTuple):
    """A call that has been made: of what, to what, and how."""

    x: Any
    result: Any
    how: How

    def total(self, values: Any) -> Any:
        """Add up the values of each result's elements."""
        return reduce_p.bind(values, how=self.how.sums(self.how.axes, values.dtype))

    def spread(self, values: Any) -> Any:
        """Give each element what its result has."""
        return jnp.expand_dims(values, self.how.axes)

    @property
    def length(self) -> int:
        """How many elements a result has."""
        return math.prod(self.x.shape[k] for k in self.how.axes)


def _product(call: Call, t: Any) -> Any:
    """Leave products without one of their factors to JAX, which divides by none of them."""
    return jax.jvp(lambda x: jnp.prod(x, axis=call.how.axes), (call.x,), (t,))[1]


def _extreme(call: Call, t: Any) -> Any:
    """Share the tangent among all elements that are the extreme, as JAX does."""
    chosen = (call.x == call.spread(call.result)).astype(t.dtype)
    return call.total(chosen * t) / call.total(chosen)


def _times(x: Any, t: Any) -> Any:
    """Multiply as a product of vectors in the plane."""
    return (jnp.conj(x) * t).real


def _variance(call: Call, t: Any) -> Any:
    deviations = call.x - call.spread(call.total(call.x) / call.length)
    return 2 * call.total(_times(deviations, t)) / (call.length - call.how.ddof)


def _extreme_magnitude(call: Call, t: Any) -> Any:
    return _extreme(call._replace(x=jnp.abs(call.x)), _times(jnp.sign(call.x), t))


def _logsumexp(call: Call, t: Any) -> Any:
    finite = jnp.where(jnp.isfinite(call.result), call.result, 0)
    return call.total(jnp.exp(call.x - call.spread(finite)) * t)


# Of a call and the tangent of its elements, the tangent of its results. What has no formula is
# constant between its steps.
FORMULAS: dict[str, Callable[[Call, Any], Any]] = {
    "sum": Call.total,
    "mean": lambda call, t: call.total(t) / call.length,
    "prod": _product,
    "min": _extreme,
    "max": _extreme,
    "var": _variance,
    "std": lambda call, t: _variance(call, t) / (2 * call.result),
    "norm": lambda call, t: call.total(_times(call.x, t)) / call.result,
    "norm_1": lambda call, t: call.total(_times(jnp.sign(call.x), t)),
    "norm_inf": _extreme_magnitude,
    "norm_neg_inf": _extreme_magnitude,
    "logsumexp": _logsumexp,
}


def _of_products(arrays: Any, tangents: Any, how: How) -> Any:
    (x, y), (t, u) = arrays, tangents
    parts = [pair for pair, one in (((t, y), t), ((x, u), u)) if type(one) is not ad.Zero]
    return functools.reduce(jnp.add, [reduce_p.bind(*pair, how=how) for pair in parts])


def _jvp(arrays: Any, tangents: Any, *, how: How) -> tuple[Any, Any]:
    result = reduce_p.bind(*arrays, how=how)
    if len(arrays) > 1:
        return result, _of_products(arrays, tangents, how)
    formula = FORMULAS.get(how.reduction)
    if formula is None or not jnp.issubdtype(result.dtype, jnp.inexact):
        return result, ad.Zero(jax.typeof(result).to_tangent_aval())
    wide = jnp.promote_types(how.elements, jnp.float32)  # whose sums and counts have room
    x, t = (one.astype(wide) for one in (*arrays, *tangents))
    return result, formula(Call(x, result, how), t).astype(result.dtype)


ad.primitive_jvps[reduce_p] = _jvp


def _transpose(cotangent: Any, *arrays: Any, how: How) -> list[Any]:
    """Turn sums around, which are all that formulas make of tangents."""
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
