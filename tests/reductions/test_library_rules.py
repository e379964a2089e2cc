"""What gred knows of PyTorch and JAX, held with stand-ins for them where they are not installed."""

import sys
import types

import numpy as np
import pytest
from capsules import NEW, OLD, Producer, capsule_of

import gred

X = np.arange(1, 5, dtype=np.float32)


def stand_in(monkeypatch, name, **members):
    module = types.ModuleType(name)
    vars(module).update(members)
    monkeypatch.setitem(sys.modules, name, module)


class Tensor:
    """As much of a tensor as gred asks for: it has no NumPy, and its interfaces may decline."""

    def __init__(self, array, *, requires_grad=False):
        self.array, self.requires_grad = array, requires_grad

    def resolve_conj(self):
        return self

    resolve_neg = resolve_conj

    def detach(self):
        return Tensor(self.array)

    def __dlpack__(self, **options):
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


def test_a_tensor_that_requires_grad_is_neither_read_nor_written_and_says_so(monkeypatch):
    stand_in(monkeypatch, "torch", Tensor=Tensor)
    memory = np.full(1, 9.0, np.float32)
    out = Tensor(memory, requires_grad=True)
    with pytest.raises(ValueError, match=r"out .*requires grad.*detach\(\)"):
        gred.sum(X, out=out)
    assert memory == 9
    detached = out.detach()
    assert gred.sum(X, out=detached) is detached
    assert memory == 10
    with pytest.raises((RuntimeError, ValueError), match="requires grad"):
        gred.sum(out)
    assert gred.sum(detached) == 10

    def broken(_):
        raise ZeroDivisionError("no answer today")

    monkeypatch.setattr(Tensor, "requires_grad", property(broken), raising=False)
    with pytest.raises(ZeroDivisionError, match="no answer today"):
        gred.sum(X, out=detached)
    assert gred.sum(X) == 10


class Immutable(Producer):
    """An array of a JAX that exports a capsule."""


class Knowing(type):
    """JAX's class of arrays is no base of theirs, but knows them."""

    def __instancecheck__(cls, instance):
        return type(instance) is Immutable


@pytest.mark.parametrize("name", [OLD, NEW], ids=["old", "new"])
def test_an_array_of_jax_is_never_written(monkeypatch, name):
    """Whatever its capsule says: a GPU's has no version, and others' of that form are written."""
    stand_in(monkeypatch, "jax", Array=Knowing("Array", (), {}))
    memory = np.full(1, 9.0, np.float32)
    with pytest.raises(ValueError, match=r"out .*JAX"):
        gred.sum(X, out=Immutable(capsule_of(memory, name)))
    assert memory == 9
    assert gred.sum(Immutable(capsule_of(X, name))) == 10
    assert gred.sum(X, out=Producer(capsule_of(memory))).calls
    assert memory == 10


def test_jaxs_own_arrays_are_never_written(monkeypatch):
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    numpy = pytest.importorskip("jax.numpy")
    for dtype in (numpy.float32, numpy.bfloat16):
        out = numpy.full((1,), 9, dtype)
        with pytest.raises(ValueError, match=r"out .*JAX"):
            gred.sum(X, out=out)
        assert float(out[0]) == gred.sum(out) == 9
