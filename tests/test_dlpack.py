"""DLPack tensors go in; a capsule is taken once, and released once, whatever happens."""

import ctypes
import gc
import mmap
import sys

import capsules
import numpy as np
import pytest
from capsules import CPU, CUDA, CUDA_HOST, NEW, OLD, WRONG, Producer, capsule_of
from inputs import OPS, reduce, shown
from level import stays_level
from reference import BFLOAT16, EVERY_TYPE, agrees, truth

import gred

NO_GPU = not any(device.name.startswith("cuda") for device in gred.devices())
PLACES = [{"device": "host"}, {"method": "last_block", "device": "simulated"}]
everywhere = pytest.mark.parametrize("where", PLACES, ids=["host", "simulated"])
both_forms = pytest.mark.parametrize("name", [OLD, NEW], ids=["old", "new"])
X = np.arange(1, 25, dtype=np.float32).reshape(2, 3, 4)


@pytest.fixture(autouse=True)
def the_next_call_is_right():
    yield
    assert gred.sum([1, 2, 3]) == 6


# ---- NumPy's own capsules ----


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
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())


@everywhere
@every_form
def test_numpys_own_capsules_go_in(form, where):
    for dtype in EVERY_TYPE:
        if dtype == BFLOAT16:
            continue
        x = (np.arange(60) % 2).astype(dtype).reshape(3, 4, 5)
        for view in (x, x.T, x[::2, ::-1], x[1, 2, 3, ...], np.broadcast_to(x[0], x.shape), x[:0]):
            view = view.copy() if form is OnlyOld and not view.flags.writeable else view
            for op in OPS if view.size else ("sum", "prod"):
                got = reduce(op, form(view), **where)
                assert agrees(got, truth(op, view)), f"{op} of {dtype}: {got!r}"


@every_form
def test_numpys_capsules_are_given_back(form):
    x = np.arange(1000.0)
    producer = form(x)
    before = sys.getrefcount(x)
    for _ in range(50):
        assert gred.sum(producer) == x.sum()
        with pytest.raises(TypeError):
            gred.sum(producer, where=x)
        with pytest.raises(ValueError, match="method"):
            gred.sum(producer, method="none")
    assert sys.getrefcount(x) == before


def test_a_read_only_tensor_goes_in_and_is_no_out():
    x = np.arange(3.0)
    x.setflags(write=False)
    assert gred.sum(Only(x)) == 3
    out = np.zeros(1)
    out.setflags(write=False)
    with pytest.raises((ValueError, TypeError)):
        gred.sum(x, out=Only(out))


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


def test_a_tensor_that_says_that_it_may_be_written_is_an_out():
    out = np.zeros(1)
    producer = Producer(capsule_of(out))
    assert gred.sum(X, out=producer) is producer
    assert out == X.sum()


class Both(Producer):
    """A tensor, and an interface beside it that names no stream, so that DLPack is used."""

    def __init__(self, array, **entries):
        super().__init__(capsule_of(array))
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "version": 3,
        } | entries


def test_an_interface_that_says_read_only_counts_where_dlpack_has_the_pointer():
    out = np.full(1, 9.0)
    with pytest.raises(ValueError, match=r"out is read-only.*__cuda_array_interface__"):
        gred.sum(X, out=Both(out, data=(out.ctypes.data, True)))
    assert out == 9
    assert gred.sum(Both(X, data=(X.ctypes.data, True))) == X.sum()
    for data in ((out.ctypes.data, False), None, (1, 2, True), "data"):
        out[:] = 9
        gred.sum(X, out=Both(out, data=data))
        assert out == X.sum()


# ---- masks ----


def test_a_mask_of_another_type_than_bool_is_refused_whatever_offers_it():
    """NumPy takes an object for true of which it knows nothing, and so would count everything."""

    class Nothing(Only):
        def __dlpack__(self, **options):
            raise BufferError("nothing to see")

    a = np.arange(5)
    for dtype in EVERY_TYPE:
        mask = np.array([1, 0, 1, 0, 0]).astype(dtype)
        if dtype == np.bool_:
            assert gred.sum(a, where=Only(mask)) == gred.sum(a, where=memoryview(mask)) == 2
            continue
        forms = [mask, *([] if dtype == BFLOAT16 else [Only(mask), OnlyOld(mask)])]
        forms += [] if dtype in (BFLOAT16, np.float16) else [memoryview(mask)]
        for form in forms:
            with pytest.raises(TypeError, match=rf"where must be .*bool.* {np.dtype(dtype)}$"):
                gred.sum(a, where=form)

    class Array:
        def __array__(self):
            return a > 2

    assert gred.sum(a, where=Array()) == 7
    for opaque in (object(), {}, len):
        with pytest.raises(TypeError, match="where"):
            gred.sum(a, where=opaque)
    with pytest.raises(BufferError, match="nothing to see"):
        gred.sum(a, where=Nothing(a > 2))


# ---- capsules of our own ----


def test_pinned_host_memory_is_host_memory():
    capsule = capsule_of(X, device_type=CUDA_HOST)
    assert gred.sum(Producer(capsule, (CUDA_HOST, 0))) == X.sum()


def test_misaligned_host_memory_is_right():
    memory = np.zeros(X.nbytes + 1, np.uint8)
    shifted = memory[1:].view(np.float32)
    shifted[:] = X.ravel()
    assert gred.sum(Producer(capsule_of(shifted))) == X.sum()


def test_the_newest_form_is_asked_for_first():
    producer = Producer(capsule_of(X))
    assert gred.sum(producer) == X.sum()
    assert producer.calls[0]["max_version"][0] == 1
    assert "stream" not in producer.calls[0] or producer.calls[0]["stream"] is None


@both_forms
@pytest.mark.parametrize(("changes", "error"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_tensor_is_refused_and_released(changes, error, name):
    capsule = capsule_of(X, name, **changes)
    with pytest.raises(error, match=r"a: .*DLPack"):
        gred.sum(Producer(capsule))
    assert capsule.deletions == 1


def test_a_later_version_is_refused_and_released():
    for version in ((2, 0), (99, 1), (0, 8), (2**32 - 1, 0)):
        capsule = capsule_of(X, version=version)
        with pytest.raises((TypeError, BufferError), match=r"a: .*version"):
            gred.sum(Producer(capsule))
        assert capsule.deletions == 1
    later = capsule_of(X, version=(1, 99), flags=2**40)
    assert gred.sum(Producer(later)) == X.sum()


@pytest.mark.parametrize(
    "name", [b"used_dltensor", b"used_dltensor_versioned", b"", b"x", None], ids=shown
)
def test_what_is_no_fresh_capsule_is_refused_and_left_alone(name):
    capsule = capsule_of(X, name)
    with pytest.raises((TypeError, BufferError), match=r"a: "):
        gred.sum(Producer(capsule))
    assert capsule.deletions == 0


def test_a_capsule_is_taken_once():
    capsule = capsule_of(X)
    producer = Producer(capsule.make())
    assert gred.sum(producer) == X.sum()
    assert capsule.deletions == 1
    assert capsules.python.PyCapsule_GetName(producer.capsule) == b"used_dltensor_versioned"
    with pytest.raises((TypeError, BufferError)):
        gred.sum(producer)
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
        capsule = capsule_of(X, name)
        producer = Producer(capsule)
        with pytest.raises(error):
            gred.sum(producer, **options)
        assert capsule.deletions == len(producer.calls)


# ---- devices ----


@pytest.mark.skipif(not NO_GPU, reason="there is a GPU here")
@pytest.mark.parametrize("gpu", [CUDA, 13])
def test_without_a_gpu_its_memory_is_refused(gpu):
    capsule = capsule_of(X, device_type=gpu)
    with pytest.raises(RuntimeError, match="GPU"):
        gred.sum(Producer(capsule, (gpu, 0)))


@pytest.mark.parametrize(
    "answer",
    [
        None,
        1,
        (1,),
        (),
        (1, 0, 0),
        [1, 0],
        ("1", 0),
        (1, None),
        (1.0, 0),
        (-1, 0),
        (2**70, 0),
        "10",
    ],
    ids=shown,
)
def test_what_is_no_device_is_refused(answer):
    with pytest.raises((TypeError, ValueError), match=r"a: .*__dlpack_device__"):
        gred.sum(Producer(capsule_of(X), answer))


def test_a_tensor_elsewhere_than_it_was_said_is_refused():
    capsule = capsule_of(X, device_type=CUDA)
    with pytest.raises((TypeError, ValueError), match="a: "):
        gred.sum(Producer(capsule, (CPU, 0)))
    assert capsule.deletions == 1


# ---- producers ----


def test_a_buffer_error_leaves_the_other_ways_open():
    class Declining:
        def __dlpack_device__(self):
            return (CPU, 0)

        def __dlpack__(self, **options):
            raise BufferError("not this way")

        def __array__(self, dtype=None, copy=None):
            return np.array([1.0, 2.0])

    assert gred.sum(Declining()) == 3


@pytest.mark.parametrize("method", ["__dlpack__", "__dlpack_device__"])
def test_a_buffer_error_is_heard_where_there_is_no_other_way(method):
    def declining(self, **options):
        raise BufferError("tensor requires grad")

    producer = type("Declining", (Producer,), {method: declining})(capsule_of(X))
    for function in (gred.sum, gred.max, gred.ExactSum, gred.explain):
        with pytest.raises(BufferError, match="tensor requires grad"):
            function(producer)


def test_what_numpy_says_of_an_object_that_declined_is_heard():
    class Closed(Producer):
        def __dlpack__(self, **options):
            raise BufferError("not this way")

        def __array__(self, dtype=None, copy=None):
            raise TypeError("nor this way")

    with pytest.raises(TypeError, match="nor this way"):
        gred.sum(Closed(None))


@pytest.mark.parametrize("method", ["__dlpack__", "__dlpack_device__"])
@pytest.mark.parametrize("error", [ZeroDivisionError, KeyError, MemoryError, KeyboardInterrupt])
def test_a_producer_that_raises_is_heard(method, error):
    def raising(self, **options):
        raise error("no tensor today")

    producer = type("Raising", (Producer,), {method: raising})(capsule_of(X))
    with pytest.raises(error, match="no tensor today"):
        gred.sum(producer)


@pytest.mark.parametrize("answer", [None, 3, "dltensor", X, object(), b"", ()], ids=shown)
def test_what_is_no_capsule_is_refused(answer):
    with pytest.raises((TypeError, BufferError), match=r"a: .*__dlpack__"):
        gred.sum(Producer(answer))


def test_capsules_keep_memory_and_references_flat():
    good, bad = Producer(capsule_of(X)), Producer(capsule_of(X, lanes=2))

    def use():
        assert gred.sum(good) == X.sum()
        with pytest.raises(TypeError):
            gred.sum(bad)
        good.calls.clear()
        bad.calls.clear()

    stays_level(use, [good], rounds=300, slack=0)
    assert good.capsule.deletions == bad.capsule.deletions == 301


def page_before_none():
    """Map two pages, of which the second cannot be read."""
    pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    end = ctypes.addressof(ctypes.c_char.from_buffer(pages)) + mmap.PAGESIZE
    hide_page(end)
    return pages, end


def hide_page(address):
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(address), mmap.PAGESIZE, 0) == 0


def test_a_producer_gets_no_handle_that_it_could_not_read():
    """All of a stream has to be there; none of it is looked for elsewhere."""
    pages, end = page_before_none()
    for _ in range(2):
        for handle in (12345, 2**63, 2**64 - 1, 2**64 - 8, end, end - 8, end - 56):
            producer = Producer(capsule_of(X, device_type=CUDA), (CUDA, 0))
            with pytest.raises(ValueError, match="no handle of a stream"):
                gred.sum(producer, stream=handle)
            assert not producer.calls
        for handle in (1, 2, end - 64, *range(end - mmap.PAGESIZE, end - 64, 64)):
            producer = Producer(Exception, (CUDA, 0))
            with pytest.raises(Exception, match=r"^(?!.*no handle)"):
                gred.sum(producer, stream=handle)
            assert producer.calls[0]["stream"] == handle
    hide_page(end - mmap.PAGESIZE)
    with pytest.raises(ValueError, match="no handle of a stream"):  # what nobody took for a stream
        gred.sum(Producer(Exception, (CUDA, 0)), stream=handle)
    del pages


@pytest.mark.parametrize("values", [[1.0, None, 2.5], [True, False, True]], ids=str)
def test_arrow_arrays_that_refuse_dlpack_are_read_as_numpys(values):
    array = pytest.importorskip("pyarrow").array(values)
    assert np.array_equal(gred.sum(array), np.sum(np.asarray(array)), equal_nan=True)
