"""Objects that offer `__cuda_array_interface__` and get it wrong: a clear error, and no harm.

No GPU is needed to see that a description is malformed. A well-formed one needs a GPU, and says so.
"""

import numpy as np
import pytest
from devices import GPU_IS_HERE
from hostile import Offer, Refuses
from inputs import shown
from test_simulated_arrays import WELL_FORMED

import gred

pytestmark = pytest.mark.usefixtures("the_next_call_is_right")
HOST_MEMORY = np.arange(3, dtype=np.float32)
ADDRESS = HOST_MEMORY.ctypes.data
GOOD = {"shape": (3,), "typestr": "<f4", "data": (ADDRESS, False), "version": 3}


def changed(**changes):
    return Offer({key: value for key, value in (GOOD | changes).items() if value is not ...})


NO_SHAPES = [(-1,), (3, -(2**63)), (0, -1), (2**63,), (2**40, 2**40), (2**62, 4), (1,) * 1000]
NO_TYPES = [4, None, b"<f4", "f" * 1000, "\ud800", "<f4\0", "", "x", "|O8", "|V4", "<V2", "<M8[s]"]
NO_TYPES += ["<f16", "<c32", "<f1", "<i3", "|S3", "<U3", ">f4", ">i8", ">c16", ">f2"]
NO_PAIRS = [1024, None, (), (1024,), (1024, False, 3), [1024, False], ("1024", False)]
NO_PAIRS += [(10.5, False), (None, False)]
MALFORMED = [
    (key, value, error)
    for key, error, values in (
        ("shape", ValueError, NO_SHAPES),
        ("shape", TypeError, [3, None, [3], "3", (2.5,), ("3",), (None,)]),
        ("typestr", TypeError, NO_TYPES),
        ("data", ValueError, [(0, False), (-1, False), (2**64, False), (4098, False)]),
        ("data", TypeError, NO_PAIRS),
        ("version", ValueError, [1, 0, -(10**30)]),
        ("version", TypeError, ["3", None, 2.0]),
        ("strides", ValueError, [(4, 4), (), (2**63,)]),
        ("strides", TypeError, [4, [4], ("4",)]),
        ("stream", ValueError, [0, -1, 2**64]),
        ("stream", TypeError, ["1", 1.0, True]),
        ("mask", ValueError, [Offer(GOOD), True, np.ones(3, bool)]),
        ("descr", TypeError, [[("x", "<f4"), ("y", "<f4")], [("", "<i4")], "f4"]),
    )
    for value in values
]


@pytest.mark.parametrize(("key", "value", "error"), MALFORMED, ids=shown)
def test_a_malformed_entry_is_refused_by_its_name(key, value, error):
    for op in (gred.sum, gred.max, gred.mean, gred.kernel_time):
        with pytest.raises(error, match="a: ") as caught:
            op(changed(**{key: value}))
        assert caught.type is error
        about_its_type = key == "typestr" and "element" in str(caught.value)
        assert key in str(caught.value) or about_its_type


def test_an_interface_that_is_no_dict_lacks_entries_or_raises_is_refused():
    for interface in (None, 3, "shape", [("shape", (3,))], (), object()):
        with pytest.raises(TypeError, match=f"a: .*dict.*{type(interface).__name__}"):
            gred.sum(Offer(interface))
    for missing in (*([key] for key in GOOD), list(GOOD)):
        with pytest.raises(ValueError, match=".*".join(missing)):
            gred.sum(changed(**dict.fromkeys(missing, ...)))
    raising = type("Raising", (), {"__cuda_array_interface__": property(Refuses.__index__)})
    for offer in (raising(), changed(shape=(Refuses(),))):
        with pytest.raises(ZeroDivisionError):
            gred.sum(offer)


# Of the host's memory, and on streams that there are.
IN_NO_MEMORY = [one for one, _ in WELL_FORMED.values() if not {"data", "stream"} & {*one}]
REFUSAL = "not a pointer to memory that a GPU can read" if GPU_IS_HERE else "GPU"


@pytest.mark.parametrize("changes", IN_NO_MEMORY)
def test_what_is_well_formed_and_in_no_gpus_memory_is_refused(changes):
    """Nor is the memory the simulated device's, where there is no GPU."""
    with pytest.raises((RuntimeError, ValueError), match=REFUSAL):
        gred.sum(changed(**changes))
