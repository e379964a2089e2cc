"""Every kind of array goes in, however it lies in memory, and NumPy's scalar comes out."""

import array
import gc

import numpy as np
import pytest
from capsules import BFLOAT
from inputs import OPS, reduce, shown
from reference import BFLOAT16, EVERY_TYPE, agrees, truth
from test_dlpack import WAYS, Only, OnlyOld

import gred


def offering(**attributes):
    """Make an object that has these attributes, of its class."""
    return type("Offering", (), attributes)()


def of_torch(x):
    torch = pytest.importorskip("torch")
    writable = np.array(x.view(np.int16) if x.dtype == BFLOAT16 else x)
    tensor = torch.from_numpy(writable)
    return tensor.view(torch.bfloat16) if x.dtype == BFLOAT16 else tensor


# Ways for an array to go in, and those by which not all types can.
IN = {
    "array": lambda x: x,
    "buffer": memoryview,
    "__array__": lambda x: offering(__array__=lambda self, dtype=None, copy=None: x),
    "__array_interface__": lambda x: offering(__array_interface__=x.__array_interface__),
    "DLPack": Only,
    "old DLPack": lambda x: OnlyOld(x if x.flags.writeable else x.copy()),
    "PyTorch": of_torch,
    **WAYS,
}
NO_BFLOAT16 = ("buffer", "__array_interface__", "DLPack", "old DLPack")


@pytest.mark.parametrize("way", IN)
def test_every_type_and_layout_goes_in_every_way(way, device):
    """A capsule is released once, and a tensor of an exchange is not given away."""
    for dtype in EVERY_TYPE:
        if way in NO_BFLOAT16 and dtype == BFLOAT16:
            continue
        x = (np.arange(60) % 2).astype(dtype).reshape(3, 4, 5)
        for view in (x, x.T, x[::2, ::-1], x[1, 2, 3, ...], np.broadcast_to(x[0], x.shape), x[:0]):
            of_bits = way in WAYS and dtype == BFLOAT16
            bits = view.view(np.int16) if of_bits else view
            for op in OPS if view.size else ("sum", "prod"):
                given = IN[way](bits, **({"code": BFLOAT} if of_bits else {}))
                got = reduce(op, given, device=device)
                assert agrees(got, truth(op, view)), f"{op} of {dtype}: {got!r}"
                assert way not in WAYS or given.capsule.deletions == (way != "exchange")


@pytest.mark.parametrize("code", "bBhHiIlqLQfd")
def test_buffers_are_released(code):
    a = array.array(code, [5, 1, 3])
    shaped = memoryview(np.arange(6, dtype=code).tobytes()).cast(code, (2, 3))
    for buffer in (a, memoryview(a)[::2], memoryview(a)[::-1], shaped):
        assert gred.sum(buffer) == np.array(buffer).sum()
    with pytest.raises(TypeError):
        gred.sum(a, method=3)
    del buffer
    gc.collect()
    a.append(4)  # which no exported buffer allows
    assert gred.sum(a) == 13


SEQUENCES = [[1, 2, 3], (1.5, 2.5), [[1, 2], [3, 4]], range(10), [np.float32(1.5), np.float32(2)]]
SEQUENCES += [[], [2**63, 1], [True, False], [1, 2j], 7, -2.5, True, 1j, np.int32(7), np.int8(-3)]
SEQUENCES += [np.float32(2.5), np.float16(2.5), np.uint64(2**63), np.complex64(1 + 2j)]
SEQUENCES += [np.ones(5, code) for code in "?bBhHiIlLqQpPefdFD"]  # all of C's names


@pytest.mark.parametrize("values", SEQUENCES, ids=shown)
def test_sequences_scalars_and_all_of_cs_types_are_numpys(values, device):
    for op in ("sum", "prod"):
        got, expected = reduce(op, values, device=device), getattr(np, op)(values)
        assert (got, got.dtype) == (expected, expected.dtype)


def test_a_subclass_of_an_array_goes_in_as_its_elements():
    class Strange(np.ndarray):
        def sum(self, *_, **__):
            raise AssertionError("nobody asked for this")

        __add__ = __getitem__ = __len__ = sum

    assert gred.sum(np.arange(10).view(Strange)) == 45


def test_the_way_that_avoids_a_copy_wins():
    asked, x = [], np.arange(10.0)
    several = offering(
        __array_interface__=property(lambda _: asked.append("interface") or x.__array_interface__),
        __array__=lambda *_, **__: asked.append("array") or x.copy(),
        __dlpack__=lambda _, **options: asked.append("dlpack") or x.__dlpack__(**options),
        __dlpack_device__=lambda _: x.__dlpack_device__(),
    )
    assert gred.sum(several) == 45
    assert "array" not in asked
