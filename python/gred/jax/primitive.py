"""A JAX primitive for all reductions: its shape, its lowering, and its batching rule."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from gred import _core
from gred.jax.available import Primitive, batching, ffi, jax, jnp, mlir, targets

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
