"""What known accesses cost: sectors, wavefronts, conflicts; and what lanes do together.

They are compiled against the simulator alone, with pointers that count.
"""

import ctypes

import pytest
from toy_kernels import toy_kernels

pytestmark = pytest.mark.unsanitized

EVENTS = ("global_load", "global_store", "shared_load", "shared_store")
ORDERS = ("forwards", "backwards", "shuffled")
TYPES = {1: "uint8_t", 4: "uint32_t", 8: "uint64_t", 16: "pack"}
NOBODY = -1


@pytest.fixture
def count(shared_folder):
    """Run a kernel: requests, lanes, sectors or wavefronts, and conflicts of one event."""
    kernels = toy_kernels("counting.cpp", shared_folder)

    def count(name, at, nbytes=4, *, offset=0, event=None, order="forwards"):
        places, sums = (ctypes.c_int * len(at))(*at), (ctypes.c_uint64 * 4)()
        numbers = offset, EVENTS.index(event or name), ORDERS.index(order)
        kernel = f"{name} {TYPES[nbytes]}".encode()
        assert kernels.count_kernel(kernel, len(at), places, *numbers, sums) == 0
        return tuple(sums)

    return count


def lanes(place):
    return [place(lane) for lane in range(32)]


def every(step, first=0):
    return lanes(lambda k: first + step * k)


def evenly(step, place=lambda k: k):
    """Let one lane of so many take part."""
    return lanes(lambda k: NOBODY if k % step else place(k))


# Bytes, where lanes' elements lie, the first one's offset: sectors of 32 bytes.
SECTORS = [
    *[(4, every(1), offset, sectors) for offset, sectors in ((0, 4), (4, 5), (32, 4))],
    *[(4, every(step), 0, sectors) for step, sectors in ((2, 8), (4, 16), (8, 32), (32, 32))],
    (4, every(-1, 31), 0, 4),
    (4, every(0, 5), 0, 1),
    (4, evenly(32), 0, 1),
    *[(1, every(1), offset, sectors) for offset, sectors in ((0, 1), (1, 2))],
    *[(8, every(1), offset, sectors) for offset, sectors in ((0, 8), (8, 9))],
    *[(16, every(1), offset, sectors) for offset, sectors in ((0, 16), (16, 17))],
    *[(nbytes, every(2), 0, 2 * nbytes) for nbytes in (8, 16)],
]


@pytest.mark.parametrize("name", ["global_load", "global_store"])
def test_sectors_are_those_that_lanes_touch(count, name):
    for nbytes, at, offset, sectors in SECTORS:
        active = sum(place != NOBODY for place in at)
        got = count(name, at, nbytes, offset=offset)
        assert got == (1, active, sectors, 0), (nbytes, at, offset)


def pairs(k):
    return k // 2


def eight_of_each_half(k):
    return NOBODY if k & 8 else k


# Bytes, where the lanes' words lie: wavefronts and conflicts of loads, and of stores where Nsight
# Compute counts others on an H200. Loads of 8 and 16 bytes are served a pair of lanes at a time
# where it asks for one address.
WAVEFRONTS = [
    *[(4, every(step), (step, step - 1)) for step in (2, 4, 8, 32)],
    *[(4, at, (1, 0)) for at in (every(1), every(-1, 31), every(1, 1), every(33), every(0, 5))],
    (4, lanes(lambda k: 32 * (k % 2)), (2, 1)),  # two words of a bank
    (4, evenly(32, lambda k: 3), (1, 0)),
    (1, every(1), (1, 0)),
    (8, every(1), (2, 0)),
    (8, lanes(lambda k: k if k < 16 else NOBODY), (1, 0)),
    (8, evenly(32), (1, 0)),
    (8, every(2), (4, 2)),
    (8, every(16), (32, 30)),
    (16, every(1), (4, 0)),
    (16, every(2), (8, 4)),
    (8, every(0, 5), (1, 0), (2, 0)),
    (8, lanes(pairs), (1, 0), (2, 0)),
    (8, lanes(lambda k: k % 16), (2, 0)),
    (8, evenly(2), (2, 1), (2, 0)),
    (8, evenly(2, pairs), (1, 0), (2, 0)),
    (8, evenly(8), (2, 1), (2, 0)),
    (8, lanes(eight_of_each_half), (2, 0)),
    (8, evenly(16, lambda k: 16 * k), (2, 1), (2, 0)),
    (16, every(0, 5), (2, 0), (4, 0)),
    (16, lanes(pairs), (2, 0), (4, 0)),
    (16, evenly(2), (4, 2), (4, 0)),
    (16, evenly(8), (4, 2), (4, 0)),
    (16, lanes(eight_of_each_half), (2, 0)),
]


@pytest.mark.parametrize(("name", "place"), [("shared_load", 0), ("shared_store", -1)])
def test_wavefronts_are_what_the_busiest_bank_takes(count, name, place):
    for nbytes, at, *counts in WAVEFRONTS:
        active = sum(place != NOBODY for place in at)
        assert count(name, at, nbytes) == (1, active, *counts[place]), (nbytes, at)


# By what kernel, and where lanes' elements lie, or how often they come: the event's counts.
TOGETHER = [
    # Lane k comes k times, to the same element: turn t is of the lanes from t + 1 on.
    ("turns", every(1), "global_load", (31, sum(range(32)), 7 * 4 + 8 * (3 + 2 + 1), 0)),
    # Turns are counted from the last barrier on.
    ("again", every(0), "global_load", (2, 16 + 32, 2 + 4, 0)),
    # Warps do not meet, in a bank neither.
    ("global_load", list(range(128)), "global_load", (4, 128, 16, 0)),
    ("shared_load", [0] * 128, "shared_load", (4, 128, 4, 0)),
]


@pytest.mark.parametrize("order", ORDERS)
def test_lanes_of_a_warp_meet_at_the_same_turn_since_a_barrier(count, order):
    for name, at, event, counts in TOGETHER:
        assert count(name, at, event=event, order=order) == counts, name
