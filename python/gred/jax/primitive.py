"""A JAX primitive for all reductions: its shape, its lowering, its batching rule and derivatives.

Raises ImportError if JAX or gred's extension for it is missing or incompatible. Derivatives are
gred's own sums, or those of the corresponding JAX function.
"""

from __future__ import annotations

import functools
import importlib
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gred import _core
from gred.checks import import_extra

jax: Any = import_extra("jax", "jax", (0, 6))
try:
    targets: Any = importlib.import_module("gred._jax")
except ImportError as _error:
    raise ImportError(
        f"gred was built without JAX support ({_error}); build it from source with "
        "GRED_JAX=1 pip install '.[jax]'",
        name="gred._jax",
    ) from _error


jnp, ffi = import_extra("jax.numpy", "jax"), import_extra("jax.ffi", "jax")
ad, batching, mlir = (
    import_extra(f"jax.interpreters.{one}", "jax") for one in ("ad", "batching", "mlir")
)
Primitive: Any = import_extra("jax.extend.core", "jax").Primitive

# The version of this JAX's XLA FFI. XLA accepts handlers of older versions; after registering a
# newer one none of its devices works.
_header = Path(ffi.include_dir(), "xla/ffi/api/c_api.h").read_text(encoding="utf-8")
_found = re.findall(r"#define XLA_FFI_API_(?:MAJOR|MINOR) (\d+)", _header)
if tuple(map(int, _found)) < targets.version:
    raise ImportError(
        f"gred was built for a later JAX than the installed {jax.__version__}; update JAX, or "
        "rebuild gred with GRED_JAX=1 pip install --no-build-isolation .",
        name="jax",
    )

TARGET = "gred_reduce"


class How(NamedTuple):
    """Parameters of a call, as `csrc/jax/module.cpp` reads them."""

    reduction: str
    elements: str
    result: str
    exact: bool
    batch_invariant: bool
    axes: tuple[int, ...]
    ddof: float = 0.0

    def sums(self, axes: tuple[int, ...], dtype: Any) -> How:
        """Return parameters of sums of a type, computed in the same way."""
        type_of = np.dtype(dtype).name
        return self._replace(reduction="sum", axes=axes, elements=type_of, result=type_of)


def resolve_call(op: str, x: Any, axis: Any, dtype: Any, method: str, **options: Any) -> How:
    """Let gred check a call and choose its types, as for NumPy arrays."""
    if method not in ("auto", "exact", "batch_invariant"):
        raise ValueError(
            f"method must be 'auto', 'exact' or 'batch_invariant' for JAX; got {method!r}"
        )
    if jax.dtypes.issubdtype(x.dtype, jax.dtypes.extended):
        raise TypeError(f"x: elements of type {x.dtype} are not supported")
    like = np.broadcast_to(np.zeros((), x.dtype), x.shape)

    if dtype is not None:
        dtype = jnp.empty((), dtype).dtype
    order, ddof = options.get("ord"), options.get("ddof", 0)
    bits, reduction, elements, result, exact, invariant = _core.settle(
        like, op, axis, dtype, order, ddof, method
    )
    result = jax.dtypes.canonicalize_dtype(result).name
    axes = tuple(k for k in range(x.ndim) if bits >> k & 1)
    return How(reduction, elements, result, exact, invariant, axes, float(ddof))


# ---- the primitive: takes one array, or two vectors to be multiplied ----

reduce_p = Primitive("gred_reduce")


def _result(x: Any, *factors: Any, how: How) -> Any:
    plain = [one.update(weak_type=False) for one in (x, *factors)]
    if plain[0] != plain[-1]:
        raise ValueError(f"both arrays must have the same shape, type and sharding; got {plain}")
    kept = [k for k in range(x.ndim) if k not in how.axes]
    spec = jax.sharding.PartitionSpec(*(x.sharding.spec[k] for k in kept))
    return plain[0].update(
        shape=tuple(x.shape[k] for k in kept),
        dtype=np.dtype(how.result),
        sharding=x.sharding.update(spec=spec),
    )


reduce_p.def_impl(jax.jit(reduce_p.bind, static_argnames="how"))
reduce_p.def_abstract_eval(_result)


def _lower(platform: str, context: Any, *arrays: Any, how: How) -> Any:
    if platform == "cuda" and not _core.cuda:
        raise NotImplementedError("gred was built without CUDA; move the array to the CPU")
    asked = how._asdict() | {"axes": np.int64(sum(1 << k for k in how.axes))}
    asked["ddof"] = np.float64(how.ddof)
    asked["input"] = context.avals_in[0].dtype.name
    return ffi.ffi_lowering(TARGET)(context, *arrays, **asked)


for _platform, _name, _target in (("cpu", "cpu", targets.host), ("cuda", "CUDA", targets.cuda)):
    ffi.register_ffi_target(TARGET, _target, platform=_name)
    mlir.register_lowering(reduce_p, functools.partial(_lower, _platform), platform=_platform)


def _batch(arrays: Any, places: Any, *, how: How) -> tuple[Any, int]:
    """Reduce a batch of arrays in one call; dot products in a loop."""
    if len(arrays) == 1:
        x, place = arrays[0], places[0]
        axes = tuple(k + (k >= place) for k in how.axes)
        return reduce_p.bind(x, how=how._replace(axes=axes)), place - sum(k < place for k in axes)
    pairs = list(zip(arrays, places, strict=True))
    (length, *_) = (x.shape[place] for x, place in pairs if place is not None)

    def one(k: Any) -> Any:
        rows = (x if place is None else jnp.take(x, k, place) for x, place in pairs)
        return reduce_p.bind(*rows, how=how)

    return jax.lax.map(one, jnp.arange(length)), 0


batching.primitive_batchers[reduce_p] = _batch


# ---- derivatives ----

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
