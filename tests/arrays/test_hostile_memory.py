"""Whatever capsules and dictionaries claim to describe: an exception, or a right answer.

Hypothesis and what is crossed of its examples make up thousands of them, most with something wrong.
A model of the memory says what the right answer would be, if there is one.
"""

import gc
import math
import re

import hostile
import numpy as np
import pytest
from capsules import CODES, CPU, CUDA, CUDA_HOST, CUDA_MANAGED, NEW, OLD, Capsule, Producer
from devices import GPU_IS_HERE
from drawn import examples
from hostile import BYTES, MEMORY, NBYTES, START, check, elements_at, junk, mostly, numbers, small
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import just, lists, sampled_from

import gred
from gred.testing import SimulatedArray

TOO_MANY = 20_000  # elements, with strides of 0, to be tried


def fuzzed(draws, one, other, reduces, least):
    """Reduce what is drawn and crossed, so many at least; some of it has an answer, but not all.

    `reduces` tells how often there was one, or None where it was not tried.
    """
    answers = []

    @hostile.hostile(examples(draws))
    @given(one=one, other=other, op=sampled_from(("sum", "max")))
    def fuzz(one, other, op):
        answers.extend(reduces(op, drawn) for drawn in hostile.crossed(one, other))

    fuzz()
    tried = [answer for answer in answers if answer is not None]
    assert len(tried) > examples(least)
    assert 0.02 < sum(tried) / len(tried) < 0.98


# ---- capsules ----

HOST = np.frombuffer(BYTES.tobytes(), np.uint8)
SUPPORTED = {
    (code, 8 * size): np.dtype(f"{kind}{size}")
    for kind, code in CODES.items()
    for size in (1, 2, 4, 8, 16)
    if re.fullmatch("b1|[iu][1248]|f[248]|c(8|16)", f"{kind}{size}")
}


def four(*steps):
    return lists(sampled_from(steps), min_size=4, max_size=4)


extents = lists(sampled_from((0, 1, 3, -1, 2**62, 2**63 - 1, -(2**63))), max_size=4)
bad_types = st.tuples(sampled_from((*range(8), 255)), sampled_from((0, 1, 7, 24, 80, 128)))
# What each part of a tensor is where all is well, and otherwise.
PARTS = {
    "type": (sampled_from(sorted(SUPPORTED)), bad_types),
    "lanes": (just(1), sampled_from((0, 2, 65535))),
    "shape": (lists(small, max_size=4), st.none() | extents),
    "ndim": (st.none(), sampled_from((0, -1, 65, 80, 2**31 - 1, -(2**31)))),
    "strides": (st.none() | four(0, 1, 2, 3, 8, -1), four(0, 1, 2**60, 2**62, -(2**63))),
    "data": (sampled_from((0, 8, 512, 2048)), sampled_from((1, 2047, None))),
    "byte_offset": (just(0), sampled_from((8, 1, 2**64 - 1, 2**63))),
    "device_type": (just(CPU), sampled_from((CUDA_HOST, CUDA, 0, 7, -1))),
    "version": (sampled_from(((1, 0), (1, 9))), sampled_from(((2, 0), (0, 0), (2**32 - 1, 1)))),
    "name": (sampled_from((OLD, NEW)), sampled_from((None, b"", b"used_dltensor"))),
    "said": (just(CPU), sampled_from((CUDA_HOST, CUDA, 4))),
    "flags": (sampled_from((0, 1, 2, 2**63)),) * 2,
    "with_deleter": (st.booleans(),) * 2,
}


@st.composite
def tensors(draw):
    """Draw a tensor in which up to three things are wrong."""
    faults = draw(lists(sampled_from(sorted(PARTS)), max_size=3))
    return {key: draw(strategies[key in faults]) for key, strategies in PARTS.items()}


DEFINITE = "there is no such tensor"
PLACES = {CPU: "host", CUDA_HOST: "host", CUDA: "gpu", CUDA_MANAGED: "gpu"}


def tensor_model(drawn):
    """Give a tensor's elements, `DEFINITE` if it must be refused, or None: nobody could tell."""
    dtype, shape = SUPPORTED.get(drawn["type"]), drawn["shape"]
    ndim = len(shape or ()) if drawn["ndim"] is None else drawn["ndim"]
    places = {PLACES.get(drawn["device_type"]), PLACES.get(drawn["said"])}
    hopeless = (
        dtype is None
        or drawn["lanes"] != 1
        or not 0 <= ndim <= 64
        or (shape is None and ndim > 0)
        or drawn["name"] not in (OLD, NEW)
        or (drawn["name"] == NEW and drawn["version"][0] != 1)
        or places not in ({"host"}, {"gpu"})
        or (places == {"gpu"} and not GPU_IS_HERE)
    )
    shape = [*(shape or ()), *[0] * 80][: 0 if hopeless else ndim]
    if hopeless or min(shape, default=0) < 0:
        return DEFINITE
    if math.prod(shape) == 0:
        return np.empty(0, dtype)
    size, strides = dtype.itemsize, drawn["strides"]
    beyond = strides is None and math.prod(shape) * size >= 2**63
    if places == {"gpu"} or beyond or drawn["data"] is None:  # the memory is the host's
        return DEFINITE
    steps = strides and [size * step for step in [*strides, *[0] * 80][:ndim]]
    found = elements_at(drawn["data"] + drawn["byte_offset"], shape, steps, dtype)
    return None if found is None or found.size > TOO_MANY else found


def reduces_tensor(op, drawn):
    """Reduce a tensor: it is right or refused, and released once if it was taken."""
    elements = tensor_model(drawn)
    if elements is None:
        return None
    changes = {key: drawn[key] for key in PARTS if key not in ("type", "ndim", "name", "said")}
    changes |= {} if drawn["ndim"] is None else {"ndim": drawn["ndim"]}
    changes["code"], changes["bits"] = drawn["type"]
    changes["data"] = None if drawn["data"] is None else HOST.ctypes.data + drawn["data"]
    capsule = Capsule(drawn["name"], **changes)
    producer = Producer(capsule, (drawn["said"], 0))
    got = check(op, producer, lambda: None if elements is DEFINITE else elements)
    assert got or elements is DEFINITE or elements.size == 0
    made = len(producer.calls) if drawn["name"] in (OLD, NEW) else 0
    assert capsule.deletions == made if drawn["with_deleter"] else capsule.deletions <= made
    return got


def test_hostile_capsules_end_in_an_exception_or_a_right_answer():
    fuzzed(1_600, tensors(), tensors(), reduces_tensor, 9_600)


# ---- dictionaries ----


def tuples(strategy, most=4):
    return lists(strategy, max_size=most).map(tuple)


def from_start(*offsets):
    return sampled_from(offsets).map(lambda k: START + k)


ABSENT = object()
REQUIRED = ("shape", "typestr", "data", "version")
inside = from_start(0, 8, 16, 1024, NBYTES // 2, NBYTES - 16)
pointers = mostly(inside, from_start(-8, -1, 1, 3, NBYTES - 8, NBYTES, 2**40), numbers, junk)
steps = sampled_from((0, 1, 2, 4, 8, 16, 24, 64, -4, -8, -16))
strides = st.one_of(st.none(), tuples(steps), tuples(steps | numbers | junk), junk)
shapes = [tuples(small | numbers, 3), tuples(small | junk, 3), junk]
shapes += [st.integers(0, 100).map(lambda n: (1,) * n)]
types = sampled_from([np.dtype(code).str for code in "?bBhHiIqQefdFD"] + ["=f4", ">i1"])
NO_TYPES = [">f4", "<V2", "<f16", "|O8", "", "f", "<", "<f", "<f4 ", "f4", "<f0", "<M8[s]"]
NO_TYPES += ["<f99999999999", "é", "<f4\0", "\ud800", hostile.Text("<f4"), "<i04"]
data = [st.tuples(pointers, junk), tuples(pointers, 3), junk]
# What each entry is where all is well, and what else it may be.
ENTRIES = {
    "shape": (tuples(small), *shapes),
    "typestr": (types, sampled_from(NO_TYPES), junk),
    "data": (st.tuples(inside, st.booleans()), st.tuples(pointers, st.booleans()), *data),
    "version": (sampled_from((2, 3, 3, 3)), numbers, junk),
    "strides": (just(ABSENT), *[strides] * 3),
    "stream": (sampled_from((ABSENT, None, 1, 2)), numbers, junk),
    "mask": (sampled_from((ABSENT, None)), junk),
    "descr": (sampled_from((ABSENT, None)), junk),
    "omitted": (st.none(), sampled_from(REQUIRED)),
}
sound = st.fixed_dictionaries({key: good for key, (good, *_) in ENTRIES.items()})
entries = st.fixed_dictionaries({key: mostly(*kinds) for key, kinds in ENTRIES.items()})


class Offer:
    def __init__(self, interface):
        self.__cuda_array_interface__ = interface


def model(interface):
    """Give the elements that are described, if all of them lie in the memory; else None."""
    dtype = np.dtype(str(interface["typestr"]))
    shape, steps = [n.__index__() for n in interface["shape"]], interface.get("strides")
    if min(shape, default=0) < 0:
        return None
    if math.prod(shape) == 0:
        return np.empty(0, dtype)
    steps = steps if steps is None else [n.__index__() for n in steps]
    return elements_at(interface["data"][0].__index__() - START, shape, steps, dtype)


def reduces_dictionary(op, drawn):
    """Reduce what is described, if it is no array of stride 0 that is right, and long."""
    absent = ("omitted", drawn["omitted"])
    interface = {k: v for k, v in drawn.items() if v is not ABSENT and k not in absent}
    try:
        elements = model(interface)
    except Exception:
        elements = None
    if elements is not None and elements.size > TOO_MANY:
        return None
    return check(op, Offer(interface), lambda: model(interface))


def test_hostile_dictionaries_end_in_an_exception_or_a_right_answer():
    fuzzed(1_250, sound | entries, entries, reduces_dictionary, 9_000)
    assert not any(
        check("sum", Offer(no_dictionary), lambda: None) for no_dictionary in hostile.JUNK
    )
    assert gred.sum(MEMORY) == BYTES.sum()
    np.testing.assert_array_equal(MEMORY.get(), BYTES)


@pytest.mark.parametrize("key", [*REQUIRED, "strides", "stream"])
@pytest.mark.parametrize("deed", ["clear", "replace", "drop the memory", "recurse"])
def test_an_entry_whose_code_changes_everything_does_no_harm(key, deed):
    array = SimulatedArray(BYTES)
    offer = Offer(dict(array.__cuda_array_interface__) | {"strides": (1,), "stream": 1})
    interface = offer.__cuda_array_interface__

    class Deed:
        def __init__(self, value):
            self.value = value

        def __index__(self):
            if deed == "clear":
                interface.clear()
            elif deed == "replace":
                interface.update(dict.fromkeys(interface))
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


@pytest.mark.parametrize("key", [*REQUIRED, "strides", "stream", "mask", "descr"])
def test_an_entry_that_cannot_be_shown_is_refused(key):
    good = MEMORY.__cuda_array_interface__
    nameless = hostile.Nameless()
    for value in (nameless, (nameless,), (nameless, nameless), [nameless]):
        with pytest.raises((TypeError, ValueError, ZeroDivisionError)):
            gred.sum(Offer(good | {key: value}))
