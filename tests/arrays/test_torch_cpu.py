"""Tensors on the CPU: results are tensors, of every function that makes arrays, without a detour.

What they hold is NumPy's, of the same elements.
"""

import numpy as np
import pytest
from processes import printed

import gred

torch = pytest.importorskip("torch")

X = np.random.default_rng(5).integers(-9, 10, (6, 8)).astype(np.float32)
KEYS = [0, 1, 2, 0, 1, 1]
DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int32]


def rows(function):
    """Reduce the rows of each key by a function of NumPy's."""
    keys = np.array(KEYS)
    return np.stack([function(X[keys == k], 0) for k in range(3)])


# Each with what NumPy says, which all of the types hold: elements are small integers.
CALLS = {
    "sum": (lambda x: gred.sum(x, 0), X.sum(0)),
    "sum, exactly": (lambda x: gred.sum(x, 0, method="exact"), X.sum(0)),
    "sum of some": (lambda x: gred.sum(x, 0, where=x > 0), X.sum(0, where=X > 0)),
    "max": (lambda x: gred.max(x, axis=1, keepdims=True), X.max(1, keepdims=True)),
    "argmax": (lambda x: gred.argmax(x, 1), X.argmax(1)),
    "count_nonzero": (lambda x: gred.count_nonzero(x, 1), np.count_nonzero(X, 1)),
    "any": (lambda x: gred.any(x, 0), X.any(0)),
    "norm": (lambda x: gred.norm(x, 1, axis=0), np.abs(X).sum(0)),
    "nansum": (lambda x: gred.nansum(x, 0, dtype=torch.int64), X.sum(0)),
    "nanargmin": (lambda x: gred.nanargmin(x, 1), X.argmin(1)),
    "all kept": (lambda x: gred.sum(x, axis=()), X),
    "each": (lambda x: gred.each("sum", [x, x[:2]]), [X.sum(), X[:2].sum()]),
    "reduceat": (lambda x: gred.reduceat("max", x[0], [0, 3]), np.maximum.reduceat(X[0], [0, 3])),
    "reduceat, rows": (
        lambda x: gred.reduceat("max", x, torch.tensor([0, 3]), axis=1),
        np.maximum.reduceat(X, [0, 3], 1),
    ),
    "by_key": (lambda x: gred.by_key("sum", torch.tensor(KEYS), x), rows(np.sum)),
    "by_key, a list": (lambda x: gred.by_key("max", KEYS, x), rows(np.max)),
    "by_key, counts": (lambda x: gred.by_key("count", KEYS, x[:, 0]), [2, 3, 1]),
    "by_key, two": (
        lambda x: gred.by_key("sum", (KEYS, [0] * 6), x, (3, 1)),
        rows(np.sum)[:, None],
    ),
    "by_key, weights": (
        lambda x: gred.by_key("sum", KEYS, x, weights=[2.0] * 6),
        2 * rows(np.sum),
    ),
    "quantile": (lambda x: gred.quantile(x, [0.0, 1.0], 0), [X.min(0), X.max(0)]),
    "median": (lambda x: gred.median(x[:5], 0), np.median(X[:5], 0)),
    "nanmedian": (lambda x: gred.nanmedian(x[:5], 0), np.median(X[:5], 0)),
    "mean, weights": (lambda x: gred.mean(x, 0, weights=[0, 0, 1, 0, 0, 0]), X[2]),
    "var, exactly": (lambda x: gred.var(x[:2], 0, method="exact"), np.var(X[:2], 0)),
    "var, mean": (lambda x: gred.var(x[:2], 0, mean=gred.mean(x[:2], 0, keepdim=True)), None),
}
CALLS["var, mean"] = (CALLS["var, mean"][0], np.var(X[:2], 0))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("call", CALLS)
def test_results_are_tensors_on_the_cpu(call, dtype):
    function, expected = CALLS[call]
    got = function(torch.from_numpy(X).to(dtype))
    assert isinstance(got, torch.Tensor)
    assert got.device.type == "cpu"
    tolerance = {torch.bfloat16: 2**-8, torch.float16: 2**-11}.get(dtype, 2**-23)
    np.testing.assert_allclose(got.to(torch.float64).numpy(), expected, rtol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_so_are_the_fields_of_records(dtype):
    x = torch.from_numpy(X).to(dtype)
    least, most = gred.minmax(x, 0)
    assert least.dtype == most.dtype == dtype
    assert torch.equal(most, x.amax(0))
    described = gred.describe(x, axis=0)
    for field in ("count", "min", "max", "mean", "var", "std", "sum"):
        assert isinstance(getattr(described, field), torch.Tensor)
    assert torch.equal(described.max, most)


def test_what_users_do_with_results_works():
    x = torch.from_numpy(X)
    torch.testing.assert_close(x - gred.mean(x, 0), x - x.mean(0))
    torch.testing.assert_close(torch.stack([gred.sum(x, 0), gred.max(x, 0)])[1], x.amax(0))
    assert gred.sum(x, 0).cpu().numpy().tolist() == X.sum(0).tolist()
    assert gred.sum(x.T[::2], 1).tolist() == X.T[::2].sum(1).tolist()
    assert gred.sum(torch.zeros(3, 0), 1).tolist() == [0, 0, 0]
    assert gred.sum(torch.zeros(3, 0), 0).shape == (0,)
    total = gred.sum(x, 0)
    total += 1  # its memory is its own
    assert gred.sum(x, 0).tolist() == X.sum(0).tolist()


def test_a_result_without_dimensions_is_a_scalar_unless_it_is_asked_for_as_an_array():
    x = torch.from_numpy(X)
    assert type(gred.sum(x)) is type(gred.sum(x[0], 0)) is np.float32
    for got in (gred.sum(x, out=...), gred.sum(x, (0, 1), out=...), gred.sum([x, x[:0]], out=...)):
        assert isinstance(got, torch.Tensor)
        assert (got.shape, got.item()) == ((), X.sum())
    assert torch.equal(gred.dot(x[0], x[1], out=...), torch.dot(x[0], x[1]))
    assert torch.equal(gred.argmax(x, out=...), torch.argmax(x))
    assert gred.sum(x.bfloat16(), out=...).dtype == torch.bfloat16
    array = gred.sum(X, out=...)
    assert isinstance(array, np.ndarray)
    assert (array.shape, array[()]) == ((), X.sum())
    with pytest.raises(TypeError, match=r"out of dot can be \.\.\. alone"):
        gred.dot(x[0], x[1], out=torch.zeros(()))


def test_out_and_arrays_of_numpy_decide_for_themselves():
    x, out = torch.from_numpy(X), np.zeros(8)
    assert gred.sum(x, 0, out=out) is out
    assert out.tolist() == X.sum(0).tolist()
    there = torch.zeros(8, dtype=torch.int16)
    assert gred.sum(x, 0, out=there) is there
    assert there.tolist() == X.sum(0).tolist()
    assert type(gred.sum(X, 0, where=torch.from_numpy(X > 0))) is np.ndarray


MADE_IN_PYTHON = ["median", "nanmedian", "nanvar", "nanstd", "nanargmin", "nanargmax"]


def values(result):
    """Take one field of a record of arrays."""
    return np.asarray(getattr(result, "sum", None) if isinstance(result, gred.Summary) else result)


@pytest.mark.parametrize("name", [*(one.name for one in gred.reductions()), *MADE_IN_PYTHON])
def test_every_reduction_takes_pytorchs_names(name):
    reduce = getattr(gred, name)
    for own, other in (({}, {}), ({"keepdims": True}, {"keepdim": True})):
        expected = values(reduce(X, axis=1, **own))
        np.testing.assert_array_equal(values(reduce(X, dim=1, **other)), expected)
    with pytest.raises(TypeError, match="axis twice, also as 'dim'"):
        reduce(X, axis=1, dim=1)
    with pytest.raises(TypeError, match="keepdims twice, also as 'keepdim'"):
        reduce(X, keepdims=True, keepdim=True)


def test_functions_without_axes_have_no_dim():
    with pytest.raises(TypeError, match="keyword argument 'dim'"):
        gred.kernel_time([1.0], dim=0)
    assert gred.dot([1.0], [2.0], dim=0) == 2


@pytest.mark.parametrize("name", ["float64", "float32", "bfloat16", "complex64"])
def test_pytorchs_dtypes_are_understood(name):
    x, dtype = torch.from_numpy(X), getattr(torch, name)
    assert gred.sum(x, 0, dtype=dtype).dtype == dtype
    assert gred.sum([x, x], dtype=dtype) == 2 * X.sum()
    if name != "bfloat16":
        assert gred.sum(X, dtype=dtype).dtype == name
    if name in ("float64", "float32"):
        assert gred.var(X, 0, dtype=dtype, method="exact").dtype == name
        assert gred.mean(X, 0, dtype=dtype, weights=X * X).dtype == name
        assert gred.by_key("sum", KEYS, x, dtype=dtype).dtype == dtype
    with pytest.raises(TypeError, match=r"torch\.float8_e5m2 is not an element type"):
        gred.sum(x, dtype=torch.float8_e5m2)


def test_bfloat16_needs_no_ml_dtypes_and_gred_no_torch():
    said = printed(
        """
        import sys
        sys.modules["ml_dtypes"] = None
        import gred
        gred.sum([1.0])
        print("torch" in sys.modules)
        import torch
        x = torch.arange(8.0).reshape(2, 4).bfloat16()
        for result in (gred.sum(x, 0), gred.mean(x, out=...), gred.var(x, 1), gred.median(x, 1),
                       gred.by_key("sum", [1, 0], x), gred.each("max", [x, x])):
            assert result.dtype == torch.bfloat16, result
        print(gred.sum(x), gred.argmax(x, 1).dtype, gred.sum(x, 1).tolist())
        """
    )
    assert said.split("\n")[:2] == ["False", "28.0 torch.int64 [6.0, 22.0]"]


def test_an_older_pytorch_without_the_exchange_makes_the_same(monkeypatch):
    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("this is one")
    monkeypatch.delattr(torch.Tensor, "__dlpack_c_exchange_api__")
    x = torch.from_numpy(X)
    assert torch.equal(gred.sum(x, 0), x.sum(0))
    assert torch.equal(gred.sum(x, out=...), x.sum())


# ---- tensors that are refused, in one line ----

BAD = {
    "requires grad": (lambda: torch.ones(3, requires_grad=True), RuntimeError, r"a\.detach\(\)"),
    "meta": (lambda: torch.ones(3, device="meta"), TypeError, "has a shape and no elements"),
    "sparse": (lambda: torch.eye(3).to_sparse(), TypeError, r"sparse_coo; pass a\.to_dense\(\)"),
    "sparse rows": (lambda: torch.eye(3).to_sparse_csr(), TypeError, r"sparse_csr; pass a\.to_d"),
    "nested": (
        lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
        TypeError,
        r"is nested; reduce each of a\.unbind\(\)",
    ),
    "jagged": (
        lambda: torch.nested.nested_tensor([torch.ones(2)], layout=torch.jagged),
        TypeError,
        r"is nested; reduce each of a\.unbind\(\)",
    ),
    "quantized": (
        lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8),
        TypeError,
        r"is quantized; pass a\.dequantize\(\)",
    ),
    "zeros that are nowhere": (
        lambda: torch._efficientzerotensor(3),
        (TypeError, ValueError, RuntimeError),
        None,
    ),
    "of an unknown type": (lambda: torch.ones(3).to(torch.float8_e4m3fn), TypeError, None),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", [gred.sum, gred.argmax, gred.median], ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", BAD)
def test_a_tensor_that_cannot_be_read_is_refused_in_one_line(kind, function):
    make, error, why = BAD[kind]
    with pytest.raises(error, match=why) as caught:
        function(make())
    assert "\n" not in str(caught.value)


def test_a_tensor_under_a_transform_is_refused_in_one_line():
    with pytest.raises(RuntimeError, match=r"functions of gred\.torch can be"):
        torch.vmap(lambda x: torch.as_tensor(gred.sum(x)))(torch.ones(2, 3))
    with pytest.raises(RuntimeError, match=r"those of gred\.torch have"):
        torch.func.grad(lambda x: torch.as_tensor(gred.sum(x)))(torch.ones(3))


def test_an_out_that_cannot_be_written_is_refused():
    x = torch.ones(3, 4)
    with pytest.raises(TypeError, match="out is a tensor that has a shape and no elements"):
        gred.sum(x, 0, out=torch.zeros(4, device="meta"))
    with pytest.raises(ValueError, match="out is a tensor that requires grad"):
        gred.sum(x, 0, out=torch.zeros(4, requires_grad=True))
