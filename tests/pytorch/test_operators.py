"""Registered operators under PyTorch's own checkers, and beside its own functions."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", minversion="2.5")

from operator_cases import (  # noqa: E402
    INF,
    REDUCTIONS,
    drawn,
    every_reduction,
    ops,
    places,
    same_gradients,
)
from reference import EVERY_TYPE  # noqa: E402
from torch import library  # noqa: E402
from torch.autograd import gradcheck, gradgradcheck  # noqa: E402
from written import check_examples  # noqa: E402

import gred.torch  # noqa: E402

KEYS = torch.tensor([0, 2, 0, 1, 2])
TYPES = [dtype.name for dtype in EVERY_TYPE]


def test_every_operator_is_tried_here():
    every = {
        name.split("::")[1] for name in torch._C._dispatch_get_all_op_names() if "gred::" in name
    }
    assert every == {*REDUCTIONS, "dot", "dots", "by_key_sum"}


# What is asked of an operator beside x; ids of words, so that not every pair is tried each time.
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
    return lambda x: REDUCTIONS[name][0](x, dim=dim)


def norm(order, dim=None):
    return lambda x: gred.torch.norm(x, order, dim)


def by_key(keys, count, **options):
    return lambda x: gred.torch.by_key_sum(keys, x, count, **options)


# A function, and what it is of.
GRADED = {
    **{f"{name}-{dim}": (reduction(name, dim), drawn(*R)) for name in REDUCTIONS for dim in DIMS},
    **{
        f"{name}-complex": (reduction(name), drawn(2, 3, dtype=C))
        for name in REDUCTIONS
        if name not in ("amin", "amax")
    },
    **{
        f"norm {order}-{dim}-{dtype}": (norm(order, dim), drawn(2, 3, dtype=dtype))
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


ENDS = {  # where a formula divides by zero, and PyTorch's own gradient is finite
    "zeros": ("prod", ZEROS),
    "equals": ("amax", [[1.0, 1, 0], [2, 2, 2], [0, 1, 2]]),
    "least of equals": ("amin", [[1.0, 1, 3], [2, 2, 2]]),
    "no deviation": ("std", [[1.0, 1, 1], [1, 2, 3]]),
    "no length": ("norm", [[0.0, 0, 0], [3, 0, 4]]),
    "minus infinity": ("logsumexp", [[-INF, 0, 1], [-INF, -INF, 0]]),
}
OF_PYTORCH = {
    f"norm {order}": (
        lambda x, dim=None, order=order: gred.torch.norm(x, order, dim),
        lambda x, dim=None, order=order: torch.linalg.vector_norm(x, order, dim),
    )
    for order in ORDERS[1:]
}
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
        torch.testing.assert_close(ours(x.detach(), dim=dim), expected.detach())
        same_gradients(x, got, expected)
        assert torch.isfinite(torch.autograd.grad(ours(x, dim=dim).sum(), x)[0]).all()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("dtype", "least"), [(torch.float16, 1e-5), (torch.float32, 1e-40)])
def test_gradients_of_small_elements_are_those_of_large_ones(dtype, least, order):
    for function, made in ((norm(order), [least, 0]), (gred.torch.std, [least, -least])):
        x = torch.tensor(made, dtype=dtype, requires_grad=True)
        large = (x.detach() / least).requires_grad_()
        got, expected = (torch.autograd.grad(function(one), one)[0] for one in (x, large))
        torch.testing.assert_close(got, expected, rtol=2e-2, atol=0)
    vector = drawn(2, 3, grad=False)
    torch.testing.assert_close(norm(order)(vector), torch.linalg.vector_norm(vector, order))


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64", "int16"])
def test_keys_of_every_type_have_gradients_and_batches(dtype):
    keys, x = KEYS.to(getattr(torch, dtype)), drawn(5)
    right = torch.zeros(4, dtype=x.dtype).index_add(0, KEYS, x)
    same_gradients(x, gred.torch.by_key_sum(keys, x, 4).square(), right.square())
    batch = torch.vmap(lambda keys, x: gred.torch.by_key_sum(keys, x, 4), in_dims=(0, None))
    torch.testing.assert_close(batch(keys[None], x)[0], right)


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
    x = torch.ones(2, 3).to(getattr(torch, dtype))
    for asked in (None, torch.float32, torch.complex128):
        if asked == torch.float32 and x.is_complex():
            continue
        for dim, keepdim in ((None, False), ([1], True), ([-2], False)):
            there, meta = (
                getattr(ops, name)(one, dim, keepdim, asked) for one in (x, x.to("meta"))
            )
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


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float32", "float64", "int8", "complex64"]
)
@pytest.mark.parametrize("name", ["var", "std"])
def test_so_have_exact_spreads(name, dtype):
    x, function = drawn(2, 3, dtype=torch.complex64, grad=False) * 4, getattr(gred.torch, name)
    x = (x if dtype == "complex64" else x.real).to(getattr(torch, dtype))
    for given in ((None, False), (1, False), ((0, 1), True)):
        fake, expected = function(x.to("meta"), *given, method="exact"), function(x, *given)
        torch.testing.assert_close(function(x, *given, method="exact"), expected)
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
            torch.testing.assert_close(found, expected, equal_nan=True, check_stride=False)
    for one in (x, x.detach(), x.to("meta")):
        with pytest.raises(IndexError):
            ours(one, dim=1)
    x = drawn(2, 3)
    for dim, plain in ((np.int64(1), 1), ([np.int32(0), np.int64(1)], (0, 1))):
        for one in (x, x.detach()):
            torch.testing.assert_close(ours(one, dim=dim), ours(one, dim=plain))


@pytest.mark.parametrize("name", [None, *gred.torch.__all__])
def test_the_examples_of_docstrings_are_true(name):
    text = (gred.torch if name is None else getattr(gred.torch, name)).__doc__
    # Those of all_reduce take several processes.
    check_examples(text, str(name), more_than=-1 if name == "all_reduce" else 0)
