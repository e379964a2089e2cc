"""Tensors on a GPU: operators, gradients, streams, CUDA graphs, arrays in place of scalars."""

import pytest

torch = pytest.importorskip("torch", minversion="2.5")

from operator_cases import REDUCTIONS, drawn, ops  # noqa: E402
from torch import library  # noqa: E402

import gred.torch  # noqa: E402

pytestmark = pytest.mark.gpu
KEYS = [0, 2, 0, 1, 2]


def on_gpu(*shape, **options):
    return drawn(*shape, grad=False, **options).cuda()


@pytest.mark.parametrize("dim", [None, 0, (0, 2)], ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_values_and_gradients_are_those_of_pytorchs_function(name, dim):
    ours, theirs = REDUCTIONS[name]
    x = on_gpu(2, 3, 4).requires_grad_()
    got, expected = ours(x, dim=dim), theirs(x, dim=dim)
    assert got.device == x.device
    torch.testing.assert_close(ours(x.detach(), dim=dim), expected.detach())
    check_gradients(x, got, expected)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REDUCTIONS)
def test_pytorchs_checker_finds_nothing(name):
    library.opcheck(getattr(ops, name).default, (on_gpu(3, 4).requires_grad_(), [1]))


@pytest.mark.filterwarnings("ignore")
def test_nor_of_two_tensors():
    a, b = on_gpu(5).requires_grad_(), on_gpu(5, seed=4).requires_grad_()
    library.opcheck(ops.dot.default, (a, b))
    torch.testing.assert_close(gred.torch.dot(a, b), torch.dot(a, b))
    x, keys = on_gpu(5, 3).requires_grad_(), torch.tensor(KEYS, device="cuda")
    library.opcheck(ops.by_key_sum.default, (x, keys, 3))
    expected = torch.zeros(3, 3, dtype=x.dtype, device="cuda").index_add_(0, keys, x)
    torch.testing.assert_close(gred.torch.by_key_sum(keys, x, 3), expected)


@pytest.mark.parametrize("name", [*REDUCTIONS, "dot"])
def test_a_captured_call_reads_what_is_there_when_it_is_replayed(name):
    x, y = on_gpu(500), on_gpu(500, seed=4)

    def reduce():
        return gred.torch.dot(x, y) if name == "dot" else REDUCTIONS[name][0](x)

    expected = reduce()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = reduce()
    kept = x.clone()
    x.zero_()
    graph.replay()
    assert name in ("prod", "dot") or not torch.equal(result, expected)
    x.copy_(kept)
    graph.replay()
    torch.cuda.synchronize()
    torch.testing.assert_close(result, expected)


def test_work_is_ordered_on_pytorchs_current_stream():
    a = torch.zeros(1000, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(500_000_000)
        a += 1
        total = gred.torch.sum(a)
        assert not torch.cuda.current_stream().query()  # nobody has waited
        torch.testing.assert_close((total + gred.torch.max(a)).item(), 1001.0)


def test_an_array_in_place_of_a_scalar_stays_there():
    x = on_gpu(3, 4, dtype=torch.float32)
    for got, expected in (
        (gred.sum(x, out=...), x.sum()),
        (gred.argmax(x, out=...), x.argmax()),
        (gred.mean(x.bfloat16(), out=...), x.bfloat16().mean()),
        (gred.sum(x, method="exact", out=...), x.double().sum().float()),
        (gred.norm([x, x[:1]], out=...), torch.cat([x, x[:1]]).norm()),
        (gred.dot(x[0], x[1], method="exact", out=...), torch.dot(x[0], x[1])),
        (gred.sum(x[:0], out=...), x[:0].sum()),
        (gred.dot(x[0, :0], x[0, :0], out=...), torch.zeros((), device="cuda")),
    ):
        assert (got.device, got.shape, got.dtype) == (x.device, (), expected.dtype)
        torch.testing.assert_close(got, expected)


def check_gradients(x, got, expected):
    torch.testing.assert_close(got, expected)
    torch.testing.assert_close(*(torch.autograd.grad(y.sum(), x)[0] for y in (got, expected)))


@pytest.mark.unsanitized
@pytest.mark.filterwarnings("ignore")
def test_compiled_graphs_are_whole_and_make_the_same():
    def centred(x):
        return gred.torch.std(x - gred.torch.mean(x, 0, True), dim=0) + gred.torch.sum(x)

    x = on_gpu(30, 40).requires_grad_()
    check_gradients(x, torch.compile(centred, fullgraph=True)(x), centred(x))


def test_an_older_pytorch_without_the_exchange_makes_the_same(monkeypatch):
    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("this is one")
    monkeypatch.delattr(torch.Tensor, "__dlpack_c_exchange_api__")
    x = on_gpu(3, 4)
    assert torch.equal(gred.sum(x, 0), gred.sum(x.cpu(), 0).cuda())
    assert torch.equal(gred.max(x, out=...), x.amax())
