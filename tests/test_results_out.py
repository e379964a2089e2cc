"""What `out=` on a device may be: of any strides and type, and over what is read."""

import numpy as np
import pytest
from device_results import X
from drawn import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import gred
from gred.testing import SimulatedArray

LAYOUTS = {
    "as it is": lambda a: a,
    "transposed": lambda a: a.T,
    "backwards": lambda a: a[::-1, ::-1],
    "every other": lambda a: a[::2, 1::2],
    "between others": lambda a: a[1:-1, 2:-2],
}


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int16", "bool", "complex128"])
def test_out_on_the_device_has_any_strides_and_type(layout, dtype):
    """What lies between its elements stays as it was."""
    expected = X.sum(1)  # 3 by 5
    shape = {"transposed": (5, 3), "every other": (6, 11), "between others": (5, 9)}
    around = np.full(shape.get(layout, (3, 5)), 7, dtype)
    target, model = SimulatedArray(around), around.copy()
    out = LAYOUTS[layout](target)
    assert gred.sum(SimulatedArray(X), 1, out=out) is out
    np.copyto(LAYOUTS[layout](model), expected, casting="unsafe")
    np.testing.assert_array_equal(target.get(), model)


@pytest.mark.parametrize("kept", [False, True])
def test_out_on_the_device_has_the_shape_of_the_results(kept):
    out = SimulatedArray(np.zeros((3, 1, 5) if kept else (3, 5)))
    gred.sum(SimulatedArray(X), 1, out=out, keepdims=kept)
    np.testing.assert_array_equal(out.get(), X.sum(1, keepdims=kept))
    wrong = SimulatedArray(np.zeros((3, 5) if kept else (3, 1, 5)))
    with pytest.raises(ValueError, match="shape of the results"):
        gred.sum(SimulatedArray(X), 1, out=wrong, keepdims=kept)
    assert not wrong.get().any()


@pytest.mark.parametrize("part", [np.s_[0], np.s_[2], np.s_[0, ::-1]], ids=str)
def test_out_may_overlap_with_what_is_read(part):
    memory = SimulatedArray(X)
    gred.sum(memory, 0, out=memory[part])
    np.testing.assert_array_equal(memory[part].get(), X.sum(0))


@pytest.mark.parametrize("order", ["forwards", "backwards", "shuffled"])
def test_out_may_lie_where_other_results_elements_do(order):
    """They are all read before any is written over."""
    x = np.arange(4096.0 * 8)
    memory = SimulatedArray(x)
    with gred.thread_order(order):
        gred.sum(memory.described(shape=(4096, 8)), 1, out=memory[16000:20096])
    np.testing.assert_array_equal(memory[16000:20096].get(), x.reshape(4096, 8).sum(1))


def test_out_may_overlap_with_the_mask():
    mask = SimulatedArray(X[0] > 8)
    gred.any(SimulatedArray(X), 0, where=mask, out=mask)
    np.testing.assert_array_equal(mask.get(), X.any(0, where=X[0] > 8))


def test_out_and_array_may_lie_on_different_sides():
    there, here = SimulatedArray(np.zeros((3, 5))), np.zeros((5, 3), np.float32)
    assert gred.sum(X, 1, out=there) is there
    np.testing.assert_array_equal(there.get(), X.sum(1))
    out = here.T
    assert gred.sum(SimulatedArray(X), 1, out=out) is out
    np.testing.assert_array_equal(here.T, X.sum(1))


def test_positions_go_to_integers_alone():
    out = SimulatedArray(np.zeros((3, 5), np.int32))
    gred.argmax(SimulatedArray(X), 1, out=out)
    np.testing.assert_array_equal(out.get(), X.argmax(1))
    with pytest.raises(TypeError, match="integers"):
        gred.argmax(SimulatedArray(X), 1, out=SimulatedArray(np.zeros((3, 5), np.float32)))


@given(data=st.data())
@settings(max_examples=examples(30), deadline=None)
def test_out_of_any_layout_holds_what_numpy_says(data):
    shape = data.draw(st.lists(st.integers(1, 4), min_size=2, max_size=4))
    axis = data.draw(st.integers(0, len(shape) - 1))
    x = np.arange(np.prod(shape)).reshape(shape) % 11
    expected = x.sum(axis)
    order = data.draw(st.permutations(range(expected.ndim)))
    steps = [data.draw(st.sampled_from([1, -1, 2, -3])) for _ in order]
    around = np.full([expected.shape[k] * abs(steps[k]) for k in order], 99)
    index = tuple(slice(None, None, steps[k]) for k in order)
    back = np.argsort(order)
    target = SimulatedArray(around)
    out = target._like(target._view[index].transpose(back), {})
    gred.sum(SimulatedArray(x), axis, out=out)
    around[index].transpose(back)[...] = expected
    np.testing.assert_array_equal(target.get(), around)
