"""Registered operators: PyTorch's checkers, comparison with PyTorch's functions, transforms.

The functions of gred.torch support torch.compile, torch.vmap, torch.func and fake tensors.
"""

import itertools
from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch", minversion="2.5")

from reference import EVERY_TYPE  # noqa: E402
from torch import library  # noqa: E402
from torch.autograd import gradcheck, gradgradcheck  # noqa: E402

import gred.torch  # noqa: E402

ops, close, vector_norm = torch.ops.gred, torch.testing.assert_close, torch.linalg.vector_norm
INF = float("inf")
places = pytest.mark.parametrize("place", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])


def drawn(*shape, dtype=torch.float64, grad=True, seed=3, place="cpu"):
    """Draw normal elements, no two of the same magnitude."""
    made = torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))
    return made.to(place).requires_grad_(grad)


def along(x, dim):
    """List all dimensions for None, as some PyTorch functions require."""
    return tuple(range(x.ndim)) if dim is None else dim


def multiplied(x, dim=None):
    """Multiply along several dimensions, which torch.prod does not support."""
    for k in sorted([dim] if isinstance(dim, int) else along(x, dim), reverse=True):
        x = torch.prod(x, k)
    return x


def norm(order, function=gred.torch.norm):
    return lambda x, dim=None: function(x, order, dim)


# gred's and PyTorch's function of x and dim, by operator.
REDUCTIONS = {
    "sum": (gred.torch.sum, torch.sum),
    "mean": (gred.torch.mean, torch.mean),
    "prod": (gred.torch.prod, multiplied),
    "amin": (gred.torch.amin, lambda x, dim=None: torch.amin(x, along(x, dim))),
    "amax": (gred.torch.amax, lambda x, dim=None: torch.amax(x, along(x, dim))),
    "logsumexp": (gred.torch.logsumexp, lambda x, dim=None: torch.logsumexp(x, along(x, dim))),
    "var": (gred.torch.var, torch.var),
    "std": (gred.torch.std, torch.std),
    "norm": (lambda x, dim=None: gred.torch.norm(x, dim=dim), norm(2, vector_norm)),
}
every_reduction = pytest.mark.parametrize("name", REDUCTIONS)


def same_gradients(x, got, expected):
    """Compare results, and their gradients by x."""
    close(got, expected)
    close(*(torch.autograd.grad(y.sum(), x)[0] for y in (got, expected)))


KEYS = torch.tensor([0, 2, 0, 1, 2])
TYPES = [dtype.name for dtype in EVERY_TYPE]


def test_every_operator_is_tried_here():
    every = {name for name in torch._C._dispatch_get_all_op_names() if "gred::" in name}
    assert every == {f"gred::{name}" for name in (*REDUCTIONS, "dot", "dots", "by_key_sum")}


# Arguments other than x. Ids consist of words, so that a few cases cover all pairs of words.
ARGUMENTS = [(dim, keepdim) for dim in (None, [1], [0, 1], []) for keepdim in (False, True)]
ARGUMENTS += [([1], False, torch.float64)]
X, V, ROWS = drawn(3, 4), drawn(5), drawn(2, 5)
CHECKED = {
    f"{name}-{more}": (name, X if len(more) < 3 else X.float(), *more)
    for name in REDUCTIONS
    for more in ARGUMENTS
    if name not in ("var", "std") or more[0] != []  # one element has no variance
}
CHECKED |= {
    "dot": ("dot", V, drawn(5, seed=4)),
    "dot-of types": ("dot", V.float(), KEYS),
    "dots": ("dots", ROWS, drawn(2, 5, dtype=torch.complex128)),
    "by key": ("by_key_sum", ROWS.T, KEYS, 3),
    "by key-outside": ("by_key_sum", V, KEYS, 2, True),
}


@places
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CHECKED)
def test_pytorchs_checker_finds_nothing(case, place):
    name, *given = CHECKED[case]
    given = [
        one.detach().to(place).requires_grad_(one.requires_grad) if torch.is_tensor(one) else one
        for one in given
    ]
    library.opcheck(getattr(ops, name).default, tuple(given))


# ---- gradients ----

R, C = (2, 3, 2), torch.complex128
DIMS = [None, 0, -1, (0, 1), (0, 1, 2)]
ZEROS = [[0.0, 2, 3], [0, 0, 3], [1, 2, 3], [0, 0, 0]]
ORDERS = (0, 1, 2, INF, -INF)


def reduction(name, dim=1):
    return partial(REDUCTIONS[name][0], dim=dim)


def by_key(keys, count, **options):
    return lambda x: gred.torch.by_key_sum(keys, x, count, **options)


# Functions and their inputs.
GRADED = {
    **{f"{name}-{dim}": (reduction(name, dim), drawn(*R)) for name in REDUCTIONS for dim in DIMS},
    **{
        f"{name}-complex": (reduction(name), drawn(2, 3, dtype=C))
        for name in REDUCTIONS
        if name not in ("amin", "amax")
    },
    **{
        f"norm {order}-{dim}-{dtype}": (partial(norm(order), dim=dim), drawn(2, 3, dtype=dtype))
        for order in ORDERS
        for dim in (None, 1, (0, 1))
        for dtype in (torch.float64, C)
    },
    "dot": (gred.torch.dot, drawn(5), drawn(5, seed=4)),
    "dot of two types": (gred.torch.dot, drawn(5, dtype=C), drawn(5, seed=4)),
    "by key": (by_key(KEYS, 4), drawn(5, 3)),
    "some by key": (by_key(KEYS, 2, outside="drop"), drawn(5)),
    "none by key": (by_key(KEYS, 0, outside="drop"), drawn(5)),
    "var of all": (lambda x: gred.torch.var(x, 1, correction=0), drawn(3, 4)),
    "converted": (lambda x: gred.torch.sum(x, 1, dtype=C), drawn(3, 4)),
    "exact mean": (lambda x: gred.torch.mean(x, 1, True, method="exact"), drawn(3, 4)),
    "exact var": (lambda x: gred.torch.var(x, 1, method="exact"), drawn(2, 3)),
    "exact std": (lambda x: gred.torch.std(x, 1, method="exact"), drawn(2, 3)),
    "zeros along 1": (reduction("prod"), torch.tensor(ZEROS).double().requires_grad_()),
    "zeros": (gred.torch.prod, torch.tensor(ZEROS).double().requires_grad_()),
}


@pytest.mark.parametrize("case", GRADED)
def test_gradients_of_both_orders_are_those_of_differences(case):
    function, *inputs = GRADED[case]
    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs)


ENDS = {  # where a formula divides by zero, but PyTorch's own gradient is finite
    "zeros": ("prod", ZEROS),
    "equals": ("amax", [[1.0, 1, 0], [2, 2, 2], [0, 1, 2]]),
    "least of equals": ("amin", [[1.0, 1, 3], [2, 2, 2]]),
    "no deviation": ("std", [[1.0, 1, 1], [1, 2, 3]]),
    "no length": ("norm", [[0.0, 0, 0], [3, 0, 4]]),
    "minus infinity": ("logsumexp", [[-INF, 0, 1], [-INF, -INF, 0]]),
}
OF_PYTORCH = {f"norm {order}": (norm(order), norm(order, vector_norm)) for order in ORDERS[1:]}
OF_PYTORCH |= REDUCTIONS
COMPARED = {f"{name}-{dim}": (name, dim, ()) for name in OF_PYTORCH for dim in DIMS}
COMPARED |= {case: (name, 1, (rows,)) for case, (name, rows) in ENDS.items()}


@places
@pytest.mark.parametrize("case", COMPARED)
def test_values_and_gradients_are_those_of_pytorchs_function(case, place):
    name, dim, given = COMPARED[case]
    ours, theirs = OF_PYTORCH[name]
    tensors = [drawn(2, 3, 4), drawn(4, 3, 2).permute(2, 0, 1), drawn(2, 6, 4)[:, ::2]]
    for one in map(torch.tensor, given) if given else tensors:
        x = one.detach().double().to(place).requires_grad_()
        got, expected = ours(x, dim=dim), theirs(x, dim=dim)
        assert got.device == x.device
        close(ours(x.detach(), dim=dim), expected.detach())
        same_gradients(x, got, expected)
        assert torch.isfinite(torch.autograd.grad(ours(x, dim=dim).sum(), x)[0]).all()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("dtype", "least"), [(torch.float16, 1e-5), (torch.float32, 1e-40)])
def test_gradients_of_small_elements_are_those_of_large_ones(dtype, least, order):
    for function, made in ((norm(order), [least, 0]), (gred.torch.std, [least, -least])):
        x = torch.tensor(made, dtype=dtype, requires_grad=True)
        large = (x.detach() / least).requires_grad_()
        got, expected = (torch.autograd.grad(function(one), one)[0] for one in (x, large))
        close(got, expected, rtol=2e-2, atol=0)
    vector = drawn(2, 3, grad=False)
    close(norm(order)(vector), vector_norm(vector, order))


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64", "int16"])
def test_keys_of_every_type_have_gradients_and_batches(dtype):
    keys, x = KEYS.to(getattr(torch, dtype)), drawn(5)
    right = torch.zeros(4, dtype=x.dtype).index_add(0, KEYS, x)
    same_gradients(x, gred.torch.by_key_sum(keys, x, 4).square(), right.square())
    batch = torch.vmap(lambda keys, x: gred.torch.by_key_sum(keys, x, 4), in_dims=(0, None))
    close(batch(keys[None], x)[0], right)


def test_gradients_have_the_elements_type_and_sums_keep_no_elements_for_them():
    x = drawn(3, 4, dtype=torch.float32)
    (gradient,) = torch.autograd.grad(gred.torch.mean(x, dtype=torch.float64), x)
    assert gradient.dtype == torch.float32
    assert not gred.torch.sum(x, dtype=torch.int64).requires_grad
    x, kept = torch.nn.Parameter(x.detach()), []
    with torch.autograd.graph.saved_tensors_hooks(kept.append, lambda _: None):
        made = [function(x, 1) for function in (gred.torch.sum, gred.torch.mean)]
    assert [type(one.grad_fn).__name__ for one in made] == ["sumBackward", "meanBackward"]
    assert [type(one) for one in made] == [torch.Tensor] * 2
    assert kept == []


# ---- types and shapes ----


@pytest.mark.parametrize("dtype", TYPES)
@every_reduction
def test_fake_tensors_have_the_types_and_shapes_of_true_ones(name, dtype):
    x, op = torch.ones(2, 3).to(getattr(torch, dtype)), getattr(ops, name)
    for asked in (None, torch.float32, torch.complex128):
        if asked == torch.float32 and x.is_complex():
            continue
        for dim, keepdim in ((None, False), ([1], True), ([-2], False)):
            there, meta = (op(one, dim, keepdim, asked) for one in (x, x.to("meta")))
            assert (meta.device.type, meta.dtype, meta.shape) == ("meta", there.dtype, there.shape)


@pytest.mark.parametrize("first", TYPES)
def test_so_have_those_of_dot_products_of_two_types(first):
    a = torch.ones(2, 3).to(getattr(torch, first))
    for second in TYPES:
        b = torch.ones(2, 3).to(getattr(torch, second))
        expected = gred.torch.dot(a[0], b[0])
        meta = gred.torch.dot(a[0].to("meta"), b[0].to("meta"))
        batch = torch.vmap(gred.torch.dot)(a, b)
        assert (meta.dtype, meta.shape) == (batch.dtype, ()) == (expected.dtype, expected.shape)
        assert batch.tolist() == [3, 3]


@pytest.mark.parametrize("dtype", ["int8", *TYPES[-6:]])
@pytest.mark.parametrize("name", ["var", "std"])
def test_so_have_exact_spreads(name, dtype):
    x, function = drawn(2, 3, dtype=torch.complex64, grad=False) * 4, getattr(gred.torch, name)
    x = (x if "complex" in dtype else x.real).to(getattr(torch, dtype))
    for given in ((None, False), (1, False), ((0, 1), True)):
        fake, expected = function(x.to("meta"), *given, method="exact"), function(x, *given)
        close(function(x, *given, method="exact"), expected)
        assert (fake.dtype, fake.shape) == (expected.dtype, expected.shape)


@pytest.mark.filterwarnings("ignore")
@every_reduction
def test_dims_may_be_of_a_tensor_without_any_and_integers_of_numpy(name):
    ours, theirs = REDUCTIONS[name]
    x, expected = torch.tensor(3.0, requires_grad=True), theirs(torch.tensor([3.0]), dim=0)
    for dim in (0, -1, (0,), (), None):
        torch._dynamo.reset()
        compiled = torch.compile(lambda x, d=dim: ours(x, dim=d), backend="eager", fullgraph=True)
        for found in (ours(x.detach(), dim=dim), ours(x, dim=dim), compiled(x.detach())):
            close(found, expected, equal_nan=True, check_stride=False)
    for one in (x, x.detach(), x.to("meta")):
        with pytest.raises(IndexError):
            ours(one, dim=1)
    x = drawn(2, 3)
    for dim, plain in ((np.int64(1), 1), ([np.int32(0), np.int64(1)], (0, 1))):
        for one in (x, x.detach()):
            close(ours(one, dim=dim), ours(one, dim=plain))


# ---- transforms ----

XS = drawn(5, 3, 4, grad=False)


def are_those_of_members(function, *given, in_dims=0, right=None):
    """Compare a batch with a function, or PyTorch's, of each member."""
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
            are_those_of_members(lambda x, dim=dim: reduce(x, dim=dim), XS, in_dims=at)
    are_those_of_members(torch.vmap(reduce), XS, right=lambda x: torch.stack(list(map(reduce, x))))
    gradient, right = torch.func.grad(reduce), torch.func.grad(theirs)
    are_those_of_members(gradient, XS, right=right)
    close(torch.func.jacrev(gradient)(XS[0]), torch.func.jacrev(right)(XS[0]))


def test_batches_of_two_tensors_are_those_of_members():
    a, z = drawn(5, 5, grad=False), drawn(3, 2, 5, dtype=torch.complex128, grad=False)
    values, keys = drawn(6, 5, 3, grad=False), torch.arange(30).reshape(6, 5) % 4
    dot, vector = gred.torch.dot, XS[0, 1]

    def added(keys, values):
        return gred.torch.by_key_sum(keys, values, 4)

    are_those_of_members(added, keys, values)
    are_those_of_members(added, keys[0], values, in_dims=(None, 0))
    are_those_of_members(added, keys, values[0], in_dims=(0, None))
    are_those_of_members(dot, a, a, right=torch.dot)
    are_those_of_members(dot, a, a[0], in_dims=(1, None), right=torch.dot)
    close(torch.vmap(torch.vmap(dot, in_dims=(0, None)))(z, z[:, 0]), (z * z[:, :1]).sum(-1))
    of_both = torch.func.grad(lambda a, b: dot(a, b, method="exact"), argnums=(0, 1))
    close(torch.vmap(of_both, (0, None))(XS[:, 0], vector), (vector.expand(5, 4), XS[:, 0]))
    with pytest.raises(IndexError, match="a key is not in"):
        torch.vmap(added)(keys + 1, values)


def test_a_batch_of_dot_products_keeps_types_and_is_exact_where_that_is_asked_for():
    dot = gred.torch.dot
    bytes_ = torch.full((2, 3), 100, dtype=torch.int8)
    assert torch.vmap(dot)(bytes_, bytes_).tolist() == [30000, 30000]
    a, b = torch.tensor([[[1e200, 1, -1e200]] * 2, [[1e200, 3, 1e200]] * 2], dtype=torch.float64)
    assert torch.vmap(lambda a, b: dot(a, b, method="exact"))(a, b).tolist() == [3.0, 3.0]
    x = drawn(3, 4)
    torch.vmap(dot)(x, XS[:3, 0].float()).sum().backward()
    close(x.grad, XS[:3, 0].float().double())


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
    for x in (XS[0].to(place), drawn(3, 4, place=place), drawn(3, 6, place=place)):
        got, expected = compiled(x, keys, vector), everything(x, keys, vector)
        close(got, expected)
        if x.requires_grad:
            same_gradients(x, got, expected)


def test_traces_and_modes_see_operators():
    from torch._subclasses import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    graph = make_fx(lambda x: gred.torch.amax(x, 0))(XS).graph
    assert ops.amax.default in [node.target for node in graph.nodes]
    with FakeTensorMode() as mode:
        assert gred.torch.var(mode.from_tensor(XS), 1).shape == (5, 4)
    arguments = drawn(3, 4), torch.tensor([0, 1, 0]), drawn(7, grad=False)
    close(torch.fx.symbolic_trace(everything)(*arguments), everything(*arguments))


def test_a_forward_gradient_is_refused_and_never_lost():
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(XS, XS)
        with pytest.raises((RuntimeError, NotImplementedError)):
            torch.autograd.forward_ad.unpack_dual(gred.torch.sum(dual)).tangent.item()


# ---- errors ----

BAD = {
    "take tensors, not list": lambda: [1.0],
    "sparse_coo": lambda: torch.eye(3).to_sparse(),
    "nested": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "quantized": lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8),
    "element type": lambda: torch.ones(3).to(torch.float8_e4m3fn),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("why", BAD)
def test_a_tensor_that_cannot_be_read_is_refused_in_one_line(why):
    for name in [*REDUCTIONS, "min", "max"]:
        with pytest.raises(TypeError, match=why) as caught:
            getattr(gred.torch, name)(BAD[why]())
        assert "\n" not in str(caught.value)


# Calls, given a function that makes tensors of ones; the errors and their messages.
REFUSED = [
    (lambda of: gred.torch.dot(of(2), of(3)), ValueError, "of one length"),
    (lambda of: gred.torch.dot(of(2, 2), of(2, 2)), ValueError, "vectors of"),
    (lambda of: gred.torch.dot(of(), of()), ValueError, "vectors of one length"),
    (lambda of: gred.torch.amin(of(0, 3)), ValueError, "no value"),
    (lambda of: gred.torch.amin(of(0, 3), 0), ValueError, "no value"),
    (lambda of: gred.torch.amax(of(0, 0), 1), ValueError, "no value"),
    (lambda of: gred.torch.sum(of(2, 3), 2), IndexError, None),
    (lambda of: gred.torch.sum(of(2, 3), (0, -3)), IndexError, None),
    (lambda of: gred.torch.sum(of(2, 3), (0, -2)), ValueError, "duplicate|twice"),
]
# The same for options and elements, which fake tensors do not check.
NOT_OF_FAKES = [
    (lambda of: gred.torch.norm(of(2, 3), 3), ValueError, "ord must be"),
    (lambda of: gred.torch.sum(of(2, 3), method="exakt"), ValueError, "'exakt' does not exist"),
    (lambda of: by_key(of(2).long(), 1, outside="keep")(of(2)), ValueError, "outside must"),
    (lambda of: gred.torch.by_key_sum(of(2).long(), of(2), 1), IndexError, "a key is not in"),
    (lambda of: gred.torch.by_key_sum(of(2), of(2), 1), TypeError, "keys must be integers"),
]


@pytest.mark.parametrize("options", [{}, {"device": "meta"}, {"requires_grad": True}])
def test_what_cannot_be_is_refused_by_fakes_and_tensors_alike(options):
    def of(*shape):
        return torch.ones(shape, **options)

    for call, error, words in REFUSED + NOT_OF_FAKES * (options != {"device": "meta"}):
        with pytest.raises(error, match=words):
            call(of)
    for extreme in (gred.torch.amin, gred.torch.amax):
        assert extreme(of(0, 3), 1).shape == (0,)
