"""Segments that lie along an axis; their arguments, and what is refused."""

import numpy as np
import pytest
from devices import to_host
from segments import NUMPYS, nearly_same, same, whole

import gred
from gred import _core
from gred.testing import SimulatedArray


def bounds(offsets, n):
    """List where segments begin and end, as NumPy's reduceat has them."""
    return [(at, max(end, at + 1)) for at, end in zip(offsets, [*offsets[1:], n], strict=True)]


@pytest.mark.parametrize("op", ["sum", "var", "argmax", "max"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_segments_lie_along_any_axis(op, axis):
    x = whole(7 * 9 * 8, "f8").reshape(7, 9, 8)
    for offsets in ([0, 3, 5], [2, 6], [4, 1, 5], [0], [0, 3, 3, 1]):
        cut = bounds(offsets, x.shape[axis])
        want = [NUMPYS[op](np.take(x, range(begin, end), axis), axis=axis) for begin, end in cut]
        nearly_same(gred.reduceat(op, x, offsets, axis=axis), np.stack(want, axis), 9)


def test_no_offsets_give_no_results_and_copies_are_within_the_limit():
    for shape in ((2, 0), (2, 5)):
        assert gred.reduceat("sum", np.zeros(shape), np.zeros(0, int), axis=1).shape == (2, 0)
    assert gred.reduceat("sum", np.zeros((4, 3)), np.zeros(0, int)).shape == (0, 3)
    x = SimulatedArray(np.ones(1000))[::2]
    with gred.workspace_limit(1000), pytest.raises(MemoryError, match="limited to 1000"):
        gred.reduceat("var", x, [0, 10])
    assert to_host(gred.reduceat("var", x, [0, 10])).tolist() == [0, 0]


def test_arguments_have_their_meaning():
    x = np.array([3.0, 4.0, 1.0, 2.0, 6.0])
    assert gred.reduceat("var", x, [0, 2], ddof=1).tolist() == [0.5, 7.0]
    assert gred.reduceat("norm", x, [0, 2]).tolist() == [5.0, 41**0.5]
    assert gred.reduceat("norm", x, [0, 2], ord=1).tolist() == [7.0, 9.0]
    assert gred.reduceat("norm", x, [0, 2], ord=np.inf).tolist() == [4.0, 6.0]
    for op in ("sum", "add", np.add):
        assert gred.reduceat(op, x, [0, 2]).tolist() == [7.0, 9.0]


def test_results_stay_where_values_lie_also_if_there_are_none():
    x, offsets = np.arange(10.0), np.array([0, 4])
    there = SimulatedArray(offsets)
    of_device = (SimulatedArray(x), gred.DeviceArray)
    for (a, kind), o in ((of_device, offsets), (of_device, there), ((x, np.ndarray), there)):
        got = gred.reduceat("sum", a, o)
        assert type(got) is kind
        np.testing.assert_array_equal(to_host(got), [6, 39])
    got = gred.reduceat("sum", x, SimulatedArray(np.array([False, True])))
    np.testing.assert_array_equal(to_host(got), [0, 45])
    for values in (np.ones(3), np.ones(0), SimulatedArray(np.zeros(0))):
        assert gred.reduceat("sum", values, SimulatedArray(np.zeros(0, np.int64))).shape == (0,)


# ---- what is refused ----

WRONG = [
    (("median", [1], [0]), {}, ValueError, "op must be"),
    ((3, [1], [0]), {}, TypeError, "op must be"),
    (("sum", [1, 2], [2]), {}, IndexError, "out-of-bounds"),
    (("sum", [1, 2], [0, -1]), {}, IndexError, "out-of-bounds"),
    (("sum", [1, 2], [3]), {"empty": "identity"}, IndexError, "out-of-bounds"),
    (("sum", [], [0]), {}, IndexError, "out-of-bounds"),
    (("sum", [1, 2], [0.5]), {}, TypeError, "Cannot cast"),
    (("sum", [1, 2], [[0]]), {}, ValueError, "one dimension"),
    (("sum", [1, 2], 0), {}, ValueError, "one dimension"),
    (("sum", [[1, 2]], [0]), {"out": np.zeros(2)}, TypeError, "no out"),
    (("sum", 1, [0]), {}, ValueError, "one dimension"),
    (("sum", [1, 2], [0]), {"empty": "zero"}, ValueError, "empty must be"),
    (("sum", [1, 2], [0]), {"dtype": "S3"}, TypeError, "dtype"),
    (("minmax", [1.0], [0]), {}, ValueError, "op must be one of"),
    (("sum", [1.0], [0]), {"method": "unroll8"}, ValueError, "'auto' or 'exact'"),
    (("sum", np.ones((3, 4)), [3]), {"axis": 0}, IndexError, "out-of-bounds"),
    (("sum", np.ones((3, 4)), [0]), {"axis": 2}, IndexError, "axis 2 is out of bounds"),
    (("norm", [1.0], [0]), {"ord": 3}, ValueError, "ord must be"),
    (("prod", [1.0], [0]), {"method": "exact"}, ValueError, "exact"),
    (("sum", [1, 2], np.array([2**64 - 1], np.uint64)), {}, IndexError, "out-of-bounds"),
]
HERE, THERE = np.array([1, 2]), SimulatedArray(np.array([1, 2]))
WRONG_ON_A_DEVICE = [
    ((THERE, [2]), {}, IndexError, "out-of-bounds"),
    ((HERE, [2]), {"device": "simulated"}, IndexError, "out-of-bounds"),
    ((HERE, SimulatedArray(np.array([0, 2]))), {}, IndexError, "out-of-bounds"),
    ((HERE, SimulatedArray(np.array([-1]))), {"empty": "identity"}, IndexError, "out-of-bounds"),
    ((THERE, SimulatedArray(np.array([0.0]))), {}, TypeError, "offsets must be integers"),
    ((THERE, SimulatedArray(np.array([0], "u8"))), {}, TypeError, "offsets must be integers"),
    ((THERE, SimulatedArray(np.array([[0]]))), {}, ValueError, "one dimension"),
    ((SimulatedArray(np.ones((2, 2))), [0]), {}, ValueError, "one dimension"),
    ((THERE, [0]), {"device": "host"}, ValueError, "lies on"),
    ((HERE, SimulatedArray(np.array([0]))), {"device": "host"}, ValueError, "lies on"),
    ((THERE, [0, 0.5]), {}, TypeError, "Cannot cast"),
    ((THERE, THERE.described(shape=(2**60,), strides=(0,))), {}, ValueError, "offsets: .*'shape'"),
    ((THERE, THERE.described(data=(12345, False))), {}, ValueError, "offsets: .*'data'"),
    ((np.ones(0), THERE), {"empty": "identity"}, IndexError, "out-of-bounds"),
]
WRONG += [(("sum", *arguments), *more) for arguments, *more in WRONG_ON_A_DEVICE]


@pytest.mark.parametrize(("arguments", "options", "error", "words"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_named(arguments, options, error, words):
    with pytest.raises(error, match=words):
        gred.reduceat(*arguments, **options)
    same(gred.reduceat("sum", [1, 2, 3], [0, 2]), np.array([3, 3]))
    same(to_host(gred.reduceat("sum", THERE, [0, 1])), np.array([1, 2]))


def test_the_core_counts_its_arguments():
    for count in (0, 10, 12):
        with pytest.raises(TypeError, match="11 positional arguments"):
            _core.reduceat(*[None] * count)
