"""gred.jax within grad, of any order and in either mode, within vmap and within shard_map."""

import functools
import os

import numpy as np
import pytest
from processes import printed

import gred

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = pytest.importorskip("jax.numpy")
pytest.importorskip("gred._jax", reason="gred was built without its part for JAX")
pytest.importorskip("gred.jax")
check_grads = pytest.importorskip("jax.test_util").check_grads

pytestmark = pytest.mark.unsanitized

RANDOM = np.random.default_rng(7)
X = RANDOM.normal(size=(2, 3, 2))
Z = X + 1j * RANDOM.normal(size=X.shape)
SMOOTH = ["sum", "prod", "mean", "var", "std", "norm", "logsumexp"]


@pytest.fixture(autouse=True)
def wide():
    jax.config.update("jax_enable_x64", True)


def reduction(name, **options):
    return functools.partial(getattr(gred.jax, name), **options)


OPTIONS = [("sum", {"axis": 1, "method": method}) for method in ("exact", "batch_invariant")]
OPTIONS += [("mean", {"method": "exact"}), ("norm", {"axis": 0, "method": "exact"})]
OPTIONS += [("var", {"axis": 1, "ddof": 1}), ("std", {"ddof": 0.5, "keepdims": True})]
OPTIONS += [("norm", {"axis": 1, "ord": order}) for order in (1, np.inf, -np.inf, 0)]
# A function, and what it is of.
GRADED = {
    **{
        f"{name}-{kind}-{axis}": (reduction(name, axis=axis), values)
        for name in SMOOTH
        for axis in (None, (0, 2))
        for kind, values in (("real", X), ("complex", Z))
    },
    **{
        f"{name}-{axis}": (reduction(name, axis=axis), X)
        for name in ("min", "max")
        for axis in (None, 1, (0, 2))
    },
    **{f"{name}-{options}": (reduction(name, **options), X) for name, options in OPTIONS},
    **{
        f"dot-{kind}-{method}": (reduction("dot", method=method), x[0, :, 0], x[1, :, 1])
        for method in ("auto", "exact")
        for kind, x in (("real", X), ("complex", Z))
    },
}


@pytest.mark.parametrize("case", GRADED)
def test_derivatives_are_those_of_differences(case):
    function, *values = GRADED[case]
    check_grads(function, values, order=2, modes=["fwd", "rev"])


@pytest.mark.parametrize("name", ["max", "min", "prod", "logsumexp"])
def test_derivatives_at_ties_and_zeros_are_those_of_jax(name):
    theirs = jax.nn.logsumexp if name == "logsumexp" else getattr(jnp, name)
    for x in ([1.0, 3.0, 3.0], [0.0, 2.0, 5.0], [0.0, 0.0, 5.0]):
        for way in (jax.grad, jax.hessian):
            got, expected = (way(f)(jnp.array(x)) for f in (getattr(gred.jax, name), theirs))
            np.testing.assert_allclose(got, expected, atol=1e-15)


def test_what_steps_has_no_derivative_and_stops_none():
    def steps(x):
        place = gred.jax.argmax(x) + gred.jax.count_nonzero(x) + gred.jax.any(x)
        return x.ravel()[place % x.size] * gred.jax.sum(x, dtype=jnp.int32)

    gradient = jax.jit(jax.grad(steps))(jnp.asarray(X))
    assert np.count_nonzero(gradient) <= 1
    crossed = jax.jacfwd(jax.grad(gred.jax.dot))(X[0, 0], X[1, 0])
    np.testing.assert_array_equal(crossed, np.zeros((2, 2)))


def test_elements_of_another_type_have_derivatives_of_their_own():
    x = jnp.asarray(X, jnp.float32)
    gradient = jax.grad(lambda x: gred.jax.mean(x, dtype=jnp.float64))(x)
    assert gradient.dtype == jnp.float32
    np.testing.assert_allclose(gradient, 1 / x.size, rtol=1e-6)
    first = jax.grad(lambda x: gred.jax.sum(x, 1, method="exact")[0, 0])(x.astype("bfloat16"))
    assert first.sum() == 3
    for name, share in (("mean", 1 / 70_000), ("max", 1 / 70_000), ("sum", 1)):
        gradient = jax.grad(getattr(gred.jax, name))(jnp.zeros(70_000, jnp.float16))
        np.testing.assert_array_equal(gradient, np.float16(share))  # more than float16 counts


BATCHED = [*SMOOTH, "min", "max", "any", "count_nonzero", "argmin", "argmax"]


@pytest.mark.parametrize("place", [0, 1, -1])
@pytest.mark.parametrize("name", BATCHED)
def test_a_batch_is_reduced_as_each_of_its_arrays(name, place):
    reduce, moved = getattr(gred.jax, name), np.moveaxis(X, place, 0)
    for axis in (None, 0, 1):
        one = functools.partial(reduce, axis=axis)
        expected = np.stack([one(x) for x in moved])
        np.testing.assert_allclose(jax.vmap(one, in_axes=place)(X), expected, rtol=1e-13)
    got = jax.vmap(jax.vmap(reduce, in_axes=1), in_axes=place, out_axes=1)(X)
    np.testing.assert_allclose(got.T[:, 0], [reduce(x[:, 0]) for x in moved], rtol=1e-13)


@pytest.mark.parametrize("name", ["var", "norm", "logsumexp"])
def test_batches_and_derivatives_go_together(name):
    reduce = getattr(gred.jax, name)
    each = np.stack([jax.grad(reduce)(x) for x in X])
    of_all = jax.grad(lambda x: jax.vmap(reduce)(x).sum())
    for gradient in (jax.vmap(jax.grad(reduce)), of_all):
        np.testing.assert_allclose(gradient(X), each, rtol=1e-12)


SHARDED = """
import numpy as np, jax, jax.numpy as jnp, gred, gred.jax
from functools import partial
from jax.sharding import AxisType, PartitionSpec as P

x = np.random.default_rng(3).normal(size=(8, 60)).astype(np.float32)
for kind in (AxisType.Auto, AxisType.Explicit):
    mesh = jax.make_mesh((4,), ("rows",), axis_types=(kind,))
    jax.set_mesh(mesh)
    y = jax.device_put(x, jax.NamedSharding(mesh, P("rows")))
    sharded = partial(jax.shard_map, mesh=mesh, in_specs=P("rows"))
    rows = sharded(lambda y: gred.jax.sum(y, 1, method="exact"), out_specs=P("rows"))
    for way in (rows, jax.jit(rows)):
        assert np.array_equal(way(y), gred.sum(x, 1, method="exact"))
    total = sharded(lambda y: jax.lax.psum(gred.jax.norm(y) ** 2, "rows"), out_specs=P())
    assert np.allclose(total(y), (x**2).sum(), rtol=1e-6)
    assert np.allclose(jax.grad(total)(y), 2 * x, rtol=1e-5)
    dotted = sharded(lambda y: jax.lax.psum(gred.jax.dot(y[0], y[1]), "rows"), out_specs=P())
    assert np.allclose(jax.jit(dotted)(y), (x[::2] * x[1::2]).sum(), rtol=1e-5, atol=1e-5)
    whole = jax.jit(partial(gred.jax.sum, method="exact"))
    assert np.array_equal(whole(y), gred.sum(x, method="exact"))
    assert np.array_equal(jax.jit(partial(gred.jax.argmax, axis=1))(y), x.argmax(1))
    assert np.allclose(jax.grad(gred.jax.mean)(y), 1 / x.size)
print(jax.device_count())
"""


def test_shards_of_several_devices_are_reduced_where_they_are(monkeypatch):
    if not hasattr(jax, "shard_map") or not hasattr(jax, "set_mesh"):
        pytest.skip("this JAX has them elsewhere")
    flags = os.environ.get("XLA_FLAGS", "")
    monkeypatch.setenv("XLA_FLAGS", f"{flags} --xla_force_host_platform_device_count=4")
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    assert printed(SHARDED).split() == ["4"]
