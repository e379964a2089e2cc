"""Arrays of every kind and memory layout are accepted, and the result is a NumPy scalar.

A DLPack capsule is consumed and released exactly once, whatever happens. Host tensors are read and
written in the same way through capsules and through the C exchange API.
"""

import array
import ctypes
import gc
import itertools
import mmap
from functools import partial
from unittest.mock import Mock

import capsules
import exchanges
import numpy as np
import pytest
from capsules import BFLOAT, CPU, CUDA, CUDA_HOST, NEW, OLD, WRONG, Producer, capsule_of
from devices import GPU_IS_HERE
from exchanges import EXCHANGING, ONLY_EXCHANGING
from gpu_libraries import tensor_of
from hostile import offering
from inputs import OPS, reduce, shown
from reference import BFLOAT16, EVERY_TYPE, agrees, truth

import gred

X = np.arange(1, 25, dtype=np.float32).reshape(2, 3, 4)
REFUSALS = (TypeError, ValueError, BufferError)
observed = pytest.fixture(exchanges.observed, autouse=True)


def only(x, lend=lambda x, **options: x.__dlpack__(**options)):
    """Return an object that offers only an array's DLPack methods."""
    lends = {"__dlpack__": lambda _, **options: lend(x, **options)}
    return offering(__dlpack_device__=lambda _: x.__dlpack_device__(), **lends)


only_old = partial(only, lend=lambda x, *, stream=None: x.__dlpack__())  # before DLPack 1.0


WAYS = {
    "old capsule": lambda x, **changes: Producer(capsule_of(x, OLD, **changes)),
    "new capsule": lambda x, **changes: Producer(capsule_of(x, NEW, **changes)),
    "exchange": lambda x, **changes: ONLY_EXCHANGING(capsule_of(x, **changes)),
}


def refused(producer, words, error=REFUSALS, **options):
    with pytest.raises(error, match=words):
        gred.sum(producer, **options)


# Ways to pass an array. Those in NO_BFLOAT16 do not support bfloat16.
IN = {
    "array": lambda x: x,
    "buffer": memoryview,
    "__array__": lambda x: offering(__array__=lambda self, dtype=None, copy=None: x),
    "__array_interface__": lambda x: offering(__array_interface__=x.__array_interface__),
    "DLPack": only,
    "old DLPack": lambda x: only_old(x if x.flags.writeable else x.copy()),
    "PyTorch": lambda x: tensor_of(np.array(x)),
    **WAYS,
}
NO_BFLOAT16 = ("buffer", "__array_interface__", "DLPack", "old DLPack")


@pytest.mark.parametrize("way", IN)
def test_every_type_and_layout_goes_in_every_way(way, device):
    """A capsule is released once; a tensor of the exchange API is only lent."""
    for dtype in EVERY_TYPE:
        if way in NO_BFLOAT16 and dtype == BFLOAT16:
            continue
        x = (np.arange(60) % 2).astype(dtype).reshape(3, 4, 5)
        for view in (x, x.T, x[::2, ::-1], x[1, 2, 3, ...], np.broadcast_to(x[0], x.shape), x[:0]):
            of_bits = way in WAYS and dtype == BFLOAT16
            bits = view.view(np.int16) if of_bits else view
            for op in OPS if view.size else ("sum", "prod"):
                given = IN[way](bits, **({"code": BFLOAT} if of_bits else {}))
                got = reduce(op, given, device=device)
                assert agrees(got, truth(op, view)), f"{op} of {dtype}: {got!r}"
                assert way not in WAYS or given.capsule.deletions == (way != "exchange")


@pytest.mark.parametrize("code", "bBhHiIlqLQfd")
def test_buffers_are_released(code):
    a = array.array(code, [5, 1, 3])
    shaped = memoryview(np.arange(6, dtype=code).tobytes()).cast(code, (2, 3))
    for buffer in (a, memoryview(a)[::2], memoryview(a)[::-1], shaped):
        assert gred.sum(buffer) == np.array(buffer).sum()
    with pytest.raises(TypeError):
        gred.sum(a, method=3)
    del buffer
    gc.collect()
    a.append(4)  # fails while a buffer is exported
    assert gred.sum(a) == 13


SEQUENCES = [[1, 2, 3], (1.5, 2.5), [[1, 2], [3, 4]], range(10), [np.float32(1.5), np.float32(2)]]
SEQUENCES += [[], [2**63, 1], [True, False], [1, 2j], 7, -2.5, True, 1j, np.int32(7), np.int8(-3)]
SEQUENCES += [np.float32(2.5), np.float16(2.5), np.uint64(2**63), np.complex64(1 + 2j)]
SEQUENCES += [np.ones(5, code) for code in "?bBhHiIlLqQpPefdFD"]  # every C type code


@pytest.mark.parametrize("values", SEQUENCES, ids=shown)
def test_sequences_scalars_and_all_of_cs_types_are_numpys(values, device):
    for op in ("sum", "prod"):
        got, expected = reduce(op, values, device=device), getattr(np, op)(values)
        assert (got, got.dtype) == (expected, expected.dtype)


def test_the_way_that_avoids_a_copy_wins():
    asked, x = [], np.arange(10.0)
    several = offering(
        __array_interface__=property(lambda _: asked.append("interface") or x.__array_interface__),
        __array__=lambda *_, **__: asked.append("array") or x.copy(),
        __dlpack__=lambda _, **options: asked.append("dlpack") or x.__dlpack__(**options),
        __dlpack_device__=lambda _: x.__dlpack_device__(),
    )
    assert gred.sum(several) == 45
    assert "array" not in asked


@pytest.mark.parametrize("way", WAYS)
def test_where_there_is_nothing_neither_data_nor_strides_matter(way):
    nowhere = {"shape": (0,), "strides": None, "data": None}
    for changes in (nowhere, {"shape": (0, 2**40), "strides": (2**62, 1)}):
        assert gred.sum(WAYS[way](X, **changes)) == 0


def test_the_newest_form_is_asked_for_first_and_pinned_host_memory_is_host_memory():
    producer = Producer(capsule_of(X, device_type=CUDA_HOST), (CUDA_HOST, 0))
    assert gred.sum(producer) == X.sum()
    asked = producer.calls[0]
    assert (asked["max_version"][0], asked.get("stream")) == (1, None)


# ---- outputs and masks ----


def described(array, pointer=None):
    """Also offer `__cuda_array_interface__`, without a stream, so that DLPack's pointer is used."""
    pointer = (array.ctypes.data, True) if pointer is None else pointer
    entries = {"shape": array.shape, "typestr": array.dtype.str, "version": 3, "data": pointer}
    return type("Both", (Producer,), {"__cuda_array_interface__": entries})(capsule_of(array))


# An old capsule does not say that it is writable, and NumPy treats it as read-only.
NO_OUTS = [(WAYS["old capsule"], ".*version"), (described, ".*__cuda_array_interface__")]
NO_OUTS += [(lambda x: only(np.broadcast_to(x, x.shape)), "")]  # a read-only view
PINNED = {"device_type": CUDA_HOST}
NO_OUTS += [(lambda x: Producer(capsule_of(x, OLD, **PINNED), (CUDA_HOST, 0)), ".*version")]
for flags in (capsules.READ_ONLY, capsules.COPIED):
    NO_OUTS += [(partial(WAYS[way], flags=flags), "") for way in ("new capsule", "exchange")]


@pytest.mark.parametrize(("make", "words"), NO_OUTS)
def test_a_tensor_that_must_not_be_written_is_no_out(make, words):
    memory = np.full(1, 9.0)
    out = make(memory)
    refused(X, "out is read-only" + words, ValueError, out=out)
    assert not hasattr(out, "capsule") or out.capsule.deletions == 1
    assert gred.sum(out) == memory == 9


def test_an_interface_that_says_nothing_of_writing_leaves_it_to_dlpack():
    out = np.zeros(1)
    for pointer in ((out.ctypes.data, False), (), (1, 2, True), "data"):
        out[:] = 0
        producer = described(out, pointer)
        assert gred.sum(X, out=producer) is producer
        assert out == X.sum()


def test_a_mask_of_another_type_than_bool_is_refused_whatever_offers_it():
    """NumPy treats an unknown object as true, so that such a mask would select everything."""
    a, forms = np.arange(5), (np.asarray, only, only_old, WAYS["exchange"])
    for dtype, form in itertools.product(EVERY_TYPE, forms):
        mask = form(np.array([1, 0, 1, 0, 0]).astype(dtype))
        if dtype == np.bool_:
            assert gred.sum(a, where=mask) == 2
        elif dtype != BFLOAT16 or form is np.asarray:
            refused(a, rf"where must be .*bool.* {np.dtype(dtype)}$", TypeError, where=mask)
    refused(a, "nothing here", BufferError, where=answering(BufferError("nothing here"), *LENDING))
    assert gred.sum(a, where=offering(__array__=lambda self, dtype=None, copy=None: a > 2)) == 7


NO_CAPSULES = (None, 3, "dltensor", X, object(), b"", ())
NO_DEVICES = (None, 1, (1,), (), (1, 0, 0), [1, 0], ("1", 0), (1, None), (1.0, 0), (-1, 0), "10")
NO_DEVICES += ((2**70, 0),)
NO_PLACES = (0, 4, 7, 8, 10, 14, 15, 99, -1, 2**31 - 1)


def wrong_tensors():
    """Yield producers, the expected message and error, and the number of releases."""
    for name in (OLD, NEW):
        for changes, error in WRONG.values():
            yield Producer(capsule_of(X, name, **changes)), r"a: .*DLPack", error, 1
    for version in ((2, 0), (0, 8)):
        yield Producer(capsule_of(X, version=version)), r"a: .*version", REFUSALS, 1
    yield Producer(capsule_of(X, b"used_dltensor")), "a: ", REFUSALS, 0
    for answer in NO_CAPSULES:
        yield Producer(answer), r"a: .*__dlpack__", REFUSALS, None
    for answer in NO_DEVICES:
        yield Producer(capsule_of(X), answer), r"a: .*__dlpack_device__", REFUSALS, None
    yield Producer(capsule_of(X, device_type=CUDA), (CPU, 0)), "a: ", REFUSALS, 1
    for place in NO_PLACES:
        lying = capsule_of(X, device_type=place), (place, 0)
        named = rf"a: .*device type {place}" if place >= 0 else "a: __dlpack_device__"
        yield EXCHANGING(*lying), "device", TypeError, None
        yield Producer(*lying), named, TypeError, None
    for gpu in () if GPU_IS_HERE else (CUDA, capsules.CUDA_MANAGED):
        yield Producer(capsule_of(X, device_type=gpu), (gpu, 0)), "GPU", RuntimeError, None


WRONG_TENSORS = list(wrong_tensors())


@pytest.mark.parametrize("k", range(len(WRONG_TENSORS)))
def test_a_wrong_tensor_is_refused_and_released(k):
    producer, words, error, deletions = WRONG_TENSORS[k]
    refused(producer, words, error)
    assert deletions is None or producer.capsule.deletions == deletions


def test_a_capsule_is_taken_once():
    capsule = capsule_of(X)
    producer = Producer(capsule.make())
    assert gred.sum(producer) == X.sum()
    assert capsule.deletions == 1
    assert capsules.valid(id(producer.capsule), b"used_dltensor_versioned")
    refused(producer, "a: ")
    del producer
    gc.collect()
    assert capsule.deletions == 1


@pytest.mark.parametrize("name", [OLD, NEW])
def test_a_capsule_is_released_whatever_fails_later(name):
    wrong = {"method": "none", "dtype": "O", "where": 5.5 * X, "initial": "x", "out": 3}
    for option, value in (wrong | {"stream": 0}).items():
        producer = Producer(capsule_of(X, name))
        refused(producer, None, **{option: value})
        assert producer.capsule.deletions == len(producer.calls)


# ---- producers ----

LENDING = ("__dlpack__", "__dlpack_device__")


def answering(error, *methods, **others):
    """Create a producer whose given methods raise."""
    raising = dict.fromkeys(methods, Mock(side_effect=error))
    return type("Raising", (Producer,), raising | others)(capsule_of(X))


@pytest.mark.parametrize("method", LENDING)
def test_what_a_producer_raises_is_heard_where_there_is_no_other_way(method):
    for function in (gred.sum, gred.max, gred.ExactSum, gred.explain):
        with pytest.raises(BufferError, match="tensor requires grad"):
            function(answering(BufferError("tensor requires grad"), method))
    for error in (ZeroDivisionError, KeyError, MemoryError, KeyboardInterrupt):
        refused(answering(error("no tensor today"), method), "no tensor today", error)
    declined = BufferError("not this way"), "__dlpack__"
    refuse = Mock(side_effect=TypeError("nor this way"))
    assert gred.sum(answering(*declined, __array__=lambda *_, **__: np.array([1.0, 2.0]))) == 3
    refused(answering(*declined, __array__=refuse), "nor this way", TypeError)


def hide_page(address):
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(address), mmap.PAGESIZE, 0) == 0


def test_a_producer_gets_no_handle_that_it_could_not_read():
    """A handle other than 1 and 2 must point to 64 readable bytes."""
    pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    end = ctypes.addressof(ctypes.c_char.from_buffer(pages)) + mmap.PAGESIZE
    hide_page(end)
    for _ in range(2):
        for handle in (12345, 2**63, 2**64 - 1, 2**64 - 8, end, end - 8, end - 56):
            producer = Producer(capsule_of(X, device_type=CUDA), (CUDA, 0))
            refused(producer, "not a valid stream handle", ValueError, stream=handle)
            assert not producer.calls
        for handle in (1, 2, end - 64, *range(end - mmap.PAGESIZE, end - 64, 64)):
            producer = Producer(Exception, (CUDA, 0))
            refused(producer, r"^(?!.*not a valid stream handle)", Exception, stream=handle)
            assert producer.calls[0]["stream"] == handle
    hide_page(end - mmap.PAGESIZE)  # an earlier check is not cached
    refused(Producer(Exception, (CUDA, 0)), "not a valid stream handle", ValueError, stream=handle)
    del pages


def test_arrow_arrays_that_refuse_dlpack_are_read_as_numpys():
    array = pytest.importorskip("pyarrow").array([True, False, True])
    assert gred.sum(array) == 2
