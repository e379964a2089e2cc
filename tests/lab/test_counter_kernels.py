"""What known accesses cost: sectors, wavefronts, conflicts; and what lanes do together.

They are compiled against the simulator alone, with pointers that count.
"""

import ctypes

import pytest
from toy_kernels import toy_kernels

pytestmark = pytest.mark.unsanitized

EVENTS = ("global_load", "global_store", "shared_load", "shared_store")
ORDERS = ("forwards", "backwards", "shuffled")
NOBODY = -1


@pytest.fixture(scope="module")
def kernels(shared_folder):
    """Compile and load this test's kernels."""
    return toy_kernels("counting.cpp", shared_folder)


@pytest.fixture
def count(kernels):
    """Run a kernel: requests, lanes, sectors or wavefronts, and conflicts of one event."""

    def count(name, at, nbytes=4, *, offset=0, event=None, order="forwards"):
        places = (ctypes.c_int * len(at))(*at)
        counts = [ctypes.c_uint64() for _ in range(4)]
        kind, number = EVENTS.index(event or name), ORDERS.index(order)
        how = ctypes.c_uint(offset), ctypes.c_int(kind), ctypes.c_int(number)
        status = kernels.count_kernel(
            name.encode(), nbytes, len(at), places, *how, *map(ctypes.byref, counts)
        )
        assert status == 0
        return tuple(one.value for one in counts)

    return count


def lanes(place):
    return [place(lane) for lane in range(32)]


def every(step, first=0):
    return lanes(lambda k: first + step * k)


def evenly(step, place=lambda k: k):
    """Let one lane of so many take part."""
    return lanes(lambda k: NOBODY if k % step else place(k))


# Where the lanes' elements lie, their size, the first one's offset: sectors of 32 bytes.
SECTORS = {
    "neighbours": (every(1), 4, 0, 4),
    "reversed": (every(-1, 31), 4, 0, 4),
    "behind a boundary": (every(1), 4, 4, 5),
    "a sector behind": (every(1), 4, 32, 4),
    "every second": (every(2), 4, 0, 8),
    "every fourth": (every(4), 4, 0, 16),
    "every eighth": (every(8), 4, 0, 32),
    "every 32nd": (every(32), 4, 0, 32),
    "all the same": (every(0, 5), 4, 0, 1),
    "one lane": (lanes(lambda k: 0 if k == 7 else NOBODY), 4, 0, 1),
    "bytes": (every(1), 1, 0, 1),
    "bytes, shifted": (every(1), 1, 1, 2),
    "8 bytes": (every(1), 8, 0, 8),
    "8 bytes, shifted": (every(1), 8, 8, 9),
    "8 bytes, every second": (every(2), 8, 0, 16),
    "16 bytes": (every(1), 16, 0, 16),
    "16 bytes, shifted": (every(1), 16, 16, 17),
    "16 bytes, every second": (every(2), 16, 0, 32),
}


@pytest.mark.parametrize("name", ["global_load", "global_store"])
@pytest.mark.parametrize("case", SECTORS)
def test_sectors_are_those_that_lanes_touch(count, name, case):
    at, nbytes, offset, sectors = SECTORS[case]
    active = sum(place != NOBODY for place in at)
    assert count(name, at, nbytes, offset=offset) == (1, active, sectors, 0)


# Where the lanes' words lie, and their size: wavefronts and conflicts of loads, and of stores where
# Nsight Compute counts others on an H200. Loads of 8 and 16 bytes are served a pair of lanes at a
# time where it asks for one address.
WAVEFRONTS = {
    "neighbours": (every(1), 4, (1, 0)),
    "reversed": (every(-1, 31), 4, (1, 0)),
    "shifted": (every(1, 1), 4, (1, 0)),
    "every second": (every(2), 4, (2, 1)),
    "every fourth": (every(4), 4, (4, 3)),
    "every eighth": (every(8), 4, (8, 7)),
    "every 32nd": (every(32), 4, (32, 31)),
    "every 33rd": (every(33), 4, (1, 0)),
    "all the same": (every(0, 5), 4, (1, 0)),
    "two words of a bank": (lanes(lambda k: 32 * (k % 2)), 4, (2, 1)),
    "one lane": (lanes(lambda k: 3 if k == 9 else NOBODY), 4, (1, 0)),
    "bytes": (every(1), 1, (1, 0)),
    "8 bytes": (every(1), 8, (2, 0)),
    "8 bytes, half a warp": (lanes(lambda k: k if k < 16 else NOBODY), 8, (1, 0)),
    "8 bytes, one lane": (evenly(32), 8, (1, 0)),
    "8 bytes, every second": (every(2), 8, (4, 2)),
    "8 bytes, every 16th": (every(16), 8, (32, 30)),
    "16 bytes": (every(1), 16, (4, 0)),
    "16 bytes, every second": (every(2), 16, (8, 4)),
    "8 bytes, all the same": (every(0, 5), 8, (1, 0), (2, 0)),
    "8 bytes, pairs the same": (lanes(lambda k: k // 2), 8, (1, 0), (2, 0)),
    "8 bytes, halves the same": (lanes(lambda k: k % 16), 8, (2, 0), (2, 0)),
    "8 bytes, even lanes": (evenly(2), 8, (2, 1), (2, 0)),
    "8 bytes, even lanes, packed": (evenly(2, lambda k: k // 2), 8, (1, 0), (2, 0)),
    "8 bytes, every 8th lane": (evenly(8), 8, (2, 1), (2, 0)),
    "8 bytes, 8 lanes of each half": (lanes(lambda k: NOBODY if k & 8 else k), 8, (2, 0), (2, 0)),
    "8 bytes, two lanes, one bank": (evenly(16, lambda k: 16 * k), 8, (2, 1), (2, 0)),
    "16 bytes, all the same": (every(0, 5), 16, (2, 0), (4, 0)),
    "16 bytes, pairs the same": (lanes(lambda k: k // 2), 16, (2, 0), (4, 0)),
    "16 bytes, even lanes": (evenly(2), 16, (4, 2), (4, 0)),
    "16 bytes, every 8th lane": (evenly(8), 16, (4, 2), (4, 0)),
    "16 bytes, 8 lanes of each half": (lanes(lambda k: NOBODY if k & 8 else k), 16, (2, 0), (2, 0)),
}


@pytest.mark.parametrize("case", WAVEFRONTS)
def test_wavefronts_are_what_the_busiest_bank_takes(count, case):
    at, nbytes, load, *store = WAVEFRONTS[case]
    active = sum(place != NOBODY for place in at)
    assert count("shared_load", at, nbytes) == (1, active, *load)
    assert count("shared_store", at, nbytes) == (1, active, *(store or [load])[0])


# By what kernel, and where lanes' elements lie, or how often they come: requests, lanes, sectors.
TOGETHER = {
    # Lane k comes k times, to the same element: turn t is of the lanes from t + 1 on.
    "turns": (every(1), (31, sum(range(32)), 7 * 4 + 8 * (3 + 2 + 1))),
    # Each lane's first turn, but none before the same barrier as another's.
    "after_barriers": (every(0), (32, 32, 32)),
    # Turns are counted from the last barrier on.
    "again": (every(0), (2, 16 + 32, 2 + 4)),
    # Two loads of a line are two.
    "one_line": (every(0), (2, 64, 8)),
    # Warps do not meet.
    "global_load": (list(range(128)), (4, 128, 16)),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", TOGETHER)
def test_lanes_of_a_warp_meet_at_the_same_turn_since_a_barrier(count, name, order):
    at, counts = TOGETHER[name]
    assert count(name, at, event="global_load", order=order) == (*counts, 0)


@pytest.mark.parametrize("order", ORDERS)
def test_warps_do_not_meet_in_a_bank(count, order):
    assert count("shared_load", [0] * 128, order=order) == (4, 128, 4, 0)
