"""DLPack tensors go in; a capsule is taken once, and released once, whatever happens.

Those of host memory are read, and written, alike by capsules and by C's exchange.
"""

import ctypes
import gc
import mmap

import capsules
import exchanges
import numpy as np
import pytest
from capsules import (
    BFLOAT,
    COPIED,
    CPU,
    CUDA,
    CUDA_HOST,
    NEW,
    OLD,
    READ_ONLY,
    WRONG,
    Producer,
    capsule_of,
)
from exchanges import EXCHANGING, ONLY_EXCHANGING
from inputs import OPS, reduce
from reference import BFLOAT16, EVERY_TYPE, agrees, truth

import gred

NO_GPU = not any(device.name.startswith("cuda") for device in gred.devices())
PLACES = [{"device": "host"}, {"method": "last_block", "device": "simulated"}]
everywhere = pytest.mark.parametrize("where", PLACES, ids=["host", "simulated"])
both_forms = pytest.mark.parametrize("name", [OLD, NEW], ids=["old", "new"])
X = np.arange(1, 25, dtype=np.float32).reshape(2, 3, 4)


@pytest.fixture(autouse=True)
def nobody_was_asked_in_vain_and_the_next_call_is_right():
    yield from exchanges.observed()


# ---- what is right ----


class Only:
    """An array of which nothing is left but DLPack."""

    def __init__(self, array, **forced):
        self.array, self.forced = array, forced

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options | self.forced)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OnlyOld(Only):
    """The same from before DLPack 1.0."""

    def __dlpack__(self, *, stream=None):
        return self.array.__dlpack__()


FORMS = {"new": Only, "new, forced": lambda x: Only(x, max_version=(1, 0)), "old": OnlyOld}
WAYS = {
    "old capsule": lambda x, **changes: Producer(capsule_of(x, OLD, **changes)),
    "new capsule": lambda x, **changes: Producer(capsule_of(x, NEW, **changes)),
    "exchange": lambda x, **changes: ONLY_EXCHANGING(capsule_of(x, **changes)),
}
every_way = pytest.mark.parametrize("way", WAYS)


@pytest.mark.parametrize("way", [*FORMS, *WAYS])
@everywhere
def test_every_type_and_layout_is_read(way, where):
    """By capsules of NumPy's own, and of ours, which are released once each."""
    for dtype in EVERY_TYPE:
        if way in FORMS and dtype == BFLOAT16:
            continue
        x = (np.arange(60) % 2).astype(dtype).reshape(3, 4, 5)
        for view in (x, x.T, x[::2, ::-1], x[1, 2, 3, ...], np.broadcast_to(x[0], x.shape), x[:0]):
            bits = view.view(np.int16) if dtype == BFLOAT16 else view
            bits = view.copy() if way == "old" and not view.flags.writeable else bits
            changes = {"code": BFLOAT} if dtype == BFLOAT16 else {}
            for op in OPS if view.size else ("sum", "prod"):
                producer = (FORMS | WAYS)[way](bits, **changes)
                got = reduce(op, producer, **where)
                assert agrees(got, truth(op, view)), f"{op} of {dtype}: {got!r}"
                assert way in FORMS or producer.capsule.deletions == (way != "exchange")


def check(way, x, right, **changes):
    """Sum what is lent: a capsule is released once, a tensor of an exchange is only shown."""
    producer = WAYS[way](x, **changes)
    assert gred.sum(producer) == right
    is_exchange = way == "exchange"
    assert producer.capsule.deletions == (not is_exchange and changes.get("with_deleter", True))
    assert not is_exchange or producer.functions == ["show"]


@every_way
def test_the_memory_is_the_producers(way):
    """Nothing is copied on the way: a write between two calls is seen, and nothing is written."""
    x = np.zeros(10)
    producer = WAYS[way](x)
    assert gred.sum(producer) == 0
    x[3] = 7
    assert gred.sum(producer) == 7


@every_way
def test_what_may_be_left_out_or_be_anything_is(way):
    """Strides, a deleter, data and an offset; any strides of extents of 1 and 0; any alignment."""
    check(way, X, X.ravel()[2:22].sum(), strides=None, byte_offset=8, shape=(20,))
    check(way, X, X.sum(), with_deleter=False)
    check(way, X, 0, shape=(0,), strides=None, data=None)
    check(way, X, X.sum(), shape=(1, 24, 1), strides=(2**62, 1, -7))
    check(way, X, 0, shape=(0, 2**40), strides=(2**62, 1))
    shifted = np.zeros(X.nbytes + 1, np.uint8)[1:].view(np.float32)
    shifted[:] = X.ravel()
    check(way, shifted, X.sum())
    check(way, X, X.sum(), version=(1, 99), flags=2**40)


def test_the_newest_form_is_asked_for_first_and_pinned_host_memory_is_host_memory():
    producer = Producer(capsule_of(X, device_type=CUDA_HOST), (CUDA_HOST, 0))
    assert gred.sum(producer) == X.sum()
    assert producer.calls[0]["max_version"][0] == 1
    assert producer.calls[0].get("stream") is None


# ---- outputs ----


@pytest.mark.parametrize("way", ["new capsule", "exchange"])
@pytest.mark.parametrize("flags", [READ_ONLY, COPIED, READ_ONLY | COPIED])
def test_a_tensor_that_must_not_be_written_or_is_a_copy_is_no_out(way, flags):
    memory = np.full(1, 9.0)
    out = WAYS[way](memory, flags=flags)
    numpys = np.full(1, 9.0)
    numpys.setflags(write=False)
    for tensor in (out, Only(numpys)):
        with pytest.raises(ValueError, match="out is read-only"):
            gred.sum(X, out=tensor)
        assert gred.sum(tensor) == memory == numpys == 9
    assert out.capsule.deletions == 1 + (way == "new capsule")


@pytest.mark.parametrize("kind", [CPU, CUDA_HOST])
def test_a_host_tensor_without_a_version_is_no_out(kind):
    """It does not say that it may be written, NumPy takes it for read-only, and JAX's must stay."""
    out = np.full(1, 9.0)
    capsule = capsule_of(out, OLD, device_type=kind)
    assert not np.from_dlpack(OnlyOld(out)).flags.writeable
    with pytest.raises(ValueError, match=r"out is read-only.*version"):
        gred.sum(X, out=Producer(capsule, (kind, 0)))
    assert out == 9
    assert capsule.deletions == 1


def test_an_interface_that_says_read_only_counts_where_dlpack_has_the_pointer():
    """It names no stream, so that DLPack is used."""

    def both(array, **entries):
        offered = {"shape": array.shape, "typestr": array.dtype.str, "version": 3} | entries
        kind = type("Both", (Producer,), {"__cuda_array_interface__": offered})
        return kind(capsule_of(array))

    out = np.full(1, 9.0)
    with pytest.raises(ValueError, match=r"out is read-only.*__cuda_array_interface__"):
        gred.sum(X, out=both(out, data=(out.ctypes.data, True)))
    assert out == 9
    assert gred.sum(both(X, data=(X.ctypes.data, True))) == X.sum()
    for producer in (
        Producer(capsule_of(out)),
        *(both(out, data=data) for data in ((out.ctypes.data, False), None, (1, 2, True), "data")),
    ):
        out[:] = 9
        assert gred.sum(X, out=producer) is producer
        assert out == X.sum()


# ---- masks ----


def test_a_mask_of_another_type_than_bool_is_refused_whatever_offers_it():
    """NumPy takes an object for true of which it knows nothing, and so would count everything."""
    a = np.arange(5)
    for dtype in EVERY_TYPE:
        mask = np.array([1, 0, 1, 0, 0]).astype(dtype)
        forms = [mask, *([] if dtype == BFLOAT16 else [Only(mask), OnlyOld(mask)])]
        forms += [] if dtype in (BFLOAT16, np.float16) else [memoryview(mask)]
        for form in forms:
            if dtype == np.bool_:
                assert gred.sum(a, where=form) == 2
                continue
            with pytest.raises(TypeError, match=rf"where must be .*bool.* {np.dtype(dtype)}$"):
                gred.sum(a, where=form)
    for opaque in (object(), {}, len):
        with pytest.raises(TypeError, match="where"):
            gred.sum(a, where=opaque)
    with pytest.raises(BufferError, match="nothing to see"):
        gred.sum(a, where=answering(BufferError("nothing to see"), "__dlpack__"))
    array = type("Array", (), {"__array__": lambda self, dtype=None, copy=None: a > 2})
    assert gred.sum(a, where=array()) == 7


# ---- what is wrong ----


def refused(producer, words, error=(TypeError, ValueError, BufferError), deletions=None, **options):
    with pytest.raises(error, match=words):
        gred.sum(producer, **options)
    assert deletions is None or producer.capsule.deletions == deletions


OTHER_NAMES = (b"used_dltensor", b"used_dltensor_versioned", b"", b"x", None)
NO_CAPSULES = (None, 3, "dltensor", X, object(), b"", ())
NO_DEVICES = (None, 1, (1,), (), (1, 0, 0), [1, 0], ("1", 0), (1, None), (1.0, 0), (-1, 0), "10")
# Of each what is said, the error, and how often its tensor is released then.
REFUSED = [
    *(
        (Producer(capsule_of(X, name, **changes)), r"a: .*DLPack", error, 1)
        for name in (OLD, NEW)
        for changes, error in WRONG.values()
    ),
    *(
        (Producer(capsule_of(X, version=version)), r"a: .*version", (TypeError, BufferError), 1)
        for version in ((2, 0), (99, 1), (0, 8), (2**32 - 1, 0))
    ),
    *((Producer(capsule_of(X, name)), "a: ", (TypeError, BufferError), 0) for name in OTHER_NAMES),
    *(
        (Producer(answer), r"a: .*__dlpack__", (TypeError, BufferError), None)
        for answer in NO_CAPSULES
    ),
    *(
        (Producer(capsule_of(X), answer), r"a: .*__dlpack_device__", (TypeError, ValueError), None)
        for answer in (*NO_DEVICES, (2**70, 0))
    ),
    # It lies elsewhere than it is said to, or where no array can be read.
    (Producer(capsule_of(X, device_type=CUDA), (CPU, 0)), "a: ", (TypeError, ValueError), 1),
]
for elsewhere in (0, 4, 7, 8, 10, 14, 15, 99, -1, 2**31 - 1):
    named = rf"a: .*device type {elsewhere}" if elsewhere >= 0 else "a: __dlpack_device__"
    lying = capsule_of(X, device_type=elsewhere), (elsewhere, 0)
    REFUSED += [(EXCHANGING(*lying), "device", TypeError, None)]
    REFUSED += [(Producer(*lying), named, TypeError, None)]


@pytest.mark.parametrize(
    ("producer", "words", "error", "deletions"), REFUSED, ids=range(len(REFUSED))
)
def test_a_wrong_tensor_is_refused_and_released(producer, words, error, deletions):
    refused(producer, words, error, deletions)


def test_a_capsule_is_taken_once():
    capsule = capsule_of(X)
    producer = Producer(capsule.make())
    assert gred.sum(producer) == X.sum()
    assert capsule.deletions == 1
    assert capsules.python.PyCapsule_GetName(producer.capsule) == b"used_dltensor_versioned"
    refused(producer, "a: ")
    del producer
    gc.collect()
    assert capsule.deletions == 1


@both_forms
def test_a_capsule_is_released_whatever_fails_later(name):
    for options, error in (
        ({"method": "none"}, ValueError),
        ({"device": "tpu"}, ValueError),
        ({"dtype": "O"}, TypeError),
        ({"where": 5.5 * X}, TypeError),
        ({"initial": "x"}, ValueError),
        ({"out": 3}, TypeError),
        ({"stream": 0}, ValueError),
        ({"method": "unroll8", "block_size": 3, "device": "simulated"}, ValueError),
    ):
        producer = Producer(capsule_of(X, name))
        refused(producer, None, error, **options)
        assert producer.capsule.deletions == len(producer.calls)


@pytest.mark.skipif(not NO_GPU, reason="there is a GPU here")
@pytest.mark.parametrize("gpu", [CUDA, 13])
def test_without_a_gpu_its_memory_is_refused(gpu):
    refused(Producer(capsule_of(X, device_type=gpu), (gpu, 0)), "GPU", RuntimeError)


# ---- producers ----


def answering(error, *methods, **others):
    """Make a producer some of whose methods raise."""

    def raising(self, **options):
        raise error

    return type("Raising", (Producer,), dict.fromkeys(methods, raising) | others)(capsule_of(X))


def test_a_buffer_error_leaves_the_other_ways_open():
    def refuse(self, dtype=None, copy=None):
        raise TypeError("nor this way")

    declined = BufferError("not this way"), "__dlpack__"
    assert gred.sum(answering(*declined, __array__=lambda *_, **__: np.array([1.0, 2.0]))) == 3
    refused(answering(*declined, __array__=refuse), "nor this way", TypeError)


@pytest.mark.parametrize("method", ["__dlpack__", "__dlpack_device__"])
def test_what_a_producer_raises_is_heard_where_there_is_no_other_way(method):
    for function in (gred.sum, gred.max, gred.ExactSum, gred.explain):
        with pytest.raises(BufferError, match="tensor requires grad"):
            function(answering(BufferError("tensor requires grad"), method))
    for error in (ZeroDivisionError, KeyError, MemoryError, KeyboardInterrupt):
        refused(answering(error("no tensor today"), method), "no tensor today", error)


def hide_page(address):
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(address), mmap.PAGESIZE, 0) == 0


def test_a_producer_gets_no_handle_that_it_could_not_read():
    """All of a stream has to be there; none of it is looked for elsewhere."""
    pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    end = ctypes.addressof(ctypes.c_char.from_buffer(pages)) + mmap.PAGESIZE
    hide_page(end)
    for _ in range(2):
        for handle in (12345, 2**63, 2**64 - 1, 2**64 - 8, end, end - 8, end - 56):
            producer = Producer(capsule_of(X, device_type=CUDA), (CUDA, 0))
            refused(producer, "no handle of a stream", ValueError, stream=handle)
            assert not producer.calls
        for handle in (1, 2, end - 64, *range(end - mmap.PAGESIZE, end - 64, 64)):
            producer = Producer(Exception, (CUDA, 0))
            refused(producer, r"^(?!.*no handle)", Exception, stream=handle)
            assert producer.calls[0]["stream"] == handle
    hide_page(end - mmap.PAGESIZE)  # what nobody took for a stream
    producer = Producer(Exception, (CUDA, 0))
    refused(producer, "no handle of a stream", ValueError, stream=handle)
    del pages


def test_arrow_arrays_that_refuse_dlpack_are_read_as_numpys():
    array = pytest.importorskip("pyarrow").array([True, False, True])
    assert gred.sum(array) == 2
