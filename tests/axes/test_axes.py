"""The normal form of axes puts each element to the result that NumPy has it in, without a GPU.

An array of byte offsets, laid out as Hypothesis draws it, is what the form describes: NumPy says
which of them lie along which axes, and the form has to name the same, merged or not.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np
import pytest
from drawn import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from gred import _testing


class Form(NamedTuple):
    """The normal form: begin and mask_begin in bytes; kept, reduced: extents and strides."""

    kind: str
    aligned: bool
    place: int
    begin: int
    mask_begin: int
    kept: tuple
    reduced: tuple


def form(shape, strides, axes, size=8, mask=None, in_order=False) -> Form:
    bits = sum(1 << axis for axis in axes)
    return Form(*_testing.axes(shape, strides, mask, size=size, axes=bits, in_order=in_order))


def offsets(shape, strides) -> np.ndarray:
    """Make the array of all elements' offsets."""
    places = np.indices(shape).reshape(len(shape), *shape)
    return sum(
        (k * stride for k, stride in zip(places, strides, strict=True)), np.zeros(shape, int)
    )


def numpys(shape, strides, axes) -> np.ndarray:
    """List the offsets of each result's elements: a row a result, in C order."""
    kept = [k for k in range(len(shape)) if k not in axes]
    moved = offsets(shape, strides).transpose(kept + sorted(axes))
    return moved.reshape(math.prod(moved.shape[: len(kept)]), math.prod(moved.shape[len(kept) :]))


@st.composite
def layouts(draw):
    """Draw a shape, strides in bytes as views of memory have them, axes, and a mask's strides."""
    size = distance = draw(st.sampled_from((1, 2, 4, 8, 16)))
    shape = draw(st.lists(st.sampled_from([1, 2, 2, 3, 4, 5]), max_size=6))
    strides = np.zeros(len(shape), int)
    for axis in draw(st.permutations(range(len(shape)))):
        strides[axis] = distance * draw(st.sampled_from([1, 1, 1, 1, -1, -1, 0, 2]))
        distance *= shape[axis] * draw(st.sampled_from([1, 1, 1, 3]))
    axes = [axis for axis in range(len(shape)) if draw(st.booleans())]
    own = [math.prod(shape[k + 1 :]) * draw(st.sampled_from([0, 1, -1])) for k in range(len(shape))]
    mask = draw(st.sampled_from([None, tuple(own)]))
    return tuple(shape), tuple(map(int, strides)), axes, size, mask


@settings(max_examples=examples(400), deadline=None)
@given(layout=layouts(), in_order=st.booleans())
def test_each_element_belongs_to_the_result_that_numpy_has_it_in(layout, in_order):
    shape, strides, axes, size, mask = layout
    told = form(shape, strides, axes, size, mask, in_order)
    places = (told.place + offsets(told.kept[0], told.kept[3])).reshape(-1)
    found, right = [], []
    for start, of, steps in (
        (told.begin, 1, strides),
        (told.mask_begin, 2, mask or (0,) * len(shape)),
    ):
        firsts = offsets(told.kept[0], told.kept[of]).reshape(-1, 1)
        rest = offsets(told.reduced[0], told.reduced[of]).reshape(1, -1)
        found.append((start + firsts + rest)[np.argsort(places)])
        right.append(numpys(shape, steps, axes))
    assert np.sort(places).tolist() == list(range(len(right[0])))
    for ours, theirs in zip(
        np.stack(found, -1).tolist(), np.stack(right, -1).tolist(), strict=True
    ):
        assert ours == theirs if in_order else sorted(ours) == sorted(theirs)


def of(shape, axes, size=4, **more) -> Form:
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
