"""Every kind of array goes in, however it lies in memory, and NumPy's scalar comes out."""

import array
import gc

import numpy as np
import pytest
from inputs import OPS, reduce, shown
from numpys import everywhere
from reference import BFLOAT16, COMPLEX, EVERY_TYPE, agrees, truth

import gred


def able(where, dtype):
    """Give a place with a method that takes the type: complex numbers have no rungs."""
    return {"device": where["device"]} if dtype in COMPLEX else where


@everywhere
@pytest.mark.parametrize("code", "bBhHiIlqLQfd")
def test_buffers_go_in_and_are_released(code, where):
    a = array.array(code, [5, 1, 3])
    shaped = memoryview(np.arange(6, dtype=code).tobytes()).cast(code, (2, 3))
    for buffer in (a, memoryview(a), memoryview(a)[::2], memoryview(a)[::-1], shaped):
        for op in OPS:
            got = reduce(op, buffer, **where)
            assert agrees(got, truth(op, np.array(buffer))), f"{op}: {got!r}"
    with pytest.raises(TypeError):
        gred.sum(a, method=3, device=where["device"])
    del buffer
    gc.collect()
    a.append(4)  # which no exported buffer allows
    assert gred.sum(a, **where) == 13


def offering(**attributes):
    """Make an object that has these attributes, of its class."""
    return type("Offering", (), attributes)()


@everywhere
@pytest.mark.parametrize("dtype", EVERY_TYPE, ids=str)
def test_objects_that_become_arrays_go_in(dtype, where):
    x = (np.arange(1, 121) ** 2 % 1009).reshape(4, 6, 5).astype(dtype)
    for view in (x, x.T, x[::2, ::-1]):
        ways = [offering(__array__=lambda self, dtype=None, copy=None, view=view: view)]
        if dtype != BFLOAT16:
            ways.append(offering(__array_interface__=view.__array_interface__))
        for way in ways:
            assert agrees(gred.sum(way, **able(where, dtype)), truth("sum", view))


SEQUENCES = [[1, 2, 3], (1.5, 2.5), [[1, 2], [3, 4]], range(10), [np.float32(1.5), np.float32(2)]]
SEQUENCES += [[], [2**63, 1], [True, False], [1, 2j], 7, -2.5, True, 1j, np.int32(7), np.int8(-3)]
SEQUENCES += [np.float32(2.5), np.float16(2.5), np.uint64(2**63), np.complex64(1 + 2j)]
SEQUENCES += [np.ones(5, code) for code in "?bBhHiIlLqQpPefdFD"]  # all of C's names


@everywhere
@pytest.mark.parametrize("values", SEQUENCES, ids=shown)
def test_sequences_scalars_and_all_of_cs_types_are_numpys(values, where):
    for op in ("sum", "prod"):
        place = able(where, np.asarray(values).dtype)
        got, expected = reduce(op, values, **place), getattr(np, op)(values)
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
