"""Results of CPU tensors are tensors, for every function that returns arrays.

They are compared with NumPy arrays' results. tests/gpu has PyTorch's streams and graphs.
"""

from itertools import product

import numpy as np
import pytest
from calls import OTHERS, REDUCTIONS, drawn, results
from gpu_libraries import tensor_of
from processes import printed
from samples import silenced

import gred

torch = pytest.importorskip("torch")

X = np.random.default_rng(5).integers(-9, 10, (6, 8)).astype(np.float32)
KEYS = [0, 1, 2, 0, 1, 1]
OWN = ("Exact", "cov", "vecdot")  # NumPy numbers; tests/exact/test_dot.py has tensors
places = pytest.mark.parametrize("place", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
CALLS = {n: call for n, call in (REDUCTIONS | OTHERS).items() if not n.startswith(OWN)}


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16", "int32"])
@pytest.mark.parametrize("name", CALLS)
def test_results_of_tensors_are_tensors_on_the_cpu(name, dtype):
    arrays = CALLS[name].of(drawn(name, dtype))
    with silenced():
        results_of_tensors = CALLS[name].run(*map(tensor_of, arrays))
    got = results_of_tensors if isinstance(results_of_tensors, tuple) else [results_of_tensors]
    for one, want in zip(got, results(name, arrays), strict=True):
        if want.ndim:
            assert (one.device.type, str(one.dtype)) == ("cpu", f"torch.{want.dtype}")
        found = one.double().numpy() if isinstance(one, torch.Tensor) else np.float64(one)
        np.testing.assert_array_equal(found, want.astype(float))


def test_so_are_those_of_other_arguments_than_arrays():
    x, offsets, keys = torch.from_numpy(X), torch.tensor([0, 3]), torch.tensor(KEYS)
    about = gred.mean(x[:2], 0, keepdim=True)
    for got, want in (
        (gred.sum(x, axis=()), X),
        (gred.sum(x[:, :0], 1), [0] * 6),
        (gred.sum(x[:, :0], 0), []),
        (gred.reduceat("max", x, offsets, axis=1), np.maximum.reduceat(X, [0, 3], 1)),
        (gred.by_key("count", keys, x[:, 0]), [2, 3, 1]),
        (gred.by_key("max", (KEYS, [0] * 6), x, (3, 1))[0], X[[0, 3]].max(0)[None]),
        (gred.by_key("sum", [0] * 6, x, weights=[2.0] * 6), 2 * X.sum(0)[None]),
        (gred.var(x[:2], 0, mean=about), np.var(X[:2], 0)),
        (x - gred.mean(x, 0), X - X.mean(0)),
        (torch.stack([gred.sum(x, 0), gred.max(x, 0)])[1], X.max(0)),
    ):
        assert isinstance(got, torch.Tensor)
        np.testing.assert_allclose(got.numpy(), want, 2**-20)
    total = gred.sum(x, 0)
    total += 1  # it owns its memory
    assert gred.sum(x, 0).tolist() == X.sum(0).tolist()


@places
def test_a_result_without_dimensions_is_a_scalar_unless_it_is_asked_for_as_an_array(place):
    x = torch.randn(6, 8, generator=torch.Generator().manual_seed(3)).to(place)
    assert type(gred.sum(x)) is type(gred.sum(x[0], 0)) is np.float32
    for got, expected in (
        *((gred.sum(x, axis, out=...), x.sum()) for axis in (None, (0, 1))),
        (gred.argmax(x, out=...), x.argmax()),
        (gred.mean(x.bfloat16(), out=...), x.bfloat16().mean()),
        (gred.sum(x, method="exact", out=...), x.double().sum().float()),
        (gred.sum([x, x[:0]], out=...), x.sum()),
        (gred.norm([x, x[:1]], out=...), torch.cat([x, x[:1]]).norm()),
        *((gred.dot(*x[:2], method=how, out=...), x[0].dot(x[1])) for how in ("auto", "exact")),
        (gred.sum(x[:0], out=...), x[:0].sum()),
        (gred.dot(x[0, :0], x[0, :0], out=...), torch.zeros((), device=place)),
    ):
        assert (got.device, got.shape, got.dtype) == (x.device, (), expected.dtype)
        torch.testing.assert_close(got, expected)
    array = gred.sum(X, out=...)
    assert isinstance(array, np.ndarray)
    assert (array.shape, array[()]) == ((), X.sum())
    with pytest.raises(TypeError, match=r"out of dot must be \.\.\."):
        gred.dot(x[0], x[1], out=torch.zeros(()))


def test_out_and_arrays_of_numpy_decide_for_themselves():
    x = torch.from_numpy(X)
    for out in (np.zeros(8), torch.zeros(8, dtype=torch.int16)):
        assert gred.sum(x, 0, out=out) is out
        assert out.tolist() == X.sum(0).tolist()
    assert type(gred.sum(X, 0, where=torch.from_numpy(X > 0))) is np.ndarray


NAMES = [one.name for one in gred.reductions()]
NAMES += ["median", "nanmedian"]


@pytest.mark.parametrize("name", NAMES)
def test_every_reduction_takes_pytorchs_names(name):
    reduce = getattr(gred, name)
    for own, other in (({}, {}), ({"keepdims": True}, {"keepdim": True})):
        results = reduce(X, axis=1, **own), reduce(X, dim=1, **other)
        want, got = (one.sum if isinstance(one, gred.Summary) else one for one in results)
        np.testing.assert_array_equal(got, want)
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


@places
def test_an_older_pytorch_without_the_exchange_makes_the_same(monkeypatch, place):
    monkeypatch.delattr(torch.Tensor, "__dlpack_c_exchange_api__", raising=False)
    x = torch.from_numpy(X).to(place)
    assert torch.equal(gred.sum(x, 0), x.sum(0))
    assert torch.equal(gred.sum(x, out=...), x.sum())


nested = torch.nested.nested_tensor


def bad_tensors():
    """Yield tensors that cannot be read, the error and its message."""
    x = torch.ones(3)
    yield torch.ones(3, requires_grad=True), RuntimeError, r"a\.detach\(\)"
    yield torch.ones(3, device="meta"), TypeError, "has only a shape"
    yield torch.eye(3).to_sparse(), TypeError, r"sparse_coo; pass a\.to_dense\(\)"
    yield torch.eye(3).to_sparse_csr(), TypeError, r"sparse_csr; pass a\.to_dense\(\)"
    yield nested([x, x[1:]]), TypeError, r"is nested; reduce each of a\.unbind\(\)"
    yield nested([x], layout=torch.jagged), TypeError, r"is nested; reduce each of a\.unbind\(\)"
    quantized = torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)
    yield quantized, TypeError, r"is quantized; pass a\.dequantize\(\)"
    yield torch._efficientzerotensor(3), (TypeError, ValueError, RuntimeError), None
    yield x.to(torch.float8_e4m3fn), TypeError, None


@pytest.mark.filterwarnings("ignore")
def test_a_tensor_that_cannot_be_read_is_refused_in_one_line():
    for (bad, error, why), function in product(bad_tensors(), (gred.sum, gred.argmax, gred.median)):
        with pytest.raises(error, match=why) as caught:
            function(bad)
        assert "\n" not in str(caught.value)


def test_a_tensor_under_a_transform_is_refused_in_one_line():
    with pytest.raises(RuntimeError, match=r"use the functions of gred\.torch"):
        torch.vmap(lambda x: torch.as_tensor(gred.sum(x)))(torch.ones(2, 3))
    with pytest.raises(RuntimeError, match=r"use those of gred\.torch"):
        torch.func.grad(lambda x: torch.as_tensor(gred.sum(x)))(torch.ones(3))


def test_an_out_that_cannot_be_written_is_refused():
    shapeless, graded = "is a tensor that has only a shape", "requires grad, and autograd"
    for options, words in (({"device": "meta"}, shapeless), ({"requires_grad": True}, graded)):
        with pytest.raises((TypeError, ValueError), match=f"out {words}"):
            gred.sum(torch.ones(3, 4), 0, out=torch.zeros(4, **options))


# ---- the operators on a GPU ----

OPERATORS = ["sum", "mean", "prod", "amin", "amax", "logsumexp", "var", "std", "norm", "dot"]


@pytest.mark.gpu
@pytest.mark.parametrize("name", OPERATORS)
def test_a_captured_call_reads_what_is_there_when_it_is_replayed(name):
    operators = pytest.importorskip("gred.torch")
    x, y = (torch.randn(500, dtype=torch.float64, device="cuda") for _ in range(2))

    def reduce():
        return getattr(operators, name)(*(x, y)[: 1 + (name == "dot")])

    expected, kept = reduce(), x.clone()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = reduce()
    x.zero_()
    graph.replay()
    assert name in ("prod", "dot") or not torch.equal(result, expected)
    x.copy_(kept)
    graph.replay()
    torch.cuda.synchronize()
    torch.testing.assert_close(result, expected)


@pytest.mark.gpu
def test_work_is_ordered_on_pytorchs_current_stream():
    operators = pytest.importorskip("gred.torch")
    a = torch.zeros(1000, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(4_000_000_000)
        a += 1
        total = operators.sum(a)
        assert not torch.cuda.current_stream().query()  # nothing has synchronized
        torch.testing.assert_close((total + operators.max(a)).item(), 1001.0)
