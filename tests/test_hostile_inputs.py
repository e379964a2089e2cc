"""Whatever an object claims to be: an exception, or a right answer; never a crash.

Hypothesis and what is crossed of its examples make up more than 20,000 dictionaries, capsules and
producers, most of them with something wrong. A model of the memory says what the right answer
would be, if there is one.
"""

import gc
import math
from functools import partial

import numpy as np
import pytest
from capsules import (
    CODES,
    CPU,
    CUDA,
    CUDA_HOST,
    CUDA_MANAGED,
    NEW,
    OLD,
    Capsule,
    Producer,
    capsule_of,
)
from drawn import examples
from hostile import REFUSALS, Nameless, Refuses
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from inputs import shown
from processes import printed

import gred
from gred.testing import SimulatedArray

COUNTS = 1_250, 1_600, 1_500
DICTIONARIES, CAPSULES, PRODUCERS = map(examples, COUNTS)
TRIED = 9_000, 9_600, 1_500  # at least, of what is crossed, and is not too long to be tried
assert sum(TRIED) > 20_000
NBYTES = 4096
MEMORY = SimulatedArray((np.arange(NBYTES) * 37 % 251).astype(np.uint8))
START = MEMORY.__cuda_array_interface__["data"][0]
BYTES = MEMORY.get()


def hostile(examples):
    return settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )


class Index:
    """An integer in all but type."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


class Text(str):
    """A kind of text that is equal to nothing."""

    __slots__ = ()

    def __eq__(self, other):
        return False

    __hash__ = str.__hash__


REFUSES = Refuses()
NUMBERS = (0, 1, 2, 3, 4, 7, 8, 60, -1, -4, 2**31, 2**32, 2**40, 2**62, 2**63 - 1, 2**63, -(2**63))
NUMBERS += (2**64 - 1, 2**64, -(2**64))
JUNK = (None, True, 1.5, "", "x", b"<f4", [], [3], (), (1,), {}, object(), REFUSES, Index(3), 1j)
JUNK += (Index(-1), Index(2**70), np.int64(4), np.float32(2), range(3), Text("<f4"), float("nan"))
numbers, junk = st.sampled_from(NUMBERS), st.sampled_from(JUNK)
TYPESTRS = (
    "|b1",
    "|i1",
    "|u1",
    "<i2",
    "<u2",
    "<i4",
    "<u4",
    "<i8",
    "<u8",
    "<f2",
    "<f4",
    "<f8",
    "<c8",
)
TYPESTRS += ("<c16", "=f4", ">i1")
NO_TYPESTRS = (
    ">f4",
    "<V2",
    "<f16",
    "|O8",
    "",
    "f",
    "<",
    "<f",
    "<f4 ",
    "f4",
    "<f0",
    "<f99999999999",
    "é",
)
NO_TYPESTRS += ("<f4\0", "\ud800", "<M8[s]", Text("<f4"), "<i04")


def mostly(good, *others):
    """Draw from the first most of the time."""
    return st.one_of(*[good] * 6 * len(others), *others)


def crossed(one, other):
    """Give two that were drawn, and the first with each of what the second has otherwise.

    Drawing costs Hypothesis many times what a call costs.
    """
    yield one
    yield other
    for key in one:
        if repr(one[key]) != repr(other[key]):
            yield one | {key: other[key]}


# ---- __cuda_array_interface__ ----

small = st.sampled_from((0, 1, 1, 2, 3, 5, 8, 16))
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


def extent(shape, steps, itemsize):
    """Give the first byte, and the one behind the last, relative to the pointer."""
    reach = [(n - 1) * step for n, step in zip(shape, steps, strict=True)]
    return sum(r for r in reach if r < 0), sum(r for r in reach if r > 0) + itemsize


def c_order(shape, itemsize):
    """Give the strides of an array without any."""
    return [itemsize * math.prod(shape[k + 1 :]) for k in range(len(shape))]


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


def right(got, op, elements):
    """Hold an answer against NumPy's: exact for integers, close or as infinite for floats."""
    with np.errstate(all="ignore"):
        dtype = {"e": np.float32}.get(elements.dtype.char)
        expected = getattr(np, op)(elements.astype(dtype or elements.dtype))
        expected = expected.astype(elements.dtype) if dtype else expected
        if got.dtype.kind not in "fc":
            return got == expected
        huge = np.abs(elements[np.isfinite(elements)].astype(complex)).max(initial=0)
        limit = float(np.finfo(expected.dtype).max) / 4 / max(elements.size, 1)
        if not np.isfinite(elements).all() or huge >= limit:
            return True
        magnitude = np.abs(elements.astype(complex)).sum()
        error = magnitude * elements.size * float(np.finfo(got.dtype).eps)
        return bool(abs(complex(got) - complex(expected)) <= error) or got == expected


def check(op, offer, elements_of):
    """Reduce: what comes back must be right, and what is raised a refusal."""
    try:
        got = getattr(gred, op)(offer)
    except RuntimeError as error:
        if "GPU" not in str(error):
            raise
        return False
    except (*REFUSALS, ZeroDivisionError):
        return False
    elements = elements_of()
    assert elements is not None, f"{got!r}, of memory that is not there"
    assert right(got, op, elements), f"{got!r}, not of {elements!r}"
    return True


def test_hostile_dictionaries_end_in_an_exception_or_a_right_answer():
    tried, answered = [], []

    @hostile(DICTIONARIES)
    @given(one=st.one_of(sound, entries), other=entries, op=st.sampled_from(("sum", "max")))
    def fuzz(one, other, op):
        for interface in map(without_absent, crossed(one, other)):
            if not takes_for_ever(interface):
                tried.append(op)
                answered.extend([op] * check(op, Offer(interface), partial(model, interface)))

    fuzz()
    assert len(tried) > examples(TRIED[0])
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


# ---- DLPack ----

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

    @hostile(CAPSULES)
    @given(one=tensors(), other=tensors(), op=st.sampled_from(("sum", "max")))
    def fuzz(one, other, op):
        for drawn in crossed(one, other):
            elements = tensor_model(drawn)
            if elements is not None:
                tried.append(op)
                answered.extend([op] * reduces_as_it_must(op, drawn, elements))

    fuzz()
    assert len(tried) > examples(TRIED[1])
    assert 0.02 < len(answered) / len(tried) < 0.98


# ---- producers ----

ERRORS = (
    ZeroDivisionError,
    TypeError,
    BufferError,
    AttributeError,
    KeyError,
    RuntimeError,
    MemoryError,
)
X = np.arange(24.0).reshape(4, 6)


class Anything:
    """An object with any attributes, all of them hostile."""

    def __init__(self, deeds):
        self.__dict__["deeds"] = deeds

    def __getattr__(self, name):
        kind, value = self.__dict__["deeds"].get(name, ("missing", None))
        if kind == "missing":
            raise AttributeError(name)
        if kind == "raise":
            raise value("hostile")
        if kind == "raise when called":

            def raising(*_, **__):
                raise value("hostile")

            return raising
        return value if kind == "value" else lambda *_, **__: value


def returned():
    """Draw what a method returns."""
    capsule = st.sampled_from((OLD, NEW)).map(lambda name: Offering(capsule_of(X, name)))
    pairs = st.tuples(st.one_of(numbers, junk), st.one_of(numbers, junk))
    return st.one_of(capsule, capsule, st.just((CPU, 0)), pairs, junk)


class Offering:
    """A capsule that is not yet made, and keeps what it points to."""

    def __init__(self, capsule):
        self.capsule = capsule


deeds = st.one_of(
    st.tuples(st.just("missing"), st.none()),
    st.tuples(st.sampled_from(("raise", "raise when called")), st.sampled_from(ERRORS)),
    st.tuples(st.just("value"), junk),
    st.tuples(st.just("return"), returned()),
    st.tuples(st.just("return"), returned()),
)
NAMES = (
    "__dlpack__",
    "__dlpack_device__",
    "__cuda_array_interface__",
    "__array_interface__",
    "__array__",
)
NAMES += ("__array_struct__", "dtype", "shape", "mask", "__len__", "__cuda_stream__")
objects = st.fixed_dictionaries(
    {
        "__dlpack__": deeds,
        "__dlpack_device__": st.one_of(deeds, st.just(("return", (CPU, 0)))),
    },
    optional={name: deeds for name in NAMES[2:]},
)


@hostile(PRODUCERS)
@given(
    drawn=objects,
    role=st.sampled_from(("a", "a", "a", "where", "out", "initial", "stream", "dtype")),
)
def test_hostile_objects_end_in_an_exception_or_an_answer(drawn, role):
    kept = []
    for name, (kind, value) in drawn.items():
        if isinstance(value, Offering):
            kept.append(value.capsule)
            drawn = drawn | {name: (kind, value.capsule.make())}
    thing = Anything(drawn)
    try:
        got = gred.sum(thing) if role == "a" else gred.sum([1, 2, 3], **{role: thing})
    except (*REFUSALS, *ERRORS):
        pass
    else:
        if role == "a":
            assert got == X.sum() or not kept
    del thing, drawn
    assert all(capsule.deletions <= 1 for capsule in kept)


@pytest.mark.parametrize(
    "role", ["method", "block_size", "dtype", "device", "initial", "where", "out", "stream"]
)
def test_an_argument_that_cannot_be_shown_is_refused(role):
    options = {"method": "unroll8", "device": "simulated"} if role == "block_size" else {}
    with pytest.raises((TypeError, ValueError, ZeroDivisionError)):
        gred.sum(X, **options | {role: Nameless()})


@pytest.mark.parametrize(
    "key", ["shape", "typestr", "data", "version", "strides", "stream", "mask", "descr"]
)
def test_an_entry_that_cannot_be_shown_is_refused(key):
    good = MEMORY.__cuda_array_interface__
    for value in (Nameless(), (Nameless(),), (Nameless(), Nameless()), [Nameless()]):
        with pytest.raises((TypeError, ValueError, ZeroDivisionError)):
            gred.sum(Offer(good | {key: value}))


def test_after_all_that_everything_works():
    gc.collect()
    assert gred.sum(X) == X.sum()
    assert gred.sum(SimulatedArray(X).T) == X.sum()
    assert gred.sum(Producer(capsule_of(X))) == X.sum()


# ---- arrays of which nothing is left ----


class Deleted:
    """As JAX's arrays: what asks for a buffer of theirs trips over the lack of any."""

    def __init__(self, error):
        self.error = error

    def _refuse(self, *_, **__):
        raise self.error

    __dlpack__ = __dlpack_device__ = __array__ = _refuse
    __cuda_array_interface__ = property(_refuse)

    def is_deleted(self):
        return True


@pytest.mark.parametrize(
    "error", [TypeError, ValueError, BufferError, RuntimeError, AttributeError]
)
def test_an_array_that_was_deleted_is_said_to_be(error):
    for call in (gred.sum, gred.ExactSum, gred.explain, lambda a: gred.sum(X, where=a)):
        with pytest.raises(RuntimeError, match="deleted"):
            call(Deleted(error("there is nothing")))


# ---- arguments whose code calls again, or frees what was viewed ----

RECURSIVE = {
    "__array__ of sum": "class R: __array__ = lambda s, *a, **k: gred.sum(R())\ngred.sum(R())",
    "__index__": "class R: __index__ = lambda s: gred.sum([1], axis=R())\ngred.sum([1], axis=R())",
    "__dlpack__": "class R:\n    __dlpack_device__ = lambda s: (1, 0)\n"
    "    __dlpack__ = lambda s, **k: gred.sum(R())\ngred.sum(R())",
    "__array__ of explain": "class R: __array__ = lambda s, *a, **k: gred.explain(R())\n"
    "gred.explain(R())",
    "__array__ of dot": "class R: __array__ = lambda s, *a, **k: gred.dot(R(), [1])\n"
    "gred.dot(R(), [1])",
}


@pytest.mark.parametrize("calls", RECURSIVE.values(), ids=RECURSIVE.keys())
def test_recursion_through_an_argument_is_a_recursion_error(calls):
    """In a process of its own, which a stack overflow would end."""
    code = (
        "import gred\ndef recurse():\n"
        + "".join(
            f"    {line}\n" for line in calls.replace("class R", "global R\nclass R").split("\n")
        )
        + "try:\n    recurse()\nexcept RecursionError:\n    print('RecursionError')"
    )
    assert printed(code) == "RecursionError\n"


ELEMENTS = 1 << 16


class Resizes:
    """Resizes an array when it is asked for what it is."""

    def __init__(self, array, shape=()):
        self.array = array
        self.shape = shape

    def __index__(self):
        self.array.resize(3, refcheck=False)
        return 0

    def __array__(self, *_, **__):
        self.array.resize(3, refcheck=False)
        return np.ones(self.shape, bool)

    @property
    def dtype(self):
        self.array.resize(3, refcheck=False)
        return np.dtype(float)


@pytest.mark.parametrize(
    "call",
    [
        lambda a, resizes: gred.sum(a, axis=resizes),
        lambda a, resizes: gred.sum(a, keepdims=resizes),
        lambda a, resizes: gred.sum(a, where=resizes),
        lambda a, resizes: gred.sum(a, dtype=resizes),
        lambda a, resizes: gred.var(a, mean=resizes),
        lambda a, resizes: gred.dot(a, Resizes(a, a.shape)),
        lambda a, resizes: gred.sum(np.ones((2, a.size)), axis=resizes, out=a),
        lambda a, resizes: gred.explain(a, axis=resizes),
        lambda a, resizes: gred.explain(a, dtype=resizes),
        lambda a, resizes: gred.counters(a, dtype=resizes),
        lambda a, resizes: gred.kernel_time(a, dtype=resizes, device="simulated", samples=1),
        lambda a, resizes: gred.ExactSum().add_products(a, Resizes(a, a.shape)),
        lambda a, resizes: gred.reduceat("add", a, [0], dtype=resizes),
    ],
    ids=[
        *("axis", "keepdims", "where", "dtype", "mean", "dot", "out", "explain", "explain dtype"),
        *("counters", "kernel_time", "add_products", "reduceat"),
    ],
)
def test_an_array_that_another_argument_resizes_is_refused(call):
    array = np.ones(ELEMENTS)
    with pytest.raises(ValueError, match="was resized by the code of another argument"):
        call(array, Resizes(array))


@pytest.mark.unsanitized  # AddressSanitizer's stack frames are several times larger
@pytest.mark.parametrize("place", ["host", "simulated"])
def test_a_small_stack_is_enough(place):
    """32 KiB, of which Python itself takes some; a stack overflow would end the process."""
    code = f"""
        import threading
        import numpy as np, gred
        a, answers = np.ones((300, 300)), []
        def reduce():
            described = gred.describe(a, axis=0, device={place!r})
            answers.append(gred.var(a, axis=1, device={place!r}).sum() + described.sum.sum())
            answers.append(gred.sum(a[::2, ::3], device={place!r}))
            answers.append(gred.dot(a[0], a[1], device={place!r}))
            answers.append(gred.reduceat("add", a[0], [0, 7], device={place!r})[1])
            answers.append(gred.sum(a, axis=0, method="exact", device={place!r}).sum())
            answers.append(gred.kernel_time(a, device={place!r}).result)
            answers.append(gred.counters(a[:9]).result)
        gred.sum(a)
        threading.stack_size(32 * 1024)
        thread = threading.Thread(target=reduce)
        thread.start(); thread.join()
        print(*map(float, answers))
    """
    expected = (90000, 15000, 300, 293, 90000, 90000, 2700)
    assert printed(code).split() == [f"{number:.1f}" for number in expected]
