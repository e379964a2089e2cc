"""Whatever an object does when it is asked: an exception, or a right answer; never a crash."""

import contextlib

import numpy as np
import pytest
from along import NAMES as ALONG
from capsules import CPU, NEW, OLD, capsule_of
from drawn import examples
from hostile import REFUSALS, Index, Refuses, hostile, junk, numbers
from hypothesis import given
from hypothesis import strategies as st
from processes import printed
from samples import quietly
from truths import RECORDS

import gred
from gred.testing import SimulatedArray

ERRORS = (*REFUSALS, ZeroDivisionError, AttributeError, KeyError, IndexError)
ERRORS += (np.exceptions.AxisError, NotImplementedError)
RAISED = (ZeroDivisionError, TypeError, BufferError, AttributeError, KeyError, RuntimeError)
RAISED += (MemoryError,)
X = np.arange(24.0).reshape(4, 6)

# ---- producers ----


class Anything:
    """An object with any attributes, all of them hostile."""

    def __init__(self, deeds):
        self.__dict__["deeds"] = deeds

    def __getattr__(self, name):
        def raising(*_, **__):
            raise value("hostile")

        kind, value = self.__dict__["deeds"].get(name, ("raise", AttributeError))
        if kind == "raise":
            raising()
        returning = lambda *_, **__: value  # noqa: E731
        return {"raise when called": raising, "value": value}.get(kind, returning)


capsules = st.sampled_from((OLD, NEW)).map(lambda name: capsule_of(X, name))
pairs = st.tuples(numbers | junk, numbers | junk)
returned = st.one_of(capsules, capsules, st.just((CPU, 0)), pairs, junk)
deeds = st.one_of(
    st.just(("raise", AttributeError)),
    st.tuples(st.sampled_from(("raise", "raise when called")), st.sampled_from(RAISED)),
    st.tuples(st.just("value"), junk),
    *[st.tuples(st.just("return"), returned)] * 2,
)
OPTIONAL = ("__cuda_array_interface__", "__array_interface__", "__array__", "__array_struct__")
OPTIONAL += ("dtype", "shape", "mask", "__len__", "__cuda_stream__")
objects = st.fixed_dictionaries(
    {"__dlpack__": deeds, "__dlpack_device__": deeds | st.just(("return", (CPU, 0)))},
    optional=dict.fromkeys(OPTIONAL, deeds),
)
roles = st.sampled_from(("a", "a", "a", "where", "out", "initial", "stream", "dtype"))


@hostile(examples(1_500))
@given(drawn=objects, role=roles)
def test_hostile_objects_end_in_an_exception_or_an_answer(drawn, role):
    kept = []
    for name, (kind, value) in drawn.items():
        if hasattr(value, "deletions"):
            kept.append(value)
            drawn = drawn | {name: (kind, value.make())}
    thing = Anything(drawn)
    try:
        got = gred.sum(thing) if role == "a" else gred.sum([1, 2, 3], **{role: thing})
    except ERRORS:
        pass
    else:
        assert role != "a" or got == X.sum() or not kept
    del thing, drawn
    assert all(capsule.deletions <= 1 for capsule in kept)
    assert gred.sum(X) == X.sum()


# ---- arguments whose code calls again, or frees what was viewed ----

RECURSIVE = {
    "__array__ = lambda s, *a, **k: gred.sum(R())": "sum(R())",
    "__index__ = lambda s: gred.sum([1], axis=R())": "sum([1], axis=R())",
    "__dlpack_device__ = lambda s: (1, 0); __dlpack__ = lambda s, **k: gred.sum(R())": "sum(R())",
    "__array__ = lambda s, *a, **k: gred.explain(R())": "explain(R())",
    "__array__ = lambda s, *a, **k: gred.dot(R(), [1])": "dot(R(), [1])",
}
RECURSION = """
class R: {}
try:
    gred.{}
except RecursionError:
    print("RecursionError")
"""


def test_recursion_through_an_argument_is_a_recursion_error():
    """In a process of its own, which a stack overflow would end."""
    pieces = [RECURSION.format(*pair) for pair in RECURSIVE.items()]
    assert printed("import gred", *pieces) == "RecursionError\n" * len(pieces)


class Resizes:
    """An argument that resizes an array as it is read."""

    def __init__(self, array, shape=()):
        self.array, self.shape = array, shape

    def answer(self, value):
        self.array.resize(3, refcheck=False)
        return value

    def __index__(self):
        return self.answer(0)

    def __array__(self, *_, **__):
        return self.answer(np.ones(self.shape, bool))

    @property
    def dtype(self):
        return self.answer(np.dtype(float))


RESIZED = {
    "axis": lambda a, resizes: gred.sum(a, axis=resizes),
    "keepdims": lambda a, resizes: gred.sum(a, keepdims=resizes),
    "where": lambda a, resizes: gred.sum(a, where=resizes),
    "dtype": lambda a, resizes: gred.sum(a, dtype=resizes),
    "mean": lambda a, resizes: gred.var(a, mean=resizes),
    "dot": lambda a, resizes: gred.dot(a, Resizes(a, a.shape)),
    "out": lambda a, resizes: gred.sum(np.ones((2, a.size)), axis=resizes, out=a),
    "explain": lambda a, resizes: gred.explain(a, axis=resizes),
    "explain dtype": lambda a, resizes: gred.explain(a, dtype=resizes),
    "counters": lambda a, resizes: gred.counters(a, dtype=resizes),
    "kernel_time": lambda a, resizes: gred.kernel_time(a, dtype=resizes, device="simulated"),
    "add_products": lambda a, resizes: gred.ExactSum().add_products(a, Resizes(a, a.shape)),
    "reduceat": lambda a, resizes: gred.reduceat("add", a, [0], dtype=resizes),
}


@pytest.mark.parametrize("call", RESIZED.values(), ids=RESIZED.keys())
def test_an_array_that_another_argument_resizes_is_refused(call):
    array = np.ones(1 << 16)
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


# ---- any value of any argument ----


class Shrinking(tuple):
    """A tuple that tells another length than it has."""

    def __len__(self):
        return 9


MATRIX = np.array([[3.0, 1.0, 2.0], [9.0, 8.0, 7.0]])
JUNK = (None, True, -1, 0, 1, 2**31, 2**63, 2**64, -(2**70), 0.5, np.nan, np.inf, 1j, "", "x")
JUNK += ((), [], [3], {}, object(), Refuses(), np.zeros(3), np.zeros(()), np.float16(1), "auto")
JUNK += (np.zeros((), "V8"), np.zeros(1, object), range(3), float("-inf"), "float32", MATRIX)
JUNK += (MATRIX > 2, b"f4", int, (0, 0), (1.0,), ("x",), (0, 5), (2**70,), np.arange(2), ...)
JUNK += (np.zeros((1, 3)), np.zeros((2, 3), "V8"), np.zeros(3, ">i2"), np.zeros(3, "M8[s]"))
JUNK += (np.broadcast_to(np.zeros(1), 3), SimulatedArray(np.zeros(3)), memoryview(bytearray(3)))
JUNK += (np.zeros((0, 3)), [True, False, True], np.ones((2, 1), bool), np.zeros(2), (0, 1))
JUNK += ((Refuses(),), (0, Refuses()), Shrinking((0, 1)), Index(-1), (Index(1),), (0,) * 70, -2)
JUNK += ((-1, 0), np.int8(1), ((0,),), np.zeros(6)[::-2], np.zeros((4, 3))[1:3], np.zeros(4)[:0])
KEYWORDS = ("method", "block_size", "device", "where", "out", "stream", "dtype", "initial")
KEYWORDS += ("ddof", "correction", "ord", "axis", "keepdims", "mean", "a", "nonsense", "")


@pytest.mark.unsanitized
@pytest.mark.parametrize("name", sorted({*ALONG, *RECORDS}))
def test_any_value_of_any_argument_is_taken_or_refused(name):
    """A result or an exception: never a crash, a hang or another's memory."""
    random, types = np.random.default_rng(12), ("i4", "f8", "c8", ">f4", "?")
    calls = [{keyword: value} for keyword in KEYWORDS for value in JUNK]
    for _ in range(600):
        several = random.choice(len(KEYWORDS), 3, replace=False)
        calls.append({KEYWORDS[k]: JUNK[random.integers(len(JUNK))] for k in several})
    for turn, options in enumerate(calls):
        x = MATRIX.astype(types[turn % len(types)])
        for a in (x, SimulatedArray(MATRIX)) if len(options) == 1 else (x,):
            with contextlib.suppress(ERRORS):
                quietly(name, a, **options)
    assert gred.sum([[1, 2], [3, 4]], 0).tolist() == [4, 6]
