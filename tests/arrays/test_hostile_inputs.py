"""Whatever an object does when it is asked: an exception, or a right answer; never a crash."""

import gc

import numpy as np
import pytest
from capsules import CPU, NEW, OLD, Producer, capsule_of
from drawn import examples
from hostile import REFUSALS, Nameless, hostile, junk, numbers
from hypothesis import given
from hypothesis import strategies as st
from processes import printed

import gred
from gred.testing import SimulatedArray

# ---- producers ----

ERRORS = (ZeroDivisionError, TypeError, BufferError, AttributeError, KeyError, RuntimeError)
ERRORS += (MemoryError,)
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
    capsule = st.sampled_from((OLD, NEW)).map(lambda name: Offering(capsule_of(X, name)))
    pairs = st.tuples(numbers | junk, numbers | junk)
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
OPTIONAL = ("__cuda_array_interface__", "__array_interface__", "__array__", "__array_struct__")
OPTIONAL += ("dtype", "shape", "mask", "__len__", "__cuda_stream__")
objects = st.fixed_dictionaries(
    {"__dlpack__": deeds, "__dlpack_device__": deeds | st.just(("return", (CPU, 0)))},
    optional=dict.fromkeys(OPTIONAL, deeds),
)


@hostile(examples(1_500))
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
    "__array__ of sum": ("__array__ = lambda s, *a, **k: gred.sum(R())", "sum(R())"),
    "__index__": ("__index__ = lambda s: gred.sum([1], axis=R())", "sum([1], axis=R())"),
    "__dlpack__": (
        "__dlpack_device__ = lambda s: (1, 0); __dlpack__ = lambda s, **k: gred.sum(R())",
        "sum(R())",
    ),
    "__array__ of explain": ("__array__ = lambda s, *a, **k: gred.explain(R())", "explain(R())"),
    "__array__ of dot": ("__array__ = lambda s, *a, **k: gred.dot(R(), [1])", "dot(R(), [1])"),
}


@pytest.mark.parametrize(("methods", "call"), RECURSIVE.values(), ids=RECURSIVE.keys())
def test_recursion_through_an_argument_is_a_recursion_error(methods, call):
    """In a process of its own, which a stack overflow would end."""
    code = f"""
        import gred
        class R: {methods}
        try:
            gred.{call}
        except RecursionError:
            print("RecursionError")
    """
    assert printed(code) == "RecursionError\n"


class Resizes:
    def __init__(self, array, shape=()):
        self.array = array
        self.shape = shape

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
