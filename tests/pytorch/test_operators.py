"""Registered operators under PyTorch's own checkers, and beside its own functions."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", minversion="2.5")

from operator_cases import INF, REDUCTIONS, drawn, ops  # noqa: E402
from torch import library  # noqa: E402
from torch.autograd import gradcheck, gradgradcheck  # noqa: E402
from written import check_examples  # noqa: E402

import gred.torch  # noqa: E402
from gred.torch.operators import CALLS, TABLE  # noqa: E402

DIMS = [None, 0, -1, (0, 1), (0, 1, 2)]
KEYS = torch.tensor([0, 2, 0, 1, 2])
TWO = {"dot", "dots", "by_key_sum"}


def test_every_operator_is_tried_here():
    assert set(TABLE) == set(REDUCTIONS)
    assert set(CALLS) == set(REDUCTIONS) | TWO


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dim", [None, [1], [0, 1], []], ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_pytorchs_checker_finds_nothing(name, dim):
    if name in ("var", "std") and dim == []:
        pytest.skip("one element has no variance")
    operator = getattr(ops, name).default
    for keepdim in (False, True):
        library.opcheck(operator, (drawn(3, 4), dim, keepdim))
    library.opcheck(operator, (drawn(3, 4, dtype=torch.float32), dim, False, torch.float64))


@pytest.mark.filterwarnings("ignore")
def test_nor_of_two_tensors():
    library.opcheck(ops.dot.default, (drawn(5), drawn(5, seed=4)))
    library.opcheck(ops.dot.default, (drawn(5, dtype=torch.float32), torch.arange(5)))
    library.opcheck(ops.dots.default, (drawn(2, 5), drawn(2, 5, dtype=torch.complex128, seed=4)))
    library.opcheck(ops.by_key_sum.default, (drawn(5, 3), KEYS, 3))
    library.opcheck(ops.by_key_sum.default, (drawn(5), KEYS, 2, True))


def check_gradients(function, *inputs):
    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs)


@pytest.mark.parametrize("dim", DIMS, ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_gradients_of_both_orders_are_those_of_differences(name, dim):
    check_gradients(lambda x: REDUCTIONS[name][0](x, dim=dim), drawn(2, 3, 2))


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "logsumexp", "var", "std", "norm"])
def test_so_are_those_of_complex_numbers(name):
    check_gradients(lambda x: REDUCTIONS[name][0](x, dim=1), drawn(2, 3, dtype=torch.complex128))


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
@pytest.mark.parametrize("dim", [None, 1, (0, 1)], ids=str)
@pytest.mark.parametrize("order", [None, 0, 1, 2, INF, -INF])
def test_so_are_those_of_norms_of_every_order(order, dim, dtype):
    x = drawn(2, 3, dtype=dtype)
    check_gradients(lambda x: gred.torch.norm(x, order, dim), x)
    expected = torch.linalg.vector_norm(x, 2 if order is None else order, dim)
    for keepdim in (False, True):
        got = gred.torch.norm(x.detach(), order, dim, keepdim)
        torch.testing.assert_close(got.reshape(expected.shape), expected.detach())
        assert got.ndim == (x.ndim if keepdim else expected.ndim)


def test_so_are_those_of_two_tensors():
    check_gradients(gred.torch.dot, drawn(5), drawn(5, seed=4))
    check_gradients(gred.torch.dot, drawn(5, dtype=torch.complex128), drawn(5, seed=4))
    check_gradients(lambda x: gred.torch.by_key_sum(KEYS, x, 4), drawn(5, 3))
    check_gradients(lambda x: gred.torch.by_key_sum(KEYS, x, 2, outside="drop"), drawn(5))
    check_gradients(lambda x: gred.torch.by_key_sum(KEYS, x, 0, outside="drop"), drawn(5))


def test_so_are_those_of_other_arguments():
    check_gradients(lambda x: gred.torch.var(x, 1, correction=0), drawn(3, 4))
    check_gradients(lambda x: gred.torch.sum(x, 1, dtype=torch.complex128), drawn(3, 4))
    check_gradients(lambda x: gred.torch.mean(x, 1, True, method="exact"), drawn(3, 4))
    x = drawn(3, 4, dtype=torch.float32)
    (gradient,) = torch.autograd.grad(gred.torch.mean(x, dtype=torch.float64), x)
    assert gradient.dtype == torch.float32
    assert not gred.torch.sum(x, dtype=torch.int64).requires_grad


def test_parameters_are_reduced_at_once_and_sums_keep_none_for_their_gradients():
    x, kept = torch.nn.Parameter(drawn(3, 4, grad=False)), []
    with torch.autograd.graph.saved_tensors_hooks(kept.append, lambda _: None):
        made = [function(x, 1) for function in (gred.torch.sum, gred.torch.mean)]
    assert [type(one.grad_fn).__name__ for one in made] == ["sumBackward", "meanBackward"]
    assert [type(one) for one in made] == [torch.Tensor] * 2
    assert kept == []


ENDS = {
    "zeros": ("prod", [[0.0, 2, 3], [0, 0, 3], [1, 2, 3], [0, 0, 0]]),
    "equals": ("amax", [[1.0, 1, 0], [2, 2, 2], [0, 1, 2]]),
    "least of equals": ("amin", [[1.0, 1, 3], [2, 2, 2]]),
    "no deviation": ("std", [[1.0, 1, 1], [1, 2, 3]]),
    "no length": ("norm", [[0.0, 0, 0], [3, 0, 4]]),
    "minus infinity": ("logsumexp", [[-INF, 0, 1], [-INF, -INF, 0]]),
}


@pytest.mark.parametrize("case", ENDS)
def test_where_a_formula_divides_by_zero_the_gradient_is_pytorchs(case):
    name, rows = ENDS[case]
    x = torch.tensor(rows, dtype=torch.float64, requires_grad=True)
    ours, theirs = REDUCTIONS[name]
    (expected,) = torch.autograd.grad(theirs(x, dim=1).sum(), x)
    (got,) = torch.autograd.grad(ours(x, dim=1).sum(), x)
    torch.testing.assert_close(got, expected)
    assert torch.isfinite(got).all()


@pytest.mark.parametrize("order", [0, 1, 2, INF, -INF])
@pytest.mark.parametrize(("dtype", "least"), [(torch.float16, 1e-5), (torch.float32, 1e-40)])
def test_gradients_of_small_elements_are_those_of_large_ones(dtype, least, order):
    for name, made in ((f"norm {order}", [least, 0]), ("std", [least, -least])):
        x = torch.tensor(made, dtype=dtype, requires_grad=True)
        large = (x.detach() / least).requires_grad_()
        for one in (x, large):
            found = gred.torch.norm(one, order) if name != "std" else gred.torch.std(one)
            found.backward()
        torch.testing.assert_close(x.grad, large.grad, rtol=2e-2, atol=0, msg=f"{name} {x.grad}")


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64", "int16"])
def test_keys_of_every_type_have_gradients_and_batches(dtype):
    keys, x = KEYS.to(getattr(torch, dtype)), drawn(5)
    results = [gred.torch.by_key_sum(one, x, 4).square().sum() for one in (keys, KEYS)]
    torch.testing.assert_close(*(torch.autograd.grad(y, x)[0] for y in results))
    batch = torch.vmap(lambda keys, x: gred.torch.by_key_sum(keys, x, 3), in_dims=(0, None))
    torch.testing.assert_close(batch(keys[None], x)[0], gred.torch.by_key_sum(KEYS, x, 3))


def test_products_with_zeros_have_second_gradients():
    zeros = torch.tensor(ENDS["zeros"][1], dtype=torch.float64, requires_grad=True)
    check_gradients(lambda x: gred.torch.prod(x, 1), zeros)
    check_gradients(gred.torch.prod, zeros)


@pytest.mark.parametrize("dim", DIMS, ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_values_and_gradients_are_those_of_pytorchs_function(name, dim):
    ours, theirs = REDUCTIONS[name]
    for x in (drawn(2, 3, 4), drawn(4, 3, 2).permute(2, 0, 1), drawn(2, 6, 4)[:, ::2]):
        got, expected = ours(x, dim=dim), theirs(x, dim=dim)
        torch.testing.assert_close(got, expected)
        torch.testing.assert_close(ours(x.detach(), dim=dim), expected.detach())
        gradients = [torch.autograd.grad(y.sum(), x)[0] for y in (got, expected)]
        torch.testing.assert_close(*gradients)


TYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64"


@pytest.mark.parametrize("dtype", [*TYPES.split(), "complex64", "complex128"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_fake_tensors_have_the_types_and_shapes_of_true_ones(name, dtype):
    x = torch.ones(2, 3).to(getattr(torch, dtype))
    for asked in (None, torch.float32, torch.complex128):
        if asked == torch.float32 and x.is_complex():
            continue
        for dim, keepdim in ((None, False), (1, True), (-2, False)):
            there = CALLS[name](x, dim, keepdim, asked)
            meta = CALLS[name](x.to("meta"), dim, keepdim, asked)
            assert (meta.device.type, meta.dtype, meta.shape) == ("meta", there.dtype, there.shape)


@pytest.mark.parametrize("first", [*TYPES.split(), "complex64", "complex128"])
def test_so_have_those_of_dot_products_of_two_types(first):
    a = torch.ones(2, 3).to(getattr(torch, first))
    for second in [*TYPES.split(), "complex64", "complex128"]:
        b = torch.ones(2, 3).to(getattr(torch, second))
        expected = gred.torch.dot(a[0], b[0])
        meta = gred.torch.dot(a[0].to("meta"), b[0].to("meta"))
        batch = torch.vmap(gred.torch.dot)(a, b)
        assert (meta.dtype, meta.shape) == (batch.dtype, ()) == (expected.dtype, expected.shape)
        assert batch.tolist() == [3, 3]


REFUSED = {
    "dot of two lengths": (lambda of: gred.torch.dot(of(2), of(3)), ValueError, "of one length"),
    "dot of matrices": (lambda of: gred.torch.dot(of(2, 2), of(2, 2)), ValueError, "vectors of"),
    "dot of scalars": (lambda of: gred.torch.dot(of(), of()), ValueError, "vectors of one length"),
    "amin of nothing": (lambda of: gred.torch.amin(of(0, 3)), ValueError, "no value"),
    "amin of no rows": (lambda of: gred.torch.amin(of(0, 3), 0), ValueError, "no value"),
    "amax of empty rows": (lambda of: gred.torch.amax(of(0, 0), 1), ValueError, "no value"),
    "dim that is not there": (lambda of: gred.torch.sum(of(2, 3), 2), IndexError, None),
    "dims that are not there": (lambda of: gred.torch.sum(of(2, 3), (0, -3)), IndexError, None),
    "dims twice": (lambda of: gred.torch.sum(of(2, 3), (0, -2)), ValueError, "duplicate|twice"),
}


@pytest.mark.parametrize(
    "options", [{"device": "cpu"}, {"device": "meta"}, {"requires_grad": True}]
)
@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_by_fakes_and_tensors_alike(case, options):
    call, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        call(lambda *shape: torch.ones(shape, **options))
    for extreme in (gred.torch.amin, gred.torch.amax):
        assert extreme(torch.ones(0, 3, **options), 1).shape == (0,)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dim", [0, -1, (0,), (), None], ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_tensor_without_dimensions_has_none_to_reduce(name, dim):
    ours, theirs = REDUCTIONS[name]
    x, expected = torch.tensor(3.0, requires_grad=True), theirs(torch.tensor([3.0]), dim=0)
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: ours(x, dim=dim), backend="eager", fullgraph=True)
    for found in (ours(x.detach(), dim=dim), ours(x, dim=dim), compiled(x.detach())):
        torch.testing.assert_close(found, expected, equal_nan=True, check_stride=False)
    for one in (x, x.detach(), x.to("meta")):
        with pytest.raises(IndexError):
            ours(one, dim=1)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_dims_may_be_integers_of_numpy(name):
    for x in (drawn(2, 3), drawn(2, 3, grad=False)):
        for dim in (np.int64(1), [np.int32(0), np.int64(1)]):
            plain = (0, 1) if isinstance(dim, list) else 1
            torch.testing.assert_close(*(REDUCTIONS[name][0](x, dim=one) for one in (dim, plain)))


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float32", "float64", "int8", "complex64"]
)
@pytest.mark.parametrize("name", ["var", "std"])
def test_exact_spreads_are_tensors_and_have_gradients(name, dtype):
    x, function = drawn(2, 3, dtype=torch.complex64, grad=False) * 4, getattr(gred.torch, name)
    x = (x if dtype == "complex64" else x.real).to(getattr(torch, dtype))
    for dim, keepdim in ((None, False), (1, False), ((0, 1), True)):
        expected = function(x, dim, keepdim)
        torch.testing.assert_close(function(x, dim, keepdim, method="exact"), expected)
        fake = function(x.to("meta"), dim, keepdim, method="exact")
        assert (fake.dtype, fake.shape) == (expected.dtype, expected.shape)
    check_gradients(lambda x: function(x, 1, method="exact"), drawn(2, 3))


@pytest.mark.parametrize("name", [None, *gred.torch.__all__])
def test_the_examples_of_docstrings_are_true(name):
    text = (gred.torch if name is None else getattr(gred.torch, name)).__doc__
    # Those of all_reduce take several processes.
    check_examples(text, str(name), more_than=-1 if name == "all_reduce" else 0)
