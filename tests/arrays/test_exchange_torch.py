"""PyTorch's tensors by DLPack's C exchange interface: memory as it is need not tell all of them."""

import sys
import types

import exchanges
import numpy as np
import pytest
from capsules import capsule_of
from exchanges import ATTRIBUTE, Lender, Untold, lender, offer
from inputs import OPS, reduce
from reference import BFLOAT16, COMPLEX, EVERY_TYPE, agrees, truth

import gred

X = np.arange(1, 25, dtype=np.float32).reshape(2, 3, 4)


@pytest.fixture(autouse=True)
def nobody_was_asked_in_vain_and_the_next_call_is_right():
    yield from exchanges.observed()


class Lazy(Lender):
    """A tensor, as far as gred knows them: its memory need not tell all."""

    requires_grad = negated = conjugated = False

    def is_neg(self):
        return self.negated

    def is_conj(self):
        return self.conjugated

    def resolve(self, is_lazy, seen):
        if not is_lazy:
            return self
        self.resolved = type(self)(capsule_of(seen(self.capsule.array)))  # outlives what it gives
        return self.resolved

    def resolve_conj(self):
        return self.resolve(self.conjugated, np.conj)

    def resolve_neg(self):
        return self.resolve(self.negated, np.negative)


@pytest.fixture
def stand_in(monkeypatch):
    """A module torch whose tensors offer an exchange, which shows memory as it is."""
    module = types.ModuleType("torch")
    module.Tensor = lender(offer(), Lazy)
    monkeypatch.setitem(sys.modules, "torch", module)
    return module.Tensor


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.complex64])
@pytest.mark.parametrize("state", ["plain", "negated", "conjugated"])
def test_what_memory_does_not_tell_is_asked(stand_in, state, dtype):
    x = (X.astype(dtype) * dtype(1 + 2j if dtype == np.complex64 else 1)).astype(dtype)
    tensor, out = stand_in(capsule_of(x)), stand_in(capsule_of(np.zeros(1, dtype)))
    for lazy in (tensor, out):
        setattr(lazy, state, True)
    references = sys.getrefcount(tensor)
    assert gred.sum(tensor) == {"plain": x, "negated": -x, "conjugated": x.conj()}[state].sum()
    assert sys.getrefcount(tensor) == references
    if state == "plain" or (state == "conjugated" and dtype != np.complex64):
        assert gred.sum(X, out=out) is out
    else:
        with pytest.raises(ValueError, match="out is conjugated or negated"):
            gred.sum(X, out=out)
    assert out.capsule.deletions == 1


def test_a_tensor_with_a_history_is_left_to_what_else_it_has(stand_in):
    tensor = stand_in(capsule_of(X))
    assert gred.sum(tensor) == X.sum()
    assert not tensor.calls
    tensor.requires_grad = True
    assert gred.sum(tensor) == X.sum()
    assert len(tensor.calls) == 1
    with pytest.raises(ValueError, match="requires grad"):
        gred.sum(X, out=tensor)


@pytest.fixture
def torch(monkeypatch):
    """PyTorch, if it has the exchange, with tensors whose Python methods must not be called."""
    torch = pytest.importorskip("torch")
    if not hasattr(torch.Tensor, ATTRIBUTE):
        pytest.skip("this PyTorch has no C exchange interface")
    for name in ("__dlpack__", "__dlpack_device__", "__array__"):
        monkeypatch.setattr(torch.Tensor, name, Untold.refuse)
    monkeypatch.setattr(torch.Tensor, "__cuda_array_interface__", property(Untold.refuse))
    return torch


def tensors(torch, array):
    """Make the same array of PyTorch, in each of several layouts, and of several classes."""
    bits = array.view(np.int16) if array.dtype == BFLOAT16 else array
    tensor = torch.from_numpy(bits.copy())
    tensor = tensor.view(torch.bfloat16) if array.dtype == BFLOAT16 else tensor
    yield tensor, array
    yield tensor[::2, 1:], array[::2, 1:]
    yield tensor.T, array.T
    yield tensor[1, 1], array[1, 1, ...]
    yield tensor[:0], array[:0]
    yield tensor[0].expand(3, -1), np.broadcast_to(array[0], (3, array.shape[1]))
    yield tensor.as_subclass(type("Own", (torch.Tensor,), {})), array
    yield torch.nn.Parameter(tensor, requires_grad=False), array
    if array.dtype in COMPLEX:
        yield tensor.conj().resolve_conj(), array.conj()


def test_pytorchs_tensors_are_read_and_python_is_not_asked(torch):
    for dtype in EVERY_TYPE:
        for tensor, array in tensors(torch, (np.arange(12) % 5).astype(dtype).reshape(3, 4)):
            for op in OPS if array.size else ("sum", "prod"):
                got = reduce(op, tensor)
                assert agrees(got, truth(op, array)), f"{op} of {dtype}: {got!r}"


def test_pytorchs_masks_and_outputs_are_taken_without_asking_python(torch):
    a, mask, out = torch.arange(6.0), torch.arange(6) > 2, torch.zeros(())
    assert gred.sum(a, where=mask, out=out) is out
    assert out.item() == 12
    assert gred.sum(np.arange(6), where=mask) == 12


@pytest.mark.gpu
def test_pytorchs_gpu_tensors_come_after_the_work_of_their_stream(torch):
    a, out = torch.zeros(1000, device="cuda"), torch.zeros((), device="cuda")
    mask = torch.zeros(1000, dtype=torch.bool, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(500_000_000)
        a += 1
        assert gred.sum(a) == 1000
        torch.cuda._sleep(500_000_000)
        a += 1
        mask[:10] = True
        assert gred.sum(a, where=mask, out=out) is out
        assert out.item() == 20


def test_pytorchs_lazy_tensors_are_right_and_no_out():
    torch = pytest.importorskip("torch")
    z = torch.tensor([1 + 2j, 3 - 5j])
    imaginary = z.conj().imag
    some = [z.conj(), imaginary, imaginary[0], torch.as_strided(imaginary, (2,), (1,))]
    for tensor in (*some, torch._neg_view(torch.arange(4)), torch._neg_view(z.conj())):
        assert gred.sum(tensor) == tensor.sum().item()
        with pytest.raises(ValueError, match="out is conjugated or negated"):
            gred.sum(X, out=tensor[..., :1] if tensor.ndim else tensor)
    assert gred.sum(z.conj().conj()) == 4 - 3j


def test_pytorchs_tensors_that_are_no_plain_memory_are_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(RuntimeError, match="grad"):
        gred.sum(torch.ones(3, requires_grad=True))
    some = [torch.eye(3).to_sparse(), torch.ones(3, device="meta"), torch._efficientzerotensor(3)]
    for tensor in (*some, torch.ones(3).to(torch.float8_e4m3fn)):
        with pytest.raises((TypeError, ValueError, RuntimeError)):
            gred.sum(tensor)


def test_a_tensor_that_is_overridden_is_read_as_it_says():
    torch = pytest.importorskip("torch")

    class Doubled(torch.Tensor):
        def __dlpack__(self, **options):
            return (2 * self.as_subclass(torch.Tensor)).__dlpack__(**options)

    assert gred.sum(torch.ones(3).as_subclass(Doubled)) == 6
