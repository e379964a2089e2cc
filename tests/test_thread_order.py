"""The simulated device runs threads and blocks in any order, and every answer stays the same."""

import numpy as np
import pytest
from inputs import KINDS, OPS, block_sizes, exact, methods_on, reduce
from processes import printed
from reference import agrees
from thin import chosen

import gred

ORDERS = [("forwards", 0), ("backwards", 0), *(("shuffled", seed) for seed in (0, 1, 2**64 - 1))]
RUNGS = methods_on("simulated")
every_order = pytest.mark.parametrize(("order", "seed"), ORDERS)
every_rung = pytest.mark.parametrize("rung", RUNGS)


@every_order
@every_rung
@pytest.mark.parametrize("op", OPS)
def test_the_answer_does_not_depend_on_the_order(rung, op, order, seed):
    """Each op and order takes every other kind, and each of these a block size of its own.

    So each op meets all kinds, and each order all block sizes, though not in all combinations.
    """
    turn = OPS.index(op) + ORDERS.index((order, seed))
    sizes = block_sizes(rung)[1::2]
    options = {"method": rung, "device": "simulated"}
    with gred.thread_order(order, seed):
        for place, kind in enumerate(KINDS[turn % 2 :: 2]):
            block_size = sizes[(turn + place) % len(sizes)]
            every = (1, 33, block_size + 1, 8 * block_size - 1, 4097)
            for n in chosen(every, rung, op, order, seed, kind):
                case = exact(op, kind, n)
                more = {"block_size": block_size, "dtype": kind.dtype}
                got = reduce(op, case.array, **options, **more)
                assert agrees(got, case.truth), f"{kind.name}, n {n}, block_size {block_size}"


@every_rung
def test_many_shuffles_give_one_answer(rung):
    case = exact("sum", KINDS[1], 3001)
    for seed in range(20):
        with gred.thread_order("shuffled", seed):
            got = gred.sum(case.array, method=rung, device="simulated", block_size=64)
        assert agrees(got, case.truth), f"seed {seed}"


ON_ONE_CORE = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import gred, numpy as np

array = np.random.default_rng(3).normal(size=100003).astype(np.float32)

def bits():
    got = gred.sum(array, method="atomic", device="simulated", block_size=32)
    return got.tobytes().hex()

def bits_in(order, seed=0):
    with gred.thread_order(order, seed):
        return bits()
"""


def on_one_core(code: str):
    """Run code where blocks run strictly one after the other: on a device of one multiprocessor.

    `atomic` adds block by block, so a float sum's last bits betray the order that blocks ran in.
    """
    printed(ON_ONE_CORE, code)


def test_the_order_reaches_the_device():
    on_one_core(
        """
        shuffles = [bits_in("shuffled", seed) for seed in range(8)]
        assert shuffles == [bits_in("shuffled", seed) for seed in range(8)], "a seed is an order"
        assert len({*shuffles, bits_in("forwards"), bits_in("backwards")}) > 3
        """
    )


def test_the_order_ends_with_its_with_block():
    on_one_core(
        """
        usual, backwards = bits(), bits_in("backwards")
        assert usual != backwards
        with gred.thread_order("backwards"):
            assert bits() == backwards
            assert bits_in("forwards") == usual
            assert bits() == backwards
        assert bits() == usual
        try:
            with gred.thread_order("backwards"):
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass
        assert bits() == usual
        """
    )


def test_an_unknown_order_is_refused():
    with pytest.raises(ValueError, match=r"order.*'forwards'.*'shuffled'.*'sideways'"):
        gred.thread_order("sideways")


@pytest.mark.parametrize("order", [None, 3, ["forwards"]])
def test_an_order_that_is_no_text_is_refused(order):
    with pytest.raises((TypeError, ValueError), match="order"):
        gred.thread_order(order)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_out_of_range_is_refused(seed):
    with pytest.raises(ValueError, match=rf"seed.*{seed}"):
        gred.thread_order("shuffled", seed)


@pytest.mark.parametrize("seed", ["7", 1.5, None, np.float64(7), np.True_, np.arange(2)])
def test_a_seed_that_is_no_integer_is_refused(seed):
    with pytest.raises(TypeError, match="seed"):
        gred.thread_order("shuffled", seed)


@pytest.mark.parametrize("integer", [np.int8, np.uint64, np.int64, lambda n: np.array(n)])
def test_a_seed_may_be_an_integer_of_numpys(integer):
    with gred.thread_order("shuffled", integer(7)):
        assert gred.sum(range(1000), method="atomic", device="simulated") == 499500
