"""What segments' offsets may be, where results go, what is refused, and how work is shared."""

import itertools

import numpy as np
import pytest
from devices import everywhere, laid_out, on, to_host
from forcing import CONFIGURATIONS, forced
from segments import same, small

import gred
from gred import _core
from gred.testing import SimulatedArray


@pytest.fixture(params=CONFIGURATIONS["segments"])
def sharing(request):
    with forced("segments", request.param):
        yield request.param


@everywhere
@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "?"])
@pytest.mark.parametrize("step", [1, 2, -1])
def test_offsets_of_the_device_are_of_any_type_and_stride(place, sharing, dtype, step):
    offsets = np.array([0, 1, 1, 0, 1, 1] if dtype == "?" else [0, 90, 3, 90, 14, 100])
    view = offsets.astype(dtype)[::step]
    x = small(120, np.float32)
    got = gred.reduceat("sum", laid_out(x, place), laid_out(view, place))
    same(to_host(got), np.add.reduceat(x, view.astype(int)))


@everywhere
def test_offsets_and_values_are_never_written(place, sharing):
    x, offsets = small(500, np.int64), np.array([0, 30, 30, 4, 499])
    values, there = laid_out(x, place), laid_out(offsets, place)
    gred.reduceat("sum", values, there)
    same(gred.reduceat("sum", values, [0], out=np.zeros(1, int)), np.array([x.sum()]))
    ones = laid_out(np.arange(500), place)
    same(to_host(gred.reduceat("sum", ones, there)), np.add.reduceat(np.arange(500), offsets))


# ---- where results go ----


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", ">i2"])
@pytest.mark.parametrize("step", [1, 2, -1])
def test_out_has_any_strides_and_type(device, sharing, dtype, step):
    if device == "host" and sharing != "measured":
        pytest.skip("the host shares work in one way")
    x, offsets = np.arange(10.0), [0, 4, 8]
    memory = np.full(6, 7, dtype)
    out = memory[::step][:3]
    for values in (x, laid_out(x, device)):
        memory[...] = 7
        assert gred.reduceat("sum", values, offsets, out=out, **on(device)) is out
        np.testing.assert_array_equal(out, [6, 22, 17])
        assert (memory == 7).sum() == 3
    if device == "simulated" and dtype != ">i2":
        there = SimulatedArray(np.full(6, 7, dtype))
        view = there[::step][:3] if step > 0 else there[::-1][:3]
        assert gred.reduceat("sum", x, offsets, out=view) is view
        np.testing.assert_array_equal(view.get(), [6, 22, 17])


def test_out_may_overlap_with_what_is_read(sharing):
    put = (lambda x: x, SimulatedArray)
    for offsets, make in itertools.product(([0, 4, 8], [8, 4, 0]), put):
        expected = np.add.reduceat(np.arange(10), offsets)
        x = make(np.arange(10))
        gred.reduceat("sum", x, offsets, out=x[3:6])
        same(to_host(x[3:6]), expected)
        there = make(np.array(offsets))
        gred.reduceat("sum", make(np.arange(10)), there, out=there)
        same(to_host(there), expected)
    x, offsets = np.arange(900) ** 2, np.arange(0, 900, 2)
    for seed in range(3):
        there = SimulatedArray(offsets)
        with gred.thread_order("shuffled", seed):
            gred.reduceat("sum", SimulatedArray(x), there, out=there)
        same(there.get(), np.add.reduceat(x, offsets))


def test_results_stay_where_values_lie_also_if_there_are_none():
    x, offsets = np.arange(10.0), np.array([0, 4])
    there = SimulatedArray(offsets)
    of_device = (SimulatedArray(x), gred.DeviceArray)
    for (a, kind), o in ((of_device, offsets), (of_device, there), ((x, np.ndarray), there)):
        got = gred.reduceat("sum", a, o)
        assert type(got) is kind
        np.testing.assert_array_equal(to_host(got), [6, 39])
    for values in (np.ones(3), np.ones(0), SimulatedArray(np.zeros(0))):
        assert gred.reduceat("sum", values, SimulatedArray(np.zeros(0, np.int64))).shape == (0,)


# ---- what is refused ----

WRONG = [
    (("median", [1], [0]), {}, ValueError, "op must be"),
    ((np.subtract, [1], [0]), {}, ValueError, "op must be"),
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
    (("sum", ["a"], [0]), {}, TypeError, "not supported"),
    (("sum", [1, 2], [0]), {"empty": "zero"}, ValueError, "empty must be"),
    (("sum", [1, 2], [0]), {"out": np.zeros(2)}, ValueError, "shape"),
    (("sum", [1, 2], [0]), {"out": [0]}, TypeError, "out must be"),
    (("sum", [1, 2], [0]), {"device": "moon"}, ValueError, "device"),
    (("sum", [1, 2], [0]), {"dtype": "S3"}, TypeError, "dtype"),
]
HERE, THERE = np.array([1, 2]), SimulatedArray(np.array([1, 2]))
WRONG_ON_A_DEVICE = [
    ((THERE, [2]), {}, IndexError, "out-of-bounds"),
    ((THERE, [0, -1]), {}, IndexError, "out-of-bounds"),
    ((HERE, [2]), {"device": "simulated"}, IndexError, "out-of-bounds"),
    ((HERE, SimulatedArray(np.array([0, 2]))), {}, IndexError, "out-of-bounds"),
    ((HERE, SimulatedArray(np.array([-1]))), {"empty": "identity"}, IndexError, "out-of-bounds"),
    ((THERE, SimulatedArray(np.array([0.0]))), {}, TypeError, "offsets must be integers"),
    ((THERE, SimulatedArray(np.array([0], "u8"))), {}, TypeError, "offsets must be integers"),
    ((THERE, SimulatedArray(np.array([[0]]))), {}, ValueError, "one dimension"),
    ((SimulatedArray(np.ones((2, 2))), [0]), {}, ValueError, "one dimension"),
    ((THERE, [0]), {"device": "host"}, ValueError, "lies on"),
    ((HERE, SimulatedArray(np.array([0]))), {"device": "host"}, ValueError, "lies on"),
    ((THERE, [0]), {"out": np.zeros(2)}, ValueError, "shape"),
    ((THERE, [0]), {"out": SimulatedArray(np.zeros(2))}, ValueError, "shape"),
    ((THERE, [0, 0.5]), {}, TypeError, "Cannot cast"),
    ((THERE, THERE.described(shape=(2**60,), strides=(0,))), {}, ValueError, "offsets: .*'shape'"),
    ((THERE, THERE.described(data=(12345, False))), {}, ValueError, "offsets: .*'data'"),
    ((THERE.described(shape=(2**60,), strides=(0,)), [0]), {}, ValueError, "values: .*'shape'"),
    ((np.ones(0), THERE), {"empty": "identity"}, IndexError, "out-of-bounds"),
]
WRONG += [(("sum", *arguments), *more) for arguments, *more in WRONG_ON_A_DEVICE]


@pytest.mark.parametrize(("arguments", "options", "error", "words"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_named(arguments, options, error, words):
    with pytest.raises(error, match=words):
        gred.reduceat(*arguments, **options)
    same(gred.reduceat("sum", [1, 2, 3], [0, 2]), np.array([3, 3]))
    same(to_host(gred.reduceat("sum", THERE, [0, 1])), np.array([1, 2]))


@pytest.mark.parametrize("count", [0, 10, 12])
def test_the_core_counts_its_arguments(count):
    with pytest.raises(TypeError, match="11 positional arguments"):
        _core.reduceat(*[None] * count)


def test_an_out_of_the_host_is_not_written_where_offsets_are_wrong(sharing):
    out = np.full(3, 7)
    with pytest.raises(IndexError):
        gred.reduceat("sum", THERE, SimulatedArray(np.array([0, 1, 9])), out=out)
    assert (out == 7).all()


def test_a_workspace_that_is_too_small_is_refused():
    x = np.ones(10_000)
    with gred.workspace_limit(50_000), pytest.raises(MemoryError, match="workspace"):
        gred.reduceat("sum", x, [0, 5], device="simulated")
    with gred.workspace_limit(50_000):
        got = gred.reduceat("sum", SimulatedArray(x), SimulatedArray(np.array([0, 5])))
    same(to_host(got), np.array([5.0, 9995]))
