"""Whatever an object does when it is asked: an exception, or a right answer; never a crash."""

import contextlib
import gc

import numpy as np
import pytest
from along import NAMES as ALONG
from capsules import CPU, NEW, OLD, Producer, capsule_of
from devices import to_host
from drawn import examples
from hostile import REFUSALS, Index, Refuses, hostile, junk, numbers
from hypothesis import given
from hypothesis import strategies as st
from inputs import OPS as LADDER
from processes import printed
from samples import quietly
from thin import chosen
from truths import RECORDS
from truths import numpys as own

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


def test_after_all_that_everything_works():
    gc.collect()
    assert gred.sum(X) == X.sum()
    assert gred.sum(SimulatedArray(X).T) == X.sum()
    assert gred.sum(Producer(capsule_of(X))) == X.sum()


# ---- arrays of which nothing is left ----


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


# ---- any axis and any out ----

# Calls with an axis and an out are drawn, on the host and the device; half have something wrong.
CALLS, SEEDS = 2_000, len(chosen(range(10)))
OPS = ("sum", "prod", "min", "max", "mean", "any", "all", "count_nonzero", "argmin", "argmax")
OPS += ("var", "std", "ptp", "nansum", "nanmin", "norm", "minmax")
TYPES = ("f4", "f8", "i1", "i8", "u2", "?", "c16")
ANY_ERRORS = (
    *REFUSALS,
    np.exceptions.AxisError,
    ZeroDivisionError,
    NotImplementedError,
    IndexError,
)
GUARD = 7


class Shrinking(tuple):
    """A tuple that tells another length than it has."""

    def __len__(self):
        return 9


def some_axis(rng, ndim):
    """Draw an axis: right, out of range, repeated, or nothing of the kind."""
    near = int(rng.integers(-ndim - 1, ndim + 2))
    several = tuple(int(k) for k in rng.integers(-ndim, ndim + 1, rng.integers(0, 4)))
    kinds = [*[near] * 6, *[several] * 6, list(several), None, np.int8(near), Index(near), True]
    kinds += [(Index(near),), Shrinking(several), np.array(near), np.array(several), 1.0, "0", {0}]
    kinds += [2**31, -(2**63), 2**80, (2**70, 0), (None,), ((0,),), (0,) * 70, Refuses(), ...]
    kinds += [(0, Refuses()), slice(None), b"\0"]
    return kinds[rng.integers(len(kinds))]


class Guarded:
    """Memory that an out= is part of; what is around it has to stay."""

    def __init__(self, rng, shape, dtype, on_device):
        steps = [int(rng.choice([1, 1, 2, -1])) for _ in shape]
        around = np.full([max(n, 1) * abs(s) + 2 for n, s in zip(shape, steps, strict=True)], GUARD)
        self.memory = SimulatedArray(around.astype(dtype)) if on_device else around.astype(dtype)
        self.index = tuple(
            slice(1, 1 + n * s, s) if s > 0 else slice(n, 0, -1)
            for n, s in zip(shape, steps, strict=True)
        )
        self.out = self.memory[self.index]

    def is_whole(self):
        held = to_host(self.memory)
        rest = np.ones(held.shape, bool)
        rest[self.index] = False
        return bool((held[rest] == held.dtype.type(GUARD)).all())


def some_out(rng, expected):
    """Draw an out: of the right shape or not, of any type and stride, here or there; or none."""
    kind = rng.integers(12)
    if kind < 4:
        return None
    if kind == 4:
        things = (3, [0.0], (0,), "out", Refuses(), np.float64(0), ..., memoryview(b"1234"), {})
        return things[rng.integers(len(things))]
    shape = () if expected is None else expected.shape
    if kind == 5:
        shape = tuple(int(n) for n in rng.integers(0, 5, rng.integers(0, 4)))
    return Guarded(rng, shape, TYPES[rng.integers(len(TYPES))], bool(rng.integers(2)))


def numpys(op, x, axis, keepdims):
    """NumPy's answer, or None where it has none."""
    function = own("min" if op == "minmax" else op)
    try:
        with np.errstate(all="ignore"):
            return np.asarray(function(x, axis=axis, keepdims=keepdims))
    except Exception:
        return None


def agrees(got, expected, op):
    """Compare, where the types can be; a norm of a whole array has its own idea of matrices."""
    if got.dtype.kind != expected.dtype.kind or (op == "norm" and got.shape != expected.shape):
        return True
    return got.shape == expected.shape and np.allclose(got, expected, rtol=1e-3, equal_nan=True)


@pytest.mark.unsanitized
@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.filterwarnings("ignore")
def test_any_axis_and_out_end_in_numpys_answer_or_an_exception(seed):
    rng = np.random.default_rng(seed)
    answers = refusals = 0
    for _ in range(CALLS):
        op = OPS[rng.integers(len(OPS))]
        shape = tuple(int(n) for n in rng.integers(0, 5, rng.integers(0, 4)))
        x = rng.integers(0, 5, shape).astype(TYPES[rng.integers(len(TYPES))])
        axis, keepdims = some_axis(rng, x.ndim), bool(rng.integers(2))
        expected = numpys(op, x, axis, keepdims)
        out = some_out(rng, expected)
        options = {"keepdims": keepdims if rng.integers(9) else ["", 2, "x", 1.5][rng.integers(4)]}
        options |= {} if out is None else {"out": getattr(out, "out", out)}
        a = SimulatedArray(x) if rng.integers(4) == 0 else x
        try:
            got = getattr(gred, op)(a, axis=axis, **options)
        except ANY_ERRORS:
            refusals += 1
        else:
            answers += 1
            if expected is not None and out is None and options["keepdims"] is keepdims:
                assert agrees(to_host(got[0] if op == "minmax" else got), expected, op), (
                    op,
                    x,
                    axis,
                    keepdims,
                )
        assert not isinstance(out, Guarded) or out.is_whole(), (op, x, axis, options)
    assert answers > CALLS / 10
    assert refusals > CALLS / 10


# ---- any value of any argument ----

MATRIX = np.array([[3.0, 1.0, 2.0], [9.0, 8.0, 7.0]])
JUNK = (None, True, -1, 0, 1, 2**31, 2**63, 2**64, -(2**70), 0.5, np.nan, np.inf, 1j, "", "x")
JUNK += ((), [], [3], {}, object(), Refuses(), np.zeros(3), np.zeros(()), np.float16(1), "auto")
JUNK += (
    np.zeros((), "V8"),
    np.zeros(1, object),
    range(3),
    float("-inf"),
    "float32",
    MATRIX,
    MATRIX > 2,
)
JUNK += (
    MATRIX > 2,
    b"f4",
    int,
    (0, 0),
    (1.0,),
    ("x",),
    (0, 5),
    (2**70,),
    np.arange(2),
    (Refuses(),),
)
JUNK += (np.zeros((1, 3)), np.zeros((2, 3), "V8"), np.zeros(3, ">i2"), np.zeros(3, "M8[s]"))
JUNK += (np.broadcast_to(np.zeros(1), 3), SimulatedArray(np.zeros(3)), memoryview(bytearray(3)))
JUNK += (np.zeros((0, 3)), [True, False, True], np.ones((2, 1), bool), np.zeros(2), (0, 1))
KEYWORDS = ("method", "block_size", "device", "where", "out", "stream", "dtype", "initial")
KEYWORDS += ("ddof", "correction", "ord", "axis", "keepdims", "mean", "a", "nonsense", "")


@pytest.mark.unsanitized
@pytest.mark.parametrize("name", sorted({*LADDER, *ALONG, *RECORDS}))
def test_any_value_of_any_argument_is_taken_or_refused(name):
    """A result or an exception: never a crash, a hang or another's memory."""
    random = np.random.default_rng(12)
    one = [((keyword, value),) for keyword in KEYWORDS for value in JUNK]
    several = [
        tuple((KEYWORDS[k], JUNK[random.integers(len(JUNK))]) for k in chosen_keywords)
        for chosen_keywords in (random.choice(len(KEYWORDS), 3, replace=False) for _ in range(1200))
    ]
    types = ("i4", "f8", "c8", ">f4", "?")
    for turn, options in enumerate([*one, *several[::2]]):
        x = MATRIX.astype(types[turn % len(types)])
        for a in (x, SimulatedArray(MATRIX)) if turn < len(one) else (x,):
            with contextlib.suppress(ANY_ERRORS):
                quietly(name, a, **dict(options))
    assert gred.sum([[1, 2], [3, 4]], 0).tolist() == [4, 6]
