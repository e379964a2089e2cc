"""gred.jax gives NumPy's results and gred's bits, traced or not, of every type that JAX has."""

import math
from functools import partial

import numpy as np
import pytest

import gred

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = pytest.importorskip("jax.numpy")
pytest.importorskip("gred._jax", reason="gred was built without its part for JAX")
pytest.importorskip("gred.jax")

pytestmark = pytest.mark.unsanitized

RANDOM = np.random.default_rng(31)
Y = RANDOM.normal(size=(5, 40, 6)) * np.exp2(RANDOM.integers(-8, 8, (5, 40, 6)))
X = RANDOM.integers(1, 10, Y.shape)  # whose sums have no roundings
FACTORS = np.where(np.sort(Y.ravel())[-10] <= Y, 2, 1)  # whose products have none
NAMES = sorted({*gred.jax.__all__} - {"dot"})
TYPES = ["bool", "int8", "uint32", "int64", "float16", "float32", "float64", "complex64"]
PLACES = {"cpu": "cpu"} | ({"cuda": "gpu"} if jax.default_backend() == "gpu" else {})


@pytest.fixture(params=PLACES)
def place(request):
    with jax.default_device(jax.devices(PLACES[request.param])[0]):
        yield request.param


@pytest.fixture(params=[True, False], ids=["64 bits", "32 bits"])
def wide(request):
    jax.config.update("jax_enable_x64", request.param)
    return request.param


def numpys(name, x, axis):
    """Give NumPy's answer, in float64 or complex128 but for integers that stay integers."""
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
    products = y[0].astype("f8") * y  # of which each is exact
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
    (lambda x: gred.jax.max(x, method="exact"), ValueError, "'exact' is here for sum, mean"),
    (lambda x: gred.jax.sum(x, where=x > 0), TypeError, "unexpected keyword argument 'where'"),
    (lambda x: gred.jax.max(x[:0]), ValueError, "max of an empty array"),
    (lambda x: gred.jax.argmin(x, (0, 1)), TypeError, "axis must be None or an int"),
    (lambda x: gred.jax.norm(x, ord=3), ValueError, "ord must be None, 2, 1"),
    (lambda x: gred.jax.sum(x.astype(jnp.float8_e4m3fn)), TypeError, "float8_e4m3fn"),
    (lambda x: gred.jax.sum(x.astype(jnp.int4)), TypeError, "int4"),
    (lambda x: gred.jax.sum(jax.random.key(0)), TypeError, "no elements of key"),
    (lambda x: gred.jax.dot(x, x), ValueError, "must be vectors of one length"),
    (lambda x: gred.jax.dot(x[0, 0], x[0, 0], method="batch_invariant"), ValueError, "of dot"),
]


@pytest.mark.parametrize(("call", "error", "says"), REFUSED)
def test_what_cannot_be_is_refused_while_it_is_traced_in_one_line(call, error, says):
    with pytest.raises(error, match=says) as raised:
        jax.jit(call).lower(jnp.asarray(Y))
    assert "\n" not in str(raised.value)


def test_a_call_is_one_custom_call_wherever_it_is(place):
    """In a batch, too, along any of its axes, and without a transposed copy."""
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
    """What a call is lies in its attributes, nothing of it in this process."""
    pytest.importorskip("flatbuffers", reason="JAX stores programs with flatbuffers")
    from jax import export

    checks = [export.DisabledSafetyCheck.custom_call("gred_reduce")]
    traced = jax.jit(lambda x: gred.jax.var(x, 1))
    made = export.export(traced, platforms=[place], disabled_checks=checks)
    stored = made(jax.ShapeDtypeStruct(Y.shape, jnp.float32)).serialize()
    x = jnp.asarray(Y, jnp.float32)
    np.testing.assert_array_equal(export.deserialize(stored).call(x), gred.jax.var(x, 1))
