"""Tensors on a GPU: streams and graphs; tests/pytorch and tests/arrays have the rest."""

import pytest

torch = pytest.importorskip("torch", minversion="2.5")

from test_operators import REDUCTIONS, drawn  # noqa: E402

import gred.torch  # noqa: E402

pytestmark = pytest.mark.gpu


def on_gpu(*shape, **options):
    return drawn(*shape, grad=False, place="cuda", **options)


@pytest.mark.parametrize("name", [*REDUCTIONS, "dot"])
def test_a_captured_call_reads_what_is_there_when_it_is_replayed(name):
    x, y = on_gpu(500), on_gpu(500, seed=4)

    def reduce():
        return gred.torch.dot(x, y) if name == "dot" else REDUCTIONS[name][0](x)

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


def test_work_is_ordered_on_pytorchs_current_stream():
    a = torch.zeros(1000, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(4_000_000_000)
        a += 1
        total = gred.torch.sum(a)
        assert not torch.cuda.current_stream().query()  # nobody has waited
        torch.testing.assert_close((total + gred.torch.max(a)).item(), 1001.0)
