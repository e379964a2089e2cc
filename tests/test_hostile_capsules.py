"""Whatever a capsule claims to hold: an exception, or a right answer; never a crash.

Hypothesis and what is crossed of its examples make up more than 9,600 tensors, most of them with
something wrong. A model of the memory says what the right answer would be, if there is one.
"""

import math

import numpy as np
from capsules import CODES, CPU, CUDA, CUDA_HOST, CUDA_MANAGED, NEW, OLD, Capsule, Producer
from drawn import examples
from hostile_memory import BYTES, NBYTES, c_order, check, crossed, extent, hostile, small
from hypothesis import given
from hypothesis import strategies as st

import gred

TRIED = 9_600  # at least, of what is crossed, and is not too long to be tried
HOST = np.frombuffer(BYTES.tobytes(), np.uint8)
KINDS = {
    (code, 8 * size): f"{kind}{size}" for kind, code in CODES.items() for size in (1, 2, 4, 8, 16)
}
SUPPORTED = {
    pair: np.dtype(name)
    for pair, name in KINDS.items()
    if name[0] != "V" and name not in ("f1", "f16", "c1", "c2", "c4", "i16", "u16")
    if not (name[0] == "b" and name != "b1")
}
good_types = st.sampled_from(sorted(SUPPORTED))
bad_types = st.tuples(
    st.sampled_from((0, 1, 2, 3, 4, 5, 6, 7, 255)), st.sampled_from((0, 1, 7, 24, 80, 128))
)
sound_tensor = {
    "type": good_types,
    "lanes": st.just(1),
    "shape": st.lists(small, max_size=4),
    "ndim": st.none(),
    "strides": st.one_of(
        st.none(), st.lists(st.sampled_from((0, 1, 2, 3, 8, -1)), min_size=4, max_size=4)
    ),
    "data": st.sampled_from((0, 8, 512, 2048)),
    "byte_offset": st.just(0),
    "device_type": st.just(CPU),
    "version": st.sampled_from(((1, 0), (1, 9))),
    "flags": st.sampled_from((0, 1, 2, 2**63)),
    "name": st.sampled_from((OLD, NEW)),
    "said": st.just(CPU),
    "with_deleter": st.booleans(),
}
unsound_tensor = {
    "type": bad_types,
    "lanes": st.sampled_from((0, 2, 65535)),
    "shape": st.one_of(
        st.none(),
        st.lists(st.sampled_from((0, 1, 3, -1, 2**62, 2**63 - 1, -(2**63))), max_size=4),
    ),
    "ndim": st.sampled_from((0, -1, 65, 80, 2**31 - 1, -(2**31))),
    "strides": st.lists(st.sampled_from((0, 1, 2**60, 2**62, -(2**63))), min_size=4, max_size=4),
    "data": st.sampled_from((1, 2047, None)),
    "byte_offset": st.sampled_from((8, 1, 2**64 - 1, 2**63)),
    "device_type": st.sampled_from((CUDA_HOST, CUDA, 0, 7, -1)),
    "version": st.sampled_from(((2, 0), (0, 0), (2**32 - 1, 1))),
    "name": st.sampled_from((None, b"", b"used_dltensor")),
    "said": st.sampled_from((CUDA_HOST, CUDA, 4)),
}


@st.composite
def tensors(draw):
    """Draw a tensor in which up to three things are wrong."""
    faults = draw(st.lists(st.sampled_from(sorted(unsound_tensor)), max_size=3))
    parts = sound_tensor | {key: unsound_tensor[key] for key in faults}
    return {key: draw(part) for key, part in parts.items()}


DEFINITE = "there is no such tensor"
GPU_IS_HERE = any(device.name == "cuda:0" for device in gred.devices())
PLACES = {CPU: "host", CUDA_HOST: "host", CUDA: "gpu", CUDA_MANAGED: "gpu"}


def tensor_model(drawn):
    """Give a tensor's elements, `DEFINITE` if it must be refused, or None: nobody could tell."""
    dtype = SUPPORTED.get(drawn["type"])
    shape = drawn["shape"]
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
    if hopeless:
        return DEFINITE
    shape = [*(shape or ()), *[0] * 80][:ndim]
    if min(shape, default=0) < 0:
        return DEFINITE
    if math.prod(shape) == 0:
        return np.empty(0, dtype)
    if places == {"gpu"}:
        return DEFINITE  # the memory is the host's
    size = dtype.itemsize
    if math.prod(shape) * size >= 2**63 and drawn["strides"] is None:
        return DEFINITE
    if drawn["data"] is None:
        return DEFINITE
    steps = c_order(shape, size)
    if drawn["strides"] is not None:
        steps = [size * step for step in [*drawn["strides"], *[0] * 80][:ndim]]
    low, high = extent(shape, steps, size)
    first = drawn["data"] + drawn["byte_offset"]
    if first + low < 0 or first + high > NBYTES or math.prod(shape) > 20_000:
        return None
    steps = [step if n > 1 else 0 for n, step in zip(shape, steps, strict=True)]
    return np.ndarray(shape, dtype, BYTES, first, steps)


def describe(drawn):
    """Make the capsule that was drawn."""
    changes = {
        key: drawn[key] for key in ("lanes", "device_type", "version", "flags", "with_deleter")
    }
    changes |= {
        "code": drawn["type"][0],
        "bits": drawn["type"][1],
        "byte_offset": drawn["byte_offset"],
    }
    changes |= {} if drawn["ndim"] is None else {"ndim": drawn["ndim"]}
    data = None if drawn["data"] is None else HOST.ctypes.data + drawn["data"]
    named = {"shape": drawn["shape"], "strides": drawn["strides"], "data": data}
    return Capsule(drawn["name"], **named, **changes)


def reduces_as_it_must(op, drawn, elements):
    """Reduce a tensor: it is right or refused, and released once if it was taken."""
    capsule = describe(drawn)
    producer = Producer(capsule, (drawn["said"], 0))
    got = check(op, producer, lambda: None if elements is DEFINITE else elements)
    assert got or elements is DEFINITE or elements.size == 0
    made = len(producer.calls) if drawn["name"] in (OLD, NEW) else 0
    assert capsule.deletions == made if drawn["with_deleter"] else capsule.deletions <= made
    return got


def test_hostile_capsules_end_in_an_exception_or_a_right_answer():
    tried, answered = [], []

    @hostile(examples(1_600))
    @given(one=tensors(), other=tensors(), op=st.sampled_from(("sum", "max")))
    def fuzz(one, other, op):
        for drawn in crossed(one, other):
            elements = tensor_model(drawn)
            if elements is not None:
                tried.append(op)
                answered.extend([op] * reduces_as_it_must(op, drawn, elements))

    fuzz()
    assert len(tried) > examples(TRIED)
    assert 0.02 < len(answered) / len(tried) < 0.98
