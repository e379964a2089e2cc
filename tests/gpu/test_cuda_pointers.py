"""What a GPU can read is told by its address, however the memory was got; what it cannot, too."""

import ctypes
import mmap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from gpu_arrays import ADDRESS, SIZE, GpuArray, Offer, call, library, upload

import gred

pytestmark = pytest.mark.gpu
PINNED, ON_DEVICE, READ_AND_WRITE = 1, 1, 3
FLAGS = ctypes.c_ulonglong(0)
WORDS = 2**20


class Properties(ctypes.Structure):
    """CUmemAllocationProp: ordinary memory of the first GPU."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location_type", ctypes.c_int),
        ("location_id", ctypes.c_int),
        ("unused", ctypes.c_uint64 * 2),
    )


class Access(ctypes.Structure):
    """CUmemAccessDesc."""

    _fields_ = (
        ("location_type", ctypes.c_int),
        ("location_id", ctypes.c_int),
        ("flags", ctypes.c_int),
    )


class Mapped:
    """A reserved range of addresses of which some pieces, numbered, are memory."""

    def __init__(self, pieces: int, mapped: tuple[int, ...]):
        library()
        self.properties = Properties(PINNED, 0, ON_DEVICE, 0)
        granularity, address = SIZE(), ADDRESS()
        call(
            "cuMemGetAllocationGranularity",
            ctypes.byref(granularity),
            ctypes.byref(self.properties),
            ctypes.c_int(0),
        )
        self.piece, self.mapped = granularity.value, mapped
        self.nbytes = pieces * self.piece
        size, zero = SIZE(self.nbytes), ADDRESS(0)
        call("cuMemAddressReserve", ctypes.byref(address), size, SIZE(0), zero, FLAGS)
        self.address = address.value
        for number in mapped:
            self.map(ADDRESS(self.address + number * self.piece), SIZE(self.piece))

    def map(self, address, size):
        handle = ctypes.c_ulonglong()
        call("cuMemCreate", ctypes.byref(handle), size, ctypes.byref(self.properties), FLAGS)
        call("cuMemMap", address, size, SIZE(0), handle, FLAGS)
        call("cuMemRelease", handle)
        access = Access(ON_DEVICE, 0, READ_AND_WRITE)
        call("cuMemSetAccess", address, size, ctypes.byref(access), SIZE(1))

    def __del__(self):
        if hasattr(self, "address"):
            for number in self.mapped:
                address = ADDRESS(self.address + number * self.piece)
                library().cuMemUnmap(address, SIZE(self.piece))
            library().cuMemAddressFree(ADDRESS(self.address), SIZE(self.nbytes))

    def array(self, first: int, pieces: int, **changes) -> GpuArray:
        """Offer some pieces from one on as an array of 32-bit integers."""
        whole = GpuArray(self, self.nbytes // 4, np.int32)
        words = self.piece // 4
        return whole[first * words : (first + pieces) * words].described(**changes)


def here_and_in_a_fresh_thread(work):
    work()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()


def test_memory_that_is_mapped_piece_by_piece_is_one_array():
    memory = Mapped(5, (1, 2, 3))
    host = np.random.default_rng(1).integers(-100, 100, 3 * memory.piece // 4, np.int32)
    upload(memory.address + memory.piece, host)

    def work():
        assert gred.sum(memory.array(1, 3)) == host.sum()
        assert gred.sum(memory.array(1, 3)[1:-1]) == host[1:-1].sum()
        assert gred.sum(memory.array(1, 3), method="unroll8") == host.sum()

    here_and_in_a_fresh_thread(work)


@pytest.mark.parametrize(
    ("first", "pieces"), [(0, 1), (0, 2), (1, 2), (1, 4), (2, 1), (3, 3), (5, 1)]
)
def test_addresses_that_are_reserved_and_not_mapped_are_refused(first, pieces):
    """A kernel that read them would end the work of everybody in the process."""
    memory = Mapped(6, (1, 3, 4))

    def work():
        with pytest.raises(ValueError, match=r"a: the .* bytes from|a: .*not a pointer to memory"):
            gred.sum(memory.array(first, pieces))
        assert gred.sum(memory.array(3, 2)) == gred.sum(memory.array(3, 2), method="unroll8")

    here_and_in_a_fresh_thread(work)


def test_registered_memory_is_read_where_it_lies():
    """Only whole pages can be registered; what comes after them is not the GPU's to read."""
    buffer = mmap.mmap(-1, 4 * WORDS + 2 * mmap.PAGESIZE)
    host = np.frombuffer(buffer, np.int32)
    host[:WORDS] = np.arange(WORDS)
    library()
    address = ADDRESS(host.ctypes.data)
    call("cuMemHostRegister_v2", address, SIZE(4 * WORDS), ctypes.c_uint(0))
    interface = {"typestr": "<i4", "data": (host.ctypes.data, False), "version": 3}

    def work():
        assert gred.sum(Offer(interface | {"shape": (WORDS,)})) == WORDS * (WORDS - 1) // 2
        with pytest.raises(ValueError, match=r"a: .*not all in memory"):
            gred.sum(Offer(interface | {"shape": (WORDS + 1,)}))

    try:
        here_and_in_a_fresh_thread(work)
    finally:
        call("cuMemHostUnregister", address)
    with pytest.raises(ValueError, match=r"a: .*not a pointer to memory"):
        gred.sum(Offer(interface | {"shape": (WORDS,)}))


def test_memory_of_a_pool_is_read_where_it_lies():
    library()
    host, address = np.arange(WORDS, dtype=np.int32), ADDRESS()
    call("cuMemAllocAsync", ctypes.byref(address), SIZE(host.nbytes), ctypes.c_void_p(1))
    upload(address.value, host)
    interface = {"typestr": "<i4", "data": (address.value, False), "version": 3}

    def work():
        assert gred.sum(Offer(interface | {"shape": (WORDS,)})) == host.sum(dtype=np.int64)
        with pytest.raises(ValueError, match=r"a: .*not all in memory"):
            gred.sum(Offer(interface | {"shape": (2**38,)}))

    try:
        here_and_in_a_fresh_thread(work)
    finally:
        call("cuMemFreeAsync", address, ctypes.c_void_p(1))
