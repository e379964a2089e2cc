"""Host arrays on a GPU are copied completely, in every way and in any number of pieces.

Page-locked memory is copied directly, other memory through buffers that threads fill. Sizes are
around where this and the number of pieces change. tests/reductions/test_every_call.py has limits.
"""

import contextlib
import ctypes
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from gpu_arrays import GpuArray, Memory, Stream, call, delay, is_busy, synchronize

import gred

pytestmark = pytest.mark.gpu
FEW, STAGE, PIECE, PAGE = 2**15, 2**23, 2**24, 2**12
EDGES = (FEW, STAGE, PIECE, 2 * PIECE, 5 * PIECE)
every_place = pytest.mark.parametrize("place", ["pageable", "pinned"])


def copied(place: str, values: np.ndarray) -> np.ndarray:
    """Copy an array to page-locked or to pageable memory."""
    if place == "pageable":
        return values.copy()
    memory = Memory(values.nbytes, "pinned")
    raw = (ctypes.c_char * values.nbytes).from_address(memory.address)
    raw.memory = memory
    array = np.frombuffer(raw, values.dtype).reshape(values.shape)
    array[...] = values
    return array


def drawn(place: str, n: int, dtype) -> np.ndarray:
    return copied(place, np.random.default_rng(n).integers(0, 100, n).astype(dtype))


@every_place
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.float64, np.complex128])
def test_arrays_of_any_size_come_whole(place, dtype):
    everything = drawn(place, (EDGES[-1] + 16) // np.dtype(dtype).itemsize + 1, dtype)
    for nbytes in (edge + change for edge in EDGES for change in (-16, 0, 16)):
        a = everything[: nbytes // everything.itemsize]
        assert gred.sum(a, device="cuda") == a.sum()
        assert gred.sum(a[1:], device="cuda") == a[1:].sum()


LAYOUTS = {
    "as it is": lambda a: a,
    "every second": lambda a: a[::2],
    "backwards": lambda a: a[::-1],
    "transposed": lambda a: a[: 6000 * 1000].reshape(6000, 1000).T,
    "not aligned": lambda a: a.view(np.uint8)[1:-3].view(np.int32),
    "the other byte order": lambda a: a.view(a.dtype.newbyteorder()),
}


@every_place
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("method", ["auto", "unroll8", "halving", "cub"])
@pytest.mark.parametrize("share", [None, 0, 0.5])
def test_pieces_of_any_layout_are_gathered_and_masked(place, method, layout, share):
    a = LAYOUTS[layout](drawn(place, 3 * PIECE // 4 + 1001, np.int32))
    options, taken = {"method": method, "device": "cuda"}, a
    if share is not None:
        shown = np.random.default_rng(1).random(a.shape) < share
        options["where"], taken = copied(place, shown), a[shown]
    assert gred.sum(a, **options) == taken.sum(dtype=np.int64)
    as_doubles = pytest.approx(taken.sum(dtype=np.float64), rel=1e-12)
    assert gred.sum(a, dtype=np.float64, **options) == as_doubles
    if taken.size:
        assert gred.mean(a, **options) == pytest.approx(taken.mean())


@every_place
@pytest.mark.parametrize("n", [1, 7, 8, 9, STAGE - 1, STAGE, 3 * STAGE + 5])
def test_a_hosts_mask_hides_the_same_of_an_array_on_the_gpu(place, n):
    host, shown = drawn("pageable", n, np.int32), np.random.default_rng(n).random(n) < 0.3
    shown[-1] = True
    a, shown = GpuArray.of(host), copied(place, shown)
    for method in ("auto", "shuffle", "halving"):
        assert gred.sum(a, where=shown, method=method) == host[shown].sum()
    assert gred.mean(a, where=shown) == pytest.approx(host[shown].mean())
    assert gred.sum(a, where=shown[::-1]) == host[shown[::-1]].sum()


@every_place
def test_positions_are_the_arrays_and_not_the_pieces(place):
    a = copied(place, np.zeros(3 * PIECE, np.int8))
    for at in (0, PIECE - 1, PIECE, 2 * PIECE - 1, 2 * PIECE, 3 * PIECE - 1):
        a[at] = 1
        assert gred.argmax(a, device="cuda") == at
        assert gred.argmax(a, where=np.arange(a.size) % 7 == at % 7, device="cuda") == at
        a[at] = 0


# Offsets and sizes of page-locked memory in an array.
LOCKED = [[(0, PAGE)], [(PAGE, 2 * PIECE)], [(0, STAGE + PAGE)], [(2 * PIECE - PAGE, PAGE)]]
LOCKED += [[(0, STAGE), (STAGE, STAGE)], []]


def test_memory_that_is_page_locked_in_parts_is_read_all_the_same():
    a = drawn("pageable", 3 * PIECE // 4, np.int32)
    first = -(-a.ctypes.data // PAGE) * PAGE
    for parts in LOCKED:
        with contextlib.ExitStack() as locked:
            for start, nbytes in parts:
                call("cuMemHostRegister_v2", first + start, nbytes, 0)
                locked.callback(call, "cuMemHostUnregister", first + start)
            assert gred.sum(a, device="cuda") == a.sum()


@every_place
@pytest.mark.parametrize("nbytes", [1000, FEW + 4, STAGE, PIECE])
def test_nothing_is_read_after_the_call(place, nbytes):
    """The result stays on the GPU behind slow work, and the array is overwritten immediately.

    Calls with pageable memory wait for no stream.
    """
    stream, out = Stream(), GpuArray.of(np.zeros(1, np.int64))
    a = copied(place, np.full(nbytes // 4, 7, np.int32))
    gred.sum(a, out=out, stream=stream.handle)
    synchronize()
    delay(stream.handle)
    gred.sum(a, out=out, stream=stream.handle)
    assert (place, nbytes) != ("pageable", PIECE) or is_busy(stream.handle)
    a[:] = 100
    synchronize(stream.handle)
    assert out.host()[0] == 7 * a.size


def test_neither_calls_of_a_stream_nor_of_sixteen_threads_meet():
    """Calls reuse GPU memory that the previous call may still be using."""
    arrays = [drawn(("pageable", "pinned")[k % 2], PIECE + 1000 * k, np.int8) for k in range(16)]
    expected = [a.sum() for a in arrays]
    with ThreadPoolExecutor(16) as pool:
        for _ in range(3):
            assert list(pool.map(lambda a: gred.sum(a, device="cuda"), arrays)) == expected
    stream, outs = Stream(), [GpuArray.of(np.zeros(1, np.int64)) for _ in arrays]
    for k in (*range(0, 16, 2), *range(1, 16, 2)):
        gred.sum(arrays[k], out=outs[k], stream=stream.handle)
    synchronize(stream.handle)
    assert [out.host()[0] for out in outs] == expected
