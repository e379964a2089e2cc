"""What a GPU can read is told by its address, however the memory was got; what it cannot, too."""

import ctypes
import mmap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from gpu_arrays import ADDRESS, SIZE, GpuArray, Offer, call, library, status_of, upload

import gred

pytestmark = pytest.mark.gpu
PINNED, ON_DEVICE, READ_AND_WRITE = 1, 1, 3
WORDS = 2**20


def record(name: str, fields: str, *more):
    """Make a structure of the driver's, of integers."""
    integers = [(field, ctypes.c_int) for field in fields.split()]
    return type(name, (ctypes.Structure,), {"_fields_": (*integers, *more)})


# CUmemAllocationProp and CUmemAccessDesc.
Properties = record(
    "Properties", "type handle_types location_type location_id", ("unused", ctypes.c_uint64 * 2)
)
Access = record("Access", "location_type location_id flags")


class Mapped:
    """A reserved range of addresses of which some pieces, numbered, are memory of the first GPU."""

    def __init__(self, pieces: int, mapped: tuple[int, ...]):
        library()
        properties = Properties(PINNED, 0, ON_DEVICE, 0)
        granularity, address = SIZE(), ADDRESS()
        call("cuMemGetAllocationGranularity", granularity, properties, 0)
        self.piece, self.mapped = granularity.value, mapped
        self.nbytes = pieces * self.piece
        call("cuMemAddressReserve", address, self.nbytes, 0, 0, 0)
        self.address = address.value
        for number in mapped:
            handle, place = ctypes.c_ulonglong(), self.address + number * self.piece
            call("cuMemCreate", handle, self.piece, properties, 0)
            call("cuMemMap", place, self.piece, 0, handle.value, 0)
            call("cuMemRelease", handle.value)
            access = Access(ON_DEVICE, 0, READ_AND_WRITE)
            call("cuMemSetAccess", place, self.piece, access, 1)

    def __del__(self):
        if hasattr(self, "address"):
            for number in self.mapped:
                status_of("cuMemUnmap", self.address + number * self.piece, self.piece)
            status_of("cuMemAddressFree", self.address, self.nbytes)

    def array(self, first: int, pieces: int) -> GpuArray:
        """Offer some pieces from one on as an array of 32-bit integers."""
        words = self.piece // 4
        whole = GpuArray(self, self.nbytes // 4, np.int32)
        return whole[first * words : (first + pieces) * words]


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


def offered(address: int, words: int = WORDS):
    interface = {"shape": (words,), "typestr": "<i4", "data": (address, False), "version": 3}
    return Offer(interface)


@pytest.mark.parametrize("kind", ["registered", "of a pool"])
def test_other_memory_is_read_where_it_lies_and_no_further(kind):
    """Only whole pages can be registered; what comes after them is not the GPU's to read."""
    buffer = mmap.mmap(-1, 4 * WORDS + 2 * mmap.PAGESIZE)
    host = np.frombuffer(buffer, np.int32)
    host[:WORDS] = np.arange(WORDS)
    library()
    address, beyond = ADDRESS(host.ctypes.data), WORDS + 1
    if kind == "registered":
        call("cuMemHostRegister_v2", address.value, 4 * WORDS, 0)
        give_back = ("cuMemHostUnregister", address.value)
    else:
        call("cuMemAllocAsync", address, 4 * WORDS, 1)
        give_back, beyond = ("cuMemFreeAsync", address.value, 1), 2**38
        upload(address.value, host[:WORDS])

    def work():
        assert gred.sum(offered(address.value)) == WORDS * (WORDS - 1) // 2
        with pytest.raises(ValueError, match=r"a: .*not all in memory"):
            gred.sum(offered(address.value, beyond))

    try:
        here_and_in_a_fresh_thread(work)
    finally:
        call(*give_back)
    if kind == "registered":
        with pytest.raises(ValueError, match=r"a: .*not a pointer to memory"):
            gred.sum(offered(address.value))
