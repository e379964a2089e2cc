"""Host arrays on a GPU: whatever way they are brought, and in however many pieces, nothing is lost.

Page-locked memory is copied from where it lies, all else by way of buffers that threads fill. Sizes
are about where the ways and the pieces change.
"""

import contextlib
import ctypes
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from gpu_arrays import GpuArray, Memory, Stream, call, delay, free_bytes, is_busy
from processes import interrupted_after

import gred

pytestmark = pytest.mark.gpu
FEW, STAGE, PIECE, PAGE = 2**15, 2**23, 2**24, 2**12
SIZES = sorted(
    edge + change for edge in (FEW, STAGE, PIECE, 2 * PIECE, 5 * PIECE) for change in (-16, 0, 16)
)
every_place = pytest.mark.parametrize("place", ["pageable", "pinned"])


def host_array(place: str, n: int, dtype) -> np.ndarray:
    """Make an array of zeros, in page-locked memory or not."""
    dtype = np.dtype(dtype)
    if place == "pageable":
        return np.zeros(n, dtype)
    memory = Memory(n * dtype.itemsize, "pinned")
    raw = (ctypes.c_char * (n * dtype.itemsize)).from_address(memory.address)
    raw.memory = memory
    array = np.frombuffer(raw, dtype)
    array[:] = 0
    return array


def drawn(place: str, n: int, dtype) -> np.ndarray:
    array = host_array(place, n, dtype)
    array[:] = np.random.default_rng(n).integers(0, 100, n)
    return array


@contextlib.contextmanager
def page_locked(address: int, nbytes: int):
    """Page-lock a part of memory for a while."""
    call("cuMemHostRegister_v2", address, nbytes, 0)
    try:
        yield
    finally:
        call("cuMemHostUnregister", address)


@every_place
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.float64, np.complex128])
def test_arrays_of_any_size_come_whole(place, dtype):
    everything = drawn(place, SIZES[-1] // np.dtype(dtype).itemsize + 1, dtype)
    for nbytes in SIZES:
        a = everything[: nbytes // everything.itemsize]
        assert gred.sum(a, device="cuda") == a.sum()
        assert gred.sum(a[1:], device="cuda") == a[1:].sum()


@every_place
@pytest.mark.parametrize("method", ["auto", "unroll8", "halving", "atomic", "shuffle", "cub"])
def test_every_method_goes_over_pieces(place, method):
    a = drawn(place, 3 * PIECE // 4 + 1001, np.int32)
    assert gred.sum(a, method=method, device="cuda") == a.sum()
    assert gred.max(a, method=method, device="cuda") == a.max()


@every_place
def test_positions_are_the_arrays_and_not_the_pieces(place):
    a = host_array(place, 3 * PIECE, np.int8)
    for at in (0, PIECE - 1, PIECE, 2 * PIECE - 1, 2 * PIECE, 3 * PIECE - 1):
        a[at] = 1
        assert gred.argmax(a, device="cuda") == at
        assert gred.argmax(a, where=np.arange(a.size) % 7 == at % 7, device="cuda") == at
        a[at] = 0


LAYOUTS = {
    "every second": lambda a: a[::2],
    "backwards": lambda a: a[::-1],
    "transposed": lambda a: a[: 6000 * 1000].reshape(6000, 1000).T,
    "not aligned": lambda a: a.view(np.uint8)[1:-3].view(np.int32),
    "the other byte order": lambda a: a.view(a.dtype.newbyteorder()),
}


@every_place
@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_not_flat_is_gathered(place, layout):
    a = LAYOUTS[layout](drawn(place, 3 * PIECE // 2, np.int32))
    assert gred.sum(a, device="cuda") == a.sum(dtype=np.int64)
    as_doubles = pytest.approx(a.sum(dtype=np.float64), rel=1e-12)
    assert gred.sum(a, device="cuda", dtype=np.float64) == as_doubles


@every_place
@pytest.mark.parametrize("share", [0, 0.001, 0.5, 1])
def test_what_a_mask_hides_takes_no_part(place, share):
    a = drawn(place, 3 * PIECE // 4 + 1001, np.int32)
    shown = host_array(place, a.size, np.bool_)
    shown[:] = np.random.default_rng(1).random(a.size) < share
    for part in (slice(None), slice(3, None, 2)):
        expected = a[part][shown[part]]
        assert gred.sum(a[part], where=shown[part], device="cuda") == expected.sum()
        mean = gred.mean(a[part], where=shown[part], device="cuda")
        assert np.isnan(mean) if expected.size == 0 else mean == pytest.approx(expected.mean())


@every_place
@pytest.mark.parametrize("n", [1, 7, 8, 9, STAGE - 1, STAGE, 3 * STAGE + 5])
def test_a_hosts_mask_hides_the_same_of_an_array_on_the_gpu(place, n):
    host, shown = drawn("pageable", n, np.int32), host_array(place, n, np.bool_)
    shown[:] = np.random.default_rng(n).random(n) < 0.3
    shown[-1] = True
    a = GpuArray.of(host)
    for method in ("auto", "shuffle", "halving"):
        assert gred.sum(a, where=shown, method=method) == host[shown].sum()
    assert gred.mean(a, where=shown) == pytest.approx(host[shown].mean())
    assert gred.sum(a, where=shown[::-1]) == host[shown[::-1]].sum()


def test_memory_that_is_page_locked_in_parts_is_read_all_the_same():
    a = drawn("pageable", 3 * PIECE // 4, np.int32)
    first = -(-a.ctypes.data // PAGE) * PAGE
    spans = [(0, PAGE), (PAGE, 2 * PIECE), (0, STAGE + PAGE), (2 * PIECE - PAGE, PAGE)]
    for start, nbytes in spans:
        with page_locked(first + start, nbytes):
            assert gred.sum(a, device="cuda") == a.sum()
    with page_locked(first, STAGE), page_locked(first + STAGE, STAGE):
        assert gred.sum(a, device="cuda") == a.sum()
    assert gred.sum(a, device="cuda") == a.sum()


@every_place
@pytest.mark.parametrize("nbytes", [1000, FEW + 4, STAGE, PIECE])
def test_nothing_is_read_after_the_call(place, nbytes):
    """The result stays on the GPU, behind work that takes long; the array is written at once.

    Who calls waits for no stream where memory is pageable.
    """
    stream, out = Stream(), GpuArray.of(np.zeros(1, np.int64))
    a = host_array(place, nbytes // 4, np.int32)
    a[:] = 7
    gred.sum(a, out=out, stream=stream.handle)
    call("cuCtxSynchronize")
    delay(stream.handle)
    gred.sum(a, out=out, stream=stream.handle)
    assert (place, nbytes) != ("pageable", PIECE) or is_busy(stream.handle)
    a[:] = 100
    call("cuStreamSynchronize", stream.handle)
    assert out.host()[0] == 7 * a.size


@pytest.mark.parametrize("dtype", [np.int8, np.int32])
def test_a_user_can_lose_patience(dtype):
    """All of it would take minutes."""
    a = np.broadcast_to(np.ones(1, dtype), (2**43,))
    with pytest.raises(KeyboardInterrupt), interrupted_after(0.2):
        gred.sum(a, device="cuda")
    assert gred.sum(a[: 5 * PIECE], device="cuda") == 5 * PIECE


def test_sixteen_threads_do_not_meet():
    arrays = [drawn(("pageable", "pinned")[k % 2], PIECE + 1000 * k, np.int8) for k in range(16)]
    expected = [a.sum() for a in arrays]
    with ThreadPoolExecutor(16) as pool:
        for _ in range(3):
            assert list(pool.map(lambda a: gred.sum(a, device="cuda"), arrays)) == expected


@every_place
def test_pieces_run_on_the_stream_that_is_named(place):
    """The GPU's memory for one call is that of the call before, which may still be under way."""
    stream, outs = Stream(), [GpuArray.of(np.zeros(1, np.int64)) for _ in range(8)]
    arrays = [drawn(place, PIECE + 4096 * k, np.int8) for k in range(len(outs))]
    for a, out in zip(arrays, outs, strict=True):
        gred.sum(a, out=out, stream=stream.handle)
    call("cuStreamSynchronize", stream.handle)
    assert [out.host()[0] for out in outs] == [a.sum() for a in arrays]


@pytest.mark.gpu_alone
@every_place
def test_the_gpus_memory_does_not_grow_with_the_array(place):
    a = host_array(place, 2**29, np.int8)
    assert gred.sum(a[:PIECE], device="cuda") == 0
    before = free_bytes()
    assert gred.explain(a, device="cuda").workspace_nbytes < 3 * PIECE
    assert gred.sum(a, device="cuda") == 0
    assert before - free_bytes() < 2**27
