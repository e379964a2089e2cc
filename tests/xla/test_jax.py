"""gred.jax gives NumPy's results and gred's bits, traced or not, for every type of JAX.

This includes grad of any order and in either mode, vmap and shard_map.
"""

import math
import os
from functools import partial

import numpy as np
import pytest
from processes import printed

import gred

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = pytest.importorskip("jax.numpy")
pytest.importorskip("gred._jax", reason="gred was built without JAX support")
pytest.importorskip("gred.jax")
check_grads = pytest.importorskip("jax.test_util").check_grads

pytestmark = pytest.mark.unsanitized

RANDOM = np.random.default_rng(31)
Y = RANDOM.normal(size=(5, 40, 6)) * np.exp2(RANDOM.integers(-8, 8, (5, 40, 6)))
X = RANDOM.integers(1, 10, Y.shape)  # exact sums
FACTORS = np.where(np.sort(Y.ravel())[-10] <= Y, 2, 1)  # exact products
NAMES = sorted({*gred.jax.__all__} - {"dot"})
TYPES = ["bool", "int8", "uint32", "int64", "float16", "float32", "float64", "complex64"]
SMALL = RANDOM.normal(size=(2, 3, 2))
SMALL_COMPLEX = SMALL + 1j * RANDOM.normal(size=SMALL.shape)
PLACES = {"cpu": "cpu"} | ({"cuda": "gpu"} if jax.default_backend() == "gpu" else {})


@pytest.fixture(params=PLACES)
def place(request):
    with jax.default_device(jax.devices(PLACES[request.param])[0]):
        yield request.param


@pytest.fixture(autouse=True)
def in_64_bits():
    jax.config.update("jax_enable_x64", True)


@pytest.fixture(params=[True, False], ids=["64 bits", "32 bits"])
def wide(request, in_64_bits):
    jax.config.update("jax_enable_x64", request.param)
    return request.param


def numpys(name, x, axis):
    """Compute NumPy's result in float64 or complex128; integers stay integers."""
    if x.dtype.kind in "fc" or name in ("norm", "logsumexp"):
        x = x.astype("c16" if x.dtype.kind == "c" else "f8")
    if name == "norm":
        return np.sqrt((np.abs(x) ** 2).sum(axis))
    return np.log(np.exp(x).sum(axis)) if name == "logsumexp" else getattr(np, name)(x, axis)


@pytest.mark.parametrize("axis", [None, 1, -1, (0, 2)])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", NAMES)
def test_results_are_numpys_with_the_types_of_gred(name, dtype, axis, wide, place):
    if isinstance(axis, tuple) and name.startswith("arg"):
        pytest.skip("positions are along one axis")
    x = jnp.asarray((FACTORS if name == "prod" else X > 5 if dtype == "bool" else X).astype(dtype))
    reduce, host = getattr(gred.jax, name), np.asarray(x)
    got = jax.jit(lambda x: reduce(x, axis))(x)
    own = np.asarray(getattr(gred, name)(host, axis=axis))
    assert got.dtype == jax.dtypes.canonicalize_dtype(own.dtype)
    expected = np.asarray(numpys(name, host, axis)).astype(got.dtype)
    roundings = 8 * float(jnp.finfo(got.dtype).eps) if got.dtype.kind in "fc" else 0
    np.testing.assert_allclose(got, expected, roundings)
    np.testing.assert_array_equal(reduce(x, axis), got)
    assert reduce(x, axis, keepdims=True).shape == np.sum(X, axis, keepdims=True).shape


@pytest.mark.parametrize("method", ["auto", "exact", "batch_invariant"])
@pytest.mark.parametrize("axis", [(0, 1, 2), 0, 2, (0, 1)])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_bits_are_those_of_gred(dtype, axis, method):
    with jax.default_device(jax.devices("cpu")[0]):
        x = jnp.asarray(Y).astype(dtype)
        own = np.asarray(gred.sum(np.asarray(x), axis=axis, method=method))
        got = jax.jit(lambda x: gred.jax.sum(x, axis, method=method))(x)
    assert got.dtype == own.dtype == dtype
    assert np.asarray(got).tobytes() == own.tobytes()


def test_exact_sums_and_products_are_those_of_fsum_traced_and_in_batches(wide, place):
    y = (RANDOM.normal(size=(7, 300)) * np.exp2(RANDOM.integers(-30, 30, (7, 300)))).astype("f4")
    products = y[0].astype("f8") * y  # each is exact
    sums, dots = (np.array([math.fsum(row) for row in x.astype("f8")], "f4") for x in (y, products))
    total, dot = (partial(f, method="exact") for f in (gred.jax.sum, gred.jax.dot))
    assert total(y) == np.float32(math.fsum(y.astype("f8").ravel()))
    for got, expected in (
        (jax.jit(partial(total, axis=1))(y), sums),
        (jax.jit(jax.vmap(total, in_axes=1))(y.T), sums),
        (jax.lax.map(total, jnp.asarray(y)), sums),
        (jax.jit(lambda y: dot(y[0], y[1]))(y), dots[1]),
        (jax.vmap(dot)(y[[0] * 7], y), dots),
        (jax.vmap(dot, (1, None))(y.T, y[0]), dots),
    ):
        np.testing.assert_array_equal(got, expected)
    bound = 300 * 2.0**-53 * np.abs(products[1]).sum() + 2.0**-24 * abs(products[1].sum())
    assert abs(float(gred.jax.dot(y[0], y[1])) - math.fsum(products[1])) <= bound


def test_types_and_arguments_have_the_meanings_places_and_defaults_that_are_shown(wide, place):
    x, small = jnp.full(70_000, 1, jnp.float16), jnp.full(3, 100, jnp.int8)
    assert np.isinf(gred.jax.sum(x))
    assert gred.jax.sum(x, dtype=jnp.float32) == 70_000
    assert gred.jax.sum(x, dtype=jnp.int32).dtype == jnp.int32
    assert gred.jax.mean(jnp.arange(4), dtype="float16").dtype == jnp.float16
    assert gred.jax.sum(small, dtype=jnp.int8) == np.int8(44)  # 300 - 256
    assert gred.jax.dot(small, small) == 30_000
    assert gred.jax.dot(np.arange(3), np.ones(3, "f4")) == 3
    y = jnp.asarray(Y)
    assert gred.jax.sum(y, 0, True).shape == (1, 40, 6)
    assert gred.jax.var(y, ddof=1) == pytest.approx(np.var(Y, ddof=1), rel=1e-5)
    for order in (1, np.inf, -np.inf, 0):
        expected = np.linalg.norm(np.asarray(y), order, axis=1)
        np.testing.assert_allclose(gred.jax.norm(y, 1, ord=order), expected, rtol=1e-6)


REFUSED = [
    (lambda x: gred.jax.sum(x, 3), ValueError, "axis 3 is out of bounds"),
    (lambda x: gred.jax.sum(x, "rows"), TypeError, "axis must be None, an int"),
    (lambda x: gred.jax.sum(x, method="shuffle"), ValueError, "method must be 'auto', 'exact'"),
    (lambda x: gred.jax.max(x, method="exact"), ValueError, "'exact' does not support max"),
    (lambda x: gred.jax.sum(x, where=x > 0), TypeError, "unexpected keyword argument 'where'"),
    (lambda x: gred.jax.max(x[:0]), ValueError, "max of an empty array"),
    (lambda x: gred.jax.argmin(x, (0, 1)), TypeError, "axis must be None or an int"),
    (lambda x: gred.jax.norm(x, ord=3), ValueError, "ord must be None, 2, 1"),
    (lambda x: gred.jax.sum(x.astype(jnp.float8_e4m3fn)), TypeError, "float8_e4m3fn"),
    (lambda x: gred.jax.sum(x.astype(jnp.int4)), TypeError, "int4"),
    (lambda x: gred.jax.sum(jax.random.key(0)), TypeError, "elements of type key"),
    (lambda x: gred.jax.dot(x, x), ValueError, "must be vectors of one length"),
    (lambda x: gred.jax.dot(x[0, 0], x[0, 0], method="batch_invariant"), ValueError, "of dot"),
]


@pytest.mark.parametrize(("call", "error", "says"), REFUSED)
def test_what_cannot_be_is_refused_while_it_is_traced_in_one_line(call, error, says):
    with pytest.raises(error, match=says) as raised:
        jax.jit(call).lower(jnp.asarray(Y))
    assert "\n" not in str(raised.value)


def test_a_call_is_one_custom_call_wherever_it_is(place):
    """Including batches along any axis, without a transposed copy."""
    for call in (
        lambda x: gred.jax.sum(x, 1),
        jax.vmap(gred.jax.max),
        jax.vmap(gred.jax.mean, in_axes=1),
        jax.vmap(jax.vmap(lambda x: gred.jax.norm(x, 0), in_axes=1), in_axes=2, out_axes=1),
    ):
        text = jax.jit(call).lower(jnp.asarray(Y)).compile().as_text()
        assert text.count('custom_call_target="gred_reduce"') == 1
        assert "transpose" not in text
        assert "copy(" not in text


def test_a_traced_call_can_be_stored_and_run_again(place):
    """A call is described by its attributes, and by nothing in this process."""
    pytest.importorskip("flatbuffers", reason="JAX stores programs with flatbuffers")
    from jax import export

    checks = [export.DisabledSafetyCheck.custom_call("gred_reduce")]
    traced = jax.jit(lambda x: gred.jax.var(x, 1))
    made = export.export(traced, platforms=[place], disabled_checks=checks)
    stored = made(jax.ShapeDtypeStruct(Y.shape, jnp.float32)).serialize()
    x = jnp.asarray(Y, jnp.float32)
    np.testing.assert_array_equal(export.deserialize(stored).call(x), gred.jax.var(x, 1))


# ---- derivatives, batches and shards ----

SMOOTH = ["sum", "prod", "mean", "var", "std", "norm", "logsumexp"]


def reduction(name, **options):
    return partial(getattr(gred.jax, name), **options)


OPTIONS = [("sum", {"axis": 1, "method": method}) for method in ("exact", "batch_invariant")]
OPTIONS += [("mean", {"method": "exact"}), ("norm", {"axis": 0, "method": "exact"})]
OPTIONS += [("var", {"axis": 1, "ddof": 1}), ("std", {"ddof": 0.5, "keepdims": True})]
OPTIONS += [(name, {"axis": axis}) for name in ("min", "max") for axis in (None, 1, (0, 2))]
OPTIONS += [("norm", {"axis": 1, "ord": order}) for order in (1, np.inf, -np.inf, 0)]
# Functions and their inputs.
GRADED = {
    **{
        f"{name}-{kind}-{axis}": (reduction(name, axis=axis), values)
        for name in SMOOTH
        for axis in (None, (0, 2))
        for kind, values in (("real", SMALL), ("complex", SMALL_COMPLEX))
    },
    **{f"{name}-{options}": (reduction(name, **options), SMALL) for name, options in OPTIONS},
    **{
        f"dot-{kind}-{method}": (reduction("dot", method=method), x[0, :, 0], x[1, :, 1])
        for method in ("auto", "exact")
        for kind, x in (("real", SMALL), ("complex", SMALL_COMPLEX))
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

    assert np.count_nonzero(jax.jit(jax.grad(steps))(jnp.asarray(SMALL))) <= 1
    crossed = jax.jacfwd(jax.grad(gred.jax.dot))(SMALL[0, 0], SMALL[1, 0])
    np.testing.assert_array_equal(crossed, np.zeros((2, 2)))


def test_elements_of_another_type_have_derivatives_of_their_own():
    x = jnp.asarray(SMALL, jnp.float32)
    gradient = jax.grad(lambda x: gred.jax.mean(x, dtype=jnp.float64))(x)
    assert gradient.dtype == jnp.float32
    np.testing.assert_allclose(gradient, 1 / x.size, rtol=1e-6)
    first = jax.grad(lambda x: gred.jax.sum(x, 1, method="exact")[0, 0])(x.astype("bfloat16"))
    assert first.sum() == 3
    for name, share in (("mean", 1 / 70_000), ("max", 1 / 70_000), ("sum", 1)):
        gradient = jax.grad(getattr(gred.jax, name))(jnp.zeros(70_000, jnp.float16))
        np.testing.assert_array_equal(gradient, np.float16(share))  # float16 cannot count them


BATCHED = [*SMOOTH, "min", "max", "any", "count_nonzero", "argmin", "argmax"]


@pytest.mark.parametrize("at", [0, 1, -1])
@pytest.mark.parametrize("name", BATCHED)
def test_a_batch_is_reduced_as_each_of_its_arrays(name, at):
    reduce, moved = getattr(gred.jax, name), np.moveaxis(SMALL, at, 0)
    for axis in (None, 0, 1):
        one = partial(reduce, axis=axis)
        expected = np.stack([one(x) for x in moved])
        np.testing.assert_allclose(jax.vmap(one, in_axes=at)(SMALL), expected, rtol=1e-13)
    got = jax.vmap(jax.vmap(reduce, in_axes=1), in_axes=at, out_axes=1)(SMALL)
    np.testing.assert_allclose(got.T[:, 0], [reduce(x[:, 0]) for x in moved], rtol=1e-13)


@pytest.mark.parametrize("name", ["var", "norm", "logsumexp"])
def test_batches_and_derivatives_go_together(name):
    reduce = getattr(gred.jax, name)
    each = np.stack([jax.grad(reduce)(x) for x in SMALL])
    of_all = jax.grad(lambda x: jax.vmap(reduce)(x).sum())
    for gradient in (jax.vmap(jax.grad(reduce)), of_all):
        np.testing.assert_allclose(gradient(SMALL), each, rtol=1e-12)


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
