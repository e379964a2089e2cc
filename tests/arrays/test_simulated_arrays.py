"""Arrays in the simulated device's memory go in as those on a GPU do: read where they lie.

They offer `__cuda_array_interface__`, so that all of it is tried on any machine.
"""

import gc
import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from inputs import reduce
from numpy.lib.stride_tricks import sliding_window_view
from reference import BFLOAT16, agrees, truth

import gred
from gred import _core
from gred.testing import SimulatedArray

X = np.arange(1, 61, dtype=np.float32).reshape(3, 4, 5)
FLAT = X.ravel()
REFUSED = (ValueError, RuntimeError)


@pytest.fixture(autouse=True)
def the_next_call_is_right():
    yield
    assert gred.sum([1, 2, 3]) == 6
    assert gred.sum(SimulatedArray(X)) == X.sum()


class Offer:
    def __init__(self, **interface):
        self.__cuda_array_interface__ = interface


def bytes_at(address, n):
    return Offer(shape=(n,), typestr="|u1", data=(address, False), version=3)


def refused(a, error=REFUSED, match=None, functions=(gred.sum,), **options):
    for function in functions:
        with pytest.raises(error, match=match):
            function(a, **options)


# ---- the stand-in itself ----


def test_simulated_memory_is_a_writable_buffer_of_some_size():
    memory = _core.SimulatedMemory(64)
    assert memory.nbytes == len(memoryview(memory).cast("B")) == 64
    bytes_of_it = np.frombuffer(memory, np.uint8)
    assert bytes_of_it.ctypes.data == memory.address
    bytes_of_it[:] = 3
    assert gred.sum(bytes_at(memory.address, 64)) == 192
    for nbytes in (-1, 2**62, 2**64, -(2**70), "8", 1.5, None):
        with pytest.raises((TypeError, ValueError, OverflowError, MemoryError)):
            _core.SimulatedMemory(nbytes)


WITH_REFERENCES = [
    *([None], np.array([1, "two"], object), SimulatedArray(X), np.zeros(0, object)),
    np.zeros(3, [("x", "f4"), ("y", object)]),
    np.array(["a", "b" * 100], np.dtypes.StringDType()),
]


def test_what_holds_references_or_a_mask_is_refused_before_memory_is_allocated(monkeypatch):
    monkeypatch.setattr(_core, "SimulatedMemory", None)
    for a in WITH_REFERENCES:
        refused(a, TypeError, r"a: .*references", [SimulatedArray])
    refused([1, 2], TypeError, r"a: .*object.*references", [SimulatedArray], dtype=object)
    for mask in (False, True, [True, False]):
        masked = np.ma.array([1, 2], mask=mask)
        refused(masked, TypeError, r"a: masked arrays .*compressed", [gred.sum, SimulatedArray])
    monkeypatch.undo()


def test_a_simulated_array_is_reduced_on_its_device():
    array = SimulatedArray(X)
    timed = gred.kernel_time(array, samples=1, warmup=0, cold=False)
    assert timed.device == "simulated"
    assert gred.sum(array, device="simulated") == X.sum()
    for device in ("host", "cuda"):
        refused(array, match="device", device=device)
    refused(array, match="recursive", method="recursive")


# ---- the entries; tests/arrays/test_hostile_memory.py has what does not lie in the memory ----

ARRAY = SimulatedArray(X)
START = ARRAY.__cuda_array_interface__["data"][0]
LAST = START + X.nbytes - 4


def at(*shape, strides=None, **more):
    return {"shape": shape, "strides": strides, **more}


def from_(pointer):
    return {"data": (pointer, False)}


WELL_FORMED = {
    "as it is": ({}, X),
    "version 2": ({"version": 2, "stream": ...}, X),
    "a later version": ({"version": 99}, X),
    "no strides": ({"strides": ...}, X),
    **{f"stream {stream}": ({"stream": stream}, X) for stream in (..., None, 1, 2, 2**64 - 1)},
    "descr": ({"descr": [("", "<f4")]}, X),
    "an unknown entry": ({"colour": "blue"}, X),
    "native byte order": ({"typestr": "=f4"}, X),
    "read-only": ({"data": (START, True)}, X),
    "NumPy's integers": (at(*map(np.int64, X.shape)), X),
    "no dimensions": (at(), X[0, 0, 0]),
    "transposed": (at(5, 4, 3, strides=(4, 20, 80)), X),
    "backwards": (at(60, strides=(-4,), **from_(LAST)), X),
    "rows many times": (at(9, 60, strides=(0, 4)), np.tile(FLAT, 9)),
    "overlapping windows": (at(56, 5, strides=(4, 4)), sliding_window_view(FLAT, 5)),
    "extents of 1": (at(1, 60, 1, strides=(2**60, 4, -8)), X),
    "nothing nowhere": (at(0, **from_(0)), X[:0]),
    "nothing far away": (at(3, 0, strides=(2**40, 4), **from_(8)), X[:0]),
    "bytes in any order": (at(240, typestr=">i1"), FLAT.view("i1")),
    "other elements": (at(30, typestr="<i8"), FLAT.view("i8")),
}


@pytest.mark.parametrize(("changes", "elements"), WELL_FORMED.values(), ids=WELL_FORMED.keys())
def test_what_is_well_formed_is_read(changes, elements):
    offer = ARRAY.described(**{"descr": ...} | changes)
    for op in ("sum", "max")[: 1 + bool(elements.size)]:
        assert agrees(reduce(op, offer), truth(op, elements))


DESCRIPTIONS = ([("x", "<f4"), ("y", "<f4")], [("", "<i4")], "f4")  # fields, another type, no list


@pytest.mark.parametrize("descr", DESCRIPTIONS)
def test_a_description_that_is_not_of_the_type_is_refused(descr):
    refused(ARRAY.described(descr=descr), TypeError, "a: .*descr")


def test_bfloat16_is_known_by_its_dtype():
    array = SimulatedArray(np.arange(5).astype(BFLOAT16))
    assert array.__cuda_array_interface__["typestr"] == "<V2"
    assert gred.sum(array).dtype == BFLOAT16
    nameless = Offer(**array.__cuda_array_interface__)
    refused(nameless, TypeError, "bfloat16")
    nameless.dtype = "bfloat16"
    assert gred.sum(nameless) == 10


def test_the_bounds_are_those_of_one_memory():
    """Two memories that happen to be neighbours are still two."""
    memories = sorted((_core.SimulatedMemory(64) for _ in range(50)), key=lambda m: m.address)
    for first, second in itertools.pairwise(memories):
        span = second.address + 64 - first.address
        assert span >= 128
        for nbytes in (span, 65, 128):
            refused(bytes_at(first.address, nbytes))
        gred.sum(bytes_at(first.address, 64))


# ---- lifetimes ----


def test_freed_memory_is_refused_and_views_keep_it():
    class Vanishing:
        array = SimulatedArray(np.ones(1000))

        @property
        def __cuda_array_interface__(self):
            interface = Vanishing.array.__cuda_array_interface__
            del Vanishing.array
            gc.collect()
            return interface

    array = SimulatedArray(np.ones(10_000))
    offer = Offer(**array.__cuda_array_interface__)
    assert gred.sum(offer) == 10_000
    view = SimulatedArray(X)[1:, ::2].T
    del array
    gc.collect()
    refused(offer)
    refused(Vanishing())
    assert gred.sum(view) == X[1:, ::2].sum()


def test_memory_stays_while_it_is_reduced():
    """The array is dropped by another thread in the middle of a long run.

    Where that comes too early the array is refused, and it is dropped a little later.
    """
    x, pause, kept = np.ones(600_000, np.int32), 0.0, 0

    def work(offer, began):
        began.set()
        try:
            return gred.sum(offer, method="neighbored")
        except REFUSED:
            return None

    with ThreadPoolExecutor(1) as pool:
        for _ in range(300):
            array, began = SimulatedArray(x), threading.Event()
            running = pool.submit(work, Offer(**array.__cuda_array_interface__), began)
            began.wait()
            time.sleep(pause)
            in_time = not running.done()
            del array
            assert running.result() in (600_000, None)
            kept += running.result() is not None and in_time
            if kept == 3:
                break
            pause = pause + 1e-3 if running.result() is None else pause / 2
    assert kept


def test_memory_may_be_freed_from_any_thread():
    def work(_):
        return all(gred.sum(SimulatedArray(np.ones(n))) == n for n in range(1, 60))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))
