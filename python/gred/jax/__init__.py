"""Reductions for JAX, within `jax.jit`, `jax.grad`, `jax.vmap` and `jax.shard_map`.

>>> import gred.jax, jax, jax.numpy as jnp
>>> x = jnp.array([[1e8, 1.0, -1e8], [3.0, 4.0, 0.0]], jnp.float32)
>>> jax.jit(gred.jax.sum, static_argnames="method")(x[0], method="exact")
Array(1., dtype=float32)
>>> jax.grad(gred.jax.norm)(x[1])
Array([0.6, 0.8, 0. ], dtype=float32)
>>> jax.vmap(gred.jax.max)(x)
Array([1.e+08, 4.e+00], dtype=float32)

The functions are gred's own, with the arguments that have a meaning in a traced program. Results
are JAX's arrays, of gred's types, but narrower where 64 bits are off. XLA calls gred on the host
and on GPUs, on its own stream, without Python.
"""

from __future__ import annotations

from gred.jax.functions import dot as dot
from gred.jax.functions import reduction as _reduction

sum = _reduction("sum")
prod = _reduction("prod")
min = _reduction("min")
max = _reduction("max")
mean = _reduction("mean")
var = _reduction("var")
std = _reduction("std")
norm = _reduction("norm")
logsumexp = _reduction("logsumexp")
any = _reduction("any")
all = _reduction("all")
count_nonzero = _reduction("count_nonzero")
argmin = _reduction("argmin")
argmax = _reduction("argmax")

__all__ = ["all", "any", "argmax", "argmin", "count_nonzero", "dot", "logsumexp", "max", "mean"]
__all__ += ["min", "norm", "prod", "std", "sum", "var"]
