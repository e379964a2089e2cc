"""torch.compile, torch.vmap, torch.func and fake tensors take the functions of gred.torch."""

import pytest

torch = pytest.importorskip("torch", minversion="2.5")

from operator_cases import REDUCTIONS, drawn, every_reduction, places, same_gradients  # noqa: E402

import gred.torch  # noqa: E402

X = drawn(5, 3, 4, grad=False)
close = torch.testing.assert_close


def stacked(function, x, at=0):
    return torch.stack([function(one) for one in x.unbind(at)])


@every_reduction
def test_batches_of_any_depth_and_their_gradients_are_those_of_members(name):
    reduce, theirs = REDUCTIONS[name]
    for dim in (None, 0, [-1], (0, 1)):
        for at in (0, 1, -1):
            batch = torch.vmap(lambda x, dim=dim: reduce(x, dim=dim), in_dims=at)
            close(batch(X), stacked(lambda x, dim=dim: reduce(x, dim=dim), X, at))
    close(torch.vmap(torch.vmap(reduce))(X), torch.stack([stacked(reduce, one) for one in X]))
    gradient = torch.func.grad(reduce)
    close(torch.vmap(gradient)(X), stacked(torch.func.grad(theirs), X))
    curvature = torch.func.jacrev(gradient)(X[0])
    close(curvature, torch.func.jacrev(torch.func.grad(theirs))(X[0]))


def test_batches_of_two_tensors():
    a = drawn(4, 5, grad=False)
    close(torch.vmap(gred.torch.dot)(a, a), (a * a).sum(1))
    close(torch.vmap(gred.torch.dot, in_dims=(1, None))(a, a[:, 0]), a.T @ a[:, 0])
    values, keys = drawn(6, 5, 3, grad=False), torch.arange(30).reshape(6, 5) % 4

    def added(keys, values):
        return gred.torch.by_key_sum(keys, values, 4)

    for of_keys, of_values in ((0, 0), (None, 0), (0, None)):
        given = keys if of_keys == 0 else keys[0], values if of_values == 0 else values[0]
        every = [keys[k if of_keys == 0 else 0] for k in range(6)]
        pairs = [(key, values[k if of_values == 0 else 0]) for k, key in enumerate(every)]
        expected = torch.stack([added(*pair) for pair in pairs])
        close(torch.vmap(added, in_dims=(of_keys, of_values))(*given), expected)
    with pytest.raises(IndexError, match="a key is not in"):
        torch.vmap(added)(keys + 1, values)


def test_a_batch_of_dot_products_is_made_as_single_ones():
    dot = gred.torch.dot
    bytes_ = torch.full((2, 3), 100, dtype=torch.int8)
    assert torch.vmap(dot)(bytes_, bytes_).tolist() == [30000, 30000]
    a, b = (
        torch.tensor([[1e200, one, sign * 1e200]] * 2, dtype=torch.float64)
        for one, sign in ((1, -1), (3, 1))
    )
    got = torch.vmap(lambda a, b: dot(a, b, method="exact"))(a, b)
    assert got.tolist() == [3.0, 3.0]
    z = drawn(3, 2, 5, dtype=torch.complex128, grad=False)
    twice = torch.vmap(torch.vmap(dot, in_dims=(0, None)))(z, z[:, 0])
    close(twice, (z * z[:, :1]).sum(-1))
    of_both = torch.func.grad(lambda a, b: dot(a, b, method="exact"), argnums=(0, 1))
    got = torch.vmap(of_both, in_dims=(0, None))(X[:, 0], X[0, 1])
    close(got, (X[0, 1].expand(5, 4), X[:, 0]))
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
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(function)
            return function(*args, **(kwargs or {}))

    with Watch():
        gred.torch.sum(X, 0)
    assert torch.ops.gred.sum.default in seen
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
