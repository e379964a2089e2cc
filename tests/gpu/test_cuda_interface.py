"""Objects that offer `__cuda_array_interface__` and get it wrong: a clear error, and no harm.

No GPU is needed to see that a description is malformed. A well-formed one needs a GPU, and says so.
"""

import numpy as np
import pytest
from devices import GPU_IS_HERE
from hostile import Refuses
from inputs import shown
from level import fails, stays_level

import gred

HOST_MEMORY = np.arange(3, dtype=np.float32)
GOOD = {
    "shape": (3,),
    "typestr": "<f4",
    "data": (HOST_MEMORY.ctypes.data, False),
    "version": 3,
}
MISSING = object()


class Offer:
    """An object with an interface, and a usable array behind it that must not be fallen back to."""

    def __init__(self, interface):
        self.__cuda_array_interface__ = interface

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("a GPU array is not to be copied to the host")


def changed(**changes):
    interface = {**GOOD, **changes}
    return Offer({key: value for key, value in interface.items() if value is not MISSING})


@pytest.fixture(autouse=True)
def the_next_call_is_right():
    yield
    assert gred.sum([1, 2, 3]) == 6
    assert gred.sum([1, 2, 3], method="shuffle", device="simulated") == 6


def refused(offer, error, *words, **options):
    for op in (gred.sum, gred.max, gred.mean, gred.kernel_time):
        with pytest.raises(error) as caught:
            op(offer, **options)
        assert caught.type is error
        for word in ("a:", "__cuda_array_interface__", *words):
            assert word in str(caught.value), f"{word!r} is not in {caught.value}"


def test_an_interface_that_is_no_dict_or_lacks_an_entry_is_refused():
    for interface in (None, 3, "shape", [("shape", (3,))], (), object()):
        refused(Offer(interface), TypeError, "dict", type(interface).__name__)
    for key in ("shape", "typestr", "data", "version"):
        refused(changed(**{key: MISSING}), ValueError, key)
    refused(Offer({}), ValueError, "shape", "typestr", "data", "version")


MALFORMED = [
    ("shape", (-1,), ValueError, "negative"),
    ("shape", (3, -(2**63)), ValueError, "negative"),
    ("shape", (0, -1), ValueError, "negative"),
    ("shape", (2**63,), ValueError, "shape"),
    ("shape", (2**40, 2**40), ValueError, "shape"),
    ("shape", (2**62, 4), ValueError, "shape"),
    ("shape", (1,) * 1000, ValueError, "1000"),
    ("shape", 3, TypeError, "int"),
    ("shape", None, TypeError, "NoneType"),
    ("shape", [3], TypeError, "list"),
    ("shape", "3", TypeError, "str"),
    ("shape", (2.5,), TypeError, "float"),
    ("shape", ("3",), TypeError, "str"),
    ("shape", (None,), TypeError, "NoneType"),
    ("typestr", 4, TypeError, "int"),
    ("typestr", None, TypeError, "NoneType"),
    ("typestr", b"<f4", TypeError, "bytes"),
    ("typestr", "f" * 1000, TypeError, "typestr"),
    ("typestr", "\ud800", TypeError, "typestr"),
    ("typestr", "<f4\0", TypeError, "typestr"),
    ("data", 1024, TypeError, "int"),
    ("data", None, TypeError, "NoneType"),
    ("data", (), TypeError, "tuple"),
    ("data", (1024,), TypeError, "tuple"),
    ("data", (1024, False, 3), TypeError, "tuple"),
    ("data", [1024, False], TypeError, "list"),
    ("data", ("1024", False), TypeError, "str"),
    ("data", (10.5, False), TypeError, "float"),
    ("data", (None, False), TypeError, "NoneType"),
    ("data", (0, False), ValueError, "null"),
    ("data", (-1, False), ValueError, "-1"),
    ("data", (2**64, False), ValueError, str(2**64)),
    ("version", "3", TypeError, "str"),
    ("version", None, TypeError, "NoneType"),
    ("version", 2.0, TypeError, "float"),
    ("version", 1, ValueError, "1"),
    ("version", 0, ValueError, "0"),
    ("version", -(10**30), ValueError, "version"),
    ("strides", 4, TypeError, "int"),
    ("strides", [4], TypeError, "list"),
    ("strides", ("4",), TypeError, "str"),
    ("strides", (4, 4), ValueError, "strides"),
    ("strides", (), ValueError, "strides"),
    ("strides", (2**63,), ValueError, "strides"),
    ("stream", 0, ValueError, "0"),
    ("stream", -1, ValueError, "-1"),
    ("stream", 2**64, ValueError, str(2**64)),
    ("stream", "1", TypeError, "str"),
    ("stream", 1.0, TypeError, "float"),
    ("stream", True, TypeError, "bool"),
]


@pytest.mark.parametrize(("key", "value", "error", "word"), MALFORMED, ids=shown)
def test_a_malformed_entry_is_refused(key, value, error, word):
    refused(changed(**{key: value}), error, f"'{key}'", word)


def test_masks_and_what_is_not_aligned_to_its_elements_are_refused():
    for mask in (Offer(GOOD), True, np.ones(3, bool)):
        refused(changed(mask=mask), ValueError, "mask")
    refused(changed(data=(4098, False)), ValueError, "'data'", "aligned")


UNSUPPORTED = ["", "x", "|O8", "|V4", "<V2", "<M8[s]", "<f16", "<c32", "<f1", "<i3", "|S3", "<U3"]
SWAPPED = [">f4", ">i8", ">c16", ">f2"]


@pytest.mark.parametrize(
    ("typestr", "words"),
    [(one, r"a: .*bool, int8.*bfloat16.*complex128") for one in UNSUPPORTED]
    + [(one, r"a: .*byte order") for one in SWAPPED],
)
def test_an_element_type_that_no_gpu_array_may_have_is_refused(typestr, words):
    with pytest.raises(TypeError, match=words):
        gred.sum(changed(typestr=typestr))


def test_an_index_that_raises_is_heard():
    class Raising:
        @property
        def __cuda_array_interface__(self):
            raise ZeroDivisionError("no longer")

    with pytest.raises(ZeroDivisionError, match="no longer"):
        gred.sum(Raising())
    with pytest.raises(ZeroDivisionError):
        gred.sum(changed(shape=(Refuses(),)))


WELL_FORMED = [
    changed(),
    changed(version=2),
    changed(version=99),
    changed(strides=None),
    changed(strides=(4,)),
    changed(shape=(2,), strides=(8,)),
    changed(strides=(0,)),
    changed(shape=(2, 1), strides=(4, 12)),
    changed(typestr="|b1"),
    changed(typestr="<c8", shape=(1,)),
    changed(shape=(1, 3, 1), strides=(99, 4, -7)),
    changed(stream=None),
    changed(stream=1),
    changed(stream=2),
    changed(mask=None),
    changed(typestr="=f4"),
    changed(typestr="<u8"),
    changed(descr=[("", "<f4")], unknown="ignored"),
    changed(shape=()),
]


@pytest.mark.skipif(GPU_IS_HERE, reason="there is a GPU here")
@pytest.mark.parametrize("offer", WELL_FORMED)
def test_without_a_gpu_a_gpu_array_is_refused(offer):
    """Its memory is not the simulated device's either."""
    with pytest.raises((RuntimeError, ValueError), match=r"a: .*GPU|GPU"):
        gred.sum(offer)


@pytest.mark.gpu
@pytest.mark.parametrize("offer", WELL_FORMED)
def test_a_pointer_to_host_memory_is_refused(offer):
    with pytest.raises(ValueError, match="not a pointer to memory that a GPU can read"):
        gred.sum(offer)


def test_errors_leave_references_and_memory_flat():
    offers = [changed(**{key: value}) for key, value, *_ in MALFORMED]
    offers += [changed(strides=(6,)), changed(typestr="<f16"), changed(mask=True), changed()]

    def refuse_all():
        for offer in offers:
            fails(gred.sum, offer)

    watched = [*offers, *(offer.__cuda_array_interface__ for offer in offers), GOOD["data"]]
    stays_level(refuse_all, watched, slack=0)
