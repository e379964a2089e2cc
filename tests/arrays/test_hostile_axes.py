"""Whatever arguments are: NumPy's answer or an exception, and memory stays whole.

20,000 calls with an axis and an out are drawn, of arrays on the host and the simulated device; half
have something wrong. Any value is tried as any argument.
"""

import contextlib

import numpy as np
import pytest
from along import NAMES as ALONG
from devices import to_host
from hostile import REFUSALS, Index, Refuses
from inputs import OPS as LADDER
from samples import quietly
from thin import chosen
from truths import RECORDS
from truths import numpys as own

import gred
from gred.testing import SimulatedArray

pytestmark = pytest.mark.unsanitized
CALLS, SEEDS = 2_000, len(chosen(range(10)))
OPS = ("sum", "prod", "min", "max", "mean", "any", "all", "count_nonzero", "argmin", "argmax")
OPS += ("var", "std", "ptp", "nansum", "nanmin", "norm", "minmax")
TYPES = ("f4", "f8", "i1", "i8", "u2", "?", "c16")
ERRORS = (*REFUSALS, np.exceptions.AxisError, ZeroDivisionError, NotImplementedError, IndexError)
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
        except ERRORS:
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

X = np.array([[3.0, 1.0, 2.0], [9.0, 8.0, 7.0]])
JUNK = (None, True, -1, 0, 1, 2**31, 2**63, 2**64, -(2**70), 0.5, np.nan, np.inf, 1j, "", "x")
JUNK += ((), [], [3], {}, object(), Refuses(), np.zeros(3), np.zeros(()), np.float16(1), "auto")
JUNK += (np.zeros((), "V8"), np.zeros(1, object), range(3), float("-inf"), "float32", X, X > 2)
JUNK += (b"f4", int, (0, 0), (1.0,), ("x",), (0, 5), (2**70,), np.arange(2), (Refuses(),))
JUNK += (np.zeros((1, 3)), np.zeros((2, 3), "V8"), np.zeros(3, ">i2"), np.zeros(3, "M8[s]"))
JUNK += (np.broadcast_to(np.zeros(1), 3), SimulatedArray(np.zeros(3)), memoryview(bytearray(3)))
JUNK += (np.zeros((0, 3)), [True, False, True], np.ones((2, 1), bool), np.zeros(2), (0, 1))
KEYWORDS = ("method", "block_size", "device", "where", "out", "stream", "dtype", "initial")
KEYWORDS += ("ddof", "correction", "ord", "axis", "keepdims", "mean", "a", "nonsense", "")


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
        x = X.astype(types[turn % len(types)])
        for a in (x, SimulatedArray(X)) if turn < len(one) else (x,):
            with contextlib.suppress(ERRORS):
                quietly(name, a, **dict(options))
    assert gred.sum([[1, 2], [3, 4]], 0).tolist() == [4, 6]
