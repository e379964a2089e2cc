"""The normal form of axes: which dimensions are one, and what arrays it does not tell apart.

That each element belongs to the result that NumPy has it in is tested of results, along drawn axes
of drawn layouts.
"""

import itertools
import math
from types import SimpleNamespace

import pytest

from gred import _testing


def form(shape, strides, axes, size=8, mask=None):
    """Give the kind, whether all is aligned, and extents and strides of both parts."""
    bits = sum(1 << axis for axis in axes)
    told = _testing.axes(shape, strides, mask, size=size, axes=bits, in_order=False)
    return SimpleNamespace(kind=told[0], aligned=told[1], kept=told[-2], reduced=told[-1])


def of(shape, axes, size=4, **more):
    """Ask for the form of an array in C order."""
    strides = tuple(size * math.prod(shape[k + 1 :]) for k in range(len(shape)))
    return form(shape, strides, axes, size, **more)


# Shapes, axes and masks' strides: the kind, and extents that are kept and reduced.
MERGED = [
    ((64, 1000), [1], None, "rows", (64,), (1000,)),
    ((2, 3, 4, 5), [2, 3], None, "rows", (6,), (20,)),
    ((64, 1000), [0], None, "columns", (1000,), (64,)),
    ((2, 3, 4, 5), [0, 1], None, "columns", (20,), (6,)),
    ((8, 1024, 64), [1], None, "columns", (8, 64), (1024,)),  # in batches
    ((4, 5, 6), [1, 2], (30, 6, 1), "rows", (4,), (30,)),
    ((4, 5, 6), [1, 2], (0, 0, 1), None, (4,), (5, 6)),  # what a mask tells apart
    ((4, 5, 6), [0], (1, 0, 1), None, (5, 6), (4,)),
    ((0, 3), [0], None, None, (3,), (0,)),
    ((), [], None, None, (), ()),
    ((2, 1, 2, 1) * 16, range(0, 64, 4), None, None, (2,) * 16, (2,) * 16),
]


@pytest.mark.parametrize(("shape", "axes", "mask", "kind", "kept", "reduced"), MERGED)
def test_dimensions_are_merged(shape, axes, mask, kind, kept, reduced):
    told = of(shape, axes, mask=mask)
    assert (told.kept[0], told.reduced[0]) == (kept, reduced)
    if kind:
        assert (told.kind, told.aligned) == (kind, True)
        assert (told.reduced if kind == "rows" else told.kept)[1][-1] == 4


def test_rows_of_no_aligned_distance_are_told():
    assert [form((3, 4), (pitch, 8), [1]).aligned for pitch in (32, 33)] == [True, False]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_transposed_or_reversed_array_has_the_form_of_the_plain_one(order):
    shape, strides = (4, 5, 6), (240, 48, 8)
    for signs in itertools.product([1, -1], repeat=3):
        turned = tuple(shape[k] for k in order), tuple(strides[k] * signs[k] for k in order)
        for axes in ([0], [1], [2], [0, 1], [1, 2], [0, 2]):
            plain = form(shape, strides, axes)
            got = form(*turned, [order.index(axis) for axis in axes])
            assert got.kind == plain.kind
            assert plain.kind != "rows" or got.reduced == plain.reduced
