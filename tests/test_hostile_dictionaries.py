"""Whatever a dictionary claims to describe: an exception, or a right answer; never a crash.

Hypothesis and what is crossed of its examples make up more than 9,000 of them, most of them with
something wrong. A model of the memory says what the right answer would be, if there is one.
"""

import gc
import math
from functools import partial

import numpy as np
import pytest
from drawn import examples
from hostile import Nameless
from hostile_memory import (
    BYTES,
    JUNK,
    MEMORY,
    NBYTES,
    START,
    Text,
    c_order,
    check,
    crossed,
    extent,
    hostile,
    junk,
    mostly,
    numbers,
    small,
)
from hypothesis import given
from hypothesis import strategies as st
from inputs import shown

import gred
from gred.testing import SimulatedArray

shapes = mostly(
    st.lists(small, max_size=4).map(tuple),
    st.lists(st.one_of(small, numbers), max_size=3).map(tuple),
    st.lists(st.one_of(small, junk), max_size=3).map(tuple),
    st.integers(0, 100).map(lambda n: (1,) * n),
    junk,
)
steps = st.sampled_from((0, 1, 2, 4, 8, 16, 24, 64, -4, -8, -16))
strides = st.one_of(
    st.none(),
    st.lists(steps, max_size=4).map(tuple),
    st.lists(st.one_of(steps, numbers, junk), max_size=4).map(tuple),
    junk,
)
offsets = st.sampled_from((0, 8, 16, 1024, NBYTES // 2, NBYTES - 16))
pointers_into_memory = offsets.map(lambda k: START + k)
pointers = mostly(
    pointers_into_memory,
    st.sampled_from((-8, -1, 1, 3, NBYTES - 8, NBYTES, 2**40)).map(lambda k: START + k),
    numbers,
    junk,
)
data = mostly(
    st.tuples(pointers, st.booleans()),
    st.tuples(pointers, junk),
    st.lists(pointers, max_size=3).map(tuple),
    junk,
)
ABSENT = object()
TRIED = 9_000  # at least, of what is crossed, and is not too long to be tried
TYPESTRS = (
    *("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "<c8"),
    *("<c16", "=f4", ">i1"),
)
NO_TYPESTRS = (
    *(">f4", "<V2", "<f16", "|O8", "", "f", "<", "<f", "<f4 ", "f4", "<f0", "<f99999999999", "é"),
    *("<f4\0", "\ud800", "<M8[s]", Text("<f4"), "<i04"),
)
sound_entries = {
    "shape": st.lists(small, max_size=4).map(tuple),
    "typestr": st.sampled_from(TYPESTRS),
    "data": st.tuples(pointers_into_memory, st.booleans()),
    "version": st.sampled_from((2, 3, 3, 3)),
    "strides": st.just(ABSENT),
    "stream": st.sampled_from((ABSENT, None, 1, 2)),
    "mask": st.sampled_from((ABSENT, None)),
    "descr": st.sampled_from((ABSENT, None)),
    "omitted": st.none(),
}
any_entries = {
    "shape": shapes,
    "typestr": mostly(sound_entries["typestr"], st.sampled_from(NO_TYPESTRS), junk),
    "data": data,
    "version": mostly(sound_entries["version"], numbers, junk),
    "strides": mostly(sound_entries["strides"], strides, strides, strides),
    "stream": mostly(sound_entries["stream"], numbers, junk),
    "mask": mostly(sound_entries["mask"], junk),
    "descr": mostly(sound_entries["descr"], junk),
    "omitted": mostly(st.none(), st.sampled_from(("shape", "typestr", "data", "version"))),
}
sound, entries = st.fixed_dictionaries(sound_entries), st.fixed_dictionaries(any_entries)


class Offer:
    """An object with an interface."""

    def __init__(self, interface):
        self.__cuda_array_interface__ = interface


def without_absent(described):
    omitted = ("omitted", described["omitted"])
    return {k: value for k, value in described.items() if value is not ABSENT and k not in omitted}


def integers(values):
    return [value.__index__() for value in values]


def model(interface):
    """Give the elements that are described, if all of them lie in the memory; else None."""
    dtype = np.dtype(str(interface["typestr"]))
    shape = integers(interface["shape"])
    if min(shape, default=0) < 0:
        return None
    steps = interface.get("strides")
    steps = c_order(shape, dtype.itemsize) if steps is None else integers(steps)
    if math.prod(shape) == 0:
        return np.empty(0, dtype)
    low, high = extent(shape, steps, dtype.itemsize)
    first = interface["data"][0].__index__() - START
    if first + low < 0 or first + high > NBYTES:
        return None
    steps = [step if n > 1 else 0 for n, step in zip(shape, steps, strict=True)]
    return np.ndarray(shape, dtype, BYTES, first, steps)


def takes_for_ever(interface):
    """Tell whether it may be an array of stride 0 that is right, and too long to be tried."""
    try:
        elements = model(interface)
    except Exception:
        return False
    return elements is not None and elements.size > 20_000


def test_hostile_dictionaries_end_in_an_exception_or_a_right_answer():
    tried, answered = [], []

    @hostile(examples(1_250))
    @given(one=st.one_of(sound, entries), other=entries, op=st.sampled_from(("sum", "max")))
    def fuzz(one, other, op):
        for interface in map(without_absent, crossed(one, other)):
            if not takes_for_ever(interface):
                tried.append(op)
                answered.extend([op] * check(op, Offer(interface), partial(model, interface)))

    fuzz()
    assert len(tried) > examples(TRIED)
    assert 0.02 < len(answered) / len(tried) < 0.98
    assert gred.sum(MEMORY) == BYTES.sum()
    np.testing.assert_array_equal(MEMORY.get(), BYTES)


@pytest.mark.parametrize("interface", JUNK, ids=shown)
def test_what_is_no_dictionary_is_no_array(interface):
    assert not check("sum", Offer(interface), lambda: None)


CHANGING = ("shape", "typestr", "data", "version", "strides", "stream")


@pytest.mark.parametrize("key", CHANGING)
@pytest.mark.parametrize("deed", ["clear", "replace", "drop the memory", "recurse"])
def test_an_entry_whose_code_changes_everything_does_no_harm(key, deed):
    array = SimulatedArray(BYTES)
    offer = Offer(dict(array.__cuda_array_interface__))
    interface = offer.__cuda_array_interface__
    interface["strides"] = (1,)
    interface["stream"] = 1

    class Deed:
        def __init__(self, value):
            self.value = value

        def __index__(self):
            if deed == "clear":
                interface.clear()
            elif deed == "replace":
                interface.update({name: None for name in interface})
            elif deed == "drop the memory":
                nonlocal array
                array = None
            else:
                assert gred.sum([1, 2]) == 3
            gc.collect()
            return self.value

    good = interface[key]
    if isinstance(good, tuple):
        interface[key] = (Deed(good[0]), *good[1:])
    elif isinstance(good, int):
        interface[key] = Deed(good)
    check("sum", offer, lambda: BYTES)
    assert gred.sum(MEMORY) == BYTES.sum()


@pytest.mark.parametrize(
    "key", ["shape", "typestr", "data", "version", "strides", "stream", "mask", "descr"]
)
def test_an_entry_that_cannot_be_shown_is_refused(key):
    good = MEMORY.__cuda_array_interface__
    for value in (Nameless(), (Nameless(),), (Nameless(), Nameless()), [Nameless()]):
        with pytest.raises((TypeError, ValueError, ZeroDivisionError)):
            gred.sum(Offer(good | {key: value}))
