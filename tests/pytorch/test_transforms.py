"""torch.compile, torch.vmap, torch.func and fake tensors take the functions of gred.torch."""

import itertools

import pytest

torch = pytest.importorskip("torch", minversion="2.5")

from operator_cases import REDUCTIONS, drawn, every_reduction, places, same_gradients  # noqa: E402

import gred.torch  # noqa: E402

X = drawn(5, 3, 4, grad=False)
close = torch.testing.assert_close


def are_those_of_members(function, *given, in_dims=0, right=None):
    """Hold a batch against what a function, or PyTorch's, makes of its members."""
    places = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(given)
    batched = [
        itertools.repeat(x) if at is None else x.unbind(at)
        for x, at in zip(given, places, strict=True)
    ]
    expected = torch.stack([(right or function)(*one) for one in zip(*batched, strict=False)])
    close(torch.vmap(function, in_dims=in_dims)(*given), expected)


@every_reduction
def test_batches_of_any_depth_and_their_gradients_are_those_of_members(name):
    reduce, theirs = REDUCTIONS[name]
    for dim in (None, 0, [-1], (0, 1)):
        for at in (0, 1, -1):
            are_those_of_members(lambda x, dim=dim: reduce(x, dim=dim), X, in_dims=at)
    are_those_of_members(torch.vmap(reduce), X, right=lambda x: torch.stack(list(map(reduce, x))))
    gradient, right = torch.func.grad(reduce), torch.func.grad(theirs)
    are_those_of_members(gradient, X, right=right)
    close(torch.func.jacrev(gradient)(X[0]), torch.func.jacrev(right)(X[0]))


def test_batches_of_two_tensors_are_those_of_members():
    a, z = drawn(5, 5, grad=False), drawn(3, 2, 5, dtype=torch.complex128, grad=False)
    values, keys = drawn(6, 5, 3, grad=False), torch.arange(30).reshape(6, 5) % 4
    dot, vector = gred.torch.dot, X[0, 1]

    def added(keys, values):
        return gred.torch.by_key_sum(keys, values, 4)

    are_those_of_members(added, keys, values)
    are_those_of_members(added, keys[0], values, in_dims=(None, 0))
    are_those_of_members(added, keys, values[0], in_dims=(0, None))
    are_those_of_members(dot, a, a, right=torch.dot)
    are_those_of_members(dot, a, a[0], in_dims=(1, None), right=torch.dot)
    twice = torch.vmap(torch.vmap(dot, in_dims=(0, None)))(z, z[:, 0])
    close(twice, (z * z[:, :1]).sum(-1))
    of_both = torch.func.grad(lambda a, b: dot(a, b, method="exact"), argnums=(0, 1))
    close(torch.vmap(of_both, (0, None))(X[:, 0], vector), (vector.expand(5, 4), X[:, 0]))
    with pytest.raises(IndexError, match="a key is not in"):
        torch.vmap(added)(keys + 1, values)


def test_a_batch_of_dot_products_keeps_types_and_is_exact_where_that_is_asked_for():
    dot = gred.torch.dot
    bytes_ = torch.full((2, 3), 100, dtype=torch.int8)
    assert torch.vmap(dot)(bytes_, bytes_).tolist() == [30000, 30000]
    a, b = torch.tensor([[[1e200, 1, -1e200]] * 2, [[1e200, 3, 1e200]] * 2], dtype=torch.float64)
    assert torch.vmap(lambda a, b: dot(a, b, method="exact"))(a, b).tolist() == [3.0, 3.0]
    x = drawn(3, 4)
    torch.vmap(dot)(x, X[:3, 0].float()).sum().backward()
    close(x.grad, X[:3, 0].float().double())


def everything(x, keys, vector):
    """Use all operators."""
    found = sum(reduce(x, dim=0) for reduce, _ in REDUCTIONS.values())
    found = found + gred.torch.by_key_sum(keys, x, 2)[0] + gred.torch.dot(vector, vector)
    return found + gred.torch.sum(x) + gred.torch.min(x, dim=[0], keepdim=True)[0]


@places
@pytest.mark.unsanitized
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_compiled_graphs_are_whole_and_make_the_same(backend, dynamic, place):
    if (backend, place) == ("inductor", "cpu"):
        pytest.skip("it compiles C++, which takes long")
    torch._dynamo.reset()
    compiled = torch.compile(everything, fullgraph=True, backend=backend, dynamic=dynamic)
    keys, vector = torch.tensor([0, 1, 0], device=place), drawn(7, grad=False, place=place)
    for x in (X[0].to(place), drawn(3, 4, place=place), drawn(3, 6, place=place)):
        got, expected = compiled(x, keys, vector), everything(x, keys, vector)
        close(got, expected)
        if x.requires_grad:
            same_gradients(x, got, expected)


def test_traces_and_modes_see_operators():
    from torch._subclasses import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    graph = make_fx(lambda x: gred.torch.amax(x, 0))(X).graph
    assert torch.ops.gred.amax.default in [node.target for node in graph.nodes]
    with FakeTensorMode() as mode:
        assert gred.torch.var(mode.from_tensor(X), 1).shape == (5, 4)
    arguments = drawn(3, 4), torch.tensor([0, 1, 0]), drawn(7, grad=False)
    close(torch.fx.symbolic_trace(everything)(*arguments), everything(*arguments))


def test_a_forward_gradient_is_refused_and_never_lost():
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(X, X)
        with pytest.raises((RuntimeError, NotImplementedError)):
            torch.autograd.forward_ad.unpack_dual(gred.torch.sum(dual)).tangent.item()
