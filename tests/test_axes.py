"""The normal form of axes puts each element to the result that NumPy has it in, without a GPU.

An array of byte offsets, laid out as Hypothesis draws it, is what the form describes: NumPy says
which of them lie along which axes, and the form has to name the same, merged or not.
"""

import itertools

import numpy as np
import pytest
from drawn import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from gred import _core

SIZES = (1, 2, 4, 8, 16)


def bits(axes) -> int:
    """Write axes as the form takes them."""
    return sum(1 << axis for axis in axes)


def offsets(shape, strides) -> np.ndarray:
    """Make the array of all elements' offsets."""
    total = np.zeros(shape, np.int64)
    for axis, (length, stride) in enumerate(zip(shape, strides, strict=True)):
        steps = np.arange(length) * stride
        total += steps.reshape([-1 if k == axis else 1 for k in range(len(shape))])
    return total


def numpys(shape, strides, axes) -> np.ndarray:
    """List the offsets of each result's elements: a row a result, in C order."""
    kept = [k for k in range(len(shape)) if k not in axes]
    moved = offsets(shape, strides).transpose(kept + sorted(axes))
    return moved.reshape(
        int(np.prod([shape[k] for k in kept], dtype=int)),
        int(np.prod([shape[k] for k in axes], dtype=int)),
    )


def form(shape, strides, axes, size=1, mask=None, in_order=False):
    """Ask for the normal form."""
    return _core.pretended_axes(shape, strides, mask, size, bits(axes), in_order)


def described(shape, strides, axes, size, mask, in_order):
    """List the same offsets as the form has them: of elements, and of the mask."""
    _, _, place, begin, mask_begin, kept, reduced = form(shape, strides, axes, size, mask, in_order)
    places = (place + offsets(kept[0], kept[3])).reshape(-1)
    rows = []
    for start, kept_strides, own in (
        (begin, kept[1], reduced[1]),
        (mask_begin, kept[2], reduced[2]),
    ):
        firsts = offsets(kept[0], kept_strides).reshape(-1, 1)
        rest = offsets(reduced[0], own).reshape(1, -1)
        rows.append((start + firsts + rest)[np.argsort(places)])
    return np.sort(places), *rows


@st.composite
def layouts(draw):
    """Draw a shape, strides in bytes as views of a block of memory have them, and axes."""
    size = draw(st.sampled_from(SIZES))
    shape = draw(st.lists(st.sampled_from([1, 2, 2, 3, 4, 5]), max_size=6))
    strides = np.zeros(len(shape), int)
    distance = size
    for axis in draw(st.permutations(range(len(shape)))):
        strides[axis] = distance * draw(st.sampled_from([1, 1, 1, 1, -1, -1, 0, 2]))
        distance *= shape[axis] * draw(st.sampled_from([1, 1, 1, 3]))
    axes = [axis for axis in range(len(shape)) if draw(st.booleans())]
    return tuple(shape), tuple(map(int, strides)), axes, size


@settings(max_examples=examples(400), deadline=None)
@given(layout=layouts(), masked=st.booleans(), in_order=st.booleans(), data=st.data())
def test_each_element_belongs_to_the_result_that_numpy_has_it_in(layout, masked, in_order, data):
    shape, strides, axes, size = layout
    mask = None
    if masked:
        kinds = st.sampled_from([0, 1, -1, 1])
        own = offsets(shape, [0] * len(shape)).astype(bool).strides
        mask = tuple(stride * data.draw(kinds) for stride in own)
    places, rows, mask_rows = described(shape, strides, axes, size, mask, in_order)
    right = numpys(shape, strides, axes)
    right_mask = numpys(shape, mask or (0,) * len(shape), axes)
    assert places.tolist() == list(range(len(right)))
    pairs = np.stack([rows, mask_rows], axis=-1).reshape(len(right), -1, 2)
    right_pairs = np.stack([right, right_mask], axis=-1)
    for ours, theirs in zip(pairs.tolist(), right_pairs.tolist(), strict=True):
        assert ours == theirs if in_order else sorted(ours) == sorted(theirs)


SHAPES = ((64, 1000), (8, 1024, 64), (2, 3, 4, 5))


def contiguous(shape, size):
    """Give C order's strides."""
    strides = [size]
    for length in reversed(shape[1:]):
        strides.append(strides[-1] * length)
    return tuple(reversed(strides))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_last_axes_are_rows_and_the_first_columns(shape):
    strides = contiguous(shape, 4)
    for count in range(1, len(shape)):
        last, first = range(len(shape) - count, len(shape)), range(count)
        kind, aligned, _, _, _, kept, reduced = form(shape, strides, last, 4)
        assert (kind, aligned) == ("rows", True)
        assert reduced[:2] == ((np.prod(shape[-count:]),), (4,))
        assert kept[0] == (np.prod(shape[:-count]),)
        kind, _, _, _, _, kept, reduced = form(shape, strides, first, 4)
        assert kind == "columns"
        assert kept[:2] == ((np.prod(shape[count:]),), (4,))
        assert len(reduced[0]) == 1


def test_an_axis_in_the_middle_is_columns_in_batches():
    kind, _, _, _, _, kept, reduced = form((8, 1024, 64), contiguous((8, 1024, 64), 4), [1], 4)
    assert kind == "columns"
    assert kept[:2] == ((8, 64), (1024 * 64 * 4, 4))
    assert reduced[:2] == ((1024,), (64 * 4,))


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("signs", list(itertools.product([1, -1], repeat=3)))
def test_a_transposed_or_reversed_array_has_the_form_of_the_plain_one(order, signs):
    shape, strides = (4, 5, 6), contiguous((4, 5, 6), 8)
    for axes in ([0], [1], [2], [0, 1], [1, 2], [0, 2]):
        plain = form(shape, strides, axes, 8)
        turned = form(
            tuple(shape[k] for k in order),
            tuple(strides[k] * signs[k] for k in order),
            [order.index(axis) for axis in axes],
            8,
        )
        assert turned[0] == plain[0]
        if plain[0] == "rows":
            assert turned[6] == plain[6]


def test_what_a_mask_tells_apart_is_not_merged():
    shape, strides = (4, 5, 6), contiguous((4, 5, 6), 8)
    assert form(shape, strides, [1, 2], 8)[6][0] == (30,)
    assert form(shape, strides, [1, 2], 8, mask=(30, 6, 1))[6][0] == (30,)
    assert form(shape, strides, [1, 2], 8, mask=(0, 0, 1))[6][0] == (5, 6)
    assert form(shape, strides, [0], 8, mask=(1, 0, 1))[5][0] == (5, 6)


def test_no_results_and_no_elements_have_forms_too():
    assert form((0, 3), (24, 8), [0], 8)[6][0] == (0,)
    assert form((0, 3), (24, 8), [1], 8)[6][0] == (3,)
    assert form((), (), [], 8)[5][0] == ()
    shape = (2, 1, 2, 1) * 16
    kept = form(shape, contiguous(shape, 1), range(0, 64, 4), 1)[5]
    assert kept[0] == (2,) * 16


def test_misaligned_elements_are_seen():
    assert form((3, 4), (33, 8), [1], 8)[1] is False
    assert form((3, 4), (32, 8), [1], 8)[1] is True
