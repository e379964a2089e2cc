"""Calls and errors leave reference counts and memory unchanged.

Marked `unsanitized` because a sanitizer's own records grow with every call.
"""

import array
import ctypes
import gc
import sys
import warnings

import numpy as np
import pytest
from capsules import CPU, NEW, OLD, Producer, capsule_of, deletions, structure
from drawn import misaligned
from exchanges import EXCHANGING, GIVE, SHOW, exchange, lender, offer
from exchanges import fail as failing
from hostile import streaming
from inputs import shown

import gred
from gred import _core
from gred.testing import SimulatedArray

pytestmark = pytest.mark.unsanitized
ROUNDS = 100
MEASUREMENTS = 12
SLACK = 30
GROWTH = 16 * ROUNDS  # bytes; less than malloc's smallest block, leaked once a round

A = np.arange(1, 25, dtype=np.float64).reshape(4, 6)
STRIDED, SWAPPED = A[::2, ::3], A.astype(">f8")
HALVES, COMPLEX, LONG = A.astype(np.float16), A * 1j, np.ones((100, 200), ">f8")[:, ::2]
SIMULATED = SimulatedArray(A)
MASK, OUT = A > 5, np.zeros(())
SIMULATED_OUT = SimulatedArray(np.zeros(1))
OLD_TENSOR, NEW_TENSOR = Producer(capsule_of(A, OLD)), Producer(capsule_of(A, NEW))
BAD_TENSOR = Producer(capsule_of(A, lanes=3))
FIRST_AXIS, OFFSETS, ROW = (0,), np.array([0, 3]), np.zeros(6)
SIMULATED_ROW, COLUMN = SimulatedArray(ROW), SimulatedArray(np.zeros((6, 2))).T[0]
LENT, LENT_OUT = EXCHANGING(capsule_of(A)), EXCHANGING(capsule_of(np.zeros(1)))
FAILING = [lender(offer(exchange(**{which: failing})))(capsule_of(A)) for which in (GIVE, SHOW)]
RUNG = {"method": "shuffle", "device": "simulated"}
STANDARD, READ_ONLY = array.array("d", [1, 2, 3]), np.zeros(())
READ_ONLY.setflags(write=False)


def at_offsets(a, offsets, **options):
    return gred.reduceat("sum", a[0], offsets, **options)


class Raising:
    """An object whose protocols all raise."""

    def __getattr__(self, name):
        if name.startswith("__") and name not in ("__dlpack__", "__array__"):
            raise AttributeError(name)
        raise OSError(name)

    def __index__(self):
        raise OSError


STREAM, BAD_STREAM, RAISING = streaming((0, 2)), streaming((0, "x")), Raising()

PLAIN = [A, misaligned(A), STRIDED, COMPLEX, SIMULATED, OLD_TENSOR, [1, 2.5]]
GOOD = [(a, {}) for a in PLAIN] + [(A, RUNG), (NEW_TENSOR, RUNG), (A, {"out": SIMULATED_OUT})]
GOOD += [(SIMULATED, {"out": SIMULATED_OUT, "initial": np.float64(1.5), "stream": STREAM})]
GOOD += [(SIMULATED.T, {"method": "last_block", "stream": STREAM})]
GOOD += [(A.T, {"dtype": np.float32}), (SWAPPED, {"initial": 3}), (HALVES, {"dtype": "f8"})]
GOOD += [(A, {"where": MASK, "initial": 1.5, "out": OUT}), (STANDARD, {"method": "recursive"})]
GOOD += [(STRIDED, RUNG | {"where": MASK[::2, ::3], "block_size": 64})]
GOOD += [(3, {"initial": 2**70, "dtype": np.float64})]
GOOD += [(one, {"out": LENT_OUT}) for one in (LENT, *FAILING)]
GOOD += [(A, {"axis": FIRST_AXIS, "dtype": np.dtype(np.float32), "where": MASK})]
GOOD += [(A, {"axis": FIRST_AXIS, "out": out}) for out in (ROW, SIMULATED_ROW, COLUMN)]
GOOD += [(SIMULATED, {"axis": 0, "out": out}) for out in (None, ROW, SIMULATED_ROW, COLUMN)]
GOOD += [(a, {"op": gred.minmax, "axis": 1, "keepdims": True}) for a in (A, SIMULATED)]
GOOD += [(A, {"op": at_offsets, "offsets": OFFSETS, "out": out}) for out in (None, np.zeros(2))]
# Copies, gathers and uploads in several chunks, and many results.
GOOD += [(LONG, RUNG | {"method": "last_block"}), (LONG, {"method": "recursive"})]
GOOD += [(np.ones(10_000, np.int8), RUNG | {"method": "halving"})]
GOOD += [(SimulatedArray(np.ones((1, 10_000))), {"axis": 0})]

WRONG = {"method": ["unrol8", 3], "device": ["tpu", 3, "cuda:99"], "dtype": ["O", ">f8", "none"]}
WRONG |= {"axis": [2, (0, 0), "x"], "keepdims": ["x"], "initial": ["x", [1, 2], 1j]}
WRONG |= {"where": [A, [True, False]], "stream": [0, -1, BAD_STREAM, RAISING]}
WRONG |= {"out": [3, READ_ONLY, np.zeros(2), SimulatedArray(np.zeros(2)), RAISING]}
ENTRIES = {"mask": 1, "stream": 0, "typestr": "|O8", "shape": ..., "version": "x"}
NO_ARRAYS = [A.astype("O"), A.astype(np.longdouble), np.array(["a"]), [[1], [2, 3]], RAISING, None]
NO_ARRAYS += [np.ma.array(A, mask=MASK), BAD_TENSOR, Producer(None)]
NO_ARRAYS += [Producer(NEW_TENSOR.capsule, place) for place in ((CPU, None), (99, 0))]
NO_ARRAYS += [SIMULATED.described(**{name: value}) for name, value in ENTRIES.items()]
NO_ARRAYS += [SIMULATED.described(shape=(1000,), strides=None)]
BAD = [(a, {}) for a in NO_ARRAYS]
BAD += [(A, {name: value}) for name, values in WRONG.items() for value in values]
BAD += [(A, RUNG | {"block_size": size}) for size in (48, "big")] + [(COMPLEX, RUNG)]
BAD += [(A, {"method": method, "device": "simulated"}) for method in ("cub", "recursive")]
BAD += [(A, {"axis": 0, "out": np.zeros(3)}), (A, {"keepdims": True, "out": np.zeros(2)})]
BAD += [(A, {"initial": 300, "dtype": np.int8}), (A[:0], {"initial": None})]
BAD += [(A[:0], {"op": gred.min}), (A, {"op": at_offsets, "offsets": [9]}), (A[0], {"where": MASK})]
BAD += [(SIMULATED, {"axis": 0, "out": np.zeros((4, 6))}), (SIMULATED, {"axis": 7})]
BAD += [(SIMULATED, {"op": gred.argmax, "axis": 0, "out": SIMULATED_ROW})]
BAD += [(LONG, {"method": "recursive", "initial": "x"})]
BAD += [(SIMULATED, {"device": "host"}), (SIMULATED, {"out": 3}), (NEW_TENSOR, {"where": A})]
BAD += [(one, {"method": "none"}) for one in (LENT, *FAILING, OLD_TENSOR)]
WATCHED = [A, STRIDED, SWAPPED, HALVES, COMPLEX, SIMULATED, MASK, OUT, OLD_TENSOR, NEW_TENSOR]
WATCHED += [STREAM, BAD_TENSOR, STANDARD, READ_ONLY, A.dtype, np.float64, None, True, "shuffle"]
WATCHED += [RAISING, BAD_STREAM, MASK.dtype, np.dtype(np.float32), NEW_TENSOR.device]
WATCHED += [FIRST_AXIS, OFFSETS, ROW, SIMULATED_ROW, COLUMN, np._NoValue, SIMULATED.memory]
WATCHED += [LENT, LENT_OUT, *FAILING, type(LENT), gred.DeviceArray, _core.DeviceMemory]
WATCHED += [a for a, _ in BAD if not isinstance(a, list)]
STAND_INS = [one for one, _ in ((LENT_OUT, {}), *GOOD, *BAD) if isinstance(one, Producer)]

# Ten size_t fields: [7], uordblks, is bytes allocated from arenas, [4], hblkhd, mmapped bytes.
Mallinfo2 = structure("mallinfo2", numbers=10 * ctypes.c_size_t)


def allocated() -> int:
    """Return the bytes that malloc has allocated, or 0 where mallinfo2 is missing."""
    mallinfo2 = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo2 is None:
        return 0
    mallinfo2.restype = Mallinfo2
    numbers = mallinfo2().numbers
    return numbers[7] + numbers[4]


def held():
    """Return reference counts of the watched objects, Python's blocks and malloc's bytes."""
    for producer in STAND_INS:
        producer.calls.clear()
        producer.functions.clear()
    deletions.clear()
    gc.collect()
    return [*map(sys.getrefcount, WATCHED)], sys.getallocatedblocks(), allocated()


def grown(work):
    """Run `work` repeatedly, and describe what grew; empty if nothing did."""
    references, blocks, memory = held()
    for _ in range(ROUNDS):
        work()
    references_after, blocks_after, memory_after = held()
    for watched, before, after in zip(WATCHED, references, references_after, strict=True):
        if abs(after - before) >= SLACK:
            return f"{after - before} references to {shown(watched)}"
    if blocks_after - blocks >= ROUNDS // 2:
        return f"{blocks_after - blocks} blocks"
    return f"{memory_after - memory} bytes" if memory_after - memory >= GROWTH else ""


def call(a, refused, op=gred.sum, **options):
    """Reduce; drop the exception that is expected where `refused`."""
    try:
        op(a, **options)
    except Exception as error:
        if not refused:
            raise
        error.__traceback__ = None
    else:
        assert not refused, "this is accepted"


CASES = [*((False, *case) for case in GOOD), *((True, *case) for case in BAD)]
IDS = [f"{k} {shown(case[1:])}" for k, case in enumerate(CASES)]


@pytest.mark.parametrize(("refused", "a", "options"), CASES, ids=IDS)
def test_calls_and_errors_leave_references_and_memory_flat(refused, a, options):
    """A leak grows in every measurement, while pools settle."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(ROUNDS // 8):
            call(a, refused, **options)
        growths = [grown(lambda: call(a, refused, **options))]
        while growths[-1] and len(growths) < MEASUREMENTS:
            growths.append(grown(lambda: call(a, refused, **options)))
    assert not growths[-1], growths
