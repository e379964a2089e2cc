"""The simulated device runs threads and blocks in any order, and results stay the same."""

from functools import partial

import numpy as np
import pytest
from inputs import KINDS, OPS, block_sizes, exact, methods_on, reduce
from processes import printed
from reference import agrees
from refusals import refused
from thin import chosen

import gred

ORDERS = [("forwards", 0), ("backwards", 0), *(("shuffled", seed) for seed in (0, 1, 2**64 - 1))]


@pytest.mark.parametrize(("order", "seed"), ORDERS)
@pytest.mark.parametrize("rung", methods_on("simulated"))
@pytest.mark.parametrize("op", OPS)
def test_the_answer_does_not_depend_on_the_order(rung, op, order, seed):
    """Each op meets all kinds, and each order all block sizes, but not in every combination."""
    turn = OPS.index(op) + ORDERS.index((order, seed))
    sizes = block_sizes(rung)[1::2]
    with gred.thread_order(order, seed):
        for place, kind in enumerate(KINDS[turn % 2 :: 2]):
            block_size = sizes[(turn + place) % len(sizes)]
            options = {"method": rung, "device": "simulated", "block_size": block_size}
            every = (1, 33, 64, block_size + 1, 8 * block_size - 1, 4097)
            for n in chosen(every, rung, op, order, seed, kind):
                case = exact(op, kind, n)
                got = reduce(op, case.array, dtype=kind.dtype, **options)
                assert agrees(got, case.truth), f"{kind.name}, n {n}, block_size {block_size}"


# On a device of one multiprocessor, blocks run one after the other: `atomic` adds block by block,
# so the last bits of a float sum show the order of the blocks.
ON_ONE_CORE = """
import contextlib, os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import gred, numpy as np

array = np.random.default_rng(3).normal(size=100003).astype(np.float32)

def bits():
    return gred.sum(array, method="atomic", device="simulated", block_size=32).tobytes()

def bits_in(order, seed=0):
    with gred.thread_order(order, seed):
        return bits()

shuffles = [bits_in("shuffled", seed) for seed in range(8)]
assert shuffles == [bits_in("shuffled", seed) for seed in range(8)], "a seed is an order"
assert len({*shuffles, bits_in("forwards"), bits_in("backwards")}) > 3
usual, backwards = bits(), bits_in("backwards")
assert usual != backwards
with contextlib.suppress(ZeroDivisionError), gred.thread_order("backwards"):
    assert (bits(), bits_in("forwards"), bits()) == (backwards, usual, backwards)
    raise ZeroDivisionError
assert bits() == usual
"""


def test_the_order_reaches_the_device_and_ends_with_its_with_block():
    printed(ON_ONE_CORE)


WRONG = ("7", 1.5, None, np.True_, np.arange(2), -1, 2**70)
ERRORS = (TypeError, ValueError, OverflowError)
ORDER, LIMIT = gred.thread_order, gred.workspace_limit
test_what_is_no_order_seed_or_workspace_limit_is_refused = refused(
    *((partial(ORDER, one, 0), ERRORS, "order") for one in ("sideways", None, 3, ["forwards"])),
    *((partial(ORDER, "shuffled", one), ERRORS, "seed") for one in (*WRONG, np.float64(7), 2**64)),
    *((partial(LIMIT, one), ERRORS, None) for one in (*WRONG, 0, True, np.int8(-1))),
)


def test_a_seed_and_a_limit_may_be_integers_of_numpys():
    for integer in (np.int16, np.uint64, np.int64, np.array):
        with gred.thread_order("shuffled", integer(7)), gred.workspace_limit(integer(4096)):
            assert gred.sum(range(1000), method="atomic", device="simulated") == 499500
